/**
 * Declarations derived from a schema, once for all its rules: the kind of each value, its fields or elements, and its
 * maximal size. Source: the documentation of validation rules in Kubernetes, and the answers of kube-apiserver.
 */
import type { JsonSchemaProps } from "#schema/structural.ts";
import { bool, bytes, duration, double, dyn, int, string, timestamp, type SimpleType } from "../types.ts";
import { fieldName, isReserved } from "./field-name.ts";
import { elementsMax, entriesMax, type SizeBounds, sizeBoundsOfObject, sizeBounds, textMax } from "./sizes.ts";

interface Declared extends SizeBounds {
  /** Whether JSON shows the type of the value and of all its parts, so that it is read in place. */
  readonly isPlain: boolean;
}

interface ScalarDeclaration extends Declared {
  readonly kind: "scalar";
  readonly type: SimpleType;
}

interface ListDeclaration extends Declared {
  readonly kind: "list";
  readonly element: Declaration;
  /**
   * The keys that identify elements: empty for type `set`, the names of the keys for type `map`; `undefined` if order
   * matters.
   */
  readonly uniqueBy: readonly string[] | undefined;
}

/** A map whose keys are strings. */
interface MapDeclaration extends Declared {
  readonly kind: "map";
  readonly element: Declaration;
}

/** The declaration of an object whose schema lists its properties. */
export interface ObjectDeclaration extends Declared {
  readonly kind: "object";
  /** The fields by their names in expressions. */
  readonly fields: ReadonlyMap<string, FieldDeclaration>;
}

export interface FieldDeclaration {
  /** The name of the property in JSON. */
  readonly key: string;
  readonly declaration: Declaration;
}

/** The declaration of a value: its form, its parts, and the bounds of its size. */
export type Declaration = ScalarDeclaration | ListDeclaration | MapDeclaration | ObjectDeclaration;

/**
 * The declarations of one schema by part, so that each part is declared once even if several schemas around it have
 * rules.
 */
export type KnownDeclarations = Map<JsonSchemaProps, Declaration | undefined>;

/**
 * Returns the declaration of a schema that passed `checkStructural`, or `undefined` if values may have any type, so
 * that expressions cannot name them. `isWhole`: whether it is an object with metadata of its own.
 */
export function declare(
  props: JsonSchemaProps,
  isWhole: boolean,
  declarations: KnownDeclarations,
): Declaration | undefined {
  const before = declarations.get(props);
  if (before !== undefined || declarations.has(props)) return before;
  const declaration = make(props, isWhole, declarations);
  declarations.set(props, declaration);
  return declaration;
}

function make(props: JsonSchemaProps, isWhole: boolean, declarations: KnownDeclarations): Declaration | undefined {
  if (props["x-kubernetes-int-or-string"] === true) return scalar(dyn, sizeBounds.intOrString);
  switch (props.type) {
    case "boolean":
      return scalar(bool, sizeBounds.boolean);
    case "integer":
      return scalar(int, sizeBounds.number);
    case "number":
      return scalar(double, sizeBounds.number);
    case "string":
      return text(props);
    case "array":
      return list(props, declarations);
    case "object":
      return object(props, isWhole, declarations);
    default:
      return undefined;
  }
}

const part = (props: JsonSchemaProps, declarations: KnownDeclarations): Declaration | undefined =>
  declare(props, props["x-kubernetes-embedded-resource"] === true, declarations);

const scalar = (type: SimpleType, bounds: SizeBounds): ScalarDeclaration => ({
  kind: "scalar",
  type,
  ...bounds,
  isPlain: type === dyn || type === bool || type === int || type === string,
});

function text(props: JsonSchemaProps): Declaration {
  switch (props.format) {
    case "byte":
      return scalar(bytes, { ...sizeBounds.text, sizeMax: textMax(props, 1) });
    case "date":
      return scalar(timestamp, sizeBounds.date);
    case "date-time":
      return scalar(timestamp, sizeBounds.dateTime);
    case "duration":
      return scalar(duration, sizeBounds.duration);
    default:
      return scalar(string, { ...sizeBounds.text, sizeMax: textMax(props, 4) });
  }
}

function list(props: JsonSchemaProps, declarations: KnownDeclarations): Declaration | undefined {
  const items = props.items as JsonSchemaProps | undefined; // checked schemas have no list of schemas here
  const element = items === undefined ? undefined : part(items, declarations);
  if (element === undefined) return undefined;
  const listType = props["x-kubernetes-list-type"];
  const keys = props["x-kubernetes-list-map-keys"] ?? [];
  const uniqueBy = listType === "set" ? [] : listType === "map" ? keys : undefined;
  const isPlain = element.isPlain && uniqueBy === undefined;
  return { kind: "list", element, uniqueBy, isPlain, ...sizeBounds.list, sizeMax: elementsMax(props, element) };
}

function object(props: JsonSchemaProps, isWhole: boolean, declarations: KnownDeclarations): Declaration | undefined {
  const additional = props.additionalProperties;
  if (typeof additional === "object") {
    const element = part(additional, declarations);
    if (element === undefined) return undefined;
    const { isPlain } = element;
    return { kind: "map", element, isPlain, ...sizeBounds.map, sizeMax: entriesMax(props, element) };
  }
  const properties = isWhole ? { ...props.properties, ...wholeProperties } : (props.properties ?? {});
  const declared: { readonly key: string; readonly props: JsonSchemaProps; readonly declaration: Declaration }[] = [];
  for (const [key, inner] of Object.entries(properties)) {
    const declaration = part(inner, declarations);
    if (declaration !== undefined) declared.push({ key, props: inner, declaration });
  }
  const fields = new Map<string, FieldDeclaration>();
  for (const { key, declaration } of declared) {
    const name = fieldName(key);
    if (name !== undefined) fields.set(name, { key, declaration });
    // The parser accepts a reserved word as the name of a field.
    if (isReserved(key)) fields.set(key, { key, declaration });
  }
  const isPlain = declared.every(({ declaration }) => declaration.isPlain);
  return { kind: "object", fields, isPlain, ...sizeBoundsOfObject(declared, new Set(props.required)) };
}

/**
 * The properties of a whole object that expressions see beside its own, whatever the schema says. They see only this
 * part of the metadata.
 */
const wholeProperties: Readonly<Record<string, JsonSchemaProps>> = {
  apiVersion: { type: "string" },
  kind: { type: "string" },
  metadata: { type: "object", properties: { name: { type: "string" }, generateName: { type: "string" } } },
};
