/**
 * Finds strict decoding errors in a JSON text: unknown fields and duplicate keys, in the order of the text, with
 * upstream's paths (`spec.containers[0].foo`). The search is slow, and runs only if a cheaper check has found a
 * problem. Source of the wording: upstream's `sigs.k8s.io/json`.
 */
import { goQuote } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { DecodeError } from "#schema/decode-error.ts";
import { isRawNumber, rawNumber } from "#std/raw-number.ts";
import type { Schema } from "#schema/schema.ts";
import { setKey } from "#schema/json-values.ts";

interface StrictFindings {
  /** Texts such as `unknown field "a.b"` and `duplicate field "a"`: each text once, at most `problemsMax`. */
  readonly problems: readonly string[];
  /**
   * The value as Go decodes it into a typed object: the last of duplicate scalars or lists wins, duplicate structs and
   * maps are merged.
   */
  readonly value: unknown;
}

/** The maximum number of problems, as upstream's. */
const problemsMax = 100;

/** Finds strict decoding errors in `text`, which must be valid JSON. Without a schema it finds duplicate keys only. */
export function strictFindings(schema: Schema | undefined, text: string): StrictFindings {
  const walker = new Walker(text, true);
  const value = guardDepth(() => walker.value(schema, FieldPath.root, "report"));
  return { problems: [...walker.problems], value };
}

/** Returns the unknown fields of a text without duplicate keys: cheaper than `strictFindings`. */
export function unknownFields(schema: Schema, text: string): readonly string[] {
  const walker = new Walker(text, false);
  guardDepth(() => walker.value(schema, FieldPath.root, "report"));
  return [...walker.problems];
}

function guardDepth<T>(walk: () => T): T {
  try {
    return walk();
  } catch (error) {
    if (error instanceof RangeError) throw new DecodeError("exceeded max depth", { cause: error });
    throw error;
  }
}

/**
 * Returns the value of valid JSON. Numbers that JavaScript would change are raw numbers. The last of duplicate keys
 * wins.
 */
export function exactValue(text: string): unknown {
  return new Walker(text, true).value(undefined, FieldPath.root, "quiet");
}

type Mode = "report" | "quiet";
type Json = Record<string, unknown>;

class Walker {
  readonly problems = new Set<string>();
  readonly #text: string;
  /** Whether values are built. Without values, duplicate keys are not found. */
  readonly #build: boolean;
  #at = 0;

  constructor(text: string, build: boolean) {
    this.#text = text;
    this.#build = build;
  }

  value(schema: Schema | undefined, path: FieldPath, mode: Mode): unknown {
    this.#space();
    switch (this.#text[this.#at]) {
      case "{":
        return this.#object(schema, path, mode);
      case "[":
        return this.#array(schema, path, mode);
      case '"':
        return this.#string();
      default:
        return this.#word();
    }
  }

  #object(schema: Schema | undefined, path: FieldPath, mode: Mode): Json {
    const object: Json = {};
    // Problems inside values of types with a decoder of their own are not reported.
    const inside = schema === undefined || isOpen(schema) ? mode : "quiet";
    this.#at++;
    this.#space();
    while (this.#text[this.#at] !== "}") {
      if (!this.#build && this.problems.size >= problemsMax) return object;
      const key = this.#string();
      this.#space();
      this.#at++;
      const isStruct = schema?.fields !== undefined && schema.special === undefined;
      const field = isStruct ? schema.fields.get(key)?.schema : schema?.type === "map" ? schema.items : undefined;
      const isUnknown = isStruct && field === undefined;
      const isDouble = this.#build && Object.hasOwn(object, key);
      const at = inside === "report" ? path.child(key) : path;
      if (inside === "report") {
        if (isUnknown) this.#report("unknown", at);
        else if (isDouble) this.#report("duplicate", at);
      }
      const value = this.value(field, at, isUnknown ? "quiet" : inside);
      if (this.#build) setKey(object, key, isDouble && isStruct ? mergeDuplicate(field, object[key], value) : value);
      this.#space();
      if (this.#text[this.#at] === ",") this.#at++;
      this.#space();
    }
    this.#at++;
    return object;
  }

  #array(schema: Schema | undefined, path: FieldPath, mode: Mode): unknown[] {
    const list: unknown[] = [];
    const inside = schema === undefined || isOpen(schema) ? mode : "quiet";
    const items = schema?.type === "array" ? schema.items : undefined;
    this.#at++;
    this.#space();
    for (let i = 0; this.#text[this.#at] !== "]"; i++) {
      if (!this.#build && this.problems.size >= problemsMax) return list;
      const item = this.value(items, inside === "report" ? path.index(i) : path, inside);
      if (this.#build) list.push(item);
      this.#space();
      if (this.#text[this.#at] === ",") this.#at++;
      this.#space();
    }
    this.#at++;
    return list;
  }

  #string(): string {
    const start = this.#at++;
    while (this.#text[this.#at] !== '"') this.#at += this.#text[this.#at] === "\\" ? 2 : 1;
    this.#at++;
    return JSON.parse(this.#text.slice(start, this.#at)) as string; // the slice is a JSON string literal
  }

  #word(): unknown {
    word.lastIndex = this.#at;
    const literal = word.exec(this.#text)?.[0] ?? "";
    if (literal === "") throw new Error("the text is no JSON");
    this.#at += literal.length;
    const value: unknown = JSON.parse(literal);
    return typeof value === "number" && String(value) !== literal ? rawNumber(literal) : value;
  }

  #space(): void {
    while (" \t\r\n".includes(this.#text[this.#at] ?? "x")) this.#at++;
  }

  #report(what: "unknown" | "duplicate", path: FieldPath): void {
    if (this.problems.size < problemsMax) this.problems.add(`${what} field ${goQuote(String(path))}`);
  }
}

const word = /[-+.0-9A-Za-z]+/y;

/** Whether problems inside values of this type are reported. */
const isOpen = (schema: Schema): boolean => schema.special === undefined && schema.type !== "any";

/** Returns the value of a duplicate field in Go, which decodes the second value into the first. */
function mergeDuplicate(schema: Schema | undefined, first: unknown, second: unknown): unknown {
  if (schema === undefined || !isOpen(schema) || !isObject(first) || !isObject(second)) return second;
  if (schema.type !== "map" && schema.fields === undefined) return second;
  const out: Json = { ...first };
  for (const [key, value] of Object.entries(second)) {
    const field = schema.fields?.get(key)?.schema;
    setKey(out, key, field !== undefined && Object.hasOwn(out, key) ? mergeDuplicate(field, out[key], value) : value);
  }
  return out;
}

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value) && Object.getPrototypeOf(value) !== null;

/** Returns JSON text with the keys of all objects sorted: upstream writes values so whose JSON text no client sent. */
export function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item === "bigint") return rawNumber(String(item));
    if (!isObject(item)) return item;
    const sorted: Json = {};
    for (const key of Object.keys(item).sort()) setKey(sorted, key, item[key]);
    return sorted;
  });
}

/**
 * Returns the JSON of a value that a patch made from `before`. Objects that the patch changed have sorted members, as
 * upstream's patches write them; all others keep their order.
 */
export function patchedJson(value: unknown, before: unknown): string {
  const shown = withSortedChanges(value ?? null, before);
  return JSON.stringify(shown, (_key, item: unknown) => (typeof item === "bigint" ? rawNumber(String(item)) : item));
}

function withSortedChanges(value: unknown, before: unknown): unknown {
  if (value === before) return value;
  if (Array.isArray(value)) {
    const old = new Set(Array.isArray(before) ? (before as readonly unknown[]) : []);
    return value.map((item: unknown) => (old.has(item) ? item : withSortedChanges(item, undefined)));
  }
  if (!isObject(value) || isRawNumber(value)) return value;
  const sorted: Json = {};
  for (const key of Object.keys(value).sort()) {
    const old = isObject(before) && Object.hasOwn(before, key) ? before[key] : undefined;
    setKey(sorted, key, withSortedChanges(value[key], old));
  }
  return sorted;
}
