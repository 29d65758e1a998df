/** Encoded bytes that are kept for later answers, by what they were made of, in bounded memory. */
import { ownCopy } from "#std/own-copy.ts";

/**
 * The bytes that an entry takes beside its content: the buffer and its backing store, the entry, and its place in the
 * map. Measured with Node 26.
 */
const entryBytes = 512;

/** Bytes with what else is needed to use them again. */
interface Kept {
  readonly bytes: Buffer;
}

export class KeptBytes<T extends Kept> {
  readonly #bytesMax: number;
  /** Entries are in memory as long as their keys; all are dropped when they are too many. */
  #entries = new WeakMap<object, T>();
  #bytes = 0;

  /** `bytesMax`: the memory of all entries. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get(key: object): T | undefined {
    return this.#entries.get(key);
  }

  /** Keeps an entry in place of an earlier one with the same key. */
  set(key: object, entry: T): void {
    const { bytes } = entry;
    this.#bytes += bytes.length + entryBytes;
    if (this.#bytes > this.#bytesMax) {
      this.#entries = new WeakMap();
      this.#bytes = bytes.length + entryBytes;
    }
    this.#entries.set(
      key,
      entry.bytes.buffer.byteLength === bytes.length ? entry : { ...entry, bytes: ownCopy(bytes) },
    );
  }
}
