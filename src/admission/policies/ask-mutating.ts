/** Lets mutating policies change the object of a write, in the order of their names. */
import type { MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding } from "#api/admissionregistration/v1alpha1.ts";
import { goQuote } from "#meta/field-error.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import { awaited, runCooperatively, type Steps } from "#std/cooperative.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { Yielder } from "#std/cooperative.ts";
import { evaluateConditions } from "../admission-expressions.ts";
import { CostBudget, evaluateAll, OutOfBudget, policyCostMax } from "../expressions/evaluation.ts";
import type { Matched } from "../matching.ts";
import { type AdmissionAttributes, refusal, withObject } from "../plugin.ts";
import { compileVariables } from "./compiled-policy.ts";
import { activationOf } from "./evaluate-policy.ts";
import {
  type CompiledMutatingPolicy,
  type CompiledMutation,
  compileMutatingPolicy,
  applyMutation,
  MutationProblem,
} from "./mutations.ts";
import { collectParams, paramObjects, ParamProblem } from "./params.ts";
import type { MutatingOptions } from "./policy-options.ts";
import { PolicyRequest } from "./policy-request.ts";
import type { BoundPolicy, PolicyBinding } from "./policy-table.ts";

/**
 * Returns the changed object; `undefined` when it is unchanged. `repeat` asks for another round. Throws `StatusError`.
 */
export const askMutating = (
  policies: readonly Policy[],
  attributes: AdmissionAttributes,
  options: MutatingOptions,
  repeat: () => void,
): MaybePromise<ApiObject | undefined> => runCooperatively(run(policies, attributes, options, repeat));

type Policy = BoundPolicy<MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, CompiledMutatingPolicy>;
type MutatingBinding = PolicyBinding<MutatingAdmissionPolicyBinding>;

/** Runs the policies. `repeat` asks for another round: it is called when a policy that wants it ran before a change. */
function* run(
  policies: readonly Policy[],
  attributes: AdmissionAttributes,
  options: MutatingOptions,
  repeat: () => void,
): Steps<ApiObject | undefined> {
  const denials: StatusError[] = [];
  const mutator = new Mutator(new PolicyRequest(attributes, options), options, denials);
  // Mutations change neither which policies apply nor their parameters.
  const invocations: Invocation[] = [];
  for (const policy of policies) yield* invocationsOf(policy, mutator.request, options, { invocations, denials });
  let isToRepeat = false;
  for (const [at, invocation] of invocations.entries()) {
    const { request } = mutator;
    yield* mutator.run(invocation);
    if (mutator.request !== request && isToRepeat) repeat();
    const { policy } = invocation;
    if (invocations[at + 1]?.policy !== policy) isToRepeat ||= policy.object.spec.reinvocationPolicy === "IfNeeded";
  }
  if (denials.length > 0) throw combineDenials(denials);
  const { object } = mutator.request.attributes;
  return object === attributes.object ? undefined : object;
}

/** A run of a policy that applies to the request, with one object of its parameters. */
interface Invocation {
  readonly policy: Policy;
  readonly binding: MutatingBinding;
  readonly matched: Matched;
  readonly param: ApiObject | undefined;
}

interface InvocationPlan {
  readonly invocations: Invocation[];
  readonly denials: StatusError[];
}

/** Adds the runs of a policy, or the reason why it cannot be run. */
function* invocationsOf(
  policy: Policy,
  request: PolicyRequest,
  { environment, findParams }: MutatingOptions,
  { invocations, denials }: InvocationPlan,
): Steps<void> {
  const { attributes } = request;
  const matched = policy.matcher.match(attributes, environment);
  if (matched === undefined) return;
  let binding: MutatingBinding | undefined;
  const unusable = (error: unknown): void => {
    if (!(error instanceof ParamProblem)) throw error;
    if (policy.object.spec.failurePolicy === "Ignore") return;
    const message = `failed to configure ${binding === undefined ? "policy" : "binding"}: ${error.message}`;
    denials.push(denial(attributes, policy, binding, { message, reason: "Forbidden" }));
  };
  try {
    const { paramKind } = policy.object.spec;
    const objects = paramKind === undefined ? undefined : paramObjects(paramKind, findParams);
    for (binding of policy.bindings) {
      const { matcher } = binding;
      if (matcher !== undefined && matcher.match(attributes, environment) === undefined) continue;
      try {
        const params = collectParams(objects, binding.object.spec.paramRef, request.namespaceName);
        for (const param of yield* awaited(params)) invocations.push({ policy, binding, matched, param });
      } catch (error) {
        unusable(error);
      }
    }
  } catch (error) {
    unusable(error);
  }
}

/** Applies the mutations of policies, one after the other. */
class Mutator {
  /** The request, with the object as the mutations so far have left it. */
  request: PolicyRequest;
  readonly #options: MutatingOptions;
  readonly #denials: StatusError[];
  readonly #yielder: Yielder;

  constructor(request: PolicyRequest, options: MutatingOptions, denials: StatusError[]) {
    this.request = request;
    this.#options = options;
    this.#denials = denials;
    this.#yielder = new Yielder(options.clock);
  }

  /**
   * Runs a policy. A mutation that cannot be made refuses the request, unless its policy ignores failures; the other
   * mutations are made.
   */
  *run({ policy, binding, matched, param }: Invocation): Steps<void> {
    const compiled = policy.compiled(compileMutatingPolicy);
    const refuse = (message: string): void => {
      if (!compiled.isFailing) return;
      this.#denials.push(denial(this.request.attributes, policy, binding, { message, reason: "Invalid" }));
    };
    const values = yield* this.request.valuesFor(matched);
    const conditions = yield* awaited(evaluateConditions(compiled.conditions, values, param));
    if ("error" in conditions) return refuse(conditions.error.message);
    if (conditions.outcome === "no") return;
    yield* compileVariables(compiled);
    for (const mutation of compiled.mutations) {
      if (this.#yielder.isDue) yield this.#yielder.pause();
      this.request.attributes.context.signal?.throwIfAborted();
      try {
        yield* this.#mutate(compiled, mutation, matched, param);
      } catch (error) {
        if (!(error instanceof MutationProblem || error instanceof OutOfBudget)) throw error;
        refuse(error.message);
      }
    }
  }

  /**
   * Returns the result of `apply`. The next call is expected to take as long, and waits for its turn if that is long.
   */
  #applied<T>({ expression }: CompiledMutation, apply: () => T, budget: CostBudget): T {
    try {
      return apply();
    } finally {
      expression.hasCost(budget.sinceTurn);
    }
  }

  /** Applies one mutation, which has a budget of its own. */
  *#mutate(
    policy: CompiledMutatingPolicy,
    mutation: CompiledMutation,
    matched: Matched,
    param: ApiObject | undefined,
  ): Steps<void> {
    const { request } = this;
    const options = this.#options;
    const budget = new CostBudget(policyCostMax);
    const values = yield* request.valuesFor(matched);
    const activation = activationOf(policy, { values, params: param, budget, yielder: this.#yielder });
    const [outcome] = yield* evaluateAll([mutation.expression], activation, budget);
    if ("error" in outcome!) throw new MutationProblem(outcome.error);
    const object = yield* request.inForm(request.attributes.object, matched.kind);
    const schema = options.schemaOf(matched.kind);
    const changed = this.#applied(
      mutation,
      () => applyMutation(mutation, outcome!.value, object!, schema, budget.counter()), // there is one
      budget,
    );
    if (changed === undefined || changed === object) return;
    const rest = budget.pauseAfter();
    if (rest !== undefined) yield rest;
    const reread = yield* awaited(options.forms.reread(changed, matched.kind));
    const { attributes } = request;
    const next = yield* awaited(options.forms.convertTo(reread, attributes.kind));
    this.request = new PolicyRequest(withObject(attributes, next), options, request);
  }
}

interface Denial {
  readonly message: string;
  readonly reason: "Invalid" | "Forbidden";
}

function denial(
  attributes: AdmissionAttributes,
  policy: Policy,
  binding: MutatingBinding | undefined,
  { message, reason }: Denial,
): StatusError {
  const by =
    binding === undefined ? `policy ${goQuote(policy.name)}` : `policy '${policy.name}' with binding '${binding.name}'`;
  const text = `${by} denied request: ${message}`;
  const { status } = refusal(attributes, text, [{ message: text }]);
  // Upstream: the code is 403, whatever the reason.
  return new StatusError({ ...status, message: text, reason }, { showsValues: false });
}

/** Returns the first refusal, with the causes of all. */
function combineDenials(denials: readonly StatusError[]): StatusError {
  const { status } = denials[0]!; // there is one
  const causes = denials.flatMap(({ status: { details } }) => details?.causes ?? []);
  return new StatusError({ ...status, details: { ...status.details, causes } }, { showsValues: false });
}
