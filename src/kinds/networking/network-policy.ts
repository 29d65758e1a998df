/** NetworkPolicy: the allowed traffic of pods. */
import type { NetworkPolicy, NetworkPolicyPort, NetworkPolicySpec } from "#api/networking/v1.ts";
import { formatLabelSelector } from "#meta/label-selector.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import { editField, editItems, fillAbsent, withField } from "../edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { validateNetworkPolicy } from "./network-policy-validation.ts";

export function networkPolicies(): KindBehaviour<NetworkPolicy> {
  return {
    columns: [
      nameColumn,
      text("Pod-Selector", "Labels of the pods that the policy is for.", ({ spec }) =>
        formatLabelSelector(spec.podSelector),
      ),
      ageColumn,
    ],
    strategy: {
      defaults: (object) => editField(object, "spec", defaultSpec),
      validate: validateNetworkPolicy,
      validateUpdate: validateNetworkPolicy,
    },
  };
}

function defaultSpec(spec: NetworkPolicySpec): NetworkPolicySpec {
  const withProtocol = (port: NetworkPolicyPort): NetworkPolicyPort => fillAbsent(port, { protocol: "TCP" });
  let next = editItems(spec, "ingress", (rule) => editItems(rule, "ports", withProtocol));
  next = editItems(next, "egress", (rule) => editItems(rule, "ports", withProtocol));
  const { policyTypes = [], egress = [] } = next;
  if (policyTypes.length > 0) return next;
  return withField(next, "policyTypes", egress.length > 0 ? ["Ingress", "Egress"] : ["Ingress"]);
}
