/** Parts that the compilers of all kinds of nodes share. */
import type { Expression } from "../ast.ts";
import type { Overload } from "../functions.ts";
import type { CelType } from "../types.ts";
import type { Value } from "../values.ts";
import type { Compiled } from "./node.ts";

/** A name or a call means one of these. */
export type Meaning =
  | { readonly kind: "variable"; readonly name: string; readonly type: CelType }
  | { readonly kind: "constant"; readonly type: CelType; readonly value: Value }
  | { readonly kind: "function"; readonly name: string; readonly overloads: readonly Overload[] };

/** A variable of a loop while its body is compiled. */
export interface LoopVariable {
  readonly slot: number;
  readonly type: CelType | undefined;
  /** Whether it is used other than as the list or map that the loop adds to. */
  isShared: boolean;
}

export interface Compilation {
  compile(expression: Expression): Compiled;
  meaning(expression: Expression): Meaning | undefined;
  type(expression: Expression): CelType | undefined;
  /** Compiles with these loop variables in scope. */
  within<Result>(variables: ReadonlyMap<string, LoopVariable>, compile: () => Result): Result;
  findLoopVariable(name: string): LoopVariable | undefined;
  /** A slot of the frame. */
  newSlot(): number;
}
