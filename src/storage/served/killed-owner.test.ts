/** The owner of a log is killed while others write: no acknowledged write is missing, none is done twice, and reads go on. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { systemClock } from "#std/clock.ts";
import { type Revision, StorageFailure, Unavailable } from "../log-store.ts";
import { waitUntil } from "../store.contract.ts";
import { RemoteLog } from "./remote-log.ts";
import { prefix, RecordingFollower, writeOf } from "./served-for-tests.ts";

const kills = 3;
const writersPerProcess = 8;

const file = fileURLToPath(new URL("./owner-child.ts", import.meta.url));

/** Starts an owner, and waits until it serves the log. */
async function startOwner(t: TestContext, folder: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["--conditions=source", file, folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  await new Promise((resolve) => child.stdout!.once("data", resolve));
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await ended;
}

test("no acknowledged write is missing after the owner of the log was killed, and none comes twice", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-killed-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  let owner = await startOwner(t, folder);
  const processes = await Promise.all(
    [0, 1].map(async () => {
      const log = await RemoteLog.open({
        folder,
        clock: systemClock,
        warn: () => undefined,
        goneBack: (failure) => assert.fail(failure.message),
      });
      const follower = new RecordingFollower();
      await log.follow(follower);
      t.after(() => log.close());
      return { log, follower };
    }),
  );
  const acknowledged = new Map<Revision, string>();
  const unknown = new Set<string>();
  /** The last revision that any process has shown. */
  let shown = 0;
  let isOver = false;
  let count = 0;
  const writing = processes.flatMap(({ log, follower }, process) =>
    Array.from({ length: writersPerProcess }, async (_, writer) => {
      while (!isOver) {
        const name = `${process}-${writer}`;
        const text = `${name} ${++count}`;
        try {
          const before = shown;
          await log.latest();
          assert.ok(follower.revision >= before, `a read shows ${follower.revision}, and ${before} was shown before`);
          shown = Math.max(shown, follower.revision);
          const result = await log.commit(writeOf(name, follower.entries.get(prefix + name)?.revision ?? 0, text));
          shown = Math.max(shown, result.revision);
          if (result.committed) acknowledged.set(result.revision, text);
        } catch (error) {
          if (!(error instanceof StorageFailure)) throw error;
          if (!(error instanceof Unavailable)) unknown.add(text);
          await sleep(1);
        }
      }
    }),
  );
  for (let round = 0; round < kills; round++) {
    const before = acknowledged.size;
    await waitUntil(() => acknowledged.size > before + 100);
    await kill(owner);
    owner = await startOwner(t, folder);
  }
  isOver = true;
  await Promise.all(writing);
  const [one, other] = processes.map(({ follower }) => follower) as [RecordingFollower, RecordingFollower];
  for (const { log } of processes) await log.latest();
  await waitUntil(() => one.revision === other.revision);
  assert.deepEqual(one.texts, other.texts);
  for (const follower of [one, other]) {
    assert.equal(follower.reloads, 0);
    const texts = new Map(follower.events.map(({ revision, value }) => [revision, value!.bytes.toString()]));
    for (const [revision, text] of acknowledged) assert.equal(texts.get(revision), text);
    // The order of revisions is checked by the follower; a write has one of them.
    assert.equal(new Set(texts.values()).size, follower.events.length);
    for (const text of texts.values()) assert.ok(unknown.has(text) || [...acknowledged.values()].includes(text));
  }
});
