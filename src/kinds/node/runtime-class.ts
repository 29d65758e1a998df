/** RuntimeClass: a way to run containers. */
import { ageColumn, nameColumn, text } from "../cells.ts";
import { textField } from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { validateKept } from "../kept.ts";

export function runtimeClasses(): KindBehaviour {
  return {
    anyFinalizers: true,
    metadataRepeats: 1,
    createOnUpdate: true,
    columns: [
      nameColumn,
      text("Handler", "Configuration of the node's runtime.", (object) => textField(object, "handler")),
      ageColumn,
    ],
    strategy: { validateUpdate: (object, old) => validateKept(object, old, ["handler"]) },
  };
}
