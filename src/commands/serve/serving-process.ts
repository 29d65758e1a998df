/**
 * A serving process of `binnacle serve --processes=N`. It gets its settings from the supervisor, and does what that says:
 * signals reach all processes of a terminal or a service at once, but they end in an order. Where the supervisor is gone,
 * the process ends at once; a restart then finds the data folder free.
 */
import { rmSync } from "node:fs";
import { Socket } from "node:net";
import { systemClock } from "#std/clock.ts";
import { mergeMetrics } from "#server/merge-metrics.ts";
import type { HeldPort, HeldAddress } from "#transport/held-port.ts";
import type { ServingProcess } from "#server/processes.ts";
import { startServer } from "#server/start-server.ts";
import { optimizeSooner } from "#server/v8-settings.ts";
import { factsOf } from "./greeting.ts";
import type { FromProcess, ProcessStart, ToProcess } from "./messages.ts";

/** Serves until the supervisor says stop. Rejects with `StartError` when the server cannot start. */
export async function serveAsProcess(index: number): Promise<void> {
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => undefined);
  process.once("disconnect", () => process.exit(1));
  const supervisor = new Supervisor();
  let isReady = false;
  void supervisor.stopped.then(() => {
    if (!isReady) process.exit(0);
  });
  const start = await supervisor.started;
  process.once("exit", () => {
    // A supervisor that was killed has left the folder.
    if (!process.connected) rmSync(start.folder, { recursive: true, force: true });
  });
  const server = await startServer(start.settings, {
    log: "stderr",
    processes: supervisor.processOf(index, start),
  });
  isReady = true;
  optimizeSooner();
  void supervisor.stopped.then(async () => {
    try {
      await server.close();
      process.exit(0);
    } catch (error) {
      process.stderr.write(`binnacle: bad end: ${String(error)}\n`);
      process.exit(1);
    }
  });
  supervisor.send({ type: "ready", facts: factsOf(server) });
}

/** The supervisor as a serving process has it. */
class Supervisor {
  readonly #start = Promise.withResolvers<ProcessStart>();
  readonly #stop = Promise.withResolvers<void>();
  readonly #othersEnded = Promise.withResolvers<void>();
  #printMetrics: () => string = () => "";
  /** The question that is asked now, and the one after it, which requests that come meanwhile share. */
  #question: Question | undefined;
  #next: Question | undefined;
  #questions = 0;

  #listening = Promise.withResolvers<{ readonly address: string; readonly port: number }>();
  #connect: ((socket: Socket) => void) | undefined;

  constructor() {
    process.on("message", (message: ToProcess, socket: unknown) => this.#take(message, socket));
    this.send({ type: "hello" });
  }

  get started(): Promise<ProcessStart> {
    return this.#start.promise;
  }

  get stopped(): Promise<void> {
    return this.#stop.promise;
  }

  send(message: FromProcess): void {
    // An error means that the supervisor is gone, and this process ends.
    process.send?.(message, undefined, undefined, () => undefined);
  }

  processOf(index: number, { count, port, folder }: ProcessStart): ServingProcess {
    return {
      index,
      count,
      port: this.#portOf(port),
      folder,
      offerMetrics: (print) => {
        this.#printMetrics = print;
      },
      gatherMetrics: (own) => this.#gather(own),
      end: () => process.exit(1),
      othersEnded: () => (index === 0 ? this.#othersEnded.promise : Promise.resolve()),
    };
  }

  #portOf(number: number | undefined): HeldPort {
    return {
      number,
      listen: (at: HeldAddress, take) => {
        this.#connect = take;
        this.send({ type: "listen", at });
        return this.#listening.promise;
      },
      stop: () => {
        this.#connect = undefined;
        this.send({ type: "leave" });
      },
    };
  }

  #take(message: ToProcess, socket: unknown): void {
    if (message.type === "start") this.#start.resolve(message);
    else if (message.type === "connection") this.#takeConnection(message.id, socket);
    else if (message.type === "listening") this.#listening.resolve(message);
    else if (message.type === "cannotListen") this.#listening.reject(systemError(message));
    else if (message.type === "metrics") this.send({ type: "metrics", id: message.id, page: this.#printMetrics() });
    else if (message.type === "gathered") this.#answered(message);
    else if (message.type === "stop") this.#stop.resolve();
    else this.#othersEnded.resolve();
  }

  #takeConnection(id: number, socket: unknown): void {
    // Without a free descriptor, the message comes without its socket.
    const isTaken = this.#connect !== undefined && socket instanceof Socket;
    this.send({ type: "took", id, isTaken });
    if (isTaken) this.#connect?.(socket);
    else if (socket instanceof Socket) socket.destroy();
  }

  /** Resolves with the metrics of all processes as they are after this call. */
  #gather(own: string): Promise<string> {
    if (this.#question === undefined) {
      this.#question = this.#newQuestion(own);
      this.#ask(this.#question);
      return this.#question.promise;
    }
    this.#next ??= this.#newQuestion(own);
    this.#next.page = own;
    return this.#next.promise;
  }

  #newQuestion(page: string): Question {
    return { id: this.#questions++, page, ...Promise.withResolvers<string>() };
  }

  #ask({ id, page }: Question): void {
    this.send({ type: "gather", id, page });
  }

  #answered({ id, pages, missing }: Extract<ToProcess, { type: "gathered" }>): void {
    if (this.#question?.id !== id) return;
    this.#question.resolve(mergeMetrics([this.#question.page, ...pages], missing, systemClock));
    this.#question = this.#next;
    this.#next = undefined;
    if (this.#question !== undefined) this.#ask(this.#question);
  }
}

const systemError = ({ code, message }: { readonly code: string | undefined; readonly message: string }): Error =>
  Object.assign(new Error(message), { code });

interface Question extends PromiseWithResolvers<string> {
  readonly id: number;
  /** The metrics of this process, which are those of the last request that shares the question. */
  page: string;
}
