/** ResourceQuota: limits on the objects of a namespace. Admission enforces it. */
import type { ResourceQuota, ResourceQuotaSpec, ScopedResourceSelectorRequirement } from "#api/core/v1.ts";
import { type FieldError, goQuote, GoSyntax, goTexts, invalid, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import { editField } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { roundedAmounts } from "./amounts.ts";
import { isQuotaName, type OwnPrefix, validateQuotaName, validateResourceQuantity } from "./resource-names.ts";

export function resourceQuotas({ domain }: KindEnvironment): KindBehaviour<ResourceQuota> {
  const own = domain.rename("kubernetes.io/");
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
          editField(object, "spec", (spec) => editField(spec, "hard", roundedAmounts)),
          "status",
          (status) => editField(editField(status, "hard", roundedAmounts), "used", roundedAmounts),
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

/** Scopes that an object is in or not, whatever the values. */
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
  const shown = goScopes(scopes);
  const errors: FieldError[] = [];
  for (const scope of scopes) {
    if (!allScopes.includes(scope)) errors.push(invalid(scopesPath, shown, "unsupported scope"));
    for (const _name of misfits(spec, scope)) {
      errors.push(invalid(scopesPath, shown, "unsupported scope applied to resource"));
    }
  }
  for (const _pair of conflicts(scopes)) errors.push(invalid(scopesPath, shown, "conflicting scopes"));
  return errors;
}

const goScopes = (scopes: readonly string[]): GoSyntax =>
  new GoSyntax(`[]core.ResourceQuotaScope{${scopes.map(goQuote).join(", ")}}`);

/** Limits that are not about pods, or that a pod without requests has no part in. */
function misfits({ hard = {} }: ResourceQuotaSpec, scope: string): readonly string[] {
  if (!allScopes.includes(scope)) return [];
  const fits = scope === "BestEffort" ? ["pods"] : podNames;
  return Object.keys(hard).filter((name) => isQuotaName(name) && !fits.includes(name));
}

const podNames = ["pods", ...["cpu", "memory"].flatMap((name) => [name, `requests.${name}`, `limits.${name}`])];

const conflicts = (scopes: readonly string[]) =>
  opposites.filter((pair) => pair.every((scope) => scopes.includes(scope)));

function validateSelector(spec: ResourceQuotaSpec): FieldError[] {
  const expressions = spec.scopeSelector?.matchExpressions ?? [];
  const errors = expressions.flatMap((expression) => validateExpression(spec, expression));
  for (const _pair of conflicts(expressions.map(({ scopeName }) => scopeName))) {
    errors.push(invalid(expressionsPath, goScopes(spec.scopes ?? []), "conflicting scopes"));
  }
  return errors;
}

function validateExpression(
  spec: ResourceQuotaSpec,
  { scopeName, operator, values = [] }: ScopedResourceSelectorRequirement,
): FieldError[] {
  const errors: FieldError[] = [];
  if (!allScopes.includes(scopeName)) {
    errors.push(invalid(expressionsPath.child("scopeName"), scopeName, "unsupported scope"));
  }
  for (const _name of misfits(spec, scopeName)) {
    errors.push(invalid(expressionsPath, spec.scopeSelector, "unsupported scope applied to resource"));
  }
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
// Upstream: `Exist`.
const hasNoValues = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";

function validateSameScopes({ scopes = [] }: ResourceQuotaSpec, { scopes: old = [] }: ResourceQuotaSpec): FieldError[] {
  const [now, before] = [new Set(scopes), new Set(old)];
  if (now.size === before.size && before.isSubsetOf(now)) return [];
  return [invalid(scopesPath, goTexts([...now].sort()), "field is immutable")];
}
