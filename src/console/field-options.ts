/** The names of fields and values that fit at a position of a text of YAML, by the schema of its kind. */
import { type FieldSchema, type KindSchema, resolved, schemaAt, typeText } from "./field-schema.ts";
import { textScalar } from "./yaml-lines.ts";
import type { YamlPosition } from "./yaml-position.ts";

interface FieldOption {
  /** The name or value to show; like the description, it may have characters that are not seen. */
  readonly label: string;
  /** The text that takes the place of the word. */
  readonly text: string;
  /** The type of a field in words. */
  readonly detail: string;
  /** The description; empty if there is none. */
  readonly description: string;
  readonly isRequired: boolean;
}

/** The maximum options, and characters of what is shown of each: schemas may be of any size. */
const optionsMax = 300;
const labelLengthMax = 200;
const descriptionLengthMax = 1000;

/** Returns the options whose text begins with the word, in any case; required fields come first. */
export function fieldOptions(kind: KindSchema, position: YamlPosition): readonly FieldOption[] {
  const schema = schemaAt(kind, position.way);
  if (schema === undefined) return [];
  const names = position.isValue ? [] : nameOptions(schema, kind, position);
  return names.length > 0 || (!position.isValue && schema.properties !== undefined)
    ? names
    : valueOptions(schema, position);
}

function nameOptions(schema: FieldSchema, { schemas }: KindSchema, position: YamlPosition): readonly FieldOption[] {
  const { properties = {}, required = [] } = schema;
  const needed = new Set(required);
  const found = Object.keys(properties).filter((name) => fits(name, position.word) && !position.siblings.has(name));
  found.sort((one, other) => Number(needed.has(other)) - Number(needed.has(one)));
  return found.slice(0, optionsMax).map((name): FieldOption => {
    const property = resolved(properties[name]!, schemas);
    const isRequired = needed.has(name);
    return {
      label: cut(name, labelLengthMax),
      text: `${textScalar(name)}:${beginning(property, position.column)}`,
      detail: cut(typeText(property, schemas), labelLengthMax) + (isRequired ? ", required" : ""),
      description: cut(property.description ?? "", descriptionLengthMax),
      isRequired,
    };
  });
}

/** Returns what stands behind the name of a field before its value. */
function beginning({ type, items, properties, additionalProperties }: FieldSchema, column: number): string {
  const indent = " ".repeat(column);
  if (items !== undefined || type === "array") return `\n${indent}- `;
  const hasMembers = properties !== undefined || additionalProperties !== undefined || type === "object";
  return hasMembers ? `\n${indent}  ` : " ";
}

function valueOptions(schema: FieldSchema, { word }: YamlPosition): readonly FieldOption[] {
  const values = schema.enum ?? (schema.type === "boolean" ? [true, false] : [schema.default]);
  const texts = values.flatMap((value) => {
    if (typeof value === "string") return value === "" ? [] : [textScalar(value)];
    return typeof value === "number" || typeof value === "boolean" ? [String(value)] : [];
  });
  const found = texts.filter((text) => fits(text, word) && text !== word);
  return found.slice(0, optionsMax).map((text) => ({
    label: cut(text, labelLengthMax),
    text,
    detail: text === String(schema.default) ? "default" : "",
    description: cut(schema.description ?? "", descriptionLengthMax),
    isRequired: false,
  }));
}

const fits = (text: string, word: string): boolean => text.toLowerCase().startsWith(word.toLowerCase());

const cut = (text: string, lengthMax: number): string =>
  text.length > lengthMax ? `${text.slice(0, lengthMax)} …` : text;
