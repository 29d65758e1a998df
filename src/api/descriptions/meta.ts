/** Descriptions of metadata, selectors and references. `../descriptions.ts` explains the format. */
export const meta = `
package io.k8s.apimachinery.pkg.apis.meta.v1
ObjectMeta: The data that every stored object has about itself: its name, its labels, its owners, its times.
  name: Name of the object, unique among those of its kind in its namespace. It cannot be changed.
  generateName: The beginning of a generated name: if "name" is empty, the server appends five random characters to it. Creating fails in the rare case that no free name is found; repeat the request then.
  namespace: Namespace that the object lives in. Empty for kinds that belong to the whole cluster. It cannot be changed.
  selfLink: A field that is no longer used; it is always empty.
  uid: Identity of this very object. An object that is deleted and made again under its name has another one.
  resourceVersion: Version of the object, new with every change. An update that carries it is refused when the object has changed in between; treat it as opaque text.
  generation: A number that the server raises with each change of the wanted state (the spec).
  creationTimestamp: CreationTimestamp is a timestamp that the server sets: the time at which it stored the object for the first time, in UTC.
  deletionTimestamp: The time at which the object is to be removed; it may wait longer for its finalizers. The server sets it on a delete; it is never taken back.
  deletionGracePeriodSeconds: Seconds between the request to delete the object and its removal. It is only set on objects that are being deleted, and can be shortened.
  labels: Keys and values by which objects are grouped and selected.
  annotations: Keys and values for tools and people, of any content; nothing can be selected by them.
  ownerReferences: Objects that this one belongs to. When all of them are gone, it is deleted as well. At most one is the controller.
  finalizers: The names of the tasks that must be done before the object is removed. Each name is removed by the component that is responsible; a deleted object disappears when none is left.
  managedFields: The fields that each manager owns, written by the server for server-side apply.
OwnerReference: A reference to an object that owns this one, in the same namespace or in the cluster.
  apiVersion: Group and version of the owner.
  kind: The kind of the owner, such as ReplicaSet.
  name: The name of the owner, in the same namespace or in the cluster.
  uid: Identity of the owner, so that another object of its name is not taken for it.
  controller: Whether the owner is the one that manages this object. At most one owner is.
  blockOwnerDeletion: Whether a foreground deletion of the owner has to wait for this object.
ManagedFieldsEntry: The fields that one manager set in one way.
  manager: Name of the manager, as the client gave it or from its user agent.
  operation: The operation that set the fields: Apply or Update.
  apiVersion: Version in which the fields are named.
  time: The time of the manager's last change to its fields.
  fieldsType: Form of "fieldsV1"; always FieldsV1.
  fieldsV1: The owned fields, as a tree of names.
  subresource: Part of the object through which the fields were written, such as status; empty for the object itself.
LabelSelector: A selection of objects by their labels. All requirements must hold; an empty selector selects everything.
  matchLabels: Labels that must have exactly these values.
  matchExpressions: Further requirements on labels, all of which must hold.
LabelSelectorRequirement: One requirement on a label.
  key: The label that the requirement is about, by its name.
  operator: The comparison: In, NotIn, Exists or DoesNotExist.
  values: Values to compare with: at least one for In and NotIn, none for the other two.
ListMeta: The data that a list has about itself.
  selfLink: A field that is no longer used; it is always empty.
  resourceVersion: Version of the collection that the list shows. A watch can start from it.
  continue: The token of the next page, present when the list is incomplete. Send it with the next request to get the objects that follow.
  remainingItemCount: The approximate number of objects that follow; absent when it is not known.
Condition: One statement about the state of the object.
  type: The name of the condition.
  status: The status of the condition: True, False or Unknown.
  observedGeneration: The generation of the object for which the statement was made.
  lastTransitionTime: The time at which the status last changed.
  reason: The reason for the status, in one word for programs.
  message: The reason for the status, in a sentence for people.

package io.k8s.apimachinery.pkg.apis.meta.v1
APIGroup: A group of resources and its versions.
  name: The name of the group, such as apps.
  preferredVersion: The version that clients should use unless they need another one.
APIGroupList: The groups that the server has, except for the core group.
  groups: The groups of the server.
APIVersions: The versions of the core group.
APIGroup, APIVersions:
  versions: The versions that the server offers.
  serverAddressByClientCIDRs: The addresses at which clients reach the server, by the range of their own address.
GroupVersionForDiscovery: A version of a group.
  groupVersion: The group and the version, such as apps/v1.
  version: The version alone, such as v1.
ServerAddressByClientCIDR: The address of the server for some clients.
  clientCIDR: The range of addresses of these clients.
  serverAddress: The host name or address of the server, with a port if need be.
APIResourceList: The resources of a group version.
  groupVersion: The group and the version of the resources.
  resources: The resources and subresources that the version has.
APIResource: A resource or subresource.
  name: The name in paths: the plural, followed by the name of a subresource if it is one.
  singularName: The name of the resource in the singular; empty for subresources.
  namespaced: Whether the objects live in namespaces.
  group: The group of the bodies; that of the list when absent.
  version: The version of the bodies; that of the list when absent.
  kind: The kind of the objects.
  verbs: The actions that the server offers.
  shortNames: The short names by which tools know the resource, such as po.
  categories: The groups of resources to which it belongs for tools, such as all.
  storageVersionHash: A text that changes when the version changes in which objects are stored. Clients only compare it.
DeleteOptions: The options of a deletion, which are the body of its request.
  gracePeriodSeconds: The seconds until the object is removed; 0 for at once. The kind decides when it is absent.
  preconditions: The identity and version that the object must have to be deleted.
  orphanDependents: Whether the objects that it owns stay. It is deprecated; use propagationPolicy instead.
  propagationPolicy: The fate of the objects that it owns: Orphan (they stay), Background (they go later) or Foreground (they go first).
  dryRun: The steps that are only tried; All is the one value, and nothing is then stored.
  ignoreStoreReadErrorWithClusterBreakingPotential: Whether an object is removed that can no longer be read, without its finalizers. It is dangerous, and needs a right of its own.
Preconditions: Conditions that an object must meet to be changed.
  uid: The identity that the object must have.
  resourceVersion: The version that the object must have.
FieldSelectorRequirement: One requirement on a field.
  key: The path of the field.
  operator: The comparison: In, NotIn, Exists or DoesNotExist.
  values: Values to compare with: at least one for In and NotIn, none for the other two.
Status: The outcome of a request that returns no object, mostly an error.
  status: The outcome: Success or Failure.
  message: The outcome, described in a sentence.
  reason: The kind of failure, in one word for programs, such as NotFound.
  details: The facts of the failure, such as the object that it is about.
  code: The status code of HTTP that belongs to the outcome.
StatusDetails:
  name: The name of the object that the failure is about.
  group: The group of that object.
  kind: The kind or resource of that object.
  uid: The identity of that object.
  causes: The single causes, such as each field that is not valid.
  retryAfterSeconds: The seconds after which a client should try again.
StatusCause: One cause of a failure.
  reason: The kind of cause, in one word for programs, such as FieldValueInvalid.
  message: The cause, described in a sentence.
  field: The path of the field that caused the failure, such as spec.containers[0].image.
WatchEvent: A change that a watch reports.
  type: The kind of change: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.
  object: The object after the change, as it last was for DELETED, or a Status for ERROR.
Patch: A change of an object, in the form that the content type names.

package io.k8s.apimachinery.pkg.version
Info: The version of the server, and the way in which it was built.
  major: The first number of the version.
  minor: The second number of the version.
  gitVersion: The whole version, such as v1.32.1.
  gitCommit: The commit that the server was built from; empty when it is not known.
  gitTreeState: The state of the source when the server was built: clean or dirty.
  buildDate: The time at which the server was built.
  goVersion: The version of Go; it is empty, since this server is not built with Go.
  compiler: The program that runs the server: node and its version.
  platform: The operating system and the processor, such as linux/amd64.
`;
