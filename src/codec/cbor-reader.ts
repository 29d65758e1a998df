/**
 * Reads CBOR into the JSON form of objects, by schema, as upstream's decoder reads it into Go's types: byte strings are
 * texts, tags say which bytes become base64, integers and floats are different types, and duplicate keys are errors.
 * Source of the rules and the wording: the answers of kube-apiserver 1.32.1 to each kind of item.
 */
import { isUtf8 } from "node:buffer";
import { goQuote } from "#meta/field-error.ts";
import { formatTime, parseTime } from "#meta/time.ts";
import { base64Error, canonicalBase64 } from "#schema/base64.ts";
import { DecodeError } from "#schema/decode-error.ts";
import { setKey } from "#schema/json-values.ts";
import { goType } from "#schema/mismatch.ts";
import type { Schema, SpecialType } from "#schema/schema.ts";
import { type Int64, nearestNumber } from "#std/int64.ts";
import { rawNumber } from "#std/raw-number.ts";
import {
  array,
  breakByte,
  byteString,
  CborHeads,
  checkCbor,
  falseInfo,
  indefinite,
  int64Bound,
  map,
  negative,
  notAccepted,
  nullInfo,
  positive,
  primitive,
  skipItem,
  tag,
  textString,
  trueInfo,
  undefinedInfo,
  typeNames,
} from "./cbor-items.ts";

/** The content of a body. */
interface CborBody {
  /** The object in its JSON form, without unknown fields; if `refusal` is set, its type alone. */
  readonly value: unknown;
  /** The problem of the first field that the type does not have, in upstream's words. */
  readonly unknown: string | undefined;
  /** The error of a body that is well-formed, but no object of the type. */
  readonly refusal: DecodeError | undefined;
}

/**
 * Reads a body. Throws `DecodeError` if its kind and version cannot be read: the bytes are not one well-formed item, or
 * neither an object nor null.
 */
export function readCbor(bytes: Uint8Array, schema: Schema): CborBody {
  checkCbor(bytes);
  const value = new CborReader(bytes).typeMeta();
  const reader = new CborReader(bytes);
  try {
    return { value: reader.value(schema), unknown: reader.unknown, refusal: undefined };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return { value, unknown: undefined, refusal: error };
  }
}

/** Reads a value of any type. Throws `DecodeError` unless the bytes are one well-formed object or null. */
export function readCborObject(bytes: Uint8Array): unknown {
  checkCbor(bytes);
  return new CborReader(bytes).object();
}

/** The tags with a meaning. The others are read as what follows them. */
const timeTextTag = 0;
const epochTag = 1;
const base64UrlTag = 21;
const base64Tag = 22;
const base16Tag = 23;

/** The form in which a byte string is text. */
type BytesForm = "utf8" | "base64url" | "base64" | "hex";

const formsOfTags: ReadonlyMap<number, BytesForm> = new Map([
  [base64UrlTag, "base64url"],
  [base64Tag, "base64"],
  [base16Tag, "hex"],
]);

/** The bits of integers by the format of their schema; 64 if it is another. */
const bitsOfFormats: ReadonlyMap<string, number> = new Map([
  ["int32", 32],
  ["uint8", 8],
]);

/** The special types that Go reads by a method of their own, from a text or nothing. */
const textTypes: ReadonlySet<SpecialType> = new Set<SpecialType>(["time", "microTime", "duration", "quantity"]);

const type = { string: "string", object: "map[string]interface {}", any: "interface {}" } as const;

/** Reads an item that is known to be well-formed. */
class CborReader {
  /** The problem of an unknown field. */
  unknown: string | undefined;
  readonly #heads: CborHeads;
  /** The place of the value in messages: upstream names the outermost struct and its field. */
  #target = "Go value";
  #form: BytesForm = "utf8";
  /** Whether the item that is being read has a tag for times, which is handled in places without a type. */
  #timeTag: number | undefined;

  constructor(bytes: Uint8Array) {
    this.#heads = new CborHeads(bytes);
  }

  /** Returns the kind and version that the body names; null for null. */
  typeMeta(): Record<string, unknown> | null {
    this.#begin();
    const value: Record<string, unknown> = {};
    if (this.#isNull()) return null;
    this.#needStruct("v1.TypeMeta");
    this.#pairs((name) => {
      if (name !== "kind" && name !== "apiVersion") {
        skipItem(this.#heads);
        return;
      }
      this.#target = `Go struct field v1.TypeMeta.${name}`;
      value[name] = this.#tagged(() => (this.#isNull() ? null : this.#text(type.string)));
      this.#target = "Go value";
    }, true);
    return value;
  }

  /** Returns an object of any type, or null. */
  object(): unknown {
    return this.#tagged(() => {
      if (this.#isNull()) return null;
      this.#need(map, type.object);
      return this.#untypedMap();
    });
  }

  /** Returns the next value by its schema. `isPointer`: whether Go keeps a pointer to it, which `undefined` leaves empty. */
  value(schema: Schema, isPointer = false): unknown {
    return this.#tagged(() => {
      if (isPointer && this.#isUndefined()) return null;
      if (schema.special !== undefined) return this.#special(schema);
      if (this.#isNull()) return null;
      switch (schema.type) {
        case "string":
          return schema.format === "byte" ? this.#bytes(schema) : this.#text(goType(schema));
        case "integer":
          return this.#integer(schema.format ?? "int64");
        case "number":
          return this.#heads.major === primitive ? this.#float("float64") : this.#integer("int64");
        case "boolean":
          return this.#boolean();
        case "array":
          this.#need(array, goType(schema));
          // The schema of a list, and that of a map, has `items`.
          return this.#items(() => this.value(schema.items!));
        case "map":
          this.#need(map, goType(schema));
          return this.#mapOf(() => this.value(schema.items!));
        default:
          return schema.fields === undefined ? this.#untyped() : this.#struct(schema, schema.fields);
      }
    });
  }

  /** Reads the head of an item and its tags, and then the item. A form that tags set holds for all items within. */
  #tagged<T>(read: () => T): T {
    const form = this.#form;
    const timeTag = this.#timeTag;
    this.#begin();
    const result = read();
    this.#form = form;
    this.#timeTag = timeTag;
    return result;
  }

  #begin(): void {
    const heads = this.#heads;
    this.#timeTag = undefined;
    heads.head();
    while (heads.major === tag) {
      const { argument } = heads;
      this.#form = formsOfTags.get(argument) ?? this.#form;
      heads.head();
      if (argument !== timeTextTag && argument !== epochTag) continue;
      this.#timeTag = argument;
      this.#checkTime(argument);
    }
  }

  #checkTime(argument: number): void {
    const { major, isFloat } = this.#heads;
    const name = typeNames[major];
    if (argument === timeTextTag && major !== textString && major !== byteString) {
      throw new DecodeError(`cbor: tag number 0 must be followed by text string, got ${name}`);
    }
    if (argument === epochTag && major !== positive && major !== negative && !isFloat) {
      throw new DecodeError(`cbor: tag number 1 must be followed by integer or floating-point number, got ${name}`);
    }
  }

  #isUndefined(): boolean {
    return this.#heads.major === primitive && this.#heads.info === undefinedInfo;
  }

  /** Whether the item is null. Throws for primitives that Kubernetes does not know. */
  #isNull(): boolean {
    const { major, info, argument, isFloat } = this.#heads;
    if (major !== primitive || isFloat || info === falseInfo || info === trueInfo) return false;
    if (info === nullInfo) return true;
    throw notAccepted(primitive, `simple value ${argument} is not recognized`);
  }

  #need(major: number, goTypeName: string): void {
    if (this.#heads.major !== major) throw this.#mismatch(goTypeName);
  }

  #needStruct(goTypeName: string): void {
    const { major } = this.#heads;
    if (major === map) return;
    const why = major === array ? " (cannot decode CBOR array to struct without toarray option)" : "";
    throw this.#mismatch(goTypeName, why);
  }

  #mismatch(goTypeName: string, why = ""): DecodeError {
    const name = typeNames[this.#heads.major];
    return new DecodeError(`cbor: cannot unmarshal ${name} into ${this.#target} of type ${goTypeName}${why}`);
  }

  #text(goTypeName: string): string {
    const { major } = this.#heads;
    if (major !== textString && major !== byteString) throw this.#mismatch(goTypeName);
    const bytes = this.#content();
    if (major === byteString) return bytes.toString(this.#form);
    if (!isUtf8(bytes)) throw new DecodeError("cbor: invalid UTF-8 string");
    return bytes.toString();
  }

  /** Returns the bytes of a string whose head was read. */
  #content(): Buffer {
    const heads = this.#heads;
    const take = (): Buffer => {
      const from = heads.at;
      heads.at += heads.argument;
      return heads.bytes.subarray(from, heads.at);
    };
    if (heads.info !== indefinite) return take();
    // There may be a million pieces, so that none is an object of its own for long.
    const all = Buffer.allocUnsafe(lengthOfPieces(heads));
    let length = 0;
    while (heads.bytes[heads.at] !== breakByte) {
      heads.head();
      length += take().copy(all, length);
    }
    heads.at++;
    return all;
  }

  /** Returns bytes as base64. Without a tag a byte string contains base64 itself. */
  #bytes(schema: Schema): string | readonly unknown[] {
    const { major } = this.#heads;
    if (major === array) return this.#items(() => this.value(byteSchema));
    if (major !== byteString) throw this.#mismatch(goType(schema));
    const bytes = this.#content();
    if (this.#form !== "utf8") return bytes.toString("base64");
    const text = bytes.toString("latin1");
    const base64 = canonicalBase64(text);
    if (base64 === undefined) {
      throw new DecodeError(`cbor: failed to decode base64 from byte string: ${base64Error(text)}`);
    }
    return base64;
  }

  #integer(format: string): Int64 {
    const { major, argument, large } = this.#heads;
    if (major !== positive && major !== negative) throw this.#mismatch(format);
    const value = large === undefined ? (major === positive ? argument : -1 - argument) : undefined;
    const bits = bitsOfFormats.get(format) ?? 64;
    if (value !== undefined && Number.isSafeInteger(value)) {
      const fits = format === "uint8" ? value >= 0 && value <= 0xff : bits === 64 || (value | 0) === value;
      if (!fits) throw this.#mismatch(format, ` (${value} overflows ${format})`);
      return value;
    }
    const exact = major === positive ? (large ?? BigInt(argument)) : -1n - (large ?? BigInt(argument));
    if (BigInt.asIntN(bits, exact) === exact && format !== "uint8") return rawNumber(String(exact));
    const isGo = (this.#target === "Go value" && bits === 64) || exact < -int64Bound;
    throw this.#mismatch(format, ` (${exact} overflows ${isGo ? "Go's int64" : format})`);
  }

  /** Returns a float; one without a fraction keeps its point, by which it differs from an integer. */
  #float(goTypeName: string): unknown {
    if (!this.#heads.isFloat) throw this.#mismatch(goTypeName);
    const value = this.#heads.float();
    if (!Number.isInteger(value)) return value;
    return rawNumber(Math.abs(value) < 1e21 ? value.toFixed(1) : String(value));
  }

  #boolean(): boolean {
    const { major, info } = this.#heads;
    if (major !== primitive || (info !== falseInfo && info !== trueInfo)) throw this.#mismatch("bool");
    return info === trueInfo;
  }

  #items(item: () => unknown): readonly unknown[] {
    const heads = this.#heads;
    const { argument, info } = heads;
    const items: unknown[] = [];
    if (info !== indefinite) {
      while (items.length < argument) items.push(item());
      return items;
    }
    while (heads.bytes[heads.at] !== breakByte) items.push(item());
    heads.at++;
    return items;
  }

  #mapOf(item: () => unknown): Readonly<Record<string, unknown>> {
    const value: Record<string, unknown> = {};
    // The keys of a map are texts.
    this.#pairs((name) => setKey(value, name as string, item()), false);
    return value;
  }

  /** Reads the pairs of a map whose head was read. `member` reads the value of a key. */
  #pairs(member: (name: string | bigint, index: number) => void, isStruct: boolean): void {
    const heads = this.#heads;
    const { argument, info } = heads;
    const names = new Set<string | bigint>();
    for (let index = 0; ; index++) {
      if (info === indefinite ? heads.bytes[heads.at] === breakByte : index >= argument) break;
      const name = isStruct ? this.#fieldName() : this.#tagged(() => this.#key());
      if (names.has(name)) {
        throw new DecodeError(`cbor: found duplicate map key ${goQuote(String(name))} at map element index ${index}`);
      }
      names.add(name);
      member(name, index);
    }
    if (info === indefinite) heads.at++;
  }

  /** Returns the key of a map; null is the empty text, as in Go. */
  #key(): string {
    return this.#isNull() ? "" : this.#text(type.string);
  }

  /** Returns the key of a struct. An integer is the name of no field. */
  #fieldName(): string | bigint {
    this.#heads.head();
    const { major, argument, large } = this.#heads;
    if (major === positive) return large ?? BigInt(argument);
    if (major === negative) {
      const below = large ?? BigInt(argument);
      if (below >= int64Bound) throw this.#mismatch("int64", ` (-1-${below} overflows Go's int64)`);
      return -1n - below;
    }
    if (major === byteString) return this.#content().toString();
    if (major === textString) return this.#text(type.string);
    const why = ` (map key is of type ${typeNames[major]} and cannot be used to match struct field name)`;
    throw this.#mismatch(type.string, why);
  }

  #struct(schema: Schema, fields: NonNullable<Schema["fields"]>): Readonly<Record<string, unknown>> {
    this.#needStruct(goType(schema));
    const value: Record<string, unknown> = {};
    const target = this.#target;
    const before = this.unknown;
    let ownUnknown: string | undefined;
    this.#pairs((name, index) => {
      const field = typeof name === "string" ? fields.get(name) : undefined;
      if (field === undefined) {
        ownUnknown ??= `cbor: found unknown field at map element index ${index}`;
        skipItem(this.#heads);
        return;
      }
      if (target === "Go value") this.#target = `Go struct field ${goType(schema)}.${name}`;
      value[String(name)] = this.value(field.schema, field.ptr);
      this.#target = target;
    }, true);
    // Upstream: an unknown field of a struct comes before those of the structs within.
    if (ownUnknown !== undefined) this.unknown = before ?? ownUnknown;
    return value;
  }

  /** Reads a type whose JSON form does not follow from its structure. */
  #special(schema: Schema): unknown {
    if (schema.special === "rawExtension") return this.#transcoded("RawExtension");
    if (schema.special === "fieldsV1") return this.#transcoded("FieldsV1");
    const takesUndefined = schema.special !== undefined && textTypes.has(schema.special);
    if ((takesUndefined && this.#isUndefined()) || this.#isNull()) return null;
    switch (schema.special) {
      case "intOrString": {
        const { major } = this.#heads;
        return major === textString || major === byteString ? this.#text(type.string) : this.#integer("int32");
      }
      case "schemaOrArray":
      case "schemaOrBool":
      case "schemaOrStringArray":
      case "json":
        return this.#untyped();
      default:
        return this.#text(type.string);
    }
  }

  /** Reads a value that upstream keeps as bytes, and turns into JSON later. */
  #transcoded(name: string): unknown {
    const target = this.#target;
    this.#target = "Go value";
    try {
      return this.#isNull() ? null : this.#untyped();
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      const what = `failed to transcode ${name} to JSON: failed to parse ${name} bytes as CBOR`;
      throw new DecodeError(`${what}: ${error.message}`, { cause: error });
    } finally {
      this.#target = target;
    }
  }

  #untyped(): unknown {
    if (this.#timeTag !== undefined) return this.#time();
    const { major, isFloat } = this.#heads;
    switch (major) {
      case positive:
      case negative:
        return this.#integer("int64");
      case byteString:
      case textString:
        return this.#text(type.string);
      case array:
        return this.#items(() => this.#untypedItem());
      case map:
        return this.#untypedMap();
      default:
        return isFloat ? this.#float(type.any) : this.#boolean();
    }
  }

  #untypedMap(): Readonly<Record<string, unknown>> {
    return this.#mapOf(() => this.#untypedItem());
  }

  #untypedItem(): unknown {
    return this.#tagged(() => (this.#isNull() ? null : this.#untyped()));
  }

  /** Returns a time as text. */
  #time(): string {
    const { major, isFloat } = this.#heads;
    if (major === textString || major === byteString) {
      const text = this.#text(type.string);
      const instant = parseTime(text);
      if (typeof instant === "string") throw new DecodeError(`cbor: cannot set ${text} for time.Time: ${instant}`);
      return text;
    }
    const seconds = isFloat ? this.#heads.float() : nearestNumber(this.#integer("int64"));
    const whole = Math.floor(seconds);
    if (whole < secondsMin || whole > secondsMax) {
      throw new DecodeError(`cbor: cannot set ${seconds} for time.Time: year out of range`);
    }
    const fraction = (seconds - whole)
      .toFixed(9)
      .slice(1)
      .replace(/\.?0+$/, "");
    return `${formatTime({ seconds: whole, nanos: 0 }).slice(0, -1)}${fraction}Z`;
  }
}

/** Returns the length of the pieces of a string, at whose first head `heads` stays. */
function lengthOfPieces(heads: CborHeads): number {
  const start = heads.at;
  let length = 0;
  while (heads.bytes[heads.at] !== breakByte) {
    heads.head();
    heads.at += heads.argument;
    length += heads.argument;
  }
  heads.at = start;
  return length;
}

const byteSchema: Schema = { type: "integer", format: "uint8" };

/** The first and the last second of the years with four digits. */
const secondsMin = -62_167_219_200;
const secondsMax = 253_402_300_799;
