/**
 * Derives the types of whole objects from the schema of their kind, on demand: expressions use few parts of a large
 * schema.
 */
import type { Field, Schema } from "#schema/schema.ts";
import {
  bool,
  bytes,
  type CelType,
  double,
  dyn,
  int,
  listOf,
  mapOf,
  type ObjectField,
  type ObjectType,
  string,
  timestamp,
} from "../types.ts";
import { fieldName, isReserved } from "./field-name.ts";

/** Returns the type of a schema; `undefined` if values may have any type, so that expressions cannot name them. */
export function typeOfSchema(schema: Schema, name: string): CelType | undefined {
  if (schema.special !== undefined) return typeOfSpecial(schema.special, name);
  switch (schema.type) {
    case "boolean":
      return bool;
    case "integer":
      return int;
    case "number":
      return double;
    case "string":
      return typeOfText(schema.format);
    case "array": {
      const element = schema.items && typeOfSchema(schema.items, `${name}.@idx`);
      return element === undefined ? undefined : listOf(element);
    }
    case "map": {
      const value = schema.items && typeOfSchema(schema.items, `${name}.@elem`);
      return value === undefined ? undefined : mapOf(string, value);
    }
    case "object":
      return new KindType(name, schema);
    default:
      return undefined;
  }
}

function typeOfSpecial(special: NonNullable<Schema["special"]>, name: string): CelType | undefined {
  switch (special) {
    case "time":
    case "microTime":
      return timestamp;
    case "duration":
      return string;
    case "intOrString":
      return dyn;
    case "rawExtension":
    case "fieldsV1":
      return new KindType(name, { type: "object" });
    default:
      return undefined;
  }
}

function typeOfText(format: string | undefined): CelType {
  if (format === "byte") return bytes;
  return format === "date-time" || format === "date" ? timestamp : string;
}

class KindType implements ObjectType {
  readonly kind = "object";
  readonly name: string;
  readonly #schema: Schema;
  readonly #fields = new Map<string, ObjectField | undefined>();
  /** The keys of fields by their names in expressions. */
  #keys: ReadonlyMap<string, string> | undefined;

  constructor(name: string, schema: Schema) {
    this.name = name;
    this.#schema = schema;
  }

  field(name: string): ObjectField | undefined {
    if (!this.#fields.has(name)) this.#fields.set(name, this.#find(name));
    return this.#fields.get(name);
  }

  #find(name: string): ObjectField | undefined {
    const fields = this.#schema.fields ?? new Map<string, Field>();
    this.#keys ??= keysOf(fields, this.#schema.embeddedResource === true);
    const key = this.#keys.get(name);
    if (key === undefined) return undefined;
    const declared = fields.get(key);
    const type = declared === undefined ? string : typeOfSchema(declared.schema, `${this.name}.${name}`);
    return type === undefined ? undefined : { key, type };
  }
}

function keysOf(fields: ReadonlyMap<string, Field>, isEmbedded: boolean): ReadonlyMap<string, string> {
  const keys = new Map<string, string>(
    isEmbedded
      ? [
          ["apiVersion", "apiVersion"],
          ["kind", "kind"],
        ]
      : [],
  );
  for (const key of fields.keys()) {
    const name = fieldName(key);
    if (name !== undefined) keys.set(name, key);
    if (isReserved(key)) keys.set(key, key);
  }
  return keys;
}
