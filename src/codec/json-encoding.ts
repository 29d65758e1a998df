/**
 * JSON as an encoding. The store holds JSON: objects are sent as stored, lists and watch frames are joined from stored
 * bytes.
 */
import { DecodeError } from "#schema/decode-error.ts";
import { andThen } from "#std/maybe-promise.ts";
import type { Encoding } from "./encoding.ts";
import { bracesIn, decodeJson, encodePrettyJson } from "./json.ts";
import { listChunks } from "./list-chunks.ts";
import { unreadablePrefix } from "./unreadable.ts";

const mediaType = "application/json";

/** The members that plain and indented JSON share. */
const common = {
  mediaType,
  stream: mediaType,
  typedOnly: false,
  tables: true,
  isText: true,
  weight: 1,
  hasJsonFrames: true,
  objects: bracesIn,
  decode(bytes) {
    try {
      const { value, keys, text, hasRawNumbers } = decodeJson(bytes);
      return { value, keys, text: () => text, duplicates: [], hasRawNumbers };
    } catch (error) {
      throw error instanceof DecodeError ? new DecodeError(unreadablePrefix + error.message, { cause: error }) : error;
    }
  },
  frame(type, object) {
    const { json } = object;
    if (json === undefined) return Buffer.from(`{"type":"${type}","object":${JSON.stringify(object.value)}}\n`);
    const start = starts.get(type)!; // events about stored objects have one of these types
    const frame = Buffer.allocUnsafe(start.length + json.length - 1 + end.length);
    start.copy(frame);
    json.copy(frame, start.length, 0, json.length - 1);
    end.copy(frame, start.length + json.length - 1);
    return frame;
  },
} as const satisfies Partial<Encoding>;

const end = Buffer.from("}\n");
const starts: ReadonlyMap<string, Buffer> = new Map(
  ["ADDED", "MODIFIED", "DELETED"].map((type) => [type, Buffer.from(`{"type":"${type}","object":`)]),
);

/** Indented JSON, for people. Watches are not indented. */
const indented: Encoding = {
  ...common,
  sendsStored: false,
  object: ({ value }) => encodePrettyJson(value),
  list(list, { clock }) {
    const { members, itemsKey, emptyIsNull } = list;
    const head = encodePrettyJson(members).toString().slice(0, -"\n}".length);
    const key = JSON.stringify(itemsKey);
    return listChunks(list.count, clock, {
      head: `${head},\n  ${key}: [\n    `,
      tail: "\n  ]\n}",
      empty: `${head},\n  ${key}: ${emptyIsNull ? "null" : "[]"}\n}`,
      separator: ",\n    ",
      item: (at) => encodePrettyJson(list.item(at)).toString().replaceAll("\n", "\n    "),
    });
  },
};

export const jsonEncoding: Encoding = {
  ...common,
  indented,
  sendsStored: true,
  object: (object) => object.json ?? Buffer.from(`${JSON.stringify(object.value)}\n`),
  list(list, { clock }) {
    if (list.json !== undefined) return andThen(list.json(), (pieces) => ({ pieces }));
    const { members, itemsKey, emptyIsNull } = list;
    const head = JSON.stringify(members).slice(0, -1);
    const key = JSON.stringify(itemsKey);
    return listChunks(list.count, clock, {
      head: `${head},${key}:[`,
      tail: "]}\n",
      empty: `${head},${key}:${emptyIsNull ? "null" : "[]"}}\n`,
      separator: ",",
      item: list.itemJson ?? ((at) => JSON.stringify(list.item(at))),
    });
  },
};
