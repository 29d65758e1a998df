/**
 * A log store that encrypts values, around another log store. Followers see plain values; a process does not decrypt
 * its own writes. A value that cannot be decrypted reaches followers as unreadable, with the reason, and is tried again
 * when keys change.
 *
 * The encrypted value is the form in which the log stores values (`ValueForm`), so its length is the only thing it
 * reveals.
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
  UnreadableValue,
  type Unversioned,
} from "#storage/log-store.ts";
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
  readonly requires: LogWrite["requires"];
  readonly turn: LogWrite["turn"];
  readonly note: LogWrite["note"];
  readonly stored: StoredForm;

  constructor(clear: LogWrite, bytes: Buffer, stored: StoredForm) {
    this.clear = clear;
    this.key = clear.key;
    this.expected = clear.expected;
    this.value = { bytes, revisionOffset: -1 };
    this.ttlSeconds = clear.ttlSeconds;
    this.isForDeletion = clear.isForDeletion;
    this.requires = clear.requires;
    this.turn = clear.turn;
    this.note = clear.note;
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

  override get formName(): string | undefined {
    return this.#transformers.formName;
  }

  override get addedBytes(): number {
    return super.addedBytes + this.#extraBytes;
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
    await this.log.follow({
      load: (entry) => this.#load(entry),
      changed: (events) => this.#changed(events),
      progressed: (revision) => this.#deliver(() => follower.progressed(revision)),
      reloaded: (entries, revision) => this.#reloaded(entries, revision),
      compacted: (revision) => this.#deliver(() => follower.compacted(revision)),
      recovered: (entries) => this.#deliver(() => follower.recovered(entries)),
    });
    while (this.#tail !== undefined) await this.#tail;
  }

  override commit(write: LogWrite): Promise<CommitResult> {
    const { key, value } = write;
    if (value === undefined) return this.log.commit(write);
    const transformer = this.#transformers.of(key);
    if (transformer.origin === "") return this.log.commit(write);
    try {
      const bytes = transformer.encrypt(this.form.pack(value), this.form.nameOf(key));
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
    if (this.#tail === undefined && !isLate(read) && !("problem" in read)) {
      this.#note(entry.key, read.stored);
      this.#follower?.load(read.stored === undefined ? entry : { ...entry, value: read.value });
      return;
    }
    const shown = this.#clearOfEntry(entry, read);
    const deliver = ({ event, stored, unread }: Shown<LogEntry>): void => {
      this.#record(event.key, stored, unread);
      this.#follower?.load(event);
    };
    if (this.#tail === undefined && !isLate(shown)) deliver(shown);
    else this.#append(() => andThen(shown, deliver));
  }

  #changed(events: readonly LogEvent[]): void {
    const shown = events.map((event) => this.#clearOf(event));
    const deliver = (clear: readonly Shown[]): void => {
      for (const { event, stored, unread } of clear) this.#record(event.key, stored, unread);
      this.#follower?.changed(clear.map(({ event }) => event));
    };
    if (this.#tail === undefined && !shown.some(isLate)) deliver(shown as readonly Shown[]);
    else this.#append(() => Promise.all(shown.map(async (one) => one)).then(deliver));
  }

  #reloaded(entries: readonly LogEntry[], revision: Revision): void {
    this.#append(async () => {
      const shown: Shown<LogEntry>[] = [];
      for (const [at, entry] of entries.entries()) {
        if (at % valuesPerTurn === valuesPerTurn - 1) await yieldToEventLoop();
        shown.push(await this.#clearOfEntry(entry));
      }
      this.#stored.clear();
      this.#unreadable.clear();
      this.#extraBytes = 0;
      for (const { event, stored, unread } of shown) this.#record(event.key, stored, unread);
      this.#follower?.reloaded(
        shown.map(({ event }) => event),
        revision,
      );
    });
  }

  /** Returns an event as the follower gets it. */
  #clearOf(event: LogEvent): MaybePromise<Shown> {
    const { value, write } = event;
    if (write instanceof EncryptedWrite) {
      const { clear, stored } = write;
      const { key, revision } = event;
      return { event: { key, value: clear.value, revision, write: clear }, stored, unread: undefined };
    }
    if (value === undefined || write !== undefined) return { event, stored: undefined, unread: undefined };
    return andThen(this.#clearOfEntry({ key: event.key, value, revision: event.revision }), (shown) => ({
      ...shown,
      event: { ...shown.event, write: undefined },
    }));
  }

  /** Returns an entry as the follower gets it. The log may overwrite what it passes on, so the result is a copy. */
  #clearOfEntry(entry: LogEntry, reading = this.#read(entry)): MaybePromise<Shown<LogEntry>> {
    const { bytes, revisionOffset } = entry.value;
    const copy = { ...entry, value: { bytes: Buffer.from(bytes), revisionOffset } };
    return andThen(reading, (read): Shown<LogEntry> => {
      if ("problem" in read) {
        const stored = this.#form(unreadableOrigin, bytes.length);
        return { event: { ...copy, value: nothing, unreadable: read.problem }, stored, unread: copy };
      }
      const value = read.stored === undefined ? copy.value : read.value;
      return { event: { ...copy, value }, stored: read.stored, unread: undefined };
    });
  }

  /** Records how the value that the follower is given now is stored, and whether it cannot be read. */
  #record(key: string, stored: StoredForm | undefined, unread: LogEntry | undefined): void {
    this.#note(key, stored);
    if (unread === undefined) this.#unreadable.delete(key);
    else this.#unreadable.set(key, unread);
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
  #decrypt(stored: ValueOfKey): MaybePromise<Read> {
    return andThen(inClear(this.#transformers, this.form, stored), ({ value, stored: from }) => ({
      value,
      stored: from && this.#form(from.origin, from.extraBytes),
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

/** A change or an entry in clear, how it is stored, and the stored entry if it cannot be read. */
interface Shown<T = LogEvent> {
  readonly event: T;
  readonly stored: StoredForm | undefined;
  readonly unread: LogEntry | undefined;
}

/** A value and the key that holds it. */
type ValueOfKey = Pick<LogEntry, "key" | "value">;

/** A value in clear, and how it is stored; or why it cannot be read. */
type Read = { readonly value: Unversioned; readonly stored: StoredForm | undefined } | { readonly problem: string };

function problemOf(error: unknown): Read {
  if (error instanceof TransformError || error instanceof UnreadableValue) return { problem: error.message };
  throw error;
}
