/** The envelope of every API object, as plain read-only JSON data. Times are RFC 3339 texts in UTC. */
import { bigIntOf, type Int64, int64Of } from "#std/int64.ts";

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ManagedFieldsEntry {
  readonly manager?: string;
  readonly operation?: "Apply" | "Update";
  readonly apiVersion?: string;
  readonly time?: string;
  readonly fieldsType?: string;
  readonly fieldsV1?: Readonly<Record<string, unknown>>;
  readonly subresource?: string;
}

export interface ObjectMeta {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  /** Sent by old clients; never stored. */
  readonly selfLink?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: Int64;
  readonly creationTimestamp?: string | null;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: Int64;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
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
  const { annotations, ...rest } = metadata;
  if (annotations === undefined || !Object.keys(annotations).some(dropped)) return metadata;
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
