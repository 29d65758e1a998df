/**
 * LimitPodHardAntiAffinityTopology: required anti-affinity may only keep pods from nodes, since it would keep the pods of
 * others from a whole zone. Source of rules and texts: the answers of kube-apiserver.
 */
import type { Pod } from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { type AdmissionPlugin, isPods, refusal } from "./plugin.ts";

export function limitPodAntiAffinity({ domain }: { readonly domain: ApiDomain }): AdmissionPlugin {
  const allowed = domain.rename("kubernetes.io/hostname");
  return {
    name: "LimitPodHardAntiAffinityTopology",
    operations: ["CREATE", "UPDATE"],
    validate(attributes) {
      if (!isPods(attributes.resource) || attributes.subresource !== "") return;
      const { affinity } = (attributes.object as Pod).spec; // of the resource
      const terms = affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
      const other = terms.find(({ topologyKey }) => topologyKey !== allowed);
      if (other === undefined) return;
      const path = "affinity.PodAntiAffinity.RequiredDuringScheduling";
      throw refusal(attributes, `${path} has TopologyKey ${other.topologyKey} but only key ${allowed} is allowed`);
    },
  };
}
