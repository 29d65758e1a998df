/** Clients of programs that check several servers: writes in a steady stream, and the times at which they succeeded. */
import { setTimeout as sleep } from "node:timers/promises";
import { Http2Client } from "../http2-client.ts";
import type { ServerProcess } from "../server-processes.ts";

export const configMaps = "/api/v1/namespaces/default/configmaps";

interface Written {
  /** The time of the answer in milliseconds. */
  readonly at: number;
  readonly tookMs: number;
}

/** Writes one object again and again through one server. */
export class SteadyWriter {
  readonly written: Written[] = [];
  failures = 0;
  readonly #client: Http2Client;
  readonly #name: string;
  readonly #pauseMs: number;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(server: ServerProcess, name: string, pauseMs: number) {
    this.#client = new Http2Client(server);
    this.#name = name;
    this.#pauseMs = pauseMs;
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    for (let at = 0; !this.#stop.signal.aborted; at++) {
      const begin = performance.now();
      const status = await apply(this.#client, this.#name, String(at));
      if (status === 200 || status === 201)
        this.written.push({ at: performance.now(), tookMs: performance.now() - begin });
      else this.failures++;
      await sleep(status === 0 ? Math.max(20, this.#pauseMs) : this.#pauseMs);
    }
  }

  /** Returns the longest time between two successful writes, in milliseconds, from a time on. */
  longestGapMs(fromMs: number, toMs: number): number {
    const times = this.written.map(({ at }) => at).filter((at) => at > fromMs && at < toMs);
    const all = [fromMs, ...times, toMs];
    return Math.max(...all.slice(1).map((at, index) => at - all[index]!));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#client.close();
  }
}

/** Applies a config map. Returns the status; 0 without an answer. */
async function apply(client: Http2Client, name: string, value: string): Promise<number> {
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { value } };
  const type = "application/apply-patch+yaml";
  const call = { method: "PATCH", type, body };
  return client.call(`${configMaps}/${name}?fieldManager=check&force=true`, call).then(
    ({ status }) => status,
    () => 0,
  );
}

/** Returns the sum of the samples of a metric whose name and labels begin so. */
export function sumOf(metrics: string, start: string): number {
  const lines = metrics.split("\n").filter((line) => line.startsWith(start));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}

/** Waits until a server is ready. Returns the time in milliseconds that it took. */
export async function readyMs(server: ServerProcess): Promise<number> {
  const begin = performance.now();
  const client = new Http2Client(server);
  for (;;) {
    const status = await client.call("/readyz", { timeoutMs: 1000 }).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status === 200) break;
    await sleep(20);
  }
  client.close();
  return performance.now() - begin;
}
