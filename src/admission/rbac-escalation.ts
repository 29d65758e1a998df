/**
 * Nobody gives himself or others more than he has: who writes a role must hold the rights in it or have the verb
 * `escalate` on it, who binds one must hold its rights or have the verb `bind` on the role. Sees every way of writing,
 * since each passes admission. Source: upstream's `policybased` storages in `registry/rbac`, whose order of checks and words these
 * are.
 */
import { jsonEquals } from "#apply/json-value.ts";
import type { PolicyRule } from "#api/bootstrap-policy.ts";
import { aggregate, type Attributes, type Authorizer } from "#authz/authorizer.ts";
import { rulesFor } from "#authz/rbac.ts";
import type { RbacIndex, RoleReference } from "#authz/rbac-index.ts";
import { covers, quotedList } from "#authz/rules-cover.ts";
import { goQuote } from "#meta/field-error.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { forbidden, notFound, unclassified } from "#meta/status-error.ts";
import { groupMasters } from "#meta/user-info.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import type { AdmissionAttributes, AdmissionPlugin } from "./plugin.ts";

export interface RbacEscalationOptions {
  readonly authorizer: Authorizer;
  readonly index: RbacIndex;
}

/** The four kinds in one. */
interface RbacObject extends Unstructured {
  readonly rules?: readonly PolicyRule[] | null;
  readonly aggregationRule?: { readonly clusterRoleSelectors?: readonly unknown[] | null } | null;
  readonly roleRef?: RoleReference;
}

const roles = new Set(["roles", "clusterroles"]);
const bindings = new Set(["rolebindings", "clusterrolebindings"]);

const everything: readonly PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
  { verbs: ["*"], nonResourceURLs: ["*"] },
];

export function rbacEscalation({ authorizer, index }: RbacEscalationOptions): AdmissionPlugin {
  /** Throws unless the caller holds the rules. */
  const confirmHeld = (attributes: AdmissionAttributes, rules: readonly PolicyRule[], otherwise?: string): void => {
    const { user } = attributes.context;
    const held = rulesFor(index, user, attributes.namespace, { resource: attributes.resource.resource });
    const coverage = covers([...held.resourceRules, ...held.nonResourceRules], rules);
    if (coverage.covered) return;
    const errors = held.errors.length === 0 ? "" : `; resolution errors: [${aggregate(held.errors)}]`;
    const reason =
      `user ${goQuote(user.name)} (groups=${quotedList(user.groups)}) is attempting to grant RBAC permissions ` +
      `not currently held:\n${coverage.missing}${errors}`;
    throw forbidden(attributes.resource, attributes.object?.metadata.name ?? "", otherwise ?? reason);
  };

  const checkRole = (attributes: AdmissionAttributes, role: RbacObject, old: RbacObject | undefined): void => {
    confirmHeld(attributes, role.rules ?? []);
    if (attributes.resource.resource === "clusterroles" && (aggregates(role) || aggregates(old))) {
      confirmHeld(attributes, everything, "must have cluster-admin privileges to use the aggregationRule");
    }
  };

  const checkBinding = (attributes: AdmissionAttributes, ref: RoleReference): void => {
    const rules = index.referenced(ref, attributes.namespace);
    if (rules !== undefined) return confirmHeld(attributes, rules);
    if (ref.kind !== "Role" && ref.kind !== "ClusterRole") throw unclassified(index.missing(ref));
    // Upstream: the message names the resource that is written.
    throw notFound(attributes.resource, ref.name);
  };

  const isAllowed = (attributes: Attributes): MaybePromise<boolean> =>
    andThen(authorizer.authorize(attributes), ({ decision }) => decision === "allow");

  return {
    name: "RBACEscalation",
    operations: ["CREATE", "UPDATE"],
    admit(attributes) {
      const { resource, subresource, context } = attributes;
      if (resource.group !== index.group || subresource !== "") return undefined;
      if (context.user.groups.includes(groupMasters)) return undefined;
      const { object, oldObject } = attributes;
      const wanted = object as RbacObject; // the resource says so
      const old = oldObject as RbacObject | undefined;
      const isCollecting = old !== undefined && onlyCollects(wanted, old);
      if (roles.has(resource.resource)) {
        // Upstream asks before it looks at what is written.
        const escalates = isAllowed({
          ...actionOf(attributes, "escalate"),
          resource: resource.resource,
          name: attributes.pathName,
        });
        return andThen(escalates, (may) => {
          if (!may && !isCollecting) checkRole(attributes, wanted, old);
          return undefined;
        });
      }
      if (!bindings.has(resource.resource) || isCollecting) return undefined;
      const ref = wanted.roleRef ?? { kind: "", name: "" };
      const isKnown = ref.kind === "ClusterRole" || ref.kind === "Role";
      const binds = isKnown
        ? isAllowed({
            ...actionOf(attributes, "bind"),
            resource: ref.kind === "Role" ? "roles" : "clusterroles",
            name: ref.name,
          })
        : false;
      return andThen(binds, (may) => {
        if (!may) checkBinding(attributes, ref);
        return undefined;
      });
    },
  };
}

function actionOf({ context, namespace, resource }: AdmissionAttributes, verb: string): Attributes {
  return {
    user: context.user,
    verb,
    isResourceRequest: true,
    path: "",
    group: resource.group,
    version: "*",
    resource: "",
    subresource: "",
    namespace,
    name: "",
  };
}

const aggregates = (role: RbacObject | undefined): boolean =>
  (role?.aggregationRule?.clusterRoleSelectors ?? []).length > 0;

/** Whether a write changes only what collecting garbage needs: finalizers and owners. */
function onlyCollects(object: Unstructured, old: Unstructured): boolean {
  return jsonEquals(withoutOwners(object), withoutOwners(old));
}

function withoutOwners({ metadata, ...content }: Unstructured): unknown {
  const { ownerReferences: _owners, finalizers: _finalizers, managedFields: _managers, ...kept } = metadata;
  return { ...content, metadata: kept };
}
