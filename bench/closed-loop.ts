/** Closed loops: each connection sends its next request after the last answer has arrived. */
import { Connection, requestBytes, textOf } from "./connection.ts";
import { type Usage, usageOf } from "./process-usage.ts";
import type { Measurement } from "./suite.ts";
import { Client, type Target } from "./target.ts";

interface ClosedLoop {
  readonly name: string;
  readonly connections: number;
  readonly seconds: number;
  /** The number of operations after which the loop ends earlier. */
  readonly operationsMax?: number;
  /** Returns the bytes of the next request. `count` starts again at 0 after the warm-up. */
  next(worker: number, count: number): Buffer;
}

/** The number of first operations that do not count. */
const warmupOperations = 200;

/** Runs the loop. An answer that is not a success ends it with an error. */
export async function closedLoop(target: Target, loop: ClosedLoop): Promise<Measurement> {
  const { name, seconds, operationsMax = Number.POSITIVE_INFINITY } = loop;
  const open = await Promise.all(Array.from({ length: loop.connections }, () => Connection.open(target)));
  const warmup = Math.min(warmupOperations, operationsMax / 10);
  let count = 0;
  let deadline = Number.POSITIVE_INFINITY;
  let started = 0;
  let before: Usage = usageOf(target.pid);
  let ownBefore = process.cpuUsage();
  try {
    await Promise.all(
      open.map(async (connection, worker) => {
        while (performance.now() < deadline && count < operationsMax + warmup) {
          const answer = await connection.request(loop.next(worker, count++));
          if (answer.code >= 300)
            throw new Error(`${target.name}: ${name}: ${answer.code} ${textOf(answer).slice(0, 300)}`);
          if (started === 0 && count >= warmup) {
            before = usageOf(target.pid);
            ownBefore = process.cpuUsage();
            started = performance.now();
            count = 0;
            deadline = started + seconds * 1000;
          }
        }
      }),
    );
  } finally {
    for (const connection of open) connection.close();
  }
  const elapsed = (performance.now() - started) / 1000;
  const after = usageOf(target.pid);
  const own = process.cpuUsage(ownBefore);
  return {
    name,
    rate: count / elapsed,
    cpuUsPerOp: (after.cpuUs - before.cpuUs) / count,
    clientUsPerOp: (own.user + own.system) / count,
    rssMb: after.rssMb,
  };
}

interface CreateLoop extends Omit<ClosedLoop, "next"> {
  /** The path of the collection. */
  readonly path: string;
  /** Returns the body of an object with this name. */
  object(name: string): string;
}

/** Runs a loop of creates, and empties the collection after it. */
export async function createLoop(target: Target, { path, object, ...loop }: CreateLoop): Promise<Measurement> {
  let serial = 0;
  const measured = await closedLoop(target, {
    ...loop,
    next: (worker) => requestBytes("POST", path, target.token, object(`w-${worker}-${serial++}`)),
  });
  const after = await Client.open(target);
  await after.send("DELETE", path);
  after.close();
  return measured;
}
