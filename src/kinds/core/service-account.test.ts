/** Rules of service accounts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kindUnderTest } from "../kind-for-tests.ts";

const kind = { group: "", version: "v1", kind: "ServiceAccount" };

test("newly restricting secrets to mounted ones gives a deprecation warning", () => {
  for (const [domain, prefix] of [
    ["k8s.io", "kubernetes.io"],
    ["platform.io", "platform.io"],
  ] as const) {
    const { warnCreate, warnUpdate } = kindUnderTest(kind, { domain });
    const annotation = `${prefix}/enforce-mountable-secrets`;
    const marked = { metadata: { name: "a", annotations: { [annotation]: "true" } } };
    const expected = [
      `metadata.annotations[${annotation}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`,
    ];
    assert.deepEqual(warnCreate(marked), expected);
    assert.deepEqual(warnUpdate(marked, { metadata: { name: "a" } }), expected);
    assert.deepEqual(warnUpdate(marked, marked), []);
  }
});

test("of a secret that an account refers to only the name is kept", () => {
  const { create, update } = kindUnderTest(kind);
  const account = { metadata: { name: "a" }, secrets: [{ name: "a", namespace: "n" }, { name: "b" }] };
  const references = [{ name: "a" }, { name: "b" }];
  assert.deepEqual(create(account)["secrets"], references);
  assert.deepEqual(update(account, account)["secrets"], references);
});
