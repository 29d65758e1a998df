/** Tests protobuf bodies: invalid envelopes, truncated messages, and hostile lengths and depths. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DecodeError } from "#schema/decode-error.ts";
import type { Schema } from "#schema/schema.ts";
import { seededRandom } from "#std/random.ts";
import { decodeProtobuf } from "./protobuf.ts";

const texts: Schema = { type: "map", items: { type: "string" } };
const schema: Schema = {
  type: "object",
  fields: new Map([
    ["name", { schema: { type: "string" }, proto: [1, "string"] }],
    ["count", { schema: { type: "integer", format: "int64" }, proto: [2, "int64"] }],
    ["data", { schema: texts, proto: [3, "map<string,string>"] }],
    ["sizes", { schema: { type: "array", items: { type: "integer" } }, proto: [4, "repeated int32"] }],
  ]),
};

const prefix = Buffer.from([0x6b, 0x38, 0x73, 0x00]);
const field = (number: number, bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes]);
const envelope = (raw: Buffer): Buffer =>
  Buffer.concat([
    prefix,
    field(1, Buffer.concat([field(1, Buffer.from("v1")), field(2, Buffer.from("Thing"))])),
    field(2, raw),
  ]);

test("an envelope holds the kind and the object by field numbers [MEDIA-08] [MEDIA-09]", () => {
  const raw = Buffer.concat([
    field(1, Buffer.from("a")),
    Buffer.from([2 * 8, 0xac, 0x02]),
    field(3, Buffer.concat([field(1, Buffer.from("__proto__")), field(2, Buffer.from("x"))])),
    field(4, Buffer.from([1, 2])),
    Buffer.from([4 * 8, 3]),
    Buffer.from([15 * 8, 1]),
  ]);
  const { apiVersion, kind, value } = decodeProtobuf(envelope(raw), schema);
  assert.deepEqual([apiVersion, kind], ["v1", "Thing"]);
  const data = JSON.parse('{"__proto__":"x"}') as object;
  assert.deepEqual(value, { name: "a", count: 300, data, sizes: [1, 2, 3] });
});

test("integers beyond 2^53 stay exact, negative ones too", () => {
  const big = Buffer.from([2 * 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
  assert.equal(JSON.stringify(decodeProtobuf(envelope(big), schema).value), '{"count":9223372036854775807}');
  const minus = Buffer.from([2 * 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
  assert.deepEqual(decodeProtobuf(envelope(minus), schema).value, { count: -1 });
});

test("bytes without the prefix are no object [MEDIA-13]", () => {
  for (const bytes of [Buffer.alloc(0), Buffer.from("{}"), prefix, envelope(Buffer.from([0x0a, 0x7f])).subarray(4)]) {
    assert.throws(() => decodeProtobuf(bytes, schema), DecodeError);
  }
});

test("random bytes are refused or decoded, never more", () => {
  const random = seededRandom(7);
  for (let i = 0; i < 20_000; i++) {
    const raw = random.bytes(Math.floor(random.next() * 40));
    try {
      decodeProtobuf(envelope(raw), schema);
    } catch (error) {
      assert.ok(error instanceof DecodeError, String(error));
    }
  }
});

test("a field in another form than the schema says is refused, and a message may come in parts", () => {
  for (const raw of [
    field(2, Buffer.from("a")),
    Buffer.from([8, 1]),
    Buffer.from([3 * 8, 1]),
    Buffer.from([4 * 8 + 1, 0]),
  ]) {
    assert.match(decodeProtobuf(envelope(raw), schema).refusal!.message, /wrong wireType/);
  }
  const parts: Schema = { type: "object", fields: new Map([["part", { schema, proto: [1, "Part"] }]]) };
  const raw = Buffer.concat([field(1, field(1, Buffer.from("a"))), field(1, Buffer.from([2 * 8, 7]))]);
  assert.deepEqual(decodeProtobuf(envelope(raw), parts).value, { part: { name: "a", count: 7 } });
});

test("an entry of a map without a value has the empty one", () => {
  assert.deepEqual(decodeProtobuf(envelope(field(3, field(1, Buffer.from("a")))), schema).value, { data: { a: "" } });
});
