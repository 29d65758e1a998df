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

/** Findings about a job against the stored one. */
export function validateJobUpdate({ spec }: Job, old: Job): FieldError[] {
  const before = old.spec.template;
  const [template, kept] = isWaiting(old)
    ? [withDirectives(spec.template, before), withDirectives(before, before)]
    : [spec.template, before];
  return [
    ...validateCompletions(spec, old.spec),
    ...(jsonEquals(spec.selector ?? null, old.spec.selector ?? null)
      ? []
      : [invalidSelector(spec.selector ?? null, "field is immutable")]),
    ...validateImmutable(
      withField(spec, "template", template),
      withField(old.spec, "template", kept),
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

/** An indexed job may grow and shrink as a whole. */
function validateCompletions(spec: JobSpec, old: JobSpec): FieldError[] {
  if (spec.completionMode !== "Indexed") return validateImmutable(spec, old, ["completions"], specPath);
  const { completions, parallelism = 0 } = spec;
  if (completions === undefined) return []; // a finding of its own
  if (completions === (old.completions ?? 0) || completions === parallelism) return [];
  return [
    invalid(FieldPath.of("spec", "completions"), completions, "can only be modified in tandem with spec.parallelism"),
  ];
}

/** Whether a job was suspended before it began. */
const isWaiting = ({ spec, status }: Job): boolean => spec.suspend === true && status.startTime === undefined;

/** The template with the scheduling fields of `from`, which may change while the job is suspended. */
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

/** An affinity without content is none. */
function withNodeAffinity(spec: PodSpec, nodeAffinity: NodeAffinity | undefined): PodSpec {
  const affinity = withField(spec.affinity ?? {}, "nodeAffinity", nodeAffinity);
  return withField(spec, "affinity", Object.keys(affinity).length === 0 ? undefined : affinity);
}

function withFieldsOf<T extends object>(object: T, from: T, names: readonly (keyof T)[]): T {
  let next = object;
  for (const name of names) next = withField(next, name, from[name]);
  return next;
}
