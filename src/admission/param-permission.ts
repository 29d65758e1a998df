/**
 * Checks who may make the server read parameters. Admission policies read their parameters with the rights of the
 * server. So the author of a policy must be allowed to read all objects of its `paramKind`, and the author of a binding
 * must be allowed to read the objects of its `paramRef`; otherwise a policy that quotes a Secret in its message would
 * show it to anybody. Upstream does this in validation, after all other findings; here it is the first of the
 * validating plugins, which come at that point and run on the main thread, also for large requests.
 */
import type { ParamKind, ParamRef, ValidatingAdmissionPolicy } from "#api/admissionregistration/v1.ts";
import type { MutatingAdmissionPolicyBinding } from "#api/admissionregistration/v1alpha1.ts";
import type { Attributes, Authorizer } from "#authz/authorizer.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { forbidden } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { type GroupVersionKind, parseApiVersion } from "#meta/group-version.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { invalidObject } from "#meta/status-error.ts";
import type { UserInfo } from "#meta/user-info.ts";
import { goText } from "#schema/go-text.ts";
import type { AdmissionAttributes, AdmissionPlugin } from "./plugin.ts";

interface ParamPermissionOptions {
  readonly domain: ApiDomain;
  readonly authorizer: Authorizer;
  /**
   * Returns the name of the served resource of a kind, also of an aggregated one; `undefined` when the kind is not
   * served.
   */
  resourceOf(kind: GroupVersionKind): string | undefined;
  /** Reads the newest state of a policy, by the name of its resource; `undefined` when it cannot be read. */
  policy(resource: string, name: string): Promise<ApiObject | undefined>;
}

type Policy = Pick<ValidatingAdmissionPolicy, "spec">;
type Binding = Pick<MutatingAdmissionPolicyBinding, "spec">;

/** The resources of bindings, each with the resource of its policies. */
const policiesOfBindings: ReadonlyMap<string, string> = new Map([
  ["validatingadmissionpolicybindings", "validatingadmissionpolicies"],
  ["mutatingadmissionpolicybindings", "mutatingadmissionpolicies"],
]);
const policyResources: ReadonlySet<string> = new Set(policiesOfBindings.values());

export function paramPermission(options: ParamPermissionOptions): AdmissionPlugin {
  const group = options.domain.rename("admissionregistration.k8s.io");
  return {
    name: "ParamPermission",
    operations: ["CREATE", "UPDATE"],
    validate(attributes) {
      const { resource, subresource, object, oldObject } = attributes;
      if (resource.group !== group || subresource !== "") return undefined;
      if (policyResources.has(resource.resource)) {
        const { paramKind } = (object as unknown as Policy).spec; // the resource says so
        const before = (oldObject as unknown as Policy | undefined)?.spec.paramKind; // likewise
        if (paramKind === undefined || isSameKind(paramKind, before)) return undefined;
        return checkPolicy(options, attributes, paramKind);
      }
      const policies = policiesOfBindings.get(resource.resource);
      if (policies === undefined) return undefined;
      // Upstream compares the addresses of references, so it checks at every update.
      const { paramRef, policyName = "" } = (object as unknown as Binding).spec; // the resource says so
      return paramRef === undefined ? undefined : checkBinding(options, attributes, paramRef, policies, policyName);
    },
  };
}

const isSameKind = (kind: ParamKind, before: ParamKind | undefined): boolean =>
  before !== undefined && before.apiVersion === kind.apiVersion && before.kind === kind.kind;

async function checkPolicy(
  options: ParamPermissionOptions,
  attributes: AdmissionAttributes,
  paramKind: ParamKind,
): Promise<void> {
  const { user } = attributes.context;
  const { apiVersion = "", kind = "" } = paramKind;
  const about = { ...patternOf(options, paramKind).pattern, namespace: "*", name: "*" };
  await confirm(options, attributes, "paramKind", { verb: "get", ...about }, () => {
    const on = `all objects of the referenced paramKind (kind=${kind}, apiVersion=${apiVersion})`;
    return `user ${printUser(user)} must have "get" permission on ${on}`;
  });
}

async function checkBinding(
  options: ParamPermissionOptions,
  attributes: AdmissionAttributes,
  { name = "", namespace = "" }: ParamRef,
  policies: string,
  policyName: string,
): Promise<void> {
  const { user } = attributes.context;
  const policy = (await options.policy(policies, policyName)) as Policy | undefined; // the resource says so
  const paramKind = policy?.spec.paramKind;
  const { pattern, isKnown } = paramKind === undefined ? { pattern: anyResource } : patternOf(options, paramKind);
  const verb = name === "" ? "list" : "get";
  await confirm(options, attributes, "paramRef", { verb, ...pattern, namespace, name }, () => {
    const lacks = (who: string, what: string): string => `user ${who} does not have "${what}" permission`;
    const shown = printUser(user);
    const unknown = (what: string): string =>
      `unable to ${what} to determine minimum required permissions and ${lacks(shown, verb)} for all groups, versions and resources`;
    if (policy === undefined) return unknown(`get policy ${policyName}`);
    // Upstream: in messages about bindings of mutating policies, user and verb have changed places.
    const [who, what] = policies.startsWith("mutating") ? [verb, shown] : [shown, verb];
    if (isKnown !== false) return `${lacks(who, what)} on the object referenced by paramRef`;
    return unknown(`resolve paramKind &{${paramKind?.apiVersion ?? ""} ${paramKind?.kind ?? ""}}`);
  });
}

type ResourcePattern = Pick<Attributes, "group" | "version" | "resource">;

const anyResource: ResourcePattern = { group: "*", version: "*", resource: "*" };

/** Finds the resource of a kind. The objects of a kind that is not served may be of any resource in its version. */
function patternOf(
  { resourceOf }: ParamPermissionOptions,
  { apiVersion = "", kind = "" }: ParamKind,
): { readonly pattern: ResourcePattern; readonly isKnown: boolean } {
  const version = parseApiVersion(apiVersion);
  if (version === undefined) return { pattern: anyResource, isKnown: false };
  const resource = resourceOf({ ...version, kind });
  return { pattern: { ...version, resource: resource ?? "*" }, isKnown: resource !== undefined };
}

/** Throws when the user may not do this. */
async function confirm(
  { authorizer }: ParamPermissionOptions,
  { context, kind, object }: AdmissionAttributes,
  field: "paramKind" | "paramRef",
  about: Pick<Attributes, "verb" | "namespace" | "name"> & ResourcePattern,
  why: () => string,
): Promise<void> {
  const asked = { user: context.user, isResourceRequest: true, path: "", subresource: "", ...about };
  const { decision, error } = await authorizer.authorize(asked);
  if (decision === "allow") return;
  const refusal = forbidden(FieldPath.of("spec", field), error ?? why());
  throw invalidObject(kind, object?.metadata.name ?? "", [refusal]);
}

/** Prints a user as Go does. */
const printUser = ({ name, uid = "", groups, extra = {} }: UserInfo): string =>
  `&{${name} ${uid} ${goText(groups)} ${goText(extra)}}`;
