/** The informers of the resources that decide about requests, each by group and resource. */
import type { ApiObject } from "#meta/object-meta.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import {
  type ObjectHandlers,
  objectHandlers,
  StoreInformer,
  type StoreInformerOptions,
  waitForSync,
} from "./informer.ts";
import type { ResourceDefinition } from "./resource-definition.ts";
import type { Store } from "./store.ts";
import type { Stores } from "./stores.ts";

type GroupResource = Pick<ResourceDefinition, "group" | "resource">;

const keyOf = ({ group, resource }: GroupResource): string => `${group}/${resource}`;

export class StoreInformers {
  readonly #options: Pick<StoreInformerOptions, "cache" | "clock" | "log">;
  readonly #stores: Stores;
  readonly #informers = new Map<string, { readonly informer: StoreInformer; readonly store: Store }>();

  constructor(options: Pick<StoreInformerOptions, "cache" | "clock" | "log">, stores: Stores) {
    this.#options = options;
    this.#stores = stores;
  }

  /**
   * Returns the definition with writes that are acknowledged only when the handlers of the resource, once it is
   * followed, have processed them.
   */
  waiting(definition: ResourceDefinition): ResourceDefinition {
    return waitForSync(definition, () => this.#informers.get(keyOf(definition))?.informer);
  }

  /** Delivers the current objects and follows them; does nothing when a version of the resource is already followed. */
  follow<T extends ApiObject>(definition: ResourceDefinition, handlers: ObjectHandlers<T>): Promise<void> {
    const key = keyOf(definition);
    if (this.#informers.has(key)) return Promise.resolve();
    const store = this.#stores.of(definition);
    const { log } = this.#options;
    const { prefix } = store;
    const informer = new StoreInformer({ ...this.#options, prefix, ...objectHandlers<T>(store, log, handlers) });
    this.#informers.set(key, { informer, store });
    return informer.start();
  }

  /** Resolves when the handlers of a resource have the newest version of an object. */
  caughtUp(resource: GroupResource, namespace: string, name: string): MaybePromise<void> {
    const followed = this.#informers.get(keyOf(resource));
    const revision = followed?.store.peek(namespace, name)?.revision;
    return revision === undefined ? undefined : followed?.informer.caughtUpTo(revision);
  }

  /** Whether all followed resources are in step with the store. */
  get synced(): boolean {
    return this.#informers.values().every(({ informer }) => informer.synced);
  }

  /** Whether all followed resources have processed everything that they were told. */
  get idle(): boolean {
    return this.#informers.values().every(({ informer }) => informer.idle);
  }

  close(): void {
    for (const { informer } of this.#informers.values()) informer.close();
  }
}
