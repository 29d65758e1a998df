/**
 * Schemas as data: one tree of `Schema` nodes per type drives decoding, defaulting, validation, apply, strategic merge
 * patch and OpenAPI, for built-in kinds and custom resources.
 */

/** Types whose JSON form is not what their structure suggests. Built-in kinds only. */
export type SpecialType =
  | "time"
  | "microTime"
  | "duration"
  | "quantity"
  | "intOrString"
  | "rawExtension"
  | "fieldsV1"
  | "json"
  | "schemaOrArray"
  | "schemaOrBool"
  | "schemaOrStringArray";

export interface Schema {
  /**
   * `object` is a struct with `fields`; `map` has string keys and `items` as values; `any` is unchecked JSON.
   */
  readonly type: "object" | "map" | "array" | "string" | "integer" | "number" | "boolean" | "any";
  /** OpenAPI format: int32, int64, double, byte, date-time, … */
  readonly format?: string;
  readonly special?: SpecialType;
  /** Definition name for a named built-in type, the domain applied (`io.k8s.api.core.v1.PodSpec`). */
  readonly name?: string;
  /** An `object` has these, in Go struct order, which is the order of JSON output. */
  readonly fields?: ReadonlyMap<string, Field>;
  /**
   * An `array` has the schema of its members here and a `map` that of its values; the special `schemaOr…` types have
   * the schema of that schema.
   */
  readonly items?: Schema;
  readonly enum?: readonly string[];
  readonly nullable?: boolean;
  /** Lists: how apply merges them. Absent means atomic. */
  readonly listType?: "atomic" | "set" | "map";
  readonly listMapKeys?: readonly string[];
  /** Maps and structs: absent means granular. */
  readonly mapType?: "atomic" | "granular";
  /** Strategic merge patch. */
  readonly patchStrategy?: readonly ("merge" | "replace" | "retainKeys")[];
  readonly patchMergeKey?: string;
  /** Default of a list or map member. */
  readonly default?: unknown;
  /** Name of the Go type as decoding errors show it, where it does not follow from the rest (`v1.TaintEffect`). */
  readonly goType?: string;
  /** Custom resources: members the schema does not name are kept, and apply takes them by their shape. */
  readonly preserveUnknown?: boolean;
  /** Custom resources: the value is a whole object, with apiVersion, kind and metadata of its own. */
  readonly embeddedResource?: boolean;
  /** Structs: members that are given without content are noted (`given-empty.ts`). */
  readonly notesEmpty?: boolean;
  /** `x-kubernetes-unions` and other marks only OpenAPI shows. */
  readonly unions?: unknown;
  readonly oneOf?: readonly { readonly type: string }[];
}

export interface Field {
  readonly schema: Schema;
  readonly required?: boolean;
  /** OpenAPI shows this default, zero values included. It is applied on decode only when it is no zero value. */
  readonly default?: unknown;
  /** A Go pointer: absent and zero differ. */
  readonly ptr?: boolean;
  /** Left out of JSON output when zero. */
  readonly omitempty?: boolean;
  /** Always in JSON output, even when zero (`metadata`, `status`, a null `creationTimestamp`). */
  readonly keep?: boolean;
  /** Protobuf: `[number, type]`, name when it differs, and messages to go through first. */
  readonly proto?: readonly [number, string];
  readonly protoName?: string;
  readonly protoIn?: readonly (readonly [number, string, string])[];
}
