/**
 * Schemas as data: one tree of `Schema` nodes per type drives decoding, defaulting, validation, apply, strategic merge
 * patch and OpenAPI, for built-in kinds and custom resources.
 */

/** The types whose JSON form does not follow from their structure; of built-in kinds only. */
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

/** The schema of one type, or of a field or member that uses a type. */
export interface Schema {
  /**
   * `object` is a struct with `fields`; `map` has string keys and `items` as values; `any` is unchecked JSON.
   */
  readonly type: "object" | "map" | "array" | "string" | "integer" | "number" | "boolean" | "any";
  /** The OpenAPI format: int32, int64, double, byte, date-time, …. */
  readonly format?: string;
  readonly special?: SpecialType;
  /** The definition name of a named built-in type, with the domain applied (`io.k8s.api.core.v1.PodSpec`). */
  readonly name?: string;
  /** The fields of an `object`, in Go struct order, which is the order of JSON output. */
  readonly fields?: ReadonlyMap<string, Field>;
  /**
   * The schema of the members of an `array`, or of the values of a `map`. In the special `schemaOr…` types, it is the
   * schema of schemas.
   */
  readonly items?: Schema;
  readonly enum?: readonly string[];
  readonly nullable?: boolean;
  /** The way in which apply merges a list; atomic if it is absent. */
  readonly listType?: "atomic" | "set" | "map";
  readonly listMapKeys?: readonly string[];
  /** The way in which apply merges a map or struct; granular if it is absent. */
  readonly mapType?: "atomic" | "granular";
  /** The strategies of a strategic merge patch. */
  readonly patchStrategy?: readonly ("merge" | "replace" | "retainKeys")[];
  readonly patchMergeKey?: string;
  /** The default of a member of a list or map. */
  readonly default?: unknown;
  /** The name of the Go type as decoding errors show it, if it does not follow from the rest (`v1.TaintEffect`). */
  readonly goType?: string;
  /**
   * Custom resources: whether members that the schema does not name are preserved; apply merges these by their JSON
   * form.
   */
  readonly preserveUnknown?: boolean;
  /** Custom resources: whether the value is a whole object, with apiVersion, kind and metadata of its own. */
  readonly embeddedResource?: boolean;
  /** Structs: whether members that are sent without content are recorded (`given-empty.ts`). */
  readonly notesEmpty?: boolean;
  /** `x-kubernetes-unions`. This member and the next are for OpenAPI only. */
  readonly unions?: unknown;
  readonly oneOf?: readonly { readonly type: string }[];
}

/** A field of a struct. */
export interface Field {
  readonly schema: Schema;
  readonly required?: boolean;
  /** The default that OpenAPI shows, zero values included. Decoding applies it unless it is a zero value. */
  readonly default?: unknown;
  /** Whether Go has a pointer, so that absent and zero differ. */
  readonly ptr?: boolean;
  /** Whether JSON output omits the field when it is zero. */
  readonly omitempty?: boolean;
  /**
   * Whether the field is always in JSON output, even when it is zero (`metadata`, `status`, a null
   * `creationTimestamp`).
   */
  readonly keep?: boolean;
  /**
   * Protobuf: `[number, type]`. `protoName` is the name if it differs, `protoIn` the messages that contain the field.
   */
  readonly proto?: readonly [number, string];
  readonly protoName?: string;
  readonly protoIn?: readonly (readonly [number, string, string])[];
}
