/**
 * Maintains one object of a given name in every active namespace: creates it when missing and repairs it when changed.
 * Several controllers use it.
 */
import type { Namespace } from "#api/core/v1.ts";
import type { DeepPartial } from "#client/draft.ts";
import type { WorkQueue } from "#client/work-queue.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import type { ControllerEnvironment } from "./controller.ts";
import { isNamespaceEnding } from "./ignore-codes.ts";
import { inNamespace } from "./paths.ts";
import { follow, workQueue } from "./reconcile.ts";

/** `T` is the type of the object that is kept. */
interface NamespacedObject<T extends ApiObject> {
  /** The object's description, for logs: `service account`. */
  readonly what: string;
  /** The name of the queue of namespaces in metrics. */
  readonly queue: string;
  /** The resource, a plural in the core group. */
  readonly resource: string;
  readonly name: string;
  /** The object that is created. */
  readonly object: DeepPartial<T>;
  /** Returns the repaired object; the given one when it is right. Left out when any content is accepted. */
  mend?(object: T): T;
}

/** Runs until the environment's signal is aborted. */
export function keepInEveryNamespace<T extends ApiObject>(
  environment: ControllerEnvironment,
  target: NamespacedObject<NoInfer<T>>,
): Promise<void> {
  return new Keeper<T>(environment, target).run();
}

class Keeper<T extends ApiObject> {
  readonly #environment: ControllerEnvironment;
  readonly #target: NamespacedObject<T>;
  readonly #queue: WorkQueue;
  readonly #active = new Set<string>();
  /** Namespaces in which the object exists and is right. */
  readonly #correct = new Set<string>();
  /** Existing objects that differ, by namespace. */
  readonly #wrong = new Map<string, T>();

  constructor(environment: ControllerEnvironment, target: NamespacedObject<T>) {
    this.#environment = environment;
    this.#target = target;
    this.#queue = workQueue(environment, {
      name: target.queue,
      workersMax: 8,
      work: (namespace) => this.#reconcile(namespace),
      logKey: "namespace",
      failure: `could not keep the ${target.what} of a namespace; trying again`,
    });
  }

  async run(): Promise<void> {
    const { signal } = this.#environment;
    /** Resolves when existing objects are known, before any is created. */
    const listed = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => listed.resolve(), { once: true });
    const objects = this.#followObjects(() => listed.resolve());
    await listed.promise;
    await Promise.all([objects, this.#followNamespaces()]);
  }

  #followObjects(listed: () => void): Promise<void> {
    const { what, resource, name } = this.#target;
    return follow<T>(this.#environment, {
      what: `what the ${what} depends on`,
      path: `/api/v1/${resource}`,
      fieldSelector: `metadata.name=${name}`,
      replaced: (list) => {
        this.#correct.clear();
        this.#wrong.clear();
        for (const object of list) this.#seen(object);
        for (const namespace of this.#active) this.#queue.add(namespace);
        listed();
      },
      changed: (type, object) => {
        if (type === "DELETED") this.#gone(object.metadata.namespace ?? "");
        else this.#seen(object);
      },
    });
  }

  #followNamespaces(): Promise<void> {
    return follow<Namespace>(this.#environment, {
      what: `what the ${this.#target.what} depends on`,
      path: "/api/v1/namespaces",
      replaced: (list) => {
        this.#active.clear();
        for (const namespace of list) this.#seenNamespace(namespace);
      },
      changed: (type, namespace) => {
        if (type === "DELETED") this.#active.delete(namespace.metadata.name ?? "");
        else this.#seenNamespace(namespace);
      },
    });
  }

  #seenNamespace({ metadata: { name = "", deletionTimestamp }, status }: Namespace): void {
    if (deletionTimestamp !== undefined || status.phase === "Terminating") this.#active.delete(name);
    else if (!this.#active.has(name)) {
      this.#active.add(name);
      this.#queue.add(name);
    }
  }

  #seen(object: T): void {
    const { namespace = "" } = object.metadata;
    const { mend } = this.#target;
    this.#wrong.delete(namespace);
    if (mend === undefined || mend(object) === object) {
      this.#correct.add(namespace);
      return;
    }
    this.#correct.delete(namespace);
    this.#wrong.set(namespace, object);
    this.#queue.add(namespace);
  }

  #gone(namespace: string): void {
    this.#correct.delete(namespace);
    this.#wrong.delete(namespace);
    this.#queue.add(namespace);
  }

  /** Creates or repairs the object. A concurrent write arrives as an event and is checked again. */
  async #reconcile(namespace: string): Promise<void> {
    if (!this.#active.has(namespace) || this.#correct.has(namespace)) return;
    const { client } = this.#environment;
    const { resource, name, object, mend } = this.#target;
    const wrong = this.#wrong.get(namespace);
    const path = inNamespace(`/api/v1/${resource}`, namespace);
    try {
      if (mend !== undefined && wrong !== undefined) await client.update<T>(`${path}/${name}`, mend(wrong));
      else await client.create<T>(path, object);
    } catch (error) {
      // Another client was first; or the namespace is gone or being deleted, and needs nothing.
      const isExpected = error instanceof StatusError && [404, 409].includes(error.status.code);
      if (!isExpected && !isNamespaceEnding(error)) throw error;
    }
  }
}
