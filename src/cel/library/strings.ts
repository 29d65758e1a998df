/** The strings extension, version 2. Indices count code points. */
import { codePointCount } from "#std/code-points.ts";
import { traversal } from "../evaluate/costs.ts";
import { isInt, isList, sizeOf } from "../evaluate/kinds.ts";
import type { Int } from "../evaluate/numbers.ts";
import { read } from "../evaluate/read.ts";
import { countSearch, countText, isPlain, searchedPerUnit } from "../evaluate/text.ts";
import type { CallCost, EvaluationContext, FunctionDeclaration, Library, Overload } from "../functions.ts";
import { type CelType, dyn, int, listOf, string } from "../types.ts";
import { CelError, type Value } from "../values.ts";
import { elementsCost, member, onText, plainFunction } from "./declare.ts";
import { format } from "./format.ts";
import { quoteString } from "./quote.ts";

type Call = NonNullable<Overload["call"]>;

const outOfRange = (index: Int): CelError => new CelError(`index out of range: ${index}`);

/** Returns the offset of a code point in UTF-16 units; the end of the text if the index is beyond it. */
function unitOf(text: string, index: number): number {
  if (isPlain(text)) return Math.min(index, text.length);
  let at = 0;
  for (let remaining = index; remaining > 0 && at < text.length; remaining--)
    at += text.codePointAt(at)! > 0xffff ? 2 : 1;
  return at;
}

const charAt: Call = ([text, index]) => {
  if (typeof text !== "string" || !isInt(index)) return undefined;
  if (typeof index !== "number" || index < 0 || index > codePointCount(text)) return outOfRange(index);
  const at = unitOf(text, index);
  return at >= text.length ? "" : String.fromCodePoint(text.codePointAt(at)!);
};

const indexOf: Call = ([text, part, from = 0], context) => {
  if (typeof text !== "string" || typeof part !== "string" || !isInt(from)) return undefined;
  countSearch(text, part, context);
  const count = codePointCount(text);
  // Upstream: an empty part is found anywhere, even outside of the text.
  if (part === "") return from;
  if (from < 0) return outOfRange(from);
  if (from >= count) return -1;
  const unit = text.indexOf(part, unitOf(text, Number(from)));
  return unit < 0 ? -1 : codePointCount(text.slice(0, unit));
};

const lastIndexOf: Call = ([text, part, offset], context) => {
  if (typeof text !== "string" || typeof part !== "string") return undefined;
  if (offset !== undefined && !isInt(offset)) return undefined;
  context.work((text.length * part.length) / searchedPerUnit);
  const count = codePointCount(text);
  // Upstream: an empty part is found anywhere, even outside of the text, and no other part is looked for in an empty text.
  if (part === "") return offset ?? count;
  const from = offset ?? count - 1;
  if (from < 0) return outOfRange(from);
  if (from >= count) return -1;
  const unit = text.lastIndexOf(part, unitOf(text, Number(from)));
  return unit < 0 ? -1 : codePointCount(text.slice(0, unit));
};

const substring: Call = ([text, start, endIndex]) => {
  if (typeof text !== "string" || !isInt(start) || (endIndex !== undefined && !isInt(endIndex))) return undefined;
  const count = codePointCount(text);
  const end = endIndex ?? count;
  if (endIndex !== undefined && start > end) {
    return new CelError(`invalid substring range. start: ${start}, end: ${end}`);
  }
  if (start < 0 || start > count) return outOfRange(start);
  if (end < 0 || end > count) return outOfRange(end);
  return text.slice(unitOf(text, Number(start)), unitOf(text, Number(end)));
};

/** The work of one part of a text, or of one text of a list. */
const partWork = 10;
/** The maximum number of parts of a split; no evaluation may make so many. */
const partsMax = 500_000;

/** Returns the parts of a text between separators; its code points if the separator is empty. */
function partsOf(text: string, separator: string, context: EvaluationContext): readonly string[] {
  countSearch(text, separator, context);
  if (separator === "") context.work(partWork * text.length);
  const parts = separator === "" ? [...text] : text.split(separator, partsMax);
  context.work(partWork * parts.length);
  return parts;
}

const join: Call = ([list, separator = ""], context) => {
  if (!isList(list) || typeof separator !== "string") return undefined;
  const texts: string[] = [];
  let length = 0;
  context.work(partWork * list.length);
  for (const one of list) {
    const text = read(one);
    if (typeof text !== "string") return undefined;
    length += text.length + separator.length;
    texts.push(text);
  }
  countText(length, context);
  return texts.join(separator);
};

const isInteger = (value: Value): boolean => isInt(value);

/** Replaces a part of a text everywhere, or at most `limit` times unless it is negative. */
const replace: Call = ([text, old, by, limit = -1], context) => {
  if (typeof text !== "string" || typeof old !== "string" || typeof by !== "string" || !isInteger(limit))
    return undefined;
  const max = Number(limit) < 0 ? Number.POSITIVE_INFINITY : Number(limit);
  const parts = old === "" ? ["", ...partsOf(text, "", context), ""] : partsOf(text, old, context);
  const count = Math.min(max, parts.length - 1);
  countText(text.length + count * by.length, context);
  const head = parts.slice(0, count + 1).join(by);
  return count === parts.length - 1 ? head : head + old + parts.slice(count + 1).join(old);
};

/** Splits a text into at most `limit` parts unless it is negative; 0 returns no parts. */
const split: Call = ([text, separator, limit = -1], context) => {
  if (typeof text !== "string" || typeof separator !== "string" || !isInteger(limit)) return undefined;
  const max = Number(limit);
  if (max === 0) return [];
  const parts = partsOf(text, separator, context);
  if (max < 0 || parts.length <= max) return parts;
  return [...parts.slice(0, max - 1), parts.slice(max - 1).join(separator)];
};

const changing = onText(30, 1 / 4);

const isSpace = (code: number): boolean =>
  (code >= 9 && code <= 13) ||
  code === 0x20 ||
  code === 0x85 ||
  code === 0xa0 ||
  code === 0x1680 ||
  (code >= 0x2000 && code <= 0x200a) ||
  [0x2028, 0x2029, 0x202f, 0x205f, 0x3000].includes(code);

/** Removes white space at both ends, as Unicode defines it; JavaScript's definition differs. */
function trim(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isSpace(text.charCodeAt(start))) start++;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

const isAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text);

/** Changes ASCII letters only. A text with other characters needs a slower replacement. */
const lower = (text: string): string =>
  isAscii(text) ? text.toLowerCase() : text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
const upper = (text: string): string =>
  isAscii(text) ? text.toUpperCase() : text.replace(/[a-z]+/g, (letters) => letters.toUpperCase());

const formatted: Call = ([text, values], context) =>
  typeof text === "string" && isList(values) ? format(text, values, context) : undefined;

const once: CallCost = { actual: ([text]) => traversal(sizeOf(text!)) };
const twice: CallCost = { actual: ([text]) => traversal(sizeOf(text!) * 2) };
/** The cost of the functions of strings that have the same names and costs as functions of lists. */
const asElements: CallCost = { actual: ([text]) => elementsCost(text!) };
const ofResult: CallCost = { actual: (_, result) => Math.ceil(sizeOf(result) * 0.2) };

type Form = readonly [id: string, args: readonly CelType[]];

const members = (
  name: string,
  result: CelType,
  call: Call,
  cost: CallCost | undefined,
  ...forms: readonly Form[]
): FunctionDeclaration => ({
  name,
  overloads: forms.map(([id, args]) => member(id, args, result, call, cost)),
});

const texts = listOf(string);

export const stringsLibrary: Library = {
  name: "cel.lib.ext.strings",
  functions: [
    members("charAt", string, charAt, undefined, ["string_char_at_int", [string, int]]),
    members(
      "indexOf",
      int,
      indexOf,
      asElements,
      ["string_index_of_string", [string, string]],
      ["string_index_of_string_int", [string, string, int]],
    ),
    members(
      "lastIndexOf",
      int,
      lastIndexOf,
      asElements,
      ["string_last_index_of_string", [string, string]],
      ["string_last_index_of_string_int", [string, string, int]],
    ),
    members("join", string, join, ofResult, ["list_join", [texts]], ["list_join_string", [texts, string]]),
    members("lowerAscii", string, changing(lower), once, ["string_lower_ascii", [string]]),
    members("upperAscii", string, changing(upper), once, ["string_upper_ascii", [string]]),
    members(
      "replace",
      string,
      replace,
      twice,
      ["string_replace_string_string", [string, string, string]],
      ["string_replace_string_string_int", [string, string, string, int]],
    ),
    members(
      "split",
      texts,
      split,
      twice,
      ["string_split_string", [string, string]],
      ["string_split_string_int", [string, string, int]],
    ),
    members(
      "substring",
      string,
      substring,
      once,
      ["string_substring_int", [string, int]],
      ["string_substring_int_int", [string, int, int]],
    ),
    members("trim", string, changing(trim), once, ["string_trim", [string]]),
    members("format", string, formatted, once, ["string_format", [string, listOf(dyn)]]),
    plainFunction("strings.quote", "strings_quote", [string], string, changing(quoteString), once),
  ],
};
