/**
 * Commits to a log that another process owns, beside those to a log of this process, and reads of the present. To run
 * it alone: `node --conditions=source bench/processes.bench.ts`.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock as clock } from "#std/clock.ts";
import type { OpenedStore } from "#storage/opened-store.ts";
import { openServedStore } from "#storage/served.ts";
import { openSqliteStore } from "#storage/sqlite.ts";
import { toUnversioned } from "#storage/versioned-value.ts";
import { Program } from "./client-process.ts";
import { usageOf } from "./process-usage.ts";
import { runAlone } from "./report.ts";
import { defaultWarmupSeconds, type Measurement, type Run, type Suite } from "./suite.ts";

export const processesSuite: Suite = {
  name: "processes",
  about: "a log that another process of the machine owns; CPU is that of both processes, with their threads",
  rows: {
    "commits-own-1": "writes of 1 KB to a log of this process, one after the other",
    "commits-own-64": "the same, 64 at a time",
    "commits-remote-1": "writes of 1 KB to a log of another process, one after the other",
    "commits-remote-64": "the same, 64 at a time",
    "read-fresh": "waiting until reads show the present, in the other process",
  },
  workloads: [],
  measure,
};

async function measure(run: Run): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-bench-processes-"));
  try {
    const own = await openSqliteStore({ clock, dataDir: join(folder, "own") });
    for (const writers of [1, 64]) {
      await run.row(`commits-own-${writers}`, () => commits(own, `commits-own-${writers}`, writers, run.seconds));
    }
    await own.cache.close();
    const owner = new Program(process.execPath, [
      "--conditions=source",
      fileURLToPath(new URL("../src/storage/served/owner-child.ts", import.meta.url)),
      folder,
    ]);
    try {
      assert.equal(await owner.line(), "serving");
      const warn = (problem: string): void => console.error(problem);
      const remote = await openServedStore({ clock, folder, warn, goneBack: (failure) => warn(failure.message) });
      for (const writers of [1, 64]) {
        const name = `commits-remote-${writers}`;
        await run.row(name, () => commits(remote, name, writers, run.seconds, owner.pid));
      }
      await run.row("read-fresh", () => freshReads(remote, run.seconds));
      await remote.cache.close();
    } finally {
      await owner.end();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const filler = "x".repeat(1000);

async function commits(
  { cache }: OpenedStore,
  name: string,
  writers: number,
  seconds: number,
  owner?: number,
): Promise<Measurement> {
  const loop = async (lengthMs: number): Promise<number> => {
    const endMs = performance.now() + lengthMs;
    let count = 0;
    const write = async (writer: number): Promise<void> => {
      const key = `/registry//pods/shop/${name}-${writer}`;
      for (; performance.now() < endMs; count++) {
        const text = `{"resourceVersion":"","data":"${filler}"}\n`;
        const encoded = { ...toUnversioned(text, '"resourceVersion":"'), decode: () => undefined };
        const result = await cache.put(key, cache.get(key)?.revision ?? 0, encoded);
        assert.ok(result.ok);
      }
    };
    await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
    return count;
  };
  await loop(defaultWarmupSeconds * 1000);
  const ownerBefore = owner === undefined ? 0 : usageOf(owner).cpuUs;
  const before = process.cpuUsage();
  const startMs = performance.now();
  const count = await loop(seconds * 1000);
  const rate = (count * 1000) / (performance.now() - startMs);
  const used = process.cpuUsage(before);
  const ownUs = used.user + used.system;
  const ownerUs = owner === undefined ? 0 : usageOf(owner).cpuUs - ownerBefore;
  const cpuUsPerOp = (ownUs + ownerUs) / count;
  return owner === undefined ? { name, rate, cpuUsPerOp } : { name, rate, cpuUsPerOp, clientUsPerOp: ownUs / count };
}

async function freshReads({ cache }: OpenedStore, seconds: number): Promise<Measurement> {
  let count = 0;
  const startMs = performance.now();
  const before = process.cpuUsage();
  for (const endMs = startMs + seconds * 1000; performance.now() < endMs; ) {
    for (let i = 0; i < 1000; i++, count++) await cache.fresh();
  }
  const used = process.cpuUsage(before);
  const rate = (count * 1000) / (performance.now() - startMs);
  return { name: "read-fresh", rate, cpuUsPerOp: (used.user + used.system) / count };
}

if (import.meta.main) await runAlone(processesSuite);
