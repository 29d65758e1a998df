/** Rules of conditions, with messages recorded from a 1.32 server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Condition } from "#api/meta/v1.ts";
import { printFieldError } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { validateConditions } from "./conditions.ts";

const complete: Condition = {
  type: "example.com/Ready",
  status: "True",
  lastTransitionTime: "2020-01-01T00:00:00Z",
  reason: "A_,:b",
  message: "",
};

const refuse = (...conditions: readonly Partial<Condition>[]): string[] =>
  validateConditions(
    conditions.map((condition) => ({ ...complete, ...condition })),
    FieldPath.of("c"),
  ).map(printFieldError);

const name =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const reasonForm =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

test("a condition says its type, status, time and reason", () => {
  assert.deepEqual(refuse({}, { type: "A", status: "False" }, { type: "B", status: "Unknown" }), []);
  assert.deepEqual(refuse({ type: "", status: "", lastTransitionTime: null, reason: "" }), [
    'c[0].type: Invalid value: "": name part must be non-empty',
    `c[0].type: Invalid value: "": ${name}`,
    'c[0].status: Unsupported value: "": supported values: "False", "True", "Unknown"',
    "c[0].lastTransitionTime: Required value: must be set",
    "c[0].reason: Required value: must be set",
  ]);
});

test("types are names, reasons are words, generations count from zero", () => {
  assert.deepEqual(refuse({ type: "a b", observedGeneration: -1, reason: "1 x" }), [
    `c[0].type: Invalid value: "a b": ${name}`,
    "c[0].observedGeneration: Invalid value: -1: must be greater than or equal to zero",
    `c[0].reason: Invalid value: "1 x": ${reasonForm}`,
  ]);
  for (const reason of ["A:", "-", "é", "A\n"]) assert.equal(refuse({ reason }).length, 1, reason);
});

test("each type is there once", () => {
  const message = 'Duplicate value: "example.com/Ready"';
  assert.deepEqual(refuse({}, {}, {}), [`c[1].type: ${message}`, `c[2].type: ${message}`]);
});

test("reasons and messages have a length in bytes", () => {
  assert.deepEqual(refuse({ reason: "x".repeat(1024), message: "é".repeat(16 * 1024) }), []);
  assert.deepEqual(refuse({ reason: "x".repeat(1025), message: "é".repeat(16 * 1024 + 1) }), [
    "c[0].reason: Too long: may not be more than 1024 bytes",
    "c[0].message: Too long: may not be more than 32768 bytes",
  ]);
});
