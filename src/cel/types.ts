/** The types of expressions, as the checker uses them. */

/**
 * The kinds of types without parts. `dyn` is compatible with every type; `error` is the type of a part with an error,
 * and prevents further findings about it. `any` is compatible with every type, as `dyn` is, and has another name.
 */
type Simple =
  | "dyn"
  | "any"
  | "error"
  | "null_type"
  | "bool"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "bytes"
  | "timestamp"
  | "duration";

/** A type without parts. */
export interface SimpleType {
  readonly kind: Simple;
}

interface ListType {
  readonly kind: "list";
  readonly element: CelType;
  /**
   * The keys that identify elements for `==` and `+`; empty if the whole element does. The comparison of types ignores
   * these keys.
   */
  readonly uniqueBy?: readonly string[];
}

interface MapType {
  readonly kind: "map";
  readonly key: CelType;
  readonly value: CelType;
}

/** The type of a type; `of` is `undefined` for the type of any type. */
interface TypeType {
  readonly kind: "type";
  readonly of: CelType | undefined;
}

/** A type parameter of an overload, such as the `T` in `list(T)`. */
export interface TypeParameter {
  readonly kind: "parameter";
  readonly name: string;
}

/** A type of a library, such as `kubernetes.Quantity` or `optional_type(int)`. */
export interface OpaqueType {
  readonly kind: "opaque";
  readonly name: string;
  readonly parameters: readonly CelType[];
}

/** A type with declared fields. Two types with the same name are the same. */
export interface ObjectType {
  readonly kind: "object";
  readonly name: string;
  /** Returns the type of a field by its (escaped) name in expressions, and its key in JSON. */
  field(name: string): ObjectField | undefined;
  /** The fields whose JSON values need conversion (doubles, timestamps, sets, …), and the objects with such fields. */
  readonly converted?: readonly ObjectField[];
}

/** A field of an object type. `key` is its key in JSON. */
export interface ObjectField {
  readonly key: string;
  readonly type: CelType;
  /** Whether null is a value of the field; by default, a field that is null is absent. */
  readonly isNullable?: boolean;
}

export type CelType = SimpleType | ListType | MapType | TypeType | TypeParameter | OpaqueType | ObjectType;

const simple = (kind: Simple): SimpleType => ({ kind });
export const dyn = simple("dyn");
export const any = simple("any");
export const errorType = simple("error");
export const nullType = simple("null_type");
export const bool = simple("bool");
export const int = simple("int");
export const uint = simple("uint");
export const double = simple("double");
export const string = simple("string");
export const bytes = simple("bytes");
export const timestamp = simple("timestamp");
export const duration = simple("duration");

export const listOf = (element: CelType): ListType => ({ kind: "list", element });
export const mapOf = (key: CelType, value: CelType): MapType => ({ kind: "map", key, value });
/** Returns the type of a type: `type(int)`, or `type` without `of`. */
export const typeOf = (of?: CelType): TypeType => ({ kind: "type", of });
/** Returns a type variable in the signature of a function, such as `T` in `list(T)`. */
export const parameter = (name: string): TypeParameter => ({ kind: "parameter", name });
/** Returns a type whose values have only the functions of a library, such as `net.IP`. */
export const opaque = (name: string, ...parameters: readonly CelType[]): OpaqueType => ({
  kind: "opaque",
  name,
  parameters,
});
export const optionalOf = (type: CelType): OpaqueType => opaque("optional_type", type);

/** Returns the name of a type as errors show it: `list(map(string, dyn))`, `google.protobuf.Timestamp`. */
export function typeName(type: CelType): string {
  switch (type.kind) {
    case "timestamp":
    case "duration":
      return type.kind === "timestamp" ? "google.protobuf.Timestamp" : "google.protobuf.Duration";
    case "list":
      return `list(${typeName(type.element)})`;
    case "map":
      return `map(${typeName(type.key)}, ${typeName(type.value)})`;
    case "type":
      return type.of === undefined ? "type" : `type(${typeName(type.of)})`;
    case "opaque":
      return type.parameters.length === 0 ? type.name : `${type.name}(${type.parameters.map(typeName).join(", ")})`;
    case "parameter":
    case "object":
      return type.name;
    case "any":
      return "google.protobuf.Any";
    default:
      return type.kind === "error" ? "!error!" : type.kind;
  }
}
