/** Frames and messages, also when the bytes are not what they should be. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { type Random, seededRandom } from "#std/random.ts";
import { everything, type LogWrite } from "../log-store.ts";
import { bytesOf, frameOf, readAll } from "./fields.ts";
import { DamagedFrame, FrameSplitter } from "./frame-bytes.ts";
import { answers, type FromOwner, fromOwner, toOwner } from "./messages.ts";

const write: LogWrite = {
  key: "/registry//pods/größe/🧊",
  expected: 7,
  value: { bytes: Buffer.from([0, 255, 10, 13, 128]), revisionOffset: 3 },
  ttlSeconds: 1.5,
  isForDeletion: false,
  requires: [{ key: "/registry//leases/a", revision: 0 }],
  turn: { name: "addresses", seen: everything },
  note: "who",
};
const entry = { key: "/a", value: { bytes: Buffer.alloc(0), revisionOffset: -1 }, revision: 3, unreadable: "no key" };
const notices: readonly FromOwner[] = [
  { kind: "welcome", protocol: "x" },
  {
    kind: "changed",
    revision: 9,
    changes: [
      { kind: "own", id: 1, isStale: true },
      { kind: "put", key: "/a", value: entry.value, isStale: false },
      { kind: "deleted", key: "/b" },
    ],
  },
  { kind: "progressed", revision: 2 ** 52 },
  { kind: "recovered", entries: [entry] },
  { kind: "settled", id: 3, result: { committed: false, revision: 8, failed: "turn" } },
  { kind: "settled", id: 3, result: { committed: true, revision: 8 } },
  { kind: "failed", id: 3, error: { kind: "full", message: "the disk is full" } },
  { kind: "answer", id: 3, body: Buffer.from([1, 2]) },
  { kind: "state", form: "", full: "the disk is full", size: { bytes: 1e12, since: 3, fileBytes: 4 } },
];

const fieldsOf = (frame: Buffer): Buffer => frame.subarray(4);

test("a message is read as it was written", () => {
  for (const notice of notices) assert.deepEqual(readAll(fromOwner, fieldsOf(frameOf(fromOwner, notice))), notice);
  const commit = { kind: "commit", id: 5, write } as const;
  assert.deepEqual(readAll(toOwner, fieldsOf(frameOf(toOwner, commit))), commit);
  assert.equal(readAll(answers.history, bytesOf(answers.history, undefined)), undefined);
  const page = {
    events: [{ key: "/a", value: entry.value, revision: 4, previous: entry, writtenAt: 1e12, note: "who" }],
    reached: 4,
  };
  assert.deepEqual(readAll(answers.history, bytesOf(answers.history, page)), page);
});

test("frames are found however the bytes are split", () => {
  const random = seededRandom(1);
  for (let round = 0; round < 200; round++) {
    const frames = Array.from({ length: 20 }, () =>
      frameOf(fromOwner, { kind: "answer", id: 1, body: random.bytes(Math.floor(random.next() ** 4 * 5000)) }),
    );
    const found: Buffer[] = [];
    const splitter = new FrameSplitter();
    for (const piece of split(Buffer.concat(frames), random)) splitter.add(piece, (fields) => found.push(fields));
    assert.deepEqual(found, frames.map(fieldsOf));
  }
});

test("damaged bytes are a damaged frame or another message, and never anything else", () => {
  const random = seededRandom(2);
  const whole = [
    ...notices.map((notice) => frameOf(fromOwner, notice)),
    frameOf(toOwner, { kind: "commit", id: 1, write }),
  ];
  let damaged = 0;
  for (let round = 0; round < 20_000; round++) {
    const frame = Buffer.from(whole[round % whole.length]!);
    for (let count = 1 + Math.floor(random.next() * 3); count > 0; count--) {
      frame[4 + Math.floor(random.next() * (frame.length - 4))] = Math.floor(random.next() * 256);
    }
    const fields = fieldsOf(frame).subarray(
      0,
      random.next() < 0.3 ? Math.floor(random.next() * frame.length) : undefined,
    );
    for (const side of [toOwner, fromOwner]) {
      try {
        readAll<object>(side, fields);
      } catch (error) {
        assert.ok(error instanceof DamagedFrame, String(error));
        damaged++;
      }
    }
  }
  assert.ok(damaged > 1000);
});

/** Splits bytes into pieces of random lengths. */
function* split(bytes: Buffer, random: Random): Generator<Buffer> {
  for (let at = 0; at < bytes.length; ) {
    const end = at + 1 + Math.floor(random.next() ** 3 * 3000);
    yield bytes.subarray(at, end);
    at = end;
  }
}
