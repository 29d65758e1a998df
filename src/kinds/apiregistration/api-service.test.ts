/** API services: names, servers and conditions, and the messages about errors. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const services = kindUnderTest({ group: "apiregistration.k8s.io", version: "v1", kind: "APIService" });
const service = { namespace: "n", name: "s" };

const object = (spec: object = {}, metadata: object = { name: "v1.example.com" }): Unstructured => ({
  apiVersion: "apiregistration.k8s.io/v1",
  kind: "APIService",
  metadata,
  spec: { group: "example.com", version: "v1", groupPriorityMinimum: 1, versionPriority: 1, service, ...spec },
});

test("the name is that of the group version", () => {
  const wrong = (field: string, text: string): string =>
    `metadata.${field}: Invalid value: "${text}": must be \`spec.version+"."+spec.group\`: "v1.example.com"`;
  assert.deepEqual(services.refuseCreate(object()), []);
  assert.deepEqual(services.refuseCreate(object({}, { name: "v2.example.com" })), [wrong("name", "v2.example.com")]);
  assert.deepEqual(services.refuseCreate(object({}, { generateName: "a-", name: "a-1" })), [
    wrong("generateName", "a-"),
    wrong("name", "a-1"),
  ]);
  // The checks of metadata report a text that is not a name.
  for (const name of ["", "a/b"]) assert.deepEqual(services.refuseCreate(object({}, { name })), []);
});

test("a server is trusted in one way, and a group of this server's own needs no trust", () => {
  const check = (spec: object, ...findings: string[]): void =>
    assert.deepEqual(services.refuseCreate(object(spec)), findings);
  check(
    { caBundle: "YQ==", insecureSkipTLSVerify: true },
    "spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present",
  );
  check(
    { service: undefined, insecureSkipTLSVerify: true },
    "spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify",
  );
  check({ service: {} }, "spec.service.namespace: Required value", "spec.service.name: Required value");
  check(
    { groupPriorityMinimum: 0, versionPriority: 1001 },
    "spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000",
    "spec.versionPriority: Invalid value: 1001: must be positive and less than 1000",
  );
});

test("conditions are true, false or unknown", () => {
  const status = {
    conditions: [
      { type: "Available", status: "True" },
      { type: "X", status: "Y" },
    ],
  };
  assert.deepEqual(services.refuseUpdate({ ...object(), status }, object(), "status"), [
    'status.conditions[1].status: Unsupported value: "Y": supported values: "True", "False", "Unknown"',
  ]);
  assert.deepEqual(services.refuseUpdate({ ...object(), status }, object()), []);
});
