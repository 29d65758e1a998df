/**
 * Encodes lists item by item while the peer reads, with pauses, so that other requests run and the whole list is never
 * in memory.
 */
import type { Chunks, LongBody } from "#std/byte-pieces.ts";
import type { Clock } from "#std/clock.ts";
import { Yielder } from "#std/cooperative.ts";
import { isLate, type MaybePromise } from "#std/maybe-promise.ts";

/** A part of a list: text, or bytes of a binary format. */
type ListPart = string | Buffer;

/** The parts of an encoded list. */
interface ListParts {
  readonly head: ListPart;
  readonly tail: ListPart;
  /** The whole list if it has no items. */
  readonly empty: ListPart;
  readonly separator: string;
  item(at: number): MaybePromise<ListPart>;
}

const chunkLength = 32 * 1024;
/** The number of items between two reads of the clock. */
const itemsPerLook = 4;

/**
 * Encodes a list in chunks of about 32 KiB. The first chunk is made before the promise resolves, so that its errors can
 * be reported.
 */
export async function listChunks(count: number, clock: Clock, parts: ListParts): Promise<LongBody> {
  const chunks = new ListChunks(count, clock, parts);
  await chunks.begin();
  return { chunks };
}

class ListChunks implements Chunks {
  readonly #count: number;
  readonly #clock: Clock;
  readonly #parts: ListParts;
  readonly #rest: AsyncGenerator<Buffer, void, undefined>;
  #first: Buffer | undefined;
  length = 0;

  constructor(count: number, clock: Clock, parts: ListParts) {
    this.#count = count;
    this.#clock = clock;
    this.#parts = parts;
    this.#rest = this.#make();
  }

  async begin(): Promise<void> {
    const { value } = await this.#rest.next();
    this.#first = value ?? undefined;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    const first = this.#first;
    this.#first = undefined;
    if (first !== undefined) yield first;
    yield* this.#rest;
  }

  async *#make(): AsyncGenerator<Buffer, void, undefined> {
    const { head, tail, empty, separator } = this.#parts;
    if (this.#count === 0) {
      yield this.#chunk([empty]);
      return;
    }
    const yielder = new Yielder(this.#clock);
    let parts: ListPart[] = [head];
    let length = head.length;
    for (let at = 0; at < this.#count; at++) {
      const next = this.#parts.item(at);
      // Most items are not promises, and a list has thousands: an `await` for each would cost a microtask each.
      const item = isLate(next) ? await next : next;
      if (at > 0 && separator !== "") parts.push(separator);
      parts.push(item);
      length += item.length;
      if (length >= chunkLength) {
        yield this.#chunk(parts);
        parts = [];
        length = 0;
      }
      if (at % itemsPerLook === 0 && yielder.isDue) await yielder.pause();
    }
    parts.push(tail);
    yield this.#chunk(parts);
  }

  #chunk(parts: readonly ListPart[]): Buffer {
    const bytes = parts.every((part) => typeof part === "string")
      ? Buffer.from(parts.join(""))
      : Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : part)));
    this.length += bytes.length;
    return bytes;
  }
}
