/** Asks validating policies about a write. */
import type { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from "#api/admissionregistration/v1.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import { escapeHtml } from "#std/escape-html.ts";
import { awaited, runCooperatively, type Steps } from "#std/cooperative.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { Yielder } from "#std/cooperative.ts";
import { type AdmissionAttributes, refusal } from "../plugin.ts";
import { type CompiledPolicy, compilePolicy } from "./compiled-policy.ts";
import { auditAnnotationBytesMax, cut, evaluatePolicy, type Failure, type PolicyResult } from "./evaluate-policy.ts";
import { collectParams, paramObjects, ParamProblem } from "./params.ts";
import type { ObservedCheck, ValidatingOptions } from "./policy-options.ts";
import { PolicyRequest } from "./policy-request.ts";
import type { BoundPolicy, PolicyBinding } from "./policy-table.ts";

/** Checks a write by the policies. Throws `StatusError` for the first refusal. */
export const askValidating = (
  policies: readonly Policy[],
  attributes: AdmissionAttributes,
  options: ValidatingOptions,
): MaybePromise<void> => runCooperatively(new Dispatch(attributes, options).run(policies));

type Policy = BoundPolicy<ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, CompiledPolicy>;
type ValidatingBinding = PolicyBinding<ValidatingAdmissionPolicyBinding>;

/** A refusal. One without a binding says that the policy itself could not be used. */
interface Denial {
  readonly policy: string;
  readonly binding: string | undefined;
  readonly message: string;
  readonly reason: string;
}

/** Runs the policies for one request. */
class Dispatch {
  readonly #attributes: AdmissionAttributes;
  readonly #options: ValidatingOptions;
  readonly #request: PolicyRequest;
  readonly #yielder: Yielder;
  readonly #denials: Denial[] = [];
  #isFailureRecorded = false;

  constructor(attributes: AdmissionAttributes, options: ValidatingOptions) {
    this.#attributes = attributes;
    this.#options = options;
    this.#yielder = new Yielder(options.clock);
    this.#request = new PolicyRequest(attributes, options);
  }

  /** Runs all policies, then throws the first refusal. */
  *run(policies: readonly Policy[]): Steps<void> {
    for (const policy of policies) {
      if (this.#yielder.isDue) yield this.#yielder.pause();
      try {
        yield* this.#policy(policy);
      } catch (error) {
        this.#unusable(policy, undefined, "failed to configure policy", error);
      }
    }
    const [first] = this.#denials;
    if (first !== undefined) throw this.#refusal(first);
  }

  *#policy(policy: Policy): Steps<void> {
    const { environment, findParams } = this.#options;
    const matched = policy.matcher.match(this.#attributes, environment);
    if (matched === undefined) return;
    const { paramKind } = policy.object.spec;
    const params = paramKind === undefined ? undefined : paramObjects(paramKind, findParams);
    const annotations = new Map<string, Set<string>>();
    for (const binding of policy.bindings) {
      if (binding.matcher !== undefined && binding.matcher.match(this.#attributes, environment) === undefined) continue;
      let chosen: readonly (ApiObject | undefined)[];
      try {
        const collected = collectParams(params, binding.object.spec.paramRef, this.#request.namespaceName);
        chosen = yield* awaited(collected);
      } catch (error) {
        this.#unusable(policy, binding, "failed to configure binding", error);
        continue;
      }
      if (chosen.length === 0) continue;
      const values = yield* this.#request.valuesFor(matched);
      for (const [at, param] of chosen.entries()) {
        if (at > 0 && this.#yielder.isDue) yield this.#yielder.pause();
        const since = this.#options.clock.monotonic();
        const result = yield* evaluatePolicy(policy.compiled(compilePolicy), values, param, this.#yielder);
        this.#take(policy, binding, result, annotations, since);
      }
    }
    for (const [key, texts] of annotations) this.#annotate(`${policy.name}/${key}`, [...texts].join(", "));
  }

  #take(
    policy: Policy,
    binding: ValidatingBinding,
    result: PolicyResult,
    annotations: Map<string, Set<string>>,
    since: number,
  ): void {
    if (result.failures.length === 0 && result.annotations.length === 0 && result.annotationErrors.length === 0) return;
    const seconds = (this.#options.clock.monotonic() - since) / 1000;
    for (const failure of result.failures) this.#enforce(policy, binding, failure, seconds);
    for (const { key, value } of result.annotations) {
      const texts = annotations.get(key) ?? new Set();
      annotations.set(key, texts.add(value));
    }
    for (const message of result.annotationErrors) {
      const names = { policy: policy.name, binding: binding.name };
      this.#denials.push({ ...names, message, reason: "" });
      this.#options.observed({ ...names, action: "deny", errorType: "invalid_error", seconds });
    }
  }

  #enforce(
    policy: Policy,
    binding: ValidatingBinding,
    { index, message, reason, isOverBudget, isIgnored }: Failure,
    seconds: number,
  ): void {
    const names = { policy: policy.name, binding: binding.name };
    const errorType = isOverBudget === true ? "out_of_budget" : "invalid_error";
    const observe = (action: ObservedCheck["action"]): void =>
      this.#options.observed({ ...names, action, errorType, seconds });
    if (isIgnored === true) return observe("allow");
    const actions = new Set(binding.object.spec.validationActions ?? []);
    if (actions.has("Deny")) {
      this.#denials.push({ ...names, message, reason });
      observe("deny");
    }
    if (actions.has("Audit")) {
      this.#auditFailure(policy, binding, index, message);
      observe("audit");
    }
    if (actions.has("Warn")) {
      const about = `ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}'`;
      this.#attributes.context.warn(`Validation failed for ${about}: ${message}`, "admission");
      observe("warn");
    }
  }

  #auditFailure(policy: Policy, binding: ValidatingBinding, index: number, message: string): void {
    const { validationActions = [] } = binding.object.spec;
    const failure = { message, policy: policy.name, binding: binding.name, expressionIndex: index, validationActions };
    // Upstream: an annotation keeps its first value.
    if (this.#isFailureRecorded) return;
    this.#isFailureRecorded = true;
    const key = "validation.policy.admission.k8s.io/validation_failure";
    this.#annotate(key, escapeHtml(JSON.stringify([failure])));
  }

  #annotate(key: string, value: string): void {
    this.#attributes.context.annotate(this.#options.domain.rename(key), cut(value, auditAnnotationBytesMax));
  }

  /** A policy or binding that cannot be used refuses, unless its failures are ignored. */
  #unusable(policy: Policy, binding: ValidatingBinding | undefined, what: string, error: unknown): void {
    if (!(error instanceof ParamProblem) && !(error instanceof StatusError)) throw error;
    if (policy.object.spec.failurePolicy === "Ignore") return;
    const message = `${what}: ${error.message}`;
    this.#denials.push({ policy: policy.name, binding: binding?.name, message, reason: "" });
  }

  #refusal({ policy, binding, message, reason }: Denial): StatusError {
    const about = `ValidatingAdmissionPolicy '${policy}'${binding === undefined ? "" : ` with binding '${binding}'`}`;
    const text = `${about} denied request: ${message}`;
    const { status } = refusal(this.#attributes, text, [{ message: text }]);
    const shown = reason === "" ? "Invalid" : reason;
    return new StatusError({ ...status, reason: shown, code: codes[shown] ?? 422 }, { showsValues: false });
  }
}

const codes: Readonly<Record<string, number>> = { Forbidden: 403, RequestEntityTooLarge: 413 };
