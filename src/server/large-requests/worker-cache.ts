/**
 * The cache inside a thread of large requests. It knows the object of the request, and reads other objects through the
 * event loop, which also performs its writes.
 */
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { Revision } from "#storage/log-store.ts";
import { insertRevision } from "#storage/versioned-value.ts";
import {
  type CacheReader,
  type CacheWriter,
  DetachedEntry,
  type Encoded,
  type Entry,
  type PutOptions,
  type RemoveOptions,
  type WriteResult,
} from "#storage/watch-cache.ts";
import type { CallHost } from "./rpc-client.ts";
import type { HostCalls, SentEntry, SentObject } from "./messages.ts";

export class WorkerCache implements CacheReader, CacheWriter {
  readonly #callHost: CallHost;
  #entries = new Map<string, Entry>();
  /** The keys of entries that would be stored in another form now. */
  #stale = new Set<string>();
  revision: Revision = 0;
  /** The event loop reads the writes of other processes before it hands a request over. */
  readonly isShared = false;

  constructor(callHost: CallHost) {
    this.#callHost = callHost;
  }

  /** Begins another request, at a revision of the store. `entry` is the object of the request, if it exists. */
  begin(revision: Revision, entry: SentEntry | undefined): void {
    this.revision = revision;
    this.#entries = new Map();
    this.#stale = new Set();
    if (entry !== undefined) this.#learn(entry.key, entry);
  }

  /** Does nothing: the entry was read after the request had arrived. */
  fresh(): void {}

  waitFor(revision: Revision): Promise<boolean> {
    return Promise.resolve(revision <= this.revision);
  }

  get(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  getFresh(key: string): MaybePromise<Entry | undefined> {
    return this.#entries.get(key) ?? this.#callHost("read", key).then((sent) => this.#learn(key, sent));
  }

  put(
    key: string,
    expected: Revision,
    { bytes, revisionOffset, decode }: Encoded,
    options: PutOptions = {},
  ): Promise<WriteResult> {
    // Safe: `StoredObjects` encoded the value, and labels do not depend on its revision.
    const { labels } = decode(0) as { readonly labels?: SentObject["labels"] };
    const { ttlSeconds = 0, isForDeletion = false } = options;
    return this.#write({
      key,
      expected,
      object: { bytes, revisionOffset, labels },
      ttlSeconds,
      isForDeletion,
      note: undefined,
    });
  }

  remove(key: string, expected: Revision, { note }: RemoveOptions = {}): Promise<WriteResult> {
    return this.#write({ key, expected, object: undefined, ttlSeconds: 0, isForDeletion: true, note });
  }

  #learn(key: string, sent: SentEntry | undefined): Entry | undefined {
    this.#stale.delete(key);
    if (sent === undefined) {
      this.#entries.delete(key);
      return undefined;
    }
    const entry = new DetachedEntry({ ...sent, value: bufferOf(sent.value) });
    this.#entries.set(key, entry);
    if (sent.isStale) this.#stale.add(key);
    return entry;
  }

  async #write(write: HostCalls["write"]["parameters"]): Promise<WriteResult> {
    const { key, object } = write;
    const answer = await this.#callHost("write", write);
    if (!answer.ok) return { ok: false, current: this.#learn(key, answer.current), failed: answer.failed };
    const { revision, created } = answer;
    const value =
      object === undefined ? noBytes : insertRevision({ ...object, bytes: bufferOf(object.bytes) }, revision);
    return { ok: true, entry: new DetachedEntry({ key, value, revision, created }) };
  }

  isStale(key: string): boolean {
    return this.#stale.has(key);
  }
}

const noBytes = Buffer.alloc(0);

/** Returns the same bytes as a buffer, without a copy. */
export const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
