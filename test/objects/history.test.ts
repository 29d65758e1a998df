/** The history of objects, and `restore`: extensions of this server to the API (`docs/history.md`). */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { crds, custom, definition } from "../crds.ts";
import {
  Api,
  domains,
  eventually,
  file,
  openServer,
  renamer,
  suite,
  temporaryFolder,
  withOwnServer,
} from "../harness.ts";
import { configMap, namespace, namespaces, pod, secret } from "../objects.ts";

const inBothDomains = suite({ storage: "disk", history: { ms: 3_600_000, bytes: undefined } });

interface Item {
  readonly resourceVersion: string;
  readonly event: string;
  readonly uid?: string;
  readonly time?: string;
  readonly timeSource?: string;
  readonly manager?: string;
  readonly object?: { readonly data?: Readonly<Record<string, string>>; readonly apiVersion?: string };
}

interface History {
  readonly kind: string;
  readonly metadata: { readonly continue?: string };
  readonly since: { readonly resourceVersion: string };
  readonly items: readonly Item[];
}

const historyOf = (path: string): string =>
  `/binnacle/v1/history/${path.replace(/^\/api\//, "core/").replace(/^\/apis\//, "")}`;

async function read(api: Api, path: string): Promise<History> {
  const answer = (await api.get(path)).expect(200, { kind: "ObjectHistory" });
  return JSON.parse(answer.text) as History;
}

inBothDomains("the history shows versions newest first, with what was done, by whom and when", async (api) => {
  const { configMaps } = await api.createNamespace();
  (await api.post(`${configMaps}?fieldManager=maker`, configMap("a", { v: "1" }))).expect(201);
  (await api.patch(`${configMaps}/a?fieldManager=changer`, { data: { v: "2" } })).expect(200);
  const path = historyOf(`${configMaps}/a`);
  const alive = await read(api, path);
  assert.deepEqual(
    alive.items.map(({ event, manager, object }) => [event, manager, object?.data?.["v"]]),
    [
      ["updated", "changer", "2"],
      ["created", "maker", "1"],
    ],
  );
  assert.deepEqual(
    alive.items.map(({ timeSource }) => timeSource),
    ["managedFields", "creationTimestamp"],
  );
  (await api.delete(`${configMaps}/a`)).expect(200);
  (await api.post(configMaps, configMap("a", { v: "3" }))).expect(201);
  const both = await read(api, path);
  assert.deepEqual(
    both.items.map(({ event }) => event),
    ["created", "deleted", "updated", "created"],
  );
  const [third, gone, second, first] = both.items.map(({ uid }) => uid);
  assert.equal(gone, second);
  assert.equal(second, first);
  assert.notEqual(third, first);
});

inBothDomains("the history comes in pages, which follow one another without gaps", async (api) => {
  const { configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("a", { v: "0" }))).expect(201);
  for (let i = 1; i < 7; i++) (await api.patch(`${configMaps}/a`, { data: { v: String(i) } })).expect(200);
  const path = historyOf(`${configMaps}/a`);
  const versions: (string | undefined)[] = [];
  let token = "";
  for (let pages = 0; pages < 10; pages++) {
    const page = await read(api, `${path}?limit=2${token === "" ? "" : `&continue=${token}`}`);
    assert.ok(page.items.length <= 2);
    versions.push(...page.items.map(({ object }) => object?.data?.["v"]));
    token = page.metadata.continue ?? "";
    if (token === "") break;
  }
  assert.deepEqual(versions, ["6", "5", "4", "3", "2", "1", "0"]);
  for (const query of ["limit=0", "limit=x", "continue=x", "resourceVersion=x"]) {
    (await api.get(`${path}?${query}`)).expectFailure(400, "BadRequest");
  }
});

inBothDomains("one version is read by its number; one that never was is not found", async (api) => {
  const { configMaps } = await api.createNamespace();
  const version = (await api.post(configMaps, configMap("a", { v: "1" }))).string("metadata.resourceVersion");
  (await api.patch(`${configMaps}/a`, { data: { v: "2" } })).expect(200);
  const path = historyOf(`${configMaps}/a`);
  const { items } = await read(api, `${path}?resourceVersion=${version}`);
  assert.deepEqual(
    items.map(({ event, object }) => [event, object?.data?.["v"]]),
    [["created", "1"]],
  );
  (await api.get(`${path}?resourceVersion=${Number(version) + 100_000}`)).expectFailure(
    404,
    "NotFound",
    /has no version/,
  );
  (await api.get(historyOf(`${configMaps}/never`))).expectFailure(404, "NotFound", /not found, now or in the history/);
});

inBothDomains("a deleted object is restored as it was, as a new one", async (api) => {
  const { configMaps } = await api.createNamespace();
  const old = (await api.post(configMaps, configMap("a", { v: "1" }, { labels: { l: "x" } }))).string("metadata.uid");
  (await api.patch(`${configMaps}/a`, { data: { v: "2" } })).expect(200);
  (await api.delete(`${configMaps}/a`)).expect(200);
  const path = `${historyOf(`${configMaps}/a`)}/restore`;
  (await api.post(`${path}?dryRun=All`, {})).expect(201, { "data.v": "2" });
  (await api.get(`${configMaps}/a`)).expect(404);
  const restored = (await api.post(path, {})).expect(201, {
    "metadata.name": "a",
    "metadata.labels": { l: "x" },
    "data.v": "2",
    "metadata.managedFields.0.manager": "binnacle-restore",
  });
  assert.notEqual(restored.string("metadata.uid"), old);
  (await api.get(`${configMaps}/a`)).expect(200, { "metadata.uid": restored.string("metadata.uid") });
});

inBothDomains("what is there is replaced only when asked, and what is being deleted not at all", async (api) => {
  const { configMaps } = await api.createNamespace();
  const answer = (await api.post(configMaps, configMap("a", { v: "1" }))).expect(201);
  const resourceVersion = answer.string("metadata.resourceVersion");
  (await api.patch(`${configMaps}/a`, { data: { v: "2", w: "x" } })).expect(200);
  const path = `${historyOf(`${configMaps}/a`)}/restore`;
  (await api.post(path, {})).expectFailure(409, "AlreadyExists", /resourceVersion and overwrite/);
  (await api.post(path, { resourceVersion })).expectFailure(409, "AlreadyExists");
  (await api.post(path, { overwrite: true })).expectFailure(409, "AlreadyExists");
  (await api.post(path, { resourceVersion, overwrite: true })).expect(200, {
    data: { v: "1" },
    "metadata.uid": answer.string("metadata.uid"),
  });
  (await api.patch(`${configMaps}/a`, { metadata: { finalizers: ["example.com/f"] } })).expect(200);
  (await api.delete(`${configMaps}/a`)).expect(200);
  (await api.post(path, { resourceVersion, overwrite: true })).expectFailure(409, "Conflict", /is being deleted/);
  (await api.patch(`${configMaps}/a`, { metadata: { finalizers: null } })).expect(200);
  const [deletion] = (await read(api, historyOf(`${configMaps}/a`))).items;
  (await api.post(path, { resourceVersion: deletion!.resourceVersion })).expectFailure(
    400,
    "BadRequest",
    /is the deletion/,
  );
  const restored = (await api.post(path, {})).expect(201, { "data.v": "1" });
  restored.has({ "metadata.deletionTimestamp": undefined, "metadata.finalizers": ["example.com/f"] });
});

inBothDomains("bodies of a restore that say something else are refused", async (api) => {
  const { configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("a"))).expect(201);
  (await api.delete(`${configMaps}/a`)).expect(200);
  const path = `${historyOf(`${configMaps}/a`)}/restore`;
  for (const body of [
    "[]",
    "{",
    '{"version":"1"}',
    '{"resourceVersion":1}',
    '{"overwrite":"yes"}',
    '{"resourceVersion":"x"}',
  ]) {
    (await api.post(path, body)).expectFailure(400, "BadRequest");
  }
  (await api.get(`${configMaps}/a`)).expect(404);
});

inBothDomains("a restored object does not name owners that are gone, and names those that are", async (api) => {
  const { configMaps } = await api.createNamespace();
  const owner = async (name: string): Promise<object> => {
    const uid = (await api.post(configMaps, configMap(name))).string("metadata.uid");
    return { apiVersion: "v1", kind: "ConfigMap", name, uid };
  };
  const [stays, goes] = [await owner("stays"), await owner("goes")];
  (await api.post(configMaps, configMap("a", {}, { ownerReferences: [stays, goes] }))).expect(201);
  (await api.delete(`${configMaps}/a`)).expect(200);
  (await api.delete(`${configMaps}/goes`)).expect(200);
  const restored = await api.post(`${historyOf(`${configMaps}/a`)}/restore`, {});
  restored.expect(201, { "metadata.ownerReferences": [stays] });
  assert.equal(restored.warnings.length, 1);
  assert.match(restored.warnings[0]!, /the owner ConfigMap "goes" \(uid .*\) is gone/);
});

inBothDomains("a restore is checked as any other write: quota, and what is allocated", async (api) => {
  const { configMaps, ns } = await api.createNamespace();
  const services = `/api/v1/namespaces/${ns}/services`;
  (await api.post(configMaps, configMap("a"))).expect(201);
  (await api.delete(`${configMaps}/a`)).expect(200);
  const quota = {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { name: "q" },
    spec: { hard: { "count/configmaps": "0" } },
  };
  (await api.post(`/api/v1/namespaces/${ns}/resourcequotas`, quota)).expect(201);
  const path = `${historyOf(`${configMaps}/a`)}/restore`;
  await eventually(async () =>
    (await api.post(`${path}?dryRun=All`, {})).expectFailure(403, "Forbidden", /exceeded quota/),
  );
  (await api.post(path, {})).expectFailure(403, "Forbidden", /exceeded quota/);
  (await api.delete(`/api/v1/namespaces/${ns}/resourcequotas/q`)).expect(200);
  await eventually(async () => (await api.post(path, {})).expect(201));
  const service = (name: string, clusterIP?: string): object => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: { ports: [{ port: 80 }], ...(clusterIP === undefined ? {} : { clusterIP }) },
  });
  const address = (await api.post(services, service("s"))).expect(201).string("spec.clusterIP");
  (await api.delete(`${services}/s`)).expect(200);
  (await api.post(services, service("other", address))).expect(201);
  (await api.post(`${historyOf(`${services}/s`)}/restore`, {})).expectFailure(422, "Invalid", /already allocated/);
});

inBothDomains("namespaces and other objects of the cluster have their history at their own path", async (api) => {
  const name = api.unique("ns");
  (await api.post(namespaces, namespace(name, { labels: { l: "1" } }))).expect(201);
  const { items } = await read(api, `/binnacle/v1/history/core/v1/namespaces/${name}`);
  assert.equal(items.at(-1)!.event, "created");
  (await api.get(`/binnacle/v1/history/core/v1/namespaces/x/namespaces/${name}`)).expectClientError();
  (await api.get(`/binnacle/v1/history/core/v1/configmaps/a`)).expectFailure(400, "BadRequest", /are in a namespace/);
});

inBothDomains(
  "custom resources are read in any served version; without their definition there is no history",
  async (api) => {
    const group = `${api.unique("g")}.example.com`;
    const versions = ["v1", "v2"].map((name) => ({
      name,
      served: true,
      storage: name === "v1",
      schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    }));
    (await api.post(crds, definition(group, { versions }))).expect(201);
    const widgets = `/apis/${group}/v1/widgets`;
    await eventually(async () => (await api.post(widgets, custom(group, "w", { spec: { a: 1 } }))).expect(201));
    (await api.delete(`${widgets}/w`)).expect(200);
    const { items } = await read(api, `/binnacle/v1/history/${group}/v2/widgets/w`);
    assert.deepEqual(
      items.map(({ event, object }) => [event, object?.apiVersion]),
      [
        ["deleted", undefined],
        ["created", `${group}/v2`],
      ],
    );
    (await api.post(`/binnacle/v1/history/${group}/v2/widgets/w/restore`, {})).expect(201, {
      apiVersion: `${group}/v2`,
      "spec.a": 1,
    });
    (await api.delete(`${crds}/widgets.${group}`)).expect(200);
    await eventually(async () => {
      (await api.get(`/binnacle/v1/history/${group}/v1/widgets/w`)).expectFailure(
        404,
        "NotFound",
        /without their definition/,
      );
    });
  },
);

inBothDomains("an object of several hundred kilobytes is restored", async (api) => {
  const { configMaps } = await api.createNamespace();
  const large = "x".repeat(700_000);
  (await api.post(configMaps, configMap("a", { large }))).expect(201);
  (await api.delete(`${configMaps}/a`)).expect(200);
  (await api.post(`${historyOf(`${configMaps}/a`)}/restore`, {})).expect(201, { "data.large": large });
});

inBothDomains("pods show their deletion, and paths of other methods are not served", async (api) => {
  const pods = `/api/v1/namespaces/${(await api.createNamespace()).ns}/pods`;
  (await api.post(pods, pod("p"))).expect(201);
  (await api.delete(`${pods}/p`, { gracePeriodSeconds: 0 })).expect(200);
  const path = historyOf(`${pods}/p`);
  const { items } = await read(api, path);
  assert.equal(items[0]!.event, "deleted");
  for (const method of ["PUT", "PATCH", "DELETE", "POST"]) (await api.send(method, path, {})).expect(404);
  (await api.get(`${path}/restore`)).expect(404);
});

withOwnServer(
  "reading takes the right to get, restoring also restore and create or update",
  { storage: "disk", authorizationMode: ["RBAC"] },
  async (api) => {
    const { ns, secrets } = await api.createNamespace();
    const may = async (...verbs: string[]): Promise<void> => {
      const role = `/apis/rbac.authorization.k8s.io/v1/namespaces/${ns}/roles`;
      const body = { metadata: { name: "r" }, rules: [{ apiGroups: [""], resources: ["secrets"], verbs }] };
      (await api.put(`${role}/r`, body)).expect([200, 201]);
    };
    await may("get");
    const binding = {
      metadata: { name: "b" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "r" },
      subjects: [{ kind: "User", name: "alice", apiGroup: "rbac.authorization.k8s.io" }],
    };
    (await api.post(`/apis/rbac.authorization.k8s.io/v1/namespaces/${ns}/rolebindings`, binding)).expect(201);
    const version = (await api.post(secrets, secret("s", { k: "1" }))).expect(201).string("metadata.resourceVersion");
    (await api.delete(`${secrets}/s`)).expect(200);
    const path = historyOf(`${secrets}/s`);
    const as = { as: "alice" };
    (await api.get(path, { as: "bob" })).expectFailure(403, "Forbidden", /cannot get resource "secrets"/);
    (await api.get(path, as)).expect(200, { "items.1.object.data.k": "MQ==" });
    (await api.post(`${path}/restore`, {}, as)).expectFailure(403, "Forbidden", /cannot restore resource "secrets"/);
    await may("restore", "create");
    (await api.post(`${path}/restore`, {}, as)).expectFailure(403, "Forbidden", /cannot get resource "secrets"/);
    await may("restore", "get");
    (await api.post(`${path}/restore`, {}, as)).expectFailure(403, "Forbidden", /cannot create resource "secrets"/);
    await may("restore", "get", "create");
    (await api.post(`${path}/restore`, {}, as)).expect(201, { "data.k": "MQ==" });
    const overwrite = { resourceVersion: version, overwrite: true };
    (await api.post(`${path}/restore`, overwrite, as)).expectFailure(
      403,
      "Forbidden",
      /cannot update resource "secrets"/,
    );
    await may("restore", "get", "update");
    (await api.post(`${path}/restore`, overwrite, as)).expect(200);
  },
);

withOwnServer("a store in memory shows the history that it has", {}, async (api) => {
  const { configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("a", { v: "1" }))).expect(201);
  (await api.patch(`${configMaps}/a`, { data: { v: "2" } })).expect(200);
  (await api.delete(`${configMaps}/a`)).expect(200);
  const { items } = await read(api, historyOf(`${configMaps}/a`));
  assert.deepEqual(
    items.map(({ event, object }) => [event, object?.data?.["v"]]),
    [
      ["deleted", undefined],
      ["updated", "2"],
      ["created", "1"],
    ],
  );
  (await api.post(`${historyOf(`${configMaps}/a`)}/restore`, {})).expect(201, { "data.v": "2" });
});

for (const domain of domains) {
  test(`${domain}: a restore is in the audit log as one, with the object that it wrote`, async () => {
    const log = join(temporaryFolder(), "audit.log");
    const policy = {
      apiVersion: "audit.k8s.io/v1",
      kind: "Policy",
      rules: [{ level: "RequestResponse", verbs: ["restore"] }, { level: "None" }],
    };
    const auditPolicyFile = file("policy.json", renamer(domain)(JSON.stringify(policy)));
    const server = await openServer(domain, { auditPolicyFile, auditLogPath: log, auditLogMode: "blocking" });
    const api = new Api(server);
    try {
      const { configMaps } = await api.createNamespace();
      (await api.post(configMaps, configMap("a", { v: "1" }))).expect(201);
      (await api.delete(`${configMaps}/a`)).expect(200);
      (await api.post(`${historyOf(`${configMaps}/a`)}/restore`, {})).expect(201);
      const events = readFileSync(log, "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      const last = events.at(-1)!;
      const { resource, name } = last["objectRef"] as Record<string, string>;
      assert.deepEqual([last["verb"], resource, name], ["restore", "configmaps", "a"]);
      assert.deepEqual((last["responseObject"] as { data?: object }).data, { v: "1" });
    } finally {
      api.close();
      await server.close();
    }
  });
}
