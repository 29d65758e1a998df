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
