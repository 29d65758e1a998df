/** Authorizes the request, and refuses names that handlers must never see. */
import type { Attributes, Authorizer } from "#authz/authorizer.ts";
import { forbiddenError } from "#authz/forbidden.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { parseFieldRequirements, parseLabelSelector } from "#meta/selector.ts";
import { andThen } from "#std/maybe-promise.ts";
import type { HandledRequest } from "../api-request.ts";
import { checkNames } from "../request-info.ts";
import type { ErrorReply } from "./catch-errors.ts";
import { type Filter, withHeaders } from "./filter.ts";

interface AuthorizeOptions {
  readonly authorizer: Authorizer;
  readonly errorReply: ErrorReply;
  /** The names under which the audit event shows the decision. Left out: there is no audit. */
  readonly annotations?: DecisionAnnotations;
}

interface DecisionAnnotations {
  readonly decision: string;
  readonly reason: string;
}

/** Upstream's names of the annotations, in the API domain. */
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
        // The audit log may say more than the answer does. An authorizer that denies gives its own reason.
        const isToldWhy = isAllowed || (verdict.decision === "deny" && verdict.reason !== "");
        const reason = isToldWhy ? verdict.reason : (authorizer.explain?.(attributes) ?? verdict.reason);
        request.annotate(annotations.decision, isAllowed ? "allow" : "forbid");
        request.annotate(annotations.reason, reason);
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

export function attributesOf(request: HandledRequest): Attributes {
  const { user, info } = request;
  const attributes: Attributes = {
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
  return limitable.includes(info.verb) && request.url.includes("?") ? withSelectors(attributes, request) : attributes;
}

/** Verbs of requests for many objects, which selectors limit. */
const limitable: readonly string[] = ["list", "watch", "deletecollection"];

/** Upstream: watches by path read selectors only in some forms, so for them selectors give no rights. */
const watchPath = /^\/+(?:api|apis\/[^/]+)\/[^/]+\/watch\//;

function withSelectors(attributes: Attributes, { query, path }: HandledRequest): Attributes {
  const fields = query.get("fieldSelector") ?? "";
  const labels = query.get("labelSelector") ?? "";
  if ((fields === "" && labels === "") || watchPath.test(path)) return attributes;
  const fieldSelector = readable(() => parseFieldRequirements(fields));
  const labelSelector = readable(() => parseLabelSelector(labels).requirements);
  return {
    ...attributes,
    ...(fieldSelector.length === 0 ? {} : { fieldSelector }),
    ...(labelSelector.length === 0 ? {} : { labelSelector }),
  };
}

/** Returns the parsed selector, or nothing for one that cannot be parsed: the handler refuses it later. */
function readable<T>(read: () => readonly T[]): readonly T[] {
  try {
    return read();
  } catch {
    return [];
  }
}
