/**
 * Declarations made of a schema, once for all its rules: the kind of each value, its fields or elements, and its
 * maximal size. Source: the documentation of validation rules in Kubernetes, and the answers of kube-apiserver.
 */
import type { JsonSchemaProps } from "#schema/structural.ts";
import { bool, bytes, duration, double, dyn, int, string, timestamp, type SimpleType } from "../types.ts";
import { fieldName, isReserved } from "./field-name.ts";
import { elementsMax, entriesMax, type SizeBounds, sizeBoundsOfObject, sizeBounds, textMax } from "./sizes.ts";

interface Declared extends SizeBounds {
  /** Whether JSON shows the type of the value and of all in it, so that it is read where it stands. */
  readonly isPlain: boolean;
}

interface ScalarDeclaration extends Declared {
  readonly kind: "scalar";
  readonly type: SimpleType;
}

interface ListDeclaration extends Declared {
  readonly kind: "list";
  readonly element: Declaration;
  /** A list of type `set` has none, one of type `map` its keys; `undefined` where order matters. */
  readonly uniqueBy: readonly string[] | undefined;
}

/** Keys are strings. */
interface MapDeclaration extends Declared {
  readonly kind: "map";
  readonly element: Declaration;
}

export interface ObjectDeclaration extends Declared {
  readonly kind: "object";
  /** The keys are the names in expressions. */
  readonly fields: ReadonlyMap<string, FieldDeclaration>;
}

export interface FieldDeclaration {
  /** The property's name. */
  readonly key: string;
  readonly declaration: Declaration;
}

export type Declaration = ScalarDeclaration | ListDeclaration | MapDeclaration | ObjectDeclaration;

/** Declared parts of one schema: of schemas inside schemas that all have rules, each is declared once. */
export type KnownDeclarations = Map<JsonSchemaProps, Declaration | undefined>;

/**
 * `isWhole`: of an object with metadata of its own. `undefined`: expressions cannot name such a value, since any type may
 * be there. The schema must have passed `checkStructural`.
 */
export function declare(props: JsonSchemaProps, isWhole: boolean, known: KnownDeclarations): Declaration | undefined {
  const before = known.get(props);
  if (before !== undefined || known.has(props)) return before;
  const declaration = make(props, isWhole, known);
  known.set(props, declaration);
  return declaration;
}

function make(props: JsonSchemaProps, isWhole: boolean, known: KnownDeclarations): Declaration | undefined {
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
      return list(props, known);
    case "object":
      return object(props, isWhole, known);
    default:
      return undefined;
  }
}

const part = (props: JsonSchemaProps, known: KnownDeclarations): Declaration | undefined =>
  declare(props, props["x-kubernetes-embedded-resource"] === true, known);

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

function list(props: JsonSchemaProps, known: KnownDeclarations): Declaration | undefined {
  const items = props.items as JsonSchemaProps | undefined; // checked schemas have no list of schemas there
  const element = items === undefined ? undefined : part(items, known);
  if (element === undefined) return undefined;
  const listType = props["x-kubernetes-list-type"];
  const keys = props["x-kubernetes-list-map-keys"] ?? [];
  const uniqueBy = listType === "set" ? [] : listType === "map" ? keys : undefined;
  const isPlain = element.isPlain && uniqueBy === undefined;
  return { kind: "list", element, uniqueBy, isPlain, ...sizeBounds.list, sizeMax: elementsMax(props, element) };
}

function object(props: JsonSchemaProps, isWhole: boolean, known: KnownDeclarations): Declaration | undefined {
  const additional = props.additionalProperties;
  if (typeof additional === "object") {
    const element = part(additional, known);
    if (element === undefined) return undefined;
    const { isPlain } = element;
    return { kind: "map", element, isPlain, ...sizeBounds.map, sizeMax: entriesMax(props, element) };
  }
  const properties = isWhole ? { ...props.properties, ...wholeProperties } : (props.properties ?? {});
  const declared: { readonly key: string; readonly props: JsonSchemaProps; readonly declaration: Declaration }[] = [];
  for (const [key, inner] of Object.entries(properties)) {
    const declaration = part(inner, known);
    if (declaration !== undefined) declared.push({ key, props: inner, declaration });
  }
  const fields = new Map<string, FieldDeclaration>();
  for (const { key, declaration } of declared) {
    const name = fieldName(key);
    if (name !== undefined) fields.set(name, { key, declaration });
    // The parser takes a reserved word as it is where it is the name of a field.
    if (isReserved(key)) fields.set(key, { key, declaration });
  }
  const isPlain = declared.every(({ declaration }) => declaration.isPlain);
  return { kind: "object", fields, isPlain, ...sizeBoundsOfObject(declared, new Set(props.required)) };
}

/** Expressions see these of a whole object besides its own fields: only this of metadata, whatever the schema says. */
const wholeProperties: Readonly<Record<string, JsonSchemaProps>> = {
  apiVersion: { type: "string" },
  kind: { type: "string" },
  metadata: { type: "object", properties: { name: { type: "string" }, generateName: { type: "string" } } },
};
