/**
 * A client that reads one object repeatedly over HTTP/2, and records its latency and the server's memory; on request it
 * also reads on new connections, and `/livez` without credentials. It is a separate process, so that only the server
 * can delay it. It runs until its input ends, then prints the worst results of these ways.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect } from "node:http2";
import { fileURLToPath } from "node:url";
import { Connection, type Endpoint, requestBytes } from "./connection.ts";

interface Probe extends Endpoint {
  readonly token: string;
  readonly path: string;
  readonly pid: number | undefined;
  /** Whether it also reads the object and `/livez` on new connections. */
  readonly alsoNew?: boolean;
}

interface Probed {
  readonly count: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** The maximum memory of the server, and its memory at the beginning. */
  readonly peakMb: number;
  readonly beforeMb: number;
  /** The number of requests without a success. */
  readonly failed: number;
}

/** Starts to probe; `end` stops it. */
export async function startProber(probe: Probe): Promise<{ end(): Promise<Probed> }> {
  const program = fileURLToPath(import.meta.url);
  const child: ChildProcess = spawn(process.execPath, [program, JSON.stringify(probe)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  let output = "";
  const began = Promise.withResolvers<void>();
  child.stdout!.on("data", (text: Buffer) => {
    output += text.toString();
    began.resolve();
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  await Promise.race([began.promise, ended]);
  return {
    async end() {
      child.stdin!.end();
      await ended;
      return JSON.parse(output.slice(output.indexOf("{"))) as Probed; // printed by `run`
    },
  };
}

const pauseMs = 2;
/** The pause between new connections, which are more expensive for both sides. */
const newPauseMs = 20;
/** The minimum time of observation, since effects of short cases may come later. */
const leastMs = 750;

/** Resolves with the code of the answer; 0 for no answer. */
type Get = () => Promise<number>;

async function run({ host, port, ca, token, path, pid, alsoNew }: Probe): Promise<void> {
  const trust = ca === undefined ? { rejectUnauthorized: false } : { ca };
  const session = connect(`https://${host}:${port}`, { ...trust, servername: "localhost" });
  let isOver = false;
  process.stdin.on("end", () => (isOver = true)).resume();
  const getOnSession: Get = () =>
    new Promise((resolve) => {
      const stream = session.request({ ":path": path, authorization: `Bearer ${token}` });
      let code = 0;
      stream.on("response", (headers) => (code = headers[":status"] ?? 0));
      stream.on("error", () => resolve(0));
      stream.on("end", () => resolve(code)).resume();
    });
  const onNew = async (bytes: Buffer): Promise<number> => {
    try {
      const connection = await Connection.open({ host, port, ca });
      const { code } = await connection.request(bytes);
      connection.close();
      return code;
    } catch {
      return 0;
    }
  };
  for (let warm = 0; warm < 20; warm++) await getOnSession();
  const beforeMb = residentMb(pid);
  process.stdout.write("begun\n");
  let failed = 0;
  let peakMb = 0;
  const until = performance.now() + leastMs;
  const watch = async (get: Get, waitMs: number): Promise<readonly number[]> => {
    const times: number[] = [];
    while (!isOver || performance.now() < until) {
      const start = performance.now();
      if ((await get()) !== 200) failed++;
      times.push(performance.now() - start);
      if (times.length % 8 === 0) peakMb = Math.max(peakMb, residentMb(pid));
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
    return times.toSorted((a, b) => a - b);
  };
  const fresh = [requestBytes("GET", path, token), requestBytes("GET", "/livez", "")];
  const all = await Promise.all([
    watch(getOnSession, pauseMs),
    ...(alsoNew === true ? fresh.map((bytes) => watch(() => onNew(bytes), newPauseMs)) : []),
  ]);
  const worst = (of: (sorted: readonly number[]) => number | undefined): number =>
    Math.max(...all.map((sorted) => of(sorted) ?? Number.NaN));
  const result: Probed = {
    count: all.reduce((sum, { length }) => sum + length, 0),
    p99Ms: worst((sorted) => sorted[Math.floor(sorted.length * 0.99)]),
    maxMs: worst((sorted) => sorted.at(-1)),
    peakMb,
    beforeMb,
    failed,
  };
  process.stdout.write(JSON.stringify(result));
  session.destroy();
}

export function residentMb(pid: number | undefined): number {
  if (pid === undefined) return Number.NaN;
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]) / 1024;
  } catch {
    return Number.NaN;
  }
}

if (import.meta.main) await run(JSON.parse(process.argv[2]!) as Probe); // from `startProber`
