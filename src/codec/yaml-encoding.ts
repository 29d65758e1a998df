/** YAML as an encoding. It does not support watches. */
import type { EncodableList, Encoding } from "./encoding.ts";
import { listChunks } from "./list-chunks.ts";
import { sortedJson } from "./strict.ts";
import { decodeYaml, encodeYaml } from "./yaml.ts";

export const yamlEncoding: Encoding = {
  mediaType: "application/yaml",
  stream: "",
  typedOnly: false,
  tables: true,
  isText: true,
  weight: 4,
  objects: objectsIn,
  sendsStored: false,
  hasJsonFrames: false,
  decode(bytes) {
    const { value, duplicates } = decodeYaml(bytes);
    return { value, keys: undefined, text: () => sortedJson(value), duplicates, hasRawNumbers: true };
  },
  object: ({ value }) => encodeYaml(value),
  list(list, { clock, large }) {
    const before = membersText(list, (key) => key < list.itemsKey);
    const after = membersText(list, (key) => key > list.itemsKey);
    return listChunks(list.count, clock, {
      head: `${before}${list.itemsKey}:\n`,
      tail: after,
      empty: `${before}${list.itemsKey}: ${list.emptyIsNull ? "null" : "[]"}\n${after}`,
      separator: "",
      item(at) {
        const item = list.item(at);
        return large === undefined || list.weight(at) <= large.weight ? itemOf(item) : large.encode(yamlEncoding, item);
      },
    });
  },
  item: itemOf,
  frame() {
    throw new Error("YAML carries no watches");
  },
};

/** Encodes an item of a list: the YAML of a list with this item only is the item with a dash. */
function itemOf(value: unknown): Buffer {
  return encodeYaml([value]);
}

/** Encodes some members of a list. YAML sorts members by name, so they are before or after the items. */
function membersText({ members }: EncodableList, isWanted: (key: string) => boolean): string {
  const some = Object.entries(members).filter(([key]) => isWanted(key));
  return some.length === 0 ? "" : encodeYaml(Object.fromEntries(some)).toString();
}

/** Returns the maximum number of objects in a text: every object begins with a brace or has a key with a colon. */
function objectsIn(bytes: Uint8Array): number {
  let count = 0;
  for (const byte of bytes) if (byte === brace || byte === colon) count++;
  return count;
}

const brace = 0x7b;
const colon = 0x3a;
