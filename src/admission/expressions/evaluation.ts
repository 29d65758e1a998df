/** Evaluates one expression of admission within a budget. Errors have upstream's texts. */
import type { TypedProgram } from "#cel/admission.ts";
import { type Activation, workMax as evaluationWorkMax } from "#cel/evaluate.ts";
import { expectedAfter } from "#cel/expected-cost.ts";
import { Pending, runUntilAnswered } from "#cel/pending.ts";
import type { Value } from "#cel/values.ts";
import { andThen, isLate, type MaybePromise } from "#std/maybe-promise.ts";
import { isTooDeep } from "#std/too-deep.ts";
import { awaited, runCooperatively, runToEnd, type Steps, yieldToEventLoop } from "#std/cooperative.ts";

/** A program, or the reason why there is none. */
type CompiledOrProblem = TypedProgram | { readonly problem: string };

/** An expression, compiled when it is first used. */
export class LazyExpression {
  readonly source: string;
  readonly #compile: () => Steps<CompiledOrProblem>;
  #compiled: CompiledOrProblem | undefined;
  /** The compilation in pieces that is going on; `undefined` when there is none. */
  #compiling: Promise<CompiledOrProblem> | undefined;
  #expectedCost = 0;

  constructor(source: string, compile: () => Steps<CompiledOrProblem>) {
    this.source = source;
    this.#compile = compile;
  }

  /** The cost that the next evaluation is expected to have, compilation included. */
  get expectedCost(): number {
    return this.#compiled === undefined ? this.source.length * compileCost : this.#expectedCost;
  }

  hasCost(cost: number): void {
    this.#expectedCost = expectedAfter(cost, this.#expectedCost);
  }

  get isCompiled(): boolean {
    return this.#compiled !== undefined;
  }

  /** The program. Compiles the expression at once if `prepare` did not. */
  get compiled(): CompiledOrProblem {
    return (this.#compiled ??= runToEnd(this.#compile()));
  }

  /**
   * Compiles the expression; returns a promise if that takes several turns. All callers wait for the same compilation.
   */
  prepare(): MaybePromise<CompiledOrProblem> {
    if (this.#compiled !== undefined) return this.#compiled;
    if (this.#compiling !== undefined) return this.#compiling;
    const compiled = runCooperatively(this.#compile());
    if (!isLate(compiled)) return (this.#compiled = compiled);
    const keep = compiled.then((result) => (this.#compiled ??= result)).finally(() => (this.#compiling = undefined));
    this.#compiling = keep;
    return keep;
  }
}

/** The maximum cost of one evaluation of an expression. */
const callCostMax = 1_000_000;

/** The maximum cost of all expressions of one policy for one request; match conditions have a budget of their own. */
export const policyCostMax = 10_000_000;
export const conditionsCostMax = 2_500_000;

/** The maximum number of steps that costs do not count, in all expressions of a policy for one request: about 0.1 s. */
const workMax = 16_000_000;
/**
 * The maximum number of units of work that may be thrown away so that others have a turn. It is counted, since the
 * clock must not decide whether a policy fits its budget.
 */
const repeatedMax = 16_000_000;
/**
 * The cost after which others have a turn, which takes a few milliseconds; and the cost of an expression before which
 * they have one, which takes one millisecond.
 */
const turnCost = 500_000;
const turnCostOfNext = 100_000;
/** The cost of compiling one character, in the same units. */
const compileCost = 500;

/** Thrown when expressions together cost more than they may. The message has upstream's words. */
export class OutOfBudget extends Error {
  constructor() {
    super("validation failed due to running out of cost budget, no further validation rules will be run");
  }
}

/** The units of cost that expressions may still use. */
export class CostBudget {
  #unitsLeft: number;
  #workLeft = workMax;
  /** The first expression counts as if long work came before it: others may have used the same turn. */
  #sinceTurn = turnCostOfNext;
  #repeated = 0;

  constructor(units: number) {
    this.#unitsLeft = units;
  }

  get unitsLeft(): number {
    return this.#unitsLeft;
  }

  /** The number of steps not counted by costs that may still be done. */
  get workLeft(): number {
    return this.#workLeft;
  }

  /** Pays for an evaluation. Throws `OutOfBudget`. */
  spend(units: number, work: number): void {
    this.#sinceTurn += units + work;
    if (units > this.#unitsLeft || work >= this.#workLeft) throw new OutOfBudget();
    this.#unitsLeft -= units;
    this.#workLeft -= work;
  }

  /** Counts work that is thrown away and will be repeated. It takes time, but nothing of the budget. */
  repeats(units: number): void {
    this.#sinceTurn += units;
    this.#repeated += units;
  }

  /** Whether an evaluation may be thrown away so that others have a turn. */
  get mayRepeat(): boolean {
    return this.#repeated < repeatedMax;
  }

  /**
   * Returns a function that counts the steps of work that is no evaluation, such as writing a value as JSON. The
   * function throws `OutOfBudget`.
   */
  counter(): (work: number) => void {
    let workLeft = evaluationWorkMax;
    return (work) => {
      workLeft -= work;
      this.spend(0, work);
      if (workLeft < 0) throw new OutOfBudget();
    };
  }

  /** The cost of everything since the last pause. */
  get sinceTurn(): number {
    return this.#sinceTurn;
  }

  /** Returns a promise to wait for before the next expression, when that one may take long. */
  pauseBefore({ expectedCost, isCompiled }: LazyExpression): Promise<void> | undefined {
    const pause = this.#pauseAbove(expectedCost > turnCostOfNext ? turnCostOfNext : turnCost);
    if (!isCompiled) this.#sinceTurn += expectedCost;
    return pause;
  }

  /** Returns a promise to wait for after an expression, when that one took long. */
  pauseAfter(): Promise<void> | undefined {
    return this.#pauseAbove(turnCost);
  }

  #pauseAbove(units: number): Promise<void> | undefined {
    if (this.#sinceTurn < units) return undefined;
    this.#sinceTurn = 0;
    return yieldToEventLoop();
  }
}

export type EvaluationOutcome = { readonly value: Value } | { readonly error: string };

/** Returns the limits of one evaluation. */
export const limitsOf = ({
  unitsLeft,
  workLeft,
}: CostBudget): { readonly costLimit: number; readonly workLimit: number } => ({
  costLimit: Math.min(callCostMax, unitsLeft),
  workLimit: Math.min(evaluationWorkMax, workLeft),
});

/** Returns the result of `evaluate`. When an evaluation has to wait, it is thrown away and started again afterwards. */
export function untilPaid<Result>(evaluate: () => Result, budget: CostBudget): MaybePromise<Result> {
  return runUntilAnswered(() => {
    try {
      return evaluate();
    } catch (error) {
      if (error instanceof Pending) budget.repeats(error.spent);
      throw error;
    }
  });
}

/**
 * Evaluates an expression now, and lets `budget` pay for it. Throws `OutOfBudget`, and `Pending` when it has to wait.
 */
function evaluateNow({ compiled }: LazyExpression, activation: Activation, budget: CostBudget): EvaluationOutcome {
  if ("problem" in compiled) return { error: `compilation error: ${compiled.problem}` };
  try {
    const result = compiled.program.evaluate(activation, limitsOf(budget));
    budget.spend(result.cost, result.work);
    return "error" in result ? { error: result.error.message } : result;
  } catch (error) {
    if (isTooDeep(error)) return { error: "the expression nests too deeply" };
    throw error;
  }
}

/**
 * Evaluates expressions one after the other; others have a turn if that takes long. An absent expression has no
 * outcome.
 */
export function evaluateAll(
  expressions: readonly LazyExpression[],
  activation: Activation,
  budget: CostBudget,
): Steps<readonly EvaluationOutcome[]>;
export function evaluateAll(
  expressions: readonly (LazyExpression | undefined)[],
  activation: Activation,
  budget: CostBudget,
): Steps<readonly (EvaluationOutcome | undefined)[]>;
export function* evaluateAll(
  expressions: readonly (LazyExpression | undefined)[],
  activation: Activation,
  budget: CostBudget,
): Steps<readonly (EvaluationOutcome | undefined)[]> {
  const outcomes: (EvaluationOutcome | undefined)[] = [];
  for (const expression of expressions) {
    if (expression === undefined) {
      outcomes.push(undefined);
      continue;
    }
    const pause = budget.pauseBefore(expression);
    if (pause !== undefined) yield pause;
    const prepared = expression.prepare();
    if (isLate(prepared)) {
      yield prepared;
      // The last piece of compiling is enough for one turn, and many requests may have waited for it.
      yield undefined;
    }
    const before = budget.sinceTurn;
    const outcome = evaluateExpression(expression, activation, budget);
    outcomes.push(yield* awaited(outcome));
    expression.hasCost(budget.sinceTurn - before);
    const rest = budget.pauseAfter();
    if (rest !== undefined) yield rest;
  }
  return outcomes;
}

/** Evaluates an expression, and waits when it has to. Throws or rejects with `OutOfBudget`. */
export function evaluateExpression(
  expression: LazyExpression,
  activation: Activation,
  budget: CostBudget,
): MaybePromise<EvaluationOutcome> {
  return andThen(
    untilPaid(() => evaluateNow(expression, activation, budget), budget),
    (outcome) =>
      "error" in outcome && !("problem" in expression.compiled)
        ? { error: `expression '${expression.source}' resulted in error: ${outcome.error}` }
        : outcome,
  );
}
