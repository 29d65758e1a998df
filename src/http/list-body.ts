/**
 * Lists as bytes: the stored encodings of the items, joined in pieces while the peer reads. Items of typed lists have
 * no `kind` and `apiVersion`; both are at the beginning of the stored bytes, so they are cut off, not re-encoded.
 *
 * Hot path: nearly all of the cost is the copy; repeated lists of unchanged objects reuse joined chunks
 * (`chunk-cache.ts`).
 */
import type { EncodableList } from "#codec/encoding.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import { servingRulesOf } from "#registry/serving-rules.ts";
import { layoutOf, type StoredObjects } from "#registry/stored-object.ts";
import { type Chunk, type BytePieces, pieceLength, wholeBytesMax } from "#std/byte-pieces.ts";
import type { Clock } from "#std/clock.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { Yielder } from "#std/cooperative.ts";
import type { Entry } from "#storage/watch-cache.ts";

const comma = 0x2c;
const brace = 0x7b;

/** Whether a list in JSON is made of stored bytes, cut and joined; a list in a version with other fields is not. */
export const isJoinable = ({ conversion, custom }: ResourceDefinition): boolean =>
  conversion === undefined || (custom !== undefined && conversion.webhook === undefined);

/** The parts of a list of custom resources in JSON: its objects, and the text around them. */
interface ListParts {
  readonly definition: ResourceDefinition;
  readonly objects: StoredObjects;
  readonly head: Buffer;
  readonly tail: Buffer;
  readonly entries: readonly Entry[];
}

/**
 * Makes the body of a list in JSON, joined from entries that passed `checkShape`. `members` are the members beside the
 * items.
 */
export function listPieces(
  definition: ResourceDefinition,
  objects: StoredObjects,
  members: EncodableList["members"],
  entries: readonly Entry[],
  clock: Clock,
): MaybePromise<BytePieces> {
  const head = Buffer.from(`${JSON.stringify(members).slice(0, -1)},"items":[`);
  const tail = Buffer.from("]}\n");
  return servingRulesOf(definition).listItemsHaveType
    ? customListPieces({ definition, objects, head, tail, entries }, clock)
    : joinEntries(head, tail, entries, layoutOf(definition).prefix.length, true);
}

/** Makes the pieces of a list of custom resources, each of which is checked once per epoch. */
async function customListPieces(
  { definition, objects, head, tail, entries }: ListParts,
  clock: Clock,
): Promise<BytePieces> {
  const { servedPrefix } = layoutOf(definition);
  const yielder = new Yielder(clock);
  const lengths: number[] = [];
  let areServed = true;
  for (const entry of entries) {
    const skip = objects.typeLength(definition, entry);
    lengths.push(skip);
    areServed &&= skip >= 0 && entry.beginsWith(servedPrefix);
    if (yielder.isDue) await yielder.pause();
  }
  if (areServed) return joinEntries(head, tail, entries, 0, false);
  return joinCutEntries(head, tail, entries, (entry, index) => {
    const skip = lengths[index]!;
    return skip < 0 ? [objects.servedBytes(definition, entry)] : [servedPrefix, entry.value.subarray(skip)];
  });
}

/** Joins stored bytes without their first `skip` bytes (replaced by `{` when `open`) and without their newline. */
function joinEntries(head: Buffer, tail: Buffer, entries: readonly Entry[], skip: number, open: boolean): BytePieces {
  const extra = open ? 1 : 0;
  let length = head.length + tail.length + Math.max(0, entries.length - 1);
  for (const entry of entries) length += entry.valueLength - skip - 1 + extra;
  return {
    length,
    *[Symbol.iterator]() {
      const longest = length <= wholeBytesMax ? length : pieceLength;
      let piece = Buffer.allocUnsafe(longest);
      head.copy(piece);
      let at = head.length;
      let bytesLeft = length;
      for (let i = 0; i < entries.length; i++) {
        const entry = entries[i]!;
        const need = entry.valueLength - skip - 1 + extra + 1;
        if (at + need > piece.length) {
          bytesLeft -= at;
          yield piece.subarray(0, at);
          piece = Buffer.allocUnsafe(Math.max(need, Math.min(bytesLeft, longest)));
          at = 0;
        }
        if (i > 0) piece[at++] = comma;
        if (open) piece[at++] = brace;
        at += entry.copyValue(piece, at, skip, entry.valueLength - 1);
      }
      if (at + tail.length > piece.length) {
        yield piece.subarray(0, at);
        yield tail;
      } else {
        at += tail.copy(piece, at);
        yield piece.subarray(0, at);
      }
    },
    *chunks() {
      yield { key: undefined, mark: [], bytes: () => head };
      let from = 0;
      let runBytes = 0;
      for (let i = 0; i < entries.length; i++) {
        const entry = entries[i]!;
        runBytes += entry.valueLength;
        // An entry decides where a chunk ends, not only a length: an added or deleted entry moves few of the ends after
        // it.
        const ends = runBytes >= 2 * pieceLength || (runBytes >= pieceLength / 2 && entry.created % 16 === 0);
        if (!ends && i + 1 < entries.length) continue;
        yield entryChunk(entries, from, i + 1, skip, open);
        from = i + 1;
        runBytes = 0;
      }
      yield { key: undefined, mark: [], bytes: () => tail };
    },
  };
}

/** Makes a chunk of the entries `from` to `to`, each after a comma, except the first of the list. */
function entryChunk(entries: readonly Entry[], from: number, to: number, skip: number, open: boolean): Chunk {
  const mark = [from === 0 ? 0 : 1, open ? 1 : 0, skip];
  for (let i = from; i < to; i++) mark.push(entries[i]!.revision);
  return {
    key: entries[from],
    mark,
    bytes() {
      let length = 0;
      for (let i = from; i < to; i++) length += entries[i]!.valueLength - skip + 1;
      const bytes = Buffer.allocUnsafe(length);
      let at = 0;
      for (let i = from; i < to; i++) {
        const entry = entries[i]!;
        if (i > 0) bytes[at++] = comma;
        if (open) bytes[at++] = brace;
        at += entry.copyValue(bytes, at, skip, entry.valueLength - 1);
      }
      return bytes.subarray(0, at);
    },
  };
}

/** Joins the results of `cut` for entries: parts that together are an object and a newline. */
function joinCutEntries(
  head: Buffer,
  tail: Buffer,
  entries: readonly Entry[],
  cut: (entry: Entry, index: number) => readonly Buffer[],
): BytePieces {
  const separator = Buffer.from(",");
  const parts: Buffer[] = [head];
  for (const [index, entry] of entries.entries()) {
    if (index > 0) parts.push(separator);
    const pieces = cut(entry, index);
    const last = pieces.at(-1)!;
    parts.push(...pieces.slice(0, -1), last.subarray(0, last.length - 1));
  }
  parts.push(tail);
  let length = 0;
  for (const part of parts) length += part.length;
  return {
    length,
    *[Symbol.iterator]() {
      let waiting: Buffer[] = [];
      let bytes = 0;
      for (const part of parts) {
        waiting.push(part);
        bytes += part.length;
        if (bytes < pieceLength) continue;
        yield Buffer.concat(waiting, bytes);
        waiting = [];
        bytes = 0;
      }
      if (bytes > 0) yield Buffer.concat(waiting, bytes);
    },
  };
}
