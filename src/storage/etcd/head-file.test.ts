/** Tests of the record that the data folder of a server has of its etcd, and of what is refused because of it. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { StorageFailure } from "../log-store.ts";
import { checkHead, EtcdHeadFile } from "./head-file.ts";

function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-head-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const path = (folder: string): string => join(folder, "etcd.head");

async function remember(folder: string, cluster: string, revision: number): Promise<void> {
  const file = new EtcdHeadFile(folder, cluster, { revision, failure: undefined });
  file.start(new FakeClock(0));
  await file.close();
}

/** Checks an etcd. Returns the notice of a loss that is accepted. */
const check = (folder: string, cluster: string, revision: number, acceptsLoss = false): string | undefined =>
  checkHead(folder, { cluster, revision }, { endpoint: "http://m:1", acceptsLoss });

test("a folder without a record takes any etcd, and one with a record its own, at the same revision or later", async (t) => {
  const folder = folderFor(t);
  assert.equal(check(folder, "c1", 5), undefined);
  await remember(folder, "c1", 100);
  assert.equal(check(folder, "c1", 100), undefined);
  assert.equal(check(folder, "c1", 5000), undefined);
});

test("an etcd that has gone back, or another one, is refused with both values and what to do", async (t) => {
  const folder = folderFor(t);
  await remember(folder, "c1", 100);
  assert.throws(
    () => check(folder, "c1", 99),
    (error) =>
      error instanceof StorageFailure &&
      /is at revision 99, but this server knows of revision 100/.test(error.message) &&
      /etcdutl snapshot restore --bump-revision 1000000000 --mark-compacted/.test(error.message),
  );
  assert.throws(
    () => check(folder, "c2", 5000),
    /belongs to the cluster c2, at revision 5000, but this server used the cluster c1, and there was revision 100/,
  );
});

test("a backup whose revisions were moved on is taken, also as another cluster", async (t) => {
  const folder = folderFor(t);
  await remember(folder, "c1", 100);
  assert.equal(check(folder, "c2", 1_000_000_050), undefined);
});

test("a loss that is accepted is told, and forgotten", async (t) => {
  const folder = folderFor(t);
  await remember(folder, "c1", 100);
  assert.match(check(folder, "c1", 7, true) ?? "", /a loss was accepted: .* is at revision 7, but .* revision 100/);
  assert.equal(check(folder, "c1", 7), undefined);
});

test("a server that is refused before it serves leaves no record", async (t) => {
  const folder = folderFor(t);
  await new EtcdHeadFile(folder, "c1", { revision: 5, failure: undefined }).close();
  assert.equal(check(folder, "c2", 1), undefined);
});

test("a damaged record is refused", (t) => {
  const folder = folderFor(t);
  writeFileSync(path(folder), '{"cluster":"c1"');
  assert.throws(() => check(folder, "c1", 7), /etcd\.head is damaged: .*--accept-data-loss/);
  assert.match(check(folder, "c1", 7, true) ?? "", /a loss was accepted: .*is damaged/);
  assert.equal(check(folder, "c1", 7), undefined);
});

test("the record is written once a second, not after the log has failed, and a last time at the end", async (t) => {
  const folder = folderFor(t);
  const clock = new FakeClock(0);
  const log: { revision: number; failure: Error | undefined } = { revision: 5, failure: undefined };
  const file = new EtcdHeadFile(folder, "c1", log);
  file.start(clock);
  await file.written();
  assert.equal(readFileSync(path(folder), "utf8"), '{"cluster":"c1","revision":5}\n');
  log.revision = 6;
  clock.advance(900);
  await file.written();
  assert.match(readFileSync(path(folder), "utf8"), /"revision":5\}/);
  clock.advance(100);
  await file.written();
  assert.match(readFileSync(path(folder), "utf8"), /"revision":6\}/);
  log.revision = 7;
  await file.close();
  assert.match(readFileSync(path(folder), "utf8"), /"revision":7\}/);
  log.revision = 8;
  log.failure = new Error("replaced");
  await file.close();
  assert.match(readFileSync(path(folder), "utf8"), /"revision":7\}/);
});
