/**
 * What everybody may do, without any rule: what the roles `system:discovery`, `system:public-info-viewer` and
 * `system:basic-user` give in a fresh cluster. It stands in for them where no rules are stored.
 */
import type { ApiDomain } from "#meta/api-domain.ts";
import { groupAuthenticated, groupUnauthenticated } from "#meta/user-info.ts";
import { type Authorizer, noOpinion, type Verdict } from "./authorizer.ts";

const publicPaths = new Set(["/healthz", "/livez", "/readyz", "/version", "/version/"]);
const discoveryPaths = new Set(["/api", "/apis", "/openapi"]);
const discoveryPrefixes = ["/api/", "/apis/", "/openapi/"];

const allowed: Verdict = { decision: "allow", reason: "" };

export function discoveryAndHealth(domain: ApiDomain): Authorizer {
  const reviews = new Map([
    [domain.rename("authorization.k8s.io"), new Set(["selfsubjectaccessreviews", "selfsubjectrulesreviews"])],
    [domain.rename("authentication.k8s.io"), new Set(["selfsubjectreviews"])],
  ]);
  return {
    authorize(attributes) {
      const { user, path } = attributes;
      const authenticated = user.groups.includes(groupAuthenticated);
      if (attributes.isResourceRequest) {
        const own = attributes.verb === "create" && reviews.get(attributes.group)?.has(attributes.resource) === true;
        return authenticated && own && attributes.subresource === "" ? allowed : noOpinion;
      }
      if (attributes.verb !== "get") return noOpinion;
      if (publicPaths.has(path)) {
        return authenticated || user.groups.includes(groupUnauthenticated) ? allowed : noOpinion;
      }
      const discovery = discoveryPaths.has(path) || discoveryPrefixes.some((prefix) => path.startsWith(prefix));
      return authenticated && discovery ? allowed : noOpinion;
    },
  };
}
