/** Makes the context of a reconcile: its writes, its events, and its view of owned objects. */
import { isDeepStrictEqual } from "node:util";
import { millisecondsOf, type WaitTime } from "#std/go-duration.ts";
import { isObject } from "#std/is-object.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { timestampOf } from "#meta/time.ts";
import type { KindClient } from "../cluster.ts";
import type { Apply } from "../draft.ts";
import type { Informer } from "../informer.ts";
import type { Kind } from "../kind.ts";
import { referenceToOwner } from "../owner.ts";
import { type Conditions, stateConditions, type StoredCondition } from "./conditions.ts";
import type { Lister, ObjectKey, ReconcileContext } from "./definition.ts";
import type { EventRecorder } from "../event-recorder.ts";
import type { InformerSet } from "./informers.ts";
import { appliedPart, hasAtomicConditions } from "./owned-fields.ts";
import {
  checkScope,
  claimOwned,
  createOwned,
  ownedInformer,
  readOwned,
  removeObject,
  type OwnerParts,
} from "./owned-objects.ts";

/** The parts that all reconciles of a controller share. */
export interface ContextParts extends OwnerParts {
  readonly events: EventRecorder;
  /** Queues an object. */
  readonly queue: (key: string, afterMs: number) => void;
}

/** One call of a reconcile. `object` is replaced when the object is written. */
interface ReconcileCall {
  object: ApiObject;
  /** Called with the object as it was written. */
  readonly written: (object: ApiObject) => void;
}

export function reconcileContext(parts: ContextParts, call: ReconcileCall): ReconcileContext {
  const { controller, client, events, signal, queue } = parts;
  return {
    client,
    signal,
    apply: (kind, object, options) => applyOwned(parts, call.object, { kind, object, owned: options?.owned ?? true }),
    status: (conditions, fields) => writeStatus(parts, call, conditions, fields as object | undefined),
    event: (type, reason, note = "", { action = "Reconcile", related } = {}) =>
      events.record({ about: call.object, controller: controller.name, type, reason, note, action, related }),
    queue: (key, time: WaitTime = 0) => queue(keyIn(controller.kind, key, call.object), millisecondsOf(time)),
    written: (object) => {
      call.object = object;
      call.written(object);
    },
    lister: listerOf(parts.informers),
    // The calls on a kind return its objects.
    owned: <K extends ApiObject>(kind: Kind<K>) =>
      parts.informers.owned(ownedInformer(parts, call.object, kind), call.object) as K[],
    claim: <K extends ApiObject>(kind: Kind<K>) => claimOwned(parts, call.object, kind) as Promise<K[]>,
    readOwned: <K extends ApiObject>(kind: Kind<K>) => readOwned(parts, call.object, kind) as Promise<K[]>,
    create: (kind, object, options) => createOwned(parts, call.object, [kind, object, options?.owned ?? true]),
    remove: (kind, object) => removeObject(parts, kind, object),
    replaceStatus: (status) => replaceStatus(parts, call, status),
  };
}

/** Returns the key of an object. A name without a namespace is in that of `origin`. */
export function keyIn(kind: Kind, key: ObjectKey, { metadata }: ApiObject): string {
  const [name, namespace = metadata.namespace] =
    typeof key === "string" ? (key.split("/", 2).toReversed() as [string, string?]) : [key.name, key.namespace];
  return kind.namespaced && namespace !== undefined ? `${namespace}/${name}` : name;
}

/** Returns the view of the objects that informers have. */
export function listerOf(informers: InformerSet): Lister {
  const informerOf = (kind: Kind, namespace: string | undefined): Informer<ApiObject> => {
    const informer = informers.find(kind, namespace);
    if (informer === undefined) throw new TypeError(`no controller of this run follows ${kind.kind}`);
    return informer;
  };
  return {
    list: <K extends ApiObject>(kind: Kind<K>, namespace?: string) => {
      const informer = informerOf(kind, namespace);
      return (namespace === undefined ? informer.list() : informer.in(namespace)) as K[]; // the informer has the kind
    },
    find: <K extends ApiObject>(kind: Kind<K>, key: ObjectKey) => {
      const text = keyIn(kind, key, { metadata: {} });
      return informerOf(kind, text.split("/").at(-2)).get(text) as K | undefined; // the informer has the kind
    },
  };
}

interface Application<K extends ApiObject> {
  readonly kind: Kind<K>;
  readonly object: Apply<K>;
  readonly owned: boolean;
}

async function applyOwned<K extends ApiObject>(
  { client, informers, signal }: ContextParts,
  owner: ApiObject,
  { kind, object, owned }: Application<K>,
): Promise<K> {
  const { namespace = owner.metadata.namespace, ownerReferences = [], ...metadata } = object.metadata;
  if (owned) checkScope(owner, kind);
  const references = owned ? [...ownerReferences, referenceToOwner(owner)] : ownerReferences;
  const wanted = {
    ...object,
    metadata: { ...metadata, ...(references.length === 0 ? {} : { ownerReferences: references }) },
  } as Apply<K>; // only the metadata has changed
  const where = kind.namespaced ? namespace : undefined;
  const key = where === undefined ? metadata.name : `${where}/${metadata.name}`;
  const present = informers.find(kind, where)?.get(key);
  if (present !== undefined && isApplied(present, wanted, client.manager)) return present as K; // the informer has the kind
  const { object: applied } = await client.kind(kind).apply(wanted, { in: where, force: true, signal });
  return applied!; // with force there are no conflicts
}

/** Whether the manager has already applied exactly this. */
function isApplied(present: ApiObject, wanted: unknown, manager: string): boolean {
  if (present.metadata.deletionTimestamp !== undefined) return false;
  const applied = appliedPart(present, manager);
  if (applied === undefined) return false;
  return isDeepStrictEqual(comparable(applied), comparable(JSON.parse(JSON.stringify(wanted))));
}

/** Returns the fields that can be owned. */
function comparable(object: unknown): unknown {
  const { apiVersion: _apiVersion, kind: _kind, metadata = {}, ...rest } = object as Record<string, unknown>;
  const { name: _name, namespace: _namespace, ...fields } = metadata as Record<string, unknown>;
  return { metadata: fields, ...rest };
}

/** Returns the field `status` of an object, which every kind may have. */
function statusOf(object: unknown): Readonly<Record<string, unknown>> {
  const status = isObject(object) ? object["status"] : undefined;
  return isObject(status) ? status : {};
}

const conditionsOf = (status: Readonly<Record<string, unknown>>): readonly StoredCondition[] =>
  (status["conditions"] ?? []) as readonly StoredCondition[]; // conditions of all kinds have this form

async function writeStatus(
  { client, controller, signal }: ContextParts,
  call: ReconcileCall,
  stated: Conditions,
  fields: object = {},
): Promise<ApiObject> {
  const { object } = call;
  const { name = "", namespace, uid, generation } = object.metadata;
  const present = statusOf(object);
  const own = statusOf(appliedPart(object, client.manager, "status"));
  const kept = conditionsOf(hasAtomicConditions(object) ? present : own);
  const time = timestampOf(client.clock.now());
  const conditions = stateConditions(kept, conditionsOf(present), stated, { generation, time });
  const { conditions: _conditions, ...others } = own;
  const status = JSON.parse(
    JSON.stringify({ ...others, ...fields, ...(conditions.length === 0 ? {} : { conditions }) }),
  ) as object;
  if (isDeepStrictEqual(status, own)) return object;
  const calls = client.kind(controller.kind) as KindClient<ApiObject & { readonly status?: object }>; // see above
  const wanted = { metadata: { name, uid }, status };
  const { object: written } = await calls.status.apply(wanted, { in: namespace, force: true, signal });
  call.object = written!; // with force there are no conflicts
  call.written(call.object);
  return call.object;
}

async function replaceStatus(
  { client, controller, signal }: ContextParts,
  call: ReconcileCall,
  status: object,
): Promise<ApiObject> {
  const { object } = call;
  const next = JSON.parse(JSON.stringify(status)) as object;
  if (isDeepStrictEqual(statusOf(object), next)) return object;
  const calls = client.kind(controller.kind) as KindClient<ApiObject & { readonly status?: object }>; // see above
  const wanted = { ...object, metadata: { ...object.metadata, name: object.metadata.name ?? "" }, status: next };
  call.object = await calls.status.replace(wanted, { in: object.metadata.namespace, signal });
  call.written(call.object);
  return call.object;
}
