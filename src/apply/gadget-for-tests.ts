/** A custom kind with every list type, map type and kind of default, for tests of server-side apply. */
import { type JsonSchemaProps, StructuralSchema } from "#schema/structural.ts";
import type { Field, Schema } from "#schema/schema.ts";

type Props = JsonSchemaProps;

const text: Props = { type: "string" };
const integer: Props = { type: "integer" };
const struct = (properties: Readonly<Record<string, Props>>, more: Props = {}): Props => ({
  type: "object",
  properties,
  ...more,
});
const list = (items: Props): Props => ({ type: "array", items });
const set = (items: Props): Props => ({ ...list(items), "x-kubernetes-list-type": "set" });
const listMap = (keys: readonly string[], items: Props): Props => ({
  ...list(items),
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": keys,
});
const mapOf = (additionalProperties: Props, more: Props = {}): Props => ({
  type: "object",
  additionalProperties,
  ...more,
});
const atomic: Props = { "x-kubernetes-map-type": "atomic" };
const open: Props = { "x-kubernetes-preserve-unknown-fields": true };

const room = struct({ number: integer, wing: text });
const node = struct({ id: integer, role: text, tags: set(text) }, { required: ["id"] });
const pool = struct(
  { name: text, size: integer, labels: mapOf(text), tags: set(text), nodes: listMap(["id"], node) },
  { required: ["name"] },
);
const port = struct({ port: integer, protocol: { ...text, default: "TCP" }, label: text }, { required: ["port"] });

/** The members of `spec`. */
export const gadgetSpec: Readonly<Record<string, Props>> = {
  mode: { ...text, default: "auto" },
  size: integer,
  ratio: { type: "number" },
  on: { type: "boolean" },
  note: text,
  maybe: { ...text, nullable: true },
  place: struct({ city: text, floor: integer, room, kind: { ...text, default: "flat" } }),
  origin: struct({ host: text, path: text }, atomic),
  limits: mapOf(text),
  selector: mapOf(text, atomic),
  rooms: mapOf(room),
  steps: list(text),
  rows: list(struct({ id: integer, v: text })),
  tags: set(text),
  codes: set(integer),
  pools: listMap(["name"], pool),
  ports: listMap(["port", "protocol"], port),
  at: { ...text, format: "date-time" },
  free: { type: "object", ...open },
  half: struct({ known: text, set: set(text) }, open),
  any: open,
  either: { "x-kubernetes-int-or-string": true },
  extras: mapOf(text, { default: { a: "1" } }),
  marks: { ...set(text), default: ["q"] },
};

const metadata: Schema = {
  type: "object",
  fields: new Map<string, Field>([
    ["name", { schema: { type: "string" } }],
    ["labels", { schema: { type: "map", items: { type: "string" } } }],
    ["annotations", { schema: { type: "map", items: { type: "string" } } }],
    ["finalizers", { schema: { type: "array", listType: "set", items: { type: "string" } } }],
    ["managedFields", { schema: { type: "array", listType: "atomic", items: { type: "any" } } }],
  ]),
};

/** Makes a gadget whose spec has these members. */
export const gadget = (spec: Readonly<Record<string, Props>> = gadgetSpec): StructuralSchema =>
  new StructuralSchema(struct({ spec: struct(spec), status: struct({ phase: text }) }), metadata);
