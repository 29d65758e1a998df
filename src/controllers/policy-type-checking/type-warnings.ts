/** Finds type errors in the expressions of a validating policy, given the types of the kinds that it names. */
import type { ExpressionWarning, ValidatingAdmissionPolicySpec } from "#api/admissionregistration/v1.ts";
import { kindEnvironment, type NamedSchema, typeFindings, withTypedVariables } from "#cel/kind-expressions.ts";
import { apiVersionOf, type GroupVersion, type GroupVersionKind, parseApiVersion } from "#meta/group-version.ts";
import type { Steps } from "#std/cooperative.ts";

/** The information about served kinds that the controller needs. */
export interface ServedKinds {
  /** Returns the kinds of the resources of this name, plural or singular; without a group, those of all groups. */
  ofResource(of: GroupVersion & { readonly resource: string }): readonly (GroupVersion & NamedSchema)[];
  ofKind(gvk: GroupVersionKind): NamedSchema | undefined;
  /** Whether checks of the authorizer may have selectors. */
  readonly hasSelectors: boolean;
}

/** The length of expressions after whose check others have a turn; it takes a millisecond. */
const pieceLength = 1000;

/** Returns the findings about each expression of the validations, with those of all kinds together. */
export function* typeWarnings(
  spec: ValidatingAdmissionPolicySpec,
  kinds: ServedKinds,
): Steps<readonly ExpressionWarning[]> {
  const { paramKind, validations = [], variables = [] } = spec;
  const params = paramKind && kindOf(paramKind.apiVersion ?? "", paramKind.kind ?? "", kinds);
  // Upstream's check does not know the resource of the request.
  const about = { hasSelectors: kinds.hasSelectors, hasRequestResource: false };
  const environmentsByKind = [];
  for (const { group, version, ...named } of kindsToCheck(spec, kinds)) {
    const title = `${group}/${version}, Kind=${named.kind}`;
    const [expression, messageExpression] = [
      kindEnvironment({ ...about, hasAuthorizer: true }, named, params),
      kindEnvironment({ ...about, hasAuthorizer: false }, named, params),
    ];
    environmentsByKind.push({
      title,
      expression: yield* withTypedVariables(expression, variables),
      messageExpression: yield* withTypedVariables(messageExpression, variables),
    });
  }
  const warnings: ExpressionWarning[] = [];
  let length = 0;
  for (const [at, validation] of validations.entries()) {
    for (const name of ["expression", "messageExpression"] as const) {
      const source = validation[name] ?? "";
      if (source === "") continue;
      const findings: string[] = [];
      for (const environments of environmentsByKind) {
        if (length > pieceLength) {
          length = 0;
          yield undefined;
        }
        const finding = yield* typeFindings(source, environments[name]);
        if (finding !== undefined) findings.push(`${environments.title}: ${finding}\n`);
        length += source.length;
      }
      if (findings.length === 0) continue;
      warnings.push({ fieldRef: `spec.validations[${at}].${name}`, warning: findings.join("\n") });
    }
  }
  return warnings;
}

function kindOf(apiVersion: string, kind: string, kinds: ServedKinds): NamedSchema | undefined {
  const version = parseApiVersion(apiVersion);
  return version === undefined ? undefined : kinds.ofKind({ ...version, kind });
}

/** The maximum number of kinds of one policy that are checked. */
const kindsMax = 10;

/**
 * Returns the kinds that rules name without a wildcard, by group, version and kind; if there are too many, those of the
 * first resources.
 */
function kindsToCheck({ matchConstraints }: ValidatingAdmissionPolicySpec, kinds: ServedKinds) {
  const all = new Map<string, GroupVersion & NamedSchema>();
  const add = (group: string, version: string, resource: string): void => {
    for (const kind of kinds.ofResource({ group, version, resource })) {
      if (all.size < kindsMax) all.set(`${apiVersionOf(kind)} ${kind.kind}`, kind);
    }
  };
  for (const { apiGroups = [], apiVersions = [], resources = [] } of matchConstraints?.resourceRules ?? []) {
    if (apiGroups.includes("*") || apiVersions.includes("*")) continue;
    const names = resources.filter((name) => !name.includes("*") && !name.includes("/")).toSorted();
    for (const name of names) {
      for (const group of apiGroups.toSorted()) for (const version of apiVersions.toSorted()) add(group, version, name);
    }
  }
  const order = ({ group, version, kind }: GroupVersionKind): string => `${group}\0${version}\0${kind}`;
  return [...all.values()].sort((one, other) => (order(one) < order(other) ? -1 : 1));
}
