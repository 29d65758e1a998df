/** Three short rounds of servers on etcd under faults (`rounds/`), and histories that the rules must refuse. Needs Go. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { missing } from "./etcd-for-tests.ts";
import { check, checkerMissing } from "./rounds/check.ts";
import type { Call, Change, History, WatchedEvent } from "./rounds/history.ts";
import { runRound } from "./rounds/round.ts";
import { notBuilt } from "./server-processes.ts";

const noChecker = checkerMissing();
const noServers = missing() ?? noChecker ?? notBuilt();

/** A right history: an object is created, changed, and deleted. */
const changes: readonly Change[] = [
  { revision: 11, key: "a", before: 0, isDeletion: false, value: "1" },
  { revision: 12, key: "a", before: 11, isDeletion: false, value: "2" },
  { revision: 13, key: "a", before: 12, isDeletion: true, value: undefined },
];
const at = { client: 0, key: "a", server: "s0" } as const;
const create: Call = { ...at, kind: "create", begin: 1, end: 2, status: 201, wanted: "1", version: 11, value: "1" };
const update: Call = {
  ...at,
  kind: "update",
  begin: 3,
  end: 4,
  status: 200,
  expected: 11,
  wanted: "2",
  version: 12,
  value: "2",
};
const get: Call = { ...at, kind: "get", begin: 5, end: 6, status: 200, version: 12, value: "2" };
const items = { a: { version: 12, value: "2" } };
const list: Call = {
  ...at,
  key: "",
  kind: "list",
  begin: 5,
  end: 6,
  status: 200,
  version: 12,
  pageVersions: [12],
  items,
};
const remove: Call = { ...at, kind: "delete", begin: 7, end: 8, status: 200, expected: 12 };
const gone: Call = { ...at, kind: "get", begin: 9, end: 10, status: 404 };
const calls: readonly Call[] = [create, update, get, list, remove, gone];

const added: WatchedEvent = { type: "ADDED", key: "a", version: 11, value: "1" };
const modified: WatchedEvent = { type: "MODIFIED", key: "a", version: 12, value: "2" };
const bookmark: WatchedEvent = { type: "BOOKMARK", version: 12 };
const deletion: WatchedEvent = { type: "DELETED", key: "a", version: 13, value: "2" };

const historyOf = (
  of: Partial<History>,
  events: readonly WatchedEvent[] = [added, modified, bookmark, deletion],
): History => ({
  keys: ["a"],
  calls,
  changes,
  first: 10,
  segments: [{ watcher: 0, from: 10, events: [...events], servers: [] }],
  ...of,
});

const without = (call: Call): readonly Call[] => calls.filter((other) => other !== call);

describe("the rules for histories of several servers", { skip: noChecker ?? false }, () => {
  const refused = async (history: History, problem: RegExp): Promise<void> => {
    assert.match((await check(history)).join("\n"), problem);
  };

  test("a right history has no problems, also when answers are missing", async () => {
    assert.deepEqual(await check(historyOf({})), []);
    const { version: _version, value: _value, ...open } = { ...update, status: 0 };
    assert.deepEqual(await check(historyOf({ calls: [...without(update), open] })), []);
    const late = { ...open, begin: 1, end: 9 };
    assert.deepEqual(await check(historyOf({ calls: [...without(update), late] })), []);
    const never = { ...open, client: 1, wanted: "3" };
    assert.deepEqual(await check(historyOf({ calls: [...calls, never] })), []);
  });

  test("a lost write, and one that was done twice, are found", async () => {
    await refused(historyOf({ changes: changes.slice(0, 2) }), /an acknowledged write is missing: .*"delete"/);
    const lost = changes.filter(({ revision }) => revision !== 12);
    await refused(historyOf({ changes: lost }), /an acknowledged write is missing: .*"update"/);
    const twice = { revision: 14, key: "a", before: 0, isDeletion: false, value: "2" };
    await refused(historyOf({ changes: [...changes, twice] }), /the write 2 was done 2 times/);
    const done = { ...update, status: 503 };
    await refused(historyOf({ calls: [...without(update), done] }), /a refused write was done/);
  });

  test("stale reads are found", async () => {
    const stale = { ...get, version: 11, value: "1" };
    await refused(historyOf({ calls: [...without(get), stale] }), /no order of the calls of a explains/);
    await refused(
      historyOf({ calls: [...without(gone), { ...get, begin: 9, end: 10 }] }),
      /no order of the calls of a/,
    );
    const { version: _version, value: _value, ...open } = { ...create, status: 0 };
    const before = { ...gone, begin: 5, end: 6 };
    await refused(historyOf({ calls: [...without(create), open, before] }), /no order of the calls of a explains/);
    const old = { ...list, version: 11, pageVersions: [11], items: { a: { version: 11, value: "1" } } };
    await refused(historyOf({ calls: [...without(list), old] }), /a list is older than the write 12/);
    const other = { ...get, value: "1" };
    await refused(historyOf({ calls: [...without(get), other] }), /an answer shows what etcd does not have/);
  });

  test("two writes from the same version, and a list of two states, are found", async () => {
    const second = { ...update, client: 1, begin: 4, end: 5, wanted: "3", version: 14, value: "3" };
    const third = { revision: 14, key: "a", before: 12, isDeletion: false, value: "3" };
    const both = historyOf({ calls: [...calls, second], changes: [...changes, third] });
    await refused(both, /no order of the calls of a explains/);
    const torn = { ...list, pageVersions: [12, 13] };
    await refused(historyOf({ calls: [...without(list), torn] }), /pages have several versions/);
    await refused(historyOf({ calls: [...without(list), { ...list, items: {} }] }), /not the state of its version/);
  });

  test("doubled, missing, reordered and early events of a watch are found", async () => {
    await refused(historyOf({}, [added, modified, modified, deletion]), /came, and .* was next/);
    await refused(historyOf({}, [added, deletion]), /came, and .* was next/);
    await refused(historyOf({}, [modified, added, deletion]), /came, and .* was next/);
    await refused(historyOf({}, [added, bookmark, modified, deletion]), /the bookmark 12 came before/);
    await refused(historyOf({}, [added, modified, deletion, { ...deletion, version: 14 }]), /never was/);
  });
});

describe("rounds of three servers on three members of etcd", { skip: noServers ?? false }, () => {
  for (const seed of [1, 2, 3]) {
    test(`under the faults of seed ${seed} every answer and every watch is right`, async (t) => {
      const round = await runRound({ seed, seconds: 12, writers: 8, said: (text) => t.diagnostic(text) });
      assert.deepEqual(round.problems, [], `the history is in ${round.folder}`);
      assert.ok(round.acknowledged > 0 && round.events > 0 && round.faults > 0, JSON.stringify(round));
    });
  }
});
