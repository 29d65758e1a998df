/**
 * The maximal costs and result sizes of calls, by cel-go's and Kubernetes' rules. Traversing a character costs a tenth.
 * Unknown sizes are infinite.
 */
import type { Overload, SizeRange } from "../functions.ts";

/** An argument of a call; the receiver is the first one. */
export interface Argument {
  readonly size: SizeRange;
  /** The cost of visiting one element, if the argument is a list. */
  readonly elementCost: number;
  /** The maximal size of an element of a list. */
  readonly elementMax: number;
  /** The name of the type, if it is a type of a library. */
  readonly typeName?: string;
}

interface CallMax {
  readonly cost: number;
  /** The size of the result; left out if it is unknown. */
  readonly size?: SizeRange;
}

/** Multiplies two numbers. The product with 0 is 0, even if the other number is infinite. */
export const times = (one: number, other: number): number => (one === 0 || other === 0 ? 0 : one * other);

const traversal = (size: number): number => Math.ceil(size * 0.1);
const upTo = (max: number): SizeRange => ({ min: 0, max });

type Rule = (args: readonly Argument[]) => CallMax;

const max = (args: readonly Argument[], at: number): number => args[at]?.size.max ?? 0;

const once: Rule = (args) => ({ cost: traversal(max(args, 0)) });
const sameSize: Rule = (args) => ({ cost: traversal(max(args, 0)), size: upTo(max(args, 0)) });
const comparison: Rule = (args) => ({ cost: traversal(Math.min(max(args, 0), max(args, 1))) });
/** The types whose comparison costs 1, since their values are small. */
const small: ReadonlySet<string | undefined> = new Set([
  "kubernetes.Quantity",
  "kubernetes.Semver",
  "net.IP",
  "net.CIDR",
]);
const inequality: Rule = (args) => (small.has(args[0]!.typeName) ? { cost: 1 } : comparison(args));
/** Upstream: the cost of comparing URLs depends on the second URL only. */
const equality: Rule = (args) =>
  args[0]!.typeName === "kubernetes.URL" ? { cost: traversal(max(args, 1)) } : inequality(args);
const elements: Rule = ([list]) => ({ cost: times(list!.size.max, list!.elementCost) });

const joined: Rule = (args) => {
  const size = max(args, 0) + max(args, 1);
  return { cost: traversal(size), size: upTo(size) };
};

const matchCost = (args: readonly Argument[]): number =>
  times(traversal(1 + max(args, 0)), Math.ceil(max(args, 1) * 0.25));

const replaced: Rule = (args) => {
  const text = max(args, 0);
  const least = args[1]!.size.min;
  const by = max(args, 2);
  const count = least === 0 ? text + 1 : Math.ceil(text / least);
  const retained = least === 0 ? text : Math.max(0, text - count * least);
  return { cost: traversal(text * 2), size: upTo(Math.max(text, retained + times(count, by))) };
};

const joinedList: Rule = ([list, separator]) => {
  const count = list!.size.max;
  const size = times(count, list!.elementMax) + times(Math.max(0, count - 1), separator?.size.max ?? 0);
  return { cost: traversal(size), size: upTo(size) };
};

const indexOf: Rule = (args) => (args[0]!.elementCost > 0 ? elements(args) : once(args));

/**
 * The rules of functions. A key is the name of a function, or the id of an overload if overloads of one name differ.
 */
const rules: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["_==_", equality],
  ["_!=_", inequality],
  ["url", sameSize],
  ...["less", "less_equals", "greater", "greater_equals"].flatMap((name): [string, Rule][] => [
    [`${name}_string`, comparison],
    [`${name}_bytes`, comparison],
  ]),
  ["add_string", joined],
  ["add_bytes", joined],
  ["add_list", (args) => ({ cost: 1, size: upTo(max(args, 0) + max(args, 1)) })],
  ["in_list", (args) => ({ cost: max(args, 1) })],
  ["string_to_bytes", (args) => ({ cost: traversal(max(args, 0)), size: upTo(max(args, 0) * 4) })],
  ["bytes_to_string", sameSize],
  ["startsWith", (args) => ({ cost: traversal(max(args, 1)) })],
  ["endsWith", (args) => ({ cost: traversal(max(args, 1)) })],
  ["contains", (args) => ({ cost: times(traversal(max(args, 0)), traversal(max(args, 1))) })],
  ["matches", (args) => ({ cost: matchCost(args) })],
  ["find", (args) => ({ cost: matchCost(args), size: upTo(max(args, 0)) })],
  ["findAll", (args) => ({ cost: matchCost(args), size: upTo(max(args, 0)) })],
  ["format", once],
  ["strings.quote", (args) => ({ cost: traversal(max(args, 0)), size: upTo(max(args, 0) * 2 + 2) })],
  ["lowerAscii", sameSize],
  ["upperAscii", sameSize],
  ["substring", sameSize],
  ["trim", sameSize],
  ["replace", replaced],
  ["split", (args) => ({ cost: traversal(max(args, 0) * 2), size: upTo(max(args, 0)) })],
  ["join", joinedList],
  ["isSorted", elements],
  ["sum", elements],
  ["min", elements],
  ["max", elements],
  ["indexOf", indexOf],
  ["lastIndexOf", indexOf],
]);

/** Returns the maximal cost and result size of a call of this overload. */
export function callMax(name: string, overload: Overload, args: readonly Argument[]): CallMax {
  const rule = rules.get(overload.id) ?? rules.get(name);
  if (rule !== undefined) return rule(args);
  if (overload.cost?.estimate === undefined) return { cost: 1 };
  const { cost, resultSize } = overload.cost.estimate(args.map(({ size }) => size));
  return resultSize === undefined ? { cost: cost.max } : { cost: cost.max, size: resultSize };
}
