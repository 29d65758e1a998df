/**
 * The functions of the language itself: declarations with their implementations. Operators and `matches` are part of
 * the evaluator.
 */
import { isList, isMap, sizeOf } from "../evaluate/kinds.ts";
import { countSearch } from "../evaluate/text.ts";
import { dateFields, dateIn, durationFields } from "../evaluate/time.ts";
import type { EvaluationContext, Library, Overload } from "../functions.ts";
import { CelError, Duration, Timestamp, type Value } from "../values.ts";
import { conversions } from "./conversions.ts";
import { standardDeclarations } from "./standard-declarations.ts";

type Call = (args: readonly Value[], context: EvaluationContext) => Value | CelError | undefined;

function size([value]: readonly Value[]): Value | undefined {
  if (typeof value !== "string" && !isList(value) && !isMap(value!) && !(value instanceof Uint8Array)) return undefined;
  return sizeOf(value!);
}

const onTexts =
  (holds: (text: string, other: string) => boolean): Call =>
  ([text, other]) =>
    typeof text === "string" && typeof other === "string" ? holds(text, other) : undefined;

const contains: Call = ([text, other], context) => {
  if (typeof text !== "string" || typeof other !== "string") return undefined;
  countSearch(text, other, context);
  return text.includes(other);
};

/** The work of computing a date in UTC; `zoneWork` is that of a date in a time zone. */
const dateWork = 30;
const zoneWork = 1000;

const timeCall =
  (name: string): Call =>
  ([value, zone], context) => {
    context.work(zone === undefined ? dateWork : zoneWork);
    if (value instanceof Duration && zone === undefined) return durationFields[name]?.(value);
    if (!(value instanceof Timestamp) || (zone !== undefined && typeof zone !== "string")) return undefined;
    const date = dateIn(value, zone ?? "UTC");
    return date instanceof CelError ? date : dateFields[name]!(date);
  };

/** The work of one conversion, for conversions that parse or print a value. */
const conversionWork: Readonly<Record<string, number>> = {
  double: 20,
  duration: 150,
  int: 20,
  string: 50,
  timestamp: 150,
  uint: 20,
};

function countConversion(name: string, convert: (value: Value) => Value | CelError | undefined): Call {
  const work = conversionWork[name] ?? 0;
  return ([value], context) => {
    context.work(work);
    return convert(value!);
  };
}

const calls: ReadonlyMap<string, Call> = new Map<string, Call>([
  ["size", size],
  ["contains", contains],
  ["startsWith", onTexts((text, other) => text.startsWith(other))],
  ["endsWith", onTexts((text, other) => text.endsWith(other))],
  ...Object.entries(conversions).map(([name, convert]): [string, Call] => [name, countConversion(name, convert)]),
  ...Object.keys(dateFields).map((name): [string, Call] => [name, timeCall(name)]),
]);

/** The operators, the conversions, and the functions on strings, bytes, times and collections. */
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
