/** Variables of policies cost the same on a machine of any speed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Activation } from "#cel/evaluate.ts";
import type { Value } from "#cel/values.ts";
import { runCooperatively } from "#std/cooperative.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { Yielder } from "#std/cooperative.ts";
import { CostBudget, evaluateExpression, OutOfBudget } from "../expressions/evaluation.ts";
import { compilePolicy, compileVariables } from "./compiled-policy.ts";
import { lazyVariables } from "./variables.ts";

/** A clock that shows a later time whenever it is read: everything takes long. */
class BusyClock extends FakeClock {
  override monotonic(): number {
    this.advance(1000);
    return super.monotonic();
  }
}

interface Found {
  readonly outcome: unknown;
  readonly unitsLeft: number;
  readonly workLeft: number;
  /** The units of work that were thrown away, each time. */
  readonly repeated: readonly number[];
}

class Counting extends CostBudget {
  readonly repeated: number[] = [];

  override repeats(units: number): void {
    this.repeated.push(units);
    super.repeats(units);
  }
}

async function evaluate(variables: readonly string[], expression: string, clock: FakeClock): Promise<Found> {
  const policy = compilePolicy(
    {
      variables: variables.map((source, at) => ({ name: `v${at}`, expression: source })),
      validations: [{ expression }],
    },
    true,
  );
  await runCooperatively(compileVariables(policy));
  const budget = new Counting(10_000_000);
  const activation: Activation = {
    variables: lazyVariables(policy.variables, () => activation, budget, new Yielder(clock)),
  };
  let outcome: unknown;
  try {
    outcome = await evaluateExpression(policy.validations[0]!.expression, activation, budget);
  } catch (error) {
    if (!(error instanceof OutOfBudget)) throw error;
    outcome = error.message;
  }
  return { outcome, unitsLeft: budget.unitsLeft, workLeft: budget.workLeft, repeated: budget.repeated };
}

/** A list; comparing each item with each takes more than 4 ms. */
const list = `[${Array.from({ length: 100 }, (_, at) => at).join(", ")}]`;
const long = `${list}.all(x, ${list}.all(y, x + y >= 0))`;

test("a policy has the same answer and pays the same, however busy the machine is", async () => {
  const chain = Array.from({ length: 200 }, (_, at) => (at === 0 ? "1" : `variables.v${at - 1} + 1`));
  const wide = Array.from({ length: 100 }, (_, at) => `${at}`);
  const all = wide.map((_, at) => `variables.v${at} >= 0`).join(" && ");
  for (const [variables, expression, outcome] of [
    [chain, "variables.v199 == 200", true],
    [wide, `${long} && ${all}`, true],
    [wide, `${all} && variables.v3 == 4`, false],
    [[long, long, long], "variables.v0 && variables.v1 && variables.v2", true],
    [[long, `${long} && variables.v0`], `${long} && variables.v1`, true],
    [["'a' == 'b'", "variables.v0 ? 1 : 2"], "variables.v1 == 2", true],
  ] as const) {
    const quick = await evaluate(variables, expression, new FakeClock());
    const busy = await evaluate(variables, expression, new BusyClock());
    assert.deepEqual(quick.outcome, { ...(quick.outcome as object), value: outcome satisfies Value });
    assert.deepEqual(quick.repeated, []);
    assert.deepEqual({ ...busy, repeated: [] }, quick, expression.slice(-40));
    assert.ok(busy.repeated.length > 0 && busy.repeated.length <= variables.length, `${busy.repeated.length}`);
  }
});

test("a policy that costs too much does so however busy the machine is", async () => {
  const variables = Array.from({ length: 20 }, () => `${long} && ${list}.all(x, ${long.replaceAll("y", "z")})`);
  const all = variables.map((_, at) => `variables.v${at}`).join(" && ");
  const quick = await evaluate(variables, all, new FakeClock());
  const busy = await evaluate(variables, all, new BusyClock());
  assert.deepEqual({ ...busy, repeated: [] }, quick);
});

test("the work that an evaluation repeats is bounded", async () => {
  const variables = Array.from({ length: 1000 }, (_, at) => `${at}`);
  const all = variables.map((_, at) => `variables.v${at} >= 0`).join(" && ");
  const { outcome, repeated } = await evaluate(variables, `${long} && ${all}`, new BusyClock());
  assert.equal((outcome as { value: unknown }).value, true);
  const units = repeated.reduce((sum, one) => sum + one, 0);
  assert.ok(units < 21_000_000, `${units}`);
  assert.ok(repeated.length < 1000, `${repeated.length}`);
});
