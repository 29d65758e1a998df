/** The rules of claims, by the rows of the requirements. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { dns1123Subdomain } from "#meta/names.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest, writeAttributes } from "../kind-for-tests.ts";

const kind = { group: "", version: "v1", kind: "PersistentVolumeClaim" };
const beta = ["AnyVolumeDataSource", "RecoverVolumeExpansionFailure"];
const claims = kindUnderTest(kind);
const withClasses = kindUnderTest(kind, { gates: [...beta, "VolumeAttributesClass"] });
const across = kindUnderTest(kind, { gates: [...beta, "CrossNamespaceVolumeDataSource"] });

const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
const claim = (more: Record<string, unknown> = {}): Unstructured => ({
  metadata: { name: "c1", namespace: "n", creationTimestamp: null },
  spec: { ...spec, ...more },
});
const storageRequest = (storage: string) => ({ resources: { requests: { storage } } });
const specOf = (object: Unstructured) => object["spec"] as Record<string, unknown>;
const boundClaim = (more: Record<string, unknown> = {}, capacity = "1Gi"): Unstructured => ({
  ...withClasses.create(claim(more)),
  status: { phase: "Bound", capacity: { storage: capacity } },
});
const immutable =
  "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";

test("a new claim has its defaults and is pending [PVC-01] [PVC-02] [PVC-15] [PVC-64]", () => {
  assert.deepEqual(claims.create(claim()), {
    metadata: { name: "c1", namespace: "n", creationTimestamp: null },
    spec: { ...spec, volumeMode: "Filesystem" },
    status: { phase: "Pending" },
  });
});

test("the main resource does not take a status [PVC-03] [PVC-45] [PVC-57] [PVC-58]", () => {
  const lost = { ...claim(), status: { phase: "Lost", modifyVolumeStatus: { status: "Pending" } } };
  assert.deepEqual(claims.create(lost)["status"], { phase: "Pending" });
  const old = boundClaim();
  assert.deepEqual(claims.update({ ...old, status: { phase: "Lost" } }, old)["status"], old["status"]);
});

test("the fields of the spec are kept as sent [PVC-04] [PVC-07] [PVC-08] [PVC-13] [PVC-14]", () => {
  const full = {
    accessModes: ["ReadWriteOnce", "ReadOnlyMany"],
    selector: { matchLabels: { a: "b" }, matchExpressions: [{ key: "c", operator: "In", values: ["d"] }] },
    resources: { requests: { storage: "1Gi" }, limits: { storage: "2Gi" } },
    volumeName: "pv-1",
    storageClassName: "fast",
    volumeMode: "Block",
  };
  assert.deepEqual(claims.refuseCreate(claim(full)), []);
  assert.deepEqual(specOf(claims.create(claim(full))), full);
});

test("access modes are known ones, and at least one [PVC-06]", () => {
  const check = (accessModes: unknown, ...expected: string[]) =>
    assert.deepEqual(claims.refuseCreate(claim({ accessModes })), expected);
  for (const mode of ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"]) check([mode]);
  check([], "spec.accessModes: Required value: at least 1 access mode is required");
  check(undefined, "spec.accessModes: Required value: at least 1 access mode is required");
  check(
    ["Sometimes"],
    'spec.accessModes: Unsupported value: "Sometimes": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
  );
  check(
    ["ReadWriteOnce", "ReadWriteOncePod"],
    "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
  );
});

test("the selector is checked [PVC-07]", () => {
  const near = { matchExpressions: [{ key: "a", operator: "Near", values: ["b"] }] };
  assert.deepEqual(claims.refuseCreate(claim({ selector: near })), [
    'spec.selector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator',
  ]);
});

test("requests cannot exceed limits [PVC-09]", () => {
  const resources = { requests: { storage: "2Gi" }, limits: { storage: "1Gi" } };
  assert.deepEqual(claims.refuseCreate(claim({ resources })), [
    'spec.resources.requests[storage]: Invalid value: "2Gi": must be less than or equal to storage limit of 1Gi',
  ]);
  const equal = { requests: { storage: "1Gi" }, limits: { storage: "1024Mi" } };
  assert.deepEqual(claims.refuseCreate(claim({ resources: equal })), []);
});

test("a claim asks for some storage [PVC-10]", () => {
  assert.deepEqual(claims.refuseCreate(claim({ resources: {} })), ["spec.resources[storage]: Required value"]);
  for (const storage of ["0", "-1"]) {
    assert.deepEqual(claims.refuseCreate(claim(storageRequest(storage))), [
      `spec.resources[storage]: Invalid value: "${storage}": must be greater than zero`,
    ]);
  }
});

test("the volume mode is a known one", () => {
  assert.deepEqual(claims.refuseCreate(claim({ volumeMode: "Tape" })), [
    'spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"',
  ]);
});

test("a bound claim may grow, and shrink back as long as it stays above its capacity [PVC-11] [PVC-12]", () => {
  const old = boundClaim(storageRequest("3Gi"));
  const resize = (storage: string) =>
    claims.refuseUpdate({ ...old, spec: { ...specOf(old), ...storageRequest(storage) } }, old);
  assert.deepEqual(resize("4Gi"), []);
  assert.deepEqual(resize("2Gi"), []);
  const refused = "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity";
  assert.deepEqual(resize("1Gi"), [refused]);
  assert.deepEqual(resize("512Mi"), [refused]);
  const strict = kindUnderTest(kind, { gates: [] });
  assert.deepEqual(strict.refuseUpdate({ ...old, spec: { ...specOf(old), ...storageRequest("2Gi") } }, old), [
    "spec.resources.requests.storage: Forbidden: field can not be less than previous value",
  ]);
});

test("the rest of the spec stays as it was [PVC-16]", () => {
  const old = claims.create(claim({ storageClassName: "slow" }));
  const change = (more: Record<string, unknown>) =>
    claims.refuseUpdate({ ...old, spec: { ...specOf(old), ...more } }, old);
  assert.deepEqual(change({ storageClassName: "fast" }), [immutable]);
  assert.deepEqual(change({ accessModes: ["ReadWriteMany"] }), [immutable]);
  assert.deepEqual(change(storageRequest("2Gi")), [immutable]);
  assert.deepEqual(change({ volumeMode: "Block" }), [
    immutable,
    'volumeMode: Invalid value: "Block": field is immutable',
  ]);
  assert.deepEqual(change({ volumeName: "pv-1" }), []);
  const named = { ...old, spec: { ...specOf(old), volumeName: "pv-1" } };
  assert.deepEqual(claims.refuseUpdate({ ...old, spec: { ...specOf(old), volumeName: "pv-2" } }, named), [immutable]);
  const labelled = { ...old, metadata: { ...old.metadata, labels: { a: "b" } } };
  assert.deepEqual(claims.refuseUpdate(labelled, old), []);
});

test("a class may be set where none was, also from the old annotation", () => {
  const old = claims.create(claim());
  assert.deepEqual(claims.refuseUpdate({ ...old, spec: { ...specOf(old), storageClassName: "x" } }, old), []);
  const annotations = { "volume.beta.kubernetes.io/storage-class": "x" };
  const annotated = { ...old, metadata: { ...old.metadata, annotations } };
  assert.deepEqual(claims.refuseUpdate({ ...old, spec: { ...specOf(old), storageClassName: "x" } }, annotated), []);
  assert.deepEqual(claims.refuseUpdate(old, annotated), [
    'metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid value: "": field is immutable',
  ]);
});

const snapshot = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "s" };
const clone = { apiGroup: null, kind: "PersistentVolumeClaim", name: "other" };
const foo = { apiGroup: "example.com", kind: "Foo", name: "f" };

test("dataSource takes snapshots and claims and fills dataSourceRef [PVC-17] [PVC-18] [PVC-31]", () => {
  for (const source of [snapshot, clone]) {
    const spec = specOf(claims.create(claim({ dataSource: source })));
    assert.deepEqual(spec["dataSource"], source);
    assert.deepEqual(spec["dataSourceRef"], source);
  }
});

test("other data sources are dropped [PVC-19]", () => {
  for (const source of [foo, { apiGroup: null, kind: "Pod", name: "p" }]) {
    const spec = specOf(claims.create(claim({ dataSource: source })));
    assert.equal(spec["dataSource"], undefined);
    assert.equal(spec["dataSourceRef"], undefined);
  }
});

test("dataSourceRef takes any object that is not of the core, and claims, and fills dataSource [PVC-20] [PVC-21] [PVC-26] [PVC-32]", () => {
  for (const ref of [foo, clone]) {
    assert.deepEqual(claims.refuseCreate(claim({ dataSourceRef: ref })), []);
    const spec = specOf(claims.create(claim({ dataSourceRef: ref })));
    assert.deepEqual(spec["dataSourceRef"], ref);
    assert.deepEqual(spec["dataSource"], ref);
  }
});

test("other references are refused [PVC-22] [PVC-27]", () => {
  for (const name of ["Pod", "Foo"]) {
    const refused = claims.refuseCreate(claim({ dataSourceRef: { apiGroup: null, kind: name, name: "p" } }));
    const detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
    assert.ok(refused.includes(`spec.dataSourceRef: Invalid value: "${name}": ${detail}`), refused.join("\n"));
  }
});

test("a reference has a kind and a name [PVC-24] [PVC-25]", () => {
  const refuse = (ref: object) => claims.refuseCreate(claim({ dataSourceRef: ref }));
  assert.ok(refuse({ apiGroup: "example.com", name: "f" }).includes("spec.dataSourceRef.kind: Required value"));
  assert.ok(refuse({ apiGroup: "example.com", kind: "Foo" }).includes("spec.dataSourceRef.name: Required value"));
});

test("without its gate dataSourceRef is not stored [PVC-23]", () => {
  const spec = specOf(kindUnderTest(kind, { gates: [] }).create(claim({ dataSource: clone, dataSourceRef: clone })));
  assert.equal(spec["dataSourceRef"], undefined);
  assert.deepEqual(spec["dataSource"], clone);
});

test("a reference to another namespace needs its gate, and leaves dataSource empty [PVC-28] [PVC-29] [PVC-33]", () => {
  const far = { ...foo, namespace: "other" };
  assert.equal(specOf(claims.create(claim({ dataSourceRef: far })))["dataSourceRef"], undefined);
  const spec = specOf(across.create(claim({ dataSourceRef: far })));
  assert.deepEqual(spec["dataSourceRef"], far);
  assert.equal(spec["dataSource"], undefined);
  assert.deepEqual(across.refuseCreate(claim({ dataSourceRef: far })), []);
  assert.equal(across.refuseCreate(claim({ dataSource: clone, dataSourceRef: far })).length, 1);
});

test("data sources that are both given are equal [PVC-30]", () => {
  const other = { ...clone, name: "b" };
  assert.deepEqual(claims.refuseCreate(claim({ dataSource: clone, dataSourceRef: clone })), []);
  assert.deepEqual(claims.refuseCreate(claim({ dataSource: clone, dataSourceRef: other })), [
    'spec: Invalid value: "spec.dataSource": must match dataSourceRef',
  ]);
});

test("a client that does not know dataSourceRef may write back what it read", () => {
  const old = claims.create(claim({ dataSource: clone }));
  const { dataSourceRef: _ref, ...known } = specOf(old);
  assert.deepEqual(claims.refuseUpdate({ ...old, spec: known }, old), []);
  assert.deepEqual(claims.update({ ...old, spec: known }, old)["spec"], old["spec"]);
});

test("the attributes class may change but not go [PVC-34] [PVC-35] [VAC-13]", () => {
  for (const old of [
    boundClaim({ volumeAttributesClassName: "a" }),
    withClasses.create(claim({ volumeAttributesClassName: "a" })),
  ]) {
    const change = (name: unknown) =>
      withClasses.refuseUpdate({ ...old, spec: { ...specOf(old), volumeAttributesClassName: name } }, old);
    assert.deepEqual(change("b"), []);
    assert.deepEqual(change(""), [
      "spec.volumeAttributesClassName: Forbidden: update from non-nil value to an empty string is forbidden",
    ]);
    assert.deepEqual(change(undefined), [
      immutable,
      "spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden",
    ]);
  }
  const none = boundClaim();
  const withName = { ...none, spec: { ...specOf(none), volumeAttributesClassName: "" } };
  assert.deepEqual(withClasses.refuseUpdate(withName, none), []);
});

test("without its gate the attributes class is not stored [PVC-36]", () => {
  assert.equal(
    specOf(claims.create(claim({ volumeAttributesClassName: "a" })))["volumeAttributesClassName"],
    undefined,
  );
  assert.equal(specOf(withClasses.create(claim({ volumeAttributesClassName: "a" })))["volumeAttributesClassName"], "a");
});

const setStatus = (by: typeof claims, status: object, old = boundClaim()) =>
  by.refuseUpdate({ ...old, status }, old, "status");

test("the status is written through its subresource, the spec is not [PVC-39] [PVC-48] [PVC-51] [PVC-55] [PVC-56]", () => {
  const old = boundClaim();
  const status = {
    phase: "Bound",
    accessModes: ["ReadWriteOnce"],
    capacity: { storage: "1Gi" },
    allocatedResources: { storage: "5Gi" },
    conditions: [
      {
        type: "Resizing",
        status: "True",
        lastProbeTime: null,
        lastTransitionTime: null,
        reason: "Resizing",
        message: "m",
      },
    ],
  };
  assert.deepEqual(setStatus(claims, status), []);
  const next = claims.update({ ...old, spec: { ...specOf(old), ...storageRequest("9Gi") }, status }, old, "status");
  assert.deepEqual(next["status"], status);
  assert.deepEqual(next["spec"], old["spec"]);
});

test("resize states need their gate [PVC-40]", () => {
  const status = { phase: "Bound", allocatedResourceStatuses: { storage: "NodeResizePending" } };
  const old = boundClaim();
  assert.deepEqual(claims.update({ ...old, status }, old, "status")["status"], status);
  const without = kindUnderTest(kind, { gates: [] });
  assert.deepEqual(without.update({ ...old, status }, old, "status")["status"], { phase: "Bound" });
});

test("resize states are for storage and for names with a foreign prefix [PVC-41] [PVC-42] [PVC-43]", () => {
  const check = (key: string) =>
    setStatus(claims, { phase: "Bound", allocatedResourceStatuses: { [key]: "NodeResizePending" } });
  assert.deepEqual(check("storage"), []);
  assert.deepEqual(check("example.com/x"), []);
  for (const key of ["foo", "kubernetes.io/x", "requests.kubernetes.io/x"]) {
    assert.deepEqual(check(key), [
      `status.allocatedResourceStatus: Unsupported value: "${key}": supported values: "storage"`,
    ]);
  }
  const platform = kindUnderTest(kind, { domain: "platform.io" });
  const reserved = { phase: "Bound", allocatedResourceStatuses: { "platform.io/x": "NodeResizePending" } };
  assert.equal(setStatus(platform, reserved).length, 1);
});

test("resize states are known ones [PVC-44]", () => {
  const check = (state: string) =>
    setStatus(claims, { phase: "Bound", allocatedResourceStatuses: { storage: state } }).length;
  for (const state of [
    "ControllerResizeInProgress",
    "ControllerResizeFailed",
    "NodeResizePending",
    "NodeResizeInProgress",
    "NodeResizeFailed",
  ]) {
    assert.equal(check(state), 0);
  }
  assert.equal(check("Foo"), 1);
  assert.deepEqual(setStatus(claims, { phase: "Bound", allocatedResourceStatuses: { storage: "" } }), [
    'status.allocatedResourceStatus: Unsupported value: storage: supported values: "ControllerResizeInProgress", "ControllerResizeInfeasible", "ControllerResizeFailed", "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizeFailed", "NodeResizePending"',
  ]);
});

test("a condition has a type and a status [PVC-53] [PVC-54]", () => {
  const check = (condition: object) => setStatus(claims, { phase: "Bound", conditions: [condition] });
  assert.deepEqual(check({ type: "Resizing", status: "True" }), []);
  assert.deepEqual(check({ type: "", status: "" }), [
    "status.conditions[0].type: Required value",
    "status.conditions[0].status: Required value",
  ]);
});

test("a modification has a status, any text [PVC-59] [PVC-60]", () => {
  const check = (modifyVolumeStatus: object) => setStatus(withClasses, { phase: "Bound", modifyVolumeStatus });
  for (const status of ["Pending", "InProgress", "Infeasible", "Other"]) {
    assert.deepEqual(check({ status, targetVolumeAttributesClassName: "a" }), []);
  }
  assert.deepEqual(check({ status: "" }), ["status.modifyVolumeStatus.status: Required value"]);
  const old = boundClaim();
  const status = { phase: "Bound", currentVolumeAttributesClassName: "a", modifyVolumeStatus: { status: "Pending" } };
  assert.deepEqual(withClasses.update({ ...old, status }, old, "status")["status"], status);
  assert.deepEqual(claims.update({ ...old, status }, old, "status")["status"], { phase: "Bound" });
});

test("sizes in the status are not negative", () => {
  const refuses = (status: object, ...expected: readonly string[]): void =>
    assert.deepEqual(setStatus(claims, { phase: "Bound", ...status }), expected);
  refuses({ capacity: { storage: "0", other: "1m" } });
  refuses(
    { capacity: { storage: "-1" } },
    "status.capacity[storage]: Invalid value: -1: must be a valid resource quantity",
  );
  refuses(
    { capacity: { cpu: "-1500m" } },
    "status.capacity[cpu]: Invalid value: -2: must be a valid resource quantity",
  );
  refuses(
    { allocatedResources: { "example.com/x": "-1m", foo: "-1" } },
    "status.allocatedResources[example.com/x]: Invalid value: -1: must be a valid resource quantity",
    'status.allocatedResources: Unsupported value: "foo": supported values: "storage"',
  );
});

test("a spec that may not change is checked too", () => {
  const old = claims.create(claim());
  const change = (more: Record<string, unknown>) =>
    claims.refuseUpdate({ ...old, spec: { ...specOf(old), ...more } }, old);
  const none = "spec.accessModes: Required value: at least 1 access mode is required";
  assert.deepEqual(change({ accessModes: [] }), [none, immutable]);
  const missing = "spec.resources[storage]: Required value";
  assert.deepEqual(change({ resources: {} }), [
    missing,
    immutable,
    "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity",
  ]);
});

test("a claim that has a group in its sources may have any; a source beside a reference is not dropped", () => {
  const wrong = { apiGroup: "A_", kind: "K", name: "n" };
  const group = `Invalid value: "A_": ${dns1123Subdomain("A_")[0]}`;
  assert.deepEqual(claims.refuseCreate(claim({ dataSourceRef: wrong })), [
    `spec.dataSource.apiGroup: ${group}`,
    `spec.dataSourceRef.apiGroup: ${group}`,
  ]);
  const old = claims.create(claim({ dataSource: snapshot }));
  const changed = { ...old, spec: { ...specOf(old), dataSource: wrong, dataSourceRef: wrong } };
  assert.deepEqual(claims.refuseUpdate(changed, old), [immutable]);
  assert.deepEqual(claims.refuseCreate(claim({ dataSource: { kind: "Pod", name: "p" }, dataSourceRef: clone })), [
    `spec.dataSource: Invalid value: "Pod": must be 'PersistentVolumeClaim' when referencing the default apiGroup`,
    'spec: Invalid value: "spec.dataSource": must match dataSourceRef',
  ]);
});

test("the deprecated annotation and sizes in parts of bytes give warnings", () => {
  const { warningsOnCreate, warningsOnUpdate } = claims.definition.strategy;
  const plain = claims.create(claim());
  assert.deepEqual(warningsOnCreate!(plain, writeAttributes()), []);
  const resources = { requests: { storage: "1500m" }, limits: { storage: "2500m", memory: "1m" } };
  const object = claims.create(claim({ resources }));
  const annotations = { "volume.beta.kubernetes.io/storage-class": "" };
  const annotated = { ...object, metadata: { ...object.metadata, annotations } };
  const expected = [
    'metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead',
    'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
    'spec.resources.limits[storage]: fractional byte value "2500m" is invalid, must be an integer',
  ];
  assert.deepEqual(warningsOnCreate!(annotated, writeAttributes()), expected);
  assert.deepEqual(warningsOnUpdate!(annotated, plain, writeAttributes()), expected);
});

test("a table shows a claim as people know it [TABLE-04]", () => {
  const object = {
    ...boundClaim({ volumeName: "pv-1", storageClassName: "fast" }),
    status: { phase: "Bound", capacity: { storage: "1Gi" }, accessModes: ["ReadWriteMany", "ReadWriteOnce"] },
  };
  const shown = {
    Name: "c1",
    Status: "Bound",
    Volume: "pv-1",
    Capacity: "1Gi",
    "Access Modes": "RWO,RWX",
    StorageClass: "fast",
    VolumeAttributesClass: "<unset>",
    Age: "<unknown>",
    VolumeMode: "Filesystem",
  };
  assert.deepEqual(claims.row(object), shown);
  const deleted = { ...object, metadata: { ...object.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
  assert.equal(claims.row(deleted)["Status"], "Terminating");
  const pending = claims.row(claims.create(claim()));
  assert.deepEqual([pending["Volume"], pending["Capacity"], pending["Access Modes"]], ["", "", ""]);
});
