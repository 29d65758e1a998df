/** Checks of metadata on create and update. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FieldError } from "./field-error.ts";
import { printFieldError } from "./field-error.ts";
import { FieldPath } from "./field-path.ts";
import type { ObjectMeta } from "./object-meta.ts";
import {
  finalizerWarnings,
  validateFieldManager,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from "./validate-object-meta.ts";

const rules = { namespaced: true, nameRule: "dns1123subdomain" };
const print = (errors: readonly FieldError[]) => errors.map(printFieldError);
const check = (meta: ObjectMeta, ...expected: readonly (string | RegExp)[]) => {
  const errors = print(validateObjectMeta({ name: "a", namespace: "n", ...meta }, rules));
  assert.equal(errors.length, expected.length, errors.join("\n"));
  for (const [index, pattern] of expected.entries()) {
    if (typeof pattern === "string") assert.equal(errors[index], pattern);
    else assert.match(errors[index]!, pattern);
  }
};

test("an object needs a name and, in a namespace, a namespace [NAME-01]", () => {
  check({});
  check({ name: "" }, "metadata.name: Required value: name or generateName is required");
  check({ namespace: "" }, "metadata.namespace: Required value");
  check({ namespace: "A.b" }, /^metadata.namespace: Invalid value: "A.b": a lowercase RFC 1123 label/);
  check({ generateName: "Bad_" }, /^metadata.generateName: Invalid value: "Bad_": a lowercase RFC 1123 subdomain/);
  const cluster = { ...rules, namespaced: false };
  assert.deepEqual(print(validateObjectMeta({ name: "a", namespace: "n" }, cluster)), [
    "metadata.namespace: Forbidden: not allowed on this type",
  ]);
});

test("labels and annotations are checked key by key and annotations in total [META-18] [META-19]", () => {
  check({ labels: { "bad key": "bad value" } }, /^metadata.labels: Invalid value: "bad key"/, /^metadata.labels: Inv/);
  check({ annotations: { "Upper.example.com/Key": "any value\nat all \u00e9" } });
  check({ annotations: { "a/b/c": "" } }, /^metadata.annotations: Invalid value: "a\/b\/c": a qualified name/);
  check({ annotations: { k: "x".repeat(262_143) } });
  check(
    { annotations: { k: "x".repeat(262_144) } },
    "metadata.annotations: Too long: may not be more than 262144 bytes",
  );
});

test("owner references are complete and name one controller at most [META-21]", () => {
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "u-1" };
  check({ ownerReferences: [owner] });
  check(
    { ownerReferences: [{ apiVersion: "", kind: "", name: "", uid: "" }] },
    'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
    'metadata.ownerReferences.kind: Invalid value: "": kind must not be empty',
    'metadata.ownerReferences.name: Invalid value: "": name must not be empty',
    'metadata.ownerReferences.uid: Invalid value: "": uid must not be empty',
  );
  check(
    { ownerReferences: [{ ...owner, apiVersion: "a/b/c" }] },
    'metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty',
  );
  check({ ownerReferences: [{ ...owner, kind: "Event" }] }, /disallowed from being an owner$/);
  const controller = { ...owner, controller: true };
  check({ ownerReferences: [controller, { ...owner, controller: false }] });
  check(
    { ownerReferences: [controller, { ...controller, name: "y" }] },
    /Found "true" in references for ConfigMap\/x and ConfigMap\/y$/,
  );
});

test("finalizers are qualified names and do not contradict each other [META-15]", () => {
  check({ finalizers: ["example.com/x", "orphan", "unqualified"] });
  check({ finalizers: ["bad name"] }, /^metadata.finalizers: Invalid value: "bad name": name part must consist/);
  check(
    { finalizers: ["orphan", "foregroundDeletion"] },
    'metadata.finalizers: Invalid value: []string{"orphan", "foregroundDeletion"}: finalizer orphan and foregroundDeletion cannot be both set',
  );
  const strict = validateObjectMeta(
    { name: "a", namespace: "n", finalizers: ["x", "kubernetes"] },
    { ...rules, standardFinalizers: true },
  );
  assert.deepEqual(print(strict), [
    'metadata.finalizers[0]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified',
  ]);
  assert.equal(finalizerWarnings(["x", "a/b", "orphan"]).length, 1);
});

test("managedFields entries are checked [META-20]", () => {
  check(
    { managedFields: [{ manager: "a\n", fieldsType: "V2" }] },
    'metadata.managedFields[0].operation: Invalid value: "": must be `Apply` or `Update`',
    'metadata.managedFields[0].fieldsType: Invalid value: "V2": must be `FieldsV1`',
    'metadata.managedFields[0].manager: Invalid value: "a\\n": invalid character U+000A (at position 1)',
  );
  check(
    { managedFields: [{ manager: "a\u0001\u0080\u0003", operation: "Update" }] },
    String.raw`metadata.managedFields[0].manager: Invalid value: "a\x01\u0080\x03": invalid character U+0001 (at position 1)`,
    String.raw`metadata.managedFields[0].manager: Invalid value: "a\x01\u0080\x03": invalid character U+0080 (at position 2)`,
    String.raw`metadata.managedFields[0].manager: Invalid value: "a\x01\u0080\x03": invalid character U+0003 (at position 4)`,
  );
  assert.deepEqual(print(validateFieldManager("x".repeat(129), FieldPath.of("fieldManager"))), [
    "fieldManager: Too long: may not be more than 128 bytes",
  ]);
  assert.equal(validateFieldManager("\u007f".repeat(100_000), FieldPath.of("fieldManager")).length, 1000);
});

test("an update keeps identity and needs a version [META-09] [META-17]", () => {
  const old: ObjectMeta = { name: "a", namespace: "n", uid: "1", resourceVersion: "1", creationTimestamp: "t" };
  const update = (next: ObjectMeta, before = old) => print(validateObjectMetaUpdate({ ...before, ...next }, before));
  const refuses = (errors: readonly string[], ...expected: readonly string[]) =>
    assert.deepEqual(errors, [...expected, ...expected]);
  assert.deepEqual(update({}), []);
  refuses(
    update({ resourceVersion: "" }),
    'metadata.resourceVersion: Invalid value: "": must be specified for an update',
  );
  refuses(
    update({ name: "b", uid: "2" }),
    'metadata.name: Invalid value: "b": field is immutable',
    'metadata.uid: Invalid value: "2": field is immutable',
  );
  refuses(
    update({ deletionTimestamp: "2001-01-01T00:00:00Z", deletionGracePeriodSeconds: 5 }),
    "metadata.deletionTimestamp: Invalid value: 2001-01-01 00:00:00 +0000 UTC: field is immutable",
    "metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable",
  );
  refuses(
    update({ generation: 1 }, { ...old, generation: 2 }),
    "metadata.generation: Invalid value: 1: must not be decremented",
  );
  const dying = { ...old, deletionTimestamp: "t", finalizers: ["a.io/1", "a.io/2"] };
  assert.deepEqual(update({ finalizers: ["a.io/2"] }, dying), []);
  refuses(
    update({ finalizers: ["a.io/2", "z.io/3", "b.io/3"] }, dying),
    'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"b.io/3", "z.io/3"}',
  );
});

test("findings about the metadata of an update come as often as the checks of all kinds find them [META-19]", () => {
  const old: ObjectMeta = { name: "a", resourceVersion: "1" };
  const count = (next: ObjectMeta, standardFinalizers: boolean) =>
    validateObjectMetaUpdate({ ...old, ...next }, old, { standardFinalizers }).length;
  assert.deepEqual([count({ labels: { k: "-v" } }, false), count({ labels: { k: "-v" } }, true)], [3, 4]);
  assert.deepEqual([count({ finalizers: ["a/b c"] }, false), count({ finalizers: ["a/b c"] }, true)], [1, 2]);
  assert.deepEqual([count({ uid: "2" }, false), count({ uid: "2" }, true)], [2, 2]);
});
