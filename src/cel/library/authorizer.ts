/**
 * Kubernetes' `authorizer` library: function calls build a check (`group`, `resource`, `namespace`, …), and
 * `check(verb)` sends it to the authorizers. Selectors are a separate library, because they have a feature gate.
 */
import { dns1123Label, dns1123Subdomain } from "#meta/names.ts";
import type { RequestAttributes } from "#meta/request-attributes.ts";
import {
  type FieldRequirement,
  type LabelRequirement,
  parseFieldRequirements,
  parseLabelSelector,
} from "#meta/selector.ts";
import { StatusError } from "#meta/status-error.ts";
import type { UserInfo } from "#meta/user-info.ts";
import { traversal } from "../evaluate/costs.ts";
import { sizeOf } from "../evaluate/kinds.ts";
import type { CallCost, Library, Overload } from "../functions.ts";
import { bool, type OpaqueType, opaque, string, type CelType } from "../types.ts";
import { CelError, Opaque, type Value } from "../values.ts";
import { member, memberFunction } from "./declare.ts";

/** An action, in the form that authorizers accept. */
export interface CheckAttributes extends RequestAttributes {
  readonly user: UserInfo;
  readonly fieldSelector?: readonly FieldRequirement[];
  readonly labelSelector?: readonly LabelRequirement[];
}

/** An authorizer's answer. */
export interface CheckVerdict {
  readonly decision: "allow" | "deny" | "noOpinion";
  readonly reason: string;
  readonly error?: string;
}

/** The resource of a request, for `authorizer.requestResource`. */
export interface CheckedResource {
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

const opaqueNamed = (name: string): OpaqueType => opaque(`kubernetes.authorization.${name}`);
/** The type of the variable `authorizer`. */
export const authorizerType = opaqueNamed("Authorizer");
const pathCheckType = opaqueNamed("PathCheck");
const groupCheckType = opaqueNamed("GroupCheck");
/** The type of the variable `authorizer.requestResource`. */
export const resourceCheckType = opaqueNamed("ResourceCheck");
const decisionType = opaqueNamed("Decision");

type Ask = (attributes: CheckAttributes) => CheckVerdict;

/** A value of this library. Its values cannot be compared. */
abstract class Step extends Opaque {
  equals(): undefined {
    return undefined;
  }
}

class AuthorizerValue extends Step {
  readonly type = authorizerType;
  readonly user: UserInfo;
  readonly ask: Ask;

  constructor(user: UserInfo, ask: Ask) {
    super();
    this.user = user;
    this.ask = ask;
  }

  ofResource({ group, resource, subresource, namespace, name }: CheckedResource): ResourceCheck {
    const attributes = { ...nothing, user: this.user, isResourceRequest: true, group, version: "*" };
    return new ResourceCheck(this.ask, { ...attributes, resource, subresource, namespace, name });
  }
}

/** Returns the value of `authorizer` for a user. */
export const authorizerValue = (user: UserInfo, ask: Ask): AuthorizerValue => new AuthorizerValue(user, ask);

const nothing = {
  isResourceRequest: false,
  path: "",
  verb: "",
  group: "",
  version: "",
  namespace: "",
  resource: "",
  subresource: "",
  name: "",
};

/** A check that is complete except for its verb. */
abstract class Check extends Step {
  readonly ask: Ask;
  readonly attributes: CheckAttributes;

  constructor(ask: Ask, attributes: CheckAttributes) {
    super();
    this.ask = ask;
    this.attributes = attributes;
  }
}

class PathCheck extends Check {
  readonly type = pathCheckType;
}

class GroupCheck extends Step {
  readonly type = groupCheckType;
  readonly authorizer: AuthorizerValue;
  readonly group: string;

  constructor(authorizer: AuthorizerValue, group: string) {
    super();
    this.authorizer = authorizer;
    this.group = group;
  }
}

class ResourceCheck extends Check {
  readonly type = resourceCheckType;
}

class DecisionValue extends Step {
  readonly type = decisionType;
  readonly verdict: CheckVerdict;

  constructor(verdict: CheckVerdict) {
    super();
    this.verdict = verdict;
  }
}

type Call = NonNullable<Overload["call"]>;

const path: Call = ([authorizer, text]) => {
  if (!(authorizer instanceof AuthorizerValue) || typeof text !== "string") return undefined;
  if (text === "") return new CelError("path must not be empty");
  return new PathCheck(authorizer.ask, { ...nothing, user: authorizer.user, path: text });
};

const group: Call = ([authorizer, name]) =>
  authorizer instanceof AuthorizerValue && typeof name === "string" ? new GroupCheck(authorizer, name) : undefined;

const resource: Call = ([check, name]) => {
  if (!(check instanceof GroupCheck) || typeof name !== "string") return undefined;
  if (name === "") return new CelError("resource must not be empty");
  return check.authorizer.ofResource({ group: check.group, resource: name, subresource: "", namespace: "", name: "" });
};

/**
 * Returns the authorizer for a service account. The account was not authenticated, so it is in no group of
 * authenticated users.
 */
const serviceAccount: Call = ([authorizer, namespace, name]) => {
  if (!(authorizer instanceof AuthorizerValue)) return undefined;
  if (typeof namespace !== "string" || typeof name !== "string") return undefined;
  if (dns1123Subdomain(name).length > 0) return new CelError("Invalid service account name");
  if (dns1123Label(namespace).length > 0) return new CelError("Invalid service account namespace");
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
  return authorizerValue({ name: `system:serviceaccount:${namespace}:${name}`, groups }, authorizer.ask);
};

/** Returns a function that adds attributes to the check of a resource. */
const refine =
  (more: (text: string) => Partial<CheckAttributes>): Call =>
  ([check, text]) =>
    check instanceof ResourceCheck && typeof text === "string"
      ? new ResourceCheck(check.ask, { ...check.attributes, ...more(text) })
      : undefined;

/** Parses a selector. Returns nothing for an invalid selector: the authorizer decides as if there were none. */
function readable(parse: () => Partial<CheckAttributes>): Partial<CheckAttributes> {
  try {
    return parse();
  } catch (error) {
    if (error instanceof StatusError) return {};
    throw error;
  }
}

const check: Call = ([one, verb]) =>
  (one instanceof PathCheck || one instanceof ResourceCheck) && typeof verb === "string"
    ? new DecisionValue(one.ask({ ...one.attributes, verb }))
    : undefined;

const fixedCost = (cost: number): CallCost => ({
  actual: () => cost,
  estimate: () => ({ cost: { min: cost, max: cost } }),
});

/** The cost of a question to an authorizer, which may be remote. */
const checkCost = fixedCost(350_000);

/**
 * Returns the cost of a selector: a traversal of the text, and a requirement with its parts for every two characters.
 */
const selectCost = (size: number): number => 10 + Math.ceil(size / 2) * 50 + traversal(size);
const selectorCost: CallCost = {
  actual: ([, text]) => selectCost(sizeOf(text!)),
  estimate: ([, text]) => ({ cost: { min: selectCost(text!.min), max: selectCost(text!.max) } }),
};

/** Declares a function that adds attributes to the check of a resource. */
const ofResource = (name: string, more: (text: string) => Partial<CheckAttributes>, cost?: CallCost) => {
  const id = `resourcecheck_${name.toLowerCase()}`;
  return memberFunction(name, id, [resourceCheckType, string], resourceCheckType, refine(more), cost);
};

/** Declares a function that reads a decision. */
const ofDecision = (name: string, result: CelType, read: (verdict: CheckVerdict) => Value) =>
  memberFunction(name, `decision_${name}`, [decisionType], result, ([decision]) =>
    decision instanceof DecisionValue ? read(decision.verdict) : undefined,
  );

export const authorizerLibrary: Library = {
  name: "k8s.authz",
  functions: [
    memberFunction("path", "authorizer_path", [authorizerType, string], pathCheckType, path),
    memberFunction("group", "authorizer_group", [authorizerType, string], groupCheckType, group),
    memberFunction(
      "serviceAccount",
      "authorizer_serviceaccount",
      [authorizerType, string, string],
      authorizerType,
      serviceAccount,
    ),
    memberFunction("resource", "groupcheck_resource", [groupCheckType, string], resourceCheckType, resource),
    ofResource("subresource", (subresource) => ({ subresource })),
    ofResource("namespace", (namespace) => ({ namespace })),
    ofResource("name", (name) => ({ name })),
    {
      name: "check",
      overloads: [
        member("pathcheck_check", [pathCheckType, string], decisionType, check, checkCost),
        member("resourcecheck_check", [resourceCheckType, string], decisionType, check, checkCost),
      ],
    },
    ofDecision("allowed", bool, ({ decision }) => decision === "allow"),
    ofDecision("reason", string, ({ reason }) => reason),
    ofDecision("errored", bool, ({ error }) => error !== undefined),
    ofDecision("error", string, ({ error }) => error ?? ""),
  ],
};

/** The functions for which the feature gate `AuthorizeWithSelectors` must be on. */
export const authorizerSelectorsLibrary: Library = {
  name: "k8s.authzselectors",
  functions: [
    ofResource(
      "fieldSelector",
      (text) => readable(() => ({ fieldSelector: parseFieldRequirements(text) })),
      selectorCost,
    ),
    ofResource(
      "labelSelector",
      (text) => readable(() => ({ labelSelector: parseLabelSelector(text).requirements })),
      selectorCost,
    ),
  ],
};
