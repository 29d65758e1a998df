/** The status of resource claims, with the findings of kube-apiserver 1.32.1. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kindUnderTest } from "../kind-for-tests.ts";

const claims = kindUnderTest(
  { group: "resource.k8s.io", version: "v1beta1", kind: "ResourceClaim" },
  { gates: ["DynamicResourceAllocation", "DRAResourceClaimDeviceStatus"] },
);
const spec = { devices: { requests: [{ name: "a", deviceClassName: "gpu" }] } };
const device = { driver: "gpu.example.com", pool: "p", device: "d" };
const allocation = { devices: { results: [{ request: "a", ...device }] } };
const user = { resource: "pods", name: "p", uid: "u" };
const claim = (status: object, metadata: object = {}) => ({
  metadata: { name: "c", namespace: "n", ...metadata },
  spec,
  status,
});
const refuse = (status: object, old: object = {}, metadata: object = {}): string[] =>
  claims.refuseUpdate(claim(status, metadata), claim(old, metadata), "status");

test("users need an allocation, which does not change", () => {
  assert.deepEqual(refuse({ allocation, reservedFor: [user] }), []);
  assert.deepEqual(refuse({ reservedFor: [user] }), [
    "status.reservedFor: Forbidden: may not be specified when `allocated` is not set",
  ]);
  assert.deepEqual(refuse({ allocation, reservedFor: [user, user] }), [
    'status.reservedFor[1].uid: Duplicate value: "u"',
  ]);
  assert.match(
    refuse({ allocation: { devices: {} } }, { allocation })[0]!,
    /^status\.allocation: .*: field is immutable$/,
  );
});

test("a claim that is being deleted gets no more users", () => {
  const deleted = { deletionTimestamp: "2024-01-02T03:04:05Z" };
  assert.deepEqual(refuse({ allocation, reservedFor: [user] }, { allocation, reservedFor: [user] }, deleted), []);
  const [finding] = refuse({ allocation, reservedFor: [user] }, { allocation }, deleted);
  assert.match(finding!, /^status\.reservedFor: Forbidden: new entries may not be added/);
});

test("an allocation names requests of the claim", () => {
  assert.deepEqual(refuse({ allocation: { devices: { results: [{ request: "b", ...device }] } } }), [
    'status.allocation.devices.results[0].request: Invalid value: "b": must be the name of a request in the claim',
  ]);
  const config = { source: "Other", opaque: { driver: "gpu.example.com", parameters: { a: 1 } } };
  assert.deepEqual(refuse({ allocation: { devices: { config: [config] } } }), [
    'status.allocation.devices.config[0].source: Unsupported value: "Other": supported values: "FromClaim", "FromClass"',
  ]);
});

test("the status of devices is that of allocated ones", () => {
  assert.deepEqual(refuse({ allocation, devices: [{ ...device, networkData: { ips: ["10.0.0.1/24"] } }] }), []);
  assert.deepEqual(refuse({ allocation, devices: [device, device] }), [
    "status.devices[1].deviceID: Duplicate value: gpu.example.com/p/d",
  ]);
  assert.deepEqual(refuse({ allocation, devices: [{ ...device, device: "e" }] }), [
    "status.devices[0]: Invalid value: gpu.example.com/p/e: must be an allocated device in the claim",
  ]);
  assert.deepEqual(
    refuse({ allocation, devices: [{ ...device, networkData: { ips: ["10.0.0.1/24", "10.0.0.1/24"] } }] }),
    ['status.devices[0].networkData.ips[1]: Duplicate value: "10.0.0.1/24"'],
  );
});

test("the status of a device goes when the device is released", () => {
  const old = claims.decode(claim({ allocation, devices: [device] }));
  const released = claims.update(claim({ devices: [device] }), old, "status");
  assert.equal((released["status"] as { devices?: unknown }).devices, undefined);
});
