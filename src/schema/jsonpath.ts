/**
 * The JSONPath dialect of Kubernetes' Go client, used by printer columns: `.status.conditions[0].type`,
 * `.spec.ports[?(@.name=='web')].port`, `..image`. A path is parsed once and evaluated on many plain JSON values. A
 * missing key returns no values; a step that cannot be evaluated (an index out of bounds, a filter on a value that is
 * not a list) fails the whole path. A lookup visits at most `visitsMax` values.
 *
 * Source of the dialect, with its corner cases: upstream's `client-go/util/jsonpath`. `range` and `end` are not
 * supported, since paths that begin with a dot cannot use them. Members of objects are visited in their own order;
 * upstream's order is random.
 */
import { isJsonObject } from "./nested-field.ts";
import { addAll } from "#std/add-all.ts";
import { compareCodePoints } from "#std/code-points.ts";
import { isRawNumber, type RawNumber, rawNumber } from "#std/raw-number.ts";

/** A parsed path. */
interface JsonPath {
  /** Returns the values of the path, in order; `undefined` if it cannot be evaluated. */
  find(value: unknown): readonly unknown[] | undefined;
}

/** The maximum number of values that one lookup visits. */
const visitsMax = 100_000;

/** Parses a path. Returns `undefined` if it is invalid. */
export function parseJsonPath(text: string): JsonPath | undefined {
  const actions = readActions(text);
  if (typeof actions === "string") return undefined;
  const [first, ...others] = actions;
  if (first === undefined) return undefined;
  const names = others.length === 0 ? fieldNames(first) : undefined;
  return { find: names === undefined ? (value) => evaluate(first, others, value) : (value) => walk(names, value) };
}

/** Returns the error of a path in upstream's words; `undefined` if it is valid. */
export function jsonPathProblem(text: string): string | undefined {
  const actions = readActions(text);
  return typeof actions === "string" ? actions : undefined;
}

function readActions(text: string): readonly Action[] | string {
  try {
    return new Reader(`{${text}}`).template();
  } catch (error) {
    if (error instanceof PathError) return error.message;
    throw error;
  }
}

type Step =
  | { readonly kind: "field"; readonly name: string }
  | { readonly kind: "wildcard" }
  | { readonly kind: "descend" }
  | { readonly kind: "slice"; readonly from: Bound; readonly to: Bound; readonly step: Bound }
  | { readonly kind: "union"; readonly actions: readonly Action[] }
  | { readonly kind: "filter"; readonly left: Action; readonly right: Action; readonly operator: string }
  | { readonly kind: "constant"; readonly value: string | boolean | bigint | RawNumber }
  /** An unknown word, which fails the evaluation. */
  | { readonly kind: "unknown" };

/** Returns a character as Go shows it, such as `U+007B '{'`. */
function shownCharacter(char: string): string {
  const code = char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0"); // the text is not empty
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(char) ? `U+${code} '${char}'` : `U+${code}`;
}

/**
 * The content of one pair of braces, as steps in order. The parser puts a path in braces, as in upstream's templates.
 */
type Action = readonly Step[];

/** A bound of a slice; `undefined` if it is omitted. */
type Bound = number | undefined;

/**
 * The error of a path that cannot be parsed, with upstream's message, or of one that cannot be evaluated, whose message
 * nobody sees.
 */
class PathError extends Error {}

/** Returns the names of a path that consists of fields only, which is the usual kind; `undefined` for other paths. */
function fieldNames(action: Action): readonly string[] | undefined {
  const names: string[] = [];
  for (const step of action) {
    if (step.kind !== "field") return undefined;
    names.push(step.name);
  }
  return names;
}

function walk(names: readonly string[], value: unknown): readonly unknown[] {
  let current = value;
  for (const name of names) {
    if (!isJsonObject(current) || !Object.hasOwn(current, name)) return [];
    current = current[name];
  }
  return [current];
}

const terminators = new Set(["", " ", "\t", "\r", "\n", ".", ",", "[", "]", "$", "@", "{", "}"]);
const isWordStart = (char: string): boolean => /^[\p{L}\p{Nd}_]/u.test(char);
const int64 = (text: string): bigint | undefined => {
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
};

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Reads the actions of the text. Text outside of braces becomes a constant. */
  template(): Action[] {
    const actions: Action[] = [];
    while (this.#at < this.#text.length) {
      const open = this.#text.indexOf("{", this.#at);
      const end = open < 0 ? this.#text.length : open;
      if (end > this.#at) actions.push([{ kind: "constant", value: this.#text.slice(this.#at, end) }]);
      if (open < 0) break;
      this.#at = open + 1;
      actions.push(this.#action());
    }
    return actions;
  }

  #starts(text: string): boolean {
    return this.#text.startsWith(text, this.#at);
  }

  /** Returns the next character; an empty text at the end. */
  #peek(): string {
    const code = this.#text.codePointAt(this.#at);
    return code === undefined ? "" : String.fromCodePoint(code);
  }

  #take(): string {
    const char = this.#peek();
    this.#at += char.length;
    return char;
  }

  #action(): Action {
    const steps: Step[] = [];
    for (;;) {
      if (this.#starts("}")) {
        this.#at++;
        return steps;
      }
      if (this.#starts("[?(")) {
        steps.push(this.#filter());
        continue;
      }
      if (this.#starts("..")) {
        if (steps.at(-1)?.kind === "descend") throw new PathError("invalid multiple recursive descent");
        this.#at += 2;
        steps.push({ kind: "descend" });
        if (isWordStart(this.#peek())) steps.push(this.#field());
        continue;
      }
      const char = this.#take();
      if (char === " " || char === "@" || char === "$") continue;
      if (char === "[") addAll(steps, this.#brackets());
      else if (char === ".") steps.push(this.#field());
      else if (char === '"' || char === "'") steps.push({ kind: "constant", value: this.#readQuoted(char) });
      else if (/^[+\-\p{Nd}]$/u.test(char)) steps.push({ kind: "constant", value: this.#number(char) });
      else if (isWordStart(char)) steps.push(this.#word(char));
      else if (char === "") throw new PathError("unclosed action");
      else throw new PathError(`unrecognized character in action: ${shownCharacter(char)}`);
    }
  }

  /** Reads a name; after a backslash, any character is part of the name. */
  #field(): Step {
    const start = this.#at;
    while (!terminators.has(this.#peek())) if (this.#take() === "\\") this.#take();
    const name = this.#text.slice(start, this.#at);
    return name === "*" ? { kind: "wildcard" } : { kind: "field", name: name.replaceAll("\\", "") };
  }

  #word(first: string): Step {
    const start = this.#at - first.length;
    while (!terminators.has(this.#peek())) this.#take();
    const word = this.#text.slice(start, this.#at);
    return word === "true" || word === "false" ? { kind: "constant", value: word === "true" } : { kind: "unknown" };
  }

  /** Reads a number. The constants 1 and 1.0 have different types, and cannot be compared. */
  #number(first: string): bigint | RawNumber {
    const start = this.#at - first.length;
    while (/^[.\p{Nd}]$/u.test(this.#peek())) this.#take();
    const text = this.#text.slice(start, this.#at);
    const digits = text.replace(/^\+/, "");
    if (/^-?[0-9]+$/.test(digits)) {
      const whole = int64(digits);
      if (whole !== undefined) return whole;
    }
    if (!/^-?([0-9]+\.?[0-9]*|\.[0-9]+)$/.test(digits)) throw new PathError(`cannot parse number ${text}`);
    const number = String(Number(digits));
    return rawNumber(/[.e]/.test(number) ? number : `${number}.0`);
  }

  #readQuoted(quote: string): string {
    const start = this.#at;
    for (;;) {
      const char = this.#take();
      if (char === "" || char === "\n") throw new PathError("unterminated quoted string");
      if (char === quote && this.#text[this.#at - 2] !== "\\") break;
    }
    return unescape(this.#text.slice(start, this.#at - 1), quote);
  }

  /** Reads the content of brackets: an index, a slice, a quoted name, or several of these. */
  #brackets(): readonly Step[] {
    const start = this.#at;
    for (;;) {
      const char = this.#take();
      if (char === "" || char === "\n") throw new PathError("unterminated array");
      if (char === "]") break;
    }
    const text = this.#text.slice(start, this.#at - 1);
    const parts = text.split(",");
    if (parts.length > 1) {
      return [{ kind: "union", actions: parts.map((part) => action(`[${part.replace(/^ +| +$/g, "")}]`)) }];
    }
    const name = /^'([^']*)'$/.exec(text);
    if (name !== null) return action(`.${name[1]}`);
    return [slice(text === "*" ? ":" : text)];
  }

  /** Reads `[?(left operator right)]`; without an operator, the filter tests whether `left` exists. */
  #filter(): Step {
    this.#at += 3;
    const start = this.#at;
    let quote = "";
    let isClosed = false;
    for (;;) {
      const char = this.#take();
      if (char === "" || char === "\n") throw new PathError("unterminated filter");
      if (char === '"' || char === "'") {
        if (quote === "") quote = char;
        else if (char === quote && this.#text[this.#at - 2] !== "\\") isClosed = true;
      } else if (char === ")" && (quote !== "") === isClosed) break;
    }
    const text = this.#text.slice(start, this.#at - 1);
    if (this.#take() !== "]") throw new PathError("unclosed array expect ]");
    const parts = /^([^!<>=]+)([!<>=]+)(.+)$/.exec(text);
    if (parts === null) return { kind: "filter", left: action(text), right: [], operator: "exists" };
    return { kind: "filter", left: action(parts[1]!), right: action(parts[3]!), operator: parts[2]! };
  }
}

/** Returns the first action of a text inside of another text. */
const action = (text: string): Action => new Reader(`{${text}}`).template()[0] ?? [];

function slice(text: string): Step {
  const parts = /^(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?$/.exec(text);
  if (parts === null) throw new PathError(`invalid array index ${text}`);
  const bound = (part: string): Bound => {
    if (part === "") return undefined;
    if (!/^-?[0-9]+$/.test(part)) throw new PathError(`array index ${part} is not a number`);
    const value = int64(part);
    if (value === undefined) throw new PathError(`array index ${part} is not a number`);
    return Number(value);
  };
  const [, first = "", second, third = ""] = parts;
  const from = bound(first);
  // A single number is a slice of one item; [-1] ends at the end of the list, not at 0. Upstream: `[]` means `[0:1]`.
  if (second === undefined) return { kind: "slice", from, to: (from ?? 0) + 1 || Infinity, step: undefined };
  return { kind: "slice", from, to: bound(second.slice(1)), step: bound(third.slice(1)) };
}

const simpleEscapes: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
});

/** Replaces the escapes of a Go literal. */
function unescape(text: string, quote: string): string {
  if (!text.includes("\\")) return text;
  const wrong = new PathError(`unquote string ${quote}${text}${quote} error invalid syntax`);
  const pattern = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|([^]))|[^\\]/gu;
  let out = "";
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index !== end) break;
    end += match[0].length;
    const [whole, byte, short, long, octal, char] = match;
    if (char !== undefined) {
      const plain = char === quote ? quote : simpleEscapes[char];
      if (plain === undefined) throw wrong;
      out += plain;
    } else if (byte !== undefined || octal !== undefined) {
      const code = byte === undefined ? Number.parseInt(octal!, 8) : Number.parseInt(byte, 16);
      if (code > 0xff) throw wrong;
      out += String.fromCharCode(code);
    } else if (short !== undefined || long !== undefined) {
      const code = Number.parseInt(short ?? long!, 16);
      if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) throw wrong;
      out += String.fromCodePoint(code);
    } else out += whole;
  }
  if (end !== text.length) throw wrong;
  return out;
}

function evaluate(first: Action, others: readonly Action[], value: unknown): readonly unknown[] | undefined {
  const lookup = new Lookup();
  try {
    const values = lookup.action(first, [value]);
    for (const other of others) lookup.action(other, [value]);
    return values;
  } catch (error) {
    if (error instanceof PathError || error instanceof RangeError) return undefined;
    throw error;
  }
}

class Lookup {
  #visits = 0;

  action(steps: Action, values: readonly unknown[]): readonly unknown[] {
    let results = values;
    for (const step of steps) {
      this.#visit(results.length + 1);
      results = this.#follow(step, results);
    }
    return results;
  }

  #visit(count: number): void {
    this.#visits += count;
    if (this.#visits > visitsMax) throw new PathError("too much to look at");
  }

  #follow(step: Step, values: readonly unknown[]): readonly unknown[] {
    switch (step.kind) {
      case "field": {
        const results: unknown[] = [];
        for (const value of values) {
          if (isJsonObject(value) && Object.hasOwn(value, step.name)) results.push(value[step.name]);
        }
        return results;
      }
      case "wildcard":
        return values.flatMap((value) => this.#members(value));
      case "descend": {
        const results: unknown[] = [];
        for (const value of values) this.#descend(value, results);
        return results;
      }
      case "slice": {
        const results: unknown[] = [];
        for (const value of values) {
          if (value === null) continue;
          const part = cut(step, value);
          // Upstream: an empty slice also ends the search in the remaining values.
          if (part.length === 0) return results;
          for (const item of part) results.push(item);
        }
        return results;
      }
      case "union":
        return step.actions.flatMap((one) => this.action(one, values));
      case "filter":
        return values.flatMap((value) => this.#applyFilter(step, value));
      case "constant":
        return typeof step.value === "string" ? [step.value] : values.map(() => step.value);
      case "unknown":
        throw new PathError("an unknown word");
    }
  }

  #members(value: unknown): readonly unknown[] {
    // Upstream: the members of a text are its bytes.
    if (typeof value === "string") return [...Buffer.from(value)];
    if (typeof value !== "object" || value === null || isRawNumber(value)) return [];
    const members = Array.isArray(value) ? (value as readonly unknown[]) : Object.values(value);
    this.#visit(members.length);
    return members;
  }

  /** Adds to `results` the value and all values below it that have members, and texts that are not empty. */
  #descend(value: unknown, results: unknown[]): void {
    this.#visit(1);
    if (typeof value === "string") {
      if (value !== "") results.push(value);
      return;
    }
    const members = this.#members(value);
    if (members.length === 0) return;
    results.push(value);
    for (const member of members) this.#descend(member, results);
  }

  #applyFilter(step: Extract<Step, { kind: "filter" }>, value: unknown): readonly unknown[] {
    if (!Array.isArray(value)) throw new PathError("no list");
    return value.filter((item: unknown) => {
      if (step.operator === "exists") return this.#exists(step.left, item);
      const left = single(this.action(step.left, [item]));
      if (left === undefined) return false;
      const right = single(this.action(step.right, [item]));
      return right !== undefined && holds(left.value, step.operator, right.value);
    });
  }

  /**
   * Returns whether the path of a filter exists. Upstream: a path that cannot be evaluated exists if the step before
   * found something.
   */
  #exists(steps: Action, item: unknown): boolean {
    let results: readonly unknown[] = [item];
    for (const step of steps) {
      this.#visit(results.length + 1);
      try {
        results = this.#follow(step, results);
      } catch (error) {
        if (error instanceof PathError && this.#visits <= visitsMax) return results.length > 0;
        throw error;
      }
    }
    return results.length > 0;
  }
}

function cut(bounds: Extract<Step, { kind: "slice" }>, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new PathError("no list");
  const { length } = value;
  let from = bounds.from ?? 0;
  let to = bounds.to === undefined || bounds.to === Infinity ? length : bounds.to;
  if (from < 0) from += length;
  if (to < 0) to += length;
  if (from === to) return [];
  if (from >= length || from < 0 || to > length || to < 0 || from > to) throw new PathError("out of bounds");
  const step = bounds.step ?? 1;
  if (step <= 0) throw new PathError("no step");
  const part = value.slice(from, to) as readonly unknown[];
  return step === 1 ? part : part.filter((_, at) => at % step === 0);
}

function single(values: readonly unknown[]): { readonly value: unknown } | undefined {
  if (values.length > 1) throw new PathError("compares several values");
  return values.length === 0 ? undefined : { value: values[0] };
}

interface Basic {
  readonly type: "boolean" | "string" | "whole" | "float";
  readonly value: boolean | string | number | bigint;
}

/** Returns a value in a form that can be compared. Throws if it has none. */
function basic(value: unknown): Basic {
  switch (typeof value) {
    case "boolean":
      return { type: "boolean", value };
    case "string":
      return { type: "string", value };
    case "bigint":
      return { type: "whole", value };
    case "number":
      return { type: Number.isInteger(value) ? "whole" : "float", value };
    default:
      if (isRawNumber(value)) {
        const whole = wholeOf(value.rawJSON);
        return whole === undefined ? { type: "float", value: Number(value.rawJSON) } : { type: "whole", value: whole };
      }
      throw new PathError("no value to compare");
  }
}

/** Returns a number literal as an integer of 64 bits; `undefined` if it is not one. */
export const wholeOf = (literal: string): bigint | undefined =>
  /^-?[0-9]{1,19}$/.test(literal) ? int64(literal) : undefined;

function holds(one: unknown, operator: string, other: unknown): boolean {
  const left = basic(one);
  const right = basic(other);
  if (left.type !== right.type) throw new PathError("compares different types");
  const isEqual =
    left.type === "boolean" || left.type === "string" ? left.value === right.value : order(left, right) === 0;
  if (operator === "==") return isEqual;
  if (operator === "!=") return !isEqual;
  if (left.type === "boolean") throw new PathError("compares booleans");
  const sign = order(left, right);
  switch (operator) {
    case "<":
      return sign < 0;
    case "<=":
      return sign <= 0;
    case ">":
      return sign > 0;
    case ">=":
      return sign >= 0;
    default:
      throw new PathError("an unknown operator");
  }
}

function order(left: Basic, right: Basic): number {
  if (typeof left.value === "string" && typeof right.value === "string")
    return compareCodePoints(left.value, right.value);
  return left.value < right.value ? -1 : left.value > right.value ? 1 : 0;
}
