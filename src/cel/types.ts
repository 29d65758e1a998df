/** Types of expressions, as the checker uses them. */

/** `dyn` is compatible with every type; `error` is that of what could not be checked, and silences further findings. */
type Simple =
  | "dyn"
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
   * A list whose elements have an identity, which `==` and `+` go by, has the keys of objects here, or none for the
   * whole element. Whether types are the same does not depend on it.
   */
  readonly uniqueBy?: readonly string[];
}

interface MapType {
  readonly kind: "map";
  readonly key: CelType;
  readonly value: CelType;
}

/** The type of a type; without `of`, of any. */
interface TypeType {
  readonly kind: "type";
  readonly of: CelType | undefined;
}

/** A parameter of an overload: `list(T)`. */
export interface TypeParameter {
  readonly kind: "parameter";
  readonly name: string;
}

/** A library's own type, such as `kubernetes.Quantity` or `optional_type(int)`. */
export interface OpaqueType {
  readonly kind: "opaque";
  readonly name: string;
  readonly parameters: readonly CelType[];
}

/** A type with declared fields. Two of one name are the same. */
export interface ObjectType {
  readonly kind: "object";
  readonly name: string;
  /** The type of a field as expressions name it (escaped), and the key under which JSON has it. */
  field(name: string): ObjectField | undefined;
  /** Fields whose values JSON does not show as they are (doubles, timestamps, sets, …), or objects with such ones. */
  readonly converted?: readonly ObjectField[];
}

export interface ObjectField {
  readonly key: string;
  readonly type: CelType;
  /** Whether null is a value of the field; by default a field that is null is not there. */
  readonly isNullable?: boolean;
}

export type CelType = SimpleType | ListType | MapType | TypeType | TypeParameter | OpaqueType | ObjectType;

const simple = (kind: Simple): SimpleType => ({ kind });
export const dyn = simple("dyn");
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
export const typeOf = (of?: CelType): TypeType => ({ kind: "type", of });
export const parameter = (name: string): TypeParameter => ({ kind: "parameter", name });
export const opaque = (name: string, ...parameters: readonly CelType[]): OpaqueType => ({
  kind: "opaque",
  name,
  parameters,
});
export const optionalOf = (type: CelType): OpaqueType => opaque("optional_type", type);

/** Errors show a type in this way: `list(map(string, dyn))`, `google.protobuf.Timestamp`. */
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
    default:
      return type.kind === "error" ? "!error!" : type.kind;
  }
}
