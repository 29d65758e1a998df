/**
 * TaintNodesByCondition: taints new nodes as not ready, until the node controller has seen them. Source of rules: the
 * answers of kube-apiserver.
 */
import type { Node } from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { AdmissionPlugin } from "./plugin.ts";

export function taintNodesByCondition({ domain }: { readonly domain: ApiDomain }): AdmissionPlugin {
  const taint = { key: domain.rename("node.kubernetes.io/not-ready"), effect: "NoSchedule" };
  return {
    name: "TaintNodesByCondition",
    operations: ["CREATE"],
    admit(attributes) {
      const { resource, subresource } = attributes;
      if (resource.resource !== "nodes" || resource.group !== "" || subresource !== "") return undefined;
      const node = attributes.object as Node; // of the resource
      const taints = node.spec.taints ?? [];
      if (taints.some(({ key, effect }) => key === taint.key && effect === taint.effect)) return undefined;
      return { ...node, spec: { ...node.spec, taints: [...taints, taint] } };
    },
  };
}
