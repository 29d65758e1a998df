/** PriorityClass: a named priority of pods. */
import type { PriorityClass } from "#api/scheduling/v1.ts";
import { type FieldError, forbidden } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { ageColumn, flag, integer, nameColumn, text } from "../cells.ts";
import { fillAbsent } from "../edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { validateImmutable } from "../immutable.ts";

const valueMax = 1_000_000_000;
const systemValues: ReadonlyMap<string, number> = new Map([
  ["system-node-critical", 2_000_001_000],
  ["system-cluster-critical", 2_000_000_000],
]);

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
      validate,
      validateUpdate: (object, old) => [
        ...(object.value === old.value ? [] : [forbidden(FieldPath.of("value"), "may not be changed in an update.")]),
        ...validateImmutable(object, old, ["preemptionPolicy"]),
      ],
    },
  };
}

/** Of a new class. Only the system's own classes may have the highest priorities. */
function validate({ metadata: { name = "" }, value, globalDefault }: PriorityClass): FieldError[] {
  if (!name.startsWith("system-")) {
    if (value <= valueMax) return [];
    return [forbidden(FieldPath.of("value"), `maximum allowed value of a user defined priority is ${valueMax}`)];
  }
  const problem = systemProblem(name, value, globalDefault === true);
  if (problem === undefined) return [];
  const reserved = "priority class names with 'system-' prefix are reserved for system use only. error:";
  return [forbidden(FieldPath.of("metadata", "name"), `${reserved} ${problem}`)];
}

function systemProblem(name: string, value: number, isDefault: boolean): string | undefined {
  const expected = systemValues.get(name);
  if (expected === undefined) return `${name} is not a known system priority class`;
  if (value !== expected) return `value of ${name} PriorityClass must be ${expected}`;
  return isDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}
