/**
 * The parts of field sets that all values of a struct share: the elements of its fields, and the nodes of values that
 * have only scalars. Hot path: the engine looks up a text faster that it has seen before, and most values have the same
 * members.
 */
import type { Schema } from "#schema/schema.ts";
import { compareElements, type FieldSet, leafNode, makeNode } from "./field-set.ts";
import type { JsonObject } from "./json-value.ts";

/** The nodes of values by their members, which come one after the other. */
interface KeptNodes {
  readonly next: Map<string, KeptNodes>;
  node: FieldSet | undefined;
}

const newNodes = (): KeptNodes => ({ next: new Map(), node: undefined });

/** The maximum number of members of a value whose node is kept, and of kept nodes and beginnings of a struct. */
const membersMax = 8;
const keptMax = 64;

class StructElements {
  readonly #fields: ReadonlyMap<string, unknown>;
  /** The elements of fields, by name. */
  readonly #elements = new Map<string, string>();
  readonly #kept = newNodes();
  #room = keptMax;

  constructor(fields: ReadonlyMap<string, unknown>) {
    this.#fields = fields;
  }

  /** Returns the element of a member. */
  of(name: string): string {
    return this.#elements.get(name) ?? this.#make(name);
  }

  /**
   * Returns the node of a value that has only scalars, all of them fields; `undefined` when it has others, or the node
   * is not kept.
   */
  scalars(value: JsonObject, names: readonly string[]): FieldSet | undefined {
    if (names.length > membersMax || !hasScalarsOnly(value, names)) return undefined;
    let kept = this.#kept;
    for (const name of names) {
      const next = kept.next.get(name) ?? this.#add(kept, name);
      if (next === undefined) return undefined;
      kept = next;
    }
    return (kept.node ??= this.#nodeOf(names));
  }

  #make(name: string): string {
    const element = `f:${name}`;
    if (this.#fields.has(name)) this.#elements.set(name, element);
    return element;
  }

  #add(kept: KeptNodes, name: string): KeptNodes | undefined {
    if (!this.#fields.has(name)) return undefined;
    if (this.#room === 0) {
      // Other values may have other members by now.
      this.#kept.next.clear();
      this.#room = keptMax;
      return undefined;
    }
    this.#room--;
    const next = newNodes();
    kept.next.set(name, next);
    return next;
  }

  #nodeOf(names: readonly string[]): FieldSet {
    const elements = names.map((name) => this.of(name)).sort(compareElements);
    const nodes = elements.map(() => leafNode);
    return makeNode(true, elements, nodes)!; // a member is never undefined
  }
}

function hasScalarsOnly(value: JsonObject, names: readonly string[]): boolean {
  for (const name of names) {
    const inner = value[name];
    if (inner === undefined || typeof inner === "object") return false;
  }
  return true;
}

const structs = new WeakMap<Schema, StructElements>();

/** Returns the parts that the values of a struct share; `undefined` for other types. */
export function structElements(schema: Schema | undefined): StructElements | undefined {
  if (schema?.fields === undefined) return undefined;
  let elements = structs.get(schema);
  if (elements === undefined) {
    elements = new StructElements(schema.fields);
    structs.set(schema, elements);
  }
  return elements;
}
