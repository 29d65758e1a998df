/** Exempts requests from admission policies. */
import type { ApiDomain } from "#meta/api-domain.ts";
import { isExempt } from "../matching.ts";
import type { AdmissionAttributes } from "../plugin.ts";

/** Returns whether no policy ever sees a request: requests about policies, and questions about users. */
export function exemption(domain: ApiDomain): (attributes: AdmissionAttributes) => boolean {
  const authorization = domain.rename("authorization.k8s.io");
  const authentication = domain.rename("authentication.k8s.io");
  const exempt = new Set([
    "/bindings",
    `${authentication}/selfsubjectreviews`,
    `${authentication}/tokenreviews`,
    `${authorization}/localsubjectaccessreviews`,
    `${authorization}/selfsubjectaccessreviews`,
    `${authorization}/selfsubjectrulesreviews`,
    `${authorization}/subjectaccessreviews`,
  ]);
  return (attributes) => {
    const { group, resource } = attributes.resource;
    return isExempt(attributes, domain) || (attributes.subresource === "" && exempt.has(`${group}/${resource}`));
  };
}
