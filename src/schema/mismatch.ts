/**
 * Finds the error of a value that does not fit its type, in the words of Go's JSON decoder: the type's Go name and the
 * path of struct fields, without list positions and map keys. The search is slow, and runs only for refused bodies.
 */
import { FieldPath } from "#meta/field-path.ts";
import { quantityError } from "#meta/quantity.ts";
import { parseTime } from "#meta/time.ts";
import { isRawNumber } from "#std/raw-number.ts";
import { base64Error, canonicalBase64 } from "./base64.ts";
import { DecodeError } from "./decode-error.ts";
import { parseDuration } from "#std/go-duration.ts";
import type { Schema } from "./schema.ts";

/**
 * Returns the error of Go's decoder for `raw`. A type with its own decoder stops the decoding at once, so its error
 * precedes those of other fields; otherwise the first error in the order of the text wins. `overflow` is set if the
 * value was too deep to decode.
 */
export function mismatchError(schema: Schema, raw: unknown, overflow?: unknown): DecodeError {
  if (overflow !== undefined) return new DecodeError("exceeded max depth", { cause: overflow });
  return findMismatch(schema, raw) ?? new DecodeError("value does not fit its type");
}

/** Returns the error of Go's decoder for `raw`; `undefined` if the value fits. */
export function findMismatch(schema: Schema, raw: unknown): DecodeError | undefined {
  const finder = new Finder();
  try {
    finder.walk(schema, raw, { struct: "", path: FieldPath.root });
  } catch (error) {
    if (error instanceof RangeError) return new DecodeError("exceeded max depth", { cause: error });
    throw error;
  }
  const message = finder.fatal ?? finder.first;
  return message === undefined ? undefined : new DecodeError(message, { path: finder.path });
}

/** The schema of the members of a list that Go decodes as bytes. */
const byteSchema: Schema = { type: "integer", format: "uint8" };

interface Location {
  /** The Go name of the struct around, without its package; empty at the top. */
  readonly struct: string;
  /** The path of field names alone, without list positions and map keys. */
  readonly path: FieldPath;
}

class Finder {
  first: string | undefined;
  fatal: string | undefined;
  /** The path of the fatal error, if its message does not name it. */
  path: FieldPath | undefined;

  walk(schema: Schema, raw: unknown, location: Location): void {
    if (raw === null || this.fatal !== undefined) return;
    switch (schema.special) {
      case "rawExtension":
      case "fieldsV1":
      case "json":
        return;
      case undefined:
        break;
      default:
        this.#special(schema, raw, location);
        return;
    }
    const fits = this.#container(schema, raw, location) ?? this.#scalar(schema, raw);
    if (fits === true) return;
    if (typeof fits === "string") this.first ??= fits;
    else {
      const kind = typeof fits === "object" ? `number ${fits.literal}` : kindOf(raw);
      this.first ??= typeError(kind, goType(schema), location);
    }
  }

  /** Checks a list or object. Returns `undefined` for scalar types, false if the value has the wrong form. */
  #container(schema: Schema, raw: unknown, location: Location): boolean | undefined {
    if (schema.type === "any" || (schema.type === "object" && schema.fields === undefined)) return true;
    if (schema.format === "byte" && Array.isArray(raw)) {
      for (const item of raw) this.walk(byteSchema, item, location);
      return true;
    }
    if (schema.type === "array") {
      if (!Array.isArray(raw)) return false;
      for (const item of raw) this.walk(schema.items!, item, location);
      return true;
    }
    if (schema.type !== "object" && schema.type !== "map") return undefined;
    if (kindOf(raw) !== "object") return false;
    for (const [name, value] of Object.entries(raw as Record<string, unknown>)) {
      if (schema.type === "map") this.walk(schema.items!, value, location);
      else {
        const field = schema.fields!.get(name);
        const inside = { struct: shortName(schema), path: location.path.child(name) };
        if (field !== undefined) this.walk(field.schema, value, inside);
      }
    }
    return true;
  }

  #scalar(schema: Schema, raw: unknown): boolean | string | { literal: string } {
    switch (schema.type) {
      case "string":
        if (typeof raw !== "string") return false;
        return schema.format !== "byte" || canonicalBase64(raw) !== undefined || base64Error(raw);
      case "boolean":
        return typeof raw === "boolean";
      case "integer":
        if (kindOf(raw) !== "number") return false;
        return integerFits(raw, schema.format) || { literal: literalOf(raw) };
      case "number":
        if (kindOf(raw) !== "number") return false;
        return Number.isFinite(Number(literalOf(raw))) || { literal: literalOf(raw) };
      default:
        return true;
    }
  }

  /** Checks a type that Go decodes by a method of its own. */
  #special(schema: Schema, raw: unknown, location: Location): void {
    const kind = kindOf(raw);
    switch (schema.special) {
      case "time":
        return this.#checkParsed(raw, parseTime, location);
      case "microTime":
        return this.#checkParsed(raw, (text) => parseTime(text, "micro"), location);
      case "duration":
        return this.#checkParsed(raw, parseDuration, location);
      case "quantity": {
        const text = typeof raw === "string" ? raw : kind === "number" ? literalOf(raw) : "x";
        const error = quantityError(text);
        if (error !== "") this.#refuse(error, location);
        return;
      }
      case "intOrString":
        if (kind === "string") return;
        if (kind === "number" && integerFits(raw, "int32")) return;
        this.fatal = typeError(kind === "number" ? `number ${literalOf(raw)}` : kind, "int32", location);
        return;
      default:
        this.#schemaOr(schema, raw, location);
    }
  }

  /** Checks a text with a special form; `parse` returns the error of an invalid one as a text. */
  #checkParsed(raw: unknown, parse: (text: string) => unknown, location: Location): void {
    if (typeof raw !== "string") {
      this.fatal = typeError(kindOf(raw), "string", location);
      return;
    }
    const result = parse(raw);
    if (typeof result === "string") this.#refuse(result, location);
  }

  /** Records a fatal error whose text, in Go's words, names the value alone. */
  #refuse(error: string, { path }: Location): void {
    this.fatal = error;
    this.path = path;
  }

  #schemaOr(schema: Schema, raw: unknown, location: Location): void {
    const kind = kindOf(raw);
    if (schema.special === "schemaOrBool" && kind !== "bool" && kind !== "object") {
      this.fatal = "boolean or JSON schema expected";
      return;
    }
    const inner = new Finder();
    if (kind === "object") inner.walk(schema.items!, raw, { struct: "", path: FieldPath.root });
    if (kind === "array") {
      const member: Schema = schema.special === "schemaOrStringArray" ? { type: "string" } : schema.items!;
      inner.walk({ type: "array", items: member }, raw, { struct: "", path: FieldPath.root });
    }
    const error = inner.fatal ?? inner.first;
    // Go replaces the location in the inner decoder's error with the outer one.
    if (error !== undefined)
      this.fatal = error.replace(/into Go (?:struct field \S+|value) of/, `into ${target(location)} of`);
  }
}

const target = (location: Location): string =>
  location.struct === "" ? "Go value" : `Go struct field ${location.struct}.${String(location.path)}`;

const typeError = (value: string, type: string, location: Location): string =>
  `json: cannot unmarshal ${value} into ${target(location)} of type ${type}`;

/** Returns the kind of a value as Go's JSON decoder names it. */
export function kindOf(raw: unknown): string {
  if (Array.isArray(raw)) return "array";
  if (typeof raw === "object") return isRawNumber(raw) ? "number" : "object";
  return typeof raw === "boolean" ? "bool" : typeof raw === "bigint" ? "number" : typeof raw;
}

const literalOf = (raw: unknown): string => (isRawNumber(raw) ? raw.rawJSON : String(raw));

function integerFits(raw: unknown, format: string | undefined): boolean {
  const literal = literalOf(raw);
  if (!/^-?[0-9]+$/.test(literal) || literal.length > 20) return false;
  const value = BigInt(literal);
  if (format === "uint8") return BigInt.asUintN(8, value) === value && !literal.startsWith("-");
  return BigInt.asIntN(format === "int32" ? 32 : 64, value) === value;
}

function shortName(schema: Schema): string {
  return schema.name?.slice(schema.name.lastIndexOf(".") + 1) ?? "";
}

/** Returns the name of the Go type, such as `string`, `[]v1.Container` or `map[string]string`. */
export function goType(schema: Schema): string {
  if (schema.goType !== undefined) return schema.goType;
  switch (schema.type) {
    case "array":
      return `[]${goType(schema.items!)}`;
    case "map":
      return `map[string]${goType(schema.items!)}`;
    case "string":
      return schema.format === "byte" ? "[]uint8" : "string";
    case "boolean":
      return "bool";
    case "integer":
      return schema.format ?? "int64";
    case "number":
      return "float64";
    default:
      return (schema.name ?? "").split(".").slice(-2).join(".");
  }
}
