/**
 * Keeps a caller up to date with a collection: it lists, then watches. When the connection ends it watches on from the
 * last version, and it lists again when the history from there is gone. It delivers changes and stores no objects.
 */
import { type Clock, pause } from "#std/clock.ts";
import { isObject } from "#std/is-object.ts";
import type { Random } from "#std/random.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import type { ReceivedEvent } from "./received-event.ts";
import { pagePath, withQuery } from "./pages.ts";
import { readCollection } from "./read-collection.ts";
import type { ObjectList, RestClient } from "./rest-client.ts";

/** `T` is the type of the collection's objects. */
export interface ReflectorOptions<T extends ApiObject = ApiObject> extends RoundOptions {
  readonly client: RestClient;
  /** The path of the collection, without query; a function if it has to be found first. */
  readonly path: string | (() => Promise<string>);
  /**
   * Only objects with this value of the field are followed: `type=Opaque`. Objects that lose the value count as
   * deleted.
   */
  readonly fieldSelector?: string | undefined;
  /** Only objects with such labels are followed; the others count as deleted. */
  readonly labelSelector?: string | undefined;
  /**
   * Whether the first objects are asked for as events of the watch, where the server serves that: they need less of its
   * memory. Otherwise, and by default, they are listed in pages.
   */
  readonly streamsLists?: boolean;
  /** The bytes that a page of a list shall have at most; by default the objects of a page are counted. */
  readonly pageBytes?: number | undefined;
  /** Whether only later changes matter: `replaced` gets no objects, and the objects are not read. */
  readonly changesOnly?: boolean;
  /** Whether only deletions matter: other later changes are neither delivered nor decoded. */
  readonly deletionsOnly?: boolean;
  /**
   * Returns the part of an object that the caller needs; the whole object by default. Applied to each page, so that the
   * whole objects are never all in memory.
   */
  trim?(object: T): T;
  /** Receives all objects, after a list. */
  replaced(objects: readonly T[]): void;
  /** Receives one later change. */
  changed(type: ChangeType, object: T): void;
}

/** The type of an event about an object. */
type ChangeType = "ADDED" | "MODIFIED" | "DELETED";

interface RoundOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Makes pauses random, up to twice as long, so that many clients of a server that was away do not come at once. */
  readonly random?: Random | undefined;
  /** Called with the reason why a list or a watch ended early; the next attempt follows after a pause. */
  readonly failed?: ((error: unknown) => void) | undefined;
}

const pauseMinMs = 100;
const pauseMaxMs = 10_000;
/**
 * The duration in milliseconds from which a watch counts as useful: after a shorter one the next would probably end as
 * soon.
 */
const usefulMs = 1000;

/** Follows the collection until `signal` is aborted. Never rejects. */
export function reflect<T extends ApiObject = ApiObject>(options: ReflectorOptions<NoInfer<T>>): Promise<void> {
  const reflector = new Reflector<T>(options);
  return inRounds(options, () => reflector.round());
}

/** Runs `round` repeatedly, with pauses between rounds, until the signal is aborted. Never rejects. */
export async function inRounds(options: RoundOptions, round: () => Promise<void>): Promise<void> {
  const { signal, clock } = options;
  const pauses = new Pauses(options);
  while (!signal.aborted) {
    const startMs = clock.monotonic();
    try {
      await round();
    } catch (error) {
      if (!signal.aborted) options.failed?.(error);
    }
    // Pauses grow between rounds that end soon, so that a lasting failure causes few requests.
    if (clock.monotonic() - startMs > pauseMaxMs) pauses.reset();
    await pauses.next();
  }
}

/** Pauses that double from one to the next. */
export class Pauses {
  readonly #options: RoundOptions;
  #nextMs = pauseMinMs;

  constructor(options: RoundOptions) {
    this.#options = options;
  }

  reset(): void {
    this.#nextMs = pauseMinMs;
  }

  next(): Promise<void> {
    const { clock, signal, random } = this.#options;
    const ms = this.#nextMs * (1 + (random?.next() ?? 0));
    this.#nextMs = Math.min(this.#nextMs * 2, pauseMaxMs);
    return pause(clock, ms, signal);
  }
}

interface FollowOptions extends RoundOptions {
  readonly client: RestClient;
  /** The path of the collection with its query, but for the parameters of the watch. */
  readonly path: string;
  /** The media type of the events; JSON by default. */
  readonly accept?: string | undefined;
}

/**
 * Watches from `version` until the history from there is gone or the signal is aborted. After a lost connection it goes
 * on from the last version, at once if the watch was of use. Rejects when the server refuses the watch. `take` gets all
 * events but errors, and returns the version that it has reached, if it reads it.
 */
export async function watchFrom(
  options: FollowOptions,
  version: string,
  take: (event: ReceivedEvent) => string | undefined,
): Promise<void> {
  const { client, path, clock, signal, accept } = options;
  const pauses = new Pauses(options);
  let reached = version;
  let isCurrent = true;
  while (isCurrent && !signal.aborted) {
    const startMs = clock.monotonic();
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${encodeURIComponent(reached)}`;
    const watch = { method: "GET", path: withQuery(path, query), signal, accept } as const;
    try {
      await client.watch(watch, (event) => {
        if (event.type === "ERROR") isCurrent = false;
        else reached = take(event) ?? reached;
      });
    } catch (error) {
      if (signal.aborted) return;
      if (!isTransient(error)) throw error;
      options.failed?.(error);
    }
    if (!isCurrent) return;
    if (clock.monotonic() - startMs >= usefulMs) pauses.reset();
    else await pauses.next();
  }
}

/** Codes that say nothing about the version from which the watch began. */
const transientCodes = new Set([429, 500, 502, 503]);

/** Whether the same watch may succeed later: the connection was lost, or the server could not answer at the time. */
const isTransient = (error: unknown): boolean =>
  !(error instanceof StatusError) || transientCodes.has(error.status.code);

class Reflector<T extends ApiObject> {
  readonly #options: ReflectorOptions<T>;
  /** The path of the collection with the selectors; empty until it is known. */
  #path = "";
  #streamsLists: boolean;

  constructor(options: ReflectorOptions<T>) {
    const { path, streamsLists = false } = options;
    this.#options = options;
    this.#streamsLists = streamsLists;
    if (typeof path === "string") this.#select(path);
  }

  #select(path: string): void {
    const { fieldSelector, labelSelector } = this.#options;
    const selectors = Object.entries({ fieldSelector, labelSelector }).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
    );
    this.#path = selectors.length === 0 ? path : `${path}?${selectors.join("&")}`;
  }

  /** Reads all objects, then follows changes until the history that this needs is gone. */
  async round(): Promise<void> {
    const { signal, path } = this.#options;
    if (typeof path === "function" && this.#path === "") this.#select(await path());
    const version = (await this.#stream()) ?? (await this.#list());
    if (signal.aborted) return;
    await watchFrom({ ...this.#options, path: this.#path }, version, (event) => this.#take(event));
  }

  /** Delivers a change, and returns its version; `undefined` for a change that does not matter. */
  #take(event: ReceivedEvent): string | undefined {
    const { deletionsOnly = false } = this.#options;
    if (deletionsOnly && (event.type === "ADDED" || event.type === "MODIFIED")) return undefined;
    const object = event.object() as T; // the caller names what the path answers
    if (event.type !== "BOOKMARK") this.#options.changed(event.type as ChangeType, this.#trim(object));
    return object.metadata.resourceVersion;
  }

  #trim(object: T): T {
    return this.#options.trim?.(object) ?? object;
  }

  /**
   * Reads all objects as events of a watch, which then follows changes until it ends. Returns the last version;
   * `undefined` when the server does not serve this.
   */
  async #stream(): Promise<string | undefined> {
    if (!this.#streamsLists || this.#options.changesOnly === true) return undefined;
    const { client, signal } = this.#options;
    const query = "watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    const objects: T[] = [];
    let version: string | undefined;
    let problem: unknown;
    const take = (event: ReceivedEvent): void => {
      if (event.type === "ERROR")
        problem ??= new StatusError(event.object() as unknown as StatusError["status"]); // an ERROR has a Status
      else if (problem !== undefined) return;
      else if (version !== undefined) version = this.#take(event) ?? version;
      else if (event.type === "ADDED") objects.push(this.#trim(event.object() as T));
      else if (isEndOfInitialEvents(event)) {
        version = event.object().metadata.resourceVersion;
        this.#options.replaced(objects);
      }
    };
    try {
      await client.watch({ method: "GET", path: withQuery(this.#path, query), signal }, take);
    } catch (error) {
      if (version === undefined && isRefused(error)) {
        this.#streamsLists = false;
        return undefined;
      }
      problem ??= error;
    }
    if (signal.aborted || version !== undefined) {
      if (problem !== undefined && !signal.aborted) this.#options.failed?.(problem);
      return version ?? "";
    }
    throw problem ?? new Error("the watch ended before it had sent all objects");
  }

  /** Reads all objects, or only the version where the objects do not matter. Returns the version. */
  async #list(): Promise<string> {
    const { changesOnly = false, client, signal, pageBytes } = this.#options;
    if (changesOnly) {
      const path = pagePath(this.#path, "", 1);
      const { metadata } = await client.call<ObjectList>({ method: "GET", path, signal });
      if (!signal.aborted) this.#options.replaced([]);
      return metadata.resourceVersion;
    }
    const collection = { client, path: this.#path, signal, pageBytes };
    const { items, metadata } = await readCollection<T>(collection, (object) => this.#trim(object));
    if (!signal.aborted) this.#options.replaced(items);
    return metadata.resourceVersion;
  }
}

/** Whether the server answered that it does not serve such a request. */
const isRefused = (error: unknown): boolean =>
  error instanceof StatusError && (error.status.code === 400 || error.status.code === 422);

/** Whether a bookmark says that all objects have been sent. */
function isEndOfInitialEvents(event: ReceivedEvent): boolean {
  if (event.type !== "BOOKMARK") return false;
  const { annotations } = event.object().metadata;
  return (
    isObject(annotations) &&
    Object.entries(annotations).some(([name, value]) => name.endsWith("/initial-events-end") && value === "true")
  );
}
