/**
 * The common core of the controllers: the objects that belong to an owner, and how they are made, counted and deleted.
 * Sources: upstream's `controller_ref_manager.go`, `controller_utils.go` and `pkg/api/v1/pod`.
 */
import { isDeepStrictEqual } from "node:util";
import type { PodTemplateSpec } from "#api/core/v1.ts";
import { ApiError } from "#client/api-error.ts";
import type { Lister, ObjectKey, ReconcileContext } from "#client/controllers.ts";
import { keyOf } from "#client/informer.ts";
import type { Kind, StoredObject } from "#client/kind.ts";
import { Pod } from "#client/kinds.ts";
import { controllerOf, referenceToOwner } from "#client/owner.ts";
import { compileLabelSelector, type LabelSelectorObject } from "#meta/label-selector.ts";
import type { ApiObject, OwnerReference } from "#meta/object-meta.ts";
import { timestampOf, timeToMs } from "#meta/time.ts";

/** An object that selects the objects that belong to it. */
interface Selecting extends StoredObject {
  readonly spec: { readonly selector?: LabelSelectorObject | null | undefined };
}

/** Whether a selector matches the labels of an object. An absent or empty selector matches nothing. */
function selects(selector: LabelSelectorObject | null | undefined, { metadata }: ApiObject): boolean {
  const compiled = selector === null || selector === undefined ? undefined : compileLabelSelector(selector);
  return compiled !== undefined && !compiled.empty && compiled.matches(metadata.labels);
}

/** Returns the function that names the owners of a kind that may adopt an object, for `watches`. */
export const adopters =
  (kind: Kind<Selecting>) =>
  (object: ApiObject, lister: Lister): readonly ObjectKey[] =>
    controllerOf(object) !== undefined
      ? []
      : lister
          .list(kind, object.metadata.namespace)
          .filter(({ spec }) => selects(spec.selector, object))
          .map(keyOf);

/**
 * Returns the objects of a kind that belong to an owner. Objects without a controller that it selects are adopted, and
 * objects that it no longer selects are released.
 */
export async function claim<T extends Selecting, K extends StoredObject>(
  context: ReconcileContext<T>,
  [ownerKind, owner]: readonly [Kind<T>, T],
  kind: Kind<K>,
): Promise<K[]> {
  const { uid, namespace } = owner.metadata;
  const claimed: K[] = [];
  let mayAdopt: boolean | undefined;
  for (const object of context.lister.list(kind, namespace)) {
    const controller = controllerOf(object);
    const isSelected = selects(owner.spec.selector, object);
    const references = object.metadata.ownerReferences ?? [];
    if (controller === undefined && isSelected && object.metadata.deletionTimestamp === undefined) {
      // Memory may not show yet that the owner is being deleted without its dependents.
      mayAdopt ??= await isAlive(context, ownerKind, owner);
      if (mayAdopt) claimed.push((await refer(context, kind, object, [...references, referenceToOwner(owner)])) as K);
    } else if (controller?.uid === uid && isSelected) claimed.push(object);
    else if (controller?.uid === uid) {
      await refer(
        context,
        kind,
        object,
        references.filter((one) => one.uid !== uid),
      );
    }
  }
  return claimed;
}

async function isAlive<T extends StoredObject>(
  { client, signal }: ReconcileContext<T>,
  kind: Kind<T>,
  { metadata: { name, namespace, uid } }: T,
): Promise<boolean> {
  const current = await client.kind(kind).find(name, { in: namespace, signal });
  return current?.metadata.uid === uid && current.metadata.deletionTimestamp === undefined;
}

async function refer(
  { client, signal }: ReconcileContext,
  kind: Kind<StoredObject>,
  { metadata: { name, namespace, uid } }: StoredObject,
  ownerReferences: readonly OwnerReference[],
): Promise<StoredObject> {
  return client.kind(kind).patch(name, { merge: { metadata: { uid, ownerReferences } } }, { in: namespace, signal });
}

/** Reads the objects of a kind that an owner controls: what is in memory may lack what was written just before. */
export async function readOwned<K extends StoredObject>(
  { client, signal }: ReconcileContext,
  { metadata: { uid, namespace }, spec }: Selecting,
  kind: Kind<K>,
): Promise<K[]> {
  const labels = spec.selector?.matchLabels ?? {};
  const all = await Array.fromAsync(client.kind(kind).list({ in: namespace, labels, signal }));
  return all.filter((object) => controllerOf(object)?.uid === uid);
}

interface PodDetails {
  /** The name; without it, a prefix and random characters. */
  readonly name?: string;
  /** The beginning of the name; by default the name of the owner. */
  readonly prefix?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly spec?: Partial<PodTemplateSpec["spec"]>;
}

/** Makes a pod of an owner from a template. */
export function createPod(
  { client, signal }: ReconcileContext,
  owner: StoredObject,
  template: PodTemplateSpec,
  { name, prefix, labels, annotations, finalizers, spec }: PodDetails = {},
): Promise<Pod> {
  const { metadata } = template;
  return client.kind(Pod).create(
    {
      metadata: {
        ...(name === undefined ? { generateName: prefix ?? `${owner.metadata.name}-` } : { name }),
        namespace: owner.metadata.namespace,
        labels: { ...metadata.labels, ...labels },
        annotations: { ...metadata.annotations, ...annotations },
        finalizers: [...(metadata.finalizers ?? []), ...(finalizers ?? [])],
        ownerReferences: [referenceToOwner(owner)],
      },
      spec: { ...template.spec, ...spec },
    },
    { signal },
  );
}

/** Deletes an object, unless it has gone or another one has its name now. */
export async function remove<K extends StoredObject>(
  { client, signal }: ReconcileContext,
  kind: Kind<K>,
  { metadata: { name, namespace, uid } }: K,
): Promise<void> {
  try {
    await client.kind(kind).delete(name, { in: namespace, preconditions: { uid }, propagation: "Background", signal });
  } catch (error) {
    if (!(error instanceof ApiError && error.reason === "Conflict")) throw error;
  }
}

/** Works on items in batches, the first with one item and each with twice as many, until one fails. Throws its failure. */
export async function inBatches<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  for (let start = 0, size = 1; start < items.length; start += size, size = Math.min(size * 2, 32)) {
    const results = await Promise.allSettled(items.slice(start, start + size).map(work));
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }
}

/** Whether a pod counts: it has not ended and is not being deleted. */
export const isActive = ({ metadata, status: { phase } }: Pod): boolean =>
  phase !== "Succeeded" && phase !== "Failed" && metadata.deletionTimestamp === undefined;

/** Returns the time since which a pod is Ready; `undefined` when it is not. */
export function readySince({ status: { conditions = [] } }: Pod): number | undefined {
  const ready = conditions.find(({ type, status }) => type === "Ready" && status === "True");
  return ready === undefined ? undefined : (timeToMs(ready.lastTransitionTime) ?? 0);
}

/** Whether a pod has been Ready for some seconds. */
export function isAvailable(pod: Pod, minReadySeconds: number, nowMs: number): boolean {
  const sinceMs = readySince(pod);
  return sinceMs !== undefined && (minReadySeconds === 0 || sinceMs + minReadySeconds * 1000 <= nowMs);
}

/** Returns a number, or a part of `total` that is given in percent. */
export function partOf(value: number | string | undefined, total: number, round: (exact: number) => number): number {
  return typeof value === "string" ? round((parseInt(value, 10) * total) / 100) : (value ?? 0);
}

interface AnyCondition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string | null;
  readonly reason?: string;
  readonly message?: string;
}

/** Returns the conditions with one that is stated; its time changes with its status only. */
export function withCondition<C extends AnyCondition>(
  conditions: readonly C[] | undefined,
  stated: Omit<C, "lastTransitionTime">,
  nowMs: number,
): readonly C[] {
  const before = conditions?.find(({ type }) => type === stated.type);
  const lastTransitionTime = before?.status === stated.status ? before.lastTransitionTime : timestampOf(nowMs);
  const next = { ...stated, lastTransitionTime } as unknown as C; // it has all fields of a condition now
  return before === undefined
    ? [...(conditions ?? []), next]
    : conditions!.map((condition) => (condition === before ? next : condition));
}

/** A status whose fields may be undefined, which leaves them out. */
type StatusDraft<S> = { readonly [Field in keyof S]: S[Field] | undefined };

/** Writes the status of the reconciled object, if it differs from the present one. */
export async function writeStatus<T extends StoredObject & { readonly status: object }>(
  { client, signal, written }: Pick<ReconcileContext<T>, "client" | "signal" | "written">,
  kind: Kind<T>,
  object: T,
  status: StatusDraft<T["status"]>,
): Promise<void> {
  const next: unknown = JSON.parse(JSON.stringify(status));
  if (isDeepStrictEqual(object.status, next)) return;
  const { namespace } = object.metadata;
  const calls = client.kind<StoredObject & { readonly status: object }>(kind);
  const stored = await calls.status.replace({ ...object, status: next as object }, { in: namespace, signal });
  written(stored as unknown as T); // it is the object that was sent
}

/** Upstream's alphabet of names that are made of hashes. */
const hashAlphabet = "bcdfghjklmnpqrstvwxz2456789";

/** Returns the hash of a value for a name: FNV-1a, in an alphabet without vowels. The order of fields does not matter. */
export function hashOf(value: unknown, collisionCount: number | undefined): string {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(JSON.stringify([value, collisionCount ?? 0], sortFields))) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return [...String(hash)].map((digit) => hashAlphabet[digit.charCodeAt(0) % hashAlphabet.length]).join("");
}

const sortFields = (_key: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value;
