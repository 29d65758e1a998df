/**
 * Random blocks of header fields: what is written is read, also by and from the implementation of Node, and blocks that are
 * damaged give limited fields or the one error.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type ClientHttp2Session, connect, type ClientHttp2Stream } from "node:http2";
import { type Duplex, duplexPair } from "node:stream";
import { test } from "node:test";
import { type Random, seededRandom } from "#std/random.ts";
import { type PeerFrame, frameOf, PeerFrames } from "./frames-for-tests.ts";
import { flags, frameTypes, settings, settingsOf } from "./frames.ts";
import { BlockReader, HeaderBlockError } from "./hpack-reader.ts";
import { BlockWriter, FieldNames } from "./hpack-writer.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? 1);
const runs = Number(process.env["FUZZ_RUNS"] ?? 300);

const integer = (random: Random, below: number): number => Math.floor(random.next() * below);
const pick = <T>(random: Random, list: readonly T[]): T => list[integer(random, list.length)]!;

/** Runs `one` for every seed, and names the seed that fails. */
async function repeat(count: number, one: (random: Random) => void | Promise<void>): Promise<void> {
  for (let at = 0; at < count; at++) {
    try {
      await one(seededRandom(seed + at));
    } catch (error) {
      assert.fail(`FUZZ_SEED=${seed + at} FUZZ_RUNS=1: ${error instanceof Error ? error.stack : String(error)}`);
    }
  }
}

const usualNames =
  "Content-Type content-length Date Audit-Id vary X-Kubernetes-Pf-Flowschema-Uid warning cache-control set-cookie ETag location accept-encoding link x-a x-b".split(
    " ",
  );

/** Makes a value of characters from `first` to `last`, which is one of few in most cases. */
function someValue(random: Random, first: number, last: number): string {
  if (random.next() < 0.5) return pick(random, ["1", "application/json", "gzip, deflate", "no-cache, private"]);
  const length = random.next() < 0.9 ? integer(random, 40) : integer(random, 3000);
  let value = "";
  while (value.length < length) {
    const character = String.fromCharCode(first + integer(random, last - first + 1));
    if (!/[\0\r\n]/.test(character)) value += character;
  }
  return value;
}

const someName = (random: Random): string =>
  random.next() < 0.8 ? pick(random, usualNames) : `X-${integer(random, 1500)}`;

const someStatus = (random: Random): string => pick(random, ["200", "200", "201", "404", "409", "500", "503"]);

/** Makes the fields of an answer; no name comes twice. */
function someFields(random: Random, valueOf: (name: string) => string): string[] {
  const fields = new Map([[":status", someStatus(random)]]);
  const names = new Set([":status"]);
  for (let left = integer(random, 12); left > 0; left--) {
    const name = someName(random);
    if (names.has(name.toLowerCase())) continue;
    names.add(name.toLowerCase());
    fields.set(name, valueOf(name));
  }
  return Array.from(fields).flat();
}

/** Lowers the names of a list of fields. */
const asRead = (fields: readonly string[]): string[] =>
  fields.map((text, at) => (at % 2 === 0 ? text.toLowerCase() : text));

const unlimited = { tableBytesMax: 4096, listBytesMax: 10_000_000, fieldsMax: 1_000_000 };

function write(writer: BlockWriter, fields: readonly string[]): Buffer {
  const out = Buffer.alloc(writer.lengthMax(fields));
  return out.subarray(0, writer.write(fields, out, 0));
}

test(`what is written is read (FUZZ_SEED=${seed}, ${runs} connections)`, async () => {
  const names = new FieldNames();
  await repeat(runs, (random) => {
    const writer = new BlockWriter(names);
    const reader = new BlockReader(unlimited);
    for (let left = integer(random, 100); left > 0; left--) {
      while (random.next() < 0.1) writer.limitTable(integer(random, pick(random, [5000, 200, 1])));
      const fields = someFields(random, () => someValue(random, 1, 255));
      if (random.next() < 0.05)
        assert.throws(
          () => write(writer, [...fields, someName(random), `${someValue(random, 1, 255)}\n`]),
          /character/,
        );
      assert.deepEqual(reader.read(write(writer, fields)), asRead(fields));
    }
  });
});

/** Returns a block with some other bytes, or one of another kind. */
function damaged(random: Random, right: Buffer): Buffer {
  const kind = integer(random, 10);
  let block = right;
  if (kind === 0) block = random.bytes(integer(random, 3000));
  else if (kind === 1) block = Buffer.alloc(integer(random, 20_000), 190 + integer(random, 60));
  for (let damages = integer(random, 4); damages > 0 && block.length > 0; damages--)
    block[integer(random, block.length)] = integer(random, 256);
  return random.next() < 0.1 ? block.subarray(0, integer(random, block.length)) : block;
}

test(`damaged blocks give limited fields or the one error (FUZZ_SEED=${seed}, ${runs} connections)`, async () => {
  let refused = 0;
  let limited = 0;
  await repeat(runs, (random) => {
    const writer = new BlockWriter();
    const limits = { tableBytesMax: 4096, listBytesMax: 2000, fieldsMax: 20 };
    let reader = new BlockReader(limits);
    const valueOf = (): string => someValue(random, 1, 255);
    for (let left = 50; left > 0; left--) {
      const block = damaged(random, write(writer, someFields(random, valueOf)));
      try {
        const fields = reader.read(block);
        limited += fields === undefined ? 1 : 0;
        const size = fields?.reduce((sum, text) => sum + text.length + 16, 0) ?? 0;
        assert.ok(size <= limits.listBytesMax && (fields?.length ?? 0) <= 2 * limits.fieldsMax);
      } catch (error) {
        if (!(error instanceof HeaderBlockError)) throw error;
        refused++;
        reader = new BlockReader(limits);
      }
    }
  });
  if (runs > 10) assert.ok(refused > 0 && limited > 0);
});

/** A server that answers each request with the fields that were made for it, in blocks of our own. */
class Answerer {
  readonly requests: string[][] = [];
  readonly answers: string[][] = [];
  readonly #socket: Duplex;
  readonly #reader: BlockReader;
  readonly #writer = new BlockWriter();
  readonly #answer: () => string[];
  readonly #splitter = new PeerFrames();
  #block: Buffer[] = [];

  constructor(socket: Duplex, tableBytesMax: number, answer: () => string[]) {
    this.#socket = socket;
    this.#reader = new BlockReader({ ...unlimited, tableBytesMax });
    this.#answer = answer;
    socket.write(frameOf(frameTypes.settings, 0, 0, settingsOf([settings.tableSize, tableBytesMax])));
    socket.on("data", (bytes: Buffer) => {
      for (const frame of this.#splitter.take(bytes)) this.#take(frame);
    });
  }

  #take({ type, flag, id, payload }: PeerFrame): void {
    if (type === frameTypes.settings && (flag & flags.ack) === 0) {
      for (let at = 0; at < payload.length; at += 6)
        if (payload.readUInt16BE(at) === settings.tableSize) this.#writer.limitTable(payload.readUInt32BE(at + 2));
      this.#socket.write(frameOf(frameTypes.settings, flags.ack, 0));
    }
    if (type !== frameTypes.headers && type !== frameTypes.continuation) return;
    const hasPriority = type === frameTypes.headers && (flag & flags.priority) !== 0;
    assert.equal(flag & flags.padded, 0, "blocks are not padded");
    this.#block.push(hasPriority ? payload.subarray(5) : payload);
    if ((flag & flags.endHeaders) === 0) return;
    this.requests.push(this.#reader.read(Buffer.concat(this.#block))!);
    this.#block = [];
    const fields = this.#answer();
    this.answers.push(fields);
    this.#socket.write(
      frameOf(frameTypes.headers, flags.endHeaders | flags.endStream, id, write(this.#writer, fields)),
    );
  }
}

/** Returns the fields of the answer to a request. */
async function answerOf(session: ClientHttp2Session, headers: Record<string, string>): Promise<string[]> {
  const request: ClientHttp2Stream = session.request(headers);
  request.resume();
  const ended = once(request, "close");
  const [, , raw] = (await once(request, "response")) as [unknown, unknown, string[]];
  await ended;
  return raw;
}

const nodeRuns = Math.ceil(runs / 30);
test(`Node reads what is written, and is read (FUZZ_SEED=${seed}, ${nodeRuns} connections)`, async () => {
  await repeat(nodeRuns, async (random) => {
    const [ours, theirs] = duplexPair();
    const value = (): string => someValue(random, 0x21, 0x7e).trim();
    const tableBytesMax = pick(random, [0, 100, 4096, 20_000]);
    const server = new Answerer(ours, tableBytesMax, () =>
      // The answers have no bodies, and Node checks their lengths.
      someFields(random, (name) => (name === "content-length" ? "0" : value())),
    );
    const session = connect("http://localhost", {
      createConnection: () => theirs,
      maxDeflateDynamicTableSize: 20_000,
      settings: { headerTableSize: pick(random, [0, 100, 4096, 20_000]) },
    });
    await once(session, "remoteSettings");
    for (let at = 0; at < 40; at++) {
      const headers: Record<string, string> = { ":authority": "localhost", ":path": `/${integer(random, 5)}` };
      for (let left = integer(random, 8); left > 0; left--) headers[`x-${integer(random, 20)}`] = value();
      if (random.next() < 0.5) headers["user-agent"] = pick(random, ["kubectl/1", "kubelet/1"]);
      if (random.next() < 0.5) headers["authorization"] = "Bearer abc";
      const answer = await answerOf(session, headers);
      assert.deepEqual(answer, asRead(server.answers.at(-1)!));
      const request = server.requests.at(-1)!;
      const read = Object.fromEntries(
        request.flatMap((text, index) => (index % 2 === 0 ? [[text, request[index + 1]!]] : [])),
      );
      assert.deepEqual(read, { ":method": "GET", ":scheme": "http", ...headers });
    }
    session.destroy();
    ours.destroy();
  });
});
