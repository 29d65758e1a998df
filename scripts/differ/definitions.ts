/**
 * Cases of `npm run differ -- --definitions`: definitions like those of well-known operators, and their objects, some
 * with a mutation. The same seed gives the same case.
 */
import { type Random, seededRandom } from "#std/random.ts";
import { readOperatorSet } from "../../test/real-world/operator-set.ts";
import { chance, pick } from "./choices.ts";
import type { Json } from "./servers.ts";

const sets = ["certificates", "databases", "gateways", "monitoring", "pipelines"].map(readOperatorSet);

/** A definition that is created and then replaced, and objects of its kind. */
export interface DefinitionCase {
  /** The mutation of the definition, for people. */
  readonly mutation: string;
  readonly definition: Json;
  /** The definition with another mutation. */
  readonly update: Json;
  readonly objects: readonly Json[];
}

export function definitionCase(seed: number): DefinitionCase {
  const random = seededRandom(seed);
  const set = pick(random, sets);
  const whole = pick(random, set.definitions) as unknown as Json; // definitions are objects
  const own = inGroup(whole, `s${seed}.`);
  const { kind } = (whole["spec"] as { readonly names: { readonly kind: string } }).names;
  const first = chance(random, 0.8) ? mutate(random, own) : { value: own, mutation: "none" };
  const second = mutate(random, own);
  const objects = set.accepted
    .map(({ object }) => object as unknown as Json)
    .filter((object) => object["kind"] === kind)
    .slice(0, 2)
    .map((object) => ({ ...object, apiVersion: `s${seed}.${String(object["apiVersion"])}` }));
  return {
    mutation: `${kind}: ${first.mutation}, then ${second.mutation}`,
    definition: first.value,
    update: second.value,
    objects: objects.flatMap((object) => [object, mutateObject(random, object), mutateObject(random, object)]),
  };
}

/** Returns the definition in a group of its own, so that cases do not affect each other. */
function inGroup(definition: Json, prefix: string): Json {
  const metadata = definition["metadata"] as Json;
  const spec = definition["spec"] as Json & { readonly group: string; readonly names: { readonly plural: string } };
  const group = `${prefix}${spec.group}`;
  const conversion = { strategy: "None" };
  return {
    ...definition,
    metadata: { ...metadata, name: `${spec.names.plural}.${group}` },
    spec: { ...spec, group, conversion },
  };
}

interface MutatedDefinition {
  readonly value: Json;
  readonly mutation: string;
}

/** Keywords of schemas, and values for them: valid, invalid, and without effect. */
const keywords: Readonly<Record<string, readonly unknown[]>> = {
  type: ["object", "array", "string", "integer", "number", "boolean", "null", "", "text"],
  format: ["int32", "int64", "double", "byte", "date-time", "date", "duration", "uuid", "ipv4", "other", ""],
  nullable: [true, false],
  default: [{}, [], "", "a", 0, 1, 1.5, true, false, null, { a: 1 }],
  enum: [[], ["a"], ["a", "a"], [1, "a", null], [true], [{}]],
  pattern: ["^a+$", "(", "", "[a-z", "^(?:a|b)$", "\\d+", "(?=a)"],
  minLength: [0, 1, -1, 1000],
  maxLength: [0, 1, -1, 1000],
  minItems: [0, 1, -1],
  maxItems: [0, 1, -1],
  minProperties: [0, 1],
  maxProperties: [0, 1],
  minimum: [0, 1, -1.5, 1e10],
  maximum: [0, 1, -1.5, 1e10],
  exclusiveMinimum: [true, false],
  exclusiveMaximum: [true, false],
  multipleOf: [0, 1, 0.5, -1],
  uniqueItems: [true, false],
  required: [[], ["a"], ["spec"], ["name", "name"], [""]],
  properties: [{}, { a: {} }, { a: { type: "string" } }, { metadata: { type: "object" } }],
  additionalProperties: [true, false, {}, { type: "string" }],
  items: [{}, { type: "string" }, [], [{ type: "string" }]],
  allOf: [[], [{}], [{ required: ["a"] }], [{ type: "object" }], [{ default: 1 }]],
  anyOf: [[], [{}], [{ required: ["a"] }, { required: ["b"] }], [{ nullable: true }]],
  oneOf: [[], [{}], [{ required: ["a"] }, { properties: { a: { type: "string" } } }]],
  not: [{}, { required: ["a"] }, { type: "string" }],
  dependencies: [{}, { a: ["b"] }],
  definitions: [{}, { a: {} }],
  patternProperties: [{}, { "^a": {} }],
  additionalItems: [true, false, {}],
  $ref: ["", "#/definitions/a"],
  id: ["", "a"],
  title: ["", "A title"],
  description: ["", "A text."],
  example: [{}, "a", null],
  externalDocs: [{}, { url: "https://example.com" }],
  "x-kubernetes-preserve-unknown-fields": [true, false],
  "x-kubernetes-embedded-resource": [true, false],
  "x-kubernetes-int-or-string": [true, false],
  "x-kubernetes-list-type": ["atomic", "set", "map", "", "other"],
  "x-kubernetes-list-map-keys": [[], ["name"], ["a"], ["name", "name"]],
  "x-kubernetes-map-type": ["atomic", "granular", "", "other"],
  "x-kubernetes-validations": [
    [],
    [{}],
    [{ rule: "true" }],
    [{ rule: "self ==" }],
    [{ rule: "has(self.a)", message: "" }],
  ],
};

/** Other paths in a definition, and values for them. `v` is the index of the first version. */
const settings: readonly (readonly [path: string, values: readonly unknown[]])[] = [
  ["spec.scope", ["Cluster", "Namespaced", "", "Other"]],
  ["spec.names.singular", ["", "other", "Bad_Name", null]],
  ["spec.names.shortNames", [[], ["a", "a"], ["Bad_Name"], null]],
  ["spec.names.categories", [[], ["all"], ["Bad Name"]]],
  ["spec.names.kind", ["", "lower", "Bad Kind"]],
  ["spec.names.listKind", ["", "OtherList"]],
  ["spec.preserveUnknownFields", [true, false, null]],
  [
    "spec.conversion",
    [null, {}, { strategy: "None" }, { strategy: "Other" }, { strategy: "Webhook" }, { strategy: "None", webhook: {} }],
  ],
  ["v.name", ["v1", "v2beta1", "", "Bad_Name", "1v"]],
  ["v.served", [false, true, null]],
  ["v.storage", [false, null]],
  ["v.deprecated", [true, false]],
  ["v.deprecationWarning", ["", "a warning", null]],
  ["v.schema", [null, {}, { openAPIV3Schema: {} }]],
  [
    "v.subresources",
    [
      null,
      {},
      { status: {} },
      { scale: {} },
      { scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" } },
    ],
  ],
  [
    "v.additionalPrinterColumns",
    [
      [],
      null,
      [{}],
      [{ name: "A", type: "string", jsonPath: ".spec.a" }],
      [{ name: "A", type: "other", jsonPath: "spec" }],
    ],
  ],
  ["v.selectableFields", [[], [{ jsonPath: ".spec.name" }], [{ jsonPath: "" }], [{ jsonPath: ".metadata.name" }]]],
];

function mutate(random: Random, definition: Json): MutatedDefinition {
  return chance(random, 0.75) ? mutateSchema(random, definition) : mutateSetting(random, definition);
}

function mutateSetting(random: Random, definition: Json): MutatedDefinition {
  const [path, values] = pick(random, settings);
  const value = pick(random, values);
  const names = path.replace(/^v\./, "spec.versions.0.").split(".");
  return { value: withValue(definition, names, value) as Json, mutation: `${path} = ${JSON.stringify(value)}` };
}

function mutateSchema(random: Random, definition: Json): MutatedDefinition {
  const root = ["spec", "versions", "0", "schema", "openAPIV3Schema"];
  const schema = valueAt(definition, root);
  const schemaNodes = [root, ...schemaPaths(schema, root)];
  const target = chance(random, 0.15) ? root : pick(random, schemaNodes);
  const present = Object.keys(valueAt(definition, target) as Json);
  if (present.length > 0 && chance(random, 0.2)) {
    const keyword = pick(random, present);
    const mutation = `${target.slice(5).join(".")} without ${keyword}`;
    return { value: withValue(definition, [...target, keyword], undefined) as Json, mutation };
  }
  const keyword = pick(random, Object.keys(keywords));
  const value = chance(random, 0.1) ? null : pick(random, keywords[keyword]!);
  const mutation = `${target.slice(5).join(".")}: ${keyword} = ${JSON.stringify(value)}`;
  return { value: withValue(definition, [...target, keyword], value) as Json, mutation };
}

/** Returns the paths of all schemas inside a schema. */
function schemaPaths(schema: unknown, at: readonly string[]): string[][] {
  if (!isObject(schema)) return [];
  const paths: string[][] = [];
  const add = (inner: unknown, path: readonly string[]): void => {
    if (!isObject(inner)) return;
    paths.push([...path], ...schemaPaths(inner, path));
  };
  for (const [name, inner] of Object.entries(isObject(schema["properties"]) ? schema["properties"] : {})) {
    add(inner, [...at, "properties", name]);
  }
  add(schema["items"], [...at, "items"]);
  add(schema["additionalProperties"], [...at, "additionalProperties"]);
  for (const combination of ["allOf", "anyOf", "oneOf"]) {
    const inner = schema[combination];
    if (Array.isArray(inner)) inner.forEach((one, index) => add(one, [...at, combination, String(index)]));
  }
  return paths;
}

const objectValues: readonly unknown[] = [
  null,
  "",
  "a",
  0,
  1,
  -1,
  1.5,
  true,
  [],
  {},
  ["a"],
  { a: 1 },
  undefined,
  "2024-01-02T03:04:05Z",
];

/** Returns an object with another value at one path, or with one more member. */
function mutateObject(random: Random, object: Json): Json {
  const { metadata, spec, ...rest } = object;
  const targets = valuePaths(spec, ["spec"]);
  const target = targets.length === 0 ? ["spec"] : pick(random, targets);
  const path = chance(random, 0.2) ? [...target.slice(0, -1), pick(random, ["unknown", "a", "name"])] : target;
  return withValue({ ...rest, metadata, spec }, path, pick(random, objectValues)) as Json;
}

function valuePaths(value: unknown, at: readonly string[]): string[][] {
  const own = [[...at]];
  if (Array.isArray(value))
    return [...own, ...value.flatMap((item, index) => valuePaths(item, [...at, String(index)]))];
  if (!isObject(value)) return own;
  return [...own, ...Object.entries(value).flatMap(([name, inner]) => valuePaths(inner, [...at, name]))];
}

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce((at, name) => (at as Readonly<Record<string, unknown>>)[name], value); // a path of the value
}

/** Returns a copy with another value at a path; `undefined` removes the value. */
function withValue(value: unknown, [name, ...rest]: readonly string[], next: unknown): unknown {
  if (name === undefined) return next;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown, index) => (String(index) === name ? withValue(item, rest, next) : item));
    return items.filter((item) => item !== undefined);
  }
  const { [name]: old, ...others } = isObject(value) ? value : {};
  const inner = withValue(old, rest, next);
  return inner === undefined ? others : { ...others, [name]: inner };
}
