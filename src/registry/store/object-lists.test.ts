/** Lists by a selector from an index, while others write. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { openMemoryStore } from "#storage/memory.ts";
import { withoutRevision } from "#storage/versioned-value.ts";
import type { Entry, IndexMatch, Range, RangeOptions, WatchCache } from "#storage/watch-cache.ts";
import { ObjectLists } from "./object-lists.ts";
import type { ObjectReader } from "./object-reader.ts";

const prefix = "/registry/core/pods/";

const put = (cache: WatchCache, name: string, text: string) => {
  const key = `${prefix}shop/${name}`;
  const encoded = { ...withoutRevision(Buffer.from(text)), decode: () => undefined };
  return cache.put(key, cache.get(key)?.revision ?? 0, encoded);
};

// The parts of a reader that lists use.
const reader = {
  collection: () => prefix,
  convertWithWebhook: () => undefined,
  definition: { namespaced: true },
} as unknown as ObjectReader;

test("a list by an index reads once, whatever is written and forgotten meanwhile", async () => {
  const clock = new FakeClock();
  const cache = await openMemoryStore({ clock, historyBytesMax: 1000, compactionIntervalMs: 0 });
  for (let at = 0; at < 1000; at++) await put(cache, String(at).padStart(4, "0"), at % 10 === 0 ? "web" : "db");
  const matching: IndexMatch[] = [
    { by: { name: "label app", valueOf: ({ value }) => value.toString() }, values: ["web"] },
  ];
  while (cache.range(prefix, { matching }).entries.length === 1000)
    await new Promise((resolve) => setImmediate(resolve));
  const reads: string[] = [];
  const counting = new Proxy(cache, {
    get(target, name: keyof WatchCache) {
      if (name === "range")
        return (of: string, options?: RangeOptions): Range => {
          reads.push("range");
          return target.range(of, options);
        };
      const member: unknown = target[name];
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
  // Each look at an entry takes so long that the list pauses, and others write then.
  let seen = 0;
  const filter = ({ value }: Entry): boolean => {
    seen++;
    clock.block(10);
    void put(cache, `w${seen % 7}`, "x".repeat(200));
    return value.toString() === "web";
  };
  const lists = new ObjectLists(reader, counting, clock);
  const request = { namespace: "", continue: "", resourceVersion: "0", resourceVersionMatch: "", filter, matching };
  for (const limit of [0, 500]) {
    const { entries, continue: token } = await lists.list({ ...request, limit });
    assert.equal(entries.length, 100);
    assert.equal(token, "");
  }
  assert.deepEqual([reads.length, seen], [2, 200]);
  await cache.close();
});
