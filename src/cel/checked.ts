/** The result of the checker, which is the input of compilation and of cost estimates. */
import type { Expression, Issue } from "./ast.ts";
import type { Overload } from "./functions.ts";
import type { CelType } from "./types.ts";
import type { Value } from "./values.ts";

/** A tree without findings. The keys of both maps are ids of nodes. */
export interface Checked {
  readonly ast: Expression;
  /** The types of all nodes that are evaluated, without type parameters: a parameter that stayed free is `dyn`. */
  readonly types: ReadonlyMap<number, CelType>;
  /**
   * The references of identifiers, calls and object literals, and of a select that is not a field but a name with dots.
   * The operand of such a select has neither type nor reference, and neither has the target of a call whose function
   * has such a name.
   */
  readonly references: ReadonlyMap<number, Reference>;
  /** The type of the whole expression. */
  readonly type: CelType;
}

/** A variable to which the caller of the expression gives a value, or a variable of a loop. */
export interface VariableReference {
  readonly kind: "variable";
  /** The full name, without a leading dot. */
  readonly name: string;
  readonly type: CelType;
  readonly isLoop: boolean;
}

/** A name to which a library gives a value, such as the type `int`. */
export interface ConstantReference {
  readonly kind: "constant";
  readonly name: string;
  readonly type: CelType;
  readonly value: Value;
}

/**
 * The overloads that a call may mean, at least one, in the order of their declaration. If the call has a target and the
 * overloads are not members, the target is a part of the function's name.
 */
export interface FunctionReference {
  readonly kind: "function";
  /** The full name, such as `optional.of`. */
  readonly name: string;
  readonly overloads: readonly Overload[];
}

/** The meaning of a name or a call in an expression. */
export type Reference = VariableReference | ConstantReference | FunctionReference;

/** Finds errors beyond types. */
export type Validator = (checked: Checked) => readonly Issue[];
