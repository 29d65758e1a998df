/**
 * Watches of one process that fill its memory: each has a selector of its own with thousands of values, which is kept as long
 * as the watch. They end with their process, so the next one in its place has room again.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Http2Client } from "../scale-out/http2-client.ts";
import type { ServedProcesses } from "./served-processes.ts";

const connections = 8;
const valuesPerWatch = 1200;

export class ManyWatches {
  readonly #clients: Http2Client[] = [];
  #values = 0;
  #isOver = false;

  /** Connects to one of the processes. */
  static async connect(served: ServedProcesses, index: number): Promise<ManyWatches> {
    const watches = new ManyWatches();
    const target = { url: served.url, ca: readFileSync(join(served.dataDir, "pki/ca.crt"), "utf8") };
    while (watches.#clients.length < connections) {
      const client = new Http2Client(target);
      if ((await served.processThatAnswers((path) => client.call(path))) === index) watches.#clients.push(client);
      else client.close();
    }
    return watches;
  }

  /** Opens watches until the connections break. */
  async open(): Promise<void> {
    while (!this.#isOver) {
      for (const client of this.#clients) this.#openOne(client);
      await sleep(20);
    }
    for (const client of this.#clients) client.close();
  }

  #openOne(client: Http2Client): void {
    const values = Array.from({ length: valuesPerWatch }, () => `v${(this.#values++).toString(36)}`);
    const selector = encodeURIComponent(`a in (${values.join()})`);
    const end = (): void => {
      this.#isOver = true;
    };
    try {
      client.open(`/api/v1/configmaps?watch=true&labelSelector=${selector}`).on("error", end).on("close", end).resume();
    } catch {
      end();
    }
  }
}
