/** References of objects to the object that controls them. */
import type { ApiObject, OwnerReference } from "#meta/object-meta.ts";

/** Returns the reference to the object that controls this one. */
export const controllerOf = ({ metadata }: ApiObject): OwnerReference | undefined =>
  metadata.ownerReferences?.find(({ controller }) => controller === true);

/** Returns a reference to an object, for objects that it controls and that are deleted with it. */
export const referenceToOwner = ({ apiVersion = "", kind = "", metadata }: ApiObject): OwnerReference => ({
  apiVersion,
  kind,
  name: metadata.name ?? "",
  uid: metadata.uid ?? "",
  controller: true,
  blockOwnerDeletion: true,
});
