/**
 * Validates horizontal pod autoscalers in their version 2. Source: `ValidateHorizontalPodAutoscaler` in upstream's
 * `pkg/apis/autoscaling/validation`.
 */
import type {
  ContainerResourceMetricSource,
  CrossVersionObjectReference,
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerSpec,
  HPAScalingRules,
  MetricIdentifier,
  MetricSpec,
  MetricTarget,
} from "#api/autoscaling/v2.ts";
import { type FieldError, forbidden, invalid, notSupported, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { dns1123Label, pathSegment, qualifiedName } from "#meta/names.ts";
import { compareQuantities, parseQuantity } from "#meta/quantity.ts";
import { addAll } from "#std/add-all.ts";
import { validateCounts } from "../apps/workload-validation.ts";
import { type OwnPrefix, validateContainerResourceName } from "../core/resource-names.ts";

const stabilizationSecondsMax = 3600;
const periodSecondsMax = 1800;
const sourceTypes = ["ContainerResource", "External", "Object", "Pods", "Resource"];
const targetTypes = ["Utilization", "Value", "AverageValue"];
const selectPolicies = ["Disabled", "Max", "Min"];
const policyTypes = ["Percent", "Pods"];

const specPath = FieldPath.of("spec");
const metricsPath = specPath.child("metrics");
const maxPath = specPath.child("maxReplicas");
const zero = parseQuantity("0")!;

/**
 * Returns findings about an autoscaler. With `canBeZero`, the number of pods may go down to zero if an object or
 * external metric exists.
 */
export function validateAutoscaler(
  { spec }: HorizontalPodAutoscaler,
  canBeZero: boolean,
  own: OwnPrefix,
): FieldError[] {
  const { minReplicas, maxReplicas, metrics = [], behavior } = spec;
  const lowest = canBeZero ? 0 : 1;
  const errors: FieldError[] = [];
  if (minReplicas !== undefined && minReplicas < lowest) {
    const detail = `must be greater than or equal to ${lowest}`;
    errors.push(invalid(specPath.child("minReplicas"), minReplicas, detail));
  }
  if (maxReplicas < 1) errors.push(invalid(maxPath, maxReplicas, "must be greater than 0"));
  if (minReplicas !== undefined && maxReplicas < minReplicas) {
    errors.push(invalid(maxPath, maxReplicas, "must be greater than or equal to `minReplicas`"));
  }
  addAll(errors, validateReference(spec.scaleTargetRef, specPath.child("scaleTargetRef")));
  addAll(
    errors,
    metrics.flatMap((metric, i) => validateMetric(metric, metricsPath.index(i), own)),
  );
  addAll(errors, validateScalingToZero(spec));
  if (behavior !== undefined) {
    for (const name of ["scaleUp", "scaleDown"] as const) {
      const rules = behavior[name];
      if (rules !== undefined) addAll(errors, validateRules(rules, specPath.child("behavior", name)));
    }
  }
  return errors;
}

function validateScalingToZero({ minReplicas, metrics = [] }: HorizontalPodAutoscalerSpec): FieldError[] {
  if (minReplicas !== 0 || metrics.some(({ type }) => type === "Object" || type === "External")) return [];
  const detail = "must specify at least one Object or External metric to support scaling to zero replicas";
  return [forbidden(metricsPath, detail)];
}

function validateReference({ kind, name }: CrossVersionObjectReference, path: FieldPath): FieldError[] {
  return [...validateSegment(kind, path.child("kind")), ...validateSegment(name, path.child("name"))];
}

const validateSegment = (text: string, path: FieldPath, detail = ""): FieldError[] =>
  text === "" ? [required(path, detail)] : pathSegment(text).map((message) => invalid(path, text, message));

/** The member that holds the source of each type, in the order of the findings about superfluous sources. */
const members = {
  ContainerResource: "containerResource",
  Object: "object",
  External: "external",
  Pods: "pods",
  Resource: "resource",
} as const;

const isSource = (type: string): type is keyof typeof members => Object.hasOwn(members, type);

function validateMetric(metric: MetricSpec, path: FieldPath, own: OwnPrefix): FieldError[] {
  return [...validateFirstSource(metric, path, own), ...validateType(metric, path)];
}

function validateType(metric: MetricSpec, path: FieldPath): FieldError[] {
  const { type } = metric;
  const givenSources = Object.values(members).filter((name) => metric[name] !== undefined);
  const others = givenSources
    .filter((name) => givenSources.length > 1 && name !== (isSource(type) && members[type]))
    .map((name) => forbidden(path.child(name), "must populate the given metric source only"));
  return [...validateSourceType(metric, path), ...others];
}

function validateSourceType(metric: MetricSpec, path: FieldPath): FieldError[] {
  const { type } = metric;
  const typePath = path.child("type");
  if (!isSource(type)) {
    const unknown = notSupported(typePath, type, sourceTypes);
    return type === "" ? [required(typePath, "must specify a metric source type"), unknown] : [unknown];
  }
  const member = members[type];
  if (metric[member] !== undefined) return [];
  return [required(path.child(member), "must populate information for the given metric source")];
}

/** Returns findings about the first source that exists, even if the type names another one. */
function validateFirstSource(metric: MetricSpec, path: FieldPath, own: OwnPrefix): FieldError[] {
  const { object, external, pods, resource, containerResource } = metric;
  if (object !== undefined) {
    const at = path.child("object");
    const { value, averageValue } = object.target;
    return [
      ...validateReference(object.describedObject, at.child("describedObject")),
      ...validateIdentifier(object.metric, at.child("metric")),
      ...validateTarget(object.target, at.child("target")),
      ...(value === undefined && averageValue === undefined
        ? [required(at.child("target", "averageValue"), "must set either a target value or averageValue")]
        : []),
    ];
  }
  if (external !== undefined) {
    const at = path.child("external");
    return [
      ...validateIdentifier(external.metric, at.child("metric")),
      ...validateTarget(external.target, at.child("target")),
      ...validateExternalTarget(external.target, at.child("target")),
    ];
  }
  if (pods !== undefined) {
    const at = path.child("pods");
    const missing = required(at.child("target", "averageValue"), "must specify a positive target averageValue");
    return [
      ...validateIdentifier(pods.metric, at.child("metric")),
      ...validateTarget(pods.target, at.child("target")),
      ...(pods.target.averageValue === undefined ? [missing] : []),
    ];
  }
  if (resource !== undefined) {
    const at = path.child("resource");
    return [
      ...validateResourceName(resource.name, at),
      ...validateTarget(resource.target, at.child("target")),
      ...validateUse(resource.target, at.child("target")),
    ];
  }
  return containerResource === undefined
    ? []
    : validateContainerSource(containerResource, path.child("containerResource"), own);
}

/**
 * Returns findings about a resource name, as for containers. Findings about the form of the name come first, and show
 * it as a text.
 */
function validateContainerResource(name: string, path: FieldPath, own: OwnPrefix): FieldError[] {
  const unqualified = qualifiedName(name).map((message) => invalid(path, name, message));
  return [...unqualified, ...validateContainerResourceName(name, path, own).slice(unqualified.length)];
}

function validateContainerSource(source: ContainerResourceMetricSource, path: FieldPath, own: OwnPrefix): FieldError[] {
  const { name, container, target } = source;
  const containerPath = path.child("container");
  return [
    ...validateResourceName(name, path),
    ...(name === "" ? [] : validateContainerResource(name, path.child("name"), own)),
    ...(container === ""
      ? [required(containerPath, "must specify a container")]
      : dns1123Label(container).map((message) => invalid(containerPath, container, message))),
    ...validateTarget(target, path.child("target")),
    ...validateUse(target, path.child("target")),
  ];
}

const validateResourceName = (name: string, path: FieldPath): FieldError[] =>
  name === "" ? [required(path.child("name"), "must specify a resource name")] : [];

const validateIdentifier = ({ name }: MetricIdentifier, path: FieldPath): FieldError[] =>
  validateSegment(name, path.child("name"), "must specify a metric name");

function validateTarget(target: MetricTarget, path: FieldPath): FieldError[] {
  const { type, averageUtilization } = target;
  const errors: FieldError[] = [];
  if (type === "") errors.push(required(path.child("type"), "must specify a metric target type"));
  if (!targetTypes.includes(type)) {
    errors.push(invalid(path.child("type"), type, "must be either Utilization, Value, or AverageValue"));
  }
  for (const name of ["value", "averageValue"] as const) {
    const text = target[name];
    const quantity = text === undefined ? undefined : parseQuantity(text);
    if (text === undefined || quantity === undefined || compareQuantities(quantity, zero) > 0) continue;
    errors.push(invalid(path.child(name), text, "must be positive"));
  }
  if (averageUtilization !== undefined && averageUtilization < 1) {
    errors.push(invalid(path.child("averageUtilization"), averageUtilization, "must be greater than 0"));
  }
  return errors;
}

function validateExternalTarget({ value, averageValue }: MetricTarget, path: FieldPath): FieldError[] {
  if (value !== undefined && averageValue !== undefined) {
    return [forbidden(path.child("value"), "may not set both a target value for metric and a per-pod target")];
  }
  if (value !== undefined || averageValue !== undefined) return [];
  return [required(path.child("averageValue"), "must set either a target value for metric or a per-pod target")];
}

/** Returns findings about the target of the usage of a resource. */
function validateUse({ averageUtilization, averageValue }: MetricTarget, path: FieldPath): FieldError[] {
  if (averageUtilization !== undefined && averageValue !== undefined) {
    return [forbidden(path.child("averageValue"), "may not set both a target raw value and a target utilization")];
  }
  if (averageUtilization !== undefined || averageValue !== undefined) return [];
  return [required(path.child("averageUtilization"), "must set either a target raw value or a target utilization")];
}

function validateRules(rules: HPAScalingRules, path: FieldPath): FieldError[] {
  const { stabilizationWindowSeconds: seconds, selectPolicy, policies } = rules;
  const errors: FieldError[] = [];
  const windowPath = path.child("stabilizationWindowSeconds");
  if (seconds !== undefined && seconds < 0) {
    errors.push(invalid(windowPath, seconds, "must be greater than or equal to zero"));
  }
  if (seconds !== undefined && seconds > stabilizationSecondsMax) {
    errors.push(invalid(windowPath, seconds, `must be less than or equal to ${stabilizationSecondsMax}`));
  }
  if (selectPolicy !== undefined && !selectPolicies.includes(selectPolicy)) {
    errors.push(notSupported(path.child("selectPolicy"), selectPolicy, selectPolicies));
  }
  const policiesPath = path.child("policies");
  if ((policies ?? []).length === 0) errors.push(required(policiesPath, "must specify at least one Policy"));
  for (const [i, { type, value, periodSeconds }] of (policies ?? []).entries()) {
    const at = policiesPath.index(i);
    if (!policyTypes.includes(type)) errors.push(notSupported(at.child("type"), type, policyTypes));
    if (value <= 0) errors.push(invalid(at.child("value"), value, "must be greater than zero"));
    const periodPath = at.child("periodSeconds");
    if (periodSeconds <= 0) errors.push(invalid(periodPath, periodSeconds, "must be greater than zero"));
    if (periodSeconds > periodSecondsMax) {
      errors.push(invalid(periodPath, periodSeconds, `must be less than or equal to ${periodSecondsMax}`));
    }
  }
  return errors;
}

export const validateAutoscalerStatus = ({ status }: HorizontalPodAutoscaler): FieldError[] =>
  validateCounts(status, ["currentReplicas", "desiredReplicas"], FieldPath.of("status"));
