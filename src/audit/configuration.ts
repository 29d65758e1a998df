/** The file of `--audit-policy-file`: form and validation. Source: the validation of `audit.k8s.io/v1`. */
import { anyValue, booleanValue, listOf, readDocument, refuseWith, struct, textValue } from "#codec/config-document.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { type FieldError, goTexts, invalid, notSupported, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { dns1123Subdomain } from "#meta/names.ts";
import { levels, type PolicyDocument, type RuleDocument, stages } from "./policy.ts";

/** The version of policies and events; in other domains it has the domain's name. */
export const auditVersion = "audit.k8s.io/v1";

const texts = listOf(textValue);
const policyFields = {
  // The metadata of a policy has no meaning.
  metadata: anyValue,
  omitStages: texts,
  omitManagedFields: booleanValue,
  rules: listOf(
    struct({
      level: textValue,
      users: texts,
      userGroups: texts,
      verbs: texts,
      resources: listOf(struct({ group: textValue, resources: texts, resourceNames: texts })),
      namespaces: texts,
      nonResourceURLs: texts,
      omitStages: texts,
      omitManagedFields: booleanValue,
    }),
  ),
};

/** Reads a policy. Throws `ConfigError` with all errors. */
export function readAuditPolicy(text: string, domain: ApiDomain): PolicyDocument {
  const document = readDocument(text, {
    kind: "Policy",
    apiVersions: [domain.rename(auditVersion)],
    fields: policyFields,
  });
  refuseWith(policyErrors(document));
  return document;
}

const rulesPath = FieldPath.of("rules");
const omitStagesPath = FieldPath.of("omitStages");

/** Returns all errors of a policy, with their paths. */
export function policyErrors({ rules = [], omitStages = [] }: PolicyDocument): FieldError[] {
  const errors = stageErrors(omitStages, omitStagesPath);
  if (rules.length === 0) errors.push(required(rulesPath, "a policy needs at least one rule"));
  for (const [at, rule] of rules.entries()) errors.push(...ruleErrors(rule, rulesPath.index(at)));
  return errors;
}

function ruleErrors(rule: RuleDocument, path: FieldPath): FieldError[] {
  const { level = "", resources = [], namespaces = [], nonResourceURLs = [] } = rule;
  const errors: FieldError[] = [];
  const levelPath = path.child("level");
  if (level === "") errors.push(required(levelPath));
  else if (!(levels as readonly string[]).includes(level)) errors.push(notSupported(levelPath, level, levels));
  for (const [at, url] of nonResourceURLs.entries()) {
    const field = path.child("nonResourceURLs").index(at);
    if (url === "*") continue;
    if (!url.startsWith("/")) {
      errors.push(invalid(field, url, "non-resource URL rules must begin with a '/' character"));
    }
    if (url.slice(0, -1).includes("*")) {
      errors.push(invalid(field, url, "non-resource URL wildcards '*' must be the final character of the rule"));
    }
  }
  for (const [at, { group = "", resources: names = [], resourceNames = [] }] of resources.entries()) {
    const field = path.child("resources").index(at);
    if (group !== "") {
      for (const message of dns1123Subdomain(group)) errors.push(invalid(field.child("group"), group, message));
    }
    if (resourceNames.length > 0 && names.length === 0) {
      const message = "using resourceNames requires at least one resource";
      errors.push(invalid(field.child("resourceNames"), goTexts(resourceNames), message));
    }
  }
  errors.push(...stageErrors(rule.omitStages ?? [], path.child("omitStages")));
  if (nonResourceURLs.length > 0 && (resources.length > 0 || namespaces.length > 0)) {
    const message = "rules cannot apply to both regular resources and non-resource URLs";
    errors.push(invalid(path.child("nonResourceURLs"), goTexts(nonResourceURLs), message));
  }
  return errors;
}

function stageErrors(stageNames: readonly string[], path: FieldPath): FieldError[] {
  return stageNames.flatMap((stage, at) =>
    (stages as readonly string[]).includes(stage)
      ? []
      : [invalid(path.index(at), stage, `allowed stages are ${stages.join(",")}`)],
  );
}
