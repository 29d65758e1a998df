/**
 * The deletion of a custom resource definition: deletes its objects, waits for their finalizers, then removes the
 * definition's own finalizer. Source of steps and wording: upstream's `crd_finalizer`.
 */
import {
  cleanupFinalizer,
  type ConditionContent,
  isConditionTrue,
  withCondition,
} from "#api/apiextensions/conditions.ts";
import type { CustomResourceDefinition, CustomResourceDefinitionStatus } from "#api/apiextensions/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { timestampOf } from "#meta/time.ts";
import { Store, type StoreOptions } from "#registry/store.ts";
import type { Clock } from "#std/clock.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { Yielder } from "#std/cooperative.ts";
import type { Log } from "#std/log.ts";
import type { CustomKind } from "./custom-kind.ts";

interface CleanupOptions extends Omit<StoreOptions, "definition"> {
  readonly domain: ApiDomain;
  readonly log: Log;
  /** The store of definitions. */
  readonly definitions: Store;
  /** Whether built-in objects have the same keys: these are not deleted with the definition. */
  isOverlapping(group: string, resource: string): boolean;
  kindOf(name: string): CustomKind | undefined;
  /** Writes the status of a definition; `finish` changes the other parts of it. */
  setStatus(
    name: string,
    change: (status: CustomResourceDefinitionStatus) => CustomResourceDefinitionStatus,
    finish?: (object: Unstructured) => Unstructured,
  ): Promise<boolean>;
  /** Resolves when no server creates objects of a definition any more that is marked for deletion at a revision. */
  inForceEverywhere?(revision: number): Promise<void>;
}

/** The interval in milliseconds of checks whether the objects are gone. */
const lookMs = 100;
/** The time in milliseconds after which the condition reports that the deletion is blocked. */
const patienceMs = 60_000;
const retryMs = 5_000;

export class Cleanup {
  readonly #options: CleanupOptions;
  readonly #running = new Set<string>();
  #yielder: Yielder;
  #closed = false;

  constructor(options: CleanupOptions) {
    this.#options = options;
    this.#yielder = new Yielder(options.clock);
  }

  /** Starts the cleanup of a definition marked for deletion, unless it is running. */
  begin(name: string): void {
    if (this.#closed || this.#running.has(name)) return;
    if (this.#running.size === 0) this.#yielder = new Yielder(this.#options.clock);
    this.#running.add(name);
    void this.#end(name);
  }

  close(): void {
    this.#closed = true;
  }

  async #end(name: string): Promise<void> {
    const { log, clock } = this.#options;
    try {
      await this.#pauseIfDue();
      await this.#empty(name);
      this.#running.delete(name);
    } catch (error) {
      if (this.#closed) return;
      log.warn({ name, error: String(error) }, "objects of a deleted definition are still there");
      clock.after(retryMs, () => {
        this.#running.delete(name);
        this.begin(name);
      });
    }
  }

  /** Pauses when due: many definitions may be deleted at once, and other work must have a turn. */
  #pauseIfDue(): MaybePromise<void> {
    return this.#yielder.isDue ? this.#yielder.pause() : undefined;
  }

  async #empty(name: string): Promise<void> {
    const { definitions } = this.#options;
    const entry = definitions.peek("", name);
    if (entry === undefined) return;
    const definition = definitions.object(entry) as unknown as CustomResourceDefinition; // by its schema
    if (!this.#isEnding(definition)) return;
    const { group, names } = definition.spec;
    await this.#say(name, "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress");
    const kind = this.#options.kindOf(name);
    if (this.#options.isOverlapping(group, names.plural)) {
      const message = "instances overlap with built-in resources in storage";
      return this.#finish(definition, "OverlappingBuiltInResource", message);
    }
    if (kind === undefined || !isConditionTrue(definition, "Established")) {
      return this.#finish(definition, "NeverEstablished", "resource was never established");
    }
    await this.#options.inForceEverywhere?.(entry.revision);
    // Another server may have finished meanwhile, and the definition may have been made anew with objects of its own.
    if (!this.#isEnding(definition)) return;
    await this.#deleteAll(name, new Store({ ...this.#options, definition: kind.stored }));
    await this.#finish(definition, "InstanceDeletionCompleted", "removed all instances");
  }

  /** Whether a definition still waits for the end of its objects. */
  #isEnding({ metadata: { name = "", uid } }: CustomResourceDefinition): boolean {
    const { definitions } = this.#options;
    const entry = this.#closed ? undefined : definitions.peek("", name);
    if (entry === undefined) return false;
    const { metadata } = definitions.object(entry);
    return metadata.uid === uid && metadata.deletionTimestamp !== undefined;
  }

  /** Deletes the objects and waits until they are gone. */
  async #deleteAll(name: string, store: Store): Promise<void> {
    const { clock } = this.#options;
    const all = {
      namespace: "",
      limit: 0,
      continue: "",
      resourceVersion: "",
      resourceVersionMatch: "",
      filter: undefined,
    };
    try {
      await store.deleteCollection(all, ({ metadata }) =>
        store.delete(metadata.namespace ?? "", metadata.name ?? "", { dryRun: false }),
      );
    } catch (error) {
      const message = `could not issue all deletes: ${error instanceof Error ? error.message : String(error)}`;
      await this.#say(name, "True", "InstanceDeletionFailed", message);
      throw error;
    }
    const started = clock.now();
    let isLate = false;
    while (store.count() > 0 && !this.#closed) {
      await pause(clock, lookMs);
      if (isLate || clock.now() - started < patienceMs) continue;
      isLate = true;
      const message = "could not confirm zero CustomResources remaining: timed out waiting for the condition";
      await this.#say(name, "True", "InstanceDeletionCheck", message);
    }
    // Watchers get the last deletions before the definition and their watches end.
    await this.#yielder.pause();
  }

  async #say(name: string, status: "True" | "False", reason: string, message: string): Promise<void> {
    await this.#options.setStatus(name, this.#withTerminating({ type: "Terminating", status, reason, message }));
  }

  /** Removes the finalizer, so that the definition is deleted unless it has other finalizers. */
  async #finish(definition: CustomResourceDefinition, reason: string, message: string): Promise<void> {
    const { name = "", uid } = definition.metadata;
    const finalizer = this.#options.domain.rename(cleanupFinalizer);
    const content: ConditionContent = { type: "Terminating", status: "False", reason, message };
    await this.#pauseIfDue();
    if (!this.#isEnding(definition)) return;
    await this.#options.setStatus(name, this.#withTerminating(content), (object) => {
      if (object.metadata.uid !== uid) return object;
      const { finalizers = [], ...metadata } = object.metadata;
      const remaining = finalizers.filter((other) => other !== finalizer);
      return { ...object, metadata: remaining.length === 0 ? metadata : { ...metadata, finalizers: remaining } };
    });
  }

  #withTerminating(content: ConditionContent) {
    return (status: CustomResourceDefinitionStatus): CustomResourceDefinitionStatus => ({
      ...status,
      conditions: withCondition(status.conditions ?? [], content, timestampOf(this.#options.clock.now())),
    });
  }
}

const pause = (clock: Clock, ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve));
