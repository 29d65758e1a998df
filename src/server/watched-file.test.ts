/** Files that change while the server runs. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { watchFile } from "./watched-file.ts";

const folder = mkdtempSync(join(tmpdir(), "binnacle-watched-"));
after(() => rmSync(folder, { recursive: true, force: true }));

function openWatch(name: string, text: string) {
  const file = join(folder, name);
  const clock = new FakeClock();
  const taken: string[] = [];
  const failures: unknown[] = [];
  let looked: () => void = () => undefined;
  writeFileSync(file, text);
  const stop = watchFile({
    file,
    text,
    // The next look is planned when the previous one has ended.
    clock: {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      after(ms, callback) {
        looked();
        return clock.after(ms, callback);
      },
    },
    changed(content) {
      if (content.startsWith("bad")) throw new Error("not this");
      taken.push(content);
    },
    failed: (error) => failures.push(error),
  });
  const look = (): Promise<void> =>
    new Promise((resolve) => {
      looked = resolve;
      clock.advance(60_000);
    });
  return { file, clock, taken, failures, stop, look };
}

test("changed content is handed on once, unchanged content never", async () => {
  const { file, taken, failures, stop, look } = openWatch("a", "one");
  await look();
  assert.deepEqual(taken, []);
  writeFileSync(file, "two");
  await look();
  await look();
  assert.deepEqual(taken, ["two"]);
  writeFileSync(file, "one");
  await look();
  assert.deepEqual([taken, failures], [["two", "one"], []]);
  stop();
});

test("content that cannot be used is reported and tried again, a file that is gone too; then any content is handed on", async () => {
  const { file, taken, failures, stop, look } = openWatch("b", "one");
  writeFileSync(file, "bad");
  await look();
  await look();
  assert.equal(failures.length, 2);
  rmSync(file);
  await look();
  assert.equal((failures[2] as NodeJS.ErrnoException).code, "ENOENT");
  writeFileSync(file, "three");
  await look();
  assert.deepEqual([taken, failures.length], [["three"], 3]);
  writeFileSync(file, "bad again");
  await look();
  writeFileSync(file, "three");
  await look();
  await look();
  assert.deepEqual([taken, failures.length], [["three", "three"], 4]);
  stop();
});

test("no content is handed on after the end, not even by a read that is under way", async () => {
  const { clock, file, taken, stop } = openWatch("c", "one");
  const other = openWatch("d", "one");
  writeFileSync(file, "two");
  clock.advance(60_000);
  stop();
  // Waits until a look that began later has ended, twice.
  for (const text of ["two", "three"]) {
    writeFileSync(other.file, text);
    await other.look();
  }
  assert.deepEqual(other.taken, ["two", "three"]);
  other.stop();
  clock.advance(600_000);
  assert.deepEqual(taken, []);
});
