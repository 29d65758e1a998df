/**
 * Checks the rules of a schema before the definition is stored: syntax and types, the use of `oldSelf`, and the
 * estimated cost. Texts and their order are upstream's.
 */
import { type FieldError, forbidden, goQuote, GoSyntax, internalError, invalid } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { additionalOf, itemsOf, type JsonSchemaProps, namesOf, type ValidationRule } from "#schema/structural.ts";
import type { Int64 } from "#std/int64.ts";
import { runToEnd } from "#std/cooperative.ts";
import { exceededText } from "../cost.ts";
import { times } from "../cost/calls.ts";
import { cardinality } from "../schema-types.ts";
import { type CompiledRule, RuleCompiler, type StoredExpressions } from "./compile.ts";

/** The maximum cost of all evaluations of one expression for an object. */
const expressionCostMax = 10_000_000;
/** The maximum cost of all expressions of a schema. */
const schemaCostMax = 100_000_000;

/** A part of a schema, and its position. */
interface SchemaContext {
  readonly path: FieldPath;
  readonly isWhole: boolean;
  /** The limits of the lists and maps that contain the part. */
  readonly around: readonly (Int64 | undefined)[];
  /** The outermost node whose parts cannot be matched with old parts on an update. */
  readonly uncorrelatable: FieldPath | undefined;
}

/**
 * Returns the errors of the rules in the schema at `path`. Only the rules of nodes without other errors (`isRight`) are
 * checked.
 */
export function checkRules(
  props: JsonSchemaProps,
  path: FieldPath,
  isRight: (props: JsonSchemaProps) => boolean,
  stored: StoredExpressions,
): FieldError[] {
  const walk = new Walk(isRight, stored);
  walk.schema(props, { path, isWhole: true, around: [], uncorrelatable: undefined });
  return [...walk.findings, ...walk.costs.findings(path)];
}

class Walk {
  readonly findings: FieldError[] = [];
  readonly costs = new TotalCost();
  readonly #isRight: (props: JsonSchemaProps) => boolean;
  readonly #compiler: RuleCompiler;

  constructor(isRight: (props: JsonSchemaProps) => boolean, stored: StoredExpressions) {
    this.#isRight = isRight;
    this.#compiler = new RuleCompiler(stored);
  }

  /** Checks a node. Its parts are checked first. */
  schema(props: JsonSchemaProps, context: SchemaContext): void {
    const { path, around, uncorrelatable } = context;
    const additional = additionalOf(props);
    if (additional !== undefined) {
      const inner = {
        path: path.child("additionalProperties"),
        around: [...around, props.maxProperties],
        uncorrelatable,
      };
      this.schema(additional, { ...inner, isWhole: isEmbedded(additional) });
    }
    // Upstream: if `additionalProperties` is set, each declared member counts as often as there may be members.
    const aroundProperties = props.additionalProperties === undefined ? around : [...around, props.maxProperties];
    for (const name of namesOf(props.properties)) {
      const inner = props.properties![name]!;
      this.schema(inner, {
        path: path.child("properties").key(name),
        around: aroundProperties,
        uncorrelatable,
        isWhole: isEmbedded(inner),
      });
    }
    const items = itemsOf(props);
    if (items !== undefined) {
      const isMap = props["x-kubernetes-list-type"] === "map";
      this.schema(items, {
        path: path.child("items"),
        around: [...around, props.maxItems],
        uncorrelatable: uncorrelatable ?? (isMap ? undefined : path),
        isWhole: isEmbedded(items),
      });
    }
    if ((props["x-kubernetes-validations"]?.length ?? 0) > 0 && this.#isRight(props)) this.#rules(props, context);
  }

  #rules(props: JsonSchemaProps, context: SchemaContext): void {
    const path = context.path.child("x-kubernetes-validations");
    const compiled = runToEnd(this.#compiler.compile(props, context.isWhole));
    if (compiled === undefined) {
      const text =
        "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations";
      this.findings.push(internalError(path, text));
      return;
    }
    const count = cardinality(context.around, compiled.variable.declaration);
    for (const [at, rule] of (props["x-kubernetes-validations"] ?? []).entries()) {
      this.#rule(rule, compiled.rules[at]!, count, path.index(at), context);
    }
  }

  #rule(
    validation: ValidationRule,
    { usesOldSelf, rule, message }: CompiledRule,
    count: number,
    path: FieldPath,
    context: SchemaContext,
  ) {
    if (rule === undefined) return;
    if ("problem" in rule) this.findings.push(invalid(path.child("rule"), shownRule(validation), rule.problem));
    else this.#cost("rule", path.child("rule"), times(rule.costMax, count));
    if (message !== undefined) {
      const at = path.child("messageExpression");
      if ("problem" in message) this.findings.push(invalid(at, shownRule(validation), message.problem));
      else this.#cost("messageExpression", at, message.costMax);
    }
    if (usesOldSelf) {
      if (context.uncorrelatable === undefined) return;
      const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${String(context.uncorrelatable)}`;
      this.findings.push(invalid(path.child("rule"), validation.rule, detail));
    } else if (validation.optionalOldSelf !== undefined) {
      const detail = "may not be set if oldSelf is not used in rule";
      this.findings.push(invalid(path.child("optionalOldSelf"), validation.optionalOldSelf, detail));
    }
  }

  #cost(what: string, path: FieldPath, cost: number): void {
    if (cost > expressionCostMax) {
      this.findings.push(forbidden(path, exceededText(`estimated ${what} cost`, cost, expressionCostMax)));
    }
    this.costs.add(path, cost);
  }
}

const isEmbedded = (props: JsonSchemaProps): boolean => props["x-kubernetes-embedded-resource"] === true;

/** The maximum number of expensive expressions that errors name, and the minimum cost of such an expression. */
const namedMax = 4;
const namedCostMin = schemaCostMax / 100;

class TotalCost {
  #total = 0;
  #highest: { readonly path: FieldPath; readonly cost: number }[] = [];

  add(path: FieldPath, cost: number): void {
    this.#total += cost;
    if (cost < namedCostMin) return;
    const at = this.#highest.findIndex((other) => other.cost < cost);
    if (at === -1) this.#highest.push({ path, cost });
    else this.#highest.splice(at, 0, { path, cost });
    if (this.#highest.length > namedMax) this.#highest.pop();
  }

  findings(path: FieldPath): FieldError[] {
    if (this.#total <= schemaCostMax) return [];
    const part = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
    const whole = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
    return [
      ...this.#highest.map((one) => forbidden(one.path, part)),
      forbidden(path, exceededText(whole, this.#total, schemaCostMax)),
    ];
  }
}

/** Returns a rule as Go prints it, except that pointers are shown with their values instead of addresses. */
function shownRule({ rule, message, messageExpression, reason, fieldPath, optionalOldSelf }: ValidationRule): GoSyntax {
  const text = (value: string | undefined): string => goQuote(value ?? "");
  const members = [
    `Rule:${text(rule)}`,
    `Message:${text(message)}`,
    `MessageExpression:${text(messageExpression)}`,
    `Reason:(*apiextensions.FieldValueErrorReason)(${reason === undefined ? "nil" : goQuote(reason)})`,
    `FieldPath:${text(fieldPath)}`,
    `OptionalOldSelf:(*bool)(${optionalOldSelf ?? "nil"})`,
  ];
  return new GoSyntax(`apiextensions.ValidationRule{${members.join(", ")}}`);
}
