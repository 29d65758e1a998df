/** Values without and with their revisions. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { packedForm } from "./packed-value.ts";
import {
  insertRevision,
  movedToRevision,
  splicedLength,
  toUnversioned,
  withoutRevision,
  writeSpliced,
  type SplicedBytes,
} from "./versioned-value.ts";

const { pack, unpack } = packedForm;
const member = '"resourceVersion":"';

/** Returns spliced bytes, written between others. */
function bytesOf(spliced: SplicedBytes): Buffer {
  const length = splicedLength(spliced);
  const target = Buffer.alloc(length + 2, "#");
  writeSpliced(spliced, target, 1);
  assert.equal(`${target.toString("latin1", 0, 1)}${target.toString("latin1", length + 1)}`, "##");
  return target.subarray(1, length + 1);
}

test("a value shows the revision it is read at, and can be moved to another", () => {
  const value = toUnversioned(`{"name":"ü","resourceVersion":"","spec":{"resourceVersion":""}}`, member);
  const bytes = insertRevision(value, 12);
  assert.equal(bytes.toString(), `{"name":"ü","resourceVersion":"12","spec":{"resourceVersion":""}}`);
  assert.deepEqual(unpack(pack(value), "/a"), value);
  const later = bytesOf(movedToRevision(bytes, value.revisionOffset, 12, 3456));
  assert.equal(later.toString(), `{"name":"ü","resourceVersion":"3456","spec":{"resourceVersion":""}}`);
});

test("the text before the digits may be any", () => {
  assert.equal(insertRevision(toUnversioned("ключ-ü rest", "ключ-ü "), 5).toString(), "ключ-ü 5rest");
});

test("a value that shows no revision is the same at each", () => {
  for (const value of [toUnversioned("plain", member), withoutRevision(Buffer.from("plain"))]) {
    assert.equal(unpack(pack(value), "/a").revisionOffset, -1);
    assert.equal(insertRevision(value, 7).toString(), "plain");
    assert.equal(bytesOf(movedToRevision(Buffer.from("plain"), -1, 7, 8)).toString(), "plain");
  }
});

test("bytes that are no value are shown without an error", () => {
  for (const bytes of ["", "a", "\u0000\u0001 no value", "\u0000\u0000\u0000\u0009short"]) {
    const value = unpack(Buffer.from(bytes), "/a");
    assert.equal(value.revisionOffset, -1);
    assert.ok(insertRevision(value, 7).length <= bytes.length);
  }
});
