/**
 * Writes answers in protobuf: objects, lists and watch events. Stored objects are kept in bounded memory,
 * since lists and watches send them again.
 */
import type { Unstructured } from "#meta/object-meta.ts";
import type { Schema } from "#schema/schema.ts";
import type { LongBody } from "#std/byte-pieces.ts";
import type { Clock } from "#std/clock.ts";
import type { Encodable, EncodableList } from "./encoding.ts";
import { KeptBytes } from "./kept-bytes.ts";
import { envelopeTail, writeEnvelope, writeEnvelopeHead } from "./protobuf-envelope.ts";
import { ProtobufLists } from "./protobuf-list.ts";
import { messageWriter } from "./protobuf-message.ts";
import { ProtobufWriter } from "./protobuf-writer.ts";

/** The types of what is not an object of a kind. */
export interface MetaTypes {
  readonly Status: Schema;
  readonly ListMeta: Schema;
  readonly PartialObjectMetadata: Schema;
}

type Json = Readonly<Record<string, unknown>>;

/** The field numbers of lists. Upstream: `PartialObjectMetadataList` has others in its first version. */
const listFields = { metadata: 1, items: 2 };
const firstPartialListFields = { metadata: 2, items: 1 };

const fieldsOfList = (apiVersion: string, kind: string) =>
  kind === "PartialObjectMetadataList" && apiVersion.endsWith("/v1beta1") ? firstPartialListFields : listFields;

/** The field numbers of watch events, and of an embedded object in such an event. */
const eventFields = { type: 1, object: 2 };
const rawField = 1;

/** The number of bytes in which an event has its length before it. */
export const lengthBytes = 4;

/** The maximum memory of objects that are kept for later answers, in bytes. */
const keptBytesMax = 16 * 1024 * 1024;

interface KeptObject {
  readonly schema: Schema;
  readonly bytes: Buffer;
}

export class ProtobufAnswers {
  readonly #types: MetaTypes;
  readonly #writer = new ProtobufWriter();
  readonly #lists = new ProtobufLists();
  /** The objects in their envelopes, by their keys. */
  readonly #kept = new KeptBytes<KeptObject>(keptBytesMax);

  constructor(types: MetaTypes) {
    this.#types = types;
  }

  /** Returns an object in its envelope. A stored object whose bytes are kept is not even decoded. */
  object(object: Encodable): Buffer {
    const { key, schema } = object;
    const kept = key === undefined ? undefined : this.#kept.get(key);
    if (kept !== undefined && kept.schema === schema) return kept.bytes;
    const value = object.value as Json & Partial<Unstructured>;
    const { apiVersion = "", kind = "" } = value;
    const write = messageWriter(schema ?? this.#typeOf(kind));
    const bytes = this.#write((writer) => writeEnvelope(writer, apiVersion, kind, () => write(writer, value)));
    if (key !== undefined && schema !== undefined) this.#kept.set(key, { schema, bytes });
    return bytes;
  }

  /** Returns an event, after its length in four bytes. */
  frame(type: string, object: Encodable): Buffer {
    const bytes = this.object(object);
    return this.#write((writer) => {
      writer.message(eventFields.object, () => writer.blob(rawField, bytes));
      writer.text(eventFields.type, type);
      const length = Buffer.allocUnsafe(lengthBytes);
      length.writeUInt32BE(writer.length);
      writer.bytes(length);
    });
  }

  /** Returns a list. The length of all items stands before them, so that all are encoded before the first is sent. */
  async list(list: EncodableList, clock: Clock): Promise<LongBody> {
    const { apiVersion = "", kind = "", metadata = {} } = list.members as Partial<Unstructured>;
    const fields = fieldsOfList(apiVersion, kind);
    const schema = list.schema ?? this.#types.PartialObjectMetadata;
    const items = await this.#lists.items(list, { number: fields.items, schema }, clock);
    const meta = this.#write((writer) => this.#listMetadata(writer, fields.metadata, metadata as Json));
    const isItemsFirst = fields.items < fields.metadata;
    const head = this.#write((writer) => {
      if (!isItemsFirst) writer.bytes(meta);
      writeEnvelopeHead(writer, apiVersion, kind, meta.length + items.length);
    });
    const tail = isItemsFirst ? Buffer.concat([meta, envelopeTail]) : envelopeTail;
    return {
      pieces: {
        length: head.length + items.length + tail.length,
        *[Symbol.iterator]() {
          yield head;
          yield* items.chunks();
          yield tail;
        },
      },
    };
  }

  /** Returns a list without items and metadata. */
  emptyList(apiVersion: string, kind: string): Buffer {
    const { metadata } = fieldsOfList(apiVersion, kind);
    return this.#write((writer) =>
      writeEnvelope(writer, apiVersion, kind, () => this.#listMetadata(writer, metadata, {})),
    );
  }

  #listMetadata(writer: ProtobufWriter, number: number, metadata: Json): void {
    writer.message(number, () => messageWriter(this.#types.ListMeta)(writer, metadata));
  }

  #write(write: (writer: ProtobufWriter) => void): Buffer {
    // An object that cannot be written may have left a part of it.
    this.#writer.clear();
    write(this.#writer);
    return this.#writer.finish();
  }

  #typeOf(kind: string): Schema {
    if (kind !== "Status" && kind !== "PartialObjectMetadata") throw new Error(`${kind} has no type in protobuf`);
    return this.#types[kind];
  }
}
