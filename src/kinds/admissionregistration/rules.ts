/** The validation of the rules of webhooks and policies: operations, groups, versions, resources and scope. */
import type { MatchResources, NamedRuleWithOperations } from "#api/admissionregistration/v1.ts";
import { type FieldError, goTexts, invalid, notSupported, required } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { validateLabelSelector } from "#meta/label-selector.ts";
import { pathSegment } from "#meta/names.ts";
import { addAll } from "#std/add-all.ts";
import { checkName, checkUnique } from "../checks.ts";

const operationNames = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const scopes = ["*", "Cluster", "Namespaced"];

/** Returns findings about the match resources of a policy or binding, whose defaults are filled in. */
export function validateMatchResources(match: MatchResources, path: FieldPath): FieldError[] {
  const { matchPolicy, namespaceSelector, objectSelector, resourceRules = [], excludeResourceRules = [] } = match;
  const errors: FieldError[] = [];
  if (matchPolicy !== "Exact" && matchPolicy !== "Equivalent") {
    errors.push(notSupported(path.child("matchPolicy"), matchPolicy ?? "", ["Equivalent", "Exact"]));
  }
  addAll(errors, validateLabelSelector(namespaceSelector ?? {}, path.child("namespaceSelector")));
  addAll(errors, validateLabelSelector(objectSelector ?? {}, path.child("objectSelector")));
  for (const [at, rule] of resourceRules.entries()) {
    addAll(errors, validateNamedRule(rule, path.child("resourceRules").index(at)));
  }
  for (const [at, rule] of excludeResourceRules.entries()) {
    addAll(errors, validateNamedRule(rule, path.child("excludeResourceRules").index(at)));
  }
  return errors;
}

function validateNamedRule(rule: NamedRuleWithOperations, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [at, name] of (rule.resourceNames ?? []).entries()) {
    const field = path.child("resourceNames").index(at);
    checkName(name, pathSegment, field, errors);
    checkUnique(name, seen, field, errors);
  }
  return [...errors, ...validateRule(rule, path)];
}

/** Returns findings about a rule of a webhook, or about a rule of a policy without its resource names. */
export function validateRule(rule: Omit<NamedRuleWithOperations, "resourceNames">, path: FieldPath): FieldError[] {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [], scope } = rule;
  const errors: FieldError[] = [];
  if (operations.length === 0) errors.push(required(path.child("operations")));
  if (operations.length > 1 && operations.includes("*")) {
    const shown = goTexts(operations, "admissionregistration.OperationType");
    const detail = "if '*' is present, must not specify other operations";
    errors.push(invalid(path.child("operations"), shown, detail));
  }
  for (const [at, operation] of operations.entries()) {
    if (operationNames.includes(operation)) continue;
    errors.push(notSupported(path.child("operations").index(at), operation, operationNames));
  }
  addAll(errors, validateNames(apiGroups, path.child("apiGroups"), "API groups"));
  addAll(errors, validateNames(apiVersions, path.child("apiVersions"), "API versions"));
  for (const [at, version] of apiVersions.entries()) {
    if (version === "") errors.push(required(path.child("apiVersions").index(at)));
  }
  addAll(errors, validateResources(resources, path.child("resources")));
  if (scope !== undefined && !scopes.includes(scope)) {
    errors.push(notSupported(path.child("scope"), scope, scopes));
  }
  return errors;
}

function validateNames(names: readonly string[], path: FieldPath, what: string): FieldError[] {
  if (names.length === 0) return [required(path)];
  if (names.length === 1 || !names.includes("*")) return [];
  return [invalid(path, goTexts(names), `if '*' is present, must not specify other ${what}`)];
}

function validateResources(resources: readonly string[], path: FieldPath): FieldError[] {
  if (resources.length === 0) return [required(path)];
  const errors: FieldError[] = [];
  /** The resources that have a rule for all subresources (`pods` of `pods/*`), and below the subresources of all. */
  const wholes = new Set<string>();
  const parts = new Set<string>();
  for (const [at, text] of resources.entries()) {
    const field = path.index(at);
    if (text === "") errors.push(required(field));
    const slash = text.indexOf("/");
    if (slash < 0) continue;
    const resource = text.slice(0, slash);
    const part = text.slice(slash + 1);
    if (wholes.has(resource)) {
      errors.push(invalid(field, text, `if '${resource}/*' is present, must not specify ${text}`));
    }
    if (parts.has(part)) errors.push(invalid(field, text, `if '*/${part}' is present, must not specify ${text}`));
    if (part === "*") wholes.add(resource);
    if (resource === "*") parts.add(part);
  }
  const shown = goTexts(resources);
  if (resources.length > 1 && resources.includes("*/*")) {
    errors.push(invalid(path, shown, "if '*/*' is present, must not specify other resources"));
  }
  // Upstream: only the last resource without a subresource is compared; an empty one is none.
  if (resources.includes("*") && resources.findLast((text) => text !== "" && !text.includes("/")) !== "*") {
    const detail = "if '*' is present, must not specify other resources without subresources";
    errors.push(invalid(path, shown, detail));
  }
  return errors;
}
