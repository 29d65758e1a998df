/** The calls of the client library against a server of each domain. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { ApiError } from "#client/api-error.ts";
import { type Cluster, connect, type KindClient } from "#client/cluster.ts";
import type { Kind } from "#client/kind.ts";
import {
  ClusterRole,
  ConfigMap,
  Deployment,
  Lease,
  SelfSubjectAccessReview,
  ServiceAccount,
  TokenRequest,
  TokenReview,
} from "#client/kinds.ts";
import { type Api, suite } from "../harness.ts";
import { Boat, defineBoats } from "./boats.ts";
import { clusterOf, makeNamespace, recorded, transportOf } from "./open-cluster.ts";

const inBothDomains = suite();

interface Harbour {
  readonly cluster: Cluster;
  readonly namespace: string;
  readonly maps: KindClient<ConfigMap>;
}

/** Opens a cluster, and creates a namespace in it. */
async function openHarbour(api: Api, t: TestContext): Promise<Harbour> {
  const cluster = await clusterOf(api, t);
  const namespace = await makeNamespace(cluster, "harbour");
  return { cluster, namespace, maps: cluster.kind(ConfigMap).in(namespace) };
}

const failsWith = (promise: Promise<unknown>, reason: string, message: RegExp): Promise<void> =>
  assert.rejects(promise, (error: Error) => {
    assert.ok(error instanceof ApiError, String(error));
    assert.equal(error.reason, reason);
    assert.match(error.message, message);
    assert.doesNotMatch(error.message, /\n/);
    return true;
  });

inBothDomains("an object that does not exist is undefined for find, and an error for get", async (api, t) => {
  const { maps, namespace } = await openHarbour(api, t);
  assert.equal(await maps.find("chart"), undefined);
  const message = new RegExp(`^GET configmaps "chart" in "${namespace}": configmaps "chart" not found$`);
  await failsWith(maps.get("chart"), "NotFound", message);
  const { metadata } = await maps.create({ metadata: { name: "chart" }, data: { depth: "4" } });
  assert.equal((await maps.get("chart")).metadata.uid, metadata.uid);
  assert.equal((await maps.find("chart"))?.data?.["depth"], "4");
});

inBothDomains("a kind that is not served is an error also for find and delete", async (api, t) => {
  const cluster = await clusterOf(api, t);
  const Ghost: Kind<Boat> = { ...Boat, group: "ghosts.example.com", resource: "ghosts", kind: "Ghost" };
  const ghosts = cluster.kind(Ghost);
  await failsWith(
    ghosts.find("a"),
    "NotFound",
    /^GET ghosts "a" in "default": the server could not find the requested/,
  );
  await failsWith(ghosts.delete("a"), "NotFound", /^DELETE ghosts "a" in "default": /);
  await failsWith(Array.fromAsync(ghosts.list()), "NotFound", /^GET ghosts: /);
});

inBothDomains(
  "a list yields all pages, with the kind of each object, and selects by labels and fields",
  async (api, t) => {
    const { cluster, maps, namespace } = await openHarbour(api, t);
    for (const name of ["a", "b", "c", "d", "e"]) {
      await maps.create({
        metadata: { name, labels: { pier: name < "c" ? "north" : "south", odd: "x,y".slice(0, 1) } },
      });
    }
    const names = async (options: Parameters<typeof maps.list>[0]): Promise<string> =>
      (await Array.fromAsync(maps.list(options)))
        .map(({ metadata }) => metadata.name)
        .filter((name) => name !== "kube-root-ca.crt") // servers make it in each namespace
        .join("");
    assert.equal(await names({ pageSize: 2 }), "abcde");
    assert.equal(await names({ labels: { pier: "south", odd: ["x", "y"] } }), "cde");
    assert.equal(await names({ labels: "pier=north" }), "ab");
    assert.equal(await names({ fields: { "metadata.name": "d" } }), "d");
    assert.equal(await names({ in: "default", labels: { pier: "south" } }), "");
    const everywhere = await Array.fromAsync(cluster.kind(ConfigMap).list({ labels: { pier: "north" } }));
    const [first] = everywhere.filter(({ metadata }) => metadata.namespace === namespace);
    assert.deepEqual([first?.apiVersion, first?.kind], ["v1", "ConfigMap"]);
    const [role] = await Array.fromAsync(cluster.kind(ClusterRole).list({ fields: { "metadata.name": "admin" } }));
    assert.deepEqual(role?.apiVersion, api.name("rbac.authorization.k8s.io/v1"));
  },
);

inBothDomains("an apply returns the object, or who owns which field", async (api, t) => {
  const { cluster, namespace } = await openHarbour(api, t);
  await defineBoats(cluster);
  const boats = cluster.kind(Boat).in(namespace);
  const applied = await boats.apply({ metadata: { name: "ketch" }, spec: { length: 9 } });
  assert.equal(applied.object?.spec.length, 9);
  assert.deepEqual(
    applied.object.metadata.managedFields?.map(({ manager }) => manager),
    ["harbour"],
  );
  const refused = await boats.apply({ metadata: { name: "ketch" }, spec: { length: 10 } }, { manager: "pilot" });
  assert.equal(refused.object, undefined);
  assert.deepEqual(
    refused.conflicts.map(({ field, manager }) => [field, manager]),
    [[".spec.length", "harbour"]],
  );
  const taken = await boats.apply(
    { metadata: { name: "ketch" }, spec: { length: 10 } },
    { manager: "pilot", force: true },
  );
  assert.equal(taken.object?.spec.length, 10);
  assert.equal(taken.conflicts, undefined);
  const status = await boats.status.apply({ metadata: { name: "ketch" }, status: { afloat: true } });
  assert.equal(status.object?.status?.afloat, true);
  const stale = { name: "ketch", resourceVersion: "1" };
  await failsWith(boats.apply({ metadata: stale, spec: {} }), "Conflict", /^PATCH boats "ketch" in /);
});

inBothDomains("an object is patched in each of the three forms", async (api, t) => {
  const { maps } = await openHarbour(api, t);
  await maps.create({ metadata: { name: "chart" }, data: { depth: "4", rock: "yes" } });
  assert.deepEqual((await maps.patch("chart", { merge: { data: { rock: null, buoy: "red" } } })).data, {
    depth: "4",
    buoy: "red",
  });
  const json = [{ op: "replace", path: "/data/depth", value: "5" }] as const;
  assert.equal((await maps.patch("chart", { json })).data?.["depth"], "5");
  const { data } = await maps.patch("chart", { strategic: { data: { $patch: "replace", only: "this" } } });
  assert.deepEqual(data, { only: "this" });
});

inBothDomains(
  "changes of several programs at once all happen, and an unchanged object is not written",
  async (api, t) => {
    const { maps } = await openHarbour(api, t);
    await maps.create({ metadata: { name: "log" }, data: { entries: "0" } });
    const add = (): Promise<ConfigMap> =>
      maps.change("log", (map) => {
        map.data = { ...map.data, entries: String(Number(map.data?.["entries"]) + 1) };
      });
    await Promise.all([add(), add(), add(), add()]);
    const after = await maps.get("log");
    assert.equal(after.data?.["entries"], "4");
    const same = await maps.change("log", () => Promise.resolve());
    assert.equal(same.metadata.resourceVersion, after.metadata.resourceVersion);
    await failsWith(
      maps.change("none", () => undefined),
      "NotFound",
      /^GET configmaps "none"/,
    );
  },
);

inBothDomains("a change keeps whole numbers that JavaScript cannot represent", async (api, t) => {
  const { cluster, namespace } = await openHarbour(api, t);
  await defineBoats(cluster);
  const boats = cluster.kind(Boat).in(namespace);
  const length = "9007199254740993";
  const path = `/apis/harbour.example.com/v1/namespaces/${namespace}/boats`;
  const text = `{"apiVersion":"harbour.example.com/v1","kind":"Boat","metadata":{"name":"ark"},"spec":{"length":${length}}}`;
  await cluster.call({ method: "POST", path, body: Buffer.from(text) });
  const isExact = async (): Promise<boolean> =>
    (await cluster.rest.bytes({ method: "GET", path: `${path}/ark` })).toString().includes(`"length":${length}`);
  assert.ok(await isExact());
  assert.equal((await boats.change("ark", (boat) => void (boat.spec.rig = "gaff"))).spec.rig, "gaff");
  assert.ok(await isExact());
  const same = await boats.change("ark", () => undefined);
  assert.equal(typeof same.spec.length, "number");
  await boats.change("ark", (boat) => void (boat.spec.length = 9));
  assert.equal((await boats.get("ark")).spec.length, 9);
});

inBothDomains("a replacement of an old version is refused", async (api, t) => {
  const { maps } = await openHarbour(api, t);
  const old = await maps.create({ metadata: { name: "chart" } });
  await maps.replace({ ...old, data: { depth: "4" } });
  await failsWith(maps.replace({ ...old, data: {} }), "Conflict", /^PUT configmaps "chart" in /);
});

inBothDomains("a dry run says what would be and changes nothing", async (api, t) => {
  const { maps } = await openHarbour(api, t);
  assert.ok((await maps.create({ metadata: { name: "chart" } }, { dryRun: true })).metadata.uid);
  assert.equal(await maps.find("chart"), undefined);
  await maps.create({ metadata: { name: "chart" } });
  assert.equal(await maps.delete("chart", { dryRun: true }), true);
  assert.ok(await maps.find("chart"));
});

inBothDomains("a delete says whether the object existed, and keeps its preconditions", async (api, t) => {
  const { maps } = await openHarbour(api, t);
  assert.equal(await maps.delete("chart"), false);
  const { metadata } = await maps.create({ metadata: { name: "chart" } });
  await failsWith(maps.delete("chart", { preconditions: { uid: "other" } }), "Conflict", /^DELETE configmaps "chart"/);
  assert.equal(await maps.delete("chart", { preconditions: { uid: metadata.uid }, propagation: "Foreground" }), true);
  for (const name of ["a", "b", "c"]) await maps.create({ metadata: { name, labels: { keep: String(name === "c") } } });
  await maps.deleteAll({ labels: { keep: "false" } });
  assert.deepEqual(await Array.fromAsync(maps.list({ labels: "keep" }), ({ metadata }) => metadata.name), ["c"]);
});

inBothDomains("status and scale are calls of their own", async (api, t) => {
  const { cluster, namespace } = await openHarbour(api, t);
  const deployments = cluster.kind(Deployment).in(namespace);
  const labels = { app: "crane" };
  await deployments.create({
    metadata: { name: "crane" },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "crane" }] } },
    },
  });
  assert.equal(await deployments.scale.get("crane"), 2);
  await deployments.scale.set("crane", 5);
  assert.equal((await deployments.get("crane")).spec.replicas, 5);
  const changed = await deployments.status.change("crane", (crane) => {
    crane.status.readyReplicas = 1;
    crane.status.replicas = 1;
  });
  assert.equal(changed.status.readyReplicas, 1);
  const patched = await deployments.status.patch("crane", { merge: { status: { replicas: 3 } } });
  assert.deepEqual([patched.status.replicas, patched.spec.replicas], [3, 5]);
});

inBothDomains("groups are found under the names of either domain, which is asked for once", async (api, t) => {
  const transport = recorded(transportOf(api, t));
  const cluster = await clusterOf(api, t, { transport });
  const namespace = await makeNamespace(cluster, "harbour");
  await cluster.kind(Deployment).find("none");
  assert.ok(!transport.requests.includes("GET /apis"), "no group of the domain was used");
  const leases = cluster.kind(Lease).in(namespace);
  const name = api.unique("lease");
  const [lease] = await Promise.all([
    leases.create({ metadata: { name }, spec: { holderIdentity: "pilot" } }),
    cluster.kind(ClusterRole).get("admin"),
  ]);
  assert.deepEqual([lease.apiVersion, lease.kind], [api.name("coordination.k8s.io/v1"), "Lease"]);
  assert.equal(
    (await leases.change(name, (object) => void (object.spec.holderIdentity = "crew"))).spec.holderIdentity,
    "crew",
  );
  assert.equal(await cluster.domain(), api.domain);
  assert.equal(transport.requests.filter((request) => request === "GET /apis").length, 1);
});

inBothDomains("token requests and reviews have the names of either domain", async (api, t) => {
  const { cluster, namespace } = await openHarbour(api, t);
  const accounts = cluster.kind(ServiceAccount).in(namespace);
  await accounts.create({ metadata: { name: "pilot" } });
  const { status } = await accounts
    .subresource("token", TokenRequest)
    .create("pilot", { spec: { expirationSeconds: 600 } });
  const review = await cluster.kind(TokenReview).create({ spec: { token: status.token } });
  assert.equal(review.status.user?.username, `system:serviceaccount:${namespace}:pilot`);
  const access = await cluster.kind(SelfSubjectAccessReview).create({
    spec: { resourceAttributes: { verb: "list", resource: "pods" } },
  });
  assert.equal(access.status.allowed, true);
});

inBothDomains("a name that would lead to another path is refused before anything is sent", async (api, t) => {
  const transport = recorded(transportOf(api, t));
  const maps = (await clusterOf(api, t, { transport })).kind(ConfigMap);
  for (const name of ["", ".", "..", "a/status"]) {
    await assert.rejects(maps.delete(name), TypeError);
    await assert.rejects(maps.get("a", { in: name }), TypeError);
  }
  assert.deepEqual(transport.requests, []);
});

inBothDomains("an aborted call rejects with the reason of its signal", async (api, t) => {
  const { maps } = await openHarbour(api, t);
  const reason = new Error("the tide is out");
  const signal = AbortSignal.abort(reason);
  const calls = [
    maps.get("a", { signal }),
    maps.create({ metadata: { name: "a" } }, { signal }),
    maps.apply({ metadata: { name: "a" } }, { signal }),
    maps.delete("a", { signal }),
    maps.until("a", () => true, { signal }),
    Array.fromAsync(maps.list({ signal })),
  ];
  for (const call of calls) await assert.rejects(call, reason);
});

inBothDomains("refusals carry their code, the path and the whole status", async (api, t) => {
  const cluster = await connect({ transport: transportOf(api, t, "bob") });
  await assert.rejects(cluster.kind(ConfigMap).create({ metadata: { name: "a" } }), (error: Error) => {
    assert.ok(error instanceof ApiError);
    assert.deepEqual([error.code, error.reason, error.method], [403, "Forbidden", "POST"]);
    assert.match(error.path, /^\/api\/v1\/namespaces\/default\/configmaps\?fieldManager=binnacle-client$/);
    assert.match(error.message, /^POST configmaps in "default": configmaps is forbidden: User "bob"/);
    assert.equal(error.status.details?.kind, "configmaps");
    return true;
  });
});

inBothDomains(
  "labels and names that would select or change something else are refused before anything is sent",
  async (api, t) => {
    const transport = recorded(transportOf(api, t));
    const maps = (await clusterOf(api, t, { transport })).kind(ConfigMap).in("default");
    const labels = [{ pier: "north,odd" }, { "pier!": "north" }, { pier: ["a) , odd notin (b"] }, { pier: "=north" }];
    for (const each of labels) await assert.rejects(maps.deleteAll({ labels: each }), /is no key or value of a label$/);
    for (const name of ["", ".", "..", "a/b"]) await assert.rejects(maps.delete(name), /is no name of an object$/);
    for (const part of ["..", "log/../..", "a/b"])
      await assert.rejects(maps.subresource(part).get("a"), /is no subresource of an object$/);
    for (const name of [undefined, 5, "\ud800"]) {
      await assert.rejects(maps.delete(name as string), /^TypeError: the name of an object must be text$/);
    }
    assert.deepEqual(transport.requests, []);
    for (const name of ["a?b", "a#b", "a;b"]) await failsWith(maps.get(name), "NotFound", /not found$/);
  },
);

void test("requests are not made as a user without a name", async () => {
  const settings = {
    server: new URL("https://127.0.0.1:1"),
    tls: { insecure: true },
    credentials: { current: () => ({}), rejected: () => false },
    compress: true,
    namespace: "default",
  };
  const as = { user: "", groups: ["system:masters"], extra: {} };
  await assert.rejects(connect({ settings, as }), /^TypeError: requests cannot be made as a user without a name$/);
});
