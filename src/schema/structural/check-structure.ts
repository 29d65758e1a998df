/**
 * Checks that a schema is structural: every value has one schema with its type, and combinations only restrict it
 * further. Source of rules and wording: KEP on structural schemas and upstream's
 * `apiextensions-apiserver/pkg/apiserver/schema`, files `validation.go` and `complete.go`.
 */
import { type FieldError, forbidden, invalid, printFieldError, required } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { emptyMembers } from "../given-empty.ts";
import { additionalOf, givenKeywords, hasDefault, itemsOf, type JsonSchemaProps, namesOf } from "./json-schema.ts";
import { patternError } from "./pattern.ts";

type Level = "root" | "item" | "field";

/** Returns the errors, sorted by their text. */
export function structureFindings(props: JsonSchemaProps, path: FieldPath): FieldError[] {
  const findings: FieldError[] = [];
  checkNode(props, "root", path, findings);
  checkHasStructure(props, props, path, path, findings);
  const texts = new Map(findings.map((finding) => [finding, printFieldError(finding)]));
  return findings.sort((a, b) => (texts.get(a)! < texts.get(b)! ? -1 : texts.get(a)! > texts.get(b)! ? 1 : 0));
}

/**
 * Returns the error of a keyword that a structural schema cannot have; `undefined` if there is none. Upstream reports
 * it only if there are no other errors. `known` has the results of earlier calls.
 */
export function unreadable(
  props: JsonSchemaProps,
  known: Map<JsonSchemaProps, string | undefined> = new Map(),
): string | undefined {
  if (known.has(props)) return known.get(props);
  const firstProblem = (schemas: readonly (JsonSchemaProps | undefined)[]): string | undefined => {
    for (const inner of schemas) {
      const problem = inner === undefined ? undefined : unreadable(inner, known);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
  const properties = namesOf(props.properties).map((name) => props.properties![name]!);
  const problem =
    unsupportedKeyword(props) ??
    firstProblem([props.not, ...(props.allOf ?? []), ...(props.anyOf ?? []), ...(props.oneOf ?? [])]) ??
    unreadableValue(props) ??
    firstProblem([itemsOf(props), ...properties, additionalOf(props)]);
  known.set(props, problem);
  return problem;
}

function unsupportedKeyword(props: JsonSchemaProps): string | undefined {
  const forbidden = (
    ["id", "schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions"] as const
  ).find((keyword) => {
    const value = keyword === "schema" ? props.$schema : props[keyword];
    if (value === undefined || value === "") return false;
    return keyword === "additionalItems" || typeof value !== "object" || Object.keys(value).length > 0;
  });
  return forbidden === undefined ? undefined : `OpenAPIV3Schema '${forbidden}' is not supported`;
}

function unreadableValue(props: JsonSchemaProps): string | undefined {
  if (props["x-kubernetes-preserve-unknown-fields"] === false) {
    return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
  }
  return Array.isArray(props.items) && props.items.length > 0
    ? "OpenAPIV3Schema 'items' must be a schema, but is an array"
    : undefined;
}

const propertyPath = (path: FieldPath, name: string): FieldPath => path.child("properties").key(name);

const emptyType: Readonly<Record<Level, string>> = {
  root: "must not be empty at the root",
  item: "must not be empty for specified array items",
  field: "must not be empty for specified object fields",
};

function checkNode(props: JsonSchemaProps, level: Level, path: FieldPath, findings: FieldError[]): void {
  const items = itemsOf(props);
  if (props.type === "array" && items === undefined) findings.push(required(path.child("items"), "must be specified"));
  if (items !== undefined) checkNode(items, "item", path.child("items"), findings);
  for (const name of namesOf(props.properties)) {
    checkNode(props.properties![name]!, "field", propertyPath(path, name), findings);
  }
  if (props.additionalProperties !== undefined) {
    const field = path.child("additionalProperties");
    if (level === "root") findings.push(forbidden(field, "must not be used at the root"));
    const additional = additionalOf(props);
    if (additional !== undefined) checkNode(additional, "field", field, findings);
  }
  checkExtensions(props, path, findings);
  const rules = { skipsAnyOf: isEither(props.anyOf), skipsFirstAllOf: isEither(props.allOf?.[0]?.anyOf) };
  checkRules(props, rules, path, findings);
  checkType(props, level, path, findings);
  checkMeta(props, level, path, findings);
}

function checkExtensions(props: JsonSchemaProps, path: FieldPath, findings: FieldError[]): void {
  if (props["x-kubernetes-int-or-string"] !== true) return;
  for (const name of ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] as const) {
    if (props[name] !== true) continue;
    findings.push(invalid(path.child(name), true, "must be false if x-kubernetes-int-or-string is true"));
  }
}

const typeOf = (props: JsonSchemaProps): string => props.type ?? "";

function checkType(props: JsonSchemaProps, level: Level, path: FieldPath, findings: FieldError[]): void {
  const type = typeOf(props);
  const field = path.child("type");
  const isEmbedded = props["x-kubernetes-embedded-resource"] === true;
  const preserves = props["x-kubernetes-preserve-unknown-fields"] === true;
  if (isEmbedded && type !== "object") {
    const detail = "must be object if x-kubernetes-embedded-resource is true";
    findings.push(type === "" ? required(field, detail) : invalid(field, type, detail));
  } else if (type === "" && props["x-kubernetes-int-or-string"] !== true && !preserves) {
    findings.push(required(field, emptyType[level]));
  }
  if (isEmbedded && props.additionalProperties !== undefined) {
    const detail = "must not be used if x-kubernetes-embedded-resource is set";
    findings.push(forbidden(path.child("additionalProperties"), detail));
  }
  if (level === "root" && type !== "" && type !== "object") {
    findings.push(invalid(field, type, "must be object at the root"));
  }
  if (isEmbedded && !preserves && namesOf(props.properties).length === 0) {
    const detail =
      "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
    findings.push(required(path.child("properties"), detail));
  }
}

/** Checks the keywords of apiVersion, kind and metadata. */
function checkMeta(props: JsonSchemaProps, level: Level, path: FieldPath, findings: FieldError[]): void {
  const { properties } = props;
  if (properties === undefined) return;
  const isWhole = level === "root" || props["x-kubernetes-embedded-resource"] === true;
  for (const name of ["kind", "apiVersion"]) {
    if (!isWhole || !Object.hasOwn(properties, name) || typeOf(properties[name]!) === "string") continue;
    findings.push(invalid(propertyPath(path, name).child("type"), typeOf(properties[name]!), "must be string"));
  }
  if (!Object.hasOwn(properties, "metadata")) return;
  const metadata = properties["metadata"]!;
  const field = propertyPath(path, "metadata");
  if (isWhole && typeOf(metadata) !== "object") {
    findings.push(invalid(field.child("type"), typeOf(metadata), "must be object"));
  }
  if (level === "root" && !restrictsNamesOnly(metadata)) {
    const detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
    findings.push(forbidden(field, detail));
  }
}

/** The keywords that a structure does not have if they are empty. */
const lostWhenEmpty: ReadonlySet<string> = new Set([
  "$ref",
  "allOf",
  "anyOf",
  "definitions",
  "dependencies",
  "enum",
  "oneOf",
  "patternProperties",
]);

/** Returns the keywords of a schema that its structure has. */
function structuralKeywords(props: JsonSchemaProps): readonly string[] {
  const empty = emptyMembers(props);
  const isLost = (keyword: string): boolean =>
    lostWhenEmpty.has(keyword) && (keyword === "$ref" ? props.$ref === "" : empty.includes(keyword));
  return givenKeywords(props).filter((keyword) => !isLost(keyword));
}

const allowedOfMetadata: ReadonlySet<string> = new Set(["type", "default", "example", "externalDocs", "properties"]);

function restrictsNamesOnly(metadata: JsonSchemaProps): boolean {
  if (structuralKeywords(metadata).some((keyword) => !allowedOfMetadata.has(keyword))) return false;
  return namesOf(metadata.properties).every((name) => name === "name" || name === "generateName");
}

/** Whether it is `[{type: integer}, {type: string}]`, which a schema with int-or-string may have. */
function isEither(schemas: readonly JsonSchemaProps[] | undefined): boolean {
  if (schemas?.length !== 2) return false;
  return isOnlyType(schemas[0]!, "integer") && isOnlyType(schemas[1]!, "string");
}

function isOnlyType(props: JsonSchemaProps, type: string): boolean {
  if (props.type !== type) return false;
  // Inside of combinations, a structure loses `additionalProperties: false`.
  const isLost = (keyword: string): boolean =>
    keyword === "additionalProperties" && props.additionalProperties === false;
  return structuralKeywords(props).every((keyword) => allowedBesideType.has(keyword) || isLost(keyword));
}

const allowedBesideType: ReadonlySet<string> = new Set(["type", "example", "externalDocs"]);

interface Skips {
  readonly skipsAnyOf: boolean;
  readonly skipsFirstAllOf: boolean;
}

const noSkips: Skips = { skipsAnyOf: false, skipsFirstAllOf: false };

function checkRules(props: JsonSchemaProps, skips: Skips, path: FieldPath, findings: FieldError[]): void {
  if (!skips.skipsAnyOf) {
    for (const [at, inner] of (props.anyOf ?? []).entries())
      checkInner(inner, noSkips, path.child("anyOf").index(at), findings);
  }
  for (const [at, inner] of (props.allOf ?? []).entries()) {
    const innerSkips = { skipsAnyOf: skips.skipsFirstAllOf && at === 0, skipsFirstAllOf: false };
    checkInner(inner, innerSkips, path.child("allOf").index(at), findings);
  }
  for (const [at, inner] of (props.oneOf ?? []).entries())
    checkInner(inner, noSkips, path.child("oneOf").index(at), findings);
  if (props.not !== undefined) checkInner(props.not, noSkips, path.child("not"), findings);
  if (props.pattern !== undefined && props.pattern !== "") {
    const problem = patternError(props.pattern);
    if (problem !== undefined) {
      const detail = `must be a valid regular expression, but isn't: ${problem}`;
      findings.push(invalid(path.child("pattern"), props.pattern, detail));
    }
  }
}

/** Checks a schema inside of a combination, which must not have keywords of structure. */
function checkInner(props: JsonSchemaProps, skips: Skips, path: FieldPath, findings: FieldError[]): void {
  checkRules(props, skips, path, findings);
  const items = itemsOf(props);
  if (items !== undefined) checkInner(items, noSkips, path.child("items"), findings);
  for (const name of namesOf(props.properties)) {
    checkInner(props.properties![name]!, noSkips, propertyPath(path, name), findings);
  }
  const forbid = (keyword: string, state: string): void => {
    findings.push(forbidden(path.child(keyword), `must be ${state} to be structural`));
  };
  if (typeOf(props) !== "") forbid("type", "empty");
  if (typeof props.additionalProperties === "object" || props.additionalProperties === true) {
    forbid("additionalProperties", "undefined");
  }
  if (hasDefault(props)) forbid("default", "undefined");
  for (const keyword of ["title", "description"] as const) {
    if ((props[keyword] ?? "") !== "") forbid(keyword, "empty");
  }
  for (const keyword of falseInside) if (props[keyword] === true) forbid(keyword, "false");
  if ((props["x-kubernetes-list-map-keys"]?.length ?? 0) > 0) forbid("x-kubernetes-list-map-keys", "empty");
  if (props["x-kubernetes-list-type"] !== undefined) forbid("x-kubernetes-list-type", "undefined");
  if (props["x-kubernetes-map-type"] !== undefined) forbid("x-kubernetes-map-type", "undefined");
  if ((props["x-kubernetes-validations"]?.length ?? 0) > 0) forbid("x-kubernetes-validations", "empty");
  if (props.properties !== undefined && Object.hasOwn(props.properties, "metadata")) {
    findings.push(forbidden(propertyPath(path, "metadata"), "must not be specified in a nested context"));
  }
}

const falseInside = [
  "nullable",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-embedded-resource",
  "x-kubernetes-int-or-string",
] as const;

/**
 * Checks that fields which combinations at the root name also exist outside of the combinations. `rulePath` is the path
 * of the combination. Upstream ignores combinations further inside.
 */
function checkHasStructure(
  rules: JsonSchemaProps,
  structure: JsonSchemaProps | undefined,
  path: FieldPath,
  rulePath: FieldPath,
  findings: FieldError[],
): void {
  if (rules.not !== undefined) checkInnerHasStructure(rules.not, structure, path, rulePath.child("not"), findings);
  for (const keyword of ["allOf", "anyOf", "oneOf"] as const) {
    for (const [at, inner] of (rules[keyword] ?? []).entries()) {
      checkInnerHasStructure(inner, structure, path, rulePath.child(keyword).index(at), findings);
    }
  }
}

function checkInnerHasStructure(
  rules: JsonSchemaProps,
  structure: JsonSchemaProps | undefined,
  path: FieldPath,
  rulePath: FieldPath,
  findings: FieldError[],
): void {
  if (structure === undefined) {
    findings.push(required(path, `because it is defined in ${String(rulePath)}`));
    return;
  }
  checkHasStructure(rules, structure, path, rulePath, findings);
  const items = itemsOf(rules);
  if (items !== undefined) {
    checkInnerHasStructure(items, itemsOf(structure), path.child("items"), rulePath.child("items"), findings);
  }
  for (const name of namesOf(rules.properties)) {
    const isKnown = structure.properties !== undefined && Object.hasOwn(structure.properties, name);
    const inner = isKnown ? structure.properties[name] : undefined;
    const [at, ruleAt] = [propertyPath(path, name), propertyPath(rulePath, name)];
    checkInnerHasStructure(rules.properties![name]!, inner, at, ruleAt, findings);
  }
}
