/** The envelope of every API object, as plain read-only JSON data. Times are RFC 3339 texts in UTC. */
import { bigIntOf, type Int64, int64Of } from "#std/int64.ts";

/** An object that owns another one, in the same namespace or in the cluster. */
export interface OwnerReference {
  /** The group and version of the owner. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** The identity of the owner, so that another object of its name is not taken for it. */
  readonly uid: string;
  /** Whether this owner manages the object; at most one does. */
  readonly controller?: boolean;
  /** Whether a foreground deletion of the owner waits for the object. */
  readonly blockOwnerDeletion?: boolean;
}

/** The fields that one manager set in one way. */
export interface ManagedFieldsEntry {
  readonly manager?: string;
  readonly operation?: "Apply" | "Update";
  /** The version in which the fields are named. */
  readonly apiVersion?: string;
  /** The time of the last change of what the manager owns. */
  readonly time?: string;
  readonly fieldsType?: string;
  /** The owned fields, as a tree of names. */
  readonly fieldsV1?: Readonly<Record<string, unknown>>;
  /** The subresource that the fields were written through. */
  readonly subresource?: string;
}

export interface ObjectMeta {
  /** The name, unique among the objects of the kind in a namespace. It cannot be changed. */
  readonly name?: string;
  /** The beginning of a name, to which the server adds five random characters if there is no name. */
  readonly generateName?: string;
  /** The namespace; absent for kinds that belong to the whole cluster. */
  readonly namespace?: string;
  /** Sent by old clients; never stored. */
  readonly selfLink?: string;
  /** The identity of this very object: another one under its name has another identity. */
  readonly uid?: string;
  /** The version of the object, new with every change; an opaque text. */
  readonly resourceVersion?: string;
  /** The number of changes of what is wanted (the spec). */
  readonly generation?: Int64;
  readonly creationTimestamp?: string | null;
  /** The time at which the object goes, or since which it waits for its finalizers. */
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: Int64;
  /** Keys and values by which objects are selected. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Keys and values for tools and people, of any content. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** The objects that this one belongs to: when all of them are gone, it is deleted too. */
  readonly ownerReferences?: readonly OwnerReference[];
  /** The names of what has to be done before the object may go. */
  readonly finalizers?: readonly string[];
  /** The managers of fields, written by the server for server-side apply. */
  readonly managedFields?: readonly ManagedFieldsEntry[];
}

/** Returns the generation of an object after a change of its desired state. */
export const nextGeneration = ({ generation = 0 }: ObjectMeta): Int64 =>
  Number.isSafeInteger(generation) ? (generation as number) + 1 : int64Of(bigIntOf(generation) + 1n);

/** The fields of every API object. Objects from storage are shared and read-only; copy them to change them. */
export interface ApiObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** An object of any kind, whose fields generic code reads by name. */
export interface Unstructured extends ApiObject {
  readonly [field: string]: unknown;
}

/** Returns the object with this status, or without a status for `undefined`. */
export function withStatus(object: Unstructured, status: unknown): Unstructured {
  if (object["status"] === status) return object;
  if (status !== undefined) return { ...object, status };
  const { status: _status, ...rest } = object;
  return rest;
}

/** Returns metadata without the annotations for whose names `dropped` is true; the same object when there are none. */
export function withoutAnnotations(metadata: ObjectMeta, dropped: (name: string) => boolean): ObjectMeta {
  if (metadata.annotations === undefined || !Object.keys(metadata.annotations).some(dropped)) return metadata;
  const { annotations, ...rest } = metadata;
  const entries = Object.entries(annotations).filter(([name]) => !dropped(name));
  return entries.length === 0 ? rest : { ...metadata, annotations: Object.fromEntries(entries) };
}

/** Returns metadata without the fields that a server gives to a new object. */
export function withoutOrigin(metadata: ObjectMeta): ObjectMeta {
  const {
    uid: _uid,
    resourceVersion: _version,
    generation: _generation,
    creationTimestamp: _creation,
    deletionTimestamp: _deletion,
    deletionGracePeriodSeconds: _grace,
    managedFields: _managers,
    selfLink: _link,
    ...rest
  } = metadata;
  return rest;
}
