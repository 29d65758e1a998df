/** Helpers of admission plugins. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { attributesOf } from "./attributes-for-tests.ts";
import { objectName } from "./plugin.ts";

test("the name of an object is the request's, or its own in a deleted collection", () => {
  const objectNamed = (name: string) => ({ metadata: { name } });
  assert.equal(objectName(attributesOf(objectNamed("a"), { name: "a" })), "a");
  assert.equal(objectName(attributesOf(undefined, { operation: "DELETE", oldObject: objectNamed("b") })), "b");
  assert.equal(objectName(attributesOf({ metadata: { generateName: "c-" } })), "");
});
