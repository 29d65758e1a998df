/** The client's side of HTTP/2 with peers that are strict, slow, frugal or hostile, frame by frame. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { type PeerFrame, frameOf, PeerFrames } from "./frames-for-tests.ts";
import { flags, frameTypes, numberOf, settingsOf } from "./frames.ts";
import { encodeFields, type HeaderFields } from "./kept-fields.ts";
import { Http2Client, type OpenStream } from "./client.ts";

const { endStream, endHeaders, padded, priority: hasPriority } = flags;

const setting = (name: number, value: number): Buffer => settingsOf([name, value]);
const settings = frameOf(frameTypes.settings, 0, 0);
const okFields = encodeFields([
  [":status", "200"],
  ["x", "y"],
]);
const trailerFields = encodeFields([["grpc-status", "0"]]);

/** A peer that reads frames, and writes what a test says. */
class Peer {
  readonly socket: Socket;
  readonly #frames: PeerFrame[] = [];
  readonly #splitter = new PeerFrames();
  #wake = (): void => {};

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on("error", () => {}); // the client ends connections
    socket.on("data", (bytes: Buffer) => {
      this.#frames.push(...this.#splitter.take(bytes));
      this.#wake();
    });
  }

  /** Returns the next frame of a type, without those before it. */
  async next(type: number): Promise<PeerFrame> {
    for (;;) {
      for (let frame = this.#frames.shift(); frame !== undefined; frame = this.#frames.shift()) {
        if (frame.type === type) return frame;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Returns the bodies of the next frames of data, until they have `bytes` bytes. */
  async body(bytes: number): Promise<{ readonly body: Buffer; readonly longest: number }> {
    const pieces: Buffer[] = [];
    for (let left = bytes; left > 0; left -= pieces.at(-1)!.length)
      pieces.push((await this.next(frameTypes.data)).payload);
    return { body: Buffer.concat(pieces), longest: Math.max(...pieces.map(({ length }) => length)) };
  }

  write(...frames: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(frames));
  }

  /** Sends the first settings, and waits until the client, which has sent its own, takes note of them. */
  async tell(...values: readonly Buffer[]): Promise<void> {
    this.write(frameOf(frameTypes.settings, 0, 0, Buffer.concat(values)));
    await this.next(frameTypes.settings);
    await this.next(frameTypes.settings);
  }
}

/** A request and what came of it. */
class Request {
  readonly stream: OpenStream;
  readonly fields: HeaderFields[] = [];
  body = "";
  isEnded = false;
  readonly closed: Promise<boolean>;

  constructor(client: Http2Client, path = "/") {
    const closed = Promise.withResolvers<boolean>();
    this.closed = closed.promise;
    this.stream = client.open(encodeFields([[":path", path]]), {
      headers: (fields, isEnd) => {
        this.fields.push(fields);
        this.isEnded ||= isEnd;
      },
      data: (bytes, isEnd) => {
        this.body += bytes.toString();
        this.isEnded ||= isEnd;
      },
      closed: closed.resolve,
    });
  }
}

interface Pair {
  readonly client: Http2Client;
  readonly peer: Peer;
  /** Resolves with the error with which the connection ends. */
  readonly ended: Promise<Error | undefined>;
  /** The number of notices that the peer takes no new streams. */
  readonly goingAway: { count: number };
}

async function connected(t: TestContext): Promise<Pair> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1"); // a TCP server has a port
  const [other] = (await once(server, "connection")) as [Socket];
  const ended = Promise.withResolvers<Error | undefined>();
  const goingAway = { count: 0 };
  const client = new Http2Client(socket, { goingAway: () => goingAway.count++, ended: ended.resolve });
  t.after(() => {
    client.close();
    other.destroy();
    server.close();
  });
  return { client, peer: new Peer(other), ended: ended.promise, goingAway };
}

const answer = (id: number): Buffer[] => [
  frameOf(frameTypes.headers, endHeaders, id, okFields),
  frameOf(frameTypes.data, 0, id, Buffer.from("body")),
  frameOf(frameTypes.headers, endHeaders | endStream, id, trailerFields),
];

test("a request is answered, in pieces of any length", async (t) => {
  for (const length of [1, 2, 5, 9, 10, 13, 1000]) {
    const { client, peer } = await connected(t);
    const request = new Request(client);
    request.stream.send(Buffer.from("question"), true);
    assert.equal((await peer.next(frameTypes.data)).payload.toString(), "question");
    const bytes = Buffer.concat([settings, ...answer(1), frameOf(99, 7, 1, Buffer.from("unknown")), ...answer(1)]);
    for (let at = 0; at < bytes.length; at += length) {
      peer.socket.write(bytes.subarray(at, at + length));
      await new Promise(setImmediate);
    }
    assert.equal(await request.closed, false);
    assert.deepEqual(
      request.fields.map((fields) => fields.get("x") ?? fields.get("grpc-status")),
      ["y", "0"],
    );
    assert.equal(request.body, "body", "the second answer is one to a stream that is closed");
    assert.ok(request.isEnded && !client.isOver);
  }
});

test("frames that are filled up, have priorities, or are continued are read", async (t) => {
  const { client, peer } = await connected(t);
  const request = new Request(client);
  request.stream.send(Buffer.alloc(0), true);
  // The length of the padding, the priority, a part of the block, and the padding.
  const first = Buffer.concat([Buffer.from([3]), Buffer.alloc(5), okFields.subarray(0, 4), Buffer.alloc(3)]);
  peer.write(
    settings,
    frameOf(frameTypes.priority, 0, 1, Buffer.alloc(5)),
    frameOf(frameTypes.headers, padded | hasPriority, 1, first),
    frameOf(frameTypes.continuation, 0, 1, okFields.subarray(4, 5)),
    frameOf(frameTypes.continuation, endHeaders, 1, okFields.subarray(5)),
    frameOf(frameTypes.data, padded | endStream, 1, Buffer.from("\u0002body\0\0")),
  );
  assert.equal(await request.closed, false);
  assert.equal(request.fields[0]?.get("x"), "y");
  assert.equal(request.body, "body");
});

test("a body is sent as the peer has room for it, and a stream that is reset sends no more", async (t) => {
  const { client, peer } = await connected(t);
  await peer.tell(setting(4, 10), setting(5, 20_000));
  const request = new Request(client);
  const body = Buffer.alloc(70_000, "abcdefg");
  request.stream.send(body.subarray(0, 30_000), false);
  request.stream.send(body.subarray(30_000), true);
  assert.equal((await peer.body(10)).longest, 10);
  peer.write(frameOf(frameTypes.windowUpdate, 0, 1, numberOf(100_000)));
  const rest = await peer.body(65_535 - 10);
  assert.equal(rest.longest, 20_000);
  peer.write(frameOf(frameTypes.windowUpdate, 0, 0, numberOf(100_000)));
  const last = await peer.body(70_000 - 65_535);
  assert.deepEqual(Buffer.concat([rest.body, last.body]), body.subarray(10));
  const other = new Request(client);
  other.stream.send(Buffer.alloc(50), false);
  assert.equal((await peer.next(frameTypes.data)).payload.length, 10);
  other.stream.reset();
  assert.equal((await peer.next(frameTypes.reset)).payload.readUInt32BE(0), 8);
  assert.equal(await other.closed, false);
  peer.write(frameOf(frameTypes.settings, 0, 0, setting(4, 1000)));
  const third = new Request(client);
  third.stream.send(Buffer.from("third"), true);
  assert.equal((await peer.next(frameTypes.data)).payload.toString(), "third");
});

test("requests wait for a peer that takes one at a time", async (t) => {
  const { client, peer } = await connected(t);
  await peer.tell(setting(3, 1));
  const requests = ["a", "b", "c", "d"].map((path) => new Request(client, path));
  for (const [at, request] of requests.entries()) request.stream.send(Buffer.from(`${at}`), true);
  requests[1]!.stream.reset();
  assert.equal(await requests[1]!.closed, true, "the peer has not heard of it");
  for (const [id, at] of [
    [1, 0],
    [3, 2],
    [5, 3],
  ] as const) {
    assert.equal((await peer.next(frameTypes.data)).payload.toString(), `${at}`);
    peer.write(...answer(id));
    assert.equal(await requests[at]!.closed, false);
  }
});

test("the windows of a peer are opened again as its answer is read", async (t) => {
  const { client, peer } = await connected(t);
  assert.equal((await peer.next(frameTypes.windowUpdate)).payload.readUInt32BE(0), 16 * 2 ** 20 - 65_535);
  const request = new Request(client);
  request.stream.send(Buffer.alloc(0), true);
  peer.write(settings, frameOf(frameTypes.headers, endHeaders, 1, okFields));
  for (let at = 0; at < 512; at++) peer.write(frameOf(frameTypes.data, 0, 1, Buffer.alloc(16_384)));
  assert.deepEqual(
    [await peer.next(frameTypes.windowUpdate), await peer.next(frameTypes.windowUpdate)].map(({ id, payload }) => [
      id,
      payload.readUInt32BE(0),
    ]),
    [
      [0, 8 * 2 ** 20],
      [1, 8 * 2 ** 20],
    ],
  );
});

test("pings are answered, and those of the client end with their answer", async (t) => {
  const { client, peer } = await connected(t);
  peer.write(settings, frameOf(frameTypes.ping, 0, 0, Buffer.from("12345678")));
  const pong = await peer.next(frameTypes.ping);
  assert.deepEqual([pong.flag, pong.payload.toString()], [1, "12345678"]);
  const answered = new Promise<void>((resolve) => client.ping(resolve));
  peer.write(frameOf(frameTypes.ping, 1, 0, (await peer.next(frameTypes.ping)).payload));
  await answered;
});

test("a peer that goes away answers what it names, and takes nothing new", async (t) => {
  const { client, peer, goingAway } = await connected(t);
  peer.write(settings);
  const [first, second] = [new Request(client), new Request(client)];
  await peer.next(frameTypes.headers);
  peer.write(frameOf(frameTypes.goAway, 0, 0, Buffer.concat([numberOf(1), numberOf(0)])));
  assert.equal(await second.closed, true);
  assert.equal(await new Request(client).closed, true);
  peer.write(...answer(1));
  assert.equal(await first.closed, false);
  assert.equal(first.body, "body");
  assert.equal(goingAway.count, 1);
  assert.equal(client.isOver, false);
});

test("streams that wait for room end when nothing new is begun", async (t) => {
  for (const goes of ["here", "there"]) {
    const { client, peer, ended } = await connected(t);
    await peer.tell(setting(3, 1));
    const [first, second] = [new Request(client), new Request(client)];
    await peer.next(frameTypes.headers);
    if (goes === "here") client.drain();
    else peer.write(frameOf(frameTypes.goAway, 0, 0, Buffer.concat([numberOf(1), numberOf(0)])));
    assert.equal(await second.closed, true);
    peer.write(...answer(1));
    assert.equal(await first.closed, false);
    assert.equal(first.body, "body");
    client.close();
    assert.equal(await ended, undefined);
  }
});

test("what the peer has begun to answer was begun, even if it says that it did nothing", async (t) => {
  const { client, peer } = await connected(t);
  peer.write(settings);
  const [first, second, third] = [new Request(client), new Request(client), new Request(client)];
  await peer.next(frameTypes.headers);
  for (const id of [1, 5]) peer.write(frameOf(frameTypes.headers, endHeaders, id, okFields));
  for (const id of [1, 3]) peer.write(frameOf(frameTypes.reset, 0, id, numberOf(7)));
  peer.write(frameOf(frameTypes.goAway, 0, 0, Buffer.concat([numberOf(1), numberOf(0)])));
  assert.deepEqual([await first.closed, await second.closed, await third.closed], [false, true, false]);
});

test("a window that shrinks below nothing is opened before more is sent", async (t) => {
  const { client, peer } = await connected(t);
  peer.write(settings);
  const request = new Request(client);
  const body = Buffer.alloc(70_000, "abcdefg");
  request.stream.send(body, true);
  await peer.body(65_535);
  peer.write(
    frameOf(frameTypes.settings, 0, 0, setting(4, 1000)),
    frameOf(frameTypes.windowUpdate, 0, 0, numberOf(100_000)),
  );
  peer.write(frameOf(frameTypes.windowUpdate, 0, 1, numberOf(64_535)), frameOf(frameTypes.ping, 0, 0, Buffer.alloc(8)));
  peer.write(frameOf(frameTypes.windowUpdate, 0, 1, numberOf(10)));
  await peer.next(frameTypes.ping);
  assert.equal((await peer.next(frameTypes.data)).payload.length, 10);
  peer.write(frameOf(frameTypes.settings, 0, 0, setting(4, 65_535)));
  assert.equal((await peer.body(4455)).body.length, 4455);
});

test("streams end with the connection; those that waited for room were not begun", async (t) => {
  const { client, peer, ended } = await connected(t);
  await peer.tell(setting(3, 1));
  const [first, second] = [new Request(client), new Request(client)];
  await peer.next(frameTypes.headers);
  peer.socket.destroy();
  await ended;
  assert.deepEqual([await first.closed, await second.closed], [false, true]);
  assert.equal(await new Request(client).closed, true);
});

/** Frames of a peer that breaks the protocol, after its settings and while the stream 1 is open, with the error. */
const broken: Readonly<Record<string, readonly [frames: readonly Buffer[], error: RegExp]>> = {
  "a frame that is too long": [[frameOf(frameTypes.data, 0, 1, Buffer.alloc(16_385))], /a frame has 16385 bytes/],
  "settings of a wrong length": [[frameOf(frameTypes.settings, 0, 0, Buffer.alloc(5))], /settings/],
  "settings of a stream": [[frameOf(frameTypes.settings, 0, 1)], /settings/],
  "a window of too many bytes": [[frameOf(frameTypes.settings, 0, 0, setting(4, 2 ** 31))], /2147483648 bytes/],
  "frames that are too short": [[frameOf(frameTypes.settings, 0, 0, setting(5, 100))], /frames of 100 bytes/],
  "a ping of a wrong length": [[frameOf(frameTypes.ping, 0, 0, Buffer.alloc(7))], /ping/],
  "a promise": [[frameOf(frameTypes.push, endHeaders, 1, Buffer.alloc(8))], /pushes/],
  "an answer to a stream that was not opened": [answer(3), /stream 3/],
  "an answer to a stream of its own": [answer(2), /stream 2/],
  "data without a stream": [[frameOf(frameTypes.data, 0, 0, Buffer.alloc(1))], /stream 0/],
  "a window that is opened by nothing": [[frameOf(frameTypes.windowUpdate, 0, 0, numberOf(0))], /window/],
  "a window beyond its limit": [[frameOf(frameTypes.windowUpdate, 0, 1, numberOf(2 ** 31 - 1))], /window/],
  "a window of a wrong length": [[frameOf(frameTypes.windowUpdate, 0, 1, Buffer.alloc(3))], /window/],
  "a reset of a wrong length": [[frameOf(frameTypes.reset, 0, 1, Buffer.alloc(3))], /resets/],
  "padding beyond a frame": [[frameOf(frameTypes.data, padded, 1, Buffer.from([4, 0, 0]))], /filled up/],
  "padding without its length": [[frameOf(frameTypes.data, padded, 1)], /filled up/],
  "a priority that is cut off": [[frameOf(frameTypes.headers, hasPriority, 1, Buffer.alloc(4))], /too short/],
  "a block that is interrupted": [
    [frameOf(frameTypes.headers, 0, 1, okFields), frameOf(frameTypes.ping, 0, 0, Buffer.alloc(8))],
    /interrupted/,
  ],
  "a block that is interrupted by data": [
    [frameOf(frameTypes.headers, 0, 1, okFields), frameOf(frameTypes.data, 0, 1, Buffer.alloc(100))],
    /interrupted/,
  ],
  "a block that is not open": [[frameOf(frameTypes.continuation, endHeaders, 1, okFields)], /not open/],
  "a block of another stream": [
    [frameOf(frameTypes.headers, 0, 1, okFields), frameOf(frameTypes.continuation, endHeaders, 3, okFields)],
    /not open/,
  ],
  "a block without an end": [
    [
      frameOf(frameTypes.headers, 0, 1),
      ...Array.from({ length: 20 }, () => frameOf(frameTypes.continuation, 0, 1, Buffer.alloc(1000))),
    ],
    /too long/,
  ],
  "a block that goes on with nothing": [
    [frameOf(frameTypes.headers, 0, 1), ...Array.from({ length: 5000 }, () => frameOf(frameTypes.continuation, 0, 1))],
    /too long/,
  ],
  "a block that is wrong": [[frameOf(frameTypes.headers, endHeaders, 1, Buffer.from([0x80]))], /table/],
  "a notice that is cut off": [[frameOf(frameTypes.goAway, 0, 0, Buffer.alloc(7))], /notice/],
  "a notice with an error": [
    [frameOf(frameTypes.goAway, 0, 0, Buffer.concat([numberOf(1), numberOf(11)]))],
    /error 11/,
  ],
};
for (const [what, [frames, error]] of Object.entries(broken)) {
  test(`a connection with ${what} ends`, async (t) => {
    const { client, peer, ended } = await connected(t);
    const request = new Request(client);
    await peer.next(frameTypes.headers);
    peer.write(settings, ...frames);
    assert.match(String(await ended), error);
    assert.equal(await request.closed, false);
    assert.equal(client.isOver, true);
  });
}

test("a peer that begins without settings ends the connection, also by half a frame", async (t) => {
  for (const bytes of [
    Buffer.concat(answer(1)),
    frameOf(frameTypes.data, 0, 1, Buffer.alloc(10)),
    Buffer.concat([frameOf(frameTypes.settings, 1, 0), ...answer(1)]),
    Buffer.from("HTTP/1.1 400 Bad Request"),
  ]) {
    const { client, peer, ended } = await connected(t);
    const request = new Request(client);
    await peer.next(frameTypes.headers);
    peer.write(bytes);
    assert.match(String(await ended), /does not speak HTTP\/2|bytes/);
    await request.closed;
    assert.equal(request.body, "");
  }
});

test("what comes to a stream that is given up counts, so that others go on", async (t) => {
  const { client, peer, ended } = await connected(t);
  const request = new Request(client);
  await peer.next(frameTypes.headers);
  peer.write(settings, frameOf(frameTypes.headers, endHeaders, 1, okFields));
  request.stream.reset();
  for (let at = 0; at < 600; at++) peer.write(frameOf(frameTypes.data, 0, 1, Buffer.alloc(16_384)));
  assert.equal((await peer.next(frameTypes.reset)).id, 1);
  for (;;) {
    const { id, payload } = await peer.next(frameTypes.windowUpdate);
    if (payload.readUInt32BE(0) !== 8 * 2 ** 20) continue;
    assert.equal(id, 0);
    break;
  }
  client.close();
  assert.equal(await ended, undefined);
});
