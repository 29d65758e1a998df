/** Walks a tree once, from the leaves up, and records the type and the reference of each node. */
import {
  type Call,
  childrenOf,
  type Comprehension,
  type Expression,
  type Identifier,
  type Issue,
  type ListLiteral,
  type MapLiteral,
  type ObjectLiteral,
  operators,
  type Select,
} from "../ast.ts";
import type { Checked, ConstantReference, Reference, VariableReference } from "../checked.ts";
import type { DeclaredFunction, Environment } from "../environment.ts";
import {
  bool,
  bytes,
  type CelType,
  double,
  dyn,
  errorType,
  int,
  listOf,
  mapOf,
  nullType,
  optionalOf,
  string,
  uint,
} from "../types.ts";
import type { Steps } from "#std/cooperative.ts";
import { Double, type Scalar, Uint } from "../values.ts";
import { CheckFindings } from "./findings.ts";
import { heavyNodes } from "./heavy-nodes.ts";
import { Inference, isDynamic, isLoose, partsOf } from "./inference.ts";
import { optionalSelection, resolveOverloads } from "./overloads.ts";
import { showArguments, showType } from "./show-type.ts";

/** The number of nodes of a large tree after which others have a turn; they take a few milliseconds. */
const nodesPerPiece = 1000;

/** Checks one tree; make a new checker for each tree. */
export class Checker {
  readonly #environment: Environment;
  readonly #inference = new Inference();
  readonly #types = new Map<number, CelType>();
  readonly #references = new Map<number, Reference>();
  readonly #findings = new CheckFindings();
  /** The variables of the loops around the current node, the innermost last. */
  readonly #loops: VariableReference[] = [];
  /** The nodes whose parts are checked before them; `undefined` unless a tree is checked in pieces. */
  #heavy: ReadonlySet<number> | undefined;
  #sincePause = 0;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  run(ast: Expression): Checked | { readonly issues: readonly Issue[] } {
    this.#check(ast);
    return this.#outcome(ast);
  }

  /** Checks a tree as `run` does; others have a turn between the large parts of a large tree. */
  *runInPieces(ast: Expression): Steps<Checked | { readonly issues: readonly Issue[] }> {
    this.#heavy = heavyNodes(ast, nodesPerPiece);
    yield undefined;
    yield* this.#checkInPieces(ast);
    yield undefined;
    return this.#outcome(ast);
  }

  #outcome(ast: Expression): Checked | { readonly issues: readonly Issue[] } {
    const types = this.#resolvedTypes();
    if (this.#inference.isExhausted)
      return { issues: [{ offset: ast.offset, message: "the types of the expression are too complex" }] };
    if (this.#findings.issues.length > 0) return { issues: this.#findings.issues };
    return { ast, types, references: this.#references, type: types.get(ast.id)! };
  }

  #resolvedTypes(): ReadonlyMap<number, CelType> {
    const resolved = new Map<CelType, CelType>();
    for (const [id, type] of this.#types) {
      if (type.kind !== "parameter" && partsOf(type).length === 0) continue;
      let result = resolved.get(type);
      if (result === undefined) {
        result = this.#inference.resolve(type, true);
        resolved.set(type, result);
      }
      if (result !== type) this.#types.set(id, result);
    }
    return this.#types;
  }

  #mismatch(node: Expression, expected: CelType, actual: CelType): void {
    this.#findings.add(node, () => `expected type '${showType(expected)}' but found '${showType(actual)}'`);
  }

  #reportUndeclared(node: Expression, name: string): CelType {
    this.#findings.add(node, () => `undeclared reference to '${name}' (in container '')`);
    return errorType;
  }

  /** Finds, records and returns the type of a node. The type may contain type variables. */
  #check(node: Expression): CelType {
    const checkedType = this.#heavy === undefined ? undefined : this.#types.get(node.id);
    if (checkedType !== undefined) return checkedType;
    this.#inference.addNode();
    this.#sincePause++;
    const type = this.#typeOf(node);
    this.#types.set(node.id, type);
    return type;
  }

  /**
   * Checks a node after its parts. A short operand or target of a select or call is not checked before: it may be a
   * part of a name with dots.
   */
  *#checkInPieces(node: Expression): Steps<CelType> {
    if (this.#heavy?.has(node.id) === true) {
      if (node.kind === "comprehension") return yield* this.#comprehensionInPieces(node);
      const first = node.kind === "select" ? node.operand : node.kind === "call" ? node.target : undefined;
      for (const part of childrenOf(node)) {
        if (part !== first || this.#heavy.has(part.id)) yield* this.#checkInPieces(part);
      }
    }
    const type = this.#check(node);
    if (this.#sincePause > nodesPerPiece) {
      this.#sincePause = 0;
      yield undefined;
    }
    return type;
  }

  *#comprehensionInPieces(node: Comprehension): Steps<CelType> {
    const steps = this.#comprehensionSteps(node);
    let next = steps.next();
    while (next.done !== true) next = steps.next(yield* this.#checkInPieces(next.value));
    this.#inference.addNode();
    this.#types.set(node.id, next.value);
    return next.value;
  }

  #typeOf(node: Expression): CelType {
    switch (node.kind) {
      case "constant":
        return constantType(node.value);
      case "identifier":
        return this.#identifier(node);
      case "select":
        return this.#select(node);
      case "call":
        return this.#call(node);
      case "list":
        return this.#list(node);
      case "map":
        return this.#map(node);
      case "object":
        return this.#object(node);
      case "comprehension":
        return this.#comprehension(node);
    }
  }

  #identifier(node: Identifier): CelType {
    const declaration = this.#findName(node.name);
    if (declaration === undefined) return this.#reportUndeclared(node, node.name);
    this.#references.set(node.id, declaration);
    return declaration.type;
  }

  #findName(source: string): VariableReference | ConstantReference | undefined {
    const name = source.startsWith(".") ? source.slice(1) : source;
    for (let at = this.#loops.length - 1; at >= 0; at--) if (this.#loops[at]!.name === name) return this.#loops[at];
    return this.#environment.findName(name);
  }

  /**
   * Returns `a.b.c` for a node that consists of names only, if the environment may have names that begin with the first
   * one.
   */
  #qualifiedName(node: Expression, last: string): string | undefined {
    let name = last;
    let at = node;
    while (at.kind === "select" && !at.isTest) at = at.operand;
    if (at.kind !== "identifier") return undefined;
    const first = at.name.startsWith(".") ? at.name.slice(1) : at.name;
    if (!this.#environment.mayBegin(first)) return undefined;
    for (at = node; at.kind === "select"; at = at.operand) name = `${at.field}.${name}`;
    return `${first}.${name}`;
  }

  #select(node: Select): CelType {
    if (!node.isTest) {
      const name = this.#qualifiedName(node.operand, node.field);
      const declaration = name === undefined ? undefined : this.#findName(name);
      if (declaration !== undefined) {
        this.#references.set(node.id, declaration);
        return declaration.type;
      }
    }
    const type = this.#fieldType(node, node.operand, node.field, false);
    return node.isTest ? bool : this.#inference.resolve(type);
  }

  #optionalSelect(node: Call): CelType {
    const [operand, field] = node.args;
    if (operand === undefined || field?.kind !== "constant" || typeof field.value !== "string") {
      this.#findings.add(node, () => "unsupported optional field selection");
      return errorType;
    }
    this.#types.set(field.id, string);
    this.#references.set(node.id, optionalSelection);
    return this.#inference.resolve(this.#fieldType(node, operand, field.value, true));
  }

  /** Returns the type of a field. It is optional if `isOptional`, or if the operand is optional. */
  #fieldType(node: Expression, operand: Expression, field: string, isOptional: boolean): CelType {
    const operandType = this.#inference.resolve(this.#check(operand));
    const inner = optionalValue(operandType);
    const type = this.#plainFieldType(node, inner ?? operandType, field);
    return isOptional || inner !== undefined ? optionalOf(type) : type;
  }

  #plainFieldType(node: Expression, operand: CelType, field: string): CelType {
    if (operand.kind === "map") return operand.value;
    if (operand.kind === "object") return this.#objectField(node, operand, field);
    if (operand.kind === "parameter") {
      // The type variable may be bound to any type later, so it is bound to `dyn`, which is compatible with every type.
      this.#inference.fits(dyn, operand);
    } else if (!isLoose(operand)) {
      // Upstream: types of Kubernetes libraries are objects whose fields are not declared.
      const isDeclared = operand.kind === "opaque" && operand.name.startsWith("kubernetes.");
      this.#findings.add(node, () =>
        isDeclared
          ? `unexpected failed resolution of '${operand.name}'`
          : `type '${showType(operand)}' does not support field selection`,
      );
    }
    return dyn;
  }

  #objectField(node: { readonly offset: number }, type: CelType, field: string): CelType {
    const fieldType = type.kind === "object" ? type.field(field) : undefined;
    if (fieldType !== undefined) return fieldType.type;
    this.#findings.add(node, () => `undefined field '${field}'`);
    return errorType;
  }

  #call(node: Call): CelType {
    if (node.name === operators.optionalSelect) return this.#optionalSelect(node);
    const args = node.args.map((arg) => this.#check(arg));
    const { target } = node;
    if (target !== undefined) {
      const qualified = this.#qualifiedName(target, node.name);
      const namespaced = qualified === undefined ? undefined : this.#environment.functions.get(qualified);
      if (namespaced !== undefined) return this.#resolveCall(node, namespaced, args, false);
      args.unshift(this.#check(target));
    }
    const declared = this.#environment.functions.get(node.name);
    if (declared === undefined) return this.#reportUndeclared(node, node.name);
    if (node.name === operators.and || node.name === operators.or) return this.#logic(node, declared, args);
    return this.#resolveCall(node, declared, args, target !== undefined);
  }

  #resolveCall(node: Call, declared: DeclaredFunction, args: readonly CelType[], isMember: boolean): CelType {
    const resolution = resolveOverloads(this.#inference, isMember ? declared.members : declared.plain, args);
    if (resolution === undefined) {
      this.#findings.add(node, () => {
        const resolved = args.map((type) => this.#inference.resolve(type, true));
        return `found no matching overload for '${declared.name}' applied to '${showArguments(resolved, isMember)}'`;
      });
      return errorType;
    }
    this.#references.set(node.id, resolution.reference);
    return resolution.result;
  }

  /** Checks `&&` and `||`: each has one overload, and errors are about the operand that is wrong. */
  #logic(node: Call, declared: DeclaredFunction, args: readonly CelType[]): CelType {
    const before = this.#findings.issues.length;
    args.forEach((type, at) => this.#assertType(node.args[at]!, bool, type));
    const [only] = declared.plain;
    if (only === undefined || this.#findings.issues.length > before) return errorType;
    this.#references.set(node.id, only.reference);
    return bool;
  }

  #assertType(node: Expression, expected: CelType, actual: CelType): void {
    if (!this.#inference.fits(expected, actual)) this.#mismatch(node, expected, actual);
  }

  #list(node: ListLiteral): CelType {
    const optional = new Set(node.optional);
    let element: CelType | undefined;
    node.elements.forEach((item, at) => {
      element = this.#unify(element, this.#entryType(item, optional.has(at)));
    });
    return listOf(element ?? this.#inference.variable());
  }

  #map(node: MapLiteral): CelType {
    let key: CelType | undefined;
    let value: CelType | undefined;
    for (const entry of node.entries) {
      key = this.#unify(key, this.#check(entry.key));
      value = this.#unify(value, this.#entryType(entry.value, entry.isOptional));
    }
    return mapOf(key ?? this.#inference.variable(), value ?? this.#inference.variable());
  }

  /**
   * Returns the type of an element or entry. The type of an entry written with `?` is that inside of the optional type.
   */
  #entryType(node: Expression, isOptional: boolean): CelType {
    const type = this.#check(node);
    if (!isOptional) return type;
    const inner = optionalValue(type);
    if (inner === undefined && !isDynamic(type)) this.#mismatch(node, optionalOf(type), type);
    return inner ?? type;
  }

  /** Returns a type to which values of both types belong. */
  #unify(before: CelType | undefined, type: CelType): CelType {
    if (before === undefined) return type;
    return this.#inference.fits(before, type) ? this.#inference.moreGeneral(before, type) : dyn;
  }

  #object(node: ObjectLiteral): CelType {
    const declaration = this.#findName(node.name);
    if (declaration === undefined) return this.#reportUndeclared(node, node.name);
    this.#references.set(node.id, declaration);
    const type = this.#constructedType(node, declaration.type);
    for (const field of node.fields) {
      const valueType = this.#entryType(field.value, field.isOptional);
      const fieldType = this.#objectField(field, type, field.key);
      if (!this.#inference.fits(fieldType, valueType)) {
        this.#findings.add(field, () => {
          const types = `'${showType(fieldType)}' but provided type is '${showType(valueType)}'`;
          return `expected type of field '${field.key}' is ${types}`;
        });
      }
    }
    return type;
  }

  #constructedType(node: ObjectLiteral, named: CelType): CelType {
    if (named.kind === "error") return errorType;
    if (named.kind !== "type") this.#findings.add(node, () => `'${showType(named)}' is not a type`);
    else if (named.of?.kind === "object") return named.of;
    else this.#findings.add(node, () => `'${node.name.replace(/^\./, "")}' is not a message type`);
    return errorType;
  }

  #comprehension(node: Comprehension): CelType {
    const steps = this.#comprehensionSteps(node);
    let next = steps.next();
    while (next.done !== true) next = steps.next(this.#check(next.value));
    return next.value;
  }

  /** Yields each part when its variables are declared. The caller sends the type of the part. */
  *#comprehensionSteps(node: Comprehension): Generator<Expression, CelType, CelType> {
    const checkedRange = yield node.range;
    const accumulator = yield node.initial;
    const range = this.#inference.resolve(checkedRange);
    const [first, second] = this.#variableTypes(node, range);
    const outside = this.#loops.length;
    this.#enter(node.accumulator, accumulator);
    const around = this.#loops.length;
    this.#enter(node.variable, first);
    if (node.variable2 !== undefined) this.#enter(node.variable2, second);
    this.#assertType(node.condition, bool, yield node.condition);
    this.#assertType(node.step, accumulator, yield node.step);
    this.#loops.length = around;
    const result = yield node.result;
    this.#loops.length = outside;
    return this.#inference.resolve(result);
  }

  #enter(name: string, type: CelType): void {
    this.#loops.push({ kind: "variable", name, type, isLoop: true });
  }

  /**
   * Returns the types of the variables of a loop. One variable has the elements of a list or the keys of a map; two
   * have the indices and elements, or the keys and values.
   */
  #variableTypes(node: Comprehension, range: CelType): readonly [CelType, CelType] {
    const hasTwo = node.variable2 !== undefined;
    if (range.kind === "list") return hasTwo ? [int, range.element] : [range.element, range.element];
    if (range.kind === "map") return [range.key, range.value];
    if (range.kind === "parameter") this.#inference.fits(dyn, range);
    else if (!isLoose(range) || range.kind === "any") {
      this.#findings.add(node.range, () => {
        const message = `expression of type '${showType(range)}' cannot be range of a comprehension`;
        return `${message} (must be list, map, or dynamic)`;
      });
      return [errorType, errorType];
    }
    return [dyn, dyn];
  }
}

/** Returns the type of the value in an optional; `undefined` for other types. */
const optionalValue = (type: CelType): CelType | undefined =>
  type.kind === "opaque" && type.name === "optional_type" ? (type.parameters[0] ?? dyn) : undefined;

function constantType(value: Scalar): CelType {
  switch (typeof value) {
    case "boolean":
      return bool;
    case "string":
      return string;
    case "number":
    case "bigint":
      return int;
    default:
      if (value === null) return nullType;
      if (value instanceof Uint) return uint;
      return value instanceof Double ? double : bytes;
  }
}
