/**
 * The policies of one kind and their bindings. Hot path: every write asks for those that may have a word about its
 * resource; the answer is kept until a policy or the served resources change.
 */
import type { MatchResources as PolicyMatch, ParamKind, ParamRef } from "#api/admissionregistration/v1.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { type Matched, type MatchEnvironment, type MatchRule, RequestMatcher } from "../matching.ts";
import type { AdmissionAttributes } from "../plugin.ts";

interface PolicyObject extends ApiObject {
  readonly spec: { readonly paramKind?: ParamKind; readonly matchConstraints?: PolicyMatch };
}

interface BindingObject extends ApiObject {
  readonly spec: { readonly policyName?: string; readonly paramRef?: ParamRef; readonly matchResources?: PolicyMatch };
}

/** A binding, and what it narrows its policy to. */
export interface Binding<Object extends BindingObject> {
  readonly name: string;
  readonly object: Object;
  /** `undefined`: all that the policy applies to. */
  readonly matcher: RequestMatcher | undefined;
}

/** A policy that is in force. */
export interface BoundPolicy<Object extends PolicyObject, B extends BindingObject, Compiled> {
  readonly name: string;
  readonly object: Object;
  readonly matcher: RequestMatcher;
  /** Its expressions, compiled when they are first asked for. */
  compiled(): Compiled;
  /** At least one, by name. */
  readonly bindings: readonly Binding<B>[];
}

type Kept<Object extends PolicyObject, Compiled> = Omit<BoundPolicy<Object, never, Compiled>, "bindings">;

export class PolicyTable<Object extends PolicyObject, B extends BindingObject, Compiled> {
  readonly #compile: (policy: Object) => Compiled;
  readonly #policies = new Map<string, Kept<Object, Compiled>>();
  readonly #bindings = new Map<string, Binding<B>>();
  /** Those with bindings, by name; `undefined` after a change. */
  #bound: readonly BoundPolicy<Object, B, Compiled>[] | undefined;
  readonly #candidates = new Map<string, Candidates<BoundPolicy<Object, B, Compiled>>>();

  constructor(compile: (policy: Object) => Compiled) {
    this.#compile = compile;
  }

  /** Takes note of a policy; of none when it is `undefined`. */
  setPolicy(name: string, object: Object | undefined): void {
    this.#changed();
    if (object === undefined) {
      this.#policies.delete(name);
      return;
    }
    let compiled: Compiled | undefined;
    const compile = this.#compile;
    const matcher = new RequestMatcher(matchOf(object.spec.matchConstraints ?? {}));
    this.#policies.set(name, { name, object, matcher, compiled: () => (compiled ??= compile(object)) });
  }

  setBinding(name: string, object: B | undefined): void {
    this.#changed();
    if (object === undefined) {
      this.#bindings.delete(name);
      return;
    }
    const { matchResources } = object.spec;
    const matcher = matchResources === undefined ? undefined : new RequestMatcher(matchOf(matchResources));
    this.#bindings.set(name, { name, object, matcher });
  }

  clear(what: "policies" | "bindings"): void {
    this.#changed();
    if (what === "policies") this.#policies.clear();
    else this.#bindings.clear();
  }

  #changed(): void {
    this.#bound = undefined;
    this.#candidates.clear();
  }

  /** Whether no policy is in force. */
  get isEmpty(): boolean {
    return this.#policies.size === 0 || this.#bindings.size === 0;
  }

  /** Those whose rules name the resource and the operation, by name; whether they match is still to be asked. */
  candidates(
    { operation, resource, subresource }: AdmissionAttributes,
    environment: MatchEnvironment,
  ): readonly BoundPolicy<Object, B, Compiled>[] {
    const forms = environment.equivalents(resource, subresource);
    const key = `${operation} ${resource.group}/${resource.version}/${resource.resource}/${subresource}`;
    const known = this.#candidates.get(key);
    if (known?.forms === forms) return known.policies;
    const names = forms.length === 0 ? [{ resource }] : forms;
    const policies = this.#inForce().filter(({ object }) =>
      mayMatch(object.spec.matchConstraints?.resourceRules ?? [], operation, names, subresource),
    );
    this.#candidates.set(key, { forms, policies });
    return policies;
  }

  #inForce(): readonly BoundPolicy<Object, B, Compiled>[] {
    this.#bound ??= byName(this.#policies.values()).flatMap((policy) => {
      const bindings = byName(this.#bindings.values()).filter(({ object }) => object.spec.policyName === policy.name);
      return bindings.length === 0 ? [] : [{ ...policy, bindings }];
    });
    return this.#bound;
  }
}

interface Candidates<Policy> {
  readonly forms: readonly Matched[];
  readonly policies: readonly Policy[];
}

const byName = <T extends { readonly name: string }>(all: Iterable<T>): T[] =>
  [...all].sort((one, other) => (one.name < other.name ? -1 : 1));

const matchOf = ({ resourceRules, excludeResourceRules, ...selectors }: PolicyMatch) => ({
  ...selectors,
  // Without rules, a binding applies to all that its policy does.
  rules: (resourceRules ?? []).length === 0 ? undefined : resourceRules,
  excludes: excludeResourceRules,
});

function mayMatch(
  rules: readonly MatchRule[],
  operation: string,
  names: readonly Pick<Matched, "resource">[],
  subresource: string,
): boolean {
  const has = (list: readonly string[] | undefined, wanted: string): boolean =>
    list !== undefined && (list.includes("*") || list.includes(wanted));
  return rules.some(
    ({ operations, apiGroups, resources = [] }) =>
      has(operations, operation) &&
      names.some(
        ({ resource }) =>
          has(apiGroups, resource.group) && resources.some((text) => fits(text, resource.resource, subresource)),
      ),
  );
}

function fits(text: string, resource: string, subresource: string): boolean {
  const [name = "", part = ""] = text.split("/", 2);
  return (name === "*" || name === resource) && (part === "*" || part === subresource);
}
