/** Checks the annotation in which tolerations were before they had a field. */
import type { Toleration } from "#api/core/v1.ts";
import { invalid } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { isObject } from "#std/is-object.ts";
import { checkEach, type Errors } from "../../checks.ts";
import { checkToleration } from "./scheduling.ts";

/** Checks the text of the annotation `name`; `path` is the path of the annotations. */
export function checkOldTolerations(text: string, name: string, path: FieldPath, errors: Errors): void {
  const tolerations = parseTolerations(text);
  if (tolerations === undefined) errors.push(invalid(path, name, "must be a list of tolerations in JSON"));
  else checkEach(tolerations, checkToleration, path.child(name), errors);
}

const textFields = ["key", "operator", "value", "effect"] as const;

/** Returns the tolerations in a JSON text; `undefined` for other texts. */
function parseTolerations(text: string): Toleration[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const items = value ?? [];
  if (!Array.isArray(items)) return undefined;
  const tolerations = items.map(tolerationOf);
  return tolerations.every((toleration) => toleration !== undefined) ? tolerations : undefined;
}

/** Returns the toleration in a JSON value. Upstream: the case of names does not matter, and other members are ignored. */
function tolerationOf(value: unknown): Toleration | undefined {
  if (value === null) return {};
  if (!isObject(value)) return undefined;
  const members = new Map(Object.entries(value).map(([name, member]) => [name.toLowerCase(), member ?? undefined]));
  const seconds = members.get("tolerationseconds");
  if (seconds !== undefined && !Number.isInteger(seconds)) return undefined;
  if (textFields.some((name) => !["string", "undefined"].includes(typeof members.get(name)))) return undefined;
  const texts = Object.fromEntries(textFields.map((name) => [name, members.get(name) ?? ""]));
  return seconds === undefined ? texts : { ...texts, tolerationSeconds: Number(seconds) };
}
