/**
 * One priority level: how many requests of it run at a time, and in which fair order the others follow. Flows share
 * queues by shuffle sharding; the queue whose first request would end first, had all queues been served a little at a
 * time, is served next. Times of that imagined service are in seconds of one seat. Source: upstream's
 * `util/flowcontrol/fairqueuing`.
 *
 * Hot path: a request that need not wait takes and leaves its seats without a promise, about half a microsecond.
 */
import { LinkedList } from "#std/linked-list.ts";
import type { Clock } from "#std/clock.ts";
import { type LevelHistograms, LevelTimes } from "./busy-times.ts";
import type { Bounds, DispatchFigures, KindTimes } from "./flow-metrics.ts";
import type { FlowRequest, Work } from "./flow-request.ts";
import { Queue, type QueueDump } from "./level-queue.ts";
import { RetryAfter } from "./retry-after.ts";
import type { Demand, SeatLimits, Shares } from "./seat-limits.ts";
import { estimatedSeconds, type FlowIdentity, narrowed, type Refusal, seatSeconds, Ticket } from "./ticket.ts";

/** What a priority level configuration says. */
export interface LevelConfig extends Shares {
  readonly name: string;
  readonly uid: string;
  readonly isExempt: boolean;
  /** 0: requests that cannot run at once are refused. */
  readonly queues: number;
  readonly handSize: number;
  readonly queueLengthMax: number;
}

export interface LevelOptions {
  readonly config: LevelConfig;
  readonly clock: Clock;
  readonly histograms: LevelHistograms;
  /** Shared by all levels. */
  readonly reads: KindTimes;
  readonly writes: KindTimes;
}

/** Idle queues are forgotten once there are more than this many. */
const queuesKept = 1000;

export class PriorityLevel {
  config: LevelConfig;
  readonly retryAfter = new RetryAfter();
  limits: SeatLimits = { nominal: 0, lower: 0, upper: 0 };
  /** It is configured no more and ends with its last request. */
  isQuiescing = false;
  dispatched = 0;
  rejected = 0;
  timedOut = 0;
  cancelled = 0;
  readonly #clock: Clock;
  readonly #reads: KindTimes;
  readonly #writes: KindTimes;
  readonly #times: LevelTimes;
  /** Made when first used. */
  readonly #queues = new Map<number, Queue>();
  /** Queues where somebody waits, the one served last at the end. */
  readonly #backlog = new Set<Queue>();
  readonly #executing = new LinkedList<Ticket>();
  #dispatchedAt = Number.NaN;
  #latest = 0;
  #discounted = 0;
  #bounds: Bounds | undefined;
  readonly #load = { seats: 0, running: 0, waiting: 0, waitingSeats: 0 };
  #limit = 0;
  /** Seats that requests with more than one of them hold, by flow. */
  readonly #wideSeats = new Map<string, number>();
  /** The other requests that are slow, by flow. */
  readonly #slow = new Map<string, number>();
  /** Queues with a request that waits or runs. */
  #active = 0;
  /** Place in a hand of the queue that is looked at first. */
  #turn = 0;
  /** The imagined time, and when it was that late. */
  #at = 0;
  #atMs: number;

  constructor({ config, clock, histograms, reads, writes }: LevelOptions) {
    this.config = config;
    this.#clock = clock;
    this.#reads = reads;
    this.#writes = writes;
    this.#atMs = clock.monotonic();
    this.#times = new LevelTimes(histograms, this.#atMs);
  }

  /** Requests that run; what they make others do afterwards does not count. */
  get executing(): number {
    return this.#load.running;
  }

  get waiting(): number {
    return this.#load.waiting;
  }

  get isIdle(): boolean {
    return this.#load.waiting === 0 && this.#load.running === 0;
  }

  get demand(): Demand {
    return this.#times.demand;
  }

  /** The imagined time. */
  get at(): number {
    this.#advance(this.#clock.monotonic());
    return this.#at;
  }

  /** As of the last request that came through a queue. */
  get lastDispatch(): DispatchFigures | undefined {
    if (Number.isNaN(this.#dispatchedAt)) return undefined;
    const [latest, discounted] = [this.#latest, this.#discounted];
    const alone = { nextMin: latest, nextMax: latest, discountedMin: discounted, discountedMax: discounted };
    return { at: this.#dispatchedAt, latest, ...(this.#bounds ?? alone) };
  }

  /** Seats it may use at present. */
  get limit(): number {
    return this.#limit;
  }

  /** `whole` is what use of seats is shown as a part of. */
  setLimit(seats: number, whole: number): void {
    const now = this.#clock.monotonic();
    this.#advance(now);
    this.#limit = seats;
    const { queues, queueLengthMax } = this.config;
    this.#times.setWholes(now, this.#load, whole, Math.max(1, queueLengthMax) * Math.max(1, queues));
    this.#dispatch(now);
  }

  /** Ends a period of borrowing. */
  endPeriod(): void {
    this.settle();
    this.demand.endPeriod(this.#load.seats + this.#load.waitingSeats);
    if (this.#queues.size > queuesKept) {
      for (const [index, queue] of this.#queues) if (queue.isIdle) this.#queues.delete(index);
    }
  }

  /** Makes observations of the time that passed. */
  settle(): void {
    this.#times.settle(this.#clock.monotonic(), this.#load);
  }

  /** Most seats one request is thought to need; 0 for no limit of the level's own. */
  get widthMax(): number {
    const { queues, handSize } = this.config;
    if (queues === 0) return 0;
    const { nominal } = this.limits;
    return Math.max(1, Math.min(Math.ceil(nominal * 0.15), Math.floor(nominal / handSize)));
  }

  /** Takes a request in: it runs, waits, or is refused. */
  enter(flow: FlowIdentity, request: FlowRequest, work: Work): Ticket {
    const now = this.#clock.monotonic();
    const { verb } = request.info;
    const isRead = verb === "get" || verb === "list" || verb === "watch";
    const ticket = new Ticket(this, flow, request, isRead, isRead ? this.#reads : this.#writes, work, now);
    const { config } = this;
    flow.tally.seats.observe(ticket.width);
    if (config.isExempt) this.#begin(ticket, now);
    else if (config.queues === 0) {
      if (this.#fits(ticket.width)) this.#begin(ticket, now);
      else this.#refuse(ticket, "concurrency-limit", now);
    } else this.#enqueue(ticket, flow, now);
    return ticket;
  }

  slow(ticket: Ticket): void {
    if (ticket.state !== "executing" || ticket.queue === undefined || ticket.isSlow) return;
    ticket.isSlow = true;
    if (ticket.width === 1) count(this.#slow, ticket, 1);
  }

  end(ticket: Ticket): void {
    if (ticket.state !== "executing") return;
    ticket.state = "ended";
    const now = this.#clock.monotonic();
    const { queue, work, seat } = ticket;
    const { tally } = ticket.flow;
    const seconds = (now - ticket.startedMs) / 1000;
    (ticket.request.info.verb === "watch" ? tally.ranWatch : tally.ran).observe(seconds);
    const load = this.#load;
    this.#times.pass(now, load);
    load.running--;
    this.#executing.remove(seat!);
    ticket.kind.executing.change(-1, now);
    tally.executing--;
    if (queue !== undefined) {
      this.#advance(now);
      queue.nextAt -= (estimatedSeconds - seconds) * work.initialSeats;
      queue.executing--;
      if (load.waiting > 0) queue.bound();
      this.#retire(queue);
    }
    if (work.lingerMs > 0) this.#clock.after(work.lingerMs, () => this.#leaveLate(ticket));
    else this.#leave(ticket, now);
  }

  giveUp(ticket: Ticket, why: Refusal): void {
    if (ticket.state !== "waiting") return;
    const now = this.#clock.monotonic();
    this.#advance(now);
    this.#takeOut(ticket, now);
    this.#refuse(ticket, why, now);
    const queue = ticket.queue!; // who waits does so in a queue
    queue.bound();
    this.#retire(queue);
    this.#dispatch(now);
    ticket.decided?.();
  }

  /** Those that run, the latest first. */
  running(): readonly Ticket[] {
    return this.#executing.members();
  }

  /** Queues in use, by number. */
  queues(): readonly QueueDump[] {
    this.#advance(this.#clock.monotonic());
    return [...this.#queues.values()]
      .sort((a, b) => a.index - b.index)
      .map(({ waiting, ...rest }) => ({ ...rest, waiting: [...waiting] }));
  }

  #enqueue(ticket: Ticket, flow: FlowIdentity, now: number): void {
    this.#advance(now);
    const queue = this.#choose(flow.hand);
    ticket.queue = queue;
    ticket.arrivedAt = this.#at;
    if (queue.isIdle) {
      queue.nextAt = this.#at;
      this.#active++;
    }
    const load = this.#load;
    if (load.waiting === 0 && this.#fits(ticket.width) && this.#leavesRoom(ticket)) {
      flow.tally.queueLength.observe(1);
      if (queue.nextAt < this.#at) queue.nextAt = this.#at; // nothing begins before it came
      this.#noteDispatch(queue, undefined);
      this.#begin(ticket, now);
      return;
    }
    if (queue.waiting.size >= this.config.queueLengthMax) {
      this.#refuse(ticket, "queue-full", now);
      this.#retire(queue);
      return;
    }
    this.#times.pass(now, load);
    queue.waiting.add(ticket);
    queue.waitingWork += seatSeconds(ticket.work, estimatedSeconds);
    queue.bound();
    this.#backlog.add(queue);
    load.waiting++;
    load.waitingSeats += ticket.width;
    ticket.kind.waiting.change(1, now);
    flow.tally.waiting++;
    flow.tally.waitingSeats += ticket.width;
    flow.tally.queueLength.observe(queue.waiting.size);
    this.#dispatch(now);
  }

  /** The queue of the hand with the least work waiting; of several, one after the other. */
  #choose(hand: readonly number[]): Queue {
    let best: Queue | undefined;
    let place = this.#turn < hand.length ? this.#turn : 0;
    this.#turn = place + 1;
    for (let left = hand.length; left > 0; left--) {
      const index = hand[place]!;
      if (++place === hand.length) place = 0;
      let queue = this.#queues.get(index);
      if (queue === undefined) {
        queue = new Queue(index);
        this.#queues.set(index, queue);
      }
      if (best === undefined || queue.waitingWork < best.waitingWork) best = queue;
      if (best.waitingWork === 0) break;
    }
    return best!; // a hand has at least one
  }

  /** A request wider than the limit may run alone; with no seats at all, nobody does. */
  #fits(width: number): boolean {
    const { seats } = this.#load;
    if (width > this.#limit) return this.#limit > 0 && seats === 0;
    return seats + width <= this.#limit;
  }

  /**
   * Whether the wide and slow requests of a flow leave room for others: they take long, and whoever came after them
   * would wait for them to end, however fair the queues are. One may always run. Which requests are slow shows when they
   * run: what a flow with some of them begins is thought to be slow, too.
   */
  #leavesRoom({ width, flow }: Ticket): boolean {
    if (width === 1 && this.#slow.size === 0) return true;
    const key = flowKey(flow);
    const slow = this.#slow.get(key) ?? 0;
    if (width === 1 && slow === 0) return true;
    const held = slow + (this.#wideSeats.get(key) ?? 0);
    return held === 0 || held + width <= this.#limit / 2;
  }

  #begin(ticket: Ticket, now: number): void {
    const { width, queue } = ticket;
    const { tally } = ticket.flow;
    const load = this.#load;
    this.#times.pass(now, load);
    load.running++;
    load.seats += width;
    ticket.state = "executing";
    ticket.startedMs = now;
    ticket.seat = this.#executing.add(ticket);
    ticket.kind.executing.change(1, now);
    this.dispatched++;
    tally.executing++;
    tally.executingSeats += width;
    tally.dispatched.add();
    if (!this.config.isExempt) tally.waited.observe((now - ticket.arrivedMs) / 1000);
    if (queue === undefined) return;
    if (width > 1) count(this.#wideSeats, ticket, width);
    else if (this.#slow.size > 0 && this.#slow.has(flowKey(ticket.flow))) this.slow(ticket);
    queue.executing++;
    queue.seatsInUse += width;
    queue.nextAt += seatSeconds(ticket.work, estimatedSeconds);
  }

  /** Its seats are free again. */
  #leave(ticket: Ticket, now: number): void {
    const { width, queue } = ticket;
    const load = this.#load;
    if (queue !== undefined) {
      queue.seatsInUse -= width;
      if (width > 1) count(this.#wideSeats, ticket, -width);
      else if (ticket.isSlow) count(this.#slow, ticket, -1);
    }
    load.seats -= width;
    ticket.flow.tally.executingSeats -= width;
    if (load.waiting > 0) this.#dispatch(now);
  }

  #leaveLate(ticket: Ticket): void {
    const now = this.#clock.monotonic();
    this.#advance(now);
    this.#times.pass(now, this.#load);
    this.#leave(ticket, now);
  }

  /** Lets in as many of those that wait as there is room for. */
  #dispatch(now: number): void {
    const load = this.#load;
    while (load.waiting > 0 && load.seats < this.#limit) {
      const ticket = this.#next();
      if (ticket === undefined) return;
      const queue = ticket.queue!; // who waits does so in a queue
      if (!this.#fits(ticket.width)) {
        ticket.flow.tally.noRoom.add();
        return;
      }
      this.#noteDispatch(queue, this.#backlogBounds());
      this.#takeOut(ticket, now);
      ticket.work = narrowed(ticket.work, this.#limit);
      // Ties go to the queue that has waited longest.
      if (this.#backlog.delete(queue)) this.#backlog.add(queue);
      this.#begin(ticket, now);
      queue.bound();
      ticket.decided?.();
    }
  }

  /** Of the first requests of all queues the one that would be done first; those that wait for their own flow apart. */
  #next(): Ticket | undefined {
    let best: Ticket | undefined;
    let soonest = Number.POSITIVE_INFINITY;
    for (const queue of this.#backlog) {
      const first = this.#firstOf(queue);
      if (first === undefined) continue;
      const done = queue.nextAt + seatSeconds(first.work, estimatedSeconds);
      if (best !== undefined && done >= soonest) continue;
      best = first;
      soonest = done;
    }
    return best;
  }

  #firstOf(queue: Queue): Ticket | undefined {
    for (const ticket of queue.waiting) if (this.#leavesRoom(ticket)) return ticket;
    return undefined;
  }

  /** `bounds` when others wait. */
  #noteDispatch(queue: Queue, bounds: Bounds | undefined): void {
    this.#dispatchedAt = this.#at;
    this.#latest = queue.nextAt;
    this.#discounted = queue.discountedAt;
    this.#bounds = bounds;
  }

  #backlogBounds(): Bounds {
    const bounds = {
      nextMin: Number.POSITIVE_INFINITY,
      nextMax: Number.NEGATIVE_INFINITY,
      discountedMin: Number.POSITIVE_INFINITY,
      discountedMax: Number.NEGATIVE_INFINITY,
    };
    for (const { nextAt, discountedAt } of this.#backlog) {
      bounds.nextMin = Math.min(bounds.nextMin, nextAt);
      bounds.nextMax = Math.max(bounds.nextMax, nextAt);
      bounds.discountedMin = Math.min(bounds.discountedMin, discountedAt);
      bounds.discountedMax = Math.max(bounds.discountedMax, discountedAt);
    }
    return bounds;
  }

  #takeOut(ticket: Ticket, now: number): void {
    const queue = ticket.queue!; // who waits does so in a queue
    const load = this.#load;
    this.#times.pass(now, load);
    queue.waiting.delete(ticket);
    queue.waitingWork = queue.waiting.size === 0 ? 0 : queue.waitingWork - seatSeconds(ticket.work, estimatedSeconds);
    if (queue.waiting.size === 0) this.#backlog.delete(queue);
    load.waiting--;
    load.waitingSeats -= ticket.width;
    ticket.kind.waiting.change(-1, now);
    ticket.flow.tally.waiting--;
    ticket.flow.tally.waitingSeats -= ticket.width;
  }

  #refuse(ticket: Ticket, why: Refusal, now: number): void {
    ticket.state = "refused";
    ticket.refusal = why;
    this.rejected++;
    if (why === "time-out") this.timedOut++;
    if (why === "cancelled") this.cancelled++;
    ticket.flow.tally.waitedInVain.observe((now - ticket.arrivedMs) / 1000);
    ticket.flow.tally.refused(why);
    this.retryAfter.refused(Math.floor(this.#clock.now() / 1000));
  }

  /** A queue nobody uses any more no longer shares in the service. */
  #retire(queue: Queue): void {
    if (!queue.isIdle) return;
    this.#active--;
    if (queue.index >= this.config.queues) this.#queues.delete(queue.index);
  }

  /** Lets the imagined time pass: fast when few queues share what there is. */
  #advance(now: number): void {
    if (this.#active > 0) {
      const { seats, waitingSeats } = this.#load;
      const used = Math.min(seats + waitingSeats, this.#limit);
      this.#at += ((now - this.#atMs) / 1000) * (used / this.#active);
    }
    this.#atMs = now;
  }
}

const flowKey = ({ schema, distinguisher }: FlowIdentity): string => `${schema} ${distinguisher}`;

function count(counts: Map<string, number>, { flow }: Ticket, by: number): void {
  const key = flowKey(flow);
  const sum = (counts.get(key) ?? 0) + by;
  if (sum > 0) counts.set(key, sum);
  else counts.delete(key);
}
