/** StorageClass: the way in which volumes are provisioned. */
import type { TopologySelectorTerm } from "#api/core/v1.ts";
import type { StorageClass } from "#api/storage/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { defaultClassCheck } from "#meta/default-class.ts";
import { duplicate, type FieldError, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { qualifiedName } from "#meta/names.ts";
import { ageColumn, classNameColumn, text } from "../cells.ts";
import { checkName, checkOneOf, checkOptionalOneOf, checkUnique, type Errors } from "../checks.ts";
import { fillAbsent } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { forbidUpdates, validateImmutable } from "../immutable.ts";
import { labelWarnings, nodeLabels } from "../node-labels.ts";
import { checkParameters, checkProvisioner } from "./class-rules.ts";

export function storageClasses({ domain }: KindEnvironment): KindBehaviour<StorageClass> {
  const warnings = topologyWarnings(domain);
  return {
    returnsDeleted: true,
    columns: [
      classNameColumn(defaultClassCheck("StorageClass", domain)),
      text("Provisioner", "Program that makes the volumes.", (object) => object.provisioner),
      text(
        "ReclaimPolicy",
        "What happens to a volume when its claim goes.",
        (object) => object.reclaimPolicy || "Delete",
      ),
      text(
        "VolumeBindingMode",
        "When volumes are made and bound.",
        (object) => object.volumeBindingMode || "Immediate",
      ),
      text("AllowVolumeExpansion", "Whether volumes may grow.", (object) => object.allowVolumeExpansion === true),
      ageColumn,
    ],
    strategy: {
      defaults: (object) => fillAbsent(object, { reclaimPolicy: "Delete", volumeBindingMode: "Immediate" }),
      validate,
      validateUpdate: (object, old) => [
        ...validate(object),
        ...forbidUpdates(object, old, ["parameters", "provisioner", "reclaimPolicy"]),
        ...validateImmutable(object, old, ["volumeBindingMode"]),
      ],
      warningsOnCreate: warnings,
      warningsOnUpdate: warnings,
    },
  };
}

const reclaimPolicies = ["Delete", "Retain"];
const bindingModes = ["Immediate", "WaitForFirstConsumer"];
const topologiesPath = FieldPath.of("allowedTopologies");

function validate({ provisioner, parameters = {}, reclaimPolicy, ...others }: StorageClass): FieldError[] {
  const errors: FieldError[] = [];
  checkProvisioner(provisioner, FieldPath.of("provisioner"), errors);
  checkParameters(parameters, FieldPath.of("parameters"), errors);
  if (reclaimPolicy) checkOneOf(reclaimPolicy, reclaimPolicies, FieldPath.of("reclaimPolicy"), errors);
  checkOptionalOneOf(others.volumeBindingMode, bindingModes, FieldPath.of("volumeBindingMode"), errors);
  checkTopologies(others.allowedTopologies ?? [], errors);
  return errors;
}

/** Checks that no topology term is empty, and that no two are equivalent. */
function checkTopologies(terms: readonly TopologySelectorTerm[], errors: Errors): void {
  const meanings = new Set([JSON.stringify([])]);
  for (const [i, term] of terms.entries()) {
    const path = topologiesPath.index(i).child("matchLabelExpressions");
    checkUnique(checkTopology(term, path, errors), meanings, path, errors, "");
  }
}

/** Checks a topology term. Returns a text that is equal for equivalent terms. */
function checkTopology({ matchLabelExpressions }: TopologySelectorTerm, path: FieldPath, errors: Errors): string {
  const wanted = new Map<string, readonly string[]>();
  for (const [i, { key, values }] of (matchLabelExpressions ?? []).entries()) {
    const at = path.index(i);
    const seenValues = new Set<string>();
    if ((values ?? []).length === 0) errors.push(required(at.child("values")));
    for (const [j, value] of (values ?? []).entries()) {
      checkUnique(value, seenValues, at.child("values").index(j), errors);
    }
    checkName(key, qualifiedName, at.child("key"), errors);
    if (wanted.has(key)) errors.push(duplicate(at.child("key"), key));
    wanted.set(key, [...seenValues].sort());
  }
  return JSON.stringify([...wanted].sort(([one], [other]) => (one < other ? -1 : 1)));
}

function topologyWarnings(domain: ApiDomain): (object: StorageClass) => string[] {
  const labels = nodeLabels(domain);
  return ({ allowedTopologies }) =>
    (allowedTopologies ?? []).flatMap(({ matchLabelExpressions }, i) =>
      (matchLabelExpressions ?? []).flatMap(({ key }, j) => {
        const path = topologiesPath.index(i).child("matchLabelExpressions").index(j).child("key");
        return labelWarnings([key], () => path, labels);
      }),
    );
}
