/**
 * The store as a thread of large requests sees it: the one object the request is about, which came with the request, and
 * writes, which the event loop does. Everything else has no place here and fails.
 */
import type { Backend, Encode, Entry, Revision, WriteResult } from "#storage/backend.ts";
import type { Ask } from "./ask.ts";
import type { Questions, SentEntry, SentObject } from "./messages.ts";

/** Stands in what is encoded for the revision that the event loop will give. No revision is as large. */
const pendingRevision: Revision = Number.MAX_SAFE_INTEGER;
const pendingDigits = String(pendingRevision);
const versionMember = `"resourceVersion":"`;
const pendingMember = Buffer.from(`${versionMember}${pendingDigits}"`);

export class RemoteBackend implements Backend {
  readonly #ask: Ask;
  #known = new Map<string, Entry>();
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

  /** What came with the request was read after the request had come. */
  fresh(): void {}

  waitFor(revision: Revision): Promise<boolean> {
    return Promise.resolve(revision <= this.revision);
  }

  get(key: string): Entry | undefined {
    return this.#known.get(key);
  }

  /** The present entry, whatever the revision is: nobody here asks for another. */
  async getAt(key: string): Promise<Entry | undefined> {
    return this.#learn(key, await this.#ask("read", key));
  }

  put(key: string, expected: Revision, encode: Encode, ttlSeconds = 0, isForDeletion = false): Promise<WriteResult> {
    return this.#write(key, encode, { expected, ttlSeconds, removes: false, isForDeletion });
  }

  remove(key: string, expected: Revision, encodeLast: Encode): Promise<WriteResult> {
    return this.#write(key, encodeLast, { expected, ttlSeconds: 0, removes: true, isForDeletion: true });
  }

  #learn(key: string, sent: SentEntry | undefined): Entry | undefined {
    const entry = sent === undefined ? undefined : entryOf(sent);
    if (entry === undefined) this.#known.delete(key);
    else this.#known.set(key, entry);
    return entry;
  }

  async #write(
    key: string,
    encode: Encode,
    how: Omit<Questions["write"]["ask"], "key" | "object">,
  ): Promise<WriteResult> {
    const { value, view } = encode(pendingRevision);
    // The object that is removed may be sent as it was, with the revision it had.
    const at = value.indexOf(pendingMember);
    const object: SentObject = {
      value,
      versionAt: at < 0 ? 0 : at + versionMember.length,
      versionLength: at < 0 ? 0 : pendingDigits.length,
      labels: (view as { readonly labels?: SentObject["labels"] }).labels, // as `StoredObjects` makes views
    };
    const answer = await this.#ask("write", { key, object, ...how });
    if (!answer.ok) return { ok: false, current: this.#learn(key, answer.current) };
    const { revision, created, expiresAt } = answer;
    const entry = { key, value: withRevision(object, revision), revision, created, expiresAt, view: undefined };
    return { ok: true, entry };
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

  backup(): never {
    throw notHere();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

const notHere = (): Error => new Error("a thread of large requests has only the object of its request");

const entryOf = (sent: SentEntry): Entry => ({ ...sent, value: bufferOf(sent.value), view: undefined });

/** The same bytes as a buffer. */
export const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** The bytes of an object with the revision it got. */
export function withRevision({ value, versionAt, versionLength }: SentObject, revision: Revision): Buffer {
  const bytes = bufferOf(value);
  if (versionLength === 0) return bytes;
  return Buffer.concat([
    bytes.subarray(0, versionAt),
    Buffer.from(String(revision)),
    bytes.subarray(versionAt + versionLength),
  ]);
}
