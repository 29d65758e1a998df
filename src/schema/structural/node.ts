/**
 * Compiles schemas: one `SchemaNode` per schema, built once, for pruning, defaulting and validation. Types become bit
 * sets, enums become sets, and patterns become programs that are compiled on first use. Flags show which work a whole
 * subtree does not need.
 */
import { nearestNumber } from "#std/int64.ts";
import { isRawNumber } from "#std/raw-number.ts";
import { type FormatCheck, formatCheck } from "./formats.ts";
import { additionalOf, hasDefault, itemsOf, type JsonSchemaProps } from "./json-schema.ts";
import { deepEqual, goJson, isDeeper, type JsonKind, kindOf, numberOf } from "../go-json.ts";
import { openPattern, type Pattern } from "./pattern.ts";

/** The bits of `types` and `accepts`. */
export const kindBits: Readonly<Record<JsonKind, number>> = {
  null: 1,
  boolean: 2,
  string: 4,
  array: 8,
  object: 16,
  integer: 32,
  number: 64,
};

/** A compiled schema. */
export interface SchemaNode {
  readonly props: JsonSchemaProps;
  /** The types that the keyword allows; 0 if it allows any. */
  readonly types: number;
  /** The types as messages show them: `string`, `integer,string`. */
  readonly typeText: string;
  readonly format: string;
  /** The kinds of values whose type is valid without a check. A whole float may be valid too. */
  readonly accepts: number;
  readonly nullable: boolean;
  /** Whether undeclared members are preserved. */
  readonly preserve: boolean;
  readonly embedded: boolean;

  readonly properties: ReadonlyMap<string, SchemaNode> | undefined;
  /** The names of the properties, in the order of findings. */
  readonly names: readonly string[];
  /** The schema of undeclared members; `false` forbids them, `true` and `undefined` leave them unchecked. */
  readonly additional: SchemaNode | boolean | undefined;
  readonly items: SchemaNode | undefined;
  readonly listType: string | undefined;
  readonly mapKeys: readonly string[];

  /** The default as the schema has it. `filled` also has the defaults of its parts, and is made on first use. */
  readonly default: unknown;
  filled: unknown;
  /** The approximate number of bytes of `filled` in JSON. */
  filledBytes: number;
  /** The properties that have a default. */
  readonly defaulted: readonly (readonly [string, SchemaNode])[];

  readonly required: readonly string[] | undefined;
  readonly minProperties: number;
  readonly maxProperties: number;
  readonly minItems: number;
  readonly maxItems: number;
  readonly uniqueItems: boolean;
  /** Whether strings have any rule: a bound for the length, a pattern, or a format. */
  readonly hasText: boolean;
  readonly minLength: number;
  readonly maxLength: number;
  readonly pattern: Pattern | undefined;
  readonly formatCheck: FormatCheck | undefined;
  readonly numbers: NumberRules | undefined;
  readonly enum: EnumRule | undefined;
  readonly logic: Logic | undefined;

  /**
   * Whether the subtree has lists of type `set` or `map`; embedded resources; or rules, except those in combinations.
   */
  readonly hasLists: boolean;
  readonly hasEmbedded: boolean;
  readonly hasRules: boolean;
  /** The size of the largest pattern in the subtree, combinations included; 0 if there is none. */
  readonly patternSize: number;
}

/** The limits of numbers. */
export interface NumberRules {
  readonly maximum: number | undefined;
  readonly exclusiveMaximum: boolean;
  readonly minimum: number | undefined;
  readonly exclusiveMinimum: boolean;
  readonly multipleOf: number | undefined;
}

interface EnumRule {
  readonly values: readonly unknown[];
  readonly strings: ReadonlySet<string>;
  readonly integers: ReadonlySet<unknown>;
  /** The scalars of a long enum, computed on first use. `byText` has its lists and objects by their JSON. */
  scalars: readonly unknown[] | undefined;
  /** The values as messages show them. */
  texts: readonly string[] | undefined;
  byText: ReadonlyMap<string, readonly unknown[]> | undefined;
}

/** The combinations: further schemas for the same value. */
export interface Logic {
  readonly allOf: readonly SchemaNode[];
  readonly anyOf: readonly SchemaNode[];
  readonly oneOf: readonly SchemaNode[];
  readonly not: SchemaNode | undefined;
}

/** The purpose of a node. The rules for checking defaults differ a little from those for objects. */
type Purpose = "objects" | "defaults";

/**
 * Compiles a schema, which must have passed `checkStructural`. For a schema that did not, the node is unspecified, but
 * the function does not throw.
 */
export function compileNode(props: JsonSchemaProps, purpose: Purpose = "objects"): SchemaNode {
  return new Compiler(purpose).node(props);
}

const none: readonly never[] = [];

class Compiler {
  readonly #purpose: Purpose;
  readonly #patterns = new Map<string, Pattern>();
  /** The number of combinations around the schema. */
  #combinations = 0;

  constructor(purpose: Purpose) {
    this.#purpose = purpose;
  }

  node(props: JsonSchemaProps): SchemaNode {
    const items = itemsOf(props);
    const additional = additionalOf(props);
    const itemNode = items === undefined ? undefined : this.node(items);
    const additionalNode = additional === undefined ? undefined : this.node(additional);
    const properties = this.#properties(props);
    const listType = props["x-kubernetes-list-type"];
    const embedded = props["x-kubernetes-embedded-resource"] === true;
    let hasLists = itemNode?.hasLists === true || additionalNode?.hasLists === true;
    let hasEmbedded = itemNode?.hasEmbedded === true || additionalNode?.hasEmbedded === true;
    const hasOwnRules = (props["x-kubernetes-validations"]?.length ?? 0) > 0;
    let hasRules = hasOwnRules || itemNode?.hasRules === true || additionalNode?.hasRules === true;
    let defaulted: [string, SchemaNode][] | undefined;
    if (properties !== undefined) {
      for (const [name, node] of properties) {
        if (node.hasLists) hasLists = true;
        if (node.hasEmbedded) hasEmbedded = true;
        if (node.hasRules) hasRules = true;
        if (node.default !== undefined) (defaulted ??= []).push([name, node]);
      }
    }
    const type = this.#type(props);
    const pattern = this.#pattern(props.pattern);
    const check = props.format === undefined ? undefined : formatCheck(props.format);
    const logic = this.#logic(props);
    return {
      props,
      ...type,
      nullable: props.nullable === true,
      preserve: props["x-kubernetes-preserve-unknown-fields"] === true,
      embedded,
      properties,
      names: properties === undefined ? none : [...properties.keys()],
      additional: additionalNode ?? this.#anyAdditional(props),
      items: itemNode,
      listType,
      mapKeys: props["x-kubernetes-list-map-keys"] ?? none,
      default: hasDefault(props) ? props.default : undefined,
      filled: undefined,
      filledBytes: 0,
      defaulted: defaulted ?? none,
      required: props.required !== undefined && props.required.length > 0 ? props.required : undefined,
      minProperties: nearestNumber(props.minProperties ?? 0),
      maxProperties: nearestNumber(props.maxProperties ?? Number.POSITIVE_INFINITY),
      minItems: nearestNumber(props.minItems ?? 0),
      maxItems: nearestNumber(props.maxItems ?? Number.POSITIVE_INFINITY),
      uniqueItems: props.uniqueItems === true,
      hasText:
        pattern !== undefined || check !== undefined || props.minLength !== undefined || props.maxLength !== undefined,
      minLength: nearestNumber(props.minLength ?? 0),
      maxLength: nearestNumber(props.maxLength ?? Number.POSITIVE_INFINITY),
      pattern,
      formatCheck: check,
      numbers: numberRules(props),
      enum: enumRule(props.enum),
      logic,
      hasLists: listType === "set" || listType === "map" || hasLists,
      hasEmbedded: embedded || hasEmbedded,
      hasRules,
      patternSize: largest(pattern?.size ?? 0, patternSizes(logic, properties, itemNode, additionalNode)),
    };
  }

  /**
   * Returns the value of a boolean `additionalProperties`. Upstream: for defaults, combinations do not affect
   * undeclared members.
   */
  #anyAdditional(props: JsonSchemaProps): boolean | undefined {
    if (typeof props.additionalProperties !== "boolean") return undefined;
    return this.#combinations > 0 && this.#purpose === "defaults" ? undefined : props.additionalProperties;
  }

  #properties(props: JsonSchemaProps): ReadonlyMap<string, SchemaNode> | undefined {
    const schemas = props.properties;
    if (schemas === undefined) return undefined;
    const nodes = new Map<string, SchemaNode>();
    for (const name of Object.keys(schemas).sort()) nodes.set(name, this.node(schemas[name]!));
    return nodes;
  }

  #type(props: JsonSchemaProps): Pick<SchemaNode, "types" | "typeText" | "format" | "accepts"> {
    const isEither = props["x-kubernetes-int-or-string"] === true && this.#purpose === "objects";
    const names = isEither ? ["integer", "string"] : props.type === undefined || props.type === "" ? [] : [props.type];
    let types = 0;
    // An unknown type was stored by an older release; no value has this type.
    for (const name of names) types |= Object.hasOwn(kindBits, name) ? kindBits[name as JsonKind] : unknownBit;
    // Formats that are not checked have no effect; for defaults, they still imply a type.
    const named = props.format ?? "";
    const format = this.#purpose === "objects" && formatCheck(named) === undefined ? "" : named;
    return { types, typeText: names.join(","), format, accepts: acceptedBits(types, format, props.nullable === true) };
  }

  #pattern(text: string | undefined): Pattern | undefined {
    if (text === undefined || text === "") return undefined;
    let pattern = this.#patterns.get(text);
    if (pattern === undefined) this.#patterns.set(text, (pattern = openPattern(text)));
    return pattern;
  }

  #logic(props: JsonSchemaProps): Logic | undefined {
    const list = (schemas: readonly JsonSchemaProps[] | undefined): readonly SchemaNode[] =>
      schemas === undefined ? none : schemas.map((schema) => this.node(schema));
    this.#combinations++;
    const logic = {
      allOf: list(props.allOf),
      anyOf: list(props.anyOf),
      oneOf: list(props.oneOf),
      not: props.not === undefined ? undefined : this.node(props.not),
    };
    this.#combinations--;
    const isNone = logic.allOf.length + logic.anyOf.length + logic.oneOf.length === 0 && logic.not === undefined;
    return isNone ? undefined : logic;
  }
}

function largest(first: number, others: Iterable<number>): number {
  let most = first;
  for (const other of others) if (other > most) most = other;
  return most;
}

function* patternSizes(
  logic: Logic | undefined,
  properties: ReadonlyMap<string, SchemaNode> | undefined,
  ...others: readonly (SchemaNode | undefined)[]
): Generator<number> {
  if (logic !== undefined) for (const node of combinedSchemas(logic)) yield node.patternSize;
  for (const node of properties?.values() ?? []) yield node.patternSize;
  for (const node of others) if (node !== undefined) yield node.patternSize;
}

/** Yields all schemas of a combination. */
export function* combinedSchemas({ allOf, anyOf, oneOf, not }: Logic): Generator<SchemaNode> {
  yield* allOf;
  yield* anyOf;
  yield* oneOf;
  if (not !== undefined) yield not;
}

const unknownBit = 128;

/**
 * Returns the kinds of values that are accepted without a check. Upstream accepts any text or list if there is a format
 * and the type is not a number.
 */
function acceptedBits(types: number, format: string, isNullable: boolean): number {
  let bits = types === 0 || isNullable || (types & kindBits.null) !== 0 ? kindBits.null : 0;
  const isNumeric = (types & (kindBits.integer | kindBits.number)) !== 0;
  for (const kind of ["boolean", "string", "array", "object", "integer", "number"] as const) {
    const bit = kindBits[kind];
    const isText = kind === "string" || kind === "array";
    const isListed = (types & bit) !== 0 || (kind === "integer" && (types & kindBits.number) !== 0);
    if (types === 0 && format === "") bits |= bit;
    else if (isListed || (isText && format !== "" && !isNumeric)) bits |= bit;
  }
  return bits;
}

function numberRules(props: JsonSchemaProps): NumberRules | undefined {
  const { maximum, minimum, multipleOf } = props;
  if (maximum === undefined && minimum === undefined && multipleOf === undefined) return undefined;
  const plain = (limit: number | undefined): number | undefined =>
    limit === undefined ? undefined : Number(numberOf(limit));
  return {
    maximum: plain(maximum),
    exclusiveMaximum: props.exclusiveMaximum === true,
    minimum: plain(minimum),
    exclusiveMinimum: props.exclusiveMinimum === true,
    multipleOf: plain(multipleOf),
  };
}

function enumRule(values: readonly unknown[] | undefined): EnumRule | undefined {
  if (values === undefined || values.length === 0) return undefined;
  return {
    values,
    strings: new Set(values.filter((value) => typeof value === "string")),
    integers: new Set(values.filter((value) => Number.isSafeInteger(value))),
    scalars: undefined,
    texts: undefined,
    byText: undefined,
  };
}

/**
 * Whether a value that is not a string equals a value of the enum. Upstream converts numbers before it compares them.
 */
export function isEnumValue(rule: EnumRule, value: unknown): boolean {
  return candidates(rule, value).some((candidate) => equalsConverted(value, candidate));
}

/** The length up to which an enum is searched value by value, which is faster for short enums. */
const shortEnum = 16;
/** The maximum nesting of the values of an enum. */
const enumDepthMax = 1000;

/** Returns the values of an enum that may equal a value. */
function candidates(rule: EnumRule, value: unknown): readonly unknown[] {
  if (rule.values.length <= shortEnum) return rule.values;
  const kind = kindOf(value);
  if (kind !== "object" && kind !== "array") return (rule.scalars ??= rule.values.filter((one) => !hasParts(one)));
  if (isDeeper(value, enumDepthMax)) return none;
  rule.byText ??= Map.groupBy(rule.values.filter(hasParts), goJson);
  return rule.byText.get(goJson(value)) ?? none;
}

function hasParts(value: unknown): boolean {
  const kind = kindOf(value);
  return kind === "object" || kind === "array";
}

/** Returns the cost of a search for a value. */
export function enumCost(rule: EnumRule, value: unknown): number {
  return rule.values.length > shortEnum && typeof value === "object" && !isRawNumber(value) ? 4 : rule.values.length;
}

function equalsConverted(value: unknown, candidate: unknown): boolean {
  const [kind, wanted] = [kindOf(value), kindOf(candidate)];
  if (kind === "null" || wanted === "null") return false;
  const isNumber = kind === "integer" || kind === "number";
  if (wanted === "integer" && isNumber) {
    const number = numberOf(value);
    return (typeof number === "number" ? Math.trunc(number) : number) === numberOf(candidate);
  }
  if (wanted === "number" && isNumber) return Number(numberOf(value)) === numberOf(candidate);
  return kind === wanted && deepEqual(value, candidate);
}
