/** Short forms for structural schemas, and parts that many operators share. */

export type Schema = Readonly<Record<string, unknown>>;
export type Properties = Readonly<Record<string, Schema>>;

export const object = (properties: Properties, required: readonly string[] = [], more: Schema = {}): Schema => ({
  type: "object",
  properties,
  ...(required.length === 0 ? {} : { required }),
  ...more,
});
export const list = (items: Schema, more: Schema = {}): Schema => ({ type: "array", items, ...more });
export const setOf = (items: Schema, more: Schema = {}): Schema =>
  list(items, { "x-kubernetes-list-type": "set", ...more });
export const listMap = (keys: readonly string[], items: Schema, more: Schema = {}): Schema =>
  list(items, { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys, ...more });
export const atomicList = (items: Schema, more: Schema = {}): Schema =>
  list(items, { "x-kubernetes-list-type": "atomic", ...more });
export const mapOf = (items: Schema, more: Schema = {}): Schema => ({
  type: "object",
  additionalProperties: items,
  ...more,
});
export const text = (more: Schema = {}): Schema => ({ type: "string", ...more });
export const oneOf = (...values: string[]): Schema => text({ enum: values });
export const integer = (more: Schema = {}): Schema => ({ type: "integer", ...more });
export const int32 = (more: Schema = {}): Schema => integer({ format: "int32", ...more });
export const int64 = (more: Schema = {}): Schema => integer({ format: "int64", ...more });
export const flag = (more: Schema = {}): Schema => ({ type: "boolean", ...more });
export const time = text({ format: "date-time" });
export const intOrString: Schema = {
  "x-kubernetes-int-or-string": true,
  anyOf: [{ type: "integer" }, { type: "string" }],
};
/** Anything under these fields is kept. */
export const open: Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
/** Any JSON value. */
export const anything: Schema = { "x-kubernetes-preserve-unknown-fields": true };
export const rules = (...pairs: readonly (readonly [rule: string, message: string])[]): Schema => ({
  "x-kubernetes-validations": pairs.map(([rule, message]) => ({ rule, message })),
});

export const quantity: Schema = {
  ...intOrString,
  pattern:
    "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$",
};
export const duration = text({
  pattern: "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$",
});

/** A key of a Secret or ConfigMap. */
export const keySelector = object({ name: text({ default: "" }), key: text(), optional: flag() }, ["key"], {
  "x-kubernetes-map-type": "atomic",
});

export const nameReference = object({ name: text({ default: "" }) }, [], { "x-kubernetes-map-type": "atomic" });

export const labelSelector = object(
  {
    matchLabels: mapOf(text()),
    matchExpressions: atomicList(
      object({ key: text(), operator: text(), values: atomicList(text()) }, ["key", "operator"]),
    ),
  },
  [],
  { "x-kubernetes-map-type": "atomic" },
);

/** Conditions as a list map by type. */
export const conditions = listMap(
  ["type"],
  object(
    {
      type: text({ maxLength: 316 }),
      status: oneOf("True", "False", "Unknown"),
      reason: text({ maxLength: 1024 }),
      message: text({ maxLength: 32_768 }),
      observedGeneration: int64({ minimum: 0 }),
      lastTransitionTime: time,
    },
    ["type", "status"],
  ),
);

/**
 * The same schema with a description at every node, as generated definitions carry them: of `words` words, other ones at
 * each place.
 */
export function described(schema: Schema, words: number, path = "the object"): Schema {
  const filler =
    "decides together with its neighbours what the controller makes of it and when that is looked at again";
  const all = filler.split(" ");
  const description = [`At ${path}:`, ...Array.from({ length: words }, (_, i) => all[(i + path.length) % all.length]!)];
  const out: Record<string, unknown> = { description: description.join(" "), ...schema };
  const { properties, items, additionalProperties } = schema as {
    properties?: Properties;
    items?: Schema;
    additionalProperties?: Schema | boolean;
  };
  if (properties !== undefined) {
    out["properties"] = Object.fromEntries(
      Object.entries(properties).map(([name, child]) => [name, described(child, words, name)]),
    );
  }
  if (items !== undefined) out["items"] = described(items, words, `items of ${path}`);
  if (typeof additionalProperties === "object") {
    out["additionalProperties"] = described(additionalProperties, words, `values of ${path}`);
  }
  return out;
}
