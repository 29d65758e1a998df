/** Limits the size of all expressions of one object together, so that compiled programs need little memory. */
import type { Checked } from "./checked.ts";
import type { Environment } from "./environment.ts";
import { checkInPieces, patternsProblem, type Problem } from "./expression.ts";
import type { Repetition } from "./parse.ts";
import { patternsSize } from "./patterns-size.ts";
import type { Steps } from "#std/cooperative.ts";

/** The maximum number of nodes that the macros of all expressions of one object may repeat. */
const allRepeatedMax = 20_000;
/** The maximum number of instructions that their regular expressions may have, about. */
const allPatternsSizeMax = 500_000;

/** One object has one: a policy, or a schema with its rules. */
export class ExpressionBudget {
  readonly #whose: string;
  readonly #repetition: Repetition = { left: allRepeatedMax };
  #patternsSize = 0;

  /** `whose` expressions, for messages: `all rules`. */
  constructor(whose: string) {
    this.#whose = whose;
  }

  /** Does the same as `checkInPieces`, for the next one of them. */
  *check(source: string, environment: Environment): Steps<Checked | Problem> {
    this.#patternsSize += patternsSize(source);
    if (this.#patternsSize > allPatternsSizeMax) return patternsProblem(this.#whose, allPatternsSizeMax);
    return yield* checkInPieces(source, environment, { repetition: this.#repetition });
  }
}
