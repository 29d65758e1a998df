/** Copies a shared, read-only definition with changes. */
import type { ResourceDefinition } from "./resource-definition.ts";

/** Returns a definition with other members; its schema is still built when it is first needed. */
export function override(definition: ResourceDefinition, members: Partial<ResourceDefinition>): ResourceDefinition {
  const copy = Object.defineProperties({}, Object.getOwnPropertyDescriptors(definition));
  return Object.assign(copy, members) as ResourceDefinition; // the same members, some replaced
}
