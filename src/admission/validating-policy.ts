/**
 * ValidatingAdmissionPolicy: expressions that decide about writes. A server without policies compares two numbers per
 * write; the code that evaluates policies is loaded for the first write to which one may apply. Source: upstream's
 * `admission/plugin/policy/validating`, and the answers of kube-apiserver.
 */
import type { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from "#api/admissionregistration/v1.ts";
import { lazy } from "#std/lazy.ts";
import { andThen } from "#std/maybe-promise.ts";
import type { AdmissionPlugin } from "./plugin.ts";
import type { CompiledPolicy } from "./policies/compiled-policy.ts";
import { exemption } from "./policies/exemption.ts";
import type { ValidatingOptions } from "./policies/policy-options.ts";
import { PolicyTable } from "./policies/policy-table.ts";

export type { FindParams, ParamObjects } from "./policies/params.ts";
export type { ObservedCheck, PolicyOptions, ValidatingOptions } from "./policies/policy-options.ts";

export type ValidatingPolicies = PolicyTable<
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  CompiledPolicy
>;

/** A table without policies. `hasSelectors`: whether checks of the authorizer may have selectors. */
export const validatingPolicies = (hasSelectors: boolean): ValidatingPolicies => new PolicyTable(hasSelectors);

export function validatingAdmissionPolicy(policies: ValidatingPolicies, options: ValidatingOptions): AdmissionPlugin {
  const isExempt = exemption(options.domain);
  const load = lazy(() => import("./policies/ask-validating.ts"));
  return {
    name: "ValidatingAdmissionPolicy",
    operations: ["CREATE", "UPDATE", "DELETE", "CONNECT"],
    validate(attributes) {
      if (policies.isEmpty || isExempt(attributes)) return undefined;
      const candidates = policies.candidates(attributes, options.environment);
      if (candidates.length === 0) return undefined;
      return andThen(load(), ({ askValidating }) => askValidating(candidates, attributes, options));
    },
  };
}
