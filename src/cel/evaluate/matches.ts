/** Compiles `matches`. A constant pattern is compiled before any evaluation. */
import type { Call } from "../ast.ts";
import type { Overload } from "../functions.ts";
import { CelError } from "../values.ts";
import { matchCost } from "./costs.ts";
import type { Step } from "./frame.ts";
import { sizeOf } from "./kinds.ts";
import { type Compiled, ConstantError, errorAt } from "./node.ts";
import { compileCounted, compilePattern, testPattern } from "./pattern.ts";

const ids: ReadonlySet<string> = new Set(["matches", "matches_string"]);

/** Whether a call means the function `matches`, with or without a receiver. */
export const isMatches = (overloads: readonly Overload[]): boolean => overloads.length > 0 && ids.has(overloads[0]!.id);

/** The functions of libraries whose second argument is a pattern. */
const searches: ReadonlySet<string> = new Set(["find", "findAll"]);

/**
 * Throws `ConstantError` for a constant pattern of a search that cannot be compiled, so that the error is found before
 * any evaluation.
 */
export function checkSearch(name: string, args: readonly Compiled[]): void {
  const pattern = searches.has(name) ? args[1]?.constant : undefined;
  const compiled = typeof pattern === "string" ? compilePattern(pattern) : undefined;
  if (compiled instanceof CelError) throw new ConstantError(compiled.message);
}

/** Compiles a call of `matches`. A constant pattern is compiled only once. Throws `ConstantError` if it is invalid. */
export function compileMatches(node: Call, args: readonly Compiled[]): Compiled {
  const [subject, pattern] = args.map(({ step }) => step) as [Step, Step]; // both overloads have two arguments
  const fixed = args[1]!.constant;
  const fixedPattern = typeof fixed === "string" ? compilePattern(fixed) : undefined;
  if (fixedPattern instanceof CelError) throw new ConstantError(fixedPattern.message);
  return {
    step: (frame) => {
      const text = subject(frame);
      const expression = pattern(frame);
      frame.spend(
        text instanceof CelError || expression instanceof CelError ? 1 : matchCost(sizeOf(text), sizeOf(expression)),
      );
      if (text instanceof CelError) return text;
      if (expression instanceof CelError) return expression;
      if (typeof text !== "string" || typeof expression !== "string") return new CelError("no such overload", node.id);
      const compiled = fixedPattern ?? compileCounted(expression, frame);
      if (compiled instanceof CelError) return errorAt(compiled, node.id);
      return testPattern(text, compiled, frame);
    },
  };
}
