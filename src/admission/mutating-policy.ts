/**
 * MutatingAdmissionPolicy (alpha): expressions change the object by an apply configuration or a JSON Patch. Policies
 * run in the order of their names, each on the result of the one before. Source: upstream's
 * `admission/plugin/policy/mutating`, and the answers of kube-apiserver.
 */
import type { MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding } from "#api/admissionregistration/v1alpha1.ts";
import { lazy } from "#std/lazy.ts";
import { andThen } from "#std/maybe-promise.ts";
import type { AdmissionPlugin } from "./plugin.ts";
import { exemption } from "./policies/exemption.ts";
import type { CompiledMutatingPolicy } from "./policies/mutations.ts";
import type { MutatingOptions } from "./policies/policy-options.ts";
import { PolicyTable } from "./policies/policy-table.ts";

export type { MutatingOptions } from "./policies/policy-options.ts";

export type MutatingPolicies = PolicyTable<
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  CompiledMutatingPolicy
>;

/** A table without policies. `hasSelectors`: whether checks of the authorizer may have selectors. */
export const mutatingPolicies = (hasSelectors: boolean): MutatingPolicies => new PolicyTable(hasSelectors);

export function mutatingAdmissionPolicy(policies: MutatingPolicies, options: MutatingOptions): AdmissionPlugin {
  const isExempt = exemption(options.domain);
  const load = lazy(() => import("./policies/ask-mutating.ts"));
  return {
    name: "MutatingAdmissionPolicy",
    operations: ["CREATE", "UPDATE", "CONNECT"],
    admit(attributes, round) {
      if (policies.isEmpty || attributes.object === undefined || isExempt(attributes)) return undefined;
      const candidates = policies
        .candidates(attributes, options.environment)
        .filter(({ object }) => !round.isSecond || object.spec.reinvocationPolicy === "IfNeeded");
      if (candidates.length === 0) return undefined;
      return andThen(load(), ({ askMutating }) => askMutating(candidates, attributes, options, () => round.repeat()));
    },
  };
}
