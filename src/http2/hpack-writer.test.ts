/** Blocks of header fields that are written: their bytes, and that a reader follows them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { BlockReader } from "./hpack-reader.ts";
import { BlockWriter, FieldNames } from "./hpack-writer.ts";

/** Writes a block between other bytes, and returns it. */
function write(writer: BlockWriter, fields: readonly string[]): Buffer {
  const out = Buffer.alloc(writer.lengthMax(fields) + 20, 0xaa);
  const end = writer.write(fields, out, 10);
  assert.ok(end - 10 <= writer.lengthMax(fields));
  assert.deepEqual(out.subarray(0, 10), Buffer.alloc(10, 0xaa));
  return Buffer.from(out.subarray(10, end));
}

const readerOf = (): BlockReader => new BlockReader({ tableBytesMax: 4096, listBytesMax: 1_000_000, fieldsMax: 1000 });

/** A writer and a reader that follows it. */
function pair(): (fields: readonly string[]) => Buffer {
  const writer = new BlockWriter();
  const reader = readerOf();
  return (fields) => {
    const block = write(writer, fields);
    const expected = fields.map((text, at) => (at % 2 === 0 ? text.toLowerCase() : text));
    assert.deepEqual(reader.read(block), expected);
    return block;
  };
}

/** Compares blocks with those of RFC 7541. */
function check(blocks: readonly (readonly [fields: readonly string[], hex: string])[]): void {
  const writer = new BlockWriter();
  for (const [fields, hex] of blocks) assert.equal(write(writer, fields).toString("hex"), hex.replaceAll(" ", ""));
}

test("requests are written as in the examples (RFC 7541, C.3)", () => {
  const start = [":method", "GET", ":scheme", "http", ":path", "/", ":authority", "www.example.com"];
  check([
    [start, "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d"],
    [[...start, "cache-control", "no-cache"], "8286 84be 5808 6e6f 2d63 6163 6865"],
    [
      [
        [":method", "GET", ":scheme", "https", ":path", "/index.html"],
        [":authority", "www.example.com", "custom-key", "custom-value"],
      ].flat(),
      "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ],
  ]);
});

test("an answer that comes again has one byte for each field that is alike", () => {
  const send = pair();
  const answer = (id: string): string[] =>
    [
      [":status", "200", "Audit-Id", id, "Cache-Control", "no-cache, private", "Content-Type", "application/json"],
      ["X-Kubernetes-Pf-Flowschema-Uid", "flow", "X-Kubernetes-Pf-Prioritylevel-Uid", "level"],
      ["Date", "Mon, 21 Oct 2013 20:13:21 GMT", "Content-Length", "17"],
    ].flat();
  send(answer("first"));
  // The id, the date and the length have a head of three bytes each.
  for (const id of ["after", "third"]) assert.equal(send(answer(id)).length, 1 + 8 + 4 + 32 + 5);
});

test("a usual status has one byte, another one has its name of the static table", () => {
  check([
    [[":status", "204"], "89"],
    [[":status", "409"], "0803 3430 39"],
    [[":status", "409"], "0803 3430 39"],
  ]);
});

test("secrets are marked to be kept by nobody", () => {
  for (const [name, head] of [
    ["Set-Cookie", "1f28"],
    ["authorization", "1f08"],
  ] as const)
    check([
      [[name, "a"], `${head} 01 61`],
      [[name, "a"], `${head} 01 61`],
    ]);
});

test("long values are not kept", () => {
  const send = pair();
  assert.ok(send(["warning", "x".repeat(1024)]).length > 1024);
  assert.equal(send(["warning", "x".repeat(1024)]).length, 1);
  for (let time = 0; time < 2; time++) assert.ok(send(["warning", "x".repeat(1025)]).length > 1024);
});

test("the name of a field that is kept is not written again", () => {
  const send = pair();
  const first = send(["grpc-message", "a"]).length;
  assert.equal(send(["grpc-message", "b"]).length, first - "grpc-message".length - 1);
  assert.equal(send(["grpc-message", "a"]).length, 1);
});

test("a reader follows a table that drops its oldest fields", () => {
  const send = pair();
  for (let at = 0; at < 1000; at++)
    send([":status", "200", "x-a", `${at % 7}`, `x-${at % 150}`, `${at}`, "age", `${at}`]);
});

test("many values of one name are written rightly", () => {
  const send = pair();
  for (let at = 0; at < 500; at++) send(["vary", `${at % 20}`, "vary", `${at % 3}`, "vary", ""]);
});

test("a smaller table of the peer is announced at the beginning of the next block", () => {
  const writer = new BlockWriter();
  const reader = readerOf();
  const hex = (fields: readonly string[]): string => {
    const block = write(writer, fields);
    assert.deepEqual(reader.read(block), fields);
    return block.toString("hex");
  };
  writer.limitTable(65_536);
  assert.equal(hex(["vary", "a"]), "7b0161", "no more than the default is used");
  assert.equal(hex(["vary", "a"]), "be");
  writer.limitTable(37);
  assert.equal(hex(["vary", "a"]), "3f06be", "37 bytes are enough for the field");
  writer.limitTable(36);
  writer.limitTable(100);
  assert.equal(hex(["vary", "a"]), "3f053f457b0161", "the field was dropped in between");
  assert.equal(hex(["vary", "a", "via", "b"]), "be7c0162");
  assert.equal(hex(["via", "b", "vary", "a"]), "bebf");
  writer.limitTable(0);
  assert.equal(hex(["vary", "a"]), "200f2c0161");
  assert.equal(hex(["vary", "a"]), "0f2c0161");
  writer.limitTable(4096);
  writer.limitTable(4096);
  assert.equal(hex(["vary", "a"]), "3fe11f7b0161");
});

test("texts that would end a header are refused, and other blocks can be written", () => {
  const writer = new BlockWriter();
  const reader = readerOf();
  assert.deepEqual(reader.read(write(writer, ["vary", "a"])), ["vary", "a"]);
  for (const value of ["a\r\nset-cookie: a", "\n", "\0", "\u0100", "\u{1f600}", `${"x".repeat(200)}\r`])
    assert.throws(() => write(writer, ["via", "kept", "warning", value]), /character/);
  for (const name of ["", ":", "a b", "a\n", "\u212aelvin", "a:"])
    assert.throws(() => write(writer, ["via", "kept", name, "a"]), /not the name/);
  for (let time = 0; time < 2; time++) {
    const fields = ["via", "kept", "vary", "a", "warning", "\t\u00ff"];
    assert.deepEqual(reader.read(write(writer, fields)), fields);
  }
});

test("a block that is longer than its space is refused", () => {
  assert.throws(() => new BlockWriter().write(["vary", "abcdef"], Buffer.alloc(4), 0), /longer/);
});

test("names beyond those that are remembered are written rightly", () => {
  const names = new FieldNames();
  const writer = new BlockWriter(names);
  const reader = readerOf();
  for (let time = 0; time < 2; time++) {
    for (let at = 0; at < 3000; at++) {
      const fields = [`X-${at}`, "a", "vary", "b"];
      assert.deepEqual(reader.read(write(writer, fields)), [`x-${at}`, "a", "vary", "b"]);
    }
  }
});
