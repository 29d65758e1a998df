/**
 * Costs as collections grow: lists by a selector from an index, events to watchers that have a selector each, and a store
 * of a million objects. To run it alone: `node --conditions=source bench/growth.bench.ts`.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { systemClock } from "#std/clock.ts";
import { openMemoryStore } from "#storage/memory.ts";
import { toUnversioned } from "#storage/versioned-value.ts";
import type { Encoded, Entry, IndexFunction, IndexMatch, WatchCache } from "#storage/watch-cache.ts";
import { bestOf } from "./in-process.ts";
import type { LargeStoreFigures } from "./large-store.ts";
import { progress, runAlone } from "./report.ts";
import type { Measurement, Run, Suite } from "./suite.ts";

const small = 5000;
const large = 1_000_000;
const matching = 50;
const watchers = 10_000;

export const growthSuite: Suite = {
  name: "growth",
  about: "lists by a selector, events to selectors and memory, as collections grow; no server",
  rows: {
    "selector-5000": "50 of 5,000 objects by a label",
    "selector-1000000": "50 of a million",
    "index-1000000": "making the index of a million objects of 1 KB; MB are those of the index",
    "change-indexed": "a change of an object that four indexes have",
    "selector-watchers-10000": "an event to 10,000 watchers, each of another node, one of which gets it",
    "open-1000000":
      "opening a folder of a million objects of 1 KB; MB are those of the process, ms how long the loop was held",
    "write-1000000": "then 500 writes a second, for 10 seconds",
  },
  workloads: [],
  measure,
};

const prefix = "/registry//configmaps/";
const filler = "x".repeat(900);

const value = (at: number, app: string): Encoded => ({
  ...toUnversioned(
    `{"app":"${app}","node":"node-${at}","resourceVersion":"","data":"${filler}"}\n`,
    '"resourceVersion":"',
  ),
  decode: () => undefined,
});

const member = (name: string): IndexFunction => ({
  name: `label ${name}`,
  valueOf: (entry: Entry) => (JSON.parse(entry.value.toString()) as Readonly<Record<string, string>>)[name],
});

const appOf = (at: number, count: number): string => (at % (count / matching) === 0 ? "picked" : "other");

async function filled(count: number): Promise<WatchCache> {
  const cache = await openMemoryStore({ clock: systemClock, compactionIntervalMs: 0 });
  for (let at = 0; at < count; at += 1000) {
    if (count === large && at % 100_000 === 0) progress(`${at} of ${count} objects`);
    const batch = Array.from({ length: Math.min(1000, count - at) }, (_, i) =>
      cache.put(
        `${prefix}ns-${(at + i) % 100}/${String(at + i).padStart(7, "0")}`,
        0,
        value(at + i, appOf(at + i, count)),
      ),
    );
    await Promise.all(batch);
  }
  await cache.compact(cache.revision);
  return cache;
}

/** Asks for a page of a selection until an index answers, which has fewer. */
async function makeIndex(cache: WatchCache, match: IndexMatch): Promise<void> {
  while (cache.range(prefix, { matching: [match], limit: 2 * matching }).entries.length > matching) await sleep(1);
}

function lists(name: string, cache: WatchCache, match: IndexMatch): Measurement {
  return bestOf(name, 2000, () => {
    assert.equal(cache.range(prefix, { matching: [match] }).entries.length, matching);
  });
}

async function measure(run: Run): Promise<void> {
  const match: IndexMatch = { by: member("app"), values: ["picked"] };
  if (run.isWanted("selector-5000") || run.isWanted("change-indexed")) {
    const cache = await filled(small);
    await makeIndex(cache, match);
    await run.row("selector-5000", () => lists("selector-5000", cache, match));
    for (const name of ["node", "resourceVersion", "data"]) await makeIndex(cache, { by: member(name), values: [""] });
    await run.row("change-indexed", () => changes(cache));
    await cache.close();
  }
  if (run.isWanted("selector-1000000") || run.isWanted("index-1000000")) {
    const cache = await filled(large);
    if (run.isWanted("index-1000000")) await run.row("index-1000000", () => makeLargeIndex(cache, match));
    await makeIndex(cache, match);
    await run.row("selector-1000000", () => lists("selector-1000000", cache, match));
    await cache.close();
  }
  await run.row("selector-watchers-10000", events);
  if (run.isWanted("open-1000000") || run.isWanted("write-1000000")) {
    progress("filling a folder");
    const { openMs, openMb, longestOpeningMs, ...writing } = largeStore();
    await run.row("open-1000000", () => ({
      name: "open-1000000",
      ms: openMs,
      longestMs: longestOpeningMs,
      rssMb: openMb,
    }));
    await run.row("write-1000000", () => ({
      name: "write-1000000",
      cpuUsPerOp: writing.writeCpuUs,
      longestMs: writing.longestWritingMs,
      rssMb: writing.writtenMb,
    }));
  }
}

/** Fills a folder with a million objects, and opens it in a process of its own. */
function largeStore(): LargeStoreFigures {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-bench-"));
  const program = fileURLToPath(new URL("large-store.ts", import.meta.url));
  const runProgram = (...args: readonly string[]): string =>
    execFileSync(process.execPath, ["--conditions=source", "--max-semi-space-size=16", program, ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });
  try {
    runProgram("fill", folder, String(large));
    return JSON.parse(runProgram("open", folder, "10")) as LargeStoreFigures; // the program printed it
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Makes an index of many objects while a timer shows how long the event loop is held. */
async function makeLargeIndex(cache: WatchCache, match: IndexMatch): Promise<Measurement> {
  globalThis.gc?.();
  const rssBefore = process.memoryUsage.rss();
  const start = performance.now();
  let longestMs = 0;
  let isMade = false;
  const beat = async (): Promise<void> => {
    for (let last = performance.now(); !isMade; last = performance.now()) {
      await turn();
      longestMs = Math.max(longestMs, performance.now() - last);
    }
  };
  const beating = beat();
  await makeIndex(cache, match);
  isMade = true;
  await beating;
  const ms = performance.now() - start;
  globalThis.gc?.();
  return { name: "index-1000000", ms, longestMs, rssMb: (process.memoryUsage.rss() - rssBefore) / 2 ** 20 };
}

async function changes(cache: WatchCache): Promise<Measurement> {
  const count = 20_000;
  const before = process.threadCpuUsage();
  const start = performance.now();
  for (let at = 0; at < count; at++) {
    const key = `${prefix}ns-${(at % small) % 100}/${String(at % small).padStart(7, "0")}`;
    await cache.put(key, cache.get(key)!.revision, value(at, appOf(at % small, small)));
  }
  const used = process.threadCpuUsage(before);
  const rate = (count * 1000) / (performance.now() - start);
  return { name: "change-indexed", rate, cpuUsPerOp: (used.user + used.system) / count };
}

async function events(): Promise<Measurement> {
  const cache = await openMemoryStore({ clock: systemClock, compactionIntervalMs: 0 });
  const by = member("node");
  let delivered = 0;
  for (let at = 0; at < watchers; at++) {
    await cache.watch({
      prefix,
      after: 0,
      matching: { by, values: [`node-${at}`] },
      deliver(batch) {
        delivered += batch.length;
        return true;
      },
      ended: () => undefined,
    });
  }
  const count = 20_000;
  const before = process.threadCpuUsage();
  const start = performance.now();
  for (let at = 0; at < count; at++) await cache.put(`${prefix}a/${at}`, 0, value(at % watchers, "other"));
  while (delivered < count) await turn();
  const used = process.threadCpuUsage(before);
  const rate = (count * 1000) / (performance.now() - start);
  await cache.close();
  return { name: "selector-watchers-10000", rate, cpuUsPerOp: (used.user + used.system) / count };
}

if (import.meta.main) await runAlone(growthSuite);
