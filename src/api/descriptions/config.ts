/** Descriptions of configuration, storage, access and nodes. `../descriptions.ts` explains the format. */
export const config = `
package io.k8s.api.core.v1
ConfigMap: Configuration data that is not secret, as keys and values.
  data: Keys and texts.
  binaryData: Keys and bytes, in base64. A key is in one of the two.
  immutable: Whether the data can no longer be changed. It cannot be taken back.
Secret: Passwords, keys and other data that is not for everybody.
  data: Keys and bytes, in base64.
  stringData: Keys and texts to be put into "data". It is only written, never shown.
  type: What the secret holds, such as Opaque (the default) or kubernetes.io/tls; some types need certain keys. It cannot be changed.
  immutable: Whether the data can no longer be changed. It cannot be taken back.
Namespace: A part of the cluster with names and rights of its own.
  spec: What must be done before the namespace may go.
  status: Whether it is in use or on its way out.
NamespaceSpec:
  finalizers: Names of what is left to do; "kubernetes" is the deletion of all that the namespace holds.
NamespaceStatus: Whether the namespace is in use.
  phase: Active or Terminating.
  conditions: What its deletion waits for.
NamespaceCondition: One statement about a namespace.
  type: What the statement is about.
  status: True, False or Unknown.
  lastTransitionTime: When the status last became another one.
  reason: Why, in one word.
  message: Why, in a sentence.
ServiceAccount: An identity for programs.
  secrets: Secrets that its pods may mount.
  imagePullSecrets: Secrets for pulling images that its pods are given.
  automountServiceAccountToken: Whether its pods are given a token.
Event: Something that happened to an object. Kept for a limited time.
  involvedObject: What it happened to.
  reason: What happened, in one word.
  message: What happened, in a sentence.
  source: Who noticed it.
  firstTimestamp: When it happened first.
  lastTimestamp: When it happened last.
  count: How often it happened.
  type: Normal or Warning.
  eventTime: When it happened.
  series: How it went on, when it happened again and again.
  action: What was done or failed.
  related: Another object that it is about.
  reportingComponent: Controller that noticed it.
  reportingInstance: Which instance of the controller.
PersistentVolumeClaim: A wish for storage, met by a volume.
  spec: What storage is wished for.
  status: What was found.
PersistentVolumeClaimSpec:
  accessModes: How it is to be mounted: ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod.
  selector: Labels of volumes that come into question.
  resources: Least size, in requests.storage. It can grow later when the class allows it.
  volumeName: The volume that meets the claim.
  storageClassName: Class of the storage; the default class when it is not set, none at all when it is empty.
  volumeMode: Filesystem (the default) or Block.
  dataSource: Snapshot or claim whose content the volume begins with.
  dataSourceRef: The same for any kind of object, in other namespaces too.
  volumeAttributesClassName: Class of settings, such as speed, that can be changed later.
PersistentVolumeClaimStatus: What was found for a claim.
  phase: Pending, Bound or Lost.
  accessModes: How the volume can be mounted.
  capacity: How large it is.
  conditions: What holds of the claim, such as Resizing.
  allocatedResources: Size that was set aside while it grows.
  allocatedResourceStatuses: How far growing has come.
  currentVolumeAttributesClassName: Class of settings in force.
  modifyVolumeStatus: How far a change of that class has come.
PersistentVolumeClaimCondition: One statement about a claim.
  type: What the statement is about.
  status: True, False or Unknown.
  lastProbeTime: When it was last looked at.
  lastTransitionTime: When the status last became another one.
  reason: Why, in one word.
  message: Why, in a sentence.
VolumeResourceRequirements: How much storage.
  requests: Least size.
  limits: Most size.
TypedLocalObjectReference: An object of any kind in the same namespace.
  apiGroup: Its group; empty for the core group.
  kind: Its kind.
  name: Its name.
TypedObjectReference: An object of any kind.
  apiGroup: Its group; empty for the core group.
  kind: Its kind.
  name: Its name.
  namespace: Its namespace; that of the claim unless said.
ModifyVolumeStatus: How far a change of the class of settings has come.
  targetVolumeAttributesClassName: Class that is wished for.
  status: Pending, InProgress or Infeasible.
PersistentVolume: Storage that exists, for one claim at a time.
  spec: What storage it is.
  status: Whether it is in use.
PersistentVolumeSpec: What storage it is. One source is given beside the settings.
  capacity: How large it is.
  accessModes: How it can be mounted.
  claimRef: The claim it is bound to.
  persistentVolumeReclaimPolicy: What happens when the claim goes: Retain, Delete or Recycle.
  storageClassName: Class it belongs to.
  mountOptions: Options for mounting it.
  volumeMode: Filesystem (the default) or Block.
  nodeAffinity: Nodes from which it can be reached.
  volumeAttributesClassName: Class of its settings.
  csi: Storage of a CSI driver.
  local: A disk of one node.
  hostPath: A folder of the node, for trying things out.
  nfs: A folder of an NFS server.
PersistentVolumeStatus: Whether a volume is in use.
  phase: Pending, Available, Bound, Released or Failed.
  message: Why, in a sentence.
  reason: Why, in one word.
  lastPhaseTransitionTime: When the phase last became another one.
Node: A machine that runs pods.
  spec: How it is to be used.
  status: What was observed of it.
NodeSpec: How a node is to be used.
  podCIDR: Addresses for its pods.
  podCIDRs: The same for both address families; the first is podCIDR.
  providerID: Its identity at the provider.
  unschedulable: Whether it gets no new pods.
  taints: What keeps pods away that do not tolerate it.
NodeStatus: What was observed of a node.
  capacity: Its resources.
  allocatable: Resources for pods.
  conditions: What holds of it, such as Ready and MemoryPressure.
  addresses: Its addresses and names.
  nodeInfo: Its identity and the versions of its software.
  images: Images that it has.
  volumesInUse: Volumes that it uses.
  volumesAttached: Volumes that are attached to it.
Taint: Keeps pods away from a node.
  key: Its name.
  value: Its value.
  effect: NoSchedule, PreferNoSchedule or NoExecute.
  timeAdded: When it was added, for NoExecute.
ResourceQuota: Bounds what a namespace may hold and ask for.
  spec: The bounds.
  status: The bounds, and what is used.
ResourceQuotaSpec:
  hard: Most of each resource, such as pods or requests.cpu.
  scopes: Which objects count; all must hold.
  scopeSelector: The same with operators.
ResourceQuotaStatus:
  hard: Bounds in force.
  used: What is used.
LimitRange: Bounds and defaults for single pods, containers and claims of a namespace.
  spec: The bounds.
LimitRangeSpec:
  limits: Bounds by type of object.
LimitRangeItem: Bounds for one type of object.
  type: Container, Pod or PersistentVolumeClaim.
  max: Most of each resource.
  min: Least of each resource.
  default: Limits of containers that have none.
  defaultRequest: Requests of containers that have none.
  maxLimitRequestRatio: How many times as large as the request a limit may be.

package io.k8s.api.storage.v1
StorageClass: A kind of storage that claims can ask for.
  provisioner: Driver that makes the volumes.
  parameters: Settings for the driver.
  reclaimPolicy: What happens to a volume when its claim goes: Delete (the default) or Retain.
  mountOptions: Options for mounting the volumes.
  allowVolumeExpansion: Whether claims may grow.
  volumeBindingMode: Immediate (the default), or WaitForFirstConsumer to wait for a pod.
  allowedTopologies: Places where volumes may be made.

package io.k8s.api.storage.v1beta1
VolumeAttributesClass: Settings of volumes that a claim can change while it is in use.
  driverName: Driver that the settings are for. It cannot be changed.
  parameters: The settings. They cannot be changed; make another class instead.

package io.k8s.api.resource.v1beta1
ResourceClaimTemplate: Pattern of claims on devices, of which each pod gets its own.
  spec: The pattern. It cannot be changed.
ResourceClaimTemplateSpec: The pattern of the claims.
  metadata: Labels and annotations of the claims.
  spec: What the claims ask for.
ResourceClaimSpec: What a claim asks for.
  devices: Which devices, and how they are set up.
DeviceClaim:
  requests: What is asked for; each can be referred to by its name.
  constraints: What devices of several requests must have in common.
  config: Settings for the drivers.
DeviceRequest: Devices of one class.
  name: Name of the request.
  deviceClassName: Class of the devices.
  selectors: Expressions that a device must meet, beside those of the class.
  allocationMode: ExactCount (the default) or All.
  count: How many, for ExactCount; 1 by default.
  adminAccess: Whether devices in use count as well, for looking after them.
DeviceConstraint:
  requests: Names of the requests; all of them unless said.
  matchAttribute: Attribute that must have the same value.
DeviceClaimConfiguration: Settings for a driver.
  requests: Names of the requests they are for; all of them unless said.
  opaque: The settings.
OpaqueDeviceConfiguration: Settings that only the driver understands.
  driver: Name of the driver.
  parameters: The settings.
DeviceSelector: A condition for devices.
  cel: The condition, in CEL.
CELDeviceSelector: A condition in CEL.
  expression: True for devices that fit; "device" is the one in question.

package io.k8s.api.rbac.v1
Role: Rights inside of a namespace.
  rules: The rights.
ClusterRole: Rights in the whole cluster, or to be given in single namespaces.
  rules: The rights.
  aggregationRule: Other cluster roles whose rights are gathered here; "rules" is written by the server then.
RoleBinding: Gives a role to users, in one namespace.
  subjects: Who gets it.
  roleRef: Which role. It cannot be changed.
ClusterRoleBinding: Gives a cluster role to users, everywhere.
  subjects: Who gets it.
  roleRef: Which role. It cannot be changed.
PolicyRule: Some rights. Those on resources and those on other paths are in different rules.
  verbs: What may be done, such as get, list, watch, create, update, patch, delete; * for everything.
  apiGroups: Groups of the resources; an empty text for the core group, * for all.
  resources: Names of the resources, such as pods or pods/log; * for all.
  resourceNames: Names of single objects; all of them unless said.
  nonResourceURLs: Paths outside of the resources, such as /healthz or /logs/*; in cluster roles only.
RoleRef: A role.
  apiGroup: Group of the role.
  kind: Role or ClusterRole.
  name: Name of the role.
Subject: Who gets a role.
  kind: User, Group or ServiceAccount.
  apiGroup: Group of the kind; empty for service accounts.
  name: Name of the user, group or account.
  namespace: Namespace of a service account.
AggregationRule: Other cluster roles whose rights are gathered.
  clusterRoleSelectors: Labels of these roles; one of the selectors must fit.

package io.k8s.api.coordination.v1
Lease: Says who leads a group of programs, or that somebody is still there.
  spec: Who holds it, and until when.
LeaseSpec: Who holds a lease, and until when.
  holderIdentity: Who holds it.
  leaseDurationSeconds: Seconds after renewTime at which others may take it.
  acquireTime: When the holder got it.
  renewTime: When the holder last renewed it.
  leaseTransitions: How often it went from one holder to another.
  strategy: How a new holder is chosen.
  preferredHolder: Who should get it next.
`;
