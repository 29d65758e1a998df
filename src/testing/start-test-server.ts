/** Starts servers for tests (`test-server.ts`). The entry of the package loads this file on demand (`testing.ts`). */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Cluster } from "#client/cluster.ts";
import type { ApiRequest, Reply } from "#http/api-request.ts";
import { parseRequestInfo } from "#http/request-info.ts";
import type { Instruments } from "#server/instruments.ts";
import type { ServerSettings } from "#server/options.ts";
import { clientConfig } from "#server/kubeconfig.ts";
import { startServer } from "#server/start-server.ts";
import { machineClock, systemClock } from "#std/clock.ts";
import { openLog } from "#std/log.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { RestorableLog, type StoreSnapshot } from "#storage/restorable-log.ts";
import { Faults } from "./faults.ts";
import { RequestRecord } from "./request-record.ts";
import { durationMs, TestClock } from "./test-clock.ts";
import { controlPaths } from "./control-paths.ts";
import type { Snapshot, TestServer } from "./test-server.ts";
import { trustingFetch } from "./trusting-fetch.ts";

export interface TestServerOptions {
  /** The domain of API groups and labels; `k8s.io` by default, as in Kubernetes. */
  readonly apiDomain?: string;
  /** Other flags of the server, in camel case: `{ authorizationMode: ["RBAC"], featureGates: ["…=true"] }`. */
  readonly settings?: Omit<ServerSettings, "storage" | "dataDir" | "apiDomain">;
}

/** Starts a server. Rejects with `StartError` for settings that cannot be. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const kit = new TestKit();
  const lines: string[] = [];
  const verbosity = options.settings?.verbosity ?? 0;
  const log = openLog({ format: "text", verbosity, write: (line) => keepLast(lines, line.trimEnd()) });
  const running = await startServer(
    {
      bindAddress: "127.0.0.1",
      securePort: 0,
      ...options.settings,
      storage: "memory",
      apiDomain: options.apiDomain ?? "k8s.io",
    },
    { clock: kit.clock, log, instruments: kit },
  );
  const { url, ca } = running;
  const { token } = running.admin;
  const kubeconfig = `${JSON.stringify(tokenConfig({ url, ca, token }))}\n`;
  const web = trustingFetch({ url, ca, token });
  const files = writeFiles({ kubeconfig, "ca.crt": ca });
  const clusters: Cluster[] = [];
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    for (const cluster of clusters) await cluster.close();
    web.close();
    files.remove();
    await running.close();
  };
  const server: TestServer = {
    url,
    ca,
    caFile: join(files.folder, "ca.crt"),
    token,
    kubeconfig,
    kubeconfigFile: join(files.folder, "kubeconfig"),
    fetch: (input, init) => web.fetch(input, init),
    client: async (manager = "test") => {
      // The library is loaded by tests that want it only.
      const { connect } = await import("#client/cluster.ts");
      const cluster = await connect({ kubeconfig: join(files.folder, "kubeconfig"), manager });
      clusters.push(cluster);
      return cluster;
    },
    reset: () => kit.reset(),
    snapshot: () => kit.snapshot(),
    restore: (snapshot) => kit.restore(snapshot),
    settled: () => kit.settled(),
    clock: {
      now: () => kit.clock.now(),
      advance: async (duration) => kit.advance(durationMs(duration)),
    },
    faults: {
      next: (match, fault, { times = 1 } = {}) => kit.faults.plan(match, fault, times),
      dropWatches: (match = {}) => kit.faults.dropWatches(match),
      compact: () => kit.compact(),
      clear: () => kit.faults.clear(),
    },
    requests: () => kit.record.list(),
    logs: () => [...lines],
    close: () => (closing ??= close()),
    [Symbol.asyncDispose]: () => server.close(),
  };
  try {
    await kit.begin(controlPaths(server));
  } catch (error) {
    await server.close();
    throw error;
  }
  return server;
}

/** Returns a kubeconfig with the token, so that every client made of it may use the control paths, too. */
const tokenConfig = ({ url, ca, token }: Pick<TestServer, "url" | "ca" | "token">): object =>
  clientConfig({
    url,
    ca,
    serverName: undefined,
    insecure: false,
    proxy: undefined,
    user: "admin",
    namespace: undefined,
    credentials: { token },
  });

/** The number of log lines that are kept. */
const linesMax = 200;

function keepLast(lines: string[], line: string): void {
  lines.push(line);
  if (lines.length > linesMax) lines.shift();
}

/** Writes files for other programs into a new folder. Without `remove` it is deleted at the end of the process. */
function writeFiles(texts: Readonly<Record<string, string>>): { readonly folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-test-"));
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), text, { mode: 0o600 });
  const remove = (): void => {
    process.off("exit", remove);
    rmSync(folder, { recursive: true, force: true });
  };
  process.on("exit", remove);
  return { folder, remove };
}

/** The instruments of one server, and what tests do with them. */
class TestKit implements Instruments {
  readonly clock = new TestClock();
  readonly faults = new Faults(this.clock);
  readonly record = new RequestRecord();
  readonly inBackground = true;
  /** Connections live by the time of the machine, since an hour that passes at once should not close them. */
  readonly connectionClock = {
    now: () => this.clock.now(),
    monotonic: () => systemClock.monotonic(),
    after: (delayMs: number, callback: () => void) => systemClock.after(delayMs, callback),
  };
  #parts: RunningParts | undefined;
  #log: RestorableLog | undefined;
  #start: StoreSnapshot | undefined;
  readonly #snapshots = new WeakMap<Snapshot, StoreSnapshot>();
  #control: (request: ApiRequest) => Promise<Reply> | undefined = () => undefined;

  wrapHandler(next: (request: ApiRequest) => MaybePromise<Reply>): (request: ApiRequest) => MaybePromise<Reply> {
    return async (request) => {
      const controlled = this.#control(request);
      if (controlled !== undefined) return controlled;
      const info = parseRequestInfo(request);
      const recording = this.record.add(request, info);
      const reply = await this.faults.answer(request, info, () => this.record.run(() => next(request)));
      recording.code = reply.code;
      return reply;
    };
  }

  wrapLog(log: ConstructorParameters<typeof RestorableLog>[0]): RestorableLog {
    return (this.#log = new RestorableLog(log, () => this.clock.now()));
  }

  assembled(...[cache, server]: Parameters<Instruments["assembled"]>): void {
    this.#parts = { cache, server };
  }

  /** Waits until the server has made its own objects, and remembers them. */
  async begin(control: (request: ApiRequest) => Promise<Reply> | undefined): Promise<void> {
    this.#control = control;
    // Controllers begin after delays, and rest between writes; nobody need wait for that yet.
    this.clock.hurry(startDelayMsMax);
    await this.#untilQuiet({ includesClients: false, hurries: true });
    this.#start = this.#store().takeSnapshot();
  }

  async reset(): Promise<void> {
    this.faults.clear();
    await this.#goBack(this.#start!); // it was taken before tests get the server
    this.record.clear();
  }

  snapshot(): Snapshot {
    const state = this.#store().takeSnapshot();
    const snapshot: Snapshot = { resourceVersion: String(state.revision) };
    this.#snapshots.set(snapshot, state);
    return snapshot;
  }

  async restore(snapshot: Snapshot): Promise<void> {
    const state = this.#snapshots.get(snapshot);
    if (state === undefined) throw new TypeError("this is no snapshot of this server");
    await this.#goBack(state);
  }

  settled(): Promise<void> {
    return this.#untilQuiet({ includesClients: true });
  }

  async advance(ms: number): Promise<void> {
    this.clock.advance(ms);
    await this.settled();
  }

  async compact(): Promise<void> {
    const { cache } = this.#running();
    await cache.compact(cache.revision);
  }

  /**
   * Writes a state again, until no controller has changed it: one that was at work on an object may still write it, or
   * write a removed object again. What a controller writes twice is its own present state, and stays.
   */
  async #goBack(state: StoreSnapshot): Promise<void> {
    let before: ReadonlySet<string> = new Set();
    for (;;) {
      const written = new Set(await this.#store().restore(state, byNeed));
      if (written.size > 0) await this.#untilQuiet(ownWork);
      if (written.isSubsetOf(before)) return;
      before = before.union(written);
    }
  }

  /** Resolves when nothing happens in the server any more. */
  async #untilQuiet(wanted: Quiet): Promise<void> {
    const endMs = systemClock.monotonic() + quietMsMax;
    let turns = 0;
    let pauseMs = 0;
    while (turns < quietTurns) {
      await nextTurn(pauseMs);
      let problem = this.#unrest(wanted);
      // Turns of the loop do not bring a timer closer, they only use the processor.
      const waitsForTimer = problem === undefined && this.clock.hasTimerWithin(soonMs);
      pauseMs = waitsForTimer && !wanted.hurries ? 1 : 0;
      if (waitsForTimer) problem = "a controller waits for its next try";
      if (waitsForTimer && wanted.hurries) this.clock.hurry(soonMs);
      turns = problem === undefined ? turns + 1 : 0;
      if (problem !== undefined && systemClock.monotonic() > endMs) {
        throw new Error(`the server has not settled within ${quietMsMax / 1000} seconds: ${problem}`);
      }
    }
  }

  /** Returns what still happens in the server; `undefined` when at most timers wait. */
  #unrest({ includesClients }: Quiet): string | undefined {
    const { cache, server } = this.#running();
    if (includesClients && this.record.running > 0)
      return `${this.record.running} requests of clients are not answered`;
    if (server.ownRequests() > 0) return `${server.ownRequests()} requests of controllers are not answered`;
    if (!server.isCaughtUp()) return "indexes that decide about requests are not in step with the objects";
    if (!cache.isQuiet(false)) return "events wait for watchers";
    return includesClients && !cache.isQuiet(true) ? "a client does not read the events of its watch" : undefined;
  }

  #running(): RunningParts {
    if (this.#parts === undefined) throw new Error("the server has not started");
    return this.#parts;
  }

  #store(): RestorableLog {
    if (this.#log === undefined) throw new Error("the server has not started");
    return this.#log;
  }
}

/** The parts of a server that serves. */
interface RunningParts {
  readonly cache: Parameters<Instruments["assembled"]>[0];
  readonly server: Parameters<Instruments["assembled"]>[1];
}

/** The work that has to be over: that of the server itself, or the server and its clients. */
interface Quiet {
  readonly includesClients: boolean;
  /** Whether timers for which everything else waits fire at once. */
  readonly hurries?: boolean;
}

const ownWork: Quiet = { includesClients: false };
/** The longest time after which a controller of a server begins. */
const startDelayMsMax = 5000;
const quietMsMax = 10_000;
/** The turns of the event loop without work after which a server counts as quiet: enough to send and to read. */
const quietTurns = 4;
/** Timers with at most this delay are steps of work, such as a retry; an idle server has only longer ones. */
const soonMs = 1000;

/** Resolves in the next turn of the event loop, or after some milliseconds. */
const nextTurn = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    if (ms === 0) setImmediate(resolve);
    else waitingClock.after(ms, resolve);
  });

/** A clock whose timers keep the process alive: somebody waits for them. */
const waitingClock = machineClock(true);

/** Orders keys so that an object comes after what it needs: its namespace, its definition. */
function byNeed(a: string, b: string): number {
  return rank(a) - rank(b);
}

function rank(key: string): number {
  if (key.startsWith("/registry/core/namespaces/")) return 0;
  return /^\/registry\/apiextensions\.[^/]+\/customresourcedefinitions\//.test(key) ? 1 : 2;
}
