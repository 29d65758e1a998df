/** ResourceQuota: limits on the objects of a namespace. Admission enforces them. */
import type { ResourceQuota, ResourceQuotaSpec, ScopedResourceSelectorRequirement } from "#api/core/v1.ts";
import { type FieldError, goTexts, invalid, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { addAll } from "#std/add-all.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import { editField } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { roundAmounts } from "./amounts.ts";
import {
  isQuotaName,
  type OwnPrefix,
  ownPrefix,
  validateQuotaName,
  validateResourceQuantity,
} from "./resource-names.ts";

export function resourceQuotas({ domain }: KindEnvironment): KindBehaviour<ResourceQuota> {
  const own = ownPrefix(domain);
  return {
    returnsDeleted: true,
    columns: [
      nameColumn,
      ageColumn,
      text("Request", "Use and limit of what is requested or counted.", (object) => usageText(object, false)),
      text("Limit", "Use and limit of limits.", (object) => usageText(object, true)),
    ],
    strategy: {
      defaults: (object) =>
        editField(
          editField(object, "spec", (spec) => editField(spec, "hard", roundAmounts)),
          "status",
          (status) => editField(editField(status, "hard", roundAmounts), "used", roundAmounts),
        ),
      validate: ({ spec }) => validateSpec(spec, own),
      validateUpdate: ({ spec }, old) => [...validateSpec(spec, own), ...validateSameScopes(spec, old.spec)],
      subresources: {
        status: {
          validateUpdate: ({ status }) => [
            ...validateAmounts(status.hard, statusPath.child("hard"), own),
            ...validateAmounts(status.used, statusPath.child("used"), own),
          ],
        },
      },
    },
  };
}

function usageText({ status: { hard = {}, used = {} } }: ResourceQuota, ofLimits: boolean): string {
  return Object.keys(hard)
    .filter((name) => name.startsWith("limits.") === ofLimits)
    .sort()
    .map((name) => `${name}: ${Object.hasOwn(used, name) ? used[name]! : "0"}/${hard[name]}`)
    .join(", ");
}

const specPath = FieldPath.of("spec");
const statusPath = FieldPath.of("status");
const scopesPath = specPath.child("scopes");
const expressionsPath = specPath.child("scopeSelector", "matchExpressions");

/** The scopes that do not depend on values. */
const plainScopes = ["BestEffort", "CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating", "Terminating"];
const allScopes = [...plainScopes, "PriorityClass"];
const opposites = [
  ["BestEffort", "NotBestEffort"],
  ["Terminating", "NotTerminating"],
] as const;

const validateSpec = (spec: ResourceQuotaSpec, own: OwnPrefix): FieldError[] => [
  ...validateAmounts(spec.hard, specPath.child("hard"), own),
  ...validateScopes(spec),
  ...validateSelector(spec),
];

function validateAmounts(
  amounts: Readonly<Record<string, string>> | undefined,
  path: FieldPath,
  own: OwnPrefix,
): FieldError[] {
  return Object.entries(amounts ?? {}).flatMap(([name, amount]) => [
    ...validateQuotaName(name, path.key(name)),
    ...validateResourceQuantity(name, amount, path.key(name), own),
  ]);
}

function validateScopes(spec: ResourceQuotaSpec): FieldError[] {
  const { scopes = [] } = spec;
  if (scopes.length === 0) return [];
  const shown = goTexts(scopes, "core.ResourceQuotaScope");
  const errors: FieldError[] = [];
  const misfits = misfitsOf(spec, shown, scopesPath);
  for (const scope of scopes) {
    if (!allScopes.includes(scope)) errors.push(invalid(scopesPath, shown, "unsupported scope"));
    if (errors.length < misfitsMax) addAll(errors, misfits.get(scope) ?? []);
  }
  for (const _pair of conflicts(scopes)) errors.push(invalid(scopesPath, shown, "conflicting scopes"));
  return errors;
}

/**
 * The maximum number of findings about one scope, and the number of all findings after which no more are added: there
 * may be one for each scope and each limit.
 */
const misfitsMax = 1000;

/**
 * Returns findings for each scope, one for each limit that does not fit the scope: it is not about pods, or, for
 * BestEffort, not the number of pods.
 */
function misfitsOf({ hard = {} }: ResourceQuotaSpec, shown: unknown, path: FieldPath): Misfits {
  const limits = Object.keys(hard).filter(isQuotaName);
  const finding = invalid(path, shown, "unsupported scope applied to resource");
  const outside = (fits: readonly string[]): readonly FieldError[] =>
    limits
      .filter((name) => !fits.includes(name))
      .slice(0, misfitsMax)
      .map(() => finding);
  const others = outside(podNames);
  return new Map(allScopes.map((scope) => [scope, scope === "BestEffort" ? outside(["pods"]) : others]));
}

type Misfits = ReadonlyMap<string, readonly FieldError[]>;

const podNames = ["pods", ...["cpu", "memory"].flatMap((name) => [name, `requests.${name}`, `limits.${name}`])];

const conflicts = (scopes: readonly string[]) =>
  opposites.filter((pair) => pair.every((scope) => scopes.includes(scope)));

function validateSelector(spec: ResourceQuotaSpec): FieldError[] {
  const expressions = spec.scopeSelector?.matchExpressions ?? [];
  if (expressions.length === 0) return [];
  const misfits = misfitsOf(spec, spec.scopeSelector, expressionsPath);
  const errors: FieldError[] = [];
  for (const expression of expressions) {
    if (!allScopes.includes(expression.scopeName)) {
      errors.push(invalid(expressionsPath.child("scopeName"), expression.scopeName, "unsupported scope"));
    }
    if (errors.length < misfitsMax) addAll(errors, misfits.get(expression.scopeName) ?? []);
    addAll(errors, validateExpression(expression));
  }
  for (const _pair of conflicts(expressions.map(({ scopeName }) => scopeName))) {
    errors.push(invalid(expressionsPath, goTexts(spec.scopes, "core.ResourceQuotaScope"), "conflicting scopes"));
  }
  return errors;
}

function validateExpression({ scopeName, operator, values = [] }: ScopedResourceSelectorRequirement): FieldError[] {
  const errors: FieldError[] = [];
  if (plainScopes.includes(scopeName) && operator !== "Exists") {
    errors.push(invalid(expressionsPath.child("operator"), operator, onlyExists));
  }
  switch (operator) {
    case "In":
    case "NotIn":
      if (values.length === 0) errors.push(required(expressionsPath.child("values"), needsValues));
      break;
    case "Exists":
    case "DoesNotExist":
      if (values.length > 0) errors.push(invalid(expressionsPath.child("values"), goTexts(values), hasNoValues));
      break;
    default:
      errors.push(invalid(expressionsPath.child("operator"), operator, "not a valid selector operator"));
  }
  return errors;
}

const onlyExists =
  "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
const needsValues = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
// Upstream: the message says `Exist`.
const hasNoValues = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";

function validateSameScopes({ scopes = [] }: ResourceQuotaSpec, { scopes: old = [] }: ResourceQuotaSpec): FieldError[] {
  const [now, before] = [new Set(scopes), new Set(old)];
  if (now.size === before.size && before.isSubsetOf(now)) return [];
  return [invalid(scopesPath, goTexts([...now].sort()), "field is immutable")];
}
