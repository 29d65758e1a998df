/** Compiles a checked tree into closures. If a tree was not checked, calls find their overloads by name. */
import type { Expression } from "../ast.ts";
import type { Overload } from "../functions.ts";
import type { CelType } from "../types.ts";
import { compileCall } from "./calls.ts";
import type { Compilation, LoopVariable, Meaning } from "./compilation.ts";
import { compileList, compileMap, compileObject } from "./literals.ts";
import { compileComprehension } from "./loops.ts";
import { type Compiled, constantNode } from "./node.ts";
import { compileIdentifier, compileSelect } from "./selection.ts";

/** A tree, and the types and references of its nodes by their ids. */
export interface CheckedTree {
  readonly ast: Expression;
  readonly types: ReadonlyMap<number, CelType>;
  readonly references: ReadonlyMap<number, Meaning>;
}

export class Compiler implements Compilation {
  readonly #checked: CheckedTree;
  readonly #overloads: ((name: string) => readonly Overload[]) | undefined;
  readonly #scopes: ReadonlyMap<string, LoopVariable>[] = [];
  /** The number of slots of a frame. */
  slotCount = 0;

  /** `overloads` returns the overloads of a function, for calls that were not checked. */
  constructor(checked: CheckedTree, overloads?: (name: string) => readonly Overload[]) {
    this.#checked = checked;
    this.#overloads = overloads;
  }

  compile(expression: Expression): Compiled {
    switch (expression.kind) {
      case "constant":
        return constantNode(expression.value);
      case "identifier":
        return compileIdentifier(expression, this);
      case "select":
        return compileSelect(expression, this);
      case "call":
        return compileCall(expression, this);
      case "list":
        return compileList(expression, this);
      case "map":
        return compileMap(expression, this);
      case "object":
        return compileObject(expression, this);
      default:
        return compileComprehension(expression, this);
    }
  }

  meaning(expression: Expression): Meaning | undefined {
    const reference = this.#checked.references.get(expression.id);
    if (reference !== undefined || expression.kind !== "call" || this.#overloads === undefined) return reference;
    const { args, name, target } = expression;
    const prefix = target === undefined ? undefined : pathOf(target);
    const qualified = prefix === undefined ? [] : this.#overloads(`${prefix}.${name}`).filter((one) => !one.isMember);
    if (qualified.length > 0) return { kind: "function", name: `${prefix}.${name}`, overloads: qualified };
    const count = args.length + (target === undefined ? 0 : 1);
    const fitting = this.#overloads(name).filter(
      (one) => one.args.length === count && one.isMember === (target !== undefined),
    );
    return { kind: "function", name, overloads: fitting };
  }

  type(expression: Expression): CelType | undefined {
    return this.#checked.types.get(expression.id);
  }

  within<Result>(variables: ReadonlyMap<string, LoopVariable>, compile: () => Result): Result {
    this.#scopes.push(variables);
    const result = compile();
    this.#scopes.pop();
    return result;
  }

  findLoopVariable(name: string): LoopVariable | undefined {
    for (let at = this.#scopes.length - 1; at >= 0; at--) {
      const variable = this.#scopes[at]!.get(name);
      if (variable !== undefined) return variable;
    }
    return undefined;
  }

  newSlot(): number {
    return this.slotCount++;
  }
}

/** Returns `a.b.c` if the expression consists of names only. */
function pathOf(expression: Expression): string | undefined {
  if (expression.kind === "identifier") return expression.name;
  if (expression.kind !== "select" || expression.isTest) return undefined;
  const prefix = pathOf(expression.operand);
  return prefix === undefined ? undefined : `${prefix}.${expression.field}`;
}
