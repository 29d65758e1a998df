/**
 * The spec of resource claims and claim templates. Expressions of device selectors are not compiled. Source: upstream's
 * `pkg/apis/resource/validation`.
 */
import type {
  DeviceConstraint,
  DeviceRequest,
  DeviceSelector,
  OpaqueDeviceConfiguration,
  ResourceClaimSpec,
} from "#api/resource/v1beta1.ts";
import { type FieldError, invalid, notSupported, required, tooLong, tooMany } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { cIdentifier, dns1123Label, dns1123Subdomain } from "#meta/names.ts";
import { addAll } from "#std/add-all.ts";
import { nearestNumber } from "#std/int64.ts";
import { checkName, checkRequiredName, checkUnique } from "../checks.ts";
import { editField, editItems, fillZero } from "../edit.ts";

const requestsMax = 32;
const constraintsMax = 32;
const configsMax = 32;
const selectorsMax = 32;
const expressionBytesMax = 10 * 1024;
const parameterBytesMax = 10 * 1024;
const driverBytesMax = 63;
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

export function validateClaimSpec({ devices }: ResourceClaimSpec, path: FieldPath): FieldError[] {
  const at = path.child("devices");
  const names = new Set<string>();
  return [
    ...checkBounded(devices.requests ?? [], requestsMax, at.child("requests"), (request, requestPath) =>
      validateRequest(request, requestPath, names),
    ),
    ...checkBounded(
      devices.constraints ?? [],
      constraintsMax,
      at.child("constraints"),
      (constraint, constraintPath) => [
        ...validateRequestNames(constraint, constraintPath.child("requests"), names),
        ...validateAttribute(constraint.matchAttribute ?? "", constraintPath.child("matchAttribute")),
      ],
    ),
    ...checkBounded(devices.config ?? [], configsMax, at.child("config"), (config, configPath) => [
      ...validateRequestNames(config, configPath.child("requests"), names),
      ...validateOpaque(config.opaque, configPath.child("opaque")),
    ]),
  ];
}

function checkBounded<T>(
  items: readonly T[],
  max: number,
  path: FieldPath,
  check: (item: T, path: FieldPath) => FieldError[],
): FieldError[] {
  const errors: FieldError[] = items.length > max ? [tooMany(path, items.length, max)] : [];
  for (const [index, item] of items.slice(0, max).entries()) addAll(errors, check(item, path.index(index)));
  return errors;
}

function validateRequest(request: DeviceRequest, path: FieldPath, names: Set<string>): FieldError[] {
  const { name, deviceClassName, selectors = [] } = request;
  const errors: FieldError[] = [];
  checkRequiredName(name, dns1123Label, path.child("name"), errors);
  checkUnique(name, names, path.child("name"), errors);
  checkRequiredName(deviceClassName, dns1123Subdomain, path.child("deviceClassName"), errors);
  addAll(errors, checkBounded(selectors, selectorsMax, path.child("selectors"), validateSelector));
  return [...errors, ...validateCount(request, path)];
}

function validateSelector({ cel }: DeviceSelector, path: FieldPath): FieldError[] {
  const celPath = path.child("cel");
  if (cel === undefined) return [required(celPath)];
  if (cel.expression === "") return [required(celPath.child("expression"))];
  if (Buffer.byteLength(cel.expression) <= expressionBytesMax) return [];
  return [tooLong(celPath.child("expression"), expressionBytesMax)];
}

function validateCount({ allocationMode: mode = "", count = 0 }: DeviceRequest, path: FieldPath): FieldError[] {
  if (mode === "All") {
    if (count === 0) return [];
    return [invalid(path.child("count"), count, "must not be specified when allocationMode is 'All'")];
  }
  if (mode !== "ExactCount") return [notSupported(path.child("allocationMode"), mode, modes)];
  return nearestNumber(count) > 0 ? [] : [invalid(path.child("count"), count, "must be greater than zero")];
}

function validateRequestNames(
  { requests = [] }: Pick<DeviceConstraint, "requests">,
  path: FieldPath,
  names: ReadonlySet<string>,
): FieldError[] {
  const errors: FieldError[] = [];
  if (requests.length > requestsMax) errors.push(tooMany(path, requests.length, requestsMax));
  const seen = new Set<string>();
  for (const [index, name] of requests.slice(0, requestsMax).entries()) {
    const at = path.index(index);
    checkName(name, dns1123Label, at, errors);
    if (!names.has(name)) errors.push(invalid(at, name, "must be the name of a request in the claim"));
    checkUnique(name, seen, at, errors);
  }
  return errors;
}

/** Returns findings about the name of an attribute, in the form `domain/identifier`. */
function validateAttribute(name: string, field: FieldPath): FieldError[] {
  if (name === "") return [required(field)];
  const slash = name.indexOf("/");
  if (slash < 0) return [invalid(field, name, "must include a domain")];
  const domain = name.slice(0, slash);
  const identifier = name.slice(slash + 1);
  const messages = [...dns1123Subdomain(domain), ...cIdentifier(identifier)];
  return messages.map((message) => invalid(field, name, message));
}

function validateOpaque(opaque: OpaqueDeviceConfiguration | undefined, path: FieldPath): FieldError[] {
  if (opaque === undefined) return [required(path)];
  const { driver, parameters } = opaque;
  const errors: FieldError[] = [];
  if (driver === "") errors.push(required(path.child("driver")));
  else {
    if (Buffer.byteLength(driver) > driverBytesMax) errors.push(tooLong(path.child("driver"), driverBytesMax));
    for (const message of dns1123Subdomain(driver)) errors.push(invalid(path.child("driver"), driver, message));
  }
  const parametersPath = path.child("parameters");
  if (parameters === undefined || parameters === null) errors.push(required(parametersPath));
  else if (typeof parameters !== "object" || Array.isArray(parameters)) {
    errors.push(invalid(parametersPath, "<value omitted>", "must be a valid JSON object"));
  } else if (Buffer.byteLength(JSON.stringify(parameters)) > parameterBytesMax) {
    errors.push(tooLong(parametersPath, parameterBytesMax));
  }
  return errors;
}
