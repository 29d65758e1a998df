/**
 * The syntax tree of an expression. Operators are calls of functions with reserved names, and macros are expanded into
 * comprehensions, as the rules for costs and errors expect. Source: the language definition, and cel-go's names of
 * operators and macro variables, which errors and costs show.
 */
import type { Scalar } from "./values.ts";

interface Node {
  /** Identifies the node in its tree: the checker records types and overloads by this number. */
  readonly id: number;
  /**
   * The offset in the source that errors show, in code points: that of the operator itself, or of the first character
   * of an operand.
   */
  readonly offset: number;
}

/** A literal of a single value, such as `1`, `'a'` or `null`. */
export interface Constant extends Node {
  readonly kind: "constant";
  readonly value: Scalar;
}

/** A name that stands alone, such as `self` or `.int`. */
export interface Identifier extends Node {
  readonly kind: "identifier";
  /** The name, with a leading dot if the source has one. */
  readonly name: string;
}

/** `operand.field`, or `has(operand.field)`. */
export interface Select extends Node {
  readonly kind: "select";
  readonly operand: Expression;
  readonly field: string;
  readonly isTest: boolean;
}

/** A call of a function or a member function, or an operator with its operands. */
export interface Call extends Node {
  readonly kind: "call";
  /** The name of the function, such as `size`, `_+_` or `_?._` (`operators`). */
  readonly name: string;
  /** The receiver of `x.f()`. */
  readonly target: Expression | undefined;
  readonly args: readonly Expression[];
}

/** `[a, ?b]`. */
export interface ListLiteral extends Node {
  readonly kind: "list";
  readonly elements: readonly Expression[];
  /** The indices of elements written as `?x`. */
  readonly optional: readonly number[];
}

/** An entry of a map, or a field of an object. */
export interface EntryNode<Key> extends Node {
  readonly key: Key;
  readonly value: Expression;
  /** Whether it is written as `?key: value`. */
  readonly isOptional: boolean;
}

/** `{a: b, ?c: d}`. */
export interface MapLiteral extends Node {
  readonly kind: "map";
  readonly entries: readonly EntryNode<Expression>[];
}

/** `Name{field: value}`. */
export interface ObjectLiteral extends Node {
  readonly kind: "object";
  readonly name: string;
  readonly fields: readonly EntryNode<string>[];
}

/**
 * A loop over a list or the keys of a map. It computes `accumulator = initial; for (variable in range) { if
 * (!condition) break; accumulator = step }; result`.
 */
export interface Comprehension extends Node {
  readonly kind: "comprehension";
  readonly range: Expression;
  readonly variable: string;
  /** The second variable of the macros with two variables: the value of a key, or the element at an index. */
  readonly variable2: string | undefined;
  readonly accumulator: string;
  readonly initial: Expression;
  readonly condition: Expression;
  readonly step: Expression;
  readonly result: Expression;
}

export type Expression =
  | Constant
  | Identifier
  | Select
  | Call
  | ListLiteral
  | MapLiteral
  | ObjectLiteral
  | Comprehension;

/** Returns the nodes directly below a node, in the order in which the checker visits them. */
export function childrenOf(node: Expression): readonly Expression[] {
  switch (node.kind) {
    case "select":
      return [node.operand];
    case "call":
      return node.target === undefined ? node.args : [...node.args, node.target];
    case "list":
      return node.elements;
    case "map":
      return node.entries.flatMap(({ key, value }) => [key, value]);
    case "object":
      return node.fields.map(({ value }) => value);
    case "comprehension":
      return [node.range, node.initial, node.condition, node.step, node.result];
    default:
      return [];
  }
}

/** The function names of the operators. */
export const operators = {
  conditional: "_?_:_",
  and: "_&&_",
  or: "_||_",
  not: "!_",
  negate: "-_",
  equals: "_==_",
  notEquals: "_!=_",
  less: "_<_",
  lessEquals: "_<=_",
  greater: "_>_",
  greaterEquals: "_>=_",
  add: "_+_",
  subtract: "_-_",
  multiply: "_*_",
  divide: "_/_",
  modulo: "_%_",
  index: "_[_]",
  in: "@in",
  notStrictlyFalse: "@not_strictly_false",
  optionalIndex: "_[?_]",
  optionalSelect: "_?._",
} as const;

/** A finding about the source. */
export interface Issue {
  /** The offset in the source, in code points; -1 if there is no position. */
  readonly offset: number;
  readonly message: string;
}
