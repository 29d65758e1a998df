/**
 * Writes the items of lists in protobuf: in chunks, which are kept in bounded memory. If the same objects are listed
 * again, nothing is encoded; after a change, only the chunk that contains it.
 */
import type { Schema } from "#schema/schema.ts";
import type { Clock } from "#std/clock.ts";
import { pieceLength } from "#std/byte-pieces.ts";
import { Yielder } from "#std/cooperative.ts";
import type { EncodableList, ItemSource } from "./encoding.ts";
import { KeptBytes } from "./kept-bytes.ts";
import { messageWriter } from "./protobuf-message.ts";
import { ProtobufWriter } from "./protobuf-writer.ts";

/** The bytes of JSON from which a chunk is made, at least where it may end, and at most but for a large item. */
const chunkWeightMin = (5 / 8) * pieceLength;
const chunkWeightMax = (3 / 2) * pieceLength;
/** The maximum memory of chunks that are kept for later lists, and the part of it for one list: others have the rest. */
const keptBytesMax = 64 * 1024 * 1024;
const keptOfListMax = keptBytesMax / 2;
/** The maximum bytes that a list holds until it is sent, although they may not be kept. */
const heldBytesMax = 16 * 1024 * 1024;

/** The items of a list from one index to another, without the latter. */
interface Range {
  readonly from: number;
  readonly to: number;
}

/** The items as fields of their list. */
interface ItemFields {
  readonly number: number;
  readonly schema: Schema;
}

interface KeptChunk {
  readonly schema: Schema;
  /** The versions of the items. */
  readonly versions: readonly number[];
  readonly bytes: Buffer;
}

/** The items of a list as fields. */
interface EncodedItems {
  readonly length: number;
  /** Yields all fields. Those that were not kept are written again. */
  chunks(): Iterable<Buffer>;
}

export class ProtobufLists {
  readonly #writer = new ProtobufWriter();
  /** The chunks by the source of their first item. */
  readonly #kept = new KeptBytes<KeptChunk>(keptBytesMax);

  /** Writes the items, with pauses for other work. */
  async items(list: EncodableList, fields: ItemFields, clock: Clock): Promise<EncodedItems> {
    const yielder = new Yielder(clock);
    const chunks: { readonly range: Range; readonly bytes: Buffer | undefined }[] = [];
    let length = 0;
    for (const range of rangesOf(list)) {
      const bytes = this.#chunk(list, fields, range, length < keptOfListMax);
      length += bytes.length;
      chunks.push({ range, bytes: length <= heldBytesMax ? bytes : undefined });
      if (yielder.isDue) await yielder.pause();
    }
    const chunkOf = (range: Range): Buffer => this.#chunk(list, fields, range, false);
    return {
      length,
      *chunks() {
        for (const { range, bytes } of chunks) yield bytes ?? chunkOf(range);
      },
    };
  }

  /** Returns the bytes that are kept, or makes them; `keeps` says whether they are kept then. */
  #chunk(list: EncodableList, fields: ItemFields, range: Range, keeps: boolean): Buffer {
    const { sources } = list;
    if (sources === undefined) return this.#write(list, fields, range);
    const { schema } = fields;
    const first = sources[range.from]!;
    const kept = this.#kept.get(first);
    if (kept?.schema === schema && haveVersions(sources, range, kept.versions)) return kept.bytes;
    const bytes = this.#write(list, fields, range);
    if (keeps) this.#kept.set(first, { schema, versions: versionsOf(sources, range), bytes });
    return bytes;
  }

  #write(list: EncodableList, { number, schema }: ItemFields, { from, to }: Range): Buffer {
    const writer = this.#writer;
    const write = messageWriter(schema);
    // An item that cannot be written may have left a part of it.
    writer.clear();
    for (let at = to - 1; at >= from; at--) {
      const end = writer.length;
      write(writer, list.item(at) as Readonly<Record<string, unknown>>); // objects of the schema
      writer.wrap(number, end);
    }
    return writer.finish();
  }
}

/**
 * Yields the ranges of chunks. Sources decide where they end, not only weights: a new or deleted object moves few of the
 * ends after it.
 */
function* rangesOf({ count, weight, sources }: EncodableList): Generator<Range, void, undefined> {
  let from = 0;
  let sum = 0;
  for (let at = 0; at < count; at++) {
    sum += weight(at);
    const mayEnd = sources === undefined || sources[at]!.created % 16 === 0;
    if (at + 1 < count && sum < chunkWeightMax && !(mayEnd && sum >= chunkWeightMin)) continue;
    yield { from, to: at + 1 };
    from = at + 1;
    sum = 0;
  }
}

const versionsOf = (sources: readonly ItemSource[], { from, to }: Range): readonly number[] =>
  Array.from({ length: to - from }, (_, at) => sources[from + at]!.revision);

/** Whether the items of a range have these versions. */
function haveVersions(sources: readonly ItemSource[], { from, to }: Range, versions: readonly number[]): boolean {
  if (versions.length !== to - from) return false;
  for (let at = from; at < to; at++) if (sources[at]!.revision !== versions[at - from]) return false;
  return true;
}
