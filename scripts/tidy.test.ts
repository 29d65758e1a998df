/** Tests that each rule of the checker finds a violation. */
import assert from "node:assert";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { layers } from "./layers.ts";
import { root } from "./steps.ts";
import { blank, type Packages, tidy } from "./tidy.ts";

const packages: Packages = {
  dependencies: ["pino", "undici"],
  devDependencies: ["fast-check"],
  entries: ["src/server/start.ts"],
  layers: {},
  files: new Set(),
};

/** Returns the messages about `file`, which stands among files without violations. */
function findings(file: string, text: string, header = "/** A file. */\n"): string[] {
  const sources = new Map([
    ["src/std/clock.ts", "/** Time. */\nexport const clock = 1;\n"],
    ["src/std/queue/ring.ts", "/** Ring. */\nexport const ring = 1;\n"],
    ["src/storage/log-store.ts", '/** Face. */\nimport { clock } from "#std/clock.ts";\nexport const x = clock;\n'],
    ["src/api/apps/v1.ts", "/** Types. */\nexport const v1 = 1;\n"],
    [
      "test/all.test.ts",
      '/** Uses all. */\nimport "#storage/log-store.ts";\nimport "#api/apps/v1.ts";\nimport "#std/queue/ring.ts";\n',
    ],
    [file, header + text],
  ]);
  const entries = [...packages.entries, file];
  return tidy(sources, { ...packages, entries, files: new Set(sources.keys()) })
    .filter((finding) => finding.file === file)
    .map(({ message }) => message);
}

void test("imports may follow the map, and nothing else", () => {
  const cases: readonly [string, string, string[]][] = [
    ["src/storage/a.ts", 'import { clock } from "#std/clock.ts";', []],
    ["src/std/a.ts", 'import { x } from "#storage/log-store.ts";', ["std may not import storage (scripts/layers.ts)"]],
    [
      "src/std/a.ts",
      'import type { x } from "#storage/log-store.ts";',
      ["std may not import storage (scripts/layers.ts)"],
    ],
    [
      "src/std/a.ts",
      'const y = await import("#storage/log-store.ts");',
      ["std may not import storage (scripts/layers.ts)"],
    ],
    ["src/std/a.ts", 'export { x } from "#storage/log-store.ts";', ["std may not import storage (scripts/layers.ts)"]],
    [
      "src/std/a.test.ts",
      'import { x } from "#storage/log-store.ts";',
      ["std may not import storage (scripts/layers.ts)"],
    ],
    [
      "src/storage/a.ts",
      'import {\n  clock,\n} from "../std/clock.ts";',
      ["relative import leaves its folder: write #std/clock.ts"],
    ],
    ["src/std/a.ts", 'import { clock } from "#std/clock.ts";', ["inside a folder imports are relative: #std/clock.ts"]],
    ["src/storage/a.ts", 'import { ring } from "#std/queue/ring.ts";', ["#std/queue/ring.ts is private to std"]],
    ["src/http/a.ts", 'import { v1 } from "#api/apps/v1.ts";', []],
    ["src/std/a.ts", 'import { z } from "./z.ts";', ["./z.ts does not exist"]],
    ["src/odd/a.ts", 'import { clock } from "#std/clock.ts";', ["src/odd is not in scripts/layers.ts"]],
    ["bin/a.ts", 'import { x } from "#storage/log-store.ts";', ["bin may not import storage (scripts/layers.ts)"]],
    ["bench/a.ts", 'import { x } from "#storage/log-store.ts";', []],
    ["src/std/a.ts", '// import { x } from "#storage/log-store.ts";', []],
  ];
  for (const [file, text, messages] of cases) assert.deepStrictEqual(findings(file, `${text}\n`), messages, text);
});

void test("packages must be dependencies, and some modules belong to some folders", () => {
  const cases: readonly [string, string, string[]][] = [
    ["src/std/a.ts", 'import { pino } from "pino";', []],
    ["src/std/a.ts", 'import fc from "fast-check";', ["fast-check is not a dependency (package.json)"]],
    ["src/std/a.test.ts", 'import fc from "fast-check";', []],
    ["src/std/a.test.ts", 'import x from "@none/none/sub";', ["@none/none is not installed (package.json)"]],
    ["src/std/a.ts", 'import "node:sqlite";', ["node:sqlite may be imported by storage only"]],
    ["src/storage/a.ts", 'import "node:sqlite";', []],
    [
      "src/http/a.ts",
      'import { AsyncLocalStorage } from "node:async_hooks";',
      ["node:async_hooks may be imported by no folder only"],
    ],
    ["src/client/connection/a.ts", 'await import("undici/lib/a.js");', []],
    ["src/client/a.ts", 'import { Pool } from "undici";', ["undici may be imported by client/connection only"]],
  ];
  for (const [file, text, messages] of cases) assert.deepStrictEqual(findings(file, `${text}\n`), messages, text);
});

void test("the clock and randomness are parameters", () => {
  const cases: readonly [string, string, boolean][] = [
    ["src/std/a.ts", "const now = Date.now();", true],
    ["src/std/a.ts", "const now = new Date();", true],
    ["src/std/a.ts", "setTimeout(f, 1);", true],
    ["src/std/a.ts", "const n = Math.random();", true],
    ["src/std/a.ts", "const n = randomUUID();", true],
    ["src/std/a.ts", "const then = new Date(0);", false],
    ["src/std/a.ts", "request.setTimeout(1);", false],
    ["src/std/a.ts", "// Date.now()", false],
    ["src/std/a.ts", 'const text = "Date.now()";', false],
    ["src/std/a.ts", "const text = `a ${Date.now()} b`;", true],
    ["src/std/a.ts", 'const text = /Date.now"/;\nconst x = 1;', false],
    ["src/std/a.test.ts", "const now = Date.now();", false],
    ["src/std/clock.ts", "const now = Date.now();", false],
    ["src/server/a.ts", "const now = Date.now();", false],
  ];
  for (const [file, text, isFound] of cases) {
    assert.strictEqual(
      findings(file, `${text}\n`).some((message) => message.includes("used directly")),
      isFound,
      text,
    );
  }
});

void test("shape: header, default exports, barrels, notes, machine paths", () => {
  assert.match(findings("src/std/a.ts", "export const a = 1;\n", "")[0]!, /no header/);
  assert.match(findings("src/std/a.ts", "export default 1;\n")[0]!, /default export/);
  assert.match(findings("src/std/a.ts", 'export * from "./clock.ts";\n')[0]!, /barrel/);
  assert.match(findings("src/std/a.ts", `// FIX${"ME"}: later\n`)[0]!, /must not reach/);
  assert.match(findings("src/std/a.ts", `const file = "${"/ho"}me/me/x";\n`)[0]!, /somebody's machine/);
  assert.match(findings("README.md", `cd ${"/ho"}me/me\n`, "")[0]!, /somebody's machine/);
});

void test("a file that only its own test imports is dead", () => {
  const sources = new Map([
    ["src/std/a.ts", "/** A. */\n"],
    ["src/std/a.test.ts", '/** Test. */\nimport "./a.ts";\n'],
    ["src/std/b.ts", "/** B. */\n"],
    ["src/std/c.ts", '/** C. */\nimport "./b.ts";\nconst thread = import.meta.resolve("#std/w.ts");\n'],
    ["src/std/w.ts", "/** Worker. */\n"],
  ]);
  const dead = tidy(sources, { ...packages, entries: ["src/std/c.ts"] }).map(({ file }) => file);
  assert.deepStrictEqual(dead, ["src/std/a.ts"]);
});

void test("seeing no import at all is an error of the check", () => {
  assert.throws(() => tidy(new Map([["src/std/a.ts", "/** A. */\n"]]), packages), /no imports seen/);
});

void test("ARCHITECTURE.md shows the folders of the map in its order, on two screens", () => {
  const lines = readFileSync(`${root}ARCHITECTURE.md`, "utf8").trimEnd().split("\n");
  const shown = lines.flatMap((line) => /^ {2}([a-z0-9]+)\/ /.exec(line)?.[1] ?? []);
  assert.deepStrictEqual(shown, Object.keys(layers));
  assert.ok(lines.length <= 110, `${lines.length} lines`);
});

test("the map has no cycle: a folder names only folders above it", () => {
  const above = new Set<string>();
  for (const [folder, imports] of Object.entries(layers)) {
    for (const other of imports) assert.ok(above.has(other), `${folder} imports ${other}`);
    above.add(folder);
  }
});

void test("blanking keeps positions and tells strings, templates and expressions apart", () => {
  const text = "a = `x${`y${b}`}z`; c = d / e / f; g = /[/\"]`/; // h\n/* i */ 'j'";
  const bare = blank(text, true);
  assert.strictEqual(bare.length, text.length);
  assert.strictEqual(bare, "a = ` ${` ${b}`} `; c = d / e / f; g = /     /;     \n        ' '");
});
