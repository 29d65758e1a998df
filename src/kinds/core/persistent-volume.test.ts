/** The findings of kube-apiserver 1.32.1 about persistent volumes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { dns1123Label, dns1123Subdomain } from "#meta/names.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest, writeAttributes } from "../kind-for-tests.ts";

const kind = { group: "", version: "v1", kind: "PersistentVolume" };
const volumes = kindUnderTest(kind);
const withClasses = kindUnderTest(kind, { gates: ["VolumeAttributesClass"] });
const hostPath = { path: "/d" };
const csi = { driver: "csi.example.com", volumeHandle: "x" };
const volume = (spec: object, metadata: object = {}): Unstructured => ({
  metadata: { name: "v", creationTimestamp: null, ...metadata },
  spec: { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, ...spec },
});
const onNode = (...keys: readonly string[]) => ({
  required: { nodeSelectorTerms: [{ matchExpressions: keys.map((key) => ({ key, operator: "Exists" })) }] },
});

const refuses = (spec: object, ...expected: readonly string[]): void =>
  assert.deepEqual(volumes.refuseCreate(volume(spec)), expected, JSON.stringify(spec));
/** Checks the findings about a volume with a host path. */
const refusesWith = (spec: object, ...expected: readonly string[]): void => refuses({ hostPath, ...spec }, ...expected);

const badName = (name: string): string => `Invalid value: "${name}": ${dns1123Subdomain(name)[0]}`;
const badLabel = (name: string): string => `Invalid value: "${name}": ${dns1123Label(name)[0]}`;

test("a volume has access modes, one of them only by itself", () => {
  const modes = '"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"';
  refusesWith({ accessModes: ["ReadWriteOncePod", "ReadWriteOncePod"] });
  refusesWith({ accessModes: [] }, "spec.accessModes: Required value");
  refusesWith(
    { accessModes: ["ReadWriteOncePod", "X"] },
    `spec.accessModes: Unsupported value: "X": supported values: ${modes}`,
  );
  refusesWith(
    { accessModes: ["ReadWriteOncePod", "ReadWriteOnce"] },
    "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
  );
});

test("the capacity is a size and nothing else", () => {
  const only = (shown: string): string => `spec.capacity: Unsupported value: ${shown}: supported values: "storage"`;
  const positive = (name: string, shown: string): string =>
    `spec.capacity[${name}]: Invalid value: "${shown}": must be greater than zero`;
  const valid = (name: string, shown: string): string =>
    `spec.capacity[${name}]: Invalid value: ${shown}: must be a valid resource quantity`;
  refusesWith({ capacity: { storage: "1m" } });
  refusesWith({ capacity: {} }, "spec.capacity: Required value", only("{}"));
  refusesWith({ capacity: { storage: "0" } }, positive("storage", "0"));
  refusesWith({ capacity: { storage: "-1500m" } }, valid("storage", "-2"), positive("storage", "-1500m"));
  refusesWith({ capacity: { storage: "-1e30" } }, positive("storage", "-1e30"));
  refusesWith(
    { capacity: { storage: "1", cpu: "-1" } },
    only('{"cpu":"-1","storage":"1"}'),
    valid("cpu", "-1"),
    positive("cpu", "-1"),
  );
});

test("policy, class and mode are known ones", () => {
  const policy = "spec.persistentVolumeReclaimPolicy";
  refusesWith({ persistentVolumeReclaimPolicy: "Recycle", volumeMode: "Block", storageClassName: "a.b" });
  refusesWith(
    { persistentVolumeReclaimPolicy: "X", storageClassName: "A_", volumeMode: "" },
    `${policy}: Unsupported value: "X": supported values: "Delete", "Recycle", "Retain"`,
    `spec.storageClassName: ${badName("A_")}`,
    'spec.volumeMode: Unsupported value: "": supported values: "Block", "Filesystem"',
  );
  refuses({ hostPath: { path: "/a/." }, persistentVolumeReclaimPolicy: "Recycle" });
  for (const path of ["/", "//", "/./."]) {
    refuses(
      { hostPath: { path }, persistentVolumeReclaimPolicy: "Recycle" },
      `${policy}: Forbidden: may not be 'recycle' for a hostPath mount of '/'`,
    );
  }
});

test("nodes are selected by terms", () => {
  const path = "spec.nodeAffinity.required";
  refusesWith({ nodeAffinity: onNode("a") });
  refusesWith({ nodeAffinity: {} }, `${path}: Required value: must specify required node constraints`);
  refusesWith(
    { nodeAffinity: { required: {} } },
    `${path}.nodeSelectorTerms: Required value: must have at least one node selector term`,
  );
  refusesWith(
    { nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "X" }] }] } } },
    `${path}.nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: "X": not a valid selector operator`,
  );
});

test("a volume has one source; a flex volume may be a second", () => {
  const second = "Forbidden: may not specify more than 1 volume type";
  refuses({}, "spec: Required value: must specify a volume type");
  refusesWith({ csi: {}, cephfs: {} }, `spec.cephFS: ${second}`, `spec.csi: ${second}`);
  refuses({ flexVolume: { driver: "d" }, fc: { targetWWNs: ["5"], lun: 0 } });
  refuses({ flexVolume: { driver: "d" }, azureFile: {} }, `spec.azureFile: ${second}`);
  refuses({ gcePersistentDisk: {} }, "spec.persistentDisk.pdName: Required value");
});

test("local volumes are on a node, at a path that stays where it is", () => {
  refuses({ local: { path: "a" }, nodeAffinity: onNode("a") });
  refuses(
    { local: { path: "a/.." } },
    `spec.local.path: Invalid value: "a/..": must not contain '..'`,
    "spec.nodeAffinity: Required value: Local volume requires node affinity",
  );
  refuses({ local: {}, nodeAffinity: onNode("a") }, "spec.local.path: Required value");
});

test("sources that name secrets and endpoints of a namespace name it", () => {
  const secretRef = { name: "" };
  refuses(
    { cinder: { volumeID: "v", secretRef } },
    "spec.cinder.secretRef.name: Required value",
    "spec.cinder.secretRef.namespace: Required value",
  );
  refuses(
    { storageos: { volumeName: "v", secretRef: { name: "s" } } },
    "spec.storageos.secretRef.namespace: Required value",
  );
  refuses({ cephfs: { monitors: ["m"], secretRef } });
  const azureFile = { secretName: "s", shareName: "x" };
  refuses({ azureFile: { ...azureFile, secretNamespace: "Any_" } });
  refuses({ azureFile: { ...azureFile, secretNamespace: "" } }, "spec.azureFile.secretNamespace: Required value");
  const glusterfs = { endpoints: "e", path: "p" };
  const at = "spec.glusterfs.endpointsNamespace";
  refuses({ glusterfs: { ...glusterfs, endpointsNamespace: "A_" } }, `${at}: ${badLabel("A_")}`);
  refuses(
    { glusterfs: { ...glusterfs, endpointsNamespace: "" } },
    `${at}: Invalid value: "": if the endpointnamespace is set, it must be a valid namespace name`,
  );
});

test("a driver has a name and a handle, and nearly all of its secrets are checked", () => {
  refuses({ csi: { driver: "A.b", volumeHandle: "x", nodeStageSecretRef: {} } });
  refuses(
    { csi: {} },
    "spec.csi.driver: Required value",
    `spec.csi.driver: ${badName("")}`,
    "spec.csi.volumeHandle: Required value",
  );
  refuses({ csi: { ...csi, driver: "x".repeat(64) } }, "spec.csi.driver: Too long: may not be more than 63 bytes");
  for (const name of ["controllerPublish", "controllerExpand", "nodePublish", "nodeExpand"]) {
    const at = `spec.csi.${name}SecretRef`;
    refuses(
      { csi: { ...csi, [`${name}SecretRef`]: { name: "A_" } } },
      `${at}.name: ${badName("A_")}`,
      `${at}.namespace: Required value`,
    );
    refuses(
      { csi: { ...csi, [`${name}SecretRef`]: { namespace: "A_" } } },
      `${at}.name: Required value`,
      `${at}.namespace: ${badLabel("A_")}`,
    );
  }
});

test("iSCSI names have a form, and interfaces a length", () => {
  const iscsi = { targetPortal: "p", iqn: "iqn.2003-01.org.example:a", lun: 0 };
  refuses(
    { iscsi: { ...iscsi, iqn: "x", secretRef: {}, initiatorName: "eui.1" } },
    'spec.iscsi.iqn: Invalid value: "x": must be valid format',
    "spec.iscsi.secretRef.name: Required value",
    'spec.iscsi.initiatorname: Invalid value: "eui.1": must be valid format',
  );
  refuses({ iscsi: { ...iscsi, targetPortal: "p".repeat(62), initiatorName: iscsi.iqn } });
  const long = "p".repeat(63);
  refuses(
    { iscsi: { ...iscsi, targetPortal: long, initiatorName: iscsi.iqn } },
    `spec.iscsi.targetportal: Invalid value: "${long}": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.`,
  );
});

test("a class has a name, and a driver that knows it", () => {
  const path = "spec.volumeAttributesClassName";
  const refusesClass = (spec: object, ...expected: readonly string[]): void =>
    assert.deepEqual(withClasses.refuseCreate(volume(spec)), expected);
  refusesClass({ csi, volumeAttributesClassName: "a" });
  refusesClass(
    { hostPath, volumeAttributesClassName: "" },
    `${path}: Required value: an empty string is disallowed`,
    "spec.csi: Required value: has to be specified when using volumeAttributesClassName",
  );
  refusesClass({ csi, volumeAttributesClassName: "A_" }, `${path}: ${badName("A_")}`);
});

test("mount options by annotation are for some sources", () => {
  const name = "volume.beta.kubernetes.io/mount-options";
  const refuse = (spec: object): string[] => volumes.refuseCreate(volume(spec, { annotations: { [name]: "ro" } }));
  assert.deepEqual(refuse({ nfs: { server: "s", path: "/" } }), []);
  assert.deepEqual(refuse({ hostPath }), [
    `metadata.annotations.${name}: Forbidden: may not specify mount options for this volume type`,
  ]);
});

const createVolume = (spec: object): Unstructured => volumes.create(volume(spec));
const refuseChange = (old: Unstructured, spec: object, by = volumes): string[] =>
  by.refuseUpdate({ ...old, spec: { ...(old["spec"] as object), ...spec } }, old);

const sourceStays = "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation";

test("source and mode are immutable, and the rest of the spec is checked", () => {
  const old = createVolume({ hostPath });
  assert.deepEqual(refuseChange(old, { capacity: { storage: "1" }, accessModes: ["ReadOnlyMany"], claimRef: {} }), []);
  assert.deepEqual(refuseChange(old, { hostPath: { path: "/e" } }), [sourceStays]);
  assert.deepEqual(refuseChange(old, { volumeMode: "Block" }), [
    'volumeMode: Invalid value: "Block": field is immutable',
  ]);
  assert.deepEqual(refuseChange(old, { accessModes: [] }), ["spec.accessModes: Required value"]);
});

test("the secret for expansion may be added to the source, and then not changed", () => {
  const secret = { name: "s", namespace: "n" };
  const plain = createVolume({ csi });
  const grown = createVolume({ csi: { ...csi, controllerExpandSecretRef: secret } });
  assert.deepEqual(refuseChange(plain, { csi: { ...csi, controllerExpandSecretRef: secret } }), []);
  assert.deepEqual(refuseChange(plain, { csi: { ...csi, nodeExpandSecretRef: secret } }), [sourceStays]);
  assert.deepEqual(refuseChange(grown, { csi: { ...csi, controllerExpandSecretRef: { ...secret, name: "t" } } }), [
    sourceStays,
  ]);
  assert.deepEqual(refuseChange(grown, { csi }), [sourceStays]);
});

test("the node affinity is immutable once it is set; its labels may get their newer names", () => {
  const stays = (shown: unknown): string =>
    `nodeAffinity: Invalid value: ${JSON.stringify(shown)}: field is immutable, except for updating from beta label to GA`;
  assert.deepEqual(refuseChange(createVolume({ hostPath }), { nodeAffinity: onNode("a") }), []);
  const renames = [
    ["beta.kubernetes.io/arch", "kubernetes.io/arch"],
    ["beta.kubernetes.io/os", "kubernetes.io/os"],
    ["failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"],
    ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"],
    ["beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"],
  ] as const;
  for (const [before, after] of renames) {
    const old = createVolume({ hostPath, nodeAffinity: onNode("x", before, before) });
    assert.deepEqual(refuseChange(old, { nodeAffinity: onNode("x", after, before) }), []);
    const back = createVolume({ hostPath, nodeAffinity: onNode(after) });
    assert.deepEqual(refuseChange(back, { nodeAffinity: onNode(before) }), [stays(onNode(before))]);
  }
  const old = createVolume({ hostPath, nodeAffinity: onNode("beta.kubernetes.io/os") });
  for (const next of [onNode("a"), onNode("kubernetes.io/os", "a"), onNode("kubernetes.io/arch")]) {
    assert.deepEqual(refuseChange(old, { nodeAffinity: next }), [stays(next)]);
  }
  assert.deepEqual(refuseChange(old, { nodeAffinity: undefined }), [stays("null")]);
});

test("a class changes while there are classes, and does not go", () => {
  const path = "spec.volumeAttributesClassName";
  const classed = withClasses.create(volume({ csi, volumeAttributesClassName: "a" }));
  const bare = createVolume({ csi });
  assert.deepEqual(refuseChange(classed, { volumeAttributesClassName: "b" }, withClasses), []);
  assert.deepEqual(refuseChange(classed, { volumeAttributesClassName: undefined }, withClasses), [
    `${path}: Forbidden: update from non-nil value to nil is forbidden`,
  ]);
  assert.deepEqual(refuseChange(classed, {}), []);
  assert.deepEqual(refuseChange(bare, { volumeAttributesClassName: "b" }), []); // the class is dropped
  assert.deepEqual(refuseChange(classed, { volumeAttributesClassName: "b" }), [
    `${path}: Forbidden: update is forbidden when the VolumeAttributesClass feature gate is disabled`,
  ]);
});

test("the status says when the phase changed last", () => {
  const now = "2023-11-14T22:13:20Z"; // the time of the tests' clock
  const before = "2020-01-01T00:00:00Z";
  const own = "2021-01-01T00:00:00Z";
  const volume = createVolume({ hostPath });
  assert.deepEqual(volume["status"], { phase: "Pending", lastPhaseTransitionTime: now });
  const old = { ...volume, status: { phase: "Pending", lastPhaseTransitionTime: before } };
  const timeOf = (status: object): unknown =>
    (volumes.update({ ...old, status }, old, "status")["status"] as Record<string, unknown>)["lastPhaseTransitionTime"];
  assert.equal(timeOf({ phase: "Pending", message: "m" }), before);
  assert.equal(timeOf({ phase: "Pending", lastPhaseTransitionTime: own }), own);
  assert.equal(timeOf({ phase: "Bound" }), now);
  assert.equal(timeOf({ phase: "Bound", lastPhaseTransitionTime: before }), now);
  assert.equal(timeOf({ phase: "Bound", lastPhaseTransitionTime: own }), own);
});

test("deprecated annotations, labels, sources and the policy Recycle give warnings", () => {
  const { warningsOnCreate, warningsOnUpdate } = volumes.definition.strategy;
  const warn = (spec: object, annotations = {}): readonly string[] =>
    warningsOnCreate!(volumes.create(volume(spec, { annotations })), writeAttributes());
  assert.deepEqual(warn({ flocker: { datasetName: "d" } }), []);
  const old = {
    rbd: { monitors: ["m"], image: "i" },
    persistentVolumeReclaimPolicy: "Recycle",
    nodeAffinity: onNode("a", "beta.kubernetes.io/os", "node-role.kubernetes.io/master"),
  };
  const annotations = {
    "volume.beta.kubernetes.io/mount-options": "",
    "volume.beta.kubernetes.io/storage-class": "",
  };
  const at = "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions";
  const expected = [
    'metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead',
    'metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use "mountOptions" attribute instead',
    "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
    `${at}[1].key: beta.kubernetes.io/os is deprecated since v1.14; use "kubernetes.io/os" instead`,
    `${at}[2].key: node-role.kubernetes.io/master is use "node-role.kubernetes.io/control-plane" instead`,
    "spec.rbd: deprecated in v1.28, non-functional in v1.31+",
  ];
  assert.deepEqual(warn(old, annotations), expected);
  const object = volumes.create(volume(old, { annotations }));
  assert.deepEqual(warningsOnUpdate!(object, object, writeAttributes()), expected);
  const outdated = ["cephfs", "photonPersistentDisk", "scaleIO", "storageos", "glusterfs"];
  for (const name of outdated) {
    const [warning = ""] = warn({ [name]: {} });
    assert.match(warning, new RegExp(`^spec\\.${name}: deprecated in v1\\.\\d+, non-functional in v1\\.\\d+\\+$`, "i"));
  }
});
