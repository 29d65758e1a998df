/**
 * The policies of one kind and their bindings. Hot path: every write looks up the policies for its resource; the result
 * is cached until a policy or the served resources change.
 */
import type {
  MatchResources,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from "#api/admissionregistration/v1.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { type Matched, type MatchEnvironment, type MatchRule, RequestMatcher } from "../matching.ts";
import type { AdmissionAttributes } from "../plugin.ts";

/** The fields that policies of both kinds have. */
interface PolicyObject extends ApiObject {
  readonly spec: Pick<ValidatingAdmissionPolicy["spec"], "paramKind" | "matchConstraints">;
}

interface BindingObject extends ApiObject {
  readonly spec: Pick<ValidatingAdmissionPolicyBinding["spec"], "policyName" | "paramRef" | "matchResources">;
}

/** A binding, and the requests to which it narrows its policy. */
export interface PolicyBinding<Object extends BindingObject> {
  readonly name: string;
  readonly object: Object;
  /** Matches the requests of the binding; `undefined`: all requests to which the policy applies. */
  readonly matcher: RequestMatcher | undefined;
}

/** A policy in force: one that has at least one binding. */
export interface BoundPolicy<Object extends PolicyObject, B extends BindingObject, Compiled> {
  readonly name: string;
  readonly object: Object;
  readonly matcher: RequestMatcher;
  /** Returns the compiled policy, compiled at the first call. */
  compiled(compile: Compile<Object, Compiled>): Compiled;
  /** The bindings by name; there is at least one. */
  readonly bindings: readonly PolicyBinding<B>[];
}

/** `hasSelectors`: whether checks of the authorizer may have selectors (feature gate `AuthorizeWithSelectors`). */
type Compile<Object extends PolicyObject, Compiled> = (spec: Object["spec"], hasSelectors: boolean) => Compiled;

type UnboundPolicy<Object extends PolicyObject, Compiled> = Omit<BoundPolicy<Object, never, Compiled>, "bindings">;

export class PolicyTable<Object extends PolicyObject, B extends BindingObject, Compiled> {
  readonly #hasSelectors: boolean;
  readonly #policies = new Map<string, UnboundPolicy<Object, Compiled>>();
  readonly #bindings = new Map<string, PolicyBinding<B>>();
  /** The bindings by the name of their policy, which may not exist, and by their own name. */
  readonly #bindingsOf = new Map<string, Map<string, PolicyBinding<B>>>();
  /** Policies that have bindings. */
  readonly #bound = new Map<string, BoundPolicy<Object, B, Compiled>>();
  /**
   * The bound policies by operation and resource. A change of one policy updates these lists in place, so that its cost
   * does not grow with the number of others.
   */
  readonly #candidates = new Map<string, Candidates<BoundPolicy<Object, B, Compiled>>>();

  constructor(hasSelectors: boolean) {
    this.#hasSelectors = hasSelectors;
  }

  /** Sets a policy, or removes it when it is `undefined`. */
  setPolicy(name: string, object: Object | undefined): void {
    if (object === undefined) this.#policies.delete(name);
    else {
      let compiled: Compiled | undefined;
      const hasSelectors = this.#hasSelectors;
      const matcher = new RequestMatcher(matchOf(object.spec.matchConstraints ?? {}));
      this.#policies.set(name, {
        name,
        object,
        matcher,
        compiled: (compile) => (compiled ??= compile(object.spec, hasSelectors)),
      });
    }
    this.#bind(name);
  }

  /** Sets a binding, or removes it when it is `undefined`. */
  setBinding(name: string, object: B | undefined): void {
    const before = this.#bindings.get(name)?.object.spec.policyName ?? "";
    if (this.#bindings.delete(name)) {
      const others = this.#bindingsOf.get(before);
      others?.delete(name);
      if (others?.size === 0) this.#bindingsOf.delete(before);
      if (object?.spec.policyName !== before) this.#bind(before);
    }
    if (object === undefined) return;
    const { matchResources, policyName = "" } = object.spec;
    const matcher = matchResources === undefined ? undefined : new RequestMatcher(matchOf(matchResources));
    const binding = { name, object, matcher };
    this.#bindings.set(name, binding);
    const all = this.#bindingsOf.get(policyName) ?? new Map<string, PolicyBinding<B>>();
    this.#bindingsOf.set(policyName, all.set(name, binding));
    this.#bind(policyName);
  }

  clear(what: "policies" | "bindings"): void {
    if (what === "policies") this.#policies.clear();
    else {
      this.#bindings.clear();
      this.#bindingsOf.clear();
    }
    this.#bound.clear();
    this.#candidates.clear();
  }

  /** Brings a policy with its bindings into force, or ends it. */
  #bind(name: string): void {
    const policy = this.#policies.get(name);
    const bindings = this.#bindingsOf.get(name);
    const before = this.#bound.get(name);
    const bound = policy && bindings && { ...policy, bindings: byName(bindings.values()) };
    if (bound === undefined) this.#bound.delete(name);
    else this.#bound.set(name, bound);
    for (const candidate of this.#candidates.values()) {
      const others = before === undefined ? candidate.policies : candidate.policies.filter((one) => one !== before);
      const isCandidate = bound !== undefined && candidate.mayMatch(bound);
      if (isCandidate) candidate.policies = byName([...others, bound]);
      else if (others.length < candidate.policies.length) candidate.policies = others;
    }
  }

  /** Whether there is a policy, and a binding, of these names. */
  has(policy: string, binding: string): boolean {
    return this.#policies.has(policy) && this.#bindings.has(binding);
  }

  /** Whether no policy is in force. */
  get isEmpty(): boolean {
    return this.#bound.size === 0;
  }

  /**
   * Returns the policies whose rules name the resource and the operation, by name. Callers still have to match the
   * request with each.
   */
  candidates(
    { operation, resource, subresource }: AdmissionAttributes,
    environment: MatchEnvironment,
  ): readonly BoundPolicy<Object, B, Compiled>[] {
    const forms = environment.equivalents(resource, subresource);
    const key = `${operation} ${resource.group}/${resource.version}/${resource.resource}/${subresource}`;
    const candidate = this.#candidates.get(key);
    if (candidate?.forms === forms) return candidate.policies;
    const names = forms.length === 0 ? [{ resource }] : forms;
    const mayMatch = ({ object }: BoundPolicy<Object, B, Compiled>): boolean =>
      rulesMayMatch(object.spec.matchConstraints?.resourceRules ?? [], operation, names, subresource);
    const policies = byName(this.#bound.values()).filter(mayMatch);
    // Custom resources come and go, so the cache is bounded.
    if (this.#candidates.size >= candidatesMax) this.#candidates.clear();
    this.#candidates.set(key, { forms, mayMatch, policies });
    return policies;
  }
}

/** The maximum number of resources and operations whose policies are cached. */
const candidatesMax = 5000;

interface Candidates<Policy> {
  readonly forms: readonly Matched[];
  readonly mayMatch: (policy: Policy) => boolean;
  policies: readonly Policy[];
}

const byName = <T extends { readonly name: string }>(all: Iterable<T>): T[] =>
  [...all].sort((one, other) => (one.name < other.name ? -1 : 1));

const matchOf = ({ resourceRules, excludeResourceRules, ...selectors }: MatchResources) => ({
  ...selectors,
  // A binding without rules applies to all requests of its policy.
  rules: (resourceRules ?? []).length === 0 ? undefined : resourceRules,
  excludes: excludeResourceRules,
});

function rulesMayMatch(
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
