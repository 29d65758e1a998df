/** Secrets whose values are masked. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { masked } from "./masked-secret.ts";

const secret = (data: object, stringData: object): Parameters<typeof masked>[0] & object => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "s" },
  data,
  stringData,
});

test("values are masked in data and in stringData, and marks differ where the values do", () => {
  const [before, after] = masked(secret({ a: "1", b: "2" }, { c: "3" }), secret({ a: "1", b: "x" }, { c: "y" }));
  assert.deepStrictEqual(before, secret({ a: "***", b: "*** (before)" }, { c: "*** (before)" }));
  assert.deepStrictEqual(after, secret({ a: "***", b: "*** (after)" }, { c: "*** (after)" }));
});

test("other objects are as they were", () => {
  const config = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data: { a: "1" } };
  assert.deepStrictEqual(masked(undefined, config), [undefined, config]);
});
