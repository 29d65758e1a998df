/**
 * The nodes of field sets that values of one type had before. Values of a type mostly have the same members, and then
 * they have the same node: it is found by what the value has, one step after the other, and nothing is made. Hot path.
 */
import type { Schema } from "#schema/schema.ts";
import { type FieldSet, leafNode } from "./field-set.ts";

/** A value that has certain members, or items, so far. */
interface Step {
  /** The steps from here: a member or item by its name, and then, unless it is a leaf, by its node. */
  readonly next: Map<string | FieldSet, Step>;
  /** The node of a value that has nothing more. */
  node: FieldSet | undefined;
}

const newStep = (): Step => ({ next: new Map(), node: undefined });

/** The maximum number of steps, and of members of nodes, that are kept for a type. */
const sizeMax = 512;
/** The maximum number of members of a value whose node is kept, and of UTF-16 code units in their names. */
const membersMax = 64;
const nameMax = 256;

/** The nodes that are kept, all types together. A node is found again only if those below it are. */
const keptNodes = new WeakSet<FieldSet>();

class KeptNodes {
  #start = newStep();
  #room = sizeMax;

  /** Returns the step of a value without members; `undefined` if the node of a value with `size` members is not kept. */
  start(size: number): Step | undefined {
    return size > membersMax ? undefined : this.#start;
  }

  /** Returns the step of a value that also has a member; `undefined` if the nodes of such values are not kept. */
  with(step: Step, name: string, node: FieldSet): Step | undefined {
    const named = step.next.get(name) ?? (name.length > nameMax ? undefined : this.#add(step, name));
    if (node === leafNode || named === undefined) return named;
    return named.next.get(node) ?? (keptNodes.has(node) ? this.#add(named, node) : undefined);
  }

  /** Keeps the node of the values that a step stands for. `size` is the number of its members. */
  keep(step: Step, node: FieldSet, size: number): void {
    this.#room -= size;
    step.node = node;
    keptNodes.add(node);
  }

  #add(step: Step, key: string | FieldSet): Step | undefined {
    if (this.#room <= 0) {
      // Other values may be usual by now.
      this.#start = newStep();
      this.#room = sizeMax;
      return undefined;
    }
    this.#room--;
    const next = newStep();
    step.next.set(key, next);
    return next;
  }
}

const keptByType = new WeakMap<Schema, KeptNodes>();

/** Returns the nodes that are kept for a type. */
export function keptNodesOf(schema: Schema): KeptNodes {
  let kept = keptByType.get(schema);
  if (kept === undefined) {
    kept = new KeptNodes();
    keptByType.set(schema, kept);
  }
  return kept;
}
