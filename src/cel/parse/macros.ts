/**
 * Expands macros: calls that the parser replaces with comprehensions and tests. Costs are counted on the expansions, so
 * the expansions are part of the language. Source: the language definition, and cel-go's names of variables.
 */
import { type Call, type Expression, type Issue, operators } from "../ast.ts";
import type { Nodes } from "./nodes.ts";

/**
 * The variable in which a loop collects its result. A variable of the loop with the same name hides it, as in the
 * reference.
 */
const accumulator = "__result__";
/** The variable of a loop over an empty list. */
const unused = "#unused";

/** A call that may be a macro. `offset` is that of the call; the nodes of the expansion get it too. */
interface MacroCall {
  readonly offset: number;
  readonly name: string;
  readonly target: Expression | undefined;
  readonly args: readonly Expression[];
}

/** The expression that replaces the call, or the issue about a wrong argument. */
type Expansion = { readonly expression: Expression } | { readonly issue: Issue };

/** The macros that only some environments have. */
export interface MacroOptions {
  readonly hasTwoVariables: boolean;
  readonly hasBindings: boolean;
}

/** Expands a call. Returns `undefined` if it is not a macro. */
export function expandMacro(
  nodes: Nodes,
  call: MacroCall,
  { hasTwoVariables, hasBindings }: MacroOptions,
): Expansion | undefined {
  const { args, target, name } = call;
  if (target === undefined) return name === "has" && args.length === 1 ? has(nodes, call, args[0]!) : undefined;
  // Few calls are macros, and most calls have other numbers of arguments.
  if (args.length < 2 || args.length > 4) return undefined;
  const macro = args.length === 2 ? oneVariable.get(name) : undefined;
  if (macro !== undefined) return withVariable(nodes, call, macro);
  if (args.length === 2) return optionalMacro(nodes, call, target);
  if (args.length === 3 && name === "map") return withVariable(nodes, call, { wrong: notIdentifier, expand: collect });
  if (hasBindings && args.length === 3 && name === "bind" && target.kind === "identifier" && target.name === "cel") {
    return binding(nodes, call);
  }
  const two = hasTwoVariables ? twoVariables.get(`${name}/${args.length}`) : undefined;
  return two === undefined ? undefined : withTwoVariables(nodes, call, two);
}

function has(nodes: Nodes, call: MacroCall, operand: Expression): Expansion {
  if (operand.kind !== "select")
    return { issue: { offset: operand.offset, message: "invalid argument to has() macro" } };
  return { expression: nodes.select(call.offset, operand.operand, operand.field, true) };
}

const notIdentifier = "argument is not an identifier";
const notSimple = "argument must be a simple name";

/** Makes the nodes of one expansion, all at the position of its call. */
class Expander {
  readonly #nodes: Nodes;
  readonly #offset: number;
  readonly range: Expression;
  readonly variable: string;
  readonly variable2: string | undefined;

  constructor(nodes: Nodes, offset: number, range: Expression, variable: string, variable2?: string) {
    this.#nodes = nodes;
    this.#offset = offset;
    this.range = range;
    this.variable = variable;
    this.variable2 = variable2;
  }

  constant(value: boolean | number): Expression {
    return this.#nodes.constant(this.#offset, value);
  }

  name(name: string): Expression {
    return this.#nodes.identifier(this.#offset, name);
  }

  result(): Expression {
    return this.name(accumulator);
  }

  list(...elements: readonly Expression[]): Expression {
    return this.#nodes.list(this.#offset, elements);
  }

  emptyMap(): Expression {
    return { id: this.#nodes.id(), offset: this.#offset, kind: "map", entries: [] };
  }

  call(name: string, ...args: readonly Expression[]): Call {
    return this.#nodes.call(this.#offset, name, args);
  }

  loop(initial: Expression, condition: Expression, step: Expression, result: Expression): Expression {
    const { range, variable, variable2 } = this;
    return this.#nodes.loop(this.#offset, {
      range,
      variable,
      variable2,
      accumulator,
      initial,
      condition,
      step,
      result,
    });
  }
}

type Expand = (to: Expander, body: readonly Expression[]) => Expression;

interface LoopMacro {
  /** The message about a variable that is not a name. */
  readonly wrong: string;
  readonly expand: Expand;
}

const all: Expand = (to, [condition]) =>
  to.loop(
    to.constant(true),
    to.call(operators.notStrictlyFalse, to.result()),
    to.call(operators.and, to.result(), condition!),
    to.result(),
  );

const exists: Expand = (to, [condition]) =>
  to.loop(
    to.constant(false),
    to.call(operators.notStrictlyFalse, to.call(operators.not, to.result())),
    to.call(operators.or, to.result(), condition!),
    to.result(),
  );

const existsOne: Expand = (to, [condition]) =>
  to.loop(
    to.constant(0),
    to.constant(true),
    to.call(operators.conditional, condition!, to.call(operators.add, to.result(), to.constant(1)), to.result()),
    to.call(operators.equals, to.result(), to.constant(1)),
  );

/** Returns a loop that adds to its result; if there is a condition, only where it is true. */
function collectLoop(to: Expander, initial: Expression, condition: Expression | undefined, added: Call): Expression {
  const step = condition === undefined ? added : to.call(operators.conditional, condition, added, to.result());
  return to.loop(initial, to.constant(true), step, to.result());
}

/** Expands `map` and `transformList`. The body is the element, or a condition and the element. */
const collect: Expand = (to, body) => {
  const added = to.call(operators.add, to.result(), to.list(body.at(-1)!));
  return collectLoop(to, to.list(), body.length === 2 ? body[0] : undefined, added);
};

const filter: Expand = (to, [condition]) =>
  collectLoop(to, to.list(), condition, to.call(operators.add, to.result(), to.list(to.name(to.variable))));

const transformMap: Expand = (to, body) => {
  const added = to.call("cel.@mapInsert", to.result(), to.name(to.variable), body.at(-1)!);
  return collectLoop(to, to.emptyMap(), body.length === 2 ? body[0] : undefined, added);
};

const transformMapEntry: Expand = (to, body) => {
  const added = to.call("cel.@mapInsert", to.result(), body.at(-1)!);
  return collectLoop(to, to.emptyMap(), body.length === 2 ? body[0] : undefined, added);
};

const oneVariable: ReadonlyMap<string, LoopMacro> = new Map([
  ["all", { wrong: notSimple, expand: all }],
  ["exists", { wrong: notSimple, expand: exists }],
  ["exists_one", { wrong: notSimple, expand: existsOne }],
  ["map", { wrong: notIdentifier, expand: collect }],
  ["filter", { wrong: notIdentifier, expand: filter }],
]);

/** The macros with two variables. The keys are name and number of arguments. */
const twoVariables: ReadonlyMap<string, Expand> = new Map([
  ["all/3", all],
  ["exists/3", exists],
  ["existsOne/3", existsOne],
  ["exists_one/3", existsOne],
  ["transformList/3", collect],
  ["transformList/4", collect],
  ["transformMap/3", transformMap],
  ["transformMap/4", transformMap],
  ["transformMapEntry/3", transformMapEntry],
  ["transformMapEntry/4", transformMapEntry],
]);

function withVariable(nodes: Nodes, call: MacroCall, macro: LoopMacro): Expansion {
  const [variable, ...body] = call.args;
  if (variable?.kind !== "identifier") return { issue: { offset: variable!.offset, message: macro.wrong } };
  return { expression: macro.expand(new Expander(nodes, call.offset, call.target!, variable.name), body) };
}

function withTwoVariables(nodes: Nodes, call: MacroCall, expand: Expand): Expansion {
  const [first, second, ...body] = call.args;
  const issue = (at: Expression | undefined, message: string): Expansion => ({
    issue: { offset: at!.offset, message },
  });
  if (first?.kind !== "identifier") return issue(first, notSimple);
  if (second?.kind !== "identifier") return issue(second, notSimple);
  if (first.name === second.name) return issue(second, `duplicate variable name: ${first.name}`);
  const overwriting = [first, second].find((variable) => variable.name === accumulator);
  if (overwriting !== undefined) return issue(overwriting, "iteration variable overwrites accumulator variable");
  return { expression: expand(new Expander(nodes, call.offset, call.target!, first.name, second.name), body) };
}

/**
 * Expands `x.optMap(v, e)` to `x.hasValue() ? optional.of(e with v = x.value()) : optional.none()`; `optFlatMap` omits
 * `optional.of`.
 */
function optionalMacro(nodes: Nodes, call: MacroCall, target: Expression): Expansion | undefined {
  if (call.name !== "optMap" && call.name !== "optFlatMap") return undefined;
  const [variable, body] = call.args;
  if (variable?.kind !== "identifier") {
    const message = `${call.name}() variable name must be a simple identifier`;
    return { issue: { offset: variable!.offset, message } };
  }
  const { offset } = call;
  const repeated = nodes.copy(target);
  if (repeated === undefined) return { issue: { offset, message: `${call.name}() is nested too deeply` } };
  const value = bound(nodes, offset, variable.name, nodes.call(offset, "value", [], repeated), body!);
  return {
    expression: nodes.call(offset, operators.conditional, [
      nodes.call(offset, "hasValue", [], target),
      call.name === "optMap" ? nodes.call(offset, "optional.of", [value]) : value,
      nodes.call(offset, "optional.none", []),
    ]),
  };
}

/** Expands `cel.bind(v, x, e)` to `e` with `v = x`. */
function binding(nodes: Nodes, { offset, args }: MacroCall): Expansion {
  const [variable, value, body] = args;
  if (variable?.kind === "identifier") return { expression: bound(nodes, offset, variable.name, value!, body!) };
  return { issue: { offset: variable!.offset, message: "cel.bind() variable names must be simple identifiers" } };
}

/** Returns `body` with a variable, which is the accumulator of a loop over an empty list. */
function bound(nodes: Nodes, offset: number, name: string, value: Expression, body: Expression): Expression {
  return nodes.loop(offset, {
    range: nodes.list(offset, []),
    variable: unused,
    variable2: undefined,
    accumulator: name,
    initial: value,
    condition: nodes.constant(offset, false),
    step: nodes.identifier(offset, name),
    result: body,
  });
}
