/** The result of the checker, as input of compilation and cost estimates. */
import type { Expression, Issue } from "./ast.ts";
import type { Overload } from "./functions.ts";
import type { CelType } from "./types.ts";
import type { Value } from "./values.ts";

/** A tree that is free of findings. Both maps are by the ids of nodes. */
export interface Checked {
  readonly ast: Expression;
  /** Every node that is evaluated has its type here, without type parameters: one that stayed unknown is `dyn`. */
  readonly types: ReadonlyMap<number, CelType>;
  /**
   * Identifiers, calls and object literals have references, and so has a select that is no field but a name with dots
   * (its operand then has neither type nor reference, like the target of a call whose function has such a name).
   */
  readonly references: ReadonlyMap<number, Reference>;
  /** The whole expression has this type. */
  readonly type: CelType;
}

/** A variable that the caller of the expression gives a value, or one of a loop. */
export interface VariableReference {
  readonly kind: "variable";
  /** The whole name, without a leading dot. */
  readonly name: string;
  readonly type: CelType;
  readonly isLoop: boolean;
}

export interface ConstantReference {
  readonly kind: "constant";
  readonly name: string;
  readonly type: CelType;
  readonly value: Value;
}

/**
 * The overloads that a call may mean, at least one, in the order of their declaration. If they are no members although
 * the call has a target, then that is a part of the function's name.
 */
export interface FunctionReference {
  readonly kind: "function";
  /** The whole name: `optional.of`. */
  readonly name: string;
  readonly overloads: readonly Overload[];
}

export type Reference = VariableReference | ConstantReference | FunctionReference;

/** Finds errors beyond types. */
export type Validator = (checked: Checked) => readonly Issue[];
