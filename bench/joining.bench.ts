/**
 * A process that joins the others while more writes are asked for than the machine can do: two processes on a data
 * folder, of which the one that does not own the log is killed. To run it alone: `node --conditions=source
 * bench/joining.bench.ts`.
 */
import { type ClientHttp2Session, connect } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { postLoop } from "./closed-loop.ts";
import { treeOf, usageOf } from "./process-usage.ts";
import { runAlone } from "./report.ts";
import { startServer } from "./server-process.ts";
import type { Run, Suite } from "./suite.ts";
import { Client, type Target } from "./target.ts";

const askedPerSecond = 12_000;
/** The number of writes on their way beyond which a write that is asked for is not sent. */
const underWayMax = 1000;
const tickMs = 5;
const sessions = 8;
const objects = 10_000;
const collection = "/api/v1/namespaces/default/configmaps";
const text = "x".repeat(900);
const bodyOf = (at: number, value: string): string =>
  JSON.stringify({ metadata: { name: `c${at}` }, data: { text, value } });

export const joiningSuite: Suite = {
  name: "joining",
  about: `${askedPerSecond} writes a second are asked for, and one of two processes is killed and joins again`,
  rows: {
    "asked-of-two": "writes that are done while both processes serve; the largest memory of process 0",
    "asked-at-join": "writes that are done until the other one serves again; the time that takes; memory of process 0",
    joined:
      "writes after that; the time of its first read of the present; the largest memory of the process that joined",
  },
  workloads: [],
  measure,
};

async function measure(run: Run): Promise<void> {
  const server = await startServer(undefined, [], ["--processes=2"]);
  let writes: AskedWrites | undefined;
  try {
    let made = 0;
    // Some more are made than it counts.
    const creation = { name: "fill", streams: 64, seconds: 3600, operationsMax: objects };
    await postLoop(server, collection, { ...creation, body: () => bodyOf(made++, "0") });
    const [owner, other] = treeOf(server.pid).slice(1) as [number, number];
    writes = new AskedWrites(server);
    const memory = new Peaks();
    await sleep(run.seconds * 1000);
    writes.next();
    await memory.during(owner, sleep(run.seconds * 1000));
    await run.row("asked-of-two", () => ({ name: "asked-of-two", rate: writes!.next(), rssMb: memory.of(owner) }));
    const killedMs = performance.now();
    process.kill(other, "SIGKILL");
    const again = await memory.during(owner, untilServed(server, other));
    const ms = performance.now() - killedMs;
    const rate = writes.next();
    await run.row("asked-at-join", () => ({ name: "asked-at-join", rate, ms, rssMb: memory.of(owner) }));
    const readMs = await firstReads(server, writes);
    await memory.during(again, sleep(run.seconds * 1000));
    await run.row("joined", () => ({ name: "joined", rate: writes!.next(), ms: readMs, rssMb: memory.of(again) }));
  } finally {
    writes?.stop();
    await server.stop();
  }
}

/** Resolves with the id of the next process in the place of one that was killed, when it serves. */
async function untilServed(server: Target, killed: number): Promise<number> {
  const client = await Client.open(server);
  try {
    for (;;) {
      const again = treeOf(server.pid).slice(1)[1];
      const { text: page } = await client.ask("GET", "/metrics");
      if (again !== undefined && again !== killed && /^binnacle_processes_missing 0$/m.test(page)) return again;
      await sleep(50);
    }
  } finally {
    client.close();
  }
}

/** Reads an object at both processes. Throws when one shows an older version than that of an acknowledged write. */
async function firstReads(server: Target, writes: AskedWrites): Promise<number> {
  let longestMs = 0;
  for (let count = 0; count < 4; count++) {
    const client = await Client.open(server);
    const { at, version } = writes.last;
    const began = performance.now();
    const read = await client.send("GET", `${collection}/c${at}`);
    longestMs = Math.max(longestMs, performance.now() - began);
    client.close();
    const shown = versionOf(read);
    if (!(shown >= version))
      throw new Error(`a read shows version ${shown} of c${at}, after ${version} was acknowledged`);
  }
  return longestMs;
}

const versionOf = (object: string): number => Number(/"resourceVersion":"(\d+)"/.exec(object)?.[1]);

/** Asks for writes at a constant rate, over connections to both processes. */
class AskedWrites {
  readonly #target: Target;
  readonly #sessions: ClientHttp2Session[];
  readonly #timer: NodeJS.Timeout;
  #asked = 0;
  #sent = 0;
  #underWay = 0;
  #done = 0;
  #countedAtMs = performance.now();
  /** The last acknowledged write: the number of its object, and the version. */
  last = { at: 0, version: 0 };

  constructor(target: Target) {
    this.#target = target;
    this.#sessions = Array.from({ length: sessions }, () => this.#open());
    const startMs = performance.now();
    this.#timer = setInterval(() => {
      const due = ((performance.now() - startMs) / 1000) * askedPerSecond;
      for (; this.#asked < due; this.#asked++) if (this.#underWay < underWayMax) this.#send(this.#sent++);
    }, tickMs);
  }

  /** Returns the rate of acknowledged writes since the last call. */
  next(): number {
    const now = performance.now();
    const rate = (this.#done * 1000) / (now - this.#countedAtMs);
    this.#done = 0;
    this.#countedAtMs = now;
    return rate;
  }

  stop(): void {
    clearInterval(this.#timer);
    for (const session of this.#sessions) session.destroy();
  }

  #open(): ClientHttp2Session {
    const session = connect(`https://${this.#target.host}:${this.#target.port}`, { rejectUnauthorized: false });
    return session.on("error", () => undefined); // its writes have no answer
  }

  #send(at: number): void {
    const slot = at % sessions;
    let session = this.#sessions[slot]!;
    if (session.closed || session.destroyed) session = this.#sessions[slot] = this.#open();
    const stream = session.request({
      ":method": "PUT",
      ":path": `${collection}/c${at % objects}`,
      authorization: `Bearer ${this.#target.token}`,
      "content-type": "application/json",
    });
    this.#underWay++;
    let status = 0;
    let answer = "";
    stream.setEncoding("latin1");
    stream.on("response", (headers) => (status = Number(headers[":status"])));
    stream.on("data", (piece: string) => (answer += piece));
    stream.on("error", () => undefined);
    stream.once("close", () => {
      this.#underWay--;
      if (status !== 200) return;
      this.#done++;
      const version = versionOf(answer);
      if (version > this.last.version) this.last = { at: at % objects, version };
    });
    stream.end(bodyOf(at % objects, String(at)));
  }
}

/** The largest memory of processes. */
class Peaks {
  readonly #peaks = new Map<number, number>();

  /** Watches the memory of a process until a promise is settled. */
  async during<T>(pid: number, work: Promise<T>): Promise<T> {
    this.#peaks.set(pid, 0);
    const timer = setInterval(() => {
      this.#peaks.set(pid, Math.max(this.of(pid), usageOf(pid).rssMb));
    }, 100);
    try {
      return await work;
    } finally {
      clearInterval(timer);
    }
  }

  of(pid: number): number {
    return this.#peaks.get(pid) ?? 0;
  }
}

if (import.meta.main) await runAlone(joiningSuite);
