/**
 * What an update may not change of a job: what its pods are made from and counted by. A job that waits to begin may
 * still get other nodes. Source: `ValidateJobSpecUpdate` in upstream's `pkg/apis/batch/validation`.
 */
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, invalid } from "#meta/field-error.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { editField, type Json, noFields, numberField, objectField, textField, withField } from "../json-edit.ts";
import { validateKept } from "../kept.ts";

const specOf = (object: Unstructured): Json => objectField(object, "spec") ?? noFields;

const counted = ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"];

/** Findings about a job against the stored one. */
export function validateJobUpdate(object: Unstructured, old: Unstructured): FieldError[] {
  const spec = specOf(object);
  const before = specOf(old);
  return [
    ...validateCompletions(spec, before),
    ...validateKept(spec, before, ["selector"], "spec."),
    ...validateKept(waits(old) ? withDirectives(spec, before) : spec, before, ["template"], "spec."),
    ...validateKept(spec, before, counted, "spec."),
  ];
}

/** An indexed job may grow and shrink as a whole. */
function validateCompletions(spec: Json, old: Json): FieldError[] {
  if (textField(spec, "completionMode") !== "Indexed") return validateKept(spec, old, ["completions"], "spec.");
  const completions = numberField(spec, "completions");
  if (completions === numberField(old, "completions") || completions === numberField(spec, "parallelism")) return [];
  return [invalid("spec.completions", completions, "can only be modified in tandem with spec.parallelism")];
}

/** Whether a job was suspended before it began. */
const waits = (job: Unstructured): boolean =>
  specOf(job)["suspend"] === true && textField(objectField(job, "status"), "startTime") === "";

/** The spec with the nodes and labels of `from`'s pods: the part of the template that may change by then. */
function withDirectives(spec: Json, from: Json): Json {
  const template = objectField(from, "template") ?? noFields;
  const parts: readonly (readonly [string, readonly string[]])[] = [
    ["metadata", ["annotations", "labels"]],
    ["spec", ["nodeSelector", "affinity", "tolerations", "schedulingGates"]],
  ];
  return editField(spec, "template", (next) =>
    parts.reduce((into, [part, names]) => {
      const present = objectField(template, part) ?? noFields;
      const changed = names.reduce(
        (one, name) => withField(one, name, present[name]),
        objectField(into, part) ?? noFields,
      );
      return jsonEquals(changed, present) ? withField(into, part, template[part]) : withField(into, part, changed);
    }, next),
  );
}
