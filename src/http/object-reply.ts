/**
 * Replies with objects and lists in the negotiated view, and their contents: stored objects, or values made for the
 * answer.
 */
import type { Encodable, EncodableList } from "#codec/encoding.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { Listed } from "#registry/store.ts";
import { parseObject, type StoredObjects } from "#registry/stored-object.ts";
import type { Schema } from "#schema/schema.ts";
import type { Entry } from "#storage/watch-cache.ts";
import type { Reply } from "./api-request.ts";
import { isJoinable, listPieces } from "./list-body.ts";
import type { Negotiated } from "./negotiation.ts";
import type { Scope } from "./scope.ts";
import { type ListMeta, viewOf } from "./views.ts";

/** Answers with one object; `entry` is absent after a dry run. */
export function objectReply(
  scope: Scope,
  negotiated: Negotiated,
  code: number,
  object: Unstructured,
  entry: Entry | undefined,
): Reply {
  const { transform, encoding } = negotiated;
  if (transform === "" && entry !== undefined) {
    const { definition, parts } = scope;
    return { code, encoding, object: new StoredContent(parts.objects, definition, entry, object) };
  }
  if (transform === "") return { code, encoding, object: new MadeContent(object, scope.definition) };
  return valueReply(negotiated, code, viewOf(scope, negotiated).object(object));
}

/** Answers with an object that has no other views, such as a `Status`. */
export const valueReply = ({ encoding }: Negotiated, code: number, value: object): Reply => ({
  code,
  encoding,
  object: new MadeContent(value),
});

/** Answers with a collection. */
export function listReply(scope: Scope, negotiated: Negotiated, listed: Listed): Reply {
  const { definition, parts } = scope;
  const { objects, clock } = parts;
  const { entries } = listed;
  const view = viewOf(scope, negotiated);
  const meta: ListMeta = {
    resourceVersion: String(listed.revision),
    ...(listed.continue === "" ? {} : { continue: listed.continue }),
    ...(listed.remainingItemCount === undefined ? {} : { remainingItemCount: listed.remainingItemCount }),
  };
  const frame = view.list(meta);
  for (const entry of entries) objects.checkShape(definition, entry);
  // Objects are read through `listed`, which keeps the results of a conversion webhook referenced.
  const objectAt = (at: number): Unstructured => objects.object(definition, listed.entries[at]!);
  const { itemJson } = view;
  const order = negotiated.transform === "Table" ? definition.rowOrder : undefined;
  const positions = order && [...entries.keys()].sort((one, other) => order(objectAt(one), objectAt(other)));
  const positionOf = (at: number): number => positions?.[at] ?? at;
  const list: EncodableList = {
    ...frame,
    count: entries.length,
    item: (at) => view.item(objectAt(positionOf(at))),
    get schema() {
      return negotiated.transform === "" ? definition.decoder.type : undefined;
    },
    ...(negotiated.transform === "" ? { sources: entries } : {}),
    itemJson:
      itemJson &&
      ((at) =>
        itemJson(
          () => objectAt(positionOf(at)),
          () => objects.metadataText(definition, entries[positionOf(at)]!),
        )),
    weight: (at) => entries[positionOf(at)]!.valueLength,
    ...(negotiated.transform === "" && isJoinable(definition)
      ? { json: () => listPieces(definition, objects, frame.members, entries, clock) }
      : {}),
  };
  return { code: 200, encoding: negotiated.encoding, list };
}

/** Answers with a collection of objects that are not stored. */
export function computedListReply(
  scope: Scope,
  negotiated: Negotiated,
  metadata: ListMeta,
  objects: readonly Unstructured[],
): Reply {
  const view = viewOf(scope, negotiated);
  const list = {
    ...view.list(metadata),
    count: objects.length,
    item: (at: number) => view.item(objects[at]!),
    get schema() {
      return negotiated.transform === "" ? scope.definition.decoder.type : undefined;
    },
    weight: () => 0,
  };
  return { code: 200, encoding: negotiated.encoding, list };
}

/** A stored object, in the version of the request. It is decoded when it is first used, unless it was given. */
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
    return this.#definition.decoder.type;
  }

  get key(): Entry {
    return this.#entry;
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

/** A value without stored bytes. Its type, which needs memory, is made when the encoding asks for it. */
export class MadeContent implements Encodable {
  readonly json = undefined;
  readonly value: object;
  readonly #definition: ResourceDefinition | undefined;

  /** `definition` is that of the kind, if the value is a whole object. */
  constructor(value: object, definition?: ResourceDefinition) {
    this.value = value;
    this.#definition = definition;
  }

  get schema(): Schema | undefined {
    return this.#definition?.decoder.type;
  }
}
