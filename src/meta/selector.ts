/**
 * Label and field selectors of queries, parsed and compiled. Hot path: matching runs per object of a list and per event
 * and watcher; a selector with one requirement is one closure. Parsing is linear in the text. The work for an object does
 * not grow with the number of requirements: it is that for its labels (`KeyedChecks`). Sources: upstream's
 * `apimachinery/pkg/labels/selector.go` and `fields/selector.go`.
 */
import { aggregate, type FieldError, goQuote, invalid, printFieldError } from "./field-error.ts";
import { FieldPath } from "./field-path.ts";
import { labelValue, qualifiedName } from "./names.ts";
import { badRequest } from "./status-error.ts";

export type Labels = Readonly<Record<string, string>>;

export type LabelOperator = "=" | "==" | "!=" | "in" | "notin" | "exists" | "!" | "gt" | "lt";

export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  /** The values, unique and sorted. */
  readonly values: readonly string[];
}

export interface LabelSelector {
  /** The requirements, sorted by key. All of them must hold. */
  readonly requirements: readonly LabelRequirement[];
  /** Whether every object matches. */
  readonly empty: boolean;
  /** The canonical text, which parses to the same selector. */
  readonly text: string;
  matches(labels: Labels | undefined): boolean;
}

export interface FieldRequirement {
  readonly field: string;
  readonly operator: "=" | "!=";
  readonly value: string;
}

export interface FieldSelector {
  /** The requirements, sorted by their text as upstream does. All of them must hold. */
  readonly requirements: readonly FieldRequirement[];
  readonly empty: boolean;
  /** The canonical text. */
  readonly text: string;
  /** Returns the value that the field must have; `undefined` without such a requirement. */
  exact(field: string): string | undefined;
  /**
   * Whether an object matches. `fieldsOf` returns further fields when one is needed; a field that it leaves out is "".
   */
  matches(name: string, namespace: string, fieldsOf?: () => Labels): boolean;
}

/** The fields that a selector may name. */
export interface SelectableFields {
  /** Fields in addition to `metadata.name` and `metadata.namespace`. */
  readonly fields: readonly string[];
  /** Fields by their alias. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** Whether the kind lists all its fields itself, even the two common ones, as custom resources do. */
  readonly declaresFields?: boolean;
  /** The kind in errors about unknown fields, if these name one. */
  readonly kind?: string;
  /**
   * Whether the kind has `metadata.namespace`, which cluster-scoped kinds with fields of their own lack; true by
   * default.
   */
  readonly namespaced?: boolean;
}

/** The selector that matches every object. */
const everyLabel: LabelSelector = { requirements: [], empty: true, text: "", matches: () => true };

/** The selector that matches every object. */
const everyField: FieldSelector = {
  requirements: [],
  empty: true,
  text: "",
  exact: () => undefined,
  matches: () => true,
};

/** Parses the value of `labelSelector=`. Throws `badRequest` with upstream's message. */
export function parseLabelSelector(text: string): LabelSelector {
  if (text === "") return everyLabel;
  return compileLabels(new LabelParser(scan(text)).parse());
}

/** Compiles valid requirements (a LabelSelector object, a set of labels), and sorts them by key. */
export function compileLabels(requirements: readonly LabelRequirement[]): LabelSelector {
  if (requirements.length === 0) return everyLabel;
  const sorted = requirements.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  const matches = sorted.length <= fewRequirements ? joinChecks(sorted.map(compileRequirement)) : keyedChecks(sorted);
  return { requirements: sorted, empty: false, text: sorted.map(printRequirement).join(","), matches };
}

/** The maximum number of requirements that are checked one by one, which is faster than by keys. */
const fewRequirements = 8;

/** The combination of all requirements on one key. */
class KeyCheck {
  /** Whether the label must be present. */
  isNeeded = false;
  #isForbidden = false;
  #allowed: ReadonlySet<string> | undefined;
  readonly #denied = new Set<string>();
  #above: bigint | undefined;
  #below: bigint | undefined;

  add({ operator, values }: LabelRequirement): void {
    if (operator === "!") this.#isForbidden = true;
    else if (operator === "!=" || operator === "notin") for (const value of values) this.#denied.add(value);
    else {
      this.isNeeded = true;
      if (operator === "exists") return;
      if (operator === "gt" || operator === "lt") this.#bound(operator, parseInt64(values[0] ?? ""));
      else this.#allow(new Set(operator === "in" ? values : values.slice(0, 1)));
    }
  }

  #allow(values: ReadonlySet<string>): void {
    this.#allowed = this.#allowed === undefined ? values : this.#allowed.intersection(values);
  }

  #bound(operator: "gt" | "lt", bound: bigint | undefined): void {
    if (bound === undefined) this.#allow(new Set());
    else if (operator === "lt") this.#below = this.#below === undefined || bound < this.#below ? bound : this.#below;
    else this.#above = this.#above === undefined || bound > this.#above ? bound : this.#above;
  }

  /** Whether a present label may have this value. */
  allows(value: string): boolean {
    if (this.#isForbidden || this.#denied.has(value) || this.#allowed?.has(value) === false) return false;
    if (this.#above === undefined && this.#below === undefined) return true;
    const number = parseInt64(value);
    if (number === undefined) return false;
    return (this.#above === undefined || number > this.#above) && (this.#below === undefined || number < this.#below);
  }
}

/** Returns a check that goes through the labels of an object or the keys of the selector, whichever are fewer. */
function keyedChecks(requirements: readonly LabelRequirement[]): Check {
  const byKey = new Map<string, KeyCheck>();
  for (const requirement of requirements) {
    let check = byKey.get(requirement.key);
    if (check === undefined) byKey.set(requirement.key, (check = new KeyCheck()));
    check.add(requirement);
  }
  let needed = 0;
  for (const { isNeeded } of byKey.values()) if (isNeeded) needed++;
  const byKeys = (labels: Labels): boolean => {
    for (const [key, check] of byKey) {
      const value: unknown = labels[key];
      if (typeof value === "string" ? !check.allows(value) : check.isNeeded) return false;
    }
    return true;
  };
  return (labels) => {
    if (labels === undefined) return needed === 0;
    let seen = 0;
    let neededSeen = 0;
    for (const key in labels) {
      if (++seen > byKey.size) return byKeys(labels);
      const check = byKey.get(key);
      if (check === undefined) continue;
      if (!check.allows(labels[key]!)) return false;
      if (check.isNeeded) neededSeen++;
    }
    return neededSeen === needed;
  };
}

function joinChecks(checks: readonly Check[]): Check {
  const [first, second] = checks;
  if (second === undefined) return first!;
  if (checks.length === 2) return (labels) => first!(labels) && second(labels);
  return (labels) => {
    for (let i = 0; i < checks.length; i++) if (!checks[i]!(labels)) return false;
    return true;
  };
}

/** Returns the errors of the values of a requirement. */
function validateValues({ key, operator, values }: LabelRequirement): FieldError[] {
  const errors: FieldError[] = [];
  for (const [index, value] of values.entries()) {
    if ((operator === "gt" || operator === "lt") && parseInt64(value) === undefined) {
      const detail = "for 'Gt', 'Lt' operators, the value must be an integer";
      errors.push(invalid(FieldPath.of("values").index(index), value, detail));
    }
    const messages = labelValue(value);
    if (messages.length > 0)
      errors.push(invalid(FieldPath.of("values").index(index).key(key), value, messages.join("; ")));
  }
  return errors;
}

type Check = (labels: Labels | undefined) => boolean;

/** Labels inherited from a prototype are functions or objects, never texts, and so count as absent. */
function compileRequirement(requirement: LabelRequirement): Check {
  const { key, values, operator } = requirement;
  const value = values[0] ?? "";
  switch (operator) {
    case "=":
    case "==":
      return (labels) => labels !== undefined && labels[key] === value;
    case "!=":
      return (labels) => labels === undefined || labels[key] !== value;
    case "exists":
      return (labels) => labels !== undefined && typeof labels[key] === "string";
    case "!":
      return (labels) => labels === undefined || typeof labels[key] !== "string";
    case "in": {
      const set = new Set(values);
      return (labels) => labels !== undefined && set.has(labels[key]!);
    }
    case "notin": {
      const set = new Set(values);
      return (labels) => labels === undefined || !set.has(labels[key]!);
    }
    default: {
      const bound = parseInt64(value);
      return (labels) => {
        const label: unknown = labels?.[key];
        const number = typeof label === "string" ? parseInt64(label) : undefined;
        if (number === undefined || bound === undefined) return false;
        return operator === "gt" ? number > bound : number < bound;
      };
    }
  }
}

/** Parses a decimal of 64 bits as Go's `ParseInt` does. */
function parseInt64(text: string): bigint | undefined {
  if (text.length > 20 || !/^[+-]?[0-9]+$/.test(text)) return parseLongInt64(text);
  const value = BigInt(text.startsWith("+") ? text.slice(1) : text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

/**
 * Parses a text that may be longer than any 64-bit number, because of leading zeros; labels have at most 63 characters.
 */
function parseLongInt64(text: string): bigint | undefined {
  if (text.length > 64) return undefined;
  const match = /^([+-]?)0+([0-9]{1,19})$/.exec(text);
  return match === null ? undefined : parseInt64(`${match[1]!}${match[2]!}`);
}

function printRequirement(requirement: LabelRequirement): string {
  const { key, operator, values } = requirement;
  switch (operator) {
    case "exists":
      return key;
    case "!":
      return `!${key}`;
    case "in":
    case "notin":
      return `${key} ${operator} (${values.join(",")})`;
    case "gt":
      return `${key}>${values[0]!}`;
    case "lt":
      return `${key}<${values[0]!}`;
    default:
      return `${key}${operator}${values[0]!}`;
  }
}

/**
 * A token. The kind of a symbol is its text; all other tokens are identifiers, also `in` and `notin`, which may be
 * operators.
 */
interface Token {
  readonly kind: string;
  readonly text: string;
}

const identifier = "identifier";
const endOfText: Token = { kind: "end", text: "" };
const symbols: ReadonlySet<string> = new Set(["=", "==", "!=", "!", "(", ")", ",", ">", "<"]);
const isSpace = (char: string): boolean => char === " " || char === "\t" || char === "\r" || char === "\n";

function scan(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const char = text[at]!;
    // A zero byte ends the text, as upstream, unless it follows an identifier directly.
    if (char === "\0") break;
    if (isSpace(char)) {
      at++;
    } else if (symbols.has(char)) {
      const two = text.slice(at, at + 2);
      const symbol = symbols.has(two) ? two : char;
      tokens.push({ kind: symbol, text: symbol });
      at += symbol.length;
    } else {
      let end = at + 1;
      while (end < text.length && !symbols.has(text[end]!) && !isSpace(text[end]!) && text[end] !== "\0") end++;
      tokens.push({ kind: identifier, text: text.slice(at, end) });
      at = text[end] === "\0" ? end + 1 : end;
    }
  }
  return tokens;
}

/** Parses the tokens by recursive descent. The grammar and all error messages are upstream's. */
class LabelParser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parse(): LabelRequirement[] {
    const requirements: LabelRequirement[] = [];
    for (;;) {
      const next = this.#peek();
      if (next === endOfText) return requirements;
      if (next.kind !== identifier && next.kind !== "!") {
        throw badRequest(`found '${next.text}', expected: !, identifier, or 'end of string'`);
      }
      requirements.push(this.#requirement());
      const separator = this.#take();
      if (separator === endOfText) return requirements;
      if (separator.kind !== ",") throw badRequest(`found '${separator.text}', expected: ',' or 'end of string'`);
      const after = this.#peek();
      if (after.kind !== identifier && after.kind !== "!") {
        throw badRequest(`found '${after.text}', expected: identifier after ','`);
      }
    }
  }

  #peek(): Token {
    return this.#tokens[this.#at] ?? endOfText;
  }

  #take(): Token {
    return this.#tokens[this.#at++] ?? endOfText;
  }

  #requirement(): LabelRequirement {
    let token = this.#take();
    const isAbsent = token.kind === "!";
    if (isAbsent) token = this.#take();
    if (token.kind !== identifier) throw parseError(`found '${token.text}', expected: identifier`);
    const key = token.text;
    const messages = qualifiedName(key);
    if (messages.length > 0) throw parseError(printFieldError(invalid(FieldPath.root, key, messages.join("; "))));
    if (isAbsent) return { key, operator: "!", values: [] };
    const next = this.#peek();
    if (next === endOfText || next.kind === ",") return { key, operator: "exists", values: [] };
    const operator = this.#operator();
    const values = operator === "in" || operator === "notin" ? this.#set() : [this.#exactValue()];
    const requirement: LabelRequirement = { key, operator, values: [...new Set(values)].sort() };
    const errors = validateValues(requirement).map(printFieldError);
    if (errors.length > 0) throw parseError(aggregate(errors));
    return requirement;
  }

  #operator(): LabelOperator {
    const { kind, text } = this.#take();
    if (kind === "=" || kind === "==" || kind === "!=") return kind;
    if (kind === ">") return "gt";
    if (kind === "<") return "lt";
    if (kind === identifier && (text === "in" || text === "notin")) return text;
    throw parseError(`found '${text}', expected: in, notin, =, ==, !=, gt, lt`);
  }

  #exactValue(): string {
    const next = this.#peek();
    if (next === endOfText || next.kind === ",") return "";
    const token = this.#take();
    if (token.kind === identifier) return token.text;
    throw parseError(`found '${token.text}', expected: identifier`);
  }

  /** Parses `(a,b)`; a missing member is the empty text. */
  #set(): string[] {
    const open = this.#take();
    if (open.kind !== "(") throw parseError(`found '${open.text}' expected: '('`);
    const first = this.#peek();
    if (first.kind === ")") {
      this.#take();
      return [""];
    }
    if (first.kind !== identifier && first.kind !== ",") {
      throw parseError(`found '${first.text}', expected: ',', ')' or identifier`);
    }
    const values: string[] = [];
    for (;;) {
      const token = this.#take();
      if (token.kind === identifier) {
        values.push(token.text);
        const next = this.#peek();
        if (next.kind === ")") break;
        if (next.kind !== ",") throw parseError(`found '${next.text}', expected: ',' or ')'`);
      } else if (token.kind === ",") {
        if (values.length === 0) values.push("");
        const next = this.#peek();
        if (next.kind === ")" || next.kind === ",") values.push("");
        if (next.kind === ")") break;
        if (next.kind === ",") this.#take();
      } else {
        throw parseError(`found '${token.text}', expected: ',', or identifier`);
      }
    }
    this.#take();
    return values;
  }
}

const parseError = (text: string) => badRequest(`unable to parse requirement: ${text}`);

const nameField = "metadata.name";
const namespaceField = "metadata.namespace";
const noValues: Labels = {};

/** Parses the value of `fieldSelector=`. Throws `badRequest` with upstream's message. */
export function parseFieldSelector(text: string, selectable: SelectableFields): FieldSelector {
  if (text === "") return everyField;
  return compileFields(
    parseFieldRequirements(text).map((requirement) => {
      const field = Object.hasOwn(selectable.aliases ?? {}, requirement.field)
        ? selectable.aliases![requirement.field]!
        : requirement.field;
      checkSelectable(field, requirement.field, selectable);
      return { ...requirement, field };
    }),
  );
}

/** Returns the requirements of a text, for any kind. Throws `badRequest`. */
export function parseFieldRequirements(text: string): readonly FieldRequirement[] {
  const requirements: FieldRequirement[] = [];
  for (const term of splitTerms(text).sort()) {
    if (term === "") continue;
    const requirement = parseTerm(term, text);
    // A term without field and value is not a requirement, as upstream.
    if (requirement.field !== "" || requirement.value !== "") requirements.push(requirement);
  }
  return requirements;
}

/** Compiles requirements on fields that the kind has. */
function compileFields(requirements: readonly FieldRequirement[]): FieldSelector {
  if (requirements.length === 0) return everyField;
  const needsFields = requirements.some(({ field }) => field !== nameField && field !== namespaceField);
  // A kind has few fields.
  const checks = [...Map.groupBy(requirements, ({ field }) => field)].map(([field, list]) => ({
    field,
    wanted: new Set(list.flatMap(({ operator, value }) => (operator === "=" ? value : []))),
    denied: new Set(list.flatMap(({ operator, value }) => (operator === "=" ? [] : value))),
  }));
  return {
    requirements,
    empty: false,
    text: requirements.map(({ field, operator, value }) => `${field}${operator}${escapeFieldValue(value)}`).join(","),
    exact: (field) =>
      requirements.find((requirement) => requirement.field === field && requirement.operator === "=")?.value,
    matches(name, namespace, fieldsOf) {
      const values = needsFields && fieldsOf !== undefined ? fieldsOf() : noValues;
      for (const { field, wanted, denied } of checks) {
        const value =
          field === nameField
            ? name
            : field === namespaceField
              ? namespace
              : Object.hasOwn(values, field)
                ? values[field]!
                : "";
        if (denied.has(value) || wanted.size > 1 || (wanted.size === 1 && !wanted.has(value))) return false;
      }
      return true;
    },
  };
}

function checkSelectable(field: string, label: string, selectable: SelectableFields): void {
  if (selectable.fields.length === 0 && selectable.declaresFields !== true) {
    if (field === nameField || field === namespaceField) return;
    throw badRequest(`${goQuote(label)} is not a known field selector: only "${nameField}", "${namespaceField}"`);
  }
  if (field === nameField || selectable.fields.includes(field)) return;
  if (field === namespaceField && selectable.namespaced !== false) return;
  const { kind } = selectable;
  throw badRequest(
    kind === undefined
      ? `field label not supported: ${label}`
      : `field label ${goQuote(label)} not supported for ${kind}`,
  );
}

/** Returns the terms between commas; a comma after a backslash does not separate. */
function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === ",") {
      terms.push(text.slice(start, i));
      start = i + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}

/** Splits a term at its first operator, even after a backslash. */
function parseTerm(term: string, text: string): FieldRequirement {
  const equals = term.indexOf("=");
  if (equals < 0) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
  const isNot = equals > 0 && term[equals - 1] === "!";
  const field = term.slice(0, isNot ? equals - 1 : equals);
  const isDouble = !isNot && term[equals + 1] === "=";
  const value = unescapeValue(term.slice(equals + (isDouble ? 2 : 1)));
  return { field, operator: isNot ? "!=" : "=", value };
}

function unescapeValue(value: string): string {
  let out = "";
  for (let i = 0; i < value.length; i++) {
    const char = value[i]!;
    if (char === "\\") {
      const next = value[++i];
      if (next === undefined) throw badRequest("invalid field selector: invalid escape sequence: \\");
      if (next !== "\\" && next !== "," && next !== "=") {
        const whole = String.fromCodePoint(value.codePointAt(i)!);
        throw badRequest(`invalid field selector: invalid escape sequence: \\${whole}`);
      }
      out += next;
    } else if (char === "," || char === "=") {
      // Upstream prints the character's number.
      throw badRequest(`invalid field selector: unescaped character in value: ${char.charCodeAt(0)}`);
    } else out += char;
  }
  return out;
}

/** Returns a value with the escapes of a field selector. */
export const escapeFieldValue = (value: string): string => value.replace(/[\\,=]/g, "\\$&");
