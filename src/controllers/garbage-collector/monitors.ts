/**
 * Watches the metadata of all objects: one paged list and one watch per resource while it is served. Changes of the
 * served resources do not interrupt other watches.
 */
import { PageLength } from "#client/page-length.ts";
import { pagePath, pagesOf } from "#client/pages.ts";
import { inRounds, watchFrom } from "#client/reflector.ts";
import type { ReceivedEvent } from "#client/received-event.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import { runCooperatively } from "#std/cooperative.ts";
import type { ControllerEnvironment } from "../controller.ts";
import type { GraphNode, NodeType, OwnershipGraph, ObservedObject } from "./graph.ts";
import { metadataTypes } from "../metadata-types.ts";
import { pageBytes } from "../pages.ts";
import { collectionPath, type ResourceMap, type ServedResource } from "./served.ts";
import { affectsGraph, objectAffectsGraph, observe } from "./observed-object.ts";

interface MonitorsOptions {
  readonly environment: ControllerEnvironment;
  readonly graph: OwnershipGraph;
  /** Called with an object as it is now. */
  seen(observed: ObservedObject): void;
  /** Called with an object that was deleted. `isOwn`: this server reports it. */
  gone(node: GraphNode, isOwn: boolean): void;
}

/** The number of failed rounds in a row, because the resource is not found, that are expected and not logged. */
const missingMax = 5;
/** The number of lists at the same time: of this server, and of aggregated ones, which may be slow. */
const listsMax = 8;

interface Running {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
  readonly type: NodeType;
}

export class Monitors {
  readonly #options: MonitorsOptions;
  readonly #running = new Map<string, Running>();
  readonly #lists = new Limit(listsMax);
  readonly #foreignLists = new Limit(listsMax);
  #rounds = 0;

  constructor(options: MonitorsOptions) {
    this.#options = options;
    options.environment.signal.addEventListener("abort", () => this.#stopAll(), { once: true });
  }

  /**
   * Starts and stops monitors as needed. `read` resolves when each new one has read its objects once, or has failed to.
   */
  async sync(resources: ResourceMap): Promise<{ readonly read: Promise<unknown> }> {
    const { graph } = this.#options;
    const stopped = [...this.#running].filter(([key]) => !resources.watched.has(key));
    for (const [key, { stop }] of stopped) {
      stop.abort();
      this.#running.delete(key);
    }
    const first: Promise<void>[] = [];
    for (const [key, resource] of resources.watched) {
      if (!this.#running.has(key)) first.push(this.#start(key, resource));
    }
    for (const [, { type, ended }] of stopped) {
      await ended;
      const isWatched = [...this.#running.values()].some((other) => other.type === type);
      if (!isWatched) await runCooperatively(graph.unwatched(type));
      graph.release(type);
    }
    return { read: Promise.all(first) };
  }

  /** Resolves when all monitors have ended. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#running.values(), ({ ended }) => ended));
  }

  #stopAll(): void {
    for (const { stop } of this.#running.values()) stop.abort();
  }

  #start(key: string, resource: ServedResource): Promise<void> {
    const { environment, graph } = this.#options;
    const stop = new AbortController();
    const type = graph.hold(resource.group, resource.kind);
    const { promise, resolve } = Promise.withResolvers<void>();
    const monitor = new Monitor(resource, type, {
      ...this.#options,
      environment: { ...environment, signal: stop.signal },
      lists: resource.isLocal ? this.#lists : this.#foreignLists,
      nextRound: () => ++this.#rounds,
      tried: resolve,
    });
    const ended = monitor.run().finally(resolve);
    this.#running.set(key, { stop, ended, type });
    return promise;
  }
}

interface MonitorOptions extends MonitorsOptions {
  readonly lists: Limit;
  nextRound(): number;
  /** Called when the objects were read, or that failed. */
  tried(): void;
}

/** Follows one resource. */
class Monitor {
  readonly #of: ServedResource;
  readonly #type: NodeType;
  readonly #options: MonitorOptions;
  readonly #path: string;
  #round = 0;

  constructor(of: ServedResource, type: NodeType, options: MonitorOptions) {
    this.#of = of;
    this.#type = type;
    this.#options = options;
    this.#path = collectionPath(of);
  }

  run(): Promise<void> {
    const { environment, tried } = this.#options;
    const { clock, signal, log } = environment;
    let missing = 0;
    return inRounds(
      {
        clock,
        signal,
        failed: (err) => {
          // The resource of a removed definition disappears before this monitor hears of it.
          missing = err instanceof StatusError && err.status.code === 404 ? missing + 1 : 0;
          const isExpected = missing > 0 && missing <= missingMax;
          if (!isExpected)
            log.warn({ path: this.#path, err }, "could not follow objects that may have owners; starting over");
          tried();
        },
      },
      () => this.#follow(),
    );
  }

  async #follow(): Promise<void> {
    const { environment, graph, lists, nextRound, tried } = this.#options;
    const { reader: client, signal, clock, domain } = environment;
    this.#round = nextRound();
    const version = await lists.run(() => this.#list());
    await runCooperatively(graph.unseen(this.#type, this.#round));
    tried();
    // Sending the stored form of this server's own objects costs nothing.
    const accept = this.#of.isLocal ? "application/json" : metadataTypes(domain).one;
    await watchFrom({ client, path: this.#path, accept, clock, signal }, version, (event) => {
      if (event.type === "BOOKMARK") return event.object().metadata.resourceVersion;
      if (this.#matters(event)) this.#changed(event.type === "DELETED", event.object());
      return undefined;
    });
  }

  /** Reads all objects; returns the version of the collection. */
  async #list(): Promise<string> {
    const { reader, domain, signal } = this.#options.environment;
    const accept = metadataTypes(domain).list;
    const length = new PageLength(pageBytes);
    const read = async (token: string): Promise<Page> => {
      const path = pagePath(this.#path, token, length.value);
      const bytes = await reader.bytes({ method: "GET", path, accept, signal });
      length.took(bytes.length);
      return this.#readPage(bytes);
    };
    let version = "";
    for await (const { metadata, items } of pagesOf(read)) {
      for (const item of items ?? []) this.#changed(false, item);
      version ||= metadata.resourceVersion;
      if (signal.aborted) break;
    }
    return version;
  }

  /** Reads a page; only its head if the graph does not need its objects. */
  #readPage(bytes: Buffer): Page {
    const start = bytes.indexOf(itemsStart);
    if (start >= 0 && !this.#concerns(bytes)) {
      const head = `${bytes.toString("utf8", 0, start)}${itemsStart}]}`;
      try {
        return JSON.parse(head) as Page; // what a list begins with
      } catch {
        // The items are not the last field.
      }
    }
    return JSON.parse(bytes.toString()) as Page; // what a list is
  }

  #matters(event: ReceivedEvent): boolean {
    const { decoded } = event;
    if (decoded === undefined) return this.#concerns(event.json());
    return objectAffectsGraph(decoded.metadata, this.#options.graph);
  }

  #concerns(json: Buffer): boolean {
    return affectsGraph(json, this.#options.graph, this.#type.nodes > 0);
  }

  #changed(isDeleted: boolean, object: ApiObject): void {
    const { graph, seen, gone } = this.#options;
    if (!isDeleted) {
      seen(observe(this.#of, object, this.#round));
      return;
    }
    const { uid = "", name, namespace = "" } = object.metadata;
    const node = graph.get(uid);
    if (node === undefined) return;
    const isHere = node.type === this.#type && node.name === name && node.namespace === namespace;
    // Another server may claim the uids of objects that are not its own.
    if (isHere || node.state !== "observed") gone(node, isHere && this.#of.isLocal);
  }
}

interface Page {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly ApiObject[] | null;
}

const itemsStart = '"items":[';

/** Limits the number of calls that run at the same time. */
class Limit {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(most: number) {
    this.#free = most;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
