/** The contents of replies: stored objects, and values made for the answer. */
import type { Encodable } from "#codec/encoding.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { parseObject } from "#registry/stored-object.ts";
import type { Entry } from "#storage/watch-cache.ts";
import type { Scope } from "./scope.ts";

/** A stored object, in the version of the request. Decoded on first use, if it was not given. */
export class StoredContent implements Encodable {
  readonly #scope: Scope;
  readonly #entry: Entry;
  readonly #object: Unstructured | undefined;

  constructor(scope: Scope, entry: Entry, object?: Unstructured) {
    this.#scope = scope;
    this.#entry = entry;
    this.#object = object;
  }

  get json(): Buffer {
    const { parts, definition } = this.#scope;
    return parts.objects.servedBytes(definition, this.#entry);
  }

  get value(): Unstructured {
    const { parts, definition } = this.#scope;
    return this.#object ?? parts.objects.object(definition, this.#entry);
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
export const madeContent = (value: object): Encodable => ({ json: undefined, value });
