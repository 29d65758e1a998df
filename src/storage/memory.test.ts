/** The backend in memory keeps every promise of `Backend`. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { FakeClock } from "#std/fake-clock.ts";

import { backendContract, putText, textOf } from "./backend.contract.ts";
import { openMemoryBackend } from "./memory.ts";

backendContract({ name: "memory", open: (options) => Promise.resolve(openMemoryBackend(options)), hasLog: false });

test("history stays within its bytes, and a deleted key leaves nothing behind", async () => {
  const backend = openMemoryBackend({ clock: new FakeClock(), historyBytesMax: 100_000 });
  for (let i = 0; i < 2000; i++) {
    const { revision } = await putText(backend, `/registry//pods/shop/${i}`, 0, "x".repeat(200));
    await backend.remove(`/registry//pods/shop/${i}`, revision, textOf("gone"));
  }
  assert(backend.statistics.historyBytes <= 100_000);
  assert(backend.statistics.valueBytes <= 100_000);
  await backend.compact(backend.revision);
  const { historyBytes, historyEvents, valueBytes } = backend.statistics;
  assert.deepEqual({ historyBytes, historyEvents, valueBytes }, { historyBytes: 0, historyEvents: 0, valueBytes: 0 });
  await backend.close();
});
