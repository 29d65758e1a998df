/** Ranges and watches by an index: what they leave out, what they never leave out, and how much they look at. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { type Clock, systemClock } from "#std/clock.ts";
import { FakeClock } from "#std/fake-clock.ts";

import { openMemoryStore } from "../memory.ts";
import { pods, putText, Recorder, settle, waitUntil } from "../store.contract.ts";
import type { Entry, IndexFunction, IndexMatch, Range, WatchCache } from "../watch-cache.ts";

/** A function of texts such as `a=web@`: the value after the equals sign, and how often it was called. */
class Counted implements IndexFunction {
  readonly name: string;
  calls = 0;

  constructor(name: string) {
    this.name = name;
  }

  valueOf(entry: Entry): string | undefined {
    this.calls++;
    const [, value] = /=([a-z]+)/.exec(entry.value.toString()) ?? [];
    if (value === "broken") throw new Error("the entry cannot be read");
    return value;
  }
}

async function filled(count: number, valueOf: (at: number) => string, clock: Clock = systemClock): Promise<WatchCache> {
  const cache = await openMemoryStore({ clock, compactionIntervalMs: 0 });
  for (let at = 0; at < count; at++) {
    const name = String(at).padStart(5, "0");
    await putText(cache, `${pods}${at % 2 === 0 ? "even" : "odd"}/${name}`, 0, `${name}${valueOf(at)}`);
  }
  return cache;
}

const names = ({ entries }: Pick<Range, "entries">): string[] =>
  entries.map(({ key }) => key.slice(key.lastIndexOf("/") + 1));

/** Asks until an index answers, which leaves entries out. */
async function indexed(cache: WatchCache, prefix: string, matching: readonly IndexMatch[]): Promise<Range> {
  const whole = cache.range(prefix).entries.length;
  let range = cache.range(prefix, { matching });
  await waitUntil(() => {
    range = cache.range(prefix, { matching });
    return range.entries.length < whole;
  });
  return range;
}

test("a range that was asked for twice comes from an index, which follows all changes", async () => {
  const cache = await filled(1000, (at) => (at % 100 === 7 ? "=web" : "=db"));
  const by = new Counted("label app");
  const matching = [{ by, values: ["web"] }];
  assert.equal(cache.range(pods, { matching }).entries.length, 1000);
  await settle();
  assert.equal(by.calls, 0, "a single question makes no index");
  const web = ["00007", "00107", "00207", "00307", "00407", "00507", "00607", "00707", "00807", "00907"];
  assert.deepEqual(names(await indexed(cache, pods, matching)), web);
  const callsBefore = by.calls;
  assert.deepEqual(names(cache.range(`${pods}odd/`, { matching })), web);
  assert.deepEqual(names(cache.range(`${pods}even/`, { matching })), []);
  assert.equal(by.calls, callsBefore, "a range by an index looks at no entry");

  const added = await putText(cache, `${pods}even/00008`, cache.get(`${pods}even/00008`)!.revision, "00008=web");
  await cache.remove(`${pods}odd/00107`, cache.get(`${pods}odd/00107`)!.revision);
  await putText(cache, `${pods}odd/00207`, cache.get(`${pods}odd/00207`)!.revision, "00207");
  const now = cache.range(pods, { matching });
  assert.deepEqual(names(now), ["00008", "00007", ...web.slice(3)]);
  assert.equal(now.entries[0], added);
  assert.ok(by.calls - callsBefore <= 2 * 3, "a change costs what it changes");
  await cache.close();
});

test("a page by an index says how many keys follow, whether they match or not", async () => {
  const cache = await filled(1000, (at) => (at % 100 === 0 ? "=web" : "=db"));
  const matching = [{ by: new Counted("label app"), values: ["web"] }];
  await indexed(cache, pods, matching);
  const page = cache.range(pods, { matching, limit: 4 });
  assert.deepEqual(names(page), ["00000", "00100", "00200", "00300"]);
  assert.deepEqual([page.more, page.remaining], [true, 1000 - 151]);
  const rest = cache.range(pods, { matching, limit: 100, from: `${page.entries[3]!.key}\0` });
  assert.deepEqual(names(rest), ["00400", "00500", "00600", "00700", "00800", "00900"]);
  assert.equal(rest.remaining, 1000 - 451);
  await cache.close();
});

test("the index with the fewest keys is used, and none that has many", async () => {
  const cache = await filled(1000, (at) => (at === 500 ? "=rare" : at < 20 ? "=some" : "=most"));
  const by = new Counted("label app");
  assert.deepEqual(names(await indexed(cache, pods, [{ by, values: ["rare"] }])), ["00500"]);
  const both = [
    { by, values: ["some", "rare"] },
    { by, values: ["rare"] },
  ];
  assert.deepEqual(names(cache.range(pods, { matching: both })), ["00500"]);
  assert.equal(cache.range(pods, { matching: [{ by, values: ["most"] }] }).entries.length, 1000);
  assert.deepEqual(names(cache.range(pods, { matching: [{ by, values: ["nowhere"] }] })), []);
  await cache.close();
});

test("entries that cannot be read are in every range and watch", async () => {
  const cache = await filled(300, (at) => (at === 10 ? "=broken" : "=db"));
  const matching = [{ by: new Counted("label app"), values: ["web"] }];
  const watch = await Recorder.open(cache, { prefix: pods, after: cache.revision, matching: matching[0] });
  assert.deepEqual(names(await indexed(cache, pods, matching)), ["00010"]);
  const at = async (value: string): Promise<void> => {
    await putText(cache, `${pods}even/00010`, cache.get(`${pods}even/00010`)!.revision, `00010${value}`);
  };
  await at("=db");
  assert.deepEqual(names(cache.range(pods, { matching })), []);
  await at("=broken");
  assert.deepEqual(names(cache.range(pods, { matching })), ["00010"]);
  await watch.until(2);
  await cache.close();
});

test("an index that is being made misses no change", async () => {
  const cache = await filled(2000, () => "=db");
  const matching = [{ by: new Counted("label app"), values: ["web"] }];
  cache.range(pods, { matching });
  cache.range(pods, { matching });
  const changed: string[] = [];
  for (let at = 1; at < 2000; at += 77) {
    const key = `${pods}${at % 2 === 0 ? "even" : "odd"}/${String(at).padStart(5, "0")}`;
    await putText(cache, key, cache.get(key)!.revision, "=web");
    changed.push(key);
  }
  const range = await indexed(cache, pods, matching);
  assert.deepEqual(
    range.entries.map(({ key }) => key),
    changed.toSorted(),
  );
  await cache.close();
});

test("a resource has a bounded number of indexes, and those in use stay", async () => {
  const clock = new FakeClock();
  const cache = await filled(256, (at) => (at === 3 ? "=web" : ""), clock);
  const all = Array.from({ length: 40 }, (_, at) => [{ by: new Counted(`label l${at}`), values: ["web"] }]);
  const isNarrow = (matching: IndexMatch[]): boolean => cache.range(pods, { matching }).entries.length === 1;
  const ask = async (matching: IndexMatch[]): Promise<void> => {
    for (let time = 0; time < 2; time++) cache.range(pods, { matching });
    await settle();
  };
  for (const matching of all) await ask(matching);
  assert.deepEqual(all.map(isNarrow), [...Array(32).fill(true), ...Array(8).fill(false)]);
  clock.advance(60_000);
  assert.equal(isNarrow(all[0]!), true);
  await ask(all[39]!);
  assert.deepEqual(
    all.map(isNarrow),
    all.map((_, at) => at === 0 || (at > 1 && at < 32) || at === 39),
  );
  await cache.close();
});

test("the indexes of a resource have together at most four keys for each entry", async () => {
  const cache = await filled(256, (at) => (at === 3 ? "=web" : "=db"));
  const kept: boolean[] = [];
  for (let at = 0; at < 6; at++) {
    const matching = [{ by: new Counted(`label l${at}`), values: ["web"] }];
    for (let time = 0; time < 2; time++) cache.range(pods, { matching });
    await settle();
    kept.push(cache.range(pods, { matching }).entries.length === 1);
  }
  assert.deepEqual(kept, [true, true, true, true, false, false]);
  await cache.close();
});

test("indexes that begin together have the same bound", async () => {
  const cache = await filled(256, (at) => (at === 3 ? "=web" : "=db"));
  const all = Array.from({ length: 40 }, (_, at) => [{ by: new Counted(`label l${at}`), values: ["web"] }]);
  for (const matching of all) for (let time = 0; time < 2; time++) cache.range(pods, { matching });
  const kept = (): number => all.filter((matching) => cache.range(pods, { matching }).entries.length === 1).length;
  await waitUntil(() => kept() >= 4);
  await settle();
  assert.equal(kept(), 4);
  await cache.close();
});

test("an index that nobody uses is dropped, and none is made after the end of the store", async () => {
  const clock = new FakeClock();
  const cache = await filled(300, (at) => (at === 3 ? "=web" : "=db"), clock);
  const by = new Counted("label app");
  await indexed(cache, pods, [{ by, values: ["web"] }]);
  const change = async (): Promise<number> => {
    const calls = by.calls;
    await putText(cache, `${pods}odd/00003`, cache.get(`${pods}odd/00003`)!.revision, "00003=web");
    return by.calls - calls;
  };
  assert.equal(await change(), 2);
  clock.advance(11 * 60_000);
  for (let at = 0; at < 1024; at++) await change();
  assert.equal(await change(), 0, "a change costs nothing any more");
  const late = new Counted("label late");
  for (let time = 0; time < 2; time++) cache.range(pods, { matching: [{ by: late, values: ["web"] }] });
  await cache.close();
  const { calls } = late;
  await settle();
  assert.equal(late.calls, calls);
});

test("a watcher of one value that is paused lacks nothing but its next event", async () => {
  const cache = await openMemoryStore({ clock: systemClock, historyBytesMax: 20_000, compactionIntervalMs: 0 });
  const matching = { by: new Counted("label app"), values: ["web"] };
  const watch = await Recorder.open(cache, { prefix: pods, after: cache.revision, matching });
  watch.accepts = false;
  await putText(cache, `${pods}shop/a`, 0, "=web");
  await watch.until(1);
  for (let at = 0; at < 500; at++) await putText(cache, `${pods}shop/o${at}`, 0, "=db");
  await putText(cache, `${pods}shop/b`, 0, "=web");
  await settle();
  watch.accepts = true;
  watch.watch.resume();
  await watch.until(2);
  assert.equal(watch.ended, undefined);
  await cache.close();
});

test("many functions of watchers do not make an event dear, and all watchers get theirs", async () => {
  const cache = await openMemoryStore({ clock: systemClock, compactionIntervalMs: 0 });
  const functions = Array.from({ length: 200 }, (_, at) => new Counted(`label l${at}`));
  const watchers = await Promise.all(
    functions.map((by) => Recorder.open(cache, { prefix: pods, after: 0, matching: { by, values: ["web"] } })),
  );
  await putText(cache, `${pods}shop/a`, 0, "=web");
  const calls = functions.reduce((sum, by) => sum + by.calls, 0);
  assert.ok(calls <= 32, `${calls} calls for an event`);
  await Promise.all(watchers.map((watcher) => watcher.until(1)));
  await cache.close();
});

test("an event reaches the watchers of the values before and after it, and costs the others nothing", async () => {
  const cache = await openMemoryStore({ clock: systemClock, compactionIntervalMs: 0 });
  const by = new Counted("field spec.nodeName");
  const watchers = await Promise.all(
    Array.from({ length: 500 }, (_, at) => {
      const value = `n${String.fromCharCode(97 + (at % 26))}${String.fromCharCode(97 + Math.floor(at / 26))}`;
      return Recorder.open(cache, { prefix: pods, after: 0, matching: { by, values: [value] } });
    }),
  );
  const { revision } = await putText(cache, `${pods}shop/a`, 0, "a=naa");
  const moved = await putText(cache, `${pods}shop/a`, revision, "a=nba");
  await cache.remove(`${pods}shop/a`, moved.revision);
  await waitUntil(() => watchers[1]!.events.length === 2);
  await settle();
  assert.deepEqual(
    watchers[0]!.events.map(({ type }) => type),
    ["ADDED", "MODIFIED"],
  );
  assert.deepEqual(
    watchers[1]!.events.map(({ type }) => type),
    ["MODIFIED", "DELETED"],
  );
  assert.ok(watchers.slice(2).every(({ batches }) => batches.length === 0));
  assert.ok(by.calls <= 6, `${by.calls} calls for three events`);
  assert.ok(
    watchers.every(({ watch }) => watch.position === cache.revision),
    "bookmarks of the others go on",
  );
  await cache.close();
});

test("a watch of one value that begins in the past gets its events, and one of a namespace only those of it", async () => {
  const cache = await filled(40, (at) => (at % 4 === 1 ? "=web" : "=db"));
  const matching = { by: new Counted("label app"), values: ["web"] };
  const past = await Recorder.open(cache, { prefix: pods, after: 0, matching });
  const live = await Recorder.open(cache, { prefix: `${pods}even/`, after: cache.revision, matching });
  await past.until(10);
  await putText(cache, `${pods}even/x`, 0, "=web");
  await putText(cache, `${pods}odd/x`, 0, "=web");
  await past.until(12);
  await live.until(1);
  past.watch.close();
  live.watch.close();
  const again = await Recorder.open(cache, { prefix: pods, after: cache.revision, matching });
  await putText(cache, `${pods}odd/y`, 0, "=web");
  await again.until(1);
  await cache.close();
});
