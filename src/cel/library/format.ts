/**
 * `text.format(values)`: Go's verbs as cel-go 0.22 prints them, with the digit grouping and the exponents of English in
 * print. Later releases print `%e` and `%f` without these.
 */
import { fixedText, scientificParts } from "../evaluate/decimal.ts";
import { isInt, isList, isMap, kindOf } from "../evaluate/kinds.ts";
import { mapEntries } from "../evaluate/maps.ts";
import { doubleText } from "../evaluate/numbers.ts";
import { read } from "../evaluate/read.ts";
import { decodeUtf8 } from "../evaluate/text.ts";
import { durationText, timestampText } from "../evaluate/time.ts";
import type { EvaluationContext } from "../functions.ts";
import { CelError, Double, Duration, Timestamp, TypeValue, Uint, type Value } from "../values.ts";
import { quoted } from "./quote.ts";

/** Text that has been made; an error ends it. */
type Printed = string | CelError;

interface Clause {
  readonly verb: string;
  readonly precision: number | undefined;
  /** After the verb. */
  readonly end: number;
}

const unparsed = (why: string): CelError => new CelError(`could not parse formatting clause: ${why}`);
const failed = (why: string, value: Value): CelError =>
  new CelError(`error during formatting: ${why}, was given ${kindOf(value)}`);

/** Go prints no number of more decimals. */
const precisionMax = 1_000_000;

/** The clause after a `%`. */
function parseClause(text: string, start: number): Clause | CelError {
  let at = start;
  let precision: number | undefined;
  if (text[at] === ".") {
    const digits = /^[0-9]*/.exec(text.slice(at + 1, at + 200))![0];
    at += 1 + digits.length;
    if (at >= text.length) return unparsed("error while parsing precision: could not find end of precision specifier");
    const number = Number(digits);
    const wrong = digits === "" ? "invalid syntax" : number >= 2 ** 63 ? "value out of range" : undefined;
    if (wrong !== undefined) {
      const parsing = `strconv.Atoi: parsing ${JSON.stringify(digits)}: ${wrong}`;
      return unparsed(`error while parsing precision: error while converting precision to integer: ${parsing}`);
    }
    precision = number;
  }
  const verb = String.fromCodePoint(text.codePointAt(at)!);
  if (!verbs.has(verb)) return unparsed(`unrecognized formatting clause ${quoted(verb)}`);
  return { verb, precision, end: at + 1 };
}

/** `text` with its clauses replaced by `values`. Values without a clause are left out. */
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
    const one = verbs.get(clause.verb)!(read(values[next]!), clause.precision, context);
    if (one instanceof CelError) return one;
    printed += one;
    context.work(one.length);
    next++;
    at = clause.end;
  }
}

type Verb = (value: Value, precision: number | undefined, context: EvaluationContext) => Printed;

const integerOf = (value: Value): number | bigint | undefined =>
  isInt(value) ? value : value instanceof Uint ? value.value : undefined;

function decimal(value: Value): Printed {
  const integer = integerOf(value);
  if (integer !== undefined) return String(integer);
  return failed("decimal clause can only be used on integers", value);
}

const special = (value: number): string | undefined =>
  Number.isNaN(value) ? "NaN" : Number.isFinite(value) ? undefined : value < 0 ? "-∞" : "∞";

function fixedPoint(value: Value, precision: number | undefined, context: EvaluationContext): Printed {
  if (!(value instanceof Double)) return failed("fixed-point clause can only be used on doubles", value);
  const decimals = precision ?? 6;
  if (decimals > precisionMax) return "%!(NOVERB)";
  context.work(decimals);
  const text = special(value.value) ?? fixedText(value.value, decimals);
  const [whole, fraction] = text.split(".") as [string, string | undefined]; // split never gives nothing
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

const raised = "⁰¹²³⁴⁵⁶⁷⁸⁹";

function scientific(value: Value): Printed {
  if (!(value instanceof Double)) return failed("scientific clause can only be used on doubles", value);
  const text = special(value.value);
  if (text !== undefined) return text;
  const { mantissa, exponent } = scientificParts(value.value);
  const digits = String(Math.abs(exponent)).padStart(2, "0");
  const above = [...digits].map((digit) => raised[Number(digit)]).join("");
  return `${mantissa}\u202f×\u202f10${exponent < 0 ? "⁻" : ""}${above}`;
}

function binary(value: Value): Printed {
  if (typeof value === "boolean") return value ? "1" : "0";
  const integer = integerOf(value);
  if (integer !== undefined) return integer.toString(2);
  return failed("only integers and bools can be formatted as binary", value);
}

function octal(value: Value): Printed {
  const integer = integerOf(value);
  return integer === undefined ? failed("octal clause can only be used on integers", value) : integer.toString(8);
}

function hexadecimal(value: Value): Printed {
  const integer = integerOf(value);
  if (integer !== undefined) return integer.toString(16);
  if (typeof value === "string") return Buffer.from(value).toString("hex");
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  return failed("only integers, byte buffers, and strings can be formatted as hex", value);
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
  return nested(value, context);
}

/** A value inside of a list or map. */
function nested(value: Value, context: EvaluationContext): Printed {
  if (typeof value === "string") return quoted(value);
  if (value === null || typeof value === "boolean") return String(value);
  const integer = integerOf(value);
  if (integer !== undefined) return String(integer);
  if (value instanceof Double)
    return Number.isFinite(value.value) ? fixedText(value.value, 6) : quoted(doubleText(value.value));
  if (value instanceof Uint8Array) {
    const decoded = bytesText(value);
    return typeof decoded === "string" ? `b${quoted(decoded)}` : decoded;
  }
  if (value instanceof Timestamp) return `timestamp("${timestampText(value)}")`;
  if (value instanceof Duration) return `duration("${durationText(value)}")`;
  if (value instanceof TypeValue) return value.name;
  if (isList(value)) return listText(value, context);
  return isMap(value) ? mapText([...mapEntries(value)], context) : failed(textClause, value);
}

const textClause =
  "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps";

function listText(list: readonly Value[], context: EvaluationContext): Printed {
  const texts: string[] = [];
  context.work(list.length);
  for (const one of list) {
    const printed = nested(read(one), context);
    if (printed instanceof CelError) return printed;
    context.work(printed.length);
    texts.push(printed);
  }
  return `[${texts.join(", ")}]`;
}

function mapText(entries: readonly (readonly [Value, Value])[], context: EvaluationContext): Printed {
  const texts: string[] = [];
  context.work(entries.length);
  for (const [key, value] of entries) {
    const keyText = nested(key, context);
    const printed = nested(value, context);
    if (keyText instanceof CelError) return keyText;
    if (printed instanceof CelError) return printed;
    context.work(printed.length);
    texts.push(`${keyText}:${printed}`);
  }
  return `{${texts.sort().join(", ")}}`;
}

const verbs: ReadonlyMap<string, Verb> = new Map<string, Verb>([
  ["s", text],
  ["d", decimal],
  ["f", fixedPoint],
  ["e", scientific],
  ["b", binary],
  ["o", octal],
  ["x", hexadecimal],
  ["X", upperHexadecimal],
]);
