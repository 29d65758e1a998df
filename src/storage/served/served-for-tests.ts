/**
 * Processes that share a log, in one process for tests: an owner of a folder, which can be ended and started again, and
 * logs of others.
 *
 *     const processes = await Processes.start();     // the owner, with its cache
 *     const log = await processes.openLog();         // the log of another process
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { systemClock } from "#std/clock.ts";
import { ForwardingLog } from "../forwarding-log.ts";
import type { LogEntry, LogEvent, LogFollower, LogStore, LogWrite, Revision } from "../log-store.ts";
import { openSqliteStore, type SqliteStore, type StorageFaults } from "../sqlite.ts";
import { toUnversioned } from "../versioned-value.ts";
import { RemoteLog, type RemoteLogOptions } from "./remote-log.ts";
import { ServedLog } from "./served-log.ts";

/** The owner of the log, and its cache. */
interface Owner {
  readonly served: ServedLog;
  readonly store: SqliteStore;
}

export class Processes {
  readonly folder = mkdtempSync(join(tmpdir(), "binnacle-served-"));
  readonly warnings: string[] = [];
  faults: StorageFaults | undefined;
  /** Puts a log between the one that is served and the owner's own. */
  wrap: (log: LogStore) => LogStore = (log) => log;
  owner!: Owner;

  static async start(settings: Partial<Pick<Processes, "faults" | "wrap">> = {}): Promise<Processes> {
    const processes = Object.assign(new Processes(), settings);
    await processes.startOwner();
    return processes;
  }

  async startOwner(): Promise<void> {
    const { folder, faults } = this;
    let served!: ServedLog;
    const store = await openSqliteStore({
      clock: systemClock,
      dataDir: join(folder, "data"),
      compactionIntervalMs: 0,
      historyBytesMax: 1e6,
      watchRestMsMax: 0,
      wrap: (log) => (served = new ServedLog(this.wrap(log), { folder, clock: systemClock, warn: this.#warn })),
      ...(faults === undefined ? {} : { faults }),
    });
    served.maintain(store.maintenance);
    this.owner = { served, store };
  }

  openLog(options: Partial<RemoteLogOptions> = {}): Promise<RemoteLog> {
    const goneBack = (failure: Error): void => void this.warnings.push(failure.message);
    return RemoteLog.open({ folder: this.folder, clock: systemClock, warn: this.#warn, goneBack, ...options });
  }

  async stop(): Promise<void> {
    await this.owner.store.cache.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  readonly #warn = (problem: string): void => void this.warnings.push(problem);
}

/** A log of another process, with which its owner ends, too. */
export class LogWithOwner extends ForwardingLog {
  readonly #processes: Processes;

  private constructor(log: LogStore, processes: Processes) {
    super(log);
    this.#processes = processes;
  }

  static async open(): Promise<LogWithOwner> {
    const processes = await Processes.start();
    return new LogWithOwner(await processes.openLog(), processes);
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#processes.stop();
  }
}

/** The beginning of the keys of `writeOf`. */
export const prefix = "/registry//pods/";

/** Records what a log delivers, and checks the order of it. */
export class RecordingFollower implements LogFollower {
  readonly entries = new Map<string, Pick<LogEntry, "value" | "revision">>();
  readonly events: LogEvent[] = [];
  revision: Revision = 0;
  reloads = 0;
  compactedTo: Revision = 0;

  load(entry: LogEntry): void {
    this.#set(entry);
  }

  changed(events: readonly LogEvent[]): void {
    for (const event of events) {
      assert.ok(event.revision > this.revision, `${event.revision} comes after ${this.revision}`);
      this.events.push(event);
      if (event.value === undefined) this.entries.delete(event.key);
      else this.#set({ ...event, value: event.value });
    }
    this.revision = events[0]!.revision;
  }

  progressed(revision: Revision): void {
    this.revision = Math.max(this.revision, revision);
  }

  reloaded(entries: readonly LogEntry[], revision: Revision): void {
    this.reloads++;
    this.entries.clear();
    for (const entry of entries) this.#set(entry);
    this.revision = revision;
  }

  compacted(revision: Revision): void {
    this.compactedTo = revision;
  }

  recovered(): void {
    assert.fail("nothing is unreadable");
  }

  /** The texts of all keys, in order, each with its revision: `a=1@7`. */
  get texts(): string[] {
    const texts = [...this.entries].map(([key, { value, revision }]) => `${key}=${value.bytes.toString()}@${revision}`);
    return texts.map((text) => text.slice(prefix.length)).sort();
  }

  #set({ key, value, revision }: LogEntry): void {
    this.entries.set(key, { value: { ...value, bytes: Buffer.from(value.bytes) }, revision });
  }
}

export function writeOf(
  name: string,
  expected: Revision,
  text: string | undefined,
  more: Partial<LogWrite> = {},
): LogWrite {
  return {
    key: prefix + name,
    expected,
    value: text === undefined ? undefined : toUnversioned(text, "none"),
    ttlSeconds: 0,
    isForDeletion: text === undefined,
    requires: [],
    turn: undefined,
    note: undefined,
    ...more,
  };
}
