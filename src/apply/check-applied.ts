/**
 * Checks that an applied configuration fits its type: only known fields, no scalar in place of a struct, no two items
 * with the same key. Source of rules and wording: structured-merge-diff's `typed` package.
 */
import { goQuote } from "#meta/field-error.ts";
import { isObject } from "#std/is-object.ts";
import { isRawNumber } from "#std/raw-number.ts";
import type { Schema } from "#schema/schema.ts";
import { elementText } from "./conflicts.ts";
import { isArray, type JsonObject, member } from "./json-value.ts";
import { elementsOf, hasRepeats, type ListRule, listRuleOf } from "./topology.ts";

/** The maximum number of findings; upstream reports all. */
const findingsMax = 100;

/** The maximum length of a value in a finding. */
const shownLengthMax = 256;

/** Returns the findings in upstream's words; `undefined` when there are none. */
export function checkApplied(schema: Schema, value: unknown): string | undefined {
  const findings: string[] = [];
  check(schema, value, undefined, findings, false);
  if (findings.length < 2) return findings[0];
  return ["errors:", ...findings.map((text) => `  ${text}`)].join("\n");
}

/** A position as a chain, so that a path is made for findings only. */
interface Location {
  readonly above: Location | undefined;
  readonly element: string;
}

function report(findings: string[], location: Location | undefined, text: string): void {
  if (findings.length >= findingsMax) return;
  let path = "";
  for (let at = location; at !== undefined; at = at.above) path = elementText(at.element) + path;
  findings.push(path === "" ? text : `${path}: ${text}`);
}

/**
 * Adds the findings about a value. `isOpen`: a type around this one accepts members that it does not name, and so does
 * this one.
 */
function check(
  schema: Schema,
  value: unknown,
  location: Location | undefined,
  findings: string[],
  isOpen: boolean,
): void {
  if (value === null || value === undefined || findings.length >= findingsMax) return;
  switch (schema.special ?? schema.type) {
    case "time":
    case "microTime":
    case "quantity":
      return checkScalar(value, location, findings);
    case "duration":
      return checkString(value, location, findings);
    case "object":
    case "map":
      if (isObject(value) && !isRawNumber(value)) checkMembers(schema, value, location, findings, isOpen);
      else report(findings, location, `expected map, got ${goPointer(value)}`);
      return;
    case "array":
      if (isArray(value)) checkItems(schema, value, location, findings, isOpen);
      else report(findings, location, `expected list, got ${goPointer(value)}`);
      return;
    case "string":
      // Upstream: apply accepts any scalar as a text with a format.
      if (schema.format === undefined || schema.format === "byte") return checkString(value, location, findings);
      return checkScalar(value, location, findings);
    case "integer":
    case "number":
      if (!isNumber(value)) report(findings, location, `expected numeric (int or float), got ${goType(value)}`);
      return;
    case "boolean":
      if (typeof value !== "boolean") report(findings, location, `expected boolean, got ${goPointer(value)}`);
      return;
    default:
  }
}

function checkScalar(value: unknown, location: Location | undefined, findings: string[]): void {
  if (typeof value === "object" && !isRawNumber(value)) {
    report(findings, location, `expected any scalar, got ${goPointer(value)}`);
  }
}

function checkString(value: unknown, location: Location | undefined, findings: string[]): void {
  if (typeof value === "string") return;
  report(findings, location, `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`);
}

function checkMembers(
  schema: Schema,
  object: JsonObject,
  location: Location | undefined,
  findings: string[],
  isAroundOpen: boolean,
): void {
  const { fields } = schema;
  const keepsOpen = isOpenBelow(schema, isAroundOpen);
  // A type that names no member accepts any; members that it does not keep are removed when the object is stored.
  const isOpen = keepsOpen || (schema.type === "object" && (fields?.size ?? 0) === 0);
  for (const name of Object.keys(object)) {
    const inner = schema.type === "map" ? schema.items : fields?.get(name)?.schema;
    if (inner !== undefined) check(inner, object[name], { above: location, element: `f:${name}` }, findings, keepsOpen);
    else if (!isOpen && schema.type !== "map") {
      // Upstream reports only the first one.
      return report(findings, { above: location, element: `f:${name}` }, "field not declared in schema");
    }
  }
}

/** Whether members below a value are open. Types with a name, which are those of built-in kinds, do not inherit it. */
const isOpenBelow = (schema: Schema, isAroundOpen: boolean): boolean =>
  schema.preserveUnknown === true || (isAroundOpen && schema.name === undefined);

function checkItems(
  schema: Schema,
  list: readonly unknown[],
  location: Location | undefined,
  findings: string[],
  isAroundOpen: boolean,
): void {
  const isOpen = isOpenBelow(schema, isAroundOpen);
  const rule = listRuleOf(schema);
  const elements = rule === undefined ? undefined : elementsOf(rule, list);
  // The set is needed only when an element comes twice.
  const seen = elements === undefined || !hasRepeats(elements) ? undefined : new Set<string>();
  for (let i = 0; i < list.length; i++) {
    let element = "";
    if (rule === undefined) element = `i:${i}`;
    else {
      const own = elements![i]; // made for the rule
      if (own === undefined) return report(findings, location, `element ${i}: ${whyNoElement(rule, list[i])}`);
      if (seen?.has(own) === true) report(findings, location, `duplicate entries for key ${elementText(own)}`);
      seen?.add(own);
      element = own;
    }
    if (schema.items !== undefined) check(schema.items, list[i], { above: location, element }, findings, isOpen);
  }
}

function whyNoElement(rule: ListRule, item: unknown): string {
  if (rule.keys.length === 0) {
    if (isArray(item)) return "not supported: associative list with lists as elements";
    return `associative list without keys has an element that's ${item === null ? "an explicit null" : "a map type"}`;
  }
  if (item === null) return "associative list with keys may not have a null element";
  if (!isObject(item) || isRawNumber(item)) return "associative list with keys may not have non-map elements";
  const missing = rule.keys.find((key, i) => member(item, key) === undefined && rule.defaults[i] === undefined) ?? "";
  return `associative list with keys has an element that omits key field ${goQuote(missing)} (and doesn't have default value)`;
}

const isNumber = (value: unknown): boolean =>
  typeof value === "number" || typeof value === "bigint" || isRawNumber(value);

function goType(value: unknown): string {
  if (typeof value === "string") return "string";
  if (typeof value === "boolean") return "bool";
  return isArray(value) ? "[]interface {}" : "map[string]interface {}";
}

/** Prints a value as Go prints a pointer to it with `%v`. */
const goPointer = (value: unknown): string => `&{${cut(new GoText(false), value)}}`;

/** Prints a value in Go's own syntax, as `%#v` does. */
const goSyntax = (value: unknown): string => cut(new GoText(true), value);

function cut(writer: GoText, value: unknown): string {
  writer.write(value);
  const { text } = writer;
  return text.length > shownLengthMax ? `${text.slice(0, shownLengthMax)}...` : text;
}

/** Prints the shown part of a value, however wide and deep the value is. */
class GoText {
  text = "";
  readonly #isSyntax: boolean;

  constructor(isSyntax: boolean) {
    this.#isSyntax = isSyntax;
  }

  write(value: unknown): void {
    const isSyntax = this.#isSyntax;
    if (value === null || value === undefined) this.text += isSyntax ? "interface {}(nil)" : "<nil>";
    else if (typeof value === "string") this.text += isSyntax ? goQuote(value.slice(0, shownLengthMax)) : value;
    else if (isRawNumber(value)) this.text += value.rawJSON;
    else if (isArray(value)) {
      this.#all(isSyntax ? "[]interface {}{" : "[", value, isSyntax ? "}" : "]", (item) => this.write(item));
    } else if (isObject(value)) {
      const names = Object.keys(value).sort();
      this.#all(isSyntax ? "map[string]interface {}{" : "map[", names, isSyntax ? "}" : "]", (name) => {
        this.text += `${isSyntax ? goQuote(name) : name}:`;
        this.write(value[name]);
      });
    } else this.text += String(value as number | boolean | bigint); // what else JSON has
  }

  #all<T>(open: string, parts: readonly T[], close: string, write: (part: T) => void): void {
    this.text += open;
    for (const [i, part] of parts.entries()) {
      if (this.text.length > shownLengthMax) return;
      if (i > 0) this.text += this.#isSyntax ? ", " : " ";
      write(part);
    }
    this.text += close;
  }
}
