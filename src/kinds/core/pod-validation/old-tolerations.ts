/** Checks the annotation in which tolerations were before they had a field. */
import { parseTolerations } from "#api/core/annotated-tolerations.ts";
import { invalid } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { checkEach, type Errors } from "../../checks.ts";
import { checkToleration } from "./scheduling.ts";

/** Checks the text of the annotation `name`; `path` is the path of the annotations. */
export function checkOldTolerations(text: string, name: string, path: FieldPath, errors: Errors): void {
  const tolerations = parseTolerations(text);
  if (tolerations === undefined) errors.push(invalid(path, name, "must be a list of tolerations in JSON"));
  else checkEach(tolerations, checkToleration, path.child(name), errors);
}
