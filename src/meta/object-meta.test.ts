/** Tests of the functions that change metadata. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutAnnotations } from "./object-meta.ts";

test("annotations are dropped by their names, and so is their map when it would be empty", () => {
  const metadata = { name: "x", annotations: { "a/old": "1", "b/new": "2" }, labels: { l: "1" } };
  const isOld = (name: string): boolean => name.endsWith("/old");
  assert.deepEqual(withoutAnnotations(metadata, isOld), { ...metadata, annotations: { "b/new": "2" } });
  assert.deepEqual(
    withoutAnnotations(metadata, () => true),
    { name: "x", labels: { l: "1" } },
  );
  assert.equal(
    withoutAnnotations(metadata, () => false),
    metadata,
  );
  const bare = { name: "x" };
  assert.equal(withoutAnnotations(bare, isOld), bare);
});
