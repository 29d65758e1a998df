/** Small types with every list type and patch strategy, for the tests of this folder. */
import type { Field, Schema } from "#schema/schema.ts";

const string: Schema = { type: "string" };
const integer: Schema = { type: "integer" };
const strings: Schema = { type: "array", items: string };

const struct = (name: string, fields: Readonly<Record<string, Schema>>, more: Partial<Schema> = {}): Schema => ({
  type: "object",
  name: `io.example.${name}`,
  fields: new Map(Object.entries(fields).map(([field, schema]): [string, Field] => [field, { schema }])),
  ...more,
});

const port = struct("Port", { port: integer, label: string, plain: strings });

const item = struct("Item", {
  name: string,
  value: string,
  count: integer,
  tags: { ...strings, patchStrategy: ["merge"] },
  ports: { type: "array", items: port, patchStrategy: ["merge"], patchMergeKey: "port" },
  extra: { type: "map", items: string },
});

/** The names of members say how they merge: `items` merge by `name`, `tags` are a merged list of strings, and so on. */
export const everyStrategy: Schema = struct("Testing", {
  name: string,
  items: { type: "array", items: item, patchStrategy: ["merge"], patchMergeKey: "name" },
  ports: { type: "array", items: port, patchStrategy: ["merge"], patchMergeKey: "port" },
  tags: { ...strings, patchStrategy: ["merge"] },
  plain: strings,
  atomic: { type: "array", items: item },
  union: struct("Union", { type: string, a: item, b: item }, { patchStrategy: ["retainKeys"] }),
  volumes: { type: "array", items: item, patchStrategy: ["merge", "retainKeys"], patchMergeKey: "name" },
  labels: { type: "map", items: string },
  mapOf: { type: "map", items: item },
  replace: { ...item, patchStrategy: ["replace"] },
  nested: struct("Nested", { items: { type: "array", items: item, patchStrategy: ["merge"], patchMergeKey: "name" } }),
  raw: { type: "any", special: "rawExtension" },
});

const placeStruct = struct("Place", {
  s: string,
  i: integer,
  set: { type: "array", listType: "set", items: string },
  m: { type: "map", items: string },
});

const keyed: Schema = {
  type: "object",
  fields: new Map<string, Field>([
    ["name", { schema: string }],
    ["port", { schema: integer }],
    ["proto", { schema: string, default: "TCP" }],
    ["v", { schema: string }],
    ["sub", { schema: placeStruct }],
  ]),
};

/** A type with every topology of lists and maps that apply knows. */
export const everyTopology: Schema = struct("Topology", {
  s: string,
  i: integer,
  b: { type: "boolean" },
  st: placeStruct,
  at: struct("Atomic", { s: string, i: integer }, { mapType: "atomic" }),
  m: { type: "map", items: string },
  ms: { type: "map", items: placeStruct },
  am: { type: "map", mapType: "atomic", items: string },
  al: { type: "array", items: string, listType: "atomic" },
  set: { type: "array", listType: "set", items: { type: "any", special: "intOrString" } },
  kl: { type: "array", patchStrategy: ["merge"], patchMergeKey: "name", items: keyed },
  kl2: { type: "array", listType: "map", listMapKeys: ["port", "proto"], items: keyed },
  any: { type: "any" },
  raw: { type: "any", special: "rawExtension" },
});

const metadata = struct("ObjectMeta", {
  name: string,
  creationTimestamp: { type: "string", special: "time" },
  labels: { type: "map", items: string },
  finalizers: { ...strings, listType: "set" },
  managedFields: { type: "array", listType: "atomic", items: { type: "any" } },
});

const keptField = (schema: Schema): Field => ({ schema, keep: true });

const object = (fields: readonly (readonly [string, Field])[]): Schema => ({
  type: "object",
  fields: new Map([
    ["apiVersion", { schema: string, omitempty: true }],
    ["kind", { schema: string, omitempty: true }],
    ["metadata", keptField(metadata)],
    ...fields,
  ]),
});

/** A built-in kind with data only. */
export const configMap: Schema = object([["data", { schema: { type: "map", items: string }, omitempty: true }]]);

/** A built-in kind with a spec and a status, which its JSON always has. */
export const workload: Schema = object([
  [
    "spec",
    keptField({
      type: "object",
      fields: new Map<string, Field>([
        ["replicas", { schema: integer, ptr: true, omitempty: true }],
        ["strategy", keptField(struct("Strategy", { type: string, rolling: placeStruct }))],
        ["containers", keptField({ type: "array", listType: "map", listMapKeys: ["name"], items: item })],
        [
          "volumes",
          { schema: { type: "array", listType: "map", listMapKeys: ["name"], items: item }, omitempty: true },
        ],
      ]),
    }),
  ],
  ["status", keptField(struct("Status", { phase: string }))],
]);
