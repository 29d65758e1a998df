/**
 * Expressions of admission: their variables, and match conditions of webhooks and policies. Source: the documentation
 * of admission policies in Kubernetes, and the answers of kube-apiserver.
 */
import type { MatchCondition } from "#api/admissionregistration/v1.ts";
import type { Namespace } from "#api/core/v1.ts";
import type { Authorizer } from "#authz/authorizer.ts";
import { admissionEnvironment, compileAdmission } from "#cel/admission.ts";
import { AuthorizationChecks } from "#cel/authorizer.ts";
import { ExpressionBudget } from "#cel/expression-budget.ts";
import type { Activation } from "#cel/evaluate.ts";
import type { Value } from "#cel/values.ts";
import { aggregate } from "#meta/field-error.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { runCooperatively, type Steps } from "#std/cooperative.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import {
  CostBudget,
  LazyExpression,
  conditionsCostMax,
  evaluateAll,
  type EvaluationOutcome,
  OutOfBudget,
} from "./expressions/evaluation.ts";
import type { AdmissionAttributes } from "./plugin.ts";

export type { LazyExpression } from "./expressions/evaluation.ts";

/** The checks of one request. */
export const authorizationChecks = (authorizer: Authorizer): AuthorizationChecks =>
  new AuthorizationChecks((attributes) => authorizer.authorize(attributes));

export interface RequestParts {
  readonly attributes: AdmissionAttributes;
  /** The object in the form in which a rule matched. */
  readonly object: ApiObject | undefined;
  readonly oldObject: ApiObject | undefined;
  /** The variable `request`, made when it is first used. */
  request(): object;
  /** The checks of the authorizer for the whole request: each question is asked once. */
  readonly checks: AuthorizationChecks;
  /** Finds the namespace of a namespaced object, where expressions see it. */
  namespace?(): Namespace | undefined;
}

/** The variables of expressions about one request in one form, each made when it is first used. */
export class RequestValues {
  readonly checks: AuthorizationChecks;
  readonly #parts: RequestParts;
  #request: Value | undefined;
  #namespace: Value | undefined;

  constructor(parts: RequestParts) {
    this.#parts = parts;
    this.checks = parts.checks;
  }

  get object(): Value {
    return valueOf(this.#parts.object);
  }

  get oldObject(): Value {
    return valueOf(this.#parts.oldObject);
  }

  get request(): Value {
    this.#request ??= valueOf(this.#parts.request());
    return this.#request;
  }

  get namespaceObject(): Value {
    this.#namespace ??= shownNamespace(this.#parts.namespace?.());
    return this.#namespace;
  }

  get authorizer(): Value {
    return this.checks.authorizer(this.#parts.attributes.context.user);
  }

  get requestResource(): Value {
    const { context, resource, subresource, namespace, name } = this.#parts.attributes;
    const about = { group: resource.group, resource: resource.resource, subresource, namespace, name };
    return this.checks.requestResource(context.user, about);
  }

  activation(visible: Visible = {}): Activation {
    return new RequestActivation(this, visible);
  }
}

/** The variables of an expression beside the request itself. */
export interface Visible {
  readonly params?: ApiObject | undefined;
  /** The `variables` of a policy, made when one is first used. */
  readonly variables?: (() => Value) | undefined;
  /**
   * Whether the variables `authorizer` (default: true) and `namespaceObject` (default: false) exist. Messages have no
   * `authorizer`, match conditions no `namespaceObject`.
   */
  readonly authorizer?: boolean;
  readonly namespaceObject?: boolean;
}

class RequestActivation {
  readonly [name: string]: Value | undefined;
  readonly #values: RequestValues;
  readonly #visible: Visible;
  #variables: Value | undefined;

  constructor(values: RequestValues, visible: Visible) {
    this.#values = values;
    this.#visible = visible;
  }

  get params(): Value {
    return valueOf(this.#visible.params);
  }

  get variables(): Value | undefined {
    this.#variables ??= this.#visible.variables?.();
    return this.#variables;
  }

  get object(): Value {
    return this.#values.object;
  }

  get oldObject(): Value {
    return this.#values.oldObject;
  }

  get request(): Value {
    return this.#values.request;
  }

  get namespaceObject(): Value {
    return this.#visible.namespaceObject === true ? this.#values.namespaceObject : null;
  }

  get authorizer(): Value | undefined {
    return this.#visible.authorizer === false ? undefined : this.#values.authorizer;
  }

  get "authorizer.requestResource"(): Value | undefined {
    return this.#visible.authorizer === false ? undefined : this.#values.requestResource;
  }
}

const valueOf = (object: object | undefined): Value => (object ?? null) as Value; // plain JSON

/** Returns the value that expressions see as `namespaceObject`. */
function shownNamespace(namespace: Namespace | undefined): Value {
  if (namespace === undefined) return null;
  const { ownerReferences: _owners, managedFields: _managers, selfLink: _link, ...metadata } = namespace.metadata;
  const { spec, status } = namespace;
  return valueOf({ metadata, spec: spec ?? {}, status: status ?? {} });
}

/** Match conditions, in order. */
export interface CompiledConditions {
  readonly conditions: readonly { readonly name: string; readonly expression: LazyExpression }[];
}

export interface ConditionOptions {
  readonly hasParams: boolean;
  /** Whether checks of the authorizer may have selectors (feature gate `AuthorizeWithSelectors`). */
  readonly hasSelectors: boolean;
}

/**
 * Returns conditions that are compiled at their first evaluation, so callers keep the result. A condition that cannot
 * be compiled has no value.
 */
export function compileConditions(
  conditions: readonly MatchCondition[],
  { hasParams, hasSelectors }: ConditionOptions,
  budget = new ExpressionBudget("a webhook"),
): CompiledConditions {
  const environment = admissionEnvironment({ hasParams, hasAuthorizer: true, hasSelectors });
  return {
    conditions: conditions.map(({ name, expression }) => ({
      name,
      expression: new LazyExpression(expression, () => compileAdmission(expression, "condition", environment, budget)),
    })),
  };
}

/** The outcome of conditions. `failed` is the condition that is false. After an error, the failure policy decides. */
export type ConditionsResult =
  | { readonly outcome: "matches" }
  | { readonly outcome: "no"; readonly failed: string }
  | { readonly error: Error };

/**
 * Evaluates whether all conditions are true. A false condition decides, even if others have no value. The cost of all
 * conditions together is limited.
 */
export function evaluateConditions(
  { conditions }: CompiledConditions,
  values: RequestValues,
  params?: ApiObject,
): MaybePromise<ConditionsResult> {
  return conditions.length === 0 ? { outcome: "matches" } : runCooperatively(evaluateEach(conditions, values, params));
}

function* evaluateEach(
  conditions: CompiledConditions["conditions"],
  values: RequestValues,
  params: ApiObject | undefined,
): Steps<ConditionsResult> {
  const budget = new CostBudget(conditionsCostMax);
  const activation = values.activation({ params });
  const expressions = conditions.map(({ expression }) => expression);
  try {
    return resultOf(conditions, yield* evaluateAll(expressions, activation, budget));
  } catch (error) {
    // Upstream: results of earlier conditions do not count.
    if (error instanceof OutOfBudget) return { error };
    throw error;
  }
}

function resultOf(
  conditions: CompiledConditions["conditions"],
  outcomes: readonly EvaluationOutcome[],
): ConditionsResult {
  const errors = new Set<string>();
  for (const [at, outcome] of outcomes.entries()) {
    if ("error" in outcome) errors.add(outcome.error);
    else if (outcome.value === false) return { outcome: "no", failed: conditions[at]!.name };
  }
  if (errors.size === 0) return { outcome: "matches" };
  return { error: new Error(aggregate(errors)) };
}
