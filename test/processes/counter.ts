/**
 * One number in a config map that clients of all processes read and raise, over and over, on connections of their own. It
 * never goes back for anybody: a read that began after another answer ended shows at least as much as that.
 */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Api } from "../harness.ts";
import type { ServedProcesses } from "./served-processes.ts";

/** The time after which a client that has no answer connects anew: its process may stand still. */
const answerMs = 10_000;
const pauseMs = 20;

export class Counter {
  readonly #served: ServedProcesses;
  readonly #path: string;
  #isOver = false;
  /** The largest number that an answer has shown or acknowledged. */
  #floor = 0;
  /** The number of raises that were acknowledged, and of those whose outcome nobody knows. */
  #acknowledged = 0;
  #unknown = 0;
  #work: readonly Promise<void>[] = [];

  private constructor(served: ServedProcesses, path: string) {
    this.#served = served;
    this.#path = path;
  }

  /** Makes the number, and starts clients of both sorts. */
  static async start(served: ServedProcesses, clients: number): Promise<Counter> {
    const api = served.connect();
    const { configMaps } = await api.createNamespace();
    (await api.post(configMaps, { metadata: { name: "counter" }, data: { value: "0" } })).expect(201);
    const counter = new Counter(served, `${configMaps}/counter`);
    counter.#work = Array.from({ length: clients }, (_, at) => counter.#runClient(at % 2 === 0));
    return counter;
  }

  get acknowledged(): number {
    return this.#acknowledged;
  }

  /** Ends the clients, and checks that no raise was lost or done twice. */
  async finish(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#work);
    const { value } = (await this.#read(this.#served.connect()))!;
    assert.ok(value >= this.#acknowledged, `${value} of ${this.#acknowledged} raises are there`);
    assert.ok(value <= this.#acknowledged + this.#unknown, `${value} is more than ${this.#acknowledged} raises`);
  }

  async #runClient(raises: boolean): Promise<void> {
    let api = this.#served.connect();
    while (!this.#isOver) {
      try {
        await inTime(raises ? this.#raise(api) : this.#read(api));
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        await api.server.close();
        api = this.#served.connect();
        await sleep(pauseMs);
      }
    }
  }

  async #read(api: Api): Promise<{ readonly value: number; readonly version: string } | undefined> {
    const floor = this.#floor;
    const answer = await api.get(this.#path);
    if (answer.status !== 200) {
      await sleep(pauseMs);
      return undefined;
    }
    const value = Number(answer.string("data.value"));
    assert.ok(value >= floor, `${value} was read after ${floor} had been seen`);
    this.#floor = Math.max(this.#floor, value);
    return { value, version: answer.string("metadata.resourceVersion") };
  }

  async #raise(api: Api): Promise<void> {
    const read = await this.#read(api);
    if (read === undefined) return;
    const data = { value: String(read.value + 1) };
    this.#unknown++;
    const answer = await api.put(this.#path, { metadata: { name: "counter", resourceVersion: read.version }, data });
    if (answer.status === 504) return;
    this.#unknown--;
    if (answer.status === 200) {
      this.#acknowledged++;
      this.#floor = Math.max(this.#floor, read.value + 1);
    } else assert.ok([409, 503].includes(answer.status), answer.title);
  }
}

async function inTime(work: Promise<unknown>): Promise<void> {
  const giveUp = new AbortController();
  const late = sleep(answerMs, undefined, giveUp).then(() => {
    throw new Error("no answer came in time");
  });
  try {
    await Promise.race([work, late]);
  } finally {
    giveUp.abort();
    // Both may still fail, and nobody waits for them.
    work.catch(() => undefined);
    late.catch(() => undefined);
  }
}
