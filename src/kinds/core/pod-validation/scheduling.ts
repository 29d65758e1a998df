/** Validates scheduling settings of pods: affinity, tolerations, topology spread constraints, gates. */
import type {
  Affinity,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinityTerm,
  PodReadinessGate,
  PodSchedulingGate,
  Toleration,
  TopologySpreadConstraint,
} from "#api/core/v1.ts";
import { duplicate, forbidden, invalid, notSupported, required } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { type LabelSelectorObject, validateLabelSelector } from "#meta/label-selector.ts";
import { dns1123Label, dns1123Subdomain, labelValue, qualifiedName } from "#meta/names.ts";
import {
  checkEach,
  checkName,
  checkNames,
  checkOneOf,
  checkOptionalOneOf,
  checkUnique,
  type Errors,
} from "../../checks.ts";

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
const honors = ["Honor", "Ignore"];
const unsatisfied = ["DoNotSchedule", "ScheduleAnyway"];

export function checkToleration(toleration: Toleration, path: FieldPath, errors: Errors): void {
  const { key = "", operator = "", value = "", effect = "", tolerationSeconds } = toleration;
  const operatorAt = path.child("operator");
  if (key !== "") checkName(key, qualifiedName, path.child("key"), errors);
  else if (operator !== "Exists") {
    const detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    errors.push(invalid(operatorAt, operator, detail));
  }
  if (tolerationSeconds !== undefined && effect !== "NoExecute") {
    const detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
    errors.push(invalid(path.child("effect"), effect, detail));
  }
  if (operator === "Exists") {
    if (value !== "") errors.push(invalid(operatorAt, value, "value must be empty when `operator` is 'Exists'"));
  } else if (operator === "" || operator === "Equal") checkName(value, labelValue, operatorAt, errors);
  else errors.push(notSupported(operatorAt, operator, ["Equal", "Exists"]));
  if (effect !== "") checkOneOf(effect, effects, path.child("effect"), errors);
}

export function checkAffinity(affinity: Affinity | undefined, path: FieldPath, errors: Errors): void {
  if (affinity === undefined) return;
  const { nodeAffinity, podAffinity, podAntiAffinity } = affinity;
  if (nodeAffinity !== undefined) {
    const {
      requiredDuringSchedulingIgnoredDuringExecution: needed,
      preferredDuringSchedulingIgnoredDuringExecution: wanted = [],
    } = nodeAffinity;
    const at = path.child("nodeAffinity");
    if (needed !== undefined) {
      checkNodeSelector(needed, at.child("requiredDuringSchedulingIgnoredDuringExecution"), errors);
    }
    for (const [i, { weight, preference }] of wanted.entries()) {
      const oneAt = at.child("preferredDuringSchedulingIgnoredDuringExecution").index(i);
      checkWeight(weight, oneAt, errors);
      checkNodeTerm(preference, oneAt.child("preference"), errors);
    }
  }
  for (const [name, pods] of [["podAffinity", podAffinity] as const, ["podAntiAffinity", podAntiAffinity] as const]) {
    const {
      requiredDuringSchedulingIgnoredDuringExecution: needed,
      preferredDuringSchedulingIgnoredDuringExecution: wanted = [],
    } = pods ?? {};
    checkEach(needed, checkPodTerm, path.child(name, "requiredDuringSchedulingIgnoredDuringExecution"), errors);
    for (const [i, { weight, podAffinityTerm }] of wanted.entries()) {
      const at = path.child(name, "preferredDuringSchedulingIgnoredDuringExecution").index(i);
      checkWeight(weight, at, errors);
      checkPodTerm(podAffinityTerm, at.child("podAffinityTerm"), errors);
    }
  }
}

export function checkNodeSelector({ nodeSelectorTerms }: NodeSelector, path: FieldPath, errors: Errors): void {
  const terms = nodeSelectorTerms ?? [];
  const at = path.child("nodeSelectorTerms");
  if (terms.length === 0) errors.push(required(at, "must have at least one node selector term"));
  checkEach(terms, checkNodeTerm, at, errors);
}

/** Checks a selector of nodes as `checkNodeSelector` does, and that its values are those of labels. */
export function checkNodeSelectorWithValues(selector: NodeSelector, path: FieldPath, errors: Errors): void {
  checkNodeSelector(selector, path, errors);
  for (const [index, { matchExpressions }] of (selector.nodeSelectorTerms ?? []).entries()) {
    for (const [at, { values }] of (matchExpressions ?? []).entries()) {
      const valuesPath = path.child("nodeSelectorTerms").index(index).child("matchExpressions").index(at);
      checkNames(values, labelValue, valuesPath.child("values"), errors);
    }
  }
}

function checkWeight(weight: number, path: FieldPath, errors: Errors): void {
  if (weight >= 1 && weight <= 100) return;
  errors.push(invalid(path.child("weight"), weight, "must be in the range 1-100"));
}

function checkNodeTerm({ matchExpressions, matchFields }: NodeSelectorTerm, path: FieldPath, errors: Errors): void {
  checkEach(matchExpressions, checkNodeLabels, path.child("matchExpressions"), errors);
  checkEach(matchFields, checkNodeFields, path.child("matchFields"), errors);
}

function checkNodeLabels(requirement: NodeSelectorRequirement, path: FieldPath, errors: Errors): void {
  const { key, operator, values } = requirement;
  const count = (values ?? []).length;
  const at = path.child("values");
  if (operator === "In" || operator === "NotIn") {
    if (count === 0) errors.push(required(at, "must be specified when `operator` is 'In' or 'NotIn'"));
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    if (count > 0) errors.push(forbidden(at, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
  } else if (operator === "Gt" || operator === "Lt") {
    if (count !== 1) errors.push(required(at, "must be specified single value when `operator` is 'Lt' or 'Gt'"));
  } else errors.push(invalid(path.child("operator"), operator, "not a valid selector operator"));
  checkName(key, qualifiedName, path.child("key"), errors);
}

function checkNodeFields(requirement: NodeSelectorRequirement, path: FieldPath, errors: Errors): void {
  const { key, operator } = requirement;
  const values = requirement.values ?? [];
  if (operator === "In" || operator === "NotIn") {
    if (values.length !== 1) {
      const detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
      errors.push(required(path.child("values"), detail));
    }
  } else errors.push(invalid(path.child("operator"), operator, "not a valid selector operator"));
  if (key !== "metadata.name") {
    errors.push(invalid(path.child("key"), key, "not a valid field selector key"));
    return;
  }
  checkNames(values, dns1123Subdomain, path.child("values"), errors);
}

/**
 * Checks that a selector has a requirement for each of its keys only once: a key of `keys` has got one when the pod was
 * created. Upstream: the path is that of the term.
 */
function checkSelectedKeys(
  selector: LabelSelectorObject | undefined,
  keys: readonly string[] = [],
  path: FieldPath,
  errors: Errors,
): void {
  if (keys.length === 0) return;
  const positions = new Map(keys.map((key, at) => [key, at]));
  const seen = new Set(Object.keys(selector?.matchLabels ?? {}));
  for (const { key = "" } of selector?.matchExpressions ?? []) {
    const at = positions.get(key);
    if (at !== undefined && seen.has(key)) errors.push(invalid(path.index(at), key, keyTwice));
    seen.add(key);
  }
}

const keyTwice = "exists in both matchLabelKeys and labelSelector";

function checkSelector(selector: LabelSelectorObject | undefined, path: FieldPath, errors: Errors): void {
  if (selector === undefined) return;
  for (const error of validateLabelSelector(selector, path)) errors.push(error);
}

const noSelector = "must not be specified when labelSelector is not set";

function checkPodTerm(term: PodAffinityTerm, path: FieldPath, errors: Errors): void {
  const { labelSelector, namespaceSelector, namespaces, topologyKey, matchLabelKeys, mismatchLabelKeys } = term;
  checkSelector(labelSelector, path.child("labelSelector"), errors);
  checkSelector(namespaceSelector, path.child("namespaceSelector"), errors);
  // Upstream: the path has no index, and the singular.
  for (const namespace of namespaces ?? []) checkName(namespace, dns1123Label, path.child("namespace"), errors);
  const hasSelector = labelSelector !== undefined;
  checkKeys(matchLabelKeys, hasSelector, path.child("matchLabelKeys"), errors);
  checkKeys(mismatchLabelKeys, hasSelector, path.child("mismatchLabelKeys"), errors);
  checkSelectedKeys(labelSelector, matchLabelKeys, path, errors);
  const others = new Set(mismatchLabelKeys);
  for (const [i, key] of (matchLabelKeys ?? []).entries()) {
    if (!others.has(key)) continue;
    const detail = "exists in both matchLabelKeys and mismatchLabelKeys";
    errors.push(invalid(path.child("matchLabelKeys").index(i), key, detail));
  }
  const at = path.child("topologyKey");
  if (topologyKey === "") errors.push(required(at, "can not be empty"));
  checkName(topologyKey, qualifiedName, at, errors);
}

function checkKeys(keys: readonly string[] = [], hasSelector: boolean, path: FieldPath, errors: Errors): void {
  if (keys.length === 0) return;
  if (!hasSelector) errors.push(forbidden(path, noSelector));
  else checkNames(keys, qualifiedName, path, errors);
}

const pairOf = ({ topologyKey, whenUnsatisfiable }: TopologySpreadConstraint): string =>
  `{${topologyKey}, ${whenUnsatisfiable}}`;

export function checkSpread(
  constraints: readonly TopologySpreadConstraint[] = [],
  path: FieldPath,
  errors: Errors,
): void {
  if (constraints.length === 0) return;
  const lastOf = new Map(constraints.map((constraint, i) => [pairOf(constraint), i]));
  for (const [i, constraint] of constraints.entries()) {
    const { maxSkew, topologyKey, whenUnsatisfiable, minDomains, labelSelector } = constraint;
    const at = path.index(i);
    if (maxSkew <= 0) errors.push(invalid(at.child("maxSkew"), maxSkew, "must be greater than zero"));
    if (topologyKey === "") errors.push(required(at.child("topologyKey"), "can not be empty"));
    checkOneOf(whenUnsatisfiable, unsatisfied, at.child("whenUnsatisfiable"), errors);
    if (lastOf.get(pairOf(constraint)) !== i) {
      errors.push(duplicate(at.child("{topologyKey, whenUnsatisfiable}"), pairOf(constraint)));
    }
    if (minDomains !== undefined) {
      const minAt = at.child("minDomains");
      if (minDomains <= 0) errors.push(invalid(minAt, minDomains, "must be greater than zero"));
      if (whenUnsatisfiable !== "DoNotSchedule") {
        const detail = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`;
        errors.push(invalid(minAt, minDomains, detail));
      }
    }
    checkOptionalOneOf(constraint.nodeAffinityPolicy, honors, at.child("nodeAffinityPolicy"), errors);
    checkOptionalOneOf(constraint.nodeTaintsPolicy, honors, at.child("nodeTaintsPolicy"), errors);
    checkSpreadKeys(constraint, at.child("matchLabelKeys"), errors);
    checkSelector(labelSelector, at.child("labelSelector"), errors);
  }
}

function checkSpreadKeys(constraint: TopologySpreadConstraint, path: FieldPath, errors: Errors): void {
  const { matchLabelKeys = [], labelSelector } = constraint;
  if (matchLabelKeys.length === 0) return;
  if (labelSelector === undefined) errors.push(forbidden(path, noSelector));
  const selected = new Set([
    ...Object.keys(labelSelector?.matchLabels ?? {}),
    ...(labelSelector?.matchExpressions ?? []).map(({ key }) => key),
  ]);
  for (const [i, key] of matchLabelKeys.entries()) {
    checkName(key, qualifiedName, path.index(i), errors);
    if (!selected.has(key)) continue;
    errors.push(invalid(path.index(i), key, keyTwice));
  }
}

export function checkReadinessGates(gates: readonly PodReadinessGate[] = [], path: FieldPath, errors: Errors): void {
  for (const [i, { conditionType }] of gates.entries()) {
    checkName(conditionType, qualifiedName, path.index(i).child("conditionType"), errors);
  }
}

export function checkSchedulingGates(gates: readonly PodSchedulingGate[] = [], path: FieldPath, errors: Errors): void {
  if (gates.length === 0) return;
  const names = new Set<string>();
  for (const [i, { name }] of gates.entries()) {
    checkName(name, qualifiedName, path.index(i), errors);
    checkUnique(name, names, path.index(i), errors);
  }
}
