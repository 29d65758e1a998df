/**
 * Evaluates the rules of a schema on an object. Texts, order and budgets are upstream's; where upstream's order is
 * random, members are in the order of their names. Rules are compiled when an object first has a value for them.
 */
import { duplicate, type FieldError, forbidden, goQuote, invalid, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import {
  Correlation,
  itemKey,
  itemsByKey,
  type JsonSchemaProps,
  readFieldPath,
  type SchemaNode,
  type ValidationRule,
} from "#schema/structural.ts";
import { isLate, type MaybePromise } from "#std/maybe-promise.ts";
import { awaited, type Steps } from "#std/cooperative.ts";
import type { Evaluation, Program } from "../evaluate.ts";
import { workMax } from "../evaluate/frame.ts";
import { readerOf } from "../evaluate/read.ts";
import { expectedAfter } from "../expected-cost.ts";
import { dyn } from "../types.ts";
import { Optional, type Value } from "../values.ts";
import { type CompiledNode, type CompiledRule, RuleCompiler } from "./compile.ts";

/** The maximum cost of one evaluation of a rule or message. */
const callCostMax = 1_000_000;
/** The maximum cost of all rules of an object. */
const objectCostMax = 10_000_000;
/** The maximum number of steps that costs do not count, for all rules of an object: about 0.2 s. */
const objectWorkMax = 32_000_000;
/** The cost, work included, of evaluations after which others have a turn: about 4 ms. */
const pieceCost = 500_000;
/**
 * The expected cost of an evaluation before which others have a turn, if earlier evaluations cost as much: about 1 ms.
 */
const costlyMin = 100_000;
/** The minimum work of an evaluation. */
const evaluationWork = 16;
/** The maximum length of a message in bytes. */
const messageMax = 5 * 1024;
/** The maximum number of findings. */
const findingsMax = 500;

type Json = Readonly<Record<string, Value>>;

/** The findings of rules. */
export interface RuleFindings {
  readonly errors: readonly FieldError[];
  /** The findings about parts that an update left unchanged, which are not errors. */
  readonly tolerated: readonly FieldError[];
}

const everything = { isRule: () => true, isMessage: () => true };

/** The options for evaluating the rules of an object. */
export interface RuleOptions {
  /** The old object of an update. */
  readonly old?: unknown;
  /** Whether nothing is tolerated. */
  readonly isStrict?: boolean;
}

/** The rules of one schema, compiled on first use. */
export class CompiledRules {
  readonly #run: <T>(pieces: Steps<T>) => MaybePromise<T>;
  readonly #compiler = new RuleCompiler(everything);
  readonly #compiledNodes = new Map<JsonSchemaProps, MaybePromise<CompiledNode | undefined>>();
  /** The expected costs of programs whose evaluations were expensive. */
  readonly #costly = new Map<Program, number>();

  /** `run` runs the compilation, in turns or at once. */
  constructor(run: <T>(pieces: Steps<T>) => MaybePromise<T>) {
    this.#run = run;
  }

  /** Whether one evaluation of the program is expected to take long. */
  isCostly(program: Program): boolean {
    return this.#costly.has(program);
  }

  /** Records the cost of an evaluation of the program. */
  hasCost(program: Program, cost: number): void {
    if (cost <= costlyMin && !this.isCostly(program)) return;
    const expected = expectedAfter(cost, this.#costly.get(program));
    if (expected > costlyMin) this.#costly.set(program, expected);
    else this.#costly.delete(program);
  }

  /** Whether the rules of a node are compiled or being compiled. */
  has({ props }: SchemaNode): boolean {
    return this.#compiledNodes.has(props);
  }

  at({ props }: SchemaNode, isWhole: boolean): MaybePromise<CompiledNode | undefined> {
    const cached = this.#compiledNodes.get(props);
    if (cached !== undefined || this.#compiledNodes.has(props)) return cached;
    const compiling = this.#run(this.#compiler.compile(props, isWhole));
    this.#compiledNodes.set(props, compiling);
    if (isLate(compiling)) {
      compiling.then(
        (compiled) => this.#compiledNodes.set(props, compiled),
        () => this.#compiledNodes.delete(props),
      );
    }
    return compiling;
  }
}

/** A step into a value: the name of a property or of an entry, or the index of an item. */
interface Step {
  readonly at: string | number;
  readonly isProperty: boolean;
}

/** Reads the value of an optional `oldSelf`. Upstream does not read it by the schema. */
const readUntyped = readerOf(dyn);

/** Thrown to end all evaluation. */
class Stopped extends Error {}

/** One run of rules over values, in pieces, with one budget. */
export class RuleRun implements RuleFindings {
  readonly errors: FieldError[] = [];
  readonly tolerated: FieldError[] = [];
  readonly #rules: CompiledRules;
  #correlation: Correlation | undefined;
  #field = FieldPath.root;
  /** The steps from the root to the current value. */
  readonly #way: Step[] = [];
  #costLeft = objectCostMax;
  #workLeft = objectWorkMax;
  /** The run begins as if an expensive evaluation came before it: others may have used the same turn. */
  #sincePause = costlyMin;

  constructor(rules: CompiledRules) {
    this.#rules = rules;
  }

  /** Evaluates the rules of a whole object and of its parts, with the old object of an update. */
  *object(node: SchemaNode, value: unknown, { old, isStrict }: RuleOptions): Steps<void> {
    if (old !== undefined && isStrict !== true) this.#correlation = new Correlation(node, value, old);
    // Both values are JSON.
    yield* this.#untilStopped(this.#value(node, value as Value, old as Value | undefined, true));
  }

  /** Evaluates the rules of the default at `field`: first as a new value, then as an unchanged one. */
  *default(node: SchemaNode, value: unknown, field: FieldPath, isWhole: boolean): Steps<void> {
    this.#field = field;
    this.errors.length = 0;
    yield* this.#untilStopped(this.#value(node, value as Value, undefined, isWhole)); // the value is JSON
    if (this.errors.length === 0) yield* this.#untilStopped(this.#value(node, value as Value, value as Value, isWhole));
  }

  /** The cost of all evaluations so far, work included. */
  get spent(): number {
    return objectCostMax - this.#costLeft + objectWorkMax - this.#workLeft;
  }

  *#untilStopped(work: Steps<void>): Steps<void> {
    try {
      yield* work;
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      this.#way.length = 0;
    }
  }

  *#value(node: SchemaNode, value: Value, old: Value | undefined, isWhole: boolean): Steps<void> {
    if (value === null || value === undefined) return;
    if (node.props["x-kubernetes-validations"] !== undefined) {
      yield* this.#evaluateRules(node, value, old ?? undefined, isWhole);
    }
    if (typeof value !== "object") return;
    if (Array.isArray(value)) yield* this.#list(node, value as readonly Value[], old);
    else yield* this.#object(node, value as Json, old);
  }

  *#list({ items, listType, mapKeys }: SchemaNode, list: readonly Value[], old: Value | undefined): Steps<void> {
    if (items === undefined || !items.hasRules) return;
    const before = listType === "map" && Array.isArray(old) ? itemsByKey(old, mapKeys) : undefined;
    for (let at = 0; at < list.length; at++) {
      this.#way.push({ at, isProperty: false });
      const key = before === undefined ? undefined : itemKey(list[at], mapKeys);
      // The result is an item of the old list.
      const oldItem = key === undefined ? undefined : (before?.get(key) as Value | undefined);
      yield* this.#value(items, list[at]!, oldItem, items.embedded);
      this.#way.pop();
    }
  }

  *#object({ properties, additional }: SchemaNode, object: Json, old: Value | undefined): Steps<void> {
    const before = isObject(old) ? old : undefined;
    const oldMember = (name: string): Value | undefined =>
      before !== undefined && Object.hasOwn(before, name) ? before[name] : undefined;
    if (typeof additional === "object" && additional.hasRules) {
      for (const at of Object.keys(object).sort()) {
        this.#way.push({ at, isProperty: false });
        yield* this.#value(additional, object[at]!, oldMember(at), additional.embedded);
        this.#way.pop();
      }
    }
    if (properties === undefined) return;
    for (const [at, property] of properties) {
      if (!property.hasRules || !Object.hasOwn(object, at)) continue;
      this.#way.push({ at, isProperty: true });
      yield* this.#value(property, object[at]!, oldMember(at), property.embedded);
      this.#way.pop();
    }
  }

  *#evaluateRules(node: SchemaNode, self: Value, old: Value | undefined, isWhole: boolean): Steps<void> {
    const isNew = !this.#rules.has(node);
    const compilation = this.#rules.at(node, isWhole);
    const compiledNode = yield* awaited(compilation);
    // The compilation was a piece of its own, or many evaluations have waited for it.
    if (isNew || isLate(compilation)) yield undefined;
    if (compiledNode === undefined) {
      const detail = "rule compiler initialization error: unable to convert structural schema to CEL declarations";
      this.#stop(invalid(this.#path(), node.props.type ?? "", detail));
    }
    for (const [at, validation] of (node.props["x-kubernetes-validations"] ?? []).entries()) {
      const compiled = compiledNode.rules[at]!;
      const value = { node, self, old, compiled: compiledNode };
      if (this.#isPauseDue(compiled.rule)) yield undefined;
      if (this.#holds(validation, compiled, value)) continue;
      if (this.#isPauseDue(compiled.message)) yield undefined;
      this.#broken(validation, compiled, value);
    }
  }

  #isPauseDue(next: CompiledRule["rule"]): boolean {
    const isCostly = next !== undefined && "program" in next && this.#rules.isCostly(next.program);
    if (this.#sincePause < (isCostly ? costlyMin : pieceCost)) return false;
    this.#sincePause = 0;
    return true;
  }

  /** Whether a rule is true, or does not apply. If it has no value, this is a finding, and the result is true. */
  #holds(validation: ValidationRule, compiled: CompiledRule, at: At): boolean {
    const { rule, usesOldSelf } = compiled;
    if (rule === undefined) return true;
    const isOptional = validation.optionalOldSelf === true;
    const type = at.node.props.type ?? "";
    if ("problem" in rule) {
      this.#add(invalid(this.#path(), type, `rule compile error: ${rule.problem}`));
      return true;
    }
    if (usesOldSelf && !isOptional && at.old === undefined) return true;
    const result = this.#evaluate(rule.program, at, isOptional);
    if (result === undefined) {
      const detail = "validation failed due to running out of cost budget, no further validation rules will be run";
      this.#stop(invalid(this.#path(), type, detail));
    }
    if (!("error" in result)) return result.value === true;
    this.#failed(result.error.message, result.isOverBudget, validation, type);
    return true;
  }

  /** Evaluates a program. Returns `undefined` if the budget of the object is exhausted. */
  #evaluate(program: Program, { self, old }: At, isOptional: boolean): Evaluation | undefined {
    if (this.#workLeft <= 0) return undefined;
    const oldSelf = isOptional ? new Optional(old === undefined ? undefined : readUntyped(old)) : old;
    const result = program.evaluate(
      { self, oldSelf },
      { costLimit: callCostMax, workLimit: Math.min(this.#workLeft, workMax) },
    );
    const work = result.work + evaluationWork;
    this.#workLeft -= work;
    this.#sincePause += result.cost + work;
    this.#rules.hasCost(program, result.cost + work);
    if (result.cost > this.#costLeft) return undefined;
    this.#costLeft -= result.cost;
    return result;
  }

  /** Reports that a rule has no value. Upstream: this is an error even if the part is unchanged. */
  #failed(message: string, isOverBudget: boolean, validation: ValidationRule, type: string): void {
    const said = ruleText(validation);
    if (isOverBudget) {
      const detail = `'${message}': no further validation rules will be run due to call cost exceeds limit for rule: ${said}`;
      this.#stop(invalid(this.#path(), type, detail));
    }
    const detail = message.startsWith("no such overload")
      ? `'${message}': call arguments did not match a supported operator, function or macro signature for rule: ${said}`
      : `${message} evaluating rule: ${said}`;
    this.#add(invalid(this.#path(), type, detail));
  }

  /** Reports that a rule is false. */
  #broken(validation: ValidationRule, { message, usesOldSelf }: CompiledRule, at: At): void {
    const type = at.node.props.type ?? "";
    const field = this.#path(validation.fieldPath ?? "", at.node.props);
    const said =
      validation.message === undefined || validation.message === ""
        ? `failed rule: ${ruleText(validation)}`
        : validation.message.trim();
    const detail =
      message === undefined || "problem" in message
        ? undefined
        : this.#message(message.program, validation.messageExpression ?? "", at, validation.optionalOldSelf === true);
    this.#report(findingOf(validation.reason, field, type, detail ?? said), usesOldSelf);
  }

  /** Returns the text of a message expression; `undefined` if it has none that can be shown. */
  #message(program: Program, source: string, at: At, isOptional: boolean): string | undefined {
    const type = at.node.props.type ?? "";
    const result = this.#evaluate(program, at, isOptional);
    if (result === undefined) {
      const detail =
        "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run";
      this.#stop(invalid(this.#path(), type, detail));
    }
    if ("error" in result) {
      if (!result.isOverBudget) return undefined;
      const detail = `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${goQuote(source)}`;
      this.#stop(invalid(this.#path(), type, detail));
    }
    const text = typeof result.value === "string" ? result.value.trim() : "";
    const isShown = text !== "" && !/[\n\r]/.test(text) && Buffer.byteLength(text) <= messageMax;
    return isShown ? text : undefined;
  }

  /**
   * Reports a finding. A finding about a part that an update left unchanged is not an error, unless the rule is about
   * the change itself.
   */
  #report(finding: FieldError, usesOldSelf: boolean): void {
    if (!usesOldSelf && this.#isUnchanged()) {
      if (this.tolerated.length < findingsMax) this.tolerated.push(finding);
    } else this.#add(finding);
  }

  #add(finding: FieldError): void {
    this.errors.push(finding);
    if (this.errors.length >= findingsMax) throw new Stopped();
  }

  #stop(finding: FieldError): never {
    this.errors.push(finding);
    throw new Stopped();
  }

  /**
   * Whether the current value equals the old one. If the two cannot be compared, the nearest value around it decides.
   */
  #isUnchanged(): boolean {
    let correlation = this.#correlation;
    if (correlation === undefined) return false;
    for (const { at } of this.#way) {
      const inner: Correlation | undefined = typeof at === "number" ? correlation.index(at) : correlation.key(at);
      if (inner === undefined) break;
      correlation = inner;
    }
    return correlation.isUnchanged();
  }

  /** Returns the path of the current value, or of a field below it. */
  #path(fieldPath = "", props?: JsonSchemaProps): FieldPath {
    let path = this.#field;
    for (const { at, isProperty } of this.#way) {
      if (typeof at === "number") path = path.index(at);
      else path = isProperty ? path.child(at) : path.key(at);
    }
    if (fieldPath === "" || props === undefined) return path;
    const target = readFieldPath(fieldPath, props);
    return typeof target === "string" ? path : path.child(target.path);
  }
}

/** A value, and the data that its rules need. */
interface At {
  readonly node: SchemaNode;
  readonly self: Value;
  readonly old: Value | undefined;
  readonly compiled: CompiledNode;
}

const isObject = (value: Value | undefined): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the name of a rule in errors. */
const ruleText = ({ message = "", rule = "" }: ValidationRule): string => (message === "" ? rule : message).trim();

function findingOf(reason: string | undefined, field: FieldPath, type: string, text: string): FieldError {
  switch (reason) {
    case "FieldValueForbidden":
      return forbidden(field, text);
    case "FieldValueRequired":
      return required(field, text);
    case "FieldValueDuplicate":
      return duplicate(field, type);
    default:
      return invalid(field, type, text);
  }
}
