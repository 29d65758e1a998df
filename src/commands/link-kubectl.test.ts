/** Examples for `linkKubectl`. */
import assert from "node:assert/strict";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { type TestContext, test } from "node:test";
import { linkKubectl } from "./link-kubectl.ts";

/** Creates a folder with subfolders of these names. Those in `programs` contain a kubectl. */
function folders(t: TestContext, names: readonly string[], programs: readonly string[]): (name: string) => string {
  const root = mkdtempSync(join(tmpdir(), "kubectl-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  for (const name of names) mkdirSync(join(root, name));
  for (const name of programs) {
    writeFileSync(join(root, name, "kubectl"), name);
    chmodSync(join(root, name, "kubectl"), 0o755);
  }
  return (name) => join(root, name);
}

test("kubectl becomes a link to the first program of that name on the path, again and again", (t) => {
  const at = folders(t, ["assets", "none", "data", "one", "two"], ["one", "two"]);
  writeFileSync(join(at("data"), "kubectl"), "not to be run", { mode: 0o644 });
  mkdirSync(join(at("none"), "kubectl"));
  const path = [at("assets"), at("none"), at("data"), "", at("one"), at("two")].join(delimiter);
  for (const _time of [1, 2]) {
    assert.equal(linkKubectl(at("assets"), path), undefined);
    assert.equal(readlinkSync(join(at("assets"), "kubectl")), join(at("one"), "kubectl"));
  }
  assert.equal(linkKubectl(at("assets"), at("two")), undefined);
  assert.equal(readFileSync(join(at("assets"), "kubectl"), "utf8"), "two");
});

test("without kubectl on the path the user is told so, unless one is there already", (t) => {
  const at = folders(t, ["assets", "own", "gone"], ["own"]);
  const message = /^there is no kubectl on PATH, and so none in /;
  assert.match(linkKubectl(at("assets"), at("gone")) ?? "", message);
  assert.match(linkKubectl(at("assets"), undefined) ?? "", message);
  symlinkSync(join(at("gone"), "kubectl"), join(at("assets"), "kubectl"));
  assert.match(linkKubectl(at("assets"), at("gone")) ?? "", message, "a link to a program that is gone");
  assert.equal(linkKubectl(at("own"), at("gone")), undefined);
  assert.equal(linkKubectl(at("own"), at("own")), undefined);
  assert.equal(readFileSync(join(at("own"), "kubectl"), "utf8"), "own", "a program of the user is kept");
});
