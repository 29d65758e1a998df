/**
 * Schemas of kinds, from the server's own OpenAPI documents, and the way through them. Whoever defines a kind writes its
 * schema, so it may be huge, refer to itself, or name what is not there.
 */
import type { Api } from "./api.ts";
import type { ServedKind } from "./kinds.ts";

export interface FieldSchema {
  readonly $ref?: string;
  readonly allOf?: readonly FieldSchema[];
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly items?: FieldSchema;
  readonly additionalProperties?: FieldSchema | boolean;
  readonly "x-kubernetes-group-version-kind"?: readonly {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  }[];
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-validations"?: readonly { readonly rule: string; readonly message?: string }[];
}

export type Schemas = Readonly<Record<string, FieldSchema>>;

/** The schema of a kind, and those to which it refers. */
export interface KindSchema {
  readonly schema: FieldSchema;
  readonly schemas: Schemas;
}

/** Reads the schema of a kind; `undefined` if the server publishes none. Rejects with `ApiFailure`. */
export async function readKindSchema(api: Api, kind: ServedKind, abort?: AbortSignal): Promise<KindSchema | undefined> {
  const { group, version } = kind;
  const path = group === "" ? `/openapi/v3/api/${version}` : `/openapi/v3/apis/${encodeURIComponent(group)}/${version}`;
  const document = await api.get<{ readonly components?: { readonly schemas?: Schemas } }>(path, abort);
  const schemas = document.components?.schemas ?? {};
  const isWanted = (schema: FieldSchema): boolean =>
    schema["x-kubernetes-group-version-kind"]?.some(
      (one) => one.group === group && one.version === version && one.kind === kind.kind,
    ) === true;
  const schema = Object.values(schemas).find(isWanted);
  return schema === undefined ? undefined : { schema, schemas };
}

/** The maximum references that are followed to one schema: they may lead in a circle. */
const referencesMax = 16;

/** Returns the schema to which references lead, with the description beside the first of them. */
export function resolved(schema: FieldSchema, schemas: Schemas): FieldSchema {
  let { $ref, allOf, ...found } = schema;
  for (let followed = 0; followed < referencesMax; followed++) {
    const reference = $ref ?? (allOf?.length === 1 ? allOf[0]!.$ref : undefined);
    if (reference === undefined) break;
    const name = reference.slice(reference.lastIndexOf("/") + 1);
    const { $ref: next, allOf: nextOfAll, ...more } = Object.hasOwn(schemas, name) ? schemas[name]! : {};
    [$ref, allOf, found] = [next, nextOfAll, { ...more, ...found }];
  }
  return found;
}

/** The type of a field in words. */
export function typeText(schema: FieldSchema, schemas: Schemas, depth = 0): string {
  if (schema["x-kubernetes-int-or-string"] === true) return "number or text";
  if (depth > referencesMax) return "any";
  if (schema.items !== undefined) return `list of ${typeText(resolved(schema.items, schemas), schemas, depth + 1)}`;
  if (typeof schema.additionalProperties === "object") {
    return `map of ${typeText(resolved(schema.additionalProperties, schemas), schemas, depth + 1)}`;
  }
  const { type = "any", format = "" } = schema;
  return format === "" ? type : `${type} (${format})`;
}

/** A step of the way to a field: the name of a member, or an item of a list. */
export type FieldStep = { readonly member: string } | "item";

/** Returns the schema at the end of a way; `undefined` if the schema does not lead there. */
export function schemaAt({ schema, schemas }: KindSchema, way: readonly FieldStep[]): FieldSchema | undefined {
  let found: FieldSchema | undefined = resolved(schema, schemas);
  for (const step of way) {
    const next: FieldSchema | boolean | undefined = step === "item" ? found.items : memberOf(found, step.member);
    if (typeof next !== "object") return undefined;
    found = resolved(next, schemas);
  }
  return found;
}

function memberOf(
  { properties = {}, additionalProperties }: FieldSchema,
  name: string,
): FieldSchema | boolean | undefined {
  return Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
}
