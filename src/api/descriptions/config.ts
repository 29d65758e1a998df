/** Descriptions of configuration, storage, access and nodes. `../descriptions.ts` explains the format. */
export const config = `
package io.k8s.api.core.v1
ConfigMap: Configuration data that is not secret, as keys and values.
  data: The values that are text, by key.
  binaryData: The values that are bytes, by key, in base64. A key is either here or in "data".
  immutable: Whether the data can no longer be changed. Once true, it stays true.
Secret: Passwords, keys and other data that only some clients may read.
  data: The values by key, in base64.
  stringData: Values as text, by key, which the server puts into "data". They can only be written, and are never shown.
  type: The kind of content, such as Opaque (the default) or kubernetes.io/tls; some types need certain keys. It cannot be changed.
  immutable: Whether the data can no longer be changed. Once true, it stays true.
Namespace: A part of the cluster with names and access rights of its own.
  spec: The work that must be done before the namespace can be removed.
  status: The phase of the namespace, and the progress of its deletion.
NamespaceSpec:
  finalizers: The names of the clean-up tasks that are left; "kubernetes" is the deletion of all objects in the namespace.
NamespaceStatus: The observed state of a namespace.
  phase: The phase of the namespace: Active or Terminating.
  conditions: The causes for which its deletion waits.
NamespaceCondition: One statement about a namespace.
  type: The name of the condition.
  status: The status of the condition: True, False or Unknown.
  lastTransitionTime: The time at which the status last changed.
  reason: The reason for the status, in one word.
  message: The reason for the status, in a sentence.
ServiceAccount: An identity for programs.
  secrets: The secrets that its pods may mount.
  imagePullSecrets: The secrets that its pods are given for pulling images.
  automountServiceAccountToken: Whether its pods are given a token.
Event: A report of something that happened to an object. It is kept for a limited time.
  involvedObject: The object that the event is about.
  reason: The kind of event, in one word.
  message: The event, described in a sentence.
  source: The component that reported the event.
  firstTimestamp: The time of the first occurrence.
  lastTimestamp: The time of the last occurrence.
  count: The number of times that the event occurred.
  type: The severity of the event: Normal or Warning.
  eventTime: The time at which the event was first observed.
  series: The further occurrences of an event that repeats.
  action: The action that was taken or that failed.
  related: A second object that the event is about.
  reportingComponent: The name of the controller that reported the event.
  reportingInstance: The name of the instance of that controller.
PersistentVolumeClaim: A request for storage, which is met by a volume.
  spec: The storage that is requested.
  status: The volume that was found, and the progress of changes to it.
PersistentVolumeClaimSpec:
  accessModes: The ways in which the volume must be mountable: ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod.
  selector: The labels that the volume must have.
  resources: The least size of the volume, in requests.storage. It can be raised later when the class allows it.
  volumeName: The name of the volume that meets the claim.
  storageClassName: The name of the storage class; the default class when it is not set, no class when it is empty.
  volumeMode: The form of the volume: Filesystem (the default) or Block.
  dataSource: The snapshot or claim with whose content the volume begins.
  dataSourceRef: The object with whose content the volume begins. Unlike dataSource, it can be of any kind and in another namespace.
  volumeAttributesClassName: The name of the class of settings, such as speed, that can be changed later.
PersistentVolumeClaimStatus: The observed state of a claim.
  phase: The phase of the claim: Pending, Bound or Lost.
  accessModes: The ways in which the volume can be mounted.
  capacity: The size of the volume.
  conditions: The conditions of the claim, such as Resizing.
  allocatedResources: The size that is reserved while the volume grows.
  allocatedResourceStatuses: The progress of growing the volume, by resource.
  currentVolumeAttributesClassName: The name of the class of settings in force.
  modifyVolumeStatus: The progress of changing the class of settings.
PersistentVolumeClaimCondition: One statement about a claim.
  type: The name of the condition.
  status: The status of the condition: True, False or Unknown.
  lastProbeTime: The time at which the condition was last checked.
  lastTransitionTime: The time at which the status last changed.
  reason: The reason for the status, in one word.
  message: The reason for the status, in a sentence.
VolumeResourceRequirements: The size of the storage that is requested.
  requests: The least size of the volume, as storage.
  limits: The greatest size of the volume, as storage.
TypedLocalObjectReference: A reference to an object of any kind in the same namespace.
  apiGroup: The group of the object; empty for the core group.
  kind: The kind of the object.
  name: The name of the object.
TypedObjectReference:
  apiGroup: The group of the object; empty for the core group.
  kind: The kind of the object.
  name: The name of the object.
  namespace: The namespace of the object; by default that of the claim.
ModifyVolumeStatus:
  targetVolumeAttributesClassName: The name of the requested class.
  status: The state of the change: Pending, InProgress or Infeasible.
PersistentVolume: A piece of storage that exists, for one claim at a time.
  spec: The storage, its settings and the claim that it is bound to.
  status: The phase of the volume.
PersistentVolumeSpec: The properties of the storage. One source is given beside the settings.
  capacity: The size of the volume.
  accessModes: The ways in which the volume can be mounted.
  claimRef: The claim that the volume is bound to.
  persistentVolumeReclaimPolicy: The policy for the volume once its claim is deleted: Retain, Delete or Recycle.
  storageClassName: The name of the storage class that the volume belongs to.
  mountOptions: The options with which the volume is mounted.
  volumeMode: The form of the volume: Filesystem (the default) or Block.
  nodeAffinity: The nodes from which the volume can be reached.
  volumeAttributesClassName: The name of the class of the volume's settings.
  csi: Storage of a CSI driver.
  local: A disk of one node.
  hostPath: A folder of the node, for tests on a single node.
  nfs: A folder of an NFS server.
PersistentVolumeStatus: The observed state of a volume.
  phase: The phase of the volume: Pending, Available, Bound, Released or Failed.
  message: The reason for the phase, in a sentence.
  reason: The reason for the phase, in one word.
  lastPhaseTransitionTime: The time at which the phase last changed.
Node: A machine that runs pods.
  spec: The intended use of the node.
  status: The observed state of the node.
NodeSpec:
  podCIDR: The range of addresses for the node's pods.
  podCIDRs: The ranges of addresses for the node's pods, one for each address family; the first is podCIDR.
  providerID: The identity of the node at the cloud provider.
  unschedulable: Whether the node gets no new pods.
  taints: The taints of the node, which keep away pods that do not tolerate them.
NodeStatus:
  capacity: All resources of the node.
  allocatable: The resources that pods can use.
  conditions: The conditions of the node, such as Ready and MemoryPressure.
  addresses: The addresses and host names of the node.
  nodeInfo: The identity of the node and the versions of its software.
  images: The container images that are on the node.
  volumesInUse: The attachable volumes that the node uses.
  volumesAttached: The attached volumes, as the attach controller reports them.
Taint: A mark of a node that keeps pods away.
  key: The key of the taint.
  value: The value of the taint.
  effect: The fate of pods without a fitting toleration: NoSchedule, PreferNoSchedule or NoExecute.
  timeAdded: The time since which a taint with NoExecute is there; tolerated seconds count from it.
ResourceQuota: Upper bounds for the objects in a namespace and for the resources that they request.
  spec: The bounds for objects and resources of the namespace.
  status: The bounds in force, and the current use.
ResourceQuotaSpec:
  hard: The upper bound for each resource, such as pods or requests.cpu.
  scopes: The scopes that an object must match to be counted; all of them must match.
  scopeSelector: The scopes that an object must match, as requirements with operators and values.
ResourceQuotaStatus:
  hard: The upper bounds in force.
  used: The amount of each resource that is in use.
LimitRange: Bounds and defaults for single pods, containers and claims of a namespace.
  spec: The bounds and defaults, by type of object.
LimitRangeSpec:
  limits: The bounds, by type of object.
LimitRangeItem: The bounds for one type of object.
  type: The type of object: Container, Pod or PersistentVolumeClaim.
  max: The greatest amount of each resource.
  min: The least amount of each resource.
  default: The limits of containers that set none.
  defaultRequest: The requests of containers that set none.
  maxLimitRequestRatio: The greatest allowed ratio of the limit to the request, for each resource.

package io.k8s.api.storage.v1
StorageClass: A kind of storage that claims can ask for.
  provisioner: The name of the driver that makes the volumes.
  parameters: The settings for the driver.
  reclaimPolicy: The policy for a volume once its claim is deleted: Delete (the default) or Retain.
  mountOptions: The options with which the volumes are mounted.
  allowVolumeExpansion: Whether claims of the class may grow; they may not when absent.
  volumeBindingMode: The time at which volumes are bound: Immediate (the default), or WaitForFirstConsumer to wait for a pod.
  allowedTopologies: The parts of the cluster in which volumes may be made.

package io.k8s.api.storage.v1beta1
VolumeAttributesClass: Settings of volumes that a claim can change while it is in use.
  driverName: The name of the driver that the settings are for. It cannot be changed.
  parameters: The settings. They cannot be changed; make another class instead.

package io.k8s.api.rbac.v1
Role: A set of rights inside a namespace.
  rules: The rights that the role grants.
ClusterRole: A set of rights in the whole cluster, which can also be granted in single namespaces.
  rules: The rights that the role grants.
  aggregationRule: The selection of other cluster roles whose rights are gathered here; the server then writes "rules".
RoleBinding: The grant of a role to users in one namespace.
  subjects: The users, groups and service accounts that get the role.
  roleRef: The role that the binding grants. It cannot be changed.
ClusterRoleBinding: The grant of a cluster role to users in the whole cluster.
  subjects: The users, groups and service accounts that get the role.
  roleRef: The cluster role that the binding grants. It cannot be changed.
PolicyRule: A set of rights. A rule is either for resources or for other paths.
  verbs: The allowed actions, such as get, list, watch, create, update, patch, delete; * for all.
  apiGroups: The groups of the resources; an empty text for the core group, * for all.
  resources: The names of the resources, such as pods or pods/log; * for all.
  resourceNames: The names of single objects; all objects by default.
  nonResourceURLs: The paths outside of the resources, such as /healthz or /logs/*; in cluster roles only.
RoleRef: A reference to a role.
  apiGroup: The group of the role.
  kind: The kind of the role: Role or ClusterRole.
  name: The name of the role.
Subject: A user, group or service account that gets a role.
  kind: The kind of the subject: User, Group or ServiceAccount.
  apiGroup: The group of the kind; empty for service accounts.
  name: The name of the user, group or account.
  namespace: The namespace of a service account.
AggregationRule:
  clusterRoleSelectors: The labels of these roles; one of the selectors must match.

package io.k8s.api.coordination.v1
Lease: A claim that a program holds for a limited time and renews: to be the leader of a group, or to show that it is alive.
  spec: The holder of the lease, and its times.
LeaseSpec:
  holderIdentity: The name of the present holder.
  leaseDurationSeconds: The seconds after renewTime at which others may take the lease.
  acquireTime: The time at which the holder got the lease.
  renewTime: The time at which the holder last renewed the lease.
  leaseTransitions: The number of changes of the holder.
  strategy: The strategy by which a new holder is chosen.
  preferredHolder: The name of the candidate that should get the lease next.
`;
