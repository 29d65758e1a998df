/** Tests that the checks of a history can fail: each of these histories has one fault. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Change, checkHistory, type History, type Write } from "./history.ts";

const value = { count: 0, marks: [], isMarked: false };
const change = (version: number, type: string, fields: Partial<Change> = {}): Change => ({
  version,
  type,
  key: "n/a",
  uid: "u1",
  value,
  ...fields,
});
const write = (kind: Write["kind"], version: number | undefined, fields: Partial<Write> = {}): Write => ({
  kind,
  key: "n/a",
  startedMs: version ?? 100,
  endedMs: (version ?? 100) + 0.5,
  version,
  uid: "u1",
  ...fields,
});

const good: History = {
  changes: [
    change(2, "ADDED"),
    change(3, "MODIFIED", { value: { ...value, count: 1 } }),
    change(4, "MODIFIED", { value: { ...value, count: 1, marks: ["m"] } }),
    change(5, "DELETED", { value: { ...value, count: 1, marks: ["m"] } }),
  ],
  writes: [write("create", 2), write("update", 3), write("patch", 4, { mark: "m" }), write("delete", undefined)],
  listings: [
    { startedMs: 3.7, prefix: "n/", onlyMarked: false, version: 3, found: new Map([["n/a", 3]]), isFresh: true },
    { startedMs: 9, prefix: "", onlyMarked: false, version: 5, found: new Map(), isFresh: true },
  ],
  watches: [
    {
      prefix: "",
      onlyMarked: false,
      after: 2,
      events: [
        { version: 3, type: "MODIFIED", key: "n/a" },
        { version: 4, type: "MODIFIED", key: "n/a" },
      ],
    },
  ],
  unknown: new Set(),
};

test("a history without a fault passes", () => checkHistory(good));

const faults: readonly (readonly [string, Partial<History>])[] = [
  ["versions that go back", { changes: good.changes.toSpliced(1, 1, change(2, "MODIFIED")) }],
  ["an object made twice", { changes: [...good.changes.slice(0, 1), change(3, "ADDED"), ...good.changes.slice(2)] }],
  ["a change of what is not there", { changes: good.changes.slice(1) }],
  [
    "a count that jumps",
    { changes: good.changes.toSpliced(1, 1, change(3, "MODIFIED", { value: { ...value, count: 2 } })) },
  ],
  [
    "a patch that is lost",
    { changes: good.changes.toSpliced(3, 1, change(5, "MODIFIED", { value: { ...value, count: 1 } })) },
  ],
  ["an acknowledged write nobody saw", { writes: [...good.writes, write("patch", 7)] }],
  ["an acknowledged deletion nobody saw", { changes: good.changes.slice(0, 3), writes: good.writes, listings: [] }],
  ["a change nobody made", { writes: good.writes.slice(0, 3) }],
  ["two answers for one change", { writes: [...good.writes, write("update", 3)] }],
  [
    "a version older than one answered before",
    { writes: good.writes.toSpliced(2, 1, write("patch", 4, { startedMs: 1, endedMs: 1.5 })) },
  ],
  ["a list without an object", { listings: [{ ...good.listings[0]!, found: new Map() }] }],
  ["a list with an object that had gone", { listings: [{ ...good.listings[1]!, found: new Map([["n/a", 4]]) }] }],
  ["a list that is older than what was answered", { listings: [{ ...good.listings[0]!, startedMs: 8 }] }],
  ["a watch that skips an event", { watches: [{ ...good.watches[0]!, events: good.watches[0]!.events.slice(1) }] }],
  [
    "a watch that repeats an event",
    { watches: [{ ...good.watches[0]!, events: [...good.watches[0]!.events, ...good.watches[0]!.events.slice(1)] }] },
  ],
  ["a watch that starts too early", { watches: [{ ...good.watches[0]!, after: 3 }] }],
];

for (const [name, fault] of faults) {
  test(`${name} is found`, () => {
    assert.throws(() => checkHistory({ ...good, ...fault }));
  });
}
