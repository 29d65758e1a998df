/** Values without and with their revisions. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { atRevision, moved, packed, unpacked, unversioned, unversionedBytes } from "./versioned-value.ts";

const member = '"resourceVersion":"';

test("a value shows the revision it is read at, and can be moved to another", () => {
  const value = unversioned(`{"name":"ü","resourceVersion":"","spec":{"resourceVersion":""}}`, member);
  const bytes = atRevision(value, 12);
  assert.equal(bytes.toString(), `{"name":"ü","resourceVersion":"12","spec":{"resourceVersion":""}}`);
  assert.deepEqual(unpacked(packed(value)), value);
  const later = moved(bytes, value.place, 12, 3456);
  assert.equal(later.toString(), `{"name":"ü","resourceVersion":"3456","spec":{"resourceVersion":""}}`);
});

test("what stands before the place may be any text", () => {
  assert.equal(atRevision(unversioned("ключ-ü rest", "ключ-ü "), 5).toString(), "ключ-ü 5rest");
});

test("a value without a place for a revision is the same at each", () => {
  for (const value of [unversioned("plain", member), unversionedBytes(Buffer.from("plain"))]) {
    assert.equal(unpacked(packed(value)).place, -1);
    assert.equal(atRevision(value, 7).toString(), "plain");
    assert.equal(moved(Buffer.from("plain"), -1, 7, 8).toString(), "plain");
  }
});

test("bytes that are no value are shown without an error", () => {
  for (const bytes of ["", "a", "\u0000\u0001 no value", "\u0000\u0000\u0000\u0009short"]) {
    const value = unpacked(Buffer.from(bytes));
    assert.equal(value.place, -1);
    assert.ok(atRevision(value, 7).length <= bytes.length);
  }
});
