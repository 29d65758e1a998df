/** Makes the nodes of one tree, with ids counted from 1. */
import type { Call, Comprehension, Constant, EntryNode, Expression, Identifier, ListLiteral, Select } from "../ast.ts";
import type { Scalar } from "../values.ts";

/** The number of nodes that macros may still repeat, in one expression or in several that share it. */
export interface Repetition {
  left: number;
}

export class Nodes {
  #id = 0;
  readonly #repetition: Repetition;

  constructor(repetition: Repetition) {
    this.#repetition = repetition;
  }

  id(): number {
    return ++this.#id;
  }

  constant(offset: number, value: Scalar): Constant {
    return { id: this.id(), offset, kind: "constant", value };
  }

  identifier(offset: number, name: string): Identifier {
    return { id: this.id(), offset, kind: "identifier", name };
  }

  select(offset: number, operand: Expression, field: string, isTest = false): Select {
    return { id: this.id(), offset, kind: "select", operand, field, isTest };
  }

  call(offset: number, name: string, args: readonly Expression[], target?: Expression): Call {
    return { id: this.id(), offset, kind: "call", name, target, args };
  }

  list(offset: number, elements: readonly Expression[], optional: readonly number[] = []): ListLiteral {
    return { id: this.id(), offset, kind: "list", elements, optional };
  }

  loop(offset: number, parts: Omit<Comprehension, "id" | "offset" | "kind">): Comprehension {
    return { id: this.id(), offset, kind: "comprehension", ...parts };
  }

  /** Returns a copy of the expression with ids of its own; `undefined` if macros have repeated too much before. */
  copy(expression: Expression): Expression | undefined {
    if (this.#repetition.left < 0) return undefined;
    const before = this.#id;
    const copied = this.#copy(expression);
    this.#repetition.left -= this.#id - before;
    return copied;
  }

  #copy(of: Expression): Expression {
    const id = this.id();
    const all = (from: readonly Expression[]): Expression[] => from.map((one) => this.#copy(one));
    switch (of.kind) {
      case "constant":
      case "identifier":
        return { ...of, id };
      case "select":
        return { ...of, id, operand: this.#copy(of.operand) };
      case "call":
        return { ...of, id, target: of.target && this.#copy(of.target), args: all(of.args) };
      case "list":
        return { ...of, id, elements: all(of.elements) };
      case "map":
        return { ...of, id, entries: of.entries.map((entry) => this.#entry(entry, this.#copy(entry.key))) };
      case "object":
        return { ...of, id, fields: of.fields.map((field) => this.#entry(field, field.key)) };
      case "comprehension":
        return {
          ...of,
          id,
          range: this.#copy(of.range),
          initial: this.#copy(of.initial),
          condition: this.#copy(of.condition),
          step: this.#copy(of.step),
          result: this.#copy(of.result),
        };
    }
  }

  #entry<Key>(of: EntryNode<Key>, key: Key): EntryNode<Key> {
    return { ...of, id: this.id(), key, value: this.#copy(of.value) };
  }
}
