/** A thread that writes to etcd without pause, for the row of events of `etcd.bench.ts`. */
import { workerData } from "node:worker_threads";
import { systemClock } from "#std/clock.ts";
import { systemRandom } from "#std/random.ts";
import { openEtcd } from "#storage/etcd/members.ts";

const { endpoint } = workerData as { readonly endpoint: string }; // what the bench gives
const client = openEtcd({ endpoints: [endpoint], tls: {}, server: "writer", clock: systemClock, random: systemRandom });
const value = Buffer.alloc(1024, "x");

async function write(worker: number): Promise<never> {
  for (;;) {
    const then = [{ kind: "put" as const, key: `/live/${worker}`, value }];
    await client.transact({ compare: [], then, otherwise: [] }, { timeoutMs: 10_000 });
  }
}

await Promise.all(Array.from({ length: 16 }, (_, worker) => write(worker)));
