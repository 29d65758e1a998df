/**
 * Reads YAML scalars as upstream's decoder does: YAML 1.1 booleans, integers of both versions, no dates, no sexagesimal
 * numbers. Decoder and encoder share this file: strings that would decode to another type are quoted.
 */
import { rawNumber } from "#std/raw-number.ts";

/** The type of a scalar: the last part of a YAML tag, such as `tag:yaml.org,2002:int`. */
export type ScalarTag = "null" | "bool" | "int" | "float" | "timestamp" | "str" | "merge";

interface YamlScalar {
  readonly tag: ScalarTag;
  /**
   * The JSON value. Whole numbers that a JavaScript number cannot represent are raw; infinite numbers and NaN are
   * JavaScript numbers.
   */
  readonly value: unknown;
}

const words: ReadonlyMap<string, YamlScalar> = new Map<string, YamlScalar>([
  ...scalarEntries("null", null, "", "~", "null", "Null", "NULL"),
  ...scalarEntries("bool", true, "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"),
  ...scalarEntries("bool", false, "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"),
  ...scalarEntries("float", Number.NaN, ".nan", ".NaN", ".NAN"),
  ...scalarEntries("float", Number.POSITIVE_INFINITY, ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"),
  ...scalarEntries("float", Number.NEGATIVE_INFINITY, "-.inf", "-.Inf", "-.INF"),
  ...scalarEntries("merge", "<<", "<<"),
]);

function scalarEntries(tag: ScalarTag, value: unknown, ...texts: string[]): [string, YamlScalar][] {
  return texts.map((text) => [text, { tag, value }]);
}

const integer = /^[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)$/;
const decimal = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;

/** Returns the meaning of a plain scalar. */
export function resolve(text: string): YamlScalar {
  const word = words.get(text);
  if (word !== undefined) return word;
  const first = text.charCodeAt(0);
  const isNumeric = (first >= 48 && first <= 57) || first === 43 || first === 45 || first === 46;
  if (!isNumeric) return { tag: "str", value: text };
  const plain = text.replaceAll("_", "");
  if (first !== 46 && integer.test(plain)) {
    const value = readInteger(plain);
    if (value !== undefined) return { tag: "int", value };
  }
  // Without underscores only, a number may begin with a point.
  if (decimal.test(first === 46 ? text : plain)) {
    const value = Number(first === 46 ? text : plain);
    if (Number.isFinite(value)) return { tag: "float", value };
  }
  return { tag: isTimestamp(text) ? "timestamp" : "str", value: text };
}

/** Returns the whole number, which must fit 64 bits, signed or unsigned; `undefined` for larger ones. */
function readInteger(text: string): unknown {
  const isNegative = text.startsWith("-");
  const digits = text.replace(/^[-+]/, "").toLowerCase();
  const value = BigInt(/^0[0-7]/.test(digits) ? `0o${digits.slice(1)}` : digits);
  if (isNegative ? value > 1n << 63n : value >= 1n << 64n) return undefined;
  const signed = isNegative ? -value : value;
  return Number.isSafeInteger(Number(signed)) ? Number(signed) : rawNumber(String(signed));
}

const timestamp =
  /^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ ])[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?(?:Z|[-+][0-9]{2}:[0-9]{2}|)?)?$/;

/** Whether upstream's encoder takes the text for a date. */
function isTimestamp(text: string): boolean {
  const match = timestamp.exec(text);
  if (match === null) return false;
  const [, month = "", day = ""] = text.split(/[-Tt ]/);
  return Number(month) >= 1 && Number(month) <= 12 && Number(day) >= 1 && Number(day) <= 31;
}

const sexagesimal = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;

/** Whether a text may be written without quotes: it decodes to the same text, also in YAML 1.1. */
export const isPlainText = (text: string): boolean => resolve(text).tag === "str" && !sexagesimal.test(text);
