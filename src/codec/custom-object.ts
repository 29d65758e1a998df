/**
 * Decodes bodies of custom resources, as `object.ts` does for built-in kinds, into plain JSON values by the schema of a
 * definition. Unknown members are pruned, nulls dropped, defaults applied; metadata is decoded as its built-in type.
 * Source of the rules and the wording: upstream's `unstructuredSchemaCoercer` and its decoders.
 */
import { apiVersionOf, type GroupVersionKind, parseApiVersion } from "#meta/group-version.ts";
import { type FieldError, invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { Unstructured, ObjectMeta } from "#meta/object-meta.ts";
import { badRequest, invalidObject } from "#meta/status-error.ts";
import { DecodeError } from "#schema/decode-error.ts";
import { countKeys, plainNumbers, type ByteBudget, setKey, withRawNumbers } from "#schema/json-values.ts";
import type { Schema } from "#schema/schema.ts";
import {
  applyDefaults,
  dropNulls,
  prune,
  type SchemaNode,
  showValue,
  type StructuralSchema,
} from "#schema/structural.ts";
import { decodeTyped, type Findings } from "#schema/typed.ts";
import { escapeHtml } from "#std/escape-html.ts";
import type { BodyEncoding } from "./encoding.ts";
import {
  cannotHandle,
  type DecodedObject,
  type FieldValidation,
  saidType,
  strictMessage,
  unrecognizedBodyError,
  yamlProblems,
} from "./object.ts";
import { type PatchedObject, unfit } from "./patch-body.ts";
import { sortedJson, strictFindings, unknownFields } from "./strict.ts";

/** The settings for decoding objects of a custom kind. */
export interface CustomType {
  /** The schema of the definition, compiled when it is first used. */
  readonly structural: StructuralSchema;
  /** The schema of `metadata`, of the object itself and of embedded objects. */
  readonly metadata: Schema;
}

type Json = Readonly<Record<string, unknown>>;

const metadataPath = FieldPath.of("metadata");
const anyType: Schema = { type: "any" };

interface CustomBody {
  readonly bytes: Uint8Array;
  readonly encoding: BodyEncoding;
  readonly type: CustomType;
  readonly gvk: GroupVersionKind;
  readonly fieldValidation: FieldValidation;
  /** The byte budget of defaults. */
  readonly room: ByteBudget;
}

/** Decodes a body. Throws the `StatusError` to answer if the body is not an object of the expected kind. */
export function decodeCustom(body: CustomBody): DecodedObject {
  const { gvk, fieldValidation } = body;
  let value: unknown;
  let problems: readonly string[] = [];
  let hasRawNumbers = false;
  try {
    const read = body.encoding.decode(body.bytes, anyType);
    ({ value, hasRawNumbers } = read);
    const said = saidType(value, body.encoding.mistyped);
    if (said.kind === "") throw new DecodeError(`Object 'Kind' is missing in '${read.text()}'`);
    if (said.apiVersion !== "" && parseApiVersion(said.apiVersion) === undefined) {
      throw new DecodeError(`unexpected GroupVersion string: ${said.apiVersion}`);
    }
    checkType(said, value as Json, gvk); // it is an object, since it has a kind
    if (read.refusal !== undefined) throw cannotHandle(gvk, gvk, read.refusal.message, read.refusal);
    if (fieldValidation !== "Ignore") {
      const hasDoubles = read.keys !== undefined && countKeys(read.value) !== read.keys;
      problems = hasDoubles
        ? strictFindings(undefined, read.text()).problems
        : yamlProblems(read.duplicates, fieldValidation);
    }
  } catch (error) {
    if (error instanceof DecodeError) throw unrecognizedBodyError(body, error);
    throw error;
  }
  try {
    const plain = hasRawNumbers ? plainNumbers(value) : value;
    const shaped = shape(plain as Json, body, fieldValidation !== "Ignore"); // it is an object, since it has a kind
    problems = [...problems, ...shaped.unknown];
    if (fieldValidation === "Strict" && problems.length > 0) throw new DecodeError(strictMessage(problems));
    const warnings = fieldValidation === "Warn" ? problems : [];
    return { object: shaped.object, apiVersion: apiVersionOf(gvk), kind: gvk.kind, warnings, hasEmptyLists: false };
  } catch (error) {
    if (error instanceof DecodeError) throw cannotHandle(gvk, gvk, error.message, error);
    throw error;
  }
}

function checkType(
  said: { readonly apiVersion: string; readonly kind: string },
  value: Json,
  gvk: GroupVersionKind,
): void {
  const expected = apiVersionOf(gvk);
  if (said.apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${said.apiVersion}) does not match the expected API version (${expected})`,
    );
  }
  if (said.kind !== gvk.kind) throw wrongType(mustBe("kind", said.kind, gvk.kind), value, gvk.group, said.kind);
}

/** Returns the error of an object of another type. `group` and `kind` are those that the message names. */
function wrongType(finding: FieldError, value: Json, group: string, kind: string): Error {
  const name = (value["metadata"] as Json | null | undefined)?.["name"];
  return invalidObject({ group, kind }, typeof name === "string" ? name : "", [finding]);
}

const mustBe = (field: "apiVersion" | "kind", value: string, wanted: string): FieldError =>
  invalid(FieldPath.of(field), value, `must be ${wanted}`);

interface PatchedCustom {
  /** The patched value; whole numbers beyond 2^53 are `bigint`. */
  readonly value: unknown;
  readonly type: CustomType;
  readonly gvk: GroupVersionKind;
  readonly fieldValidation: FieldValidation;
  /** The unknown and duplicate fields of the patch itself, in the words for clients. */
  readonly problems: readonly string[];
  /** The byte budget of defaults. */
  readonly room: ByteBudget;
}

/** Returns the object for a patched value. Throws `invalid` if the value does not fit its type. */
export function decodePatchedCustom(patched: PatchedCustom): PatchedObject {
  const { gvk, fieldValidation } = patched;
  const value = withRawNumbers(patched.value);
  try {
    const said = saidType(value);
    if (said.kind === "") throw new DecodeError(`Object 'Kind' is missing in '${sortedJson(value)}'`);
    const json = value as Json; // it is an object, since it has a kind
    if (said.kind !== gvk.kind) throw wrongType(mustBe("kind", said.kind, gvk.kind), json, gvk.group, said.kind);
    const expected = apiVersionOf(gvk);
    if (said.apiVersion !== expected) {
      const { group = "" } = parseApiVersion(said.apiVersion) ?? {};
      throw wrongType(mustBe("apiVersion", said.apiVersion, expected), json, group, said.kind);
    }
    const shaped = shape(json, patched, fieldValidation !== "Ignore");
    const problems = fieldValidation === "Ignore" ? [] : [...patched.problems, ...shaped.unknown];
    if (fieldValidation === "Strict" && problems.length > 0) throw new DecodeError(strictMessage(problems));
    return { object: shaped.object, warnings: problems, hasEmptyLists: false };
  } catch (error) {
    if (error instanceof DecodeError) throw unfit(escapeHtml(sortedJson(value)), error);
    throw error;
  }
}

/** The value that a merge of an apply produced. */
interface MergedCustom {
  readonly value: Json;
  readonly type: CustomType;
  readonly gvk: GroupVersionKind;
  /** The byte budget of defaults. */
  readonly room: ByteBudget;
}

/**
 * Returns the object for a merged value. Nulls stay: unlike a request body, a merged object is validated with its
 * nulls. Throws `DecodeError` if the value does not fit its type.
 */
export function decodeMergedCustom({ value, type, gvk, room }: MergedCustom): Unstructured {
  const metadata = readMetadata(value["metadata"] ?? {}, type.metadata, undefined, metadataPath);
  const { structural } = type;
  const coerced = coerceEmbedded(value, structural.node, type.metadata, undefined, FieldPath.root);
  return withShape(applyDefaults(coerced, structural.node, false, room), gvk, metadata);
}

interface Shaped {
  readonly object: Unstructured;
  /** Texts such as `unknown field "spec.x"`, in upstream's order. */
  readonly unknown: readonly string[];
}

/** Returns a value of the right type as an object of its kind. `track`: whether dropped members are reported. */
function shape(value: Json, { type, gvk, room }: Pick<CustomBody, "type" | "gvk" | "room">, track: boolean): Shaped {
  const { structural } = type;
  const unknown: string[] = [];
  const metadata = readMetadata(value["metadata"], type.metadata, track ? unknown : undefined, metadataPath);
  const pruned = prune(value, structural.node, { isResourceRoot: true, track });
  if (track) for (const path of pruned.unknown) unknown.push(`unknown field "${path}"`);
  const embedded: string[] = [];
  const tracked = track ? embedded : undefined;
  const coerced = coerceEmbedded(pruned.value, structural.node, type.metadata, tracked, FieldPath.root);
  for (const path of embedded.sort()) unknown.push(path);
  return { object: withShape(applyDefaults(coerced, structural.node, true, room), gvk, metadata), unknown };
}

function withShape(value: unknown, gvk: GroupVersionKind, metadata: ObjectMeta): Unstructured {
  // The value is still an object after coercion and defaults.
  const { kind: _kind, apiVersion: _apiVersion, metadata: _metadata, ...rest } = value as Json;
  return { kind: gvk.kind, apiVersion: apiVersionOf(gvk), metadata, ...rest };
}

/**
 * Returns metadata, decoded by its type. Adds the texts of unknown fields to `unknown`. Throws `DecodeError` for a
 * value that cannot be metadata.
 */
function readMetadata(value: unknown, schema: Schema, unknown: string[] | undefined, path: FieldPath): ObjectMeta {
  if (value === undefined) return {};
  const findings: Findings = { keys: 0, unknown: false };
  const metadata = decodeTyped(schema, value ?? {}, findings) as ObjectMeta; // it was decoded by the schema of metadata
  if (findings.unknown && unknown !== undefined) {
    for (const problem of unknownFields(schema, sortedJson(value)))
      unknown.push(problem.replace('"', () => `"${String(path)}.`));
  }
  return withoutNullTimes(metadata);
}

/** Returns metadata without times that are null. Null is the zero time of built-in kinds; custom objects omit it. */
function withoutNullTimes(metadata: ObjectMeta): ObjectMeta {
  const { creationTimestamp, deletionTimestamp, ...rest } = metadata;
  if (creationTimestamp !== null && deletionTimestamp !== null) return metadata;
  return {
    ...rest,
    ...(creationTimestamp && { creationTimestamp }),
    ...(deletionTimestamp && { deletionTimestamp }),
  };
}

/** Decodes the metadata of embedded objects by its type. Returns the same value if nothing changes. */
function coerceEmbedded(
  value: unknown,
  node: SchemaNode | undefined,
  metadata: Schema,
  unknown: string[] | undefined,
  path: FieldPath,
): unknown {
  if (node?.hasEmbedded !== true || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item, index) => coerceEmbedded(item, node.items, metadata, unknown, path.index(index)));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  const additional = typeof node.additional === "object" ? node.additional : undefined;
  let next = value as Json; // it is an object, and not a list
  for (const key of Object.keys(next)) {
    const declared = node.properties?.get(key);
    const isMapKey = declared === undefined && additional !== undefined;
    const at = isMapKey ? path.key(key) : path.child(key);
    const old = next[key];
    let changed = coerceEmbedded(old, declared ?? additional, metadata, unknown, at);
    if (node.embedded) {
      if ((key === "apiVersion" || key === "kind") && typeof old !== "string") {
        throw new DecodeError(`${String(at)}: Invalid value: ${showValue(old)}: must be a string`);
      }
      if (key === "metadata") changed = embeddedMetadata(old, metadata, unknown, at);
    }
    if (changed === old) continue;
    const copy = { ...next };
    setKey(copy, key, changed);
    next = copy;
  }
  return next;
}

function embeddedMetadata(value: unknown, schema: Schema, unknown: string[] | undefined, path: FieldPath): unknown {
  try {
    const { creationTimestamp, ...rest } = readMetadata(value, schema, unknown, path);
    return creationTimestamp === undefined ? rest : { creationTimestamp, ...rest };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new DecodeError(`${String(path)}: Invalid value: ${showValue(value)}: ${error.message}`, { cause: error });
  }
}

/**
 * Adapts a stored object that an earlier schema may have written: prunes unknown members and applies defaults within
 * the budget `defaults` (left out: no defaults). Returns the same object if nothing changes.
 */
export function reshape(object: Unstructured, structural: StructuralSchema, defaults?: ByteBudget): Unstructured {
  const pruned = prune(object, structural.node, { isResourceRoot: true, track: false }).value;
  const filled = defaults === undefined ? pruned : applyDefaults(pruned, structural.node, true, defaults);
  return filled as Unstructured; // pruning and defaults do not change metadata
}

/** Adapts an object that a conversion webhook returned: prunes unknown members and nulls, and applies no defaults. */
export const reshapeConverted = (object: Unstructured, structural: StructuralSchema): Unstructured =>
  dropNulls(reshape(object, structural), structural.node) as Unstructured; // metadata stays
