/**
 * Parses, checks and compiles expressions in the environment of Kubernetes 1.32. Errors have the texts that clients
 * see. Source: upstream's `apiserver/pkg/cel/environment`.
 */
import type { Expression } from "./ast.ts";
import { check, type CheckResult, checkTreeInPieces } from "./check.ts";
import { commonLibraries } from "./common-libraries.ts";
import { comprehensionsLibrary } from "./library/comprehensions.ts";
import { conversions } from "./library/conversions.ts";
import type { Checked } from "./checked.ts";
import { type Declarations, Environment } from "./environment.ts";
import { compile, type Program } from "./evaluate.ts";
import { compilePattern } from "./evaluate/pattern.ts";
import { showIssues } from "./issues.ts";
import { parse, type ParseOptions } from "./parse.ts";
import { patternsSize } from "./patterns-size.ts";
import type { Steps } from "#std/cooperative.ts";
import { type CelType, type ObjectType, typeName } from "./types.ts";
import { CelError, type Scalar } from "./values.ts";
import { homogeneousLiterals, validArgument, validFormats } from "./validators.ts";

const isText = (literal: Scalar): literal is string => typeof literal === "string";

const isConverted = (value: unknown): boolean => value !== undefined && !(value instanceof CelError);

const validators: Declarations["validators"] = [
  homogeneousLiterals(new Set(["format"])),
  validArgument("duration", (literal) => isConverted(conversions["duration"]!(literal))),
  validArgument("timestamp", (literal) => isConverted(conversions["timestamp"]!(literal))),
  validArgument("matches", (literal) => !isText(literal) || !(compilePattern(literal) instanceof CelError)),
  validFormats,
];

/**
 * The environment of stored expressions and configuration files. It has all libraries, including the macros with two
 * variables.
 */
const base = new Environment({ libraries: commonLibraries, validators });

/**
 * The environment of new expressions. It has only the libraries of the previous release, which may have to read these
 * expressions.
 */
const newBase = new Environment({
  libraries: commonLibraries.filter((library) => library !== comprehensionsLibrary),
  validators,
});

/**
 * Returns the environment with the variables and other `declarations`. `isNew`: whether the expressions are not stored
 * yet.
 */
export const environmentWith = (declarations: Declarations, { isNew = false } = {}): Environment =>
  (isNew ? newBase : base).extend(declarations);

/** Returns an object type with these fields. */
export const objectOf = (name: string, fields: Readonly<Record<string, CelType>>): ObjectType => ({
  kind: "object",
  name,
  field: (key) => (Object.hasOwn(fields, key) ? { key, type: fields[key]! } : undefined),
});

/**
 * The reason why there is no program. `isInternal`: the expression is valid, but a part of it, such as `int('a')`, has
 * no value.
 */
export interface Problem {
  readonly problem: string;
  readonly isInternal: boolean;
}

const toProblem = (problem: string): Problem => ({ problem, isInternal: false });

/** Compiles an expression whose value must have the type `wanted`. */
export function compileExpression(source: string, environment: Environment, wanted: CelType): Program | Problem {
  const checked = checkExpression(source, environment);
  if ("problem" in checked) return checked;
  const actual = typeName(checked.type);
  if (actual !== typeName(wanted)) return toProblem(`must evaluate to ${typeName(wanted)} but got ${actual}`);
  return instantiate(checked);
}

/**
 * The approximate maximum number of instructions in the regular expressions of one expression. Compiling them takes at
 * most 40 ms.
 */
const patternsSizeMax = 20_000;

/**
 * Returns the problem of regular expressions with more than `max` instructions together. `whose` names their owner,
 * such as `all rules`.
 */
export const patternsProblem = (whose: string, max: number): Problem =>
  toProblem(`compilation failed: regular expressions of ${whose} must not have more than ${max} instructions together`);

/** Parses and checks an expression, which is the first half of compilation. Returns its tree and types. */
export function checkExpression(
  source: string,
  environment: Environment,
  options: Pick<ParseOptions, "repetition"> = {},
): Checked | Problem {
  const parsed = parseExpression(source, environment, options);
  return "problem" in parsed ? parsed : withMessages(source, check(parsed.ast, environment));
}

/** The length of a source from which parsing and checking take milliseconds. */
const longSource = 4000;

/**
 * Parses and checks an expression as `checkExpression` does, in steps. Others have a turn while a long source is
 * checked, and at its end.
 */
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
  const parsed = parse(source, {
    ...options,
    hasTwoVariables: hasTwoVariables(environment),
    hasBindings: environment.hasBindings,
  });
  return "issues" in parsed ? toProblem(`compilation failed: ${showIssues(source, parsed.issues)}`) : parsed;
}

const withMessages = (source: string, checked: CheckResult): Checked | Problem =>
  "issues" in checked ? toProblem(`compilation failed: ${showIssues(source, checked.issues)}`) : checked;

/** Compiles a checked expression, which is the second half of compilation. */
export function instantiate(checked: Checked): Program | Problem {
  const program = compile(checked);
  return program instanceof CelError
    ? { problem: `program instantiation failed: ${program.message}`, isInternal: true }
    : program;
}

/** Whether macros with two variables are available: if the environment has the functions that they call. */
const hasTwoVariables = ({ functions }: Environment): boolean =>
  comprehensionsLibrary.functions.every(({ name }) => functions.has(name));
