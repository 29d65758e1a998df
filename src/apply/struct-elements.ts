/**
 * The elements of the fields of structs. Hot path: the engine looks up a text faster that it has seen before, and most
 * values have the same members.
 */
import type { Schema } from "#schema/schema.ts";

class StructElements {
  readonly #fields: ReadonlyMap<string, unknown>;
  readonly #elements = new Map<string, string>();

  constructor(fields: ReadonlyMap<string, unknown>) {
    this.#fields = fields;
  }

  /** Returns the element of a member. */
  of(name: string): string {
    return this.#elements.get(name) ?? this.#make(name);
  }

  #make(name: string): string {
    const element = `f:${name}`;
    if (this.#fields.has(name)) this.#elements.set(name, element);
    return element;
  }
}

const structs = new WeakMap<Schema, StructElements>();

/** Returns the elements of the fields of a struct; `undefined` for other types. */
export function structElements(schema: Schema | undefined): StructElements | undefined {
  if (schema?.fields === undefined) return undefined;
  let elements = structs.get(schema);
  if (elements === undefined) {
    elements = new StructElements(schema.fields);
    structs.set(schema, elements);
  }
  return elements;
}
