/** The objects that a reconciled object controls: how they are claimed, read, made and removed. */
import type { LabelSelectorObject } from "#meta/label-selector.ts";
import { matchesSelector } from "#meta/matches-selector.ts";
import type { ApiObject, OwnerReference } from "#meta/object-meta.ts";
import { ApiError } from "../api-error.ts";
import type { Cluster } from "../cluster.ts";
import type { Draft } from "../draft.ts";
import type { Informer } from "../informer.ts";
import type { Kind } from "../kind.ts";
import { controllerOf, referenceToOwner } from "../owner.ts";
import type { RunnableController } from "./definition.ts";
import type { InformerSet } from "./informers.ts";

export interface OwnerParts {
  readonly controller: RunnableController;
  readonly client: Cluster;
  readonly informers: InformerSet;
  /** Aborted when the work has to end. */
  readonly signal: AbortSignal;
}

/** Whether an owner selects an object. A selector that is absent or empty selects nothing. */
export function isSelected({ options }: RunnableController, owner: ApiObject, { metadata }: ApiObject): boolean {
  const selector = options.selector?.(owner);
  return selects(selector) && matchesSelector(selector, metadata.labels);
}

/** Whether a selector has a requirement. */
const selects = (selector: LabelSelectorObject | null | undefined): selector is LabelSelectorObject =>
  Object.values(selector ?? {}).some((part) => Object.keys(part ?? {}).length > 0);

/** Returns the informer of a kind in `owns`. */
export function ownedInformer(
  { controller, informers }: OwnerParts,
  { metadata }: ApiObject,
  kind: Kind,
): Informer<ApiObject> {
  const { owns = [] } = controller.options;
  const informer = owns.includes(kind) ? informers.find(kind, metadata.namespace ?? controller.options.in) : undefined;
  if (informer === undefined) throw new TypeError(`controller ${controller.name} does not have ${kind.kind} in owns`);
  return informer;
}

/**
 * Adopts objects that the owner selects and nobody controls, and releases those that it does not select any more. Objects
 * that have gone are left out. Other failures do not keep the rest from being claimed; the first is thrown at the end.
 * Source: client-go's `ControllerRefManager`; but here an owner without a selector keeps what it has.
 */
export async function claimOwned(parts: OwnerParts, owner: ApiObject, kind: Kind): Promise<ApiObject[]> {
  const { client, controller, signal } = parts;
  if (controller.options.selector === undefined)
    throw new TypeError(`controller ${controller.name} has no selector, by which objects are claimed`);
  const { name: ownName = "", uid, namespace, deletionTimestamp } = owner.metadata;
  const isAlive = deletionTimestamp === undefined;
  const hasSelector = selects(controller.options.selector(owner));
  const informer = ownedInformer(parts, owner, kind);
  // Memory may not show yet that the owner is being deleted without its dependents.
  const readAlive = async (): Promise<boolean> => {
    const current = await client.kind(controller.kind).find(ownName, { in: namespace, signal });
    return current?.metadata.uid === uid && current?.metadata.deletionTimestamp === undefined;
  };
  let read: Promise<boolean> | undefined;
  const claimed: ApiObject[] = [];
  const failures: unknown[] = [];
  for (const object of namespace === undefined ? informer.list() : informer.in(namespace)) {
    const owningUid = controllerOf(object)?.uid;
    if (owningUid !== undefined && owningUid !== uid) continue;
    const isOwned = owningUid !== undefined;
    const isWanted = isSelected(controller, owner, object);
    const { ownerReferences = [], deletionTimestamp: objectDeletion } = object.metadata;
    const isFree = !isOwned && isWanted && isAlive && objectDeletion === undefined;
    try {
      if (isOwned && (isWanted || !hasSelector)) claimed.push(object);
      else if (isOwned && isAlive) {
        const others = ownerReferences.filter((one) => one.uid !== uid);
        await refer(parts, kind, object, others);
      } else if (isFree && (await (read ??= readAlive())))
        claimed.push(await refer(parts, kind, object, [...ownerReferences, referenceToOwner(owner)]));
    } catch (error) {
      signal.throwIfAborted();
      const ignored = isOwned ? ["NotFound", "Invalid"] : ["NotFound"];
      if (!(error instanceof ApiError && ignored.includes(error.reason))) failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return claimed;
}

/** Writes the references of an object to its owners, unless it has changed meanwhile. */
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
export async function readOwned(
  { client, controller, signal }: OwnerParts,
  owner: ApiObject,
  kind: Kind,
): Promise<ApiObject[]> {
  const { uid, namespace } = owner.metadata;
  const labels = controller.options.selector?.(owner)?.matchLabels ?? {};
  const all = await Array.fromAsync(client.kind(kind).list({ in: namespace, labels, signal }));
  return all.filter((object) => controllerOf(object)?.uid === uid);
}

/** Creates an object, or finds the one of this name that was created before. */
export async function createOwned<K extends ApiObject>(
  { client, signal }: OwnerParts,
  owner: ApiObject,
  [kind, object, owned]: readonly [Kind<K>, Draft<K>, boolean],
): Promise<K> {
  if (owned) checkScope(owner, kind);
  const { metadata } = object as ApiObject; // drafts of all kinds have these fields
  const { name, ownerReferences = [] } = metadata;
  const namespace = kind.namespaced ? (metadata.namespace ?? owner.metadata.namespace) : undefined;
  const references = owned ? [...ownerReferences, referenceToOwner(owner)] : ownerReferences;
  const draft = { ...object, metadata: { ...metadata, namespace, ownerReferences: references } } as Draft<K>; // see above
  const calls = client.kind(kind);
  try {
    return await calls.create(draft, { signal });
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== "AlreadyExists" || name === undefined) throw error;
    const present = await calls.get(name, { in: namespace, signal });
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
  { metadata: { name = "", namespace, uid = "" } }: ApiObject,
): Promise<void> {
  const options = { in: namespace, preconditions: { uid }, propagation: "Background", signal } as const;
  try {
    await client.kind(kind).delete(name, options);
  } catch (error) {
    if (!(error instanceof ApiError && error.reason === "Conflict")) throw error;
  }
}
