/** The output of objects: JSON, YAML, names. */
import type { Unstructured } from "#meta/object-meta.ts";
import { valueText } from "./print.ts";

/** Whether the value of `-o` stands for a value as a whole. */
export const isStructured = (output: string): output is "json" | "yaml" => output === "json" || output === "yaml";

/** Returns one object as it is, and several as a list, in JSON or YAML. */
export function objectsText(form: "json" | "yaml", objects: readonly Unstructured[]): string {
  const [first] = objects;
  if (objects.length === 1 && first !== undefined) return valueText(form, first);
  return valueText(form, { apiVersion: "v1", kind: "List", metadata: { resourceVersion: "" }, items: objects });
}
