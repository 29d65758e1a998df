/** Keeps the RBAC index in step with the store's roles and bindings. */
import type { Role, RoleBinding } from "#api/rbac/v1.ts";
import type { RbacIndex } from "#authz/rbac-index.ts";
import type { HandlersByResource } from "../index-handlers.ts";

export function rbacHandlers(index: RbacIndex): HandlersByResource {
  const roles = (namespaced: boolean) => ({
    cleared: () => index.clear("roles", namespaced),
    changed: (namespace: string, name: string, role: Role | undefined) => index.setRole(namespace, name, role),
  });
  const bindings = (namespaced: boolean) => ({
    cleared: () => index.clear("bindings", namespaced),
    changed: (namespace: string, name: string, one: RoleBinding | undefined) => index.setBinding(namespace, name, one),
  });
  return {
    "clusterroles.rbac.authorization.k8s.io": roles(false),
    "roles.rbac.authorization.k8s.io": roles(true),
    "clusterrolebindings.rbac.authorization.k8s.io": bindings(false),
    "rolebindings.rbac.authorization.k8s.io": bindings(true),
  };
}
