/** PersistentVolumeClaims: defaults, rules, data sources, status, gates. */
import assert from "node:assert/strict";
import { type Answer, asTable, patchTypes } from "../client.ts";
import { type Api, eventually, gated, suite, withOwnServer } from "../harness.ts";
import { attributesClass, attributesClasses, claim, namespace, namespacePaths } from "../objects.ts";
import { absent, present } from "../view.ts";

const reference = { differs: "the reference has no rules for claims" };
const inBoth = suite();
const inBothDomains = (name: string, run: (api: Api) => Promise<void>): void => inBoth(name, run, reference);

const storageClasses = "/apis/storage.k8s.io/v1/storageclasses";

/** Creates a claim `c1` in a new namespace. */
async function one(api: Api, spec = {}): Promise<{ claims: string; path: string }> {
  const { claims } = await api.createNamespace();
  (await api.post(claims, claim("c1", spec))).expect(201);
  return { claims, path: `${claims}/c1` };
}

const writeStatus = (api: Api, path: string, status: unknown): Promise<Answer> =>
  api.patch(`${path}/status`, { status });

/** Expects a refusal with one finding. */
async function expectRefusal(
  api: Api,
  claims: string,
  spec: object,
  field: string,
  message: string | RegExp,
): Promise<void> {
  (await api.post(claims, claim("bad", spec))).expectFailure(422, "Invalid", undefined, {
    [`details.causes[field=${field}].message`]: message,
  });
  (await api.get(`${claims}/bad`)).expect(404);
}

/** Expects that a create is accepted and results in the fields. */
const createClaim = async (api: Api, claims: string, spec: object, fields = {}): Promise<Answer> =>
  (await api.post(claims, claim(api.unique("c"), spec))).expect(201, fields);

inBothDomains("a claim is namespaced and has metadata, spec and status [PVC-01] [PVC-02]", async (api) => {
  const { ns, claims } = await api.createNamespace();
  (await api.post(claims, claim("c1"))).expect(201, {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    "metadata.namespace": ns,
  });
  (await api.get(`${claims}/c1`)).expect(200, { metadata: present, spec: present, status: present });
});

inBothDomains("the status is not taken from a write of the claim [PVC-03]", async (api) => {
  const { claims } = await api.createNamespace();
  (await api.post(claims, { ...claim("c1"), status: { phase: "Lost" } })).expect(201, { "status.phase": "Pending" });
  const current = (await api.get(`${claims}/c1`)).value as object;
  (await api.put(`${claims}/c1`, { ...current, status: { phase: "Lost" } })).expect(200, { "status.phase": "Pending" });
});

inBothDomains("a new claim has its defaults [PVC-15] [PVC-45] [PVC-57] [PVC-58] [PVC-64]", async (api) => {
  const { claims } = await api.createNamespace();
  await createClaim(
    api,
    claims,
    {},
    {
      "spec.volumeMode": "Filesystem",
      "status.phase": "Pending",
      "status.allocatedResourceStatuses": absent,
      "status.currentVolumeAttributesClassName": absent,
      "status.modifyVolumeStatus": absent,
    },
  );
  await createClaim(api, claims, { volumeMode: "Block" }, { "spec.volumeMode": "Block" });
});

inBothDomains("access modes are a list of known modes [PVC-04] [PVC-06]", async (api) => {
  const { claims } = await api.createNamespace();
  const modes = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"];
  await createClaim(api, claims, { accessModes: modes }, { "spec.accessModes": modes });
  await createClaim(api, claims, { accessModes: ["ReadWriteOncePod"] }, { "spec.accessModes": ["ReadWriteOncePod"] });
  (await api.post(claims, claim("bad", { accessModes: "ReadWriteOnce" }))).expectFailure(400, "BadRequest");
  await expectRefusal(
    api,
    claims,
    { accessModes: [] },
    "spec.accessModes",
    "Required value: at least 1 access mode is required",
  );
  await expectRefusal(
    api,
    claims,
    { accessModes: ["Sometimes"] },
    "spec.accessModes",
    'Unsupported value: "Sometimes": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
  );
  await expectRefusal(
    api,
    claims,
    { accessModes: ["ReadWriteOnce", "ReadWriteOncePod"] },
    "spec.accessModes",
    "Forbidden: may not use ReadWriteOncePod with other access modes",
  );
});

inBothDomains("access modes are one value: owned and replaced as a whole [PVC-05]", async (api) => {
  const { claims } = await api.createNamespace();
  const answer = await api.post(claims, claim("c1", { accessModes: ["ReadWriteOnce", "ReadOnlyMany"] }));
  answer.expect(201, { "metadata.managedFields.0.fieldsV1.f:spec.f:accessModes": {} });
  const status = (accessModes: string[]) =>
    api.patch(`${claims}/c1/status`, { status: { accessModes } }, patchTypes.strategic);
  (await status(["ReadWriteOnce"])).expect(200, { "status.accessModes": ["ReadWriteOnce"] });
  (await status(["ReadOnlyMany"])).expect(200, { "status.accessModes": ["ReadOnlyMany"] });
});

inBothDomains("the selector is a label selector [PVC-07]", async (api) => {
  const { claims } = await api.createNamespace();
  const selector = { matchLabels: { a: "b" }, matchExpressions: [{ key: "c", operator: "In", values: ["d"] }] };
  await createClaim(api, claims, { selector }, { "spec.selector": selector });
  await expectRefusal(
    api,
    claims,
    { selector: { matchExpressions: [{ key: "a", operator: "Near", values: ["b"] }] } },
    "spec.selector.matchExpressions[0].operator",
    'Invalid value: "Near": not a valid selector operator',
  );
  const noValues = { matchExpressions: [{ key: "a", operator: "In" }] };
  await expectRefusal(
    api,
    claims,
    { selector: noValues },
    "spec.selector.matchExpressions[0].values",
    /^Required value/,
  );
});

inBothDomains("resources are quantities [PVC-08] [PVC-10]", async (api) => {
  const { claims } = await api.createNamespace();
  const resources = { requests: { storage: "1Gi" }, limits: { storage: "2Gi" } };
  await createClaim(api, claims, { resources }, { "spec.resources": resources });
  await createClaim(
    api,
    claims,
    { resources: { requests: { storage: "1024Mi" } } },
    { "spec.resources.requests.storage": "1Gi" },
  );
  (await api.post(claims, claim("bad", { resources: { requests: { storage: "abc" } } }))).expectFailure(
    400,
    "BadRequest",
  );
  await expectRefusal(api, claims, { resources: {} }, "spec.resources[storage]", "Required value");
  const zero = { requests: { storage: "0" } };
  await expectRefusal(
    api,
    claims,
    { resources: zero },
    "spec.resources[storage]",
    'Invalid value: "0": must be greater than zero',
  );
});

inBothDomains("a request is not beyond its limit [PVC-09]", async (api) => {
  const { claims } = await api.createNamespace();
  const resources = { requests: { storage: "2Gi" }, limits: { storage: "1Gi" } };
  (await api.post(claims, claim("bad", { resources }))).expectClientError();
  (await api.get(`${claims}/bad`)).expect(404);
  await createClaim(api, claims, { resources: { requests: { storage: "1Gi" }, limits: { storage: "1024Mi" } } });
});

inBothDomains("names of volume, class and mode are texts [PVC-13] [PVC-14] [ERR-05]", async (api) => {
  const { claims } = await api.createNamespace();
  const spec = { volumeName: "pv-1", storageClassName: "fast" };
  await createClaim(api, claims, spec, { "spec.volumeName": "pv-1", "spec.storageClassName": "fast" });
  (await api.post(claims, claim("bad", { storageClassName: 5 }))).expectFailure(400, "BadRequest");
  const mode = 'Unsupported value: "Tape": supported values: "Block", "Filesystem"';
  await expectRefusal(api, claims, { volumeMode: "Tape" }, "spec.volumeMode", mode);
});

inBothDomains("the spec of a claim stays as it is [PVC-16]", async (api) => {
  const { path } = await one(api, { storageClassName: "slow" });
  const immutable =
    /spec: Forbidden: spec is immutable after creation except resources\.requests and volumeAttributesClassName for bound claims/;
  const current = (await api.get(path)).value as { spec: object };
  (await api.put(path, { ...current, spec: { ...current.spec, storageClassName: "fast" } })).expectFailure(
    422,
    "Invalid",
    immutable,
  );
  (await api.patch(path, { spec: { accessModes: ["ReadWriteMany"] } })).expectFailure(422, "Invalid", immutable);
  (await api.patch(path, { spec: { resources: { requests: { storage: "2Gi" } } } })).expectFailure(
    422,
    "Invalid",
    immutable,
  );
  (await api.patch(path, { metadata: { labels: { a: "b" } } })).expect(200);
  (await api.patch(path, { spec: { volumeName: "pv-1" } })).expect(200, { "spec.volumeName": "pv-1" });
  (await api.patch(path, { spec: { volumeName: "pv-2" } })).expectFailure(422, "Invalid", immutable);
});

inBothDomains("a bound claim may grow, and shrink while it stays above its capacity [PVC-11] [PVC-12]", async (api) => {
  const { claims } = await api.createNamespace();
  const name = api.unique("sc");
  const storageClass = { apiVersion: "storage.k8s.io/v1", kind: "StorageClass", provisioner: "example.com/p" };
  (await api.post(storageClasses, { ...storageClass, metadata: { name }, allowVolumeExpansion: true })).expect(201);
  (await api.post(claims, claim("c1", { storageClassName: name, volumeName: "pv-1" }))).expect(201);
  const path = `${claims}/c1`;
  (
    await writeStatus(api, path, { phase: "Bound", capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"] })
  ).expect(200);
  const resize = (storage: string) => api.patch(path, { spec: { resources: { requests: { storage } } } });
  (await resize("3Gi")).expect(200, { "spec.resources.requests.storage": "3Gi" });
  (await resize("2Gi")).expect(200, { "spec.resources.requests.storage": "2Gi" });
  (await resize("1Gi")).expectFailure(
    422,
    "Invalid",
    /spec\.resources\.requests\.storage: Forbidden: field can not be less than status\.capacity/,
  );
  (await api.get(path)).expect(200, { "spec.resources.requests.storage": "2Gi" });
});

inBothDomains("a claim of a class that cannot grow does not grow [PVC-16]", async (api) => {
  const { claims } = await api.createNamespace();
  const name = api.unique("sc");
  const storageClass = { apiVersion: "storage.k8s.io/v1", kind: "StorageClass", provisioner: "example.com/p" };
  (await api.post(storageClasses, { ...storageClass, metadata: { name } })).expect(201);
  (await api.post(claims, claim("c1", { storageClassName: name, volumeName: "pv-1" }))).expect(201);
  (await writeStatus(api, `${claims}/c1`, { phase: "Bound", capacity: { storage: "1Gi" } })).expect(200);
  (await api.patch(`${claims}/c1`, { spec: { resources: { requests: { storage: "3Gi" } } } })).expectFailure(
    403,
    "Forbidden",
    'persistentvolumeclaims "c1" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
  );
});

const snapshot = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "s" };
const otherClaim = { kind: "PersistentVolumeClaim", name: "other" };
const foo = { apiGroup: "example.com", kind: "Foo", name: "f" };

inBothDomains(
  "a data source is a snapshot or a claim; anything else is dropped [PVC-17] [PVC-18] [PVC-19]",
  async (api) => {
    const { claims } = await api.createNamespace();
    await createClaim(api, claims, { dataSource: snapshot }, { "spec.dataSource": snapshot });
    await createClaim(
      api,
      claims,
      { dataSource: otherClaim },
      { "spec.dataSource.kind": "PersistentVolumeClaim", "spec.dataSource.name": "other" },
    );
    for (const dataSource of [{ kind: "Pod", name: "p" }, foo]) {
      await createClaim(api, claims, { dataSource }, { "spec.dataSource": absent, "spec.dataSourceRef": absent });
    }
  },
);

inBothDomains(
  "a data source reference is any object of a group, or a claim; anything else is refused [PVC-20] [PVC-21] [PVC-22] [PVC-24] [PVC-25] [PVC-26] [PVC-27]",
  async (api) => {
    const { claims } = await api.createNamespace();
    await createClaim(api, claims, { dataSourceRef: foo }, { "spec.dataSourceRef": foo });
    await createClaim(
      api,
      claims,
      { dataSourceRef: otherClaim },
      { "spec.dataSourceRef.kind": "PersistentVolumeClaim" },
    );
    await expectRefusal(
      api,
      claims,
      { dataSourceRef: { kind: "Pod", name: "p" } },
      "spec.dataSourceRef",
      /^Invalid value/,
    );
    await expectRefusal(
      api,
      claims,
      { dataSourceRef: { kind: "Foo", name: "f" } },
      "spec.dataSourceRef",
      /^Invalid value/,
    );
    await expectRefusal(
      api,
      claims,
      { dataSourceRef: { apiGroup: "example.com", name: "f" } },
      "spec.dataSourceRef.kind",
      "Required value",
    );
    await expectRefusal(
      api,
      claims,
      { dataSourceRef: { apiGroup: "example.com", kind: "Foo" } },
      "spec.dataSourceRef.name",
      "Required value",
    );
  },
);

inBothDomains("both sources are one [PVC-30] [PVC-31] [PVC-32]", async (api) => {
  const { claims } = await api.createNamespace();
  await createClaim(api, claims, { dataSource: snapshot }, { "spec.dataSourceRef": snapshot });
  await createClaim(api, claims, { dataSourceRef: foo }, { "spec.dataSource": foo });
  await createClaim(api, claims, { dataSource: snapshot, dataSourceRef: snapshot });
  const other = { ...otherClaim, name: "another" };
  (await api.post(claims, claim("bad", { dataSource: otherClaim, dataSourceRef: other }))).expectFailure(
    422,
    "Invalid",
  );
  (await api.get(`${claims}/bad`)).expect(404);
});

inBothDomains("a reference into another namespace is dropped by default [PVC-28]", async (api) => {
  const { claims } = await api.createNamespace();
  await createClaim(
    api,
    claims,
    { dataSourceRef: { ...foo, namespace: "other" } },
    { "spec.dataSourceRef": absent, "spec.dataSource": absent },
  );
});

inBothDomains("the attributes class may change, but not go [PVC-34] [PVC-35] [VAC-13]", async (api) => {
  const { path } = await one(api);
  const [a, b] = [api.unique("a"), api.unique("b")];
  for (const name of [a, b]) (await api.post(attributesClasses, attributesClass(name))).expect(201);
  const set = (name: string | null) => api.patch(path, { spec: { volumeAttributesClassName: name } });
  (await set(a)).expect(200, { "spec.volumeAttributesClassName": a });
  (await set(b)).expect(200, { "spec.volumeAttributesClassName": b });
  (await set("")).expectFailure(
    422,
    "Invalid",
    /spec\.volumeAttributesClassName: Forbidden: update from non-nil value to an empty string is forbidden/,
  );
  (await set(null)).expectFailure(
    422,
    "Invalid",
    /spec\.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden/,
  );
  (await api.get(path)).expect(200, { "spec.volumeAttributesClassName": b });
});

inBothDomains("a claim whose attributes class is missing waits for it [PVC-37]", async (api) => {
  const name = api.unique("missing");
  const { path } = await one(api, { volumeAttributesClassName: name });
  await eventually(async () => {
    (await api.get(path)).expect(200, {
      "status.modifyVolumeStatus.status": "Pending",
      "status.modifyVolumeStatus.targetVolumeAttributesClassName": name,
    });
  });
});

inBothDomains(
  "the status holds what controllers and drivers write [PVC-39] [PVC-48] [PVC-51] [PVC-55] [PVC-56]",
  async (api) => {
    const { path } = await one(api);
    const time = "2026-01-02T03:04:05Z";
    const condition = {
      type: "Resizing",
      status: "True",
      lastProbeTime: time,
      lastTransitionTime: time,
      message: "m",
      reason: "Resizing",
    };
    const status = {
      phase: "Bound",
      accessModes: ["ReadOnlyMany"],
      capacity: { storage: "1024Mi" },
      allocatedResources: { storage: "5Gi" },
      conditions: [condition],
    };
    (await writeStatus(api, path, status)).expect(200);
    (await api.get(path)).expect(200, {
      "status.phase": "Bound",
      "status.accessModes": ["ReadOnlyMany"],
      "status.capacity": { storage: "1Gi" },
      "status.allocatedResources": { storage: "5Gi" },
      "status.conditions": [condition],
    });
  },
);

inBothDomains(
  "states of a resize have known values, under known keys [PVC-40] [PVC-41] [PVC-42] [PVC-43] [PVC-44]",
  async (api) => {
    const { path } = await one(api);
    const write = (states: object) => writeStatus(api, path, { allocatedResourceStatuses: states });
    for (const state of [
      "ControllerResizeInProgress",
      "ControllerResizeFailed",
      "NodeResizePending",
      "NodeResizeInProgress",
      "NodeResizeFailed",
    ]) {
      (await write({ storage: state })).expect(200, { "status.allocatedResourceStatuses": { storage: state } });
    }
    const two = { storage: "NodeResizePending", "example.com/x": "NodeResizePending" };
    (await write(two)).expect(200, { "status.allocatedResourceStatuses": two });
    for (const states of [
      { foo: "NodeResizePending" },
      { "kubernetes.io/x": "NodeResizePending" },
      { storage: "Foo" },
    ]) {
      (await write(states)).expectFailure(422, "Invalid");
    }
    (await api.get(path)).expect(200, { "status.allocatedResourceStatuses": two });
  },
);

inBothDomains("conditions merge by type [PVC-52]", async (api) => {
  const { path } = await one(api);
  const write = (condition: object) =>
    api.patch(`${path}/status`, { status: { conditions: [condition] } }, patchTypes.strategic);
  (await write({ type: "Resizing", status: "True", message: "m" })).expect(200, { "status.conditions.length": 1 });
  (await write({ type: "FileSystemResizePending", status: "False" })).expect(200, { "status.conditions.length": 2 });
  (await write({ type: "Resizing", status: "True", message: "n" })).expect(200, {
    "status.conditions.length": 2,
    "status.conditions[type=Resizing].message": "n",
  });
});

inBothDomains("a condition has type and status [PVC-54]", async (api) => {
  const { path } = await one(api);
  for (const condition of [{ type: "Resizing" }, { status: "True" }, {}]) {
    (await writeStatus(api, path, { conditions: [condition] })).expectClientError();
  }
  (await api.get(path)).expect(200, { "status.conditions": absent });
});

inBothDomains("the state of a modification has a status [PVC-59] [PVC-60]", async (api) => {
  const { path } = await one(api);
  (await writeStatus(api, path, { modifyVolumeStatus: { targetVolumeAttributesClassName: "x" } })).expectClientError();
  for (const status of ["Pending", "InProgress", "Infeasible"]) {
    const modifyVolumeStatus = { status, targetVolumeAttributesClassName: "x" };
    (await writeStatus(api, path, { modifyVolumeStatus })).expect(200, {
      "status.modifyVolumeStatus": modifyVolumeStatus,
    });
  }
});

inBothDomains(
  "whatever state a driver or controller reports is taken [PVC-46] [PVC-47] [PVC-53] [PVC-61] [PVC-62] [PVC-65]",
  async (api) => {
    const { path } = await one(api);
    const resizing = {
      conditions: [{ type: "Resizing", status: "True", lastProbeTime: null, lastTransitionTime: null }],
    };
    const states: readonly Record<string, unknown>[] = [
      { phase: "Bound", capacity: { storage: "1Gi" } },
      { ...resizing, allocatedResourceStatuses: { storage: "ControllerResizeInProgress" } },
      { allocatedResourceStatuses: { storage: "NodeResizePending" } },
      { allocatedResourceStatuses: { storage: "NodeResizeInProgress" } },
      { conditions: null, allocatedResourceStatuses: null },
      { modifyVolumeStatus: { status: "Pending", targetVolumeAttributesClassName: "x" } },
      { modifyVolumeStatus: { status: "InProgress", targetVolumeAttributesClassName: "x" } },
      { modifyVolumeStatus: { status: "Infeasible", targetVolumeAttributesClassName: "x" } },
      { modifyVolumeStatus: null, currentVolumeAttributesClassName: "x" },
      { phase: "Lost" },
    ];
    for (const status of states) {
      const fields = Object.entries(status).map(([key, value]) => [`status.${key}`, value ?? absent]);
      (await writeStatus(api, path, status)).expect(200, Object.fromEntries(fields));
    }
  },
);

inBothDomains("a list of claims is whole [PVC-66]", async (api) => {
  const { claims } = await one(api);
  (await api.get(claims)).expect(200, {
    apiVersion: "v1",
    kind: "PersistentVolumeClaimList",
    "metadata.resourceVersion": /^\d+$/,
    "items.length": 1,
  });
});

inBothDomains("an unused claim goes when it is deleted, a used one when its pod has gone [DELST-05]", async (api) => {
  const { claims, path } = await one(api);
  (await api.delete(path)).expect([200, 202]);
  await eventually(async () => (await api.get(path)).expect(404));
  const pods = claims.replace("persistentvolumeclaims", "pods");
  (await api.post(claims, claim("c2"))).expect(201);
  const volumes = [{ name: "v", persistentVolumeClaim: { claimName: "c2" } }];
  const spec = { nodeName: "n", containers: [{ name: "c", image: "i" }], volumes };
  (await api.post(pods, { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec })).expect(201);
  (await api.delete(`${claims}/c2`)).expect([200, 202], { "metadata.deletionTimestamp": present });
  (await api.get(`${claims}/c2`, { accept: asTable })).expect(200, { "rows.0.cells.1": "Terminating" });
  (await api.delete(`${pods}/p?gracePeriodSeconds=0`)).expect(200);
  await eventually(async () => (await api.get(`${claims}/c2`)).expect(404));
});

const noGates = { featureGates: [], runtimeConfig: [] };

withOwnServer(
  "without its gate the attributes class of a claim is not kept [PVC-36] [GATE-03]",
  noGates,
  async (api) => {
    (await api.post("/api/v1/namespaces", namespace("n1"))).expect(201);
    const { claims } = namespacePaths("n1");
    await createClaim(api, claims, { volumeAttributesClassName: "x" }, { "spec.volumeAttributesClassName": absent });
  },
);

const gatesOff = { ...gated, featureGates: ["AnyVolumeDataSource=false", "RecoverVolumeExpansionFailure=false"] };

withOwnServer(
  "without their gates a data source reference and resize states are not kept [PVC-23] [PVC-40] [GATE-04]",
  gatesOff,
  async (api) => {
    (await api.post("/api/v1/namespaces", namespace("n1"))).expect(201);
    const { claims } = namespacePaths("n1");
    await createClaim(api, claims, { dataSourceRef: foo }, { "spec.dataSourceRef": absent });
    (await api.post(claims, claim("c1"))).expect(201);
    const status = {
      allocatedResourceStatuses: { storage: "NodeResizePending" },
      allocatedResources: { storage: "2Gi" },
    };
    (await writeStatus(api, `${claims}/c1`, status)).expect(200, {
      "status.allocatedResourceStatuses": absent,
      "status.allocatedResources": absent,
    });
  },
);

const crossNamespace = { ...gated, featureGates: ["CrossNamespaceVolumeDataSource=true", "AnyVolumeDataSource=true"] };

withOwnServer(
  "with its gate a reference may lead into another namespace, alone [PVC-28] [PVC-29] [PVC-33] [GATE-02]",
  crossNamespace,
  async (api) => {
    (await api.post("/api/v1/namespaces", namespace("n1"))).expect(201);
    const { claims } = namespacePaths("n1");
    const dataSourceRef = { ...foo, namespace: "other" };
    await createClaim(
      api,
      claims,
      { dataSourceRef },
      { "spec.dataSourceRef": dataSourceRef, "spec.dataSource": absent },
    );
  },
);

withOwnServer("an unbound claim without attributes class gets the default one [PVC-38]", gated, async (api) => {
  (await api.post("/api/v1/namespaces", namespace("n1"))).expect(201);
  const { claims } = namespacePaths("n1");
  await createClaim(api, claims, {}, { "spec.volumeAttributesClassName": absent });
  const annotations = { "volumeattributesclass.kubernetes.io/is-default-class": "true" };
  (await api.post(attributesClasses, attributesClass("standard", {}, { annotations }))).expect(201);
  await createClaim(api, claims, {}, { "spec.volumeAttributesClassName": "standard" });
  await createClaim(api, claims, { volumeAttributesClassName: "other" }, { "spec.volumeAttributesClassName": "other" });
  assert.equal((await api.get(attributesClasses, { accept: asTable })).at("rows.0.cells.0"), "standard (default)");
});
