/**
 * Decodes request bodies to API objects. One call includes encoding, kind and version, typed decoding, field
 * validation, and upstream's errors. Source of the wording: upstream's `serializer/json` and handlers.
 */
import { goQuote } from "#meta/field-error.ts";
import {
  apiVersionOf,
  type GroupVersionKind,
  internalPackage,
  internalVersion,
  parseApiVersion,
} from "#meta/group-version.ts";
import { isKindOfAllVersions, isKindOfKnownVersions } from "#meta/meta-kinds.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { badRequest } from "#meta/status-error.ts";
import { DecodeError } from "#schema/decode-error.ts";
import type { Schema } from "#schema/schema.ts";
import { decodeTyped, type Findings } from "#schema/typed.ts";
import { unstructuredMismatch } from "#schema/unstructured-mismatch.ts";
import type { BodyEncoding, DecodedValue } from "./encoding.ts";
import { strictFindings, unknownFields } from "./strict.ts";
import { kindOf, mistypedJson } from "./unreadable.ts";

/** The treatment of unknown and duplicate fields: dropped silently, dropped with a warning, refused. */
export type FieldValidation = "Ignore" | "Warn" | "Strict";

/** The expected object. */
export interface Expected {
  /** The expected type; a body without kind or version gets this type. */
  readonly gvk: GroupVersionKind;
  /** Other kinds of the same type: options belong to many groups. */
  readonly accepted?: readonly GroupVersionKind[];
  /**
   * Whether a kind is registered where objects of the group `asked` are served, for the error about another kind.
   * Default: none is.
   */
  isRegistered?(gvk: GroupVersionKind, asked: string): boolean;
  /**
   * Whether the object is options of a request: their version may be any, and the error for options that cannot be read
   * does not show them (it is a 400, where upstream has a 500). Default: whether the kind's name ends in `Options`.
   */
  readonly isOptions?: boolean;
}

/** A request body, and the object that it should contain. */
export interface ObjectBody extends Expected {
  readonly bytes: Uint8Array;
  readonly encoding: BodyEncoding;
  readonly schema: Schema;
  readonly fieldValidation: FieldValidation;
}

/** An object that was decoded from a request body. */
export interface DecodedObject {
  /** The canonical object: schema defaults are filled in, `kind` and `apiVersion` are set. */
  readonly object: Unstructured;
  readonly apiVersion: string;
  readonly kind: string;
  /** Texts for the client; empty unless the validation is `Warn`. */
  readonly warnings: readonly string[];
  /** Whether it contains empty lists that are stored as null (`nullEmptyLists`). */
  readonly hasEmptyLists: boolean;
}

/** The value that a merge of an apply produced. */
interface MergedValue {
  readonly value: Readonly<Record<string, unknown>>;
  /** The object before the merge. The value shares the unchanged parts with it. */
  readonly live: Unstructured | undefined;
  readonly gvk: GroupVersionKind;
  readonly schema: Schema;
}

/**
 * Returns the object for a merged value, with defaults of its schema. Throws `DecodeError` if it does not fit its type.
 */
export function decodeMerged({
  value,
  live,
  gvk,
  schema,
}: MergedValue): Pick<DecodedObject, "object" | "hasEmptyLists"> {
  const findings: Findings = { keys: 0, unknown: false, keepsEmptyLists: true };
  // Schemas of kinds are structs with metadata.
  const object = decodeTyped(schema, value, findings, {
    canonical: live,
    explain: unstructuredMismatch,
  }) as Unstructured;
  return { object: withType(object, apiVersionOf(gvk), gvk.kind), hasEmptyLists: findings.hasEmptyLists === true };
}

/** Decodes a body. Throws the `StatusError` to answer if the body is not the expected object. */
export function decodeObject(body: ObjectBody): DecodedObject {
  const { gvk } = body;
  let read: DecodedValue;
  let actual: GroupVersionKind;
  try {
    read = body.encoding.decode(body.bytes, body.schema);
    actual = meantKind(read.value, gvk, body.encoding.mistyped);
  } catch (error) {
    if (error instanceof DecodeError) throw unrecognizedBodyError(body, error);
    throw error;
  }
  try {
    checkKind(body, actual, () => (body.encoding.isText ? Buffer.from(body.bytes).toString() : read.text()));
    return finish(body.schema, read, isOptions(body) ? gvk : actual, body.fieldValidation);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    if (isOptions(body)) throw badRequest(error.message, error);
    throw cannotHandle(actual, gvk, error.message, error);
  }
}

/**
 * Returns the object in its stored form: lists that are shown even when empty become null, since upstream's storage
 * cannot distinguish the two. Ownership is recorded before, while an empty list still counts as sent.
 */
export function nullEmptyLists(schema: Schema, object: Unstructured): Unstructured {
  // The result has the same type.
  return decodeTyped(schema, object, { keys: 0, unknown: false }, { defaults: false }) as Unstructured;
}

function finish(schema: Schema, read: DecodedValue, gvk: GroupVersionKind, validation: FieldValidation): DecodedObject {
  if (read.refusal !== undefined) throw read.refusal;
  const findings: Findings = { keys: 0, unknown: false, keepsEmptyLists: true };
  let value = decodeTyped(schema, read.value ?? {}, findings);
  const hasDoubles = read.keys !== undefined && findings.keys !== read.keys;
  let problems = read.unknown ?? yamlProblems(read.duplicates, validation);
  if (hasDoubles) {
    const strictResult = strictFindings(schema, read.text());
    const newFindings: Findings = { keys: 0, unknown: false, keepsEmptyLists: true };
    value = decodeTyped(schema, strictResult.value, newFindings);
    findings.hasEmptyLists = newFindings.hasEmptyLists === true;
    problems = strictResult.problems;
  } else if (findings.unknown && validation !== "Ignore") {
    problems = [...problems, ...unknownFields(schema, read.text())];
  }
  if (validation === "Strict" && problems.length > 0) throw new DecodeError(strictMessage(problems));
  const apiVersion = apiVersionOf(gvk);
  return {
    object: withType(value as Unstructured, apiVersion, gvk.kind), // schemas of kinds are structs with metadata
    apiVersion,
    kind: gvk.kind,
    warnings: validation === "Warn" ? problems : [],
    hasEmptyLists: findings.hasEmptyLists === true,
  };
}

/** Returns the message of a strict decoding error. */
export const strictMessage = (problems: readonly string[]): string => `strict decoding error: ${problems.join(", ")}`;

/** Returns the problems of a YAML text with duplicate keys. `Strict` makes one problem of them all. */
export function yamlProblems(duplicates: readonly string[], validation: FieldValidation): readonly string[] {
  if (duplicates.length === 0 || validation !== "Strict") return duplicates;
  return [`yaml: unmarshal errors:\n${duplicates.map((text) => `  ${text}`).join("\n")}`];
}

/** Returns the object with its type as the first members. */
export function withType(object: Unstructured, apiVersion: string, kind: string): Unstructured {
  if (object.kind === kind && object.apiVersion === apiVersion) return object;
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = object;
  return { kind, apiVersion, ...rest } as Unstructured; // the fields are the same, and two are set
}

interface SaidType {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Returns the error text of a format for a value that is not an object, or whose type is not text. */
type Mistyped = BodyEncoding["mistyped"];

/**
 * Returns the type that the value declares; empty strings if it declares none. Throws `DecodeError` if it is not an
 * object.
 */
export function saidType(value: unknown, mistyped: Mistyped = mistypedJson): SaidType {
  if (value === null) return { apiVersion: "", kind: "" };
  if (kindOf(value) !== "object") throw new DecodeError(mistyped(value));
  const { apiVersion = null, kind = null } = value as Readonly<Record<string, unknown>>; // the kind was checked above
  if (isTextOrNull(apiVersion) && isTextOrNull(kind)) return { apiVersion: apiVersion ?? "", kind: kind ?? "" };
  // The error is about the first wrong field in the order of the text.
  for (const [name, field] of Object.entries(value as object)) {
    if ((name !== "apiVersion" && name !== "kind") || isTextOrNull(field)) continue;
    throw new DecodeError(mistyped(field, name));
  }
  return { apiVersion: "", kind: "" };
}

const isTextOrNull = (value: unknown): value is string | null => value === null || typeof value === "string";

/** Returns the kind that the value declares, completed by `fallback`. Throws `DecodeError` for an invalid version. */
export function meantKind(value: unknown, fallback: GroupVersionKind, mistyped?: Mistyped): GroupVersionKind {
  const said = saidType(value, mistyped);
  const gv = said.apiVersion === "/" ? { group: "", version: "" } : parseApiVersion(said.apiVersion);
  if (gv === undefined) throw new DecodeError(`unexpected GroupVersion string: ${said.apiVersion}`);
  const kind = said.kind === "" ? fallback.kind : said.kind;
  if (gv.version !== "") return { ...gv, kind };
  if (gv.group !== "" && gv.group !== fallback.group) return { ...gv, kind };
  return { group: fallback.group, version: fallback.version, kind };
}

/** Throws an error unless `actual` is an expected kind. `text` returns the body for the message. */
export function checkKind(expected: Expected, actual: GroupVersionKind, text: () => string): void {
  const { gvk } = expected;
  const isSame = (other: GroupVersionKind): boolean =>
    other.kind === actual.kind && other.version === actual.version && other.group === actual.group;
  if (isSame(gvk) || expected.accepted?.some(isSame) === true) return;
  if (isOptions(expected) && actual.kind === gvk.kind) return;
  if (actual.version === "") throw new DecodeError(`Object 'apiVersion' is missing in '${text()}'`);
  if (expected.isRegistered?.(actual, gvk.group) !== true) {
    const where =
      actual.version === internalVersion
        ? `the internal version of group ${goQuote(actual.group)}`
        : `version ${goQuote(apiVersionOf(actual))}`;
    throw new DecodeError(`no kind ${goQuote(actual.kind)} is registered for ${where}`);
  }
  if (actual.kind === gvk.kind) {
    throw badRequest(
      `the API version in the data (${apiVersionOf(actual)}) does not match the expected API version (${apiVersionOf(gvk)})`,
    );
  }
  const from = packageOf(actual);
  throw new DecodeError(
    `converting (${from}.${actual.kind}) to (${internalPackage(gvk.group)}.${gvk.kind}): unknown conversion`,
  );
}

/** Returns the name of upstream's package that has the type of a kind. */
function packageOf({ group, version, kind }: GroupVersionKind): string {
  if (isKindOfAllVersions(kind) || isKindOfKnownVersions(kind)) return "v1";
  return version === internalVersion ? internalPackage(group) : version;
}

/**
 * Returns the answer 400, in upstream's words, to a body that does not fit the type of its kind. `cause` is the
 * decoder's error.
 */
export const cannotHandle = (
  actual: GroupVersionKind,
  expected: GroupVersionKind,
  message: string,
  cause: unknown,
): Error =>
  badRequest(
    `${actual.kind} in version ${goQuote(actual.version)} cannot be handled as a ${expected.kind}: ${message}`,
    cause,
  );

/** Returns the error for a body whose kind cannot be determined. */
export function unrecognizedBodyError(
  body: Pick<ObjectBody, "bytes" | "gvk" | "isOptions">,
  error: DecodeError,
): Error {
  if (isOptions(body)) return badRequest(error.message, error);
  return badRequest(
    `the object provided is unrecognized (must be of type ${body.gvk.kind}): ${error.message} (${summary(body.bytes)})`,
    error,
  );
}

/** Returns the first bytes of a body: as text if it begins like an object, else in hexadecimal. */
function summary(bytes: Uint8Array): string {
  if (bytes.length === 0) return "<empty>";
  const head = Buffer.from(bytes.subarray(0, 30)).toString(bytes[0] === 0x7b ? "utf8" : "hex");
  return bytes.length > 30 ? `${head} ...` : head;
}

const isOptions = (expected: Expected): boolean => expected.isOptions ?? expected.gvk.kind.endsWith("Options");
