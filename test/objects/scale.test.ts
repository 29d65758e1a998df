/** The `scale` subresource of workloads and custom resources. */
import assert from "node:assert/strict";
import { patchTypes } from "../client.ts";
import { crds, custom, definition } from "../crds.ts";
import { suite } from "../harness.ts";
import { absent } from "../view.ts";

const inBothDomains = suite();

const deploymentsIn = (ns: string): string => `/apis/apps/v1/namespaces/${ns}/deployments`;
const deployment = (name: string, replicas: number): unknown => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name }, matchExpressions: [{ key: "t", operator: "In", values: ["b", "a"] }] },
    template: { metadata: { labels: { app: name, t: "a" } }, spec: { containers: [{ name: "c", image: "i" }] } },
  },
});
const scale = (name: string, replicas: number, metadata: object = {}): unknown => ({
  apiVersion: "autoscaling/v1",
  kind: "Scale",
  metadata: { name, ...metadata },
  spec: { replicas },
});
const toApplyBody = (body: unknown): string => JSON.stringify(body);
const apply = "application/apply-patch+yaml";

inBothDomains("the scale of a deployment shows wanted and present replicas and the selector", async (api) => {
  const { ns } = await api.createNamespace();
  const path = deploymentsIn(ns);
  const answer = (await api.post(path, deployment("d", 2))).expect(201);
  const got = (await api.get(`${path}/d/scale`)).expect(200, {
    apiVersion: "autoscaling/v1",
    kind: "Scale",
    "metadata.name": "d",
    "metadata.namespace": ns,
    "metadata.uid": answer.at("metadata.uid"),
    "metadata.labels": absent,
    spec: { replicas: 2 },
    status: { replicas: 0, selector: "app=d,t in (a,b)" },
  });
  (await api.put(`${path}/d/scale`, got.value)).expect(200, { spec: { replicas: 2 } });
  (await api.get(`${path}/none/scale`)).expectFailure(404, "NotFound", 'deployments/scale.apps "none" not found');
  (await api.put(`${path}/none/scale`, { ...(got.value as object), metadata: { name: "none" } })).expectFailure(
    404,
    "NotFound",
    'deployments.apps "none" not found',
  );
  const inCore = `/api/v1/namespaces/${ns}/replicationcontrollers/none/scale`;
  (await api.get(inCore)).expectFailure(404, "NotFound", 'replicationcontrollers/scale.autoscaling "none" not found');
  (await api.post(`${path}/d/scale`, {})).expect(405);
  (await api.delete(`${path}/d/scale`)).expect(405);
});

inBothDomains("the scale of a workload is checked as an object, and its uid is a precondition", async (api) => {
  const { ns } = await api.createNamespace();
  const path = deploymentsIn(ns);
  (await api.post(path, deployment("d", 2))).expect(201);
  const wrong = { metadata: { finalizers: ["hold"] }, spec: { replicas: 3 } };
  (await api.patch(`${path}/d/scale`, wrong)).expectFailure(
    422,
    "Invalid",
    'Scale.autoscaling "d" is invalid: metadata.finalizers[0]: Invalid value: "hold": name is neither a standard finalizer name nor is it fully qualified',
  );
  (await api.put(`${path}/d/scale`, scale("d", 3, { finalizers: ["hold"] }))).expect(422);
  const other = { metadata: { uid: "abc" }, spec: { replicas: 3 } };
  for (const type of [patchTypes.merge, patchTypes.strategic]) {
    (await api.patch(`${path}/d/scale`, other, type)).expectFailure(
      409,
      "Conflict",
      /^Operation cannot be fulfilled on deployments\/scale\.apps "d": Precondition failed: UID in precondition: abc, /,
    );
  }
  const applied = toApplyBody(scale("d", 3, { uid: "abc" }));
  (await api.patch(`${path}/d/scale?fieldManager=m&force=true`, applied, apply)).expect(409);
  (await api.get(`${path}/d`)).expect(200, { "spec.replicas": 2 });
  const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
  const table = (await api.get(`${path}/d/scale`, { accept })).expect(200);
  assert.deepEqual(
    table.list("columnDefinitions").map((column) => `${column.string("name")} ${column.string("type")}`),
    ["Name string", "Desired integer", "Available integer", "Age string"],
  );
});

inBothDomains("scales and workloads of earlier releases are known, and not taken", async (api) => {
  const { ns } = await api.createNamespace();
  const path = deploymentsIn(ns);
  (await api.post(path, deployment("d", 0))).expect(201);
  const sent = async (apiVersion: string, kind: string): Promise<string> => {
    const answer = await api.put(`${path}/d/scale`, { apiVersion, kind, metadata: { name: "d" } });
    return answer.expectFailure(400, "BadRequest").string("message");
  };
  for (const version of ["extensions/v1beta1", "apps/v1beta1", "apps/v1beta2"]) {
    const text = `the API version in the data (${version}) does not match the expected API version (autoscaling/v1)`;
    assert.equal(await sent(version, "Scale"), text);
  }
  assert.equal(
    await sent("extensions/v1beta1", "Deployment"),
    'Deployment in version "v1beta1" cannot be handled as a Scale: converting (v1beta1.Deployment) to (autoscaling.Scale): unknown conversion',
  );
  for (const [version, kind] of [
    ["extensions/v1", "Scale"],
    ["apps/v1beta1", "DaemonSet"],
    ["apps/v1beta1", "DaemonSetList"],
    ["v1", "Table"],
  ] as const) {
    assert.ok((await sent(version, kind)).endsWith(`: no kind "${kind}" is registered for version "${version}"`));
  }
});

inBothDomains("every kind of patch writes a scale, and its manager owns the replicas", async (api) => {
  const { ns } = await api.createNamespace();
  const path = deploymentsIn(ns);
  (await api.post(`${path}?fieldManager=maker`, deployment("d", 2))).expect(201);
  (await api.patch(`${path}/d/scale?fieldManager=scaler`, { spec: { replicas: 3 } })).expect(200, {
    kind: "Scale",
    spec: { replicas: 3 },
    "metadata.managedFields": absent,
  });
  (await api.get(`${path}/d`)).expect(200, {
    "spec.replicas": 3,
    "metadata.generation": 2,
    "metadata.managedFields.length": 2,
    "metadata.managedFields.0": {
      manager: "scaler",
      operation: "Update",
      apiVersion: "apps/v1",
      fieldsType: "FieldsV1",
      fieldsV1: { "f:spec": { "f:replicas": {} } },
      subresource: "scale",
    },
    "metadata.managedFields.1.fieldsV1.f:spec.f:replicas": absent,
  });
  (await api.patch(`${path}/d/scale`, { spec: { replicas: 4 } }, patchTypes.strategic)).expect(200);
  const operation = { op: "replace", path: "/spec/replicas", value: 5 };
  (await api.patch(`${path}/d/scale`, [operation], patchTypes.json)).expect(200, { spec: { replicas: 5 } });
  (await api.patch(`${path}/d/scale?fieldManager=a`, toApplyBody(scale("d", 5)), apply)).expect(200);
  const conflict = await api.patch(`${path}/d/scale?fieldManager=b`, toApplyBody(scale("d", 6)), apply);
  conflict.expectFailure(409, "Conflict", /conflicts with "a" with subresource "scale"/);
  (await api.patch(`${path}/d/scale?fieldManager=b&force=true`, toApplyBody(scale("d", 6)), apply)).expect(200);
  (await api.get(`${path}/d`)).expect(200, { "spec.replicas": 6, "metadata.managedFields.0.manager": "b" });
});

inBothDomains(
  "a scale is refused when it is stale, negative or of another object, and dry runs write nothing",
  async (api) => {
    const { ns } = await api.createNamespace();
    const path = deploymentsIn(ns);
    const answer = (await api.post(path, deployment("d", 2))).expect(201);
    const resourceVersion = answer.at("metadata.resourceVersion");
    (await api.put(`${path}/d/scale`, scale("d", 3, { resourceVersion }))).expect(200, { spec: { replicas: 3 } });
    const stale = await api.put(`${path}/d/scale`, scale("d", 4, { resourceVersion }));
    stale.expectFailure(
      409,
      "Conflict",
      /^Operation cannot be fulfilled on deployments.apps "d": the object has been modified/,
    );
    const negative = "spec.replicas: Invalid value: -1: must be greater than or equal to 0";
    const response = await api.patch(`${path}/d/scale`, { spec: { replicas: -1 } });
    response.expectFailure(422, "Invalid", `Scale.autoscaling "d" is invalid: ${negative}`);
    (await api.put(`${path}/d/scale`, scale("e", 4))).expectFailure(
      400,
      "BadRequest",
      /does not match the name on the URL/,
    );
    (await api.put(`${path}/d/scale`, deployment("d", 4))).expectFailure(
      400,
      "BadRequest",
      /cannot be handled as a Scale/,
    );
    (await api.put(`${path}/d/scale?dryRun=All`, scale("d", 9))).expect(200, { spec: { replicas: 9 } });
    (await api.get(`${path}/d/scale`)).expect(200, { spec: { replicas: 3 } });
  },
);

inBothDomains("the scale of a custom resource is where its definition says", async (api) => {
  const group = `${api.unique("g")}.example.com`;
  const number = { type: "object", properties: { count: { type: "integer", maximum: 20 } } };
  const properties = {
    spec: { type: "object", properties: { size: number, other: { type: "string" } } },
    status: { type: "object", properties: { size: number, selector: { type: "string" } } },
  };
  const paths = {
    specReplicasPath: ".spec.size.count",
    statusReplicasPath: ".status.size.count",
    labelSelectorPath: ".status.selector",
  };
  const version = { subresources: { status: {}, scale: paths } };
  const fields = { schema: { type: "object", properties }, version };
  (await api.post(crds, definition(group, fields))).expect(201);
  const path = `/apis/${group}/v1/widgets`;
  (await api.post(path, custom(group, "w", { spec: { other: "x" } }))).expect(201);
  const missing = await api.get(`${path}/w/scale`);
  const text = 'the spec replicas field ".spec.size.count" does not exist';
  missing.expectFailure(500, "InternalError", `Internal error occurred: ${text}`);
  const empty = await api.patch(`${path}/w/scale`, { metadata: { labels: { a: "b" } } });
  empty.expectFailure(400, "BadRequest", 'the spec replicas field ".spec.size.count" cannot be empty');
  (await api.patch(`${path}/w/scale?fieldManager=scaler`, { spec: { replicas: 3 } })).expect(200, {
    spec: { replicas: 3 },
    status: { replicas: 0 },
  });
  (await api.get(`${path}/w`)).expect(200, {
    spec: { other: "x", size: { count: 3 } },
    "metadata.generation": 2,
  });
  (await api.patch(`${path}/w/status`, { status: { size: { count: 2 }, selector: "a=b" } })).expect(200);
  (await api.get(`${path}/w/scale`)).expect(200, { status: { replicas: 2, selector: "a=b" } });
  // The schema of the object checks the number.
  const large = await api.patch(`${path}/w/scale`, { spec: { replicas: 21 } });
  large.expectFailure(422, "Invalid", /spec.size.count in body should be less than or equal to 20/);
  (await api.put(`${path}/w/scale`, scale("w", 7))).expect(200, { spec: { replicas: 7 } });
  (await api.patch(`${path}/w/scale`, { spec: { replicas: 8 } }, patchTypes.strategic)).expect(415);
  (await api.delete(`${crds}/widgets.${group}`)).expect(200);
});
