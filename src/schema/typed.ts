/**
 * Decodes JSON values by schema, with the result of Go's decoder and encoder for the type: known fields in struct
 * order, zero values omitted if the type says so, special strings in canonical form, schema defaults.
 *
 * Hot path: schemas are compiled once into flat plans; a canonical value is returned without copying; only differing
 * parts are rebuilt. This pass only detects errors and unknown fields; `mismatch.ts` finds their paths and wording in a
 * second, slow walk. Figures: docs/performance.md.
 */
import { canonicalQuantity } from "#meta/quantity.ts";
import { canonicalTime } from "#meta/time.ts";
import { isRawNumber, rawNumber } from "#std/raw-number.ts";
import { canonicalBase64 } from "./base64.ts";
import { canonicalDuration } from "#std/go-duration.ts";
import { mismatchError } from "./mismatch.ts";
import type { DecodeError } from "./decode-error.ts";
import { countKeys, setKey, withRawNumbers } from "./json-values.ts";
import { isJsonObject } from "./nested-field.ts";
import { emptyMembers, noteEmpty } from "./given-empty.ts";
import type { Field, Schema, SpecialType } from "./schema.ts";

/** The findings of a walk; create one per body. */
export interface Findings {
  /** The number of object keys in the value, dropped parts included. If the text has more, some are duplicates. */
  keys: number;
  /** Whether fields were dropped because the type does not have them. */
  unknown: boolean;
  /** Whether empty lists stay instead of becoming null; `hasEmptyLists` is then set if there is one. */
  keepsEmptyLists?: boolean;
  hasEmptyLists?: boolean;
}

interface TypedOptions {
  /** Whether the schema's defaults are filled in; true unless it is set to false. */
  readonly defaults?: boolean;
  /**
   * A canonical value of the type. Parts that the value shares with it, in the same position, are not decoded again.
   */
  readonly canonical?: unknown;
  /** Returns the error of a value that does not fit; by default in the words of a JSON decoder. */
  readonly explain?: (schema: Schema, raw: unknown) => DecodeError;
}

/**
 * Returns the canonical form of `raw`, which may come from `decodeJson` (numbers that JavaScript cannot represent stay
 * `JSON.rawJSON` objects). `raw` is not changed; the result shares unchanged parts with it, and is `raw` itself if
 * nothing changed. Map keys are sorted, except keys that look like array indices, which JavaScript puts first. Throws
 * `DecodeError` for values that do not fit the type.
 */
export function decodeTyped(schema: Schema, raw: unknown, findings: Findings, options?: TypedOptions): unknown {
  const compiler = options?.defaults === false ? withoutDefaults : withDefaults;
  const plan = compiler.plan(schema);
  try {
    return decode(plan, raw, findings, options?.canonical);
  } catch (error) {
    if (error !== mismatch && !(error instanceof RangeError)) throw error;
    if (error !== mismatch) throw mismatchError(schema, raw, error);
    throw (options?.explain ?? mismatchError)(schema, raw);
  }
}

/** Thrown if a value does not fit; always the same object. */
const mismatch = new Error("value does not fit its schema");

type Json = Record<string, unknown>;

/** A field, or the beginning of a struct, after which the next field of a text is expected. */
interface Predecessor {
  /** The field that followed last time: most texts of a type have the same order, and need no search by name. */
  follower: FieldPlan | undefined;
}

interface Plan extends Predecessor {
  /** The kind of decoding, one of the codes below. */
  readonly code: number;
  /** The fields of a struct by name; `fields` has them in order. */
  readonly index: ReadonlyMap<string, FieldPlan>;
  readonly fields: readonly FieldPlan[];
  /**
   * For each field of a struct, the position of the first field from there on that must be in the output; the number of
   * fields if there is none.
   */
  readonly nextKept: readonly number[];
  /** Whether members that were sent without content are recorded. */
  readonly notesEmpty: boolean;
  items: Plan | undefined;
  /** The value that null becomes if it is not behind a pointer. */
  zero: unknown;
}

interface FieldPlan extends Predecessor {
  readonly name: string;
  readonly at: number;
  readonly plan: Plan;
  /** Whether zero values are omitted. */
  readonly dropZero: boolean;
  /** The value if the field is absent or zero; `undefined` if it stays absent. */
  readonly fill: unknown;
  /**
   * Whether an empty list becomes null in a field that must be shown: upstream's storage does not distinguish the two.
   */
  readonly emptyIsNull: boolean;
  /** Whether a zero that was sent is a value, and becomes null: Go's zero time behind a pointer. */
  readonly zeroIsNull: boolean;
  readonly isTime: boolean;
}

const STRUCT = 0;
const MAP = 1;
const ARRAY = 2;
const STRING = 3;
const INT32 = 4;
const INT64 = 5;
const NUMBER = 6;
const BOOLEAN = 7;
const BYTES = 8;
const TIME = 9;
const MICRO_TIME = 10;
const QUANTITY = 11;
const INT_OR_STRING = 12;
const DURATION = 13;
const ANY = 14;
const SCHEMA_OR_BOOL = 15;
const SCHEMA_OR_ARRAY = 16;
const SCHEMA_OR_STRINGS = 17;

const specialCodes: Readonly<Record<SpecialType, number>> = {
  time: TIME,
  microTime: MICRO_TIME,
  duration: DURATION,
  quantity: QUANTITY,
  intOrString: INT_OR_STRING,
  schemaOrBool: SCHEMA_OR_BOOL,
  schemaOrArray: SCHEMA_OR_ARRAY,
  schemaOrStringArray: SCHEMA_OR_STRINGS,
  rawExtension: ANY,
  fieldsV1: ANY,
  json: ANY,
};

function codeOf(schema: Schema): number {
  if (schema.special !== undefined) return specialCodes[schema.special];
  switch (schema.type) {
    case "object":
      return schema.fields === undefined ? ANY : STRUCT;
    case "map":
      return MAP;
    case "array":
      return ARRAY;
    case "string":
      return schema.format === "byte" ? BYTES : STRING;
    case "integer":
      return schema.format === "int32" ? INT32 : INT64;
    case "number":
      return NUMBER;
    case "boolean":
      return BOOLEAN;
    case "any":
      return ANY;
  }
}

/** Compiles schemas. A schema's plan is made once and lives as long as the schema. */
class Compiler {
  readonly #plans = new WeakMap<Schema, Plan>();
  readonly #defaults: boolean;

  constructor(defaults: boolean) {
    this.#defaults = defaults;
  }

  plan(schema: Schema): Plan {
    const cachedPlan = this.#plans.get(schema);
    if (cachedPlan !== undefined) return cachedPlan;
    const index = new Map<string, FieldPlan>();
    const fields: FieldPlan[] = [];
    const nextKept: number[] = [];
    const code = codeOf(schema);
    const notesEmpty = schema.notesEmpty === true;
    const plan: Plan = {
      code,
      index,
      fields,
      nextKept,
      notesEmpty,
      items: undefined,
      zero: undefined,
      follower: undefined,
    };
    // The plan is registered before those of its parts, since a type may contain itself.
    this.#plans.set(schema, plan);
    if (schema.items !== undefined) plan.items = this.plan(schema.items);
    plan.zero = zeroOf(code);
    if (code !== STRUCT) return plan;
    for (const [name, field] of schema.fields!) {
      const planField = this.#field(name, field, fields.length);
      fields.push(planField);
      index.set(name, planField);
    }
    let next = fields.length;
    nextKept.length = fields.length + 1;
    nextKept[fields.length] = next;
    for (let at = fields.length - 1; at >= 0; at--) {
      if (fields[at]!.fill !== undefined) next = at;
      nextKept[at] = next;
    }
    // Structs that contain each other without a pointer or list have no cycles, so the parts have their zero value
    // already.
    plan.zero = Object.freeze(build(plan, []));
    return plan;
  }

  #field(name: string, field: Field, at: number): FieldPlan {
    const plan = this.plan(field.schema);
    const pointer = field.ptr === true;
    const isDefault = this.#defaults && field.default !== undefined && !isZeroDefault(field.default);
    const structure = plan.code === STRUCT && !pointer;
    const isKept = field.keep === true || field.omitempty !== true || structure;
    const zero = pointer || plan.code === ARRAY || plan.code === MAP || plan.code === BYTES ? null : plan.zero;
    const fill = isDefault ? field.default : isKept ? zero : undefined;
    const dropZero = !pointer && !structure && (isDefault || !isKept);
    const isTime = plan.code === TIME || plan.code === MICRO_TIME;
    const emptyIsNull = isKept && plan.code === ARRAY;
    return { name, at, plan, dropZero, fill, emptyIsNull, zeroIsNull: pointer && isTime, isTime, follower: undefined };
  }
}

const withDefaults = new Compiler(true);
const withoutDefaults = new Compiler(false);

const isZeroDefault = (value: unknown): boolean =>
  value === "" ||
  value === 0 ||
  value === false ||
  (typeof value === "object" && Object.keys(value ?? {}).length === 0);

/** Returns the value that null becomes in a place that cannot be absent (a list item, a map value); not for structs. */
function zeroOf(code: number): unknown {
  switch (code) {
    case STRING:
    case BYTES:
      return "";
    case INT32:
    case INT64:
    case NUMBER:
    case INT_OR_STRING:
      return 0;
    case BOOLEAN:
      return false;
    case QUANTITY:
      return "0";
    default:
      return null;
  }
}

function decode(plan: Plan, raw: unknown, findings: Findings, canonical?: unknown): unknown {
  if (raw === null) return plan.zero;
  if (typeof raw === "object" && raw === canonical) return raw;
  switch (plan.code) {
    case STRING:
      if (typeof raw === "string") return raw;
      break;
    case STRUCT:
      return decodeStruct(plan, raw, findings, canonical as Json | undefined);
    case MAP:
      return decodeMap(plan, raw, findings, canonical as Json | undefined);
    case ARRAY:
      return decodeArray(plan, raw, findings, canonical as readonly unknown[] | undefined);
    case BOOLEAN:
      if (typeof raw === "boolean") return raw;
      break;
    case INT32:
      if (typeof raw === "number") {
        if ((raw | 0) === raw) return raw;
      } else if (isMinusZero(raw)) return 0;
      break;
    case INT64:
      return decodeInt64(raw);
    case ANY:
      if (typeof raw === "object") findings.keys += countKeys(raw);
      return withRawNumbers(raw);
    case SCHEMA_OR_BOOL:
    case SCHEMA_OR_ARRAY:
    case SCHEMA_OR_STRINGS:
      return decodeUnion(plan, raw, findings);
    default: {
      const value = decodeScalar(plan.code, raw);
      if (value !== undefined) return value;
    }
  }
  throw mismatch;
}

/** Decodes the less common scalars; returns `undefined` for a value that does not fit. */
function decodeScalar(code: number, raw: unknown): unknown {
  switch (code) {
    case NUMBER:
      return decodeNumber(raw);
    case BYTES:
      return decodeBytes(raw);
    case TIME:
    case MICRO_TIME:
      return typeof raw === "string" ? canonicalTime(raw, code === TIME ? "seconds" : "micro") : undefined;
    case QUANTITY:
      if (typeof raw === "string") return canonicalQuantity(raw);
      if (typeof raw === "number" || typeof raw === "bigint") return canonicalQuantity(String(raw));
      return isRawNumber(raw) ? canonicalQuantity(raw.rawJSON) : undefined;
    case INT_OR_STRING:
      if (typeof raw === "string" || (typeof raw === "number" && (raw | 0) === raw)) return raw;
      return isMinusZero(raw) ? 0 : undefined;
    case DURATION:
      return typeof raw === "string" ? canonicalDuration(raw) : undefined;
  }
  return undefined;
}

function decodeNumber(raw: unknown): number | undefined {
  if (typeof raw === "number") return raw;
  if (typeof raw === "bigint") return Number(raw);
  const value = isRawNumber(raw) ? Number(raw.rawJSON) : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
}

/** Decodes a schema or one of its alternatives. */
function decodeUnion(plan: Plan, raw: unknown, findings: Findings): unknown {
  if (isJsonObject(raw)) return decodeInner(plan.items!, raw, findings);
  const { code } = plan;
  if (code === SCHEMA_OR_BOOL) {
    if (typeof raw === "boolean") return raw;
    throw mismatch;
  }
  // Upstream: any other value is accepted and has no meaning.
  if (!Array.isArray(raw)) return null;
  if (code === SCHEMA_OR_ARRAY) {
    return raw.length === 0 ? null : raw.map((item) => decodeInner(plan.items!, item, findings));
  }
  if (!raw.every((item) => item === null || typeof item === "string")) throw mismatch;
  return raw.map((item: unknown) => item ?? "");
}

const isMinusZero = (raw: unknown): boolean => isRawNumber(raw) && raw.rawJSON === "-0";

/** Decodes a part that upstream decodes with a decoder of its own, which ignores unknown fields. */
function decodeInner(plan: Plan, raw: unknown, findings: Findings): unknown {
  const { unknown } = findings;
  const value = decode(plan, raw, findings);
  findings.unknown = unknown;
  return value;
}

function decodeInt64(raw: unknown): unknown {
  if (typeof raw === "number") {
    if (Number.isInteger(raw) && raw >= -9223372036854775808 && raw < 9223372036854775808) return raw;
  } else if (typeof raw === "bigint") {
    if (BigInt.asIntN(64, raw) === raw) return Number.isSafeInteger(Number(raw)) ? Number(raw) : rawNumber(String(raw));
  } else if (isRawNumber(raw) && /^-?[0-9]+$/.test(raw.rawJSON) && raw.rawJSON.length <= 20) {
    const value = BigInt(raw.rawJSON);
    if (value === 0n) return 0;
    if (BigInt.asIntN(64, value) === value) return raw;
  }
  throw mismatch;
}

function decodeBytes(raw: unknown): unknown {
  if (typeof raw === "string") {
    const text = canonicalBase64(raw);
    if (text !== undefined) return text;
  } else if (Array.isArray(raw)) {
    // Go also reads a byte slice from a list of numbers.
    for (const item of raw) if (item !== null && !(Number.isInteger(item) && item >= 0 && item <= 255)) throw mismatch;
    return Buffer.from(raw as number[]).toString("base64");
  }
  throw mismatch;
}

function decodeStruct(plan: Plan, raw: unknown, findings: Findings, canonical: Json | undefined): unknown {
  if (typeof raw !== "object" || Array.isArray(raw) || raw === null) throw mismatch;
  const object = raw as Json;
  const { index, fields, nextKept } = plan;
  // While nothing had to change, `out` is undefined, and the output equals the input in all fields before `next`.
  let out: unknown[] | undefined;
  let next = 0;
  let count = 0;
  let previous: Predecessor = plan;
  const empty: string[] | undefined = plan.notesEmpty ? [] : undefined;
  for (const name in object) {
    count++;
    const value = object[name];
    const field = fieldAfter(previous, name, index);
    if (field === undefined) {
      if (name === "rawJSON" && isRawNumber(raw)) throw mismatch;
      findings.unknown = true;
      if (typeof value === "object") findings.keys += countKeys(value);
      out ??= collectFirst(plan, object, count - 1);
      continue;
    }
    previous = field;
    const at = field.at;
    let decoded: unknown = value;
    let same = true;
    if (typeof value !== "string" || value === "" || field.plan.code !== STRING) {
      decoded = value === null ? undefined : decodeField(field, value, findings, canonical?.[name], empty);
      // An absent value equals the input only if both are null.
      same = decoded === undefined ? value === null && field.fill === null : decoded === value;
    }
    if (out === undefined) {
      // The value is unchanged and in the right position.
      if (same && at >= next && nextKept[next]! >= at) {
        next = at + 1;
        continue;
      }
      out = collectFirst(plan, object, count - 1);
    }
    out[at] = decoded;
  }
  findings.keys += count;
  if (out === undefined) {
    if (nextKept[next] === fields.length) return raw;
    out = collectFirst(plan, object, count);
  }
  const built = build(plan, out);
  if (empty !== undefined) keepNotes(object, empty, built);
  return built;
}

/**
 * Decodes the value of a field; `undefined` if the field is not in the output, or has the value with which it is filled.
 * `empty` gets the name of a member without content.
 */
function decodeField(
  field: FieldPlan,
  value: unknown,
  findings: Findings,
  canonical: unknown,
  empty: string[] | undefined,
): unknown {
  const decoded = decode(field.plan, value, findings, canonical);
  if (field.dropZero && isZero(decoded)) {
    if (typeof decoded === "object") empty?.push(field.name);
    return undefined;
  }
  if (decoded === null) {
    if (field.isTime) empty?.push(field.name);
    return field.zeroIsNull ? null : undefined;
  }
  if (field.emptyIsNull && isEmptyList(decoded)) {
    if (findings.keepsEmptyLists !== true) return undefined;
    findings.hasEmptyLists = true;
  }
  return decoded;
}

/** Returns the field of a name; `undefined` if there is none. `previous` is what was before it in the text. */
function fieldAfter(previous: Predecessor, name: string, index: Plan["index"]): FieldPlan | undefined {
  const expected = previous.follower;
  if (expected !== undefined && expected.name === name) return expected;
  const field = index.get(name);
  previous.follower = field;
  return field;
}

function keepNotes(from: Json, names: readonly string[], to: Json): void {
  const all = [...emptyMembers(from), ...names];
  if (all.length > 0) noteEmpty(to, all);
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** Returns the values of the first `count` members, all of which are fields that need no change, by position. */
function collectFirst(plan: Plan, object: Json, count: number): unknown[] {
  const out = new Array<unknown>(plan.fields.length);
  let left = count;
  let previous: Predecessor = plan;
  for (const name in object) {
    if (left-- === 0) break;
    const field = fieldAfter(previous, name, plan.index)!; // it was decoded
    out[field.at] = object[name] ?? undefined;
    previous = field;
  }
  return out;
}

function build(plan: Plan, out: readonly unknown[]): Json {
  const { fields } = plan;
  const object: Json = {};
  for (let at = 0; at < fields.length; at++) {
    const field = fields[at]!;
    const value = out[at];
    if (value !== undefined) object[field.name] = value;
    else if (field.fill !== undefined) object[field.name] = field.fill;
  }
  return object;
}

function isZero(value: unknown): boolean {
  if (typeof value === "object") {
    if (value === null) return true;
    if (Array.isArray(value)) return value.length === 0;
    for (const _ in value) return false;
    return !isRawNumber(value);
  }
  return value === "" || value === 0 || value === false;
}

function decodeMap(plan: Plan, raw: unknown, findings: Findings, canonical: Json | undefined): unknown {
  if (typeof raw !== "object" || Array.isArray(raw) || raw === null) throw mismatch;
  const object = raw as Json;
  const items = plan.items!;
  // While nothing had to change, `changed` is undefined; it has the values that are not those of `object`.
  let changed: Json | undefined;
  let isSorted = true;
  let previous = "";
  let count = 0;
  for (const key in object) {
    const value = object[key];
    const decoded =
      typeof value === "string" && items.code === STRING ? value : decode(items, value, findings, canonical?.[key]);
    if (key === "rawJSON" && isRawNumber(raw)) throw mismatch;
    if (decoded !== value) setKey((changed ??= {}), key, decoded);
    if (key < previous) isSorted = false;
    previous = key;
    count++;
  }
  findings.keys += count;
  if (isSorted && changed === undefined) return raw;
  const keys = Object.keys(object);
  if (!isSorted) keys.sort();
  const sorted: Json = {};
  for (const key of keys) {
    setKey(sorted, key, changed !== undefined && Object.hasOwn(changed, key) ? changed[key] : object[key]);
  }
  return sorted;
}

function decodeArray(plan: Plan, raw: unknown, findings: Findings, canonical: readonly unknown[] | undefined): unknown {
  if (!Array.isArray(raw)) throw mismatch;
  const list = raw as readonly unknown[];
  const items = plan.items!;
  let out: unknown[] | undefined;
  for (let at = 0; at < list.length; at++) {
    const value = list[at];
    const decoded = decode(items, value, findings, canonical?.[at]);
    if (out === undefined && decoded !== value) out = list.slice(0, at);
    if (out !== undefined) out.push(decoded);
  }
  return out ?? list;
}
