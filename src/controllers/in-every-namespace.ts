/**
 * Keeps one object of a name in every active namespace: makes it where it is missing, mends it where it is not as it
 * should be. What several controllers do with different objects.
 */
import { reflect } from "#client/reflector.ts";
import { WorkQueue } from "#client/work-queue.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import type { ControllerEnvironment } from "./controller.ts";

export interface NamespacedObject {
  /** What is kept, for logs: `service account`. */
  readonly what: string;
  /** Plural, in the core group. */
  readonly resource: string;
  readonly name: string;
  /** As it is made. */
  readonly object: Unstructured;
  /** The object as it should be; the given one when it is. Left out: whatever it is, it may stay. */
  mend?(object: Unstructured): Unstructured;
}

const workers = 8;

interface NamespaceObject extends Unstructured {
  readonly status?: { readonly phase?: string };
}

/** Runs until the environment's signal is aborted. */
export async function keepInEveryNamespace(environment: ControllerEnvironment, kept: NamespacedObject): Promise<void> {
  const { reader, clock, signal, log } = environment;
  const { what, name, mend } = kept;
  const active = new Set<string>();
  /** Namespaces where it is, and is right. */
  const settled = new Set<string>();
  /** What is there instead, by namespace. */
  const wrong = new Map<string, Unstructured>();
  const queue = new WorkQueue({
    clock,
    workersMax: workers,
    work: async (namespace) => {
      if (!active.has(namespace) || settled.has(namespace)) return;
      await settle(environment, kept, namespace, wrong.get(namespace));
    },
    failed: (namespace, err) => log.warn({ namespace, err }, `could not keep the ${what} of a namespace; trying again`),
  });
  signal.addEventListener("abort", () => queue.close(), { once: true });

  const seenNamespace = (object: NamespaceObject): void => {
    const { name: namespace = "", deletionTimestamp } = object.metadata;
    if (deletionTimestamp !== undefined || object.status?.phase === "Terminating") active.delete(namespace);
    else if (!active.has(namespace)) {
      active.add(namespace);
      queue.add(namespace);
    }
  };
  const seenObject = (object: Unstructured): void => {
    const { namespace = "" } = object.metadata;
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
    queue.add(namespace);
  };
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
      active.clear();
      list.forEach(seenNamespace);
    },
    changed(type, object) {
      if (type === "DELETED") active.delete(object.metadata.name ?? "");
      else seenNamespace(object);
    },
  });
  await Promise.all([objects, namespaces]);
}

/** `wrong` is what the namespace has instead; whoever writes it meanwhile is heard of, and it is looked at again. */
async function settle(
  { client }: ControllerEnvironment,
  { resource, name, object, mend }: NamespacedObject,
  namespace: string,
  wrong: Unstructured | undefined,
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
