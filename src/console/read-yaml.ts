/** Reads the text of an editor: one object in YAML or JSON. */
import { load } from "js-yaml";
import type { Unstructured } from "#meta/object-meta.ts";
import { isObject } from "#std/is-object.ts";

/** Returns the object. Throws an `Error` that says what is wrong, and in which line. */
export function readYaml(text: string): Unstructured {
  const value: unknown = load(text);
  if (!isObject(value) || !isObject(value["metadata"])) throw new Error("an object has members, metadata among them");
  return value as unknown as Unstructured; // the server checks the rest
}
