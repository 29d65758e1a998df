/**
 * Writes the errors of a value that `valid.ts` refused, in upstream's words and order; where upstream's order is
 * random, by member name. Unchanged parts of an update report nothing (ratcheting). Source: upstream's
 * `kube-openapi/pkg/validation/validate` and `apiextensions-apiserver/pkg/apiserver/validation`.
 */
import {
  type FieldError,
  goQuote,
  GoSyntax,
  invalid as invalidField,
  notSupported,
  required as requiredField,
  tooLong,
  typeInvalid,
} from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { codePointCount } from "#std/code-points.ts";
import { bigIntOf, type Int64 } from "#std/int64.ts";
import type { Correlation } from "./correlation.ts";
import {
  goFloat,
  goJson,
  isIntegral,
  type Json,
  type JsonKind,
  kindOf,
  numberOf,
  showText,
  shown,
} from "../go-json.ts";
import { isEnumValue, kindBits, type Logic, type NumberRules, type SchemaNode } from "./node.ts";
import { Budget, isUnique, isValid, maximumHolds, minimumHolds, multipleOfFault, wholeLimit } from "./valid.ts";

/** The maximum number of findings that are listed: one object can have a million. */
const findingsMax = 500;

/**
 * Returns all errors of `value`. `field` is the prefix of their paths; `correlation` matches it with the old value;
 * `quick` is the part of its budget that `isValid` did not use. Throws `TooCostly`.
 */
export function explain(
  node: SchemaNode,
  value: unknown,
  field: FieldPath,
  correlation: Correlation | undefined,
  quick: Budget,
): FieldError[] {
  return new Explainer(quick).check(node, value, FieldPath.root, correlation).list(field);
}

/**
 * The errors by upstream's text, each once, with paths from the value that is explained; and the number of successful
 * checks, which shows the intended branch of anyOf.
 */
class Result {
  #findings: Map<string, () => FieldError> | undefined;
  matches = 0;

  /** Adds an error. `finding` is called when the error is listed. */
  add(text: string, finding: () => FieldError): void {
    this.#findings ??= new Map();
    if (this.#findings.size < findingsMax && !this.#findings.has(text)) this.#findings.set(text, finding);
  }

  merge(other: Result): void {
    if (other.#findings !== undefined) for (const [text, finding] of other.#findings) this.add(text, finding);
    this.matches += other.matches;
  }

  /** Drops the errors, but keeps the number of successful checks. */
  silence(): void {
    this.#findings = undefined;
  }

  list(field: FieldPath): FieldError[] {
    return [...(this.#findings?.values() ?? [])].map((finding) => {
      const result = finding();
      return { ...result, field: below(field, result.field) };
    });
  }

  get isValid(): boolean {
    return this.#findings === undefined;
  }

  get isFull(): boolean {
    return this.#findings !== undefined && this.#findings.size >= findingsMax;
  }
}

/** Returns a path such as `spec.x` below `field`. The path of a list at the root begins with its bracket. */
function below(field: FieldPath, path: string): string {
  const name = path.startsWith(".") ? path.slice(1) : path;
  return String(name === "" ? field : field.child(name));
}

/**
 * Returns the path of a member. Upstream: the path begins with a dot for members of the root that no property
 * describes, or that are missing.
 */
const member = (path: FieldPath, name: string): FieldPath =>
  path === FieldPath.root ? FieldPath.of(`.${name}`) : path.child(name);

const inBody = (path: FieldPath, words: string): string => `${String(path)} in body ${words}`;

const invalid = (path: FieldPath, value: string, text: string): FieldError =>
  invalidField(path, new GoSyntax(value), text);

/** Returns an error of several schemas at once: the text names the value, and the field is empty. */
const composite = (text: string): FieldError => invalidField(FieldPath.root, "", text);

class Explainer {
  readonly #budget = new Budget(2_000_000);
  /** The budget of quick checks of parts. */
  readonly #quick: Budget;
  /**
   * The number of combinations around the current node. Inside of a combination, the number of successful checks counts
   * too.
   */
  #branches = 0;

  constructor(quick: Budget) {
    this.#quick = quick;
  }

  /** Whether a part has no errors, and its number of successful checks does not count. */
  #isQuiet(node: SchemaNode, value: unknown): boolean {
    return this.#branches === 0 && isValid(node, value, this.#quick);
  }

  check(node: SchemaNode, value: unknown, path: FieldPath, correlation: Correlation | undefined): Result {
    this.#budget.spend(1);
    const result = this.#all(node, value, path, correlation);
    if (!result.isValid && correlation?.isUnchanged() === true) result.silence();
    return result;
  }

  #all(node: SchemaNode, value: unknown, path: FieldPath, correlation: Correlation | undefined): Result {
    const result = new Result();
    const kind = kindOf(value);
    if (kind === "null") {
      if ((node.accepts & kindBits.null) === 0) addTypeFinding(result, path, node.typeText, "null");
      else result.matches++;
      this.#enum(node, value, path, result);
      return result;
    }
    if (node.types !== 0 || node.format !== "") {
      checkType(node, value, kind, path, result);
      result.matches++;
    }
    this.#logic(node.logic, value, path, result);
    result.matches++;
    if (kind === "string") this.#text(node, value as string, path, result);
    else if (kind === "integer" || kind === "number") {
      if (node.numbers !== undefined) checkNumber(node.numbers, value, kind, path, result);
      result.matches += 2;
    } else if (kind === "array") this.#list(node, value as readonly unknown[], path, correlation, result);
    this.#enum(node, value, path, result);
    result.matches++;
    if (kind === "object") this.#object(node, value as Json, path, correlation, result);
    result.matches++;
    return result;
  }

  #enum(node: SchemaNode, value: unknown, path: FieldPath, result: Result): void {
    const rule = node.enum;
    if (rule === undefined) return;
    this.#budget.spend(rule.values.length);
    if (typeof value === "string" ? rule.strings.has(value) : isEnumValue(rule, value)) return;
    rule.texts ??= rule.values.map((item) => (typeof item === "string" ? item : goJson(item)));
    const supported = rule.texts;
    const words = inBody(path, `should be one of ${supported.join(" ")}`);
    result.add(words, () => notSupported(path, shown(value), supported));
  }

  #text(node: SchemaNode, text: string, path: FieldPath, result: Result): void {
    result.matches++;
    if (node.hasText) this.#textRules(node, text, path, result);
    if (node.formatCheck === undefined) return;
    result.matches++;
    if (!node.formatCheck(text)) {
      const { format } = node;
      const words = inBody(path, `must be of type ${format}: ${showText(text)}`);
      result.add(words, () => typeInvalid(path, new GoSyntax(showText(text)), words));
    }
  }

  /** Checks the rules for texts. Reports the first error only. */
  #textRules(node: SchemaNode, text: string, path: FieldPath, result: Result): void {
    const { maxLength, minLength, pattern } = node;
    if (text.length > maxLength && codePointCount(text) > maxLength) {
      result.add(inBody(path, `should be at most ${maxLength} chars long`), () => tooLong(path, maxLength));
    } else if (text.length < minLength * 2 && codePointCount(text) < minLength) {
      const words = inBody(path, `should be at least ${exact(node.props.minLength)} chars long`);
      result.add(words, () => invalid(path, showText(text), words));
    } else if (pattern !== undefined) {
      this.#budget.spend(text.length);
      if (pattern.test(text, this.#budget)) return;
      const words = inBody(path, `should match '${pattern.text}'`);
      result.add(words, () => invalid(path, showText(text), words));
    }
  }

  #list(
    node: SchemaNode,
    list: readonly unknown[],
    path: FieldPath,
    correlation: Correlation | undefined,
    result: Result,
  ): void {
    const { items, minItems, maxItems } = node;
    const size = list.length;
    if (items !== undefined) {
      for (let at = 0; at < size; at++) {
        if (this.#isQuiet(items, list[at])) continue;
        result.merge(this.check(items, list[at], path.index(at), correlation?.index(at)));
        if (correlation === undefined && result.isFull) break;
      }
    }
    if (size < minItems) {
      const words = inBody(path, `should have at least ${exact(node.props.minItems)} items`);
      result.add(words, () => invalid(path, String(size), words));
    }
    if (size > maxItems) {
      result.add(inBody(path, `should have at most ${maxItems} items`), () => tooMany(path, size, maxItems));
    }
    if (node.uniqueItems && !isUnique(list)) {
      const words = inBody(path, "shouldn't contain duplicates");
      result.add(words, () => invalid(path, '""', words));
    }
    result.matches += 2;
  }

  #object(node: SchemaNode, object: Json, path: FieldPath, correlation: Correlation | undefined, result: Result): void {
    const { properties, additional, minProperties, maxProperties } = node;
    const keys = Object.keys(object).sort();
    const child = (name: string): Correlation | undefined =>
      path === FieldPath.root && (name === "kind" || name === "apiVersion") ? undefined : correlation?.key(name);
    if (keys.length < minProperties) {
      const words = inBody(path, `should have at least ${exact(node.props.minProperties)} properties`);
      result.add(words, () => invalid(path, String(keys.length), words));
    }
    if (keys.length > maxProperties) {
      const words = inBody(path, `should have at most ${maxProperties} properties`);
      result.add(words, () => tooMany(path, keys.length, maxProperties));
    }
    if (additional !== undefined && additional !== true) {
      for (const key of keys) {
        if (properties?.has(key) === true) continue;
        if (additional === false) {
          const words = inBody(member(path, key), "is a forbidden property");
          result.add(words, () => invalid(path, goQuote(key), words));
        } else if (!this.#isQuiet(additional, object[key])) {
          result.merge(this.check(additional, object[key], member(path, key), child(key)));
        }
      }
    }
    for (const key of keys) {
      const property = properties?.get(key);
      if (property === undefined || this.#isQuiet(property, object[key])) continue;
      result.merge(this.check(property, object[key], path.child(key), child(key)));
    }
    for (const name of node.required ?? []) {
      if (Object.hasOwn(object, name)) continue;
      const missing = member(path, name);
      result.add(inBody(missing, "is required"), () => requiredField(missing));
    }
  }

  /**
   * Checks combinations. Branches apply to the value as a whole; parts inside of them are not compared with old ones.
   */
  #logic(logic: Logic | undefined, value: unknown, path: FieldPath, result: Result): void {
    result.matches++;
    if (logic === undefined) return;
    this.#branches++;
    const name = goQuote(String(path));
    if (logic.anyOf.length > 0) this.#anyOf(logic.anyOf, value, path, result);
    if (logic.oneOf.length > 0) this.#oneOf(logic.oneOf, value, path, result);
    if (logic.allOf.length > 0) {
      let valid = 0;
      for (const branch of logic.allOf) {
        const branchFinding = this.check(branch, value, path, undefined);
        if (branchFinding.isValid) valid++;
        result.merge(branchFinding);
      }
      if (valid < logic.allOf.length) {
        const words = `${name} must validate all the schemas (allOf)${valid === 0 ? ". None validated" : ""}`;
        result.add(words, () => composite(words));
      }
    }
    if (logic.not !== undefined && this.check(logic.not, value, path, undefined).isValid) {
      const words = `${name} must not validate the schema (not)`;
      result.add(words, () => composite(words));
    }
    this.#branches--;
  }

  #anyOf(branches: readonly SchemaNode[], value: unknown, path: FieldPath, result: Result): void {
    let best: Result | undefined;
    for (const branch of branches) {
      const branchFinding = this.check(branch, value, path, undefined);
      if (branchFinding.isValid) {
        result.merge(branchFinding);
        return;
      }
      if (best === undefined || branchFinding.matches > best.matches) best = branchFinding;
    }
    const words = `${goQuote(String(path))} must validate at least one schema (anyOf)`;
    result.add(words, () => composite(words));
    if (best !== undefined) result.merge(best);
  }

  #oneOf(branches: readonly SchemaNode[], value: unknown, path: FieldPath, result: Result): void {
    let best: Result | undefined;
    let first: Result | undefined;
    let count = 0;
    for (const branch of branches) {
      const branchFinding = this.check(branch, value, path, undefined);
      if (branchFinding.isValid) {
        count++;
        first ??= branchFinding;
      } else if (best === undefined || branchFinding.matches > best.matches) best = branchFinding;
    }
    if (count === 1) {
      result.merge(first!);
      return;
    }
    const reason = count === 0 ? "Found none valid" : `Found ${count} valid alternatives`;
    const words = `${goQuote(String(path))} must validate one and only one schema (oneOf). ${reason}`;
    result.add(words, () => composite(words));
    if (count === 0) result.merge(best!);
  }
}

/**
 * Returns the error of too many items. Its text always has the plural, unlike that for lists of built-in kinds. A limit
 * below zero is not shown.
 */
const tooMany = (path: FieldPath, size: number, max: number): FieldError => ({
  type: "FieldValueTooMany",
  field: String(path),
  message: `Too many: ${size}: ${max < 0 ? "has too many items" : `must have at most ${max} items`}`,
});

/** Adds an error about a type. `actual` is the value that upstream shows. */
function addTypeFinding(result: Result, path: FieldPath, expected: string, actual: string): void {
  const words = inBody(path, `must be of type ${expected}: ${goQuote(actual)}`);
  result.add(words, () => typeInvalid(path, new GoSyntax(goQuote(actual)), words));
}

function checkType(node: SchemaNode, value: unknown, kind: JsonKind, path: FieldPath, result: Result): void {
  if ((node.accepts & kindBits[kind]) !== 0) {
    result.matches++;
    return;
  }
  if (kind === "number" && (node.types & kindBits.integer) !== 0 && isIntegral(Number(numberOf(value)))) {
    result.matches++;
    return;
  }
  const { format } = node;
  const inferred = kind === "integer" ? "int64" : kind === "number" ? "float64" : "";
  if (kind !== "string" && kind !== "array" && format !== "" && format !== inferred) {
    addTypeFinding(result, path, format, inferred);
  } else addTypeFinding(result, path, node.typeText, kind);
}

function checkNumber(rules: NumberRules, value: unknown, kind: JsonKind, path: FieldPath, result: Result): void {
  const isInteger = kind === "integer";
  const number = numberOf(value);
  const printed = isInteger ? String(number) : goFloat(Number(number));
  const limit = (of: number): string => (isInteger ? String(BigInt(wholeLimit(of))) : goFloat(of));
  const add = (words: string): void =>
    result.add(inBody(path, words), () => invalid(path, printed, inBody(path, words)));
  const fault = multipleOfFault(rules, number, isInteger);
  if (fault === "factor") {
    const factor = limit(rules.multipleOf!);
    const words = `factor MultipleOf declared for ${String(path)} must be positive: ${factor}`;
    result.add(words, () => invalid(path, factor, words));
  } else if (fault === "value") add(`should be a multiple of ${limit(rules.multipleOf!)}`);
  if (!minimumHolds(rules, number, isInteger)) {
    add(`should be greater than ${rules.exclusiveMinimum ? "" : "or equal to "}${limit(rules.minimum!)}`);
  }
  if (!maximumHolds(rules, number, isInteger)) {
    add(`should be less than ${rules.exclusiveMaximum ? "" : "or equal to "}${limit(rules.maximum!)}`);
  }
}

/** Returns the text of a bound exactly as in its schema. */
const exact = (bound: Int64 | undefined): string => String(bigIntOf(bound ?? 0));
