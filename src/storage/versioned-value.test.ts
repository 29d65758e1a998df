/** Values without and with their revisions. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { atRevision, lengthOf, moved, placeOf, unversioned, unversionedBytes } from "./versioned-value.ts";

const member = '"resourceVersion":"';

test("a value shows the revision it is read at, and can be moved to another", () => {
  const value = unversioned(`{"name":"ü","resourceVersion":"","spec":{"resourceVersion":""}}`, member);
  const bytes = atRevision(value, 12);
  assert.equal(bytes.toString(), `{"name":"ü","resourceVersion":"12","spec":{"resourceVersion":""}}`);
  assert.equal(lengthOf(value), bytes.length - 2);
  const later = moved(bytes, placeOf(value), 12, 3456);
  assert.equal(later.toString(), `{"name":"ü","resourceVersion":"3456","spec":{"resourceVersion":""}}`);
});

test("what stands before the place may be any text", () => {
  assert.equal(atRevision(unversioned("ключ-ü rest", "ключ-ü "), 5).toString(), "ключ-ü 5rest");
});

test("a value without a place for a revision is the same at each", () => {
  for (const value of [unversioned("plain", member), unversionedBytes(Buffer.from("plain"))]) {
    assert.equal(placeOf(value), -1);
    assert.equal(atRevision(value, 7).toString(), "plain");
    assert.equal(moved(Buffer.from("plain"), -1, 7, 8).toString(), "plain");
  }
});

test("what is no value is shown as some bytes or other, and harms nobody", () => {
  for (const bytes of ["", "a", "\u0000\u0001 no value", "\u0000\u0000\u0000\u0009short"]) {
    assert.equal(placeOf(Buffer.from(bytes)), -1);
    assert.ok(atRevision(Buffer.from(bytes), 7).length <= bytes.length);
  }
});
