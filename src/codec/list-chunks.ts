/**
 * Encodes lists item by item while the peer reads, with pauses, so that other requests run and the whole list is never
 * in memory.
 */
import type { Chunks, LongBody } from "#std/byte-pieces.ts";
import type { Clock } from "#std/clock.ts";
import { Pace } from "#std/turn.ts";

/** A list as text. */
export interface ListTexts {
  readonly head: string;
  readonly tail: string;
  /** The whole of a list without items. */
  readonly empty: string;
  readonly separator: string;
  item(at: number): string | Promise<string>;
}

const chunkLength = 64 * 1024;
/** Items between two reads of the clock. */
const itemsPerLook = 4;

/** The list in pieces of about 64 KiB. The first is made before this resolves, so that its errors can be reported. */
export async function listChunks(count: number, clock: Clock, texts: ListTexts): Promise<LongBody> {
  const chunks = new ListChunks(count, clock, texts);
  await chunks.begin();
  return { chunks };
}

class ListChunks implements Chunks {
  readonly #count: number;
  readonly #clock: Clock;
  readonly #texts: ListTexts;
  readonly #rest: AsyncGenerator<Buffer, void, undefined>;
  #first: Buffer | undefined;
  length = 0;

  constructor(count: number, clock: Clock, texts: ListTexts) {
    this.#count = count;
    this.#clock = clock;
    this.#texts = texts;
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
    const { head, tail, empty, separator } = this.#texts;
    if (this.#count === 0) {
      yield this.#chunk([empty]);
      return;
    }
    const pace = new Pace(this.#clock);
    let texts = [head];
    let length = head.length;
    for (let at = 0; at < this.#count; at++) {
      const made = this.#texts.item(at);
      const item = typeof made === "string" ? made : await made;
      texts.push(at === 0 ? item : separator + item);
      length += item.length;
      if (length >= chunkLength) {
        yield this.#chunk(texts);
        texts = [];
        length = 0;
      }
      if (at % itemsPerLook === 0 && pace.isDue) await pace.pause();
    }
    texts.push(tail);
    yield this.#chunk(texts);
  }

  #chunk(texts: readonly string[]): Buffer {
    const bytes = Buffer.from(texts.join(""));
    this.length += bytes.length;
    return bytes;
  }
}
