/**
 * Delivers events to watchers. Hot path: thousands of events a second to thousands of watchers, so an event costs only
 * its audience (channels by resource, namespace, key, and one value of a label or field). The watchers of a channel are
 * visited in a circle, a few in each turn of the loop, while any of them lacks an event. A visit delivers everything a
 * watcher lacks at once; watchers at the same position get the same array.
 *
 * A watcher is in step (it lacks only events in its channel's `recent`), or behind. One that is behind has no queue: it
 * keeps its position and reads on from the event log of its resource in pieces, and from the durable log
 * (`HistorySource`) when memory does not reach back far enough. So a thousand slow watchers cost no memory; the limit
 * of lag is a count.
 *
 *     channel /registry//pods/     recent: [e8 e9]         log of the bucket: e5 e6 e7 e8 e9
 *       watcher A  in step, position 8      was visited before e9 came; next visit: [e9]
 *       watcher B  in step, position 7      next visit: [e8 e9]
 *       watcher C  in step, position 7      next visit: the same array
 *       watcher D  said stop at 6           after resume(): [e7 e8 e9] from the bucket's log, then in step
 */
import type { Clock } from "#std/clock.ts";
import type { Revision } from "../log-store.ts";
import type { IndexFunction, StoreEvent, Watch, WatchOptions } from "../watch-cache.ts";
import { type IndexedValue, indexedValue, unreadable } from "./entry-indexes.ts";
import { type Bucket, bucketPrefix, type EventLog, type EventHistory, indexAfter } from "./event-history.ts";

/** Events of a prefix from the durable log, oldest first; all events up to `reached` have been read. */
export interface EventPage {
  readonly events: readonly StoreEvent[];
  readonly reached: Revision;
}

/** Reads events that left memory: those in (after, upTo] of a prefix or one key, some at a time. */
type HistorySource = (
  prefix: string,
  exact: boolean,
  after: Revision,
  upTo: Revision,
) => Promise<EventPage | undefined>;

interface WatchHubOptions {
  readonly clock: Clock;
  /** The longest pause of a large audience between two rounds. */
  readonly restMsMax: number;
  readonly history: EventHistory;
  /** Returns the revision that reads see. */
  readonly revision: () => Revision;
  /** Returns the revision before which reads are refused. */
  readonly compactedRevision: () => Revision;
  readonly source: HistorySource;
  readonly onFlush: ((deliveries: number) => void) | undefined;
  readonly onWatchError: ((error: unknown) => void) | undefined;
}

const defaultQueueLengthMax = 10_000;
/**
 * The number of deliveries after which the loop lets others run: the best compromise of rate and latency for 1,000
 * watchers and a writer at full speed. Figures: docs/performance.md.
 */
const deliveriesPerTurn = 200;
/**
 * The pause per watcher of a large audience between two rounds, so that the events of a busy writer are delivered
 * several at a time: a delivery costs the same for one event or for ten. The pause has a bound, and there is none below
 * ten watchers.
 */
const restPerWatcherMs = 0.1;
/**
 * The number of events in the log that one visit of a watcher looks at. It limits the events that the watcher gets at
 * once, and the time of a visit that finds few for it.
 */
const pageLength = 500;
/**
 * The maximum number of functions by which the watchers of a resource, or of a namespace of it, have channels of their own.
 * Each of them is asked about each event.
 */
const selectionsMax = 32;

interface Channel {
  readonly id: string;
  readonly prefix: string;
  readonly exact: boolean;
  readonly log: EventLog;
  /** The map in which it is found by its id. */
  readonly home: Map<string, Channel>;
  /** The function and the value that an event must have before or after it, if the channel takes only such ones. */
  readonly selected: { readonly by: IndexFunction; readonly value: string } | undefined;
  /** The watchers, and for a while those that have ended. */
  watchers: Watcher[];
  /** The number of watchers that have not ended. */
  open: number;
  /** Whether the channel has watchers to visit, now or after its rest. */
  dirty: boolean;
  /** The number of visits since the last rest: a round is one visit for each watcher. */
  visited: number;
  /** The time at which the last round ended, on the monotonic clock. */
  restsFromMs: number;
  /** The index of the next watcher to visit. */
  next: number;
  /** The number of visits until all watchers have all events. */
  visitsLeft: number;
  /** Events that a watcher in step may lack. */
  recent: StoreEvent[];
  /**
   * The last event at the previous beginning of the circle; when the circle is back with the same one, all watchers in
   * step have it.
   */
  roundFrom: Revision;
  /** The events of `recent` after the position `tailAt`: most watchers that are visited in turn lack the same ones. */
  tail: readonly StoreEvent[];
  tailAt: Revision;
  /** The number of events ever published here. */
  published: number;
  fetches: Map<Revision, Promise<EventPage | undefined>>;
}

/** The channels of a prefix that take the events with one value of a function, by the value. */
interface Selection {
  readonly by: IndexFunction;
  readonly channels: Map<string, Channel>;
}

interface Page extends EventPage {
  readonly channel: Channel;
  /** The position after which it was read, and the value of `published` at that time. */
  readonly after: Revision;
  readonly published: number;
  /** Whether the log has no more events after this page. */
  readonly complete: boolean;
}

interface Watcher {
  readonly options: WatchOptions;
  readonly channel: Channel;
  readonly attachedAt: Revision;
  readonly queueLengthMax: number;
  position: Revision;
  /** The value of `published` that this watcher has caught up with. */
  taken: number;
  inStep: boolean;
  paused: boolean;
  queued: boolean;
  loading: boolean;
  loaded: EventPage | undefined;
  closed: boolean;
}

class WatchHandle implements Watch {
  readonly resume: () => void;
  readonly close: () => void;
  readonly #position: () => Revision;

  constructor(resume: () => void, position: () => Revision, close: () => void) {
    this.resume = resume;
    this.close = close;
    this.#position = position;
  }

  get position(): Revision {
    return this.#position();
  }
}

export class WatchHub {
  readonly #options: WatchHubOptions;
  /** Channels of whole resources, by prefix. */
  readonly #resources = new Map<string, Channel>();
  /** Channels of a namespace of a resource. */
  readonly #namespaces = new Map<string, Channel>();
  readonly #keys = new Map<string, Channel>();
  /** Channels with any other prefix; every event checks them. */
  readonly #others = new Map<string, Channel>();
  /** Channels of one value of a function, by the prefix of a resource or of one of its namespaces, and the function. */
  readonly #selections = new Map<string, Map<string, Selection>>();
  #dirty: Channel[] = [];
  #ready: Watcher[] = [];
  #scheduled = false;
  #open = 0;
  /** The last page that was read from a log, for watchers that are equally far behind and are visited in turn. */
  #lastPage: Page | undefined;

  constructor(options: WatchHubOptions) {
    this.#options = options;
  }

  get watcherCount(): number {
    return this.#open;
  }

  /**
   * Whether all watchers have been given every event. Watchers that said stop count only if `includesPaused` is set;
   * they wait for their own readers.
   */
  isQuiet(includesPaused: boolean): boolean {
    if (this.#scheduled) return false;
    return this.#channels().every(
      ({ dirty, published, watchers }) =>
        !dirty &&
        !(includesPaused && watchers.some(({ closed, paused, taken }) => !closed && paused && taken < published)),
    );
  }

  /** Opens a watch. The caller has checked that events after `after` are not compacted. */
  watch(options: WatchOptions): Watch {
    const channel = this.#channelFor(options);
    const revision = this.#options.revision();
    const watcher: Watcher = {
      options,
      channel,
      attachedAt: revision,
      queueLengthMax: options.queueLengthMax ?? defaultQueueLengthMax,
      position: options.after,
      taken: channel.published,
      inStep: options.after >= revision,
      paused: false,
      queued: false,
      loading: false,
      loaded: undefined,
      closed: false,
    };
    channel.watchers.push(watcher);
    channel.open++;
    if (channel.visitsLeft > 0) channel.visitsLeft++;
    this.#open++;
    if (!watcher.inStep) this.#enqueue(watcher);
    return new WatchHandle(
      () => this.#resume(watcher),
      () => this.#positionOf(watcher),
      () => this.#end(watcher, "closed"),
    );
  }

  /**
   * Publishes an event that has just become visible. Channels without watchers get it, too: a channel that its last
   * watcher left in a round or a rest stays until the round has ended, and the next watcher joins it.
   */
  publish(event: StoreEvent, bucket: Bucket): void {
    const key = event.entry.key;
    if (this.#resources.size > 0) this.#append(this.#resources.get(bucket.prefix), event);
    if (this.#namespaces.size > 0) {
      const slash = key.indexOf("/", bucket.prefix.length);
      if (slash !== -1) this.#append(this.#namespaces.get(key.slice(0, slash + 1)), event);
    }
    if (this.#keys.size > 0) this.#append(this.#keys.get(key), event);
    for (const channel of this.#others.values()) {
      if (key.startsWith(channel.prefix)) this.#append(channel, event);
    }
    if (this.#selections.size > 0) this.#publishSelected(event, bucket);
  }

  #publishSelected(event: StoreEvent, { prefix }: Bucket): void {
    const { key } = event.entry;
    this.#publishIn(this.#selections.get(prefix), event);
    const slash = key.indexOf("/", prefix.length);
    if (slash !== -1) this.#publishIn(this.#selections.get(key.slice(0, slash + 1)), event);
  }

  #publishIn(selections: ReadonlyMap<string, Selection> | undefined, event: StoreEvent): void {
    if (selections === undefined) return;
    for (const { by, channels } of selections.values()) {
      const [now, before] = valuesOf(by, event);
      if (now === unreadable || before === unreadable)
        for (const channel of channels.values()) this.#append(channel, event);
      else {
        if (typeof now === "string") this.#append(channels.get(now), event);
        if (typeof before === "string" && before !== now) this.#append(channels.get(before), event);
      }
    }
  }

  /** Ends every watch. */
  endAll(reason: "compacted" | "closed"): void {
    for (const channel of this.#channels()) {
      for (const watcher of channel.watchers) this.#end(watcher, reason);
    }
    this.#lastPage = undefined;
  }

  /** Ends watches that may see keys with these prefixes as if they were too slow, so that their clients begin again. */
  endUnder(prefixes: ReadonlySet<string>): void {
    const meets = (prefix: string) => (channel: Channel) =>
      channel.prefix.startsWith(prefix) || prefix.startsWith(channel.prefix);
    const tests = [...prefixes].map(meets);
    for (const channel of this.#channels()) {
      if (!tests.some((test) => test(channel))) continue;
      for (const watcher of channel.watchers) this.#end(watcher, "slow");
    }
  }

  #channels(): Channel[] {
    const homes = [this.#resources, this.#namespaces, this.#keys, this.#others];
    for (const selections of this.#selections.values()) {
      for (const { channels } of selections.values()) homes.push(channels);
    }
    return homes.flatMap((home) => [...home.values()]);
  }

  #append(channel: Channel | undefined, event: StoreEvent): void {
    if (channel === undefined) return;
    channel.recent.push(event);
    channel.published++;
    channel.visitsLeft = channel.watchers.length;
    forgetTail(channel);
    if (!channel.dirty) {
      channel.dirty = true;
      this.#afterRest(channel);
    }
  }

  /** Begins a round, when enough time has passed since the last. */
  #afterRest(channel: Channel): void {
    const { clock, restMsMax } = this.#options;
    const restMs = Math.min(restMsMax, Math.floor(channel.open * restPerWatcherMs));
    const waitMs = restMs === 0 ? 0 : channel.restsFromMs + restMs - clock.monotonic();
    if (waitMs > 0) clock.after(waitMs, () => this.#beginRound(channel));
    else this.#beginRound(channel);
  }

  #beginRound(channel: Channel): void {
    this.#dirty.push(channel);
    this.#schedule();
  }

  #enqueue(watcher: Watcher): void {
    if (watcher.queued || watcher.closed) return;
    watcher.queued = true;
    this.#ready.push(watcher);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#turn());
  }

  /**
   * Makes as many visits as one turn has room for: to watchers that are behind, and to the channels one after the
   * other.
   */
  #turn(): void {
    let budget = deliveriesPerTurn;
    const share = this.#dirty.length > 0 ? budget / 2 : budget;
    for (const watcher of this.#ready.splice(0, share)) {
      this.#deliverNextPage(watcher);
      budget--;
    }
    for (let count = this.#dirty.length; count > 0 && budget > 0; count--) {
      const channel = this.#dirty.shift()!;
      budget = this.#visitNext(channel, budget);
      if (channel.visitsLeft > 0 && channel.visited < channel.watchers.length) {
        this.#dirty.push(channel);
        continue;
      }
      channel.visited = 0;
      channel.restsFromMs = this.#options.clock.monotonic();
      if (channel.visitsLeft > 0 && channel.open > 0) {
        this.#afterRest(channel);
        continue;
      }
      channel.dirty = false;
      channel.recent = [];
      forgetTail(channel);
      this.#tidy(channel);
    }
    this.#options.onFlush?.(deliveriesPerTurn - budget);
    this.#scheduled = false;
    if (this.#ready.length === 0) this.#lastPage = undefined;
    if (this.#dirty.length > 0 || this.#ready.length > 0) this.#schedule();
  }

  /** Continues around the circle of a channel, at most once; returns the rest of the budget. */
  #visitNext(channel: Channel, budget: number): number {
    let rest = budget;
    while (channel.visitsLeft > 0 && rest > 0 && channel.visited < channel.watchers.length) {
      const watcher = channel.watchers[channel.next];
      if (watcher === undefined) {
        this.#closeRound(channel);
        continue;
      }
      channel.next++;
      // The count falls before the visit: if the visit publishes more events, all watchers have to be visited again,
      // this one too.
      channel.visitsLeft--;
      channel.visited++;
      if (this.#visit(watcher)) rest--;
    }
    return rest;
  }

  /** Goes back to the beginning of the circle. */
  #closeRound(channel: Channel): void {
    const { recent, roundFrom } = channel;
    const lacking = recent.findIndex((event) => event.revision > roundFrom);
    recent.splice(0, lacking < 0 ? recent.length : lacking);
    channel.roundFrom = recent.at(-1)?.revision ?? roundFrom;
    channel.next = 0;
    this.#tidy(channel);
    channel.visitsLeft = Math.min(channel.visitsLeft, channel.watchers.length);
  }

  /** Delivers to a watcher the events it lacks; returns whether there were any. */
  #visit(watcher: Watcher): boolean {
    if (watcher.closed) return false;
    const { channel } = watcher;
    if (!watcher.inStep || watcher.paused) {
      // It has everything before the first event that it lacks, however long ago it got one.
      watcher.position = this.#positionOf(watcher);
      watcher.inStep = false;
      if (watcher.paused && channel.published - watcher.taken > watcher.queueLengthMax) this.#end(watcher, "slow");
      return false;
    }
    watcher.taken = channel.published;
    const events = eventsAfter(channel, watcher.position);
    if (events.length === 0) return false;
    this.#deliver(watcher, events);
    return true;
  }

  #deliver(watcher: Watcher, events: readonly StoreEvent[]): void {
    watcher.position = events[events.length - 1]!.revision;
    watcher.channel.log.delivered += events.length;
    try {
      if (!watcher.options.deliver(events)) watcher.paused = true;
    } catch (error) {
      this.#options.onWatchError?.(error);
      this.#end(watcher, "closed");
    }
  }

  #resume(watcher: Watcher): void {
    if (!watcher.paused || watcher.closed) return;
    watcher.paused = false;
    if (!watcher.inStep) this.#enqueue(watcher);
  }

  /** Gives a watcher that is behind its next page, and puts it in step when that was the last one. */
  #deliverNextPage(watcher: Watcher): void {
    watcher.queued = false;
    if (watcher.closed || watcher.paused || watcher.inStep || watcher.loading) return;
    const { channel } = watcher;
    const loaded = watcher.loaded;
    if (loaded !== undefined) {
      watcher.loaded = undefined;
      this.#deliverPage(watcher, loaded.events);
      if (!watcher.closed) watcher.position = Math.max(watcher.position, loaded.reached);
    } else if (watcher.position < channel.log.floor) {
      this.#load(watcher);
      return;
    } else {
      const page = this.#page(channel, watcher.position);
      if (page.complete) {
        watcher.inStep = true;
        watcher.taken = channel.published;
      }
      this.#deliverPage(watcher, page.events);
      if (!watcher.closed) watcher.position = Math.max(watcher.position, page.reached);
    }
    if (!watcher.inStep && !watcher.paused) this.#enqueue(watcher);
  }

  #deliverPage(watcher: Watcher, events: readonly StoreEvent[]): void {
    if (events.length === 0) return;
    if (!watcher.inStep) {
      for (const event of events) if (event.revision > watcher.attachedAt) watcher.taken++;
      watcher.taken = Math.min(watcher.taken, watcher.channel.published);
    }
    this.#deliver(watcher, events);
  }

  /** Returns events of a channel that follow `position` in memory. */
  #page(channel: Channel, position: Revision): Page {
    const { log, published } = channel;
    const last = this.#lastPage;
    if (last?.channel === channel && last.after === position && last.published === published) return last;
    const events: StoreEvent[] = [];
    const first = indexAfter(log, position);
    const end = endOfPage(log, first);
    let reached = position;
    for (let index = first; index < end; index++) {
      const event = log.events.at(index)!;
      reached = event.revision;
      if (concerns(channel, event)) events.push(event);
    }
    this.#lastPage = { channel, after: position, published, events, reached, complete: end === log.events.length };
    return this.#lastPage;
  }

  #load(watcher: Watcher): void {
    const { source, compactedRevision } = this.#options;
    const { channel } = watcher;
    if (watcher.position < compactedRevision()) {
      this.#end(watcher, "compacted");
      return;
    }
    const after = watcher.position;
    let fetch = channel.fetches.get(after);
    if (fetch === undefined) {
      fetch = source(channel.prefix, channel.exact, after, channel.log.floor).finally(() =>
        channel.fetches.delete(after),
      );
      channel.fetches.set(after, fetch);
    }
    watcher.loading = true;
    fetch.then(
      (page) => {
        watcher.loading = false;
        if (watcher.closed) return;
        if (page === undefined || after < compactedRevision()) {
          this.#end(watcher, "compacted");
          return;
        }
        watcher.loaded = page;
        if (!watcher.paused) this.#enqueue(watcher);
      },
      (error: unknown) => {
        watcher.loading = false;
        if (watcher.closed) return;
        this.#options.onWatchError?.(error);
        this.#end(watcher, "closed");
      },
    );
  }

  #positionOf(watcher: Watcher): Revision {
    if (!watcher.inStep) return watcher.position;
    // Invariant: `recent` has every event that a watcher in step has not received.
    const next = watcher.channel.recent.find((event) => event.revision > watcher.position);
    const reached = next === undefined ? this.#options.revision() : next.revision - 1;
    return Math.max(watcher.position, reached);
  }

  #end(watcher: Watcher, reason: "slow" | "compacted" | "closed"): void {
    if (watcher.closed) return;
    watcher.closed = true;
    watcher.loaded = undefined;
    this.#open--;
    const { channel } = watcher;
    channel.open--;
    if (channel.visitsLeft === 0) this.#tidy(channel);
    try {
      watcher.options.ended(reason);
    } catch (error) {
      this.#options.onWatchError?.(error);
    }
  }

  /** Removes ended watchers once they are half of the list, and a channel without watchers. */
  #tidy(channel: Channel): void {
    if (channel.open === 0) {
      channel.watchers = [];
      channel.recent = [];
      channel.next = 0;
      channel.visitsLeft = 0;
      if (channel.home.get(channel.id) === channel) channel.home.delete(channel.id);
      if (channel.selected !== undefined && channel.home.size === 0)
        this.#forgetSelection(channel, channel.selected.by);
    } else if (channel.open * 2 < channel.watchers.length) {
      channel.watchers = channel.watchers.filter((watcher) => !watcher.closed);
      channel.next = 0;
    }
  }

  /** Removes the selection whose last channel a channel was. */
  #forgetSelection({ prefix, home }: Channel, { name }: IndexFunction): void {
    const selections = this.#selections.get(prefix);
    if (selections?.get(name)?.channels !== home) return;
    selections.delete(name);
    if (selections.size === 0) this.#selections.delete(prefix);
  }

  #channelFor({ prefix, exact = false, matching }: WatchOptions): Channel {
    const bucket = bucketPrefix(prefix);
    const { history } = this.#options;
    const isOfResource = bucket === prefix;
    const isOfNamespace = bucket !== undefined && prefix.indexOf("/", bucket.length) === prefix.length - 1;
    let home = this.#others;
    let id = prefix;
    let selected: Channel["selected"];
    if (exact) home = this.#keys;
    else if (
      (isOfResource || isOfNamespace) &&
      matching?.values.length === 1 &&
      this.#hasRoomFor(prefix, matching.by)
    ) {
      id = matching.values[0]!;
      selected = { by: matching.by, value: id };
      home = this.#selectionFor(prefix, matching.by).channels;
    } else if (isOfResource) home = this.#resources;
    else if (isOfNamespace) home = this.#namespaces;
    const existing = home.get(id);
    if (existing !== undefined) return existing;
    const channel: Channel = {
      id,
      prefix,
      exact,
      // A prefix above the resources reads the log of everything.
      log: exact || bucket !== undefined ? history.bucketOf(prefix) : history,
      home,
      selected,
      watchers: [],
      open: 0,
      dirty: false,
      visited: 0,
      restsFromMs: Number.NEGATIVE_INFINITY,
      next: 0,
      visitsLeft: 0,
      recent: [],
      roundFrom: 0,
      tail: noEvents,
      tailAt: -1,
      published: 0,
      fetches: new Map(),
    };
    home.set(id, channel);
    return channel;
  }

  #hasRoomFor(prefix: string, { name }: IndexFunction): boolean {
    const selections = this.#selections.get(prefix);
    return selections === undefined || selections.size < selectionsMax || selections.has(name);
  }

  #selectionFor(prefix: string, by: IndexFunction): Selection {
    let selections = this.#selections.get(prefix);
    if (selections === undefined) this.#selections.set(prefix, (selections = new Map<string, Selection>()));
    let selection = selections.get(by.name);
    if (selection === undefined) selections.set(by.name, (selection = { by, channels: new Map() }));
    return selection;
  }
}

const noEvents: readonly StoreEvent[] = [];

/**
 * Returns the recent events of a channel after `position`: the same array for watchers at the same position that are
 * visited in turn.
 */
function eventsAfter(channel: Channel, position: Revision): readonly StoreEvent[] {
  if (position === channel.tailAt) return channel.tail;
  const { recent } = channel;
  let from = recent.length;
  while (from > 0 && recent[from - 1]!.revision > position) from--;
  if (from === recent.length) return noEvents;
  channel.tail = recent.slice(from);
  channel.tailAt = position;
  return channel.tail;
}

function forgetTail(channel: Channel): void {
  channel.tail = noEvents;
  channel.tailAt = -1;
}

/** Returns the index after a page of events that begins at `first`. A page has all events of its last revision. */
function endOfPage({ events }: EventLog, first: number): number {
  let end = Math.min(first + pageLength, events.length);
  while (end > first && end < events.length && events.at(end)!.revision === events.at(end - 1)!.revision) end++;
  return end;
}

/** Returns the values of the entry of an event and of the one before; for a deletion both are those of the last one. */
function valuesOf(by: IndexFunction, { type, entry, previous }: StoreEvent): readonly [IndexedValue, IndexedValue] {
  const before = indexedValue(by, previous ?? entry, true);
  return [type === "DELETED" || previous === undefined ? before : indexedValue(by, entry, true), before];
}

/** Whether the watchers of a channel may need an event of its log. */
function concerns({ exact, prefix, selected }: Channel, event: StoreEvent): boolean {
  const { key } = event.entry;
  if (exact) return key === prefix;
  if (!key.startsWith(prefix)) return false;
  if (selected === undefined) return true;
  const values = valuesOf(selected.by, event);
  return values.includes(selected.value) || values.includes(unreadable);
}
