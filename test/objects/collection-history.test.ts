/** The history of collections, and the state at a time: extensions of this server to the API (`docs/history.md`). */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { type Api, domains, eventually, suite, temporaryFolder, usingServer, withOwnServer } from "../harness.ts";
import { asTable } from "../client.ts";
import { configMap, namespaces, namespace, secret } from "../objects.ts";

const hour = { ms: 3_600_000, bytes: undefined };
const inBothDomains = suite({ storage: "disk", history: hour });

interface Item {
  readonly resourceVersion: string;
  readonly event: string;
  readonly name: string;
  readonly namespace?: string;
  readonly time?: string;
  readonly timeSource?: string;
  readonly manager?: string;
  readonly user?: string;
  readonly endedBy?: { readonly user?: string };
  readonly object?: { readonly data?: Readonly<Record<string, string>> };
  readonly previous?: { readonly data?: Readonly<Record<string, string>> };
}

interface History {
  readonly kind: string;
  readonly metadata: { readonly continue?: string };
  readonly since: { readonly resourceVersion: string; readonly time?: string };
  readonly items: readonly Item[];
}

const historyOf = (path: string): string =>
  `/binnacle/v1/history/${path.replace(/^\/api\//, "core/").replace(/^\/apis\//, "")}`;

async function read(api: Api, path: string, as?: string): Promise<History> {
  const answer = (await api.get(path, as === undefined ? {} : { as })).expect(200, { kind: "CollectionHistory" });
  return JSON.parse(answer.text) as History;
}

/** Returns the events as `event name value`. */
const lines = ({ items }: History): string[] =>
  items.map(({ event, name, object, previous }) =>
    [event, name, previous?.data?.["v"], object?.data?.["v"]].filter((text) => text !== undefined).join(" "),
  );

/** Writes a few versions of two config maps. Returns the version before each event. */
async function writeSome(api: Api, configMaps: string): Promise<void> {
  (await api.post(configMaps, configMap("a", { v: "1" }, { labels: { app: "web" } }))).expect(201);
  (await api.post(configMaps, configMap("b", { v: "1" }))).expect(201);
  (await api.patch(`${configMaps}/a?fieldManager=changer`, { data: { v: "2" } })).expect(200);
  (await api.delete(`${configMaps}/b`)).expect(200);
  (await api.post(configMaps, configMap("b", { v: "3" }))).expect(201);
}

const expected = ["created b 3", "deleted b", "updated a 2", "created b 1", "created a 1"];

inBothDomains("the history of a collection has the events of all names, newest first", async (api) => {
  const { configMaps, ns } = await api.createNamespace();
  await writeSome(api, configMaps);
  const history = await read(api, historyOf(configMaps));
  assert.deepEqual(lines(history), expected);
  assert.ok(history.items.every((item) => item.namespace === ns));
  assert.equal(history.items[2]!.manager, "changer");
  assert.deepEqual(
    history.items.map(({ timeSource }) => timeSource),
    ["creationTimestamp", "log", "managedFields", "creationTimestamp", "creationTimestamp"],
  );
  const before = await read(api, `${historyOf(configMaps)}?previous=true`);
  assert.deepEqual(lines(before), ["created b 3", "deleted b 1", "updated a 1 2", "created b 1", "created a 1"]);
});

inBothDomains("events are selected by what happened, by labels and by versions", async (api) => {
  const { configMaps } = await api.createNamespace();
  await writeSome(api, configMaps);
  const path = historyOf(configMaps);
  assert.deepEqual(lines(await read(api, `${path}?deleted=true&previous=true`)), ["deleted b 1"]);
  assert.deepEqual(lines(await read(api, `${path}?labelSelector=app%3Dweb`)), ["updated a 2", "created a 1"]);
  const { items } = await read(api, path);
  const [third, , first] = [items[2]!, items[3]!, items[4]!];
  const between = `since=${first.resourceVersion}&until=${third.resourceVersion}`;
  assert.deepEqual(lines(await read(api, `${path}?${between}`)), ["updated a 2", "created b 1"]);
  for (const query of ["since=x", "until=yesterday", "deleted=yes", "previous=1", "limit=0", "continue=x"]) {
    (await api.get(`${path}?${query}`)).expectFailure(400, "BadRequest");
  }
  for (const query of ["fieldSelector=metadata.name%3Da", "at=1&fieldSelector=metadata.name%3Da"]) {
    (await api.get(`${path}?${query}`)).expectFailure(400, "BadRequest", /fieldSelector is not supported/);
  }
});

inBothDomains("an update of a manager's own fields is told as one of this manager", async (api) => {
  const { configMaps } = await api.createNamespace();
  (await api.post(`${configMaps}?fieldManager=one`, configMap("a", { v: "1" }))).expect(201);
  (await api.patch(`${configMaps}/a?fieldManager=other`, { data: { w: "1" } })).expect(200);
  (await api.patch(`${configMaps}/a?fieldManager=one`, { data: { v: "2" } })).expect(200);
  (await api.patch(`${configMaps}/a?fieldManager=other`, { data: { w: "2" } })).expect(200);
  const { items } = await read(api, historyOf(configMaps));
  assert.deepEqual(
    items.map(({ manager }) => manager),
    ["other", "one", "other", "one"],
  );
});

inBothDomains("the history of a collection comes in pages without gaps", async (api) => {
  const { configMaps } = await api.createNamespace();
  await writeSome(api, configMaps);
  for (const limit of [1, 2, 3, 5]) {
    const found: string[] = [];
    for (let token: string | undefined = ""; token !== undefined; ) {
      const page: History = await read(api, `${historyOf(configMaps)}?limit=${limit}&continue=${token}`);
      assert.ok(page.items.length <= limit);
      found.push(...lines(page));
      token = page.metadata.continue;
    }
    assert.deepEqual(found, expected);
  }
});

inBothDomains("the state at a version is a list or an object of the API", async (api) => {
  const { configMaps } = await api.createNamespace();
  await writeSome(api, configMaps);
  const path = historyOf(configMaps);
  const [, , changed, created] = (await read(api, path)).items;
  const at = async (version: string, form?: string): Promise<unknown> => {
    const answer = await api.get(`${path}?at=${version}`, form === undefined ? {} : { accept: form });
    return JSON.parse(answer.expect(200).text);
  };
  const dataAt = async (version: string): Promise<string[]> => {
    const list = (await at(version)) as { kind: string; items: { metadata: { name: string }; data: { v: string } }[] };
    assert.equal(list.kind, "ConfigMapList");
    return list.items.map(({ metadata, data }) => `${metadata.name} ${data.v}`);
  };
  assert.deepEqual(await dataAt(created!.resourceVersion), ["a 1", "b 1"]);
  assert.deepEqual(await dataAt(changed!.resourceVersion), ["a 2", "b 1"]);
  const first = (await api.get(`${path}?at=${created!.resourceVersion}&limit=1`)).expect(200, {
    "items.0.data.v": "1",
  });
  const token = first.string("metadata.continue");
  (await api.get(`${path}?at=${created!.resourceVersion}&continue=${token}`)).expect(200, {
    "items.0.metadata.name": "b",
  });
  (await api.get(`${path}/a?at=${created!.resourceVersion}`)).expect(200, { kind: "ConfigMap", "data.v": "1" });
  (await api.get(`${path}/never?at=${created!.resourceVersion}`)).expectFailure(404, "NotFound");
  const table = (await at(changed!.resourceVersion, asTable)) as {
    kind: string;
    rows: { cells: unknown[] }[];
  };
  assert.deepEqual([table.kind, ...table.rows.map(({ cells }) => cells[0])], ["Table", "a", "b"]);
  (await api.get(`${path}?at=`)).expectFailure(400, "BadRequest");
  (await api.get(`${path}?at=99999999`)).expectFailure(504, "Timeout");
});

inBothDomains("times select events and states, also of reads that lists cannot make any more", async (api) => {
  const { configMaps } = await api.createNamespace();
  const time = (): string => new Date(api.server.clock!.now()).toISOString();
  (await api.post(configMaps, configMap("a", { v: "1" }))).expect(201);
  await api.pass(60_000);
  const middle = time();
  await api.pass(60_000);
  (await api.patch(`${configMaps}/a`, { data: { v: "2" } })).expect(200);
  (await api.post(configMaps, configMap("b", { v: "2" }))).expect(201);
  await api.pass(60_000);
  const path = historyOf(configMaps);
  assert.deepEqual(lines(await read(api, `${path}?since=${middle}`)), ["created b 2", "updated a 2"]);
  assert.deepEqual(lines(await read(api, `${path}?until=${middle}`)), ["created a 1"]);
  (await api.get(`${path}?at=${middle}`)).expect(200, { "items.0.data.v": "1", "items.1": undefined });
  (await api.get(`${path}?at=2m`)).expect(200, { "items.0.data.v": "1", "items.1": undefined });
  assert.deepEqual(lines(await read(api, `${path}?since=1m30s`)), ["created b 2", "updated a 2"]);
  assert.deepEqual(lines(await read(api, `${path}?since=1d`)), ["created b 2", "updated a 2", "created a 1"]);
  (await api.get(`${path}/a?at=${middle}`)).expect(200, { "data.v": "1" });
  (await api.get(`${path}/b?at=${middle}`)).expectFailure(404, "NotFound");
  (await api.get(`${path}/b?at=${time()}`)).expect(200, { "data.v": "2" });
  // Lists go back some minutes, the history an hour.
  await api.pass(20 * 60_000);
  (await api.get(`${path}/a?at=${middle}`)).expect(200, { "data.v": "1" });
});

inBothDomains("a state of many and large objects comes in pages, each at the same version", async (api) => {
  const { configMaps } = await api.createNamespace();
  const large = "x".repeat(700_000);
  const names = Array.from({ length: 24 }, (_, at) => `m${String(at).padStart(2, "0")}`);
  for (const name of names) (await api.post(configMaps, configMap(name, { large }))).expect(201);
  const [last] = (await read(api, `${historyOf(configMaps)}?limit=1`)).items;
  for (const name of names) (await api.delete(`${configMaps}/${name}`)).expect(200);
  const found: string[] = [];
  let pages = 0;
  for (let token = ""; ; pages++) {
    const answer = await api.get(`${historyOf(configMaps)}?at=${last!.resourceVersion}&continue=${token}`);
    const page = JSON.parse(answer.expect(200).text) as {
      metadata: { continue?: string };
      items: { metadata: { name: string } }[];
    };
    found.push(...page.items.map(({ metadata }) => metadata.name));
    token = page.metadata.continue ?? "";
    if (token === "") break;
  }
  assert.deepEqual(found, names);
  assert.ok(pages > 0, "a page has a bound in bytes");
});

inBothDomains("namespaces and all namespaces at once have a history, too", async (api) => {
  const [one, other] = [await api.createNamespace(), await api.createNamespace()];
  (await api.post(one.configMaps, configMap("a"))).expect(201);
  (await api.post(other.configMaps, configMap("a"))).expect(201);
  const all = await read(api, "/binnacle/v1/history/core/v1/configmaps?limit=2");
  assert.deepEqual(
    all.items.map((item) => item.namespace),
    [other.ns, one.ns],
  );
  const spaces = await read(api, "/binnacle/v1/history/core/v1/namespaces?limit=2");
  assert.deepEqual(
    spaces.items.map(({ name }) => name),
    [other.ns, one.ns],
  );
  (await api.get(`/binnacle/v1/history/core/v1${namespaces.slice(7)}/${one.ns}/namespaces`)).expectClientError();
  (await api.post("/binnacle/v1/history/core/v1/namespaces", namespace("x"))).expect(404);
});

withOwnServer(
  "the history of a collection takes the right to list it, and shows nothing beyond",
  { storage: "disk", authorizationMode: ["RBAC"] },
  async (api) => {
    const { ns, configMaps, secrets } = await api.createNamespace();
    const other = await api.createNamespace();
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${ns}`;
    const rules = [
      { apiGroups: [""], resources: ["configmaps"], verbs: ["list"] },
      { apiGroups: [""], resources: ["secrets"], verbs: ["get"] },
    ];
    (await api.post(`${rbac}/roles`, { metadata: { name: "r" }, rules })).expect(201);
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "r" };
    const subjects = [{ kind: "User", name: "alice", apiGroup: "rbac.authorization.k8s.io" }];
    (await api.post(`${rbac}/rolebindings`, { metadata: { name: "b" }, roleRef, subjects })).expect(201);
    (await api.post(configMaps, configMap("a", { v: "1" }))).expect(201);
    (await api.post(secrets, secret("s", { k: "1" }))).expect(201);
    (await api.delete(`${secrets}/s`)).expect(200);
    const as = { as: "alice" };
    assert.deepEqual(lines(await read(api, historyOf(configMaps), "alice")), ["created a 1"]);
    (await api.get(`${historyOf(configMaps)}?at=100`, as)).expect(200);
    for (const path of [secrets, other.configMaps, "/api/v1/configmaps"]) {
      for (const query of ["", "?at=100", "?deleted=true&previous=true"]) {
        (await api.get(`${historyOf(path)}${query}`, as)).expectFailure(403, "Forbidden", /cannot list resource/);
      }
    }
    // A right to get is not one to list, and the other way round.
    (await api.get(`${historyOf(secrets)}/s`, as)).expect(200);
    (await api.get(`${historyOf(configMaps)}/a?at=100`, as)).expectFailure(403, "Forbidden", /cannot get resource/);
  },
);

withOwnServer("a store in memory shows the collection's history that it has", {}, async (api) => {
  const { configMaps } = await api.createNamespace();
  await writeSome(api, configMaps);
  assert.deepEqual(lines(await read(api, historyOf(configMaps))), expected);
  assert.deepEqual(lines(await read(api, `${historyOf(configMaps)}?deleted=true&previous=true`)), ["deleted b 1"]);
  const [, , changed] = (await read(api, historyOf(configMaps))).items;
  (await api.get(`${historyOf(configMaps)}?at=${changed!.resourceVersion}`)).expect(200, {
    "items.0.data.v": "2",
    "items.1.data.v": "1",
  });
});

/** Returns who deleted the objects of a collection, as `name user manager`, and who ended them otherwise. */
async function deleters(api: Api, path: string): Promise<string[]> {
  const { items } = await read(api, `${historyOf(path)}?deleted=true`);
  return items.map(({ name, user, manager, endedBy }) =>
    [name, user, manager, endedBy && `ended by ${endedBy.user}`].filter((text) => text !== undefined).join(" "),
  );
}

inBothDomains("a deletion says who asked for it, also when somebody else ends the object", async (api) => {
  const { configMaps } = await api.createNamespace();
  const finalizers = ["example.com/f"];
  (await api.post(configMaps, configMap("a"))).expect(201);
  (await api.post(configMaps, configMap("b", {}, { finalizers }))).expect(201);
  const agent = { "user-agent": "kubectl/v1.32.0 (linux/amd64)" };
  const as = { headers: { ...agent, "impersonate-user": "carol", "impersonate-group": "system:masters" } };
  (await api.delete(`${configMaps}/a`, undefined, as)).expect(200);
  (await api.delete(`${configMaps}/b`, undefined, as)).expect(200);
  (await api.patch(`${configMaps}/b`, { metadata: { finalizers: null } })).expect(200);
  assert.deepEqual(await deleters(api, configMaps), ["b carol kubectl", "a carol kubectl"]);
  // The history of one object says the same, and the note is no part of what is restored.
  const one = JSON.parse((await api.get(`${historyOf(configMaps)}/a`)).expect(200).text) as History;
  assert.equal(one.items[0]!.user, "carol");
  (await api.post(`${historyOf(configMaps)}/a/restore`, {})).expect(201);
});

withOwnServer(
  "deletions with a namespace name the controller, and that of the namespace its user",
  { storage: "disk" },
  async (api) => {
    const { ns, configMaps } = await api.createNamespace();
    (await api.post(configMaps, configMap("a"))).expect(201);
    (await api.delete(`${namespaces}/${ns}`)).expect(200);
    await eventually(async () => (await api.get(`${namespaces}/${ns}`)).expect(404));
    const [object] = await deleters(api, configMaps);
    assert.match(object!, /^a system:serviceaccount:\S+:namespace-controller namespace-controller$/);
    assert.match((await deleters(api, namespaces))[0]!, new RegExp(`^${ns} admin `));
  },
);

for (const domain of domains) {
  test(`${domain}: the history of collections outlasts a restart, with the notes of deletions`, async () => {
    const dataDir = join(temporaryFolder(), "data");
    const settings = { storage: "disk", history: hour, dataDir } as const;
    let configMaps = "";
    await usingServer(domain, settings, async (first) => {
      ({ configMaps } = await first.createNamespace());
      await writeSome(first, configMaps);
    });
    await usingServer(domain, settings, async (second) => {
      assert.deepEqual(lines(await read(second, historyOf(configMaps))), expected);
      assert.match((await deleters(second, configMaps))[0]!, /^b admin /);
    });
  });
}
