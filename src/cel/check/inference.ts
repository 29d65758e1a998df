/**
 * Infers types for one expression: holds its type variables and their bindings. Steps and the depth of types are
 * bounded, since a few macros can make types that are exponentially large. Beyond a bound, results are meaningless and
 * `isExhausted` is true.
 */
import { type CelType, dyn, listOf, mapOf, opaque, parameter, type TypeParameter, typeOf } from "../types.ts";

/** The number of steps that every expression may take; `stepsPerNode` are added for each of its nodes. */
const stepsAtFirst = 100_000;
const stepsPerNode = 50;
const depthMax = 1000;

export class Inference {
  readonly #bindings = new Map<string, CelType>();
  /**
   * The earlier bindings of type variables, restored if a comparison fails. `was` is `undefined` for a variable that
   * was free.
   */
  readonly #undo: { readonly name: string; readonly was: CelType | undefined }[] = [];
  #variables = 0;
  #stepsLeft = stepsAtFirst;
  #depth = 0;
  #isExhausted = false;

  /** Allows the steps of one more node. */
  addNode(): void {
    this.#stepsLeft += stepsPerNode;
  }

  get isExhausted(): boolean {
    return this.#isExhausted;
  }

  /** Returns a new type variable. Errors show its name, so clients can see the count of variables. */
  variable(): TypeParameter {
    return parameter(`_var${this.#variables++}`);
  }

  /** Advances the count as if `count` variables had been made. */
  skipVariables(count: number): void {
    this.#variables += count;
  }

  /** Whether `from` is assignable to `to`. If so, type variables are bound accordingly. */
  fits(from: CelType, to: CelType): boolean {
    return this.#settle(this.#fits(from, to));
  }

  /** Whether each type of `from` is assignable to the type in the same position of `to`. */
  allFit(from: readonly CelType[], to: readonly CelType[]): boolean {
    return this.#settle(from.length === to.length && from.every((type, index) => this.#fits(type, to[index]!)));
  }

  /**
   * Returns the type with bound variables replaced by their types. Free variables stay, or become `dyn`. Returns the
   * same object if nothing changes.
   */
  resolve(type: CelType, freeBecomeDyn = false): CelType {
    switch (type.kind) {
      case "parameter": {
        const bound = this.#bindings.get(type.name);
        if (bound === undefined) return freeBecomeDyn ? dyn : type;
        return this.#deeper(() => this.resolve(bound, freeBecomeDyn), dyn);
      }
      case "list":
      case "map":
      case "opaque":
      case "type":
        return this.#deeper(() => withParts(type, (part) => this.resolve(part, freeBecomeDyn)), dyn);
      default:
        return type;
    }
  }

  #settle(isTrue: boolean): boolean {
    while (!isTrue && this.#undo.length > 0) {
      const { name, was } = this.#undo.pop()!;
      if (was === undefined) this.#bindings.delete(name);
      else this.#bindings.set(name, was);
    }
    this.#undo.length = 0;
    return isTrue;
  }

  #bind(name: string, type: CelType): void {
    this.#undo.push({ name, was: this.#bindings.get(name) });
    this.#bindings.set(name, type);
  }

  /** Runs `step` one level deeper. Returns `otherwise` if a bound is exceeded. */
  #deeper<Result>(step: () => Result, otherwise: Result): Result {
    if (--this.#stepsLeft < 0 || this.#depth >= depthMax) this.#isExhausted = true;
    if (this.#isExhausted) return otherwise;
    this.#depth++;
    const result = step();
    this.#depth--;
    return result;
  }

  #fits(from: CelType, to: CelType): boolean {
    if (from === to) return true;
    if (to.kind === "parameter") {
      const outcome = this.#standsFor(to, from);
      if (outcome !== "circular") return outcome === "fits";
    }
    if (from.kind === "parameter") return this.#standsFor(from, to) === "fits";
    if (isLoose(from) || isLoose(to)) return true;
    if (from.kind === "null_type") return hasNull(to);
    if (to.kind === "null_type") return hasNull(from);
    switch (from.kind) {
      case "list":
        return to.kind === "list" && this.#partsFit([from.element], [to.element]);
      case "map":
        return to.kind === "map" && this.#partsFit([from.key, from.value], [to.key, to.value]);
      case "opaque":
        return to.kind === "opaque" && from.name === to.name && this.#partsFit(from.parameters, to.parameters);
      case "object":
        return to.kind === "object" && from.name === to.name;
      default:
        return from.kind === to.kind;
    }
  }

  #partsFit(from: readonly CelType[], to: readonly CelType[]): boolean {
    if (from.length !== to.length) return false;
    return this.#deeper(() => from.every((part, index) => this.#fits(part, to[index]!)), true);
  }

  /**
   * Binds the variable to the type if it is free. If it is bound to a compatible type, it is then bound to the more
   * general one of both. Returns `circular` if the variable is free and a part of the type.
   */
  #standsFor(variable: TypeParameter, type: CelType): "fits" | "conflicts" | "circular" {
    if (type.kind === "parameter" && type.name === variable.name) return "fits";
    const bound = this.#bindings.get(variable.name);
    if (bound === undefined) {
      if (this.#mentions(type, variable)) return "circular";
      this.#bind(variable.name, type);
      return "fits";
    }
    if (!this.#deeper(() => this.#fits(type, bound), true)) return "conflicts";
    const general = this.moreGeneral(type, bound);
    if (general !== bound && !this.#mentions(general, variable)) this.#bind(variable.name, general);
    return "fits";
  }

  #mentions(type: CelType, variable: TypeParameter): boolean {
    if (type.kind === "parameter") {
      if (type.name === variable.name) return true;
      const bound = this.#bindings.get(type.name);
      return bound !== undefined && this.#deeper(() => this.#mentions(bound, variable), false);
    }
    const parts = partsOf(type);
    return parts.length > 0 && this.#deeper(() => parts.some((part) => this.#mentions(part, variable)), false);
  }

  /** Returns the more general one of two types; the second if neither is. */
  moreGeneral(one: CelType, other: CelType): CelType {
    return this.#saysNoMore(one, other) ? one : other;
  }

  #saysNoMore(one: CelType, other: CelType): boolean {
    if (one === other || isDynamic(one) || one.kind === "parameter") return true;
    if (isDynamic(other) || other.kind === "parameter" || one.kind !== other.kind) return false;
    if (one.kind === "type") return true;
    if ((one.kind === "opaque" && other.kind === "opaque") || (one.kind === "object" && other.kind === "object")) {
      if (one.name !== other.name) return false;
    }
    const parts = partsOf(one);
    const others = partsOf(other);
    if (parts.length !== others.length) return false;
    return (
      parts.length === 0 || this.#deeper(() => parts.every((part, at) => this.#saysNoMore(part, others[at]!)), true)
    );
  }
}

/** Whether values of a type may have any type. */
export const isDynamic = (type: CelType): boolean => type.kind === "dyn" || type.kind === "any";

/** Whether a type is compatible with every type. */
export const isLoose = (type: CelType): boolean => isDynamic(type) || type.kind === "error";

/** Whether values of a type may be null. */
function hasNull(type: CelType): boolean {
  return (
    type.kind === "object" ||
    type.kind === "opaque" ||
    type.kind === "timestamp" ||
    type.kind === "duration" ||
    type.kind === "null_type"
  );
}

/** Returns the types of which a type consists. */
export function partsOf(type: CelType): readonly CelType[] {
  switch (type.kind) {
    case "list":
      return [type.element];
    case "map":
      return [type.key, type.value];
    case "opaque":
      return type.parameters;
    case "type":
      return type.of === undefined ? [] : [type.of];
    default:
      return [];
  }
}

/** Returns the type with each part replaced; the same object if all parts are the same. */
export function withParts(type: CelType, replaced: (part: CelType) => CelType): CelType {
  switch (type.kind) {
    case "list": {
      const element = replaced(type.element);
      return element === type.element ? type : listOf(element);
    }
    case "map": {
      const key = replaced(type.key);
      const value = replaced(type.value);
      return key === type.key && value === type.value ? type : mapOf(key, value);
    }
    case "opaque": {
      const parameters = type.parameters.map(replaced);
      return parameters.every((part, at) => part === type.parameters[at]) ? type : opaque(type.name, ...parameters);
    }
    case "type": {
      const of = type.of && replaced(type.of);
      return of === type.of ? type : typeOf(of);
    }
    default:
      return type;
  }
}
