/**
 * One priority level: how many requests of it run at a time, and in which fair order the others follow. Flows share
 * queues by shuffle sharding; the queue whose first request would end first, had all queues been served a little at a
 * time, is served next. Times of that imagined service are in seconds of one seat. Source: upstream's
 * `util/flowcontrol/fairqueuing`.
 *
 * Hot path: a request that need not wait takes and leaves its seats without a promise, about half a microsecond.
 */
import { Roster, type Seat } from "#std/roster.ts";
import type { Clock } from "#std/clock.ts";
import type { Tally } from "./flow-metrics.ts";
import type { FlowRequest, Work } from "./flow-request.ts";
import { RetryAfter } from "./retry-after.ts";
import { Demand, type SeatLimits, type Shares } from "./seat-limits.ts";

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

/** Whose request it is: a schema, and what tells its flows apart. */
export interface FlowIdentity {
  readonly schema: string;
  readonly distinguisher: string;
  readonly hand: readonly number[];
  readonly tally: Tally;
}

export type Refusal = "queue-full" | "concurrency-limit" | "time-out" | "cancelled";

/** What a request is thought to take before it has run. */
const estimatedSeconds = 0.003;

/** One request and its seats. */
export class Ticket {
  readonly level: PriorityLevel;
  readonly flow: FlowIdentity;
  readonly request: FlowRequest;
  readonly work: Work;
  readonly arrivedMs: number;
  startedMs = 0;
  state: "waiting" | "executing" | "refused" | "ended" = "waiting";
  refusal: Refusal | undefined;
  queue: Queue | undefined;
  /** The imagined time at which it came to its queue. */
  arrivedAt = 0;
  seat: Seat<Ticket> | undefined;
  decided: (() => void) | undefined;

  constructor(level: PriorityLevel, flow: FlowIdentity, request: FlowRequest, work: Work, arrivedMs: number) {
    this.level = level;
    this.flow = flow;
    this.request = request;
    this.work = work;
    this.arrivedMs = arrivedMs;
  }

  get width(): number {
    const { initialSeats, finalSeats } = this.work;
    return initialSeats > finalSeats ? initialSeats : finalSeats;
  }

  /** Gives the seats back: at once, or when what follows from the request is over. */
  end(): void {
    this.level.end(this);
  }

  /** No longer waits. */
  giveUp(why: Refusal): void {
    this.level.giveUp(this, why);
  }
}

const seatSeconds = ({ work }: Ticket, seconds: number): number =>
  work.initialSeats * seconds + (work.finalSeats * work.lingerMs) / 1000;

class Queue {
  readonly index: number;
  readonly waiting = new Set<Ticket>();
  waitingWork = 0;
  executing = 0;
  seatsInUse = 0;
  /** The imagined time at which its next request begins. */
  nextAt = 0;

  constructor(index: number) {
    this.index = index;
  }
}

export interface QueueDump {
  readonly index: number;
  readonly waiting: readonly Ticket[];
  readonly executing: number;
  readonly seatsInUse: number;
  readonly nextAt: number;
  readonly waitingWork: number;
}

export class PriorityLevel {
  config: LevelConfig;
  readonly retryAfter = new RetryAfter();
  readonly demand: Demand;
  limits: SeatLimits = { nominal: 0, lower: 0, upper: 0 };
  /** It is configured no more and ends with its last request. */
  isQuiescing = false;
  dispatched = 0;
  rejected = 0;
  timedOut = 0;
  cancelled = 0;
  readonly #clock: Clock;
  /** Made when first used. */
  readonly #queues = new Map<number, Queue>();
  /** Queues where somebody waits, the one served last at the end. */
  readonly #backlog = new Set<Queue>();
  readonly #executing = new Roster<Ticket>();
  #seats = 0;
  #limit = 0;
  #waiting = 0;
  #waitingSeats = 0;
  /** Queues with a request that waits or runs. */
  #active = 0;
  /** The imagined time, and when it was that late. */
  #at = 0;
  #atMs: number;

  constructor(config: LevelConfig, clock: Clock) {
    this.config = config;
    this.#clock = clock;
    this.#atMs = clock.monotonic();
    this.demand = new Demand(this.#atMs);
  }

  get executing(): number {
    return this.#executing.size;
  }

  get waiting(): number {
    return this.#waiting;
  }

  get isIdle(): boolean {
    return this.#waiting === 0 && this.#executing.size === 0;
  }

  /** Seats it may use at present. */
  get limit(): number {
    return this.#limit;
  }

  set limit(seats: number) {
    this.#advance(this.#clock.monotonic());
    this.#limit = seats;
    this.#dispatch(this.#atMs);
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
    const ticket = new Ticket(this, flow, request, work, now);
    const { config } = this;
    flow.tally.seats.observe(ticket.width);
    if (config.isExempt) this.#begin(ticket, now);
    else if (config.queues === 0) {
      if (this.#fits(ticket.width)) this.#begin(ticket, now);
      else this.#refuse(ticket, "concurrency-limit");
    } else this.#enqueue(ticket, flow, now);
    return ticket;
  }

  end(ticket: Ticket): void {
    if (ticket.state !== "executing") return;
    ticket.state = "ended";
    const now = this.#clock.monotonic();
    const { tally } = ticket.flow;
    const seconds = (now - ticket.startedMs) / 1000;
    (ticket.request.info.verb === "watch" ? tally.ranWatch : tally.ran).observe(seconds);
    const { queue, work } = ticket;
    if (queue !== undefined) {
      this.#advance(now);
      queue.nextAt -= (estimatedSeconds - seconds) * work.initialSeats;
    }
    if (work.lingerMs > 0) this.#clock.after(work.lingerMs, () => this.#leave(ticket, this.#clock.monotonic()));
    else this.#leave(ticket, now);
  }

  giveUp(ticket: Ticket, why: Refusal): void {
    if (ticket.state !== "waiting") return;
    const now = this.#clock.monotonic();
    this.#advance(now);
    this.#takeOut(ticket);
    ticket.flow.tally.waitedInVain.observe((now - ticket.arrivedMs) / 1000);
    this.#refuse(ticket, why);
    this.#settle(ticket.queue!);
    this.#demanded(now);
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
    if (queue.executing === 0 && queue.waiting.size === 0) {
      queue.nextAt = this.#at;
      this.#active++;
    }
    if (this.#waiting === 0 && this.#fits(ticket.width)) {
      flow.tally.queueLength.observe(1);
      this.#begin(ticket, now);
      return;
    }
    if (queue.waiting.size >= this.config.queueLengthMax) {
      this.#refuse(ticket, "queue-full");
      this.#settle(queue);
      return;
    }
    queue.waiting.add(ticket);
    queue.waitingWork += seatSeconds(ticket, estimatedSeconds);
    this.#backlog.add(queue);
    this.#waiting++;
    this.#waitingSeats += ticket.width;
    flow.tally.waiting++;
    flow.tally.waitingSeats += ticket.width;
    flow.tally.queueLength.observe(queue.waiting.size);
    this.#demanded(now);
    this.#dispatch(now);
  }

  /** The queue of the hand with the least work waiting. */
  #choose(hand: readonly number[]): Queue {
    let best: Queue | undefined;
    for (const index of hand) {
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
    if (width > this.#limit) return this.#limit > 0 && this.#seats === 0;
    return this.#seats + width <= this.#limit;
  }

  #begin(ticket: Ticket, now: number): void {
    const { width, queue } = ticket;
    const { tally } = ticket.flow;
    ticket.state = "executing";
    ticket.startedMs = now;
    ticket.seat = this.#executing.join(ticket);
    this.#seats += width;
    this.dispatched++;
    tally.executing++;
    tally.executingSeats += width;
    tally.dispatched.add();
    tally.waited.observe((now - ticket.arrivedMs) / 1000);
    if (queue !== undefined) {
      queue.executing++;
      queue.seatsInUse += width;
      queue.nextAt = Math.max(queue.nextAt, ticket.arrivedAt) + seatSeconds(ticket, estimatedSeconds);
    }
    this.#demanded(now);
  }

  #leave(ticket: Ticket, now: number): void {
    const { width, queue, seat } = ticket;
    const { tally } = ticket.flow;
    if (queue !== undefined) this.#advance(now);
    this.#executing.leave(seat!);
    this.#seats -= width;
    tally.executing--;
    tally.executingSeats -= width;
    if (queue !== undefined) {
      queue.executing--;
      queue.seatsInUse -= width;
      this.#settle(queue);
    }
    this.#demanded(now);
    this.#dispatch(now);
  }

  /** Lets in as many of those that wait as there is room for. */
  #dispatch(now: number): void {
    while (this.#waiting > 0 && this.#seats < this.#limit) {
      const queue = this.#next();
      const ticket: Ticket = queue.waiting.values().next().value!; // the backlog has queues with somebody in them
      if (!this.#fits(ticket.width)) {
        ticket.flow.tally.noRoom.add();
        return;
      }
      this.#takeOut(ticket);
      // Ties go to the queue that has waited longest.
      if (this.#backlog.delete(queue)) this.#backlog.add(queue);
      this.#begin(ticket, now);
      ticket.decided?.();
    }
  }

  /** The queue whose first request would be done first. */
  #next(): Queue {
    let best: Queue | undefined;
    let soonest = Number.POSITIVE_INFINITY;
    for (const queue of this.#backlog) {
      const first: Ticket = queue.waiting.values().next().value!; // as above
      const done = Math.max(queue.nextAt, first.arrivedAt) + seatSeconds(first, estimatedSeconds);
      if (best === undefined || done < soonest) {
        best = queue;
        soonest = done;
      }
    }
    return best!; // asked only when somebody waits
  }

  #takeOut(ticket: Ticket): void {
    const queue = ticket.queue!; // who waits does so in a queue
    queue.waiting.delete(ticket);
    queue.waitingWork = queue.waiting.size === 0 ? 0 : queue.waitingWork - seatSeconds(ticket, estimatedSeconds);
    if (queue.waiting.size === 0) this.#backlog.delete(queue);
    this.#waiting--;
    this.#waitingSeats -= ticket.width;
    ticket.flow.tally.waiting--;
    ticket.flow.tally.waitingSeats -= ticket.width;
  }

  #refuse(ticket: Ticket, why: Refusal): void {
    ticket.state = "refused";
    ticket.refusal = why;
    this.rejected++;
    if (why === "time-out") this.timedOut++;
    if (why === "cancelled") this.cancelled++;
    ticket.flow.tally.refused(why);
    this.retryAfter.refused(Math.floor(this.#clock.now() / 1000));
  }

  /** A queue nobody uses any more no longer shares in the service. */
  #settle(queue: Queue): void {
    if (queue.executing > 0 || queue.waiting.size > 0) return;
    this.#active--;
    if (queue.index >= this.config.queues) this.#queues.delete(queue.index);
  }

  /** Lets the imagined time pass: fast when few queues share what there is. */
  #advance(now: number): void {
    if (this.#active > 0) {
      const used = Math.min(this.#seats + this.#waitingSeats, this.#limit);
      this.#at += ((now - this.#atMs) / 1000) * (used / this.#active);
    }
    this.#atMs = now;
  }

  #demanded(now: number): void {
    this.demand.set(this.#seats + this.#waitingSeats, now);
  }
}
