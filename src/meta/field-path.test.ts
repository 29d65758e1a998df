/** Paths of fields in error messages. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { printFieldError, required } from "./field-error.ts";
import { FieldPath } from "./field-path.ts";

test("a path names fields, members of lists and members of maps, and does not change when it goes on", () => {
  const ports = FieldPath.of("spec", "ports");
  assert.equal(String(ports.index(0).child("name")), "spec.ports[0].name");
  assert.equal(String(ports), "spec.ports");
  assert.equal(String(FieldPath.of("data").key("a.b")), "data[a.b]");
  assert.equal(printFieldError(required(ports)), "spec.ports: Required value");
});

test("names of the object's own fields have no dot before them", () => {
  const { root } = FieldPath;
  assert.equal(String(root), "");
  assert.equal(String(root.child("spec", "ports")), "spec.ports");
  assert.equal(String(root.index(0).child("name")), "[0].name");
  assert.equal(String(root.key("a").child("b")), "[a].b");
  assert.equal(root.child(""), root);
  assert.equal(String(root.child("spec").child("").child("a")), "spec..a");
});

test("a path shows the same text whatever was shown before it", () => {
  const a = FieldPath.of("a");
  const [b, other] = [a.child("b"), a.child("b")];
  const below = b.index(1).child("c");
  assert.equal(String(b.key("x")), "a.b[x]");
  assert.equal(String(below), "a.b[1].c");
  assert.equal(String(b), String(other));
  assert.equal(String(below.child("d")), "a.b[1].c.d");
  assert.equal(String(below), "a.b[1].c");
});

test("paths may be deeper than the stack", () => {
  let path = FieldPath.root;
  for (let at = 0; at < 100_000; at++) path = path.child("a");
  assert.equal(String(path), `a${".a".repeat(99_999)}`);
});
