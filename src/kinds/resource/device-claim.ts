/** The spec of resource claims and claim templates. Source: upstream's `pkg/apis/resource/validation`. */
import type { DeviceConstraint, DeviceRequest, ResourceClaimSpec } from "#api/resource/v1beta1.ts";
import { type FieldError, invalid, notSupported, required } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { dns1123Label, dns1123Subdomain } from "#meta/names.ts";
import { nearestNumber } from "#std/int64.ts";
import { checkName, checkRequiredName, type Errors } from "../checks.ts";
import { editField, editItems, fillZero } from "../edit.ts";
import {
  checkAttributeName,
  checkConfiguration,
  checkDistinct,
  type CheckExpression,
  checkList,
  checkSelectors,
} from "./device-checks.ts";

const requestsMax = 32;
const constraintsMax = 32;
const configsMax = 32;
const modes = ["All", "ExactCount"];

/** Fills in the defaults of requests: exactly one device. */
export function defaultClaimSpec(spec: ResourceClaimSpec): ResourceClaimSpec {
  return editField(spec, "devices", (devices) =>
    editItems(devices, "requests", (request) => {
      const moded = fillZero(request, { allocationMode: "ExactCount" });
      return moded.allocationMode === "ExactCount" ? fillZero(moded, { count: 1 }) : moded;
    }),
  );
}

/** Whether the claim requests nothing. */
export function isEmptyClaimSpec({ devices }: ResourceClaimSpec): boolean {
  return [devices.requests, devices.constraints, devices.config].every((list) => (list ?? []).length === 0);
}

/** Returns the expressions of a claim's selectors. */
export const expressionsOf = ({ devices }: ResourceClaimSpec): (string | undefined)[] =>
  (devices.requests ?? []).flatMap(({ selectors }) => (selectors ?? []).map(({ cel }) => cel?.expression));

/** Returns the names of a claim's requests. */
export const requestNames = ({ devices }: ResourceClaimSpec): ReadonlySet<string> =>
  new Set((devices.requests ?? []).map(({ name }) => name));

export function validateClaimSpec(
  spec: ResourceClaimSpec,
  path: FieldPath,
  checkExpression: CheckExpression,
): FieldError[] {
  const { requests, constraints, config } = spec.devices;
  const at = path.child("devices");
  const names = requestNames(spec);
  const errors: Errors = [];
  const checkOne = (request: DeviceRequest, requestPath: FieldPath): void =>
    checkRequest(request, checkExpression, requestPath, errors);
  checkList(requests, requestsMax, checkOne, at.child("requests"), errors);
  checkDistinct(requests, ({ name }) => name, at.child("requests"), errors, { part: "name" });
  const checkConstraint = ({ requests: named, matchAttribute }: DeviceConstraint, constraintPath: FieldPath): void => {
    checkRequestNames(named, names, constraintPath.child("requests"), errors);
    checkAttribute(matchAttribute, constraintPath.child("matchAttribute"), errors);
  };
  checkList(constraints, constraintsMax, checkConstraint, at.child("constraints"), errors);
  const checkConfig: Parameters<typeof checkList<NonNullable<typeof config>[number]>>[2] = (one, configPath) => {
    checkRequestNames(one.requests, names, configPath.child("requests"), errors);
    checkConfiguration(one, configPath, errors);
  };
  checkList(config, configsMax, checkConfig, at.child("config"), errors);
  return errors;
}

function checkRequest(request: DeviceRequest, checkExpression: CheckExpression, path: FieldPath, errors: Errors): void {
  const { name, deviceClassName, selectors } = request;
  checkName(name, dns1123Label, path.child("name"), errors);
  checkRequiredName(deviceClassName, dns1123Subdomain, path.child("deviceClassName"), errors);
  checkSelectors(selectors, checkExpression, path.child("selectors"), errors);
  checkCount(request, path, errors);
}

function checkCount({ allocationMode: mode = "", count = 0 }: DeviceRequest, path: FieldPath, errors: Errors): void {
  const at = path.child("count");
  const number = nearestNumber(count);
  if (mode === "All") {
    if (number !== 0) errors.push(invalid(at, count, "must not be specified when allocationMode is 'All'"));
  } else if (mode !== "ExactCount") errors.push(notSupported(path.child("allocationMode"), mode, modes));
  else if (number <= 0) errors.push(invalid(at, count, "must be greater than zero"));
}

/** Checks a list of names of requests. */
export function checkRequestNames(
  requests: readonly string[] | undefined,
  known: ReadonlySet<string>,
  path: FieldPath,
  errors: Errors,
): void {
  const check = (name: string, at: FieldPath): void => checkRequestReference(name, known, at, errors);
  checkList(requests, requestsMax, check, path, errors);
  checkDistinct(requests, (name) => name, path, errors);
}

/** Checks the name of a request of the claim. */
export function checkRequestReference(name: string, known: ReadonlySet<string>, path: FieldPath, errors: Errors): void {
  checkName(name, dns1123Label, path, errors);
  if (!known.has(name)) errors.push(invalid(path, name, "must be the name of a request in the claim"));
}

/** Checks the name of an attribute that must have a domain. */
function checkAttribute(name: string | undefined, path: FieldPath, errors: Errors): void {
  if (name === undefined) {
    errors.push(required(path));
    return;
  }
  checkAttributeName(name, path, errors);
  if (name !== "" && !name.includes("/")) errors.push(invalid(path, name, "must include a domain"));
}
