/**
 * One priority level: limits concurrent requests and queues the others fairly. Flows are assigned to queues by shuffle
 * sharding. The next request comes from the queue whose first request would finish first in virtual time, as if all
 * queues were served a little at a time. Virtual time is in seconds of one seat. Source: upstream's
 * `util/flowcontrol/fairqueuing`.
 *
 * Hot path: a request that need not wait takes and returns its seats without a promise.
 */
import { LinkedList } from "#std/linked-list.ts";
import type { Clock } from "#std/clock.ts";
import { type LevelHistograms, LevelTimes } from "./busy-times.ts";
import type { QueueBounds, DispatchFigures, KindTimes } from "./flow-metrics.ts";
import type { FlowRequest, WorkEstimate } from "./flow-request.ts";
import { RetryAfter } from "./retry-after.ts";
import type { Demand, SeatLimits } from "./seat-limits.ts";
import type { LevelConfig } from "./level-config.ts";
import {
  estimatedSeconds,
  type FlowIdentity,
  limitSeats,
  Queue,
  type QueueDump,
  type Refusal,
  seatSeconds,
  QueuedRequest,
} from "./queued-request.ts";

interface LevelOptions {
  readonly config: LevelConfig;
  readonly clock: Clock;
  readonly histograms: LevelHistograms;
  /** The times of reads in all levels. */
  readonly reads: KindTimes;
  readonly writes: KindTimes;
}

/** The number of queues above which idle queues are forgotten. */
const queuesKept = 1000;

export class PriorityLevel {
  config: LevelConfig;
  readonly retryAfter = new RetryAfter();
  limits: SeatLimits = { nominal: 0, lower: 0, upper: 0 };
  /** Whether the level is no longer configured and ends with its last request. */
  isQuiescing = false;
  dispatched = 0;
  rejected = 0;
  timedOut = 0;
  cancelled = 0;
  readonly #clock: Clock;
  readonly #reads: KindTimes;
  readonly #writes: KindTimes;
  readonly #times: LevelTimes;
  /** The queues by index, made at their first use. */
  readonly #queues = new Map<number, Queue>();
  /** The queues with waiting requests; the most recently served one is last. */
  readonly #backlog = new Set<Queue>();
  readonly #executing = new LinkedList<QueuedRequest>();
  #dispatchedAt = Number.NaN;
  #latest = 0;
  #discounted = 0;
  #bounds: QueueBounds | undefined;
  readonly #load = { seats: 0, running: 0, waiting: 0, waitingSeats: 0 };
  #limit = 0;
  /** The seats of requests that hold more than one, by flow. */
  readonly #wideSeats = new Map<string, number>();
  /** The number of other slow requests, by flow. */
  readonly #slow = new Map<string, number>();
  /** The number of queues with a waiting or running request. */
  #active = 0;
  /** The position in a hand of the queue that is tried first. */
  #turn = 0;
  /** The virtual time, and the clock time at which it had this value. */
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

  /** The number of running requests, without those whose seats only represent later work. */
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

  /** The current virtual time. */
  get at(): number {
    this.#advance(this.#clock.monotonic());
    return this.#at;
  }

  /** Figures of the last request dispatched from a queue. */
  get lastDispatch(): DispatchFigures | undefined {
    if (Number.isNaN(this.#dispatchedAt)) return undefined;
    const [latest, discounted] = [this.#latest, this.#discounted];
    const alone = { nextMin: latest, nextMax: latest, discountedMin: discounted, discountedMax: discounted };
    return { at: this.#dispatchedAt, latest, ...(this.#bounds ?? alone) };
  }

  /** The number of seats that the level may use at present. */
  get limit(): number {
    return this.#limit;
  }

  /** Sets the number of seats. Metrics show used seats as a fraction of `whole`. */
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

  /** Observes the time that has passed. */
  settle(): void {
    this.#times.settle(this.#clock.monotonic(), this.#load);
  }

  /** The maximum number of seats that a request is estimated to need; 0 when the level has no limit of its own. */
  get widthMax(): number {
    const { queues, handSize } = this.config;
    if (queues === 0) return 0;
    const { nominal } = this.limits;
    return Math.max(1, Math.min(Math.ceil(nominal * 0.15), Math.floor(nominal / handSize)));
  }

  /** Takes a request, which then runs, waits, or is refused. */
  enter(flow: FlowIdentity, request: FlowRequest, work: WorkEstimate): QueuedRequest {
    const now = this.#clock.monotonic();
    const { verb } = request.info;
    const isRead = verb === "get" || verb === "list" || verb === "watch";
    const queued = new QueuedRequest({
      level: this,
      flow,
      request,
      isRead,
      kind: isRead ? this.#reads : this.#writes,
      work,
      arrivedMs: now,
    });
    const { config } = this;
    flow.tally.seats.observe(queued.width);
    if (config.isExempt) this.#begin(queued, now);
    else if (config.queues === 0) {
      if (this.#fits(queued.width)) this.#begin(queued, now);
      else this.#refuse(queued, "concurrency-limit", now);
    } else this.#enqueue(queued, flow, now);
    return queued;
  }

  slow(queued: QueuedRequest): void {
    if (queued.state !== "executing" || queued.queue === undefined || queued.isSlow) return;
    queued.isSlow = true;
    if (queued.width === 1) count(this.#slow, queued, 1);
  }

  end(queued: QueuedRequest): void {
    if (queued.state !== "executing") return;
    queued.state = "ended";
    const now = this.#clock.monotonic();
    const { queue, work, seat } = queued;
    const { tally } = queued.flow;
    const seconds = (now - queued.startedMs) / 1000;
    (queued.request.info.verb === "watch" ? tally.ranWatch : tally.ran).observe(seconds);
    const load = this.#load;
    this.#times.pass(now, load);
    load.running--;
    this.#executing.remove(seat!);
    queued.kind.executing.change(-1, now);
    tally.executing--;
    if (queue !== undefined) {
      this.#advance(now);
      queue.nextAt -= (estimatedSeconds - seconds) * work.initialSeats;
      queue.executing--;
      if (load.waiting > 0) queue.bound();
      this.#retire(queue);
    }
    if (work.lingerMs > 0) this.#clock.after(work.lingerMs, () => this.#leaveLate(queued));
    else this.#leave(queued, now);
  }

  giveUp(queued: QueuedRequest, why: Refusal): void {
    if (queued.state !== "waiting") return;
    const now = this.#clock.monotonic();
    this.#advance(now);
    this.#takeOut(queued, now);
    this.#refuse(queued, why, now);
    const queue = queued.queue!; // who waits does so in a queue
    queue.bound();
    this.#retire(queue);
    this.#dispatch(now);
    queued.decided?.();
  }

  /** Returns the requests that run, the latest first. */
  running(): readonly QueuedRequest[] {
    return this.#executing.members();
  }

  /** Returns the queues in use, by number. */
  queues(): readonly QueueDump[] {
    this.#advance(this.#clock.monotonic());
    return [...this.#queues.values()]
      .sort((a, b) => a.index - b.index)
      .map(({ waiting, ...rest }) => ({ ...rest, waiting: [...waiting] }));
  }

  #enqueue(queued: QueuedRequest, flow: FlowIdentity, now: number): void {
    this.#advance(now);
    const queue = this.#choose(flow.hand);
    queued.queue = queue;
    queued.arrivedAt = this.#at;
    if (queue.isIdle) {
      queue.nextAt = this.#at;
      this.#active++;
    }
    const load = this.#load;
    if (load.waiting === 0 && this.#fits(queued.width) && this.#leavesRoom(queued)) {
      flow.tally.queueLength.observe(1);
      if (queue.nextAt < this.#at) queue.nextAt = this.#at; // nothing begins before it came
      this.#noteDispatch(queue, undefined);
      this.#begin(queued, now);
      return;
    }
    if (queue.waiting.size >= this.config.queueLengthMax) {
      this.#refuse(queued, "queue-full", now);
      this.#retire(queue);
      return;
    }
    this.#times.pass(now, load);
    queue.waiting.add(queued);
    queue.waitingWork += seatSeconds(queued.work, estimatedSeconds);
    queue.bound();
    this.#backlog.add(queue);
    load.waiting++;
    load.waitingSeats += queued.width;
    queued.kind.waiting.change(1, now);
    flow.tally.waiting++;
    flow.tally.waitingSeats += queued.width;
    flow.tally.queueLength.observe(queue.waiting.size);
    this.#dispatch(now);
  }

  /** Returns the queue of the hand with the least waiting work; equal ones take turns. */
  #choose(hand: readonly number[]): Queue {
    let best: Queue | undefined;
    let handIndex = this.#turn < hand.length ? this.#turn : 0;
    this.#turn = handIndex + 1;
    for (let remaining = hand.length; remaining > 0; remaining--) {
      const index = hand[handIndex]!;
      if (++handIndex === hand.length) handIndex = 0;
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

  /**
   * Whether a request fits into the free seats. A request wider than the limit may run alone; without any seats, none
   * may run.
   */
  #fits(width: number): boolean {
    const { seats } = this.#load;
    if (width > this.#limit) return this.#limit > 0 && seats === 0;
    return seats + width <= this.#limit;
  }

  /**
   * Whether the wide and slow requests of a flow leave room for others. They run long, and later requests would wait
   * for them however fair the queues are. One may always run. Slowness shows only while requests run, so new requests
   * of a flow with slow ones count as slow, too.
   */
  #leavesRoom({ width, flow }: QueuedRequest): boolean {
    if (width === 1 && this.#slow.size === 0) return true;
    const key = flowKey(flow);
    const slow = this.#slow.get(key) ?? 0;
    if (width === 1 && slow === 0) return true;
    const heldSeats = slow + (this.#wideSeats.get(key) ?? 0);
    return heldSeats === 0 || heldSeats + width <= this.#limit / 2;
  }

  #begin(queued: QueuedRequest, now: number): void {
    const { width, queue } = queued;
    const { tally } = queued.flow;
    const load = this.#load;
    this.#times.pass(now, load);
    load.running++;
    load.seats += width;
    queued.state = "executing";
    queued.startedMs = now;
    queued.seat = this.#executing.add(queued);
    queued.kind.executing.change(1, now);
    this.dispatched++;
    tally.executing++;
    tally.executingSeats += width;
    tally.dispatched.add();
    if (!this.config.isExempt) tally.waited.observe((now - queued.arrivedMs) / 1000);
    if (queue === undefined) return;
    if (width > 1) count(this.#wideSeats, queued, width);
    else if (this.#slow.size > 0 && this.#slow.has(flowKey(queued.flow))) this.slow(queued);
    queue.executing++;
    queue.seatsInUse += width;
    queue.nextAt += seatSeconds(queued.work, estimatedSeconds);
  }

  /** Frees the seats of a request. */
  #leave(queued: QueuedRequest, now: number): void {
    const { width, queue } = queued;
    const load = this.#load;
    if (queue !== undefined) {
      queue.seatsInUse -= width;
      if (width > 1) count(this.#wideSeats, queued, -width);
      else if (queued.isSlow) count(this.#slow, queued, -1);
    }
    load.seats -= width;
    queued.flow.tally.executingSeats -= width;
    if (load.waiting > 0) this.#dispatch(now);
  }

  #leaveLate(queued: QueuedRequest): void {
    const now = this.#clock.monotonic();
    this.#advance(now);
    this.#times.pass(now, this.#load);
    this.#leave(queued, now);
  }

  /** Starts waiting requests while there are free seats for them. */
  #dispatch(now: number): void {
    const load = this.#load;
    while (load.waiting > 0 && load.seats < this.#limit) {
      const queued = this.#next();
      if (queued === undefined) return;
      const queue = queued.queue!; // who waits does so in a queue
      if (!this.#fits(queued.width)) {
        queued.flow.tally.noRoom.add();
        return;
      }
      this.#noteDispatch(queue, this.#backlogBounds());
      this.#takeOut(queued, now);
      queued.work = limitSeats(queued.work, this.#limit);
      // The queue that has waited longest is served first among equal ones.
      if (this.#backlog.delete(queue)) this.#backlog.add(queue);
      this.#begin(queued, now);
      queue.bound();
      queued.decided?.();
    }
  }

  /**
   * Finds the request that would be done first, among the first ones of all queues that need not wait for others of
   * their flow.
   */
  #next(): QueuedRequest | undefined {
    let best: QueuedRequest | undefined;
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

  #firstOf(queue: Queue): QueuedRequest | undefined {
    for (const queued of queue.waiting) if (this.#leavesRoom(queued)) return queued;
    return undefined;
  }

  /** Records the figures of a dispatched request. `bounds` is present when other requests wait. */
  #noteDispatch(queue: Queue, bounds: QueueBounds | undefined): void {
    this.#dispatchedAt = this.#at;
    this.#latest = queue.nextAt;
    this.#discounted = queue.discountedAt;
    this.#bounds = bounds;
  }

  #backlogBounds(): QueueBounds {
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

  #takeOut(queued: QueuedRequest, now: number): void {
    const queue = queued.queue!; // who waits does so in a queue
    const load = this.#load;
    this.#times.pass(now, load);
    queue.waiting.delete(queued);
    queue.waitingWork = queue.waiting.size === 0 ? 0 : queue.waitingWork - seatSeconds(queued.work, estimatedSeconds);
    if (queue.waiting.size === 0) this.#backlog.delete(queue);
    load.waiting--;
    load.waitingSeats -= queued.width;
    queued.kind.waiting.change(-1, now);
    queued.flow.tally.waiting--;
    queued.flow.tally.waitingSeats -= queued.width;
  }

  #refuse(queued: QueuedRequest, why: Refusal, now: number): void {
    queued.state = "refused";
    queued.refusal = why;
    this.rejected++;
    if (why === "time-out") this.timedOut++;
    if (why === "cancelled") this.cancelled++;
    queued.flow.tally.waitedInVain.observe((now - queued.arrivedMs) / 1000);
    queued.flow.tally.countRefusal(why);
    this.retryAfter.countRefusal(Math.floor(this.#clock.now() / 1000));
  }

  /** Removes an unused queue from the service. */
  #retire(queue: Queue): void {
    if (!queue.isIdle) return;
    this.#active--;
    if (queue.index >= this.config.queues) this.#queues.delete(queue.index);
  }

  /** Advances the virtual time: faster when fewer queues share the seats. */
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

function count(counts: Map<string, number>, { flow }: QueuedRequest, by: number): void {
  const key = flowKey(flow);
  const sum = (counts.get(key) ?? 0) + by;
  if (sum > 0) counts.set(key, sum);
  else counts.delete(key);
}
