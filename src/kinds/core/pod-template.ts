/** PodTemplate: a stored template of pods. */
import type { PodTemplate } from "#api/core/v1.ts";
import { containerColumns, labelsText, nameColumn, text } from "../cells.ts";
import { editField } from "../edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { defaultPodTemplate } from "./pod-spec.ts";

export function podTemplates(): KindBehaviour<PodTemplate> {
  return {
    returnsDeleted: true,
    columns: [
      nameColumn,
      ...containerColumns<PodTemplate>(({ template }) => template).map((column) => ({ ...column, priority: 0 })),
      text("Pod Labels", "Labels of pods made from the template.", ({ template }) =>
        labelsText(template.metadata.labels),
      ),
    ],
    strategy: { defaults: (object) => editField(object, "template", defaultPodTemplate) },
  };
}
