/**
 * Recent events in memory, over all and by resource, bounded in bytes. The oldest event goes first, together with the
 * version it replaced. A bucket is one resource (`/registry/<group>/<resource>/`); shorter keys share one bucket with
 * an empty prefix.
 *
 * `floor` is the oldest revision that memory can show: state and events are complete from `floor` on. Each bucket has
 * its own, so that a busy resource shortens the history of a quiet one only by its share of the bytes.
 */
import { Deque } from "#std/deque.ts";

import type { Revision } from "../log-store.ts";
import type { StoreEvent } from "../watch-cache.ts";
import type { EntryIndexes } from "./entry-indexes.ts";

/** The approximate cost of an event, its version and its entries in the structures, without the values. */
const eventOverheadBytes = 320;

/** The number of youngest events of a resource that keep the encodings which the layer above left on them. */
const framesKept = 512;

/** The events of a resource, or of everything, in revision order. */
export interface EventLog {
  readonly events: Deque<StoreEvent>;
  /** The revision after which events are complete. */
  floor: Revision;
  /** The number of events that were ever added. */
  received: number;
  /** The number of events that watchers were given, each counted for each watcher. */
  delivered: number;
}

export class Bucket implements EventLog {
  readonly prefix: string;
  readonly events: Deque<StoreEvent> = new Deque();
  floor: Revision;
  received = 0;
  delivered = 0;
  /** The indexes of the current entries, once a range has asked for one. */
  indexes: EntryIndexes | undefined = undefined;

  constructor(prefix: string, floor: Revision) {
    this.prefix = prefix;
    this.floor = floor;
  }
}

export class EventHistory implements EventLog {
  readonly events: Deque<StoreEvent> = new Deque();
  floor: Revision;
  received = 0;
  delivered = 0;
  #base: Revision;
  readonly #bytesMax: number;
  readonly #evicted: (event: StoreEvent) => void;
  readonly #buckets = new Map<string, Bucket>();
  #bytes = 0;

  /** `base` is the revision at which memory begins. `evicted` releases data that only the event kept. */
  constructor(base: Revision, bytesMax: number, evicted: (event: StoreEvent) => void) {
    this.floor = base;
    this.#base = base;
    this.#bytesMax = bytesMax;
    this.#evicted = evicted;
  }

  get bytes(): number {
    return this.#bytes;
  }

  bucketOf(key: string): Bucket {
    const prefix = bucketPrefix(key) ?? "";
    let bucket = this.#buckets.get(prefix);
    if (bucket === undefined) {
      bucket = new Bucket(prefix, this.#base);
      this.#buckets.set(prefix, bucket);
    }
    return bucket;
  }

  /** Returns the log of a resource by its prefix, if any of its keys has ever been there. */
  findBucket(prefix: string): Bucket | undefined {
    return this.#buckets.get(prefix);
  }

  add(event: StoreEvent, bucket: Bucket): void {
    this.events.push(event);
    this.received++;
    bucket.events.push(event);
    bucket.received++;
    const old = bucket.events.at(bucket.events.length - framesKept);
    if (old !== undefined) old.frames = undefined;
    this.#bytes += bytesOf(event);
    while (this.#bytes > this.#bytesMax && this.events.length > 1) this.#evict();
  }

  /** Evicts every event up to `revision`. */
  dropTo(revision: Revision): void {
    while ((this.events.at(0)?.revision ?? Number.POSITIVE_INFINITY) <= revision) this.#evict();
  }

  /** Forgets all events and indexes; memory begins at `revision`. The resources keep their logs, which watches read. */
  restart(revision: Revision): void {
    this.#base = revision;
    this.#bytes = 0;
    for (const log of [this, ...this.#buckets.values()]) {
      log.events.clear();
      log.floor = revision;
    }
    this.dropIndexes();
  }

  /** Forgets all indexes, and stops making them. */
  dropIndexes(): void {
    for (const bucket of this.#buckets.values()) bucket.indexes?.clear();
  }

  #evict(): void {
    const event = this.events.shift()!;
    const bucket = this.bucketOf(event.entry.key);
    bucket.events.shift();
    this.#bytes -= bytesOf(event);
    this.floor = event.revision;
    bucket.floor = event.revision;
    this.#evicted(event);
  }
}

/** Returns `/registry/<group>/<resource>/` of a key or prefix that goes at least that deep. */
export function bucketPrefix(key: string): string | undefined {
  let slash = -1;
  for (let i = 0; i < 4; i++) {
    slash = key.indexOf("/", slash + 1);
    if (slash === -1) return undefined;
  }
  return key.slice(0, slash + 1);
}

/** Returns the index in `log` of the first event after `revision`. */
export function indexAfter(log: EventLog, revision: Revision): number {
  return log.events.firstIndex((event) => event.revision > revision);
}

function bytesOf(event: StoreEvent): number {
  const dead = event.type === "DELETED" ? event.entry.valueLength : 0;
  return eventOverheadBytes + dead + (event.previous?.valueLength ?? 0);
}
