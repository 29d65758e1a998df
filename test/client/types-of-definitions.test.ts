/** The types that are printed for custom resources compile, whatever their definitions hold; and the command prints them. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { printTypes } from "#client/type-printer.ts";
import { suite, temporaryFolder } from "../harness.ts";
import { runProgram } from "../program/program.ts";
import { readOperatorSet } from "../real-world/operator-set.ts";
import { Boat, defineBoats } from "./boats.ts";
import { clusterOf } from "./open-cluster.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

const options = {
  target: "es2024",
  module: "nodenext",
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  noImplicitOverride: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  allowImportingTsExtensions: true,
  noEmit: true,
  types: [],
  skipLibCheck: true,
  customConditions: ["source"],
  paths: { "binnacle/client": [join(root, "src/client/kind.ts")] },
};

/** Compiles files strictly; fails with what the compiler says. */
async function compile(files: Readonly<Record<string, string>>): Promise<void> {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: options, include: ["*.ts"] }));
  const compiler = join(root, "node_modules/.bin/tsc");
  try {
    await promisify(execFile)(process.execPath, [compiler, "-p", folder], { maxBuffer: 1 << 26 });
  } catch (error) {
    assert.fail(String((error as { stdout?: string }).stdout).slice(0, 4000));
  }
}

/** Returns a definition of a kind with a schema. */
const definition = (kind: string, openAPIV3Schema: unknown) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${kind.toLowerCase()}s.example.com` },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: `${kind.toLowerCase()}s`, kind },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }],
  },
});

const inSpec = (spec: unknown) => ({ type: "object", properties: { spec } });

function nested(depth: number): object {
  let schema: object = { type: "string" };
  for (let level = 0; level < depth; level++) {
    schema =
      level % 3 === 0
        ? { type: "array", items: schema }
        : level % 3 === 1
          ? { type: "object", additionalProperties: schema }
          : { type: "object", properties: { [`level${level}`]: schema } };
  }
  return schema;
}

/** Returns a schema whose parts are used again and again, as aliases of YAML do it: 4^40 fields. */
function repeated(): object {
  let schema: object = { type: "string" };
  for (let level = 0; level < 40; level++)
    schema = { type: "object", properties: { a: schema, b: schema, c: schema, d: schema } };
  return schema;
}

const strangeNames = [
  "*/",
  "a b",
  "1st",
  "constructor",
  "class",
  "",
  '"',
  "\\",
  "`${1}`",
  "\n",
  "\u2028",
  "🚢",
  "readonly",
];
const fields = Object.fromEntries(strangeNames.map((name) => [name, { type: "string", description: name }]));

const hostile = [
  definition("Deep", inSpec(nested(5000))),
  definition(
    "Wide",
    inSpec({
      type: "object",
      properties: Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`f${index}`, { type: "integer" }])),
    }),
  ),
  definition("Strange", inSpec({ type: "object", properties: fields, required: strangeNames })),
  definition("Comment", {
    ...inSpec({ type: "object", description: "*/ export const x: number = ''; /*\n*/\u2028*/ // @ts-ignore" }),
    description: "*".repeat(10) + "/ throw 1; /**",
  }),
  definition("Enum", inSpec({ type: "string", enum: ["*/", '"; throw 1; "', "\u2029", "</script>", null, 1, true] })),
  definition("Wrong", inSpec({ type: ["string"], properties: [], enum: "a", required: "b", items: 3, description: 4 })),
  definition("Nothing", undefined),
  definition("Text", "text"),
  ...["Kind", "StoredObject", "Readonly", "Record", "Object", "String", "class", "1a", "*/", "a-b", "undefined"].map(
    (kind) => definition(kind, inSpec({ type: "object", properties: { a: { type: "string" } } })),
  ),
  definition("StrangeSpec", {}),
];

void test("the types of all kinds of well-known operators compile strictly, and so do those of hostile definitions", async () => {
  const sets = readdirSync(join(root, "test/real-world"))
    .filter((name) => name.endsWith(".yaml") && name !== "parts.yaml")
    .map((name) => name.replace(".yaml", ""));
  assert.ok(sets.length >= 5);
  const files = sets.map((name) => [`${name}.ts`, printTypes(readOperatorSet(name).definitions)] as const);
  const all = printTypes(sets.flatMap((name) => readOperatorSet(name).definitions));
  await compile({ ...Object.fromEntries(files), "all.ts": all, "hostile.ts": printTypes(hostile) });
});

void test("a schema that repeats itself without end is printed up to a bound", async () => {
  const text = printTypes([definition("Repeated", inSpec(repeated()))]);
  assert.ok(text.length < 30_000_000, `${text.length} characters`);
  assert.match(text, /unknown/);
});

const inBothDomains = suite();

inBothDomains("binnacle types prints the definitions of files and of a cluster", async (api, t) => {
  await defineBoats(await clusterOf(api, t));
  const folder = temporaryFolder();
  writeFileSync(join(folder, "config"), api.server.kubeconfig);
  const fromCluster = await runProgram(["types", "--from-cluster", "boat", "--kubeconfig=config"], folder);
  assert.equal(fromCluster.code, 0, fromCluster.stderr);
  const { group, version, kind, resource } = Boat;
  for (const value of [group, version, kind, resource]) assert.ok(fromCluster.stdout.includes(JSON.stringify(value)));
  assert.match(fromCluster.stdout, /readonly length: number;/);
  const text = JSON.stringify({
    kind: "List",
    apiVersion: "v1",
    items: [definition("Sloop", inSpec({ type: "string" }))],
  });
  writeFileSync(join(folder, "sloops.json"), text);
  const fromFile = await runProgram(["types", "sloops.json", "--import=binnacle-client"], folder);
  assert.match(fromFile.stdout, /^import type .* from "binnacle-client";$/m);
  assert.match(fromFile.stdout, /export const Sloop: Kind<Sloop> = /);
  await compile({ "boats.ts": fromCluster.stdout });
  for (const [args, problem] of [
    [["types"], /needs files with definitions/],
    [["types", "config"], /config, line 1: /],
    [["types", "missing.yaml"], /cannot read missing.yaml/],
    [["types", "--from-cluster", "ghost", "--kubeconfig=config"], /no definition of "ghost"/],
  ] as const) {
    const { code, stderr } = await runProgram(args, folder);
    assert.equal(code, 1);
    assert.match(stderr, problem);
  }
});
