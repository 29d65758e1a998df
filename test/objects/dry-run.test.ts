/** Dry runs: everything except the write. */
import assert from "node:assert/strict";
import { type Api, suite } from "../harness.ts";
import { claim, configMap } from "../objects.ts";
import { absent, present } from "../view.ts";

const inBothDomains = suite();

async function one(api: Api): Promise<{ maps: string; path: string; version: string }> {
  const { configMaps: maps } = await api.createNamespace();
  (await api.post(maps, configMap("m1", { k: "v" }))).expect(201);
  return { maps, path: `${maps}/m1`, version: (await api.get(maps)).string("metadata.resourceVersion") };
}

inBothDomains(
  "an empty dryRun is a real request [DRY-01]",
  async (api) => {
    const { claims } = await api.createNamespace();
    (await api.post(`${claims}?dryRun`, claim("c1"))).expect(201);
    (await api.get(`${claims}/c1`)).expect(200);
  },
  { differs: "1.32 may refuse the empty value" },
);

inBothDomains("a dry create answers as a real one and stores nothing [DRY-02] [DRY-03] [DRY-05]", async (api) => {
  const { claims } = await api.createNamespace();
  (await api.post(`${claims}?dryRun=All`, claim("c1"))).expect(201, {
    kind: "PersistentVolumeClaim",
    "metadata.uid": present,
    "metadata.creationTimestamp": present,
    "metadata.resourceVersion": absent,
    "spec.volumeMode": "Filesystem",
    "status.phase": "Pending",
  });
  (await api.get(`${claims}/c1`)).expect(404);
  (await api.get(claims)).expect(200, { items: [] });
  (await api.post(claims, claim("c1"))).expect(201);
});

inBothDomains("a dry create may carry a version, which its answer repeats [DRY-02]", async (api) => {
  const { configMaps: maps } = await api.createNamespace();
  (await api.post(`${maps}?dryRun=All`, configMap("m1", {}, { resourceVersion: "5" }))).expect(201, {
    "metadata.resourceVersion": "5",
  });
  (await api.get(`${maps}/m1`)).expect(404);
});

inBothDomains("a dry update, patch and delete answer with what would be [DRY-03] [DRY-08]", async (api) => {
  const { maps, path } = await one(api);
  (await api.put(`${path}?dryRun=All`, configMap("m1", { k: "w" }))).expect(200, { "data.k": "w" });
  (await api.patch(`${path}?dryRun=All`, { data: { k: "x" } })).expect(200, { "data.k": "x" });
  (await api.delete(`${path}?dryRun=All`)).expect(200);
  (await api.delete(`${maps}?dryRun=All`)).expect(200);
  (await api.get(path)).expect(200, { "data.k": "v", "metadata.deletionTimestamp": absent });
});

inBothDomains("a dry delete of a claim answers with the claim [DRY-03] [DRY-08]", async (api) => {
  const { claims } = await api.createNamespace();
  for (const name of ["c1", "c2"]) (await api.post(claims, claim(name))).expect(201);
  (await api.delete(`${claims}/c1?dryRun=All`)).expect([200, 202], {
    kind: "PersistentVolumeClaim",
    "metadata.name": "c1",
  });
  (await api.delete(`${claims}?dryRun=All`)).expect(200);
  (await api.get(claims)).expect(200, {
    "items.length": 2,
    "items.0.metadata.deletionTimestamp": absent,
    "items.1.metadata.deletionTimestamp": absent,
  });
});

inBothDomains("a dry run is validated like a real one [DRY-04]", async (api) => {
  const { maps, path } = await one(api);
  const bad = configMap("Bad_Name");
  const real = await api.post(maps, bad);
  const dry = await api.post(`${maps}?dryRun=All`, bad);
  assert.deepEqual(dry.value, real.value);
  dry.expectFailure(422, "Invalid");
  (await api.post(`${maps}?dryRun=All`, configMap("m1"))).expectFailure(409, "AlreadyExists");
  (await api.put(`${maps}/none?dryRun=All`, configMap("none"))).expectFailure(404, "NotFound");
  (await api.delete(`${maps}/none?dryRun=All`)).expectFailure(404, "NotFound");
  (await api.patch(`${path}?dryRun=All`, { metadata: { labels: { "bad key": "1" } } })).expectFailure(422, "Invalid");
});

inBothDomains("a dry run needs the rights of the real request [DRY-06]", async (api) => {
  const { ns, maps } = { ...(await api.createNamespace()), maps: "" };
  const path = `/api/v1/namespaces/${ns}/configmaps`;
  assert.equal(maps, "");
  (await api.post(`${path}?dryRun=All`, configMap("m1"), { as: "bob" })).expectFailure(
    403,
    "Forbidden",
    `configmaps is forbidden: User "bob" cannot create resource "configmaps" in API group "" in the namespace "${ns}"`,
  );
});

inBothDomains("a dry run sends no event and takes no version [DRY-09]", async (api) => {
  const { maps, path, version } = await one(api);
  const stream = await api.watch(`${maps}?resourceVersion=${version}`);
  (await api.post(`${maps}?dryRun=All`, configMap("m2"))).expect(201);
  (await api.patch(`${path}?dryRun=All`, { data: { k: "x" } })).expect(200);
  (await api.delete(`${path}?dryRun=All`)).expect(200);
  (await api.post(maps, configMap("real"))).expect(201);
  (await stream.next()).has({ type: "ADDED", "object.metadata.name": "real" });
});

inBothDomains("conflicts are found in a dry run [DRY-10]", async (api) => {
  const { path } = await one(api);
  const stale = (await api.get(path)).expect(200);
  (await api.patch(path, { data: { k: "w" } })).expect(200);
  (await api.put(`${path}?dryRun=All`, stale.value)).expectFailure(409, "Conflict");
  const precondition = { preconditions: { uid: "other" } };
  (await api.delete(`${path}?dryRun=All`, { kind: "DeleteOptions", apiVersion: "v1", ...precondition })).expectFailure(
    409,
    "Conflict",
  );
});

inBothDomains("a dry run differs from the real request only in what is given out [DRY-11]", async (api) => {
  const { claims } = await api.createNamespace();
  const body = { ...claim("x"), metadata: { generateName: "p-", labels: { a: "1" } } };
  const dry = (await api.post(`${claims}?dryRun=All`, body)).expect(201);
  const real = (await api.post(claims, body)).expect(201);
  assert.deepEqual(plain(dry.value), plain(real.value));
});

inBothDomains("only All is a dry run [DRY-12]", async (api) => {
  const { maps, path } = await one(api);
  for (const answer of [
    await api.post(`${maps}?dryRun=Foo`, configMap("m2")),
    await api.put(`${path}?dryRun=all`, configMap("m1")),
    await api.patch(`${path}?dryRun=Foo`, { data: { k: "x" } }),
    await api.delete(`${path}?dryRun=Foo`),
  ]) {
    answer.expectFailure(422, "Invalid", /dryRun: Unsupported value: .*: supported values: "All"/);
  }
  (await api.get(maps)).expect(200, { "items.length": 1, "items.0.data.k": "v" });
});

/** Returns the object without the values that a server generates. */
function plain(value: unknown): unknown {
  const object = structuredClone(value) as { metadata: Record<string, unknown> };
  for (const key of ["name", "uid", "creationTimestamp", "resourceVersion", "managedFields"])
    delete object.metadata[key];
  return object;
}
