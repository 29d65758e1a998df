/** Match conditions: their variables, their outcome, and their failures. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { MatchCondition } from "#api/admissionregistration/v1.ts";
import { AuthorizationChecks, type CheckAttributes, type CheckVerdict } from "#cel/authorizer.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import {
  compileConditions,
  type ConditionsResult,
  evaluateConditions,
  RequestValues,
} from "./admission-expressions.ts";
import { attributesOf } from "./attributes-for-tests.ts";

const map = (data: Readonly<Record<string, string>>): ApiObject =>
  ({ metadata: { name: "m", namespace: "n" }, data }) as ApiObject;

interface Given {
  readonly object?: ApiObject;
  readonly params?: ApiObject;
  readonly authorize?: (attributes: CheckAttributes) => MaybePromise<CheckVerdict>;
}

function evaluate(expressions: readonly string[], given: Given = {}): MaybePromise<ConditionsResult> {
  const { object = map({ a: "1" }), authorize = () => ({ decision: "noOpinion", reason: "" }) } = given;
  const conditions: MatchCondition[] = expressions.map((expression, at) => ({ name: `c${at}`, expression }));
  const values = new RequestValues({
    attributes: attributesOf(object, { name: "m" }),
    object,
    oldObject: undefined,
    request: () => ({ operation: "CREATE", userInfo: { username: "ann", groups: ["g"] }, dryRun: false }),
    checks: new AuthorizationChecks(authorize),
  });
  return evaluateConditions(
    compileConditions(conditions, { hasParams: true, hasSelectors: true }),
    values,
    given.params,
  );
}

function check(expressions: readonly string[], expected: string, given: Given = {}): void {
  const result = evaluate(expressions, given);
  assert.ok(!(result instanceof Promise));
  assert.equal(format(result), expected);
}

async function checkLate(expressions: readonly string[], expected: string): Promise<void> {
  assert.equal(format(await evaluate(expressions)), expected);
}

const format = (result: ConditionsResult): string =>
  "error" in result ? result.error.message : result.outcome === "no" ? `no: ${result.failed}` : "matches";

test("conditions see the object, the old one, the request and parameters [EXPR-59]", () => {
  check([], "matches");
  check(["object.data.a == '1'", "oldObject == null", "request.userInfo.username == 'ann'"], "matches");
  check(["has(object.data.x) && object.data.x == '1'"], "no: c0");
  check(["params == null", "params.data.max == '3'"], "no: c0", { params: map({ max: "3" }) });
  check(["params == null"], "matches");
});

test("a false condition decides, even where others have no value", () => {
  check(["object.missing", "object.data.a == '2'"], "no: c1");
  check(["object.missing == 1", "true"], "expression 'object.missing == 1' resulted in error: no such key: missing");
  check(
    ["object.b == 1", "object.c == 1"],
    "[expression 'object.b == 1' resulted in error: no such key: b, expression 'object.c == 1' resulted in error: no such key: c]",
  );
});

test("conditions of one webhook have a budget together [LIMIT-02] [ERR-06]", async () => {
  const list = (length: number): string => JSON.stringify(Array.from({ length }, (_, at) => at));
  const loops = (inner: number): string => `${list(150)}.all(a, ${list(150)}.all(b, ${list(inner)}.all(c, c >= 0)))`;
  await checkLate([loops(4)], "matches");
  await checkLate(
    Array.from({ length: 8 }, () => loops(4)),
    "validation failed due to running out of cost budget, no further validation rules will be run",
  );
  await checkLate(
    [loops(50)],
    `expression '${loops(50)}' resulted in error: operation cancelled: actual cost limit exceeded`,
  );
});

test("conditions wait for an authorizer that answers late, and ask it once [EXPR-20]", async () => {
  const checks: CheckAttributes[] = [];
  const condition = "authorizer.requestResource.check('delete').allowed()";
  const late = evaluate([condition, `${condition} || false`], {
    authorize: async (attributes) => {
      checks.push(attributes);
      return { decision: "allow", reason: "" };
    },
  });
  assert.ok(late instanceof Promise);
  assert.equal(format(await late), "matches");
  assert.deepEqual(
    checks.map(({ verb, resource, namespace, name }) => [verb, resource, namespace, name]),
    [["delete", "configmaps", "n", "m"]],
  );
});

test("a condition that cannot be compiled has no value", () => {
  check(
    ["objekt.a"],
    "compilation error: compilation failed: ERROR: <input>:1:1: undeclared reference to 'objekt' (in container '')\n | objekt.a\n | ^",
  );
});
