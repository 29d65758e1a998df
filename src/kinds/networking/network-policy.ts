/** NetworkPolicy: which traffic pods take part in. */
import { ageColumn, inside, nameColumn, selectorText, text } from "../cells.ts";
import { editField, editItems, fillAbsent, type Json, listField, withField } from "../edit.ts";
import type { KindBehaviour } from "../generic.ts";

export function networkPolicies(): KindBehaviour {
  return {
    columns: [
      nameColumn,
      text("Pod-Selector", "Labels of the pods that the policy is for.", (object) =>
        selectorText(inside(object, "spec", "podSelector")),
      ),
      ageColumn,
    ],
    strategy: { defaults: (object) => editField(object, "spec", defaultSpec) },
  };
}

function defaultSpec(spec: Json): Json {
  const ports = (rule: Json): Json => editItems(rule, "ports", (port) => fillAbsent(port, { protocol: "TCP" }));
  const next = editItems(editItems(spec, "ingress", ports), "egress", ports);
  const types = next["policyTypes"];
  if (Array.isArray(types) && types.length > 0) return next;
  const hasEgress = listField(next, "egress").length > 0;
  return withField(next, "policyTypes", hasEgress ? ["Ingress", "Egress"] : ["Ingress"]);
}
