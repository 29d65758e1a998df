/** Counts of quotas by the number of objects alone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ResourceQuota } from "#api/core/v1.ts";
import { RestClient } from "#client/rest-client.ts";
import type { Transport } from "#client/transport.ts";
import { parseFieldSelector } from "#meta/selector.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { FakeCluster } from "./fake-cluster.ts";
import { type QuotaCount, resourceQuotaController } from "./resource-quota.ts";

const quotas = "/api/v1/resourcequotas";
const roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/n/roles";
const quota: ResourceQuota = {
  metadata: { namespace: "n", name: "q", uid: "u" },
  spec: { hard: { "count/roles.rbac.authorization.k8s.io": "9" } },
  status: {},
};

/** Returns the number that a count of roles adds while some are being written. */
async function countUsage(present: readonly string[], beingWritten: readonly string[]) {
  const api = new FakeCluster(new FakeClock());
  const counts: { count: number; existing: readonly string[] }[] = [];
  const answerOf = (path: string, query: string): object => {
    if (path !== roles) return { metadata: { resourceVersion: "7" }, items: path === quotas ? [quota] : [] };
    const parameters = new URLSearchParams(query);
    const selector = parseFieldSelector(parameters.get("fieldSelector") ?? "", { fields: [] });
    const items = present.filter((name) => selector.matches(name, "n")).map((name) => ({ metadata: { name } }));
    const remainingItemCount = items.length - 1;
    const more = parameters.has("limit") && remainingItemCount > 0 ? { continue: "more", remainingItemCount } : {};
    return { metadata: { resourceVersion: "7", ...more }, items: parameters.has("limit") ? items.slice(0, 1) : items };
  };
  const transport: Transport = {
    request({ path: whole }) {
      const [path = "", query = ""] = whole.split("?");
      return Promise.resolve({ code: 200, body: Buffer.from(JSON.stringify(answerOf(path, query))) });
    },
    stream: () => new Promise(() => undefined),
  };
  const part: QuotaCount["parts"][number] = {
    group: "rbac.authorization.k8s.io",
    resource: "roles",
    beingWritten,
    add: () => assert.fail("objects need not be read"),
    addCounted: (count, existing) => counts.push({ count, existing }),
    done: () => undefined,
  };
  const client = new RestClient(transport);
  void resourceQuotaController({
    periodMs: 10_000,
    measure: () => Promise.resolve({ quota, revision: 7, parts: [part], statusOf: () => undefined }),
    current: () => quota,
    alone: (_namespace, work) => work(),
    onOvercharged: () => undefined,
    resourceOf: () => undefined,
    isConstant: () => true,
    useOf: () => "",
    locationOf: () => ({ path: "/apis/rbac.authorization.k8s.io/v1", isLocal: true }),
    failed: (error) => assert.fail(String(error)),
    onServed: () => undefined,
  })({ ...api.environment, client, reader: client });
  await api.settled();
  api.stop();
  return counts.at(-1);
}

test("objects are counted by their number, with those of them that are being written", async () => {
  assert.deepEqual(await countUsage(["a", "b", "c"], ["b", "new", ""]), { count: 3, existing: ["b"] });
  assert.deepEqual(await countUsage([], ["new"]), { count: 0, existing: [] });
});

test("names may have the characters that mean something in selectors", async () => {
  const names = ["a,b", "x=y", String.raw`back\slash`];
  assert.deepEqual(await countUsage(names, [...names, "a,c"]), { count: 3, existing: names });
});
