/** Copies a shared, read-only definition with changes. */
import type { ResourceDefinition } from "./resource-definition.ts";

/** The names of the members of a definition that are made when they are first needed. */
const lateMembers = new WeakMap<ResourceDefinition, ReadonlySet<string>>();

/**
 * Returns a definition with other members; its schema is still built when it is first needed. Each control plane of a process
 * does this for many definitions.
 */
export function override(definition: ResourceDefinition, members: Partial<ResourceDefinition>): ResourceDefinition {
  const late = lateOf(definition);
  const copy: Record<string, unknown> = {};
  for (const name in definition) {
    if (!late.has(name)) copy[name] = definition[name as keyof ResourceDefinition];
    else if (!Object.hasOwn(members, name)) {
      const get = (): unknown => definition[name as keyof ResourceDefinition];
      Object.defineProperty(copy, name, { get, enumerable: true, configurable: true });
    }
  }
  const changed = Object.assign(copy, members) as unknown as ResourceDefinition; // the same members, some replaced
  lateMembers.set(changed, Object.keys(members).some((name) => late.has(name)) ? lateOf(changed) : late);
  return changed;
}

function lateOf(definition: ResourceDefinition): ReadonlySet<string> {
  let late = lateMembers.get(definition);
  if (late === undefined) {
    const all = Object.entries(Object.getOwnPropertyDescriptors(definition));
    late = new Set(all.filter(([, { get }]) => get !== undefined).map(([name]) => name));
    lateMembers.set(definition, late);
  }
  return late;
}
