/** Rules of config maps. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kindUnderTest } from "../kind-for-tests.ts";

const configMaps = kindUnderTest({ group: "", version: "v1", kind: "ConfigMap" });
const metadata = { name: "a" };

test("keys have a syntax and are in data or in binaryData, not in both", () => {
  assert.deepEqual(configMaps.refuseCreate({ metadata, data: { "a.b-C_1": "x" }, binaryData: { b: "eA==" } }), []);
  assert.deepEqual(configMaps.refuseCreate({ metadata, data: { a: "x", "..": "y" }, binaryData: { a: "eA==" } }), [
    "data[..]: Invalid value: \"..\": must not be '..'",
    'data[a]: Invalid value: "a": duplicate of key present in binaryData',
  ]);
  assert.match(configMaps.refuseCreate({ metadata, binaryData: { "a/b": "" } })[0]!, /^binaryData\[a\/b\]: Invalid/);
  const hostile = JSON.parse('{"__proto__":"x","constructor":"y"}') as Record<string, string>;
  assert.deepEqual(configMaps.refuseCreate({ metadata, data: hostile }), []);
});

test("all values together are at most a mebibyte", () => {
  const half = "x".repeat(512 * 1024);
  const halfBinary = Buffer.from(half).toString("base64");
  assert.deepEqual(configMaps.refuseCreate({ metadata, data: { a: half }, binaryData: { b: halfBinary } }), []);
  assert.deepEqual(configMaps.refuseCreate({ metadata, data: { a: half, c: "x" }, binaryData: { b: halfBinary } }), [
    "[]: Too long: may not be more than 1048576 bytes",
  ]);
});

test("an immutable config map stays as it is", () => {
  const old = { metadata, immutable: true, data: { a: "1" } };
  assert.deepEqual(configMaps.refuseUpdate({ ...old, metadata: { name: "a", labels: { l: "1" } } }, old), []);
  const message = "Forbidden: field is immutable when `immutable` is set";
  assert.deepEqual(configMaps.refuseUpdate({ metadata, data: { a: "2" }, binaryData: { b: "eA==" } }, old), [
    `immutable: ${message}`,
    `data: ${message}`,
    `binaryData: ${message}`,
  ]);
  assert.deepEqual(configMaps.refuseUpdate({ ...old, data: { a: "2" } }, { metadata, data: { a: "1" } }), []);
});

test("a table shows the number of keys", () => {
  const row = configMaps.row({ metadata, data: { a: "", b: "" }, binaryData: { c: "" } });
  assert.deepEqual(row, { Name: "a", Data: 3, Age: "<unknown>" });
});
