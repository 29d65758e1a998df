/** Paths of fields as people write them: `spec.replicas`, `spec.containers[name=app].image`, `metadata.labels["a.b/c"]`. */
import type { Unstructured } from "#meta/object-meta.ts";
import { isObject } from "#std/is-object.ts";
import { StartError } from "#std/start-error.ts";
import { isOfItem, type KeyPath, FieldOwners } from "#meta/field-owners.ts";

type Step = { readonly member: string } | { readonly key: string; readonly value: string } | { readonly index: number };

const stepPattern = /\.?([^.[\]"]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|\[([^=\]]+)=([^\]]*)\]/uy;

/** Reads a path. Throws `StartError`. */
function stepsOf(text: string): readonly Step[] {
  const steps: Step[] = [];
  stepPattern.lastIndex = 0;
  while (stepPattern.lastIndex < text.length) {
    const match = stepPattern.exec(text);
    if (match === null) {
      throw new StartError(
        `${JSON.stringify(text)} is no path of a field: write spec.replicas, spec.containers[name=app].image or metadata.labels["a/b"]`,
      );
    }
    const [, member, index, quoted, key, value] = match;
    if (index !== undefined) steps.push({ index: Number(index) });
    else if (key !== undefined) steps.push({ key, value: value ?? "" });
    else steps.push({ member: member ?? (JSON.parse(`"${quoted ?? ""}"`) as string) });
  }
  if (steps.length === 0) throw new StartError("the path of the field is empty");
  return steps;
}

/**
 * Returns the keys by which managers know a field of an object. Throws `StartError` when the object has no such field, or
 * when nobody owns a part of an item, so that its key is not known.
 */
export function keyPathOf(object: Unstructured, text: string): KeyPath {
  let value: unknown = object;
  let part = FieldOwners.of(object.metadata.managedFields ?? []);
  const keys: string[] = [];
  for (const step of stepsOf(text)) {
    if ("member" in step) {
      if (!isObject(value) || !Object.hasOwn(value, step.member)) throw noField(text, step.member);
      value = (value as Readonly<Record<string, unknown>>)[step.member];
      part = part.member(step.member);
      keys.push(`f:${step.member}`);
      continue;
    }
    const at = itemAt(value, step);
    if (at < 0) throw noField(text, "index" in step ? String(step.index) : `${step.key}=${step.value}`);
    const item = (value as readonly unknown[])[at]; // it has an item
    const [key] = part.namesOf((one) => isOfItem(one, item, at));
    if (key === undefined) {
      throw new StartError(
        `nobody owns a field of the item in ${JSON.stringify(text)}, so the server has no name for it`,
      );
    }
    part = part.item(item, at);
    value = item;
    keys.push(key);
  }
  return keys;
}

function itemAt(value: unknown, step: Exclude<Step, { readonly member: string }>): number {
  if (!Array.isArray(value)) return -1;
  if ("index" in step) return step.index < value.length ? step.index : -1;
  return value.findIndex(
    (item) => isObject(item) && String((item as Record<string, unknown>)[step.key]) === step.value,
  );
}

const noField = (text: string, part: string): StartError =>
  new StartError(`the object has no field ${JSON.stringify(text)}: there is no ${JSON.stringify(part)}`);
