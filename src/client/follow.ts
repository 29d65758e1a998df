/**
 * Follows a collection at the pace of the caller: lists it, then tells every change, for as long as the caller wants.
 * When the history that this needs is gone, the collection is listed again, and the caller compares.
 */
import type { ApiObject } from "#meta/object-meta.ts";
import type { Clock } from "#std/clock.ts";
import type { Random } from "#std/random.ts";
import { ApiError } from "./api-error.ts";
import type { ReceivedEvent } from "./received-event.ts";
import { Pauses, watchFrom } from "./reflector.ts";
import { readCollection } from "./read-collection.ts";
import type { RestClient } from "./rest-client.ts";

interface FollowOptions {
  readonly client: RestClient;
  /** The path of the collection, with the selectors as its query. */
  readonly path: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Ends everything. */
  readonly signal: AbortSignal;
  /** Called with each failure after which the watch is tried again. */
  readonly failed?: ((error: unknown) => void) | undefined;
}

/** All objects as they are now, or one change after that. */
export type FollowStep<T> =
  | { readonly type: "LISTED"; readonly objects: readonly T[] }
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T };

/** The duration in milliseconds after which the pauses between lists begin again. */
const steadyMs = 10_000;
/**
 * The number of events that may wait for the caller, and of their bytes as they were received. With more, the watch ends
 * and is resumed when they are taken.
 */
const waitingMax = 10_000;
const waitingBytesMax = 64 * 1024 * 1024;

/**
 * Yields steps until the signal is aborted. Throws when the first list fails, and later when the server refuses the
 * request so that repeating it cannot help (a code of 400 to 499 but 408, 409, 410 and 429).
 */
export async function* follow<T extends ApiObject>(options: FollowOptions): AsyncGenerator<FollowStep<T>> {
  const { clock, signal } = options;
  const pauses = new Pauses(options);
  let hasListed = false;
  while (!signal.aborted) {
    const startMs = clock.monotonic();
    try {
      const { items, metadata } = await readCollection<T>(options, (object) => object);
      yield { type: "LISTED", objects: items };
      hasListed = true;
      yield* changesAfter<T>(options, metadata.resourceVersion);
    } catch (error) {
      if (signal.aborted) return;
      if (!hasListed || isRefusal(error)) throw error;
      options.failed?.(error);
    }
    if (clock.monotonic() - startMs > steadyMs) pauses.reset();
    await pauses.next();
  }
}

const repeatable = [408, 409, 410, 429];

function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && error.code >= 400 && error.code < 500 && !repeatable.includes(error.code);
}

/** Yields the changes after a version until the history is gone. Throws when the server refuses the watch. */
async function* changesAfter<T extends ApiObject>(
  options: FollowOptions,
  start: string,
): AsyncGenerator<FollowStep<T>> {
  let version = start;
  for (let isFull = true; isFull && !options.signal.aborted; ) {
    const queue = new EventQueue(options, version);
    try {
      for (let event = await queue.next(); event !== undefined; event = await queue.next()) {
        const object = event.object() as T; // the caller names what the path answers
        version = object.metadata.resourceVersion ?? version;
        if (event.type !== "BOOKMARK") yield { type: event.type as "ADDED", object }; // the watch keeps errors
      }
      isFull = queue.wasFull;
    } finally {
      queue.close();
    }
  }
}

/** The events of a watch that wait for the caller. The watch ends when they are too many. */
class EventQueue {
  readonly #stop = new AbortController();
  readonly #outer: AbortSignal;
  #waiting: ReceivedEvent[] = [];
  #waitingBytes = 0;
  /** The events that waited when the caller had taken all before them, all their bytes, and the index of the next one. */
  #batch: readonly ReceivedEvent[] = [];
  #batchBytes = 0;
  #next = 0;
  #end: { readonly error?: unknown } | undefined;
  #wake: () => void = () => undefined;
  wasFull = false;

  constructor(options: FollowOptions, version: string) {
    const { signal } = this.#stop;
    this.#outer = options.signal;
    this.#outer.addEventListener("abort", this.#abort, { once: true });
    const finish = (end: { readonly error?: unknown }): void => {
      this.#end = end;
      this.#wake();
    };
    watchFrom({ ...options, signal }, version, (event) => this.#take(event)).then(
      () => finish({}),
      (error: unknown) => finish({ error }),
    );
  }

  /** Returns the next event; `undefined` at the end of the watch. Throws the error of the watch. */
  async next(): Promise<ReceivedEvent | undefined> {
    for (;;) {
      if (this.#outer.aborted) return undefined;
      if (this.#next < this.#batch.length) return this.#batch[this.#next++];
      this.#batch = this.#waiting;
      this.#batchBytes = this.#waitingBytes;
      this.#waiting = [];
      this.#waitingBytes = 0;
      this.#next = 0;
      if (this.#batch.length > 0) continue;
      if (this.#end !== undefined && "error" in this.#end) throw this.#end.error;
      if (this.#end !== undefined) return undefined;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  close(): void {
    this.#outer.removeEventListener("abort", this.#abort);
    this.#abort();
  }

  readonly #abort = (): void => {
    this.#stop.abort();
    this.#wake();
  };

  #take(event: ReceivedEvent): string | undefined {
    if (this.#stop.signal.aborted) return undefined;
    this.#waiting.push(event);
    // An event of this process shares its object with the server.
    if (event.decoded === undefined) this.#waitingBytes += event.json().length;
    this.#wake();
    const waiting = this.#waiting.length + this.#batch.length - this.#next;
    if (waiting >= waitingMax || this.#waitingBytes + this.#batchBytes >= waitingBytesMax) {
      this.wasFull = true;
      this.#stop.abort();
    }
    return event.object().metadata.resourceVersion;
  }
}
