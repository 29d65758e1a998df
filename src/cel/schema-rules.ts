/**
 * Rules of custom resources, `x-kubernetes-validations`: they are checked when a definition is written, and evaluated
 * when an object is written. The parts are in `rules/`. Source: KEP-2876, and upstream's
 * `apiextensions-apiserver/pkg/apiserver/schema/cel`.
 */
import type { RuleChecks, StructuralSchema } from "#schema/structural.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import { runToEnd, runCooperatively, type Steps } from "#std/cooperative.ts";
import { expectedAfter } from "./expected-cost.ts";
import { checkRules } from "./rules/check.ts";
import type { StoredExpressions } from "./rules/compile.ts";
import { type RuleOptions, CompiledRules, type RuleFindings, RuleRun } from "./rules/evaluate.ts";

export type { StoredExpressions } from "./rules/compile.ts";
export type { RuleFindings, RuleOptions } from "./rules/evaluate.ts";

/** Returns the checks of a definition's rules. `stored` are the expressions that the stored definition has. */
export const ruleChecks = (stored: StoredExpressions): RuleChecks => ({
  schema: (props, path, isRight) => checkRules(props, path, isRight, stored),
  defaults() {
    // All defaults of a schema share the budget that an object has.
    const run = new RuleRun(new CompiledRules(runToEnd));
    return (node, value, field, isWhole) => {
      runToEnd(run.default(node, value, field, isWhole));
      return [...run.errors];
    };
  },
});

/** The cost of an object's rules, about a millisecond, above which they wait for a turn of the event loop. */
const turnCost = 100_000;

/** Learns how long rules take, in milliseconds. */
export interface RuleTimes {
  /** Returns the time of a clock that never goes back. */
  now(): number;
  /** The rules of one node of a schema were compiled. */
  compiled(ms: number): void;
  /** The rules of a schema were evaluated for an object. */
  evaluated(ms: number): void;
}

/** The rules of a stored schema. */
export class SchemaRules {
  readonly #schema: StructuralSchema;
  readonly #times: RuleTimes | undefined;
  readonly #rules: CompiledRules;
  /** The expected cost of the next object; `undefined` before the first one. */
  #spent: number | undefined;

  constructor(schema: StructuralSchema, times?: RuleTimes) {
    this.#schema = schema;
    this.#times = times;
    this.#rules = new CompiledRules((pieces) =>
      timed(
        times,
        () => runCooperatively(pieces),
        (ms) => times?.compiled(ms),
      ),
    );
  }

  /**
   * Returns the findings of the rules about a whole object, with the old object of an update. Takes at most 0.5 s, in
   * pieces of a few milliseconds.
   */
  check(value: unknown, options: RuleOptions = {}): MaybePromise<RuleFindings> {
    const times = this.#times;
    return timed(
      times,
      () => runCooperatively(this.#run(value, options)),
      (ms) => times?.evaluated(ms),
    );
  }

  *#run(value: unknown, options: RuleOptions): Steps<RuleFindings> {
    // If there are many requests at once, each waits for its turn before a first piece that may be long.
    if (this.#spent === undefined || this.#spent > turnCost) yield undefined;
    const run = new RuleRun(this.#rules);
    yield* run.object(this.#schema.node, value, options);
    this.#spent = expectedAfter(run.spent, this.#spent);
    return run;
  }
}

/** Runs work, and says how long it took if somebody wants to know. */
function timed<T>(
  times: Pick<RuleTimes, "now"> | undefined,
  run: () => MaybePromise<T>,
  took: (ms: number) => void,
): MaybePromise<T> {
  if (times === undefined) return run();
  const startMs = times.now();
  return andThen(run(), (result) => {
    took(times.now() - startMs);
    return result;
  });
}
