/**
 * `GET /debug/access`: explains an authorization decision. The path needs its own permission (`nonResourceURLs:
 * ["/debug/access"]`, verb `get`), which only `cluster-admin` has by default.
 *
 *     /debug/access?user=bob&group=developers&verb=list&resource=pods&namespace=shop
 *     /debug/access?user=bob&verb=get&path=/metrics
 *
 * Without `user` it explains the caller's rights. A named user also gets the groups that the name implies.
 */
import type { Attributes, Authorizer } from "#authz/authorizer.ts";
import type { HandledRequest, Reply } from "#http/api-request.ts";
import { badRequest, methodUnknown } from "#meta/status-error.ts";
import { groupAuthenticated, groupUnauthenticated, type UserInfo, userAnonymous } from "#meta/user-info.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";

const debugAccessPath = "/debug/access";

const knownFields = new Set("user group uid verb apiGroup resource subresource namespace name path".split(" "));

/** Answers requests for its path; returns `undefined` for all other paths. */
export function debugAccess(
  authorizer: Required<Authorizer>,
): (request: HandledRequest) => MaybePromise<Reply> | undefined {
  return (request) => {
    if (request.path !== debugAccessPath) return undefined;
    if (request.method !== "GET" && request.method !== "HEAD") throw methodUnknown();
    const attributes = attributesOf(request);
    return andThen(authorizer.authorize(attributes), ({ decision, reason, error }) => {
      const { user, isResourceRequest, path, group, version: _any, ...resource } = attributes;
      const { verb, ...where } = resource;
      const answer = {
        user,
        action: isResourceRequest ? { verb, apiGroup: group, ...where } : { verb, path },
        decision,
        allowed: decision === "allow",
        reason,
        ...(error === undefined ? {} : { error }),
        explanation: authorizer.explain(attributes),
      };
      return {
        code: 200,
        contentType: "application/json",
        headers: { "cache-control": "no-cache, private" },
        bytes: Buffer.from(`${JSON.stringify(answer, undefined, 2)}\n`),
      };
    });
  };
}

function attributesOf({ query, user }: HandledRequest): Attributes {
  for (const name of query.keys()) {
    if (!knownFields.has(name)) throw badRequest(`unknown parameter ${JSON.stringify(name)}`);
    if (name !== "group" && query.getAll(name).length > 1) throw badRequest(`${name} is given more than once`);
  }
  const text = (name: string): string => query.get(name) ?? "";
  if (text("verb") === "") throw badRequest("verb is required");
  if ((text("resource") === "") === (text("path") === "")) {
    throw badRequest("exactly one of resource and path is required");
  }
  return {
    user: query.has("user") ? makeUser(text("user"), query.getAll("group"), text("uid")) : user,
    verb: text("verb"),
    isResourceRequest: text("resource") !== "",
    path: text("path"),
    group: text("apiGroup"),
    version: "*",
    resource: text("resource"),
    subresource: text("subresource"),
    namespace: text("namespace"),
    name: text("name"),
  };
}

/** Returns the user of a name, with the fields that impersonation would set. */
function makeUser(name: string, groupNames: readonly string[], uid: string): UserInfo {
  const groups = new Set(groupNames);
  const [, namespace] = /^system:serviceaccount:([^:]+):[^:]+$/.exec(name) ?? [];
  if (namespace !== undefined && groupNames.length === 0) {
    groups.add("system:serviceaccounts").add(`system:serviceaccounts:${namespace}`);
  }
  groups.add(name === userAnonymous ? groupUnauthenticated : groupAuthenticated);
  return { name, groups: [...groups], ...(uid === "" ? {} : { uid }) };
}
