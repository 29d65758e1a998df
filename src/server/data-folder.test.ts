/** A data folder belongs to one API domain, and its files are private. */
import assert from "node:assert";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { checkDataFolder, makeDataFolder, markDataFolder, writePrivate } from "./data-folder.ts";

const root = mkdtempSync(join(tmpdir(), "binnacle-folder-"));
after(() => rmSync(root, { recursive: true, force: true }));

void test("the first start fixes the domain, another one is refused", () => {
  const folder = join(root, "a");
  assert.strictEqual(checkDataFolder(folder, "platform.io"), undefined);
  makeDataFolder(folder);
  markDataFolder(folder, "platform.io", ["credentials", "store"]);
  assert.deepStrictEqual(checkDataFolder(folder, "platform.io")?.holds, ["credentials", "store"]);
  assert.throws(() => checkDataFolder(folder, "k8s.io"), {
    name: "StartError",
    message: `data folder ${folder} belongs to API domain platform.io: start with --api-domain=platform.io or with another --data-dir`,
  });
});

void test("a marker of an earlier build says nothing of what the folder holds", () => {
  const folder = join(root, "earlier");
  makeDataFolder(folder);
  writeFileSync(join(folder, "binnacle.json"), '{"formatVersion":1,"apiDomain":"k8s.io"}');
  assert.deepStrictEqual(checkDataFolder(folder, "k8s.io")?.holds, []);
});

void test("a damaged marker and one of another format are refused", () => {
  const folder = join(root, "b");
  makeDataFolder(folder);
  for (const [text, message] of [
    ["{", /is damaged$/],
    ["null", /is damaged$/],
    ['{"formatVersion":"1","apiDomain":"a.io"}', /is damaged$/],
    ['{"formatVersion":2,"apiDomain":"a.io"}', /has format 2, this program reads format 1$/],
  ] as const) {
    writeFileSync(join(folder, "binnacle.json"), text);
    assert.throws(() => checkDataFolder(folder, "a.io"), message);
  }
});

void test("folder and files are private, and files are replaced whole", {
  skip: process.platform === "win32" && "Windows keeps no modes of files",
}, () => {
  const folder = join(root, "c");
  makeDataFolder(folder);
  writePrivate(folder, "pki/x.key", "one");
  writePrivate(folder, "pki/x.key", "two");
  assert.strictEqual(statSync(folder).mode & 0o777, 0o700);
  assert.strictEqual(statSync(join(folder, "pki")).mode & 0o777, 0o700);
  assert.strictEqual(statSync(join(folder, "pki/x.key")).mode & 0o777, 0o600);
  assert.deepStrictEqual(readdirSync(join(folder, "pki")), ["x.key"]);
});

void test("a folder that was made for a start that failed goes away again, a used one stays", () => {
  const made = join(root, "d/e");
  makeDataFolder(made)();
  assert.ok(!existsSync(join(root, "d")));
  const used = join(root, "f/g");
  const undo = makeDataFolder(used);
  writeFileSync(join(used, "x"), "");
  undo();
  assert.ok(existsSync(used));
  const before = join(root, "h");
  makeDataFolder(before);
  makeDataFolder(before)();
  assert.ok(existsSync(before));
});

void test("a folder that cannot be made is named", () => {
  const file = join(root, "file");
  writeFileSync(file, "");
  assert.throws(
    () => makeDataFolder(join(file, "x")),
    /cannot make data folder .*: a part of its path is not a folder/,
  );
});
