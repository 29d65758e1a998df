/** Converts a structural schema to a `Schema`, which apply, patch and publication share with built-in kinds. */
import type { Field, Schema } from "../schema.ts";
import { additionalOf, hasDefault, itemsOf, type JsonSchemaProps } from "./json-schema.ts";

/**
 * Returns the `Schema` of a whole custom resource. `metadata` is that of the built-in type, used for the root and for
 * embedded objects; without it, metadata is unchecked JSON.
 */
export function schemaOf(props: JsonSchemaProps, metadata: Schema | undefined): Schema {
  return convert(props, metadata ?? anything, true);
}

const anything: Schema = { type: "any", preserveUnknown: true };
const text: Schema = { type: "string" };

function convert(props: JsonSchemaProps, metadata: Schema, isRoot: boolean): Schema {
  const embedded = props["x-kubernetes-embedded-resource"] === true;
  const base = { ...marks(props), ...(embedded ? { embeddedResource: true } : {}) };
  if (props["x-kubernetes-int-or-string"] === true) return { ...base, type: "string", special: "intOrString" };
  const items = itemsOf(props);
  switch (props.type) {
    case "string":
    case "integer":
    case "number":
    case "boolean":
      return { ...base, type: props.type, ...texts(props) };
    case "array":
      return { ...base, type: "array", items: items === undefined ? anything : convert(items, metadata, false) };
    default:
      return object(props, base, metadata, isRoot || embedded);
  }
}

function object(props: JsonSchemaProps, base: Partial<Schema>, metadata: Schema, isWhole: boolean): Schema {
  const additional = additionalOf(props);
  if (props.properties === undefined && !isWhole) {
    if (additional !== undefined) return { ...base, type: "map", items: convert(additional, metadata, false) };
    if (props.additionalProperties === true) return { ...base, type: "map", items: anything };
    if (props.type !== "object") return { ...base, type: "any", preserveUnknown: true };
  }
  const fields = new Map<string, Field>();
  const required = new Set(props.required);
  for (const name of Object.keys(props.properties ?? {}).sort()) {
    const inner = props.properties![name]!;
    fields.set(name, {
      schema: convert(inner, metadata, false),
      ...(required.has(name) ? { required: true } : {}),
      ...(hasDefault(inner) ? { default: inner.default } : {}),
    });
  }
  if (isWhole) {
    fields.set("apiVersion", { schema: text });
    fields.set("kind", { schema: text });
    fields.set("metadata", { schema: metadata });
  }
  return { ...base, type: "object", fields };
}

function marks(props: JsonSchemaProps): Partial<Schema> {
  const listType = props["x-kubernetes-list-type"];
  const mapType = props["x-kubernetes-map-type"];
  const mapKeys = props["x-kubernetes-list-map-keys"];
  return {
    ...(props["x-kubernetes-preserve-unknown-fields"] === true ? { preserveUnknown: true } : {}),
    ...(props.nullable === true ? { nullable: true } : {}),
    ...(listType === "atomic" || listType === "set" || listType === "map" ? { listType } : {}),
    ...(mapKeys !== undefined ? { listMapKeys: mapKeys } : {}),
    ...(mapType === "atomic" || mapType === "granular" ? { mapType } : {}),
    ...(hasDefault(props) ? { default: props.default } : {}),
  };
}

function texts(props: JsonSchemaProps): Partial<Schema> {
  const values = props.enum?.filter((value) => typeof value === "string") ?? [];
  return {
    ...(props.format === undefined ? {} : { format: props.format }),
    ...(props.type === "string" && values.length > 0 ? { enum: values } : {}),
  };
}
