/** Closed loops: each connection, or stream of one, sends its next request after the last answer has arrived. */
import { type ClientHttp2Session, connect, constants } from "node:http2";
import { Connection, requestBytes, textOf } from "./connection.ts";
import { type Usage, usageOf } from "./process-usage.ts";
import type { Measurement } from "./suite.ts";
import { Client, type Target } from "./target.ts";

interface LoopBounds {
  readonly name: string;
  readonly seconds: number;
  /** The number of operations after which the loop ends earlier. */
  readonly operationsMax?: number;
}

interface ClosedLoop extends LoopBounds {
  readonly connections: number;
  /** Returns the bytes of the next request. `count` starts again at 0 after the warm-up. */
  next(worker: number, count: number): Buffer;
}

/** Runs the loop over HTTP/1.1. An answer that is not a success ends it with an error. */
export async function closedLoop(target: Target, { connections, next, ...bounds }: ClosedLoop): Promise<Measurement> {
  const open = await Promise.all(Array.from({ length: connections }, () => Connection.open(target)));
  try {
    return await measureLoop(target, bounds, connections, async (worker, count) => {
      const answer = await open[worker]!.request(next(worker, count));
      return { code: answer.code, text: () => textOf(answer) };
    });
  } finally {
    for (const connection of open) connection.close();
  }
}

interface SharedLoop extends LoopBounds {
  readonly streams: number;
  /** Returns the next body to POST. */
  body(): string;
}

/** Runs a loop of POSTs over streams of one HTTP/2 connection. An answer that is not a success ends it with an error. */
export async function postLoop(
  target: Target,
  path: string,
  { streams, body, ...bounds }: SharedLoop,
): Promise<Measurement> {
  const session = connect(`https://${target.host}:${target.port}`, { rejectUnauthorized: false });
  try {
    return await measureLoop(target, bounds, streams, () => post(session, path, target.token, body()));
  } finally {
    session.destroy();
  }
}

function post(session: ClientHttp2Session, path: string, token: string, body: string): Promise<LoopAnswer> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      [constants.HTTP2_HEADER_METHOD]: "POST",
      [constants.HTTP2_HEADER_PATH]: path,
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body), // as Go's clients do
    });
    const chunks: Buffer[] = [];
    let code = 0;
    stream.on("response", (headers) => (code = Number(headers[constants.HTTP2_HEADER_STATUS])));
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", reject);
    stream.on("end", () => resolve({ code, text: () => Buffer.concat(chunks).toString() }));
    stream.end(body);
  });
}

interface LoopAnswer {
  readonly code: number;
  text(): string;
}

/** The number of first operations that do not count. */
const warmupOperations = 200;

async function measureLoop(
  target: Target,
  { name, seconds, operationsMax = Number.POSITIVE_INFINITY }: LoopBounds,
  workers: number,
  send: (worker: number, count: number) => Promise<LoopAnswer>,
): Promise<Measurement> {
  const warmup = Math.min(warmupOperations, operationsMax / 10);
  let count = 0;
  let deadline = Number.POSITIVE_INFINITY;
  let started = 0;
  let before: Usage = usageOf(target.pid);
  let ownBefore = process.cpuUsage();
  const work = async (worker: number): Promise<void> => {
    while (performance.now() < deadline && count < operationsMax + warmup) {
      const answer = await send(worker, count++);
      if (answer.code >= 300) throw new Error(`${target.name}: ${name}: ${answer.code} ${answer.text().slice(0, 300)}`);
      if (started === 0 && count >= warmup) {
        before = usageOf(target.pid);
        ownBefore = process.cpuUsage();
        started = performance.now();
        count = 0;
        deadline = started + seconds * 1000;
      }
    }
  };
  await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
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
