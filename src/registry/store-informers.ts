/** The informers of the resources that decide about requests, each by group and resource. */
import type { ApiObject } from "#meta/object-meta.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import {
  type InformerHandlers,
  type ObjectHandlers,
  objectHandlers,
  StoreInformer,
  type StoreInformerOptions,
} from "./informer.ts";
import type { Revision } from "#storage/log-store.ts";
import type { ResourceDefinition } from "./resource-definition.ts";
import type { Effects } from "./store/object-reader.ts";
import type { Store } from "./store.ts";
import type { Stores } from "./stores.ts";
import type { AppliedRevision } from "./applied-revision.ts";

type GroupResource = Pick<ResourceDefinition, "group" | "resource">;

const keyOf = ({ group, resource }: GroupResource): string => `${group}/${resource}`;

/** The resources of which other servers are told that this one has taken in their changes. */
export interface AnnouncedResources {
  includes(resource: GroupResource): boolean;
  readonly applied: AppliedRevision;
}

interface Followed {
  readonly informer: StoreInformer;
  readonly store: Store;
  /** Whether the answers to writes wait for the handlers. */
  readonly decides: boolean;
}

export class StoreInformers {
  readonly #options: Pick<StoreInformerOptions, "cache" | "clock" | "log">;
  readonly #stores: Stores;
  readonly #announced: AnnouncedResources | undefined;
  readonly #informers = new Map<string, Followed>();

  /** `announced` is left out where there are no other servers. */
  constructor(
    options: Pick<StoreInformerOptions, "cache" | "clock" | "log">,
    stores: Stores,
    announced: AnnouncedResources | undefined,
  ) {
    this.#options = options;
    this.#stores = stores;
    this.#announced = announced;
  }

  /** Returns what waits until the handlers of a resource, once it is followed, have processed its writes. */
  effectsOf(definition: ResourceDefinition): Effects {
    const key = keyOf(definition);
    return (revision) => {
      const followed = this.#informers.get(key);
      return followed?.decides === true ? followed.informer.caughtUpTo(revision) : undefined;
    };
  }

  /** Delivers the current objects and follows them; does nothing when a version of the resource is already followed. */
  follow<T extends ApiObject>(definition: ResourceDefinition, handlers: ObjectHandlers<T>): Promise<void> {
    const store = this.#stores.of(definition);
    return this.#start(definition, store, true, objectHandlers<T>(store, this.#options.log, handlers));
  }

  /** Does the same for objects that requests look up in the store, of whose changes only other servers are told. */
  followLookups(definition: ResourceDefinition): Promise<void> {
    if (this.#announced?.includes(definition) !== true) return Promise.resolve();
    return this.#start(definition, this.#stores.of(definition), false, { replace() {}, handle() {} });
  }

  #start(definition: ResourceDefinition, store: Store, decides: boolean, handlers: InformerHandlers): Promise<void> {
    const key = keyOf(definition);
    if (this.#informers.has(key)) return Promise.resolve();
    const applied = this.#announced?.includes(definition) === true ? this.#announced.applied : undefined;
    const informer = new StoreInformer({
      ...this.#options,
      prefix: store.prefix,
      ...handlers,
      ...(applied === undefined ? {} : { reached: (revision) => applied.reached(revision) }),
    });
    applied?.add(informer);
    this.#informers.set(key, { informer, store, decides });
    return informer.start();
  }

  /** Resolves when the handlers of a resource have the newest version of an object. */
  caughtUp(resource: GroupResource, namespace: string, name: string): MaybePromise<void> {
    const followed = this.#informers.get(keyOf(resource));
    const revision = followed?.store.peek(namespace, name)?.revision;
    return revision === undefined ? undefined : followed?.informer.caughtUpTo(revision);
  }

  /** The revision up to which the handlers of all these resources that are followed have processed every change. */
  positionOf(resources: readonly GroupResource[]): Revision {
    return Math.min(...this.#of(resources).map(({ position }) => position));
  }

  /** Resolves when the handlers of these resources have processed every change that reads see now. */
  async inStep(resources: readonly GroupResource[]): Promise<void> {
    await Promise.all(this.#of(resources).map((informer) => informer.inStep()));
  }

  #of(resources: readonly GroupResource[]): readonly StoreInformer[] {
    return resources.flatMap((resource) => this.#informers.get(keyOf(resource))?.informer ?? []);
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
