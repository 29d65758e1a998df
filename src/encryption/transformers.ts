/** The transformers of a configuration, by store key. */
import { hash } from "node:crypto";

import type { EncryptionRule } from "./config.ts";
import { identity } from "./identity.ts";
import { ProviderList, type ValueTransformer } from "./transformer.ts";

/** A rule with its opened providers. */
interface OpenRule extends Pick<EncryptionRule, "resources"> {
  readonly providers: readonly ValueTransformer[];
}

const registry = "/registry/";

/** Returns the rules for a resource: all rules that name it, otherwise the first rule with a wildcard for it. */
export function rulesFor<T extends Pick<EncryptionRule, "resources">>(
  rules: readonly T[],
  group: string,
  resource: string,
): readonly T[] {
  const names = group === "" ? [resource, `${resource}.`] : [`${resource}.${group}`];
  const isNamed = (one: string): boolean => names.includes(one);
  const named = rules.filter(({ resources }) => resources.some(isNamed));
  const isMeant = (one: string): boolean => one === `*.${group}` || one === "*.*";
  return named.length > 0 ? named : rules.filter(({ resources }) => resources.some(isMeant)).slice(0, 1);
}

export class Transformers {
  readonly #rules: readonly OpenRule[];
  /** The transformers by that part of a key that names group and resource. */
  readonly #byResource = new Map<string, ValueTransformer>();

  constructor(rules: readonly OpenRule[]) {
    this.#rules = rules;
  }

  /**
   * A name of the forms in which values are encrypted now: it is the same for the same resources and first keys. `undefined`
   * while a provider does not know its key.
   */
  get formName(): string | undefined {
    const forms = this.#rules.map(({ resources, providers }) => ({
      resources,
      origin: (providers[0] ?? identity).origin,
    }));
    if (forms.some(({ origin }) => origin === undefined)) return undefined;
    return hash("sha256", JSON.stringify(forms));
  }

  /** Returns the transformer of a key: by the rules for its resource, or `identity` without a rule. */
  of(key: string): ValueTransformer {
    const groupEnd = key.indexOf("/", registry.length);
    const end = key.indexOf("/", groupEnd + 1);
    if (groupEnd < 0 || end < 0) return identity;
    const resource = key.slice(registry.length, end);
    let transformer = this.#byResource.get(resource);
    if (transformer === undefined) {
      transformer = this.#find(key.slice(registry.length, groupEnd), key.slice(groupEnd + 1, end));
      this.#byResource.set(resource, transformer);
    }
    return transformer;
  }

  #find(group: string, resource: string): ValueTransformer {
    // The server reads its own records before anything is decrypted.
    if (group === "binnacle") return identity;
    const rules = rulesFor(this.#rules, group === "core" ? "" : group, resource);
    const [first, ...others] = rules.flatMap(({ providers }) => providers);
    return first === undefined ? identity : new ProviderList(first, ...others);
  }
}
