/**
 * Immutable fields of a job: its completion settings, selector and pod template. A suspended job may change scheduling
 * fields of the template. Source: `ValidateJobSpecUpdate` in upstream's `pkg/apis/batch/validation`.
 */
import type { Job, JobSpec } from "#api/batch/v1.ts";
import type { NodeAffinity, PodSpec, PodTemplateSpec } from "#api/core/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { invalidSelector } from "../apps/workload-validation.ts";
import { withField } from "../edit.ts";
import { validateImmutable } from "../immutable.ts";

const specPath = FieldPath.of("spec");

/** Returns findings about a job compared with the stored one. */
export function validateJobUpdate({ spec }: Job, old: Job): FieldError[] {
  const before = old.spec.template;
  const [template, oldTemplate] = isWaiting(old)
    ? [withDirectives(spec.template, before), withDirectives(before, before)]
    : [spec.template, before];
  return [
    ...validateCompletions(spec, old.spec),
    ...(jsonEquals(spec.selector ?? null, old.spec.selector ?? null)
      ? []
      : [invalidSelector(spec.selector ?? null, "field is immutable")]),
    ...validateImmutable(
      withField(spec, "template", template),
      withField(old.spec, "template", oldTemplate),
      ["template"],
      specPath,
    ),
    ...validateImmutable(
      spec,
      old.spec,
      ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"],
      specPath,
    ),
  ];
}

/**
 * Returns findings about changed completions. An indexed job may change its completions together with its parallelism.
 */
function validateCompletions(spec: JobSpec, old: JobSpec): FieldError[] {
  if (spec.completionMode !== "Indexed") return validateImmutable(spec, old, ["completions"], specPath);
  const { completions, parallelism = 0 } = spec;
  if (completions === undefined) return []; // another check reports it
  if (completions === (old.completions ?? 0) || completions === parallelism) return [];
  return [
    invalid(FieldPath.of("spec", "completions"), completions, "can only be modified in tandem with spec.parallelism"),
  ];
}

/** Whether a job is suspended and has not started. */
const isWaiting = ({ spec, status }: Job): boolean => spec.suspend === true && status.startTime === undefined;

/** Returns the template with the scheduling fields of `from`. These fields may change while the job is suspended. */
function withDirectives(template: PodTemplateSpec, from: PodTemplateSpec): PodTemplateSpec {
  return {
    ...template,
    metadata: withFieldsOf(template.metadata, from.metadata, ["annotations", "labels"]),
    spec: withNodeAffinity(
      withFieldsOf(template.spec, from.spec, ["nodeSelector", "tolerations", "schedulingGates"]),
      from.spec.affinity?.nodeAffinity,
    ),
  };
}

/** Returns the spec with this node affinity. An affinity without content is removed. */
function withNodeAffinity(spec: PodSpec, nodeAffinity: NodeAffinity | undefined): PodSpec {
  const affinity = withField(spec.affinity ?? {}, "nodeAffinity", nodeAffinity);
  return withField(spec, "affinity", Object.keys(affinity).length === 0 ? undefined : affinity);
}

function withFieldsOf<T extends object>(object: T, from: T, names: readonly (keyof T)[]): T {
  let next = object;
  for (const name of names) next = withField(next, name, from[name]);
  return next;
}
