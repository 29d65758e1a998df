/** Answers of HTTP/2 that are damaged at random: nothing throws, and each request ends once. */
import assert from "node:assert/strict";
import { duplexPair } from "node:stream";
import { test } from "node:test";
import { type Random, seededRandom } from "#std/random.ts";
import { frameOf } from "./frames-for-tests.ts";
import { encodeFields } from "./kept-fields.ts";
import { Http2Client } from "./client.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? 1);
const runs = Number(process.env["FUZZ_RUNS"] ?? 2000);
const requestsMax = 4;

const integer = (random: Random, below: number): number => Math.floor(random.next() * below);

/** Makes a frame that a peer may send; `id` is that of a request. */
function frame(random: Random, id: number): Buffer {
  const four = Buffer.alloc(4);
  four.writeUInt32BE(integer(random, 100_000));
  switch (integer(random, 9)) {
    case 0:
      return frameOf(0, integer(random, 2), id, Buffer.alloc(integer(random, 300)));
    case 1:
      return frameOf(0, 8, id, Buffer.concat([Buffer.from([2]), Buffer.alloc(integer(random, 9) + 2)]));
    case 2:
      return frameOf(1, 4 + integer(random, 2), id, encodeFields([[":status", "200"]]));
    case 3:
      return Buffer.concat([frameOf(1, 0, id), frameOf(9, 4, id, encodeFields([["grpc-status", "0"]]))]);
    case 4:
      return frameOf(3, 0, id, four);
    case 5:
      return frameOf(4, 0, 0, Buffer.concat([Buffer.from([0, 3 + integer(random, 2)]), four]));
    case 6:
      return frameOf(6, integer(random, 2), 0, Buffer.alloc(8));
    case 7:
      return frameOf(7, 0, 0, Buffer.concat([four, Buffer.alloc(4)]));
    default:
      return frameOf(8, 0, random.next() < 0.5 ? 0 : id, four);
  }
}

/** Makes the bytes of a peer, most of which are right. */
function bytesOf(random: Random): Buffer {
  const frames = [frameOf(4, 0, 0)];
  for (let left = integer(random, 20); left > 0; left--)
    frames.push(frame(random, 1 + 2 * integer(random, requestsMax)));
  const bytes = Buffer.concat(frames);
  for (let left = integer(random, 4); left > 0; left--) bytes[integer(random, bytes.length)] = integer(random, 256);
  return bytes;
}

async function run(random: Random): Promise<void> {
  const [ours, theirs] = duplexPair();
  theirs.resume().on("error", () => {}); // the client ends connections
  const client = new Http2Client(ours, { goingAway() {}, ended() {} });
  const ends = Array.from({ length: requestsMax }, () => 0);
  const requests = ends.map((_, at) =>
    client.open(encodeFields([[":path", "/"]]), {
      headers: () => random.next() < 0.1 && requests[at]!.reset(),
      data: () => random.next() < 0.1 && requests[at]!.reset(),
      closed: () => void ends[at]!++,
    }),
  );
  for (const request of requests) request.send(Buffer.alloc(integer(random, 100_000)), random.next() < 0.5);
  const bytes = bytesOf(random);
  for (let at = 0; at < bytes.length && !theirs.destroyed; ) {
    const end = at + 1 + integer(random, random.next() < 0.5 ? 20 : bytes.length);
    theirs.write(bytes.subarray(at, end));
    at = end;
    if (random.next() < 0.3) await new Promise(setImmediate);
  }
  await new Promise(setImmediate);
  client.close();
  await new Promise(setImmediate);
  assert.deepEqual(
    ends,
    ends.map(() => 1),
  );
}

test(`requests end once, whatever a peer sends (FUZZ_SEED=${seed}, ${runs} peers)`, async () => {
  for (let at = 0; at < runs; at++) {
    try {
      await run(seededRandom(seed + at));
    } catch (error) {
      assert.fail(`FUZZ_SEED=${seed + at} FUZZ_RUNS=1: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
});
