/**
 * Requests in a priority level, from their arrival until their seats are free again, and the queues in which they wait.
 */
import type { Node } from "#std/linked-list.ts";
import type { KindTimes, Counters } from "./flow-metrics.ts";
import type { FlowRequest, WorkEstimate } from "./flow-request.ts";
import type { LevelConfig } from "./level-config.ts";
import type { RetryAfter } from "./retry-after.ts";

/** The flow of a request: its schema and flow distinguisher. */
export interface FlowIdentity {
  readonly schema: string;
  readonly distinguisher: string;
  readonly hand: readonly number[];
  readonly tally: Counters;
}

export type Refusal = "queue-full" | "concurrency-limit" | "time-out" | "cancelled";

/** The estimated duration in seconds of a request that has not run yet. */
export const estimatedSeconds = 0.003;

/** The level of a request, as far as the code of a request needs it. */
interface RequestLevel {
  readonly config: LevelConfig;
  readonly retryAfter: RetryAfter;
  /** The current number of seats of the level. */
  readonly limit: number;
  /** The number of running requests. */
  readonly executing: number;
  readonly isIdle: boolean;
  end(request: QueuedRequest): void;
  slow(request: QueuedRequest): void;
  giveUp(request: QueuedRequest, why: Refusal): void;
}

/** One request and its seats. */
export class QueuedRequest {
  readonly level: RequestLevel;
  readonly flow: FlowIdentity;
  readonly request: FlowRequest;
  readonly isRead: boolean;
  readonly kind: KindTimes;
  /** The work of the request; it has fewer seats than estimated when the level has lent its seats. */
  work: WorkEstimate;
  readonly arrivedMs: number;
  startedMs = 0;
  state: "waiting" | "executing" | "refused" | "ended" = "waiting";
  refusal: Refusal | undefined;
  queue: Queue | undefined;
  /** The virtual time of the arrival in the queue. */
  arrivedAt = 0;
  seat: Node<QueuedRequest> | undefined;
  decided: (() => void) | undefined;
  /** Whether the request takes longer than most; then it counts like the wide requests of its flow. */
  isSlow = false;

  constructor(of: Pick<QueuedRequest, "level" | "flow" | "request" | "isRead" | "kind" | "work" | "arrivedMs">) {
    this.level = of.level;
    this.flow = of.flow;
    this.request = of.request;
    this.isRead = of.isRead;
    this.kind = of.kind;
    this.work = of.work;
    this.arrivedMs = of.arrivedMs;
  }

  get width(): number {
    const { initialSeats, finalSeats } = this.work;
    return initialSeats > finalSeats ? initialSeats : finalSeats;
  }

  /** Returns the seats: at once, or after the work that the request caused. */
  end(): void {
    this.level.end(this);
  }

  /** Records that the request takes longer than most. */
  slow(): void {
    this.level.slow(this);
  }

  /** Ends the wait with a refusal. */
  giveUp(why: Refusal): void {
    this.level.giveUp(this, why);
  }
}

/** Returns the seconds for which one seat would be busy with a request that runs for `seconds`. */
export const seatSeconds = (work: WorkEstimate, seconds: number): number =>
  work.initialSeats * seconds + (work.finalSeats * work.lingerMs) / 1000;

/** Returns the same work with at most `seatsMax` seats. */
export function limitSeats(work: WorkEstimate, seatsMax: number): WorkEstimate {
  const { finalSeats, lingerMs } = work;
  if (finalSeats <= seatsMax) return work;
  return { ...work, finalSeats: seatsMax, lingerMs: (lingerMs * finalSeats) / seatsMax };
}

/** One of the queues of a priority level. All times are virtual times of its fair service. */
export class Queue {
  readonly index: number;
  readonly waiting = new Set<QueuedRequest>();
  waitingWork = 0;
  executing = 0;
  seatsInUse = 0;
  /** The virtual time at which the next request begins, but not before its arrival. */
  nextAt = 0;

  constructor(index: number) {
    this.index = index;
  }

  get first(): QueuedRequest | undefined {
    return this.waiting.values().next().value;
  }

  get isIdle(): boolean {
    return this.executing === 0 && this.waiting.size === 0;
  }

  /** The arrival as if those that run were not there yet. */
  get discountedAt(): number {
    return this.nextAt - this.seatsInUse * estimatedSeconds;
  }

  /** Drops the unused share of a queue that was empty. */
  bound(): void {
    if (this.waiting.size === 0) return;
    const { arrivedAt } = this.first!; // somebody waits
    if (this.nextAt < arrivedAt) this.nextAt = arrivedAt;
  }
}

export interface QueueDump {
  readonly index: number;
  readonly waiting: readonly QueuedRequest[];
  readonly executing: number;
  readonly seatsInUse: number;
  readonly nextAt: number;
  readonly waitingWork: number;
}
