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
  kind: Kind of the owner.
  name: Name of the owner.
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
  matchExpressions: Further requirements on labels.
LabelSelectorRequirement: One requirement on a label.
  key: Name of the label.
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
`;
