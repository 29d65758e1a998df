/** Helpers for the declarations of libraries. */
import { traversal } from "../evaluate/costs.ts";
import { sizeOf } from "../evaluate/kinds.ts";
import type { CallCost, EvaluationContext, FunctionDeclaration, Overload, SizeRange } from "../functions.ts";
import type { CelType } from "../types.ts";
import type { CelError, Value } from "../values.ts";

type Call = NonNullable<Overload["call"]>;

/** Returns a function of one text. A call counts `work`, and `perCharacter` for each character. */
export const onText =
  (work: number, perCharacter: number) =>
  (result: (text: string) => Value | CelError): Call =>
  ([text], context) => {
    if (typeof text !== "string") return undefined;
    context.work(work + perCharacter * text.length);
    return result(text);
  };

/** Returns an overload that is called as `args[0].name(…)`. */
export const member = (
  id: string,
  args: readonly CelType[],
  result: CelType,
  call: Call,
  cost?: CallCost,
): Overload => ({
  id,
  isMember: true,
  args,
  result,
  call,
  ...(cost === undefined ? {} : { cost }),
});

/** Returns an overload that is called as `name(args[0], …)`. */
export const plain = (...overload: Parameters<typeof member>): Overload => ({
  ...member(...overload),
  isMember: false,
});

/** Returns a function with one overload, which is called as `args[0].name(…)`. */
export const memberFunction = (name: string, ...overload: Parameters<typeof member>): FunctionDeclaration => ({
  name,
  overloads: [member(...overload)],
});

/** Returns a function with one overload, which is called as `name(args[0], …)`. */
export const plainFunction = (name: string, ...overload: Parameters<typeof member>): FunctionDeclaration => ({
  name,
  overloads: [plain(...overload)],
});

const scaleRange = ({ min, max }: SizeRange, factor: number): SizeRange => ({
  min: Math.ceil(min * factor),
  max: Math.ceil(max * factor),
});

/** Returns the cost of `times` traversals of the first argument; each character costs a tenth. */
export const traversalCost = (times = 1): CallCost => ({
  actual: ([first]) => traversal(sizeOf(first!) * times),
  estimate: ([first]) => ({ cost: scaleRange(first!, 0.1 * times) }),
});

/**
 * Counts the work of traversing a list and the lists in it. Call it before the traversal: `elementsCost` is computed
 * after the call, and lists may share their parts.
 */
export function countElements(list: readonly Value[], context: EvaluationContext): void {
  context.work(8 * list.length);
  for (const one of list) {
    if (Array.isArray(one)) countElements(one as readonly Value[], context);
    else if (typeof one === "string" || one instanceof Uint8Array) context.work(one.length >> 3);
  }
}

/** Returns the cost of visiting each element: a character costs a tenth, a value that is not text costs 1. */
export function elementsCost(value: Value): number {
  if (typeof value === "string" || value instanceof Uint8Array) return Math.floor(sizeOf(value) * 0.1);
  if (!Array.isArray(value)) return 1;
  let cost = 0;
  for (const one of value as readonly Value[]) cost += elementsCost(one);
  return cost;
}
