/** Shared by workloads of the apps group: pod templates, immutable selectors, and columns. */
import type { PodTemplateSpec } from "#api/core/v1.ts";
import type { LabelSelector } from "#api/meta/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, GoSyntax, invalid, notSupported, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import {
  compileLabelSelector,
  formatLabelSelector,
  printLabels,
  printLabelSelector,
  validateLabelSelector,
} from "#meta/label-selector.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { Column } from "#registry/resource-definition.ts";
import { containerColumns, wideText } from "../cells.ts";
import { validateContainers } from "../core/pod-validation.ts";

/** Common fields of Deployment, ReplicaSet and DaemonSet specs. */
interface Workload extends ApiObject {
  readonly spec: {
    readonly replicas?: number;
    readonly selector: LabelSelector | null;
    readonly template: PodTemplateSpec;
  };
}

/** Containers, images and selector, shown when wide. */
export const templateColumns: readonly Column<Workload>[] = [
  ...containerColumns<Workload>(({ spec }) => spec.template),
  wideText("Selector", "Labels of the pods.", ({ spec }) => formatLabelSelector(spec.selector)),
];

const selectorPath = FieldPath.of("spec", "selector");
const podSpecPath = FieldPath.of("spec", "template", "spec");

/** Checks of a workload; `called` is how messages name it. */
function validateWorkload({ spec }: Workload, called: string): FieldError[] {
  const { replicas = 0, selector, template } = spec;
  const { restartPolicy = "" } = template.spec;
  const errors: FieldError[] = [];
  if (replicas < 0) errors.push(invalid("spec.replicas", replicas, "must be greater than or equal to 0"));
  // An absent selector selects nothing, the template's pods included.
  if (selector === null) errors.push(required(selectorPath), mismatch(template));
  else errors.push(...validateSelector(selector, template, called));
  errors.push(...validateContainers(template.spec, podSpecPath));
  if (restartPolicy !== "Always") {
    errors.push(notSupported(podSpecPath.child("restartPolicy"), restartPolicy, ["Always"]));
  }
  return errors;
}

function validateSelector(selector: LabelSelector, template: PodTemplateSpec, called: string): FieldError[] {
  const errors = validateLabelSelector(selector, selectorPath);
  const compiled = compileLabelSelector(selector);
  const refuse = (detail: string): FieldError[] => [...errors, invalidSelector(selector, detail)];
  if (compiled === undefined) return refuse("invalid label selector");
  if (compiled.empty) return refuse(`empty selector is invalid for ${called}`);
  return compiled.matches(template.metadata.labels) ? errors : [...errors, mismatch(template)];
}

const invalidSelector = (selector: LabelSelector | null, detail: string): FieldError =>
  invalid(selectorPath, selector && new GoSyntax(printLabelSelector(selector)), detail);

function mismatch({ metadata: { labels } }: PodTemplateSpec): FieldError {
  const shown = new GoSyntax(printLabels(labels));
  return invalid("spec.template.metadata.labels", shown, "`selector` does not match template `labels`");
}

/** The rules of kinds whose writes check all of the workload. */
export const workloadRules = (called: string) => ({
  validate: (object: Workload) => validateWorkload(object, called),
  validateUpdate: (object: Workload, old: Workload) => [
    ...validateWorkload(object, called),
    ...validateSelectorUpdate(object, old),
  ],
});

/** The selector of a workload never changes. */
export function validateSelectorUpdate({ spec: { selector } }: Workload, old: Workload): FieldError[] {
  return jsonEquals(selector, old.spec.selector) ? [] : [invalidSelector(selector, "field is immutable")];
}
