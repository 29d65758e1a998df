/** The RBAC index of the store's roles and bindings, current when a write is acknowledged. */
import type { Role, RoleBinding } from "#api/rbac/v1.ts";
import { RbacIndex } from "#authz/rbac-index.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { ResourceTable } from "#registry/resource-table.ts";
import type { StoreInformers } from "#registry/store-informers.ts";

const resources = ["clusterroles", "clusterrolebindings", "roles", "rolebindings"];

export class RbacFollower {
  readonly index: RbacIndex;
  readonly #informers: StoreInformers;

  constructor(domain: ApiDomain, informers: StoreInformers) {
    this.index = new RbacIndex(domain.rename("rbac.authorization.k8s.io"));
    this.#informers = informers;
  }

  /** Definitions of roles and bindings whose writes are acknowledged only when the index has them. */
  readonly waiting = (definition: ResourceDefinition): ResourceDefinition =>
    this.#isOwn(definition) ? this.#informers.waiting(definition) : definition;

  /** Reads the current objects and follows them. */
  async start(table: ResourceTable): Promise<void> {
    const { index } = this;
    const definitions = table.definitions.filter((definition) => this.#isOwn(definition));
    await Promise.all(
      definitions.map((definition) => {
        const what = definition.resource.endsWith("roles") ? "roles" : "bindings";
        return this.#informers.follow(definition, {
          cleared: () => index.clear(what, definition.namespaced),
          changed(namespace, name, object) {
            // By their schemas.
            if (what === "roles") index.setRole(namespace, name, object as Role | undefined);
            else index.setBinding(namespace, name, object as RoleBinding | undefined);
          },
        });
      }),
    );
  }

  #isOwn({ group, resource }: ResourceDefinition): boolean {
    return group === this.index.group && resources.includes(resource);
  }
}
