/** The garbage collector in a running server: dependents of deleted owners. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { AggregatedServer, base, group, register } from "../aggregation/aggregated-server.ts";
import { crds, custom, definition } from "../crds.ts";
import { Api, domains, eventually, gated, openServer, suite, temporaryFolder, withOwnServer } from "../harness.ts";
import { configMap, namespace, namespaces, type ObjectBody, pod, secret } from "../objects.ts";
import { absent, type Fields, present } from "../view.ts";

const inBothDomains = suite({ ...gated, controllers: ["*", "-root-ca-certificate-publisher-controller"] });

interface Owner {
  readonly name: string;
  readonly uid: string;
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly blocks?: boolean;
}

const ownedBy = (...owners: readonly Owner[]) => ({
  ownerReferences: owners.map(({ name, uid, kind = "ConfigMap", apiVersion = "v1", blocks }) => ({
    apiVersion,
    kind,
    name,
    uid,
    ...(blocks === undefined ? {} : { blockOwnerDeletion: blocks }),
  })),
});

const onlyOwner = (name: string): Fields => ({
  "metadata.ownerReferences.length": 1,
  "metadata.ownerReferences.0.name": name,
});

/** Creates an object. Returns its name and uid. */
async function make(api: Api, path: string, body: ObjectBody): Promise<Owner> {
  const answer = (await api.post(path, body)).expect(201);
  return { name: answer.string("metadata.name"), uid: answer.string("metadata.uid") };
}

const waitUntilGone = (api: Api, path: string): Promise<unknown> =>
  eventually(async () => (await api.get(path)).expect(404));

inBothDomains("dependents go with their owner, and their own with them [DELOPT-06]", async (api) => {
  const { ns, configMaps, secrets } = await api.createNamespace();
  const top = await make(api, configMaps, configMap("top"));
  const middle = await make(api, configMaps, configMap("middle", {}, ownedBy(top)));
  await make(api, secrets, secret("bottom", {}, ownedBy(middle)));
  await make(api, `/api/v1/namespaces/${ns}/pods`, pod("p", {}, ownedBy(middle)));
  await make(api, configMaps, configMap("free"));
  (await api.delete(`${configMaps}/top`)).expect(200);
  await waitUntilGone(api, `${configMaps}/middle`);
  await waitUntilGone(api, `${secrets}/bottom`);
  await waitUntilGone(api, `/api/v1/namespaces/${ns}/pods/p`);
  (await api.get(`${configMaps}/free`)).expect(200);
});

inBothDomains("orphaned dependents stay, without the reference alone [DELOPT-06] [DELOPT-08]", async (api) => {
  const { configMaps } = await api.createNamespace();
  const other = await make(api, configMaps, configMap("other"));
  for (const [at, options] of [{ propagationPolicy: "Orphan" }, { orphanDependents: true }].entries()) {
    const top = await make(api, configMaps, configMap("top"));
    await make(api, configMaps, configMap(`one-${at}`, {}, ownedBy(top)));
    await make(api, configMaps, configMap(`two-${at}`, {}, ownedBy(other, top)));
    (await api.delete(`${configMaps}/top`, { kind: "DeleteOptions", apiVersion: "v1", ...options })).expect(200);
    await waitUntilGone(api, `${configMaps}/top`);
    const kept = { "metadata.deletionTimestamp": absent };
    (await api.get(`${configMaps}/one-${at}`)).expect(200, { ...kept, "metadata.ownerReferences": absent });
    (await api.get(`${configMaps}/two-${at}`)).expect(200, { ...kept, ...onlyOwner("other") });
  }
});

inBothDomains("an owner deleted in the foreground waits for dependents that block it [DELOPT-07]", async (api) => {
  const { configMaps } = await api.createNamespace();
  const held = { finalizers: ["example.com/hold"] };
  const top = await make(api, configMaps, configMap("top"));
  await make(api, configMaps, configMap("blocks", {}, { ...ownedBy({ ...top, blocks: true }), ...held }));
  await make(api, configMaps, configMap("loose", {}, { ...ownedBy(top), ...held }));
  const foreground = { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Foreground" };
  (await api.delete(`${configMaps}/top`, foreground)).expect(200, { "metadata.finalizers": ["foregroundDeletion"] });
  for (const name of ["blocks", "loose"]) {
    await eventually(async () =>
      (await api.get(`${configMaps}/${name}`)).expect(200, { "metadata.deletionTimestamp": present }),
    );
  }
  (await api.get(`${configMaps}/top`)).expect(200, { "metadata.finalizers": ["foregroundDeletion"] });
  (await api.patch(`${configMaps}/blocks`, { metadata: { finalizers: null } })).expect(200);
  await waitUntilGone(api, `${configMaps}/top`);
  (await api.get(`${configMaps}/loose`)).expect(200);
});

inBothDomains("an owner that does not block is not waited for once the reference is changed", async (api) => {
  const { configMaps } = await api.createNamespace();
  const top = await make(api, configMaps, configMap("top"));
  const held = { ...ownedBy({ ...top, blocks: true }), finalizers: ["example.com/hold"] };
  await make(api, configMaps, configMap("blocks", {}, held));
  (await api.delete(`${configMaps}/top?propagationPolicy=Foreground`)).expect(200);
  (await api.patch(`${configMaps}/blocks`, { metadata: ownedBy({ ...top, blocks: false }) })).expect(200);
  await waitUntilGone(api, `${configMaps}/top`);
});

inBothDomains("what names only owners that do not exist is collected, else it loses those references", async (api) => {
  const { configMaps } = await api.createNamespace();
  const never = { name: "never", uid: "11111111-1111-4111-8111-111111111111" };
  const alive = await make(api, configMaps, configMap("alive"));
  await make(api, configMaps, configMap("orphan", {}, ownedBy(never)));
  await make(api, configMaps, configMap("mistaken", {}, ownedBy({ ...alive, uid: never.uid })));
  await make(api, configMaps, configMap("misnamed", {}, ownedBy({ ...alive, name: "other" })));
  await make(api, configMaps, configMap("of-another-kind", {}, ownedBy({ ...alive, kind: "Secret" })));
  await make(api, configMaps, configMap("half", {}, ownedBy(never, alive)));
  for (const name of ["orphan", "mistaken", "misnamed", "of-another-kind"])
    await waitUntilGone(api, `${configMaps}/${name}`);
  await eventually(async () => (await api.get(`${configMaps}/half`)).expect(200, onlyOwner("alive")));
});

inBothDomains("an owner in another namespace is none, and an event says so", async (api) => {
  const { ns, configMaps, events } = await api.createNamespace();
  const elsewhere = await api.createNamespace();
  const far = await make(api, elsewhere.configMaps, configMap("far"));
  await make(api, configMaps, configMap("child", {}, ownedBy(far)));
  await waitUntilGone(api, `${configMaps}/child`);
  const message =
    `ownerRef [v1/ConfigMap, namespace: ${ns}, name: far, uid: ${far.uid}] ` + `does not exist in namespace "${ns}"`;
  await eventually(async () =>
    (await api.get(`${events}?fieldSelector=reason=OwnerRefInvalidNamespace`)).expect(200, {
      "items.length": 1,
      "items.0.type": "Warning",
      "items.0.message": message,
      "items.0.involvedObject.name": "child",
      "items.0.source.component": "garbage-collector-controller",
    }),
  );
  (await api.get(`${elsewhere.configMaps}/far`)).expect(200);
});

inBothDomains("an owner in another namespace may have a name that means something in selectors", async (api) => {
  const { configMaps, events } = await api.createNamespace();
  const elsewhere = await api.createNamespace();
  const of = { kind: "Role", apiVersion: "rbac.authorization.k8s.io/v1" };
  const roles = `/apis/${of.apiVersion}/namespaces/${elsewhere.ns}/roles`;
  const far = await make(api, roles, { ...of, metadata: { name: "a,b=c" }, rules: [] });
  await make(api, configMaps, configMap("child", {}, ownedBy({ ...far, ...of })));
  await waitUntilGone(api, `${configMaps}/child`);
  await eventually(async () =>
    (await api.get(`${events}?fieldSelector=reason=OwnerRefInvalidNamespace`)).expect(200, { "items.length": 1 }),
  );
});

inBothDomains("objects of the cluster own objects of namespaces, and not the other way round", async (api) => {
  const { ns, configMaps } = await api.createNamespace();
  const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
  const role = (name: string, metadata: object = {}) => ({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name, ...metadata },
    rules: [],
  });
  const [owner, child] = [api.unique("owner"), api.unique("child")];
  const cluster = await make(api, roles, role(owner));
  const of = { kind: "ClusterRole", apiVersion: "rbac.authorization.k8s.io/v1" };
  await make(api, configMaps, configMap("dependent", {}, ownedBy({ ...cluster, ...of })));
  const map = await make(api, configMaps, configMap("map"));
  await make(api, roles, role(child, ownedBy(map)));
  const message = `ownerRef [v1/ConfigMap, namespace: , name: map, uid: ${map.uid}] does not exist in namespace ""`;
  await eventually(async () =>
    (await api.get(`/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=${child}`)).expect(200, {
      "items.length": 1,
      "items.0.reason": "OwnerRefInvalidNamespace",
      "items.0.message": message,
    }),
  );
  (await api.delete(`${roles}/${owner}`)).expect(200);
  await waitUntilGone(api, `${configMaps}/dependent`);
  (await api.delete(`${configMaps}/map`)).expect(200);
  (await api.get(`${roles}/${child}`)).expect(200, { "metadata.deletionTimestamp": absent });
  (await api.get(`${namespaces}/${ns}`)).expect(200);
});

inBothDomains("custom resources own and are owned, from when they are served until they are not", async (api) => {
  const { ns, configMaps } = await api.createNamespace();
  const ofTheirs = `${api.unique("g")}.example.com`;
  const name = `widgets.${ofTheirs}`;
  const widgets = `/apis/${ofTheirs}/v1/namespaces/${ns}/widgets`;
  const of = { apiVersion: `${ofTheirs}/v1`, kind: "Widget" };
  // Nobody can know yet whether the owner exists.
  const early = { name: "w", uid: "11111111-1111-4111-8111-111111111111", ...of };
  await make(api, configMaps, configMap("early", {}, ownedBy(early)));
  const top = await make(api, configMaps, configMap("top"));
  (await api.post(crds, definition(ofTheirs, { scope: "Namespaced" }))).expect(201);
  await waitUntilGone(api, `${configMaps}/early`);
  const first = await make(api, widgets, custom(ofTheirs, "first", { metadata: { name: "first", ...ownedBy(top) } }));
  await make(api, configMaps, configMap("of-first", {}, ownedBy({ ...first, ...of })));
  (await api.delete(`${configMaps}/top`)).expect(200);
  await waitUntilGone(api, `${widgets}/first`);
  await waitUntilGone(api, `${configMaps}/of-first`);
  const second = await make(api, widgets, custom(ofTheirs, "second"));
  await make(api, configMaps, configMap("of-second", {}, ownedBy({ ...second, ...of })));
  (await api.delete(`${crds}/${name}`)).expect(200);
  await waitUntilGone(api, `${configMaps}/of-second`);
});

inBothDomains(
  "a definition deleted in the middle of a deletion holds up nothing and takes nothing along",
  async (api) => {
    const { ns, configMaps } = await api.createNamespace();
    const ofTheirs = `${api.unique("g")}.example.com`;
    const widgets = `/apis/${ofTheirs}/v1/namespaces/${ns}/widgets`;
    const of = { apiVersion: `${ofTheirs}/v1`, kind: "Widget" };
    (await api.post(crds, definition(ofTheirs, { scope: "Namespaced" }))).expect(201);
    await eventually(async () => (await api.get(widgets)).expect(200));
    const [top, other] = [
      await make(api, configMaps, configMap("top")),
      await make(api, configMaps, configMap("other")),
    ];
    const middle = await Promise.all(
      Array.from({ length: 100 }, (_, at) => {
        const metadata = { name: `w-${at}`, ...ownedBy({ ...top, blocks: true }) };
        return make(api, widgets, custom(ofTheirs, metadata.name, { metadata }));
      }),
    );
    await Promise.all(
      middle.flatMap((widget, at) => [
        make(api, configMaps, configMap(`goes-${at}`, {}, ownedBy({ ...widget, ...of, blocks: true }))),
        make(api, configMaps, configMap(`stays-${at}`, {}, ownedBy({ ...widget, ...of }, other))),
      ]),
    );
    (await api.delete(`${configMaps}/top?propagationPolicy=Foreground`)).expect(200);
    (await api.delete(`${crds}/widgets.${ofTheirs}`)).expect(200);
    await waitUntilGone(api, `${configMaps}/top`);
    await eventually(async () => {
      const names = (await api.get(configMaps)).list("items").map((one) => one.string("metadata.name"));
      assert.deepEqual(names.filter((name) => !name.startsWith("stays-")).sort(), ["other"]);
      assert.equal(names.length, 101);
    });
    await waitUntilGone(api, `${crds}/widgets.${ofTheirs}`);
  },
);

inBothDomains("many dependents go with their one owner, in each way", async (api) => {
  const { configMaps } = await api.createNamespace();
  const names = Array.from({ length: 500 }, (_, at) => `child-${at}`);
  for (const policy of ["Background", "Foreground"]) {
    const top = await make(api, configMaps, configMap("top"));
    const owners = ownedBy({ ...top, blocks: true });
    await Promise.all(names.map((name) => make(api, configMaps, configMap(name, {}, owners))));
    (await api.delete(`${configMaps}/top?propagationPolicy=${policy}`)).expect(200);
    await eventually(async () => (await api.get(configMaps)).expect(200, { items: [] }));
  }
});

inBothDomains("a circle goes when one of it is deleted in the foreground", async (api) => {
  const { configMaps } = await api.createNamespace();
  const circle: Owner[] = [];
  for (let at = 0; at < 20; at++) circle.push(await make(api, configMaps, configMap(`c-${at}`)));
  for (const [at, { name }] of circle.entries()) {
    const metadata = ownedBy({ ...circle[(at + 1) % circle.length]!, blocks: true });
    (await api.patch(`${configMaps}/${name}`, { metadata })).expect(200);
  }
  (await api.delete(`${configMaps}/c-0?propagationPolicy=Foreground`)).expect(200);
  await eventually(async () => (await api.get(configMaps)).expect(200, { items: [] }));
});

inBothDomains("the finalizer of an owner without dependents goes at once, of a namespace too", async (api) => {
  const ns = api.unique("ns");
  (await api.post(namespaces, namespace(ns))).expect(201);
  (await api.delete(`${namespaces}/${ns}?propagationPolicy=Foreground`)).expect(200);
  await waitUntilGone(api, `${namespaces}/${ns}`);
  const { configMaps } = await api.createNamespace();
  for (const policy of ["Foreground", "Orphan"]) {
    await make(api, configMaps, configMap("alone"));
    (await api.delete(`${configMaps}/alone?propagationPolicy=${policy}`)).expect(200);
    await waitUntilGone(api, `${configMaps}/alone`);
  }
});

withOwnServer("objects of an aggregated server own and are owned", { ...gated, controllers: ["*"] }, async (api) => {
  const backend = await AggregatedServer.start(api, "shop");
  try {
    await register(api, "shop", backend);
    const configMaps = "/api/v1/namespaces/shop/configmaps";
    const flunders = `${base}/namespaces/shop/flunders`;
    const of = { apiVersion: `${group}/v1`, kind: "Flunder" };
    const top = await make(api, configMaps, configMap("top"));
    const uid = "22222222-2222-4222-8222-222222222222";
    const middle = await make(api, flunders, { ...of, metadata: { name: "middle", uid, ...ownedBy(top) } });
    await make(api, configMaps, configMap("bottom", {}, ownedBy({ ...middle, ...of })));
    (await api.delete(`${configMaps}/top`)).expect(200);
    await waitUntilGone(api, `${flunders}/middle`);
    await waitUntilGone(api, `${configMaps}/bottom`);
  } finally {
    await backend.stop();
  }
});

for (const domain of domains) {
  test(`${domain}: dependents of owners that were deleted while the collector was off are deleted at the next start`, async () => {
    const dataDir = join(temporaryFolder(), "data");
    const settings = { ...gated, storage: "disk", dataDir } as const;
    const off = ["*", "-garbagecollector", "-root-ca-certificate-publisher-controller"];
    const first = await openServer(domain, { ...settings, controllers: off });
    let api = new Api(first);
    const { configMaps } = await api.createNamespace();
    const top = await make(api, configMaps, configMap("top"));
    const alive = await make(api, configMaps, configMap("alive"));
    const child = await make(api, configMaps, configMap("child", {}, ownedBy(top)));
    await make(api, configMaps, configMap("grandchild", {}, ownedBy(child)));
    await make(api, configMaps, configMap("kept", {}, ownedBy(alive)));
    const waiting = await make(api, configMaps, configMap("waiting"));
    await make(api, configMaps, configMap("freed", {}, ownedBy(waiting)));
    (await api.delete(`${configMaps}/top`)).expect(200);
    (await api.delete(`${configMaps}/waiting?propagationPolicy=Orphan`)).expect(200);
    (await api.get(`${configMaps}/child`)).expect(200);
    api.close();
    await first.close();
    const second = await openServer(domain, {
      ...settings,
      controllers: ["*", "-root-ca-certificate-publisher-controller"],
    });
    api = new Api(second);
    try {
      for (const name of ["child", "grandchild", "waiting"]) await waitUntilGone(api, `${configMaps}/${name}`);
      (await api.get(`${configMaps}/kept`)).expect(200, onlyOwner("alive"));
      (await api.get(`${configMaps}/freed`)).expect(200, { "metadata.ownerReferences": absent });
    } finally {
      api.close();
      await second.close();
    }
  });
}

withOwnServer(
  "a collector that is deselected does nothing",
  { ...gated, controllers: ["-garbagecollector", "*"] },
  async (api) => {
    const { configMaps } = await api.createNamespace();
    const top = await make(api, configMaps, configMap("top"));
    await make(api, configMaps, configMap("child", {}, ownedBy(top)));
    (await api.delete(`${configMaps}/top`)).expect(200);
    // The collector would have deleted the child by the time this namespace is deleted.
    const { ns } = await api.createNamespace();
    (await api.delete(`${namespaces}/${ns}`)).expect(200);
    await waitUntilGone(api, `${namespaces}/${ns}`);
    (await api.get(`${configMaps}/child`)).expect(200);
  },
);

withOwnServer(
  "without the collector, deletions leave finalizers and dependents as they are",
  { ...gated, controllers: ["*"], enableGarbageCollector: false },
  async (api) => {
    const { configMaps } = await api.createNamespace();
    for (const policy of ["Foreground", "Orphan", "Background"]) {
      const owner = await make(api, configMaps, configMap(policy.toLowerCase()));
      await make(api, configMaps, configMap(`of-${owner.name}`, {}, ownedBy(owner)));
      (await api.delete(`${configMaps}/${owner.name}?propagationPolicy=${policy}`)).expect(200, { kind: "Status" });
      (await api.get(`${configMaps}/${owner.name}`)).expect(404);
    }
    const finalizers = ["orphan", "example.com/own"];
    await make(api, configMaps, configMap("kept", {}, { finalizers }));
    (await api.delete(`${configMaps}/kept?propagationPolicy=Background`)).expect(200, {
      "metadata.finalizers": finalizers,
      "metadata.deletionTimestamp": present,
    });
    (await api.post(crds, definition("collected.example.com"))).expect(201);
    const widgets = "/apis/collected.example.com/v1/widgets";
    await eventually(async () => (await api.post(widgets, custom("collected.example.com", "one"))).expect(201));
    (await api.delete(`${widgets}/one?propagationPolicy=Orphan`)).expect(200, { kind: "Status" });
    for (const name of ["of-foreground", "of-orphan", "of-background"]) {
      (await api.get(`${configMaps}/${name}`)).expect(200, { "metadata.ownerReferences.length": 1 });
    }
  },
);
