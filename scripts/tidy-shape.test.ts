/** Tests that each check of file shapes finds its violation and nothing else. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { findAliasedTypes, circles, moduleState, roomCircles, findSharedTypeNames } from "./tidy-shape.ts";

void test("files that import each other are a circle, told once", () => {
  const imports = new Map([
    ["a.ts", new Set(["b.ts"])],
    ["b.ts", new Set(["c.ts", "d.ts"])],
    ["c.ts", new Set(["a.ts"])],
    ["d.ts", new Set<string>()],
  ]);
  assert.deepEqual(circles(imports), [{ file: "a.ts", line: 1, message: "circle of imports with b.ts, c.ts" }]);
  assert.deepEqual(circles(new Map([["a.ts", new Set(["b.ts"])]])), []);
});

void test("rooms that reach each other are a circle, also where their files do not", () => {
  const imports = new Map([
    ["src/a/x.ts", new Set(["src/a/x/inner.ts", "src/b/y.ts"])],
    ["src/a/x/inner.ts", new Set(["src/a/z.ts"])],
    ["src/a/z.ts", new Set(["src/a/x/other.ts"])],
    ["src/b/y.ts", new Set(["src/a/x.ts"])],
  ]);
  assert.deepEqual(roomCircles(imports), [{ file: "src/a/x", line: 1, message: "circle of rooms with src/a/z" }]);
  imports.set("src/a/z.ts", new Set());
  assert.deepEqual(roomCircles(imports), []);
});

void test("exported types of one name are found", () => {
  const code = "export interface A {}\nexport type B<T> = T;\ninterface C {}\n";
  const files = ["src/api/core/v1.ts", "src/x.ts", "src/y.ts"];
  assert.deepEqual(
    findSharedTypeNames(new Map(files.map((file) => [file, code]))).map(({ file, message }) => [file, message]),
    ["A", "B"].map((name) => ["src/y.ts", `${name} is exported by src/x.ts as well: one of them needs another name`]),
  );
});

void test("types imported under another name are found, but not those of two group versions that meet", () => {
  const findAliases = (code: string, file = "src/x.ts"): string[] =>
    findAliasedTypes(file, code).map(({ line, message }) => `${line} ${message.split(":")[0]}`);
  const line = (list: string, from: string): string => `import type { ${list} } from "${from}";\n`;
  const api = line("A as B, C", "#api/core/v1.ts");
  assert.deepEqual(findAliases(api), ["1 A is imported as B"]);
  assert.deepEqual(findAliases(api + line("A", "#api/core/v2.ts")), []);
  assert.deepEqual(findAliases(api + line("A", "#meta/a.ts")), ["1 A is imported as B"]);
  assert.deepEqual(findAliases(api, "src/api/apps/v1.ts"), []);
  const mixed = 'import {\n  a as b,\n  type A,\n  type C as D,\n} from "./x.ts";\n';
  assert.deepEqual(findAliases(`\n${mixed}`), ["2 C is imported as D"]);
});

void test("variables of a module that change are found", () => {
  const state = (code: string): string[] => moduleState("src/x.ts", code).map(({ message }) => message);
  const message = (name: string): string => `${name} is state of the module: give it to somebody`;
  assert.deepEqual(state("let count = 0;\nexport let other: string;\n"), ["count", "other"].map(message));
  assert.deepEqual(state("const known = new Map<string, number>();\n"), [message("known")]);
  assert.deepEqual(state("class A {\n  static readonly root = 1;\n  static count = 0;\n  static of(): A {\n"), [
    "count is state of the class: give it to somebody",
  ]);
  const change = (code: string): string[] =>
    state(`${code}function f() {\n  a.push(1);\n  b.left = 2;\n  c[0]++;\n}\n`);
  assert.deepEqual(change("const a: number[] = [];\nconst b = new Budget(7);\n"), ["a", "b"].map(message));
  assert.deepEqual(change("const c = new Uint8Array(1);\n"), [message("c")]);
  assert.deepEqual(change("const a = new WeakSet<object>();\n"), []);
  assert.deepEqual(state("const a: number[] = [];\nfunction f() {\n  const a = [];\n  a.push(1);\n}\n"), []);
  assert.deepEqual(
    state('const a = new Map([["x", 1]]);\nconst b = new WeakMap();\nfunction f() {\n  let c = 1;\n}\n'),
    [],
  );
});
