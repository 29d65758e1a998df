/** An entry outside the cache, with bytes of its own: a version from the log, or one of another thread. */
import type { Revision } from "../log-store.ts";

interface Fields {
  readonly key: string;
  readonly value: Buffer;
  readonly revision: Revision;
  readonly created: Revision;
  readonly unreadable?: string | undefined;
  readonly decoded?: unknown;
}

/** An `Entry`. */
export class DetachedEntry {
  readonly key: string;
  readonly value: Buffer;
  readonly revision: Revision;
  readonly created: Revision;
  readonly unreadable: string | undefined;
  decoded: unknown;

  constructor({ key, value, revision, created, unreadable, decoded }: Fields) {
    this.key = key;
    this.value = value;
    this.revision = revision;
    this.created = created;
    this.unreadable = unreadable;
    this.decoded = decoded;
  }

  get valueLength(): number {
    return this.value.length;
  }

  get ownValue(): Buffer {
    return this.value;
  }

  beginsWith(bytes: Buffer): boolean {
    return this.value.subarray(0, bytes.length).equals(bytes);
  }

  copyValue(target: Buffer, at: number, from: number, to: number): number {
    return this.value.copy(target, at, from, to);
  }
}
