/** Keeps the tables of admission policies in step with the stored ones. */
import type { ValidatingPolicies } from "#admission/validating-policy.ts";
import type { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from "#api/admissionregistration/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { ObjectHandlers } from "#registry/informer.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";

/** `undefined` for other resources. */
export function policyHandlers(
  policies: ValidatingPolicies,
  { rename }: ApiDomain,
  { group, resource }: ResourceDefinition,
): ObjectHandlers<ApiObject> | undefined {
  if (group !== rename("admissionregistration.k8s.io")) return undefined;
  switch (resource) {
    case "validatingadmissionpolicies":
      return {
        cleared: () => policies.clear("policies"),
        changed: (_namespace, name, policy: ValidatingAdmissionPolicy | undefined) => policies.setPolicy(name, policy),
      };
    case "validatingadmissionpolicybindings":
      return {
        cleared: () => policies.clear("bindings"),
        changed: (_namespace, name, binding: ValidatingAdmissionPolicyBinding | undefined) =>
          policies.setBinding(name, binding),
      };
    default:
      return undefined;
  }
}
