/**
 * MutatingAdmissionPolicy (alpha): expressions that change what is written, by an apply configuration or a JSON Patch. Each
 * policy, in the order of names, sees what those before it made. Source: upstream's `admission/plugin/policy/mutating`, and
 * its answers.
 */
import type { MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding } from "#api/admissionregistration/v1alpha1.ts";
import type { GroupVersionKind } from "#meta/group-version.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import type { Schema } from "#schema/schema.ts";
import { drive } from "#std/maybe-promise.ts";
import { Pace } from "#std/turn.ts";
import { type ConditionsResult, evaluateConditions } from "./admission-expressions.ts";
import { Budget, evaluateAll, OutOfBudget, policyCostMax } from "./expressions/evaluation.ts";
import type { Matched } from "./matching.ts";
import type { ObjectForms } from "./object-form.ts";
import { type AdmissionAttributes, type AdmissionPlugin, refusal, withObject } from "./plugin.ts";
import { compileVariables } from "./policies/compiled-policy.ts";
import { activationOf, type Steps } from "./policies/evaluate-policy.ts";
import { type CompiledMutatingPolicy, compileMutatingPolicy, mutated, MutationProblem } from "./policies/mutations.ts";
import { collectParams, paramObjects, ParamProblem } from "./policies/params.ts";
import { exemption, type PolicyOptions, PolicyRequest } from "./policies/policy-request.ts";
import { type Binding, type BoundPolicy, PolicyTable } from "./policies/policy-table.ts";

export type MutatingPolicies = PolicyTable<
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  CompiledMutatingPolicy
>;

/** A table without policies. `hasSelectors`: whether checks of the authorizer may have selectors. */
export const mutatingPolicies = (hasSelectors: boolean): MutatingPolicies =>
  new PolicyTable(({ spec }) => compileMutatingPolicy(spec, hasSelectors));

export interface MutatingOptions extends PolicyOptions {
  readonly forms: Pick<ObjectForms, "convertTo" | "reread">;
  /** Of a served kind, subresources' included. */
  schemaOf(kind: GroupVersionKind): Schema;
}

export function mutatingAdmissionPolicy(policies: MutatingPolicies, options: MutatingOptions): AdmissionPlugin {
  const isExempt = exemption(options.domain);
  return {
    name: "MutatingAdmissionPolicy",
    operations: ["CREATE", "UPDATE", "CONNECT"],
    admit(attributes, round) {
      if (policies.isEmpty || attributes.object === undefined || isExempt(attributes)) return undefined;
      const candidates = policies
        .candidates(attributes, options.environment)
        .filter(({ object }) => !round.isSecond || object.spec.reinvocationPolicy === "IfNeeded");
      if (candidates.length === 0) return undefined;
      return drive(run(candidates, attributes, options, () => round.repeat()));
    },
  };
}

type Policy = BoundPolicy<MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, CompiledMutatingPolicy>;
type PolicyBinding = Binding<MutatingAdmissionPolicyBinding>;

/** `repeat` asks for another round: a policy that wants it ran before a change. */
function* run(
  policies: readonly Policy[],
  attributes: AdmissionAttributes,
  options: MutatingOptions,
  repeat: () => void,
): Steps<ApiObject | undefined> {
  const pace = new Pace(options.clock);
  let request = new PolicyRequest(attributes, options);
  let isToRepeat = false;
  for (const policy of policies) {
    if (pace.isDue) yield pace.pause();
    const next = yield* applyPolicy(policy, request, options);
    if (next !== request && isToRepeat) repeat();
    request = next;
    isToRepeat ||= policy.object.spec.reinvocationPolicy === "IfNeeded";
  }
  return request.attributes.object === attributes.object ? undefined : request.attributes.object;
}

/** The request with the object as the policy leaves it; the same request when it changes nothing. Throws its refusal. */
function* applyPolicy(policy: Policy, request: PolicyRequest, options: MutatingOptions): Steps<PolicyRequest> {
  const { environment, findParams } = options;
  let current = request;
  let binding: PolicyBinding | undefined;
  try {
    const matched = policy.matcher.match(request.attributes, environment);
    if (matched === undefined) return request;
    const { paramKind } = policy.object.spec;
    const objects = paramKind === undefined ? undefined : paramObjects(paramKind, findParams);
    for (binding of policy.bindings) {
      const { matcher } = binding;
      if (matcher !== undefined && matcher.match(current.attributes, environment) === undefined) continue;
      const found = collectParams(objects, binding.object.spec.paramRef, current.namespaceName);
      const params = found instanceof Promise ? ((yield found) as readonly (ApiObject | undefined)[]) : found; // of that promise
      for (const param of params) current = yield* applyMutations(policy.compiled(), matched, current, param, options);
    }
    return current;
  } catch (error) {
    const denial = denialOf(error, binding !== undefined);
    if (denial === undefined) throw error;
    // What was changed before stays changed.
    if (!policy.compiled().isFailing) return current;
    throw refused(current.attributes, policy, binding, denial);
  }
}

interface Denial {
  readonly message: string;
  readonly reason: "Invalid" | "Forbidden";
}

/** `undefined` for an error that is not the policy's. */
function denialOf(error: unknown, isOfBinding: boolean): Denial | undefined {
  if (error instanceof MutationProblem || error instanceof OutOfBudget)
    return { message: error.message, reason: "Invalid" };
  if (!(error instanceof ParamProblem)) return undefined;
  return {
    message: `failed to configure ${isOfBinding ? "binding" : "policy"}: ${error.message}`,
    reason: "Forbidden",
  };
}

function refused(
  attributes: AdmissionAttributes,
  policy: Policy,
  binding: PolicyBinding | undefined,
  { message, reason }: Denial,
): StatusError {
  const by = `policy '${policy.name}'${binding === undefined ? "" : ` with binding '${binding.name}'`}`;
  const text = `${by} denied request: ${message}`;
  const { status } = refusal(attributes, text, [{ message: text }]);
  // Upstream: 403, whatever the reason.
  return new StatusError({ ...status, message: text, reason });
}

/** One object of parameters. */
function* applyMutations(
  policy: CompiledMutatingPolicy,
  matched: Matched,
  request: PolicyRequest,
  param: ApiObject | undefined,
  options: MutatingOptions,
): Steps<PolicyRequest> {
  const matching = evaluateConditions(policy.conditions, yield* request.valuesFor(matched), param);
  const conditions = matching instanceof Promise ? ((yield matching) as ConditionsResult) : matching; // of that promise
  if ("error" in conditions) throw new MutationProblem(conditions.error.message);
  if (conditions.outcome === "no") return request;
  yield* compileVariables(policy);
  const budget = new Budget(policyCostMax);
  let current = request;
  for (const mutation of policy.mutations) {
    const values = yield* current.valuesFor(matched);
    const activation = activationOf(policy, values, param, budget);
    const [outcome] = yield* evaluateAll([mutation.expression], activation, budget, values.checks);
    if ("error" in outcome!) throw new MutationProblem(outcome.error);
    const object = yield* current.inForm(current.attributes.object, matched.kind);
    const changed = mutated(mutation, outcome!.value, object!, options.schemaOf(matched.kind)); // there is one
    if (changed === undefined || changed === object) continue;
    const reread = options.forms.reread(changed, matched.kind);
    const { attributes } = current;
    const own = options.forms.convertTo(reread, attributes.kind);
    const next = own instanceof Promise ? ((yield own) as ApiObject) : own; // of that promise
    current = new PolicyRequest(withObject(attributes, next), options, current);
  }
  return current;
}
