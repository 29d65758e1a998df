/** The arguments that usage lines name. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { usageSlots } from "./usage-slots.ts";

/** Returns the arguments of each form as texts. */
const slots = (help: string, ...command: readonly string[]): string[] =>
  usageSlots(help, command).map((form) => form.map(({ is, isRepeated }) => `${is}${isRepeated ? "…" : ""}`).join(" "));

test("usage lines say what the arguments of a command are", () => {
  const help = `Prints.

Usage: binnacle get KIND[,KIND]... [NAME]... [flags]
       binnacle get KIND/NAME... [flags]
       binnacle get KIND (-l LABELS | --all) --for=STATE [flags]
       binnacle get -f FILE [flags]

Examples:
  binnacle forget a
`;
  assert.deepEqual(slots(help, "get"), ["KIND… NAME…", "KIND/NAME…", "KIND", ""]);
});

test("words in small letters, pipes and commands of commands are read", () => {
  assert.deepEqual(slots("Usage: binnacle who can VERB KIND[/NAME] [flags]\n", "who"), ["can VERB KIND/NAME"]);
  assert.deepEqual(slots("Usage: binnacle types FILE... [flags] > boats.ts\n", "types"), ["FILE…"]);
  assert.deepEqual(slots("Usage: binnacle auth can-i --list [flags]\n", "auth", "can-i"), [""]);
});
