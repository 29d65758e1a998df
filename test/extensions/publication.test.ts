/** Discovery and OpenAPI of custom resources: changes are immediate, and affect only changed definitions. */
import assert from "node:assert/strict";
import { asTable } from "../client.ts";
import { crds, custom, definition } from "../crds.ts";
import { type Api, eventually, suite } from "../harness.ts";
import { absent } from "../view.ts";

const inBothDomains = suite();

const schemaWith = (properties: object): object => ({
  type: "object",
  properties: { spec: { type: "object", properties } },
});

const reverseGroup = (group: string): string => group.split(".").reverse().join(".");

/** Returns the tags of all documents of OpenAPI version 3, which the addresses in the index contain. */
async function addresses(api: Api): Promise<ReadonlyMap<string, string>> {
  const { paths } = (await api.get("/openapi/v3")).expect(200).value as {
    paths: Record<string, { serverRelativeURL: string }>;
  };
  return new Map(Object.entries(paths).map(([path, { serverRelativeURL }]) => [path, serverRelativeURL]));
}

inBothDomains(
  "a definition is published when its create is answered, and withdrawn when it is gone [GEN-07]",
  async (api) => {
    const group = `${api.unique("g")}.example.com`;
    const names = { shortNames: ["wd"], categories: ["things"] };
    (await api.post(crds, definition(group, { names, schema: schemaWith({ size: { type: "integer" } }) }))).expect(201);
    (await api.get(`/apis/${group}`)).expect(200, { "versions.length": 1, "preferredVersion.version": "v1" });
    (await api.get(`/apis/${group}/v1`)).expect(200, {
      "resources.0.name": "widgets",
      "resources.0.shortNames": ["wd"],
      "resources.0.categories": ["things"],
    });
    const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    const groups = (await api.get("/apis", { accept: aggregated })).expect(200);
    assert.ok(groups.list("items").some((item) => item.string("metadata.name") === group));
    const type = `${reverseGroup(group)}.v1.Widget`;
    (await api.get(`/openapi/v3/apis/${group}/v1`)).expect(200, {
      [`components.schemas[${type}].properties.spec.properties.size`]: { type: "integer" },
      [`components.schemas[${type}].properties.metadata.allOf.0.$ref`]: /ObjectMeta$/,
      [`components.schemas[${type}List].description`]: "WidgetList is a list of Widget",
      [`paths[/apis/${group}/v1/widgets/{name}].patch.description`]: "partially update the specified Widget",
    });
    (await api.get("/openapi/v2")).expect(200, { [`definitions[${type}].properties.spec.type`]: "object" });
    (await api.delete(`${crds}/widgets.${group}`)).expect(200);
    await eventually(async () => (await api.get(`/apis/${group}/v1`)).expect(404));
    (await api.get(`/openapi/v3/apis/${group}/v1`)).expect(404);
    (await api.get("/openapi/v2")).expect(200, { [`definitions[${type}]`]: absent });
  },
);

inBothDomains("a changed schema changes the tag of its own document and of no other", async (api) => {
  const [one, other] = [`${api.unique("g")}.example.com`, `${api.unique("g")}.example.com`];
  for (const group of [one, other]) {
    (await api.post(crds, definition(group, { schema: schemaWith({ a: { type: "string" } }) }))).expect(201);
  }
  const before = await addresses(api);
  const path = `${crds}/widgets.${one}`;
  const document = (await api.get(path)).expect(200).value as object;
  // A change that is not published does not count.
  (await api.patch(path, { metadata: { labels: { a: "b" } } })).expect(200);
  assert.deepEqual(await addresses(api), before);
  const schema = { openAPIV3Schema: schemaWith({ a: { type: "string" }, b: { type: "integer" } }) };
  const versions = [{ name: "v1", served: true, storage: true, schema }];
  const spec = { ...(document as { spec: object }).spec, versions };
  (await api.patch(path, { spec })).expect(200);
  const after = await addresses(api);
  const changed = [...after.keys()].filter((key) => after.get(key) !== before.get(key));
  assert.deepEqual(changed, [`apis/${one}/v1`]);
  const address = after.get(`apis/${one}/v1`)!;
  (await api.get(address)).expect(200, {
    [`components.schemas[${reverseGroup(one)}.v1.Widget].properties.spec.properties.b.type`]: "integer",
  });
  const old = await api.get(before.get(`apis/${one}/v1`)!);
  assert.equal(old.status, 301);
  assert.equal(old.headers["location"], address);
  for (const group of [one, other]) (await api.delete(`${crds}/widgets.${group}`)).expect(200);
});

inBothDomains(
  "columns of a definition are those of its tables, and its age without any [TABLE-03] [TABLE-04]",
  async (api) => {
    const group = `${api.unique("g")}.example.com`;
    const columns = [
      { name: "Size", type: "integer", jsonPath: ".spec.size" },
      { name: "First", type: "string", jsonPath: ".spec.list[0].name", priority: 1, description: "The first." },
      { name: "When", type: "date", jsonPath: ".spec.when" },
    ];
    const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    const version = { additionalPrinterColumns: columns };
    (await api.post(crds, definition(group, { schema: open, version }))).expect(201);
    const path = `/apis/${group}/v1/widgets`;
    (await api.get(`${path}?includeObject=None`, { accept: asTable })).expect(200, { rows: [] });
    const spec = { size: 3, list: [{ name: "a" }, { name: "b" }], when: new Date(Date.now() - 7_000).toISOString() };
    (await api.post(path, custom(group, "w", { spec }))).expect(201);
    (await api.post(path, custom(group, "x", { spec: { size: "3" } }))).expect(201);
    (await api.get(`${path}?includeObject=None`, { accept: asTable })).expect(200, {
      "columnDefinitions.length": 4,
      "columnDefinitions.1.description": "Custom resource definition column (in JSONPath format): .spec.size",
      "columnDefinitions.2": { name: "First", type: "string", format: "", description: "The first.", priority: 1 },
      "rows.0.cells.0": "w",
      "rows.0.cells.1": 3,
      "rows.0.cells.2": "a",
      "rows.0.cells.3": /^\d+s$/,
      "rows.1.cells": ["x", null, null, null],
    });
    (
      await api.patch(
        `${crds}/widgets.${group}`,
        [{ op: "remove", path: "/spec/versions/0/additionalPrinterColumns" }],
        "application/json-patch+json",
      )
    ).expect(200);
    (await api.get(`${path}/w?includeObject=None`, { accept: asTable })).expect(200, {
      "columnDefinitions.length": 2,
      "columnDefinitions.1.name": "Age",
      "columnDefinitions.1.type": "date",
      "rows.0.cells.1": /^\d+s$/,
    });
    (await api.delete(`${crds}/widgets.${group}`)).expect(200);
  },
);
