/** The envelope every API object has, as plain read-only JSON data. Times are RFC 3339 texts, UTC. */
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
  /** Never stored; clients of old sent it. */
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

/** The generation of an object after a change that counts. */
export const nextGeneration = ({ generation = 0 }: ObjectMeta): Int64 =>
  Number.isSafeInteger(generation) ? (generation as number) + 1 : int64Of(bigIntOf(generation) + 1n);

/** The fields of every API object. Shared and read-only once it came from storage; change by copying. */
export interface ApiObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** An object of any kind, whose fields generic code reads by name. */
export interface Unstructured extends ApiObject {
  readonly [field: string]: unknown;
}

/** The object with this status; without one when it is `undefined`. */
export function withStatus(object: Unstructured, status: unknown): Unstructured {
  if (object["status"] === status) return object;
  if (status !== undefined) return { ...object, status };
  const { status: _status, ...rest } = object;
  return rest;
}

/** Metadata without the annotations whose names are `dropped`; the same where there are none of them. */
export function withoutAnnotations(metadata: ObjectMeta, dropped: (name: string) => boolean): ObjectMeta {
  const { annotations, ...rest } = metadata;
  if (annotations === undefined || !Object.keys(annotations).some(dropped)) return metadata;
  const kept = Object.entries(annotations).filter(([name]) => !dropped(name));
  return kept.length === 0 ? rest : { ...metadata, annotations: Object.fromEntries(kept) };
}

/** Metadata without what a server gives a new object. */
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
