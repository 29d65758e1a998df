/** What kube-apiserver 1.32.1 says about the status of pods, and what it keeps of it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const pods = kindUnderTest({ group: "", version: "v1", kind: "Pod" });
const pod = (status: object, spec: object = {}): Unstructured => ({
  metadata: { name: "p" },
  spec: { containers: [{ name: "a", image: "x:1" }], ...spec },
  status,
});
const stored = pod({ phase: "Pending", qosClass: "BestEffort" });
const refused = (status: object): string[] => pods.refuseUpdate(pod(status), stored, "status");

test("the class of service stays", () => {
  const { status } = pods.update(pod({ phase: "Running" }), stored, "status") as { status?: object };
  assert.deepEqual(status, { phase: "Running", qosClass: "BestEffort" });
  assert.deepEqual(refused({ phase: "Running" }), []);
  assert.deepEqual(refused({ qosClass: "Burstable" }), [
    'status.qosClass: Invalid value: "Burstable": field is immutable',
  ]);
});

test("types of conditions are names, and claims those of the spec", () => {
  assert.deepEqual(refused({ conditions: [{ type: "example.com/ready", status: "True" }] }), []);
  assert.match(refused({ conditions: [{ type: "", status: "True" }] })[0]!, /^metadata\.conditions\[0\]\.Type: /);
  assert.deepEqual(refused({ resourceClaimStatuses: [{ name: "b" }] }), [
    'status.resourceClaimStatuses[0].name: Invalid value: "b": must match the name of an entry in `spec.resourceClaims`',
  ]);
});

test("each claim has one status, whose claim has a name", () => {
  const found = refused({ resourceClaimStatuses: [{ name: "b", resourceClaimName: "" }, { name: "b" }] });
  assert.match(
    found[0]!,
    /^status\.resourceClaimStatuses\[0\]\.name: Invalid value: "": a lowercase RFC 1123 subdomain/,
  );
  assert.ok(found.includes('status.resourceClaimStatuses[1].name: Duplicate value: "b"'), found.join("\n"));
});

test("several addresses are only compared when each is one", () => {
  const found = refused({ podIP: "nonsense", podIPs: [{ ip: "nonsense" }, { ip: "fd00::1" }] });
  assert.ok(
    found.includes("status.podIPs: Internal error: failed to check for dual stack with error:invalid IP[0]: nonsense"),
    found.join("\n"),
  );
});

test("a negative period of grace is one second", () => {
  const made = pods.create(pod({}, { terminationGracePeriodSeconds: -5 })) as { spec?: object };
  assert.equal((made.spec as { terminationGracePeriodSeconds?: number }).terminationGracePeriodSeconds, 1);
});
