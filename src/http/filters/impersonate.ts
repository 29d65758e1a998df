/**
 * Impersonation by `Impersonate-*` headers: the request runs as another user. Each part of that identity (user or
 * service account, groups, uid, extra keys) needs its own permission. Source: upstream's
 * `endpoints/filters/impersonation.go`.
 */
import { unescapeKey } from "#authn/request-header.ts";
import type { Attributes, Authorizer } from "#authz/authorizer.ts";
import { escapeMarkup, forbiddenError } from "#authz/forbidden.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { goQuote } from "#meta/field-error.ts";
import { dns1123Label, dns1123Subdomain } from "#meta/names.ts";
import { groupAuthenticated, groupUnauthenticated, type UserInfo, userAnonymous } from "#meta/user-info.ts";
import type { ApiRequest, Reply } from "../api-request.ts";
import { plainText } from "../plain-text.ts";
import type { ErrorReply } from "./catch-errors.ts";
import { type Filter, type Handler, withHeaders } from "./filter.ts";

interface ImpersonateOptions {
  readonly authorizer: Authorizer;
  readonly domain: ApiDomain;
  readonly errorReply: ErrorReply;
}

export function impersonate({ authorizer, domain, errorReply }: ImpersonateOptions): Filter {
  const authenticationGroup = domain.rename("authentication.k8s.io");
  return (request, next) => (asksToImpersonate(request) ? impersonated(request, next) : next(request));

  async function impersonated(request: ApiRequest, next: Handler): Promise<Reply> {
    const wanted = wantedIdentity(request);
    if (wanted.user === "") return wanted.needsUser ? withoutUser(request, wanted, authenticationGroup) : next(request);

    for (const permission of permissions(wanted, authenticationGroup)) {
      const attributes: Attributes = {
        user: request.user,
        verb: "impersonate",
        isResourceRequest: true,
        path: "",
        group: "",
        version: "v1",
        subresource: "",
        namespace: "",
        ...permission,
      };
      const verdict = await authorizer.authorize(attributes);
      if (verdict.decision === "allow") continue;
      const reply = errorReply(request, forbiddenError(attributes, verdict.reason));
      return withHeaders(reply, { "x-content-type-options": "nosniff" });
    }
    request.user = identity(wanted);
    request.forgetHeaders(isImpersonation);
    return next(request);
  }
}

const isImpersonation = (header: string): boolean => header.startsWith("impersonate-");

function asksToImpersonate(request: ApiRequest): boolean {
  for (const name in request.headers) if (isImpersonation(name)) return true;
  return false;
}

/** The identity that the headers ask for, before permissions are checked. */
interface Wanted {
  /** The name of the user; empty when there is no `Impersonate-User`. */
  readonly user: string;
  readonly groups: readonly string[];
  readonly uid: string;
  readonly extra: ReadonlyMap<string, readonly string[]>;
  /** Whether groups, a uid or extra keys are requested, which need a user. */
  readonly needsUser: boolean;
}

function wantedIdentity(request: ApiRequest): Wanted {
  const groups = request.headerValues("impersonate-group");
  const uid = request.headerValues("impersonate-uid")[0] ?? "";
  const extra = new Map<string, readonly string[]>();
  for (const name in request.headers) {
    if (!name.startsWith(extraPrefix)) continue;
    const key = unescapeKey(name.slice(extraPrefix.length));
    extra.set(key, [...(extra.get(key) ?? []), ...request.headerValues(name)]);
  }
  const user = request.headerValues("impersonate-user")[0] ?? "";
  return { user, groups, uid, extra, needsUser: groups.length > 0 || uid !== "" || extra.size > 0 };
}

const extraPrefix = "impersonate-extra-";

/** A permission that the impersonating user needs; a field that is left out is empty. */
type Permission = Pick<Attributes, "resource" | "name"> &
  Partial<Pick<Attributes, "group" | "subresource" | "namespace">>;

function permissions(wanted: Wanted, group: string): Permission[] {
  const account = serviceAccount(wanted.user);
  return [
    account === undefined ? { resource: "users", name: wanted.user } : { resource: "serviceaccounts", ...account },
    ...wanted.groups.map((name) => ({ resource: "groups", name })),
    ...[...wanted.extra].flatMap(([subresource, names]) =>
      names.map((name) => ({ group, resource: "userextras", subresource, name })),
    ),
    ...(wanted.uid === "" ? [] : [{ group, resource: "uids", name: wanted.uid }]),
  ];
}

function identity(wanted: Wanted): UserInfo {
  const account = serviceAccount(wanted.user);
  const groups =
    wanted.groups.length > 0 || account === undefined
      ? [...wanted.groups]
      : ["system:serviceaccounts", `system:serviceaccounts:${account.namespace}`];
  if (wanted.user === userAnonymous) {
    if (!groups.includes(groupUnauthenticated)) groups.push(groupUnauthenticated);
  } else if (!groups.includes(groupAuthenticated) && !groups.includes(groupUnauthenticated)) {
    groups.push(groupAuthenticated);
  }
  return {
    name: wanted.user,
    groups,
    ...(wanted.uid === "" ? {} : { uid: wanted.uid }),
    ...(wanted.extra.size === 0 ? {} : { extra: Object.fromEntries(wanted.extra) }),
  };
}

/** Splits `system:serviceaccount:<namespace>:<name>`; `undefined` unless both are names that such objects can have. */
function serviceAccount(user: string): { readonly namespace: string; readonly name: string } | undefined {
  if (!user.startsWith(accountPrefix)) return undefined;
  const [namespace, name, ...rest] = user.slice(accountPrefix.length).split(":");
  if (namespace === undefined || name === undefined || rest.length > 0) return undefined;
  return dns1123Label(namespace).length === 0 && dns1123Subdomain(name).length === 0 ? { namespace, name } : undefined;
}

const accountPrefix = "system:serviceaccount:";

/**
 * The answer to headers without a user. Upstream: a text and a 500, like the answer of a broken server; references are
 * shown as Go prints them.
 */
function withoutUser(request: ApiRequest, { groups, uid, extra }: Wanted, authenticationGroup: string): Reply {
  const own = `${authenticationGroup}/v1`;
  const asked = [
    ...groups.map((group) => `{Group  ${group}    }`),
    ...[...extra].flatMap(([key, values]) => values.map((value) => `{UserExtra  ${value}  ${own}  ${key}}`)),
    ...(uid === "" ? [] : [`{UID  ${uid}  ${own}  }`]),
  ];
  const text = `${goQuote(request.url)}: requested [${asked.join(" ")}] without impersonating a user`;
  return plainText(500, `Internal Server Error: ${escapeMarkup(text)}\n`);
}
