/**
 * The health of the connection to etcd: a read of the present each second, and the writes of clients. Reads may pass
 * while writes hang, so both count.
 */
import type { Clock } from "#std/clock.ts";

import { type EtcdClient, EtcdError, type MemberStatus } from "./client.ts";

const everyMs = 1000;
/** The time for which failing writes must go on to count as a failure, and after which one that failed is forgotten. */
const writesMs = 5000;

interface HealthOptions {
  readonly client: EtcdClient;
  readonly clock: Clock;
  /** The longest time, in milliseconds, that an answer may take. */
  readonly timeoutMs: number;
  /** Is told of each answer. */
  answered(status: MemberStatus): void;
}

export class EtcdHealth {
  readonly #options: HealthOptions;
  #cancel: (() => void) | undefined;
  #isStopped = false;
  /** The time at which the question that is not answered yet was asked. */
  #askedMs: number | undefined;
  #problem: string | undefined;
  /** The times of the first and of the last failed write since the last one with an answer. */
  #failing: { readonly sinceMs: number; readonly lastMs: number } | undefined;

  constructor(options: HealthOptions) {
    this.#options = options;
  }

  start(): void {
    const { clock } = this.#options;
    this.#askedMs = clock.monotonic();
    const answered = (problem: string | undefined): void => {
      this.#problem = problem;
      this.#askedMs = undefined;
      if (!this.#isStopped) this.#cancel = clock.after(everyMs, () => this.start());
    };
    this.#ask().then(
      () => answered(undefined),
      (error: unknown) => answered(error instanceof EtcdError ? error.message : String(error)),
    );
  }

  /** Asks for the present, which needs the majority, and for the state of the member. */
  async #ask(): Promise<void> {
    const { answered, client, timeoutMs } = this.#options;
    await client.range({ key: "\0", countOnly: true }, { timeoutMs });
    answered(await client.status({ timeoutMs }));
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  /** Notes a write that had an answer, or had none. */
  wroteAt(isAnswered: boolean): void {
    const now = this.#options.clock.monotonic();
    this.#failing = isAnswered ? undefined : { sinceMs: this.#failing?.sinceMs ?? now, lastMs: now };
  }

  /** Returns the reason why etcd is not healthy, if an answer or writes take longer than `timeoutMs`. */
  problem(timeoutMs: number): string | undefined {
    const now = this.#options.clock.monotonic();
    if (this.#problem !== undefined) return this.#problem;
    if (this.#askedMs !== undefined && now - this.#askedMs > timeoutMs) return "etcd does not answer";
    const failing = this.#failing;
    const goesOn =
      failing !== undefined && now - failing.lastMs < writesMs && failing.lastMs - failing.sinceMs > writesMs;
    return goesOn ? "etcd takes no writes" : undefined;
  }
}
