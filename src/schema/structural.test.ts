/** Tests pruning, defaulting and validation by structural schemas, with hostile input. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { printFieldError } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { rawNumber } from "#std/raw-number.ts";
import { ByteBudget } from "./json-values.ts";
import { DecodeError } from "./decode-error.ts";
import {
  applyDefaults,
  checkEmbedded,
  checkListTypes,
  checkStructural,
  StructuralSchema,
  type JsonSchemaProps,
  prune,
  ratchetedChecks,
  readFieldPath,
  validateValue,
} from "./structural.ts";

const text: JsonSchemaProps = { type: "string" };
const integer: JsonSchemaProps = { type: "integer" };
const object = (
  properties: Readonly<Record<string, JsonSchemaProps>>,
  more: JsonSchemaProps = {},
): JsonSchemaProps => ({
  type: "object",
  properties,
  ...more,
});

function nest<T>(times: number, wrap: (inner: T) => T, leaf: T): T {
  let value = leaf;
  for (let at = 0; at < times; at++) value = wrap(value);
  return value;
}

const findings = (props: JsonSchemaProps, value: unknown, old?: unknown): readonly string[] =>
  validateValue(value, new StructuralSchema(props).node, old).map(printFieldError);

test("a value that needs no change is returned itself", () => {
  const schema = new StructuralSchema(
    object({ a: { ...text, default: "x" }, l: { type: "array", items: object({ b: text }) } }),
  );
  const value = Object.freeze({ a: "y", l: Object.freeze([Object.freeze({ b: "z" })]) });
  assert.equal(prune(value, schema.node).value, value);
  assert.equal(applyDefaults(value, schema.node), value);
  assert.deepEqual(validateValue(value, schema.node), []);
});

test("unknown members are dropped and named by their paths, apiVersion, kind and metadata of the object excepted", () => {
  const schema = new StructuralSchema(
    object({
      spec: object({
        l: { type: "array", items: object({ b: text }) },
        m: { type: "object", additionalProperties: object({}) },
      }),
    }),
  );
  const value = {
    kind: "K",
    metadata: { any: 1 },
    spec: { l: [{ b: "1", c: 2 }], m: { "x.y": { z: 1 } }, q: {} },
    zz: 1,
  };
  const copy = structuredClone(value);
  const pruned = prune(value, schema.node, { isResourceRoot: true, track: true });
  assert.deepEqual(pruned.value, { kind: "K", metadata: { any: 1 }, spec: { l: [{ b: "1" }], m: { "x.y": {} } } });
  assert.deepEqual(pruned.unknown, ["spec.l[0].c", "spec.m.x.y.z", "spec.q", "zz"]);
  assert.deepEqual(value, copy);
});

test("members stay where they are preserved, and are pruned again where a schema speaks", () => {
  const keeps = { "x-kubernetes-preserve-unknown-fields": true };
  const schema = new StructuralSchema(object({ spec: object({ known: object({ a: text }) }, keeps) }));
  const value = { spec: { known: { a: "1", b: 2 }, other: { c: { d: 1 } } } };
  assert.deepEqual(prune(value, schema.node).value, { spec: { known: { a: "1" }, other: { c: { d: 1 } } } });
});

test("keys that name parts of JavaScript objects are data like any other", () => {
  const schema = new StructuralSchema(
    object({ m: { type: "object", additionalProperties: { ...integer, default: 1 } } }),
  );
  const value: unknown = JSON.parse('{"m":{"__proto__":null,"constructor":2,"toString":3},"__proto__":{"x":1}}');
  const filled = applyDefaults(prune(value, schema.node).value, schema.node);
  assert.equal(JSON.stringify(filled), '{"m":{"__proto__":1,"constructor":2,"toString":3}}');
  assert.equal(({} as { x?: number }).x, undefined);
  assert.deepEqual(findings(object({}, { required: ["toString"] }), {}), ["toString: Required value"]);
});

test("defaults are filled in at every depth, and open the way for those inside of them", () => {
  const schema = new StructuralSchema(
    object({
      spec: object(
        {
          deep: object({ n: { ...integer, default: 1 } }, { default: {} }),
          l: { type: "array", items: object({ p: { ...text, default: "TCP" } }) },
        },
        { default: {} },
      ),
    }),
  );
  assert.deepEqual(applyDefaults({}, schema.node), { spec: { deep: { n: 1 } } });
  assert.deepEqual(applyDefaults({ spec: { deep: {}, l: [{}, { p: "UDP" }] } }, schema.node), {
    spec: { deep: { n: 1 }, l: [{ p: "TCP" }, { p: "UDP" }] },
  });
});

test("defaults are shared by all objects, and are frozen", () => {
  const schema = new StructuralSchema(object({ spec: object({ a: text }, { default: { a: "x" } }) }));
  // The results have the form of the schema.
  const [one, other] = [applyDefaults({}, schema.node), applyDefaults({}, schema.node)] as { spec: { a: string } }[];
  assert.equal(one!.spec, other!.spec);
  assert.throws(() => {
    one!.spec.a = "y";
  }, TypeError);
});

test("a null is dropped where it means nothing, and makes way for a default", () => {
  const schema = new StructuralSchema(
    object({
      a: text,
      b: { ...text, nullable: true },
      c: { ...text, default: "x" },
      l: { type: "array", items: text },
    }),
  );
  assert.deepEqual(applyDefaults({ a: null, b: null, c: null, l: [null] }, schema.node), {
    b: null,
    c: "x",
    l: [null],
  });
});

test("numbers are read as written: 2.0 is a whole number, 9223372036854775808 is none", () => {
  const props = object({ n: { ...integer, maximum: 2 ** 53 } });
  assert.deepEqual(findings(props, { n: rawNumber("2.0") }), []);
  assert.deepEqual(findings(props, { n: rawNumber("9223372036854775808") }), [
    'n: Invalid value: "number": n in body must be of type integer: "number"',
    "n: Invalid value: 9.223372036854776e+18: n in body should be less than or equal to 9.007199254740992e+15",
  ]);
});

test("a limit beyond 64 bits holds for every integer", () => {
  const props = object({ n: { ...integer, maximum: 2 ** 63, minimum: -1e300 } });
  assert.deepEqual(findings(props, { n: 5 }), []);
  assert.deepEqual(findings(props, { n: rawNumber("9223372036854775807") }), []);
});

test("bounds on lengths beyond 2^53 hold", () => {
  const most = rawNumber("9223372036854775807");
  const within = { t: { ...text, maxLength: most }, l: { type: "array", items: text, maxItems: most } };
  assert.deepEqual(findings(object(within, { maxProperties: most }), { t: "x", l: ["x"] }), []);
  const beyond = { t: { ...text, minLength: most }, l: { type: "array", items: text, minItems: most } };
  assert.deepEqual(findings(object(beyond), { t: "x", l: ["x"] }), [
    "l: Invalid value: 1: l in body should have at least 9223372036854775807 items",
    't: Invalid value: "x": t in body should be at least 9223372036854775807 chars long',
  ]);
  assert.deepEqual(findings(object({}, { minProperties: most }), {}), [
    "<nil>: Invalid value: 0:  in body should have at least 9223372036854775807 properties",
  ]);
});

test("a limit below zero, which allows nothing, is not shown", () => {
  const props = object({ a: { ...text, maxLength: -1 }, l: { type: "array", items: text, maxItems: -1 } });
  assert.deepEqual(findings(props, { a: "x", l: ["x"] }), [
    "a: Too long: value is too long",
    "l: Too many: 1: has too many items",
  ]);
});

test("of an object with findings the unchanged parts are silent on update, not on create", () => {
  const props = object({ a: { ...text, maxLength: 1 }, b: text });
  const finding = "a: Too long: may not be more than 1 bytes";
  assert.deepEqual(findings(props, { a: "xx" }), [finding]);
  assert.deepEqual(findings(props, { a: "xx", b: "2" }, { a: "xx", b: "1" }), []);
  assert.deepEqual(findings(props, { a: "yy", b: "1" }, { a: "xx", b: "1" }), [finding]);
});

test("lists that held something twice may go on doing so [SSA-29]", () => {
  const schema = new StructuralSchema(object({ l: { type: "array", items: text, "x-kubernetes-list-type": "set" } }));
  const double = { l: ["a", "b", "a", "a"] };
  assert.deepEqual(checkListTypes(double, schema.node).map(printFieldError), ['l[2]: Duplicate value: "a"']);
  assert.deepEqual(checkListTypes(double, schema.node, { l: ["c", "c"] }), []);
  assert.deepEqual(checkListTypes(double, schema.node, { l: ["c"] }).length, 1);
});

test("a status is checked below its own path", () => {
  const schema = new StructuralSchema(object({ status: object({ phase: { ...text, enum: ["A"] } }) }));
  const errors = validateValue({ phase: "B" }, schema.property("status")!.node, undefined, FieldPath.of("status"));
  assert.deepEqual(errors.map(printFieldError), ['status.phase: Unsupported value: "B": supported values: "A"']);
  assert.equal(schema.property("toString"), undefined);
});

test("embedded objects need apiVersion and kind, and metadata that is right", () => {
  const embedded = {
    type: "object",
    "x-kubernetes-embedded-resource": true,
    "x-kubernetes-preserve-unknown-fields": true,
  };
  const schema = new StructuralSchema(object({ pod: embedded }));
  assert.deepEqual(
    checkEmbedded({ pod: { kind: "po_d", metadata: { name: "a/b" } } }, schema.node).map(printFieldError),
    [
      "pod.apiVersion: Required value: must not be empty",
      `pod.kind: Invalid value: "po_d": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
      `pod.metadata.name: Invalid value: "a/b": may not contain '/'`,
    ],
  );
});

test("apply sees the same structure: maps, lists with their keys, open parts, whole objects", () => {
  const metadata = { type: "object", name: "ObjectMeta", fields: new Map() } as const;
  const list: JsonSchemaProps = {
    type: "array",
    items: object({ k: text }, { required: ["k"] }),
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
  };
  const { schema } = new StructuralSchema(
    object({
      spec: object({
        list,
        map: { type: "object", additionalProperties: integer, "x-kubernetes-map-type": "atomic" },
        open: { "x-kubernetes-preserve-unknown-fields": true },
        port: { "x-kubernetes-int-or-string": true },
        pod: { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
        size: { ...integer, default: 3 },
      }),
    }),
    metadata,
  );
  assert.deepEqual([...schema.fields!.keys()], ["spec", "apiVersion", "kind", "metadata"]);
  assert.equal(schema.fields!.get("metadata")!.schema, metadata);
  const fields = schema.fields!.get("spec")!.schema.fields!;
  const of = (name: string) => fields.get(name)!.schema;
  assert.deepEqual(
    [of("list").listType, of("list").listMapKeys, of("list").items?.fields?.get("k")?.required],
    ["map", ["k"], true],
  );
  assert.deepEqual([of("map").type, of("map").mapType, of("map").items?.type], ["map", "atomic", "integer"]);
  assert.deepEqual([of("open").type, of("open").preserveUnknown], ["any", true]);
  assert.equal(of("port").special, "intOrString");
  assert.deepEqual([of("pod").embeddedResource, of("pod").fields?.get("metadata")?.schema], [true, metadata]);
  assert.equal(fields.get("size")!.default, 3);
});

test("paths of selectable fields lead to a schema or say why not", () => {
  const props = object({
    spec: object({ size: integer, "a.b": text, m: { type: "object", additionalProperties: text } }),
  });
  const read = (path: string, brackets = true) => {
    const target = readFieldPath(path, props, { brackets });
    return typeof target === "string" ? target : [target.path, target.schema?.type];
  };
  assert.deepEqual(read(".spec.size"), ["spec.size", "integer"]);
  assert.deepEqual(read(".spec['a.b']"), ["spec.a.b", "string"]);
  assert.deepEqual(read(".spec.m['x']"), ["spec.m[x]", "string"]);
  assert.equal(read(".spec['a.b']", false), "array notation is not allowed");
  assert.equal(read(".spec.none"), "does not refer to a valid field");
  assert.equal(read("spec"), "expected [ or . but got: spec");
  assert.equal(read(".spec."), "unexpected end of JSON path");
  assert.equal(read(".spec[x]"), "expected single quoted string but got x");
});

test("an update need not keep rules that the stored definition breaks", () => {
  const set = { type: "array", items: object({ a: text }), "x-kubernetes-list-type": "set" };
  const old = object({ l: set, t: { type: "text" } });
  const checks = ratchetedChecks([old]);
  assert.deepEqual(checks, {
    structural: true,
    prunedDefaults: true,
    validTypes: false,
    atomicSets: false,
    mapKeys: true,
  });
  assert.equal(checkStructural(old, FieldPath.of("s"), checks).length, 0);
  assert.equal(checkStructural(old, FieldPath.of("s")).length, 2);
  assert.equal(ratchetedChecks([object({ a: {} })]).structural, false);
  assert.equal(ratchetedChecks([object({ a: object({}, { default: { b: 1 } }) })]).prunedDefaults, false);
  assert.equal(ratchetedChecks([{ $schema: "x" }]).structural, false);
});

// The tests that follow have hostile input.

test("schemas nested too deeply are refused, those before are taken, in little time", () => {
  const deep = (levels: number): JsonSchemaProps =>
    nest<JsonSchemaProps>(levels, (inner) => object({ a: inner }), text);
  assert.deepEqual(checkStructural(deep(999), FieldPath.of("s")), []);
  for (const levels of [1000, 20_000]) {
    assert.deepEqual(checkStructural(deep(levels), FieldPath.of("s")).map(printFieldError), [
      "s: Forbidden: schemas must not be nested deeper than 1000 levels",
    ]);
  }
  const schema = new StructuralSchema(deep(999));
  const value = nest<unknown>(999, (inner) => ({ a: inner }), "x");
  assert.equal(applyDefaults(prune(value, schema.node).value, schema.node), value);
  assert.deepEqual(validateValue(value, schema.node, value), []);
  assert.equal(
    checkStructural(object({ x: nest<JsonSchemaProps>(900, (inner) => ({ allOf: [inner] }), {}) }), FieldPath.of("s"))
      .length,
    1,
  );
});

test("defaults nested too deeply are refused", () => {
  const value = nest<unknown>(9000, (inner) => [inner], 1);
  const props = object({ x: { "x-kubernetes-preserve-unknown-fields": true, default: value } });
  assert.deepEqual(checkStructural(props, FieldPath.of("s")).map(printFieldError), [
    "s: Forbidden: values must not be nested deeper than 1000 levels",
  ]);
});

test("patterns that would need much memory or time are refused", () => {
  for (const pattern of ["a{1000}".repeat(100), "x".repeat(20_000), "(((a{10}){10}){10}){10}"]) {
    const [finding] = checkStructural(object({ x: { ...text, pattern } }), FieldPath.of("s"));
    assert.match(finding!.message, /expression too large: must be at most/);
  }
  const many: Record<string, JsonSchemaProps> = {};
  for (let at = 0; at < 500; at++) many[`p${at}`] = { ...text, pattern: `a{1000}${at}` };
  assert.match(
    checkStructural(object(many), FieldPath.of("s"))[0]!.message,
    /patterns must not have more than 250000 instructions/,
  );
});

test("patterns take time linear in the text; what would take too long is not checked but refused", () => {
  const props = object({ x: { ...text, pattern: "^(a+)+$" }, y: { ...text, pattern: "^(?:a?){500}a{500}$" } });
  assert.deepEqual(findings(props, { x: "a".repeat(100_000) }), []);
  assert.equal(findings(props, { x: `${"a".repeat(100_000)}!` }).length, 1);
  assert.deepEqual(findings(props, { y: "a".repeat(1_000_000) }), [
    '<nil>: Invalid value: "": the object is too large to be checked against its schema',
  ]);
});

test("schemas times items is bounded", () => {
  const anyOf = Array.from({ length: 5000 }, () => ({ items: { minLength: 5 } }));
  const props = object({ l: { type: "array", items: text, anyOf } });
  const errors = findings(props, { l: Array<string>(100_000).fill("abc") });
  assert.deepEqual(errors, ['<nil>: Invalid value: "": the object is too large to be checked against its schema']);
});

test("a million findings are cut to some hundreds, a long text in one to its beginning", () => {
  const props = object({ l: { type: "array", items: text }, e: { ...text, maxLength: 3e6, pattern: "^b" } });
  assert.equal(findings(props, { l: Array<number>(1_000_000).fill(1) }).length, 500);
  const [finding] = findings(props, { e: "a".repeat(2_000_000) });
  assert.ok(finding!.length < 70_000);
});

test("10,000 properties and enums of 100,000 values cost what they weigh", () => {
  const properties: Record<string, JsonSchemaProps> = {};
  for (let at = 0; at < 10_000; at++) properties[`p${at}`] = { ...text, default: "x" };
  assert.deepEqual(checkStructural(object(properties), FieldPath.of("s")), []);
  // The result is an object.
  assert.equal(Object.keys(applyDefaults({}, new StructuralSchema(object(properties)).node) as object).length, 10_000);
  const values = Array.from({ length: 100_000 }, (_, at) => `v${at}`);
  assert.deepEqual(findings(object({ l: { type: "array", items: { ...text, enum: values } } }), { l: values }), []);
});

test("lists nested beyond what can be walked are refused or said to be too deep", () => {
  const nestArrays = (): unknown => nest<unknown>(9990, (inner) => [inner], { a: 1 });
  const deep = nestArrays();
  const lists = new StructuralSchema(object({ l: { type: "array", items: text } }));
  assert.throws(() => prune({ l: deep }, lists.node), DecodeError);
  const open = { "x-kubernetes-preserve-unknown-fields": true };
  const props = object({ l: { type: "array", "x-kubernetes-list-type": "set", items: open }, o: open });
  assert.equal(checkListTypes({ l: [deep, deep] }, new StructuralSchema(props).node).length, 1);
  assert.deepEqual(findings(object({ o: text }), { o: deep }, { o: [nestArrays()] }).length, 1);
  assert.deepEqual(findings(object({ o: { ...open, enum: [1] } }), { o: deep }).length, 1);
});

test("defaults take from the room they are given, whatever they are", () => {
  const defaults = { a: "text", n: rawNumber("12345678901234567890"), l: [1, true, null, { x: "y" }] };
  const properties = Object.fromEntries(Object.entries(defaults).map(([name, value]) => [name, { default: value }]));
  const item = new StructuralSchema({ type: "object", properties, "x-kubernetes-preserve-unknown-fields": true });
  const bytes = JSON.stringify(defaults).length;
  const filled = applyDefaults({}, item.node, true, new ByteBudget(2 * bytes, () => new Error("no room")));
  assert.match(JSON.stringify(filled), /"n":12345678901234567890/);
  assert.throws(
    () => applyDefaults({}, item.node, true, new ByteBudget(bytes / 2, () => new Error("no room"))),
    /no room/,
  );
});
