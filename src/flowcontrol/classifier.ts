/**
 * Finds the flow schema of a request: the first match in order. Source: upstream's `util/flowcontrol/rule`. Hot path:
 * the schemas that can match a user are cached, so that a request costs one look-up and a few rules.
 */
import type { UserInfo } from "#meta/user-info.ts";
import type { FlowRequest } from "./flow-request.ts";
import { type CompiledSchema, matches, rulesFor } from "./flow-schema.ts";

type Candidate<Schema> = readonly [schema: Schema, rules: ReturnType<typeof rulesFor>];

interface CachedCandidates<Schema> {
  groups: readonly string[];
  readonly candidates: readonly Candidate<Schema>[];
}

/** The maximum number of users in the cache, which is cleared when it is full. */
const usersMax = 10_000;

export class Classifier<Schema extends { readonly schema: CompiledSchema }> {
  readonly #schemas: readonly Schema[];
  readonly #users = new Map<string, CachedCandidates<Schema>>();

  /** `schemas` are in the order in which they are tried. */
  constructor(schemas: readonly Schema[]) {
    this.#schemas = schemas;
  }

  /** Returns the first schema that matches; `undefined` when none does. */
  classify({ user, info }: FlowRequest): Schema | undefined {
    for (const [schema, rules] of this.#candidates(user)) if (matches(rules, info)) return schema;
    return undefined;
  }

  #candidates(user: UserInfo): readonly Candidate<Schema>[] {
    const cached = this.#users.get(user.name);
    if (cached !== undefined && sameGroups(cached.groups, user.groups)) {
      cached.groups = user.groups;
      return cached.candidates;
    }
    const candidates = this.#schemas.flatMap((schema): Candidate<Schema>[] => {
      const rules = rulesFor(schema.schema, user);
      return rules.length === 0 ? [] : [[schema, rules]];
    });
    if (this.#users.size >= usersMax) this.#users.clear();
    this.#users.set(user.name, { groups: user.groups, candidates });
    return candidates;
  }
}

function sameGroups(previous: readonly string[], groups: readonly string[]): boolean {
  if (previous === groups) return true;
  if (previous.length !== groups.length) return false;
  for (let i = 0; i < previous.length; i++) if (previous[i] !== groups[i]) return false;
  return true;
}
