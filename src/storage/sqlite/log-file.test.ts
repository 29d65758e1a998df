/** Tests that a new log has one owner, and leaves nothing else behind, on file systems of any kind. */
import assert from "node:assert/strict";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";

import { StorageFailure, StoreInUse } from "../log-store.ts";
import { LogFile } from "./log-file.ts";

const row = { revision: 1, key: "a", previous: 0, expires: 0, deleted: 0, value: Buffer.from("x") };

function newFolder(t: TestContext): string {
  const folder = fs.mkdtempSync(join(tmpdir(), "binnacle-log-file-"));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function open(t: TestContext, path: string): LogFile {
  const file = new LogFile(path);
  t.after(() => file.close());
  return file;
}

/** Replaces a function of the file system until the end of the test; once in a test. */
function replace<Name extends "linkSync" | "renameSync" | "openSync" | "writeFileSync">(
  t: TestContext,
  name: Name,
  replacement: (typeof fs)[Name],
): void {
  const { mock } = t.mock.method(fs, name, replacement);
  syncBuiltinESMExports();
  t.after(() => {
    mock.restore();
    syncBuiltinESMExports();
  });
}

function fail(code: string): never {
  throw Object.assign(new Error(`${code}: injected`), { code });
}

/** Writes a row, and reads it after the log was opened again. */
function checkUse(t: TestContext, path: string, file: LogFile): void {
  file.append(row);
  file.close();
  const again = open(t, path);
  again.check();
  assert.equal(again.row(1)?.key, "a");
}

for (const code of ["EPERM", "ENOTSUP", "ENOSYS"]) {
  test(`a log is made where links fail with ${code}, too, and nothing is left beside it`, (t) => {
    const path = join(newFolder(t), "store.db");
    replace(t, "linkSync", () => fail(code));
    const file = open(t, path);
    assert.deepEqual(fs.readdirSync(join(path, "..")).toSorted(), ["store.db", "store.db-wal"]);
    assert.equal(fs.statSync(path).mode & 0o077, 0);
    assert.throws(() => new LogFile(path), StoreInUse);
    checkUse(t, path, file);
  });
}

/** The moments at which another process may make the log that this one is making. */
for (const moment of ["the link", "the file gets its name"] as const) {
  test(`without links, a log that another process makes before ${moment} is not replaced`, (t) => {
    const path = join(newFolder(t), "store.db");
    const { renameSync, openSync } = fs;
    let other: LogFile | undefined;
    let calls = 0;
    const once = (): void => {
      if (++calls === 1) other = open(t, path);
    };
    replace(t, "linkSync", () => {
      if (moment === "the link") once();
      return fail("EPERM");
    });
    replace(t, "renameSync", (from, to) => {
      if (to === path) once();
      renameSync(from, to);
    });
    replace(t, "openSync", (file, ...rest) => {
      if (file === path) once();
      return openSync(file, ...rest);
    });
    assert.throws(() => new LogFile(path), StoreInUse);
    checkUse(t, path, other!);
  });
}

test("two that make a log at once do not disturb each other, though they have the same process id", (t) => {
  const path = join(newFolder(t), "store.db");
  const { linkSync } = fs;
  let other: LogFile | undefined;
  let calls = 0;
  replace(t, "linkSync", (from, to) => {
    if (++calls === 1) other = open(t, path);
    linkSync(from, to);
  });
  assert.throws(() => new LogFile(path), StoreInUse);
  assert.equal(calls, 2);
  assert.deepEqual(fs.readdirSync(join(path, "..")).toSorted(), ["store.db", "store.db-wal"]);
  checkUse(t, path, other!);
});

test("a log that finds no room leaves no file behind", (t) => {
  const folder = newFolder(t);
  const { writeFileSync } = fs;
  replace(t, "writeFileSync", (file, _bytes, options) => {
    writeFileSync(file, "a part", options);
    fail("ENOSPC");
  });
  assert.throws(() => new LogFile(join(folder, "store.db")), StorageFailure);
  assert.deepEqual(fs.readdirSync(folder), []);
});

test("who has locked the log removes what killed processes left of it, and only that", (t) => {
  const folder = newFolder(t);
  const path = join(folder, "store.db");
  const kept = ["other.db.5e0b8f6a-3c1d-4a2b-9e8f-0123456789ab.new", "store.db.mine.new", "store.db.new"];
  for (const name of kept) fs.writeFileSync(join(folder, name), "");
  const { linkSync } = fs;
  let left = "";
  replace(t, "linkSync", (from, to) => {
    left = String(from);
    linkSync(from, to);
  });
  const owner = open(t, path);
  assert.deepEqual(fs.readdirSync(folder).toSorted(), [...kept, "store.db", "store.db-wal"].toSorted());
  fs.writeFileSync(left, "a part");
  assert.throws(() => new LogFile(path), StoreInUse);
  assert.ok(fs.existsSync(left), "one that has no lock removed it");
  owner.close();
  open(t, path);
  assert.ok(!fs.existsSync(left));
});

test("a symbolic link to a file that is absent stays, and the log is made at its target", (t) => {
  const folder = newFolder(t);
  const [path, target] = [join(folder, "store.db"), join(folder, "disk", "log.db")];
  fs.mkdirSync(join(folder, "disk"));
  fs.symlinkSync(target, path);
  const file = open(t, path);
  assert.equal(fs.readlinkSync(path), target);
  assert.ok(fs.statSync(target).size > 0);
  checkUse(t, path, file);
});
