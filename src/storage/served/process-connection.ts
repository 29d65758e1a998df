/**
 * The connection of the owner of the log to one other process: it takes the writes and questions of the process, and tells
 * it of changes.
 */
import type { Socket } from "node:net";

import { Deque } from "#std/deque.ts";
import {
  isCompacted,
  type LogEvent,
  type LogStore,
  type LogWrite,
  type Revision,
  StorageRefusal,
  Unavailable,
  type UndoneChanges,
} from "../log-store.ts";
import type { StoreMaintenance } from "../opened-store.ts";
import { type SentError, toSentError } from "./errors.ts";
import { bytesOf, frameOf, readAll } from "./fields.ts";
import { DamagedFrame } from "./frame-bytes.ts";
import { FrameSocket } from "./frame-socket.ts";
import {
  type AnswerOf,
  answers,
  type FromOwner,
  fromOwner,
  type LogPosition,
  type LogState,
  protocolName,
  type Question,
  type QuestionKind,
  type QuestionOf,
  type SentChange,
  toOwner,
} from "./messages.ts";
import type { TurnKeeper } from "./turn-keeper.ts";

/** The log that is served. */
export interface ServedParts {
  readonly log: LogStore;
  readonly turns: TurnKeeper;
  /** Whether the log is about to be closed, and takes no more writes. */
  isClosing(): boolean;
  /** The revision up to which changes were delivered. */
  position(): LogPosition;
  /** Lets fresh reads of all processes wait for a revision that is about to be acknowledged. */
  aboutToShow(revision: Revision): void;
  state(): LogState;
  maintenance(): StoreMaintenance | undefined;
  isStale(key: string): boolean;
  /** Called once, when the connection has ended; `problem` says why this side ended it. */
  left(connection: ProcessConnection, problem: string | undefined): void;
}

/** The writes and questions of a process that may be under way, and their bytes; more are not read. */
const pendingMax = 4096;
const pendingBytesMax = 64 * 1024 * 1024;
/** The weights of the reads of the log that are under way at a time, since each has a page in memory, and that of each. */
const readsMax = 32;
const readWeights: Partial<Record<QuestionKind, number>> = { range: 4, versions: 4, history: 1 };
/** The maximum number of entries of a page, and the bytes of values after which a page ends. */
const pageEntriesMax = 1000;
const pageBytesMax = 4 * 1024 * 1024;

const ending = "the process that keeps the log is ending";

/** A page of a range, and what the next one need not read again. */
interface LastPage {
  readonly prefix: string;
  readonly at: Revision;
  readonly lastKey: string;
  readonly undone: UndoneChanges;
}

/** A write of another process. */
class ForeignWrite implements LogWrite {
  readonly connection: ProcessConnection;
  readonly id: number;
  readonly key: string;
  readonly expected: Revision;
  readonly value: LogWrite["value"];
  readonly ttlSeconds: number;
  readonly isForDeletion: boolean;
  readonly requires: LogWrite["requires"];
  readonly turn: LogWrite["turn"];
  readonly note: LogWrite["note"];
  /** Whether the process was told of the change that this write made, or of its result before the change came. */
  isTold = false;
  isSettled = false;

  constructor(connection: ProcessConnection, id: number, write: LogWrite) {
    this.connection = connection;
    this.id = id;
    this.key = write.key;
    this.expected = write.expected;
    this.value = write.value;
    this.ttlSeconds = write.ttlSeconds;
    this.isForDeletion = write.isForDeletion;
    this.requires = write.requires;
    this.turn = write.turn;
    this.note = write.note;
  }
}

export class ProcessConnection {
  readonly #served: ServedParts;
  readonly #socket: FrameSocket;
  #pending = 0;
  #pendingBytes = 0;
  /** The weights of the reads under way, and the reads that wait. */
  #reads = 0;
  readonly #waiting = new Deque<{ readonly weight: number; start(): void }>();
  /** The page of a range that was answered last and has a next one. */
  #lastPage: LastPage | undefined;
  /** Whether the process has said who it is, and whether it is told of changes. */
  isGreeted = false;
  isLive = false;

  constructor(socket: Socket, served: ServedParts) {
    this.#served = served;
    this.#socket = new FrameSocket(socket, {
      taken: (fields) => this.#take(fields),
      closed: (problem) => served.left(this, problem),
    });
  }

  tell(message: FromOwner): void {
    this.#socket.send(frameOf(fromOwner, message));
  }

  /** Tells of changes that this process did not make: `frame` says them for all processes. */
  tellFrame(frame: Buffer): void {
    this.#socket.send(frame);
  }

  /** Tells of the changes of one revision, of which this process made some. */
  tellOwn(events: readonly LogEvent[]): void {
    this.#socket.send(changedFrame(events, this, this.#served));
  }

  end(): void {
    this.#socket.end();
  }

  cut(problem: string | undefined): void {
    this.#socket.cut(problem);
  }

  #take(fields: Buffer): void {
    const message = readAll(toOwner, fields);
    if (message.kind === "hello") {
      if (message.protocol !== protocolName) throw new DamagedFrame(`the process does not speak "${protocolName}"`);
      this.isGreeted = true;
      this.tell({ kind: "welcome", protocol: protocolName });
      return this.tell({ kind: "state", ...this.#served.state() });
    }
    if (!this.isGreeted) throw new DamagedFrame("the first message is not a greeting");
    const { id } = message;
    const work = message.kind === "commit" ? this.#commit(id, message.write) : this.#answer(id, message.question);
    this.#begin(fields.length);
    work
      .catch((error: unknown) => this.tell({ kind: "failed", id, error: this.#toldOf(error) }))
      .finally(() => this.#end(fields.length));
  }

  #toldOf(error: unknown): SentError {
    // It was not done, and the next owner may do it.
    const isRefused = this.#served.isClosing() && !(error instanceof StorageRefusal);
    return toSentError(isRefused ? new Unavailable(ending) : error);
  }

  #begin(bytes: number): void {
    this.#pending++;
    this.#pendingBytes += bytes;
    if (this.#isBusy) this.#socket.pause();
  }

  #end(bytes: number): void {
    this.#pending--;
    this.#pendingBytes -= bytes;
    if (!this.#isBusy) this.#socket.resume();
  }

  get #isBusy(): boolean {
    return this.#pending >= pendingMax || this.#pendingBytes >= pendingBytesMax;
  }

  async #commit(id: number, sent: LogWrite): Promise<void> {
    if (this.#served.isClosing()) throw new Unavailable(ending);
    const write = new ForeignWrite(this, id, sent);
    const result = await this.#served.turns.commit(write, this);
    if (write.isTold) return;
    if (result.committed) this.#served.aboutToShow(result.revision);
    write.isSettled = true;
    this.tell({ kind: "settled", id, result });
  }

  async #answer(id: number, question: Question): Promise<void> {
    const weight = readWeights[question.kind];
    if (weight === undefined) return this.#give(id, question);
    await new Promise<void>((start) => {
      this.#waiting.push({ weight, start });
      this.#startReads();
    });
    try {
      await this.#give(id, question);
    } finally {
      this.#reads -= weight;
      this.#startReads();
    }
  }

  /** Starts the reads that wait, in their order, as long as there is room for the next one. */
  #startReads(): void {
    for (let next = this.#waiting.at(0); next !== undefined; next = this.#waiting.at(0)) {
      if (this.#reads + next.weight > readsMax) return;
      this.#waiting.shift();
      this.#reads += next.weight;
      next.start();
    }
  }

  /** Gives the answer to a question when the process has room for it. */
  async #give(id: number, question: Question): Promise<void> {
    const body = await this.#bodyOf(question.kind, question);
    await new Promise<void>((resolve) => this.#socket.whenRoom(resolve));
    this.tell({ kind: "answer", id, body });
  }

  async #bodyOf<K extends QuestionKind>(kind: K, question: Question): Promise<Buffer> {
    // Safe: the kind of the question chooses all three.
    const answer = await (this.#answers[kind] as (asked: Question) => Promise<AnswerOf<K>>)(question);
    return bytesOf(answers[kind], answer);
  }

  readonly #answers: { readonly [K in QuestionKind]: (question: QuestionOf<K>) => Promise<AnswerOf<K>> } = {
    present: () => Promise.resolve(this.#served.position()),
    subscribe: () => {
      // The answer is sent before the first change, which is not delivered in this turn.
      this.isLive = true;
      return Promise.resolve(this.#served.position());
    },
    range: async ({ prefix, from, limit, at, isKept }) => {
      const undone = this.#takeUndone(prefix, from, at);
      const options = { at, from, limit: Math.min(limit, pageEntriesMax), undone, isKept };
      const range = await this.#served.log.range(prefix, options);
      if (isCompacted(range)) return { kind: "compacted", ...range };
      let bytes = 0;
      const cutAt = range.entries.findIndex((entry) => (bytes += entry.value.bytes.length) > pageBytesMax) + 1;
      const entries = cutAt === 0 ? range.entries : range.entries.slice(0, cutAt);
      const remaining = range.remaining + range.entries.length - entries.length;
      if (remaining > 0) this.#lastPage = { prefix, at, lastKey: entries.at(-1)?.key ?? from, undone };
      const stale = entries.map(({ key }) => key).filter((key) => this.#served.isStale(key));
      return { kind: "page", entries, remaining, stale };
    },
    history: ({ prefix, exact, after, upTo }) => this.#served.log.history(prefix, exact, after, upTo),
    versions: ({ key, before, limit }) => this.#served.log.versions(key, before, Math.min(limit, pageEntriesMax)),
    around: ({ at }) => this.#served.log.revisionsAround(at),
    compact: async ({ revision }) => {
      await this.#served.log.compact(revision);
      return {};
    },
    backup: async ({ file }) => ({ revision: await this.#maintenance.backup(file) }),
    drop: ({ revision, at = 0 }) => this.#maintenance.drop(revision === undefined ? { at } : { revision }),
    probe: async () => {
      await this.#maintenance.probe();
      return {};
    },
  };

  /** Returns the changes that the page before has undone, if this one follows it. No other page uses them meanwhile. */
  #takeUndone(prefix: string, from: string, at: Revision): UndoneChanges {
    const page = this.#lastPage;
    if (page === undefined || page.prefix !== prefix || page.at !== at || page.lastKey > from) {
      return { replaced: new Map(), reached: at };
    }
    this.#lastPage = undefined;
    return page.undone;
  }

  get #maintenance(): StoreMaintenance {
    const maintenance = this.#served.maintenance();
    if (maintenance === undefined) throw new Unavailable("the process that keeps the log is starting");
    return maintenance;
  }
}

/** Whether a process made one of the changes. Returns the connection to it. */
export function makerOf(events: readonly LogEvent[]): ProcessConnection | undefined {
  for (const { write } of events) if (write instanceof ForeignWrite) return write.connection;
  return undefined;
}

/** Returns the frame that tells of the changes of one revision. The writes of `receiver` are told without their values. */
export function changedFrame(
  events: readonly LogEvent[],
  receiver: ProcessConnection | undefined,
  served: Pick<ServedParts, "isStale">,
): Buffer {
  let bytes = 64;
  const changes = events.map((event): SentChange => {
    const { key, value, write, unreadable } = event;
    // A write that was settled is known no more, and its change comes like one of somebody else.
    if (write instanceof ForeignWrite && write.connection === receiver && !write.isSettled) {
      write.isTold = true;
      return { kind: "own", id: write.id, isStale: served.isStale(key) };
    }
    bytes += 3 * key.length + 32 + (value?.bytes.length ?? 0);
    if (value === undefined) return { kind: "deleted", key };
    const isStale = served.isStale(key);
    return { kind: "put", key, value, isStale, ...(unreadable === undefined ? {} : { unreadable }) };
  });
  return frameOf(fromOwner, { kind: "changed", revision: events[0]!.revision, changes }, bytes);
}
