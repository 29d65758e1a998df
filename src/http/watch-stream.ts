/**
 * The body of a watch: initial objects, events, bookmarks, and an ERROR event when history is lost.
 *
 * Hot path: an event is encoded once per form (JSON of a version, Table, …), and frames of several events are joined
 * once for all watchers that receive the same ones; `storage` gives such watchers the identical array.
 */
import type { Clock } from "#std/clock.ts";
import { isLate, type MaybePromise } from "#std/maybe-promise.ts";
import { Yielder } from "#std/cooperative.ts";
import type { ReceivedEvent } from "#client/received-event.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { expired, type Status, StatusError } from "#meta/status-error.ts";
import type { ConvertedObjects } from "#registry/stored-object.ts";
import type { EntryFilter } from "#registry/store.ts";
import type { Revision } from "#storage/log-store.ts";
import type {
  CacheRanges,
  CacheWatches,
  Entry,
  EventType,
  IndexMatch,
  StoreEvent,
  Watch,
} from "#storage/watch-cache.ts";
import { isCompacted } from "#storage/log-store.ts";
import { type ReplyStream, type StreamSink, slowMs } from "./api-request.ts";

/** Encodes objects as frames of one form. */
export interface FrameEncoder {
  /** The name of the form; frames of equal names are interchangeable. Empty: frames are not shared. */
  readonly name: string;
  /** Whether frames are lines of text. */
  readonly isText: boolean;
  /** The number of bytes at the start of a frame that a message of its own lacks. */
  readonly headBytes: number;
  /** Encodes one event. `revision` is the version that the object must show, if it differs from that in its bytes. */
  event(type: EventType, entry: Entry, revision: Revision): Buffer;
  bookmark(revision: Revision, initialEventsEnd: boolean): Buffer;
  error(status: Status): Buffer;
  /** Returns the object of an event, for readers in this process; absent when frames show it changed. */
  readonly objects?: EventObjects;
}

export interface EventObjects {
  /** Returns the decoded object; `undefined` when it would have to be decoded. */
  peekDecoded(entry: Entry, revision: Revision): Unstructured | undefined;
  object(entry: Entry, revision: Revision): Unstructured;
}

/** Has a webhook convert entries. Rejects when they cannot be converted. */
type ConvertEntries = (entries: readonly Entry[]) => MaybePromise<ConvertedObjects>;

/** Objects to send first, and the results of conversions that keep them readable. */
interface Initial {
  readonly entries: readonly Entry[];
  readonly conversions?: ConvertedObjects;
}

const nothing: Initial = { entries: [] };

interface WatchStreamOptions {
  readonly cache: CacheRanges & CacheWatches;
  readonly prefix: string;
  readonly exact: boolean;
  /** Objects to send first, as ADDED; empty for a plain watch. */
  readonly initial: readonly Entry[];
  /** The results of a webhook, which keep converted objects readable. */
  readonly conversions?: ConvertedObjects;
  /** Only events after this revision are sent. */
  readonly after: Revision;
  /** Resolves when the store has reached `after`, and rejects when it does not; left out when it has. */
  readonly reached?: () => Promise<unknown>;
  readonly filter: EntryFilter;
  /** The values that every entry has which passes the filter. */
  readonly matching?: readonly IndexMatch[];
  /** Has a webhook convert entries: filter and encoder can read them for as long as the result is referenced. */
  readonly convert?: ConvertEntries;
  readonly encoder: FrameEncoder;
  readonly bookmarks: boolean;
  /**
   * The revision that a bookmark after the initial events must have reached; `undefined` when there is no such
   * bookmark.
   */
  readonly initialEventsEnd: Revision | undefined;
  readonly timeoutMs: number;
  readonly clock: Clock;
  /**
   * Aborted when the kind is no longer served, or in another way: the stream ends. A reason that is a `StatusError` is told
   * by an ERROR event.
   */
  readonly endsOfService?: readonly AbortSignal[];
  /** Counts the events and bytes that are sent. */
  observe?(events: number, bytes: number): void;
  /** Called once, when the stream has ended. */
  closed?(): void;
}

const bookmarkPeriodMs = 60_000;
/** The time before the end of the stream at which a last bookmark is sent. */
const bookmarkBeforeEndMs = 2_000;
/**
 * The length of the first and of the largest piece of initial objects. Pieces grow, so that little is queued for a
 * client that does not read.
 */
const firstPieceLength = 8 * 1024;
const pieceLengthMax = 64 * 1024;

const joinedFrames = new WeakMap<readonly StoreEvent[], Map<string, Buffer>>();

export class WatchStream implements ReplyStream {
  readonly #options: Omit<WatchStreamOptions, "initial" | "conversions">;
  #sink: StreamSink | undefined;
  #watch: Watch | undefined;
  #cancels: (() => void)[] = [];
  #initial: Initial;
  #initialNext = 0;
  /** The key of the next initial object, if the rest of them was released because the client did not read. */
  #pausedAt: string | undefined;
  #pieceLength = firstPieceLength;
  /** Whether events wait for `convert`. */
  #isConverting = false;
  #over = false;
  /** Whether each event is a message of its own. */
  #sendsMessages = false;
  onBegun: (() => void) | undefined;

  constructor({ initial, conversions, ...options }: WatchStreamOptions) {
    this.#options = options;
    this.#initial = { entries: initial, conversions };
  }

  get hasBeginning(): boolean {
    return this.#initial.entries.length > 0;
  }

  open(sink: StreamSink): void {
    this.#sink = sink;
    const { clock, timeoutMs, bookmarks, encoder } = this.#options;
    this.#sendsMessages = !encoder.isText && sink.message !== undefined;
    sink.onClose = () => this.#finish();
    sink.onDrain = () => this.#onDrain();
    this.#cancels.push(clock.after(timeoutMs, () => this.#end()));
    if (bookmarks && timeoutMs > 2 * bookmarkBeforeEndMs) {
      this.#cancels.push(clock.after(timeoutMs - bookmarkBeforeEndMs, () => this.#bookmark()));
    }
    if (bookmarks) this.#scheduleBookmark();
    const { endsOfService = [] } = this.#options;
    const ended = endsOfService.find(({ aborted }) => aborted);
    if (ended !== undefined) return this.#fail(ended.reason);
    if (endsOfService.length > 0) {
      const removals = endsOfService.map((signal) => {
        const end = (): void => this.#fail(signal.reason);
        signal.addEventListener("abort", end);
        return () => signal.removeEventListener("abort", end);
      });
      this.#cancels[3] = () => removals.forEach((remove) => remove());
    }
    if (!this.#over) this.#sendConverted();
  }

  /** Has the initial objects converted, and then sends them. */
  #sendConverted(): void {
    const { entries } = this.#initial;
    const converting = this.#options.convert?.(entries);
    const send = (conversions: ConvertedObjects): void => {
      if (conversions !== undefined) this.#initial = { entries, conversions };
      if (!this.#over) this.#sendInitial();
    };
    if (isLate(converting)) converting.then(send).catch((error: unknown) => this.#fail(error));
    else send(converting);
  }

  #scheduleBookmark(): void {
    const cancel = this.#options.clock.after(bookmarkPeriodMs, () => {
      this.#bookmark();
      if (!this.#over) this.#scheduleBookmark();
    });
    this.#cancels[2] = cancel;
  }

  /** Sends the remaining initial objects, and then follows changes. */
  #sendInitial(): void {
    const { encoder, clock } = this.#options;
    const { entries: initial } = this.#initial;
    while (!this.#over && this.#initialNext < initial.length) {
      const frames: Buffer[] = [];
      let length = 0;
      while (this.#initialNext < initial.length && length < this.#pieceLength) {
        const entry = initial[this.#initialNext++]!;
        const frame = this.#shown(() => encoder.event("ADDED", entry, entry.revision));
        if (frame === undefined) return;
        frames.push(frame);
        length += frame.length;
      }
      this.#writeAll(frames);
      this.#pieceLength = Math.min(2 * this.#pieceLength, pieceLengthMax);
      if (this.#sink?.blocked !== true) continue;
      this.#cancels[4] = clock.after(slowMs, () => this.#pause());
      return;
    }
    if (!this.#over && this.#watch === undefined) void this.#follow();
  }

  /** Keeps only the position of a client that does not read. */
  #pause(): void {
    // Waiting for the client does not use the event loop.
    this.#begun();
    const next = this.#initial.entries[this.#initialNext];
    if (next === undefined) return;
    this.#pausedAt = next.key;
    this.#initial = nothing;
    this.#initialNext = 0;
  }

  /** Reads the remaining initial objects again. */
  async #continue(from: string): Promise<void> {
    const { cache, prefix, after, filter, matching, clock, convert } = this.#options;
    try {
      const range = await cache.rangeAt(prefix, { at: after, from, matching });
      if (this.#over) return;
      if (isCompacted(range)) return this.#endExpired();
      const conversions = filter === undefined ? undefined : await convert?.(range.entries);
      // The results of conversions stay referenced during a long search: others must not evict them.
      if (conversions !== undefined) this.#initial = { entries: [], conversions };
      if (this.#over) return;
      const entries = filter === undefined ? range.entries : await filterEntries(range.entries, filter, clock);
      this.#initial = { entries };
    } catch (error) {
      return this.#fail(error);
    }
    if (!this.#over) this.#sendConverted();
  }

  async #follow(): Promise<void> {
    const { cache, prefix, exact, after, matching, encoder, initialEventsEnd, reached } = this.#options;
    this.#begun();
    this.#initial = nothing;
    this.#initialNext = 0;
    if (reached !== undefined) {
      try {
        await reached();
      } catch (error) {
        return this.#fail(error);
      }
      if (this.#over) return;
    }
    if (initialEventsEnd !== undefined) this.#write(encoder.bookmark(Math.max(after, initialEventsEnd), true), 0);
    const watch = await cache.watch({
      prefix,
      exact,
      after,
      matching: matching?.find(({ values }) => values.length === 1),
      deliver: (events) => this.#deliver(events),
      ended: (reason) => {
        if (reason === "compacted") this.#endExpired();
        else this.#end();
      },
    });
    if (isCompacted(watch)) {
      this.#endExpired(watch.compacted);
    } else if (this.#over) {
      watch.close();
    } else {
      this.#watch = watch;
      if (this.#sink?.blocked === true) return;
      watch.resume();
    }
  }

  #endExpired(compacted = this.#options.cache.compactedRevision): void {
    const { after, encoder } = this.#options;
    this.#write(encoder.error(expired(`too old resource version: ${after} (${compacted})`).status), 0);
    this.#end();
  }

  #deliver(events: readonly StoreEvent[]): boolean {
    if (this.#over) return false;
    const converting = this.#options.convert?.(
      events.flatMap(({ entry, previous }) => [entry, ...(previous ? [previous] : [])]),
    );
    if (!isLate(converting)) return this.#shown(() => this.#send(events)) === true;
    this.#isConverting = true;
    converting
      .then(() => {
        this.#isConverting = false;
        if (!this.#over && this.#send(events)) this.#watch?.resume();
      })
      .catch((error: unknown) => this.#fail(error));
    return false;
  }

  #send(events: readonly StoreEvent[]): boolean {
    const { filter, encoder } = this.#options;
    if (encoder.objects !== undefined && this.#sink?.event !== undefined) {
      this.#hand(events, encoder.objects);
    } else if (filter === undefined && encoder.name !== "" && !this.#sendsMessages) {
      this.#write(joinShared(events, encoder), events.length);
    } else {
      const frames: Buffer[] = [];
      for (const event of events) {
        const frame = filter === undefined ? frameOf(event, encoder) : filteredFrame(event, filter, encoder);
        if (frame !== undefined) frames.push(frame);
      }
      this.#writeAll(frames);
    }
    return this.#sink?.blocked !== true;
  }

  /** Gives events to a reader in this process, without frames. */
  #hand(events: readonly StoreEvent[], objects: EventObjects): void {
    const { filter, encoder, observe } = this.#options;
    let count = 0;
    let bytes = 0;
    for (const event of events) {
      const type = filter === undefined ? event.type : shownType(event, filter);
      if (type === undefined) continue;
      const handed = new HandedEvent(type, event, objects, encoder);
      count++;
      bytes += handed.entry.valueLength;
      this.#sink?.event?.(handed);
    }
    observe?.(count, bytes);
  }

  #onDrain(): void {
    if (this.#over || this.#isConverting) return;
    this.#cancels[4]?.();
    const paused = this.#pausedAt;
    this.#pausedAt = undefined;
    if (paused !== undefined) void this.#continue(paused);
    else if (this.#initialNext < this.#initial.entries.length || this.#watch === undefined) this.#sendInitial();
    else this.#watch.resume();
  }

  #bookmark(): void {
    if (this.#watch === undefined || this.#isConverting || this.#sink?.blocked === true) return;
    this.#write(this.#options.encoder.bookmark(this.#watch.position, false), 0);
  }

  #writeAll(frames: readonly Buffer[]): void {
    if (this.#sendsMessages) for (const frame of frames) this.#write(frame, 1);
    else if (frames.length > 0) this.#write(frames.length === 1 ? frames[0]! : Buffer.concat(frames), frames.length);
  }

  #write(bytes: Buffer, count: number): void {
    if (this.#sendsMessages) this.#sink?.message?.(bytes.subarray(this.#options.encoder.headBytes));
    else this.#sink?.write(bytes);
    this.#options.observe?.(count, bytes.length);
  }

  #begun(): void {
    const { onBegun } = this;
    this.onBegun = undefined;
    onBegun?.();
  }

  /** Returns the result of `show`. If an object cannot be shown, the watch ends with an ERROR event. */
  #shown<T>(show: () => T): T | undefined {
    try {
      return show();
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      this.#fail(error);
      return undefined;
    }
  }

  /**
   * Sends an ERROR event for a failed conversion or an unreadable object. A closed or broken store is reported
   * elsewhere.
   */
  #fail(error: unknown): void {
    if (this.#over) return;
    if (error instanceof StatusError) this.#write(this.#options.encoder.error(error.status), 0);
    this.#end();
  }

  /** Ends the stream from the server's side. */
  #end(): void {
    const sink = this.#sink;
    this.#finish();
    sink?.end();
  }

  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    this.#sink = undefined;
    this.#begun();
    for (const cancel of this.#cancels) cancel?.();
    this.#watch?.close();
    this.#options.closed?.();
  }
}

/** Returns the matching entries; the search pauses for other requests. */
export async function filterEntries(
  entries: readonly Entry[],
  filter: (entry: Entry) => boolean,
  clock: Clock,
): Promise<readonly Entry[]> {
  const yielder = new Yielder(clock);
  const matches: Entry[] = [];
  for (const entry of entries) {
    if (yielder.isDue) await yielder.pause();
    if (filter(entry)) matches.push(entry);
  }
  return matches;
}

function joinShared(events: readonly StoreEvent[], encoder: FrameEncoder): Buffer {
  if (events.length === 1) return frameOf(events[0]!, encoder);
  let byForm = joinedFrames.get(events);
  if (byForm === undefined) {
    byForm = new Map();
    joinedFrames.set(events, byForm);
  }
  let joined = byForm.get(encoder.name);
  if (joined === undefined) {
    joined = Buffer.concat(events.map((event) => frameOf(event, encoder)));
    byForm.set(encoder.name, joined);
  }
  return joined;
}

function frameOf(event: StoreEvent, encoder: FrameEncoder): Buffer {
  return shareFrame(event, encoder.name, () => encoder.event(event.type, event.entry, event.revision));
}

/**
 * Returns the type that an event has for a watcher with a selector: an object that begins to match is ADDED, one that
 * ceases to match is DELETED.
 */
function shownType(event: StoreEvent, filter: (entry: Entry) => boolean): EventType | undefined {
  const { previous } = event;
  const before = previous !== undefined && filter(previous);
  const now = (event.type !== "DELETED" || !before) && filter(event.entry);
  if (event.type === "DELETED") return before || now ? "DELETED" : undefined;
  if (now) return before ? event.type : "ADDED";
  return before ? "DELETED" : undefined;
}

/** Returns the entry that an event shows under the type which the selector gave it. */
const shownEntry = (event: StoreEvent, type: EventType): Entry =>
  type === "DELETED" && event.type !== "DELETED" ? event.previous! : event.entry; // it matched before

/** Returns the frame of an event for a watcher with a selector; `undefined` when it shows nothing. */
function filteredFrame(
  event: StoreEvent,
  filter: (entry: Entry) => boolean,
  encoder: FrameEncoder,
): Buffer | undefined {
  const type = shownType(event, filter);
  return type === undefined ? undefined : frameAs(type, event, encoder);
}

function frameAs(type: EventType, event: StoreEvent, encoder: FrameEncoder): Buffer {
  if (type === event.type) return frameOf(event, encoder);
  const name = `${encoder.name}${type === "ADDED" ? "+" : "-"}`;
  return shareFrame(event, name, () => encoder.event(type, shownEntry(event, type), event.revision));
}

/** An event for a reader in this process. */
class HandedEvent implements ReceivedEvent {
  readonly type: EventType;
  readonly entry: Entry;
  readonly #event: StoreEvent;
  readonly #objects: EventObjects;
  readonly #encoder: FrameEncoder;

  constructor(type: EventType, event: StoreEvent, objects: EventObjects, encoder: FrameEncoder) {
    this.type = type;
    this.entry = shownEntry(event, type);
    this.#event = event;
    this.#objects = objects;
    this.#encoder = encoder;
  }

  get decoded(): Unstructured | undefined {
    return this.#objects.peekDecoded(this.entry, this.#event.revision);
  }

  object(): Unstructured {
    return this.#objects.object(this.entry, this.#event.revision);
  }

  json(): Buffer {
    return frameAs(this.type, this.#event, this.#encoder);
  }
}

function shareFrame(event: StoreEvent, name: string, encode: () => Buffer): Buffer {
  if (name === "" || name === "+" || name === "-") return encode();
  event.frames ??= new Map();
  let frame = event.frames.get(name);
  if (frame === undefined) {
    frame = encode();
    event.frames.set(name, frame);
  }
  return frame;
}
