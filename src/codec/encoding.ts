/**
 * The interface of an encoding: reads bodies and writes answers in one format. Each format is a file
 * (`json-encoding.ts`, `yaml-encoding.ts`, …), and `encodings.ts` lists them. Negotiation chooses one; all other code
 * uses the chosen one and names no media type of objects. Exceptions: the types of patches (`http/handlers/patch.ts`,
 * `apply.ts`), and the documents of `publication/`.
 */
import type { LongBody, BytePieces } from "#std/byte-pieces.ts";
import type { Clock } from "#std/clock.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { DecodeError } from "#schema/decode-error.ts";
import type { Schema } from "#schema/schema.ts";

/** An encoding in which request bodies can be read. */
export interface BodyEncoding {
  /** The name of the encoding in `Accept` and `Content-Type`, such as `application/json`. */
  readonly mediaType: string;
  /**
   * The `Content-Type` of a watch in this encoding; empty if the encoding has no watches. `Accept` names a watch
   * `<mediaType>;stream=watch`, which may differ from this type: that of JSON is `application/json`.
   */
  readonly stream: string;
  /** The name of its watches in refusals, if it is not `<mediaType>;stream=watch`. */
  readonly streamName?: string;
  /** Whether it can encode built-in kinds only: the fields of custom resources have any type. */
  readonly typedOnly: boolean;
  /** Whether it can encode Tables. */
  readonly tables: boolean;
  /** The feature gate that must be on; left out: there is no gate. `server/` reads it. */
  readonly gate?: string;
  /**
   * Whether it is a text format: error messages show its bodies, its frames are lines, and WebSockets send them as
   * text.
   */
  readonly isText: boolean;
  /** The work for one byte, as a multiple of the work for one byte of ordinary JSON. */
  readonly weight: number;
  /**
   * Estimates the number of objects in a body, rather too high than too low. Takes about as long as reading the bytes
   * once.
   */
  objects(bytes: Uint8Array): number;
  /** Decodes one value. `schema` is the expected type, for formats without types. Throws `DecodeError`. */
  decode(bytes: Uint8Array, schema: Schema): DecodedValue;
  /**
   * Returns the error text for a value that is not an object, or whose `field` is not text. Left out: the text is that
   * of JSON.
   */
  mistyped?(value: unknown, field?: string): string;
}

/** An encoding in which answers can be written. A `Status` is an object like any other. */
export interface Encoding extends BodyEncoding {
  /** The same encoding with line breaks, for people; left out if the format has no such form. */
  readonly indented?: Encoding;
  /**
   * Whether `object` sends the `json` of an object unchanged. If so, a GET costs the same for any object: the object is
   * not decoded, and its size is not checked.
   */
  readonly sendsStored: boolean;
  /**
   * Whether its watch frames are those of JSON, byte by byte. Encodings with JSON frames share the frames of an event.
   */
  readonly hasJsonFrames: boolean;
  /** Encodes a whole answer. */
  object(object: Encodable): Buffer;
  /**
   * Encodes a list item by item. After an error in the first items the promise rejects; after a later error the body
   * ends early.
   */
  list(list: EncodableList, options: ListEncodingOptions): MaybePromise<LongBody>;
  /**
   * Encodes a plain value as an item in a list, without its schema. A thread calls this method for the large items that
   * `list` hands to `options.large`. Left out by formats that hand over no items.
   */
  item?(value: unknown): Buffer;
  /** Encodes a list without items and metadata. Left out: watches in this encoding tell the type of a list in JSON. */
  emptyList?(apiVersion: string, kind: string): Buffer;
  /** Encodes one event of a watch; `type` is `ADDED`, `ERROR`, …. */
  frame(type: string, object: Encodable): Buffer;
  /** The number of bytes at the start of a frame that messages of WebSockets lack, such as its length; left out: 0. */
  readonly frameHeadBytes?: number;
}

/** An object to write. */
export interface Encodable {
  /** The JSON of the object with a line feed, if it exists already. */
  readonly json: Buffer | undefined;
  /** The object itself, shared and read-only. A stored object is decoded on first use. */
  readonly value: object;
  /**
   * The type of the object, for formats that need it; only for objects of built-in kinds, not for Tables or partial
   * metadata.
   */
  readonly schema?: Schema | undefined;
  /** An object that identifies the value: the same key and schema always have the same bytes. */
  readonly key?: object | undefined;
}

/** A list to encode: its items, and its other members. */
export interface EncodableList {
  /** Members beside the items, in the order of JSON. */
  readonly members: Readonly<Record<string, unknown>>;
  /** The key of the items, after the other members: `items`, `rows`. */
  readonly itemsKey: string;
  /** Whether an empty list is `null`. */
  readonly emptyIsNull: boolean;
  /** The number of items. */
  readonly count: number;
  /** Returns the item with this index. */
  item(at: number): unknown;
  /** The type of the items, under the same conditions as for `Encodable`. */
  readonly schema?: Schema | undefined;
  /** The stored versions of the items, for encodings that keep their bytes; only where items are whole objects. */
  readonly sources?: readonly ItemSource[] | undefined;
  /** Returns the item as JSON text, if that is cheaper than encoding the value. */
  readonly itemJson?: ((at: number) => string) | undefined;
  /** Returns the approximate number of bytes of JSON from which the item is made. */
  weight(at: number): number;
  /** Returns the whole list in JSON, if it can be joined from existing bytes. */
  readonly json?: (() => MaybePromise<BytePieces>) | undefined;
}

/** The stored version of an item, which is the same object in every list. */
export interface ItemSource {
  /** The revisions at which this version and the object were written. */
  readonly revision: number;
  readonly created: number;
}

/** Options for encoding a long list. */
export interface ListEncodingOptions {
  readonly clock: Clock;
  /** Encodes large items outside of the event loop. */
  readonly large?: LargeItems | undefined;
}

interface LargeItems {
  readonly weight: number;
  /** Returns `encoding.item` of a plain value. */
  encode(encoding: Encoding, value: unknown): Promise<Buffer>;
}

/** A decoded body. */
export interface DecodedValue {
  /**
   * Plain JSON. Numbers that JavaScript would change are raw numbers (`std/raw-number.ts`), and so are floats without a
   * fraction.
   */
  readonly value: unknown;
  /**
   * The number of keys in the text. If it is greater than the number of keys in `value`, some are duplicates, and
   * callers search for them in `text`. `undefined` if `duplicates` lists them, or if the format cannot have any.
   */
  readonly keys: number | undefined;
  /** Returns the body as JSON text, in which unknown and duplicate fields are searched; made on demand. */
  text(): string;
  /** The duplicate keys that the decoder found, in the words for clients. YAML reports them by line. */
  readonly duplicates: readonly string[];
  /** Whether `value` may contain raw numbers. */
  readonly hasRawNumbers: boolean;
  /**
   * The unknown fields that the decoder found and left out, in the words for clients; `duplicates` is then empty. Left
   * out: callers search for them in `value` and `text`.
   */
  readonly unknown?: readonly string[];
  /** The error of a body whose type could be read and nothing else; `value` has the type alone. */
  readonly refusal?: DecodeError;
}
