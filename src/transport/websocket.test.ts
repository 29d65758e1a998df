/** WebSocket frames: sent ones, and received ones however they are split. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "#std/random.ts";
import { binaryFrame, WebSocketReader } from "#std/websocket.ts";
import { textFrames } from "./websocket.ts";

/** Returns a frame of a client. */
function frame(op: number, payload: Buffer, { final = true, masked = true, length = payload.length } = {}): Buffer {
  const mask = Buffer.from([0x12, 0x34, 0x56, 0x78]);
  const size =
    length < 126
      ? [length]
      : length < 65_536
        ? [126, length >> 8, length & 255]
        : [127, 0, 0, 0, 0, length >>> 24, (length >> 16) & 255, (length >> 8) & 255, length & 255];
  size[0]! |= masked ? 0x80 : 0;
  const body = masked ? payload.map((byte, i) => byte ^ mask[i % 4]!) : payload;
  return Buffer.concat([Buffer.from([(final ? 0x80 : 0) | op, ...size]), masked ? mask : Buffer.alloc(0), body]);
}

/** Returns the results of the reader for `bytes`, given in pieces of `cut` bytes. */
function decodeFrames(bytes: Buffer, cut: () => number): string[] {
  const heard: string[] = [];
  const reader = new WebSocketReader({
    ping: (payload) => heard.push(`ping ${payload.toString("latin1")}`),
    ended: (code) => heard.push(`ended ${code}`),
  });
  for (let at = 0; at < bytes.length; ) {
    const length = cut();
    reader.take(bytes.subarray(at, at + length));
    at += length;
  }
  return heard;
}

test("each line of a batch is a text frame, other bytes are a binary one, with the shortest length that fits", () => {
  for (const [length, head] of [
    [1, "8101"],
    [125, "817d"],
    [126, "817e007e"],
    [65_535, "817effff"],
    [65_536, "817f0000000000010000"],
  ] as const) {
    const line = Buffer.from(`${"x".repeat(length - 1)}\n`);
    const frames = textFrames(Buffer.concat([line, line]));
    const one = Buffer.concat([Buffer.from(head, "hex"), line]);
    assert.ok(frames.equals(Buffer.concat([one, one])), `${length}`);
  }
  assert.equal(binaryFrame(Buffer.from("a\nb")).toString("hex"), "8203610a62");
  const batch = Buffer.from("a\n");
  assert.equal(textFrames(batch), textFrames(batch));
});

test("pings are heard among data, which is dropped, wherever the bytes were cut", () => {
  const random = seededRandom(7);
  const bytes = Buffer.concat([
    frame(9, Buffer.from("one")),
    frame(1, Buffer.from("text")),
    frame(2, Buffer.alloc(70_000, 0x89)),
    frame(1, Buffer.alloc(300, 0x88), { final: false }),
    frame(9, Buffer.alloc(125, "p")),
    frame(0, Buffer.alloc(0)),
    frame(10, Buffer.from("pong")),
    frame(9, Buffer.alloc(0)),
    frame(8, Buffer.from([3, 232])),
    frame(9, Buffer.from("after the end")),
  ]);
  const expected = ["ping one", `ping ${"p".repeat(125)}`, "ping ", "ended 1000"];
  assert.deepEqual(
    decodeFrames(bytes, () => bytes.length),
    expected,
  );
  assert.deepEqual(
    decodeFrames(bytes, () => 1),
    expected,
  );
  for (let i = 0; i < 50; i++)
    assert.deepEqual(
      decodeFrames(bytes, () => 1 + Math.floor(random.next() * 400)),
      expected,
    );
});

test("frames that break the protocol end the connection: no mask, long or cut control frames, unknown operations and bits", () => {
  const some = Buffer.from("ab");
  for (const bad of [
    frame(1, some, { masked: false }),
    frame(9, Buffer.alloc(126)),
    frame(9, some, { final: false }),
    frame(3, some),
    frame(11, some),
    frame(15, some),
    Buffer.concat([Buffer.from([0xc1]), frame(1, some).subarray(1)]),
  ]) {
    const bytes = Buffer.concat([bad, frame(9, some)]);
    assert.deepEqual(
      decodeFrames(bytes, () => bytes.length),
      ["ended 1002"],
      bad.toString("hex"),
    );
    assert.deepEqual(
      decodeFrames(bytes, () => 1),
      ["ended 1002"],
    );
  }
});
