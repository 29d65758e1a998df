/**
 * ValidatingAdmissionPolicy: expressions that decide about writes. Without policies it costs a look at two numbers.
 * Source: upstream's `admission/plugin/policy/validating`, and its answers.
 */
import type { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from "#api/admissionregistration/v1.ts";
import type { Namespace } from "#api/core/v1.ts";
import type { Authorizer } from "#authz/authorizer.ts";
import { AuthorizationChecks } from "#cel/authorizer.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { notFound, StatusError } from "#meta/status-error.ts";
import type { Clock } from "#std/clock.ts";
import { drive, type MaybePromise } from "#std/maybe-promise.ts";
import { Pace } from "#std/turn.ts";
import { RequestValues } from "./admission-expressions.ts";
import { admissionRequest } from "./admission-request.ts";
import { isExempt, type Matched, type MatchEnvironment } from "./matching.ts";
import type { ObjectForms } from "./object-form.ts";
import { type AdmissionAttributes, type AdmissionPlugin, refusal } from "./plugin.ts";
import { type CompiledPolicy, compilePolicy } from "./policies/compiled-policy.ts";
import { annotationBytesMax, cut, evaluatePolicy, type PolicyResult, type Steps } from "./policies/evaluate-policy.ts";
import { collectParams, type FindParams, paramObjects, ParamProblem } from "./policies/params.ts";
import { type Binding, type BoundPolicy, PolicyTable } from "./policies/policy-table.ts";

export type { FindParams, ParamObjects } from "./policies/params.ts";

export type ValidatingPolicies = PolicyTable<
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  CompiledPolicy
>;

/** A table without policies. `hasSelectors`: whether checks of the authorizer may have selectors. */
export const validatingPolicies = (hasSelectors: boolean): ValidatingPolicies =>
  new PolicyTable(({ spec }) => compilePolicy(spec, hasSelectors));

export interface PolicyOptions {
  readonly domain: ApiDomain;
  readonly clock: Clock;
  readonly authorizer: Authorizer;
  readonly forms: Pick<ObjectForms, "convertTo">;
  readonly environment: MatchEnvironment;
  readonly findParams: FindParams;
}

export function validatingAdmissionPolicy(policies: ValidatingPolicies, options: PolicyOptions): AdmissionPlugin {
  const { domain } = options;
  const exempt = exemptResources(domain);
  return {
    name: "ValidatingAdmissionPolicy",
    operations: ["CREATE", "UPDATE", "DELETE", "CONNECT"],
    validate(attributes) {
      if (policies.isEmpty) return undefined;
      const { group, resource } = attributes.resource;
      if (isExempt(attributes, domain) || (attributes.subresource === "" && exempt.has(`${group}/${resource}`))) {
        return undefined;
      }
      const candidates = policies.candidates(attributes, options.environment);
      if (candidates.length === 0) return undefined;
      return drive(new Dispatch(attributes, options).run(candidates));
    },
  };
}

/** Questions about others, which no policy sees. */
function exemptResources({ rename }: ApiDomain): ReadonlySet<string> {
  const authorization = rename("authorization.k8s.io");
  const authentication = rename("authentication.k8s.io");
  return new Set([
    "/bindings",
    `${authentication}/selfsubjectreviews`,
    `${authentication}/tokenreviews`,
    `${authorization}/localsubjectaccessreviews`,
    `${authorization}/selfsubjectaccessreviews`,
    `${authorization}/selfsubjectrulesreviews`,
    `${authorization}/subjectaccessreviews`,
  ]);
}

type Policy = BoundPolicy<ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, CompiledPolicy>;
type PolicyBinding = Binding<ValidatingAdmissionPolicyBinding>;

/** A refusal; without a binding, the policy itself could not be used. */
interface Denial {
  readonly policy: string;
  readonly binding: string | undefined;
  readonly message: string;
  readonly reason: string;
}

/** The policies of one request. */
class Dispatch {
  readonly #attributes: AdmissionAttributes;
  readonly #options: PolicyOptions;
  readonly #checks: AuthorizationChecks;
  readonly #pace: Pace;
  readonly #denials: Denial[] = [];
  /** Of the request, by the form that a policy sees. */
  readonly #values = new Map<string, RequestValues>();
  #namespace: Namespace | undefined;

  constructor(attributes: AdmissionAttributes, options: PolicyOptions) {
    this.#attributes = attributes;
    this.#options = options;
    this.#pace = new Pace(options.clock);
    this.#checks = new AuthorizationChecks((check) => options.authorizer.authorize(check));
  }

  /** Throws for the first refusal once all policies had their word. */
  *run(policies: readonly Policy[]): Steps<void> {
    for (const policy of policies) {
      if (this.#pace.isDue) yield this.#pace.pause();
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
        const found = collectParams(params, binding.object.spec.paramRef, this.#namespaceName());
        chosen = found instanceof Promise ? ((yield found) as typeof chosen) : found; // of that promise
      } catch (error) {
        this.#unusable(policy, binding, "failed to configure binding", error);
        continue;
      }
      if (chosen.length === 0) continue;
      const values = yield* this.#valuesFor(matched);
      for (const [at, param] of chosen.entries()) {
        if (at > 0 && this.#pace.isDue) yield this.#pace.pause();
        this.#take(policy, binding, yield* evaluatePolicy(policy.compiled(), values, param), annotations);
      }
    }
    for (const [key, texts] of annotations) this.#annotate(`${policy.name}/${key}`, [...texts].join(", "));
  }

  /** Upstream: a request about a namespace is one in it. */
  #namespaceName(): string {
    const { namespace, resource, name } = this.#attributes;
    return namespace === "" && resource.group === "" && resource.resource === "namespaces" ? name : namespace;
  }

  *#valuesFor(matched: Matched): Steps<RequestValues> {
    const { resource, kind } = matched;
    const key = `${resource.group}/${resource.version} ${kind.group}/${kind.version}/${kind.kind}`;
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    const { object, oldObject } = this.#attributes;
    const made = new RequestValues({
      attributes: this.#attributes,
      object: yield* this.#inForm(object, matched),
      oldObject: yield* this.#inForm(oldObject, matched),
      // Upstream: the objects are there, but empty.
      request: () => ({ uid: "", ...admissionRequest(this.#attributes, matched), object: null, oldObject: null }),
      checks: this.#checks,
      namespace: () => this.#namespaceObject(),
    });
    this.#values.set(key, made);
    return made;
  }

  *#inForm(object: ApiObject | undefined, { kind }: Matched): Steps<ApiObject | undefined> {
    if (object === undefined || matchesRequest(kind, this.#attributes)) return object;
    const converted: MaybePromise<ApiObject> = this.#options.forms.convertTo(object, kind);
    return converted instanceof Promise ? ((yield converted) as ApiObject) : converted; // of that promise
  }

  #namespaceObject(): Namespace | undefined {
    const { namespace } = this.#attributes;
    if (namespace === "" || this.#attributes.kind.kind === "Namespace") return undefined;
    this.#namespace ??= this.#options.environment.getNamespace(namespace);
    if (this.#namespace === undefined) throw notFound({ group: "", resource: "namespaces" }, namespace);
    return this.#namespace;
  }

  #take(policy: Policy, binding: PolicyBinding, result: PolicyResult, annotations: Map<string, Set<string>>): void {
    const actions = new Set(binding.object.spec.validationActions ?? []);
    for (const { index, message, reason } of result.failures) {
      if (actions.has("Deny")) this.#denials.push({ policy: policy.name, binding: binding.name, message, reason });
      if (actions.has("Audit")) this.#auditFailure(policy, binding, index, message);
      if (actions.has("Warn")) {
        const about = `ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}'`;
        this.#attributes.context.warn(`Validation failed for ${about}: ${message}`);
      }
    }
    for (const { key, value } of result.annotations) {
      const texts = annotations.get(key) ?? new Set();
      annotations.set(key, texts.add(value));
    }
    for (const message of result.annotationErrors) {
      this.#denials.push({ policy: policy.name, binding: binding.name, message, reason: "" });
    }
  }

  #auditFailure(policy: Policy, binding: PolicyBinding, index: number, message: string): void {
    const { validationActions = [] } = binding.object.spec;
    const failure = { message, policy: policy.name, binding: binding.name, expressionIndex: index, validationActions };
    this.#annotate("validation.policy.admission.k8s.io/validation_failure", JSON.stringify([failure]));
  }

  #annotate(key: string, value: string): void {
    this.#attributes.context.annotate(this.#options.domain.rename(key), cut(value, annotationBytesMax));
  }

  /** A policy or binding that cannot be used refuses, unless its failures are ignored. */
  #unusable(policy: Policy, binding: PolicyBinding | undefined, what: string, error: unknown): void {
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
    return new StatusError({ ...status, reason: shown, code: codes[shown] ?? 422 });
  }
}

const codes: Readonly<Record<string, number>> = { Forbidden: 403, Unauthorized: 401, RequestEntityTooLarge: 413 };

const matchesRequest = (kind: Matched["kind"], { kind: own }: AdmissionAttributes): boolean =>
  kind === own || (kind.group === own.group && kind.version === own.version && kind.kind === own.kind);
