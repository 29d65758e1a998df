/** Tests typed decoding with small schemas: shape, order, zero values, special types, limits and errors. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { rawNumber } from "#std/raw-number.ts";
import { DecodeError } from "./decode-error.ts";
import type { Field, Schema } from "./schema.ts";
import { decodeTyped, type Findings } from "./typed.ts";

const text: Schema = { type: "string" };
const int32: Schema = { type: "integer", format: "int32" };
const int64: Schema = { type: "integer", format: "int64" };
const optional = { omitempty: true };

function struct(name: string, fields: Record<string, Field>): Schema {
  return { type: "object", name: `io.example.api.core.v1.${name}`, fields: new Map(Object.entries(fields)) };
}

const port = struct("Port", {
  number: { schema: int32, keep: true, default: 0 },
  protocol: { schema: { ...text, goType: "v1.Protocol" }, ...optional, default: "TCP" },
});
const inner = struct("Inner", { on: { schema: { type: "boolean" }, keep: true } });
const thing = struct("Thing", {
  kind: { schema: text, ...optional },
  apiVersion: { schema: text, ...optional },
  name: { schema: text, ...optional },
  count: { schema: int64, ...optional },
  limit: { schema: int32, ptr: true, ...optional },
  labels: { schema: { type: "map", items: text }, ...optional },
  ports: { schema: { type: "array", items: port }, ...optional },
  must: { schema: { type: "array", items: text }, keep: true },
  inner: { schema: inner, ...optional, keep: true },
  other: { schema: inner, ptr: true, ...optional },
  data: { schema: { type: "map", items: { ...text, format: "byte" } }, ...optional },
  created: { schema: { ...text, special: "time" }, ...optional, keep: true },
  deleted: { schema: { ...text, special: "time" }, ptr: true, ...optional },
  size: { schema: { ...text, special: "quantity" }, ptr: true, ...optional },
  target: { schema: { ...text, special: "intOrString" }, ptr: true, ...optional },
  wait: { schema: { ...text, special: "duration" }, ptr: true, ...optional },
  share: { schema: { type: "number", format: "double" }, ptr: true, ...optional },
  raw: { schema: { type: "any", special: "rawExtension" }, ...optional },
});

const rest = { must: null, inner: { on: false }, created: null };

function decode(raw: unknown): { value: unknown; findings: Findings } {
  const findings = { keys: 0, unknown: false };
  return { value: decodeTyped(thing, raw, findings), findings };
}

const same = (raw: unknown, expected: Record<string, unknown>): void =>
  assert.equal(JSON.stringify(decode(raw).value), JSON.stringify(expected));

const expectRefusal = (raw: unknown, message: string): void =>
  assert.throws(
    () => decode(raw),
    (error) => error instanceof DecodeError && error.message === message,
    message,
  );

test("fields come out in the type's order with what must be there", () => {
  same({}, rest);
  same({ inner: { on: true }, name: "a", kind: "Thing" }, { kind: "Thing", name: "a", ...rest, inner: { on: true } });
});

test("a canonical value is returned itself, and nothing is ever changed in place", () => {
  const raw = {
    kind: "Thing",
    name: "a",
    labels: { a: "b", c: "d" },
    ports: [{ number: 1, protocol: "UDP" }],
    ...rest,
  };
  assert.equal(decode(raw).value, raw);
  const list = Object.freeze([Object.freeze({ number: 1 })]);
  const mixed = Object.freeze({ ports: list, name: "a" });
  const value = decode(mixed).value as { ports: unknown };
  assert.deepEqual(value.ports, [{ number: 1, protocol: "TCP" }]);
});

test("null means absent, or the zero value where nothing can be absent", () => {
  same({ name: null, count: null, limit: null, ports: null, must: null, inner: null, other: null, size: null }, rest);
  same({ labels: { a: null }, ports: [null] }, { labels: { a: "" }, ports: [{ number: 0, protocol: "TCP" }], ...rest });
});

test("zero values are left out, behind a pointer they stay", () => {
  same({ name: "", count: 0, labels: {}, ports: [], raw: null }, rest);
  same(
    { limit: 0, other: {}, target: 0 },
    { limit: 0, must: null, inner: { on: false }, other: { on: false }, created: null, target: 0 },
  );
});

test("defaults replace zero values, unless they are switched off", () => {
  const raw = { ports: [{ number: 1, protocol: "" }, { number: 2 }] };
  same(raw, {
    ports: [
      { number: 1, protocol: "TCP" },
      { number: 2, protocol: "TCP" },
    ],
    ...rest,
  });
  const plain = decodeTyped(thing, raw, { keys: 0, unknown: false }, { defaults: false });
  assert.deepEqual((plain as { ports: unknown }).ports, [{ number: 1 }, { number: 2 }]);
});

test("maps come out sorted, and keys that look like parts of the language are keys", () => {
  same({ labels: { b: "1", a: "2" } }, { labels: { a: "2", b: "1" }, ...rest });
  const raw: unknown = JSON.parse('{"labels":{"z":"1","__proto__":"2","constructor":"3"},"__proto__":{"name":"x"}}');
  const { value, findings } = decode(raw);
  assert.equal(JSON.stringify((value as { labels: unknown }).labels), '{"__proto__":"2","constructor":"3","z":"1"}');
  assert.equal((value as { name?: string }).name, undefined);
  assert.deepEqual(findings, { keys: 6, unknown: true });
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
});

test("every key is counted, those of dropped and untyped parts included", () => {
  const { findings } = decode({
    name: "a",
    zz: { a: { b: 1 }, c: [{ d: 1 }] },
    raw: { e: [{ f: 1 }] },
    labels: { g: "h" },
  });
  assert.deepEqual(findings, { keys: 11, unknown: true });
});

test("special texts become canonical", () => {
  same(
    { size: "1024Mi", wait: "90m", created: "2020-01-01T00:00:00+01:00", data: { a: "aGl=" }, target: "80", share: 1 },
    {
      must: null,
      inner: { on: false },
      data: { a: "aGk=" },
      created: "2019-12-31T23:00:00Z",
      size: "1Gi",
      target: "80",
      wait: "1h30m0s",
      share: 1,
    },
  );
  same({ size: 1.5, deleted: "2020-01-01T00:00:00Z" }, { ...rest, deleted: "2020-01-01T00:00:00Z", size: "1500m" });
});

test("untyped parts stay as they are, numbers included", () => {
  const raw = { b: 1, a: [rawNumber("1.0"), null] };
  assert.equal((decode({ raw }).value as { raw: unknown }).raw, raw);
});

test("whole numbers keep all their digits", () => {
  const count = (value: unknown) => (decode({ count: value }).value as { count: unknown }).count;
  assert.equal(JSON.stringify(count(rawNumber("9223372036854775807"))), "9223372036854775807");
  assert.equal(JSON.stringify(count(9223372036854775807n)), "9223372036854775807");
  assert.equal(count(5n), 5);
  assert.equal(count(rawNumber("-0")), undefined);
});

test("values of a wrong type are refused in Go's words [ERR-05]", () => {
  expectRefusal({ name: 5 }, "json: cannot unmarshal number into Go struct field Thing.name of type string");
  expectRefusal({ count: 1.5 }, "json: cannot unmarshal number 1.5 into Go struct field Thing.count of type int64");
  expectRefusal(
    { count: rawNumber("1.0") },
    "json: cannot unmarshal number 1.0 into Go struct field Thing.count of type int64",
  );
  expectRefusal(
    { count: rawNumber("9223372036854775808") },
    "json: cannot unmarshal number 9223372036854775808 into Go struct field Thing.count of type int64",
  );
  expectRefusal(
    { limit: 2147483648 },
    "json: cannot unmarshal number 2147483648 into Go struct field Thing.limit of type int32",
  );
  expectRefusal(
    { labels: [] },
    "json: cannot unmarshal array into Go struct field Thing.labels of type map[string]string",
  );
  expectRefusal(
    { labels: { a: true } },
    "json: cannot unmarshal bool into Go struct field Thing.labels of type string",
  );
  expectRefusal({ ports: {} }, "json: cannot unmarshal object into Go struct field Thing.ports of type []v1.Port");
  expectRefusal({ ports: ["x"] }, "json: cannot unmarshal string into Go struct field Thing.ports of type v1.Port");
  expectRefusal(
    { ports: [{ protocol: 6 }] },
    "json: cannot unmarshal number into Go struct field Port.ports.protocol of type v1.Protocol",
  );
  expectRefusal(
    { inner: { on: "yes" } },
    "json: cannot unmarshal string into Go struct field Inner.inner.on of type bool",
  );
  expectRefusal(
    { inner: rawNumber("1.0") },
    "json: cannot unmarshal number into Go struct field Thing.inner of type v1.Inner",
  );
  expectRefusal({ target: 1.5 }, "json: cannot unmarshal number 1.5 into Go struct field Thing.target of type int32");
  expectRefusal({ data: { a: "!" } }, "illegal base64 data at input byte 0");
  expectRefusal({ wait: "1" }, 'time: missing unit in duration "1"');
  expectRefusal({ created: 5 }, "json: cannot unmarshal number into Go struct field Thing.created of type string");
  expectRefusal(
    { share: rawNumber("1e400") },
    "json: cannot unmarshal number 1e400 into Go struct field Thing.share of type float64",
  );
  expectRefusal(
    { raw: { a: [rawNumber("1e400")] } },
    "json: cannot unmarshal number 1e400 into Go value of type float64",
  );
});

test("the first wrong field is told, but a type with a decoder of its own comes before all", () => {
  expectRefusal(
    { ports: 1, name: 2 },
    "json: cannot unmarshal number into Go struct field Thing.ports of type []v1.Port",
  );
  expectRefusal(
    { name: 5, created: "x" },
    'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
  );
});

test("values too deep to walk are refused, and maps inside of maps cost no more than their size", () => {
  const node: { type: "map"; items?: Schema } = { type: "map" };
  node.items = node;
  let deep: unknown = {};
  for (let i = 0; i < 200_000; i++) deep = { b: deep, a: {} };
  assert.throws(() => decodeTyped(node, deep, { keys: 0, unknown: false }), /exceeded max depth/);
  let nested: unknown = {};
  for (let i = 0; i < 200; i++) nested = { b: nested, a: {} };
  const findings = { keys: 0, unknown: false };
  decodeTyped(node, nested, findings);
  assert.equal(findings.keys, 400);
});

test("parts that a known value has in the same place are taken as they are, others are decoded", () => {
  const known = decode({ labels: { b: "1", a: "2" }, ports: [{ number: 1 }, { number: 2 }] }).value as Record<
    string,
    unknown
  >; // the schema is a struct
  const [first, second] = known["ports"] as readonly object[];
  const unsorted = { b: "1", a: "2" };
  const messageFor = (raw: unknown): string =>
    JSON.stringify(decodeTyped(thing, raw, { keys: 0, unknown: false }, { canonical: { ...known, labels: unsorted } }));
  const expected = { labels: unsorted, ports: [first, { number: 3, protocol: "TCP" }], ...rest };
  assert.equal(messageFor({ labels: unsorted, ports: [first, { number: 3 }] }), JSON.stringify(expected));
  const moved = { labels: { a: "2", b: "1" }, ports: [second, first], ...rest };
  assert.equal(messageFor({ labels: { ...unsorted }, ports: [second, first] }), JSON.stringify(moved));
  assert.equal(messageFor(known), JSON.stringify(known));
});
