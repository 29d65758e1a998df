/** The connection of another process to the owner of the log: its writes and questions, and what becomes of them. */
import { createConnection } from "node:net";

import type { Clock } from "#std/clock.ts";
import { type CommitResult, type LogWrite, OutcomeUnknown, type StorageFailure, Unavailable } from "../log-store.ts";
import { fromSentError } from "./errors.ts";
import { frameOf, readAll } from "./fields.ts";
import { DamagedFrame, frameBytesMax } from "./frame-bytes.ts";
import { FrameSocket } from "./frame-socket.ts";
import {
  type AnswerOf,
  answers,
  type FromOwner,
  fromOwner,
  protocolName,
  type QuestionKind,
  type QuestionOf,
  toOwner,
} from "./messages.ts";

/** A message that is no answer. */
export type Notice = Extract<
  FromOwner,
  { readonly kind: "changed" | "progressed" | "compacted" | "recovered" | "state" }
>;

interface ConnectionOptions {
  readonly path: string;
  readonly clock: Clock;
  /** Called when there is an owner; it may refuse the greeting. */
  reached(): void;
  /** Takes what the owner tells by itself. */
  noticed(notice: Notice, connection: OwnerConnection): void;
}

/** A write or question under way. */
interface Pending {
  /** The write; `undefined` for a question. */
  readonly write: LogWrite | undefined;
  /** The time at which the caller waits no longer, by the monotonic clock. */
  readonly endMs: number;
  /** Whether it is on its way to the owner, and whether the caller has its answer. */
  isSent: boolean;
  isOver: boolean;
  settle(message: Extract<FromOwner, { readonly kind: "settled" | "answer" }>): void;
  reject(error: StorageFailure): void;
}

const greetingMs = 5000;
/** The time in which a write must be settled, and the time between two looks at those under way. */
const commitMs = 10_000;
const sweepMs = 1000;
/** The writes and questions that may be under way. */
const pendingMax = 10_000;
/** The bytes of a frame beside those of a value. */
const frameSlackBytes = 64 * 1024;

const lost = "the connection to the process that keeps the log was lost";
const busy = "too much waits for the process that keeps the log";
const slow = "the process that keeps the log does not answer in time";

const unreadable = "the process that keeps the log gives an answer that cannot be read";

export class OwnerConnection {
  readonly #options: ConnectionOptions;
  readonly #socket: FrameSocket;
  readonly #pending = new Map<number, Pending>();
  readonly #closed = Promise.withResolvers<string | undefined>();
  readonly #welcome = Promise.withResolvers<void>();
  #drained: (() => void) | undefined;
  #lastId = 0;
  /** The number of writers that wait. */
  #writers = 0;
  #isClosed = false;
  /** Whether the owner let somebody wait too long, and has not sent anything since. */
  #isSilent = false;
  #cancelSweep: (() => void) | undefined;

  /** Connects and greets. Rejects with `Unavailable`. */
  static async open(options: ConnectionOptions): Promise<OwnerConnection> {
    const connection = new OwnerConnection(options);
    const cancel = options.clock.after(greetingMs, () => connection.cut(slow));
    try {
      await connection.#welcome.promise;
      return connection;
    } finally {
      cancel();
    }
  }

  private constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#socket = new FrameSocket(createConnection(options.path, options.reached), {
      taken: (fields) => this.#take(readAll(fromOwner, fields)),
      closed: (problem) => this.#lost(problem),
    });
    this.#socket.send(frameOf(toOwner, { kind: "hello", protocol: protocolName }));
  }

  /** Resolves when the connection has ended, with the reason if there is one. */
  get closed(): Promise<string | undefined> {
    return this.#closed.promise;
  }

  /** Resolves with the result of a write. Rejects as `LogStore.commit` does. */
  commit(write: LogWrite): Promise<CommitResult> {
    const bytes = 3 * write.key.length + (write.value?.bytes.length ?? 0) + 3 * (write.note?.length ?? 0);
    if (bytes + frameSlackBytes > frameBytesMax)
      return Promise.reject(new Error(`a value of ${bytes} bytes is too long`));
    const problem = this.#problem;
    if (problem !== undefined) return Promise.reject(new Unavailable(problem));
    return new Promise((resolve, reject) => {
      const pending: Pending = {
        write,
        endMs: this.#options.clock.monotonic() + commitMs,
        isSent: false,
        isOver: false,
        settle: (message) => {
          if (message.kind !== "settled") throw new DamagedFrame("a write is answered like a question");
          resolve(message.result);
        },
        reject,
      };
      const id = this.#begin(pending);
      this.#socket.whenRoom(() => {
        pending.isSent = !pending.isOver;
        if (pending.isSent) this.#socket.send(frameOf(toOwner, { kind: "commit", id, write }, bytes + 256));
        else this.#pending.delete(id);
      });
    });
  }

  /** Asks the owner. Rejects with `Unavailable` when there is no answer in time. */
  ask<K extends QuestionKind>(question: QuestionOf<K>, timeoutMs: number): Promise<AnswerOf<K>> {
    const problem = this.#problem;
    if (problem !== undefined) return Promise.reject(new Unavailable(problem));
    // Safe: the kind of the question chooses the field of the answer.
    const kind = question.kind as K;
    return new Promise((resolve, reject) => {
      const id = this.#begin({
        write: undefined,
        endMs: this.#options.clock.monotonic() + timeoutMs,
        isSent: true,
        isOver: false,
        settle: (message) => {
          if (message.kind !== "answer") throw new DamagedFrame("a question is settled like a write");
          resolve(readAll(answers[kind], message.body) as AnswerOf<K>);
        },
        reject,
      });
      this.#socket.send(frameOf(toOwner, { kind: "ask", id, question }));
    });
  }

  /** Returns the write of this process with an id, which the owner has done. Throws `DamagedFrame` if there is none. */
  writeOf(id: number): LogWrite {
    const write = this.#pending.get(id)?.write;
    if (write === undefined) throw new DamagedFrame(`there is no write ${id}`);
    return write;
  }

  /** Settles a write that a change shows. */
  done(id: number, revision: number): void {
    this.#settle({ kind: "settled", id, result: { committed: true, revision } });
  }

  /** Resolves when no writer waits any more. */
  async drained(): Promise<void> {
    if (this.#writers > 0) await new Promise<void>((resolve) => (this.#drained = resolve));
  }

  cut(problem: string | undefined): void {
    this.#socket.cut(problem);
  }

  /** The reason why nothing more can be sent. */
  get #problem(): string | undefined {
    if (this.#isClosed) return lost;
    if (this.#isSilent) return slow;
    return this.#pending.size >= pendingMax ? busy : undefined;
  }

  #begin(pending: Pending): number {
    const id = ++this.#lastId;
    this.#pending.set(id, pending);
    if (pending.write !== undefined) this.#writers++;
    this.#cancelSweep ??= this.#options.clock.after(sweepMs, () => this.#sweep());
    return id;
  }

  #take(message: FromOwner): void {
    this.#isSilent = false;
    if (message.kind === "welcome") {
      if (message.protocol !== protocolName) throw new DamagedFrame(`the owner does not speak "${protocolName}"`);
      this.#welcome.resolve();
    } else if (message.kind === "settled" || message.kind === "answer") {
      this.#settle(message);
    } else if (message.kind === "failed") {
      const pending = this.#end(message.id);
      if (this.#leave(pending)) pending.reject(fromSentError(message.error));
    } else {
      this.#options.noticed(message, this);
    }
  }

  #settle(message: Extract<FromOwner, { readonly kind: "settled" | "answer" }>): void {
    const pending = this.#end(message.id);
    if (!this.#leave(pending)) return;
    try {
      pending.settle(message);
    } catch (error) {
      // The error ends the connection, which knows nothing of this caller any more.
      pending.reject(refusalOf(pending, `${unreadable}: ${(error as Error).message}`));
      throw error;
    }
  }

  #end(id: number): Pending {
    const pending = this.#pending.get(id);
    if (pending === undefined) throw new DamagedFrame(`nothing with the number ${id} is under way`);
    this.#pending.delete(id);
    return pending;
  }

  /** Notes that a caller has its answer. Returns whether it was waiting. */
  #leave(pending: Pending): boolean {
    if (pending.isOver) return false;
    pending.isOver = true;
    if (pending.write !== undefined) this.#writers--;
    if (this.#writers === 0) this.#drained?.();
    return true;
  }

  #refuse(pending: Pending, reason: string): void {
    if (this.#leave(pending)) pending.reject(refusalOf(pending, reason));
  }

  /** Answers those who have waited too long. A write stays known, since its change may still come. */
  #sweep(): void {
    const now = this.#options.clock.monotonic();
    for (const pending of this.#pending.values()) {
      if (pending.isOver || pending.endMs > now) continue;
      this.#isSilent = true;
      this.#refuse(pending, slow);
    }
    this.#cancelSweep = this.#pending.size === 0 ? undefined : this.#options.clock.after(sweepMs, () => this.#sweep());
  }

  #lost(problem: string | undefined): void {
    this.#isClosed = true;
    this.#cancelSweep?.();
    const reason = problem === undefined ? lost : `${lost}: ${problem}`;
    this.#welcome.reject(new Unavailable(reason));
    for (const pending of this.#pending.values()) this.#refuse(pending, reason);
    this.#pending.clear();
    this.#closed.resolve(problem);
  }
}

/** Returns the error of a caller that gets no answer: nobody knows what became of a write that was sent. */
function refusalOf({ write, isSent }: Pending, reason: string): StorageFailure {
  return write !== undefined && isSent ? new OutcomeUnknown(reason) : new Unavailable(reason);
}
