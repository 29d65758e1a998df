/**
 * The AdmissionRequest without its objects, for webhooks and for the variable `request` of expressions. Source:
 * `admission.k8s.io/v1`.
 */
import type { GroupVersionKind, GroupVersionResource } from "#meta/group-version.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { Matched } from "./matching.ts";
import type { AdmissionAttributes, Operation } from "./plugin.ts";

export interface AdmissionRequest {
  /** Identifies one call of a webhook; absent in expressions. */
  readonly uid?: string;
  /** The kind in the form in which the rules matched; the names with `request` are those of the request itself. */
  readonly kind: GroupVersionKind;
  readonly resource: GroupVersionResource;
  readonly subResource?: string;
  readonly requestKind: GroupVersionKind;
  readonly requestResource: GroupVersionResource;
  readonly requestSubResource?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly operation: Operation;
  readonly userInfo: {
    readonly username?: string;
    readonly uid?: string;
    readonly groups?: readonly string[];
    readonly extra?: Readonly<Record<string, readonly string[]>>;
  };
  readonly dryRun: boolean;
  readonly options?: Readonly<Record<string, unknown>>;
}

export function admissionRequest(attributes: AdmissionAttributes, matched: Matched, uid?: string): AdmissionRequest {
  const { kind, resource, subresource, name, operation, context, dryRun, options } = attributes;
  const namespace = namespaceOf(attributes);
  const requestKind = kindOf(kind);
  const requestResource = resourceOf(resource);
  return {
    ...(uid === undefined ? {} : { uid }),
    kind: matched.kind === kind ? requestKind : kindOf(matched.kind),
    resource: matched.resource === resource ? requestResource : resourceOf(matched.resource),
    ...(subresource === "" ? {} : { subResource: subresource }),
    requestKind,
    requestResource,
    ...(subresource === "" ? {} : { requestSubResource: subresource }),
    ...(name === "" ? {} : { name }),
    ...(namespace === "" ? {} : { namespace }),
    operation,
    userInfo: userOf(context.user),
    dryRun,
    ...(options === undefined ? {} : { options }),
  };
}

/**
 * Returns the namespace of a request. Upstream: a request about a namespace is one in this namespace, if its name was
 * sent.
 */
function namespaceOf({ namespace, resource, name, isNameGenerated = false }: AdmissionAttributes): string {
  const isOfItself = namespace === "" && resource.group === "" && resource.resource === "namespaces";
  return isOfItself && !isNameGenerated ? name : namespace;
}

const kindOf = ({ group, version, kind }: GroupVersionKind): GroupVersionKind => ({ group, version, kind });

const resourceOf = ({ group, version, resource }: GroupVersionResource): GroupVersionResource => ({
  group,
  version,
  resource,
});

const userOf = ({ name, uid = "", groups, extra }: UserInfo): AdmissionRequest["userInfo"] => ({
  ...(name === "" ? {} : { username: name }),
  ...(uid === "" ? {} : { uid }),
  ...(groups.length === 0 ? {} : { groups }),
  ...(extra === undefined || Object.keys(extra).length === 0 ? {} : { extra }),
});
