/**
 * The store inside a thread of large requests: the one object of the request, and writes, which the event loop
 * performs. Everything else fails.
 */
import type { Revision } from "#storage/log-store.ts";
import { atRevision } from "#storage/versioned-value.ts";
import type { Encoded, Entry, PutOptions, WatchCache, WriteResult } from "#storage/watch-cache.ts";
import type { Ask } from "./ask.ts";
import type { Questions, SentEntry, SentObject } from "./messages.ts";

export class RemoteCache implements WatchCache {
  readonly #ask: Ask;
  #known = new Map<string, Entry & Partial<Pick<SentEntry, "isStale">>>();
  revision: Revision = 0;
  readonly compactedRevision: Revision = 0;
  readonly failure: Error | undefined;
  /** The event loop refuses what finds no room. */
  readonly full = undefined;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  /** Another request begins: it sees `revision`, and of what is stored then `entry`. */
  begin(revision: Revision, entry: SentEntry | undefined): void {
    this.revision = revision;
    this.#known = new Map();
    if (entry !== undefined) this.#known.set(entry.key, entryOf(entry));
  }

  /** Nothing to do: the entry was read after the request had arrived. */
  fresh(): void {}

  waitFor(revision: Revision): Promise<boolean> {
    return Promise.resolve(revision <= this.revision);
  }

  get(key: string): Entry | undefined {
    return this.#known.get(key);
  }

  /** The current entry at any revision, since handlers here ask for no other. */
  async getAt(key: string): Promise<Entry | undefined> {
    return this.#learn(key, await this.#ask("read", key));
  }

  put(
    key: string,
    expected: Revision,
    { bytes, place, view }: Encoded,
    options: PutOptions = {},
  ): Promise<WriteResult> {
    // Safe: as `StoredObjects` makes views, which do not depend on the revision.
    const { labels } = view(0) as { readonly labels?: SentObject["labels"] };
    const { ttlSeconds = 0, isForDeletion = false } = options;
    return this.#write({ key, expected, object: { bytes, place, labels }, ttlSeconds, isForDeletion });
  }

  remove(key: string, expected: Revision): Promise<WriteResult> {
    return this.#write({ key, expected, object: undefined, ttlSeconds: 0, isForDeletion: true });
  }

  #learn(key: string, sent: SentEntry | undefined): Entry | undefined {
    const entry = sent === undefined ? undefined : entryOf(sent);
    if (entry === undefined) this.#known.delete(key);
    else this.#known.set(key, entry);
    return entry;
  }

  async #write(write: Questions["write"]["ask"]): Promise<WriteResult> {
    const { key, object } = write;
    const answer = await this.#ask("write", write);
    if (!answer.ok) return { ok: false, current: this.#learn(key, answer.current) };
    const { revision, created, expiresAt } = answer;
    const value = object === undefined ? noBytes : atRevision({ ...object, bytes: bufferOf(object.bytes) }, revision);
    return { ok: true, entry: { key, value, revision, created, expiresAt, view: undefined } };
  }

  isStale(key: string): boolean {
    return this.#known.get(key)?.isStale === true;
  }

  range(): never {
    throw notHere();
  }

  rangeAt(): never {
    throw notHere();
  }

  count(): never {
    throw notHere();
  }

  watch(): never {
    throw notHere();
  }

  compact(): never {
    throw notHere();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

const noBytes = Buffer.alloc(0);

const notHere = (): Error => new Error("a thread of large requests has only the object of its request");

const entryOf = (sent: SentEntry): Entry => ({ ...sent, value: bufferOf(sent.value), view: undefined });

/** The same bytes as a buffer. */
export const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
