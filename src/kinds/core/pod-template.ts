/** PodTemplate: a template of pods kept by itself. */
import { containerColumns, inside, labelsText, nameColumn, text } from "../cells.ts";
import { editField } from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { defaultPodTemplate } from "./pod-spec.ts";

export function podTemplates(): KindBehaviour {
  return {
    returnsDeleted: true,
    columns: [
      nameColumn,
      ...containerColumns((object) => inside(object, "template", "spec")).map((column) => ({ ...column, priority: 0 })),
      text("Pod Labels", "Labels of pods made from the template.", (object) =>
        labelsText(inside(object, "template", "metadata", "labels")),
      ),
    ],
    strategy: { defaults: (object) => editField(object, "template", defaultPodTemplate) },
  };
}
