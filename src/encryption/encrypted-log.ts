/**
 * A log store that encrypts values, around another log store. Followers see plain values; a process does not decrypt
 * its own writes. A value that cannot be decrypted reaches followers as unreadable, with the reason, and is tried again
 * when keys change.
 *
 * The encrypted value is the packed form (`versioned-value.ts`), so its length is the only thing it reveals.
 */
import { andThen, attempt, isLate, type MaybePromise } from "#std/maybe-promise.ts";
import { yieldToEventLoop } from "#std/cooperative.ts";
import { ForwardingLog } from "#storage/forwarding-log.ts";
import {
  type CommitResult,
  type Compacted,
  isCompacted,
  type LogVersion,
  type LogVersions,
  type LogEntry,
  type LogEvent,
  type LogFollower,
  type LogRange,
  type LogRangeOptions,
  type LogStore,
  type LogWrite,
  type HistoryEvent,
  type HistoryPage,
  type Revision,
  StorageRefusal,
  type Unversioned,
} from "#storage/log-store.ts";
import { pack } from "#storage/versioned-value.ts";
import { inClear } from "./stored-value.ts";
import { TransformError } from "./transformer.ts";
import type { Transformers } from "./transformers.ts";

/** A write in the form that the log below gets. */
class EncryptedWrite implements LogWrite {
  readonly clear: LogWrite;
  readonly key: string;
  readonly expected: Revision;
  readonly value: Unversioned;
  readonly ttlSeconds: number;
  readonly isForDeletion: boolean;
  readonly mayWrite: LogWrite["mayWrite"];
  readonly stored: StoredForm;

  constructor(clear: LogWrite, bytes: Buffer, stored: StoredForm) {
    this.clear = clear;
    this.key = clear.key;
    this.expected = clear.expected;
    this.value = { bytes, revisionOffset: -1 };
    this.ttlSeconds = clear.ttlSeconds;
    this.isForDeletion = clear.isForDeletion;
    this.mayWrite = clear.mayWrite;
    this.stored = stored;
  }
}

/** The form in which an encrypted current value is stored. Values that are stored alike share the object. */
interface StoredForm {
  readonly origin: string;
  /** The number of bytes that encryption added. */
  readonly extraBytes: number;
}

/** Values for which a new configuration has no key. */
interface Unknown {
  readonly values: number;
  /** The store key of one of these values. */
  readonly key: string | undefined;
}

/** The number of values after which other work has a turn. */
const valuesPerTurn = 256;

/** The origin of unreadable values. */
const unreadableOrigin = "?";

const nothing = { bytes: Buffer.alloc(0), revisionOffset: -1 };

export class EncryptedLog extends ForwardingLog {
  #transformers: Transformers;
  #follower: LogFollower | undefined;
  /** The stored forms of the current values that are encrypted, by key. */
  readonly #stored = new Map<string, StoredForm>();
  readonly #forms = new Map<string, StoredForm>();
  #extraBytes = 0;
  /** The current values that cannot be read, as they are stored. */
  readonly #unreadable = new Map<string, LogEntry>();
  /** The last of the notifications that wait for an earlier asynchronous step; `undefined` when none waits. */
  #tail: Promise<void> | undefined;

  constructor(log: LogStore, transformers: Transformers) {
    super(log);
    this.#transformers = transformers;
  }

  /** The number of current values that cannot be read. */
  get unreadable(): number {
    return this.#unreadable.size;
  }

  /** The key of one of the values that cannot be read. */
  get unreadableKey(): string | undefined {
    return this.#unreadable.keys().next().value;
  }

  /** Resolves when everything was delivered, including values whose decryption took time. */
  override async follow(follower: LogFollower): Promise<void> {
    this.#follower = follower;
    const extraBytes = (): number => this.#extraBytes;
    await this.log.follow({
      load: (entry) => this.#load(entry),
      changed: (event, write) => this.#changed(event, write),
      compacted: (revision) => this.#deliver(() => follower.compacted(revision)),
      recovered: (entries) => this.#deliver(() => follower.recovered(entries)),
      get valueBytes() {
        return follower.valueBytes + extraBytes();
      },
      scanKeys: (from, to, visit) => follower.scanKeys(from, to, visit),
      countKeys: (from, to) => follower.countKeys(from, to),
    });
    while (this.#tail !== undefined) await this.#tail;
  }

  override commit(write: LogWrite): Promise<CommitResult> {
    const { key, value } = write;
    if (value === undefined) return this.log.commit(write);
    const transformer = this.#transformers.of(key);
    if (transformer.origin === "") return this.log.commit(write);
    try {
      const bytes = transformer.encrypt(pack(value), Buffer.from(key));
      const stored = this.#form(transformer.origin ?? "", bytes.length - value.bytes.length);
      return this.log.commit(new EncryptedWrite(write, bytes, stored));
    } catch (error) {
      if (!(error instanceof TransformError)) throw error;
      return Promise.reject(new StorageRefusal(error.message, { cause: error }));
    }
  }

  override isStale(key: string): boolean {
    const { origin } = this.#transformers.of(key);
    return origin !== undefined && origin !== (this.#stored.get(key)?.origin ?? "");
  }

  override async range(prefix: string, options: LogRangeOptions): Promise<LogRange | Compacted> {
    const range = await this.log.range(prefix, options);
    if (isCompacted(range)) return range;
    return { ...range, entries: await Promise.all(range.entries.map((entry) => this.#clear(entry))) };
  }

  override async history(
    prefix: string,
    exact: boolean,
    after: Revision,
    upTo: Revision,
  ): Promise<HistoryPage | undefined> {
    const page = await this.log.history(prefix, exact, after, upTo);
    return page && { ...page, events: await Promise.all(page.events.map((event) => this.#clearEvent(event))) };
  }

  override async versions(key: string, before: Revision, limit: number): Promise<LogVersions> {
    const stored = await this.log.versions(key, before, limit);
    return { ...stored, versions: await Promise.all(stored.versions.map((version) => this.#clearVersion(version))) };
  }

  override async close(): Promise<void> {
    await this.log.close();
    await this.#tail;
  }

  /**
   * Uses these transformers from now on. Tries to read unreadable values again, and returns the values that have lost
   * their key.
   */
  async use(transformers: Transformers): Promise<Unknown> {
    this.#transformers = transformers;
    await this.retry();
    let values = 0;
    let first: string | undefined;
    let looked = 0;
    for (const [key, { origin }] of this.#stored) {
      if (++looked % valuesPerTurn === 0) await yieldToEventLoop();
      if (origin === unreadableOrigin || transformers.of(key).knows(origin)) continue;
      values++;
      first ??= key;
    }
    return { values, key: first };
  }

  /** Tries to read unreadable values again, since a provider may work now. */
  async retry(): Promise<void> {
    const entries: LogEntry[] = [];
    let looked = 0;
    for (const entry of this.#unreadable.values()) {
      if (++looked % valuesPerTurn === 0) await yieldToEventLoop();
      const read = await this.#read(entry);
      // The entry may have been replaced meanwhile.
      if ("problem" in read || this.#unreadable.get(entry.key) !== entry) continue;
      this.#unreadable.delete(entry.key);
      this.#note(entry.key, read.stored);
      entries.push({ ...entry, value: read.value });
    }
    if (entries.length > 0) this.#deliver(() => this.#follower?.recovered(entries));
  }

  #load(entry: LogEntry): void {
    const read = this.#read(entry);
    if (!isLate(read) && !("problem" in read)) {
      this.#note(entry.key, read.stored);
      this.#follower?.load(read.stored === undefined ? entry : { ...entry, value: read.value });
      return;
    }
    // The log may overwrite the values that it passes on, so this one is copied.
    const copy = {
      ...entry,
      value: { bytes: Buffer.from(entry.value.bytes), revisionOffset: entry.value.revisionOffset },
    };
    this.#deliverRead(copy, read, (shown) => this.#follower?.load(shown));
  }

  #changed(event: LogEvent, write: LogWrite | undefined): void {
    const { key, value, revision, expiresAt } = event;
    this.#unreadable.delete(key);
    if (write instanceof EncryptedWrite) {
      const { clear, stored } = write;
      this.#note(key, stored);
      this.#deliver(() => this.#follower?.changed({ key, value: clear.value, revision, expiresAt }, clear));
    } else if (value === undefined || write !== undefined) {
      this.#note(key, undefined);
      this.#deliver(() => this.#follower?.changed(event, write));
    } else {
      const entry = {
        key,
        value: { bytes: Buffer.from(value.bytes), revisionOffset: value.revisionOffset },
        revision,
        expiresAt,
      };
      this.#deliverRead(entry, this.#read(entry), (shown) => this.#follower?.changed(shown, undefined));
    }
  }

  /** Delivers an entry that is being decrypted, without changing the order of entries. */
  #deliverRead(entry: LogEntry, reading: MaybePromise<Read>, show: (entry: LogEntry) => void): void {
    const done = (read: Read): void => {
      if ("problem" in read) {
        this.#note(entry.key, this.#form(unreadableOrigin, entry.value.bytes.length));
        this.#unreadable.set(entry.key, entry);
        show({ ...entry, value: nothing, unreadable: read.problem });
      } else {
        this.#note(entry.key, read.stored);
        show({ ...entry, value: read.value });
      }
    };
    if (this.#tail === undefined && !isLate(reading)) done(reading);
    else this.#append(() => andThen(reading, done));
  }

  #deliver(step: () => void): void {
    if (this.#tail === undefined) step();
    else this.#append(step);
  }

  #append(step: () => MaybePromise<void>): void {
    const tail = (this.#tail ?? Promise.resolve()).then(step).then(() => {
      if (this.#tail === tail) this.#tail = undefined;
    });
    this.#tail = tail;
  }

  #read(entry: ValueOfKey): MaybePromise<Read> {
    return attempt((one) => this.#decrypt(one), entry, problemOf);
  }

  /** Decrypts a value. Throws or rejects with `TransformError`. */
  #decrypt({ key, value }: ValueOfKey): MaybePromise<Read> {
    return andThen(inClear(this.#transformers, key, value), ({ value: clear, stored }) => ({
      value: clear,
      stored: stored && this.#form(stored.origin, stored.extraBytes),
    }));
  }

  async #clear<T extends ValueOfKey>(entry: T): Promise<T & Pick<LogEntry, "value" | "unreadable">> {
    const read = await this.#read(entry);
    return "problem" in read ? { ...entry, value: nothing, unreadable: read.problem } : { ...entry, value: read.value };
  }

  async #clearEvent(event: HistoryEvent): Promise<HistoryEvent> {
    const { value, previous, ...of } = event;
    const before = previous && (await this.#clear(previous));
    return value === undefined
      ? { ...of, value, previous: before }
      : { ...(await this.#clear({ ...of, value })), previous: before };
  }

  async #clearVersion(version: LogVersion): Promise<LogVersion> {
    const { value, ...of } = version;
    return value === undefined ? version : { ...of, ...(await this.#clear({ ...of, value })) };
  }

  /**
   * Records the stored form of the current value of a key; `undefined` when it is not encrypted, or there is no value.
   */
  #note(key: string, stored: StoredForm | undefined): void {
    const before = this.#stored.get(key);
    if (before === stored) return;
    this.#extraBytes += (stored?.extraBytes ?? 0) - (before?.extraBytes ?? 0);
    if (stored === undefined) this.#stored.delete(key);
    else this.#stored.set(key, stored);
  }

  #form(origin: string, extraBytes: number): StoredForm {
    const name = `${extraBytes} ${origin}`;
    let form = this.#forms.get(name);
    if (form === undefined) {
      form = { origin, extraBytes };
      this.#forms.set(name, form);
    }
    return form;
  }
}

/** A value in clear, and how it is stored; or why it cannot be read. */
/** A value and the key that holds it. */
type ValueOfKey = Pick<LogEntry, "key" | "value">;

type Read = { readonly value: Unversioned; readonly stored: StoredForm | undefined } | { readonly problem: string };

function problemOf(error: unknown): Read {
  if (error instanceof TransformError) return { problem: error.message };
  throw error;
}
