/** The quality-of-service classes of pods. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodSpec, ResourceRequirements } from "#api/core/v1.ts";
import { qosClass } from "./pod-qos.ts";

const both = { cpu: "1", memory: "1Gi" };
const spec = (own: ResourceRequirements, resources?: ResourceRequirements): PodSpec => ({
  containers: [{ name: "a", image: "x", resources: own }],
  ...(resources === undefined ? {} : { resources }),
});

test("requests and limits of containers make the class", () => {
  assert.equal(qosClass(spec({})), "BestEffort");
  assert.equal(qosClass(spec({ requests: { cpu: "1" } })), "Burstable");
  assert.equal(qosClass(spec({ limits: both })), "Guaranteed");
});

test("resources of the pod count instead of those of its containers", () => {
  assert.equal(qosClass(spec({}, { requests: both, limits: both })), "Guaranteed");
  assert.equal(qosClass(spec({ limits: both }, { limits: { cpu: "2" } })), "Burstable");
  assert.equal(qosClass(spec({ limits: both }, { limits: { cpu: "0" }, requests: { cpu: "0" } })), "BestEffort");
  assert.equal(qosClass(spec({ limits: both }, {})), "Guaranteed");
});
