/** The transformers of a configuration, by the keys of the store. */
import type { EncryptionRule } from "./config.ts";
import { identity } from "./identity.ts";
import { ProviderList, type ValueTransformer } from "./transformer.ts";

/** A rule whose providers are open. */
export interface OpenRule extends Pick<EncryptionRule, "resources"> {
  readonly providers: readonly ValueTransformer[];
}

const registry = "/registry/";

export class Transformers {
  readonly #rules: readonly OpenRule[];
  /** By the part of keys that names group and resource. */
  readonly #known = new Map<string, ValueTransformer>();

  constructor(rules: readonly OpenRule[]) {
    this.#rules = rules;
  }

  /** The transformer of a key: that of the rules for its resource, of others `identity`. */
  of(key: string): ValueTransformer {
    const groupEnd = key.indexOf("/", registry.length);
    const end = key.indexOf("/", groupEnd + 1);
    if (groupEnd < 0 || end < 0) return identity;
    const place = key.slice(registry.length, end);
    let transformer = this.#known.get(place);
    if (transformer === undefined) {
      transformer = this.#find(key.slice(registry.length, groupEnd), key.slice(groupEnd + 1, end));
      this.#known.set(place, transformer);
    }
    return transformer;
  }

  #find(group: string, resource: string): ValueTransformer {
    // The server's own records are read before anything is decrypted.
    if (group === "binnacle") return identity;
    const apiGroup = group === "core" ? "" : group;
    const names = apiGroup === "" ? [resource, `${resource}.`] : [`${resource}.${apiGroup}`];
    const isNamed = (one: string): boolean => names.includes(one);
    // Rules that name a resource add up; otherwise the first wildcard counts.
    const named = this.#rules.filter(({ resources }) => resources.some(isNamed));
    const isMeant = (one: string): boolean => one === `*.${apiGroup}` || one === "*.*";
    const rules = named.length > 0 ? named : this.#rules.filter(({ resources }) => resources.some(isMeant)).slice(0, 1);
    const [first, ...others] = rules.flatMap(({ providers }) => providers);
    return first === undefined ? identity : new ProviderList(first, ...others);
  }
}
