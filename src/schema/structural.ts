/**
 * Structural schemas of custom resources, and their use on objects: pruning, defaults, validation of values, lists and
 * embedded objects. The functions are pure and take JSON values of `decodeJson`; values are never changed, and
 * unchanged parts are shared. CEL rules are plain data here; `cel/schema-rules.ts` evaluates them. The parts are in
 * `structural/`. Source: upstream's `apiextensions-apiserver`, 1.32.
 */
import type { FieldError } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { Schema } from "./schema.ts";
import { schemaOf } from "./structural/apply-schema.ts";
import { Correlation } from "./structural/correlation.ts";
import { embeddedFindings } from "./structural/embedded.ts";
import { explain } from "./structural/explain.ts";
import type { JsonSchemaProps } from "./structural/json-schema.ts";
import { listFindings } from "./structural/lists.ts";
import { compileNode, type SchemaNode } from "./structural/node.ts";
import { checkBudget, isValid, TooCostly } from "./structural/valid.ts";

export {
  type CheckOptions,
  checkStructural,
  type RatchetedChecks,
  ratchetedChecks,
  type RuleChecks,
} from "./structural/check.ts";
export { unreadable } from "./structural/check-structure.ts";
export { Correlation, itemKey, itemsByKey } from "./structural/correlation.ts";
export { applyDefaults } from "./structural/defaults.ts";
export { type FieldPathTarget, readFieldPath } from "./structural/field-path.ts";
export { durationOf, formatCheck } from "./structural/formats.ts";
export {
  additionalOf,
  itemsOf,
  type JsonSchemaProps,
  namesOf,
  someSchema,
  type ValidationRule,
} from "./structural/json-schema.ts";
export type { SchemaNode } from "./structural/node.ts";
export { showValue } from "./go-json.ts";
export { patternSizes } from "./structural/pattern.ts";
export { compiledSize, expandedSize, readingSize } from "./structural/pattern-text.ts";
export { patternWeight } from "./structural/pattern-weight.ts";
export { LinearRegExp } from "./structural/re2.ts";
export { dropNulls } from "./structural/nulls.ts";
export { prune } from "./structural/prune.ts";

/**
 * A schema of a definition that passed `checkStructural`. It is cheap to construct: its forms are made on first use.
 */
export class StructuralSchema {
  readonly props: JsonSchemaProps;
  readonly #metadata: Schema | undefined;
  #schema: Schema | undefined;
  #node: SchemaNode | undefined;

  /** `metadata` is the schema of metadata of built-in kinds, for the root and for embedded objects. */
  constructor(props: JsonSchemaProps, metadata?: Schema) {
    this.props = props;
    this.#metadata = metadata;
  }

  /** The form for apply, and for the other code that built-in kinds share. */
  get schema(): Schema {
    return (this.#schema ??= schemaOf(this.props, this.#metadata));
  }

  /** The form for the functions of this file, and for those that it exports. */
  get node(): SchemaNode {
    return (this.#node ??= compileNode(this.props));
  }

  /** Returns the schema of a member of the root (`status`); `undefined` if there is none. */
  property(name: string): StructuralSchema | undefined {
    const props = this.props.properties;
    if (props === undefined || !Object.hasOwn(props, name)) return undefined;
    const inner = new StructuralSchema(props[name]!, this.#metadata);
    inner.#node = this.node.properties?.get(name);
    return inner;
  }
}

/**
 * Returns validation errors: types, limits, formats, patterns, enums, required members, combinations. With `old`, the
 * object before an update, unchanged parts report nothing. `field` is the prefix of paths (`status`).
 */
export function validateValue(value: unknown, node: SchemaNode, old?: unknown, field = FieldPath.root): FieldError[] {
  const budget = checkBudget();
  try {
    if (isValid(node, value, budget)) return [];
    const correlation = old === undefined ? undefined : new Correlation(node, value, old);
    return explain(node, value, field, correlation, budget);
  } catch (error) {
    if (error instanceof TooCostly) return [{ ...error.finding, field: String(field) }];
    throw error;
  }
}

/** Returns the duplicates in lists of type `set` and `map`; none if `old` already had some. */
export function checkListTypes(value: unknown, node: SchemaNode, old?: unknown): FieldError[] {
  if (!node.hasLists) return [];
  const findings = listFindings(node, value, FieldPath.root);
  if (findings.length === 0 || old === undefined) return findings;
  return listFindings(node, old, FieldPath.root).length > 0 ? [] : findings;
}

/** Returns errors in apiVersion, kind and metadata of embedded objects; metadata must have its type. */
export function checkEmbedded(value: unknown, node: SchemaNode): FieldError[] {
  return embeddedFindings(node, value, FieldPath.root, { isRead: true });
}
