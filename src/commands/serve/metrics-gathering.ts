/** Asks serving processes for their metrics, for one of them that shows those of all. */
import type { ChildProcess } from "node:child_process";
import type { Clock } from "#std/clock.ts";
import type { FromProcess, ToProcess } from "./messages.ts";

/** The time after which a process that has not answered is left out. */
const patienceMs = 1000;

/** The part of a process that is used. */
type Asked = Pick<ChildProcess, "connected"> & {
  send(message: ToProcess, handle: undefined, options: undefined, done: () => void): unknown;
};

interface Gathering {
  readonly waitsFor: Set<Asked>;
  readonly pages: string[];
  end(): void;
}

export class MetricsGathering {
  readonly #clock: Clock;
  readonly #running = new Map<number, Gathering>();
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `done` with the pages of those that answer within a second. */
  ask(processes: readonly Asked[], done: (pages: readonly string[]) => void): void {
    const id = this.#count++;
    const asked = processes.filter((one) => one.connected);
    const pages: string[] = [];
    const end = (): void => {
      cancel();
      if (this.#running.delete(id)) done(pages);
    };
    const cancel = this.#clock.after(patienceMs, end);
    this.#running.set(id, { waitsFor: new Set(asked), pages, end });
    for (const one of asked) one.send({ type: "metrics", id }, undefined, undefined, () => undefined);
    if (asked.length === 0) end();
  }

  answered(from: Asked, { id, page }: Extract<FromProcess, { type: "metrics" }>): void {
    const gathering = this.#running.get(id);
    if (gathering?.waitsFor.delete(from) !== true) return;
    gathering.pages.push(page);
    if (gathering.waitsFor.size === 0) gathering.end();
  }

  /** Notes that a process has ended. */
  lost(gone: Asked): void {
    for (const { waitsFor, end } of this.#running.values()) if (waitsFor.delete(gone) && waitsFor.size === 0) end();
  }
}
