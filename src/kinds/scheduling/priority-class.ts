/** PriorityClass: a named priority of pods. */
import type { PriorityClass } from "#api/scheduling/v1.ts";
import { type FieldError, forbidden } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { ageColumn, flag, integer, nameColumn, text } from "../cells.ts";
import { checkRequiredOneOf } from "../checks.ts";
import { fillAbsent } from "../edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { validateImmutable } from "../immutable.ts";

const policyPath = FieldPath.of("preemptionPolicy");
const valueMax = 1_000_000_000;
const systemValues: ReadonlyMap<string, number> = new Map([
  ["system-node-critical", 2_000_001_000],
  ["system-cluster-critical", 2_000_000_000],
]);

export function priorityClasses(): KindBehaviour<PriorityClass> {
  return {
    createOnUpdate: false,
    generation: false,
    columns: [
      nameColumn,
      integer("Value", "The number; higher goes first.", ({ value }) => value),
      flag("Global-Default", "Whether pods without a class get this one.", (object) => object.globalDefault === true),
      ageColumn,
      text("PreemptionPolicy", "Whether pods may push others aside.", (object) => object.preemptionPolicy ?? ""),
    ],
    strategy: {
      defaults: (object) => fillAbsent(object, { preemptionPolicy: "PreemptLowerPriority" }),
      // Upstream: the generation is always 1.
      prepareForCreate: (object) => ({ ...object, metadata: { ...object.metadata, generation: 1 } }),
      validate,
      validateUpdate: (object, old) => [
        ...(object.value === old.value ? [] : [forbidden(FieldPath.of("value"), "may not be changed in an update.")]),
        ...validateImmutable(object, old, ["preemptionPolicy"]),
      ],
    },
  };
}

const policies = ["PreemptLowerPriority", "Never"];

/** Returns findings about a new class. Only the system's own classes may have the highest priorities. */
function validate({ metadata: { name = "" }, value, globalDefault, preemptionPolicy }: PriorityClass): FieldError[] {
  const errors: FieldError[] = [];
  if (name.startsWith("system-")) {
    const problem = systemProblem(name, value, globalDefault === true);
    const reserved = "priority class names with 'system-' prefix are reserved for system use only. error:";
    if (problem !== undefined) errors.push(forbidden(FieldPath.of("metadata", "name"), `${reserved} ${problem}`));
  } else if (value > valueMax) {
    errors.push(forbidden(FieldPath.of("value"), `maximum allowed value of a user defined priority is ${valueMax}`));
  }
  checkRequiredOneOf(preemptionPolicy, policies, policyPath, errors);
  return errors;
}

function systemProblem(name: string, value: number, isDefault: boolean): string | undefined {
  const expected = systemValues.get(name);
  if (expected === undefined) return `${name} is not a known system priority class`;
  if (value !== expected) return `value of ${name} PriorityClass must be ${expected}`;
  return isDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}
