/**
 * Tells which requests a webhook or a policy applies to: by rules, exclusions, and selectors of namespaces and objects,
 * parsed once. Hot path: every write checks each webhook and policy, and most do not match, so cheap checks come first.
 * Source: upstream's `admission/plugin/webhook/predicates` and `admission/plugin/policy/matching`.
 */
import type { Namespace } from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { GroupVersionKind, GroupVersionResource } from "#meta/group-version.ts";
import { compileLabelSelector, type LabelSelectorObject } from "#meta/label-selector.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { LabelSelector } from "#meta/selector.ts";
import { internalError, notFound } from "#meta/status-error.ts";
import type { AdmissionAttributes } from "./plugin.ts";

/** A rule of the API types. Only rules of policies name objects. */
export interface MatchRule {
  /** `*` is every operation. */
  readonly operations?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  /**
   * `pods`, `pods/status`, `pods/*` or `*`; with `*` before the slash, this subresource of every resource. A name
   * without a slash is the main resource only.
   */
  readonly resources?: readonly string[];
  /** `Cluster`, `Namespaced`, or `*`, which is also the default. */
  readonly scope?: string;
  /** The names of objects; an empty list is every name. */
  readonly resourceNames?: readonly string[];
}

/** The members of a webhook, or of a policy's constraints, that say what it applies to. */
export interface MatchCriteria {
  /** One of these rules has to match. Left out: every request does; an empty list matches none. */
  readonly rules?: readonly MatchRule[] | undefined;
  /** None of these rules may match. */
  readonly excludes?: readonly MatchRule[] | undefined;
  /** Left out: every namespace. */
  readonly namespaceSelector?: LabelSelectorObject | null | undefined;
  /** Left out: every object. */
  readonly objectSelector?: LabelSelectorObject | null | undefined;
  /** `Exact`, or `Equivalent`, which is also the default. */
  readonly matchPolicy?: string | undefined;
}

/** The form in which the rules match a request: its own, or that of an equivalent version. */
export interface Matched {
  readonly resource: GroupVersionResource;
  readonly kind: GroupVersionKind;
}

/** The information about the server that matching needs; it is in memory. */
export interface MatchEnvironment {
  /** Returns the same resource or subresource in all its served groups and versions, the given one first. */
  equivalents(resource: GroupVersionResource, subresource: string): readonly Matched[];
  getNamespace(name: string): Namespace | undefined;
}

/** Compares requests with rules and selectors. */
export class RequestMatcher {
  readonly #rules: readonly CompiledRule[] | undefined;
  readonly #excludes: readonly CompiledRule[];
  readonly #isExact: boolean;
  readonly #namespaceSelector: Selecting;
  readonly #objectSelector: Selecting;

  constructor({ rules, excludes, namespaceSelector, objectSelector, matchPolicy }: MatchCriteria) {
    this.#rules = rules?.map(compileRule);
    this.#excludes = (excludes ?? []).map(compileRule);
    this.#isExact = matchPolicy === "Exact";
    this.#namespaceSelector = compileSelector(namespaceSelector);
    this.#objectSelector = compileSelector(objectSelector);
  }

  /**
   * Returns the form in which the request matches; `undefined` when it does not. Throws `notFound` when the namespace
   * of the request does not exist and a selector needs its labels, and an internal error for a selector that cannot be
   * read.
   */
  match(attributes: AdmissionAttributes, environment: MatchEnvironment): Matched | undefined {
    const matched = this.#rules === undefined ? attributes : this.#find(this.#rules, attributes, environment);
    if (matched === undefined) return undefined;
    if (this.#excludes.length > 0 && this.#find(this.#excludes, attributes, environment) !== undefined) {
      return undefined;
    }
    if (!this.#selectsObject(attributes) || !this.#selectsNamespace(attributes, environment)) return undefined;
    return matched;
  }

  #find(
    rules: readonly CompiledRule[],
    attributes: AdmissionAttributes,
    environment: MatchEnvironment,
  ): Matched | undefined {
    const { resource, subresource } = attributes;
    const applying = rules.filter((rule) => rule.appliesTo(attributes));
    if (applying.some((rule) => rule.names(resource, subresource))) return attributes;
    if (this.#isExact || applying.length === 0) return undefined;
    const [, ...others] = environment.equivalents(resource, subresource);
    if (others.length === 0) return undefined;
    // Upstream: an earlier rule has precedence over an earlier version.
    for (const rule of applying) {
      const equivalent = others.find((other) => rule.names(other.resource, subresource));
      if (equivalent !== undefined) return equivalent;
    }
    return undefined;
  }

  #selectsObject({ object, oldObject }: AdmissionAttributes): boolean {
    const selector = this.#objectSelector;
    if (selector === "everything") return true;
    if (selector === "unreadable") throw internalError("the object selector cannot be read");
    return hasLabels(object, selector) || hasLabels(oldObject, selector);
  }

  #selectsNamespace(attributes: AdmissionAttributes, { getNamespace }: MatchEnvironment): boolean {
    const selector = this.#namespaceSelector;
    if (selector === "everything") return true;
    const { resource, subresource, operation, object } = attributes;
    const isNamespace = resource.resource === "namespaces";
    if (attributes.namespace === "" && !isNamespace) return true;
    if (selector === "unreadable") throw internalError("the namespace selector cannot be read");
    // A namespace that is written matches by its new labels.
    if (isNamespace && subresource === "" && (operation === "CREATE" || operation === "UPDATE")) {
      return hasLabels(object, selector);
    }
    const name = isNamespace ? attributes.name : attributes.namespace;
    const namespace = getNamespace(name);
    if (namespace === undefined) throw notFound({ group: "", resource: "namespaces" }, name);
    return selector.matches(namespace.metadata.labels);
  }
}

/** Whether no webhook and no policy ever sees the object: so each of them can be mended when it refuses everything. */
export function isExempt({ kind: { group, kind } }: AdmissionAttributes, { rename }: ApiDomain): boolean {
  return exemptKinds.has(kind) && group === rename("admissionregistration.k8s.io");
}

const exemptKinds: ReadonlySet<string> = new Set([
  "ValidatingWebhookConfiguration",
  "MutatingWebhookConfiguration",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
  "MutatingAdmissionPolicy",
  "MutatingAdmissionPolicyBinding",
]);

const hasLabels = (object: ApiObject | undefined, selector: LabelSelector): boolean =>
  object !== undefined && selector.matches(object.metadata?.labels);

/** A selector, or `everything` when there is none, or `unreadable`. */
type Selecting = LabelSelector | "everything" | "unreadable";

function compileSelector(selector: LabelSelectorObject | null | undefined): Selecting {
  if (selector === undefined || selector === null) return "everything";
  const compiled = compileLabelSelector(selector);
  if (compiled === undefined) return "unreadable";
  return compiled.empty ? "everything" : compiled;
}

interface CompiledRule {
  /** Whether the parts of a request fit that are the same in every version: operation, scope, object name. */
  appliesTo(attributes: AdmissionAttributes): boolean;
  names(resource: GroupVersionResource, subresource: string): boolean;
}

function compileRule(rule: MatchRule): CompiledRule {
  const isOperation = oneOf(rule.operations);
  const isGroup = oneOf(rule.apiGroups);
  const isVersion = oneOf(rule.apiVersions);
  const parts = (rule.resources ?? []).map(splitPart);
  const { scope, resourceNames = [] } = rule;
  return {
    appliesTo: (attributes) =>
      isOperation(attributes.operation) &&
      (resourceNames.length === 0 || resourceNames.includes(attributes.name)) &&
      isInScope(scope, attributes),
    names: ({ group, version, resource }, subresource) =>
      parts.some(([name, part]) => fits(name, resource) && fits(part, subresource)) &&
      isGroup(group) &&
      isVersion(version),
  };
}

const fits = (wanted: string, actual: string): boolean => wanted === "*" || wanted === actual;

function splitPart(text: string): readonly [resource: string, subresource: string] {
  const slash = text.indexOf("/");
  return slash < 0 ? [text, ""] : [text.slice(0, slash), text.slice(slash + 1)];
}

function oneOf(wanted: readonly string[] = []): (value: string) => boolean {
  if (wanted.includes("*")) return () => true;
  const [only] = wanted;
  if (wanted.length === 1) return (value) => value === only;
  const all = new Set(wanted);
  return (value) => all.has(value);
}

/**
 * Whether a resource is in the scope of a rule. A namespace counts as cluster-scoped, although its requests name it as
 * their namespace.
 */
function isInScope(scope: string | undefined, { resource, namespace }: AdmissionAttributes): boolean {
  if (scope !== "Namespaced" && scope !== "Cluster") return true;
  const isNamespaced = namespace !== "" && resource.resource !== "namespaces";
  return isNamespaced === (scope === "Namespaced");
}
