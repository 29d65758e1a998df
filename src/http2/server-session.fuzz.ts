/**
 * Clients of HTTP/2 at random, right ones and damaged ones: nothing throws, each request ends once, and a client that keeps
 * the rules gets answers that keep them too.
 */
import assert from "node:assert/strict";
import { type Duplex, duplexPair } from "node:stream";
import { test } from "node:test";
import { type Random, seededRandom } from "#std/random.ts";
import { frameOf, PeerFrames } from "./frames-for-tests.ts";
import { defaultWindow, errorCodes, flags, frameTypes, numberOf, preface, settings } from "./frames.ts";
import { BlockReader } from "./hpack-reader.ts";
import { BlockWriter, FieldNames } from "./hpack-writer.ts";
import { OutBuffers } from "./out-buffers.ts";
import { ServerSession } from "./server-session.ts";
import type { ServerStream } from "./server-stream.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? 1);
const runs = Number(process.env["FUZZ_RUNS"] ?? 300);
const streamsMax = 6;
const wideBytes = 100_000;
/** A window for all that is still to come. */
const wholeWindow = 2 ** 27;

const below = (random: Random, end: number): number => Math.floor(random.next() * end);
const pick = <T>(random: Random, from: readonly T[]): T => from[below(random, from.length)]!;

/** Turns of the event loop, in which what was sent arrives. */
async function turns(count: number): Promise<void> {
  for (; count > 0; count--) await new Promise(setImmediate);
}

/** A server that does anything with its requests, at any time. */
class Server {
  readonly session: ServerSession;
  readonly open = new Set<ServerStream>();
  /** The number of requests that came, and of those whose end was told. */
  came = 0;
  closed = 0;
  lost = 0;
  readonly #random: Random;
  readonly #socket: Duplex;

  constructor(socket: Duplex, random: Random) {
    this.#random = random;
    this.#socket = socket;
    let nowMs = 0;
    const options = {
      streamsMax,
      bodyWindowBytes: wideBytes,
      headerBytesMax: 2000,
      fieldsMax: 20,
      buffers: new OutBuffers(),
      names: new FieldNames(),
      now: () => nowMs++,
    };
    this.session = new ServerSession(socket, options, {
      request: (stream) => this.#take(stream),
      took() {},
      lost: () => this.lost++,
    });
  }

  #take(stream: ServerStream): void {
    this.came++;
    this.open.add(stream);
    stream.onClose = () => {
      assert.ok(this.open.delete(stream), "an end is told once");
      assert.ok(stream.isClosed);
      this.closed++;
    };
    stream.onDrain = () => {
      assert.ok(!stream.isClosed && stream.waitingBytes === 0);
      if (this.#random.next() < 0.5) stream.write(Buffer.alloc(below(this.#random, 3000), 1));
    };
    if (this.#random.next() < 0.7) this.#read(stream);
    if (this.#random.next() < 0.3) this.act();
  }

  #read(stream: ServerStream): void {
    const declared = stream.headers["content-length"];
    let bytes = 0;
    let isOver = false;
    const over = (): void => {
      assert.ok(!isOver, "a body ends once");
      isOver = true;
    };
    stream.read({
      take: (piece) => {
        assert.ok(!isOver && !stream.isClosed);
        bytes += piece.length;
        if (this.#random.next() < 0.1) stream.pause();
        if (this.#random.next() < 0.02) stream.reset(errorCodes.cancel);
      },
      end: () => {
        over();
        if (declared !== undefined) assert.equal(bytes, Number(declared));
      },
      lost: over,
    });
  }

  /** Does something with a request. */
  act(): void {
    const stream = pick(this.#random, [...this.open]);
    if (stream === undefined) return;
    switch (below(this.#random, 9)) {
      case 0:
        return stream.pause();
      case 1:
        return stream.stop();
      case 2:
        return stream.sendContinue();
      case 3:
        return this.#random.next() < 0.2 ? stream.reset(errorCodes.internal) : undefined;
      case 4:
        return stream.respond(
          [":status", "200", "x", "y".repeat(below(this.#random, 40_000))],
          this.#random.next() < 0.3,
        );
      case 5:
      case 6:
        if (stream.isAnswered) stream.write(Buffer.alloc(below(this.#random, 40_000), 1));
        return;
      case 7:
        if (stream.isAnswered)
          stream.end(this.#random.next() < 0.5 ? undefined : Buffer.alloc(below(this.#random, 9000), 1));
        return;
      default:
        stream.resume();
    }
    assert.ok(this.#socket.writableLength < 1_200_000);
  }

  /** Ends all requests. */
  finish(): void {
    for (const stream of this.open) {
      stream.resume();
      stream.respond([":status", "200"], true);
      stream.end();
    }
  }
}

interface ClientStream {
  /** The bytes of its body that are to come; `undefined` when the end is sent. */
  left: number | undefined;
  sendWindow: number;
  receiveWindow: number;
  hasEnded: boolean;
}

/** A client that keeps the rules, and checks that the server does. */
class Client {
  readonly streams = new Map<number, ClientStream>();
  isGoingAway = false;
  sendWindow = defaultWindow;
  receiveWindow = defaultWindow;
  readonly #random: Random;
  readonly #writer = new BlockWriter();
  readonly #reader = new BlockReader({ tableBytesMax: 4096, listBytesMax: 1e9, fieldsMax: 1e9 });
  readonly #damage: number;
  #socket: Duplex;
  readonly #splitter = new PeerFrames();
  #block: { id: number; isEnd: boolean; parts: Buffer[] } | undefined;
  #nextId = 1;
  #streamWindow = defaultWindow;
  #serverWindow = defaultWindow;
  /** Windows that the server has not confirmed. */
  readonly #windows: (number | undefined)[] = [];

  /** `damage` is the share of frames with a wrong byte. */
  constructor(socket: Duplex, random: Random, damage: number) {
    this.#socket = socket;
    this.#random = random;
    this.#damage = damage;
    socket.on("error", () => {}); // the server ends connections
    socket.on("data", (bytes: Buffer) => {
      if (damage === 0) this.#take(bytes);
    });
    socket.write(preface);
    this.#windows.push(undefined);
    this.#send(frameOf(frameTypes.settings, 0, 0));
  }

  #send(bytes: Buffer): void {
    if (this.#random.next() < this.#damage) bytes[below(this.#random, bytes.length)] = below(this.#random, 256);
    const middle = this.#random.next() < 0.5 ? 0 : below(this.#random, bytes.length);
    this.#socket.write(bytes.subarray(0, middle));
    this.#socket.write(bytes.subarray(middle));
  }

  #headers(id: number, fields: readonly string[], flag: number): void {
    const out = Buffer.alloc(this.#writer.lengthMax(fields));
    const block = out.subarray(0, this.#writer.write(fields, out, 0));
    if (this.#random.next() < 0.7) return this.#send(frameOf(frameTypes.headers, flag | flags.endHeaders, id, block));
    const at = below(this.#random, block.length);
    this.#send(
      Buffer.concat([
        frameOf(frameTypes.headers, flag, id, block.subarray(0, at)),
        frameOf(frameTypes.continuation, flags.endHeaders, id, block.subarray(at)),
      ]),
    );
  }

  #open(): void {
    const left = this.#random.next() < 0.5 ? undefined : below(this.#random, 50_000);
    const fields = [":method", left === undefined ? "GET" : "POST", ":scheme", "https", ":path", "/"];
    if (left !== undefined && this.#random.next() < 0.5) fields.push("content-length", String(left));
    const id = this.#nextId;
    this.#nextId += pick(this.#random, [2, 2, 4]);
    this.streams.set(id, {
      left,
      sendWindow: this.#serverWindow,
      receiveWindow: this.#streamWindow,
      hasEnded: false,
    });
    this.#headers(id, fields, left === undefined ? flags.endStream : 0);
  }

  /** Sends a part of a body, as long as the windows are. */
  #sendBody(id: number, stream: ClientStream, most: number): void {
    const { left } = stream;
    if (left === undefined) return;
    const padding = this.#random.next() < 0.2 ? below(this.#random, 200) : -1;
    const length = Math.min(left, most, Math.min(this.sendWindow, stream.sendWindow) - padding - 1);
    if (length < 0 || (length === 0 && left > 0)) return;
    const isEnd = length === left && this.#random.next() < 0.8;
    stream.left = isEnd ? undefined : left - length;
    const body = Buffer.alloc(length);
    const payload = padding < 0 ? body : Buffer.concat([Buffer.from([padding]), body, Buffer.alloc(padding)]);
    this.sendWindow -= payload.length;
    stream.sendWindow -= payload.length;
    const flag = (isEnd ? flags.endStream : 0) | (padding < 0 ? 0 : flags.padded);
    this.#send(frameOf(frameTypes.data, flag, id, payload));
    if (isEnd || stream.left !== 0 || this.#random.next() < 0.5) return;
    stream.left = undefined;
    this.#headers(id, ["x-checksum", "1"], flags.endStream);
  }

  /** Does something that a client may do. */
  act(): void {
    const ids = [...this.streams.keys()];
    const id = pick(this.#random, ids);
    const stream = this.streams.get(id);
    switch (below(this.#random, 10)) {
      case 0:
      case 1:
        return this.#open();
      case 2:
      case 3:
      case 4:
        return stream === undefined ? undefined : this.#sendBody(id, stream, below(this.#random, 16_000));
      case 5: {
        const bytes = 1 + below(this.#random, 50_000);
        this.receiveWindow += bytes;
        return this.#send(frameOf(frameTypes.windowUpdate, 0, 0, numberOf(bytes)));
      }
      case 6: {
        if (stream === undefined) return;
        const bytes = 1 + below(this.#random, 50_000);
        stream.receiveWindow += bytes;
        return this.#send(frameOf(frameTypes.windowUpdate, 0, id, numberOf(bytes)));
      }
      case 7:
        if (stream === undefined || this.#random.next() < 0.5) return;
        this.streams.delete(id);
        return this.#send(frameOf(frameTypes.reset, 0, id, numberOf(errorCodes.cancel)));
      case 8: {
        const window = below(this.#random, 100_000);
        this.#windows.push(window);
        const values = Buffer.alloc(12);
        values.writeUInt16BE(settings.window, 0);
        values.writeUInt32BE(window, 2);
        values.writeUInt16BE(settings.tableSize, 6);
        values.writeUInt32BE(below(this.#random, 5000), 8);
        return this.#send(frameOf(frameTypes.settings, 0, 0, values));
      }
      default:
        this.#send(frameOf(pick(this.#random, [frameTypes.ping, 77]), 0, 0, Buffer.alloc(8)));
    }
  }

  /** Reads, or does not for a while. */
  rest(isResting: boolean): void {
    if (isResting) this.#socket.pause();
    else this.#socket.resume();
  }

  /** Sends all bodies, and takes all answers. */
  finish(): void {
    this.#send(frameOf(frameTypes.windowUpdate, 0, 0, numberOf(wholeWindow)));
    this.receiveWindow += wholeWindow;
    for (const [id, stream] of this.streams) {
      this.#send(frameOf(frameTypes.windowUpdate, 0, id, numberOf(wholeWindow)));
      stream.receiveWindow += wholeWindow;
      this.#sendBody(id, stream, 16_000);
    }
  }

  #take(bytes: Buffer): void {
    for (const { type, flag, id, payload } of this.#splitter.take(bytes)) this.#takeFrame(type, flag, id, payload);
  }

  #takeFrame(type: number, flag: number, id: number, payload: Buffer): void {
    assert.ok(payload.length <= 16_384);
    assert.ok(this.#block === undefined || (type === frameTypes.continuation && id === this.#block.id));
    const stream = this.streams.get(id);
    assert.ok(stream === undefined || !stream.hasEnded || type === frameTypes.reset, "nothing follows the end");
    switch (type) {
      case frameTypes.headers:
        this.#block = { id, isEnd: (flag & flags.endStream) !== 0, parts: [payload] };
        return this.#endBlock(flag);
      case frameTypes.continuation:
        this.#block!.parts.push(payload); // as was asserted
        return this.#endBlock(flag);
      case frameTypes.data:
        this.receiveWindow -= payload.length;
        assert.ok(this.receiveWindow >= 0);
        if (stream === undefined) return;
        stream.receiveWindow -= payload.length;
        assert.ok(stream.receiveWindow >= 0 || payload.length === 0);
        if ((flag & flags.endStream) !== 0) stream.hasEnded = true;
        return;
      case frameTypes.reset:
        this.streams.delete(id);
        return;
      case frameTypes.settings:
        return (flag & flags.ack) === 0 ? this.#takeSettings(payload) : this.#confirmed();
      case frameTypes.windowUpdate:
        if (id === 0) this.sendWindow += payload.readUInt32BE(0);
        else if (stream !== undefined) stream.sendWindow += payload.readUInt32BE(0);
        return;
      case frameTypes.goAway:
        assert.equal(payload.readUInt32BE(4), errorCodes.none);
        this.isGoingAway = true;
        for (const each of this.streams.keys()) if (each > payload.readUInt32BE(0)) this.streams.delete(each);
        return;
      default:
        assert.equal(type, frameTypes.ping);
    }
  }

  #endBlock(flag: number): void {
    if ((flag & flags.endHeaders) === 0) return;
    const { id, isEnd, parts } = this.#block!; // it ends here
    this.#block = undefined;
    assert.equal(this.#reader.read(Buffer.concat(parts))?.[0], ":status");
    const stream = this.streams.get(id);
    if (isEnd && stream !== undefined) stream.hasEnded = true;
  }

  #takeSettings(payload: Buffer): void {
    for (let at = 0; at < payload.length; at += 6) {
      if (payload.readUInt16BE(at) !== settings.window) continue;
      const more = payload.readUInt32BE(at + 2) - this.#serverWindow;
      this.#serverWindow += more;
      for (const stream of this.streams.values()) stream.sendWindow += more;
    }
    this.#send(frameOf(frameTypes.settings, flags.ack, 0));
  }

  #confirmed(): void {
    assert.ok(this.#windows.length > 0);
    const window = this.#windows.shift();
    if (window === undefined) return;
    for (const stream of this.streams.values()) stream.receiveWindow += window - this.#streamWindow;
    this.#streamWindow = window;
  }
}

function pairOf(): [Duplex, Duplex] {
  const [socket, other] = duplexPair();
  // A socket has sent or copied what it calls back for; one of a pair has not.
  const write = socket.write.bind(socket);
  socket.write = (bytes: Buffer, ...rest: never[]) => write(Buffer.from(bytes), ...rest);
  socket.on("error", () => {}); // a client leaves
  return [socket, other];
}

async function run(random: Random, damage: number): Promise<Server> {
  const [socket, other] = pairOf();
  const server = new Server(socket, random);
  const client = new Client(other, random, damage);
  for (let steps = 10 + below(random, 100); steps > 0; steps--) {
    client.act();
    if (random.next() < 0.5) server.act();
    if (random.next() < 0.1) client.rest(random.next() < 0.5);
    if (random.next() < 0.005) server.session.close();
    if (random.next() < 0.3) await turns(below(random, 4));
  }
  client.rest(false);
  if (damage === 0) await checkEnd(server, client);
  other.destroy();
  await turns(5);
  assert.equal(server.closed, server.came, "each request ends once");
  assert.equal(server.lost, 1);
  return server;
}

/** Checks that a session whose client kept the rules is in order. */
async function checkEnd(server: Server, client: Client): Promise<void> {
  await turns(5);
  for (let count = 0; count < 10; count++) {
    client.finish();
    server.finish();
    await turns(8);
  }
  assert.equal(server.open.size, 0, "every answer arrives");
  if (client.isGoingAway) return;
  assert.equal(server.lost, 0, "the connection goes on");
  assert.ok(client.sendWindow > defaultWindow / 2 - 1, "what nobody read does not use up the window");
}

test(`clients that keep the rules get answers that keep them (FUZZ_SEED=${seed}, ${runs} runs)`, async () => {
  const random = seededRandom(seed);
  let came = 0;
  for (let count = 0; count < runs; count++) came += (await run(random, 0)).came;
  assert.ok(came > runs);
});

test(`damaged frames end streams or connections, and nothing else (FUZZ_SEED=${seed}, ${runs} runs)`, async () => {
  const random = seededRandom(seed);
  let came = 0;
  for (let count = 0; count < runs; count++) came += (await run(random, pick(random, [0.02, 0.1, 0.3]))).came;
  assert.ok(came > runs);
});
