/** One of the queues of a priority level. Times are those of its imagined service. */
import { estimatedSeconds, type Ticket } from "./ticket.ts";

export class Queue {
  readonly index: number;
  readonly waiting = new Set<Ticket>();
  waitingWork = 0;
  executing = 0;
  seatsInUse = 0;
  /** The imagined time at which its next request begins: not before that came. */
  nextAt = 0;

  constructor(index: number) {
    this.index = index;
  }

  get first(): Ticket | undefined {
    return this.waiting.values().next().value;
  }

  get isIdle(): boolean {
    return this.executing === 0 && this.waiting.size === 0;
  }

  /** As if those that run were not there yet. */
  get discountedAt(): number {
    return this.nextAt - this.seatsInUse * estimatedSeconds;
  }

  /** What it did not use of its share while nobody was there is lost. */
  bound(): void {
    if (this.waiting.size === 0) return;
    const { arrivedAt } = this.first!; // somebody waits
    if (this.nextAt < arrivedAt) this.nextAt = arrivedAt;
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
