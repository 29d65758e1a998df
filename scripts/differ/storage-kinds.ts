/** Valid objects of volumes, claims, and the kinds of `storage.k8s.io`, for comparisons of random edits. */
import type { Random } from "#std/random.ts";
import { chance, maybe, pick, some } from "./choices.ts";
import { type ComparedKind, ofCluster, comparedKindWithoutSpec, withStatus } from "./compared-kind.ts";
import type { Json } from "./servers.ts";

const selector = { matchLabels: { app: "a" } };
const accessModes = [["ReadWriteOnce"], ["ReadOnlyMany", "ReadWriteMany"], ["ReadWriteOncePod"]];

const claim = (random: Random): Json => ({
  accessModes: pick(random, accessModes),
  resources: { requests: { storage: pick(random, ["1Gi", "500M"]) } },
  ...maybe(random, 0.4, () => ({ storageClassName: pick(random, ["fast", ""]) })),
  ...maybe(random, 0.3, () => ({ volumeMode: "Block" })),
  ...maybe(random, 0.3, () => ({ selector })),
  ...maybe(random, 0.2, () => ({ volumeName: "v" })),
  ...maybe(random, 0.2, () => ({
    dataSource: { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "s" },
  })),
  ...maybe(random, 0.2, () => ({ volumeAttributesClassName: "gold" })),
});

const secretRef = { name: "s", namespace: "n" };

const volumeSources: readonly Json[] = [
  { hostPath: { path: "/data", type: "Directory" } },
  { nfs: { server: "nfs.example.com", path: "/" } },
  { csi: { driver: "csi.example.com", volumeHandle: "h", fsType: "ext4", nodeStageSecretRef: secretRef } },
  { csi: { driver: "csi.example.com", volumeHandle: "h", controllerExpandSecretRef: secretRef } },
  { iscsi: { targetPortal: "10.0.0.1", iqn: "iqn.2003-01.org.example:a", lun: 0 } },
  { fc: { targetWWNs: ["50060e801049cfd1"], lun: 0 } },
  { local: { path: "/mnt/disk" } },
  { rbd: { monitors: ["m"], image: "i" } },
  { azureFile: { secretName: "s", shareName: "x" } },
  { azureDisk: { diskName: "d", diskURI: "https://a.example.com/d" } },
  { gcePersistentDisk: { pdName: "p", partition: 1 } },
  { awsElasticBlockStore: { volumeID: "v" } },
  { glusterfs: { endpoints: "e", path: "p", endpointsNamespace: "n" } },
  { cinder: { volumeID: "v", secretRef } },
  { cephfs: { monitors: ["m"], secretRef } },
  { flocker: { datasetName: "d" } },
  { flexVolume: { driver: "example.com/d", secretRef } },
  { vsphereVolume: { volumePath: "p" } },
  { quobyte: { registry: "r:1", volume: "v" } },
  { photonPersistentDisk: { pdID: "p" } },
  { portworxVolume: { volumeID: "v" } },
  { scaleIO: { gateway: "g", system: "s", volumeName: "v", secretRef } },
  { storageos: { volumeName: "v", volumeNamespace: "n" } },
];

const onNode = {
  required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "In", values: ["b"] }] }] },
};

const volume = (random: Random): Json => ({
  capacity: { storage: "1Gi" },
  accessModes: pick(random, accessModes),
  persistentVolumeReclaimPolicy: pick(random, ["Retain", "Delete"]),
  ...pick(random, volumeSources),
  nodeAffinity: onNode,
  ...maybe(random, 0.4, () => ({ storageClassName: "fast", mountOptions: ["ro"] })),
  ...maybe(random, 0.3, () => ({ claimRef: { namespace: "n", name: "c" } })),
});

const storageClass = (random: Random): Json => ({
  provisioner: "csi.example.com",
  ...maybe(random, 0.5, () => ({ parameters: { type: "ssd" }, reclaimPolicy: "Retain", allowVolumeExpansion: true })),
  ...maybe(random, 0.4, () => ({
    volumeBindingMode: "WaitForFirstConsumer",
    allowedTopologies: [{ matchLabelExpressions: [{ key: "zone", values: ["a"] }] }],
  })),
});

const csiDriver = (random: Random): Json => ({
  attachRequired: chance(random, 0.5),
  ...maybe(random, 0.5, () => ({ podInfoOnMount: true, volumeLifecycleModes: ["Persistent", "Ephemeral"] })),
  ...maybe(random, 0.4, () => ({ tokenRequests: [{ audience: "a", expirationSeconds: 600 }] })),
  ...maybe(random, 0.4, () => ({ fsGroupPolicy: "File", storageCapacity: true, seLinuxMount: true })),
});

const csiNode = (random: Random): Json => ({
  drivers: [
    { name: "csi.example.com", nodeID: "n", topologyKeys: ["zone"], allocatable: { count: 3 } },
    ...some(random, 0.4, [{ name: "other.example.com", nodeID: "n" }]),
  ],
});

const attachmentSource = (random: Random): Json =>
  chance(random, 0.6)
    ? { persistentVolumeName: "v" }
    : {
        inlineVolumeSpec: {
          accessModes: ["ReadWriteOnce"],
          csi: { driver: "csi.example.com", volumeHandle: "h" },
          ...maybe(random, 0.3, () => ({ mountOptions: ["ro"] })),
        },
      };

const group = "storage.k8s.io";

export const storageKinds: readonly ComparedKind[] = [
  comparedKindWithoutSpec(
    "",
    "v1",
    "PersistentVolumeClaim",
    "persistentvolumeclaims",
    (random) => ({ spec: claim(random) }),
    withStatus,
  ),
  comparedKindWithoutSpec("", "v1", "PersistentVolume", "persistentvolumes", (random) => ({ spec: volume(random) }), {
    ...withStatus,
    ...ofCluster,
  }),
  comparedKindWithoutSpec(group, "v1", "StorageClass", "storageclasses", storageClass, ofCluster),
  comparedKindWithoutSpec(group, "v1", "CSIDriver", "csidrivers", (random) => ({ spec: csiDriver(random) }), ofCluster),
  comparedKindWithoutSpec(group, "v1", "CSINode", "csinodes", (random) => ({ spec: csiNode(random) }), ofCluster),
  comparedKindWithoutSpec(
    group,
    "v1",
    "VolumeAttachment",
    "volumeattachments",
    (random) => ({ spec: { attacher: "csi.example.com", nodeName: "n", source: attachmentSource(random) } }),
    { ...withStatus, ...ofCluster },
  ),
  comparedKindWithoutSpec(group, "v1", "CSIStorageCapacity", "csistoragecapacities", () => ({
    storageClassName: "fast",
    capacity: "10Gi",
    maximumVolumeSize: "1Gi",
    nodeTopology: selector,
  })),
  comparedKindWithoutSpec(
    group,
    "v1beta1",
    "VolumeAttributesClass",
    "volumeattributesclasses",
    () => ({ driverName: "csi.example.com", parameters: { iops: "100" } }),
    ofCluster,
  ),
];
