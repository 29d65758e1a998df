/**
 * Records events about objects. Equal events are one series, at least within some minutes, and events of an object have a
 * rate. Everything is bounded: what does not fit is dropped. Source: the idea, and the rates, of client-go's recorder
 * and correlator.
 */
import type { ObjectReference } from "#api/core/v1.ts";
import type { ApiObject, ObjectMeta } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import type { Clock } from "#std/clock.ts";
import { dropUndefined } from "#std/drop-undefined.ts";
import { TokenBucket } from "./token-bucket.ts";

interface EventToRecord {
  readonly about: ApiObject;
  /** The component that reports it. */
  readonly controller: string;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly note: string;
  readonly action?: string;
  readonly related?: ApiObject | undefined;
}

/** An event as it is stored. */
interface StoredEvent extends EventToRecord {
  readonly name: string;
  /** Events about objects without a namespace are in `default`, as upstream. */
  readonly namespace: string;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly count: number;
}

interface EventRecorderOptions {
  readonly clock: Clock;
  /** The time within which an equal event belongs to the series; by default some minutes. */
  readonly seriesMs?: number;
  create(event: StoredEvent): Promise<unknown>;
  /** Writes the number of repetitions, and the time of the last one. Rejects with the code 404 if the event is gone. */
  repeat(event: StoredEvent): Promise<unknown>;
  /** Called for an event that could not be written. */
  failed(error: unknown, event: EventToRecord): void;
}

/** One event and its repetitions. */
interface Series {
  readonly event: EventToRecord;
  readonly firstMs: number;
  lastMs: number;
  count: number;
  /** The name of the stored event, once it was created. */
  name: string | undefined;
  /** The time before which repetitions are not written again; 0 before they are for the first time. */
  restsUntilMs: number;
  /** Cancels the next write of the repetitions. */
  cancel: (() => void) | undefined;
  /** The last write: writes of one series follow each other. */
  writes: Promise<void>;
}

const defaultSeriesMs = 6 * 60_000;
/** The shortest time between two writes of the repetitions of a series. */
const refreshMs = 5 * 60_000;
/** The rate of new events about one object. */
const objectRate = { perSecond: 1 / 300, burst: 25 };
/** The maximum number of series, and of objects with a rate. */
const entriesMax = 4096;
/** The maximum number of writes that wait for the server. */
const writesMax = 200;
const noteLengthMax = 1000;
const nameLengthMax = 200;

export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #series = new Map<string, Series>();
  readonly #rates = new Map<string, TokenBucket>();
  readonly #writes = new Set<Promise<void>>();
  #count = 0n;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  /** Records an event without waiting. */
  record(event: EventToRecord): void {
    const { clock, seriesMs = defaultSeriesMs } = this.#options;
    const now = clock.now();
    const key = keyOf(event);
    const series = this.#series.get(key);
    if (series !== undefined && now - series.lastMs < seriesMs) {
      series.count++;
      series.lastMs = now;
      keep(this.#series, key, series);
      this.#schedule(series, now);
      return;
    }
    if (series !== undefined) this.#writeNow(series);
    if (!this.#rateOf(event.about).take()) return;
    const { about, related } = event;
    const next: Series = {
      event: { ...event, about: namesOf(about), related: related && namesOf(related) },
      firstMs: now,
      lastMs: now,
      count: 1,
      name: undefined,
      restsUntilMs: 0,
      cancel: undefined,
      writes: Promise.resolve(),
    };
    const dropped = keep(this.#series, key, next);
    dropped?.cancel?.();
    this.#write(next);
  }

  /** Writes what has not been written, and resolves when the server has it. */
  async close(): Promise<void> {
    for (const series of this.#series.values()) this.#writeNow(series);
    this.#series.clear();
    await Promise.all(this.#writes);
  }

  /** Drops the repetitions that have not been written. */
  drop(): void {
    for (const series of this.#series.values()) series.cancel?.();
    this.#series.clear();
  }

  #rateOf({ metadata }: ApiObject): TokenBucket {
    const { uid = "" } = metadata;
    const rate = this.#rates.get(uid) ?? new TokenBucket(objectRate, this.#options.clock);
    keep(this.#rates, uid, rate);
    return rate;
  }

  /** Writes a repetition at once, but those that soon follow a written one together. */
  #schedule(series: Series, now: number): void {
    if (series.cancel !== undefined) return;
    const startMs = Math.max(now, series.restsUntilMs);
    series.restsUntilMs = startMs + refreshMs;
    series.cancel = this.#options.clock.after(startMs - now, () => this.#writeNow(series));
  }

  /** Writes repetitions that wait. */
  #writeNow(series: Series): void {
    if (series.cancel === undefined) return;
    series.cancel();
    series.cancel = undefined;
    this.#write(series);
  }

  #write(series: Series): void {
    if (this.#writes.size >= writesMax) return;
    const write = series.writes
      .then(() => (series.name === undefined ? this.#create(series) : this.#repeat(series, series.name)))
      .catch((error: unknown) => this.#options.failed(error, series.event))
      .finally(() => this.#writes.delete(write));
    series.writes = write;
    this.#writes.add(write);
  }

  async #create(series: Series): Promise<void> {
    const { about } = series.event;
    // Upstream: the time in nanoseconds. Several events may be recorded in a millisecond.
    const suffix = (BigInt(Math.floor(series.firstMs)) * 1_000_000n + (this.#count++ % 1_000_000n)).toString(16);
    const name = `${(about.metadata.name ?? "").slice(0, nameLengthMax)}.${suffix}`;
    await this.#options.create(storedEvent(series, name));
    series.name = name;
  }

  async #repeat(series: Series, name: string): Promise<void> {
    try {
      await this.#options.repeat(storedEvent(series, name));
    } catch (error) {
      if (!(error instanceof StatusError) || error.status.code !== 404) throw error;
      // Servers delete events after a time.
      await this.#create(series);
    }
  }
}

function storedEvent({ event, firstMs, lastMs, count }: Series, name: string): StoredEvent {
  const { namespace = "" } = event.about.metadata;
  const note = event.note.slice(0, noteLengthMax);
  return { ...event, note, name, namespace: namespace === "" ? "default" : namespace, firstMs, lastMs, count };
}

/** Keeps an entry as the newest one. Returns an entry that has to go for it. */
function keep<V>(entries: Map<string, V>, key: string, value: V): V | undefined {
  entries.delete(key);
  entries.set(key, value);
  if (entries.size <= entriesMax) return undefined;
  const [oldest] = entries.keys();
  const dropped = entries.get(oldest!);
  entries.delete(oldest!);
  return dropped;
}

const keyOf = ({ about, controller, type, reason, note, action, related }: EventToRecord): string =>
  JSON.stringify([about.metadata.uid, controller, type, reason, note, action, related?.metadata.uid]);

/** Returns an object with its names alone: a series may last, and is not to keep the whole object in memory. */
const namesOf = ({ apiVersion, kind, metadata: { namespace, name, uid, resourceVersion } }: ApiObject): ApiObject =>
  dropUndefined<ApiObject>({
    apiVersion,
    kind,
    metadata: dropUndefined<ObjectMeta>({ namespace, name, uid, resourceVersion }),
  });

/** Returns the reference to an object that an event or another object has. */
export function referenceTo({ apiVersion, kind, metadata }: ApiObject): ObjectReference {
  const { namespace, name, uid, resourceVersion } = metadata;
  return dropUndefined<ObjectReference>({ apiVersion, kind, namespace, name, uid, resourceVersion });
}
