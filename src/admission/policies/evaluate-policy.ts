/**
 * Evaluates a validating policy for one request and one parameter object. Yields the promises it waits for.
 * Source: upstream's `admission/plugin/policy/validating/validator.go`.
 */
import type { ApiObject } from "#meta/object-meta.ts";
import type { Activation } from "#cel/evaluate.ts";
import type { Value } from "#cel/values.ts";
import { awaited, type Steps, type Yielder } from "#std/cooperative.ts";
import { evaluateConditions, type RequestValues } from "../admission-expressions.ts";
import {
  CostBudget,
  evaluateAll,
  type EvaluationOutcome,
  OutOfBudget,
  policyCostMax,
} from "../expressions/evaluation.ts";
import {
  type CompiledCommon,
  type CompiledPolicy,
  type CompiledValidation,
  compileVariables,
} from "./compiled-policy.ts";
import { lazyVariables } from "./variables.ts";

/** A validation that does not hold, or has no value. */
export interface Failure {
  /** The index of the validation in the policy. */
  readonly index: number;
  readonly message: string;
  /** The reason of the status; empty for the default one. */
  readonly reason: string;
  /** Whether it cost too much. */
  readonly isOverBudget?: boolean;
  /** Whether nothing follows, because the expression has no value and the policy ignores that. */
  readonly isIgnored?: boolean;
}

export interface PolicyResult {
  readonly failures: readonly Failure[];
  /** Annotations for the audit log. */
  readonly annotations: readonly { readonly key: string; readonly value: string }[];
  /** Errors of annotations without a value, where such an error refuses the request. */
  readonly annotationErrors: readonly string[];
}

const nothing: PolicyResult = { failures: [], annotations: [], annotationErrors: [] };

export function* evaluatePolicy(
  policy: CompiledPolicy,
  values: RequestValues,
  params: ApiObject | undefined,
  yielder: Yielder,
): Steps<PolicyResult> {
  const conditions = yield* awaited(evaluateConditions(policy.conditions, values, params));
  if ("error" in conditions) {
    const { error } = conditions;
    return policy.isFailing ? failing(policy, error.message, error instanceof OutOfBudget) : nothing;
  }
  if (conditions.outcome === "no") return nothing;
  try {
    return yield* evaluateBody(policy, values, params, yielder);
  } catch (error) {
    if (!(error instanceof OutOfBudget)) throw error;
    return failing(policy, error.message, true);
  }
}

const failing = ({ isFailing }: CompiledPolicy, message: string, isOverBudget: boolean): PolicyResult => ({
  ...nothing,
  failures: [{ index: 0, message, reason: "", isOverBudget, isIgnored: !isFailing }],
});

function* evaluateBody(
  policy: CompiledPolicy,
  values: RequestValues,
  params: ApiObject | undefined,
  yielder: Yielder,
): Steps<PolicyResult> {
  yield* compileVariables(policy);
  const budget = new CostBudget(policyCostMax);
  const activation = activationOf(policy, { values, params, budget, yielder });
  const expressions = policy.validations.map(({ expression }) => expression);
  const outcomes = yield* evaluateAll(expressions, activation, budget);
  const isHolding = (outcome: EvaluationOutcome): boolean => "value" in outcome && outcome.value === true;
  let failures: readonly Failure[] = [];
  if (!outcomes.every(isHolding)) {
    const messages = yield* evaluateMessages(policy, { values, params, budget, yielder });
    failures = policy.validations.flatMap((one, index) =>
      isHolding(outcomes[index]!) ? [] : failureOf(one, index, outcomes[index]!, messages, policy.isFailing),
    );
  }
  if (policy.auditAnnotations.length === 0) return { ...nothing, failures };
  return { failures, ...(yield* evaluateAnnotations(policy, values, params, yielder)) };
}

/** The surroundings in which the expressions of a policy are evaluated. */
interface Around {
  readonly values: RequestValues;
  readonly params: ApiObject | undefined;
  readonly budget: CostBudget;
  readonly yielder: Yielder;
}

/** The activation for expressions of a policy. Its variables are evaluated anew, and the budget pays for them. */
export function activationOf(
  { variables }: CompiledCommon,
  { values, params, budget, yielder }: Around,
  authorizer = true,
): Activation {
  const activation: Activation = values.activation({
    params,
    ...(variables.length === 0 ? {} : { variables: () => lazyVariables(variables, () => activation, budget, yielder) }),
    authorizer,
    namespaceObject: true,
  });
  return activation;
}

/** The outcomes of message expressions by validation, or an error when they cost too much. */
type Messages = readonly (EvaluationOutcome | undefined)[] | { readonly problem: string };

/**
 * Evaluates the expressions of messages, which have no authorizer. Upstream evaluates all of them, and so all of them
 * cost.
 */
function* evaluateMessages(policy: CompiledPolicy, around: Around): Steps<Messages> {
  if (policy.validations.every(({ message }) => message === undefined)) return [];
  const activation = activationOf(policy, around, false);
  const messages = policy.validations.map(({ message }) => message);
  try {
    return yield* evaluateAll(messages, activation, around.budget);
  } catch (error) {
    if (error instanceof OutOfBudget) return { problem: error.message };
    throw error;
  }
}

function failureOf(
  { validation, message }: CompiledValidation,
  index: number,
  outcome: EvaluationOutcome,
  messages: Messages,
  isFailing: boolean,
): readonly Failure[] {
  const unclear = (text: string): readonly Failure[] => [{ index, message: text, reason: "", isIgnored: !isFailing }];
  if ("error" in outcome) return unclear(outcome.error);
  if ("problem" in messages) {
    if (message !== undefined) return unclear(`failed messageExpression: ${messages.problem}`);
  }
  const computed = "problem" in messages ? undefined : textOf(messages[index]);
  const text = [computed, validation.message?.trim()].find((one) => one !== undefined && one !== "");
  const { reason = "" } = validation;
  return [{ index, message: text ?? `failed expression: ${validation.expression.trim()}`, reason }];
}

/** The longest message that an expression may make, in bytes. */
const messageBytesMax = 5 * 1024;

/** Returns a message that can be used, which is short and in one line; else `undefined`. */
function textOf(outcome: EvaluationOutcome | undefined): string | undefined {
  if (outcome === undefined || "error" in outcome || typeof outcome.value !== "string") return undefined;
  const text = outcome.value.trim();
  return Buffer.byteLength(text) > messageBytesMax || text.includes("\n") ? undefined : text;
}

/** The longest value of an annotation, in bytes; longer ones are cut. */
export const auditAnnotationBytesMax = 10 * 1024;

/** Evaluates the audit annotations, which have a budget of their own. */
function* evaluateAnnotations(
  policy: CompiledPolicy,
  values: RequestValues,
  params: ApiObject | undefined,
  yielder: Yielder,
): Steps<Omit<PolicyResult, "failures">> {
  const budget = new CostBudget(policyCostMax);
  const activation = activationOf(policy, { values, params, budget, yielder });
  const expressions = policy.auditAnnotations.map(({ expression }) => expression);
  const outcomes = yield* evaluateAll(expressions, activation, budget);
  const annotations: PolicyResult["annotations"][number][] = [];
  const annotationErrors: string[] = [];
  for (const [at, { key }] of policy.auditAnnotations.entries()) {
    const outcome = outcomes[at]!;
    if ("error" in outcome) {
      if (policy.isFailing) annotationErrors.push(outcome.error);
    } else {
      const value = shownValue(outcome.value);
      if (value !== "") annotations.push({ key, value });
    }
  }
  return { annotations, annotationErrors };
}

/** The value as text. The types allow texts and null, and null is no annotation. */
const shownValue = (value: Value): string =>
  typeof value === "string" ? cut(value.trim(), auditAnnotationBytesMax) : "";

/** Cuts a text to at most `bytesMax` bytes. */
export function cut(text: string, bytesMax: number): string {
  if (Buffer.byteLength(text) <= bytesMax) return text;
  return new TextDecoder().decode(Buffer.from(text).subarray(0, bytesMax), { stream: true });
}
