/** The subresources that are served: views of the object, scales, and actions. */
import type { ResourceDefinition, SubresourceDefinition } from "#registry/resource-definition.ts";
import { override } from "#registry/override.ts";

/** The definition without subresources that are not served. Call it when the definition has its actions. */
export function withServedParts(definition: ResourceDefinition): ResourceDefinition {
  const { subresources } = definition;
  const served = subresources.filter((part) => isServed(definition, part));
  if (served.length === subresources.length) return definition;
  const unserved = subresources.filter((part) => !served.includes(part));
  return override(definition, { subresources: served, unserved });
}

function isServed({ kind, actions }: ResourceDefinition, part: SubresourceDefinition): boolean {
  if (part.scale !== undefined) return true;
  // A part that shows the object can also be written; logs have the kind of the object and are none of it.
  const isView = part.kind === kind && part.verbs.includes("update");
  return isView || actions?.has(part.name) === true;
}
