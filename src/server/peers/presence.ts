/**
 * The presence of this server among those of its store. It writes a record that expires, writes it again every few
 * seconds and when it has taken in changes that decide about requests, and reads the records of the others.
 */
import { type Clock, pause } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import { StoreInformer, type StoreInformerOptions } from "#registry/informer.ts";
import type { AppliedRevision } from "#registry/applied-revision.ts";
import type { Revision } from "#storage/log-store.ts";
import { withoutRevision } from "#storage/versioned-value.ts";
import type { CacheWriter, Entry } from "#storage/watch-cache.ts";
import { type PeerRecord, readRecord, recordBytes, recordPrefix, type ServerRecord } from "./record.ts";

/** The members of a record that the presence adds. */
type OwnMembers = "id" | "since" | "applied" | "asks" | "isStopping";

interface PresenceOptions {
  readonly cache: StoreInformerOptions["cache"] & CacheWriter;
  readonly clock: Clock;
  readonly log: Log;
  readonly id: string;
  readonly applied: AppliedRevision;
  /** Returns what the server says about itself now. */
  describe(): Omit<ServerRecord, OwnMembers>;
  /** Called when the records have changed. */
  changed(): void;
}

/** The time for which a record lives; a log may keep it for two seconds more. */
const lifeSeconds = 8;
const renewMs = 3000;
/** The pause after a write of the record, in which news is collected for the next one. */
const paceMs = 10;
/** The time after which a start that waits says so. */
const slowMs = 5000;
/** The pause after a failed write. */
const retryMs = 500;
/** The time in which the removal of the record must be done when the server ends. */
const removalMs = 2000;
/** The time for which requests wait for a server to come back, after its record may have expired. */
const returnMs = 1000;
/** The time after which a record that nobody writes counts as gone, should the log keep it. */
const forgottenMs = 60_000;

export class Presence {
  readonly #options: PresenceOptions;
  readonly #key: string;
  readonly #informer: StoreInformer;
  readonly #closing = new AbortController();
  /** The records that were read, by entry. */
  readonly #records = new WeakMap<Entry, PeerRecord | undefined>();
  /** The last record of each other server, and the time at which it was first seen. */
  readonly #seen = new Map<string, { readonly revision: Revision; readonly atMs: number }>();
  #since: Revision = 0;
  /** The revision of the own record as it was last written. */
  #revision: Revision = 0;
  /** The revision up to which the record last said that changes are taken in. */
  #said: Revision = 0;
  /** The revision for which this server waits, and the newest one for which another does. */
  #asks: Revision = 0;
  #asked: Revision = 0;
  /** The others that have been told that this server lives. */
  #greeted: ReadonlySet<string> = new Set();
  /** The times of both clocks at which the last write of the record began that was done. */
  #written = { ms: 0, wallMs: 0 };
  #returning: Promise<void> | undefined;
  /** Whether the server could not come back, so that requests do not wait for it. */
  #isCut = false;
  #isServing = false;
  #isStopping = false;
  /** Whether the record has to be written, whatever it says. */
  #isDue = false;
  #running: Promise<void> | undefined;
  #cancelRenewal: () => void = () => undefined;

  constructor(options: PresenceOptions) {
    this.#options = options;
    this.#key = recordPrefix + options.id;
    this.#informer = new StoreInformer({
      ...options,
      prefix: recordPrefix,
      replace: () => this.#look(),
      handle: () => this.#look(),
    });
    options.applied.onReached(() => this.#tell());
  }

  /** The records of the other servers that live, as reads see them now. */
  get others(): readonly PeerRecord[] {
    const { cache, clock } = this.#options;
    const nowMs = clock.monotonic();
    const others: PeerRecord[] = [];
    for (const entry of cache.range(recordPrefix).entries) {
      const record = entry.key === this.#key ? undefined : this.#recordOf(entry);
      if (record === undefined) continue;
      let seen = this.#seen.get(record.id);
      if (seen?.revision !== record.revision) {
        seen = { revision: record.revision, atMs: nowMs };
        this.#seen.set(record.id, seen);
      }
      if (nowMs - seen.atMs < forgottenMs) others.push(record);
    }
    return others;
  }

  /** Whether the server ends. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** Writes the first record. Resolves with its revision, when reads see it. Rejects when the store cannot be written. */
  async enter(): Promise<Revision> {
    await this.#put();
    this.#since = this.#revision;
    await this.#informer.start();
    this.#renew();
    return this.#since;
  }

  /**
   * Says that the server answers requests. Resolves when it has taken in all that was written before others knew that, which
   * they do not wait for.
   */
  async serve(): Promise<void> {
    const { clock, log } = this.#options;
    const cancel = clock.after(slowMs, () => {
      log.warn({}, "this server does not serve yet: it has not taken in all that other servers wrote");
    });
    this.#isServing = true;
    await this.#saidAll();
    cancel();
  }

  /**
   * Resolves when this server has taken in what others wrote while its record may have been gone, since it stood still: they
   * have not waited for it. `undefined` when its record lives. Resolves after a second where the store cannot be reached.
   */
  comeBack(): Promise<void> | undefined {
    if (!this.#hasLapsed() || this.#isCut || !this.#isServing || this.#closing.signal.aborted) return this.#returning;
    return (this.#returning ??= this.#comeBack().finally(() => {
      this.#returning = undefined;
    }));
  }

  /** Says that the server ends. */
  leave(): void {
    this.#isStopping = true;
    void this.#write();
  }

  /** Asks the others what they have taken in, since this server waits for a revision. */
  ask(revision: Revision): void {
    if (revision <= this.#asks) return;
    this.#asks = revision;
    void this.#write();
  }

  /** Removes the record. Resolves after two seconds at the latest. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    this.#cancelRenewal();
    this.#informer.close();
    const { clock } = this.#options;
    const late = Promise.withResolvers<void>();
    const cancel = clock.after(removalMs, late.resolve);
    await Promise.race([this.#remove().catch(() => undefined), late.promise]);
    cancel();
  }

  /**
   * Whether the record may have expired. While a machine is suspended its monotonic clock stands still, and that of the time
   * of day does not; where that one jumps, the record is only written once more.
   */
  #hasLapsed(): boolean {
    const { clock } = this.#options;
    const { ms, wallMs } = this.#written;
    return Math.max(clock.monotonic() - ms, clock.now() - wallMs) >= lifeSeconds * 1000;
  }

  async #comeBack(): Promise<void> {
    const { clock } = this.#options;
    const late = Promise.withResolvers<void>();
    const cancel = clock.after(returnMs, () => {
      this.#isCut = true;
      late.resolve();
    });
    await Promise.race([this.#saidAll(), late.promise]);
    cancel();
  }

  /** Writes the record. Resolves when this server has taken in everything before it. */
  async #saidAll(): Promise<void> {
    const { clock, applied } = this.#options;
    const { signal } = this.#closing;
    await this.#write();
    while (!signal.aborted && (this.#said === 0 || applied.revision < this.#revision)) await pause(clock, 1, signal);
  }

  async #remove(): Promise<void> {
    await this.#running;
    const result = await this.#options.cache.remove(this.#key, this.#revision);
    if (!result.ok && result.current !== undefined)
      await this.#options.cache.remove(this.#key, result.current.revision);
  }

  #recordOf(entry: Entry): PeerRecord | undefined {
    if (!this.#records.has(entry)) {
      const record = readRecord(entry.value, entry.revision);
      this.#records.set(entry, entry.key === recordPrefix + record?.id ? record : undefined);
    }
    return this.#records.get(entry);
  }

  /** Looks at the records after some have changed. */
  #look(): void {
    const { others } = this;
    const present = new Set(others.map(({ id }) => id));
    for (const id of this.#seen.keys()) if (!present.has(id)) this.#seen.delete(id);
    const isGreeted = present.isSubsetOf(this.#greeted);
    this.#greeted = present;
    // A revision that is not there yet is taken in as soon as it is heard, without being asked for.
    this.#asked = Math.min(Math.max(0, ...others.map(({ asks }) => asks)), this.#options.cache.revision);
    if (isGreeted) this.#tell();
    else void this.#write();
    this.#options.changed();
  }

  #renew(): void {
    this.#cancelRenewal = this.#options.clock.after(renewMs, () => {
      void this.#write();
      this.#renew();
    });
  }

  /** Writes the record. Resolves when a write that has begun after the call has ended. */
  async #write(): Promise<void> {
    this.#isDue = true;
    while (this.#isDue && !this.#closing.signal.aborted) await (this.#running ?? this.#run());
  }

  /** Writes the record, if another server wants to know that more changes are taken in. */
  #tell(): void {
    if (this.#running === undefined && this.#hasNews()) void this.#run();
  }

  #hasNews(): boolean {
    const wanted = Math.max(this.#options.applied.heard, this.#asked);
    return this.#isServing && wanted > this.#said && this.others.length > 0;
  }

  #run(): Promise<void> {
    this.#running = this.#sayNews().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Writes the record, one time after the other, until nothing more is to be said. Never rejects. */
  async #sayNews(): Promise<void> {
    const { clock, log, applied } = this.#options;
    const { signal } = this.#closing;
    // News of this turn of the event loop is said together.
    await Promise.resolve();
    while (!signal.aborted && (this.#isDue || this.#hasNews())) {
      let pauseMs = paceMs;
      // Followers that have not taken in the newest change yet say so when they have.
      if (this.#isDue || applied.revision > this.#said) {
        this.#isDue = false;
        try {
          await this.#put();
        } catch (error) {
          this.#isDue = true;
          pauseMs = retryMs;
          if (!signal.aborted) log.warn({ error: String(error) }, "this server could not say that it lives");
        }
      }
      await pause(clock, pauseMs, signal);
    }
  }

  async #put(): Promise<void> {
    const { cache, clock, id, applied, describe } = this.#options;
    const began = { ms: clock.monotonic(), wallMs: clock.now() };
    const said = this.#isServing ? Math.min(applied.revision, cache.revision) : 0;
    const record: ServerRecord = {
      ...describe(),
      id,
      since: this.#since,
      applied: said,
      asks: this.#asks,
      isStopping: this.#isStopping,
    };
    const value = { ...withoutRevision(recordBytes(record)), decode: () => undefined };
    let result = await cache.put(this.#key, this.#revision, value, { ttlSeconds: lifeSeconds });
    // It may have expired while this server could not write it.
    if (!result.ok) {
      result = await cache.put(this.#key, result.current?.revision ?? 0, value, { ttlSeconds: lifeSeconds });
      if (!result.ok) throw new Error("the record is not as this server left it");
    }
    this.#revision = result.entry.revision;
    this.#said = said;
    this.#written = began;
    this.#isCut = false;
  }
}
