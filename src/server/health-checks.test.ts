/** Every health check of a running server can fail and recover. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { Health } from "#http/health.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { systemClock } from "#std/clock.ts";
import { StorageFull, StorageFailure } from "#storage/log-store.ts";
import { openSqliteStore } from "#storage/sqlite.ts";
import { withoutRevision } from "#storage/versioned-value.ts";
import { addHealthChecks, healthFailures, type HealthSources } from "./health-checks.ts";

function setup(checked: Partial<HealthSources> = {}) {
  const clock = new FakeClock();
  const health = new Health({ clock, livezGracePeriodMs: 0 });
  const state = { failure: undefined as Error | undefined, full: undefined as StorageFull | undefined };
  const flags = { isSynced: true, isStopping: false };
  addHealthChecks(health, {
    store: state,
    isSynced: () => flags.isSynced,
    isStopping: () => flags.isStopping,
    clock,
    ...checked,
  });
  /** Returns the failing checks of an endpoint. */
  const listFailing = (endpoint: string): string[] => {
    const reply = health.reply({ path: `/${endpoint}`, query: new URLSearchParams("verbose") });
    return [...String(reply?.bytes).matchAll(/^\[-\](\S+) failed/gm)].map(([, name]) => name!);
  };
  return { clock, health, state, flags, failing: listFailing };
}

void test("a store that has failed is neither live nor ready, a full one is only not ready [HEALTH-14]", () => {
  const { state, failing } = setup();
  assert.deepEqual([failing("livez"), failing("readyz")], [[], []]);
  state.full = new StorageFull("no room");
  assert.deepEqual([failing("livez"), failing("readyz")], [[], ["storage"]]);
  state.full = undefined;
  state.failure = new StorageFailure("a sync failed");
  assert.deepEqual([failing("livez"), failing("readyz")], [["storage"], ["storage"]]);
});

void test("a server whose informers lag behind, or that stops, is live and not ready [HEALTH-03] [HEALTH-14]", () => {
  const { flags, failing } = setup();
  flags.isSynced = false;
  assert.deepEqual([failing("livez"), failing("readyz")], [[], ["informer-sync"]]);
  flags.isSynced = true;
  flags.isStopping = true;
  assert.deepEqual([failing("livez"), failing("readyz")], [[], ["shutdown"]]);
});

void test("a storage thread that does not answer for ten seconds fails the log check, until it answers", async () => {
  const answers: PromiseWithResolvers<void>[] = [];
  const askThread = (): Promise<void> => {
    const answer = Promise.withResolvers<void>();
    answers.push(answer);
    return answer.promise;
  };
  const { clock, failing } = setup({ askThread });
  assert.deepEqual(failing("livez"), []);
  clock.advance(9_999);
  assert.deepEqual(failing("readyz"), []);
  clock.advance(1);
  for (const endpoint of ["healthz", "livez", "readyz"]) assert.deepEqual(failing(endpoint), ["log"]);
  assert.equal(answers.length, 1, "one question at a time");
  answers[0]!.reject(new Error("the store is closed"));
  await turn();
  assert.deepEqual(failing("livez"), []);
  assert.equal(answers.length, 2);
});

void test("a real thread that is stuck in a commit is found", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "binnacle-health-"));
  const store = await openSqliteStore({ clock: systemClock, dataDir, faults: { commitDelayMs: 500 } });
  try {
    const { clock, failing } = setup({ askThread: () => store.log.entriesAt([]) });
    const written = store.cache.put("/a", 0, { ...withoutRevision(Buffer.from("{}")), decode: () => undefined });
    await turn();
    assert.deepEqual(failing("livez"), []);
    clock.advance(10_000);
    assert.deepEqual(failing("livez"), ["log"]);
    await written;
    await store.log.entriesAt([]);
    assert.deepEqual(failing("livez"), []);
  } finally {
    await store.cache.close();
    rmSync(dataDir, { recursive: true });
  }
});

void test("a server in memory has no thread and no such check", () => {
  const { health } = setup();
  assert.equal(health.reply({ path: "/livez/log", query: new URLSearchParams() }), undefined);
});

test("a check that fails is told of once in ten seconds, however often anybody asks", () => {
  const clock = new FakeClock();
  const lines: string[] = [];
  const line =
    (level: string) =>
    (fields: object): void =>
      void lines.push(`${level} ${Object.values(fields).join(" ")}`);
  const failed = healthFailures(clock, { debug: line("debug"), warn: line("warn") });
  for (let count = 0; count < 1000; count++) failed("livez", "log", `${count} ms`);
  failed("readyz", "log", "0 ms");
  failed("readyz", "shutdown", "ends");
  clock.advance(10_000);
  failed("livez", "log", "11000 ms");
  assert.deepEqual(lines, [
    "warn livez log 0 ms",
    "warn readyz log 0 ms",
    "debug readyz shutdown ends",
    "warn livez log 11000 ms",
  ]);
});
