/** Prints structural schemas as types. Source: the schemas of `apiextensions.k8s.io/v1`. */
import { isObject } from "#std/is-object.ts";
import { commentLines, fieldName } from "./names.ts";

type Schema = Readonly<Record<string, unknown>>;

/** The depth below which everything is `unknown`. Compilers have a bound of their own. */
const depthMax = 40;
/** The number of schemas of a version after which the rest is `unknown`: aliases of YAML can repeat a part very often. */
const schemasMax = 50_000;
/** The number of values of an enum beyond which only its type is printed. */
const valuesMax = 1000;

const unknownMap = "Readonly<Record<string, unknown>>";

/** The fields that every embedded object has. */
const embeddedFields: Readonly<Record<string, string>> = {
  apiVersion: "string",
  kind: "string",
  metadata: unknownMap,
};

/** Prints the schemas of one version. */
export class SchemaPrinter {
  #count = 0;

  /** Returns a field of a structure as a line, with its comment. `name` is the name of its type, if it has one. */
  field(parent: Schema, field: string, indent: string, name?: string): string {
    const properties = parent["properties"] as Schema; // the caller has read a field of it
    const schema = properties[field];
    const { required } = parent;
    const hasDefault = isObject(schema) && schema["default"] !== undefined;
    const isThere = hasDefault || (Array.isArray(required) && required.includes(field));
    const type = name ?? this.#type(schema, indent, 1);
    return `${this.comment(schema, indent)}${indent}readonly ${fieldName(field)}${isThere ? "" : "?"}: ${type};\n`;
  }

  comment(schema: unknown, indent: string): string {
    const text = isObject(schema) ? schema["description"] : undefined;
    return typeof text === "string" ? commentLines(text, indent) : "";
  }

  /** Returns a schema with properties as `{ … }`. */
  structure(schema: Schema, indent: string): string {
    return this.#structure(schema, indent, 1);
  }

  #type(schema: unknown, indent: string, depth: number): string {
    if (!isObject(schema) || depth > depthMax || ++this.#count > schemasMax) return "unknown";
    const type = this.#plain(schema, indent, depth);
    return schema["nullable"] === true && type !== "unknown" ? `${type} | null` : type;
  }

  #plain(schema: Schema, indent: string, depth: number): string {
    if (schema["x-kubernetes-int-or-string"] === true) return "number | string";
    const { enum: values, type } = schema;
    if (Array.isArray(values)) {
      const union = unionOf(values);
      if (union !== undefined) return union;
    }
    switch (type) {
      case "string":
      case "boolean":
        return type;
      case "integer":
      case "number":
        return "number";
      case "array": {
        const item = this.#type(schema["items"], indent, depth + 1);
        return / [|&] |^readonly /.test(item) ? `readonly (${item})[]` : `readonly ${item}[]`;
      }
      case "object":
        return this.#object(schema, indent, depth);
      default:
        return schema["x-kubernetes-embedded-resource"] === true ? this.#object(schema, indent, depth) : "unknown";
    }
  }

  #object(schema: Schema, indent: string, depth: number): string {
    const { additionalProperties: more } = schema;
    const isEmbedded = schema["x-kubernetes-embedded-resource"] === true;
    const hasFields = isObject(schema["properties"]) && Object.keys(schema["properties"]).length > 0;
    const map = isObject(more)
      ? `Readonly<Record<string, ${this.#type(more, indent, depth + 1)}>>`
      : more === true || !(hasFields || isEmbedded)
        ? unknownMap
        : undefined;
    if (!hasFields && !isEmbedded) return map ?? unknownMap;
    const structure = this.#structure(schema, indent, depth);
    return map === undefined ? structure : `${structure} & ${unknownMap}`;
  }

  #structure(schema: Schema, indent: string, depth: number): string {
    const properties = isObject(schema["properties"]) ? schema["properties"] : {};
    const inner = `${indent}  `;
    const isEmbedded = schema["x-kubernetes-embedded-resource"] === true;
    const lines: string[] = [];
    for (const [field, type] of Object.entries(embeddedFields)) {
      const optional = field === "metadata" ? "?" : "";
      if (isEmbedded && !Object.hasOwn(properties, field))
        lines.push(`${inner}readonly ${field}${optional}: ${type};\n`);
    }
    for (const field of Object.keys(properties)) {
      const type = this.#type(properties[field], inner, depth + 1);
      lines.push(this.field(schema, field, inner, type));
    }
    const isOpen = schema["x-kubernetes-preserve-unknown-fields"] === true;
    if (isOpen) lines.push(`${inner}readonly [field: string]: unknown;\n`);
    return `{\n${lines.join("")}${indent}}`;
  }
}

/** Returns the values as a union; `undefined` if they are not all plain, or too many. */
function unionOf(values: readonly unknown[]): string | undefined {
  if (values.length === 0 || values.length > valuesMax) return undefined;
  const isPlain = values.every((value) => value === null || ["string", "number", "boolean"].includes(typeof value));
  return isPlain ? [...new Set(values.map((value) => JSON.stringify(value)))].join(" | ") : undefined;
}
