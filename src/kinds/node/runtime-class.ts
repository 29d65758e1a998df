/** RuntimeClass: a container runtime configuration. */
import type { RuntimeClass, Scheduling } from "#api/node/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { FieldError } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { dns1123Label } from "#meta/names.ts";
import { validateLabels } from "#meta/validate-object-meta.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import { checkName, checkUnique, type Errors } from "../checks.ts";
import { checkResources } from "../core/pod-validation/resources.ts";
import { checkToleration } from "../core/pod-validation/scheduling.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { validateImmutable } from "../immutable.ts";
import { labelWarnings, nodeLabels } from "../node-labels.ts";
import { ownPrefix } from "../core/resource-names.ts";

export function runtimeClasses({ domain }: KindEnvironment): KindBehaviour<RuntimeClass> {
  const own = ownPrefix(domain);
  const warnings = schedulingWarnings(domain);
  return {
    anyFinalizers: true,
    createOnUpdate: true,
    columns: [nameColumn, text("Handler", "Configuration of the node's runtime.", ({ handler }) => handler), ageColumn],
    strategy: {
      validate: (object) => validate(object, own),
      validateUpdate: (object, old) => [...validate(object, own), ...validateImmutable(object, old, ["handler"])],
      warningsOnCreate: warnings,
      warningsOnUpdate: warnings,
    },
  };
}

const schedulingPath = FieldPath.of("scheduling");

function validate({ handler, overhead, scheduling }: RuntimeClass, own: string): FieldError[] {
  const errors: FieldError[] = [];
  checkName(handler, dns1123Label, FieldPath.of("handler"), errors);
  if (overhead !== undefined) {
    checkResources({ limits: overhead.podFixed ?? {} }, FieldPath.of("overhead"), own, errors);
  }
  if (scheduling !== undefined) checkScheduling(scheduling, errors);
  return errors;
}

function checkScheduling({ nodeSelector, tolerations = [] }: Scheduling, errors: Errors): void {
  validateLabels(nodeSelector, schedulingPath.child("nodeSelector"), errors);
  // Upstream: the path has the field name twice for invalid tolerations, and once for duplicate ones.
  const path = schedulingPath.child("tolerations");
  const seen = new Set<string>();
  for (const [i, toleration] of tolerations.entries()) {
    checkToleration(toleration, path.child("tolerations").index(i), errors);
    const { key = "", operator = "", value = "", effect = "" } = toleration; // seconds are ignored
    const id = JSON.stringify([key, operator, value, effect]);
    checkUnique(id, seen, path.index(i), errors, toleration);
  }
}

function schedulingWarnings(domain: ApiDomain): (object: RuntimeClass) => string[] {
  const labels = nodeLabels(domain);
  const path = schedulingPath.child("nodeSelector");
  return ({ scheduling }) => labelWarnings(Object.keys(scheduling?.nodeSelector ?? {}), () => path, labels);
}
