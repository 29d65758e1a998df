/** An object of an apply in one version of its kind, with its fields in this version, which are computed once. */
import type { Schema } from "#schema/schema.ts";
import { type FieldSet, isEmptySet } from "./field-set.ts";
import { ConversionProblem, type ObjectVersions, type OwnedObject } from "./managed-fields.ts";
import { removeFields } from "./remove-fields.ts";
import { withStructs } from "./schema-fields.ts";
import { fieldsOf } from "./typed-fields.ts";

export class VersionedObject {
  readonly apiVersion: string;
  readonly schema: Schema;
  readonly value: OwnedObject;
  readonly #versions: ObjectVersions;
  #fields: FieldSet | undefined;

  constructor(versions: ObjectVersions, apiVersion: string, schema: Schema, value: OwnedObject) {
    this.#versions = versions;
    this.apiVersion = apiVersion;
    this.schema = schema;
    this.value = value;
  }

  /** All fields of the object, structs included. */
  get fields(): FieldSet {
    this.#fields ??= withStructs(this.schema, fieldsOf(this.schema, this.value));
    return this.#fields;
  }

  /**
   * Returns the same object in another version. Throws `ConversionProblem`; `step` begins its message, in upstream's
   * words.
   */
  in(apiVersion: string, step = ""): VersionedObject {
    if (apiVersion === this.apiVersion) return this;
    const schema = this.#versions.schemaFor(apiVersion) ?? this.schema;
    return new VersionedObject(this.#versions, apiVersion, schema, this.#convert(apiVersion, step));
  }

  #convert(apiVersion: string, step: string): OwnedObject {
    try {
      return this.#versions.convert?.(this.value, this.apiVersion, apiVersion) ?? this.value;
    } catch (error) {
      if (step === "" || !(error instanceof ConversionProblem)) throw error;
      throw new ConversionProblem(`failed to prune fields: ${step}: ${error.message}`, { cause: error });
    }
  }

  without(fields: FieldSet): VersionedObject {
    if (isEmptySet(fields)) return this;
    const value = (removeFields(this.schema, this.value, fields) ?? {}) as OwnedObject; // an object stays one
    return new VersionedObject(this.#versions, this.apiVersion, this.schema, value);
  }
}
