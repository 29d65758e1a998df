/**
 * Decodes patch bodies, and converts patched values to objects, as `object.ts` does with request bodies: the text of a
 * patched object was never sent. Source of the wording: upstream's patch handler.
 */
import { invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { badRequest, invalidObject, StatusError } from "#meta/status-error.ts";
import { DecodeError } from "#schema/decode-error.ts";
import { goText } from "#schema/go-text.ts";
import { countKeys, withBigInts } from "#schema/json-values.ts";
import type { Schema } from "#schema/schema.ts";
import { decodeTyped, type Findings } from "#schema/typed.ts";
import { unstructuredMismatch } from "#schema/unstructured-mismatch.ts";
import { escapeHtml } from "#std/escape-html.ts";
import { isObject } from "#std/is-object.ts";
import { isRawNumber } from "#std/raw-number.ts";
import type { Steps } from "#std/cooperative.ts";
import { decodeJson } from "./json.ts";
import { decodeInPieces } from "./json-pieces.ts";
import {
  checkKind,
  type DecodedObject,
  type Expected,
  type FieldValidation,
  meantKind,
  strictMessage,
  withType,
} from "./object.ts";
import { patchedJson, sortedJson, strictFindings, unknownFields } from "./strict.ts";
import { kindOf } from "./unreadable.ts";

interface DecodedPatch {
  /** The patch; whole numbers beyond 2^53 are `bigint`, as in `apply/`. */
  readonly value: unknown;
  /** The unknown and duplicate fields of the patch itself, in the words for clients. */
  readonly problems: readonly string[];
}

/** The properties of a request that decide upstream's wording of a refused patch. */
export interface PatchWording {
  readonly form?: "merge" | "strategic";
  readonly fieldValidation?: FieldValidation;
}

/**
 * Decodes a patch. With a `schema` (that of JSON Patch operations) it also finds unknown members. Throws `badRequest`
 * if the text is not JSON, or not a patch.
 */
export function decodePatch(bytes: Uint8Array, schema?: Schema, wording: PatchWording = {}): DecodedPatch {
  const isStrict = wording.fieldValidation !== "Ignore";
  try {
    const { value, keys, text } = decodeJson(bytes);
    if (schema === undefined) checkMergePatch(value);
    else checkJsonPatch(value, isStrict);
    const mayHaveProblems = isStrict && (schema !== undefined || keys !== countKeys(value));
    const strictProblems = mayHaveProblems ? strictFindings(schema, text).problems : [];
    const problems = schema === undefined ? strictProblems : strictProblems.map((problem) => `json patch ${problem}`);
    return { value: withBigInts(value), problems };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    if (!isStrict && wording.form === "merge") throw badRequest("Invalid JSON Patch", error);
    const prefix = isStrict && wording.form !== "strategic" ? "error decoding patch: " : "";
    throw badRequest(prefix + error.message, error);
  }
}

/**
 * Decodes the operations of a JSON Patch as `decodePatch` does with `Ignore`, in steps, so that others have a turn
 * while a long patch is read. Throws `badRequest`.
 */
export function* decodeJsonPatch(bytes: Buffer): Steps<unknown> {
  try {
    const value = yield* decodeInPieces(bytes, (text) => {
      const decoded = decodeJson(text);
      return decoded.hasRawNumbers ? withBigInts(decoded.value) : decoded.value;
    });
    checkJsonPatch(value, false);
    return value;
  } catch (error) {
    throw error instanceof DecodeError ? badRequest(error.message, error) : error;
  }
}

function checkMergePatch(value: unknown): void {
  if (value === null || kindOf(value) === "object") return;
  throw new DecodeError(`json: cannot unmarshal ${kindOf(value)} into Go value of type map[string]interface {}`);
}

function checkJsonPatch(value: unknown, isStrict: boolean): void {
  if (value === null) return;
  const [list, item] = isStrict
    ? (["[]handlers.jsonPatchOp", "handlers.jsonPatchOp"] as const)
    : (["jsonpatch.Patch", "jsonpatch.Operation"] as const);
  const wrong = (what: unknown, type: string): DecodeError =>
    new DecodeError(`json: cannot unmarshal ${kindOf(what)} into Go value of type ${type}`);
  if (!Array.isArray(value)) throw wrong(value, list);
  for (const operation of value as unknown[]) {
    if (operation === null) continue;
    if (kindOf(operation) !== "object") throw wrong(operation, item);
    if (!isStrict) continue;
    for (const [name, field] of Object.entries(operation as object)) {
      if (!["op", "path", "from"].includes(name) || field === null || typeof field === "string") continue;
      const what = kindOf(field);
      throw new DecodeError(`json: cannot unmarshal ${what} into Go struct field jsonPatchOp.${name} of type string`);
    }
  }
}

/** A patched value, and the object that it should be. */
export interface PatchedValue extends Expected {
  /** The patched value. It is not changed; the result shares unchanged parts with it. */
  readonly value: unknown;
  readonly schema: Schema;
  readonly fieldValidation: FieldValidation;
  /** The problems of the patch itself, which are reported together with those of the object. */
  readonly problems: readonly string[];
  /** The value before the patch. The patched value shares unchanged parts with it. */
  readonly before?: unknown;
  /** The patch, if it is a strategic one: upstream's error shows the patch, not the patched value. */
  readonly strategic?: unknown;
}

export type PatchedObject = Pick<DecodedObject, "object" | "warnings" | "hasEmptyLists">;

/**
 * Returns the object for a patched value. Throws `invalid` if the value does not fit its type, `badRequest` for unknown
 * and duplicate fields under `Strict` (FV-09; upstream answers 422 there).
 */
export function decodePatched(patched: PatchedValue): PatchedObject {
  const { value, schema, gvk, fieldValidation, strategic } = patched;
  const isStrategic = strategic !== undefined;
  const findings: Findings = { keys: 0, unknown: false, keepsEmptyLists: true };
  const decode = (): Unstructured =>
    // Schemas of kinds are structs with metadata.
    decodeTyped(schema, value ?? {}, findings, isStrategic ? { explain: unstructuredMismatch } : {}) as Unstructured;
  let object: Unstructured;
  try {
    // The result of a strategic patch is decoded by its type before its kind is checked.
    const typed = isStrategic ? decode() : undefined;
    checkKind(patched, meantKind(value, gvk), () => patchedJson(value, patched.before));
    object = withType(typed ?? decode(), apiVersionOf(gvk), gvk.kind);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw unfit(
      isStrategic ? goText(withoutRetained(strategic)) : escapeHtml(patchedJson(value, patched.before)),
      error,
    );
  }
  const hasEmptyLists = findings.hasEmptyLists === true;
  if (fieldValidation === "Ignore" || (!findings.unknown && patched.problems.length === 0)) {
    return { object, warnings: [], hasEmptyLists };
  }
  const unknown = findings.unknown ? unknownFields(schema, sortedJson(value)) : [];
  const problems = [...patched.problems, ...unknown];
  if (fieldValidation === "Warn") return { object, warnings: problems, hasEmptyLists };
  const name = `${gvk.kind} in version "${gvk.version}" cannot be handled as a ${gvk.kind}`;
  throw badRequest(`${name}: ${strictMessage(problems)}`);
}

/** Returns a strategic patch as upstream's error shows it: without its `$retainKeys` lists, which were consumed. */
function withoutRetained(patch: unknown): unknown {
  if (Array.isArray(patch)) return patch.map(withoutRetained);
  if (!isObject(patch) || isRawNumber(patch)) return patch;
  return Object.fromEntries(
    Object.entries(patch)
      .filter(([name]) => name !== "$retainKeys")
      .map(([name, value]) => [name, withoutRetained(value)]),
  );
}

/**
 * Returns the error of a patched value that is not an object of its kind. The message shows `shown`; the cause has the
 * reason without the value.
 */
export function unfit(shown: string, error: DecodeError): StatusError {
  const findings = [invalid(FieldPath.of("patch"), shown, error.message)];
  return invalidObject({ group: "", kind: "" }, "", findings, { cause: error });
}
