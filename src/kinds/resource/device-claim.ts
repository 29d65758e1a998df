/**
 * The spec of a resource claim, which templates of claims hold too. Device selectors are expressions; whether they
 * compile is not checked here. Source: upstream's `pkg/apis/resource/validation`.
 */
import { type FieldError, duplicate, invalid, notSupported, required, tooLong, tooMany } from "#meta/field-error.ts";
import { cIdentifier, dns1123Label, dns1123Subdomain } from "#meta/names.ts";
import { nearestNumber } from "#std/int64.ts";
import {
  editField,
  editItems,
  fillZero,
  int64Field,
  isZero,
  type Json,
  listField,
  noFields,
  objectField,
  textField,
} from "../json-edit.ts";

const requestsMax = 32;
const constraintsMax = 32;
const configsMax = 32;
const selectorsMax = 32;
const expressionBytesMax = 10 * 1024;
const parameterBytesMax = 10 * 1024;
const driverBytesMax = 63;
const modes = ["All", "ExactCount"];

/** Defaults of requests: exactly one device. */
export function defaultClaimSpec(spec: Json): Json {
  return editField(spec, "devices", (devices) =>
    editItems(devices, "requests", (request) => {
      const moded = fillZero(request, { allocationMode: "ExactCount" });
      return textField(moded, "allocationMode") === "ExactCount" ? fillZero(moded, { count: 1 }) : moded;
    }),
  );
}

/** Whether nobody asked for anything. */
export function isEmptyClaimSpec(spec: Json | undefined): boolean {
  const devices = spec === undefined ? undefined : objectField(spec, "devices");
  return devices === undefined || Object.values(devices).every((value) => isZero(value) || isEmptyList(value));
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** Findings below `field`. */
export function validateClaimSpec(spec: Json, field: string): FieldError[] {
  const devices = objectField(spec, "devices") ?? noFields;
  const at = `${field}.devices`;
  const names = new Set<string>();
  return [
    ...limited(listField(devices, "requests"), requestsMax, `${at}.requests`, (request, path) =>
      validateRequest(request, path, names),
    ),
    ...limited(listField(devices, "constraints"), constraintsMax, `${at}.constraints`, (constraint, path) => [
      ...validateRequestNames(constraint, `${path}.requests`, names),
      ...validateAttribute(textField(constraint, "matchAttribute"), `${path}.matchAttribute`),
    ]),
    ...limited(listField(devices, "config"), configsMax, `${at}.config`, (config, path) => [
      ...validateRequestNames(config, `${path}.requests`, names),
      ...validateOpaque(objectField(config, "opaque"), `${path}.opaque`),
    ]),
  ];
}

function limited(
  items: readonly Json[],
  max: number,
  field: string,
  check: (item: Json, path: string) => FieldError[],
): FieldError[] {
  const errors: FieldError[] = items.length > max ? [tooMany(field, items.length, max)] : [];
  for (const [index, item] of items.slice(0, max).entries()) errors.push(...check(item, `${field}[${index}]`));
  return errors;
}

function validateRequest(request: Json, path: string, names: Set<string>): FieldError[] {
  const errors: FieldError[] = [];
  const name = textField(request, "name");
  if (name === "") errors.push(required(`${path}.name`));
  else for (const message of dns1123Label(name)) errors.push(invalid(`${path}.name`, name, message));
  if (names.has(name)) errors.push(duplicate(`${path}.name`, name));
  names.add(name);
  const className = textField(request, "deviceClassName");
  if (className === "") errors.push(required(`${path}.deviceClassName`));
  else {
    for (const message of dns1123Subdomain(className)) {
      errors.push(invalid(`${path}.deviceClassName`, className, message));
    }
  }
  errors.push(...limited(listField(request, "selectors"), selectorsMax, `${path}.selectors`, validateSelector));
  return [...errors, ...validateCount(request, path)];
}

function validateSelector(selector: Json, path: string): FieldError[] {
  const cel = objectField(selector, "cel");
  if (cel === undefined) return [required(`${path}.cel`)];
  const expression = textField(cel, "expression");
  if (expression === "") return [required(`${path}.cel.expression`)];
  if (Buffer.byteLength(expression) > expressionBytesMax) {
    return [tooLong(`${path}.cel.expression`, expressionBytesMax)];
  }
  return [];
}

function validateCount(request: Json, path: string): FieldError[] {
  const mode = textField(request, "allocationMode");
  const count = int64Field(request, "count") ?? 0;
  if (mode === "All") {
    if (count === 0) return [];
    return [invalid(`${path}.count`, count, "must not be specified when allocationMode is 'All'")];
  }
  if (mode !== "ExactCount") return [notSupported(`${path}.allocationMode`, mode, modes)];
  return nearestNumber(count) > 0 ? [] : [invalid(`${path}.count`, count, "must be greater than zero")];
}

function validateRequestNames(holder: Json, field: string, names: ReadonlySet<string>): FieldError[] {
  const errors: FieldError[] = [];
  const listed = (holder["requests"] ?? []) as readonly string[]; // the schema says so
  if (listed.length > requestsMax) errors.push(tooMany(field, listed.length, requestsMax));
  const seen = new Set<string>();
  for (const [index, name] of listed.slice(0, requestsMax).entries()) {
    const path = `${field}[${index}]`;
    for (const message of dns1123Label(name)) errors.push(invalid(path, name, message));
    if (!names.has(name)) errors.push(invalid(path, name, "must be the name of a request in the claim"));
    if (seen.has(name)) errors.push(duplicate(path, name));
    seen.add(name);
  }
  return errors;
}

/** `domain/identifier`. */
function validateAttribute(name: string, field: string): FieldError[] {
  if (name === "") return [required(field)];
  const slash = name.indexOf("/");
  if (slash < 0) return [invalid(field, name, "must include a domain")];
  const domain = name.slice(0, slash);
  const identifier = name.slice(slash + 1);
  const messages = [...dns1123Subdomain(domain), ...cIdentifier(identifier)];
  return messages.map((message) => invalid(field, name, message));
}

function validateOpaque(opaque: Json | undefined, field: string): FieldError[] {
  if (opaque === undefined) return [required(field)];
  const errors: FieldError[] = [];
  const driver = textField(opaque, "driver");
  if (driver === "") errors.push(required(`${field}.driver`));
  else {
    if (Buffer.byteLength(driver) > driverBytesMax) errors.push(tooLong(`${field}.driver`, driverBytesMax));
    for (const message of dns1123Subdomain(driver)) errors.push(invalid(`${field}.driver`, driver, message));
  }
  const parameters = opaque["parameters"];
  if (parameters === undefined || parameters === null) errors.push(required(`${field}.parameters`));
  else if (typeof parameters !== "object" || Array.isArray(parameters)) {
    errors.push(invalid(`${field}.parameters`, "<value omitted>", "must be a valid JSON object"));
  } else if (Buffer.byteLength(JSON.stringify(parameters)) > parameterBytesMax) {
    errors.push(tooLong(`${field}.parameters`, parameterBytesMax));
  }
  return errors;
}
