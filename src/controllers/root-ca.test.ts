/** The root certificates in namespaces, and their repair. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { FakeCluster } from "./fake-cluster.ts";
import { rootCaController } from "./root-ca.ts";

const active = { status: { phase: "Active" } };
const mapOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps/kube-root-ca.crt`;

async function openApi() {
  const api = new FakeCluster(new FakeClock());
  api.put("/api/v1/namespaces/old", active);
  void rootCaController("PEM")(api.environment);
  await api.settled();
  const has = (namespace: string): boolean => api.get(mapOf(namespace)) !== undefined;
  return { api, has };
}

test("every namespace that is not being deleted gets the config map of root certificates at once, whatever else it holds", async () => {
  const { api, has } = await openApi();
  assert.ok(has("old"));
  api.put("/api/v1/namespaces/shop", active);
  api.put("/api/v1/namespaces/shop/configmaps/mine", {});
  api.put("/api/v1/namespaces/ending", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } });
  await api.settled();
  assert.ok(has("shop"));
  assert.ok(!has("ending"));
  api.stop();
});

test("a deleted config map of root certificates is created again at once", async () => {
  const { api, has } = await openApi();
  api.remove(mapOf("old"));
  await api.settled();
  assert.ok(has("old"));
  api.stop();
});

test("a change by another client is reverted in one write, at the version that was seen", async () => {
  const { api } = await openApi();
  const before = api.requests.length;
  api.put(mapOf("old"), { data: { "ca.crt": "other" }, metadata: { annotations: { mine: "x" } } });
  await api.settled();
  const map = api.get(mapOf("old"));
  assert.deepEqual(map?.["data"], { "ca.crt": "PEM" });
  assert.equal(map?.metadata.annotations?.["mine"], "x");
  assert.deepEqual(api.requests.slice(before), [`PUT ${mapOf("old")}`]);
  api.stop();
});

test("a write that is refused for long is tried less and less often", async () => {
  const { api } = await openApi();
  api.fails = (request) => (request.startsWith("POST") ? 403 : 0);
  const before = api.requests.length;
  api.remove(mapOf("old"));
  await api.settled();
  for (let second = 0; second < 300; second++) await api.advance(1000);
  const tries = api.requests.slice(before).filter((request) => request.startsWith("POST")).length;
  assert.ok(tries >= 10 && tries <= 20, `${tries}`);
  api.stop();
});
