/**
 * Implements `text.format(values)`: Go's verbs as cel-go 0.22 prints them, with digit groups and exponents as in
 * printed English. Later releases print `%e` and `%f` without these.
 */
import { fixedText, scientificParts } from "../evaluate/decimal.ts";
import { isInt, isList, isMap, kindOf } from "../evaluate/kinds.ts";
import { mapEntries } from "../evaluate/maps.ts";
import { doubleText } from "../evaluate/numbers.ts";
import { read } from "../evaluate/read.ts";
import { decodeUtf8 } from "../evaluate/text.ts";
import { durationText, timestampText } from "../evaluate/time.ts";
import type { EvaluationContext } from "../functions.ts";
import { type CelType, typeName } from "../types.ts";
import { CelError, Double, Duration, Timestamp, TypeValue, Uint, type Value } from "../values.ts";
import { quoteString } from "./quote.ts";

/** The printed text, or an error. */
type Printed = string | CelError;

interface Clause {
  readonly verb: string;
  readonly precision: number | undefined;
  /** The index after the verb. */
  readonly end: number;
}

const unparsedError = (why: string): CelError => new CelError(`could not parse formatting clause: ${why}`);
const misfit = (why: string, kind: string): string => `error during formatting: ${why}, was given ${kind}`;
const misfitError = (why: string, value: Value): CelError => new CelError(misfit(why, kindOf(value)));

/** The maximum number of decimals with which Go prints a number. */
const precisionMax = 1_000_000;

/** The error texts of clauses for values that they cannot print. */
const clauses = {
  text: "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
  decimal: "decimal clause can only be used on integers",
  fixedPoint: "fixed-point clause can only be used on doubles",
  scientific: "scientific clause can only be used on doubles",
  binary: "only integers and bools can be formatted as binary",
  octal: "octal clause can only be used on integers",
  hexadecimal: "only integers, byte buffers, and strings can be formatted as hex",
} as const;

/** Parses the clause after a `%`. */
function parseClause(text: string, start: number): Clause | CelError {
  let at = start;
  let precision: number | undefined;
  if (text[at] === ".") {
    const digits = /^[0-9]*/.exec(text.slice(at + 1, at + 200))![0];
    at += 1 + digits.length;
    if (at >= text.length)
      return unparsedError("error while parsing precision: could not find end of precision specifier");
    const number = Number(digits);
    const wrong = digits === "" ? "invalid syntax" : number >= 2 ** 63 ? "value out of range" : undefined;
    if (wrong !== undefined) {
      const parsing = `strconv.Atoi: parsing ${JSON.stringify(digits)}: ${wrong}`;
      return unparsedError(`error while parsing precision: error while converting precision to integer: ${parsing}`);
    }
    precision = number;
  }
  const verb = String.fromCodePoint(text.codePointAt(at)!);
  if (!verbs.has(verb)) return unparsedError(`unrecognized formatting clause ${quoteString(verb)}`);
  return { verb, precision, end: at + 1 };
}

const clauseWork = 20;

/** Returns `text` with its clauses replaced by `values`. Values without a clause are ignored. */
export function format(text: string, values: readonly Value[], context: EvaluationContext): Printed {
  let printed = "";
  let next = 0;
  let at = 0;
  for (;;) {
    const percent = text.indexOf("%", at);
    if (percent < 0) return printed + text.slice(at);
    printed += text.slice(at, percent);
    if (percent + 1 >= text.length) return new CelError("unexpected end of string");
    if (text[percent + 1] === "%") {
      printed += "%";
      at = percent + 2;
      continue;
    }
    if (next >= values.length) return new CelError(`index ${next} out of range`);
    const clause = parseClause(text, percent + 1);
    if (clause instanceof CelError) return clause;
    const one = verbs.get(clause.verb)!.print(read(values[next]!), clause.precision, context);
    if (one instanceof CelError) return one;
    printed += one;
    context.work(clauseWork + one.length);
    next++;
    at = clause.end;
  }
}

interface Verb {
  print(value: Value, precision: number | undefined, context: EvaluationContext): Printed;
  readonly clause: string;
  /** The kinds of types that it prints, and the kinds whose values are not known before the evaluation. */
  readonly kinds: ReadonlySet<CelType["kind"]>;
}

/** The problem of a format: that of the argument at an index, or of the whole format. */
interface FormatProblem {
  readonly argument?: number;
  readonly message: string;
}

/** Returns the problem of a call that can be found before any evaluation, by the types of its arguments. */
export function formatProblem(text: string, types: readonly CelType[]): FormatProblem | undefined {
  let next = 0;
  for (let at = text.indexOf("%"); at >= 0; ) {
    if (at + 1 >= text.length) return { message: "unexpected end of string" };
    let end = at + 2;
    if (text[at + 1] !== "%") {
      const type = types[next];
      if (type === undefined) return { message: `index ${next} out of range` };
      const clause = parseClause(text, at + 1);
      if (clause instanceof CelError) return { message: clause.message };
      const verb = verbs.get(clause.verb)!;
      if (!verb.kinds.has(type.kind)) return { argument: next, message: misfit(verb.clause, bareName(type)) };
      next++;
      end = clause.end;
    }
    at = text.indexOf("%", end);
  }
  if (next === types.length) return undefined;
  return { message: `too many arguments supplied to string.format (expected ${next}, got ${types.length})` };
}

/** Returns the name of a type without its parameters. */
const bareName = (type: CelType): string =>
  type.kind === "list" || type.kind === "map" || type.kind === "type"
    ? type.kind
    : type.kind === "opaque"
      ? type.name
      : typeName(type);

const integerOf = (value: Value): number | bigint | undefined =>
  isInt(value) ? value : value instanceof Uint ? value.value : undefined;

function decimal(value: Value): Printed {
  const integer = integerOf(value);
  if (integer !== undefined) return String(integer);
  return misfitError(clauses.decimal, value);
}

/** The work of printing a double. */
const numberWork = 100;

const special = (value: number): string | undefined =>
  Number.isNaN(value) ? "NaN" : Number.isFinite(value) ? undefined : value < 0 ? "-∞" : "∞";

/** Source: cel-go takes texts for the doubles that have no literals. */
const namedDoubles: ReadonlyMap<Value, number> = new Map([
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
]);

/** Returns the double that is printed; zero has no sign. */
const doubleOf = (value: Value): number | undefined =>
  value instanceof Double ? value.value + 0 : namedDoubles.get(value);

function fixedPoint(value: Value, precision: number | undefined, context: EvaluationContext): Printed {
  const double = doubleOf(value);
  if (double === undefined) return misfitError(clauses.fixedPoint, value);
  const decimals = precision ?? 6;
  if (decimals > precisionMax) return "%!(NOVERB)";
  context.work(numberWork + decimals);
  const text = special(double) ?? fixedText(double, decimals);
  const [whole, fraction] = text.split(".") as [string, string | undefined]; // `split` always returns at least one part
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

const raised = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** Prints a double with six decimals. Source: in cel-go the precision is the least number of characters. */
function scientific(value: Value, precision: number | undefined, context: EvaluationContext): Printed {
  const width = precision ?? 6;
  context.work(2 * numberWork + Math.min(width, precisionMax));
  const double = doubleOf(value);
  if (double === undefined) return misfitError(clauses.scientific, value);
  if (width > precisionMax) return "%!(NOVERB)";
  return (special(double) ?? scientificText(double)).padStart(width);
}

function scientificText(double: number): string {
  const { mantissa, exponent } = scientificParts(double);
  const digits = String(Math.abs(exponent)).padStart(2, "0");
  const above = [...digits].map((digit) => raised[Number(digit)]).join("");
  return `${mantissa}\u202f×\u202f10${exponent < 0 ? "⁻" : ""}${above}`;
}

function binary(value: Value): Printed {
  if (typeof value === "boolean") return value ? "1" : "0";
  const integer = integerOf(value);
  if (integer !== undefined) return integer.toString(2);
  return misfitError(clauses.binary, value);
}

function octal(value: Value): Printed {
  const integer = integerOf(value);
  return integer === undefined ? misfitError(clauses.octal, value) : integer.toString(8);
}

function hexadecimal(value: Value): Printed {
  const integer = integerOf(value);
  if (integer !== undefined) return integer.toString(16);
  if (typeof value === "string") return Buffer.from(value).toString("hex");
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  return misfitError(clauses.hexadecimal, value);
}

function upperHexadecimal(value: Value): Printed {
  const text = hexadecimal(value);
  return typeof text === "string" ? text.toUpperCase() : text;
}

const notUtf8 = 'could not convert argument "invalid UTF-8 in bytes, cannot convert to string" to string';

const bytesText = (bytes: Uint8Array): Printed =>
  decodeUtf8(bytes) ?? new CelError(`error during formatting: ${notUtf8}`);

function text(value: Value, _precision: number | undefined, context: EvaluationContext): Printed {
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return bytesText(value);
  if (value instanceof Double) return doubleText(value.value);
  if (value instanceof Timestamp) return timestampText(value);
  if (value instanceof Duration) return durationText(value);
  return printNested(value, context);
}

/** Prints a value inside of a list or map. */
function printNested(value: Value, context: EvaluationContext): Printed {
  if (typeof value === "string") return quoteString(value);
  if (value === null || typeof value === "boolean") return String(value);
  const integer = integerOf(value);
  if (integer !== undefined) return String(integer);
  if (value instanceof Double) {
    context.work(numberWork);
    return Number.isFinite(value.value) ? fixedText(value.value, 6) : quoteString(doubleText(value.value));
  }
  if (value instanceof Uint8Array) {
    const decoded = bytesText(value);
    return typeof decoded === "string" ? `b${quoteString(decoded)}` : decoded;
  }
  if (value instanceof Timestamp) return `timestamp("${timestampText(value)}")`;
  if (value instanceof Duration) return `duration("${durationText(value)}")`;
  if (value instanceof TypeValue) return value.name;
  if (isList(value)) return listText(value, context);
  return isMap(value) ? mapText([...mapEntries(value)], context) : misfitError(clauses.text, value);
}

const elementWork = 8;

function listText(list: readonly Value[], context: EvaluationContext): Printed {
  const texts: string[] = [];
  context.work(elementWork * list.length);
  for (const one of list) {
    const printed = printNested(read(one), context);
    if (printed instanceof CelError) return printed;
    context.work(printed.length);
    texts.push(printed);
  }
  return `[${texts.join(", ")}]`;
}

function mapText(entries: readonly (readonly [Value, Value])[], context: EvaluationContext): Printed {
  const texts: string[] = [];
  context.work(2 * elementWork * entries.length);
  for (const [key, value] of entries) {
    const keyText = printNested(key, context);
    const printed = printNested(value, context);
    if (keyText instanceof CelError) return keyText;
    if (printed instanceof CelError) return printed;
    context.work(printed.length);
    texts.push(`${keyText}:${printed}`);
  }
  return `{${texts.sort().join(", ")}}`;
}

const unknown = ["dyn", "error", "parameter"] as const;

const verb = (print: Verb["print"], clause: string, ...kinds: readonly CelType["kind"][]): Verb => ({
  print,
  clause,
  kinds: new Set([...unknown, ...kinds]),
});

const texts = [
  "string",
  "bytes",
  "double",
  "timestamp",
  "duration",
  "null_type",
  "bool",
  "type",
  "list",
  "map",
] as const;
const integers = ["int", "uint"] as const;

const verbs: ReadonlyMap<string, Verb> = new Map<string, Verb>([
  ["s", verb(text, clauses.text, ...texts, ...integers)],
  ["d", verb(decimal, clauses.decimal, ...integers)],
  // Upstream: the check accepts strings as doubles, since texts such as "NaN" may be meant.
  ["f", verb(fixedPoint, clauses.fixedPoint, "double", "string")],
  ["e", verb(scientific, clauses.scientific, "double", "string")],
  ["b", verb(binary, clauses.binary, "bool", ...integers)],
  ["o", verb(octal, clauses.octal, ...integers)],
  ["x", verb(hexadecimal, clauses.hexadecimal, "string", "bytes", ...integers)],
  ["X", verb(upperHexadecimal, clauses.hexadecimal, "string", "bytes", ...integers)],
]);
