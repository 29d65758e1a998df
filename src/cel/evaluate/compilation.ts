/** The interface through which the compilers of all kinds of nodes share the state of one compilation. */
import type { Expression } from "../ast.ts";
import type { Overload } from "../functions.ts";
import type { CelType } from "../types.ts";
import type { Value } from "../values.ts";
import type { Compiled } from "./node.ts";

/** The meaning of a name or a call. */
export type Meaning =
  | { readonly kind: "variable"; readonly name: string; readonly type: CelType }
  | { readonly kind: "constant"; readonly type: CelType; readonly value: Value }
  | { readonly kind: "function"; readonly name: string; readonly overloads: readonly Overload[] };

/** A variable of a loop while its body is compiled. */
export interface LoopVariable {
  readonly slot: number;
  readonly type: CelType | undefined;
  /** Whether it is used in other ways than as the list or map to which the loop adds. */
  isShared: boolean;
}

/** The state of one compilation, for the compilers of nodes. */
export interface Compilation {
  compile(expression: Expression): Compiled;
  meaning(expression: Expression): Meaning | undefined;
  type(expression: Expression): CelType | undefined;
  /** Compiles with these loop variables in scope. */
  within<Result>(variables: ReadonlyMap<string, LoopVariable>, compile: () => Result): Result;
  findLoopVariable(name: string): LoopVariable | undefined;
  /** Returns a new slot of the frame. */
  newSlot(): number;
}
