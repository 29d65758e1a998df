/** The messages of etcd: their bytes, and bytes that are none. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProtobufWriter } from "#codec/protobuf-writer.ts";
import { seededRandom } from "#std/random.ts";
import type { KeyValue } from "./client.ts";
import { messageOf, writeHeader } from "./fake-member.ts";
import {
  readLeaseAnswer,
  readRangeAnswer,
  readStatus,
  readTransactionAnswer,
  readWatchAnswer,
  RequestWriter,
} from "./messages.ts";

const requests = new RequestWriter();

/** Returns a request without the bytes of gRPC, in hexadecimal. */
function hex(frame: Buffer): string {
  assert.equal(frame[0], 0);
  assert.equal(frame.readUInt32BE(1), frame.length - 5);
  return frame.toString("hex", 5);
}

function writeKeyValue(writer: ProtobufWriter, field: number, entry: KeyValue, unknown = 0): void {
  writer.message(field, () => {
    if (unknown > 0) writer.text(unknown, "?");
    if (entry.lease !== undefined) writer.varint(6, Number(`0x${entry.lease}`));
    writer.blob(5, entry.value);
    writer.varint(4, entry.version);
    writer.varint(3, entry.revision);
    writer.varint(2, entry.created);
    writer.text(1, entry.key);
  });
}

const entry: KeyValue = {
  key: "/registry/ä",
  value: Buffer.from("value"),
  revision: 2 ** 40 + 1,
  created: 3,
  version: 300,
  lease: undefined,
};

test("requests have the fields of etcd", () => {
  assert.equal(hex(requests.range({ key: "/a" })), "0a022f61");
  const all = { key: "a", end: "b", limit: 3, revision: 4, isSerializable: true, keysOnly: true, countOnly: true };
  assert.equal(hex(requests.range(all)), "0a01611201621803200438014001" + "4801");
  const transaction = {
    compare: [
      { key: "a", revision: 1 },
      { key: "b", revision: 0 },
    ],
    then: [
      { kind: "put", key: "a", value: Buffer.from("v"), lease: "ffffffffffffffff" },
      { kind: "delete", key: "b" },
    ],
    otherwise: [{ kind: "range", range: { key: "a" } }],
  } as const;
  assert.equal(
    hex(requests.transaction(transaction)),
    "0a0710021a01613001" +
      "0a0710021a01623000" +
      "1213" +
      "1211" +
      "0a0161" +
      "120176" +
      "18ffffffffffffffffff01" +
      "1205" +
      "1a03" +
      "0a0162" +
      "1a05" +
      "0a03" +
      "0a0161",
  );
  const watch = { key: "a", end: "b", from: 5, withPrevious: true };
  assert.equal(hex(requests.watch(watch)), "0a0e" + "0a0161" + "120162" + "1805" + "2001" + "3001" + "4001");
  assert.equal(hex(requests.progress()), "1a00");
  assert.equal(hex(requests.compaction(7)), "0807");
  assert.equal(hex(requests.leaseGrant(60)), "083c");
  assert.equal(hex(requests.lease("80")), "088001");
  assert.equal(hex(requests.empty()), "");
});

test("answers are read, and fields that nobody knows are skipped", () => {
  const leased = { ...entry, key: "/b", lease: "123456789a" };
  const range = messageOf((writer) => {
    writer.text(99, "?");
    writer.varint(4, 9);
    writer.varint(3, 1);
    writeKeyValue(writer, 2, leased);
    writeKeyValue(writer, 2, entry, 17);
    writeKeyValue(writer, 2, entry);
    writeHeader(writer, 2 ** 45);
  });
  const answer = readRangeAnswer(range);
  assert.deepEqual(answer.entries, [entry, entry, leased]);
  assert.deepEqual([answer.more, answer.count, answer.header.revision], [true, 9, 2 ** 45]);
  assert.deepEqual([answer.header.cluster, answer.header.member, answer.header.term], ["7", "9", 1]);
  const transaction = messageOf((writer) => {
    writer.message(3, () => writer.message(1, () => writer.bytes(range)));
    writer.message(3, () => writer.message(2, () => writeHeader(writer, 1)));
    writer.varint(2, 1);
    writeHeader(writer, 12);
  });
  const read = readTransactionAnswer(transaction);
  assert.deepEqual([read.succeeded, read.header.revision, read.ranges.length], [true, 12, 1]);
  assert.deepEqual(read.ranges[0]!.entries, answer.entries);
});

test("identifiers keep all 64 bits", () => {
  const header = Buffer.from("0a18" + "08ffffffffffffffffff01" + "108080808080808080800118" + "05", "hex");
  assert.equal(readRangeAnswer(Buffer.from(header)).header.cluster, "ffffffffffffffff");
  assert.equal(readRangeAnswer(header).header.member, "8000000000000000");
  assert.equal(readRangeAnswer(header).header.revision, 5);
  const lease = Buffer.from("10ffffffffffffffff7f183c", "hex");
  assert.deepEqual(readLeaseAnswer(lease), { lease: "7fffffffffffffff", seconds: 60 });
  const expired = Buffer.from("1801" + "18ffffffffffffffffff01", "hex");
  assert.equal(readLeaseAnswer(expired).seconds, 0);
});

test("events have a type, a tombstone where a key was deleted, and the version before", () => {
  const tombstone = { ...entry, value: Buffer.alloc(0), created: 0, version: 0 };
  const bytes = messageOf((writer) => {
    writer.message(11, () => {
      writeKeyValue(writer, 3, entry);
      writeKeyValue(writer, 2, tombstone);
      writer.varint(1, 1);
    });
    writer.message(11, () => writeKeyValue(writer, 2, entry));
    writer.varint(7, 1);
    writer.text(6, "a reason");
    writer.varint(5, 44);
    writer.varint(4, 1);
    writer.varint(3, 1);
    writer.integer(2, -1);
    writeHeader(writer, 8);
  });
  const { header, ...answer } = readWatchAnswer(bytes);
  assert.equal(header.revision, 8);
  assert.deepEqual(answer, {
    isCreated: true,
    isCancelled: true,
    compacted: 44,
    reason: "a reason",
    isFragment: true,
    events: [
      { type: "put", entry, previous: undefined },
      { type: "delete", entry: tombstone, previous: entry },
    ],
  });
});

test("a status has the alarms of the cluster", () => {
  const bytes = messageOf((writer) => {
    writer.varint(9, 5);
    writer.text(8, "etcdserver: no leader");
    writer.text(8, "memberID:10501334649042878790 alarm:NOSPACE ");
    writer.text(8, "memberID:1 alarm:CORRUPT ");
    writer.varint(3, 6);
    writer.text(2, "3.5.16");
    writeHeader(writer, 8);
  });
  const { header: _header, ...status } = readStatus(bytes);
  const alarms = ["CORRUPT", "NOSPACE"];
  assert.deepEqual(status, { version: "3.5.16", dbBytes: 6, dbBytesInUse: 5, leader: undefined, alarms });
});

const readers = { readRangeAnswer, readTransactionAnswer, readWatchAnswer, readLeaseAnswer, readStatus };

for (const [what, header] of [
  ["a revision beyond 2^53", "0a0b18ffffffffffffffffff01"],
  ["a number without an end", "0a0c18ffffffffffffffffffffff"],
  ["a header that is cut off", "0a0218ff"],
  ["a header with a text", "0a041a020101"],
  ["a length beyond the message", "0aff7f"],
  ["a group", "0b"],
  ["field 0", "0001"],
] as const) {
  test(`${what} is refused`, () => {
    for (const read of [readRangeAnswer, readTransactionAnswer, readWatchAnswer, readStatus])
      assert.throws(() => read(Buffer.from(header, "hex")), Error);
  });
}

for (const [what, bytes] of [
  ["a key beyond the end", "0a7f61"],
  ["a value of 4 GiB", "2affffffff0f"],
  ["a negative revision", "18ffffffffffffffffff01"],
  ["a revision without an end", "18ffff"],
  ["a value that is a number", "2801"],
] as const) {
  test(`a key-value with ${what} is refused`, () => {
    const message = messageOf((writer) => {
      writer.message(2, () => writer.bytes(Buffer.from(bytes, "hex")));
      writeHeader(writer, 8);
    });
    assert.throws(() => readRangeAnswer(message), Error);
  });
}

test("changed answers are read or refused, whatever was changed", () => {
  const random = seededRandom(31);
  const below = (end: number): number => Math.floor(random.next() * end);
  const whole = messageOf((writer) => {
    for (let at = 0; at < 3; at++) writer.message(11, () => writeKeyValue(writer, 2, { ...entry, lease: "12345678" }));
    for (let at = 0; at < 3; at++) writeKeyValue(writer, 2, entry);
    writeHeader(writer, 8);
  });
  let refused = 0;
  for (let round = 0; round < 20_000; round++) {
    const bytes = Buffer.from(whole.subarray(0, round % 4 === 0 ? below(whole.length) : whole.length));
    for (let change = below(4); change >= 0 && bytes.length > 0; change--) bytes[below(bytes.length)] = below(256);
    for (const read of Object.values(readers)) {
      try {
        read(bytes);
      } catch (error) {
        assert.ok(
          error instanceof Error && !(error instanceof RangeError) && !(error instanceof TypeError),
          String(error),
        );
        refused++;
      }
    }
  }
  assert.ok(refused > 10_000);
});
