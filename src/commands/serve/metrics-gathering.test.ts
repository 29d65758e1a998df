/** Metrics of several processes, of which some are late or have ended. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { mergeMetrics } from "#server/merge-metrics.ts";
import { type Clock, systemClock } from "#std/clock.ts";
import type { ToProcess } from "./messages.ts";
import { MetricsGathering } from "./metrics-gathering.ts";

/** A process that has counted some requests. */
class Process {
  readonly connected = true;
  readonly questions: number[] = [];
  requests = 0;

  send(message: ToProcess): void {
    assert.equal(message.type, "metrics");
    this.questions.push(message.id);
  }

  get page(): string {
    return `# HELP requests_total Requests.\n# TYPE requests_total counter\nrequests_total ${this.requests}\n# HELP depth Depth.\n# TYPE depth gauge\ndepth 1\n`;
  }
}

/** Some processes, the first of which asks for the metrics of all. */
class Processes {
  readonly asker = new Process();
  readonly #all: MetricsGathering;
  #isLate: () => void = () => undefined;

  constructor(others: readonly Process[]) {
    const clock: Clock = {
      ...systemClock,
      after: (_ms, callback) => {
        this.#isLate = callback;
        return () => undefined;
      },
    };
    this.#all = new MetricsGathering(clock);
    for (const one of [this.asker, ...others]) this.#all.joined(one);
  }

  /** Resolves with what is shown of the counter and of the gauge, and how many others have answered. */
  ask(): Promise<readonly [requests: number, depth: number, answered: number]> {
    return new Promise((resolve) => {
      const own = this.asker.page;
      this.#all.ask(this.asker, own, ({ pages, answered }) => {
        void mergeMetrics([own, ...pages], 0, systemClock).then((page) => {
          const valueOf = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(page)?.[1]);
          resolve([valueOf("requests_total"), valueOf("depth"), answered]);
        });
      });
    });
  }

  answer(process: Process): void {
    for (const id of process.questions.splice(0))
      this.#all.answered(process, { type: "metrics", id, page: process.page });
  }

  late(): void {
    this.#isLate();
  }

  join(process: Process): void {
    this.#all.joined(process);
  }

  lose(process: Process): void {
    this.#all.lost(process);
  }
}

test("counters of late and ended processes stay on the page, and gauges of ended ones do not", async () => {
  const [a, b] = [new Process(), new Process()];
  const processes = new Processes([a, b]);
  processes.asker.requests = 1;
  a.requests = 10;
  b.requests = 100;
  const first = processes.ask();
  processes.answer(a);
  processes.answer(b);
  assert.deepEqual(await first, [111, 3, 2]);
  a.requests = 20;
  const second = processes.ask();
  processes.answer(a);
  processes.late();
  assert.deepEqual(await second, [121, 3, 1]);
  // An answer that comes too late is shown by the next page.
  b.requests = 200;
  processes.answer(b);
  processes.lose(b);
  const third = processes.ask();
  processes.answer(a);
  assert.deepEqual(await third, [221, 2, 1]);
  const next = new Process();
  processes.join(next);
  next.requests = 1000;
  processes.lose(a);
  const fourth = processes.ask();
  processes.answer(next);
  assert.deepEqual(await fourth, [1221, 2, 1]);
});

test("a process that ends after its answer is counted once", async () => {
  const [a, b] = [new Process(), new Process()];
  const processes = new Processes([a, b]);
  a.requests = 10;
  b.requests = 100;
  const page = processes.ask();
  processes.answer(a);
  processes.lose(a);
  // Its last message may come after its end.
  processes.answer(a);
  processes.answer(b);
  assert.deepEqual(await page, [110, 2, 2]);
});

test("a process that asked and ended is counted by the others", async () => {
  const a = new Process();
  const processes = new Processes([a]);
  processes.asker.requests = 1;
  a.requests = 10;
  const first = processes.ask();
  processes.answer(a);
  assert.deepEqual(await first, [11, 2, 1]);
  processes.lose(processes.asker);
  processes.asker.requests = 0;
  processes.join(processes.asker);
  const second = processes.ask();
  processes.answer(a);
  assert.deepEqual(await second, [11, 2, 1]);
});
