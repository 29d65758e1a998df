/**
 * CBOR as an encoding: what kube-apiserver 1.32 reads and writes behind an alpha gate. An object follows the tag that
 * says that it is CBOR; a watch is a sequence of such items.
 */
import { parseApiVersion } from "#meta/group-version.ts";
import { DecodeError } from "#schema/decode-error.ts";
import type { Schema } from "#schema/schema.ts";
import type { LongBody } from "#std/byte-pieces.ts";
import type { Clock } from "#std/clock.ts";
import { isObject } from "#std/is-object.ts";
import { array, map } from "./cbor-items.ts";
import { readCbor } from "./cbor-reader.ts";
import { CborWriter, pairsOf } from "./cbor-writer.ts";
import type { BodyEncoding, DecodedValue, Encodable, EncodableList, Encoding } from "./encoding.ts";
import { listChunks } from "./list-chunks.ts";
import { sortedJson } from "./strict.ts";

/** The feature gate that turns CBOR on. */
export const cborGate = "CBORServingAndStorage";

/** The part that reads bodies. */
export const cborBodies: BodyEncoding = {
  mediaType: "application/cbor",
  stream: "application/cbor-seq",
  streamName: "application/cbor-seq",
  typedOnly: false,
  tables: false,
  gate: cborGate,
  isText: false,
  weight: 4,
  objects: containersIn,
  decode: decodeCbor,
};

/** Makes the encoding. Its writer uses its memory again, so that a server has one. */
export function cborEncoding(): Encoding {
  const answers = new CborAnswers();
  return {
    ...cborBodies,
    sendsStored: false,
    hasJsonFrames: false,
    object: (object) => answers.object(object),
    list: (list, { clock }) => answers.list(list, clock),
    emptyList: (apiVersion, kind) => answers.object({ value: { kind, apiVersion, metadata: {}, items: null } }),
    frame: (type, object) => answers.frame(type, object),
  };
}

function decodeCbor(bytes: Uint8Array, schema: Schema): DecodedValue {
  try {
    const body = readCbor(bytes, schema);
    const { unknown, refusal } = body;
    const value = withoutBadType(body.value);
    return {
      value,
      keys: undefined,
      text: () => sortedJson(value),
      duplicates: [],
      hasRawNumbers: true,
      unknown: unknown === undefined ? [] : [unknown],
      ...(refusal === undefined ? {} : { refusal }),
    };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new DecodeError(`unable to determine group/version/kind: ${error.message}`, { cause: error });
  }
}

/** Removes the type if its version cannot be one. Upstream: the type then counts as absent. */
function withoutBadType(value: unknown): unknown {
  if (!isObject(value)) return value;
  const { apiVersion } = value;
  if (typeof apiVersion !== "string" || parseApiVersion(apiVersion) !== undefined) return value;
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = value;
  return rest;
}

class CborAnswers {
  readonly #writer = new CborWriter();

  object({ value, schema }: Pick<Encodable, "value" | "schema">): Buffer {
    return this.#write((writer) => {
      writer.selfDescribed();
      writer.value(value, schema);
    });
  }

  list(list: EncodableList, clock: Clock): Promise<LongBody> {
    const { members, itemsKey, emptyIsNull, count, schema } = list;
    const start = this.#write((writer) => {
      writer.selfDescribed();
      writer.mapHead(pairsOf(members) + 1);
      writer.members(members);
      writer.text(itemsKey);
    });
    const after = (write: (writer: CborWriter) => void): Buffer => Buffer.concat([start, this.#write(write)]);
    return listChunks(count, clock, {
      head: after((writer) => writer.arrayHead(count)),
      tail: "",
      empty: after((writer) => writer.value(emptyIsNull ? null : [])),
      separator: "",
      item: (at) => {
        const item = list.item(at);
        return this.#write((writer) => writer.value(item, schema));
      },
    });
  }

  frame(type: string, { value, schema }: Encodable): Buffer {
    return this.#write((writer) => {
      writer.selfDescribed();
      writer.mapHead(2);
      writer.text("type");
      writer.text(type);
      writer.text("object");
      writer.selfDescribed();
      writer.value(value, schema);
    });
  }

  #write(write: (writer: CborWriter) => void): Buffer {
    // An object that cannot be written may have left a part of it.
    this.#writer.clear();
    write(this.#writer);
    return this.#writer.finish();
  }
}

/** Returns the maximum number of lists and maps: of the bytes that can be their heads. */
function containersIn(bytes: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < bytes.length; at++) {
    const major = bytes[at]! >> 5;
    if (major === map || major === array) count++;
  }
  return count;
}
