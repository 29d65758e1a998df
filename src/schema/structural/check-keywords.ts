/**
 * Checks the keywords of a schema and their combinations. Findings are in upstream's order, properties in the order of
 * their names. Source: upstream's `apiextensions-apiserver/pkg/apis/apiextensions/validation`.
 */
import { type FieldError, forbidden, goTexts, invalid, notSupported, required } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { addAll } from "#std/add-all.ts";
import { emptyMembers } from "../given-empty.ts";
import { unreadable } from "./check-structure.ts";
import { readFieldPath } from "./field-path.ts";
import {
  additionalOf,
  hasDefault,
  isMetaName,
  itemsOf,
  type JsonSchemaProps,
  namesOf,
  type ValidationRule,
} from "./json-schema.ts";
import { shown } from "../go-json.ts";

/** The optional checks. A check is on unless it is false. */
export interface KeywordChecks {
  readonly validTypes?: boolean;
  readonly atomicSets?: boolean;
  readonly mapKeys?: boolean;
}

const types: ReadonlySet<string> = new Set(["array", "boolean", "integer", "number", "object", "string"]);

/** Whether the schema has a type of JSON values, or none; an empty type counts as none. */
export const hasValidType = (props: JsonSchemaProps): boolean =>
  props.type === undefined || props.type === "" || types.has(props.type);

/**
 * Returns the errors of a schema. Adds to `right` the schemas with rules that have no errors, neither in themselves nor
 * in their parts.
 */
export function keywordFindings(
  props: JsonSchemaProps,
  path: FieldPath,
  checks: KeywordChecks,
  right: Set<JsonSchemaProps> = new Set(),
): FieldError[] {
  const walk = new Walk(checks, right);
  walk.schema(props, path, { isRoot: true, isMeta: false, noDefaults: undefined });
  return walk.findings;
}

interface SchemaContext {
  readonly isRoot: boolean;
  /** Whether the schema is inside of apiVersion, kind or metadata of an object. */
  readonly isMeta: boolean;
  /** The reason why there may be no defaults; `undefined` if there may be. */
  readonly noDefaults: string | undefined;
}

class Walk {
  readonly findings: FieldError[] = [];
  readonly #checks: KeywordChecks;
  readonly #right: Set<JsonSchemaProps>;
  readonly #unreadable = new Map<JsonSchemaProps, string | undefined>();

  constructor(checks: KeywordChecks, right: Set<JsonSchemaProps>) {
    this.#checks = checks;
    this.#right = right;
  }

  schema(props: JsonSchemaProps, path: FieldPath, outer: SchemaContext): void {
    const countBefore = this.findings.length;
    const context = { ...outer, isRoot: false };
    this.#single(props, path, context);
    this.#maps(props, path, outer, context);
    if (props.not !== undefined) this.schema(props.not, path.child("not"), context);
    for (const keyword of ["allOf", "oneOf", "anyOf"] as const) {
      for (const [at, inner] of (props[keyword] ?? []).entries())
        this.schema(inner, path.child(keyword).index(at), context);
    }
    for (const name of namesOf(props.definitions)) {
      this.schema(props.definitions![name]!, path.child("definitions").key(name), context);
    }
    const items = itemsOf(props);
    if (items !== undefined) this.schema(items, path.child("items"), context);
    else if (Array.isArray(props.items)) {
      for (const [at, inner] of props.items.entries())
        this.schema(inner as JsonSchemaProps, path.child("items").index(at), context);
    }
    for (const name of Object.keys(props.dependencies ?? {}).sort()) {
      const inner = props.dependencies![name]!;
      if (inner === null || Array.isArray(inner)) continue;
      this.schema(inner as JsonSchemaProps, path.child("dependencies").key(name), context); // lists were skipped above
    }
    this.#extensions(props, path);
    if (this.#checks.mapKeys !== false) addAll(this.findings, mapKeyFindings(props, path));
    const rules = props["x-kubernetes-validations"] ?? [];
    for (const [at, rule] of rules.entries()) this.#rule(rule, props, path.child("x-kubernetes-validations").index(at));
    if (rules.length > 0 && this.findings.length === countBefore) this.#right.add(props);
  }

  #forbid(field: FieldPath, detail: string): void {
    this.findings.push(forbidden(field, detail));
  }

  /** Checks keywords that are invalid by themselves. */
  #single(props: JsonSchemaProps, path: FieldPath, context: SchemaContext): void {
    if (this.#checks.validTypes !== false && !hasValidType(props)) {
      this.findings.push(notSupported(path.child("type"), props.type, [...types]));
    }
    if (hasDefault(props) && context.noDefaults !== undefined) {
      this.#forbid(path.child("default"), `must not be set ${context.noDefaults}`);
    }
    const has = (value: unknown): boolean =>
      typeof value === "object" && value !== null && Object.keys(value).length > 0;
    if ((props.id ?? "") !== "") this.#unsupported(path, "id");
    if (props.additionalItems !== undefined) this.#unsupported(path, "additionalItems");
    if (has(props.patternProperties)) this.#unsupported(path, "patternProperties");
    if (has(props.definitions)) this.#unsupported(path, "definitions");
    if (props.dependencies !== undefined || emptyMembers(props).includes("dependencies")) {
      this.#unsupported(path, "dependencies");
    }
    if (props.$ref !== undefined) this.#unsupported(path, "$ref");
    if (props.type === "null") {
      this.#forbid(path.child("type"), "type cannot be set to null, use nullable as an alternative");
    }
    if (Array.isArray(props.items) && props.items.length > 0) {
      this.#forbid(path.child("items"), "items must be a schema object and not an array");
    }
    if (context.isMeta && props["x-kubernetes-embedded-resource"] === true) {
      this.#forbid(path.child("x-kubernetes-embedded-resource"), "must not be used inside of resource meta");
    }
    if (props.uniqueItems === true) {
      const detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
      this.#forbid(path.child("uniqueItems"), detail);
    }
  }

  #unsupported(path: FieldPath, keyword: string): void {
    this.#forbid(path.child(keyword), `${keyword} is not supported`);
  }

  #maps(props: JsonSchemaProps, path: FieldPath, outer: SchemaContext, context: SchemaContext): void {
    const names = namesOf(props.properties);
    const additional = additionalOf(props);
    const field = path.child("additionalProperties");
    if (names.length > 0 && (additional !== undefined || props.additionalProperties === false)) {
      this.#forbid(field, "additionalProperties and properties are mutual exclusive");
    }
    if (additional !== undefined) {
      const noDefaults = "inside additionalProperties applying to object metadata";
      this.schema(additional, field, context.isMeta ? { ...context, noDefaults } : context);
    }
    const isWhole = outer.isRoot || props["x-kubernetes-embedded-resource"] === true;
    const propertiesPath = path.child("properties");
    for (const name of names) {
      const isMeta = isWhole && isMetaName(name);
      const inner = {
        ...context,
        isMeta: context.isMeta || isMeta,
        noDefaults: isMeta && outer.isRoot ? `in top-level ${name}` : context.noDefaults,
      };
      this.schema(props.properties![name]!, propertiesPath.key(name), inner);
    }
  }

  #extensions(props: JsonSchemaProps, path: FieldPath): void {
    if (props["x-kubernetes-preserve-unknown-fields"] === false) {
      const field = path.child("x-kubernetes-preserve-unknown-fields");
      this.findings.push(invalid(field, false, "must be true or undefined"));
    }
    const mapType = props["x-kubernetes-map-type"];
    if (mapType !== undefined) {
      this.#mustBe("object", props, path, "x-kubernetes-map-type");
      if (mapType !== "atomic" && mapType !== "granular") {
        this.findings.push(notSupported(path.child("x-kubernetes-map-type"), mapType, ["atomic", "granular"]));
      }
    }
    const listType = props["x-kubernetes-list-type"];
    if (listType !== undefined) this.#listType(listType, props, path);
    const keys = props["x-kubernetes-list-map-keys"] ?? [];
    if (keys.length > 0 && listType !== "map") {
      const field = path.child("x-kubernetes-list-type");
      const detail = "must be map if x-kubernetes-list-map-keys is non-empty";
      this.findings.push(listType === undefined ? required(field, detail) : invalid(field, listType, detail));
    }
    if (listType === "map") this.#mapList(props, keys, path);
  }

  #mustBe(type: string, props: JsonSchemaProps, path: FieldPath, keyword: string): boolean {
    if (props.type === type) return true;
    const detail = `must be ${type} if ${keyword} is specified`;
    const field = path.child("type");
    const isNone = props.type === undefined || props.type === "";
    this.findings.push(isNone ? required(field, detail) : invalid(field, props.type, detail));
    return false;
  }

  #listType(listType: string, props: JsonSchemaProps, path: FieldPath): void {
    const isList = this.#mustBe("array", props, path, "x-kubernetes-list-type");
    if (isList && this.#checks.atomicSets !== false && !hasAtomicItems(props)) {
      const items = itemsOf(props)!;
      const keyword = items.type === "array" ? "x-kubernetes-list-type" : "x-kubernetes-map-type";
      const detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
      // Upstream: the finding shows the list type in either case.
      const list = shown(items["x-kubernetes-list-type"]);
      this.findings.push(invalid(path.child("items", keyword), list, detail));
    }
    if (listType !== "atomic" && listType !== "set" && listType !== "map") {
      this.findings.push(notSupported(path.child("x-kubernetes-list-type"), listType, ["atomic", "set", "map"]));
    }
  }

  #mapList(props: JsonSchemaProps, keys: readonly string[], path: FieldPath): void {
    const field = path.child("x-kubernetes-list-map-keys");
    if (keys.length === 0) {
      this.findings.push(required(field, "must not be empty if x-kubernetes-list-type is map"));
    }
    const items = itemsOf(props);
    if (props.items === undefined) {
      this.findings.push(required(path.child("items"), "must have a schema if x-kubernetes-list-type is map"));
    } else if (items === undefined) {
      const detail = "must only have a single schema if x-kubernetes-list-type is map";
      this.findings.push(invalid(path.child("items"), shown(props.items), detail));
    } else if (items.type !== "object") {
      const detail = "must be object if parent array's x-kubernetes-list-type is map";
      this.findings.push(invalid(path.child("items", "type"), items.type ?? "", detail));
    } else this.#mapListKeys(items, keys, path, field);
  }

  #mapListKeys(items: JsonSchemaProps, keys: readonly string[], path: FieldPath, field: FieldPath): void {
    const seen = new Set<string>();
    const add = (detail: string) => this.findings.push(invalid(field, goTexts(keys), detail));
    for (const key of keys) {
      const type =
        items.properties !== undefined && Object.hasOwn(items.properties, key) ? items.properties[key] : undefined;
      if (type === undefined) add("entries must all be names of item properties");
      else if (type.type === "array" || type.type === "object") {
        const detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
        // Upstream: the finding shows the type of the item.
        this.findings.push(invalid(path.child("items", "properties").key(key).child("type"), items.type, detail));
      }
      if (seen.has(key)) add("must not contain duplicate entries");
      seen.add(key);
    }
  }

  /** Checks a CEL rule without its expressions. */
  #rule(rule: ValidationRule, props: JsonSchemaProps, path: FieldPath): void {
    const { message = "", messageExpression = "", fieldPath = "", reason } = rule;
    const text = (rule.rule ?? "").trim();
    const said = message.trim();
    const hasBreaks = (value: string): boolean => /[\n\r]/.test(value);
    const bad = (name: string, value: string, detail: string): void => {
      this.findings.push(invalid(path.child(name), value, detail));
    };
    if (text === "") this.findings.push(required(path.child("rule"), "rule is not specified"));
    else if (message !== "" && said === "") bad("message", message, "message must be non-empty if specified");
    else if (hasBreaks(said)) bad("message", message, "message must not contain line breaks");
    else if (hasBreaks(text) && said === "") {
      this.findings.push(required(path.child("message"), "message must be specified if rule contains line breaks"));
    }
    if (messageExpression !== "" && messageExpression.trim() === "") {
      this.findings.push(required(path.child("messageExpression"), "messageExpression must be non-empty if specified"));
    }
    if (reason !== undefined && !reasons.includes(reason)) {
      this.findings.push(notSupported(path.child("reason"), reason, reasons));
    }
    if (fieldPath === "") return;
    if (fieldPath.trim() === "") bad("fieldPath", fieldPath, "fieldPath must be non-empty if specified");
    if (hasBreaks(fieldPath)) bad("fieldPath", fieldPath, "fieldPath must not contain line breaks");
    // Upstream: paths into schemas that it cannot read are not checked.
    if (typeof readFieldPath(fieldPath, props) === "string" && unreadable(props, this.#unreadable) === undefined)
      bad("fieldPath", fieldPath, "fieldPath must be a valid path");
  }
}

const reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/** Whether the items of a set are compared as a whole; true for all other lists. */
export function hasAtomicItems(props: JsonSchemaProps): boolean {
  const items = itemsOf(props);
  if (props["x-kubernetes-list-type"] !== "set" || items === undefined) return true;
  if (items.type === "array") return (items["x-kubernetes-list-type"] ?? "atomic") === "atomic";
  return items.type !== "object" || items["x-kubernetes-map-type"] === "atomic";
}

/** Returns the errors of keys: list items must always have their keys, and neither items nor keys may be null. */
export function mapKeyFindings(props: JsonSchemaProps, path: FieldPath): FieldError[] {
  const listType = props["x-kubernetes-list-type"];
  const items = itemsOf(props);
  if (items === undefined || (listType !== "set" && listType !== "map")) return [];
  const findings: FieldError[] = [];
  if (items.nullable === true) {
    const detail = `cannot be nullable when x-kubernetes-list-type is ${listType}`;
    findings.push(forbidden(path.child("items", "nullable"), detail));
  }
  if (listType === "set") return findings;
  for (const key of props["x-kubernetes-list-map-keys"] ?? []) {
    if (items.properties === undefined || !Object.hasOwn(items.properties, key)) continue;
    const inner = items.properties[key]!;
    const field = path.child("items", "properties").key(key);
    if (items.required?.includes(key) !== true && !hasDefault(inner)) {
      const detail =
        "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
      findings.push(required(field.child("default"), detail));
    }
    if (inner.nullable === true) {
      const detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
      findings.push(forbidden(field.child("nullable"), detail));
    }
  }
  return findings;
}
