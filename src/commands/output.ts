/** The output of objects: what `-o` can be, and the text of objects in each form. */
import type { Unstructured } from "#meta/object-meta.ts";
import { binnacleFlag, optional, withShort, withValues } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import { parseTemplate, type Template } from "./jsonpath-template.ts";
import { valueText } from "./print.ts";

/** Whether the value of `-o` stands for a value as a whole. */
export const isStructured = (output: string): output is "json" | "yaml" => output === "json" || output === "yaml";

/** The form in which objects are printed. */
export type Output =
  | { readonly form: "table"; readonly isWide: boolean }
  | { readonly form: "json" | "yaml" | "name" }
  | { readonly form: "jsonpath"; readonly template: Template };

/** The flag of commands that print objects, which `outputOf` reads. */
export const outputFlag = withShort(
  withValues(
    optional(
      binnacleFlag("output"),
      "form",
      "json, yaml, name, wide, or jsonpath=TEMPLATE such as jsonpath='{.metadata.name}'; default: text for people.",
    ),
    ["json", "yaml", "name", "wide", "jsonpath="],
  ),
  "o",
);

/** Reads the value of the flag. Throws `StartError`. */
export function outputOf(text = ""): Output {
  if (text === "" || text === "wide") return { form: "table", isWide: text === "wide" };
  if (text === "json" || text === "yaml" || text === "name") return { form: text };
  if (text.startsWith("jsonpath="))
    return { form: "jsonpath", template: parseTemplate(text.slice("jsonpath=".length)) };
  throw new StartError(
    `invalid value ${JSON.stringify(text)} for --output: must be json, yaml, name, wide or jsonpath=TEMPLATE`,
  );
}

/** Returns one object as it is, and several as a list, in JSON or YAML. */
export function objectsText(form: "json" | "yaml", objects: readonly Unstructured[]): string {
  const [first] = objects;
  return valueText(form, objects.length === 1 && first !== undefined ? first : listOf(objects));
}

/**
 * Prints what a command does with objects, in the form of `-o`: for each a line for people, its name or what a template
 * makes of it, at once; or all of them as JSON or YAML, at the end.
 */
export class ObjectReport {
  readonly #output: Output;
  readonly #objects: Unstructured[] = [];

  constructor(output: Output) {
    this.#output = output;
  }

  /** Takes the next object; `undefined` for one that is gone. `name` is followed by `done` in the line for people. */
  add(name: string, done: string, object: Unstructured | undefined): void {
    const output = this.#output;
    const shown = object === undefined ? undefined : withoutManagedFields(object);
    if (output.form === "table") process.stdout.write(`${name} ${done}\n`);
    else if (output.form === "name") process.stdout.write(`${name}\n`);
    else if (output.form === "jsonpath") process.stdout.write(output.template(shown));
    else if (shown !== undefined) this.#objects.push(shown);
  }

  end(): void {
    const { form } = this.#output;
    if (form === "json" || form === "yaml") process.stdout.write(objectsText(form, this.#objects));
  }
}

/** Returns objects as a list, as kubectl does for objects of several kinds. */
export const listOf = (items: readonly Unstructured[]): object => ({
  apiVersion: "v1",
  kind: "List",
  metadata: { resourceVersion: "" },
  items,
});

/** Returns the object without the owners of its fields, which are long and of interest to few. */
export function withoutManagedFields(object: Unstructured): Unstructured {
  const { managedFields, ...metadata } = object.metadata;
  return managedFields === undefined ? object : { ...object, metadata };
}
