/**
 * The supervisor of `binnacle serve --processes=N`. It serves nothing and opens no store: it starts serving processes of
 * the same program, holds their port and hands each new connection to the next one that is free, starts those again that
 * end, and ends them in order. Process 0 starts first and ends last, since it keeps the data folder and its log.
 */
import { type ChildProcess, fork } from "node:child_process";
import { isSea } from "node:sea";
import { resolveOptions, type ServerOptions, type ServerSettings } from "#server/options.ts";
import { waitingLimits } from "#server/processes.ts";
import { openServerLog } from "#server/server-log.ts";
import { machineClock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import { StartError } from "#std/start-error.ts";
import { reasonOf } from "#std/system-error.ts";
import type { HeldAddress } from "#transport/held-port.ts";
import type { ServerFacts } from "./greeting.ts";
import { type FromProcess, processVariable, type ToProcess } from "./messages.ts";
import { MetricsGathering } from "./metrics-gathering.ts";
import { RestartPause } from "./restart-pause.ts";
import { RuntimeFolder } from "./runtime-folder.ts";
import { SharedPort } from "./shared-port.ts";

/** A place for a serving process, which has one after the other. */
interface Slot {
  readonly index: number;
  readonly pause: RestartPause;
  /** The process, if there is one. */
  worker: ChildProcess | undefined;
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
  readonly #folder: RuntimeFolder;
  readonly #gathering = new MetricsGathering(clock);
  readonly #port: SharedPort;
  #isClosing = false;
  #closing: Promise<void> | undefined;

  /** Throws `StartError` for settings that cannot be. */
  constructor(settings: ServerSettings) {
    const options = resolveOptions(settings);
    this.#settings = settings;
    this.#options = options;
    this.#log = openServerLog(options);
    this.#folder = new RuntimeFolder({ hasSocket: options.etcdServers.length === 0 });
    process.once("exit", () => this.#folder.remove());
    this.#port = new SharedPort({ limits: waitingLimits(options), clock, log: this.#log });
    this.#slots = Array.from({ length: options.processes }, (_, index) => ({
      index,
      pause: new RestartPause(clock),
      worker: undefined,
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
    for (const { worker } of this.#slots) worker?.kill("SIGKILL");
  }

  /** Ends all processes at once, and resolves when they have ended. */
  async abandon(): Promise<void> {
    this.#isClosing = true;
    const ends = this.#slots.map((slot) => goodEnd(slot));
    this.kill();
    await Promise.all(ends);
  }

  /** Starts the first process of a place. The promise stays open when the program ends meanwhile. */
  #startFirst(slot: Slot): Promise<ServerFacts> {
    if (!this.#isClosing) this.#fork(slot);
    return slot.first.promise;
  }

  #fork(slot: Slot): void {
    const { index } = slot;
    slot.pause.began();
    let worker: ChildProcess;
    try {
      // The temporary folder may have been emptied.
      if (index === 0) this.#folder.restore();
      // The executable is its own program: its first argument is the command.
      const [program = "", ...args] = process.argv.slice(isSea() ? 2 : 1);
      worker = fork(program, args, {
        ...(isSea() ? { execArgv: [] } : {}),
        env: { ...process.env, [processVariable]: String(index) },
        serialization: "advanced",
      });
    } catch (error) {
      this.#ended(slot, { error });
      return;
    }
    if (worker.pid === undefined) {
      // There is an error, and no end.
      worker.once("error", (error) => this.#ended(slot, { error }));
      return;
    }
    slot.worker = worker;
    worker.on("message", (message: FromProcess) => this.#take(slot, worker, message));
    worker.on("error", (error) => this.#log.error({ process: index, error }, "a process could not be reached"));
    worker.once("exit", (code, signal) => {
      slot.worker = undefined;
      slot.isReady = false;
      this.#gathering.lost(worker);
      this.#port.leave(worker);
      this.#ended(slot, { code, signal });
    });
  }

  #take(slot: Slot, worker: ChildProcess, message: FromProcess): void {
    if (message.type === "hello") {
      send(worker, {
        type: "start",
        settings: this.#settingsFor(slot),
        count: this.#slots.length,
        port: this.#port.number,
        folder: this.#folder.path,
      });
    } else if (message.type === "ready") {
      if (slot.hasServed) this.#log.info({ process: slot.index }, "a process serves again");
      slot.hasServed = true;
      slot.isReady = true;
      this.#gathering.joined(worker);
      slot.first.resolve(message.facts);
    } else if (message.type === "listen") void this.#listen(worker, message.at);
    else if (message.type === "leave") this.#port.leave(worker);
    else if (message.type === "took") this.#port.took(worker, message.id, message.isTaken);
    else if (message.type === "gather") {
      const { id, page } = message;
      this.#gathering.ask(worker, page, ({ pages, answered }) =>
        send(worker, { type: "gathered", id, pages, missing: this.#slots.length - 1 - answered }),
      );
    } else this.#gathering.answered(worker, message);
  }

  /** Only the very first start of a program accepts a loss, and only process 0 can find one. */
  #settingsFor({ index, hasServed }: Slot): ServerSettings {
    const acceptDataLoss = this.#options.acceptDataLoss && index === 0 && !hasServed;
    return { ...this.#settings, acceptDataLoss };
  }

  async #listen(worker: ChildProcess, at: HeldAddress): Promise<void> {
    try {
      const { address, port } = await this.#port.open(at);
      send(worker, { type: "listening", address, port });
      if (worker.connected) this.#port.join(worker);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      send(worker, { type: "cannotListen", code, message });
    }
  }

  /** Notes that the process of a place has ended, or could not be made. */
  #ended(slot: Slot, how: End): void {
    if (this.#isClosing) return;
    if (!slot.hasServed) {
      slot.first.reject(new FirstEnd(slot.index, how));
      return;
    }
    const pauseMs = slot.pause.next();
    this.#log.error({ process: slot.index, ...how, pauseMs }, "a process has ended, and is started again");
    slot.cancelRestart = clock.after(pauseMs, () => this.#fork(slot));
  }

  async #close(): Promise<void> {
    this.#isClosing = true;
    for (const slot of this.#slots) slot.cancelRestart();
    const { shutdownDelayMs, requestTimeoutMs } = this.#options;
    const cancelKill = clock.after(shutdownDelayMs + requestTimeoutMs + closingMs, () => {
      this.#log.error({}, "processes that did not end were killed");
      this.kill();
    });
    const [keeper, ...others] = this.#slots.map((slot) => goodEnd(slot));
    for (const { worker } of this.#slots) if (worker !== undefined) send(worker, { type: "stop" });
    this.#port.closeWithLast();
    const areGood = await Promise.all(others);
    const keeperProcess = this.#slots[0]?.worker;
    if (keeperProcess !== undefined) send(keeperProcess, { type: "othersEnded" });
    areGood.push(await keeper!); // there is one
    this.#port.close();
    cancelKill();
    if (areGood.includes(false)) throw new Error("a process did not end in good order");
  }
}

/** The end of a process, or the error of the system that did not make it. */
type End = { readonly code: number | null; readonly signal: string | null } | { readonly error: unknown };

/** Resolves with the exit code of a process. */
const ended = (worker: ChildProcess): Promise<number | null> =>
  new Promise((resolve) => void worker.once("exit", (code) => resolve(code)));

/** Resolves when the process of a place has ended, with whether that was in good order, if it served. */
async function goodEnd({ worker, isReady }: Slot): Promise<boolean> {
  const code = worker === undefined ? 0 : await ended(worker);
  return !isReady || code === 0;
}

function send(worker: ChildProcess, message: ToProcess): void {
  // A process that has ended is noticed by its end.
  if (worker.connected) worker.send(message, undefined, undefined, () => undefined);
}

/** The end of a process before it was ready. */
export class FirstEnd extends StartError {
  /** Whether the process has said why. */
  readonly isTold: boolean;

  constructor(index: number, end: End) {
    super(
      "error" in end
        ? `process ${index} cannot be started: ${reasonOf(end.error)}`
        : `process ${index} has ended before it was ready: ${end.signal ?? `exit code ${end.code}`}`,
    );
    this.isTold = "code" in end && end.code !== null && end.code !== 0;
  }
}
