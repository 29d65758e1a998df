/**
 * Checks defaults: they must fit their own schema and contain only fields that it names; in the metadata of embedded
 * objects they must be valid metadata. Source: upstream's `apiextensions-apiserver/pkg/apiserver/schema/defaulting`.
 */
import { aggregate, type FieldError, invalid, printFieldError } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { addAll } from "#std/add-all.ts";
import { setKey } from "../json-values.ts";
import type { Schema } from "../schema.ts";
import { coerceFinding, embeddedFindings } from "./embedded.ts";
import { explain } from "./explain.ts";
import { isMetaName, type JsonSchemaProps } from "./json-schema.ts";
import { shown } from "../go-json.ts";
import { compileNode, type SchemaNode } from "./node.ts";
import { prune } from "./prune.ts";
import { checkBudget, isValid, TooCostly } from "./valid.ts";

interface DefaultChecks {
  readonly metadata: Schema | undefined;
  /** Whether unknown members are refused. */
  readonly pruned: boolean;
  /** Returns the findings of the schema's rules about a default that is valid otherwise. */
  readonly rules:
    | ((node: SchemaNode, value: unknown, field: FieldPath, isWhole: boolean) => readonly FieldError[])
    | undefined;
}

/** Returns the errors of all defaults in a schema, except those of map values. */
export function defaultFindings(props: JsonSchemaProps, path: FieldPath, checks: DefaultChecks): FieldError[] {
  const walk = new Walk(checks);
  const root = compileNode(props, "defaults");
  walk.node(root, path, { root, steps: [], isMeta: false, isWhole: true });
  return walk.findings;
}

interface SchemaContext {
  /**
   * The schema of the object around. `steps` lead from it to the node: names of properties, `undefined` for an item.
   */
  readonly root: SchemaNode;
  readonly steps: readonly (string | undefined)[];
  /** Whether the node is inside of that object's apiVersion, kind or metadata. */
  readonly isMeta: boolean;
  readonly isWhole: boolean;
}

class Walk {
  readonly findings: FieldError[] = [];
  readonly #checks: DefaultChecks;

  constructor(checks: DefaultChecks) {
    this.#checks = checks;
  }

  node(node: SchemaNode, path: FieldPath, outer: SchemaContext): void {
    const isWhole = node.embedded || outer.isWhole;
    const context = isWhole ? { root: node, steps: [], isMeta: false, isWhole } : outer;
    if (node.default !== undefined) {
      if (context.isMeta) this.#metaDefault(node, path.child("default"), context);
      else this.#default(node, path.child("default"), isWhole);
    }
    // Values of maps are not visited, since upstream does not check their defaults.
    if (node.items !== undefined) {
      this.node(node.items, path.child("items"), { ...context, steps: [...context.steps, undefined], isWhole: false });
    }
    for (const [name, property] of node.properties ?? []) {
      const isMeta = context.isMeta || (isWhole && isMetaName(name));
      this.node(property, path.child("properties").key(name), {
        ...context,
        steps: [...context.steps, name],
        isMeta,
        isWhole: false,
      });
    }
  }

  #default(node: SchemaNode, field: FieldPath, isWhole: boolean): void {
    const value = node.default;
    if (this.#checks.pruned && prune(value, node, { isResourceRoot: isWhole }).value !== value) {
      this.findings.push(invalid(field, shown(value), "must not have unknown fields"));
    }
    const options = { metadata: this.#checks.metadata, isWhole };
    const coercion = coerceFinding(node, value, field, options);
    if (coercion !== undefined) {
      this.findings.push(coercion);
      return;
    }
    const embedded = embeddedFindings(node, value, field, options);
    const findings = embedded.length > 0 ? embedded : valueFindings(node, value, field);
    addAll(this.findings, findings.length > 0 || !node.hasRules ? findings : this.#rules(node, value, field, isWhole));
  }

  #rules(node: SchemaNode, value: unknown, field: FieldPath, isWhole: boolean): readonly FieldError[] {
    return this.#checks.rules?.(node, value, field, isWhole) ?? [];
  }

  #metaDefault(node: SchemaNode, field: FieldPath, context: SchemaContext): void {
    const value = node.default;
    const object = around(value, context.steps);
    const options = { metadata: this.#checks.metadata, isWhole: true };
    const coercion = coerceFinding(context.root, object, FieldPath.root, options);
    const findings =
      coercion === undefined ? embeddedFindings(context.root, object, FieldPath.root, options) : [coercion];
    if (findings.length === 0) {
      const wrong = valueFindings(node, value, field);
      addAll(this.findings, wrong.length > 0 || !node.hasRules ? wrong : this.#rules(node, value, field, false));
    } else {
      const text = aggregate(findings.map(printFieldError));
      this.findings.push(invalid(field, shown(value), `must result in valid metadata: ${text}`));
    }
  }
}

function valueFindings(node: SchemaNode, value: unknown, field: FieldPath): readonly FieldError[] {
  const budget = checkBudget();
  try {
    return isValid(node, value, budget) ? [] : explain(node, value, field, undefined, budget);
  } catch (error) {
    if (error instanceof TooCostly) return [{ ...error.finding, field: String(field) }];
    throw error;
  }
}

/** Returns an object with a type, and with `value` alone at the end of `steps`. */
function around(value: unknown, steps: readonly (string | undefined)[]): unknown {
  let inner = value;
  for (const name of steps.toReversed()) {
    if (name === undefined) inner = [inner];
    else {
      const object: Record<string, unknown> = {};
      setKey(object, name, inner);
      inner = object;
    }
  }
  const object = { ...(inner as Record<string, unknown>) }; // a path into metadata begins with a name
  object["kind"] ??= "Validation";
  object["apiVersion"] ??= "validation/v1";
  return object;
}
