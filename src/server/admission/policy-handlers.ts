/** Keeps the policy tables of admission in step with the store. */
import { type MutatingPolicies, mutatingPolicies } from "#admission/mutating-policy.ts";
import { type ValidatingPolicies, validatingPolicies } from "#admission/validating-policy.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { ObjectHandlers } from "#registry/informer.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";

/** The policies in force, of both kinds. */
export interface Policies {
  readonly validating: ValidatingPolicies;
  readonly mutating: MutatingPolicies;
}

export const noPolicies = (hasSelectors: boolean): Policies => ({
  validating: validatingPolicies(hasSelectors),
  mutating: mutatingPolicies(hasSelectors),
});

/** Returns the handlers of a resource's objects; `undefined` for resources that are neither policies nor bindings. */
export function policyHandlers(
  { validating, mutating }: Policies,
  { rename }: ApiDomain,
  { group, resource }: ResourceDefinition,
): ObjectHandlers<ApiObject> | undefined {
  if (group !== rename("admissionregistration.k8s.io")) return undefined;
  switch (resource) {
    case "validatingadmissionpolicies":
      return policiesOf(validating);
    case "validatingadmissionpolicybindings":
      return bindingsOf(validating);
    case "mutatingadmissionpolicies":
      return policiesOf(mutating);
    case "mutatingadmissionpolicybindings":
      return bindingsOf(mutating);
    default:
      return undefined;
  }
}

/** A policy table as the handlers use it. The schemas of the resources ensure the types of the objects. */
interface Table<Object extends ApiObject, Binding extends ApiObject> {
  setPolicy(name: string, policy: Object | undefined): void;
  setBinding(name: string, binding: Binding | undefined): void;
  clear(what: "policies" | "bindings"): void;
}

const policiesOf = <T extends ApiObject>(table: Table<T, never>): ObjectHandlers<ApiObject> => ({
  cleared: () => table.clear("policies"),
  changed: (_namespace, name, policy) => table.setPolicy(name, policy as T | undefined), // of the resource's schema
});

const bindingsOf = <T extends ApiObject>(table: Table<never, T>): ObjectHandlers<ApiObject> => ({
  cleared: () => table.clear("bindings"),
  changed: (_namespace, name, binding) => table.setBinding(name, binding as T | undefined), // of the resource's schema
});
