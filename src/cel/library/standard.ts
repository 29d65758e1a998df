/**
 * The functions of the language itself: declarations with their implementations. Operators and `matches` are part of
 * the evaluator.
 */
import { isList, isMap, mapSize, sizeOf } from "../evaluate/kinds.ts";
import { dateFields, dateIn, durationFields } from "../evaluate/time.ts";
import type { EvaluationContext, Library, Overload } from "../functions.ts";
import { CelError, Duration, Timestamp, type Value } from "../values.ts";
import { conversions } from "./conversions.ts";
import { standardDeclarations } from "./standard-declarations.ts";

type Call = (args: readonly Value[], context: EvaluationContext) => Value | CelError | undefined;

/** A text's size is counted by walking it, which its cost does not show. */
function size([value]: readonly Value[], context: EvaluationContext): Value | undefined {
  if (typeof value === "string") context.work(value.length / 8);
  else if (!isList(value) && !isMap(value!) && !(value instanceof Uint8Array)) return undefined;
  if (!isMap(value!)) return sizeOf(value!);
  const count = mapSize(value);
  context.work(count * 8);
  return count;
}

const onTexts =
  (holds: (text: string, other: string) => boolean): Call =>
  ([text, other]) =>
    typeof text === "string" && typeof other === "string" ? holds(text, other) : undefined;

/** What looking a time zone up counts as work. */
const zoneWork = 1000;

const timeCall =
  (name: string): Call =>
  ([value, zone], context) => {
    if (zone !== undefined) context.work(zoneWork);
    if (value instanceof Duration && zone === undefined) return durationFields[name]?.(value);
    if (!(value instanceof Timestamp) || (zone !== undefined && typeof zone !== "string")) return undefined;
    const date = dateIn(value, zone ?? "UTC");
    return date instanceof CelError ? date : dateFields[name]!(date);
  };

const calls: ReadonlyMap<string, Call> = new Map<string, Call>([
  ["size", size],
  ["contains", onTexts((text, other) => text.includes(other))],
  ["startsWith", onTexts((text, other) => text.startsWith(other))],
  ["endsWith", onTexts((text, other) => text.endsWith(other))],
  ...Object.entries(conversions).map(([name, convert]): [string, Call] => [name, ([value]) => convert(value!)]),
  ...Object.keys(dateFields).map((name): [string, Call] => [name, timeCall(name)]),
]);

/** Operators, conversions, and what the language says of strings, bytes, times and collections. */
export const standardLibrary: Library = {
  ...standardDeclarations,
  functions: standardDeclarations.functions.map(({ name, overloads }) => {
    const call = calls.get(name);
    return {
      name,
      overloads: call === undefined ? overloads : overloads.map((overload): Overload => ({ ...overload, call })),
    };
  }),
};
