/** Kinds that are stored and nothing follows from yet: their writers are warned, in a sentence that kubectl prints. */
import type { Unstructured } from "#meta/object-meta.ts";
import type { Strategy, WriteAttributes } from "#registry/resource-definition.ts";
import { inside } from "./cells.ts";
import { textField } from "./edit.ts";

const webhooks = "this server stores admission webhooks, but does not call them yet";
const policies = "this server stores admission policies, but does not enforce them yet";

/** Sentences by `group/Kind`, Kubernetes' names; with a condition where not every object of the kind is meant. */
const unenforced: Readonly<Record<string, readonly [sentence: string, when?: (object: Unstructured) => boolean]>> = {
  "/LimitRange": ["this server stores limit ranges, but does not enforce them yet"],
  "/ResourceQuota": ["this server stores resource quotas, but does not enforce them yet"],
  "admissionregistration.k8s.io/MutatingAdmissionPolicy": [policies],
  "admissionregistration.k8s.io/MutatingAdmissionPolicyBinding": [policies],
  "admissionregistration.k8s.io/MutatingWebhookConfiguration": [webhooks],
  "admissionregistration.k8s.io/ValidatingAdmissionPolicy": [policies],
  "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding": [policies],
  "admissionregistration.k8s.io/ValidatingWebhookConfiguration": [webhooks],
  "apiextensions.k8s.io/CustomResourceDefinition": [
    "this server stores conversion webhooks, but does not call them yet: versions differ in apiVersion only",
    (object) => textField(inside(object, "spec", "conversion") ?? {}, "strategy") === "Webhook",
  ],
  "apiregistration.k8s.io/APIService": [
    "this server stores APIServices with a service, but does not forward requests to them yet",
    (object) => inside(object, "spec", "service") !== undefined,
  ],
};

/** The hooks of a kind, which warn when nothing follows from what is stored: not of dry runs and writes of the status. */
export function withUnenforcedWarning(group: string, kind: string, strategy: Strategy): Strategy {
  const [sentence, when = () => true] = unenforced[`${group}/${kind}`] ?? [];
  if (sentence === undefined) return strategy;
  const warnings = (object: Unstructured, { subresource, dryRun }: WriteAttributes): string[] =>
    subresource === "" && !dryRun && when(object) ? [sentence] : [];
  return {
    ...strategy,
    warningsOnCreate: (object, attributes) => [
      ...(strategy.warningsOnCreate?.(object, attributes) ?? []),
      ...warnings(object, attributes),
    ],
    warningsOnUpdate: (object, old, attributes) => [
      ...(strategy.warningsOnUpdate?.(object, old, attributes) ?? []),
      ...warnings(object, attributes),
    ],
  };
}
