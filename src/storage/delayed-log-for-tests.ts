/**
 * A log that simulates a remote one, for tests. Every operation takes up to 5 ms. Answers to commits overtake each other and the
 * changes they belong to; changes come in order.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "#std/random.ts";
import { ForwardingLog } from "./forwarding-log.ts";
import type {
  CommitResult,
  Compacted,
  LogVersions,
  LogEntry,
  LogEvent,
  LogFollower,
  LogRange,
  LogRangeOptions,
  LogStore,
  LogWrite,
  HistoryPage,
  Revision,
} from "./log-store.ts";

export class DelayedLog extends ForwardingLog {
  readonly #random: Random;
  readonly #latencyMsMax: number;
  /** Resolves when earlier changes have reached the follower. */
  #told: Promise<void> = Promise.resolve();

  constructor(log: LogStore, random: Random, latencyMsMax = 5) {
    super(log);
    this.#random = random;
    this.#latencyMsMax = latencyMsMax;
  }

  override async follow(follower: LogFollower): Promise<void> {
    const tell = (step: () => void): void => {
      this.#told = this.#told.then(() => this.#later()).then(step);
    };
    await this.#later();
    await this.log.follow({
      load: (entry: LogEntry) => follower.load(entry),
      changed: (events: readonly LogEvent[]) => tell(() => follower.changed(events)),
      progressed: (revision) => tell(() => follower.progressed(revision)),
      reloaded: (entries, revision) => tell(() => follower.reloaded(entries, revision)),
      compacted: (revision: Revision) => follower.compacted(revision),
      recovered: (entries) => follower.recovered(entries),
    });
  }

  override async latest(): Promise<Revision> {
    await this.#later();
    return this.log.latest();
  }

  override async commit(write: LogWrite): Promise<CommitResult> {
    const result = this.log.commit(write);
    // The caller gets a refusal after its delay.
    result.catch(() => undefined);
    await this.#later();
    return result;
  }

  override async range(prefix: string, options: LogRangeOptions): Promise<LogRange | Compacted> {
    await this.#later();
    return this.log.range(prefix, options);
  }

  override async history(
    prefix: string,
    exact: boolean,
    after: Revision,
    upTo: Revision,
  ): Promise<HistoryPage | undefined> {
    await this.#later();
    return this.log.history(prefix, exact, after, upTo);
  }

  override async versions(key: string, before: Revision, limit: number): Promise<LogVersions> {
    await this.#later();
    return this.log.versions(key, before, limit);
  }

  override async compact(revision: Revision): Promise<void> {
    await this.log.compact(revision);
    await this.#later();
  }

  override async close(): Promise<void> {
    await this.log.close();
    await this.#told;
  }

  async #later(): Promise<void> {
    await sleep(this.#random.next() * this.#latencyMsMax);
  }
}
