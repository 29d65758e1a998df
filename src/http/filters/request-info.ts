/** Parses path and method for later filters, and answers requests that the listener found invalid. */
import { reviews } from "#api/reviews.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { RequestInfo } from "../api-request.ts";
import { parseRequestInfo } from "../request-info.ts";
import type { Filter } from "./filter.ts";

/** A group with reviews: Kubernetes' name, and that in the domain. */
interface ReviewGroup {
  readonly group: string;
  readonly ownGroup: string;
}

export function requestInfo(domain: ApiDomain): Filter {
  const renamed = reviews
    .map(({ group, resource }) => [resource, { group, ownGroup: domain.rename(group) }] as const)
    .filter(([, { group, ownGroup }]) => group !== ownGroup);
  const groups: ReadonlyMap<string, ReviewGroup> = new Map(renamed);
  return (request, next) => {
    if (request.refusal !== undefined) throw request.refusal;
    request.info = withOwnGroup(parseRequestInfo(request), groups);
    return next(request);
  };
}

/**
 * Returns the info of a review under Kubernetes' name of its group as that of the same review in this domain, so that
 * rights and audit rules are the same for both names. Clients have these names in their code.
 */
function withOwnGroup(info: RequestInfo, groups: ReadonlyMap<string, ReviewGroup>): RequestInfo {
  if (info.verb !== "create") return info;
  const names = groups.get(info.resource);
  return names?.group === info.group ? { ...info, group: names.ownGroup } : info;
}
