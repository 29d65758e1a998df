/**
 * Validates jobs, and the specs of jobs in cron jobs. Source: `ValidateJob` in upstream's `pkg/apis/batch/validation`.
 */
import type { Job, JobSpec } from "#api/batch/v1.ts";
import { type ApiDomain, perDomain } from "#meta/api-domain.ts";
import { type FieldError, GoSyntax, invalid, notSupported, required, tooLong } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { compileLabelSelector, printLabels, validateLabelSelector } from "#meta/label-selector.ts";
import { dns1123Label } from "#meta/names.ts";
import { validatePrefixedPath } from "#meta/prefixed-path.ts";
import { invalidSelector, mismatch, validateCounts, validateMatch } from "../apps/workload-validation.ts";
import type { PodRules } from "../core/pod-validation/rules.ts";
import { validatePodTemplateSpec } from "../core/pod-validation.ts";
import { validatePodFailurePolicy, validateSuccessPolicy } from "./job-policies.ts";

const completionModes = ["NonIndexed", "Indexed"];
const replacementPolicies = ["Failed", "TerminatingOrFailed"];
const restartPolicies = ["OnFailure", "Never"];
const managedByBytesMax = 63;
const parallelismMax = 100_000;
/** The number of completions above which the limits for single indexes are lower. */
const completionsMany = 100_000;
const limitOfMany = 10_000;
const indexed = "requires indexed completion mode";

const specPath = FieldPath.of("spec");

/** The labels that a server gives to the pods of a job, by its domain. */
export const jobLabels = perDomain(({ rename }) => ({
  uid: rename("batch.kubernetes.io/controller-uid"),
  name: rename("batch.kubernetes.io/job-name"),
}));

/** Returns findings about a job. `old` is the stored job of an update. */
export function validateJob(job: Job, rules: PodRules, old?: Job): FieldError[] {
  const errors = [...validateOwnPods(job, rules.domain, old), ...validateSpec(job.spec, rules)];
  if (old !== undefined || job.spec.completionMode !== "Indexed") return errors;
  const { completions = 0 } = job.spec;
  if (completions <= 0) return errors;
  const pod = `${job.metadata.name}-${completions - 1}`;
  if (dns1123Label(pod).length === 0) return errors;
  const detail = `will not able to create pod with invalid DNS label: ${pod}`;
  return [...errors, invalid(FieldPath.of("metadata", "name"), job.metadata.name, detail)];
}

/** Returns findings about a generated selector: it must select the pods of this job only. */
function validateOwnPods({ metadata, spec }: Job, domain: ApiDomain, old: Job | undefined): FieldError[] {
  if (spec.manualSelector === true || spec.selector === undefined) return [];
  const { uid = "", name = "" } = metadata;
  const own = jobLabels(domain);
  const path = specPath.child("template", "metadata");
  const { labels } = spec.template.metadata;
  const before = old?.spec.template.metadata.labels;
  const expected = { "controller-uid": uid, "job-name": name, [own.uid]: uid, [own.name]: name };
  const errors = Object.entries(expected).flatMap(([key, value]) => {
    // Jobs of earlier releases have the short labels only.
    if (old !== undefined && before?.[key] === undefined) return [];
    const detail = `must be '${value}'`;
    const at = path.child("labels").key(key);
    if (labels?.[key] === undefined) return [required(at, detail)];
    return labels[key] === value ? [] : [invalid(at, new GoSyntax(printLabels(labels)), detail)];
  });
  if (validateLabelSelector(spec.selector, specPath.child("selector")).length > 0) return errors;
  if (compileLabelSelector(spec.selector)?.matches(expected) === true) return errors;
  return [...errors, invalidSelector(spec.selector, "`selector` not auto-generated")];
}

/** Returns findings about the spec of a job, including its selector. */
function validateSpec(spec: JobSpec, rules: PodRules): FieldError[] {
  const errors = validateJobSpec(spec, specPath, rules);
  if (spec.selector === undefined) {
    return [...errors, required(specPath.child("selector")), mismatch(spec.template.metadata.labels)];
  }
  const selectorErrors = validateLabelSelector(spec.selector, specPath.child("selector"));
  return [...errors, ...(selectorErrors.length > 0 ? selectorErrors : validateMatch(spec.selector, spec.template))];
}

/** Returns findings about the fields that jobs and templates of jobs share. `path` is the path of the spec. */
export function validateJobSpec(spec: JobSpec, path: FieldPath, rules: PodRules): FieldError[] {
  const { podFailurePolicy, successPolicy } = spec;
  return [
    ...validateNumbers(spec, path),
    ...validateManager(spec, path),
    ...validateCompletionMode(spec, path),
    ...(podFailurePolicy === undefined ? [] : validatePodFailurePolicy(spec, podFailurePolicy, path)),
    ...(successPolicy === undefined ? [] : validateSuccessPolicy(spec, successPolicy, path)),
    ...validateReplacement(spec, path),
    ...validatePodTemplateSpec(spec.template, path.child("template"), rules),
    ...validateRestart(spec, path.child("template", "spec", "restartPolicy")),
  ];
}

const numbers = [
  "parallelism",
  "completions",
  "activeDeadlineSeconds",
  "backoffLimit",
  "ttlSecondsAfterFinished",
  "backoffLimitPerIndex",
  "maxFailedIndexes",
] as const;

function validateNumbers(spec: JobSpec, path: FieldPath): FieldError[] {
  const errors = validateCounts(spec, numbers, path);
  if (spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined) {
    errors.push(required(path.child("backoffLimitPerIndex"), "when maxFailedIndexes is specified"));
  }
  return errors;
}

function validateManager({ managedBy }: JobSpec, path: FieldPath): FieldError[] {
  if (managedBy === undefined) return [];
  const at = path.child("managedBy");
  const errors = validatePrefixedPath(managedBy, at);
  if (Buffer.byteLength(managedBy) > managedByBytesMax) errors.push(tooLong(at, managedByBytesMax));
  return errors;
}

function validateCompletionMode(spec: JobSpec, path: FieldPath): FieldError[] {
  const { completionMode: mode = "NonIndexed", backoffLimitPerIndex: limit, maxFailedIndexes: failed } = spec;
  if (mode === "Indexed") return validateIndexed(spec, path);
  if (mode !== "NonIndexed") return [notSupported(path.child("completionMode"), mode, completionModes)];
  const errors: FieldError[] = [];
  if (limit !== undefined) errors.push(invalid(path.child("backoffLimitPerIndex"), limit, indexed));
  if (failed !== undefined) errors.push(invalid(path.child("maxFailedIndexes"), failed, indexed));
  return errors;
}

function validateIndexed(spec: JobSpec, path: FieldPath): FieldError[] {
  const { completions, parallelism = 0, maxFailedIndexes: failed } = spec;
  const [parallelPath, failedPath] = [path.child("parallelism"), path.child("maxFailedIndexes")];
  const errors: FieldError[] = [];
  const atMost = (max: number, why: string): string => `must be less than or equal to ${max}${why}`;
  if (completions === undefined) {
    errors.push(required(path.child("completions"), "when completion mode is Indexed"));
  }
  if (parallelism > parallelismMax) {
    errors.push(invalid(parallelPath, parallelism, atMost(parallelismMax, " when completion mode is Indexed")));
  }
  if (completions !== undefined && failed !== undefined && failed > completions) {
    errors.push(invalid(failedPath, failed, "must be less than or equal to completions"));
  }
  if (failed !== undefined && failed > completionsMany) {
    errors.push(invalid(failedPath, failed, atMost(completionsMany, "")));
  }
  if ((completions ?? 0) <= completionsMany || spec.backoffLimitPerIndex === undefined) return errors;
  const why = ` when completions are above ${completionsMany} and used with backoff limit per index`;
  if (failed === undefined) {
    errors.push(required(failedPath, `must be specified when completions is above ${completionsMany}`));
  }
  if (parallelism > limitOfMany) errors.push(invalid(parallelPath, parallelism, atMost(limitOfMany, why)));
  if (failed !== undefined && failed > limitOfMany) errors.push(invalid(failedPath, failed, atMost(limitOfMany, why)));
  return errors;
}

function validateReplacement({ podReplacementPolicy, podFailurePolicy }: JobSpec, path: FieldPath): FieldError[] {
  const policies = podFailurePolicy === undefined ? replacementPolicies : ["Failed"];
  if (podReplacementPolicy === undefined || policies.includes(podReplacementPolicy)) return [];
  return [notSupported(path.child("podReplacementPolicy"), podReplacementPolicy, policies)];
}

function validateRestart({ template, podFailurePolicy }: JobSpec, at: FieldPath): FieldError[] {
  const { restartPolicy = "" } = template.spec;
  if (restartPolicy === "" || restartPolicy === "Always") {
    return [required(at, `valid values: "OnFailure", "Never"`)];
  }
  if (!restartPolicies.includes(restartPolicy)) return [notSupported(at, restartPolicy, restartPolicies)];
  if (podFailurePolicy === undefined || restartPolicy === "Never") return [];
  return [invalid(at, restartPolicy, 'only "Never" is supported when podFailurePolicy is specified')];
}
