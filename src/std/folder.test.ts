/** Folders are created with their parents, or the system's error is thrown; created folders can be removed again. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { makeFolder } from "./folder.ts";

const root = mkdtempSync(join(tmpdir(), "binnacle-folder-"));
after(() => rmSync(root, { recursive: true, force: true }));

void test("a folder is made with all above it, for its owner alone, and may be there already", () => {
  const folder = join(root, "a/b/c");
  makeFolder(folder);
  makeFolder(folder);
  if (process.platform !== "win32") {
    for (const made of [folder, join(root, "a")]) assert.equal(statSync(made).mode & 0o777, 0o700);
  }
});

void test("what was made is taken back as far as it is empty", () => {
  mkdirSync(join(root, "before"));
  makeFolder(join(root, "before/x/y"))();
  assert.ok(!existsSync(join(root, "before/x")) && existsSync(join(root, "before")));
  const undo = makeFolder(join(root, "used/x/y"));
  writeFileSync(join(root, "used/x/file"), "");
  undo();
  assert.ok(existsSync(join(root, "used/x/file")) && !existsSync(join(root, "used/x/y")));
  makeFolder(join(root, "before"))();
  assert.ok(existsSync(join(root, "before")));
});

void test("what was made is taken back when the rest cannot be", () => {
  assert.throws(() => makeFolder(join(root, "new", "x".repeat(300), "y")));
  assert.ok(!existsSync(join(root, "new")));
});

void test("a file in the way is told", () => {
  writeFileSync(join(root, "file"), "");
  assert.throws(() => makeFolder(join(root, "file")), { code: "EEXIST" });
  assert.throws(() => makeFolder(join(root, "file/below")), { code: "ENOTDIR" });
});

void test("a file system that makes no folders says so", {
  skip: process.platform !== "linux" && "needs a file system of Linux that makes no folders",
}, () => {
  assert.throws(() => makeFolder("/proc/none/below"), { code: "ENOENT" });
});
