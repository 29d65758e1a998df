/**
 * Asks serving processes for their metrics, for one of them that shows those of all. What has been shown once does not
 * get less: the last page of a process stands in for a late one, and what processes had counted at their last page is
 * kept after their end.
 */
import type { ChildProcess } from "node:child_process";
import { countedMetrics } from "#server/merge-metrics.ts";
import type { Clock } from "#std/clock.ts";
import type { FromProcess, ToProcess } from "./messages.ts";

/** The time after which a process that has not answered is not waited for. */
const patienceMs = 1000;

/** The part of a process that is used. */
type Asked = Pick<ChildProcess, "connected"> & {
  send(message: ToProcess, handle: undefined, options: undefined, done: () => void): unknown;
};

interface Gathering {
  readonly waitsFor: Set<Asked>;
  /** The number of processes that have answered. */
  answered: number;
  end(): void;
}

/** The pages of other processes, and of those that have ended. */
interface Gathered {
  readonly pages: readonly string[];
  /** The number of processes that have answered. */
  readonly answered: number;
}

export class MetricsGathering {
  readonly #clock: Clock;
  readonly #running = new Map<number, Gathering>();
  /** The last page of each process that runs; empty for one that was not asked yet. */
  readonly #last = new Map<Asked, string>();
  /** The page of the processes that have ended. */
  #ended: Promise<string> = Promise.resolve("");
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes that a process can be asked. */
  joined(process: Asked): void {
    this.#last.set(process, "");
  }

  /** Calls `done` for a process, whose own page is given, when all others have answered, or after a second. */
  ask(asker: Asked, own: string, done: (gathered: Gathered) => void): void {
    this.#keep(asker, own);
    const id = this.#count++;
    const asked = [...this.#last.keys()].filter((one) => one !== asker && one.connected);
    const end = (): void => {
      cancel();
      if (!this.#running.delete(id)) return;
      const pages = [...this.#last].flatMap(([one, page]) => (one === asker || page === "" ? [] : [page]));
      const { answered } = gathering;
      // Both are as they are now: a process that ends later is among the pages, and only there.
      void this.#ended.then((ended) => done({ pages: [...pages, ended], answered }));
    };
    const cancel = this.#clock.after(patienceMs, end);
    const gathering: Gathering = { waitsFor: new Set(asked), answered: 0, end };
    this.#running.set(id, gathering);
    for (const one of asked) one.send({ type: "metrics", id }, undefined, undefined, () => undefined);
    if (asked.length === 0) end();
  }

  answered(from: Asked, { id, page }: Extract<FromProcess, { type: "metrics" }>): void {
    this.#keep(from, page);
    const gathering = this.#running.get(id);
    if (gathering?.waitsFor.delete(from) !== true) return;
    gathering.answered++;
    if (gathering.waitsFor.size === 0) gathering.end();
  }

  /** Keeps the page of a process that has not ended. */
  #keep(process: Asked, page: string): void {
    if (this.#last.has(process)) this.#last.set(process, page);
  }

  /** Notes that a process has ended. */
  lost(gone: Asked): void {
    const page = this.#last.get(gone) ?? "";
    this.#last.delete(gone);
    if (page !== "") this.#ended = this.#ended.then((ended) => countedMetrics([ended, page], this.#clock));
    for (const { waitsFor, end } of this.#running.values()) if (waitsFor.delete(gone) && waitsFor.size === 0) end();
  }
}
