/** Words of printed commands, as a shell takes them. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { namespaceWords, objectWords, shellWord } from "./printed-command.ts";

/** Returns the arguments that a shell makes of words. */
const taken = (words: string): readonly string[] =>
  execFileSync("sh", ["-c", `printf '%s\\0' ${words}`], { encoding: "utf8" })
    .split("\0")
    .slice(0, -1);

test("a shell takes each word as the text that it stands for", () => {
  for (const text of [
    "$(id)",
    "`id`",
    "a;id",
    "a|id #",
    "it's",
    "'",
    "two words",
    "a\nb",
    "*",
    "~",
    "",
    "a\\",
    '"',
    "!!",
  ])
    assert.deepStrictEqual(taken(shellWord(text)), [text]);
});

test("words that mean nothing to a shell stay as they are", () => {
  for (const text of ["web", "deployments.apps", "system:serviceaccount:shop:robot", "--as=a@b.c", "app=web,tier/x+1"])
    assert.equal(shellWord(text), text);
});

test("a name like a flag is joined to its kind", () => {
  assert.equal(objectWords("roles", "--all"), "roles/--all");
  assert.deepStrictEqual(taken(objectWords("roles", "-x;id")), ["roles/-x;id"]);
  assert.deepStrictEqual(taken(objectWords("roles", "x;id #")), ["roles", "x;id #"]);
});

test("a namespace is a flag, and none is nothing", () => {
  assert.equal(namespaceWords("shop"), " -n shop");
  assert.deepStrictEqual(taken(namespaceWords("$(id)")), ["-n", "$(id)"]);
  assert.deepStrictEqual([namespaceWords(""), namespaceWords(undefined)], ["", ""]);
});
