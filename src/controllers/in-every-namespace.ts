/**
 * Keeps one object of a name in every active namespace: makes it where it is missing, mends it where it is not as it
 * should be. What several controllers do with different objects.
 */
import { reflect } from "#client/reflector.ts";
import { WorkQueue } from "#client/work-queue.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import type { ControllerEnvironment } from "./controller.ts";

export interface NamespacedObject {
  /** What is kept, for logs: `service account`. */
  readonly what: string;
  /** Plural, in the core group. */
  readonly resource: string;
  readonly name: string;
  /** As it is made. */
  readonly object: ApiObject;
  /** Given, a namespace that was made, or lost it, and is filled at once gets it only when it is called for. */
  onNeeded?(needed: Needed): void;
  /** The object as it should be; the given one when it is. Left out: whatever it is, it may stay. */
  mend?(object: ApiObject): ApiObject;
}

/** Has the object made in a namespace; resolves when it is there, or soon without it. `undefined`: there is nothing to do. */
export type Needed = (namespace: string) => Promise<void> | undefined;

const workers = 8;
/** A namespace is left alone for so long; whoever has objects of the resource there by then is not disturbed. */
const sparedMs = 1000;
/** Who needs it waits so long at most. */
const neededMs = 1000;

interface NamespaceObject extends ApiObject {
  readonly status?: { readonly phase?: string };
}

/** Runs until the environment's signal is aborted. */
export async function keepInEveryNamespace(environment: ControllerEnvironment, kept: NamespacedObject): Promise<void> {
  const { reader, clock, signal, log } = environment;
  const { what, name, mend } = kept;
  const active = new Set<string>();
  /** Namespaces where nobody needs it yet. */
  const spared = new Set<string>();
  /** Called for before their making was heard of. */
  const early = new Set<string>();
  const waiting = new Map<string, Set<() => void>>();
  /** Namespaces where it is, and is right. */
  const settled = new Set<string>();
  /** What is there instead, by namespace. */
  const wrong = new Map<string, ApiObject>();
  const isMissing = (namespace: string): boolean =>
    active.has(namespace) && !spared.has(namespace) && !settled.has(namespace);
  const queue = new WorkQueue({
    clock,
    workersMax: workers,
    work: async (namespace) => {
      if (!active.has(namespace)) return;
      if (spared.has(namespace) && (await isEmpty(environment, kept, namespace))) spared.delete(namespace);
      if (isMissing(namespace)) await settle(environment, kept, namespace, wrong.get(namespace));
    },
    failed: (namespace, err) => log.warn({ namespace, err }, `could not keep the ${what} of a namespace; trying again`),
  });
  signal.addEventListener("abort", () => queue.close(), { once: true });

  const spare = (namespace: string): void => {
    spared.add(namespace);
    queue.addAfter(namespace, sparedMs);
  };
  const seenNamespace = (object: NamespaceObject, isNew: boolean): void => {
    const { name: namespace = "", deletionTimestamp } = object.metadata;
    if (deletionTimestamp !== undefined || object.status?.phase === "Terminating") namespaceGone(namespace);
    else if (!active.has(namespace)) {
      active.add(namespace);
      if (isNew && kept.onNeeded !== undefined && !early.has(namespace)) spare(namespace);
      else queue.add(namespace);
    }
  };
  const namespaceGone = (namespace: string): void => {
    active.delete(namespace);
    spared.delete(namespace);
    wake(namespace);
  };
  const wake = (namespace: string): void => {
    for (const waiter of waiting.get(namespace) ?? []) waiter();
    waiting.delete(namespace);
  };
  const seenObject = (object: ApiObject): void => {
    const { namespace = "" } = object.metadata;
    wake(namespace);
    spared.delete(namespace);
    wrong.delete(namespace);
    if (mend === undefined || mend(object) === object) {
      settled.add(namespace);
      return;
    }
    settled.delete(namespace);
    wrong.set(namespace, object);
    queue.add(namespace);
  };
  const objectGone = (namespace: string): void => {
    settled.delete(namespace);
    wrong.delete(namespace);
    if (kept.onNeeded === undefined) queue.add(namespace);
    else spare(namespace);
  };
  kept.onNeeded?.((namespace) => {
    spared.delete(namespace);
    if (!active.has(namespace)) {
      early.add(namespace);
      clock.after(neededMs, () => early.delete(namespace));
    }
    if (!isMissing(namespace)) return undefined;
    const waiters = waiting.get(namespace) ?? new Set();
    waiting.set(namespace, waiters);
    const made = new Promise<void>((resolve) => {
      const done = (): void => {
        cancel();
        waiters.delete(done);
        resolve();
      };
      const cancel = clock.after(neededMs, done);
      waiters.add(done);
    });
    queue.add(namespace);
    return made;
  });
  const failed = (err: unknown): void =>
    log.warn({ err }, `could not follow what the ${what} depends on; starting over`);
  /** Those that are there are known before any is made. */
  const known = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => known.resolve(), { once: true });
  const objects = reflect({
    client: reader,
    clock,
    signal,
    failed,
    path: `/api/v1/${kept.resource}`,
    fieldSelector: `metadata.name=${name}`,
    replaced(list) {
      settled.clear();
      wrong.clear();
      list.forEach(seenObject);
      for (const namespace of active) queue.add(namespace);
      known.resolve();
    },
    changed(type, object) {
      if (type === "DELETED") objectGone(object.metadata.namespace ?? "");
      else seenObject(object);
    },
  });
  await known.promise;
  const namespaces = reflect({
    client: reader,
    clock,
    signal,
    failed,
    path: "/api/v1/namespaces",
    replaced(list) {
      // Those that were spared stay so.
      active.clear();
      for (const namespace of list) seenNamespace(namespace, spared.has(namespace.metadata.name ?? ""));
    },
    changed(type, object) {
      if (type === "DELETED") namespaceGone(object.metadata.name ?? "");
      else seenNamespace(object, type === "ADDED");
    },
  });
  await Promise.all([objects, namespaces]);
}

async function isEmpty(
  { reader }: ControllerEnvironment,
  { resource }: NamespacedObject,
  namespace: string,
): Promise<boolean> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/${resource}?limit=1`;
  const { items } = await reader.call<{ readonly items: readonly ApiObject[] }>({ method: "GET", path });
  return items.length === 0;
}

/** `wrong` is what the namespace has instead; whoever writes it meanwhile is heard of, and it is looked at again. */
async function settle(
  { client }: ControllerEnvironment,
  { resource, name, object, mend }: NamespacedObject,
  namespace: string,
  wrong: ApiObject | undefined,
): Promise<void> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/${resource}`;
  try {
    if (mend !== undefined && wrong !== undefined) await client.update(`${path}/${name}`, mend(wrong));
    else await client.create(path, object);
  } catch (error) {
    // Somebody else was first; or the namespace is gone, or about to be, and then it needs nothing.
    const expected = [404, 409];
    if (error instanceof StatusError && (expected.includes(error.status.code) || isTerminating(error))) return;
    throw error;
  }
}

const isTerminating = ({ status }: StatusError): boolean =>
  status.code === 403 && status.details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") === true;
