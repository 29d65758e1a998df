/** The loss of etcd's majority, and the restart of a server under clients that go on. Needs Go. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { systemClock } from "#std/clock.ts";
import { seededRandom } from "#std/random.ts";
import { openEtcd } from "#storage/etcd/members.ts";
import { Api, eventually, openServer } from "../harness.ts";
import { EtcdCluster, missing } from "./etcd-for-tests.ts";
import { sharedCredentials } from "./shared-credentials.ts";

const reason = missing();

async function openApi(t: TestContext, cluster: EtcdCluster): Promise<Api> {
  const server = await openServer("k8s.io", { etcdServers: cluster.endpoints, ...(await sharedCredentials()) });
  const api = new Api(server);
  t.after(async () => {
    api.close();
    await server.close();
  });
  return api;
}

/** Writes keys that no server shows, so that the revision moves on. */
async function passRevisions(cluster: EtcdCluster, count: number): Promise<void> {
  const client = openEtcd({
    endpoints: cluster.endpoints,
    tls: {},
    server: "passing",
    clock: systemClock,
    random: seededRandom(1),
  });
  const value = Buffer.from("x");
  for (let at = 0; at < count; at += 100) {
    const puts = Array.from({ length: 100 }, (_, of) =>
      client.transact(
        { compare: [], then: [{ kind: "put", key: `/elsewhere/${of}`, value }], otherwise: [] },
        { timeoutMs: 60_000 },
      ),
    );
    await Promise.all(puts);
  }
  client.close();
}

describe("failures of etcd and restarts of servers", { skip: reason ?? false }, () => {
  test("without a majority memory is read and watched, the present is not, and all goes on when it is back", async (t) => {
    const cluster = await EtcdCluster.start({ members: 3 });
    t.after(() => cluster.stop());
    const apis = [await openApi(t, cluster), await openApi(t, cluster)];
    const { configMaps } = await apis[0]!.createNamespace();
    (await apis[0]!.post(configMaps, { metadata: { name: "before" } })).expect(201);
    (await apis[1]!.get(`${configMaps}/before`)).expect(200);
    const watches = await Promise.all(apis.map((api) => api.watch(configMaps)));
    for (const watch of watches) assert.equal((await watch.next()).name, "before");
    const [, ...lost] = cluster.members;
    for (const member of lost) await member.signal("SIGKILL");
    for (const api of apis) {
      await eventually(async () => {
        (await api.get(`${configMaps}/before`)).expect([503, 504], { kind: "Status", message: /etcd/ });
      });
      (await api.post(configMaps, { metadata: { name: "never" } })).expect([503, 504], { message: /etcd/ });
      (await api.get(`${configMaps}/before?resourceVersion=0`)).expect(200);
      (await api.get(`${configMaps}?resourceVersion=0`)).expect(200, { "items.length": 1 });
      await eventually(async () => assert.match((await api.get("/readyz?verbose")).text, /\[-\]etcd\S* failed/));
    }
    for (const member of lost) member.start();
    for (const api of apis) {
      await eventually(async () => (await api.get("/readyz")).expect(200));
      await eventually(async () => (await api.get(`${configMaps}/before`)).expect(200));
    }
    (await apis[1]!.post(configMaps, { metadata: { name: "after" } })).expect(201);
    for (const watch of watches) {
      for (let event = await watch.next(); event.name !== "after"; event = await watch.next()) {
        // A write without an answer may have been done.
        assert.equal(event.name, "never");
      }
    }
  });

  test("a server that has just started goes on with watches from before, and its clients cost no lists", async (t) => {
    const cluster = await EtcdCluster.start();
    t.after(() => cluster.stop());
    const first = await openApi(t, cluster);
    const { configMaps } = await first.createNamespace();
    const version = (await first.get(configMaps)).string("metadata.resourceVersion");
    for (let at = 0; at < 5; at++) (await first.post(configMaps, { metadata: { name: `c${at}` } })).expect(201);
    (await first.delete(`${configMaps}/c4`)).expect(200);

    const second = await openApi(t, cluster);
    const watches = await Promise.all(
      Array.from({ length: 50 }, () => second.watch(`${configMaps}?resourceVersion=${version}`)),
    );
    for (const watch of watches) {
      const seen: string[] = [];
      while (seen.length < 6) {
        const { type, name } = await watch.next();
        seen.push(`${type} ${name}`);
      }
      assert.deepEqual(seen, ["ADDED c0", "ADDED c1", "ADDED c2", "ADDED c3", "ADDED c4", "DELETED c4"]);
    }
    const lists = await Promise.all(Array.from({ length: 50 }, () => second.get(configMaps)));
    for (const list of lists) list.expect(200, { "items.length": 4 });
    // The one list is the load at the start.
    assert.match((await second.get("/metrics")).text, /^etcd_requests_total\{operation="list",type="\*"\} 1$/m);

    await passRevisions(cluster, 10_000);
    (await second.get(`${configMaps}/c0`)).expect(200); // it has heard of all revisions
    const third = await openApi(t, cluster);
    const old = await third.watch(`${configMaps}?resourceVersion=${version}`);
    (await old.next()).has({ type: "ERROR", "object.code": 410 });
  });
});
