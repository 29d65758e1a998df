/** Parses path and method for later filters, and answers requests that the listener found invalid. */
import type { ApiDomain } from "#meta/api-domain.ts";
import type { RequestInfo } from "../api-request.ts";
import { parseRequestInfo } from "../request-info.ts";
import type { Filter } from "./filter.ts";

/** The groups, by Kubernetes' names, with their reviews, which are answered and never stored. */
const reviewsByGroup = {
  "authentication.k8s.io": ["selfsubjectreviews", "tokenreviews"],
  "authorization.k8s.io": [
    "localsubjectaccessreviews",
    "selfsubjectaccessreviews",
    "selfsubjectrulesreviews",
    "subjectaccessreviews",
  ],
};

type OwnNames = ReadonlyMap<string, { readonly group: string; readonly reviews: readonly string[] }>;

export function requestInfo(domain: ApiDomain): Filter {
  const ownNames: OwnNames = new Map(
    Object.entries(reviewsByGroup).map(([group, reviews]) => [group, { group: domain.rename(group), reviews }]),
  );
  return (request, next) => {
    if (request.refusal !== undefined) throw request.refusal;
    request.info = withOwnGroup(parseRequestInfo(request), ownNames);
    return next(request);
  };
}

/**
 * Returns the info of a review under Kubernetes' name of its group as that of the same review in this domain, so that
 * rights and audit rules are the same for both names. Clients have these names in their code.
 */
function withOwnGroup(info: RequestInfo, ownNames: OwnNames): RequestInfo {
  if (info.verb !== "create") return info;
  const own = ownNames.get(info.group);
  return own?.reviews.includes(info.resource) === true ? { ...info, group: own.group } : info;
}
