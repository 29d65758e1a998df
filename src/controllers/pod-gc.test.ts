/** Tests which pods are deleted because no other controller deletes them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { timestampOf } from "#meta/time.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { FakeCluster } from "./fake-cluster.ts";
import { podGcController } from "./pod-gc.ts";
import { SharedInformers } from "./shared-informers.ts";

const pods = "/api/v1/namespaces/shop/pods";
const names = ["a", "b", "c", "d"];

async function startController(terminatedMax = 0) {
  const clock = new FakeClock();
  const api = new FakeCluster(clock);
  const pod = (name: string, spec: object, more: object = {}, status: object = { phase: "Running" }): void =>
    void api.put(`${pods}/${name}`, { metadata: more, spec: { containers: [], ...spec }, status });
  const start = async (): Promise<void> => {
    void podGcController({ informers: new SharedInformers(api.environment), terminatedMax })(api.environment);
    await api.settled();
  };
  const remainingPods = (): string[] => names.filter((name) => api.get(`${pods}/${name}`) !== undefined);
  return { api, clock, pod, start, left: remainingPods };
}

test("pods of a node that was never there go after a while, unless the node comes", async () => {
  const { api, pod, start, left } = await startController();
  api.put("/api/v1/nodes/here", { spec: {}, status: {} });
  pod("a", { nodeName: "here" });
  pod("b", { nodeName: "missing" });
  pod("c", { nodeName: "late" });
  pod("d", {});
  await start();
  await api.advance(39_000);
  api.put("/api/v1/nodes/late", { spec: {}, status: {} });
  await api.advance(1000);
  assert.deepEqual(left(), ["a", "c", "d"]);
  api.stop();
});

test("a node that the watch has not told of yet is asked for before its pods go", async () => {
  const { api, pod, start, left } = await startController();
  pod("a", { nodeName: "unseen" });
  await start();
  api.fails = (request) => (request === "GET /api/v1/nodes/unseen" ? 500 : 0);
  await api.advance(40_000);
  assert.deepEqual(left(), ["a"]);
  api.stop();
});

test("a pod that is being deleted and never had a node goes; one at a node waits for its kubelet", async () => {
  const { api, pod, start, left } = await startController();
  api.put("/api/v1/nodes/here", { spec: {}, status: {} });
  const deleted = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  await start();
  pod("a", {}, deleted);
  pod("b", { nodeName: "here" }, deleted);
  await api.settled();
  assert.deepEqual(left(), ["b"]);
  const spec = { taints: [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" }] };
  api.put("/api/v1/nodes/here", { spec, status: { conditions: [{ type: "Ready", status: "Unknown" }] } });
  await api.settled();
  assert.deepEqual(left(), []);
  api.stop();
});

test("beyond the threshold, evicted pods go first, then the oldest of those that have ended", async () => {
  const { api, clock, pod, start, left } = await startController(1);
  const createdAgo = (agoMs: number): object => ({ creationTimestamp: timestampOf(clock.now() - agoMs) });
  pod("a", {}, createdAgo(1000), { phase: "Succeeded" });
  pod("b", {}, createdAgo(3000), { phase: "Failed" });
  pod("c", {}, createdAgo(2000), { phase: "Failed", reason: "Evicted" });
  pod("d", {}, createdAgo(9000));
  await start();
  await api.advance(1000);
  assert.deepEqual(left(), ["a", "d"]);
  api.stop();
});

test("a pod of a missing node that cannot be deleted does not keep others, and goes when it can", async () => {
  const { api, pod, start, left } = await startController();
  pod("a", { nodeName: "missing" });
  pod("b", { nodeName: "missing" });
  await start();
  api.fails = (request) => (request === `PATCH ${pods}/a/status` ? 500 : 0);
  await api.advance(40_000);
  assert.deepEqual(left(), ["a"]);
  api.fails = () => 0;
  await api.advance(60_000);
  assert.deepEqual(left(), []);
  api.stop();
});

test("a pod that has ended and cannot be deleted does not keep others", async () => {
  const { api, clock, pod, start, left } = await startController(1);
  const createdAgo = (agoMs: number): object => ({ creationTimestamp: timestampOf(clock.now() - agoMs) });
  pod("a", {}, createdAgo(3000), { phase: "Failed" });
  pod("b", {}, createdAgo(2000), { phase: "Failed" });
  pod("c", {}, createdAgo(1000), { phase: "Failed" });
  await start();
  api.fails = (request) => (request === `DELETE ${pods}/a` ? 500 : 0);
  await api.advance(1000);
  assert.deepEqual(left(), ["a", "c"]);
  api.stop();
});
