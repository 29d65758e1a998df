/** PodTemplate: a stored template of pods. */
import type { PodTemplate } from "#api/core/v1.ts";
import { templateRules } from "./pod-validation/rules.ts";
import { containerColumns, labelsText, nameColumn, text } from "../cells.ts";
import { editField } from "../edit.ts";
import type { FieldError } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { defaultPodTemplate } from "./pod-spec.ts";
import { validatePodTemplateSpec } from "./pod-validation.ts";
import { templateWarnings } from "./pod-warnings.ts";

const templatePath = FieldPath.of("template");

export function podTemplates(environment: KindEnvironment): KindBehaviour<PodTemplate> {
  const { domain } = environment;
  const rulesOf = templateRules<PodTemplate>(environment, ({ template }) => template);
  const validate = (object: PodTemplate, old?: PodTemplate): FieldError[] =>
    validatePodTemplateSpec(object.template, templatePath, rulesOf(object, old));
  return {
    returnsDeleted: true,
    columns: [
      nameColumn,
      ...containerColumns<PodTemplate>(({ template }) => template).map((column) => ({ ...column, priority: 0 })),
      text("Pod Labels", "Labels of pods made from the template.", ({ template }) =>
        labelsText(template.metadata.labels),
      ),
    ],
    strategy: {
      defaults: (object) => editField(object, "template", defaultPodTemplate),
      validate: (object) => validate(object),
      validateUpdate: validate,
      ...templateWarnings<PodTemplate>(({ template }) => template, { domain, path: templatePath }),
    },
  };
}
