/** Descriptions of metadata, selectors and references. `../descriptions.ts` explains the format. */
export const meta = `
package io.k8s.apimachinery.pkg.apis.meta.v1
ObjectMeta: What every stored object says about itself: its name, its labels, who owns it, when it was made.
  name: Name of the object, unique among those of its kind in its namespace. It cannot be changed.
  generateName: Beginning of a name: where "name" is empty, the server appends five random characters to it. Creating fails in the rare case that no free name is found; ask again then.
  namespace: Namespace that the object lives in. Empty for kinds that belong to the whole cluster. It cannot be changed.
  selfLink: Not used any more; always empty.
  uid: Identity of this very object. An object that is deleted and made again under its name has another one.
  resourceVersion: Version of the object, new with every change. Send it with an update to be refused when somebody else was faster; treat it as opaque text.
  generation: Counts the changes of what is wanted (the spec). The server sets it.
  creationTimestamp: CreationTimestamp is a timestamp that the server sets: when it stored the object for the first time, in UTC.
  deletionTimestamp: When the object goes, or since when it waits for its finalizers. The server sets it on a delete; it is never taken back.
  deletionGracePeriodSeconds: Seconds between the request to delete the object and its end. Only set while it is on its way out; it can be made shorter.
  labels: Keys and values by which objects are grouped and selected.
  annotations: Keys and values for tools and people, of any content; nothing can be selected by them.
  ownerReferences: Objects that this one belongs to. When all of them are gone, it is deleted as well. At most one is the controller.
  finalizers: Names of what still has to be done before the object may go. Each is removed by the component that is responsible; a deleted object disappears when none is left.
  managedFields: Who set which fields, written by the server for server-side apply.
OwnerReference: An object that owns this one, in the same namespace or in the cluster.
  apiVersion: Group and version of the owner.
  kind: Kind of the owner.
  name: Name of the owner.
  uid: Identity of the owner, so that another object of its name is not taken for it.
  controller: True for the one owner that manages this object.
  blockOwnerDeletion: True when a foreground deletion of the owner has to wait for this object.
ManagedFieldsEntry: The fields that one manager set in one way.
  manager: Name of the manager, as the client gave it or from its user agent.
  operation: Apply or Update: how the fields were set.
  apiVersion: Version in which the fields are named.
  time: When the manager last changed what it owns.
  fieldsType: Form of "fieldsV1"; always FieldsV1.
  fieldsV1: The owned fields, as a tree of names.
  subresource: Part of the object through which the fields were written, such as status; empty for the object itself.
LabelSelector: Selects objects by their labels. All requirements must hold; an empty selector takes everything.
  matchLabels: Labels that must have exactly these values.
  matchExpressions: Further requirements on labels.
LabelSelectorRequirement: One requirement on a label.
  key: Name of the label.
  operator: In, NotIn, Exists or DoesNotExist.
  values: Values to compare with: at least one for In and NotIn, none for the other two.
ListMeta: What a list says about itself.
  selfLink: Not used any more; always empty.
  resourceVersion: Version of the collection that the list shows. A watch can start from it.
  continue: Given when there is more: send it with the next request to get what follows.
  remainingItemCount: About how many objects follow; absent when that is not known.
Condition: One statement about the state of the object.
  type: What the statement is about.
  status: True, False or Unknown.
  observedGeneration: Generation of the object for which it was made.
  lastTransitionTime: When the status last became another one.
  reason: Why, in one word for programs.
  message: Why, in a sentence for people.
`;
