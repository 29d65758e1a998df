/** Tests the protobuf writer, which writes backward. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ProtobufWriter } from "./protobuf-writer.ts";

test("fields stand in the opposite order of the calls, messages around what was written", () => {
  const writer = new ProtobufWriter();
  writer.message(9, () => {
    writer.text(2, "b");
    writer.text(1, "a");
  });
  assert.equal(writer.finish().toString("hex"), "4a060a0161120162");
});

test("numbers take as many bytes as they need", () => {
  const hex = (write: (writer: ProtobufWriter) => void): string => {
    const writer = new ProtobufWriter();
    write(writer);
    return writer.finish().toString("hex");
  };
  assert.equal(
    hex((writer) => writer.varint(1, 0)),
    "0800",
  );
  assert.equal(
    hex((writer) => writer.varint(1, 127)),
    "087f",
  );
  assert.equal(
    hex((writer) => writer.varint(1, 300)),
    "08ac02",
  );
  assert.equal(
    hex((writer) => writer.varint(31, 2 ** 40)),
    "f801808080808020",
  );
  assert.equal(
    hex((writer) => writer.double(6, 1.5)),
    "31000000000000f83f",
  );
});

test("the buffer grows when a value does not fit, and loses nothing that was written", () => {
  const writer = new ProtobufWriter();
  const long = "é".repeat(700_000);
  writer.text(2, "end");
  writer.text(1, long);
  const bytes = writer.finish();
  assert.equal(bytes.subarray(-5).toString("hex"), `1203${Buffer.from("end").toString("hex")}`);
  assert.equal(bytes.subarray(4, -5).toString(), long);
});
