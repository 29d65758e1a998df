/** Questions about access, which the server decides and its roles explain. */
import { withImplied } from "#authz/access-explanation.ts";
import type { Attributes } from "#authz/authorizer.ts";
import { type Grant, grantsOf, reaches, roleText, bindingText, subjectText } from "#authz/grants.ts";
import { allows, ruleResource } from "#authz/rules.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { Api } from "./api.ts";
import type { App } from "./app-state.ts";
import { collectionPath, type ServedKind } from "./kinds.ts";

/** An action on objects of a kind, or of one, or on a path. */
export interface AccessQuestion {
  readonly verb: string;
  readonly kind: ServedKind | undefined;
  readonly subresource: string;
  readonly name: string;
  readonly namespace: string;
  /** The path, for an action on no kind. */
  readonly path: string;
}

interface Answer {
  readonly attributes: Attributes;
  readonly isAllowed: boolean;
  readonly reason: string;
}

const authorization = "authorization.k8s.io/v1";
const authentication = "authentication.k8s.io/v1";

/** Returns the action as authorizers see it. */
export const attributesOf = (
  { verb, kind, subresource, name, namespace, path }: AccessQuestion,
  user: Attributes["user"],
): Attributes => ({
  user,
  verb,
  isResourceRequest: kind !== undefined,
  path: kind === undefined ? path : "",
  group: kind?.group ?? "",
  version: "",
  resource: kind?.resource ?? "",
  subresource: kind === undefined ? "" : subresource,
  namespace: kind?.namespaced === true ? namespace : "",
  name: kind === undefined ? "" : name,
});

/** Asks the server whether a user may do something; an empty name is the one who asks. */
export async function decide(
  api: Api,
  question: AccessQuestion,
  user: string,
  groups: readonly string[],
): Promise<Answer> {
  interface Review {
    readonly status?: { readonly allowed?: boolean; readonly reason?: string; readonly evaluationError?: string };
  }
  const who = user === "" ? await self(api) : { name: user, groups: withImplied(user, groups) };
  const attributes = attributesOf(question, who);
  const { isResourceRequest, verb, path, group, resource, subresource, name, namespace } = attributes;
  const kind = user === "" ? "SelfSubjectAccessReview" : "SubjectAccessReview";
  const action = isResourceRequest
    ? { resourceAttributes: { verb, group, resource, subresource, name, namespace } }
    : { nonResourceAttributes: { verb, path } };
  const spec = { ...(user === "" ? {} : { user: who.name, groups: who.groups }), ...action };
  const review = await api.json<Review>({
    method: "POST",
    path: `/apis/${authorization}/${kind.toLowerCase()}s`,
    body: JSON.stringify({ apiVersion: authorization, kind, spec }),
  });
  const { allowed = false, reason = "", evaluationError = "" } = review.status ?? {};
  return { attributes, isAllowed: allowed, reason: [reason, evaluationError].filter((text) => text !== "").join("; ") };
}

async function self(api: Api): Promise<Attributes["user"]> {
  interface Review {
    readonly status?: { readonly userInfo?: { readonly username?: string; readonly groups?: readonly string[] } };
  }
  const review = await api.json<Review>({
    method: "POST",
    path: `/apis/${authentication}/selfsubjectreviews`,
    body: JSON.stringify({ apiVersion: authentication, kind: "SelfSubjectReview" }),
  });
  const { username: name = "", groups = [] } = review.status?.userInfo ?? {};
  return { name, groups };
}

interface List {
  readonly metadata?: { readonly continue?: string };
  readonly items?: readonly Unstructured[] | null;
}

/** The group of roles, whose end depends on the server's API domain. */
export const rolesGroup = ({ kinds }: App): string =>
  kinds.value.find(({ group, resource }) => resource === "clusterroles" && group.startsWith("rbac.authorization."))
    ?.group ?? "rbac.authorization.k8s.io";

/** Reads the roles and bindings of the cluster, and of one namespace or of all. Rejects with `ApiFailure`. */
export async function readGrants(app: App, namespace: string, abort?: AbortSignal): Promise<readonly Grant[]> {
  const group = rolesGroup(app);
  const read = async (resource: string, home: string): Promise<readonly Unstructured[]> => {
    const kind = { group, version: "v1", resource, namespaced: home !== "", kind: "", verbs: [], shortNames: [] };
    const items: Unstructured[] = [];
    let next = "";
    do {
      const query = new URLSearchParams({ limit: "500", ...(next === "" ? {} : { continue: next }) });
      const list = await app.api.get<List>(`${collectionPath(kind, home)}?${query}`, abort);
      items.push(...(list.items ?? []));
      next = list.metadata?.continue ?? "";
    } while (next !== "");
    return items;
  };
  const [clusterRoles, roles, clusterBindings, bindings] = await Promise.all([
    read("clusterroles", ""),
    read("roles", namespace),
    read("clusterrolebindings", ""),
    read("rolebindings", namespace),
  ]);
  return grantsOf({ clusterRoles, roles, clusterBindings, bindings });
}

export interface Holder {
  readonly subject: string;
  readonly namespace: string;
  readonly binding: string;
  readonly role: string;
}

/** Returns who may do something by roles. */
export function holdersOf(grants: readonly Grant[], attributes: Attributes): readonly Holder[] {
  const resource = ruleResource(attributes);
  return grants.flatMap((grant) => {
    if (!reaches(grant, attributes) || (!attributes.isResourceRequest && grant.namespace !== "")) return [];
    if (!(grant.rules ?? []).some((rule) => allows(rule, attributes, resource))) return [];
    const { namespace } = grant;
    const rest = { namespace, binding: bindingText(grant), role: roleText(grant) };
    return grant.subjects.map((subject) => ({ subject: subjectText(subject, namespace), ...rest }));
  });
}
