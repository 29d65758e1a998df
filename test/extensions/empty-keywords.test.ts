/**
 * Schemas of definitions with keywords without effect: absent, null, zero, false and empty differ. Expectations are
 * answers of kube-apiserver 1.32.1.
 */
import assert from "node:assert/strict";
import { patchTypes } from "../client.ts";
import { crds, definition } from "../crds.ts";
import { type Api, suite } from "../harness.ts";

const inBothDomains = suite();

type Props = Readonly<Record<string, unknown>>;

const object = (properties: Props): Props => ({ type: "object", properties });

/** The positions of the keywords in a schema. */
const schemas = {
  root: (more: Props) => ({ ...object({ spec: { type: "object" } }), ...more }),
  nested: (more: Props) => object({ spec: { type: "object", ...more } }),
  item: (more: Props) => object({ spec: object({ list: { type: "array", items: { type: "object", ...more } } }) }),
  combination: (more: Props) => object({ spec: { type: "object", allOf: [more] } }),
  metadata: (more: Props) => object({ metadata: { type: "object", ...more } }),
  either: (more: Props) =>
    object({
      spec: object({
        port: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer", ...more }, { type: "string" }] },
      }),
    }),
};

type Position = keyof typeof schemas;
const all = Object.keys(schemas) as readonly Position[]; // the keys of the constant above

/** A keyword, and the positions at which it is refused: `status` is the root of a version with a status. */
type Case = readonly [keyword: string, value: unknown, where: readonly (Position | "status")[]];
const refused: readonly Case[] = [
  ["dependencies", {}, [...all, "status"]],
  ["dependencies", { a: null }, [...all, "status"]],
  ["dependencies", null, []],
  ["definitions", {}, ["status"]],
  ["definitions", null, []],
  ["patternProperties", {}, ["status"]],
  ["enum", [], ["status"]],
  ["enum", null, []],
  ["allOf", [], ["status"]],
  ["anyOf", [], ["status"]],
  ["oneOf", [], ["status"]],
  ["items", [], []],
  ["required", [], ["metadata", "either"]],
  ["required", null, []],
  ["properties", {}, ["either"]],
  ["additionalItems", false, [...all, "status"]],
  ["x-kubernetes-list-map-keys", [], ["status", "metadata", "either"]],
  ["x-kubernetes-validations", [], ["metadata", "either"]],
  ["$ref", "", [...all, "status"]],
  ["id", "", []],
  ["title", "", []],
  ["uniqueItems", false, []],
  ["exclusiveMaximum", false, []],
  ["externalDocs", {}, []],
  ["x-kubernetes-embedded-resource", false, []],
];

const post = (api: Api, position: Position, more: Props, withStatus = false) => {
  const version = withStatus ? { subresources: { status: {} } } : {};
  const body = definition("empty.example.com", { schema: schemas[position](more), version });
  return api.post(`${crds}?dryRun=All`, body);
};

inBothDomains("a keyword that is given empty is refused where the keyword itself is", async (api) => {
  for (const [keyword, value, where] of refused) {
    for (const position of all) {
      const answer = await post(api, position, { [keyword]: value });
      const expected = where.includes(position) ? 422 : 201;
      assert.equal(answer.status, expected, `${keyword}: ${JSON.stringify(value)} in ${position}: ${answer.text}`);
    }
    const answer = await post(api, "root", { [keyword]: value }, true);
    const expected = where.includes("status") ? 422 : 201;
    assert.equal(answer.status, expected, `${keyword}: ${JSON.stringify(value)} beside a status: ${answer.text}`);
  }
});

inBothDomains("what is false or an empty text is a value for some keywords", async (api) => {
  const only = /fields are allowed at the root of the schema if the status subresource is enabled/;
  for (const more of [{ additionalProperties: false }, { default: false }, { default: "" }, { default: [] }]) {
    (await post(api, "root", more, true)).expectFailure(422, "Invalid", only);
  }
  for (const more of [{ additionalProperties: false }, { "x-kubernetes-map-type": "" }]) {
    (await post(api, "metadata", more)).expectFailure(422, "Invalid", /must not specify anything other than name/);
  }
  (await post(api, "nested", { additionalProperties: false })).expect(201, {
    "spec.versions.0.schema.openAPIV3Schema.properties.spec": { type: "object", additionalProperties: false },
  });
});

inBothDomains("the same goes for updates; empty keywords are not stored", async (api) => {
  const group = "emptied.example.com";
  const path = `${crds}/widgets.${group}`;
  const version = { subresources: { status: {} } };
  const body = (more: Props): object => definition(group, { schema: schemas.root(more), version });
  (await api.post(crds, body({ required: [], "x-kubernetes-validations": [] }))).expect(201);
  const schema = "spec.versions.0.schema.openAPIV3Schema";
  (await api.get(path)).expect(200, { [schema]: schemas.root({}) });
  const versions = (more: Props): unknown => (body(more) as { spec: { versions: unknown } }).spec.versions;
  for (const more of [{ enum: [] }, { definitions: {} }, { dependencies: {} }]) {
    (await api.patch(path, { spec: { versions: versions(more) } })).expectFailure(422, "Invalid");
    (await api.patch(`${path}?fieldManager=m&force=true`, body(more), patchTypes.apply)).expectFailure(422, "Invalid");
    const [keyword] = Object.keys(more);
    const add = [{ op: "add", path: `/${schema.replaceAll(".", "/")}/${keyword}`, value: Object.values(more)[0] }];
    (await api.patch(path, add, patchTypes.json)).expectFailure(422, "Invalid");
  }
  (await api.patch(path, { spec: { versions: versions({ items: [] }) } })).expect(200, { [schema]: schemas.root({}) });
});

inBothDomains("a time of zero that a type may leave out is null, and not the same as none", async (api) => {
  const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
  const lease = (spec: object): object => ({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: api.unique() },
    spec,
  });
  const zero = "0001-01-01T00:00:00.000000Z";
  const answer = (await api.post(leases, lease({ renewTime: zero, acquireTime: null }))).expect(201, {
    spec: { renewTime: null },
  });
  const path = `${leases}/${answer.string("metadata.name")}`;
  (await api.get(path)).expect(200, { spec: { renewTime: null } });
  // A client that sends null back sends an absent time.
  (await api.patch(path, { spec: { leaseTransitions: 3 } })).expect(200, { spec: { leaseTransitions: 3 } });
});
