/**
 * The log of the process that owns it, served to the other processes of the machine through a unix socket. It tells them
 * of every change when it tells the follower of this process, and keeps the turns of all.
 */
import { rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";

import type { Clock } from "#std/clock.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { ForwardingLog } from "../forwarding-log.ts";
import {
  type CommitResult,
  type LogEvent,
  type LogFollower,
  type LogStore,
  type LogWrite,
  type Revision,
  StorageFailure,
  StoreFailed,
} from "../log-store.ts";
import type { StoreMaintenance } from "../opened-store.ts";
import { frameOf } from "./fields.ts";
import { type FromOwner, fromOwner, type LogState } from "./messages.ts";
import { changedFrame, makerOf, ProcessConnection, type ServedParts } from "./process-connection.ts";
import { RevisionWriter } from "./revision-file.ts";
import { TurnKeeper } from "./turn-keeper.ts";

interface ServedLogOptions {
  /** The folder for the socket and the file of the revision. Nobody but the user may enter it. */
  readonly folder: string;
  readonly clock: Clock;
  /** Is told why a connection was ended. */
  readonly warn: (problem: string) => void;
}

/** The number of turns that are known at a time. */
const turnNamesMax = 10_000;
/** The time between two looks at the state of the log. */
const statePollMs = 1000;
/** The time in which the same problem of a connection is told once. */
const sameWarningMs = 60_000;

/** Returns the path of the socket of a runtime folder. */
export const socketPathIn = (folder: string): string => join(folder, "log.sock");

export class ServedLog extends ForwardingLog {
  readonly #options: ServedLogOptions;
  readonly #turns: TurnKeeper;
  readonly #file: RevisionWriter;
  readonly #connections = new Set<ProcessConnection>();
  readonly #parts: ServedParts;
  #server: Server | undefined;
  #maintenance: StoreMaintenance | undefined;
  /** The revision up to which everything was delivered. */
  #delivered: Revision;
  #closing: Promise<void> | undefined;
  /** Set when the file of the revision could not be written. */
  #fileFailure: StoreFailed | undefined;
  #told = "";
  #lastWarning: { readonly problem: string; readonly atMs: number } | undefined;
  #cancelPoll: (() => void) | undefined;

  /** Serves `log`, which is open and not followed yet. The socket is there when the log is followed. */
  constructor(log: LogStore, options: ServedLogOptions) {
    super(log);
    this.#options = options;
    this.#delivered = log.revision;
    this.#turns = new TurnKeeper({
      began: log.revision,
      namesMax: turnNamesMax,
      revision: () => log.revision,
      commit: (write) => (this.#fileFailure === undefined ? log.commit(write) : Promise.reject(this.#fileFailure)),
    });
    this.#file = new RevisionWriter(options.folder, log.revision);
    this.#parts = {
      log,
      turns: this.#turns,
      isClosing: () => this.#closing !== undefined,
      position: () => ({ revision: this.#delivered, compacted: this.compactedRevision }),
      aboutToShow: (revision) => {
        if (!this.#raise(revision)) throw this.#fileFailure!;
      },
      state: () => this.#state,
      maintenance: () => this.#maintenance,
      isStale: (key) => log.isStale?.(key) === true,
      left: (connection, problem) => this.#left(connection, problem),
    };
  }

  override get isShared(): boolean {
    return true;
  }

  /** Lets other processes ask for this work, too. */
  maintain(work: StoreMaintenance | undefined): void {
    this.#maintenance = work;
  }

  override async follow(follower: LogFollower): Promise<void> {
    await super.follow({
      load: (entry) => follower.load(entry),
      changed: (events) => {
        if (!this.#deliver(events[0]!.revision)) return;
        this.#changed(events);
        follower.changed(events);
      },
      progressed: (revision) => {
        if (!this.#deliver(revision)) return;
        this.#tell({ kind: "progressed", revision });
        follower.progressed(revision);
      },
      reloaded: (entries, revision) => {
        if (!this.#deliver(revision)) return;
        for (const connection of this.#connections) connection.cut("the log was read anew");
        follower.reloaded(entries, revision);
      },
      compacted: (revision) => {
        this.#tell({ kind: "compacted", revision });
        follower.compacted(revision);
      },
      recovered: (entries) => {
        for (const entry of entries) this.#tell({ kind: "recovered", entries: [entry] });
        follower.recovered(entries);
      },
    });
    // Nobody has shown what was loaded and is new, so that reads of other processes need not have waited for it.
    if (!this.#raise(this.log.revision)) throw this.#fileFailure!;
    await this.#listen();
    this.#pollState();
  }

  override async commit(write: LogWrite): Promise<CommitResult> {
    const result = await this.#turns.commit(write, this);
    // The change of a log around this one may come after the result.
    if (result.committed && !this.#raise(result.revision)) throw this.#fileFailure!;
    return result;
  }

  override get failure(): Error | undefined {
    return this.#fileFailure ?? super.failure;
  }

  /** Returns the last revision that may be shown. */
  override latest(): MaybePromise<Revision> {
    return this.#fileFailure === undefined ? super.latest() : this.#delivered;
  }

  /** Other processes get all changes before their connections end. */
  override close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#cancelPoll?.();
    const closed = new Promise<void>((resolve) => {
      if (this.#server === undefined) resolve();
      else this.#server.close(() => resolve());
    });
    await super.close();
    for (const connection of this.#connections) connection.end();
    const giveUp = this.#options.clock.after(endMs, () => {
      for (const connection of this.#connections) connection.cut("the process does not read");
    });
    await closed;
    giveUp();
    this.#file.close();
  }

  /** Notes that everything up to a revision is about to become visible. Returns whether it may. */
  #deliver(revision: Revision): boolean {
    if (!this.#raise(revision)) return false;
    this.#delivered = Math.max(this.#delivered, revision);
    return true;
  }

  /**
   * Raises the revision of the file. When that fails, fresh reads of other processes would miss what comes, so nothing more
   * is written or shown.
   */
  #raise(revision: Revision): boolean {
    if (this.#fileFailure !== undefined) return false;
    try {
      this.#file.raise(revision);
      return true;
    } catch (error) {
      if (!(error instanceof StorageFailure)) throw error;
      this.#fileFailure = new StoreFailed(error.message, { cause: error });
      this.#options.warn(error.message);
      return false;
    }
  }

  #changed(events: readonly LogEvent[]): void {
    const maker = makerOf(events);
    let frame: Buffer | undefined;
    for (const connection of this.#connections) {
      if (!connection.isLive) continue;
      if (connection === maker) connection.tellOwn(events);
      else connection.tellFrame((frame ??= changedFrame(events, undefined, this.#parts)));
    }
  }

  #tell(message: FromOwner): void {
    let frame: Buffer | undefined;
    for (const connection of this.#connections) {
      if (connection.isLive) connection.tellFrame((frame ??= frameOf(fromOwner, message)));
    }
  }

  async #listen(): Promise<void> {
    const path = socketPathIn(this.#options.folder);
    // It is that of an owner that has ended.
    rmSync(path, { force: true });
    const server = createServer((socket) => this.#accept(socket));
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error) => {
        reject(new StorageFailure(`the log cannot be served at ${path}: ${error.message}`, { cause: error }));
      });
      // A process of a cluster would ask its supervisor to listen.
      server.listen({ path, exclusive: true }, resolve);
    });
    server.on("error", (error) => this.#options.warn(`the socket of the log has failed: ${error.message}`));
  }

  #accept(socket: Socket): void {
    if (this.#closing !== undefined) return void socket.destroy();
    this.#connections.add(new ProcessConnection(socket, this.#parts));
  }

  #left(connection: ProcessConnection, problem: string | undefined): void {
    this.#connections.delete(connection);
    if (problem === undefined) return;
    const now = this.#options.clock.monotonic();
    const last = this.#lastWarning;
    // A process that is refused comes again and again.
    if (last !== undefined && last.problem === problem && now - last.atMs < sameWarningMs) return;
    this.#lastWarning = { problem, atMs: now };
    this.#options.warn(`the connection of a process to the log was ended: ${problem}`);
  }

  get #state(): LogState {
    const { full, failure, formName = "" } = this;
    return {
      ...(full === undefined ? {} : { full: full.message }),
      ...(failure === undefined ? {} : { failure: failure.message }),
      form: formName,
      size: this.#maintenance?.size ?? { bytes: 0, since: 0, fileBytes: 0 },
    };
  }

  /** Tells of the state of the log whenever it has changed. */
  #pollState(): void {
    if (this.#connections.size > 0) {
      const state = this.#state;
      const text = JSON.stringify(state);
      for (const connection of this.#connections) {
        if (text !== this.#told && connection.isGreeted) connection.tell({ kind: "state", ...state });
      }
      this.#told = text;
    }
    this.#cancelPoll = this.#options.clock.after(statePollMs, () => this.#pollState());
  }
}

/** The time that other processes have to read the last changes. */
const endMs = 2000;
