/** The table of served resources. It is replaced as a whole, so that every request sees one consistent state. */
import type { GroupVersion } from "#meta/group-version.ts";
import type { ResourceDefinition } from "./resource-definition.ts";

export class ResourceTable {
  readonly definitions: readonly ResourceDefinition[];
  /** The number of the table, which grows with every replacement; caches built from a table keep it. */
  readonly generation: number;
  readonly #groups = new Map<string, Group>();

  /** Groups that have the same definitions in `before` reuse its indexes. */
  constructor(definitions: readonly ResourceDefinition[], generation: number, before?: ResourceTable) {
    this.definitions = definitions;
    this.generation = generation;
    for (const [name, list] of Map.groupBy(definitions, ({ group }) => group)) {
      const old = before === undefined ? undefined : before.#groups.get(name);
      this.#groups.set(name, old !== undefined && isSame(old.members, list) ? old : new Group(list));
    }
  }

  find(group: string, version: string, resource: string): ResourceDefinition | undefined {
    return this.#groups.get(group)?.byResource.get(`${version}/${resource}`);
  }

  /**
   * Returns the resources of a version whose plural or singular name is this one; without a group, those of all groups.
   * Source: upstream's REST mapper.
   */
  named({ group, version, resource }: GroupVersion & { readonly resource: string }): readonly ResourceDefinition[] {
    const name = resource.toLowerCase();
    return this.definitions.filter(
      (one) =>
        one.version === version &&
        (group === "" || one.group === group) &&
        (one.resource === name || one.singular === name),
    );
  }

  /** Whether any resource of this group version is served. */
  serves(group: string, version: string): boolean {
    return this.#groups.get(group)?.versions.has(version) === true;
  }

  findKind(group: string, version: string, kind: string): ResourceDefinition | undefined {
    return this.#groups.get(group)?.byKind.get(`${version}/${kind}`);
  }
}

/** Indexes of the definitions of one group. */
class Group {
  readonly members: readonly ResourceDefinition[];
  readonly versions = new Set<string>();
  readonly byResource = new Map<string, ResourceDefinition>();
  readonly byKind = new Map<string, ResourceDefinition>();

  constructor(members: readonly ResourceDefinition[]) {
    this.members = members;
    for (const definition of members) {
      const { version, kind, resource } = definition;
      this.versions.add(version);
      this.byResource.set(`${version}/${resource}`, definition);
      this.byKind.set(`${version}/${kind}`, definition);
    }
  }
}

const isSame = (one: readonly ResourceDefinition[], other: readonly ResourceDefinition[]): boolean =>
  one.length === other.length && one.every((definition, at) => definition === other[at]);
