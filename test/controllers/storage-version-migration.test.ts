/** `StorageVersionMigration`: objects are written again in the version in which they would be stored now. */
import assert from "node:assert/strict";
import { crds, custom, definition } from "../crds.ts";
import { type Api, eventually, suite } from "../harness.ts";
import type { ObjectBody } from "../objects.ts";

const migrations = "/apis/storagemigration.k8s.io/v1alpha1/storageversionmigrations";

const inBothDomains = suite({
  featureGates: ["StorageVersionMigrator=true"],
  runtimeConfig: ["storagemigration.k8s.io/v1alpha1=true"],
});

const migration = (name: string, group: string, version: string, resource: string): ObjectBody => ({
  apiVersion: "storagemigration.k8s.io/v1alpha1",
  kind: "StorageVersionMigration",
  metadata: { name },
  spec: { resource: { group, version, resource } },
});

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
}

/** Returns the conditions of a migration, once one of them is final. */
function conditionsOf(api: Api, name: string): Promise<readonly Condition[]> {
  return eventually(async () => {
    const { status } = JSON.parse((await api.get(`${migrations}/${name}`)).expect(200).text) as {
      readonly status?: { readonly resourceVersion?: string; readonly conditions?: readonly Condition[] };
    };
    const { conditions = [], resourceVersion } = status ?? {};
    assert.ok(conditions.some(({ type }) => type !== "Running"));
    assert.ok(resourceVersion !== undefined || conditions.some(({ type }) => type === "Failed"));
    return conditions;
  });
}

const versions = (stored: string): object[] =>
  ["v1", "v2"].map((name) => ({
    name,
    served: true,
    storage: name === stored,
    schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
  }));

inBothDomains("objects stored in an old version are written in the new one, and only those", async (api) => {
  const group = `${api.unique("g")}.example.com`;
  const body = definition(group, { versions: versions("v1") });
  (await api.post(crds, body)).expect(201);
  const widgets = `/apis/${group}/v2/widgets`;
  const versionOf = async (name: string): Promise<string> =>
    (await api.get(`${widgets}/${name}`)).expect(200).string("metadata.resourceVersion");
  await eventually(async () => (await api.post(`/apis/${group}/v1/widgets`, custom(group, "old"))).expect(201));
  const path = `${crds}/widgets.${group}`;
  const current = (await api.get(path)).string("metadata.resourceVersion");
  const spec = { ...(body["spec"] as object), versions: versions("v2") };
  (await api.put(path, { ...body, metadata: { name: `widgets.${group}`, resourceVersion: current }, spec })).expect(
    200,
  );
  await eventually(async () => {
    (await api.post(widgets, { ...custom(group, "new"), apiVersion: `${group}/v2` })).expect(201);
  });
  const before = { old: await versionOf("old"), new: await versionOf("new") };
  const name = api.unique("m");
  (await api.post(migrations, migration(name, group, "v2", "widgets"))).expect(201);
  const conditions = await conditionsOf(api, name);
  assert.deepEqual(
    conditions.map(({ type, status, reason }) => [type, status, reason]),
    [
      ["Running", "False", "StorageVersionMigrationInProgress"],
      ["Succeeded", "True", "StorageVersionMigrationSucceeded"],
    ],
  );
  assert.notEqual(await versionOf("old"), before.old);
  assert.equal(await versionOf("new"), before.new);
  // A second migration has nothing to do.
  const after = await versionOf("old");
  const again = api.unique("m");
  (await api.post(migrations, migration(again, group, "v2", "widgets"))).expect(201);
  await conditionsOf(api, again);
  assert.equal(await versionOf("old"), after);
});

inBothDomains("a migration of a resource that is not served fails, and says so", async (api) => {
  const name = api.unique("m");
  (await api.post(migrations, migration(name, "none.example.com", "v1", "nothings"))).expect(201);
  const [failed] = await conditionsOf(api, name);
  assert.deepEqual([failed?.type, failed?.status, failed?.reason], ["Failed", "True", "StorageVersionMigrationFailed"]);
});
