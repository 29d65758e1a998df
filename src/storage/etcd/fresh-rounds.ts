/**
 * Reads of the last revision of the cluster that share their rounds: all callers that wait when a round begins get its
 * answer, and one round runs at a time. So a thousand reads of the present at once cost the cluster a few requests. A
 * read changes nothing, so one without an answer is repeated at the next member for as long as the round has time.
 */
import { type Clock, pause } from "#std/clock.ts";
import type { EtcdClient } from "./client.ts";
import { isPassing } from "./errors.ts";

interface RoundOptions {
  /** The time of all tries of a round, in milliseconds. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Ends the tries. */
  readonly signal: AbortSignal;
  /** Resolves when this server has heard everything up to a revision. */
  reached(revision: number): Promise<void>;
}

/** A key that nobody has: only the header of the answer matters. */
const noKey = "\0";
/** The time of one try, and the pause after it. A member that twice does not answer in time is left for the next one. */
const tryMs = 1000;
const pauseMs = 50;

export class FreshRounds {
  readonly #client: EtcdClient;
  readonly #options: RoundOptions;
  #running: Promise<number> | undefined;
  #next: Promise<number> | undefined;

  constructor(client: EtcdClient, options: RoundOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** Resolves with a revision that the cluster had after the call, when this server has heard everything up to it. */
  latest(): Promise<number> {
    if (this.#running === undefined) return this.#begin();
    // The round at work may have been answered before this call.
    this.#next ??= this.#running.then(
      () => this.#begin(),
      () => this.#begin(),
    );
    return this.#next;
  }

  #begin(): Promise<number> {
    this.#next = undefined;
    const round = this.#present()
      .then(async (revision) => {
        await this.#options.reached(revision);
        return revision;
      })
      .finally(() => {
        if (this.#running === round) this.#running = undefined;
      });
    this.#running = round;
    return round;
  }

  async #present(): Promise<number> {
    const { clock, signal, timeoutMs } = this.#options;
    const endMs = clock.monotonic() + timeoutMs;
    for (;;) {
      const leftMs = Math.max(1, endMs - clock.monotonic());
      try {
        const answer = await this.#client.range(
          { key: noKey, countOnly: true },
          { timeoutMs: Math.min(tryMs, leftMs) },
        );
        return answer.header.revision;
      } catch (error) {
        if (!isPassing(error) || signal.aborted || clock.monotonic() + pauseMs >= endMs) throw error;
        await pause(clock, pauseMs, signal);
      }
    }
  }
}
