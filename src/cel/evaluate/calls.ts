/** Compiles calls: logic, operators, and functions of libraries. */
import { type Call, operators } from "../ast.ts";
import type { Overload } from "../functions.ts";
import { CelError, Optional, type Value } from "../values.ts";
import type { Compilation } from "./compilation.ts";
import { costOf } from "./costs.ts";
import type { Frame, Step } from "./frame.ts";
import { kindOf } from "./kinds.ts";
import { checkSearch, compileMatches, isMatches } from "./matches.ts";
import { bareStep, type Compiled, ConstantError, constantNode, errorAt } from "./node.ts";
import { type Binary, binaryOperators, negate, noSuchOperator } from "./operators.ts";
import { compileIndex, compileOptionalSelect } from "./selection.ts";

export function compileCall(node: Call, compilation: Compilation): Compiled {
  switch (node.name) {
    case operators.and:
      return { step: junction(node, false, compilation) };
    case operators.or:
      return { step: junction(node, true, compilation) };
    case operators.conditional:
      return conditional(node, compilation);
    case operators.not:
      return { step: unary(node, not, compilation) };
    case operators.negate:
      return { step: unary(node, negate, compilation) };
    case operators.notStrictlyFalse:
      return { step: notStrictlyFalse(node, compilation) };
    case operators.index:
      return compileIndex(node, false, compilation);
    case operators.optionalIndex:
      return compileIndex(node, true, compilation);
    case operators.optionalSelect:
      return compileOptionalSelect(node, compilation);
    case operators.in:
      return membership(node, compilation);
    default: {
      const operator = binaryOperators.get(node.name);
      return operator === undefined
        ? compileFunction(node, compilation)
        : { step: binary(node, operator, compilation) };
    }
  }
}

const notBoolean = (id: number): CelError => new CelError("no such overload", id);

/**
 * Compiles `&&` and `||`. An operand with the value `deciding` decides, whatever the other one is; otherwise the first
 * error is the result.
 */
function junction(node: Call, deciding: boolean, compilation: Compilation): Step {
  // Both operators have two operands.
  const [left, right] = node.args.map((operand) => compilation.compile(operand).step) as [Step, Step];
  return (frame) => {
    const a = left(frame);
    if (a === deciding) return deciding;
    const b = right(frame);
    if (b === deciding) return deciding;
    if (typeof a !== "boolean") return a instanceof CelError ? a : notBoolean(node.id);
    if (typeof b !== "boolean") return b instanceof CelError ? b : notBoolean(node.id);
    return !deciding;
  };
}

function conditional(node: Call, compilation: Compilation): Compiled {
  // The operator has three operands.
  const [test, yes, no] = node.args.map((operand) => compilation.compile(operand)) as [Compiled, Compiled, Compiled];
  const condition = test.step;
  const [truthy, falsy] = [bareStep(yes), bareStep(no)];
  const step: Step = (frame) => {
    const chosen = condition(frame);
    if (chosen === true) return truthy(frame);
    if (chosen === false) return falsy(frame);
    return chosen instanceof CelError ? chosen : notBoolean(node.id);
  };
  return { step, bare: step };
}

const not = (value: Value): Value | undefined => (typeof value === "boolean" ? !value : undefined);

function unary(node: Call, operator: (value: Value) => Value | CelError | undefined, compilation: Compilation): Step {
  const operand = compilation.compile(node.args[0]!).step;
  return (frame) => {
    const value = operand(frame);
    frame.cost += 1;
    if (value instanceof CelError) return value;
    const result = operator(value);
    if (result === undefined) return errorAt(noSuchOperator(node.name, value), node.id);
    return result instanceof CelError ? errorAt(result, node.id) : result;
  };
}

function notStrictlyFalse(node: Call, compilation: Compilation): Step {
  const operand = compilation.compile(node.args[0]!).step;
  return (frame) => {
    const value = operand(frame);
    frame.cost += 1;
    return value !== false;
  };
}

/** Returns the id of the overload, if the call can mean only one. */
function onlyOverload(node: Call, compilation: Compilation): string | undefined {
  const meaning = compilation.meaning(node);
  return meaning?.kind === "function" && meaning.overloads.length === 1 ? meaning.overloads[0]!.id : undefined;
}

function binary(node: Call, operator: Binary, compilation: Compilation): Step {
  // Binary operators have two operands.
  const [left, right] = node.args.map((operand) => compilation.compile(operand).step) as [Step, Step];
  const cost = costOf(node.name, onlyOverload(node, compilation));
  const apply = (a: Value, b: Value, frame: Frame): Value | CelError => {
    const result = operator(a, b, frame);
    if (result === undefined) return errorAt(noSuchOperator(node.name, a), node.id);
    return result instanceof CelError ? errorAt(result, node.id) : result;
  };
  const general: General = (a, b, frame) => {
    if (cost === undefined) frame.cost += 1;
    else frame.spend(cost(a, b));
    if (a instanceof CelError) return a;
    return b instanceof CelError ? b : apply(a, b, frame);
  };
  const fast = comparisonOfInts(node.name, left, right, general);
  return fast ?? ((frame) => general(left(frame), right(frame), frame));
}

type General = (a: Value | CelError, b: Value | CelError, frame: Frame) => Value | CelError;

/**
 * Compiles comparisons of small ints, which are the most common operands; comparing them always costs 1. Each operator
 * has its own closure, so that the runtime optimizes each by itself.
 */
function comparisonOfInts(name: string, left: Step, right: Step, general: General): Step | undefined {
  switch (name) {
    case operators.less:
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a !== "number" || typeof b !== "number") return general(a, b, frame);
        frame.cost += 1;
        return a < b;
      };
    case operators.lessEquals:
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a !== "number" || typeof b !== "number") return general(a, b, frame);
        frame.cost += 1;
        return a <= b;
      };
    case operators.greater:
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a !== "number" || typeof b !== "number") return general(a, b, frame);
        frame.cost += 1;
        return a > b;
      };
    case operators.greaterEquals:
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a !== "number" || typeof b !== "number") return general(a, b, frame);
        frame.cost += 1;
        return a >= b;
      };
    case operators.equals:
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a !== "number" || typeof b !== "number") return general(a, b, frame);
        frame.cost += 1;
        return a === b;
      };
    case operators.notEquals:
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a !== "number" || typeof b !== "number") return general(a, b, frame);
        frame.cost += 1;
        return a !== b;
      };
    default:
      return undefined;
  }
}

/** Compiles `x in list`. Searching a constant list of scalars costs nothing. */
function membership(node: Call, compilation: Compilation): Compiled {
  const operator = binaryOperators.get(operators.in)!;
  const list = compilation.compile(node.args[1]!).constant;
  const isKnown = Array.isArray(list) && list.every((one) => isScalar(one as Value)); // elements of a list are values
  if (!isKnown || onlyOverload(node, compilation) !== "in_list") return { step: binary(node, operator, compilation) };
  const texts = new Set<unknown>((list as readonly Value[]).filter((one) => typeof one === "string"));
  const element = compilation.compile(node.args[0]!).step;
  return {
    step: (frame) => {
      const value = element(frame);
      if (value instanceof CelError) return value;
      return typeof value === "string" ? texts.has(value) : (operator(value, list as readonly Value[], frame) ?? false);
    },
  };
}

const isScalar = (value: Value): boolean => ["bool", "double", "int", "string", "uint"].includes(kindOf(value));

/** Functions whose call with a constant is evaluated once, during compilation. */
const conversions: ReadonlySet<string> = new Set([
  "bool",
  "bytes",
  "double",
  "duration",
  "dyn",
  "int",
  "string",
  "timestamp",
  "type",
  "uint",
]);

function compileFunction(node: Call, compilation: Compilation): Compiled {
  const meaning = compilation.meaning(node);
  const overloads = meaning?.kind === "function" ? meaning.overloads : [];
  const name = meaning?.kind === "function" ? meaning.name : node.name;
  // A target that is part of the function's name has no value.
  const isMember = node.target !== undefined && (overloads.length === 0 || overloads.some((one) => one.isMember));
  const operands = isMember ? [node.target!, ...node.args] : node.args;
  const args = operands.map((operand) => compilation.compile(operand));
  if (isMatches(overloads)) return compileMatches(node, args);
  checkSearch(name, args);
  if (isAlternative(overloads)) return alternative(overloads[0]!, args, node.id);
  const step = callStep(name, overloads, args, node.id);
  const only = args.length === 1 && conversions.has(name) ? args[0]!.constant : undefined;
  if (only === undefined) return { step };
  const value = invoke(overloads, [only], withoutBudget, name);
  if (value instanceof CelError) throw new ConstantError(value.message);
  return constantNode(value);
}

const isAlternative = ([overload]: readonly Overload[]): boolean =>
  overload?.id === "optional_or_optional" || overload?.id === "optional_orValue_value";

/** Compiles `a.or(b)` and `a.orValue(b)`: `b` is evaluated only if it is needed, and the call itself costs nothing. */
function alternative(overload: Overload, args: readonly Compiled[], id: number): Compiled {
  const [first, second] = args.map(({ step }) => step) as [Step, Step]; // both overloads have two arguments
  const isValue = overload.id === "optional_orValue_value";
  return {
    step: (frame) => {
      const value = first(frame);
      if (value instanceof CelError) return value;
      if (!(value instanceof Optional)) return notBoolean(id);
      if (value.value === undefined) return second(frame);
      return isValue ? value.value : value;
    },
  };
}

const withoutBudget = { spend: () => {}, work: () => {} };

type Context = Pick<Frame, "spend" | "work">;

/** Returns the result of the first overload that fits. */
function invoke(
  overloads: readonly Overload[],
  args: readonly Value[],
  context: Context,
  name: string,
): Value | CelError {
  for (const overload of overloads) {
    const result = overload.call?.(args, context);
    if (result !== undefined) return result;
  }
  return new CelError(noSuchFunction(name, args));
}

/** The work of one call, beside the work that the function counts itself. */
const callWork = 8;

/** Returns the work of walking over the text arguments of a call. */
function textWork(values: readonly Value[]): number {
  let length = 0;
  for (const value of values) if (typeof value === "string" || value instanceof Uint8Array) length += value.length;
  return length >> 3;
}

function callStep(name: string, overloads: readonly Overload[], args: readonly Compiled[], id: number): Step {
  const steps = args.map(({ step }) => step);
  // If several overloads are possible, a conversion costs 1.
  const cost = overloads.length > 1 && conversions.has(name) ? undefined : overloads[0]?.cost;
  const standard = overloads.length === 1 ? costOf(name, overloads[0]!.id) : undefined;
  const apply = (values: readonly Value[], frame: Frame): Value | CelError => {
    frame.work(callWork + textWork(values));
    if (standard !== undefined) frame.spend(standard(values[0]!, values[1] ?? null));
    else if (cost === undefined) frame.spend(1);
    const result = invoke(overloads, values, frame, name);
    if (cost !== undefined && standard === undefined) frame.spend(cost.actual(values, result));
    return result instanceof CelError ? errorAt(result, id) : result;
  };
  if (steps.length === 2) return (frame) => applyToTwo(steps[0]!(frame), steps[1]!(frame), apply, frame);
  return (frame) => {
    const values: Value[] = [];
    for (const step of steps) {
      const value = step(frame);
      if (value instanceof CelError) {
        if (steps.length === 1) frame.cost += 1;
        return value;
      }
      values.push(value);
    }
    return apply(values, frame);
  };
}

/**
 * Calls `apply` with both arguments. An error in the first argument does not prevent the evaluation of the second one.
 */
function applyToTwo(
  a: Value | CelError,
  b: Value | CelError,
  apply: (values: readonly Value[], frame: Frame) => Value | CelError,
  frame: Frame,
): Value | CelError {
  if (!(a instanceof CelError) && !(b instanceof CelError)) return apply([a, b], frame);
  frame.cost += 1;
  return a instanceof CelError ? a : b;
}

/** Functions whose error text does not show the types of their arguments. */
const short: ReadonlySet<string> = new Set(["startsWith", "endsWith", "contains", "matches"]);

function noSuchFunction(name: string, args: readonly Value[]): string {
  if (short.has(name)) return "no such overload";
  if ((name === "find" || name === "findAll") && typeof args[0] !== "string") return "no such overload";
  if (name === "size") return "no such overload: size";
  return `no such overload: ${name}(${args.map(kindOf).join(", ")})`;
}
