/** Keeps the RBAC index in step with the store's roles and bindings. */
import type { Role, RoleBinding } from "#api/rbac/v1.ts";
import type { RbacIndex } from "#authz/rbac-index.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { ObjectHandlers } from "#registry/informer.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";

/** Returns the handlers of a resource's objects; `undefined` for resources that are neither roles nor bindings. */
export function rbacHandlers(
  index: RbacIndex,
  { group, resource, namespaced }: ResourceDefinition,
): ObjectHandlers<ApiObject> | undefined {
  if (group !== index.group) return undefined;
  switch (resource) {
    case "clusterroles":
    case "roles":
      return {
        cleared: () => index.clear("roles", namespaced),
        changed: (namespace, name, role: Role | undefined) => index.setRole(namespace, name, role),
      };
    case "clusterrolebindings":
    case "rolebindings":
      return {
        cleared: () => index.clear("bindings", namespaced),
        changed: (namespace, name, binding: RoleBinding | undefined) => index.setBinding(namespace, name, binding),
      };
    default:
      return undefined;
  }
}
