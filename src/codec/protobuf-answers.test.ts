/** Answers in protobuf: values at the edge of their types, and lists that are sent again, changed or very long. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schema } from "#schema/schema.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { rawNumber } from "#std/raw-number.ts";
import type { EncodableList, ItemSource } from "./encoding.ts";
import { decodeJson } from "./json.ts";
import { ProtobufAnswers } from "./protobuf-answers.ts";
import { decodeProtobuf } from "./protobuf.ts";

const integer: Schema = { type: "integer", format: "int64" };
const text: Schema = { type: "string" };
const schema: Schema = {
  type: "object",
  fields: new Map([
    ["name", { schema: text, proto: [1, "string"] }],
    ["count", { schema: integer, proto: [2, "int64"] }],
    ["ratio", { schema: { type: "number" }, proto: [3, "double"], ptr: true }],
    ["data", { schema: { type: "map", items: { type: "string", format: "byte" } }, proto: [4, "map<string,bytes>"] }],
    ["sizes", { schema: { type: "array", items: integer }, proto: [5, "repeated int64"] }],
  ]),
};
const listMeta: Schema = {
  type: "object",
  fields: new Map([["resourceVersion", { schema: text, proto: [2, "string"] }]]),
};
const listSchema: Schema = {
  type: "object",
  fields: new Map([
    ["metadata", { schema: listMeta, proto: [1, "ListMeta"] }],
    ["items", { schema: { type: "array", items: schema }, proto: [2, "repeated Thing"] }],
  ]),
};
const answersOf = (): ProtobufAnswers =>
  new ProtobufAnswers({ Status: schema, ListMeta: listMeta, PartialObjectMetadata: schema });

const type = { apiVersion: "v1", kind: "Thing" };
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test("numbers of every size and sign, texts of every length and script and bytes come back", () => {
  const answers = answersOf();
  const value = {
    name: `${"long ".repeat(50_000)}ü\u2028𝄞`,
    count: rawNumber("-9223372036854775808"),
    ratio: -0.5,
    data: { "": "", a: "AQID", ä: "/w==" },
    sizes: [0, 127, 128, 2 ** 31, -1, -(2 ** 40), rawNumber("9007199254740993"), rawNumber("9223372036854775807")],
  };
  const bytes = answers.object({ json: undefined, schema, value: { ...type, ...value } });
  assert.deepEqual(plain(decodeProtobuf(bytes, schema)), plain({ ...type, value }));
});

test("values that are absent are written as zero, those with a pointer are not", () => {
  const bytes = answersOf().object({ json: undefined, schema, value: type });
  assert.deepEqual(decodeProtobuf(bytes, schema).value, { name: "", count: 0 });
});

test("keys of maps are in the order of their bytes, whatever their order in the object", () => {
  const object = (keys: readonly string[]) => ({ ...type, data: Object.fromEntries(keys.map((key) => [key, ""])) });
  const keys = ["z", "\uffff", "𝄞", "a", "B"];
  const [one, other] = [keys, keys.toReversed()].map((order) =>
    answersOf().object({ json: undefined, schema, value: object(order) }),
  );
  assert.deepEqual(one, other);
  const { data } = decodeProtobuf(one!, schema).value as { readonly data: object };
  assert.deepEqual(Object.keys(data), ["B", "a", "z", "\uffff", "𝄞"]);
});

test("values in schemas have sorted members, short numbers and escaped texts", () => {
  const of: Schema = {
    type: "object",
    fields: new Map([["default", { schema: { type: "any", special: "json" }, proto: [1, "JSON"] }]]),
  };
  const text =
    '{"z":[1.50,1e3,-0,-0.0,1E21,9007199254740993,12345678901234567890],"10":null,"9":"<a&b>\u2028","a":{"y":true,"__proto__":1}}';
  const value = { ...type, default: decodeJson(Buffer.from(text)).value };
  const bytes = answersOf().object({ json: undefined, schema: of, value });
  assert.ok(
    bytes.includes(
      '{"10":null,"9":"\\u003ca\\u0026b\\u003e\\u2028","a":{"__proto__":1,"y":true},"z":[1.5,1000,0,0,1e+21,9007199254740993,12345678901234567000]}',
    ),
    bytes.toString(),
  );
});

test("a stored object that was sent before is not decoded again, in its version", () => {
  const answers = answersOf();
  let decoded = 0;
  const stored = (of: Schema, key: object) => ({
    json: undefined,
    schema: of,
    key,
    get value() {
      decoded++;
      return { ...type, name: "a" };
    },
  });
  const key = {};
  const bytes = answers.object(stored(schema, key));
  assert.ok(answers.frame("ADDED", stored(schema, key)).includes(bytes));
  assert.deepEqual(answers.object(stored(schema, key)), bytes);
  assert.equal(decoded, 1);
  answers.object(stored({ ...schema }, key));
  answers.object(stored(schema, {}));
  assert.equal(decoded, 3);
});

/** A list that counts the items that are read. */
function countedList(sources: readonly ItemSource[], nameOf: (source: ItemSource) => string) {
  const counts = { read: 0 };
  const list: EncodableList = {
    members: { kind: "ThingList", apiVersion: "v1", metadata: { resourceVersion: "7" } },
    itemsKey: "items",
    emptyIsNull: false,
    count: sources.length,
    item(at) {
      counts.read++;
      return { name: nameOf(sources[at]!) };
    },
    schema,
    sources,
    weight: (at) => nameOf(sources[at]!).length,
  };
  return { list, counts };
}

async function encode(answers: ProtobufAnswers, list: EncodableList): Promise<Buffer> {
  const body = await answers.list(list, new FakeClock());
  assert.ok("pieces" in body);
  const bytes = Buffer.concat([...body.pieces]);
  assert.equal(bytes.length, body.pieces.length);
  return bytes;
}

const namesIn = (bytes: Buffer): string[] => {
  const { value } = decodeProtobuf(bytes, listSchema);
  const { metadata, items } = value as { readonly metadata: object; readonly items?: readonly { name: string }[] };
  assert.deepEqual(metadata, { resourceVersion: "7" });
  return (items ?? []).map(({ name }) => name);
};

test("a list that is asked for again reads no item, and after a change only those of one chunk", async () => {
  const answers = answersOf();
  const sources = Array.from({ length: 2000 }, (_, at): ItemSource => ({ revision: at + 1, created: at + 1 }));
  const nameOf = ({ revision }: ItemSource): string => `${revision}`.padEnd(1000, "x");
  const first = countedList(sources, nameOf);
  assert.deepEqual(namesIn(await encode(answers, first.list)), sources.map(nameOf));
  assert.equal(first.counts.read, 2000);
  const again = countedList(sources, nameOf);
  await encode(answers, again.list);
  assert.equal(again.counts.read, 0);
  const changed = sources.with(700, { revision: 5000, created: 701 });
  const third = countedList(changed, nameOf);
  assert.deepEqual(namesIn(await encode(answers, third.list)), changed.map(nameOf));
  assert.ok(third.counts.read > 0 && third.counts.read < 150, `${third.counts.read} items were read`);
  const shorter = countedList(changed.toSpliced(100, 1), nameOf);
  await encode(answers, shorter.list);
  assert.ok(shorter.counts.read < 150, `${shorter.counts.read} items were read`);
});

test("a list that is longer than what is kept is sent whole", async () => {
  const sources = Array.from({ length: 90 }, (_, at): ItemSource => ({ revision: at + 1, created: at + 1 }));
  const nameOf = ({ revision }: ItemSource): string => `${revision}`.padEnd(1_000_000, "x");
  const { list } = countedList(sources, nameOf);
  assert.deepEqual(namesIn(await encode(answersOf(), list)), sources.map(nameOf));
  assert.deepEqual(namesIn(await encode(answersOf(), countedList([], nameOf).list)), []);
});

test("a long list, also when it is asked for again, does not displace what is kept of others", async () => {
  const answers = answersOf();
  const sourcesOf = (count: number, first: number): ItemSource[] =>
    Array.from({ length: count }, (_, at) => ({ revision: first + at, created: first + at }));
  const [few, many] = [sourcesOf(20, 1), sourcesOf(90, 1001)];
  const nameOf = ({ revision }: ItemSource): string => `${revision}`.padEnd(1_000_000, "x");
  await encode(answers, countedList(few, nameOf).list);
  const long = [countedList(many, nameOf), countedList(many, nameOf)] as const;
  for (const { list } of long) await encode(answers, list);
  assert.ok(long[1].counts.read < long[0].counts.read, "its beginning is kept");
  const again = countedList(few, nameOf);
  await encode(answers, again.list);
  assert.equal(again.counts.read, 0);
});

test("an object that cannot be written leaves nothing behind", () => {
  const answers = answersOf();
  assert.throws(() => answers.object({ json: undefined, schema, value: { ...type, name: "a", sizes: [1, null] } }));
  const bytes = answers.object({ json: undefined, schema, value: { ...type, name: "b" } });
  assert.deepEqual(decodeProtobuf(bytes, schema).value, { name: "b", count: 0 });
});
