/**
 * Parses, checks and compiles expressions in the environment of Kubernetes 1.32. Errors have the texts that clients
 * see. Source: upstream's `apiserver/pkg/cel/environment`.
 */
import type { Expression } from "./ast.ts";
import { check, type CheckResult, checkTreeInPieces } from "./check.ts";
import { commonLibraries } from "./common-libraries.ts";
import { comprehensionsLibrary } from "./library/comprehensions.ts";
import type { Checked } from "./checked.ts";
import { type Declarations, Environment } from "./environment.ts";
import { compile, type Program } from "./evaluate.ts";
import { compilePattern } from "./evaluate/pattern.ts";
import { readDuration, parseTimestamp } from "./evaluate/time.ts";
import { showIssues } from "./issues.ts";
import { parse, type ParseOptions } from "./parse.ts";
import { patternsSize } from "./patterns-size.ts";
import type { Steps } from "#std/cooperative.ts";
import { type CelType, type ObjectType, typeName } from "./types.ts";
import { CelError, type Scalar } from "./values.ts";
import { homogeneousLiterals, validArgument, validFormats } from "./validators.ts";

const isText = (literal: Scalar): literal is string => typeof literal === "string";

const validators: Declarations["validators"] = [
  homogeneousLiterals(new Set(["format"])),
  validArgument("duration", (literal) => !isText(literal) || readDuration(literal) !== undefined),
  validArgument("timestamp", (literal) => {
    const time = isText(literal) ? parseTimestamp(literal) : undefined;
    return !isText(literal) || (time !== undefined && !(time instanceof CelError));
  }),
  validArgument("matches", (literal) => !isText(literal) || !(compilePattern(literal) instanceof CelError)),
  validFormats,
];

/** Every expression may use this, two-variable macros included: stored expressions and configuration files do. */
const base = new Environment({ libraries: commonLibraries, validators });

/** New expressions may use this: no more than the release before knows, which may have to read them. */
const newBase = new Environment({
  libraries: commonLibraries.filter((library) => library !== comprehensionsLibrary),
  validators,
});

/** The environment with variables, and what else `declarations` say; `isNew`: that of expressions not stored before. */
export const environmentWith = (declarations: Declarations, { isNew = false } = {}): Environment =>
  (isNew ? newBase : base).extend(declarations);

/** An object type with these fields. */
export const objectOf = (name: string, fields: Readonly<Record<string, CelType>>): ObjectType => ({
  kind: "object",
  name,
  field: (key) => (Object.hasOwn(fields, key) ? { key, type: fields[key]! } : undefined),
});

/** `isInternal`: the expression is right, but a part of it, such as `int('a')`, has no value. */
export interface Problem {
  readonly problem: string;
  readonly isInternal: boolean;
}

const toProblem = (problem: string): Problem => ({ problem, isInternal: false });

/** Compiles an expression whose value is to be of the `wanted` type. */
export function compileExpression(source: string, environment: Environment, wanted: CelType): Program | Problem {
  const checked = checkExpression(source, environment);
  if ("problem" in checked) return checked;
  const actual = typeName(checked.type);
  if (actual !== typeName(wanted)) return toProblem(`must evaluate to ${typeName(wanted)} but got ${actual}`);
  return instantiate(checked);
}

/**
 * The maximum number of instructions that the regular expressions of one expression may have, about. They take 40 ms at
 * most.
 */
const patternsSizeMax = 20_000;

/**
 * The problem of regular expressions with more than `max` instructions together. `whose` names their owner: `all
 * rules`.
 */
export const patternsProblem = (whose: string, max: number): Problem =>
  toProblem(`compilation failed: regular expressions of ${whose} must not have more than ${max} instructions together`);

/** The first half of compilation: what the expression is, and its type. */
export function checkExpression(
  source: string,
  environment: Environment,
  options: Pick<ParseOptions, "repetition"> = {},
): Checked | Problem {
  const parsed = parseExpression(source, environment, options);
  return "problem" in parsed ? parsed : withMessages(source, check(parsed.ast, environment));
}

/** Longer sources take milliseconds. */
const longSource = 4000;

/** Does the same as `checkExpression`; others have a turn while a long source is checked, and at its end. */
export function* checkInPieces(
  source: string,
  environment: Environment,
  options: Pick<ParseOptions, "repetition"> = {},
): Steps<Checked | Problem> {
  if (source.length <= longSource) return checkExpression(source, environment, options);
  yield undefined;
  const parsed = parseExpression(source, environment, options);
  if ("problem" in parsed) return parsed;
  yield undefined;
  const checked = withMessages(source, yield* checkTreeInPieces(parsed.ast, environment));
  yield undefined;
  return checked;
}

function parseExpression(
  source: string,
  environment: Environment,
  options: Pick<ParseOptions, "repetition">,
): { readonly ast: Expression } | Problem {
  if (patternsSize(source) > patternsSizeMax) return patternsProblem("an expression", patternsSizeMax);
  const parsed = parse(source, { ...options, hasTwoVariables: hasTwoVariables(environment) });
  return "issues" in parsed ? toProblem(`compilation failed: ${showIssues(source, parsed.issues)}`) : parsed;
}

const withMessages = (source: string, checked: CheckResult): Checked | Problem =>
  "issues" in checked ? toProblem(`compilation failed: ${showIssues(source, checked.issues)}`) : checked;

/** The second half. */
export function instantiate(checked: Checked): Program | Problem {
  const program = compile(checked);
  return program instanceof CelError
    ? { problem: `program instantiation failed: ${program.message}`, isInternal: true }
    : program;
}

/** Macros come with the library of the function that they call. */
const hasTwoVariables = ({ functions }: Environment): boolean =>
  comprehensionsLibrary.functions.every(({ name }) => functions.has(name));
