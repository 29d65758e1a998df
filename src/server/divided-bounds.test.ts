/** The share that one of several processes has of the bounds of the machine. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { resolveOptions } from "./options.ts";
import { dividedBounds } from "./divided-bounds.ts";

const given = resolveOptions({
  maxRequestsInflight: 400,
  maxMutatingRequestsInflight: 0,
  connectionsMax: 100,
  connectionsPerAddressMax: 10,
});

test("each process has its share of seats and connections, rounded up, and no bound stays none", () => {
  const { maxRequestsInflight, maxMutatingRequestsInflight, ...own } = dividedBounds(given, 3);
  assert.deepEqual([maxRequestsInflight, maxMutatingRequestsInflight], [134, 0]);
  assert.deepEqual([own.connectionsMax, own.connectionsPerAddressMax, own.connectionsPerUserMax], [34, 4, 17]);
  assert.equal(own.connectionsPerPlaneMax, 17);
  assert.equal(own.auditWebhookBatchThrottleQps, 10 / 3);
});

test("a process alone has all", () => {
  assert.equal(dividedBounds(given, 1), given);
});
