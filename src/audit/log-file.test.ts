/** The audit log file: no event is lost or torn by rotation, a killed process, a full disk or concurrent writers. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { test, type TestContext } from "node:test";
import { gunzipSync } from "node:zlib";
import { systemClock } from "#std/clock.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { type AuditEvent, EventRecord } from "./event.ts";
import { type AuditFileOptions, openLogFile, streamWriter } from "./log-file.ts";

const record = (auditId: string): EventRecord => new EventRecord({ auditId } as AuditEvent); // no other field matters

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-audit-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

const dayMs = 24 * 60 * 60_000;

function options(file: string, own: Partial<AuditFileOptions> = {}): AuditFileOptions {
  return {
    file,
    lineOf: ({ event }) => `${event.auditId}\n`,
    clock: new FakeClock(),
    bytesMax: 1024,
    keepMs: 0,
    backupsMax: 0,
    compress: false,
    sharing: "alone",
    failed: assert.ifError,
    ...own,
  };
}

test("the file and its folder are made for their owner only, and lines are there when the write is done", async (t) => {
  const file = join(folderOf(t), "new", "audit.log");
  const writer = await openLogFile(options(file));
  await Promise.all([writer.write([record("a"), record("b")]), writer.write([record("c")])]);
  assert.equal(readFileSync(file, "utf8"), "a\nb\nc\n");
  assert.equal(statSync(file).mode & 0o777, 0o600);
  await writer.close();
});

test("a line that a killed process left half written does not spoil the next", async (t) => {
  const file = join(folderOf(t), "audit.log");
  writeFileSync(file, "whole\nha");
  const writer = await openLogFile(options(file));
  await writer.write([record("b")]);
  await writer.write([record("c")]);
  await writer.close();
  assert.equal(readFileSync(file, "utf8"), "whole\nha\nb\nc\n");
});

test("a file that is full is put aside under the time, and every line is in exactly one file", async (t) => {
  const folder = folderOf(t);
  const writer = await openLogFile(options(join(folder, "audit.log"), { bytesMax: 100 }));
  const ids = Array.from({ length: 200 }, (_, i) => `event-${i}`.padEnd(19, "."));
  const waits: Promise<void>[] = [];
  for (const [at, id] of ids.entries()) {
    waits.push(writer.write([record(id)]));
    if (at % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(waits);
  await writer.close();
  const files = readdirSync(folder).sort();
  assert.ok(files.length >= 39, `${files.length} files`);
  assert.match(files[0]!, /^audit-2026-01-01T00-00-00\.000\.log$/);
  for (const name of files) assert.ok(statSync(join(folder, name)).size <= 100);
  const lines = files.flatMap((name) => readFileSync(join(folder, name), "utf8").trimEnd().split("\n"));
  assert.deepEqual(lines, ids, "in order, the file in use being the last by name");
});

test("full files are compressed, and removed beyond their number or age; other files are not touched", async (t) => {
  const folder = folderOf(t);
  const clock = new FakeClock();
  const other = join(folder, "audit-notes.log");
  writeFileSync(other, "mine");
  const file = join(folder, "audit.log");
  const own = { bytesMax: 10, compress: true, backupsMax: 2, keepMs: 3 * dayMs, clock };
  const writer = await openLogFile(options(file, own));
  for (const id of ["one", "two", "three", "four"]) {
    await writer.write([record(id.padEnd(8, "."))]);
    clock.advance(dayMs / 2);
  }
  await writer.close();
  const backups = readdirSync(folder).filter((name) => name.endsWith(".gz"));
  assert.equal(backups.length, 2);
  const texts = backups.map((name) => gunzipSync(readFileSync(join(folder, name))).toString());
  assert.deepEqual(texts.sort(), ["three...\n", "two.....\n"]);
  clock.advance(10 * dayMs);
  const again = await openLogFile(options(file, own));
  await again.close();
  assert.deepEqual(readdirSync(folder).sort(), ["audit-notes.log", "audit.log"]);
});

test("several processes write whole lines into one file, which one of them rotates, and lose none", async (t) => {
  const folder = folderOf(t);
  const file = join(folder, "audit.log");
  const shared = { bytesMax: 200, compress: true, clock: systemClock };
  const keeper = await openLogFile(options(file, { ...shared, sharing: "rotates" }));
  const followers = [1, 2].map(() => openLogFile(options(file, { ...shared, sharing: "follows" })));
  const writers = [keeper, ...(await Promise.all(followers))];
  const written = writers.map(async (writer, index) => {
    for (let at = 0; at < 150; at++) await writer.write([record(`event-${index}-${at}-`.padEnd(19, "."))]);
  });
  await Promise.all(written);
  // A file that followers fill alone is rotated, too.
  for (let at = 150; at < 200; at++) await writers[1]!.write([record(`event-1-${at}-`.padEnd(19, "."))]);
  while (statSync(file).size > 200) await new Promise((resolve) => setTimeout(resolve, 20));
  for (const writer of writers) await writer.close();
  const lines = readdirSync(folder).flatMap((name) => {
    const bytes = readFileSync(join(folder, name));
    return (name.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString().split("\n");
  });
  assert.ok(lines.every((line) => line === "" || line.length === 19));
  assert.equal(new Set(lines.filter((line) => line !== "")).size, 500);
});

test("a line that another process left half written does not spoil the next", async (t) => {
  const file = join(folderOf(t), "audit.log");
  const writer = await openLogFile(options(file, { sharing: "follows" }));
  await writer.write([record("a")]);
  writeFileSync(file, "ha", { flag: "a" });
  await writer.write([record("b")]);
  await writer.close();
  assert.equal(readFileSync(file, "utf8"), "a\nha\nb\n");
});

test("a failed write is reported to everybody who waits for it, and the next write tries again", async (t) => {
  if (!existsSync("/dev/full")) return t.skip("this system has no /dev/full");
  const writer = await openLogFile(options("/dev/full"));
  await assert.rejects(writer.write([record("a")]), { code: "ENOSPC" });
  await assert.rejects(writer.write([record("b")]), { code: "ENOSPC" });
  await writer.close();
});

test("a closed stream fails its writes, and nothing else", async () => {
  const stream = new Writable({
    write(_piece, _encoding, done) {
      done(new Error("write EPIPE"));
    },
  });
  const writer = streamWriter(stream, ({ event }) => `${event.auditId}\n`);
  await assert.rejects(writer.write([record("a")]), /EPIPE/);
  await assert.rejects(writer.write([record("b")]), /EPIPE|destroyed/);
  await writer.close();
});
