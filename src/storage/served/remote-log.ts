/**
 * The log of another process of the same machine (`served-log.ts`), as a process that does not own it has it. Reads of
 * the present ask the file of the revision and nobody else, so they go on while the owner is being started again.
 */
import type { Clock } from "#std/clock.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import {
  type CommitResult,
  type Compacted,
  type HistoryPage,
  type LogFollower,
  type LogRange,
  type LogRangeOptions,
  type LogStore,
  type LogVersions,
  type LogWrite,
  type Revision,
  type RevisionsAround,
  StorageFailure,
  StorageFull,
  StorageRefusal,
} from "../log-store.ts";
import type { StoreMaintenance } from "../opened-store.ts";
import { packedForm } from "../packed-value.ts";
import type { AnswerOf, QuestionKind, QuestionOf } from "./messages.ts";
import type { OwnerConnection } from "./owner-connection.ts";
import { OwnerFeed } from "./owner-feed.ts";
import { RevisionReader } from "./revision-file.ts";
import { socketPathIn } from "./served-log.ts";
import { readRange } from "./state-reader.ts";

export interface RemoteLogOptions {
  /** The folder with the socket and the file of the revision. */
  readonly folder: string;
  readonly clock: Clock;
  /** Is told why a connection was ended. */
  readonly warn: (problem: string) => void;
  /**
   * Called when the log has gone back behind what was heard of it, as after a loss. This process has shown what is gone,
   * and must end.
   */
  readonly goneBack: (failure: StorageFailure) => void;
}

/** The time for which a lost connection may be made anew before a request is refused. */
const reachMs = 5000;
/** The time of reads of the past, and that of work that takes as long as the log is large. */
const readMs = 15_000;
const workMs = 60 * 60 * 1000;

export class RemoteLog implements LogStore, StoreMaintenance {
  readonly form = packedForm;
  readonly hasHistory = true;
  readonly isShared = true;
  readonly #feed: OwnerFeed;
  readonly #file: RevisionReader;
  /** The connection with which the file was opened: another owner may have made another file. */
  #fileOf: OwnerConnection | undefined;
  #isClosed = false;

  /** Waits until the owner serves the log, and reads its state. Rejects with `StorageFailure`. */
  static async open(options: RemoteLogOptions): Promise<RemoteLog> {
    const feed = new OwnerFeed({ ...options, path: socketPathIn(options.folder) });
    await feed.prepare();
    try {
      return new RemoteLog(options, feed);
    } catch (error) {
      await feed.close();
      throw error;
    }
  }

  private constructor({ folder }: RemoteLogOptions, feed: OwnerFeed) {
    this.#feed = feed;
    this.#file = new RevisionReader(folder);
  }

  get revision(): Revision {
    return this.#feed.heard;
  }

  get compactedRevision(): Revision {
    return this.#feed.compacted;
  }

  get failure(): Error | undefined {
    const { failure, state } = this.#feed;
    return failure ?? (state.failure === undefined ? undefined : new StorageRefusal(state.failure));
  }

  get full(): StorageFull | undefined {
    const { full } = this.#feed.state;
    return full === undefined ? undefined : new StorageFull(full);
  }

  get size(): StoreMaintenance["size"] {
    return this.#feed.state.size;
  }

  isStale(key: string): boolean {
    return this.#feed.stale.has(key);
  }

  follow(follower: LogFollower): Promise<void> {
    return this.#feed.start(follower);
  }

  /** Returns the last revision that any process may have shown, when this one has heard of it. */
  latest(): MaybePromise<Revision> {
    if (this.#isClosed) return Promise.reject(closed());
    let revision: Revision | undefined;
    try {
      revision = this.#readFile();
    } catch (error) {
      return Promise.reject(error as StorageFailure);
    }
    if (revision === undefined) return this.#askLatest();
    return revision <= this.#feed.heard ? revision : this.#heard(revision);
  }

  commit(write: LogWrite): Promise<CommitResult> {
    if (this.#feed.failure !== undefined) return Promise.reject(this.#feed.failure);
    if (this.#isClosed) return Promise.reject(closed());
    if (!write.key.isWellFormed()) return Promise.reject(new Error("a key must be well-formed text"));
    const connection = this.#feed.connection(reachMs);
    return connection instanceof Promise ? connection.then((one) => one.commit(write)) : connection.commit(write);
  }

  async range(prefix: string, options: LogRangeOptions): Promise<LogRange | Compacted> {
    const { at, from = prefix, limit = Number.MAX_SAFE_INTEGER, isKept = false } = options;
    return readRange(await this.#connection(), { prefix, from, limit, at, isKept });
  }

  history(prefix: string, exact: boolean, after: Revision, upTo: Revision): Promise<HistoryPage | undefined> {
    return this.#ask({ kind: "history", prefix, exact, after, upTo }, readMs);
  }

  versions(key: string, before: Revision, limit: number): Promise<LogVersions> {
    return this.#ask({ kind: "versions", key, before, limit }, readMs);
  }

  revisionsAround(at: number): Promise<RevisionsAround> {
    return this.#ask({ kind: "around", at }, readMs);
  }

  async compact(revision: Revision): Promise<void> {
    await this.#ask({ kind: "compact", revision }, workMs);
  }

  async backup(file: string): Promise<Revision> {
    const { revision } = await this.#ask({ kind: "backup", file }, workMs);
    return revision;
  }

  drop(
    before: { readonly revision: Revision } | { readonly at: number },
  ): Promise<{ readonly revision: Revision; readonly bytes: number }> {
    return this.#ask({ kind: "drop", ...before }, workMs);
  }

  async probe(): Promise<void> {
    await this.#ask({ kind: "probe" }, readMs);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#feed.close();
    this.#file.close();
  }

  async #connection(): Promise<OwnerConnection> {
    if (this.#isClosed) throw closed();
    return this.#feed.connection(reachMs);
  }

  async #ask<K extends QuestionKind>(question: QuestionOf<K>, timeoutMs: number): Promise<AnswerOf<K>> {
    return (await this.#connection()).ask(question, timeoutMs);
  }

  /** Throws `StorageFailure`. */
  #readFile(): Revision | undefined {
    const { live } = this.#feed;
    if (live === undefined || live !== this.#fileOf) {
      this.#file.renew();
      this.#fileOf = live;
    }
    return this.#file.read();
  }

  async #askLatest(): Promise<Revision> {
    const { revision } = await this.#ask({ kind: "present" }, readMs);
    return revision <= this.#feed.heard ? revision : this.#heard(revision);
  }

  async #heard(revision: Revision): Promise<Revision> {
    await this.#feed.until(revision, reachMs);
    return revision;
  }
}

const closed = (): StorageFailure => new StorageFailure("the store is closed");
