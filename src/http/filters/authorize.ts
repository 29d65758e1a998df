/** Asks whether the user may do it, and refuses names that no handler may see. */
import type { Attributes, Authorizer } from "#authz/authorizer.ts";
import { forbiddenError } from "#authz/forbidden.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { andThen } from "#std/soon.ts";
import type { ApiRequest } from "../api-request.ts";
import { checkNames } from "../request-info.ts";
import type { ErrorReply } from "./catch-errors.ts";
import { type Filter, withHeaders } from "./filter.ts";

export interface AuthorizeOptions {
  readonly authorizer: Authorizer;
  readonly errorReply: ErrorReply;
  /** Under which names the audit event hears of the decision. Left out: there is no audit. */
  readonly annotations?: DecisionAnnotations;
}

export interface DecisionAnnotations {
  readonly decision: string;
  readonly reason: string;
}

/** Upstream's names in the domain. */
export const decisionAnnotations = ({ rename }: ApiDomain): DecisionAnnotations => ({
  decision: rename("authorization.k8s.io/decision"),
  reason: rename("authorization.k8s.io/reason"),
});

export function authorize({ authorizer, errorReply, annotations }: AuthorizeOptions): Filter {
  return (request, next) => {
    const attributes = attributesOf(request);
    return andThen(authorizer.authorize(attributes), (verdict) => {
      const isAllowed = verdict.decision === "allow";
      if (annotations !== undefined) {
        // Who reads the audit log may know more than the client is told.
        const reason = isAllowed ? verdict.reason : (authorizer.explain?.(attributes) ?? verdict.reason);
        request.annotations ??= new Map();
        request.annotations.set(annotations.decision, isAllowed ? "allow" : "forbid");
        request.annotations.set(annotations.reason, reason);
      }
      if (!isAllowed) {
        const reply = errorReply(request, forbiddenError(attributes, verdict.reason));
        return withHeaders(reply, { "x-content-type-options": "nosniff" });
      }
      checkNames(request.info);
      return next(request);
    });
  };
}

export function attributesOf({ user, info }: ApiRequest): Attributes {
  return {
    user,
    verb: info.verb,
    isResourceRequest: info.isResourceRequest,
    path: info.path,
    group: info.group,
    version: info.version,
    resource: info.resource,
    subresource: info.subresource,
    namespace: info.namespace,
    name: info.name,
  };
}
