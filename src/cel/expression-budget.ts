/** Limits the size of all expressions of one object together, so that compiled programs need little memory. */
import type { Checked } from "./checked.ts";
import type { Environment } from "./environment.ts";
import { checkInPieces, patternsProblem, type Problem } from "./expression.ts";
import type { Repetition } from "./parse.ts";
import { patternsSize } from "./patterns-size.ts";
import type { Steps } from "#std/cooperative.ts";

/** The maximum number of nodes that the macros of all expressions of one object may repeat. */
const allRepeatedMax = 20_000;
/** The approximate maximum number of instructions in the regular expressions of all expressions of one object. */
const allPatternsSizeMax = 500_000;

/** The budget of all expressions of one object, such as a policy, or a schema with its rules. */
export class ExpressionBudget {
  readonly #whose: string;
  readonly #repetition: Repetition = { left: allRepeatedMax };
  #patternsSize = 0;

  /** `whose` names the expressions in messages, such as `all rules`. */
  constructor(whose: string) {
    this.#whose = whose;
  }

  /** Checks the next expression of the object as `checkInPieces` does. Returns a problem if the budget is exceeded. */
  *check(source: string, environment: Environment): Steps<Checked | Problem> {
    this.#patternsSize += patternsSize(source);
    if (this.#patternsSize > allPatternsSizeMax) return patternsProblem(this.#whose, allPatternsSizeMax);
    return yield* checkInPieces(source, environment, { repetition: this.#repetition });
  }
}
