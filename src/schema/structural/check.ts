/**
 * Validates schemas of definitions, with upstream's paths, wording and order; where upstream's order is random,
 * properties go by name. Depth and patterns are bounded beyond upstream's rules, since it would use minutes or its
 * whole stack. Source: upstream's `apiextensions-apiserver`.
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

/** Rules that an update need not keep when the stored definition did not: see `ratchetedChecks`. On unless false. */
export interface RatchetedChecks extends KeywordChecks {
  readonly structural?: boolean;
  readonly prunedDefaults?: boolean;
}

/** Checks of CEL rules, which are no part of this folder. */
export interface RuleChecks {
  /**
   * Findings about the rules of a structural schema. `isRight`: neither a part of it with rules nor anything inside has
   * other findings.
   */
  schema(props: JsonSchemaProps, path: FieldPath, isRight: (props: JsonSchemaProps) => boolean): readonly FieldError[];
  /** Findings of the rules about a default. `isWhole`: it is an object with metadata. All defaults share a budget. */
  defaults(): (node: SchemaNode, value: unknown, field: FieldPath, isWhole: boolean) => readonly FieldError[];
}

export interface CheckOptions extends RatchetedChecks {
  /** The version has a status subresource. */
  readonly statusSubresource?: boolean;
  /** Schema of metadata of built-in kinds, for defaults of and in embedded objects. */
  readonly metadata?: Schema;
  /** Left out: rules are not checked. */
  readonly rules?: RuleChecks;
}

/** Schemas inside schemas, at most. */
const depthMax = 1000;
/** The maximum number of findings that are listed. */
const findingsMax = 1000;

/** Findings about the schema at `path` (`spec.versions[0].schema.openAPIV3Schema`). */
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

/** The error about a schema beyond the bounds of size. Needs no stack. */
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

/** Keywords in the order of upstream's type, up to `type` and after it, that a root with a status may not have. */
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

/** The status is validated by its own part of the schema, so no other part may describe it. */
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

/** The rules an update has to keep, given all schemas of the stored definition. */
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
