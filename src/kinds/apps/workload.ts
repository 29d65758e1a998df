/** What the workloads of the apps group share: pod templates, selectors that never change, and columns. */
import type { PodSpec, PodTemplateSpec } from "#api/core/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, invalid, notSupported, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { compileLabelSelector, printLabelSelector, validateLabelSelector } from "#meta/label-selector.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { Column } from "#registry/resource-definition.ts";
import { containerColumns, inside, selectorText, wideText } from "../cells.ts";
import { type Json, noFields, numberField, objectField, textField, textsField } from "../json-edit.ts";
import { validateContainers } from "../core/pod.ts";

export const specOf = (object: Unstructured): Json => objectField(object, "spec") ?? noFields;
export const statusNumber = (object: Unstructured, name: string): number =>
  numberField(objectField(object, "status"), name);

/** Containers, images and selector, shown when wide. */
export const templateColumns: readonly Column[] = [
  ...containerColumns<Unstructured>((object) => inside(object, "spec", "template") as PodTemplateSpec | undefined),
  wideText("Selector", "Labels of the pods.", (object) => selectorText(specOf(object)["selector"])),
];

const podSpecPath = FieldPath.of("spec", "template", "spec");

/** Checks of a workload; `called` is how messages name it. */
export function validateWorkload(object: Unstructured, called: string): FieldError[] {
  const spec = specOf(object);
  const errors: FieldError[] = [];
  const replicas = numberField(spec, "replicas");
  if (replicas < 0) errors.push(invalid("spec.replicas", replicas, "must be greater than or equal to 0"));
  const selector = objectField(spec, "selector");
  const template = objectField(spec, "template") ?? noFields;
  // An absent selector selects nothing, the template's pods included.
  if (selector === undefined) errors.push(required("spec.selector"), mismatch(template));
  else errors.push(...validateSelector(selector, template, called));
  const podSpec = objectField(template, "spec") ?? noFields;
  errors.push(...validateContainers(podSpec as unknown as PodSpec, podSpecPath));
  const restart = textField(podSpec, "restartPolicy");
  if (restart !== "Always") errors.push(notSupported("spec.template.spec.restartPolicy", restart, ["Always"]));
  return errors;
}

function validateSelector(selector: Json, template: Json, called: string): FieldError[] {
  const errors = validateLabelSelector(selector, "spec.selector");
  const compiled = compileLabelSelector(selector);
  const printed = printLabelSelector(selector);
  const invalid = (detail: string): FieldError => ({
    type: "FieldValueInvalid",
    field: "spec.selector",
    message: `Invalid value: ${printed}: ${detail}`,
  });
  if (compiled === undefined) return [...errors, invalid("invalid label selector")];
  if (compiled.empty) return [...errors, invalid(`empty selector is invalid for ${called}`)];
  return compiled.matches(labelsOf(template)) ? errors : [...errors, mismatch(template)];
}

const labelsOf = (template: Json): Readonly<Record<string, string>> | undefined =>
  textsField(objectField(template, "metadata") ?? noFields, "labels");

function mismatch(template: Json): FieldError {
  const labels = labelsOf(template);
  const shown = labels === undefined ? "map[string]string(nil)" : printTexts(labels);
  return {
    type: "FieldValueInvalid",
    field: "spec.template.metadata.labels",
    message: `Invalid value: ${shown}: \`selector\` does not match template \`labels\``,
  };
}

const printTexts = (texts: Readonly<Record<string, string>>): string =>
  `map[string]string{${Object.entries(texts)
    .map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)
    .sort()
    .join(", ")}}`;

/** The selector of a workload never changes. */
export function validateSelectorKept(object: Unstructured, old: Unstructured): FieldError[] {
  const selector = specOf(object)["selector"] ?? null;
  if (jsonEquals(selector, specOf(old)["selector"] ?? null)) return [];
  const printed = selector === null ? '"null"' : printLabelSelector(selector);
  return [
    { type: "FieldValueInvalid", field: "spec.selector", message: `Invalid value: ${printed}: field is immutable` },
  ];
}
