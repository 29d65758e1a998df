/** A small type with every list and patch strategy, for the tests of this folder. */
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

/** Members are named for what they hold: `items` merge by `name`, `tags` are a merged list of strings, and so on. */
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
