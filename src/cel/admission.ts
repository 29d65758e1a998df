/**
 * Compiles expressions of admission: match conditions of webhooks, and all expressions of policies. Their variables are
 * plain JSON without declared types, except `request`, `namespaceObject` and the `variables` of a policy. Source: the
 * documentation of admission policies in Kubernetes, and the answers of kube-apiserver.
 */
import type { Environment } from "./environment.ts";
import type { Program } from "./evaluate.ts";
import type { ExpressionBudget } from "./expression-budget.ts";
import { environmentWith, instantiate, objectOf, type Problem } from "./expression.ts";
import { objectConfigurationType, patchType } from "./mutation.ts";
import {
  authorizerLibrary,
  authorizerSelectorsLibrary,
  authorizerType,
  resourceCheckType,
} from "./library/authorizer.ts";
import type { Library } from "./functions.ts";
import { isReserved } from "./schema/field-name.ts";
import type { Steps } from "#std/cooperative.ts";
import {
  bool,
  type CelType,
  dyn,
  int,
  listOf,
  mapOf,
  nullType,
  type ObjectType,
  string,
  timestamp,
  typeName,
} from "./types.ts";

/** The purpose of an expression; it decides which types its value may have. */
export type ExpressionPurpose =
  | "condition"
  | "message"
  | "auditAnnotation"
  | "variable"
  | "applyConfiguration"
  | "jsonPatch";

const valueTypes: Readonly<Record<ExpressionPurpose, readonly CelType[]>> = {
  condition: [bool],
  message: [string],
  auditAnnotation: [string, nullType],
  variable: [],
  applyConfiguration: [objectConfigurationType],
  jsonPatch: [patchType],
};

/** The properties that decide which variables an expression sees, and which functions it may use. */
export interface AdmissionVariables {
  /** Whether `authorizer` has `requestResource`; true by default. */
  readonly hasRequestResource?: boolean;
  /** Whether the variable `params` exists. */
  readonly hasParams: boolean;
  /** Whether the variable `authorizer` exists; messages of policies have none. */
  readonly hasAuthorizer: boolean;
  /** Whether checks of the authorizer may have selectors (feature gate `AuthorizeWithSelectors`). */
  readonly hasSelectors: boolean;
  /** Whether the expressions are new, which means not stored yet: they may use only what the previous release knows. */
  readonly isNew?: boolean;
}

const groupVersionKind = objectOf("kubernetes.GroupVersionKind", { group: string, version: string, kind: string });
const groupVersionResource = objectOf("kubernetes.GroupVersionResource", {
  group: string,
  version: string,
  resource: string,
});

const requestType = objectOf("kubernetes.AdmissionRequest", {
  kind: groupVersionKind,
  resource: groupVersionResource,
  subResource: string,
  requestKind: groupVersionKind,
  requestResource: groupVersionResource,
  requestSubResource: string,
  name: string,
  namespace: string,
  operation: string,
  userInfo: objectOf("kubernetes.UserInfo", {
    username: string,
    uid: string,
    groups: listOf(string),
    extra: mapOf(string, listOf(string)),
  }),
  dryRun: bool,
  options: dyn,
});

const namespaceType = objectOf("kubernetes.Namespace", {
  metadata: objectOf("kubernetes.NamespaceMetadata", {
    name: string,
    generateName: string,
    namespace: string,
    labels: mapOf(string, string),
    annotations: mapOf(string, string),
    UID: string,
    creationTimestamp: timestamp,
    deletionGracePeriodSeconds: int,
    deletionTimestamp: timestamp,
    generation: int,
    resourceVersion: string,
    finalizers: listOf(string),
  }),
  spec: objectOf("kubernetes.NamespaceSpec", { finalizers: listOf(string) }),
  status: objectOf("kubernetes.NamespaceStatus", {
    phase: string,
    conditions: listOf(
      objectOf("kubernetes.NamespaceCondition", {
        type: string,
        status: string,
        lastTransitionTime: timestamp,
        reason: string,
        message: string,
      }),
    ),
  }),
});

const baseOf = (libraries: readonly Library[], isNew: boolean): Environment =>
  environmentWith({ libraries }, { isNew });

/**
 * The environments of stored expressions, without and with selectors of the authorizer; `fresh` has those of new ones.
 */
const stored = {
  plain: baseOf([authorizerLibrary], false),
  selecting: baseOf([authorizerLibrary, authorizerSelectorsLibrary], false),
};
const fresh = {
  plain: baseOf([authorizerLibrary], true),
  selecting: baseOf([authorizerLibrary, authorizerSelectorsLibrary], true),
};

/** Returns the environment of expressions with these variables. */
export function admissionEnvironment(about: AdmissionVariables): Environment {
  const { hasParams, hasAuthorizer, hasSelectors, hasRequestResource = true, isNew = false } = about;
  const variables = new Map<string, CelType>([
    ["object", dyn],
    ["oldObject", dyn],
    ["request", requestType],
    ["namespaceObject", namespaceType],
  ]);
  if (hasParams) variables.set("params", dyn);
  if (hasAuthorizer) {
    variables.set("authorizer", authorizerType);
    if (hasRequestResource) variables.set("authorizer.requestResource", resourceCheckType);
  }
  return (isNew ? fresh : stored)[hasSelectors ? "selecting" : "plain"].extend({ variables });
}

/** Returns the environment with the `variables` of a policy by name. Variables may be added to the map later. */
export function withVariables(environment: Environment, types: ReadonlyMap<string, CelType>): Environment {
  const variables: ObjectType = {
    ...objectOf("kubernetes.variables", {}),
    field: (key) => (types.has(key) ? { key, type: shownType(types.get(key)!), isNullable: true } : undefined),
  };
  return environment.extend({ variables: new Map([["variables", variables]]) });
}

/** Returns the type of a variable as expressions see it. Upstream drops object types and types of libraries. */
function shownType(type: CelType): CelType {
  switch (type.kind) {
    case "list":
      return { ...type, element: shownType(type.element) };
    case "map":
      return mapOf(shownType(type.key), shownType(type.value));
    case "object":
    case "opaque":
    case "type":
    case "parameter":
      return dyn;
    default:
      return type;
  }
}

/** Whether a variable may have this name. */
export const isIdentifier = (name: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !isReserved(name);

/** A program, and the type of its values. */
export interface TypedProgram {
  readonly program: Program;
  readonly type: CelType;
}

/**
 * Compiles an expression for its purpose, in steps, so that others have a turn if that takes long. `environment` comes
 * from `admissionEnvironment` or extends such an environment. All expressions of the object share `budget`.
 */
export function* compileAdmission(
  source: string,
  purpose: ExpressionPurpose,
  environment: Environment,
  budget: ExpressionBudget,
): Steps<TypedProgram | Problem> {
  const checked = yield* budget.check(source, environment);
  if ("problem" in checked) return checked;
  const wanted = valueTypes[purpose].map(typeName);
  const actual = typeName(checked.type);
  if (wanted.length > 0 && !wanted.includes(actual)) {
    const names = wanted.length === 1 ? wanted[0]! : `one of [${wanted.join(" ")}]`;
    return { problem: `must evaluate to ${names} but got ${actual}`, isInternal: false };
  }
  const program = instantiate(checked);
  return "problem" in program ? program : { program, type: checked.type };
}
