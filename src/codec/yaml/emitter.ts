/**
 * Writes YAML the way upstream's library does, byte for byte: block style, keys in its natural order, two spaces,
 * lists not indented inside of maps, lines folded at spaces after column 80. The choice between plain, quoted and
 * literal text follows libyaml's analysis of a scalar (the emitter upstream's library is made from).
 */
import { isRawNumber } from "#std/raw-number.ts";
import { encodeJson, indentedLevelsMax } from "../json.ts";
import { isPlainText } from "./scalars.ts";

const widthMax = 80;
const step = 2;

/** YAML text of a JSON value, with a line feed at the end. */
export function emitYaml(value: unknown): string {
  const emitter = new Emitter();
  emitter.root(value);
  return emitter.text();
}

type Style = "plain" | "single" | "double" | "literal";

/** Where a node stands. */
interface Context {
  /** Columns of the block around; -1 at the top. */
  readonly indent: number;
  readonly isKey: boolean;
  readonly inMap: boolean;
}

class Emitter {
  readonly #pieces: string[] = [];
  #column = 0;
  /** The last thing written was white space or an indicator that needs none after it. */
  #atSpace = true;
  /** Nothing but indentation and indicators is on the line. */
  #atIndent = true;

  text(): string {
    return this.#pieces.join("");
  }

  root(value: unknown): void {
    this.#node(value, { indent: -1, isKey: false, inMap: false });
    if (this.#column > 0 || this.#pieces.length === 0) this.#break();
  }

  #node(value: unknown, at: Context): void {
    if (value === null || value === undefined) return this.#plain("null", at);
    // Deeper than that it is JSON, which is YAML on one line: spaces cannot outgrow the value.
    if (typeof value === "object" && at.indent >= indentedLevelsMax * step && !isRawNumber(value)) {
      return this.#indicator(encodeJson(value).toString());
    }
    if (Array.isArray(value)) return this.#list(value as readonly unknown[], at);
    if (typeof value === "object") {
      if (isRawNumber(value)) return this.#plain(rawText(value.rawJSON), at);
      return this.#map(value as Readonly<Record<string, unknown>>, at);
    }
    if (typeof value === "string") return this.#string(value, at);
    this.#plain(typeof value === "number" ? numberText(value) : value === true ? "true" : "false", at);
  }

  #map(map: Readonly<Record<string, unknown>>, at: Context): void {
    const keys = Object.keys(map)
      .filter((key) => map[key] !== undefined)
      .sort(compareKeys);
    if (keys.length === 0) return this.#indicator("{}");
    const indent = at.indent < 0 ? 0 : at.indent + step;
    for (const key of keys) {
      this.#indent(indent);
      const isSimple = isSimpleKey(key);
      if (!isSimple) this.#indicator("?", true);
      this.#string(key, { indent, isKey: isSimple, inMap: true });
      if (isSimple) this.#indicator(":", false, false);
      else {
        this.#indent(indent);
        this.#indicator(":", true);
      }
      this.#node(map[key], { indent, isKey: false, inMap: true });
    }
  }

  #list(list: readonly unknown[], at: Context): void {
    if (list.length === 0) return this.#indicator("[]");
    // A list in a map starts in the column of its key, unless it comes after an indicator on the same line.
    const indent = at.indent < 0 ? 0 : at.inMap && !this.#atIndent ? at.indent : at.indent + step;
    for (const item of list) {
      this.#indent(indent);
      this.#indicator("-", true);
      this.#node(item, { indent, isKey: false, inMap: false });
    }
  }

  #string(value: string, at: Context): void {
    const facts = analyze(value);
    let style: Style = value.includes("\n") ? "literal" : isPlainText(value) ? "plain" : "double";
    if (style === "literal" && (!facts.literal || at.isKey)) style = "double";
    if (style === "plain" && (!facts.plain || (value === "" && at.isKey))) style = "single";
    if (style === "single" && !facts.single) style = "double";
    const indent = at.indent < 0 ? step : at.indent + step;
    if (style === "plain") this.#plain(value, at);
    else if (style === "single") this.#single(value, indent, !at.isKey);
    else if (style === "double") this.#double(value, indent, !at.isKey);
    else this.#literal(value, indent);
  }

  #plain(value: string, at: Context): void {
    const indent = at.indent < 0 ? step : at.indent + step;
    if (value !== "" && !this.#atSpace) this.#put(" ");
    this.#folded(value, indent, !at.isKey, (char) => char, false);
    this.#atSpace = false;
    this.#atIndent = false;
  }

  #single(value: string, indent: number, mayBreak: boolean): void {
    this.#indicator("'");
    this.#folded(value, indent, mayBreak, (char) => (char === "'" ? "''" : char), true);
    this.#indicator("'", false, false);
  }

  /** Text whose single spaces may become line ends; `inQuotes`: not the first and the last one. */
  #folded(value: string, indent: number, mayBreak: boolean, write: (char: string) => string, inQuotes: boolean): void {
    const chars = [...value];
    let wasSpace = false;
    let wasBreak = false;
    for (let i = 0; i < chars.length; i++) {
      const char = chars[i]!;
      if (isBreak(char)) {
        this.#put(char);
        this.#column = 0;
        this.#atIndent = true;
        wasBreak = true;
        wasSpace = false;
        continue;
      }
      if (wasBreak) this.#indent(indent);
      wasBreak = false;
      if (char !== " ") {
        this.#put(write(char));
        this.#atIndent = false;
        wasSpace = false;
        continue;
      }
      const isInside = !inQuotes || (i > 0 && i < chars.length - 1);
      if (mayBreak && !wasSpace && this.#column > widthMax && isInside && chars[i + 1] !== " ") this.#indent(indent);
      else this.#put(char);
      wasSpace = true;
    }
  }

  #double(value: string, indent: number, mayBreak: boolean): void {
    this.#indicator('"');
    const chars = [...value];
    // Upstream: a mark of byte order at the start has everything escaped.
    const isMarked = chars[0] === "\ufeff";
    let wasSpace = false;
    for (let i = 0; i < chars.length; i++) {
      const char = chars[i]!;
      if (char === " " && !isMarked) {
        if (mayBreak && !wasSpace && this.#column > widthMax && i > 0 && i < chars.length - 1) {
          this.#indent(indent);
          if (chars[i + 1] === " ") this.#put("\\");
        } else this.#put(char);
        wasSpace = true;
        continue;
      }
      const isOrdinary = isPrintable(char) && char !== '"' && char !== "\\" && !isBreak(char) && !isMarked;
      this.#put(isOrdinary ? char : escape(char));
      wasSpace = false;
    }
    this.#indicator('"', false, false);
  }

  #literal(value: string, indent: number): void {
    const chars = [...value];
    const last = chars.length - 1;
    const indentHint = chars[0] === " " || isBreak(chars[0]!) ? String(step) : "";
    const chomp = !isBreak(chars[last]!) ? "-" : last === 0 || isBreak(chars[last - 1]!) ? "+" : "";
    this.#indicator(`|${indentHint}${chomp}`);
    this.#break();
    this.#atIndent = true;
    this.#atSpace = true;
    let atStart = true;
    for (const char of chars) {
      if (isBreak(char)) {
        if (char === "\n") this.#break();
        else {
          this.#put(char);
          this.#column = 0;
        }
        this.#atIndent = true;
        atStart = true;
        continue;
      }
      if (atStart) this.#indent(indent);
      this.#put(char);
      this.#atIndent = false;
      atStart = false;
    }
  }

  /** Goes to `indent` on a line on which nothing has been written yet. */
  #indent(indent: number): void {
    if (!this.#atIndent || this.#column > indent || (this.#column === indent && !this.#atSpace)) this.#break();
    if (this.#column < indent) this.#put(" ".repeat(indent - this.#column));
    this.#atSpace = true;
    this.#atIndent = true;
  }

  /** Punctuation; `opens` keeps the line open for a block that starts on it. */
  #indicator(text: string, opens = false, needsSpace = true): void {
    if (needsSpace && !this.#atSpace) this.#put(" ");
    this.#put(text);
    this.#atSpace = false;
    this.#atIndent = this.#atIndent && opens;
  }

  #put(text: string): void {
    this.#pieces.push(text);
    this.#column += text.length;
  }

  #break(): void {
    this.#pieces.push("\n");
    this.#column = 0;
  }
}

/** A key that fits on a line before its colon. */
const isSimpleKey = (key: string): boolean => Buffer.byteLength(key) <= 128 && !/[\n\r\x85\u2028\u2029]/.test(key);

const isBreak = (char: string): boolean =>
  char === "\n" || char === "\r" || char === "\x85" || char === "\u2028" || char === "\u2029";

interface Analysis {
  readonly plain: boolean;
  readonly single: boolean;
  readonly literal: boolean;
}

/** Which styles a text may have in block context. */
function analyze(text: string): Analysis {
  if (text === "") return { plain: true, single: true, literal: false };
  let indicators = text.startsWith("---") || text.startsWith("...");
  let special = false;
  let breakThenSpace = false;
  let spaceThenBreak = false;
  let hasBreak = false;
  const chars = [...text];
  const isBlank = (char: string | undefined): boolean =>
    char === undefined || char === " " || char === "\t" || isBreak(char);
  for (let i = 0; i < chars.length; i++) {
    const char = chars[i]!;
    if (i === 0) {
      if (",[]{}&*!|>'\"%@`#".includes(char)) indicators = true;
      else if ((char === "-" || char === "?" || char === ":") && isBlank(chars[1])) indicators = true;
    } else if (char === ":" && isBlank(chars[i + 1])) indicators = true;
    else if (char === "#" && isBlank(chars[i - 1])) indicators = true;
    if (!isPrintable(char)) special = true;
    if (char === " ") breakThenSpace ||= i > 0 && isBreak(chars[i - 1]!);
    else if (isBreak(char)) {
      hasBreak = true;
      spaceThenBreak ||= i > 0 && chars[i - 1] === " ";
    }
  }
  const first = chars[0]!;
  const last = chars.at(-1)!;
  if (spaceThenBreak || special) return { plain: false, single: false, literal: false };
  const isPadded = first === " " || last === " " || isBreak(first) || isBreak(last);
  return {
    plain: !isPadded && !breakThenSpace && !hasBreak && !indicators,
    single: !breakThenSpace,
    literal: last !== " ",
  };
}

/** As upstream's emitter sees it: tabs and other line ends are not. */
function isPrintable(char: string): boolean {
  const code = char.codePointAt(0)!;
  return (
    code === 0x0a ||
    (code >= 0x20 && code <= 0x7e) ||
    (code >= 0xa0 && code <= 0xd7ff) ||
    (code >= 0xe000 && code <= 0xfffd && code !== 0xfeff) ||
    (code >= 0x10000 && code <= 0x10ffff)
  );
}

const shortEscapes: Readonly<Record<string, string>> = {
  "\0": "\\0",
  "\x07": "\\a",
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\v": "\\v",
  "\f": "\\f",
  "\r": "\\r",
  "\x1b": "\\e",
  '"': '\\"',
  "\\": "\\\\",
  "\x85": "\\N",
  "\xa0": "\\_",
  "\u2028": "\\L",
  "\u2029": "\\P",
};

function escape(char: string): string {
  const short = Object.hasOwn(shortEscapes, char) ? shortEscapes[char] : undefined;
  if (short !== undefined) return short;
  const code = char.codePointAt(0)!;
  const [letter, width] = code <= 0xff ? ["x", 2] : code <= 0xffff ? ["u", 4] : ["U", 8];
  return `\\${letter}${code
    .toString(16)
    .toUpperCase()
    .padStart(width as number, "0")}`;
}

/** A number as upstream's encoder writes it: whole numbers of 64 bits in full. */
function numberText(value: number): string {
  if (Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 64) return String(value === 0 ? 0 : value);
  return floatText(value);
}

function rawText(literal: string): string {
  return /^-?[0-9]{1,20}$/.test(literal) ? String(BigInt(literal)) : floatText(Number(literal));
}

/** Go's shortest form: with an exponent of at least two digits below 1e-4 and from 1e6 on. */
function floatText(value: number): string {
  const [digits = "", power = "0"] = value.toExponential().split("e");
  const exponent = Number(power);
  // In this range JavaScript writes no exponent.
  if (exponent >= -4 && exponent < 6) return String(value);
  return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

const isLetter = (char: string): boolean => /\p{L}/u.test(char);
const isDigit = (char: string | undefined): boolean => char !== undefined && /\p{Nd}/u.test(char);

/** Upstream's order of keys: numbers inside of texts by value, letters after everything else. */
export function compareKeys(left: string, right: string): number {
  const a = [...left];
  const b = [...right];
  const shorter = Math.min(a.length, b.length);
  for (let i = 0; i < shorter; i++) {
    const x = a[i]!;
    const y = b[i]!;
    if (x === y) continue;
    const xLetter = isLetter(x);
    const yLetter = isLetter(y);
    if (xLetter && yLetter) return x < y ? -1 : 1;
    if (xLetter || yLetter) return yLetter ? -1 : 1;
    return compareNumbers(a, b, i) || (x < y ? -1 : 1);
  }
  return a.length - b.length;
}

/** Compares the numbers that begin at `at`; 0 when they do not decide. */
function compareNumbers(a: readonly string[], b: readonly string[], at: number): number {
  let x = 0n;
  let y = 0n;
  if (a[at] === "0" || b[at] === "0") {
    // A zero after a digit other than zero belongs to a number that both share so far.
    for (let i = at - 1; i >= 0 && isDigit(a[i]); i--) {
      if (a[i] !== "0") {
        x = 1n;
        y = 1n;
        break;
      }
    }
  }
  let i = at;
  for (; isDigit(a[i]); i++) x = BigInt.asIntN(64, x * 10n + BigInt(a[i]!.codePointAt(0)! - 48));
  let j = at;
  for (; isDigit(b[j]); j++) y = BigInt.asIntN(64, y * 10n + BigInt(b[j]!.codePointAt(0)! - 48));
  if (x !== y) return x < y ? -1 : 1;
  return i - j;
}
