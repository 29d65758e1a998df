/**
 * Patch bodies to values, and patched values to objects: what `object.ts` does for whole objects, where the text of the
 * object was never sent. Source of the wording: upstream's patch handler.
 */
import { invalidField } from "#meta/field-error.ts";
import type { GroupVersionKind } from "#meta/group-version.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { badRequest, invalid, type StatusError } from "#meta/status-error.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import { DecodeError } from "#schema/decode-error.ts";
import type { Schema } from "#schema/schema.ts";
import { decodeTyped, type Findings } from "#schema/typed.ts";
import { decodeJson } from "./json.ts";
import type { DecodedObject, FieldValidation } from "./object.ts";
import { strictFindings } from "./strict.ts";

export interface DecodedPatch {
  readonly value: unknown;
  /** Unknown and double fields of the patch itself, in the words for clients. */
  readonly problems: readonly string[];
}

/**
 * The patch as a value. With a `schema` (of JSON Patch operations) unknown members are found too. Throws `badRequest`
 * for what is no JSON.
 */
export function decodePatch(bytes: Uint8Array, schema?: Schema): DecodedPatch {
  try {
    const { value, keys, text } = decodeJson(bytes);
    const findings: Findings = { keys: 0, unknown: false };
    if (schema !== undefined && Array.isArray(value) && value.every(isObject)) countMembers(schema, value, findings);
    else findings.keys = keysOf(value);
    if (findings.keys === keys && !findings.unknown) return { value, problems: [] };
    const found = strictFindings(schema, text);
    const prefix = schema === undefined ? "" : "json patch ";
    return { value: found.value, problems: found.problems.map((problem) => prefix + problem) };
  } catch (error) {
    if (error instanceof DecodeError) throw badRequest(`error decoding patch: ${error.message}`, error);
    throw error;
  }
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);

/** Keys of operations, values included, and whether there are members that operations do not have. */
function countMembers(schema: Schema, operations: readonly unknown[], findings: Findings): void {
  const known = schema.items?.fields;
  for (const operation of operations) {
    findings.keys += keysOf(operation);
    for (const name of Object.keys(operation as object)) if (known?.has(name) !== true) findings.unknown = true;
  }
}

/** How many keys a value has at all depths. */
function keysOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += keysOf(item);
    return count;
  }
  for (const key of Object.keys(value)) count += 1 + keysOf((value as Record<string, unknown>)[key]);
  return count;
}

export interface PatchedValue {
  readonly value: unknown;
  readonly schema: Schema;
  readonly gvk: GroupVersionKind;
  readonly fieldValidation: FieldValidation;
  /** Problems of the patch itself; they are told together with those of the object. */
  readonly problems: readonly string[];
}

export type PatchedObject = Pick<DecodedObject, "object" | "warnings" | "hasEmptyLists">;

/**
 * The object a patch made. Throws `invalid` when it does not fit its type, `badRequest` for unknown and double fields
 * under `Strict` (FV-09; upstream answers 422 there).
 */
export function decodePatched(patched: PatchedValue): PatchedObject {
  const { value, schema, gvk, fieldValidation } = patched;
  const findings: Findings = { keys: 0, unknown: false, keepsEmptyLists: true };
  let object: ApiObject;
  try {
    const given = value as { readonly kind?: unknown; readonly apiVersion?: unknown } | null; // looked at, not trusted
    if (given?.kind !== gvk.kind || given.apiVersion !== apiVersionOf(gvk)) throw notThisKind(given, gvk);
    object = decodeTyped(schema, value, findings) as ApiObject; // schemas of kinds are structs with metadata
  } catch (error) {
    if (error instanceof DecodeError) throw unfit(value, error);
    throw error;
  }
  const hasEmptyLists = findings.hasEmptyLists === true;
  if (fieldValidation === "Ignore" || (!findings.unknown && patched.problems.length === 0))
    return { object, warnings: [], hasEmptyLists };
  const unknown = findings.unknown ? strictFindings(schema, JSON.stringify(value)).problems : [];
  const problems = [...patched.problems, ...unknown];
  if (fieldValidation === "Warn") return { object, warnings: problems, hasEmptyLists };
  const name = `${gvk.kind} in version "${gvk.version}" cannot be handled as a ${gvk.kind}`;
  throw badRequest(`${name}: strict decoding error: ${problems.join(", ")}`);
}

function notThisKind(
  given: { readonly kind?: unknown; readonly apiVersion?: unknown } | null,
  gvk: GroupVersionKind,
): DecodeError {
  const kind = textOf(given?.kind);
  const version = textOf(given?.apiVersion);
  if (kind === "" || version === "")
    return new DecodeError(`Object '${kind === "" ? "Kind" : "apiVersion"}' is missing`);
  if (version === apiVersionOf(gvk)) return new DecodeError(`the patched object is a ${kind}, not a ${gvk.kind}`);
  return new DecodeError(`no kind "${kind}" is registered for version "${version}"`);
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

const shownLengthMax = 1024;

function unfit(value: unknown, error: DecodeError): StatusError {
  const text = JSON.stringify(value) ?? "";
  const shown = text.length > shownLengthMax ? `${text.slice(0, shownLengthMax)}...` : text;
  return invalid({ group: "", kind: "" }, "", [invalidField("patch", shown, error.message)]);
}
