/**
 * The schema of one version of a custom kind, compiled on first use. It survives changes of the definition while the
 * schema stays the same.
 */
import type { RuleTimes, SchemaRules } from "#cel/schema-rules.ts";
import type { CustomType } from "#codec/custom-object.ts";
import { customDecoder, type ObjectDecoder } from "#registry/object-decoder.ts";
import type { Schema } from "#schema/schema.ts";
import { type JsonSchemaProps, StructuralSchema } from "#schema/structural.ts";
import { lazy } from "#std/lazy.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";

const expressions = lazy(() => import("#cel/schema-rules.ts"));

export class CustomVersion implements CustomType {
  /** The schema of every object's metadata. */
  readonly metadata: Schema;
  readonly decoder: ObjectDecoder = customDecoder(this);
  #load: () => JsonSchemaProps | undefined;
  #structural: StructuralSchema | undefined;
  readonly #times: RuleTimes | undefined;
  #rules: SchemaRules | undefined;

  /**
   * `load` reads the schema as its author wrote it. It is called rarely, and its result may be kept. `times` learns how
   * long rules take.
   */
  constructor(metadata: Schema, load: () => JsonSchemaProps | undefined, times?: RuleTimes) {
    this.metadata = metadata;
    this.#load = load;
    this.#times = times;
  }

  /** Replaces the function that reads the schema, so that the previous source of the schema is no longer referenced. */
  movedTo(load: () => JsonSchemaProps | undefined): void {
    this.#load = load;
  }

  publishedSchema(): JsonSchemaProps | undefined {
    return this.#structural?.props ?? this.#load();
  }

  get structural(): StructuralSchema {
    return (this.#structural ??= new StructuralSchema(this.#load() ?? { type: "object" }, this.metadata));
  }

  /**
   * The rules of the schema; `undefined` when it has none. The expression language is loaded for the first schema with
   * rules.
   */
  get rules(): MaybePromise<SchemaRules> | undefined {
    if (!this.structural.node.hasRules) return undefined;
    return (
      this.#rules ??
      andThen(expressions(), (loaded) => (this.#rules ??= new loaded.SchemaRules(this.structural, this.#times)))
    );
  }

  /** The schema of whole objects: the author's schema with the fields that every object has. */
  get schema(): Schema {
    return this.structural.schema;
  }
}
