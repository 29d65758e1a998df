/** Tests that each check of unused things finds its violation and nothing else. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { unknownFiles, findUnusedExports, findUnusedPermissions } from "./tidy-usage.ts";

const resolve = (_file: string, specifier: string): string => specifier;

void test("exports that no file imports are found", () => {
  const findUnused = (...users: readonly string[]): string[] => {
    const code = "\nexport const a = 1;\nexport async function b() {}\nexport interface C {}\n";
    const codes = new Map([["node:x", code], ...users.map((user, at) => [`user${at}.ts`, user] as const)]);
    return findUnusedExports(codes, resolve, () => false).map(({ line, message }) => `${line} ${message}`);
  };
  const says = (line: number, name: string): string => `${line} ${name} is exported, and nobody imports it`;
  assert.deepEqual(findUnused(), [says(2, "a"), says(3, "b"), says(4, "C")]);
  assert.deepEqual(findUnused('import { a, type C } from "node:x";'), [says(3, "b")]);
  assert.deepEqual(findUnused('import {\n  a as d,\n  b,\n} from "node:x";', 'export type { C } from "node:x";'), []);
  assert.deepEqual(findUnused('const { a } = await import("node:x");'), [says(3, "b"), says(4, "C")]);
  assert.deepEqual(findUnused('const all = await import("node:x");'), []);
  assert.deepEqual(
    findUnusedExports(new Map([["node:x", "export const a = 1;"]]), resolve, () => true),
    [],
  );
});

void test("permissions that no import needs are found", () => {
  const map = { std: [], meta: ["std"], codec: ["std", "meta"] };
  assert.deepEqual(
    findUnusedPermissions(map, new Set(["meta std", "codec std"])).map(({ message }) => message),
    ["codec need not import meta"],
  );
});

void test("names of files that are none are found in comments and documents, and not in code", () => {
  const text =
    '/** See `http/chain.ts` and `gone/chain.ts`. */\nconst name = "gone.ts"; // it was `lost.ts`\n// lost.ts\n';
  const unknown = (file: string): string[] =>
    unknownFiles(new Map([[file, text]]), new Set(["src/http/chain.ts"])).map(
      ({ line, message }) => `${line} ${message}`,
    );
  const says = (line: number, name: string): string => `${line} ${name} is no file of this repository`;
  assert.deepEqual(unknown("src/x.ts"), [says(1, "gone/chain.ts"), says(3, "lost.ts")]);
  assert.deepEqual(unknown("README.md"), [
    says(1, "gone/chain.ts"),
    says(2, "gone.ts"),
    says(2, "lost.ts"),
    says(3, "lost.ts"),
  ]);
  assert.deepEqual(unknown("CHANGELOG.md"), []);
});
