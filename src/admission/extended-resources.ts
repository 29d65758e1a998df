/** Extended resources: those of devices, whose names have a prefix that is not Kubernetes' own. */
import type { ApiDomain } from "#meta/api-domain.ts";
import { qualifiedName } from "#meta/names.ts";

interface ResourceNames {
  isNative(name: string): boolean;
  isExtended(name: string): boolean;
}

export function resourceNames(domain: ApiDomain): ResourceNames {
  const ours = domain.rename("kubernetes.io/");
  const isNative = (name: string): boolean => !name.includes("/") || name.includes(ours);
  const isExtended = (name: string): boolean =>
    !isNative(name) && !name.startsWith("requests.") && qualifiedName(`requests.${name}`).length === 0;
  return { isNative, isExtended };
}
