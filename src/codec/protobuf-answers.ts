/**
 * Writes answers in protobuf: objects, lists and watch events. The messages of stored objects are kept in bounded memory,
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

/** The maximum memory of messages that are kept for later answers, in bytes. */
const keptBytesMax = 16 * 1024 * 1024;

interface KeptMessage {
  readonly schema: Schema;
  readonly bytes: Buffer;
}

export class ProtobufAnswers {
  readonly #types: MetaTypes;
  readonly #writer = new ProtobufWriter();
  readonly #lists = new ProtobufLists();
  /** The messages by the keys of their objects. */
  readonly #kept = new KeptBytes<KeptMessage>(keptBytesMax);

  constructor(types: MetaTypes) {
    this.#types = types;
  }

  object({ value, schema = this.#typeOf(value), key }: Encodable): Buffer {
    const message = this.#message(schema, key, () => value);
    return this.#write((writer) => writeObject(writer, value, message));
  }

  /** Returns an event, after its length in four bytes. */
  frame(type: string, { value, schema = this.#typeOf(value), key }: Encodable): Buffer {
    const message = this.#message(schema, key, () => value);
    return this.#write((writer) => {
      writer.message(eventFields.object, () => writer.message(rawField, () => writeObject(writer, value, message)));
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

  /** Returns the message of an object, which is kept if it has a key. */
  #message(schema: Schema, key: object | undefined, value: () => unknown): Buffer {
    const kept = key === undefined ? undefined : this.#kept.get(key);
    if (kept?.schema === schema) return kept.bytes;
    const bytes = this.#write((writer) => messageWriter(schema)(writer, value() as Json)); // objects of the schema
    if (key !== undefined) this.#kept.set(key, { schema, bytes });
    return bytes;
  }

  #write(write: (writer: ProtobufWriter) => void): Buffer {
    // An object that cannot be written may have left a part of it.
    this.#writer.clear();
    write(this.#writer);
    return this.#writer.finish();
  }

  #typeOf(value: object): Schema {
    const { kind } = value as Partial<Unstructured>;
    if (kind !== "Status" && kind !== "PartialObjectMetadata") throw new Error(`${kind} has no type in protobuf`);
    return this.#types[kind];
  }
}

function writeObject(writer: ProtobufWriter, value: object, message: Buffer): void {
  const { apiVersion = "", kind = "" } = value as Partial<Unstructured>;
  writeEnvelope(writer, apiVersion, kind, () => writer.bytes(message));
}
