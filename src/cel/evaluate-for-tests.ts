/** Evaluates expressions for tests, in an environment with all libraries of this folder. */
import assert from "node:assert/strict";
import { check } from "./check.ts";
import { commonLibraries } from "./common-libraries.ts";
import { Environment } from "./environment.ts";
import { compile, type Evaluation } from "./evaluate.ts";
import { equals } from "./evaluate/equality.ts";
import { kindOf } from "./evaluate/kinds.ts";
import { showIssues } from "./issues.ts";
import { authorizerLibrary, authorizerSelectorsLibrary } from "./library/authorizer.ts";
import { parse } from "./parse.ts";
import { type CelType, dyn } from "./types.ts";
import { CelError, type Value } from "./values.ts";

const base = new Environment({ libraries: [...commonLibraries, authorizerLibrary, authorizerSelectorsLibrary] });

interface Options {
  /** The types of variables; others are `dyn`. */
  readonly types?: Readonly<Record<string, CelType>>;
  readonly costLimit?: number;
}

/** Evaluates `source`. If the expression is not accepted, the error has its issues. */
export function evaluate(
  source: string,
  variables: Readonly<Record<string, unknown>> = {},
  options: Options = {},
): Evaluation {
  const { types = {}, costLimit = 1_000_000 } = options;
  const parsed = parse(source, { hasTwoVariables: true });
  if ("issues" in parsed) return refusal(showIssues(source, parsed.issues));
  const names = new Map(Object.keys(variables).map((name) => [name, types[name] ?? dyn]));
  const checked = check(parsed.ast, base.extend({ variables: names }));
  if ("issues" in checked) return refusal(showIssues(source, checked.issues));
  const program = compile(checked);
  if (program instanceof CelError) return refusal(program.message);
  return program.evaluate(variables as Readonly<Record<string, Value>>, { costLimit }); // tests pass values only
}

const refusal = (message: string): Evaluation => ({
  error: new CelError(message),
  cost: 0,
  work: 0,
  isOverBudget: false,
});

const noBudget = { spend: () => {}, work: () => {} };

/** Asserts that each expression has the value and the kind of the expression beside it. */
export function assertValues(
  cases: readonly (readonly [string, string])[],
  variables: Readonly<Record<string, unknown>> = {},
): void {
  for (const [source, wanted] of cases) {
    const result = evaluate(source, variables);
    const other = evaluate(wanted, variables);
    assert.ok("value" in other, wanted);
    assert.ok("value" in result, `${source}: ${"error" in result ? result.error.message : ""}`);
    const isSame = kindOf(result.value) === kindOf(other.value) && equals(result.value, other.value, noBudget);
    assert.ok(isSame, `${source} is not ${wanted} but ${format(result.value)}`);
  }
}

const format = (value: Value): string =>
  JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? String(part) : part));

/** Asserts that each expression fails with the text beside it. */
export function assertErrors(
  cases: readonly (readonly [string, string])[],
  variables: Readonly<Record<string, unknown>> = {},
): void {
  for (const [source, wanted] of cases) {
    const result = evaluate(source, variables);
    assert.equal("error" in result ? result.error.message : format(result.value), wanted, source);
  }
}
