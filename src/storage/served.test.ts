/** A log that one process owns and others use: what each of them sees, also when one ends, stops or loses its connection. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import type { LogEntry, LogEvent, LogFollower, LogWrite, Revision } from "./log-store.ts";
import { Processes } from "./served/served-for-tests.ts";
import { waitUntil } from "./store.contract.ts";
import { toUnversioned } from "./versioned-value.ts";

const prefix = "/registry//pods/";

/** Records what a log delivers. */
class Follower implements LogFollower {
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

function writeOf(name: string, expected: Revision, text: string | undefined, more: Partial<LogWrite> = {}): LogWrite {
  return {
    key: prefix + name,
    expected,
    value: text === undefined ? undefined : toUnversioned(text, "none"),
    ttlSeconds: 0,
    isForDeletion: text === undefined,
    requires: [],
    turn: undefined,
    ...more,
  };
}

async function start(t: TestContext, settings: Parameters<typeof Processes.start>[0] = {}): Promise<Processes> {
  const processes = await Processes.start(settings);
  t.after(() => processes.stop());
  return processes;
}

/** Opens the log of another process, and follows it. */
async function join(t: TestContext, processes: Processes) {
  const log = await processes.openLog();
  const follower = new Follower();
  await log.follow(follower);
  t.after(() => log.close());
  return { log, follower };
}

const committed = async (result: ReturnType<Awaited<ReturnType<typeof join>>["log"]["commit"]>): Promise<Revision> => {
  const settled = await result;
  assert.ok(settled.committed, JSON.stringify(settled));
  return settled.revision;
};

test("a process knows its own writes, and gets those of all others, in order", async (t) => {
  const processes = await start(t);
  const { cache } = processes.owner.store;
  const [a, b] = [await join(t, processes), await join(t, processes)];
  const writes = Array.from({ length: 50 }, (_, at) => writeOf(`a${at}`, 0, `a${at}`));
  const others = Array.from({ length: 50 }, (_, at) => writeOf(`b${at}`, 0, `b${at}`));
  await Promise.all([
    ...writes.map((write) => a.log.commit(write)),
    ...others.map((write) => b.log.commit(write)),
    cache.put(`${prefix}c`, 0, { ...toUnversioned("c", "none"), decode: () => undefined }),
  ]);
  const { revision } = cache;
  await waitUntil(() => a.follower.revision === revision && b.follower.revision === revision);
  assert.deepEqual(a.follower.texts, b.follower.texts);
  assert.equal(a.follower.texts.length, 101);
  const own = (follower: Follower): unknown[] => follower.events.map(({ write }) => write).filter(Boolean);
  assert.deepEqual(new Set(own(a.follower)), new Set(writes));
  assert.ok(
    own(a.follower).every((write) => writes.includes(write as LogWrite)),
    "they are the very objects",
  );
  assert.ok(own(b.follower).every((write) => others.includes(write as LogWrite)));
  assert.equal(own(b.follower).length, others.length);
});

test("a process that joins later has the state, and what is acknowledged anywhere is the latest revision of all", async (t) => {
  const processes = await start(t);
  const a = await join(t, processes);
  await Promise.all(Array.from({ length: 300 }, (_, at) => a.log.commit(writeOf(`k${at}`, 0, "x".repeat(at * 50)))));
  const gone = await committed(a.log.commit(writeOf("gone", 0, "gone")));
  await committed(a.log.commit(writeOf("gone", gone, undefined)));
  const b = await join(t, processes);
  assert.equal(b.follower.entries.size, 300);
  assert.deepEqual(b.follower.texts, a.follower.texts);
  const revision = await committed(a.log.commit(writeOf("k0", b.follower.entries.get(`${prefix}k0`)!.revision, "new")));
  assert.equal(await b.log.latest(), revision);
  assert.ok(b.follower.texts.includes(`k0=new@${revision}`));
  assert.ok((await processes.owner.served.latest()) >= revision);
});
