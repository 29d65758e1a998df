/**
 * The interface of an encoding: reads bodies and writes answers in one format. Each format is a file
 * (`json-encoding.ts`, `yaml-encoding.ts`, …), and `encodings.ts` lists them. Negotiation chooses one; all other code
 * uses the chosen one and names no media type of objects. Exceptions: the types of patches (`http/handlers/patch.ts`,
 * `apply.ts`), and the documents of `publication/`.
 */
import type { LongBody, BytePieces } from "#std/byte-pieces.ts";
import type { Clock } from "#std/clock.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { Schema } from "#schema/schema.ts";

/** An encoding in which request bodies can be read. */
export interface BodyEncoding {
  /** `application/json`: how `Accept` and `Content-Type` name it. */
  readonly mediaType: string;
  /**
   * `Content-Type` of a watch in this encoding; empty when it has none. `Accept` names it `<mediaType>;stream=watch`,
   * which need not be the same: JSON's is `application/json`.
   */
  readonly stream: string;
  /** Whether it cannot encode custom resources, whose fields have any type. */
  readonly typedOnly: boolean;
  /** Whether Tables can be had in it. */
  readonly tables: boolean;
  /** The feature gate that must be on; left out: there is none. `server/` reads it. */
  readonly gate?: string;
  /** Whether bodies are text, which errors show, and frames are lines of it, which WebSockets send as such. */
  readonly isText: boolean;
  /** The work that a byte causes, as a multiple of the work of a byte of ordinary JSON. */
  readonly weight: number;
  /**
   * Estimates the number of objects in a body, rather too high than too low. Takes about as long as reading the bytes
   * once.
   */
  objects(bytes: Uint8Array): number;
  /** Decodes one value. `schema` is the expected type, for formats without types. Throws `DecodeError`. */
  decode(bytes: Uint8Array, schema: Schema): DecodedValue;
  /** The error of a value that is no object, or whose `field` is no text; left out: as of JSON. */
  mistyped?(found: unknown, field?: string): string;
}

/** An encoding that answers can have. A `Status` is an object like any other. */
export interface Encoding extends BodyEncoding {
  /** The same with line breaks, for people; left out where there is no such form. */
  readonly indented?: Encoding;
  /**
   * Whether `object` sends the `json` of an object unchanged. Then a GET costs the same for any object: it is not
   * decoded, and its size is not checked.
   */
  readonly sendsStored: boolean;
  /** Whether its frames are those of JSON, byte by byte. Encodings that say so share the frames of an event. */
  readonly hasJsonFrames: boolean;
  /** A whole answer. */
  object(object: Encodable): Buffer;
  /** Encodes a list item by item. An error in its first items rejects; a later one ends the body early. */
  list(list: EncodableList, options: ListEncodingOptions): MaybePromise<LongBody>;
  /**
   * An item as it stands in a list, without its schema: what a thread makes for `list`, where that gives
   * `options.large` the items that are too large for the event loop; left out by formats that give it none.
   */
  item?(value: unknown): Buffer;
  /** One event of a watch; `type` is `ADDED`, `ERROR`, …. */
  frame(type: string, object: Encodable): Buffer;
}

/** Whether answers can be written in it. */
export const isWritten = (encoding: BodyEncoding): encoding is Encoding => "object" in encoding;

/** An object to write. */
export interface Encodable {
  /** Its JSON with a line feed, if that exists already. */
  readonly json: Buffer | undefined;
  /** Shared and read-only. A stored object is decoded on first use. */
  readonly value: object;
  /** Its type, for formats that need one; of objects of built-in kinds, and not of other views of them. */
  readonly schema?: Schema | undefined;
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
  /** An item, from 0 on. */
  item(at: number): unknown;
  /** The type of the items, as of single objects. */
  readonly schema?: Schema | undefined;
  /** The same as JSON text, where that is cheaper to make by itself. */
  readonly itemJson?: ((at: number) => string) | undefined;
  /** The approximate number of bytes of JSON that the item is made of. */
  weight(at: number): number;
  /** The whole list in JSON, if it can be joined from existing bytes. */
  readonly json?: (() => MaybePromise<BytePieces>) | undefined;
}

/** Options for encoding a long list. */
export interface ListEncodingOptions {
  readonly clock: Clock;
  /** Encodes large items beside the event loop: the minimum weight, and the encoder. */
  readonly large?: LargeItems | undefined;
}

interface LargeItems {
  readonly weight: number;
  /** `encoding.item` of a plain value. */
  encode(encoding: Encoding, value: unknown): Promise<Buffer>;
}

/** A body as a value. */
export interface DecodedValue {
  /** Plain JSON. Numbers that JavaScript would change are raw ones (`std/raw-number.ts`), as are floats that are whole. */
  readonly value: unknown;
  /**
   * Keys in the text. More of them than in `value` are double ones, which are then looked for in `text`. `undefined` when
   * `duplicates` has them, or the format cannot have any.
   */
  readonly keys: number | undefined;
  /** The body as JSON text, to search for unknown and double fields; made on demand. */
  text(): string;
  /** Double keys that the decoder found, in the words for clients: those of YAML, by line. */
  readonly duplicates: readonly string[];
  /** Whether there may be raw numbers in `value`. */
  readonly hasRawNumbers: boolean;
}
