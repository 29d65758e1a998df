/**
 * `JSONSchemaProps`: the OpenAPI v3 schema of a custom resource as stored in its definition. `check.ts` validates it;
 * before the validation, any member may be present.
 */
import { emptyMembers } from "../given-empty.ts";
import type { Int64 } from "#std/int64.ts";

/** A schema, or a part of one. Upstream: `JSONSchemaProps` of `apiextensions.k8s.io/v1`. */
export interface JsonSchemaProps {
  readonly id?: string;
  readonly $schema?: string;
  readonly $ref?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string;
  readonly format?: string;
  readonly nullable?: boolean;
  readonly default?: unknown;
  readonly example?: unknown;
  readonly externalDocs?: unknown;
  readonly maximum?: number;
  readonly exclusiveMaximum?: boolean;
  readonly minimum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly multipleOf?: number;
  readonly maxLength?: Int64;
  readonly minLength?: Int64;
  readonly pattern?: string;
  readonly maxItems?: Int64;
  readonly minItems?: Int64;
  readonly uniqueItems?: boolean;
  readonly maxProperties?: Int64;
  readonly minProperties?: Int64;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly items?: JsonSchemaProps | readonly JsonSchemaProps[];
  readonly additionalItems?: JsonSchemaProps | boolean;
  readonly properties?: JsonSchemas;
  readonly additionalProperties?: JsonSchemaProps | boolean;
  readonly patternProperties?: JsonSchemas;
  readonly definitions?: JsonSchemas;
  readonly dependencies?: Readonly<Record<string, JsonSchemaProps | readonly string[] | null>>;
  readonly allOf?: readonly JsonSchemaProps[];
  readonly anyOf?: readonly JsonSchemaProps[];
  readonly oneOf?: readonly JsonSchemaProps[];
  readonly not?: JsonSchemaProps;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-embedded-resource"?: boolean;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-list-type"?: string;
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: string;
  readonly "x-kubernetes-validations"?: readonly ValidationRule[];
}

type JsonSchemas = Readonly<Record<string, JsonSchemaProps>>;

/** A CEL rule. */
export interface ValidationRule {
  readonly rule?: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

/** The keywords for which false or an empty text is a value, and differs from an absent keyword. */
const pointers: ReadonlySet<string> = new Set([
  "$ref",
  "default",
  "example",
  "additionalItems",
  "additionalProperties",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-list-type",
  "x-kubernetes-map-type",
]);

/** Returns the keywords that a schema has, including those whose values are empty lists and objects. */
export function givenKeywords(props: JsonSchemaProps): readonly string[] {
  const names = [...emptyMembers(props)];
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null) continue;
    if ((value !== false && value !== "") || pointers.has(name)) names.push(name);
  }
  return names;
}

/** Returns the one schema of a list's members; `undefined` if there is none, and for the forbidden list of schemas. */
export function itemsOf(props: JsonSchemaProps): JsonSchemaProps | undefined {
  const { items } = props;
  // The value is not a list.
  return items === undefined || items === null || Array.isArray(items) ? undefined : (items as JsonSchemaProps);
}

/** Returns the schema of a map's values; `undefined` if there is none, and for a boolean. */
export function additionalOf(props: JsonSchemaProps): JsonSchemaProps | undefined {
  const { additionalProperties } = props;
  return typeof additionalProperties === "object" ? (additionalProperties ?? undefined) : undefined;
}

/** Returns the names of the properties, sorted: findings are in this order. */
export function namesOf(schemas: JsonSchemas | undefined): readonly string[] {
  return schemas === undefined ? [] : Object.keys(schemas).sort();
}

/** Whether it is the name of a member that every whole object has. */
export const isMetaName = (name: string): boolean => name === "metadata" || name === "kind" || name === "apiVersion";

/** Whether a schema has a default. A null default counts as absent. */
export const hasDefault = (props: JsonSchemaProps): boolean => props.default !== undefined && props.default !== null;

/** Adds all direct subschemas to `into`. Hot path for definitions of megabytes: it creates no intermediate lists. */
export function addSubSchemas(props: JsonSchemaProps, into: JsonSchemaProps[]): void {
  if (Array.isArray(props.items)) for (const inner of props.items as readonly JsonSchemaProps[]) into.push(inner);
  else if (props.items !== undefined) into.push(props.items as JsonSchemaProps); // lists were handled above
  if (props.allOf !== undefined) for (const inner of props.allOf) into.push(inner);
  if (props.anyOf !== undefined) for (const inner of props.anyOf) into.push(inner);
  if (props.oneOf !== undefined) for (const inner of props.oneOf) into.push(inner);
  if (props.not !== undefined) into.push(props.not);
  if (props.properties !== undefined) addAll(props.properties, into);
  if (props.patternProperties !== undefined) addAll(props.patternProperties, into);
  if (props.definitions !== undefined) addAll(props.definitions, into);
  if (typeof props.additionalProperties === "object") into.push(props.additionalProperties);
  if (typeof props.additionalItems === "object") into.push(props.additionalItems);
  if (props.dependencies !== undefined) {
    for (const dependency of Object.values(props.dependencies)) {
      // The value is not a list.
      if (dependency !== null && !Array.isArray(dependency)) into.push(dependency as JsonSchemaProps);
    }
  }
}

function addAll(schemas: JsonSchemas, into: JsonSchemaProps[]): void {
  for (const name of Object.keys(schemas)) into.push(schemas[name]!);
}

/**
 * Whether `holds` is true for the schema or for a schema inside of it. Does not recurse, so deep schemas need no stack.
 */
export function someSchema(props: JsonSchemaProps, holds: (props: JsonSchemaProps) => boolean): boolean {
  const waiting: JsonSchemaProps[] = [props];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (holds(next)) return true;
    addSubSchemas(next, waiting);
  }
  return false;
}
