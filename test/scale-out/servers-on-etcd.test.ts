/** Servers that share an etcd: what one writes the others answer, and what they do while etcd does not. Needs Go. */
import assert from "node:assert/strict";
import { after, before, describe, type TestContext, test } from "node:test";
import type { ServerSettings } from "#server/options.ts";
import { Api, type Domain, domains, eventually, openServer } from "../harness.ts";
import { EtcdCluster, missing } from "./etcd-for-tests.ts";
import { sharedCredentials } from "./shared-credentials.ts";

const reason = missing();

describe("servers on etcd", { skip: reason ?? false }, () => {
  let cluster: EtcdCluster;
  before(async () => {
    cluster = await EtcdCluster.start();
  });
  after(() => cluster.stop());

  let prefixes = 0;
  const openServers = async (
    t: TestContext,
    domain: Domain,
    count: number,
    more: ServerSettings = {},
  ): Promise<Api[]> => {
    const settings = {
      etcdServers: cluster.endpoints,
      etcdPrefix: `/servers-${prefixes++}`,
      ...(await sharedCredentials()),
      ...more,
    };
    const apis: Api[] = [];
    for (let at = 0; at < count; at++) {
      const server = await openServer(domain, settings);
      const api = new Api(server);
      t.after(async () => {
        api.close();
        await server.close();
      });
      apis.push(api);
    }
    return apis;
  };

  for (const domain of domains) {
    test(`${domain}: what one server acknowledges, the other answers at once`, async (t) => {
      const [a, b] = (await openServers(t, domain, 2)) as [Api, Api];
      const { configMaps } = await a.createNamespace();
      const watch = await b.watch(configMaps);
      for (let at = 0; at < 30; at++) {
        const created = (await a.post(configMaps, { metadata: { name: `c${at}` } })).expect(201);
        const version = created.string("metadata.resourceVersion");
        (await b.get(`${configMaps}/c${at}`)).expect(200, { "metadata.resourceVersion": version });
        const changed = (await b.patch(`${configMaps}/c${at}`, { data: { at: "b" } })).expect(200);
        (await a.get(configMaps)).expect(200, {
          "metadata.resourceVersion": (text: unknown) =>
            Number(text) >= Number(changed.string("metadata.resourceVersion")),
          "items.length": at + 1,
        });
        // A version that is no longer the present one is refused by both.
        (await a.put(`${configMaps}/c${at}`, { metadata: { name: `c${at}`, resourceVersion: version } })).expectFailure(
          409,
          "Conflict",
        );
      }
      (await b.delete(configMaps)).expect(200);
      (await a.get(configMaps)).expect(200, { "items.length": 0 });
      const types: string[] = [];
      while (types.length < 90) types.push((await watch.next()).type);
      for (const type of ["ADDED", "MODIFIED", "DELETED"])
        assert.equal(types.filter((other) => other === type).length, 30);
    });

    test(`${domain}: a definition that one server has accepted is in force on the other, which it knows`, async (t) => {
      const [a, b] = (await openServers(t, domain, 2)) as [Api, Api];
      const names = { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" };
      const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
      const version = { name: "v1", served: true, storage: true, schema };
      const spec = { group: "example.com", scope: "Cluster", names, versions: [version] };
      (
        await a.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
          metadata: { name: "things.example.com" },
          spec,
        })
      ).expect(201);
      for (const api of [a, b]) assert.match((await api.get("/metrics")).text, /^binnacle_peers 1$/m);
      assert.match((await a.get("/metrics")).text, /^binnacle_peer_waits_total\{result="in_force"\} [1-9]/m);
      (
        await b.post("/apis/example.com/v1/things", {
          apiVersion: "example.com/v1",
          kind: "Thing",
          metadata: { name: "t" },
        })
      ).expect(201);
      await eventually(async () => (await a.get("/apis/example.com/v1/things/t")).expect(200));
    });
  }

  test("metrics of etcd have kube-apiserver's names, labels and buckets", async (t) => {
    const more = { leaseReuseDurationSeconds: 1, etcdDbMetricPollIntervalMs: 100 };
    const [api] = (await openServers(t, "k8s.io", 1, more)) as [Api];
    const { ns, secrets, events } = await api.createNamespace();
    const read = async (): Promise<string> => (await api.get("/metrics")).text;
    const one = `${secrets}/a`;
    (await api.post(secrets, { metadata: { name: "a" } })).expect(201);
    for (const at of [1, 2]) (await api.patch(one, { stringData: { at: String(at) } })).expect(200);
    (await api.delete(one)).expect(200);
    const text = await read();
    const counts = { create: 1, update: 2, delete: 1 };
    for (const [operation, count] of Object.entries(counts)) {
      const labels = `operation="${operation}",type="secrets"`;
      assert.match(text, new RegExp(`^etcd_requests_total\\{${labels}\\} ${count}$`, "m"));
      assert.match(text, new RegExp(`^etcd_request_duration_seconds_count\\{${labels}\\} ${count}$`, "m"));
    }
    assert.match(
      text,
      /^etcd_requests_total\{operation="create",type="clusterroles\.rbac\.authorization\.k8s\.io"\} \d+$/m,
    );
    assert.match(text, /^etcd_requests_total\{operation="list",type="\*"\} 1$/m);
    assert.match(text, /^etcd_bookmark_counts\{resource="\*"\} \d+$/m);
    assert.deepEqual(
      bucketsOf(text, 'etcd_request_duration_seconds_bucket{operation="create",type="secrets",'),
      "0.005 0.025 0.05 0.1 0.2 0.4 0.6 0.8 1 1.25 1.5 2 3 4 5 6 8 10 15 20 30 45 60 +Inf".split(" "),
    );
    assert.deepEqual(
      bucketsOf(text, "etcd_lease_object_counts_bucket{"),
      "10 50 100 500 1000 2500 5000 +Inf".split(" "),
    );
    for (const [name, type, stability] of [
      ["etcd_request_duration_seconds", "histogram", "ALPHA"],
      ["etcd_requests_total", "counter", "ALPHA"],
      ["etcd_lease_object_counts", "histogram", "ALPHA"],
      ["etcd_bookmark_counts", "gauge", "ALPHA"],
      ["apiserver_storage_size_bytes", "gauge", "STABLE"],
    ]) {
      assert.match(text, new RegExp(`^# HELP ${name} \\[${stability}\\] .*\n# TYPE ${name} ${type}$`, "m"));
    }
    assert.match(text, /^apiserver_storage_size_bytes\{storage_cluster_id="etcd-0"\} [1-9]\d+$/m);
    // A lease of Events is counted when another follows it.
    await eventually(async () => {
      (await api.post(events, eventIn(ns))).expect(201);
      assert.match(await read(), /^etcd_lease_object_counts_count [1-9]/m);
    });
  });

  test("a second server of another API domain is refused", async (t) => {
    const settings = { etcdServers: cluster.endpoints, etcdPrefix: `/servers-${prefixes++}` };
    const server = await openServer("k8s.io", settings);
    t.after(() => server.close());
    await assert.rejects(openServer("platform.io", settings), /the store belongs to API domain k8s.io/);
  });

  test("an etcd that is not there is named with its address", async () => {
    await assert.rejects(
      openServer("k8s.io", { etcdServers: ["http://127.0.0.1:1"] }),
      /etcd at http:\/\/127\.0\.0\.1:1 cannot be used/,
    );
  });

  test("while etcd stands still, reads from memory and watches go on, and the server is not ready", async (t) => {
    const own = await EtcdCluster.start();
    t.after(() => own.stop());
    const server = await openServer("k8s.io", { etcdServers: own.endpoints });
    const api = new Api(server);
    t.after(async () => {
      api.close();
      await server.close();
    });
    const { configMaps } = await api.createNamespace();
    (await api.post(configMaps, { metadata: { name: "a" } })).expect(201);
    const watch = await api.watch(configMaps);
    assert.equal((await watch.next()).type, "ADDED");
    await own.members[0]!.signal("SIGSTOP");
    // A member that is told to stop may answer some more calls.
    await eventually(async () => (await api.get(`${configMaps}/a`)).expect([503, 504]));
    const [fresh, written] = await Promise.all([
      api.get(`${configMaps}/a`),
      api.post(configMaps, { metadata: { name: "b" } }),
    ]);
    fresh.expect([503, 504], { kind: "Status", message: /etcd/ });
    written.expect([503, 504], { kind: "Status", message: /etcd/ });
    (await api.get(`${configMaps}/a?resourceVersion=0`)).expect(200);
    await eventually(async () => assert.match((await api.get("/readyz?verbose")).text, /\[-\]etcd failed/));
    await own.members[0]!.signal("SIGCONT");
    await eventually(async () => (await api.get("/readyz")).expect(200));
    await eventually(async () => (await api.post(configMaps, { metadata: { name: "c" } })).expect(201));
    while ((await watch.next()).name !== "c");
    const { text } = await api.get("/metrics");
    assert.match(text, /^etcd_request_errors_total\{operation="create",type="configmaps"\} [1-9]/m);
  });
});

/** Returns the upper bounds of a histogram, whose lines begin so. */
const bucketsOf = (text: string, start: string): string[] =>
  text
    .split("\n")
    .filter((line) => line.startsWith(start))
    .map((line) => /le="([^"]+)"/.exec(line)![1]!);

const eventIn = (namespace: string): object => ({
  metadata: { generateName: "e-" },
  involvedObject: { kind: "Pod", namespace, name: "p" },
});
