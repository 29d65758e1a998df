/** When a namespace gets the root certificates, and what keeps them right. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { FakeApi } from "./fake-api.ts";
import type { Needed } from "./in-every-namespace.ts";
import { rootCaController } from "./root-ca.ts";

const active = { status: { phase: "Active" } };
const mapOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps/kube-root-ca.crt`;

async function openApi() {
  const api = new FakeApi(new FakeClock());
  let need: Needed = () => undefined;
  api.put("/api/v1/namespaces/old", active);
  const controller = rootCaController("PEM", (needed) => {
    need = needed;
  });
  void controller(api.environment);
  await api.settled();
  const has = (namespace: string): boolean => api.get(mapOf(namespace)) !== undefined;
  return { api, has, need: (namespace: string) => need(namespace) };
}

test("a new namespace has them after a second, where others keep config maps when somebody needs them", async () => {
  const { api, has, need } = await openApi();
  assert.ok(has("old"));
  assert.equal(need("old"), undefined, "nobody waits for what is there");
  for (const name of ["empty", "shop"]) api.put(`/api/v1/namespaces/${name}`, active);
  api.put("/api/v1/namespaces/shop/configmaps/mine", {});
  await api.advance(900);
  assert.ok(!has("empty"));
  await api.advance(200);
  assert.ok(has("empty"));
  await api.advance(60_000);
  assert.ok(!has("shop"));
  const made = need("shop");
  await api.settled();
  await made;
  assert.ok(has("shop"));
  api.stop();
});

test("who needs them waits for a second at most, and a namespace may be called for before it was heard of", async () => {
  const { api, has, need } = await openApi();
  assert.equal(need("early"), undefined);
  api.put("/api/v1/namespaces/early", active);
  await api.settled();
  assert.ok(has("early"));
  api.put("/api/v1/namespaces/shop", active);
  await api.settled();
  api.fails = (request) => (request.startsWith("POST") ? 403 : 0);
  const refused = need("shop");
  await api.advance(1000);
  await refused;
  assert.ok(!has("shop"));
  api.stop();
});

test("a namespace where a pod needs them has them at once, whatever else is asked for makes no request", async () => {
  const { api, has, need } = await openApi();
  api.put("/api/v1/namespaces/shop", active);
  api.put("/api/v1/namespaces/ending", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } });
  await api.settled();
  const before = api.requests.length;
  for (const namespace of ["shop", "old", "ending", "nowhere"]) void need(namespace);
  await api.settled();
  assert.ok(has("shop"));
  for (let pod = 0; pod < 10; pod++) void need("shop");
  await api.advance(60_000);
  assert.deepEqual(api.requests.slice(before), ["POST /api/v1/namespaces/shop/configmaps"]);
  api.stop();
});

test("deleted ones come back after a second, or when somebody needs them", async () => {
  const { api, has, need } = await openApi();
  api.remove(mapOf("old"));
  await api.advance(900);
  assert.ok(!has("old"));
  await api.advance(200);
  assert.ok(has("old"));
  api.remove(mapOf("old"));
  await api.settled();
  void need("old");
  await api.settled();
  assert.ok(has("old"));
  api.stop();
});

test("what somebody changes is mended in one write, on the version that was seen", async () => {
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
