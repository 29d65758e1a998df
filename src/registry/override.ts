/** Copies a shared, read-only definition with changes. */
import type { ResourceDefinition } from "./resource-definition.ts";

/** A definition with other members; its schema is still made when first asked for. */
export function override(definition: ResourceDefinition, members: Partial<ResourceDefinition>): ResourceDefinition {
  const copy = Object.defineProperties({}, Object.getOwnPropertyDescriptors(definition));
  return Object.assign(copy, members) as ResourceDefinition; // the same members, some replaced
}
