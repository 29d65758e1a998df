/** Checks of tolerations and of the quality-of-service class of pods, for plugins of admission. */
import type { Pod, Toleration } from "#api/core/v1.ts";
import type { FieldError } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { checkEach } from "./checks.ts";
import { qosClass } from "./core/pod-qos.ts";
import { checkToleration } from "./core/pod-validation/scheduling.ts";

export function validateTolerations(tolerations: readonly Toleration[], path: FieldPath): readonly FieldError[] {
  const errors: FieldError[] = [];
  checkEach(tolerations, checkToleration, path, errors);
  return errors;
}

/** Whether a pod, or its containers, says nothing about CPU and memory. */
export const isBestEffort = ({ spec, status }: Pod): boolean => (status.qosClass ?? qosClass(spec)) === "BestEffort";
