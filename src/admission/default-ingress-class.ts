/** DefaultIngressClass: gives ingresses without a class the default one. Source of rules: the answers of kube-apiserver. */
import type { Ingress } from "#api/networking/v1.ts";
import { defaultClass, defaultClassCheck } from "#meta/default-class.ts";
import type { AdmissionPlugin } from "./plugin.ts";
import type { DefaultClassOptions } from "./storage.ts";

export function defaultIngressClass({ domain, listClasses }: DefaultClassOptions): AdmissionPlugin {
  const group = domain.rename("networking.k8s.io");
  const annotation = domain.rename("kubernetes.io/ingress.class");
  const isDefault = defaultClassCheck("IngressClass", domain);
  return {
    name: "DefaultIngressClass",
    operations: ["CREATE"],
    admit(attributes) {
      const { resource, subresource } = attributes;
      if (resource.resource !== "ingresses" || resource.group !== group || subresource !== "") return undefined;
      const ingress = attributes.object as Ingress; // of the resource
      if (ingress.spec.ingressClassName !== undefined) return undefined;
      // The older way to name a class.
      if (ingress.metadata.annotations?.[annotation] !== undefined) return undefined;
      const ingressClassName = defaultClass(listClasses(), isDefault)?.metadata.name;
      return ingressClassName === undefined ? undefined : { ...ingress, spec: { ...ingress.spec, ingressClassName } };
    },
  };
}
