/** The objects that a reconciled object controls: how they are claimed, read, made and removed. */
import type { ApiObject, OwnerReference } from "#meta/object-meta.ts";
import { compileLabelSelector, type LabelSelectorObject } from "#meta/label-selector.ts";
import type { LabelSelector } from "#meta/selector.ts";
import { ApiError } from "../api-error.ts";
import type { Cluster } from "../cluster.ts";
import type { Draft } from "../draft.ts";
import type { Informer } from "../informer.ts";
import type { Kind } from "../kind.ts";
import { controllerOf, referenceToOwner } from "../owner.ts";
import type { RunnableController } from "./definition.ts";
import type { InformerSet } from "./informers.ts";

/** The parts that all reconciles of a controller have for what belongs to its objects. */
export interface OwnerParts {
  readonly controller: RunnableController;
  readonly client: Cluster;
  readonly informers: InformerSet;
  /** Aborted when the work has to end. */
  readonly signal: AbortSignal;
}

/** Returns the selector of an object; `undefined` when it selects nothing, as an absent, empty or invalid one does. */
export function selectorOf({ options }: RunnableController, object: ApiObject): LabelSelector | undefined {
  const stated: LabelSelectorObject | null | undefined = options.selector?.(object);
  const compiled = stated === undefined || stated === null ? undefined : compileLabelSelector(stated);
  return compiled?.empty === true ? undefined : compiled;
}

/** Returns the informer of a kind in `owns`. */
export function ownedInformer(
  { controller, informers }: OwnerParts,
  { metadata }: ApiObject,
  kind: Kind,
): Informer<ApiObject> {
  const { owns = [] } = controller.options;
  const informer = owns.includes(kind) ? informers.find(kind, metadata.namespace) : undefined;
  if (informer === undefined) throw new TypeError(`controller ${controller.name} does not have ${kind.kind} in owns`);
  return informer;
}

/** Adopts the objects that the owner selects and nobody controls, and releases those that it does not select any more. */
export async function claimOwned(parts: OwnerParts, owner: ApiObject, kind: Kind): Promise<ApiObject[]> {
  const { uid, namespace } = owner.metadata;
  const selector = selectorOf(parts.controller, owner);
  const claimed: ApiObject[] = [];
  let mayAdopt: boolean | undefined;
  for (const object of ownedInformer(parts, owner, kind).in(namespace ?? "")) {
    const { labels, deletionTimestamp, ownerReferences = [] } = object.metadata;
    const controller = controllerOf(object);
    const isSelected = selector?.matches(labels) === true;
    if (controller === undefined && isSelected && deletionTimestamp === undefined) {
      // Memory may not show yet that the owner is being deleted without its dependents.
      mayAdopt ??= await isAlive(parts, owner);
      if (mayAdopt) claimed.push(await refer(parts, kind, object, [...ownerReferences, referenceToOwner(owner)]));
    } else if (controller?.uid === uid && isSelected) claimed.push(object);
    else if (controller?.uid === uid) {
      const others = ownerReferences.filter((one) => one.uid !== uid);
      await refer(parts, kind, object, others);
    }
  }
  return claimed;
}

async function isAlive({ client, controller, signal }: OwnerParts, { metadata }: ApiObject): Promise<boolean> {
  const { name = "", namespace, uid } = metadata;
  const current = await client.kind(controller.kind).find(name, { in: namespace, signal });
  return current?.metadata.uid === uid && current?.metadata.deletionTimestamp === undefined;
}

function refer(
  { client, signal }: OwnerParts,
  kind: Kind,
  { metadata: { name = "", namespace, uid, resourceVersion } }: ApiObject,
  ownerReferences: readonly OwnerReference[],
): Promise<ApiObject> {
  const merge = { metadata: { uid, resourceVersion, ownerReferences } };
  return client.kind(kind).patch(name, { merge }, { in: namespace, signal });
}

/** Reads the objects that the owner controls from the server. */
export async function readOwned(parts: OwnerParts, owner: ApiObject, kind: Kind): Promise<ApiObject[]> {
  const { client, controller, signal } = parts;
  const { uid, namespace } = owner.metadata;
  const labels = controller.options.selector?.(owner)?.matchLabels ?? {};
  const all = await Array.fromAsync(client.kind(kind).list({ in: namespace, labels, signal }));
  return all.filter((object) => controllerOf(object)?.uid === uid);
}

interface Creation<K extends ApiObject> {
  readonly kind: Kind<K>;
  readonly object: Draft<K>;
  readonly owned: boolean;
}

/** Creates an object, or finds the one of this name that was created before. */
export async function createOwned<K extends ApiObject>(
  { client, signal }: OwnerParts,
  owner: ApiObject,
  { kind, object, owned }: Creation<K>,
): Promise<K> {
  const { metadata } = object as ApiObject; // drafts of all kinds have these fields
  if (owned) checkScope(owner, kind);
  const namespace = kind.namespaced ? (metadata.namespace ?? owner.metadata.namespace) : undefined;
  const references = [...(metadata.ownerReferences ?? []), ...(owned ? [referenceToOwner(owner)] : [])];
  const draft = { ...object, metadata: { ...metadata, namespace, ownerReferences: references } } as Draft<K>; // see above
  const calls = client.kind(kind);
  try {
    return await calls.create(draft, { signal });
  } catch (error) {
    const { name } = metadata;
    if (!(error instanceof ApiError) || error.reason !== "AlreadyExists" || name === undefined) throw error;
    const present = await calls.find(name, { in: namespace, signal });
    if (present === undefined) throw error;
    if (!owned || controllerOf(present)?.uid === owner.metadata.uid) return present;
    throw new Error(`${kind.kind} ${name} exists already, and has another owner`, { cause: error });
  }
}

/** An object of a namespace can own only objects of the same namespace. */
export function checkScope(owner: ApiObject, kind: Kind): void {
  if (kind.namespaced || owner.metadata.namespace === undefined) return;
  throw new TypeError(`${owner.kind} has a namespace and cannot own ${kind.kind}, which has none: use owned: false`);
}

/** Deletes this object, and not another one that has its name now. */
export async function removeObject(
  { client, signal }: OwnerParts,
  kind: Kind,
  { metadata }: ApiObject,
): Promise<void> {
  const { name = "", namespace, uid = "" } = metadata;
  const options = { in: namespace, preconditions: { uid }, propagation: "Background", signal } as const;
  try {
    await client.kind(kind).delete(name, options);
  } catch (error) {
    if (!(error instanceof ApiError && error.reason === "Conflict")) throw error;
  }
}
