/** One request in a priority level, from the moment it comes until its seats are free again. */
import type { Node } from "#std/linked-list.ts";
import type { KindTimes, Tally } from "./flow-metrics.ts";
import type { FlowRequest, Work } from "./flow-request.ts";
import type { Queue } from "./level-queue.ts";
import type { PriorityLevel } from "./priority-level.ts";

/** Whose request it is: a schema, and what tells its flows apart. */
export interface FlowIdentity {
  readonly schema: string;
  readonly distinguisher: string;
  readonly hand: readonly number[];
  readonly tally: Tally;
}

export type Refusal = "queue-full" | "concurrency-limit" | "time-out" | "cancelled";

/** What a request is thought to take before it has run. */
export const estimatedSeconds = 0.003;

/** One request and its seats. */
export class Ticket {
  readonly level: PriorityLevel;
  readonly flow: FlowIdentity;
  readonly request: FlowRequest;
  readonly isRead: boolean;
  readonly kind: KindTimes;
  /** Narrower than estimated when its level has lent its seats. */
  work: Work;
  readonly arrivedMs: number;
  startedMs = 0;
  state: "waiting" | "executing" | "refused" | "ended" = "waiting";
  refusal: Refusal | undefined;
  queue: Queue | undefined;
  /** The imagined time at which it came to its queue. */
  arrivedAt = 0;
  seat: Node<Ticket> | undefined;
  decided: (() => void) | undefined;
  /** It takes longer than most; counted with the wide ones of its flow. */
  isSlow = false;

  constructor(
    level: PriorityLevel,
    flow: FlowIdentity,
    request: FlowRequest,
    isRead: boolean,
    kind: KindTimes,
    work: Work,
    arrivedMs: number,
  ) {
    this.level = level;
    this.flow = flow;
    this.request = request;
    this.isRead = isRead;
    this.kind = kind;
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

  /** It turned out to take longer than most. */
  slow(): void {
    this.level.slow(this);
  }

  /** No longer waits. */
  giveUp(why: Refusal): void {
    this.level.giveUp(this, why);
  }
}

/** How long a seat would be busy with a request that runs for `seconds`. */
export const seatSeconds = (work: Work, seconds: number): number =>
  work.initialSeats * seconds + (work.finalSeats * work.lingerMs) / 1000;

/** The same work on no more seats than there are. */
export function narrowed(work: Work, seatsMax: number): Work {
  const { finalSeats, lingerMs } = work;
  if (finalSeats <= seatsMax) return work;
  return { ...work, finalSeats: seatsMax, lingerMs: (lingerMs * finalSeats) / seatsMax };
}
