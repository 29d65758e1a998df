/** Objects and lists as Tables. */
import assert from "node:assert/strict";
import { asTable } from "../client.ts";
import { eventually, suite } from "../harness.ts";
import { attributesClass, attributesClasses, claim, claimTemplate, configMap, pod } from "../objects.ts";
import { absent, present, type View } from "../view.ts";

const inBothDomains = suite();

const roles = (ns: string): string => `/apis/rbac.authorization.k8s.io/v1/namespaces/${ns}/roles`;
const role = (name: string): unknown => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "Role",
  metadata: { name },
  rules: [],
});

const columnsOf = (table: View): string[] => table.list("columnDefinitions").map((column) => column.string("name"));

inBothDomains(
  "a list can be a Table with named and typed columns [TABLE-01] [TABLE-02] [TABLE-03] [TABLE-08]",
  async (api) => {
    const { claims } = await api.createNamespace();
    (await api.post(claims, claim("c1"))).expect(201);
    const table = (await api.get(claims, { accept: asTable })).expect(200, {
      kind: "Table",
      apiVersion: "meta.k8s.io/v1",
      "metadata.resourceVersion": /^\d+$/,
      "rows.length": 1,
    });
    assert.match(String(table.headers["content-type"]), /^application\/json/);
    for (const column of table.list("columnDefinitions")) {
      column.has({
        name: /./,
        type: /^(string|integer|number|boolean|date)$/,
        format: (value: unknown) => typeof value === "string",
        description: (value: unknown) => typeof value === "string",
        priority: (value: unknown) => typeof value === "number",
      });
    }
  },
);

inBothDomains("a kind without columns of its own has Name and Created At [TABLE-04] [TABLE-05]", async (api) => {
  const { ns } = await api.createNamespace();
  const answer = (await api.post(roles(ns), role("r1"))).expect(201);
  (await api.get(roles(ns), { accept: asTable })).expect(200, {
    "columnDefinitions.length": 2,
    "columnDefinitions.0.name": "Name",
    "columnDefinitions.0.type": "string",
    "columnDefinitions.0.format": "name",
    "columnDefinitions.1.name": "Created At",
    "columnDefinitions.1.type": "date",
    "rows.0.cells": ["r1", answer.at("metadata.creationTimestamp")],
  });
});

inBothDomains("a single object can be a Table of one row [TABLE-06] [TABLE-07]", async (api) => {
  const { ns, claims } = await api.createNamespace();
  const answer = (await api.post(claims, claim("c1", {}, { labels: { a: "1" } }))).expect(201);
  (await api.get(`${claims}/c1`, { accept: asTable })).expect(200, {
    kind: "Table",
    "rows.length": 1,
    "rows.0.cells.0": "c1",
    "rows.0.object.kind": "PartialObjectMetadata",
    "rows.0.object.apiVersion": "meta.k8s.io/v1",
    "rows.0.object.metadata.name": "c1",
    "rows.0.object.metadata.namespace": ns,
    "rows.0.object.metadata.uid": answer.at("metadata.uid"),
    "rows.0.object.metadata.labels": { a: "1" },
    "rows.0.object.spec": absent,
  });
});

inBothDomains(
  "the three reference kinds have columns of their own [TABLE-09]",
  async (api) => {
    const { claims, templates } = await api.createNamespace();
    const name = api.unique();
    (await api.post(claims, claim("c1", { storageClassName: "fast" }))).expect(201);
    (await api.post(claims, claim("c2", { storageClassName: "fast", volumeName: "pv-1" }))).expect(201);
    const status = { phase: "Bound", capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"] };
    (await api.patch(`${claims}/c2/status`, { status })).expect(200);
    const table = (await api.get(claims, { accept: asTable })).expect(200);
    assert.deepEqual(columnsOf(table), [
      "Name",
      "Status",
      "Volume",
      "Capacity",
      "Access Modes",
      "StorageClass",
      "VolumeAttributesClass",
      "Age",
      "VolumeMode",
    ]);
    const cells = table.list("rows").map((row) => row.at("cells") as unknown[]);
    for (const row of cells) assert.match(String(row[7]), /^\d+s$/);
    assert.deepEqual(
      cells.map((row) => row.toSpliced(7, 1)),
      [
        ["c1", "Pending", "", "", "", "fast", "<unset>", "Filesystem"],
        ["c2", "Bound", "pv-1", "1Gi", "RWO", "fast", "<unset>", "Filesystem"],
      ],
    );
    table.has({ "columnDefinitions.8.priority": 1, "columnDefinitions.0.priority": 0 });

    (await api.post(templates, claimTemplate("t1"))).expect(201);
    assert.deepEqual(columnsOf(await api.get(templates, { accept: asTable })), ["Name", "Age"]);
    (await api.post(attributesClasses, attributesClass(name))).expect(201);
    const classTable = await api.get(`${attributesClasses}/${name}`, { accept: asTable });
    assert.deepEqual(columnsOf(classTable), ["Name", "DriverName", "Age"]);
    classTable.expect(200, { "rows.0.cells.0": name, "rows.0.cells.1": "d.example.com" });
  },
  { differs: "the reference has the default columns for most kinds" },
);

inBothDomains("what a row holds beside its cells can be chosen [TABLE-10]", async (api) => {
  const { configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("m1", { k: "v" }))).expect(201);
  const read = (include: string) => api.get(`${configMaps}?includeObject=${include}`, { accept: asTable });
  (await read("None")).expect(200, { "rows.0.cells.0": "m1", "rows.0.object": null });
  (await read("Metadata")).expect(200, { "rows.0.object.kind": "PartialObjectMetadata", "rows.0.object.data": absent });
  (await read("Object")).expect(200, { "rows.0.object.kind": "ConfigMap", "rows.0.object.data": { k: "v" } });
  (await read("Foo")).expectClientError();
});

inBothDomains("a Table of a list carries its token and what remains [TABLE-07] [LIST-04] [LIST-06]", async (api) => {
  const { configMaps } = await api.createNamespace();
  for (const name of ["a", "b", "c"]) (await api.post(configMaps, configMap(name))).expect(201);
  const first = (await api.get(`${configMaps}?limit=2`, { accept: asTable })).expect(200, {
    "rows.length": 2,
    "metadata.remainingItemCount": 1,
    "metadata.continue": present,
  });
  const next = `${configMaps}?limit=2&continue=${encodeURIComponent(first.string("metadata.continue"))}`;
  (await api.get(next, { accept: asTable })).expect(200, { "rows.length": 1, "rows.0.cells.0": "c" });
});

inBothDomains("an empty collection is a Table with columns and without rows [TABLE-03]", async (api) => {
  const { configMaps } = await api.createNamespace();
  (await api.get(configMaps, { accept: asTable })).expect(200, {
    "columnDefinitions.0.name": "Name",
    rows: (value: unknown) => value === undefined || value === null || (value as []).length === 0,
  });
});

inBothDomains("a create can answer with a Table [TABLE-06]", async (api) => {
  const { configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("m1", { k: "v" }), { accept: asTable })).expect(201, {
    kind: "Table",
    "rows.0.cells.0": "m1",
    "rows.0.cells.1": 1,
  });
});

inBothDomains("the row of a pod that has ended says so", async (api) => {
  const { ns } = await api.createNamespace();
  const pods = `/api/v1/namespaces/${ns}/pods`;
  for (const name of ["a", "b", "c"]) {
    await eventually(async () => (await api.post(pods, pod(name))).expect(201));
  }
  (await api.patch(`${pods}/b/status`, { status: { phase: "Failed" } })).expect(200);
  (await api.patch(`${pods}/c/status`, { status: { phase: "Succeeded" } })).expect(200);
  (await api.get(pods, { accept: asTable })).expect(200, {
    "rows.0.conditions": absent,
    "rows.1.conditions": [{ type: "Completed", status: "True", reason: "Failed", message: "The pod failed." }],
    "rows.2.conditions.0.reason": "Succeeded",
  });
  (await api.get(`${pods}/c`, { accept: asTable })).expect(200, {
    "rows.0.conditions.0.message": "The pod has completed successfully.",
  });
});

inBothDomains("rows of flow schemas have the order of their precedence", async (api) => {
  const schemas = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
  const table = (await api.get(schemas, { accept: asTable })).expect(200);
  const cells = table.list("rows").map((row) => [Number(row.at("cells.2")), String(row.at("cells.0"))] as const);
  const sorted = [...cells].sort(([one, name], [other, otherName]) => one - other || (name < otherName ? -1 : 1));
  assert.deepEqual(cells, sorted);
  assert.ok(cells.length > 5);
  // Lists and their rows belong together.
  for (const [at, row] of table.list("rows").entries()) assert.equal(row.string("object.metadata.name"), cells[at]![1]);
});
