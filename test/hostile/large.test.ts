/**
 * Objects of half a megabyte: every verb treats them like small ones, in threads. `hostile.test.ts` and `npm run bench
 * -- hostile` cover the effect on other clients.
 */
import assert from "node:assert/strict";
import { custom, crds, definition } from "../crds.ts";
import { asTable, patchTypes } from "../client.ts";
import { type Api, eventually, suite } from "../harness.ts";
import { configMap, secret } from "../objects.ts";
import { absent, present } from "../view.ts";

const inBothDomains = suite();

const yaml = "application/yaml";

/** Returns half a megabyte of data in many keys. */
const manyKeys = (value: string): Record<string, string> =>
  Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`key-${i}`, value.padEnd(80, "x")]));

inBothDomains("a large object is created, read, replaced, patched and deleted", async (api) => {
  const { configMaps } = await api.createNamespace();
  const path = `${configMaps}/large`;
  const body = configMap("large", manyKeys("one"));
  const created = (await api.post(configMaps, body)).expect(201, { "metadata.uid": present });
  const version = created.string("metadata.resourceVersion");
  assert.deepEqual((await api.get(path)).expect(200).value, created.value);
  (await api.post(configMaps, body)).expectFailure(409, "AlreadyExists");
  (await api.put(path, { ...body, metadata: { name: "large", resourceVersion: "1" } })).expectFailure(409, "Conflict");
  const next = { ...body, data: manyKeys("two"), metadata: { name: "large", resourceVersion: version } };
  const replaced = (await api.put(path, next)).expect(200, { "metadata.uid": created.string("metadata.uid") });
  assert.ok(Number(replaced.string("metadata.resourceVersion")) > Number(version));
  (await api.patch(path, { data: { "key-0": "merged" } }, patchTypes.merge)).expect(200, { "data.key-0": "merged" });
  const test = [{ op: "test", path: "/data/key-0", value: "other" }];
  (await api.patch(path, test, patchTypes.json)).expectFailure(422, "Invalid");
  (await api.patch(path, { data: { "key-1": "strategic" } }, patchTypes.strategic)).expect(200, {
    "data.key-0": "merged",
    "data.key-1": "strategic",
  });
  (await api.get(path)).expect(200, { "data.key-1": "strategic" });
  (await api.delete(path)).expect(200);
  (await api.get(path)).expectFailure(404, "NotFound");
});

inBothDomains("a large object is shown in every form", async (api) => {
  const { configMaps } = await api.createNamespace();
  const path = `${configMaps}/large`;
  const answer = (await api.post(configMaps, configMap("large", manyKeys("one")))).expect(201);
  const inYaml = (await api.get(path, { accept: yaml })).expect(200);
  assert.match(inYaml.text, /^apiVersion: v1\ndata:\n {2}key-0: onex+\n/);
  (await api.get(path, { accept: asTable })).expect(200, { "rows.0.cells.0": "large", "rows.0.cells.1": 5000 });
  const pretty = (await api.get(`${path}?pretty=true`)).expect(200);
  assert.match(pretty.text, /^\{\n {2}"kind": "ConfigMap"/);
  assert.deepEqual(pretty.value, answer.value);
  const listed = (await api.get(configMaps, { accept: yaml })).expect(200);
  assert.match(listed.text, /^apiVersion: v1\nitems:\n- data:\n {4}key-0: onex+\n/);
  (await api.get(configMaps)).expect(200, { "items.0.data.key-4999": present });
  const meta = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
  (await api.get(path, { accept: meta })).expect(200, { kind: "PartialObjectMetadata", data: absent });
});

inBothDomains("a large object is applied, and its owners are told apart", async (api) => {
  const { configMaps } = await api.createNamespace();
  const path = `${configMaps}/large`;
  const body = configMap("large", manyKeys("one"));
  const apply = (manager: string, fields: object, force = false) =>
    api.patch(`${path}?fieldManager=${manager}${force ? "&force=true" : ""}`, fields, patchTypes.apply);
  (await apply("one", body)).expect(201, { "metadata.managedFields.0.manager": "one" });
  (await apply("two", configMap("large", { "key-7": "two" }))).expectFailure(409, "Conflict", /conflict with "one"/);
  (await apply("two", configMap("large", { "key-7": "two" }), true)).expect(200, { "data.key-7": "two" });
  const before = (await api.get(path)).string("metadata.resourceVersion");
  (await apply("one", { ...body, data: { ...manyKeys("one"), "key-7": "two" } })).expect(200);
  (await apply("one", { ...body, data: { "key-7": "two" } })).expect(200, { data: { "key-7": "two" } });
  assert.ok(Number((await api.get(path)).string("metadata.resourceVersion")) > Number(before));
});

inBothDomains("a dry run of a large write stores nothing", async (api) => {
  const { configMaps } = await api.createNamespace();
  const body = configMap("large", manyKeys("one"));
  (await api.post(`${configMaps}?dryRun=All`, body)).expect(201, { "metadata.uid": present });
  (await api.get(`${configMaps}/large`)).expectFailure(404, "NotFound");
  (await api.post(configMaps, { ...body, metadata: { generateName: "large-" } })).expect(201, {
    "metadata.name": /^large-.{5}$/,
  });
});

inBothDomains("watchers see large objects, those with selectors too", async (api) => {
  const { configMaps } = await api.createNamespace();
  const watch = await api.watch(`${configMaps}?watch=true&labelSelector=size=large`);
  const body = configMap("large", manyKeys("one"), { labels: { size: "large" } });
  (await api.post(configMaps, body)).expect(201);
  (await watch.next()).has({ type: "ADDED", "object.metadata.name": "large" });
  (await api.patch(`${configMaps}/large`, { metadata: { labels: { size: null } } })).expect(200);
  (await watch.next()).has({ type: "DELETED", "object.metadata.name": "large" });
});

inBothDomains("plugins and validation see large objects", async (api) => {
  const { ns, secrets } = await api.createNamespace();
  const pods = `/api/v1/namespaces/${ns}/pods`;
  const containers = Array.from({ length: 1500 }, (_, i) => ({ name: `c${i}`, image: "i", command: ["x".repeat(30)] }));
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "large" }, spec: { containers } };
  await eventually(async () =>
    (await api.post(pods, pod)).expect(201, {
      "spec.serviceAccountName": "default",
      "spec.containers.0.terminationMessagePath": present,
    }),
  );
  (await api.post(secrets, secret("large", manyKeys("one")))).expect(201, { type: "Opaque" });
  const wrong = { ...pod, metadata: { name: "wrong" }, spec: { containers: [...containers, { name: "C" }] } };
  (await api.post(pods, wrong)).expectFailure(422, "Invalid", /spec\.containers\[1500\]\.name: Invalid value: "C"/);
  const ports = Array.from({ length: 2000 }, (_, i) => ({ name: `p-${i}`, port: i + 1 }));
  const service = { apiVersion: "v1", kind: "Service", metadata: { name: "large" }, spec: { ports } };
  (await api.post(`/api/v1/namespaces/${ns}/services`, service)).expect(201, { "spec.clusterIPs.length": 1 });
  (await api.post("/api/v1/namespaces/nowhere/pods", pod)).expectFailure(404, "NotFound");
});

const text = { type: "string" };
const items = (properties: object): object => ({
  type: "object",
  properties: {
    spec: { type: "object", properties: { items: { type: "array", items: { type: "object", properties } } } },
  },
});

async function serve(api: Api, schema: object, version: object = {}): Promise<{ group: string; widgets: string }> {
  const group = `${api.unique("g")}.example.com`;
  (await api.post(crds, definition(group, { schema, version }))).expect(201);
  const widgets = `/apis/${group}/v1/widgets`;
  await eventually(async () => (await api.get(widgets)).expect(200));
  return { group, widgets };
}

inBothDomains("large custom resources are pruned, defaulted, validated and scaled", async (api) => {
  const fields = { a: { ...text, default: "d" }, n: { type: "integer", maximum: 9 } };
  const scaled = { scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" }, status: {} };
  const base = items(fields) as { properties: { spec: { properties: object } } };
  const schema = {
    ...base,
    properties: {
      spec: {
        ...base.properties.spec,
        properties: { ...base.properties.spec.properties, replicas: { type: "integer" } },
      },
      status: { type: "object", properties: { replicas: { type: "integer" } } },
    },
  };
  const { group, widgets } = await serve(api, schema, { subresources: scaled });
  const many = Array.from({ length: 20_000 }, (_, i) => ({ n: i % 10, gone: 1 }));
  const spec = { items: many, replicas: 2 };
  const answer = (await api.post(widgets, custom(group, "large", { spec }))).expect(201);
  assert.equal(answer.list("spec.items").length, 20_000);
  assert.deepEqual(answer.at("spec.items.19999"), { a: "d", n: 9 });
  assert.match(answer.warnings.join(), /unknown field "spec\.items\[0\]\.gone"/);
  const path = `${widgets}/large`;
  (await api.patch(path, [{ op: "replace", path: "/spec/items/7/n", value: 10 }], patchTypes.json)).expectFailure(
    422,
    "Invalid",
    /spec\.items\[7\]\.n: Invalid value: 10/,
  );
  (await api.patch(`${path}/status`, { status: { replicas: 3 } })).expect(200, { "status.replicas": 3 });
  (await api.get(`${path}/scale`)).expect(200, { "spec.replicas": 2, "status.replicas": 3 });
  (await api.patch(`${path}/scale`, { spec: { replicas: 5 } })).expect(200, { "spec.replicas": 5 });
  (await api.get(path)).expect(200, { "spec.replicas": 5, "metadata.generation": 2 });
  const merged = {
    apiVersion: `${group}/v1`,
    kind: "Widget",
    metadata: { name: "large" },
    spec: { items: [{ n: 1 }] },
  };
  (await api.patch(`${path}?fieldManager=m&force=true`, merged, patchTypes.apply)).expect(200, {
    "spec.items.length": 1,
    "spec.replicas": 5,
  });
});

inBothDomains("what defaults make larger than an object may be is refused with 413", async (api) => {
  const { group, widgets } = await serve(api, items({ a: { ...text, default: "x".repeat(50_000) } }));
  const of = (count: number): object => ({ spec: { items: Array.from({ length: count }, () => ({})) } });
  (await api.post(widgets, custom(group, "fits", of(20)))).expect(201, { "spec.items.length": 20 });
  const answer = (await api.post(widgets, custom(group, "many", of(2000)))).expectFailure(413, "RequestEntityTooLarge");
  assert.match(answer.string("message"), /larger than the 1572864 bytes/);
  (await api.patch(`${widgets}/fits`, of(2000))).expectFailure(413, "RequestEntityTooLarge");
  (await api.get(widgets)).expect(200, { "items.length": 1 });
});

inBothDomains("objects beyond 1.5 MiB are refused with 413, and what is there can still be deleted", async (api) => {
  const { group, widgets } = await serve(api, { type: "object", "x-kubernetes-preserve-unknown-fields": true });
  const large = (bytes: number): object => custom(group, "large", { spec: { text: "x".repeat(bytes) } });
  (await api.post(widgets, large(1_580_000))).expectFailure(413, "RequestEntityTooLarge");
  (await api.post(widgets, large(1_570_000))).expect(201);
  (await api.patch(`${widgets}/large`, { metadata: { annotations: { a: "x".repeat(10_000) } } })).expectFailure(
    413,
    "RequestEntityTooLarge",
  );
  (await api.patch(`${widgets}/large`, { metadata: { finalizers: ["example.com/wait"] } })).expect(200);
  (await api.delete(`${widgets}/large`)).expect(200, { "metadata.deletionTimestamp": present });
  (await api.patch(`${widgets}/large`, { metadata: { finalizers: null } })).expect(200);
  (await api.get(`${widgets}/large`)).expectFailure(404, "NotFound");
});

inBothDomains("an object that its owners of fields would make too large is stored without them", async (api) => {
  const { configMaps } = await api.createNamespace();
  const longKeys = Object.fromEntries(Array.from({ length: 9999 }, (_, i) => [`${"k".repeat(72)}${i}`, "A"]));
  const large = { "metadata.managedFields": absent, [`data.${"k".repeat(72)}9`]: "A" };
  (await api.post(configMaps, configMap("made", longKeys))).expect(201, large);
  (await api.get(`${configMaps}/made`)).expect(200, large);
  // An apply is impossible without managed fields, so this one is refused.
  const applied = configMap("made", { a: "b" });
  const answer = await api.patch(`${configMaps}/made?fieldManager=m&force=true`, applied, patchTypes.apply);
  answer.expectFailure(413, "RequestEntityTooLarge", /larger than the 1572864 bytes/);

  (await api.post(configMaps, configMap("put", { a: "b" }))).expect(201, { "metadata.managedFields": present });
  (await api.put(`${configMaps}/put`, configMap("put", longKeys))).expect(200, large);
  (await api.post(configMaps, configMap("patched", { a: "b" }))).expect(201);
  (await api.patch(`${configMaps}/patched`, { data: longKeys }, patchTypes.merge)).expect(200, large);
});
