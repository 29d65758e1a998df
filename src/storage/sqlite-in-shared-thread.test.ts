/** Logs in a thread that owns several keep the contracts of logs and stores, and do not depend on each other. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { systemClock } from "#std/clock.ts";

import { logContract } from "./log.contract.ts";
import { StorageFull, StoreInUse } from "./log-store.ts";
import { SqliteLog } from "./sqlite/log.ts";
import { openSqliteStore, SharedLogThread, type SqliteOptions, type SqliteStore } from "./sqlite.ts";
import { pods, putText, storeContract, waitUntil } from "./store.contract.ts";

const root = mkdtempSync(join(tmpdir(), "binnacle-shared-thread-"));
const thread = new SharedLogThread();
const opened: SqliteStore[] = [];
after(async () => {
  await Promise.all(opened.map((store) => store.cache.close()));
  await thread.close();
  rmSync(root, { recursive: true, force: true });
});

let folders = 0;
const newFolder = (): string => join(root, String(++folders));
const options = { clock: systemClock, compactionIntervalMs: 0, hasReserve: false, thread };

async function open(dataDir: string, more: Partial<SqliteOptions> = {}): Promise<SqliteStore> {
  const store = await openSqliteStore({ ...options, dataDir, ...more });
  opened.push(store);
  return store;
}

storeContract({
  name: "sqlite in a shared thread",
  open: async (given) => (await openSqliteStore({ ...given, thread, dataDir: newFolder() })).cache,
  hasLog: true,
});

logContract({
  name: "sqlite in a shared thread",
  async open(follower) {
    const log = await SqliteLog.open({ ...options, dataDir: newFolder(), historyBytes: 1e6 });
    log.useIndex(follower);
    await log.follow(follower);
    return log;
  },
});

test("a store whose disk is full refuses its own writes, and takes them again when there is room", async () => {
  const fullWhile = join(root, "full");
  const [full, other] = [await open(newFolder(), { faults: { fullWhile } }), await open(newFolder())];
  await putText(full.cache, `${pods}shop/a`, 0, "x");
  writeFileSync(fullWhile, "");
  const refused = putText(full.cache, `${pods}shop/b`, 0, "x");
  await assert.rejects(refused, (error) => error instanceof StorageFull && !error.message.includes(root));
  for (let i = 0; i < 20; i++) await putText(other.cache, `${pods}shop/${i}`, 0, "x");
  rmSync(fullWhile);
  await waitUntil(() => full.cache.full === undefined);
  await putText(full.cache, `${pods}shop/b`, 0, "x");
});

test("a store whose write fails stays read-only, and others go on", async () => {
  const [failing, other] = [await open(newFolder(), { faults: { failCommit: 2 } }), await open(newFolder())];
  await putText(failing.cache, `${pods}shop/a`, 0, "x");
  await assert.rejects(putText(failing.cache, `${pods}shop/b`, 0, "x"));
  assert.notEqual(failing.cache.failure, undefined);
  await putText(other.cache, `${pods}shop/a`, 0, "x");
});

test("a store that is open is refused a second time, and nothing is reserved on its disk", async () => {
  const folder = newFolder();
  await open(folder);
  await assert.rejects(open(folder), StoreInUse);
  assert.ok(!existsSync(join(folder, "store.reserve")));
});

test("what was written is there when another thread opens the store", async () => {
  const folder = newFolder();
  const store = await open(folder);
  await putText(store.cache, `${pods}shop/a`, 0, "x");
  await store.cache.close();
  const again = await open(folder, { thread: undefined });
  assert.equal(again.cache.range(pods).entries.length, 1);
});
