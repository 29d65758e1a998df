/** Component statuses: the health of the server's parts, computed at each request. Deprecated since 1.19. */
import type { Unstructured } from "#meta/object-meta.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import { override } from "#registry/override.ts";

/** Gives the definition of component statuses its objects; leaves others alone. `problem` is the store's, if any. */
export function withComponentStatuses(
  problem: () => string | undefined,
): (definition: ResourceDefinition) => ResourceDefinition {
  const objects = (): readonly Unstructured[] => {
    const message = problem();
    const condition = { type: "Healthy", status: message === undefined ? "True" : "False", message: message ?? "ok" };
    return [{ metadata: { name: "storage", creationTimestamp: null }, conditions: [condition] }];
  };
  return (definition) =>
    definition.group === "" && definition.resource === "componentstatuses"
      ? override(definition, { computed: objects })
      : definition;
}
