/**
 * Estimates the maximal cost of an expression before it is accepted, by cel-go's rules and the sizes that schemas
 * declare. Source: the estimates of kube-apiserver, with their oddities, since they decide which definitions are
 * accepted.
 */
import { type Call, type Comprehension, type Expression, type Identifier, operators } from "./ast.ts";
import type { Checked } from "./checked.ts";
import { type Argument, callMax, times } from "./cost/calls.ts";
import type { SizeRange } from "./functions.ts";
import type { Declaration } from "./schema/declaration.ts";
import { type CelType, dyn } from "./types.ts";
import { codePoints } from "./issues.ts";

/** Returns the maximal cost of an expression; infinite if sizes are unknown. `root` declares its variables. */
export function estimateCost(checked: Checked, root: Declaration | undefined): number {
  return new Estimate(checked, root).cost(checked.ast);
}

/** Returns the message about a cost that exceeds `limit`, with the factor by which it does. */
export function exceededText(what: string, cost: number, limit: number): string {
  const factor = cost / limit;
  const shown = factor > 100 ? "more than 100x" : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`;
  const advice =
    "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared";
  return `${what} exceeds budget by factor of ${shown} (${advice})`;
}

/**
 * The origin of a value: its declaration, `lost` for a value outside of all declarations, `undefined` if it was
 * computed.
 */
type Source = Declaration | "lost" | undefined;

const scalars: ReadonlySet<string> = new Set(["bool", "double", "int", "uint", "timestamp", "duration"]);

interface Variable {
  readonly name: string;
  readonly source: Source;
  /** The size of a variable whose initial value is a literal. */
  readonly size?: SizeRange | undefined;
}

class Estimate {
  readonly #checked: Checked;
  readonly #root: Source;
  readonly #sources = new Map<number, Source>();
  readonly #sizes = new Map<number, SizeRange>();
  /** The variables of the loops around the current node, the innermost last. */
  readonly #scopes: Variable[] = [];

  constructor(checked: Checked, root: Declaration | undefined) {
    this.#checked = checked;
    this.#root = root ?? "lost";
  }

  cost(node: Expression): number {
    switch (node.kind) {
      case "constant":
        return 0;
      case "identifier":
        this.#identifier(node);
        return 1;
      case "select": {
        const operand = this.cost(node.operand);
        if (node.isTest) return operand;
        this.#sources.set(node.id, this.#part(this.#sources.get(node.operand.id), node.field));
        const { kind } = this.#type(node.operand);
        return operand + (kind === "map" || kind === "object" ? 1 : 0);
      }
      case "call":
        return this.#call(node);
      case "list":
        return node.elements.reduce((sum, element) => sum + this.cost(element), 10);
      case "map":
        return node.entries.reduce((sum, { key, value }) => sum + this.cost(key) + this.cost(value), 30);
      case "object":
        return node.fields.reduce((sum, { value }) => sum + this.cost(value), 40);
      default:
        return this.#loop(node);
    }
  }

  #type(node: Expression): CelType {
    return this.#checked.types.get(node.id) ?? dyn;
  }

  #identifier({ id, name }: Identifier): void {
    const variable = this.#scopes.findLast((one) => one.name === name);
    this.#sources.set(id, variable === undefined ? this.#root : variable.source);
    if (variable?.size !== undefined) this.#sizes.set(id, variable.size);
  }

  // Upstream: parts of computed values are looked up as if the computed value was the declared root.

  #part(source: Source, field: string): Source {
    if (source === undefined) return this.#root;
    if (source === "lost" || source.kind !== "object") return "lost";
    return source.fields.get(field)?.declaration ?? "lost";
  }

  #element(source: Source): Source {
    if (source === undefined) return this.#root;
    return source !== "lost" && (source.kind === "list" || source.kind === "map") ? source.element : "lost";
  }

  #size(node: Expression): SizeRange {
    const size = this.#sizes.get(node.id) ?? literalSize(node);
    if (size !== undefined) return size;
    const source = this.#sources.get(node.id);
    if (source !== undefined && source !== "lost") return { min: 0, max: source.sizeMax };
    return scalars.has(this.#type(node).kind) ? { min: 1, max: 1 } : { min: 0, max: Number.POSITIVE_INFINITY };
  }

  #argument(node: Expression): Argument {
    const type = this.#type(node);
    const size = this.#size(node);
    if (type.kind !== "list") {
      const typeName = type.kind === "opaque" ? { typeName: type.name } : {};
      return { size, elementCost: 0, elementMax: 0, ...typeName };
    }
    const source = this.#sources.get(node.id);
    const element = source === undefined ? undefined : this.#element(source);
    const isText = type.element.kind === "string" || type.element.kind === "bytes";
    const isKnown = element !== undefined && element !== "lost";
    const elementMax = isKnown ? element.sizeMax : isText ? Number.POSITIVE_INFINITY : 1;
    return { size, elementCost: 1 + (isText ? Math.ceil(elementMax * 0.1) : 0), elementMax };
  }

  #call(node: Call): number {
    const { args, id, name } = node;
    if (name === operators.optionalSelect) return this.cost(args[0]!) + 1;
    const reference = this.#checked.references.get(id);
    const overloads = reference?.kind === "function" ? reference.overloads : [];
    const isMember = node.target !== undefined && overloads.some((overload) => overload.isMember);
    const operands = isMember ? [node.target!, ...args] : args;
    const costs = operands.map((operand) => this.cost(operand));
    const sum = costs.reduce((total, cost) => total + cost, 0);
    if (name === operators.and || name === operators.or) return sum;
    if (name === operators.conditional) {
      const [yes, no] = [this.#size(args[1]!), this.#size(args[2]!)];
      this.#sizes.set(id, { min: Math.min(yes.min, no.min), max: Math.max(yes.max, no.max) });
      return costs[0]! + Math.max(costs[1]!, costs[2]!);
    }
    if (name === operators.index) this.#sources.set(id, this.#element(this.#sources.get(args[0]!.id)));
    const described = operands.map((operand) => this.#argument(operand));
    let most = overloads.length === 0 ? 1 : 0;
    for (const overload of overloads) {
      const { cost, size } = callMax(reference?.kind === "function" ? reference.name : name, overload, described);
      most = Math.max(most, cost);
      const before = this.#sizes.get(id);
      if (size !== undefined) this.#sizes.set(id, { min: 0, max: Math.max(before?.max ?? 0, size.max) });
    }
    return sum + most;
  }

  #loop(node: Comprehension): number {
    const range = this.cost(node.range);
    const initial = this.cost(node.initial);
    const source = this.#sources.get(node.range.id);
    const isMap = this.#type(node.range).kind === "map";
    const keys: Source = isMap && source !== undefined ? keySource : this.#element(source);
    const around = this.#scopes.length;
    this.#scopes.push({ name: node.accumulator, source: this.#root, size: literalSize(node.initial) });
    const result = this.cost(node.result);
    this.#scopes.push({ name: node.variable, source: node.variable2 === undefined || isMap ? keys : this.#root });
    if (node.variable2 !== undefined) this.#scopes.push({ name: node.variable2, source: this.#element(source) });
    const step = this.cost(node.condition) + this.cost(node.step);
    this.#scopes.length = around;
    const count = this.#size(node.range);
    if (node.initial.kind === "list") this.#sizes.set(node.id, count);
    return range + initial + times(count.max, step) + result;
  }
}

/** Upstream: a key of a map has size 0. */
const keySource: Declaration = { kind: "object", fields: new Map(), isPlain: true, sizeMax: 0, jsonMin: 0 };

function literalSize(node: Expression): SizeRange | undefined {
  const size = literalLength(node);
  return size === undefined ? undefined : { min: size, max: size };
}

function literalLength(node: Expression): number | undefined {
  if (node.kind === "list") return node.elements.length;
  if (node.kind === "map") return node.entries.length;
  if (node.kind !== "constant") return undefined;
  if (typeof node.value === "string") return codePoints(node.value);
  return node.value instanceof Uint8Array ? node.value.length : 1;
}
