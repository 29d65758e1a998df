/** The stores of a server, one per definition, created on first use. */
import type { ResourceDefinition } from "./resource-definition.ts";
import { DeletionNotes } from "./store/deletion-notes.ts";
import { Store, type StoreOptions } from "./store.ts";

export class Stores {
  readonly #options: Omit<StoreOptions, "definition">;
  readonly #stores = new WeakMap<ResourceDefinition, Store>();

  constructor(options: Omit<StoreOptions, "definition" | "deletionNotes">) {
    this.#options = { ...options, deletionNotes: new DeletionNotes() };
  }

  of(definition: ResourceDefinition): Store {
    let store = this.#stores.get(definition);
    if (store === undefined) {
      store = new Store({ ...this.#options, definition });
      this.#stores.set(definition, store);
    }
    return store;
  }
}
