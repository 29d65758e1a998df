/** Keeps the policy tables of admission in step with the store. */
import { type MutatingPolicies, mutatingPolicies } from "#admission/mutating-policy.ts";
import { type ValidatingPolicies, validatingPolicies } from "#admission/validating-policy.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { ObjectHandlers } from "#registry/informer.ts";
import type { HandlersByResource } from "../index-handlers.ts";

/** The policies in force, of both kinds. */
export interface Policies {
  readonly validating: ValidatingPolicies;
  readonly mutating: MutatingPolicies;
}

export const noPolicies = (hasSelectors: boolean): Policies => ({
  validating: validatingPolicies(hasSelectors),
  mutating: mutatingPolicies(hasSelectors),
});

export const policyHandlers = ({ validating, mutating }: Policies): HandlersByResource => ({
  "validatingadmissionpolicies.admissionregistration.k8s.io": policiesOf(validating),
  "validatingadmissionpolicybindings.admissionregistration.k8s.io": bindingsOf(validating),
  "mutatingadmissionpolicies.admissionregistration.k8s.io": policiesOf(mutating),
  "mutatingadmissionpolicybindings.admissionregistration.k8s.io": bindingsOf(mutating),
});

/** A policy table as the handlers use it. */
interface Table<Object extends ApiObject, Binding extends ApiObject> {
  setPolicy(name: string, policy: Object | undefined): void;
  setBinding(name: string, binding: Binding | undefined): void;
  clear(what: "policies" | "bindings"): void;
}

const policiesOf = <T extends ApiObject>(table: Table<T, never>): ObjectHandlers<T> => ({
  cleared: () => table.clear("policies"),
  changed: (_namespace, name, policy) => table.setPolicy(name, policy),
});

const bindingsOf = <T extends ApiObject>(table: Table<never, T>): ObjectHandlers<T> => ({
  cleared: () => table.clear("bindings"),
  changed: (_namespace, name, binding) => table.setBinding(name, binding),
});
