/**
 * Writes type definitions in OpenAPI: each named type is a definition, in alphabetical order, and is referenced by
 * name. Version 2 has no defaults, and does not wrap references in `allOf`. Source: upstream's `kube-openapi`.
 *
 * Descriptions are our own (`api/descriptions.ts`); those of the fields that all kinds share are below.
 */
import { loadDescriptions } from "#api/descriptions.ts";
import type { ApiTables } from "#api/definitions.ts";
import { fieldText } from "#meta/field-texts.ts";
import type { GroupVersionKind } from "#meta/group-version.ts";
import type { CustomResourceFacts, ResourceDefinition } from "#registry/resource-definition.ts";
import type { Field, Schema } from "#schema/schema.ts";
import { customTypeName } from "./operations.ts";
import {
  type EmbeddedFields,
  isOpen,
  type MutableJson,
  type OpenApiVersion,
  publishedSchema,
} from "./published-schema.ts";

/** The source of built-in types. */
export interface TypeSource {
  readonly tables: ApiTables;
  /** Whether fields of built-in kinds list their values; left out: they do. */
  readonly enums?: boolean;
}

/** The definitions of one document: those requested, and all to which they refer. */
export class TypeCollection {
  readonly #tables: ApiTables;
  readonly #version: OpenApiVersion;
  readonly #prefix: string;
  readonly #enums: boolean;
  /** Functions that make the definitions of custom kinds and their lists, by definition name. */
  readonly #custom = new Map<string, () => MutableJson>();
  /** The JSON of each definition by name; empty for names to which a reference exists, but that are not defined yet. */
  readonly #done = new Map<string, string>();
  readonly #descriptions: ReturnType<typeof loadDescriptions>;
  /** The names to which a reference exists, but that are not defined yet. */
  readonly #open: string[] = [];

  constructor(
    { tables, enums = true }: TypeSource,
    version: OpenApiVersion,
    definitions: readonly ResourceDefinition[],
  ) {
    this.#tables = tables;
    this.#enums = enums;
    this.#version = version;
    this.#descriptions = loadDescriptions(tables.domain);
    this.#prefix = version === 2 ? "#/definitions/" : "#/components/schemas/";
    for (const definition of definitions) {
      const { group, version: served, listKind, custom } = definition;
      if (custom === undefined) continue;
      const list = { group, version: served, kind: listKind };
      this.#custom.set(customTypeName(definition), () => this.#customKind(definition, custom));
      this.#custom.set(customTypeName(list), () => this.#customList(definition, list));
    }
  }

  /** Returns a reference to the definition `name`, which becomes part of the document. */
  reference(name: string): MutableJson {
    if (!this.#done.has(name)) {
      this.#done.set(name, "");
      this.#open.push(name);
    }
    return { $ref: this.#prefix + name };
  }

  /**
   * Returns the JSON of all definitions by name. Call it last. `pause` is awaited after definitions of unknown size.
   */
  async finish(pause: () => Promise<void>): Promise<string> {
    for (let name = this.#open.pop(); name !== undefined; name = this.#open.pop()) {
      this.#done.set(name, JSON.stringify(this.#define(name)));
      if (this.#custom.has(name)) await pause();
    }
    const members = [...this.#done].sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
  }

  #define(name: string): MutableJson {
    const custom = this.#custom.get(name);
    if (custom !== undefined) return custom();
    const schema = this.#tables.schema(name);
    // Invariant: references come from the same tables.
    if (schema === undefined) return { type: "object" };
    const text = this.#descriptions.get(name)?.text ?? "";
    const definition: MutableJson = { ...(text === "" ? {} : { description: text }), ...this.#namedType(schema) };
    const kinds = this.#tables.type(name)?.kinds ?? [];
    if (kinds.length > 0) definition["x-kubernetes-group-version-kind"] = kinds.map(kindMark);
    return definition;
  }

  #namedType(schema: Schema): MutableJson {
    switch (schema.special) {
      case undefined:
        return this.#struct(schema);
      case "time":
      case "microTime":
        return { type: "string", format: "date-time" };
      case "duration":
        return { type: "string" };
      case "quantity":
      case "intOrString": {
        const format = schema.format === undefined ? {} : { format: schema.format };
        return this.#version === 2 ? { type: "string", ...format } : { oneOf: schema.oneOf, ...format };
      }
      case "rawExtension":
      case "fieldsV1":
        return { type: "object" };
      default:
        return {};
    }
  }

  #struct(schema: Schema): MutableJson {
    const definition: MutableJson = { type: "object" };
    const fieldDescriptions = schema.name === undefined ? undefined : this.#descriptions.get(schema.name)?.fields;
    const { fields, mapType, unions } = schema;
    const names = [...(fields?.keys() ?? [])].sort();
    const required = [...(fields ?? [])].filter(([, field]) => field.required === true).map(([name]) => name);
    if (required.length > 0) definition["required"] = required;
    if (names.length > 0) {
      definition["properties"] = Object.fromEntries(
        names.map((name) => [
          name,
          this.#property(fieldDescriptions?.get(name) ?? sharedText(name, fields!.get(name)!), fields!.get(name)!),
        ]),
      );
    }
    if (mapType !== undefined) definition["x-kubernetes-map-type"] = mapType;
    if (unions !== undefined) definition["x-kubernetes-unions"] = unions;
    return definition;
  }

  #property(text: string | undefined, field: Field): MutableJson {
    const property: MutableJson = text === undefined ? {} : { description: text };
    if (field.default !== undefined && this.#version === 3) property["default"] = field.default;
    return Object.assign(property, this.#use(field.schema, true));
  }

  /** Returns a type where it is used: a reference with the marks of the field, or the type itself. */
  #use(schema: Schema, isProperty: boolean): MutableJson {
    const { name } = schema;
    if (name !== undefined) {
      const canonical = this.#tables.schema(name);
      const marks = listMarks(schema, canonical);
      const reference = this.reference(name);
      if (this.#version === 2) return { ...reference, ...marks };
      return isProperty ? { allOf: [reference], ...marks } : { ...reference, ...marks };
    }
    switch (schema.type) {
      case "array":
        return this.#nullable(schema, {
          type: "array",
          items: this.#member(schema.items),
          ...listMarks(schema, undefined),
        });
      case "map":
        return this.#nullable(schema, {
          type: "object",
          additionalProperties: this.#member(schema.items),
          ...listMarks(schema, undefined),
        });
      case "object":
        return this.#nullable(schema, this.#struct(schema));
      case "any":
        return this.#nullable(schema, {});
      default: {
        if (schema.special === "intOrString") return this.#nullable(schema, this.#intOrString());
        const scalar: MutableJson = { type: schema.type };
        if (schema.format !== undefined) scalar["format"] = schema.format;
        if (schema.enum !== undefined && this.#enums) scalar["enum"] = schema.enum;
        return this.#nullable(schema, Object.assign(scalar, listMarks(schema, undefined)));
      }
    }
  }

  /** Returns a member of a list or map. Version 3 shows the zero value of members that are not pointers. */
  #member(items: Schema | undefined): MutableJson {
    if (items === undefined) return { type: "object" };
    const used = this.#use(items, false);
    const zero = this.#version === 3 ? zeroOf(items) : undefined;
    if (zero === undefined) return used;
    const { $ref, ...marks } = used;
    return $ref === undefined ? { ...used, default: zero } : { default: zero, allOf: [{ $ref }], ...marks };
  }

  #intOrString(): MutableJson {
    const mark = { "x-kubernetes-int-or-string": true };
    return this.#version === 2 ? mark : { anyOf: [{ type: "integer" }, { type: "string" }], ...mark };
  }

  /**
   * Returns the description of a type that may be nullable. Upstream: version 2 has no null, so a nullable value may
   * have any type.
   */
  #nullable(schema: Schema, described: MutableJson): MutableJson {
    if (schema.nullable !== true) return described;
    if (this.#version === 3) return { ...described, nullable: true };
    const { type: _type, items: _items, properties: _properties, ...rest } = described;
    return rest;
  }

  #customKind(definition: ResourceDefinition, custom: CustomResourceFacts): MutableJson {
    const props = custom.publishedSchema();
    const marks = {
      "x-kubernetes-group-version-kind": [kindMark(definition)],
      "x-kubernetes-selectable-fields": selectableMarks(definition),
    };
    if (props === undefined || (this.#version === 2 && isOpen(props))) return { type: "object", ...marks };
    const kind = publishedSchema(props, this.#version, this.#embedded());
    // `publishedSchema` made this object.
    const properties = { ...(kind["properties"] as MutableJson | undefined), ...this.#envelope("ObjectMeta") };
    return { ...kind, properties: sortedObject(new Map(Object.entries(properties))), ...marks };
  }

  #customList(definition: ResourceDefinition, list: GroupVersionKind): MutableJson {
    const items = {
      description: `List of ${definition.resource}. ${this.#text("items")}`,
      type: "array",
      items: this.reference(customTypeName(definition)),
    };
    return {
      description: `${list.kind} is a list of ${definition.kind}`,
      type: "object",
      required: ["items"],
      properties: sortedObject(new Map(Object.entries({ ...this.#envelope("ListMeta"), items }))),
      "x-kubernetes-group-version-kind": [kindMark(list)],
      "x-kubernetes-selectable-fields": selectableMarks(definition),
    };
  }

  /** Returns the fields that custom kinds do not define themselves. */
  #envelope(metadata: "ObjectMeta" | "ListMeta"): MutableJson {
    return {
      apiVersion: { description: this.#text("apiVersion"), type: "string" },
      kind: { description: this.#text("kind"), type: "string" },
      metadata: this.#metadata(metadata, metadata === "ObjectMeta" ? "metadata" : "listMetadata"),
    };
  }

  /** Returns these fields for whole objects inside of other objects. */
  #embedded(): EmbeddedFields {
    const properties = {
      apiVersion: { description: this.#text("embeddedApiVersion"), type: "string" },
      kind: { description: this.#text("embeddedKind"), type: "string" },
      metadata: this.#metadata("ObjectMeta", "metadata"),
    };
    return { properties, required: ["kind", "apiVersion"] };
  }

  #metadata(type: "ObjectMeta" | "ListMeta", text: "metadata" | "listMetadata"): MutableJson {
    const reference = this.reference(this.#tables.domain.rename(`io.k8s.apimachinery.pkg.apis.meta.v1.${type}`));
    const description = this.#text(text);
    return this.#version === 2 ? { description, ...reference } : { description, allOf: [reference] };
  }

  #text(field: Parameters<typeof fieldText>[1]): string {
    return fieldText(this.#tables.domain, field);
  }
}

function kindMark({ group, version, kind }: GroupVersionKind): MutableJson {
  return { group, kind, version };
}

/** Returns the marks of selectable fields. Upstream: only custom kinds have them, even if they are empty. */
function selectableMarks({ selectableFields }: ResourceDefinition): MutableJson[] {
  return selectableFields.map((field) => ({ fieldPath: field }));
}

/**
 * Returns the extensions that define how lists and maps merge. A reference does not repeat a map type of its
 * definition.
 */
function listMarks(schema: Schema, canonical: Schema | undefined): MutableJson {
  const marks: MutableJson = {};
  if (schema.listType !== undefined) marks["x-kubernetes-list-type"] = schema.listType;
  if (schema.listMapKeys !== undefined) marks["x-kubernetes-list-map-keys"] = schema.listMapKeys;
  if (schema.mapType !== undefined && schema.mapType !== canonical?.mapType) {
    marks["x-kubernetes-map-type"] = schema.mapType;
  }
  if (schema.patchMergeKey !== undefined) marks["x-kubernetes-patch-merge-key"] = schema.patchMergeKey;
  if (schema.patchStrategy !== undefined) marks["x-kubernetes-patch-strategy"] = schema.patchStrategy.join(",");
  return marks;
}

function zeroOf(schema: Schema): unknown {
  if (schema.default !== undefined) return schema.default;
  if (schema.special !== undefined) return undefined;
  switch (schema.type) {
    case "string":
      return schema.format === "byte" ? undefined : "";
    case "integer":
    case "number":
      return 0;
    case "boolean":
      return false;
    case "object":
      return {};
    default:
      return undefined;
  }
}

function sortedObject(entries: ReadonlyMap<string, unknown>): MutableJson {
  return Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Returns the description of a field that all kinds or all lists share; `undefined` for other fields. */
function sharedText(name: string, { schema }: Field): string | undefined {
  if (name === "metadata" && schema.name?.endsWith(".ListMeta") === true) return texts.get("listMetadata");
  return texts.get(name);
}

const texts: ReadonlyMap<string, string> = new Map([
  ["apiVersion", "Group and version of the schema this object is written in."],
  ["kind", "Name of the schema this object is written in."],
  ["metadata", "Name, labels and other data that every object has."],
  ["listMetadata", "Version of the list, and the token of its next page."],
  ["items", "The objects of the list."],
]);
