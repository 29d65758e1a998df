/** The one list that says what is served. Replaced as a whole, so that every request sees one state of it. */
import type { ResourceDefinition } from "./resource-definition.ts";

export class ResourceTable {
  readonly definitions: readonly ResourceDefinition[];
  /** Grows with every replacement; caches built from a table keep it. */
  readonly generation: number;
  readonly #byResource = new Map<string, ResourceDefinition>();
  readonly #groupVersions = new Set<string>();
  readonly #byKind = new Map<string, ResourceDefinition>();

  constructor(definitions: readonly ResourceDefinition[], generation: number) {
    this.definitions = definitions;
    this.generation = generation;
    for (const definition of definitions) {
      const { group, version, kind, resource } = definition;
      this.#groupVersions.add(`${group}/${version}`);
      this.#byResource.set(`${group}/${version}/${resource}`, definition);
      this.#byKind.set(`${group}/${version}/${kind}`, definition);
    }
  }

  find(group: string, version: string, resource: string): ResourceDefinition | undefined {
    return this.#byResource.get(`${group}/${version}/${resource}`);
  }

  /** Whether anything of this group version is served. */
  serves(group: string, version: string): boolean {
    return this.#groupVersions.has(`${group}/${version}`);
  }

  findKind(group: string, version: string, kind: string): ResourceDefinition | undefined {
    return this.#byKind.get(`${group}/${version}/${kind}`);
  }
}
