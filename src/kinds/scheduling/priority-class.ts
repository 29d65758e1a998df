/** PriorityClass: a name for a number that says which pods go first. */
import { forbidden } from "#meta/field-error.ts";
import { ageColumn, flag, integer, nameColumn, text } from "../cells.ts";
import { fillAbsent, numberField, textField } from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { validateKept } from "../kept.ts";

export function priorityClasses(): KindBehaviour {
  return {
    createOnUpdate: false,
    columns: [
      nameColumn,
      integer("Value", "The number; higher goes first.", (object) => numberField(object, "value")),
      flag(
        "Global-Default",
        "Whether pods without a class get this one.",
        (object) => object["globalDefault"] === true,
      ),
      ageColumn,
      text("PreemptionPolicy", "Whether pods may push others aside.", (object) =>
        textField(object, "preemptionPolicy"),
      ),
    ],
    strategy: {
      defaults: (object) => fillAbsent(object, { preemptionPolicy: "PreemptLowerPriority" }),
      validateUpdate: (object, old) => [
        ...(numberField(object, "value") === numberField(old, "value")
          ? []
          : [forbidden("value", "may not be changed in an update.")]),
        ...validateKept(object, old, ["preemptionPolicy"]),
      ],
    },
  };
}
