/**
 * The supervisor of `binnacle serve --processes=N`. It serves nothing and opens no store: it starts serving processes of
 * the same program, hands each new connection to the next one that is free (Node's cluster), starts those again that end,
 * and ends them in order. Process 0 starts first and ends last, since it keeps the data folder and its log.
 */
import cluster, { type Worker } from "node:cluster";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { resolveOptions, type ServerOptions, type ServerSettings } from "#server/options.ts";
import { openServerLog } from "#server/server-log.ts";
import { machineClock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import { StartError } from "#std/start-error.ts";
import type { ServerFacts } from "./greeting.ts";
import { type FromProcess, processVariable, type ToProcess } from "./messages.ts";
import { MetricsGathering } from "./metrics-gathering.ts";
import { RestartPause } from "./restart-pause.ts";

/** A place for a serving process, which has one after the other. */
interface Slot {
  readonly index: number;
  readonly pause: RestartPause;
  worker: Worker | undefined;
  /** Whether the process listens, and so holds the port. */
  isListening: boolean;
  /** Whether the process answers requests. */
  isReady: boolean;
  /** Is settled when the first process of this place is ready, or has ended before. */
  readonly first: PromiseWithResolvers<ServerFacts>;
  /** Whether a process of this place has been ready. */
  hasServed: boolean;
  cancelRestart: () => void;
}

/** Its timers keep the program alive while no process runs, since all have ended. */
const clock = machineClock(true);

/** The time in which audit logs are written at the end of a process, and its store is closed. */
const closingMs = 70_000;

export class Supervisor {
  readonly #settings: ServerSettings;
  readonly #options: ServerOptions;
  readonly #log: Log;
  readonly #slots: readonly Slot[];
  /** The private folder of the processes. The paths of sockets must be short. */
  readonly #folder = mkdtempSync(join(tmpdir(), "binnacle-"));
  readonly #gathering = new MetricsGathering(clock);
  /** The port that a free one was chosen for. */
  #port: number | undefined;
  #closing: Promise<void> | undefined;

  /** Throws `StartError` for settings that cannot be. */
  constructor(settings: ServerSettings) {
    const options = resolveOptions(settings);
    this.#settings = settings;
    this.#options = options;
    this.#log = openServerLog(options);
    process.once("exit", () => rmSync(this.#folder, { recursive: true, force: true }));
    cluster.schedulingPolicy = cluster.SCHED_RR;
    cluster.setupPrimary({ serialization: "advanced" });
    this.#slots = Array.from({ length: options.processes }, (_, index) => ({
      index,
      pause: new RestartPause(clock),
      worker: undefined,
      isListening: false,
      isReady: false,
      first: Promise.withResolvers<ServerFacts>(),
      hasServed: false,
      cancelRestart: () => undefined,
    }));
  }

  /** Starts all processes. Rejects with `FirstEnd` when one of them ends before it is ready. */
  async start(): Promise<ServerFacts> {
    const [first, ...others] = this.#slots;
    const facts = await this.#startFirst(first!); // there is at least one
    await Promise.all(others.map((slot) => this.#startFirst(slot)));
    return facts;
  }

  /** Ends all processes in good order. Repeated calls return the promise of the first call. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  /** Ends all processes at once. */
  kill(): void {
    for (const { worker } of this.#slots) worker?.process.kill("SIGKILL");
  }

  /** Starts the first process of a place. The promise stays open when the program ends meanwhile. */
  #startFirst(slot: Slot): Promise<ServerFacts> {
    if (this.#closing === undefined) this.#fork(slot);
    return slot.first.promise;
  }

  #fork(slot: Slot): void {
    const worker = cluster.fork({ [processVariable]: String(slot.index) });
    slot.worker = worker;
    slot.pause.began();
    worker.on("message", (message: FromProcess) => this.#take(slot, worker, message));
    worker.on("listening", ({ port }) => this.#listens(slot, worker, port));
    worker.on("error", (error) => this.#log.error({ process: slot.index, error }, "a process could not be reached"));
    worker.once("exit", (code: number | null, signal: string | null) => this.#ended(slot, worker, { code, signal }));
  }

  #take(slot: Slot, worker: Worker, message: FromProcess): void {
    if (message.type === "hello") {
      send(worker, {
        type: "start",
        settings: this.#settingsFor(slot),
        count: this.#slots.length,
        port: this.#port,
        folder: this.#folder,
      });
    } else if (message.type === "ready") {
      if (slot.hasServed) this.#log.info({ process: slot.index }, "a process serves again");
      slot.hasServed = true;
      slot.isReady = true;
      slot.first.resolve(message.facts);
    } else if (message.type === "gather") {
      const others = this.#slots.flatMap((one) => (one.isReady && one !== slot ? [one.worker!] : [])); // it is there
      this.#gathering.ask(others, (pages) => send(worker, { type: "gathered", id: message.id, pages }));
    } else this.#gathering.answered(worker, message);
  }

  /** Only the very first start of a program accepts a loss, and only process 0 can find one. */
  #settingsFor({ index, hasServed }: Slot): ServerSettings {
    const acceptDataLoss = this.#options.acceptDataLoss && index === 0 && !hasServed;
    return { ...this.#settings, acceptDataLoss, securePort: this.#portFor() };
  }

  /**
   * Returns the port for a process that starts. Processes that ask for any free port share the one that the first of them
   * got, while one of them listens; when none does, that port has to be asked for again.
   */
  #portFor(): number {
    const isHeld = this.#slots.some(({ isListening }) => isListening);
    return this.#port === undefined || isHeld ? this.#options.securePort : this.#port;
  }

  #listens(slot: Slot, worker: Worker, port: number): void {
    slot.isListening = true;
    this.#port ??= port;
    // The processes that held the port ended while this one started. It starts again with the number of the port.
    if (port !== this.#port) worker.process.kill("SIGKILL");
  }

  #ended(slot: Slot, worker: Worker, how: { readonly code: number | null; readonly signal: string | null }): void {
    slot.worker = undefined;
    slot.isListening = false;
    slot.isReady = false;
    this.#gathering.lost(worker);
    if (this.#closing !== undefined) return;
    if (!slot.hasServed) {
      slot.first.reject(new FirstEnd(slot.index, how));
      return;
    }
    const pauseMs = slot.pause.next();
    this.#log.error({ process: slot.index, ...how, pauseMs }, "a process has ended, and is started again");
    slot.cancelRestart = clock.after(pauseMs, () => this.#fork(slot));
  }

  async #close(): Promise<void> {
    for (const slot of this.#slots) slot.cancelRestart();
    const { shutdownDelayMs, requestTimeoutMs } = this.#options;
    const cancelKill = clock.after(shutdownDelayMs + requestTimeoutMs + closingMs, () => {
      this.#log.error({}, "processes that did not end were killed");
      this.kill();
    });
    const workers = this.#slots.map(({ worker }) => worker);
    const ends = workers.map((worker) => (worker === undefined ? Promise.resolve(undefined) : ended(worker)));
    for (const worker of workers) if (worker !== undefined) send(worker, { type: "stop" });
    const [keeperEnds, ...otherEnds] = ends;
    const others = await Promise.all(otherEnds);
    if (workers[0] !== undefined) send(workers[0], { type: "othersEnded" });
    const codes = [await keeperEnds, ...others];
    cancelKill();
    if (codes.some((code) => code !== undefined && code !== 0)) throw new Error("a process did not end in good order");
  }
}

/** Resolves with the exit code of a process. */
const ended = (worker: Worker): Promise<number | null> =>
  new Promise((resolve) => void worker.once("exit", (code: number | null) => resolve(code)));

function send(worker: Worker, message: ToProcess): void {
  // A process that has ended is noticed by its end.
  if (worker.isConnected()) worker.send(message, undefined, undefined, () => undefined);
}

/** The end of a process before it was ready. */
export class FirstEnd extends StartError {
  /** Whether the process has said why. */
  readonly isTold: boolean;

  constructor(index: number, { code, signal }: { readonly code: number | null; readonly signal: string | null }) {
    super(`process ${index} has ended before it was ready: ${signal ?? `exit code ${code}`}`);
    this.isTold = code !== null && code !== 0;
  }
}
