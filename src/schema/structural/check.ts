/**
 * Validates schemas of definitions, with upstream's paths, wording and order; where upstream's order is random,
 * properties are in the order of their names. Depth and patterns have bounds that upstream does not have, since such
 * schemas would take minutes or the whole stack. Source: upstream's `apiextensions-apiserver`.
 */
import { type FieldError, forbidden, invalid, tooMany } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { addAll } from "#std/add-all.ts";
import { isRawNumber } from "#std/raw-number.ts";
import type { Schema } from "../schema.ts";
import { defaultFindings } from "./check-defaults.ts";
import { hasAtomicItems, hasValidType, type KeywordChecks, keywordFindings, mapKeyFindings } from "./check-keywords.ts";
import { structureFindings, unreadable } from "./check-structure.ts";
import { addSubSchemas, givenKeywords, hasDefault, type JsonSchemaProps, someSchema } from "./json-schema.ts";
import { isDeeper, shown } from "../go-json.ts";
import { compileNode, type SchemaNode } from "./node.ts";
import { patternsSizeMax } from "./pattern.ts";
import { compiledSize } from "./pattern-text.ts";
import { prune } from "./prune.ts";

/**
 * The checks that an update may fail if the stored definition fails them too (`ratchetedChecks`). A check is on unless
 * it is false.
 */
export interface RatchetedChecks extends KeywordChecks {
  readonly structural?: boolean;
  readonly prunedDefaults?: boolean;
}

/** The checks of CEL rules, which are not part of this folder. */
export interface RuleChecks {
  /**
   * Returns the errors of the rules in a structural schema. `isRight`: whether a part with rules has no other errors,
   * neither in itself nor in its parts.
   */
  schema(props: JsonSchemaProps, path: FieldPath, isRight: (props: JsonSchemaProps) => boolean): readonly FieldError[];
  /**
   * Returns a function that returns the errors of the rules about a default. `isWhole`: whether the default is an
   * object with metadata. All defaults share a budget.
   */
  defaults(): (node: SchemaNode, value: unknown, field: FieldPath, isWhole: boolean) => readonly FieldError[];
}

/** The facts about a version that the checks of its schema need, and the checks that are optional. */
export interface CheckOptions extends RatchetedChecks {
  /** Whether the version has a status subresource. */
  readonly statusSubresource?: boolean;
  /** The schema of metadata of built-in kinds, for defaults of whole objects and of embedded ones. */
  readonly metadata?: Schema;
  /** Left out: rules are not checked. */
  readonly rules?: RuleChecks;
}

/** The maximum nesting of schemas. */
const depthMax = 1000;
/** The maximum number of findings that are listed. */
const findingsMax = 1000;

/** Returns the errors of the schema at `path` (`spec.versions[0].schema.openAPIV3Schema`). */
export function checkStructural(props: JsonSchemaProps, path: FieldPath, options: CheckOptions = {}): FieldError[] {
  const bound = beyondBounds(props, path);
  if (bound !== undefined) return [bound];
  const problem = options.structural === false ? undefined : unreadable(props);
  const isRead = options.structural !== false && problem === undefined;
  const structure = isRead ? structureOrDefaults(props, path, options) : [];
  const right = new Set<JsonSchemaProps>();
  const findings = [
    ...(options.statusSubresource === true ? rootFindings(props, path) : []),
    ...(props.nullable === true ? [forbidden(path.child("nullable"), "nullable cannot be true at the root")] : []),
    ...structure,
    ...keywordFindings(props, path, options, right),
  ];
  if (isRead && structure.length === 0 && right.size > 0) {
    addAll(findings, options.rules?.schema(props, path, (inner) => right.has(inner)) ?? []);
  }
  if (findings.length === 0 && problem !== undefined) return [invalid(path, "", problem)];
  if (findings.length <= findingsMax) return findings;
  return [...findings.slice(0, findingsMax), tooMany(path, findings.length, findingsMax)];
}

function structureOrDefaults(props: JsonSchemaProps, path: FieldPath, options: CheckOptions): FieldError[] {
  const findings = structureFindings(props, path);
  if (findings.length > 0 || !someSchema(props, hasDefault)) return findings;
  const { metadata, prunedDefaults, rules } = options;
  return defaultFindings(props, path, { metadata, pruned: prunedDefaults !== false, rules: rules?.defaults() });
}

/** Returns the error of a schema that is too large or too deep. Does not recurse, so deep schemas need no stack. */
function beyondBounds(props: JsonSchemaProps, path: FieldPath): FieldError | undefined {
  const patterns = new Set<string>();
  let size = 0;
  let level: JsonSchemaProps[] = [props];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > depthMax) return forbidden(path, `schemas must not be nested deeper than ${depthMax} levels`);
    const next: JsonSchemaProps[] = [];
    for (const schema of level) {
      const { pattern } = schema;
      if (pattern !== undefined && !patterns.has(pattern)) {
        patterns.add(pattern);
        size += Math.max(pattern.length, compiledSize(pattern));
      }
      if (isDeeper(schema.default, depthMax) || isDeeper(schema.enum, depthMax) || isDeeper(schema.example, depthMax)) {
        return forbidden(path, `values must not be nested deeper than ${depthMax} levels`);
      }
      addSubSchemas(schema, next);
    }
    level = next;
  }
  if (size <= patternsSizeMax || patterns.size < 2) return undefined;
  return forbidden(path, `patterns must not have more than ${patternsSizeMax} instructions together`);
}

/**
 * The keywords that a root with a status subresource may not have, in the order of upstream's type: those before `type`
 * and those after it.
 */
const beforeType = ["id", "$schema", "$ref"];
const afterType = [
  "nullable",
  "default",
  "enum",
  "maxProperties",
  "minProperties",
  "allOf",
  "oneOf",
  "anyOf",
  "not",
  "additionalProperties",
  "patternProperties",
  "dependencies",
  "additionalItems",
  "definitions",
  "x-kubernetes-embedded-resource",
  "x-kubernetes-int-or-string",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-list-type",
  "x-kubernetes-map-type",
];

const allowedAtRoot =
  "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations";

/**
 * Checks the root of a version with a status subresource. The status is validated by its own part of the schema, so no
 * other part may describe it.
 */
function rootFindings(props: JsonSchemaProps, path: FieldPath): FieldError[] {
  const keywords = givenKeywords(props);
  const has = (keyword: string): boolean => keywords.includes(keyword);
  if (!beforeType.some(has)) {
    if (has("type") && props.type !== "object") {
      const detail =
        'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
      return [invalid(path.child("type"), props.type, detail)];
    }
    if (!afterType.some(has)) return [];
  }
  const detail = `only [${allowedAtRoot}] fields are allowed at the root of the schema if the status subresource is enabled`;
  return [invalid(path, shown(props), detail)];
}

/** Whether a schema is structural. */
const isStructural = (props: JsonSchemaProps): boolean =>
  beyondBounds(props, FieldPath.root) === undefined &&
  unreadable(props) === undefined &&
  structureFindings(props, FieldPath.root).length === 0;

/**
 * Returns the checks for an update, by all schemas of the stored definition: those that the stored definition fails are
 * off.
 */
export function ratchetedChecks(old: readonly JsonSchemaProps[]): RatchetedChecks {
  const none = (holds: (props: JsonSchemaProps) => boolean): boolean => !old.some((props) => someSchema(props, holds));
  return {
    structural: old.every(isStructural),
    prunedDefaults: !old.some(hasUnprunedDefault),
    validTypes: none((schema) => !hasValidType(schema)),
    atomicSets: none((schema) => !hasAtomicItems(schema)),
    mapKeys: none((schema) => mapKeyFindings(schema, FieldPath.root).length > 0),
  };
}

function hasUnprunedDefault(props: JsonSchemaProps): boolean {
  if (!someSchema(props, hasDefault) || !isStructural(props)) return false;
  const waiting: SchemaNode[] = [compileNode(props, "defaults")];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    const value = node.default;
    if (typeof value === "object" && value !== null && !isRawNumber(value)) {
      if (prune(value, node, { isResourceRoot: node.embedded }).value !== value) return true;
    }
    if (node.items !== undefined) waiting.push(node.items);
    addAll(waiting, node.properties?.values() ?? []);
  }
  return false;
}
