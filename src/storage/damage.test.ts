/**
 * No silent loss: each file of a store is removed, emptied or cut, or one byte is changed, after a closed and after a
 * killed process. Each start has all acknowledged writes, or is refused with a message and changes nothing.
 * `DAMAGE_PLACES` sets at how many offsets bytes are changed.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { crc32 } from "node:zlib";

import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";

import { pods, putText, Recorder } from "./store.contract.ts";
import { isCompacted, LostWrites, type Revision, StorageFailure } from "./log-store.ts";
import { checkConsistency } from "./consistency-for-tests.ts";
import type { Told } from "./damage-child.ts";
import { openSqliteStore, type SqliteStore, type SqliteOptions } from "./sqlite.ts";

const offsetCount = Number(process.env["DAMAGE_PLACES"] ?? 10);
const root = mkdtempSync(join(tmpdir(), "binnacle-damage-"));
after(() => rmSync(root, { recursive: true, force: true }));

const files = ["store.db", "store.db-wal", "store.head", "store.reserve"] as const;
// A store that a failed test left open would keep its thread, and the run would not end.
const opened: SqliteStore[] = [];
after(() => Promise.all(opened.map((store) => store.cache.close())));

async function open(dataDir: string, options: Partial<SqliteOptions> = {}): Promise<SqliteStore> {
  const store = await openSqliteStore({ clock: new FakeClock(), compactionIntervalMs: 0, dataDir, ...options });
  opened.push(store);
  return store;
}

function makeStore(name: string, end: "close" | "kill"): { dataDir: string; told: Told } {
  const dataDir = join(root, name);
  const child = fileURLToPath(new URL("./damage-child.ts", import.meta.url));
  const made = spawnSync(process.execPath, ["--conditions=source", child, dataDir, end], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  assert.equal(made.signal, end === "kill" ? "SIGKILL" : null);
  return { dataDir, told: JSON.parse(made.stdout) as Told };
}

type Damage = readonly [name: string, damage: (path: string) => void];

function damagesOf(size: number): Damage[] {
  const damages: Damage[] = [
    ["removed", (path) => rmSync(path)],
    ["emptied", (path) => truncateSync(path, 0)],
    ["cut in half", (path) => truncateSync(path, Math.floor(size / 2))],
    ["cut at its end", (path) => truncateSync(path, size - 1)],
  ];
  for (let i = 0; i < offsetCount; i++) {
    const offset = Math.floor(((i + 0.5) / offsetCount) * size);
    damages.push([
      `with another byte at ${offset} of ${size}`,
      (path) => flip(path, offset, i % 2 === 0 ? 0xff : 1 << (i % 8)),
    ]);
  }
  return damages;
}

function flip(path: string, offset: number, bits: number): void {
  const bytes = readFileSync(path);
  bytes[offset] = bytes[offset]! ^ bits;
  writeFileSync(path, bytes);
}

const contents = (folder: string): Map<string, number> =>
  new Map(readdirSync(folder).map((name) => [name, crc32(readFileSync(join(folder, name)))]));

/** Asserts that the store has everything, and gives out no revision again. */
async function expectAll(store: SqliteStore, told: Told, where: string): Promise<void> {
  const entries = store.cache.range("").entries.map((entry) => [entry.key, entry.revision, entry.value.toString()]);
  assert.deepEqual(entries, told.entries, where);
  assert.deepEqual(await checkConsistency(store, seededRandom(1)), [], where);
  const { compactedRevision } = store.cache;
  if (compactedRevision === told.compacted) {
    const recorder = await Recorder.open(store.cache, { prefix: pods, after: told.compacted });
    await recorder.until(told.revision - told.compacted);
  } else await expectForgotten(store, told.revision, where);
  assert((await putText(store.cache, `${pods}shop/next`, 0, "x")).revision > told.revision, where);
}

/** Expects that watchers with a revision up to this one must start over. */
async function expectForgotten(store: SqliteStore, known: Revision, where: string): Promise<void> {
  for (const revision of [1, known, known + 100_000]) {
    const watch = await store.cache.watch({
      prefix: pods,
      after: revision,
      deliver: () => true,
      ended: () => undefined,
    });
    assert(isCompacted(watch), where);
  }
}

for (const end of ["close", "kill"] as const) {
  test(`after a process that was ended by ${end} a start with a damaged file has everything, or is refused`, async (t) => {
    const { dataDir: source, told } = makeStore(`matrix-${end}`, end);
    const outcomes = { complete: 0, ahead: 0, refused: 0, lost: 0 };
    let cells = 0;
    for (const file of files) {
      const path = join(source, file);
      if (!existsSync(path)) continue;
      for (const [name, damage] of damagesOf(readFileSync(path).length)) {
        const where = `${file} ${name}`;
        const dataDir = join(root, `cell-${end}-${++cells}`);
        cpSync(source, dataDir, { recursive: true });
        damage(join(dataDir, file));
        const before = contents(dataDir);
        let store: SqliteStore;
        try {
          store = await open(dataDir);
        } catch (error) {
          assert(error instanceof StorageFailure, `${where}: ${String(error)}`);
          assert(error.message.includes(join(dataDir, "store.")), `${where}: ${error.message}`);
          assert.deepEqual(contents(dataDir), before, `${where}: the files are as they were`);
          outcomes.refused++;
          if (error instanceof LostWrites) {
            outcomes.lost++;
            await expectGoingOn(dataDir, told, where);
          }
          rmSync(dataDir, { recursive: true });
          continue;
        }
        outcomes[store.cache.revision === told.revision ? "complete" : "ahead"]++;
        try {
          await expectAll(store, told, where);
        } finally {
          await store.cache.close();
        }
        rmSync(dataDir, { recursive: true });
      }
    }
    t.diagnostic(`${cells} starts: ${JSON.stringify(outcomes)}`);
    assert(outcomes.refused > 0 && outcomes.complete > 0);
  });
}

/** Asserts that a loss can be accepted once, after which the store is a whole one again. */
async function expectGoingOn(dataDir: string, told: Told, where: string): Promise<void> {
  let store = await open(dataDir, { acceptLoss: true });
  assert.match(store.log.notice!, /a loss was accepted/, where);
  await expectForgotten(store, told.revision, where);
  const { revision } = await putText(store.cache, `${pods}shop/after-loss`, 0, "x");
  await store.cache.close();
  store = await open(dataDir);
  assert.equal(store.cache.revision, revision, where);
  assert.equal(store.log.notice, undefined, where);
  assert.deepEqual(await checkConsistency(store, seededRandom(1)), [], where);
  await store.cache.close();
}

test("after the machine stopped with an open store revisions go on far ahead, once", async () => {
  const { dataDir, told } = makeStore("stopped", "kill");
  const faults = { boot: "0123456789abcdef0123456789abcdef" };
  const missing = join(root, "stopped-without-wal");
  cpSync(dataDir, missing, { recursive: true });
  rmSync(join(missing, "store.db-wal"));
  await assert.rejects(open(missing, { faults }), { name: "StorageFailure", message: /store\.db-wal is missing/ });
  let store = await open(dataDir, { faults });
  assert.match(store.log.notice!, /the machine stopped .* revisions go on after 1000000900/);
  await expectForgotten(store, told.revision, "another boot");
  await store.cache.close();
  // Nothing was written, but the revisions have moved all the same.
  store = await open(dataDir, { faults });
  assert.deepEqual([store.cache.revision, store.log.notice], [1_000_000_900, undefined]);
  await expectAll(store, told, "the second start");
  await store.cache.close();
  store = await open(dataDir);
  assert.deepEqual([store.cache.revision, store.log.notice], [1_000_000_901, undefined]);
  await store.cache.close();
});

test("a store that was open and idle when the machine stopped goes on where it was", async () => {
  const dataDir = join(root, "idle");
  let store = await open(dataDir);
  await putText(store.cache, `${pods}shop/a`, 0, "x");
  await store.cache.close();
  store = await open(dataDir);
  const stopped = join(root, "idle-stopped");
  cpSync(dataDir, stopped, { recursive: true });
  await store.cache.close();
  store = await open(stopped, { faults: { boot: "0123456789abcdef0123456789abcdef" } });
  assert.deepEqual([store.cache.revision, store.log.notice], [1, undefined]);
  await store.cache.close();
});
