/** Asks whether the user may do it, and refuses names that no handler may see. */
import type { Attributes, Authorizer } from "#authz/authorizer.ts";
import { forbiddenError } from "#authz/forbidden.ts";
import { andThen } from "#std/soon.ts";
import type { ApiRequest } from "../api-request.ts";
import { checkNames } from "../request-info.ts";
import type { ErrorReply } from "./catch-errors.ts";
import { type Filter, withHeaders } from "./filter.ts";

export interface AuthorizeOptions {
  readonly authorizer: Authorizer;
  readonly errorReply: ErrorReply;
}

export function authorize({ authorizer, errorReply }: AuthorizeOptions): Filter {
  return (request, next) => {
    const attributes = attributesOf(request);
    return andThen(authorizer.authorize(attributes), (verdict) => {
      if (verdict.decision !== "allow") {
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
