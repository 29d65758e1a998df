/**
 * The writes of this server that wait for their answer. The events of the watch say which of them were done, so that a
 * write whose answer is lost has a known outcome.
 */
import type { LogWrite, Revision } from "../log-store.ts";
import type { EtcdEvent } from "./client.ts";

/** A write on its way. */
export class OwnWrite {
  readonly write: LogWrite;
  /** The value as it is stored; `undefined` for a deletion. */
  readonly stored: Buffer | undefined;
  /** The revision that did what the write wants, as an event said. */
  doneAt: Revision | undefined;
  /** Whether changes were lost meanwhile, so that events no longer tell whether the write was done. */
  isBlind = false;
  /** Whether the version that the write replaces has a successor. */
  #isSucceeded = false;

  constructor(write: LogWrite, stored: Buffer | undefined) {
    this.write = write;
    this.stored = stored;
  }

  /** Whether an event said that it was done. */
  get isDone(): boolean {
    return this.doneAt !== undefined;
  }

  /** Takes a change of the key, and returns whether this write made it. Another writer of equal bytes counts as well. */
  take({ type, entry }: EtcdEvent): boolean {
    const { expected } = this.write;
    if (this.doneAt !== undefined || entry.revision <= expected) return false;
    const replaces = expected === 0 ? entry.version === 1 : !this.#isSucceeded;
    this.#isSucceeded = true;
    const isEqual = type === "delete" ? this.stored === undefined : this.stored?.equals(entry.value) === true;
    if (!replaces || !isEqual) return false;
    this.doneAt = entry.revision;
    return true;
  }
}

export class OwnWrites {
  /** The write on its way of each key of etcd; there is one at a time. */
  readonly #byKey = new Map<string, OwnWrite>();

  begin(key: string, write: LogWrite, stored: Buffer | undefined): OwnWrite {
    const own = new OwnWrite(write, stored);
    this.#byKey.set(key, own);
    return own;
  }

  end(key: string): void {
    this.#byKey.delete(key);
  }

  /** Returns the write that made a change, if it is one of these. */
  writeOf(event: EtcdEvent): LogWrite | undefined {
    const own = this.#byKey.get(event.entry.key);
    return own?.take(event) === true ? own.write : undefined;
  }

  /** Notes that changes were lost. */
  changesLost(): void {
    for (const own of this.#byKey.values()) own.isBlind = true;
  }
}
