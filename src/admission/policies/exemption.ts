/** Exempts requests from admission policies. */
import { reviews } from "#api/reviews.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { isExempt } from "../matching.ts";
import type { AdmissionAttributes } from "../plugin.ts";

/** Returns whether no policy ever sees a request: requests about policies, and questions about users. */
export function exemption(domain: ApiDomain): (attributes: AdmissionAttributes) => boolean {
  const names = reviews.map(({ group, resource }) => `${domain.rename(group)}/${resource}`);
  const exempt = new Set(["/bindings", ...names]);
  return (attributes) => {
    const { group, resource } = attributes.resource;
    return isExempt(attributes, domain) || (attributes.subresource === "" && exempt.has(`${group}/${resource}`));
  };
}
