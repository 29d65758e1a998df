/**
 * Records events about objects, as `events.k8s.io/v1`. Equal events within some minutes are one series, and the events
 * of an object have a rate. Everything is bounded: what does not fit is dropped. Source: the idea, and the rates, of
 * client-go's recorder and correlator.
 */
import type { ApiObject } from "#meta/object-meta.ts";
import { microTimestamp } from "#meta/time.ts";
import { ApiError } from "../api-error.ts";
import type { Cluster, KindClient } from "../cluster.ts";
import { Event } from "../kinds/events/v1.ts";
import { TokenBucket } from "../token-bucket.ts";

interface EventReporterOptions {
  readonly client: Cluster;
  /** Distinguishes this process from others with the same program. */
  readonly instance: string;
  /** Called for an event that could not be written. */
  readonly failed: (error: unknown) => void;
}

interface EventToRecord {
  readonly about: ApiObject;
  /** The controller that reports it. */
  readonly controller: string;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly note: string;
  readonly action: string;
  readonly related?: ApiObject | undefined;
}

/** One event and its repetitions. */
interface Series {
  readonly event: EventToRecord;
  readonly firstMs: number;
  lastMs: number;
  count: number;
  /** The name of the stored event, once it was created. */
  name: string | undefined;
  /** Whether repetitions have been written, after which they are written rarely. */
  isWritten: boolean;
  /** Cancels the next write of the repetitions. */
  cancel: (() => void) | undefined;
  /** The last write: writes of one series follow each other. */
  writes: Promise<void>;
}

/** The time within which an equal event belongs to the series. */
const seriesMs = 6 * 60_000;
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

export class EventReporter {
  readonly #options: EventReporterOptions;
  readonly #events: KindClient<Event>;
  readonly #series = new Map<string, Series>();
  readonly #rates = new Map<string, TokenBucket>();
  readonly #writes = new Set<Promise<void>>();
  #count = 0;

  constructor(options: EventReporterOptions) {
    this.#options = options;
    this.#events = options.client.kind(Event);
  }

  /** Records an event without waiting. */
  record(event: EventToRecord): void {
    const now = this.#options.client.clock.now();
    const key = keyOf(event);
    const series = this.#series.get(key);
    if (series !== undefined && now - series.lastMs < seriesMs) {
      series.count++;
      series.lastMs = now;
      keep(this.#series, key, series);
      this.#schedule(series);
      return;
    }
    if (series?.cancel !== undefined) {
      series.cancel();
      series.cancel = undefined;
      this.#write(series);
    }
    if (!this.#rateOf(event.about).take()) return;
    const next: Series = {
      event,
      firstMs: now,
      lastMs: now,
      count: 1,
      name: undefined,
      isWritten: false,
      cancel: undefined,
      writes: Promise.resolve(),
    };
    const dropped = keep(this.#series, key, next);
    dropped?.cancel?.();
    this.#write(next);
  }

  /** Writes what has not been written, and resolves when the server has it. */
  async close(): Promise<void> {
    for (const series of this.#series.values()) {
      if (series.cancel === undefined) continue;
      series.cancel();
      this.#write(series);
    }
    this.#series.clear();
    await Promise.all(this.#writes);
  }

  #rateOf({ metadata }: ApiObject): TokenBucket {
    const { uid = "" } = metadata;
    const rate = this.#rates.get(uid) ?? new TokenBucket(objectRate, this.#options.client.clock);
    keep(this.#rates, uid, rate);
    return rate;
  }

  /** Writes the first repetition at once, and later ones together. */
  #schedule(series: Series): void {
    if (series.cancel !== undefined) return;
    const delayMs = series.isWritten ? refreshMs : 0;
    series.isWritten = true;
    series.cancel = this.#options.client.clock.after(delayMs, () => {
      series.cancel = undefined;
      this.#write(series);
    });
  }

  #write(series: Series): void {
    if (this.#writes.size >= writesMax) return;
    const write = series.writes
      .then(() => (series.name === undefined ? this.#create(series) : this.#repeat(series, series.name)))
      .catch(this.#options.failed)
      .finally(() => this.#writes.delete(write));
    series.writes = write;
    this.#writes.add(write);
  }

  async #create(series: Series): Promise<void> {
    const { event, firstMs } = series;
    const { about, controller, note, related, ...rest } = event;
    // Events about objects without a namespace are in this one, as upstream.
    const { namespace = "default", name = "" } = about.metadata;
    const suffix = `${firstMs.toString(16)}${(this.#count++ & 0xffff).toString(16).padStart(4, "0")}`;
    const created = await this.#events.create(
      {
        metadata: { name: `${name.slice(0, nameLengthMax)}.${suffix}`, namespace },
        eventTime: microTimestamp(firstMs),
        reportingController: controller,
        reportingInstance: this.#options.instance,
        regarding: referenceTo(about),
        ...(related === undefined ? {} : { related: referenceTo(related) }),
        note: note.slice(0, noteLengthMax),
        ...rest,
      },
      { in: namespace },
    );
    series.name = created.metadata.name;
  }

  async #repeat(series: Series, name: string): Promise<void> {
    const { namespace = "default" } = series.event.about.metadata;
    const { count, lastMs } = series;
    try {
      const merge = { series: { count, lastObservedTime: microTimestamp(lastMs) } };
      await this.#events.patch(name, { merge }, { in: namespace });
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 404) throw error;
      // Servers delete events after a time.
      await this.#create(series);
    }
  }
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

function referenceTo({ apiVersion, kind, metadata }: ApiObject) {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { apiVersion, kind, namespace, name, uid, resourceVersion };
}
