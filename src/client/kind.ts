/**
 * Kinds as values: what calls need to know of a kind, with the TypeScript type of its objects. `kinds.ts` has those of
 * Kubernetes; those of custom resources are objects of the same form.
 */
import type { ApiObject, ObjectMeta } from "#meta/object-meta.ts";

/** The group, version and kind of what a request sends or gets; `T` is its type. */
export interface BodyKind<T extends ApiObject = ApiObject> {
  /** The group; empty for the core group. In groups of Kubernetes it is its own name: `rbac.authorization.k8s.io`. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Never set: it carries the type of the objects. */
  readonly type?: T;
}

/** A kind that a server has a resource for. `T` is the type of its objects. */
export interface Kind<T extends ApiObject = ApiObject> extends BodyKind<T> {
  /** The plural in lower case, as in paths: `deployments`. */
  readonly resource: string;
  readonly namespaced: boolean;
}

/** The metadata of an object that a server stores. */
export interface StoredMeta extends ObjectMeta {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp: string;
}

/** An object that a server stores, as calls return it. */
export interface StoredObject extends ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: StoredMeta;
}
