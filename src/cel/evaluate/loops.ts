/**
 * Compiles comprehensions. A list or map that a loop builds is changed in place instead of copied if nothing else
 * refers to it.
 */
import { type Call, type Comprehension, type Expression, type ListLiteral, operators } from "../ast.ts";
import { CelError, type Value } from "../values.ts";
import { rangeOf } from "./access.ts";
import type { Compilation, LoopVariable } from "./compilation.ts";
import { listCost } from "./costs.ts";
import { BudgetExceeded, type Frame, type Step } from "./frame.ts";
import { implementationOf, isList, isMap, type MapValue, mapSize } from "./kinds.ts";
import { insertInto } from "./insert.ts";
import { mapEntries, mapKeys } from "./maps.ts";
import { type Compiled, rangeStep } from "./node.ts";
import { read } from "./read.ts";

interface Loop {
  readonly variable: number;
  readonly variable2: number | undefined;
  readonly accumulator: number;
  readonly condition: Step | undefined;
  readonly step: Step;
}

/** Compiles a loop over the elements of a list or the entries of a map, with one or two variables. */
export function compileComprehension(node: Comprehension, compilation: Compilation): Compiled {
  const range = compilation.compile(node.range);
  const initial = compilation.compile(node.initial);
  const rangeType = compilation.type(node.range);
  const hasTwo = node.variable2 !== undefined;
  const element = rangeType?.kind === "list" ? rangeType.element : undefined;
  const keyed = rangeType?.kind === "map" ? rangeType.value : undefined;
  const newVariable = (type: LoopVariable["type"]): LoopVariable => ({
    slot: compilation.newSlot(),
    type,
    isShared: false,
  });
  const accumulator = newVariable(undefined);
  const variable = newVariable(hasTwo ? undefined : element);
  const names = new Map([
    [node.accumulator, accumulator],
    [node.variable, variable],
  ]);
  const variable2 = hasTwo ? newVariable(element ?? keyed) : undefined;
  if (variable2 !== undefined) names.set(node.variable2!, variable2);
  const own = new Map([[node.accumulator, accumulator]]);
  const loop: Loop = compilation.within(names, () => ({
    variable: variable.slot,
    variable2: variable2?.slot,
    accumulator: accumulator.slot,
    condition: conditionStep(node, accumulator.slot, compilation),
    step: stepOf(node, accumulator, compilation),
  }));
  const result = compilation.within(own, () => compilation.compile(node.result).step);
  const start = startOf(node, initial.step);
  return { step: runner(rangeStep(range), start, loop, result, node.id) };
}

/**
 * Returns the step that makes the initial value. An empty list or map is a new one for each evaluation, since the loop
 * may add to it.
 */
function startOf(node: Comprehension, initial: Step): Step {
  if (node.initial.kind === "list" && node.initial.elements.length === 0) return () => [];
  if (node.initial.kind === "map" && node.initial.entries.length === 0) return () => new Map();
  return initial;
}

/**
 * Returns the step of the condition; `undefined` if it is always true. The conditions of `all` and `exists` are
 * compiled without calls.
 */
function conditionStep(node: Comprehension, accumulator: number, compilation: Compilation): Step | undefined {
  const { condition } = node;
  if (condition.kind === "constant" && condition.value === true) return undefined;
  const tested =
    condition.kind === "call" && condition.name === operators.notStrictlyFalse ? condition.args[0]! : undefined;
  const isAccumulator = (expression: Expression): boolean =>
    expression.kind === "identifier" && expression.name === node.accumulator;
  if (tested !== undefined && isAccumulator(tested)) {
    return (frame) => {
      frame.cost += 2;
      return frame.slots[accumulator] !== false;
    };
  }
  if (tested?.kind === "call" && tested.name === operators.not && isAccumulator(tested.args[0]!)) {
    return (frame) => {
      frame.cost += 3;
      return frame.slots[accumulator] !== true;
    };
  }
  return compilation.compile(condition).step;
}

/**
 * Returns the step of the loop. `accumulator + [x]` and the insertion into a map happen in place if nothing else sees
 * the list or map.
 */
function stepOf(node: Comprehension, accumulator: LoopVariable, compilation: Compilation): Step {
  const { step } = node;
  const isAccumulator = (expression: Expression | undefined): boolean =>
    expression?.kind === "identifier" && expression.name === node.accumulator;
  const isChoice = step.kind === "call" && step.name === operators.conditional && isAccumulator(step.args[2]);
  const adding = isChoice ? step.args[1]! : step;
  const isEmpty =
    (node.initial.kind === "list" && node.initial.elements.length === 0) ||
    (node.initial.kind === "map" && node.initial.entries.length === 0);
  if (adding.kind !== "call" || !isEmpty || !isAccumulator(adding.args[0]) || !isAddition(adding)) {
    return compilation.compile(step).step;
  }
  const test = isChoice ? compilation.compile(step.args[0]!).step : undefined;
  const { slot } = accumulator;
  const add =
    adding.name === operators.add
      ? addElement(adding, accumulator, compilation)
      : addEntry(adding, accumulator, compilation);
  if (test === undefined) return add;
  return (frame) => {
    const chosen = test(frame);
    if (chosen === true) return add(frame);
    if (chosen === false) return frame.slots[slot]!;
    return chosen instanceof CelError ? chosen : new CelError("no such overload", step.id);
  };
}

function isAddition({ name, args: [, second] }: Call): boolean {
  if (name !== operators.add) return name === "cel.@mapInsert";
  return second?.kind === "list" && second.elements.length === 1 && second.optional.length === 0;
}

function addElement({ args }: Call, accumulator: LoopVariable, compilation: Compilation): Step {
  const { slot } = accumulator;
  const list = args[1] as ListLiteral; // `isAddition` has checked this
  const element = compilation.compile(list.elements[0]!);
  const { isShared } = accumulator;
  // The cost is that of the name, the sum, and the list of one element.
  const cost = 2 + (element.constant === undefined ? listCost : 0);
  return (frame) => {
    const value = element.step(frame);
    frame.cost += cost;
    const collected = frame.slots[slot]!;
    if (collected instanceof CelError) return collected;
    if (value instanceof CelError) return value;
    const to = collected as Value[]; // it began as an empty list of this loop
    if (isShared) {
      frame.work(2 * to.length);
      return [...to, value];
    }
    to.push(value);
    return to;
  };
}

function addEntry({ args }: Call, accumulator: LoopVariable, compilation: Compilation): Step {
  const { slot } = accumulator;
  const first = compilation.compile(args[1]!).step;
  const other = args[2] === undefined ? undefined : compilation.compile(args[2]).step;
  const { isShared } = accumulator;
  return (frame) => {
    const collected = frame.slots[slot]!;
    const key = first(frame);
    const value = other?.(frame);
    frame.cost += 2;
    if (collected instanceof CelError) return collected;
    if (key instanceof CelError) return key;
    if (value instanceof CelError) return value;
    let to = collected as Map<Value, Value>; // it began as an empty map of this loop
    if (isShared) {
      frame.work(entryWork * to.size);
      to = new Map(to);
    }
    return insertInto(to, key, value, frame);
  };
}

function runner(range: Step, start: Step, loop: Loop, result: Step, id: number): Step {
  return (frame) => {
    const value = range(frame);
    if (value instanceof CelError) return value;
    const over = rangeOf(value);
    if (over === undefined) {
      return new CelError(loop.variable2 === undefined ? notIterable(value) : notFoldable(value), id);
    }
    frame.slots[loop.accumulator] = start(frame);
    if (loop.variable2 !== undefined) runTwo(over, loop, loop.variable2, frame);
    else runOne(isList(over) ? over : keysOf(over, frame), loop, frame);
    return result(frame);
  };
}

/** The work of collecting one key of a map; `entryWork` is that of copying one entry. */
const keyWork = 2;
const entryWork = 12;

/** Returns all keys of a map. They are collected even if the loop ends early. */
function keysOf(map: MapValue, frame: Frame): readonly Value[] {
  const keys = mapKeys(map);
  frame.work(keys.length * keyWork);
  return keys;
}

function runOne(elements: readonly Value[], loop: Loop, frame: Frame): void {
  const { slots } = frame;
  const { accumulator, condition, step, variable } = loop;
  for (let at = 0; at < elements.length; at++) {
    slots[variable] = read(elements[at]!);
    if (condition !== undefined && condition(frame) === false) return;
    slots[accumulator] = step(frame);
    if (frame.isOver) throw new BudgetExceeded();
  }
}

function runTwo(over: readonly Value[] | MapValue, loop: Loop, variable2: number, frame: Frame): void {
  const { slots } = frame;
  if (isMap(over)) frame.work(mapSize(over) * keyWork);
  const pairs = isMap(over) ? mapEntries(over) : over.entries();
  for (const [key, value] of pairs) {
    slots[loop.variable] = key;
    slots[variable2] = read(value);
    if (loop.condition !== undefined && loop.condition(frame) === false) return;
    slots[loop.accumulator] = loop.step(frame);
    if (frame.isOver) throw new BudgetExceeded();
  }
}

const notIterable = (value: Value): string => `got '${implementationOf(value)}', expected iterable type`;
const notFoldable = (value: Value): string => `unsupported comprehension range type: ${implementationOf(value)}`;
