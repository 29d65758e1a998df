/**
 * Lists in forms that must be made: YAML, indented JSON, Tables, metadata alone, versions with other fields. Item by
 * item while the peer reads, with pauses, so that neither others wait nor the whole is in memory. Items that are large
 * become YAML beside the event loop.
 */
import { encodePrettyJson } from "#codec/json.ts";
import { encodeYaml } from "#codec/yaml.ts";
import type { Entry } from "#storage/watch-cache.ts";
import type { Clock } from "#std/clock.ts";
import { Pace } from "#std/turn.ts";
import type { Chunks } from "./api-request.ts";

/** A list as what stands around its items, and how an item is made. */
export interface ListForm {
  /** Members beside the items, in the order of JSON. */
  readonly members: Readonly<Record<string, unknown>>;
  /** Where the items stand, after the other members: `items`, `rows`. */
  readonly itemsKey: string;
  /** Whether an empty list is `null`. */
  readonly emptyIsNull: boolean;
  /** What JSON shows of an item. */
  value(entry: Entry): unknown;
  /** The same as text, where that is cheaper to make by itself. */
  text?(entry: Entry): string;
}

/** How a list becomes text. */
export interface Writer {
  readonly head: string;
  readonly tail: string;
  readonly empty: string;
  readonly separator: string;
  item(entry: Entry): string | Promise<string>;
}

export interface ListChunksOptions {
  readonly clock: Clock;
  /** JSON, of a value that is large, as YAML. */
  readonly largeYaml: ((json: Buffer) => Promise<Buffer>) | undefined;
  /** From so many stored bytes on an item is large. */
  readonly largeBytes: number;
}

const chunkLength = 64 * 1024;
/** Items between two looks at the clock. */
const itemsPerLook = 4;

/** Plain JSON. */
export function jsonWriter(form: ListForm): Writer {
  const head = JSON.stringify(form.members).slice(0, -1);
  const key = JSON.stringify(form.itemsKey);
  return {
    head: `${head},${key}:[`,
    tail: "]}\n",
    empty: `${head},${key}:${form.emptyIsNull ? "null" : "[]"}}\n`,
    separator: ",",
    item: form.text ?? ((entry) => JSON.stringify(form.value(entry))),
  };
}

/** JSON as people read it. */
export function prettyWriter(form: ListForm): Writer {
  const head = encodePrettyJson(form.members).toString().slice(0, -"\n}".length);
  const key = JSON.stringify(form.itemsKey);
  return {
    head: `${head},\n  ${key}: [\n    `,
    tail: "\n  ]\n}",
    empty: `${head},\n  ${key}: ${form.emptyIsNull ? "null" : "[]"}\n}`,
    separator: ",\n    ",
    item: (entry) => encodePrettyJson(form.value(entry)).toString().replaceAll("\n", "\n    "),
  };
}

/** YAML, whose members are in the order of their names. */
export function yamlWriter(form: ListForm, { largeYaml, largeBytes }: ListChunksOptions): Writer {
  const { members, itemsKey } = form;
  const part = (wanted: (key: string) => boolean): string => {
    const some = Object.entries(members).filter(([key]) => wanted(key));
    return some.length === 0 ? "" : encodeYaml(Object.fromEntries(some)).toString();
  };
  const before = part((key) => key < itemsKey);
  const after = part((key) => key > itemsKey);
  return {
    head: `${before}${itemsKey}:\n`,
    tail: after,
    empty: `${before}${itemsKey}: ${form.emptyIsNull ? "null" : "[]"}\n${after}`,
    separator: "",
    item(entry) {
      const list = [form.value(entry)];
      if (largeYaml === undefined || entry.value.length <= largeBytes) return encodeYaml(list).toString();
      return largeYaml(Buffer.from(JSON.stringify(list))).then((bytes) => bytes.toString());
    },
  };
}

/** The bytes of the list, in pieces of about 64 KiB. */
export class ListChunks implements Chunks {
  readonly #writer: Writer;
  readonly #entries: readonly Entry[];
  readonly #clock: Clock;
  #rest: AsyncGenerator<Buffer, void, undefined>;
  #first: Buffer | undefined;
  length = 0;

  constructor(writer: Writer, entries: readonly Entry[], clock: Clock) {
    this.#writer = writer;
    this.#entries = entries;
    this.#clock = clock;
    this.#rest = this.#make();
  }

  /** Makes the first piece, so that what is wrong in it can still be told. */
  async begin(): Promise<this> {
    const { value } = await this.#rest.next();
    this.#first = value ?? undefined;
    return this;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    const first = this.#first;
    this.#first = undefined;
    if (first !== undefined) yield first;
    yield* this.#rest;
  }

  async *#make(): AsyncGenerator<Buffer, void, undefined> {
    const { head, tail, empty, separator } = this.#writer;
    if (this.#entries.length === 0) {
      yield this.#chunk([empty]);
      return;
    }
    const pace = new Pace(this.#clock);
    let texts = [head];
    let length = head.length;
    for (let at = 0; at < this.#entries.length; at++) {
      const made = this.#writer.item(this.#entries[at]!);
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
