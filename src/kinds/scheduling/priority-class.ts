/** PriorityClass: a named priority of pods. */
import type { PriorityClass } from "#api/scheduling/v1.ts";
import { forbidden } from "#meta/field-error.ts";
import { ageColumn, flag, integer, nameColumn, text } from "../cells.ts";
import { fillAbsent } from "../edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { validateImmutable } from "../immutable.ts";

export function priorityClasses(): KindBehaviour<PriorityClass> {
  return {
    createOnUpdate: false,
    columns: [
      nameColumn,
      integer("Value", "The number; higher goes first.", ({ value }) => value),
      flag("Global-Default", "Whether pods without a class get this one.", (object) => object.globalDefault === true),
      ageColumn,
      text("PreemptionPolicy", "Whether pods may push others aside.", (object) => object.preemptionPolicy ?? ""),
    ],
    strategy: {
      defaults: (object) => fillAbsent(object, { preemptionPolicy: "PreemptLowerPriority" }),
      validateUpdate: (object, old) => [
        ...(object.value === old.value ? [] : [forbidden("value", "may not be changed in an update.")]),
        ...validateImmutable(object, old, ["preemptionPolicy"]),
      ],
    },
  };
}
