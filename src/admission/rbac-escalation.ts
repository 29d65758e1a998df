/**
 * Prevents privilege escalation. The writer of a role must hold its rights or have the verb `escalate`; the writer of a
 * binding must hold the role's rights or have the verb `bind`. As an admission plugin it covers all kinds of writes.
 * Source of order and messages: upstream's `policybased` storages in `registry/rbac`.
 */
import { jsonEquals } from "#apply/json-value.ts";
import type { ClusterRole, PolicyRule, RoleBinding, RoleRef } from "#api/rbac/v1.ts";
import type { Authorizer } from "#authz/authorizer.ts";
import { rulesFor } from "#authz/rbac.ts";
import type { RbacIndex } from "#authz/rbac-index.ts";
import { covers, quotedList } from "#authz/rules-cover.ts";
import { aggregate, goQuote } from "#meta/field-error.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { forbidden, notFound, unclassified } from "#meta/status-error.ts";
import { groupMasters } from "#meta/user-info.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import type { AdmissionAttributes, AdmissionPlugin } from "./plugin.ts";

interface RbacEscalationOptions {
  readonly authorizer: Authorizer;
  readonly index: RbacIndex;
}

const roles = new Set(["roles", "clusterroles"]);
const bindings = new Set(["rolebindings", "clusterrolebindings"]);

const everything: readonly PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
  { verbs: ["*"], nonResourceURLs: ["*"] },
];

export function rbacEscalation(options: RbacEscalationOptions): AdmissionPlugin {
  const guard = new Guard(options);
  return {
    name: "RBACEscalation",
    operations: ["CREATE", "UPDATE"],
    admit(attributes) {
      const { resource, subresource, context } = attributes;
      if (resource.group !== options.index.group || subresource !== "") return undefined;
      if (context.user.groups.includes(groupMasters)) return undefined;
      if (roles.has(resource.resource)) return andThen(guard.checkRole(attributes), () => undefined);
      if (bindings.has(resource.resource)) return andThen(guard.checkBinding(attributes), () => undefined);
      return undefined;
    },
  };
}

class Guard {
  readonly #authorizer: Authorizer;
  readonly #index: RbacIndex;

  constructor({ authorizer, index }: RbacEscalationOptions) {
    this.#authorizer = authorizer;
    this.#index = index;
  }

  checkRole(attributes: AdmissionAttributes): MaybePromise<void> {
    const role = attributes.object as ClusterRole; // the resource says so; a Role has no aggregation rule
    const old = attributes.oldObject as ClusterRole | undefined; // likewise
    const { resource } = attributes.resource;
    // Upstream asks the authorizer before it looks at the written rules.
    const escalates = this.#isAllowed(attributes, "escalate", resource, attributes.pathName);
    return andThen(escalates, (may) => {
      if (may || onlyCollects(role, old)) return;
      this.#confirmHeld(attributes, role.rules ?? []);
      if (resource === "clusterroles" && (aggregates(role) || aggregates(old))) {
        this.#confirmHeld(attributes, everything, "must have cluster-admin privileges to use the aggregationRule");
      }
    });
  }

  checkBinding(attributes: AdmissionAttributes): MaybePromise<void> {
    const binding = attributes.object as RoleBinding; // the resource says so; both kinds have the same fields
    if (onlyCollects(binding, attributes.oldObject)) return undefined;
    const { roleRef } = binding;
    const resource = roleResources.get(roleRef.kind);
    const binds = resource !== undefined && this.#isAllowed(attributes, "bind", resource, roleRef.name);
    return andThen(binds, (may) => {
      if (!may) this.#confirmReferenced(attributes, roleRef);
    });
  }

  #confirmReferenced(attributes: AdmissionAttributes, ref: RoleRef): void {
    const rules = this.#index.rulesOfRole(ref, attributes.namespace);
    if (rules !== undefined) return this.#confirmHeld(attributes, rules);
    if (!roleResources.has(ref.kind)) throw unclassified(this.#index.missing(ref));
    // Upstream: the message names the resource of the request.
    throw notFound(attributes.resource, ref.name);
  }

  /** Throws unless the user has all rights that the rules give. */
  #confirmHeld(attributes: AdmissionAttributes, rules: readonly PolicyRule[], otherwise?: string): void {
    const { user } = attributes.context;
    const userRules = rulesFor(this.#index, user, attributes.namespace, { resource: attributes.resource.resource });
    const coverage = covers([...userRules.resourceRules, ...userRules.nonResourceRules], rules);
    if (coverage.covered) return;
    const errors = userRules.errors.length === 0 ? "" : `; resolution errors: [${aggregate(userRules.errors)}]`;
    const reason =
      `user ${goQuote(user.name)} (groups=${quotedList(user.groups)}) is attempting to grant RBAC permissions ` +
      `not currently held:\n${coverage.missing}${errors}`;
    throw forbidden(attributes.resource, attributes.object?.metadata.name ?? "", otherwise ?? reason);
  }

  #isAllowed(
    { context, namespace, resource: { group } }: AdmissionAttributes,
    verb: "bind" | "escalate",
    resource: string,
    name: string,
  ): MaybePromise<boolean> {
    const { user } = context;
    const about = { user, verb, isResourceRequest: true, path: "", group, version: "*", resource, subresource: "" };
    return andThen(this.#authorizer.authorize({ ...about, namespace, name }), ({ decision }) => decision === "allow");
  }
}

/** The resources of the kinds that bindings may refer to. */
const roleResources: ReadonlyMap<string, string> = new Map([
  ["ClusterRole", "clusterroles"],
  ["Role", "roles"],
]);

const aggregates = (role: ClusterRole | undefined): boolean =>
  (role?.aggregationRule?.clusterRoleSelectors ?? []).length > 0;

/** Whether a write changes only the fields that garbage collection needs: finalizers and owner references. */
const onlyCollects = (object: ApiObject, old: ApiObject | undefined): boolean =>
  old !== undefined && jsonEquals(withoutOwners(object), withoutOwners(old));

function withoutOwners({ metadata, ...content }: ApiObject): unknown {
  const { ownerReferences: _owners, finalizers: _finalizers, managedFields: _managers, ...rest } = metadata;
  return { ...content, metadata: rest };
}
