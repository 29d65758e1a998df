/**
 * The cost of compiling expressions, of evaluating them with their cost counted, and of spending a budget. To run it
 * alone: `node --conditions=source bench/cel.bench.ts`.
 */
import assert from "node:assert/strict";
import { check } from "#cel/check.ts";
import { Environment } from "#cel/environment.ts";
import { compile, type Program } from "#cel/evaluate.ts";
import { optionalsLibrary } from "#cel/library/optionals.ts";
import { standardLibrary } from "#cel/library/standard.ts";
import { stringsLibrary } from "#cel/library/strings.ts";
import { parse } from "#cel/parse.ts";
import { type CelType, int, listOf, type ObjectType, string } from "#cel/types.ts";
import { CelError } from "#cel/values.ts";
import { bestOf } from "./in-process.ts";
import { runAlone } from "./report.ts";
import type { Run, Suite } from "./suite.ts";

export const celSuite: Suite = {
  name: "cel",
  about: "expressions on a JSON object of declared type, cost counted; no server",
  rows: {
    evaluate: "a comparison of fields, and a loop over three containers",
    compile: "parsing, checking and compiling it",
    text: "a pattern, and a text made of parts",
    budget: "10,000,000 units of cost spent in nested loops",
  },
  workloads: [],
  measure,
};

const objectOf = (name: string, fields: Readonly<Record<string, CelType>>): ObjectType => ({
  kind: "object",
  name,
  field: (field) => (Object.hasOwn(fields, field) ? { key: field, type: fields[field]! } : undefined),
});

const container = objectOf("Container", { name: string, image: string });
const self = objectOf("Object", {
  name: string,
  replicas: int,
  maxReplicas: int,
  containers: listOf(container),
  numbers: listOf(int),
});
const libraries = [standardLibrary, optionalsLibrary, stringsLibrary];
const environment = new Environment({ libraries }).extend({ variables: new Map([["self", self]]) });

const rule = "self.replicas <= self.maxReplicas && self.containers.all(c, c.image.startsWith('registry/'))";
const textRule =
  "self.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && self.name + '-' + self.containers[0].name != ''";
const loops = "self.numbers.all(a, self.numbers.all(b, self.numbers.all(c, a + b + c >= 0)))";

const object = {
  name: "cart-frontend",
  replicas: 3,
  maxReplicas: 10,
  containers: ["app", "proxy", "logs"].map((name) => ({ name, image: `registry/shop/${name}:1.4.2` })),
  numbers: Array.from({ length: 300 }, (_, at) => at),
};

function compileProgram(source: string): Program {
  const parsed = parse(source);
  assert.ok("ast" in parsed);
  const checked = check(parsed.ast, environment);
  assert.ok("ast" in checked);
  const program = compile(checked);
  assert.ok(!(program instanceof CelError));
  return program;
}

async function measure(run: Run): Promise<void> {
  const row = (name: string, count: number, call: () => void): Promise<void> =>
    run.row(name, () => bestOf(name, count, call));
  const activation = { self: object };
  const program = compileProgram(rule);
  await row("evaluate", 1_000_000, () => program.evaluate(activation, { costLimit: 1_000_000 }));
  await row("compile", 10_000, () => compileProgram(rule));
  const text = compileProgram(textRule);
  await row("text", 200_000, () => text.evaluate(activation, { costLimit: 1_000_000 }));
  const nested = compileProgram(loops);
  await row("budget", 1, () => nested.evaluate(activation, { costLimit: 10_000_000 }));
}

if (import.meta.main) await runAlone(celSuite);
