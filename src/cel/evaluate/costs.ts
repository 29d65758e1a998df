/**
 * The run-time costs of the language's operators and functions, beyond those of their operands. Source: cel-go's cost
 * model. Traversing a character costs a tenth; four characters of a regular expression cost one.
 */
import { operators } from "../ast.ts";
import type { CelError, Value } from "../values.ts";
import { sizeOf } from "./kinds.ts";

const traversalFactor = 0.1;
const patternFactor = 0.25;

/** The costs of making a list, a map and an object, whatever their sizes are. */
export const listCost = 10;
export const mapCost = 30;
export const objectCost = 40;

type Argument = Value | CelError;
type Cost = (a: Argument, b: Argument) => number;

/** Returns the cost of traversing `size` characters. */
export const traversal = (size: number): number => Math.ceil(size * traversalFactor);

/** Returns the cost of a comparison; that of numbers and of other small values is 1. */
const comparison: Cost = (a, b) => {
  if (typeof a === "number" || typeof b === "number" || typeof a === "boolean" || typeof b === "boolean") return 1;
  return traversal(Math.min(sizeOf(a), sizeOf(b)));
};

/** Returns the cost of a match. An empty text costs as much as a text of one character. */
export const matchCost = (text: number, pattern: number): number =>
  Math.ceil((1 + text) * traversalFactor) * Math.ceil(pattern * patternFactor);

const traversalOfFirst: Cost = (a) => traversal(sizeOf(a));
const joining: Cost = (a, b) => traversal(sizeOf(a) + sizeOf(b));

/** The costs of overloads; an overload that is not listed costs 1. */
const byOverload: ReadonlyMap<string, Cost> = new Map<string, Cost>([
  ["starts_with_string", traversalOfFirst],
  ["ends_with_string", traversalOfFirst],
  ["string_to_bytes", traversalOfFirst],
  ["bytes_to_string", traversalOfFirst],
  ["in_list", (_, b) => sizeOf(b)],
  ...["less", "less_equals", "greater", "greater_equals"].flatMap((prefix): [string, Cost][] => [
    [`${prefix}_string`, comparison],
    [`${prefix}_bytes`, comparison],
  ]),
  ["add_string", joining],
  ["add_bytes", joining],
  ["matches", (a, b) => matchCost(sizeOf(a), sizeOf(b))],
  ["matches_string", (a, b) => matchCost(sizeOf(a), sizeOf(b))],
  ["contains_string", (a, b) => traversal(sizeOf(a)) * traversal(sizeOf(b))],
]);

/** Returns the function for the cost of a call; `undefined` if it costs 1, whatever its arguments are. */
export function costOf(name: string, overload: string | undefined): Cost | undefined {
  if (name === operators.equals || name === operators.notEquals) return comparison;
  return overload === undefined ? undefined : byOverload.get(overload);
}
