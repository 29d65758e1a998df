/**
 * Tests that promises hold after a SIGKILL: a child writes, watches itself and compacts; it is killed at random
 * moments, and its store is opened and compared with its output. `CRASH_ROUNDS` and `CRASH_SEED` set length and course.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

import { systemClock } from "#std/clock.ts";
import { type Random, seededRandom } from "#std/random.ts";

import { pods, Recorder } from "./store.contract.ts";
import type { Revision } from "./log-store.ts";
import { checkConsistency } from "./consistency-for-tests.ts";
import { openSqliteStore } from "./sqlite.ts";

const rounds = Number(process.env["CRASH_ROUNDS"] ?? 25);
const seed = Number(process.env["CRASH_SEED"] ?? Date.now() % 1_000_000);
const dataDir = mkdtempSync(join(tmpdir(), "binnacle-crash-"));
after(() => rmSync(dataDir, { recursive: true, force: true }));

/** The output of one run of the child. */
interface Story {
  readonly openedAt: Revision | undefined;
  /** The last acknowledged write of each key. */
  readonly last: Map<string, { readonly verb: string; readonly revision: Revision }>;
  /** Every acknowledged revision. */
  readonly acknowledged: readonly Revision[];
  /** Keys with writes that were not answered when the child was killed. */
  readonly unanswered: Map<string, Set<string>>;
  /** The events that its watcher saw, as text with their revision. */
  readonly events: readonly { readonly text: string; readonly revision: Revision }[];
}

async function live(random: Random): Promise<Story> {
  const child = fileURLToPath(new URL("./crash-child.ts", import.meta.url));
  const args = ["--conditions=source", child, dataDir, String(Math.floor(random.next() * 1e9))];
  // The child writes to a file: a write to it is done when the call returns, and outlives the writer.
  const saidFile = join(dataDir, "said.txt");
  const said = openSync(saidFile, "w");
  const running = spawn(process.execPath, args, { stdio: ["ignore", said, "inherit"] });
  closeSync(said);
  const kill = (): void => void running.kill("SIGKILL");
  const killSoon = (): void => void systemClock.after(random.next() * 250, kill);
  const poll = setInterval(() => {
    if (statSync(saidFile).size === 0) return;
    clearInterval(poll);
    killSoon();
  }, 5);
  // The child is sometimes killed while it starts, else while it works.
  if (random.next() < 0.15) {
    clearInterval(poll);
    killSoon();
  }
  const exit = await new Promise<string | null>((resolve) => running.on("exit", (_code, signal) => resolve(signal)));
  clearInterval(poll);
  const output = readFileSync(saidFile, "utf8");
  assert.equal(exit, "SIGKILL", "the child must not end by itself");
  return tell(output.slice(0, output.lastIndexOf("\n") + 1).split("\n"));
}

function tell(lines: readonly string[]): Story {
  const story = {
    last: new Map(),
    acknowledged: [] as Revision[],
    unanswered: new Map(),
    events: [] as Story["events"][number][],
  };
  let openedAt: Revision | undefined;
  for (const line of lines) {
    const [word, a = "", key = "", revision = ""] = line.split(" ");
    if (word === "open") openedAt = Number(a);
    else if (word === "?") {
      const verbs = (story.unanswered.get(key) as Set<string> | undefined) ?? new Set<string>();
      story.unanswered.set(key, verbs.add(a));
    } else if (word === "!") {
      const known = story.last.get(key) as { revision: Revision } | undefined;
      if ((known?.revision ?? 0) < Number(revision)) story.last.set(key, { verb: a, revision: Number(revision) });
      story.acknowledged.push(Number(revision));
    } else if (word === "e") {
      story.events.push({ text: `${a} ${key} ${revision}`, revision: Number(revision) });
    } else assert.equal(word, "", `unexpected line: ${line}`);
  }
  return { openedAt, ...story };
}

test(`nothing acknowledged is lost in ${rounds} kills, and no revision repeats (seed ${seed})`, async (t) => {
  const random = seededRandom(seed);
  let highest = 0;
  let writes = 0;
  let state = new Map<string, Revision>();
  for (let round = 0; round < rounds; round++) {
    const story = await live(random);
    writes += story.acknowledged.length;
    const where = `seed ${seed}, round ${round}`;
    if (story.openedAt !== undefined) assert(story.openedAt >= highest, `${where}: the revision went back`);
    const ordered = story.acknowledged.toSorted((a, b) => a - b);
    for (const [i, revision] of ordered.entries()) {
      assert(revision > (i === 0 ? highest : ordered[i - 1]!), `${where}: revision ${revision} was given out before`);
    }

    const store = await openSqliteStore({ clock: systemClock, compactionIntervalMs: 0, dataDir });
    t.after(() => store.cache.close());
    assert(store.cache.revision >= (ordered.at(-1) ?? highest), `${where}: the revision went back`);
    assert(store.cache.revision >= (story.events.at(-1)?.revision ?? 0));

    for (const [key, { verb, revision }] of story.last) {
      const entry = store.cache.get(key);
      const unanswered = story.unanswered.get(key) ?? new Set();
      if (entry === undefined) {
        assert(verb === "remove" || unanswered.has("remove"), `${where}: ${key} was lost at ${revision}`);
      } else if (entry.revision <= revision) {
        assert(
          verb === "put" && entry.revision === revision,
          `${where}: ${key} is at ${entry.revision}, was at ${revision}`,
        );
      } else {
        assert(unanswered.has("put"), `${where}: nobody wrote ${key} at ${entry.revision}`);
      }
    }
    // Keys that this run did not write are as they were.
    for (const [key, revision] of state) {
      if (!story.unanswered.has(key))
        assert.equal(store.cache.get(key)?.revision, revision, `${where}: ${key} changed by itself`);
    }
    for (const entry of store.cache.range(pods).entries) {
      assert(entry.value.toString().startsWith(`${entry.key} ${entry.revision} `), `${where}: bytes of another write`);
    }

    // No watcher saw an event that is gone now, or another event with its revision.
    const from = Math.max(store.cache.compactedRevision, story.openedAt ?? 0);
    const seen = story.events.filter((event) => event.revision > from);
    const replay = await Recorder.open(store.cache, { prefix: pods, after: from });
    while (replay.watch.position < store.cache.revision) await new Promise((resolve) => setImmediate(resolve));
    const replayed = new Set(replay.events.map((event) => `${event.type} ${event.entry.key} ${event.revision}`));
    for (const event of seen) assert(replayed.has(event.text), `${where}: the event ${event.text} is gone`);
    const revisions = new Set(replay.events.map((event) => event.revision));
    for (const revision of ordered)
      assert(revision <= from || revisions.has(revision), `${where}: no event ${revision}`);

    assert.deepEqual(await checkConsistency(store, random, 20), [], where);
    highest = store.cache.revision;
    state = new Map(store.cache.range(pods).entries.map((entry) => [entry.key, entry.revision]));
    await store.cache.close();
  }
  t.diagnostic(`${writes} writes were acknowledged`);
  assert(writes > rounds, "the children should have written something");
});
