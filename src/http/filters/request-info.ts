/** Parses path and method for later filters, and answers requests that the listener found invalid. */
import type { ApiDomain } from "#meta/api-domain.ts";
import type { RequestInfo } from "../api-request.ts";
import { parseRequestInfo } from "../request-info.ts";
import type { Filter } from "./filter.ts";

/** The groups, by Kubernetes' names, all of whose resources are reviews: they are answered and never stored. */
const reviewGroups = ["authentication.k8s.io", "authorization.k8s.io"];

export function requestInfo(domain: ApiDomain): Filter {
  const ownNames = new Map(reviewGroups.map((group) => [group, domain.rename(group)]));
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
function withOwnGroup(info: RequestInfo, ownNames: ReadonlyMap<string, string>): RequestInfo {
  if (info.verb !== "create" || !ownNames.has(info.group)) return info;
  return { ...info, group: ownNames.get(info.group)! };
}
