/** The contents of replies: stored objects, and values made for the answer. */
import type { Encodable } from "#codec/encoding.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { Schema } from "#schema/schema.ts";
import { parseObject, type StoredObjects } from "#registry/stored-object.ts";
import type { Entry } from "#storage/watch-cache.ts";

/** A stored object, in the version of the request. Decoded on first use, if it was not given. */
export class StoredContent implements Encodable {
  readonly #objects: StoredObjects;
  readonly #definition: ResourceDefinition;
  readonly #entry: Entry;
  readonly #object: Unstructured | undefined;

  constructor(objects: StoredObjects, definition: ResourceDefinition, entry: Entry, object?: Unstructured) {
    this.#objects = objects;
    this.#definition = definition;
    this.#entry = entry;
    this.#object = object;
  }

  get json(): Buffer {
    return this.#objects.servedBytes(this.#definition, this.#entry);
  }

  get schema(): Schema | undefined {
    return schemaOf(this.#definition);
  }

  get value(): Unstructured {
    return this.#object ?? this.#objects.object(this.#definition, this.#entry);
  }
}

/** An object given as JSON. */
export class JsonContent implements Encodable {
  readonly json: Buffer;

  constructor(json: Buffer) {
    this.json = json;
  }

  get value(): Unstructured {
    return parseObject(this.json.toString());
  }
}

/** A value without stored bytes. */
export const madeContent = (value: object, schema?: Schema): Encodable => ({ json: undefined, value, schema });

/** The type of whole objects of a definition, which those of custom kinds do not have. */
export const schemaOf = ({ custom, schema }: ResourceDefinition): Schema | undefined =>
  custom === undefined ? schema : undefined;
