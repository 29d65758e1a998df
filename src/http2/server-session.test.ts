/** The server's side of HTTP/2 with clients that are strict, slow, frugal or hostile, frame by frame. */
import assert from "node:assert/strict";
import { type Duplex, duplexPair } from "node:stream";
import { test } from "node:test";
import { type PeerFrame, frameOf, PeerFrames } from "./frames-for-tests.ts";
import { errorCodes, flags, frameTypes, numberOf, preface, settings, settingsOf } from "./frames.ts";
import { BlockReader } from "./hpack-reader.ts";
import { BlockWriter, FieldNames } from "./hpack-writer.ts";
import { OutBuffers } from "./out-buffers.ts";
import { ServerSession } from "./server-session.ts";
import type { ServerStream } from "./server-stream.ts";

const { endStream, endHeaders, padded, priority, ack } = flags;
const windowBytes = 65_535;
const streamsMax = 5;

const setting = (name: number, value: number): Buffer => settingsOf([name, value]);
const get = [":method", "GET", ":scheme", "https", ":authority", "x", ":path", "/"];
const post = [":method", "POST", ":scheme", "https", ":authority", "x", ":path", "/"];
const ok = [":status", "200"];

/** A client that sends what a test says, and a server that notes what comes. */
class Pair {
  readonly session: ServerSession;
  readonly socket: Duplex;
  readonly client: Duplex;
  readonly requests = new Map<number, ServerStream>();
  /** The ids of the streams whose end was told. */
  readonly closed: number[] = [];
  lost = 0;
  hasEnded = false;
  nowMs = 0;
  readonly errors: Error[] = [];
  onRequest: (stream: ServerStream) => void = () => {};
  readonly #frames: PeerFrame[] = [];
  readonly #splitter = new PeerFrames();
  readonly #writer = new BlockWriter();
  readonly #reader = new BlockReader({ tableBytesMax: 4096, listBytesMax: 1024 * 1024, fieldsMax: 1000 });

  constructor(bodyWindowBytes = windowBytes) {
    [this.socket, this.client] = duplexPair();
    // A socket has sent or copied what it calls back for; one of a pair has not.
    const write = this.socket.write.bind(this.socket);
    this.socket.write = (bytes: Buffer, ...rest: never[]) => write(Buffer.from(bytes), ...rest);
    this.client.on("error", () => {}); // the server ends connections
    this.client.on("end", () => (this.hasEnded = true));
    this.client.on("close", () => (this.hasEnded = true));
    this.client.on("data", (bytes: Buffer) => this.#frames.push(...this.#splitter.take(bytes)));
    this.socket.on("error", (error) => this.errors.push(error));
    const options = {
      streamsMax,
      bodyWindowBytes,
      headerBytesMax: 20_000,
      fieldsMax: 50,
      buffers: new OutBuffers(),
      names: new FieldNames(),
      now: () => this.nowMs,
    };
    this.session = new ServerSession(this.socket, options, {
      request: (stream) => {
        this.requests.set(stream.id, stream);
        stream.onClose = () => this.closed.push(stream.id);
        this.onRequest(stream);
      },
      took() {},
      lost: () => this.lost++,
    });
  }

  /** Returns a block of the fields. Blocks have to be sent in order. */
  block(fields: readonly string[]): Buffer {
    const out = Buffer.alloc(this.#writer.lengthMax(fields));
    return out.subarray(0, this.#writer.write(fields, out, 0));
  }

  /** Returns the fields of an answer. They have to be read in order. */
  fieldsOf(frame: PeerFrame | undefined): string[] {
    assert.equal(frame?.type, frameTypes.headers);
    return this.#reader.read(frame!.payload)!;
  }

  headers(id: number, fields: readonly string[], flag: number = endHeaders | endStream): Buffer {
    return frameOf(frameTypes.headers, flag, id, this.block(fields));
  }

  /** Sends frames, and returns those that come in the turns after. */
  async send(...frames: readonly Buffer[]): Promise<readonly PeerFrame[]> {
    this.client.write(Buffer.concat(frames));
    return this.turns();
  }

  /** Returns the frames that come in some turns of the event loop. */
  async turns(): Promise<readonly PeerFrame[]> {
    for (let turns = 0; turns < 12; turns++) await new Promise(setImmediate);
    return this.#frames.splice(0);
  }

  /** Returns a stream whose request came. */
  stream(id: number): ServerStream {
    const stream = this.requests.get(id);
    assert.ok(stream !== undefined, `request ${id} came`);
    return stream;
  }
}

async function connected(...values: readonly Buffer[]): Promise<Pair> {
  return begin(new Pair(), ...values);
}

async function begin(pair: Pair, ...values: readonly Buffer[]): Promise<Pair> {
  await pair.send(Buffer.from(preface), frameOf(frameTypes.settings, 0, 0, Buffer.concat(values)));
  return pair;
}

const data = (id: number, body: Buffer | string, flag = 0): Buffer =>
  frameOf(frameTypes.data, flag, id, Buffer.from(body));
const windowUpdate = (id: number, bytes: number): Buffer => frameOf(frameTypes.windowUpdate, 0, id, numberOf(bytes));
const reset = (id: number): Buffer => frameOf(frameTypes.reset, 0, id, numberOf(errorCodes.cancel));
const ping = frameOf(frameTypes.ping, 0, 0, Buffer.alloc(8, 7));

/** Returns frames in short: type, flags, stream, and the code or the length of the payload. */
const short = (frames: readonly PeerFrame[]): string[] =>
  frames.map(({ type, flag, id, payload }) => {
    const name = Object.entries(frameTypes).find(([, number]) => number === type)![0];
    const code =
      type === frameTypes.reset
        ? payload.readUInt32BE(0)
        : type === frameTypes.goAway
          ? `${payload.readUInt32BE(0)}/${payload.readUInt32BE(4)}`
          : type === frameTypes.windowUpdate
            ? `+${payload.readUInt32BE(0)}`
            : payload.length;
    return `${name} ${flag} ${id} ${code}`;
  });

/** Reads the body of a request. */
function readerOf(stream: ServerStream): { body: string; state: "open" | "ended" | "lost" } {
  const read = { body: "", state: "open" as "open" | "ended" | "lost" };
  stream.read({
    take: (piece) => (read.body += piece.toString()),
    end: () => {
      assert.equal(read.state, "open");
      read.state = "ended";
    },
    lost: () => {
      assert.equal(read.state, "open");
      read.state = "lost";
    },
  });
  return read;
}

/** Checks that the connection ended with a code. */
function checkBroken(pair: Pair, frames: readonly PeerFrame[], code: number, what = ""): void {
  const last = frames.at(-1);
  assert.equal(last?.type, frameTypes.goAway, `${what} ends the connection`);
  assert.equal(last.payload.readUInt32BE(4), code, what);
  assert.ok(pair.hasEnded && pair.lost === 1, what);
  assert.deepEqual(pair.errors, []);
}

test("a request is answered, in pieces of any length", async () => {
  for (const length of [1, 2, 5, 8, 9, 10, 13, 1000]) {
    const pair = new Pair();
    const bytes = Buffer.concat([
      Buffer.from(preface),
      frameOf(frameTypes.settings, 0, 0),
      frameOf(99, 7, 1, Buffer.from("unknown")),
      pair.headers(1, post, endHeaders),
      data(1, "ques"),
      data(1, Buffer.alloc(0)),
      data(1, "tion", endStream),
    ]);
    const frames: PeerFrame[] = [];
    let read: ReturnType<typeof readerOf> | undefined;
    pair.onRequest = (stream) => (read = readerOf(stream));
    for (let at = 0; at < bytes.length; at += length) {
      pair.client.write(bytes.subarray(at, at + length));
      await new Promise(setImmediate);
    }
    frames.push(...(await pair.turns()));
    assert.deepEqual(read, { body: "question", state: "ended" });
    assert.equal(pair.stream(1).headers[":method"], "POST");
    pair.stream(1).respond([...ok, "Content-Type", "text/plain"], false);
    pair.stream(1).end(Buffer.from("answer"));
    frames.push(...(await pair.turns()));
    assert.deepEqual(
      short(frames).map((text) => text.replace(/^(headers.*) \d+$/, "$1")),
      ["settings 0 0 12", "settings 1 0 0", "headers 4 1", "data 1 1 6"],
    );
    assert.deepEqual(pair.fieldsOf(frames[2]), [...ok, "content-type", "text/plain"]);
    assert.deepEqual(pair.closed, [1]);
  }
});

test("a connection begins with the preface and settings", async () => {
  for (const bytes of [
    Buffer.from("GET / HTTP/1.1\r\n\r\n"),
    Buffer.concat([Buffer.from(preface), ping]),
    Buffer.concat([Buffer.from(preface), frameOf(frameTypes.settings, ack, 0)]),
  ]) {
    const pair = new Pair();
    checkBroken(pair, await pair.send(bytes), errorCodes.protocol);
  }
});

test("frames that break the protocol end the connection", async () => {
  const head = (pair: Pair, id: number): Buffer => pair.headers(id, get);
  const cases: readonly (readonly [string, number, (pair: Pair) => Buffer[]])[] = [
    ["a long frame", errorCodes.frameSize, () => [frameOf(frameTypes.data, 0, 1, Buffer.alloc(16_385))]],
    ["a request of the server's", errorCodes.protocol, (pair) => [head(pair, 2)]],
    ["a request of the connection", errorCodes.protocol, (pair) => [head(pair, 0)]],
    ["a body before its request", errorCodes.protocol, () => [data(1, "x")]],
    ["a body of the connection", errorCodes.protocol, () => [data(0, "x")]],
    ["a reset before its request", errorCodes.protocol, () => [reset(1)]],
    [
      "a short reset",
      errorCodes.frameSize,
      (pair) => [head(pair, 1), frameOf(frameTypes.reset, 0, 1, Buffer.alloc(3))],
    ],
    ["a window before its request", errorCodes.protocol, () => [windowUpdate(1, 1)]],
    ["a window of nothing", errorCodes.protocol, () => [windowUpdate(0, 0)]],
    ["a window that is too wide", errorCodes.flowControl, () => [windowUpdate(0, 2 ** 31 - 1)]],
    ["a short window", errorCodes.frameSize, () => [frameOf(frameTypes.windowUpdate, 0, 0, Buffer.alloc(3))]],
    ["a short ping", errorCodes.frameSize, () => [frameOf(frameTypes.ping, 0, 0, Buffer.alloc(7))]],
    ["a ping of a stream", errorCodes.protocol, () => [frameOf(frameTypes.ping, 0, 1, Buffer.alloc(8))]],
    ["short settings", errorCodes.frameSize, () => [frameOf(frameTypes.settings, 0, 0, Buffer.alloc(5))]],
    ["settings of a stream", errorCodes.protocol, () => [frameOf(frameTypes.settings, 0, 1)]],
    ["a long confirmation", errorCodes.frameSize, () => [frameOf(frameTypes.settings, ack, 0, Buffer.alloc(6))]],
    [
      "a push that is neither",
      errorCodes.protocol,
      () => [frameOf(frameTypes.settings, 0, 0, setting(settings.push, 2))],
    ],
    [
      "a wide window",
      errorCodes.flowControl,
      () => [frameOf(frameTypes.settings, 0, 0, setting(settings.window, 2 ** 31))],
    ],
    [
      "short frames",
      errorCodes.protocol,
      () => [frameOf(frameTypes.settings, 0, 0, setting(settings.frameSize, 16_383))],
    ],
    [
      "long frames",
      errorCodes.protocol,
      () => [frameOf(frameTypes.settings, 0, 0, setting(settings.frameSize, 2 ** 24))],
    ],
    ["a pushed request", errorCodes.protocol, () => [frameOf(frameTypes.push, endHeaders, 1, Buffer.alloc(4))]],
    ["a priority of the connection", errorCodes.protocol, () => [frameOf(frameTypes.priority, 0, 0, Buffer.alloc(5))]],
    ["a short priority", errorCodes.frameSize, () => [frameOf(frameTypes.priority, 0, 1, Buffer.alloc(4))]],
    ["a notice of a stream", errorCodes.protocol, () => [frameOf(frameTypes.goAway, 0, 1, Buffer.alloc(8))]],
    ["a short notice", errorCodes.frameSize, () => [frameOf(frameTypes.goAway, 0, 0, Buffer.alloc(7))]],
    ["a lone continuation", errorCodes.protocol, () => [frameOf(frameTypes.continuation, endHeaders, 1)]],
    [
      "a continuation of another",
      errorCodes.protocol,
      (pair) => [pair.headers(1, get, 0), frameOf(frameTypes.continuation, endHeaders, 3)],
    ],
    ["a frame in a block", errorCodes.protocol, (pair) => [pair.headers(1, get, 0), ping]],
    [
      "too many continuations",
      errorCodes.calm,
      (pair) => [pair.headers(1, get, 0), ...Array.from({ length: 9 }, () => frameOf(frameTypes.continuation, 0, 1))],
    ],
    [
      "more padding than payload",
      errorCodes.protocol,
      (pair) => [pair.headers(1, post, endHeaders), frameOf(frameTypes.data, padded, 1, Buffer.from([2, 0]))],
    ],
    [
      "headers of padding",
      errorCodes.protocol,
      () => [frameOf(frameTypes.headers, padded | endHeaders, 1, Buffer.from([1]))],
    ],
    [
      "padding without a length",
      errorCodes.protocol,
      () => [frameOf(frameTypes.headers, padded | endHeaders, 1), ping],
    ],
    [
      "a cut priority",
      errorCodes.protocol,
      () => [frameOf(frameTypes.headers, priority | endHeaders, 1, Buffer.alloc(4))],
    ],
    [
      "a damaged block",
      errorCodes.compression,
      () => [frameOf(frameTypes.headers, endHeaders, 1, Buffer.from([0x80]))],
    ],
  ];
  for (const [what, code, framesOf] of cases) {
    const pair = await connected();
    checkBroken(pair, await pair.send(...framesOf(pair)), code, what);
    await pair.send(pair.headers(101, get));
    assert.ok(!pair.requests.has(101), `${what}: nothing is taken afterwards`);
  }
});

test("frames that are filled up, have priorities, or are continued are read", async () => {
  const pair = await connected();
  const block = pair.block(post);
  const first = Buffer.concat([Buffer.from([3]), Buffer.alloc(5), block.subarray(0, 4), Buffer.alloc(3)]);
  await pair.send(
    frameOf(frameTypes.priority, 0, 1, Buffer.alloc(5)),
    frameOf(frameTypes.headers, padded | priority, 1, first),
    ...Array.from({ length: 7 }, () => frameOf(frameTypes.continuation, 0, 1)),
    frameOf(frameTypes.continuation, endHeaders, 1, block.subarray(4)),
    frameOf(frameTypes.data, padded, 1, Buffer.concat([Buffer.from([4]), Buffer.from("body"), Buffer.alloc(4)])),
    frameOf(frameTypes.data, padded | endStream, 1, Buffer.from([0])),
  );
  assert.equal(pair.stream(1).headers[":path"], "/");
  assert.deepEqual(readerOf(pair.stream(1)), { body: "body", state: "ended" });
});

test("requests that are malformed, too large or too many are refused, others are not", async () => {
  const pair = await connected();
  const first = [pair.headers(1, [":method", "GET"]), pair.headers(3, [...post, "content-length", "1"])];
  const large = pair.block([...get, "x", "y".repeat(15_000), "z", "y".repeat(10_000)]);
  const frames = await pair.send(
    ...first,
    frameOf(frameTypes.headers, endStream, 5, large.subarray(0, 16_000)),
    frameOf(frameTypes.continuation, endHeaders, 5, large.subarray(16_000)),
    pair.headers(7, [...get, ...Array.from({ length: 94 }, () => "x")]),
    ...Array.from({ length: streamsMax + 1 }, (_, at) => pair.headers(11 + 2 * at, get)),
  );
  assert.deepEqual(short(frames), ["reset 0 1 1", "reset 0 3 1", "reset 0 5 1", "reset 0 7 1", "reset 0 21 7"]);
  assert.deepEqual([...pair.requests.keys()], [11, 13, 15, 17, 19]);
  pair.stream(13).respond(ok, true);
  await pair.send(pair.headers(23, get));
  assert.ok(pair.requests.has(23), "there is room again");
});

test("a body is what its length says", async () => {
  const cases: readonly (readonly [string, (id: number, pair: Pair) => Buffer[]])[] = [
    ["more", (id) => [data(id, "12345")]],
    ["more in two frames", (id) => [data(id, "123"), data(id, "45")]],
    ["less", (id) => [data(id, "123", endStream)]],
    ["less before trailers", (id, pair) => [data(id, "123"), pair.headers(id, ["x", "y"])]],
  ];
  for (const [what, framesOf] of cases) {
    const pair = await connected();
    let read: ReturnType<typeof readerOf> | undefined;
    pair.onRequest = (stream) => (read ??= readerOf(stream));
    const head = pair.headers(1, [...post, "content-length", "4"], endHeaders);
    assert.deepEqual(short(await pair.send(head, ...framesOf(1, pair), ping)), ["reset 0 1 1", "ping 1 0 8"], what);
    assert.equal(read?.state, "lost", what);
    assert.deepEqual(pair.closed, [1], what);
  }
  const pair = await connected();
  await pair.send(
    pair.headers(1, [...post, "content-length", "4"], endHeaders),
    data(1, "12"),
    data(1, "34"),
    pair.headers(1, ["x", "y"]),
    pair.headers(3, [...post, "content-length", "0"], endHeaders),
    data(3, "", endStream),
  );
  assert.deepEqual(readerOf(pair.stream(1)), { body: "1234", state: "ended" });
  assert.deepEqual(readerOf(pair.stream(3)), { body: "", state: "ended" });
});

test("nothing comes after the end of a body, and only its end after it", async () => {
  const cases: readonly (readonly [string, number, (pair: Pair) => Buffer])[] = [
    ["more of the body", errorCodes.streamClosed, () => data(1, "x")],
    ["trailers", errorCodes.streamClosed, (pair) => pair.headers(1, ["x", "y"])],
  ];
  for (const [what, code, frame] of cases) {
    const pair = await connected();
    assert.deepEqual(short(await pair.send(pair.headers(1, get), frame(pair))), [`reset 0 1 ${code}`], what);
  }
  for (const [fields, flag] of [
    [["x", "y"], endHeaders],
    [[":path", "/"], endHeaders | endStream],
  ] as const) {
    const pair = await connected();
    const frames = await pair.send(pair.headers(1, post, endHeaders), pair.headers(1, fields, flag));
    assert.deepEqual(short(frames), ["reset 0 1 1"]);
  }
});

test("the peer may send a body as fast as it is read", async () => {
  const pair = await connected();
  const piece = Buffer.alloc(16_384);
  await pair.send(pair.headers(1, post, endHeaders), data(1, piece), data(1, piece), data(1, piece));
  let taken = 0;
  const stream = pair.stream(1);
  stream.read({
    take: (bytes) => {
      taken += bytes.length;
      if (taken === 2 * piece.length) stream.pause();
    },
    end: () => (taken += 1_000_000),
    lost: () => assert.fail(),
  });
  assert.deepEqual(short(await pair.turns()), ["windowUpdate 0 1 +32768", "windowUpdate 0 0 +32768"]);
  assert.equal(taken, 2 * piece.length);
  assert.deepEqual(short(await pair.send(data(1, piece), data(1, piece, endStream))), []);
  assert.equal(taken, 2 * piece.length, "nothing comes while it is paused");
  stream.resume();
  assert.equal(taken, 5 * piece.length + 1_000_000);
  assert.deepEqual(short(await pair.turns()), ["windowUpdate 0 0 +32768"], "a body that is complete needs no window");
});

test("a body that is paused and resumed while a piece is taken comes once", async () => {
  const pair = await connected();
  await pair.send(pair.headers(1, post, endHeaders), data(1, "1"), data(1, "2"), data(1, "3", endStream));
  const stream = pair.stream(1);
  let body = "";
  let ends = 0;
  stream.read({
    take: (bytes) => {
      body += bytes.toString();
      stream.pause();
      stream.resume();
    },
    end: () => ends++,
    lost: () => assert.fail(),
  });
  stream.resume();
  assert.deepEqual([body, ends], ["123", 1]);
});

test("windows are kept", async () => {
  const piece = Buffer.alloc(16_384);
  const fill = (id: number): Buffer[] => [
    data(id, piece),
    data(id, piece),
    data(id, piece),
    data(id, piece.subarray(1)),
  ];
  const pair = await connected();
  assert.deepEqual(short(await pair.send(pair.headers(1, post, endHeaders), ...fill(1))), []);
  checkBroken(pair, await pair.send(data(1, "x")), errorCodes.flowControl, "more than the connection takes");

  const wide = await begin(new Pair(100_000));
  await wide.send(wide.headers(1, post, endHeaders), data(1, "x"));
  readerOf(wide.stream(1));
  const frames = await wide.send(wide.headers(3, post, endHeaders), ...fill(3), data(3, piece), data(3, piece));
  assert.deepEqual(short(frames), ["settings 0 0 6", "windowUpdate 0 0 +434465"]);
  assert.deepEqual(short(await wide.send(data(3, Buffer.alloc(1697)))), []);
  assert.deepEqual(short(await wide.send(data(3, "x"))), ["reset 0 3 3"], "more than the stream takes");
});

test("bodies that nobody reads do not use up the window of the connection", async () => {
  const pair = await connected();
  const body = Buffer.alloc(16_000);
  const answer = (stream: ServerStream): void => stream.respond(ok, true);
  const ends: readonly ((stream: ServerStream) => unknown)[] = [
    answer,
    (stream) => stream.reset(errorCodes.cancel),
    (stream) => {
      readerOf(stream);
      stream.stop();
      answer(stream);
    },
    (stream) => {
      stream.stop();
      answer(stream);
    },
    (stream) => {
      readerOf(stream);
      stream.pause();
      void pair.client.write(Buffer.concat([data(stream.id, body), reset(stream.id)]));
    },
  ];
  for (let id = 1; id < 200; id += 2) {
    await pair.send(pair.headers(id, post, endHeaders), data(id, body), data(id, ""));
    ends[((id - 1) / 2) % ends.length]!(pair.stream(id));
    await pair.send(data(id, body)); // a peer cannot know yet that nobody wants it
    assert.equal(pair.closed.at(-1), id);
  }
  assert.ok(!pair.hasEnded);
});

test("a body of which no more is wanted is not kept", async () => {
  const pair = await connected();
  const piece = Buffer.alloc(16_384);
  await pair.send(pair.headers(1, post, endHeaders), data(1, piece));
  pair.stream(1).stop();
  const frames = await pair.send(data(1, piece), data(1, piece));
  assert.deepEqual(
    short(frames),
    ["windowUpdate 0 0 +32768"],
    "the connection may bring other bodies, and no more of this",
  );
});

test("the body of a stream that is closed is lost, even if all of it came", async () => {
  const pair = await connected();
  await pair.send(pair.headers(1, post, endHeaders), data(1, "all", endStream));
  const stream = pair.stream(1);
  stream.reset(errorCodes.cancel);
  assert.deepEqual(readerOf(stream), { body: "", state: "lost" }, "before its end is told");
  await pair.turns();
  assert.deepEqual(readerOf(stream), { body: "", state: "lost" });

  await pair.send(pair.headers(3, post, endHeaders), data(3, "1"), data(3, "2", endStream));
  const second = pair.stream(3);
  const read = { body: "", ends: 0, lost: 0 };
  second.read({
    take: (bytes) => {
      read.body += bytes.toString();
      second.reset(errorCodes.cancel);
    },
    end: () => read.ends++,
    lost: () => read.lost++,
  });
  await pair.turns();
  assert.deepEqual(read, { body: "1", ends: 0, lost: 1 });
});

test("an answer has the bytes that the peer takes", async () => {
  const pair = await connected(setting(settings.window, 10));
  await pair.send(pair.headers(1, get), pair.headers(3, get));
  for (const id of [1, 3]) {
    pair.stream(id).respond(ok, false);
    assert.equal(pair.stream(id).write(Buffer.from("0123456789")), true);
    assert.equal(pair.stream(id).write(Buffer.from("abcdef")), false);
  }
  let drains = 0;
  pair.stream(1).onDrain = () => drains++;
  const texts = (frames: readonly PeerFrame[]): string[] =>
    frames
      .filter(({ type }) => type === frameTypes.data)
      .map(({ id, payload, flag }) => `${id} ${payload.toString()} ${flag}`);
  assert.deepEqual(texts(await pair.turns()), ["1 0123456789 0", "3 0123456789 0"]);
  assert.deepEqual(texts(await pair.send(windowUpdate(1, 2))), ["1 ab 0"]);
  // The window of stream 1 is -2, that of stream 3 -4.
  assert.deepEqual(texts(await pair.send(frameOf(frameTypes.settings, 0, 0, setting(settings.window, 6)))), []);
  assert.deepEqual(texts(await pair.send(windowUpdate(1, 4), windowUpdate(3, 5))), ["3 a 0"]);
  assert.equal(drains, 0);
  pair.stream(1).end(Buffer.from("gh"));
  pair.stream(3).end();
  assert.deepEqual(texts(await pair.send(frameOf(frameTypes.settings, 0, 0, setting(settings.window, 100)))), [
    "1 cdefgh 1",
    "3 bcdef 1",
  ]);
  assert.deepEqual(pair.closed, [1, 3]);
});

test("a window of the stream that is too wide, or widened by nothing, ends the stream", async () => {
  const pair = await connected();
  await pair.send(pair.headers(1, get), pair.headers(3, get));
  assert.deepEqual(short(await pair.send(windowUpdate(1, 2 ** 31 - 1), windowUpdate(3, 0))), [
    "reset 0 1 3",
    "reset 0 3 1",
  ]);
  await pair.send(pair.headers(5, get), windowUpdate(5, 2 ** 31 - 1 - windowBytes));
  const wider = frameOf(frameTypes.settings, 0, 0, setting(settings.window, windowBytes + 1));
  checkBroken(pair, await pair.send(wider), errorCodes.flowControl);
});

test("all streams have their turn, however little the connection takes", async () => {
  const pair = await connected(setting(settings.window, 1_000_000));
  const ids = [1, 3, 5];
  await pair.send(...ids.map((id) => pair.headers(id, get)));
  for (const id of ids) {
    pair.stream(id).respond(ok, false);
    pair.stream(id).end(Buffer.alloc(200_000));
  }
  await pair.turns();
  const bytes = new Map(ids.map((id) => [id, 0]));
  for (let count = 0; count < 9; count++) {
    for (const { id, payload } of await pair.send(windowUpdate(0, 10_000)))
      bytes.set(id, bytes.get(id)! + payload.length);
  }
  assert.deepEqual([...bytes.values()], [30_000, 30_000, 30_000]);
});

test("answers go on when the client reads again", async () => {
  const pair = await connected(setting(settings.window, 2 ** 30));
  await pair.send(windowUpdate(0, 2 ** 30), ...[1, 3].map((id) => pair.headers(id, get)));
  pair.client.pause();
  let drains = 0;
  for (const id of [1, 3]) {
    const stream = pair.stream(id);
    stream.respond(ok, false);
    stream.write(Buffer.alloc(1_000_000, id));
    stream.onDrain = () => {
      drains++;
      stream.end(Buffer.alloc(1_000_000, id));
    };
  }
  await pair.turns();
  assert.ok(pair.socket.writableLength < 300_000, "few bytes wait outside of the streams");
  await pair.send(pair.headers(5, get));
  pair.stream(5).respond(ok, false);
  pair.stream(5).end(Buffer.from("short"));
  assert.equal(drains, 0);
  pair.client.resume();
  const frames: PeerFrame[] = [];
  for (let turns = 0; turns < 20; turns++) frames.push(...(await pair.turns()));
  assert.equal(drains, 2);
  assert.deepEqual(pair.closed, [5, 1, 3]);
  const body = (id: number): Buffer =>
    Buffer.concat(
      frames.filter((frame) => frame.type === frameTypes.data && frame.id === id).map(({ payload }) => payload),
    );
  for (const id of [1, 3]) assert.ok(body(id).equals(Buffer.alloc(2_000_000, id)));
  assert.equal(body(5).toString(), "short");
});

test("an answer ends once, and says that the rest of a body is of no use", async () => {
  const pair = await connected();
  await pair.send(...[1, 3, 5, 7].map((id) => pair.headers(id, post, id === 1 ? endHeaders | endStream : endHeaders)));
  const [first, second, third, fourth] = [1, 3, 5, 7].map((id) => pair.stream(id)) as [
    ServerStream,
    ServerStream,
    ServerStream,
    ServerStream,
  ];
  first.sendContinue();
  first.respond(ok, false);
  first.respond(ok, true);
  first.sendContinue();
  first.end();
  first.end(Buffer.from("x"));
  first.write(Buffer.from("x"));
  second.respond(ok, true);
  second.end();
  second.reset(errorCodes.cancel);
  third.respond(ok, false);
  third.reset(errorCodes.internal);
  third.write(Buffer.from("x"));
  third.end();
  fourth.respond(ok, false);
  fourth.end(Buffer.from("x"));
  const frames = await pair.turns();
  assert.deepEqual(
    short(frames).map((text) => text.replace(/^(headers.*) \d+$/, "$1")),
    [
      "headers 4 1",
      "headers 4 1",
      "data 1 1 0",
      "headers 5 3",
      "reset 0 3 0",
      "headers 4 5",
      "reset 0 5 2",
      "headers 4 7",
      "data 1 7 1",
      "reset 0 7 0",
    ],
  );
  assert.deepEqual(pair.fieldsOf(frames[0]), [":status", "100"]);
  assert.deepEqual(pair.closed, [1, 3, 5, 7]);
});

test("heads that are longer than a frame are continued", async () => {
  const pair = await connected();
  await pair.send(pair.headers(1, get));
  const fields = [...ok, ...Array.from({ length: 20 }, (_, at) => [`x${at}`, "y".repeat(2000)]).flat()];
  pair.stream(1).respond(fields, true);
  const frames = await pair.turns();
  assert.deepEqual(
    frames.map(({ type, flag, payload }) => [type, flag, payload.length === 16_384]),
    [
      [frameTypes.headers, endStream, true],
      [frameTypes.continuation, 0, true],
      [frameTypes.continuation, endHeaders, false],
    ],
  );
  const block = { ...frames[0]!, payload: Buffer.concat(frames.map(({ payload }) => payload)) };
  assert.deepEqual(pair.fieldsOf(block), fields);
});

test("a session that closes answers what came before, and ignores requests after it", async () => {
  const pair = await connected();
  await pair.send(pair.headers(1, get), pair.headers(3, post, endHeaders));
  pair.session.close();
  pair.session.close();
  assert.deepEqual(short(await pair.turns()), ["goAway 0 0 3/0"]);
  const frames = await pair.send(
    pair.headers(5, post, endHeaders),
    data(5, "body"),
    windowUpdate(5, 1),
    reset(5),
    pair.headers(7, get),
    data(3, "x", endStream),
    ping,
  );
  assert.deepEqual(short(frames), ["ping 1 0 8"]);
  assert.deepEqual([...pair.requests.keys()], [1, 3]);
  for (const id of [1, 3]) {
    assert.ok(!pair.hasEnded);
    pair.stream(id).respond(ok, false);
    pair.stream(id).end(Buffer.from("answer"));
    const answers = short(await pair.turns()).filter((text) => text.startsWith("data"));
    assert.deepEqual(answers, [`data 1 ${id} 6`]);
  }
  assert.ok(pair.hasEnded && pair.lost === 1);
});

test("nothing is written after the end, and what was written before arrives", async () => {
  const pair = await connected(setting(settings.window, 1_000_000));
  await pair.send(windowUpdate(0, 1_000_000), pair.headers(1, get), pair.headers(3, get));
  pair.client.pause();
  for (const id of [1, 3]) pair.stream(id).respond(ok, false);
  pair.stream(1).write(Buffer.alloc(200_000));
  pair.stream(3).end(Buffer.from("late"));
  pair.session.close();
  await pair.send(reset(1));
  pair.client.resume();
  let frames = await pair.turns();
  assert.equal(frames.findLast(({ id }) => id === 3)?.payload.toString(), "late");

  const idle = await connected();
  idle.client.pause();
  idle.session.close();
  await idle.send(ping, frameOf(frameTypes.settings, 0, 0), idle.headers(1, get));
  idle.client.resume();
  frames = await idle.turns();
  assert.deepEqual(short(frames), ["goAway 0 0 0/0"]);
  assert.deepEqual([pair.errors, idle.errors], [[], []]);
});

test("the end of each stream is told once, and later", async () => {
  const pair = await connected();
  const readers: ReturnType<typeof readerOf>[] = [];
  await pair.send(...[1, 3, 5, 7].map((id) => pair.headers(id, post, endHeaders)));
  for (const id of [1, 3, 5, 7]) readers.push(readerOf(pair.stream(id)));
  pair.stream(1).respond(ok, true);
  pair.stream(3).reset(errorCodes.cancel);
  assert.deepEqual(pair.closed, []);
  await pair.send(reset(5));
  assert.deepEqual(pair.closed, [1, 3, 5]);
  await pair.send(reset(5), reset(1));
  pair.client.destroy();
  await pair.turns();
  pair.stream(7).respond(ok, true);
  pair.stream(7).reset(errorCodes.cancel);
  pair.session.destroy();
  await pair.turns();
  assert.deepEqual(pair.closed, [1, 3, 5, 7]);
  assert.deepEqual(
    readers.map(({ state }) => state),
    ["lost", "lost", "lost", "lost"],
  );
  assert.equal(pair.lost, 1);
});

test("a client that sends much that is neither a request nor a body loses the connection", async () => {
  const many = (count: number, frame: Buffer): Buffer[] => Array.from({ length: count }, () => frame);
  const cases: readonly (readonly [string, (pair: Pair) => Buffer, Buffer?])[] = [
    ["pings", () => frameOf(frameTypes.ping, ack, 0, Buffer.alloc(8))],
    ["settings", () => frameOf(frameTypes.settings, ack, 0)],
    ["priorities", () => frameOf(frameTypes.priority, 0, 1, Buffer.alloc(5))],
    ["unknown frames", () => frameOf(99, 0, 0)],
    ["windows", () => windowUpdate(0, 1)],
    ["resets of streams that are closed", () => reset(1)],
    ["bodies of nothing", (pair) => data(pair.requests.has(3) ? 3 : 1, "")],
    ["padding", () => frameOf(frameTypes.data, padded, 3, Buffer.alloc(16, 15))],
    ["trailers of streams that are closed", (pair) => pair.headers(1, get)],
  ];
  for (const [what, frame] of cases) {
    const pair = await connected();
    pair.onRequest = (stream) => stream.read({ take() {}, end() {}, lost() {} });
    await pair.send(pair.headers(1, get), pair.headers(3, post, endHeaders));
    pair.stream(1).respond(ok, true);
    const few = await pair.send(...many(15_000, frame(pair)));
    assert.ok(!pair.hasEnded, `${what}: ${short(few).at(-1)}`);
    pair.nowMs += 60_000;
    await pair.send(...many(10_000, frame(pair)));
    assert.ok(!pair.hasEnded, `${what}: more may come later`);
    checkBroken(pair, await pair.send(...many(20_000, frame(pair))), errorCodes.calm, what);
  }
});

test("confirmations that nobody reads are few", async () => {
  const pair = await connected(setting(settings.window, 2 ** 30));
  await pair.send(windowUpdate(0, 2 ** 30), pair.headers(1, get));
  pair.client.pause();
  pair.stream(1).respond(ok, false);
  pair.stream(1).write(Buffer.alloc(500_000));
  await pair.send(...Array.from({ length: 900 }, () => ping));
  assert.equal(pair.lost, 0);
  await pair.send(...Array.from({ length: 101 }, () => ping));
  assert.equal(pair.lost, 1);
  assert.ok(pair.socket.destroyed);
});

test("answers that nobody reads are bounded", async () => {
  const pair = await connected();
  pair.onRequest = (stream) => stream.respond([...ok, "x", "y".repeat(3000)], true);
  pair.client.pause();
  for (let id = 1; id < 1000 && pair.lost === 0; id += 2) await pair.send(pair.headers(id, get));
  assert.equal(pair.lost, 1);
});

test("bodies that nobody wants any more are as long as they may be for a client that cannot know it", async () => {
  const pair = await connected();
  const piece = Buffer.alloc(16_384);
  pair.onRequest = (stream) => stream.respond(ok, true);
  await pair.send(pair.headers(1, post, endHeaders));
  for (let count = 0; count < 34; count++) await pair.send(data(1, piece));
  assert.ok(!pair.hasEnded);
  const frames: PeerFrame[] = [];
  for (let count = 0; count < 3 && !pair.hasEnded; count++) frames.push(...(await pair.send(data(1, piece))));
  checkBroken(pair, frames, errorCodes.calm);
});

test("streams that were of no use are few, whoever reset them", async () => {
  const cases: readonly (readonly [string, (id: number, pair: Pair) => Buffer[]])[] = [
    ["resets", (id) => [reset(id)]],
    ["windows of nothing", (id) => [windowUpdate(id, 0)]],
    ["wide windows", (id) => [windowUpdate(id, 2 ** 31 - 1)]],
    ["bodies after the end", (id) => [data(id, "x", endStream)]],
    ["trailers after the end", (id, pair) => [pair.headers(id, ["x", "y"])]],
  ];
  for (const [what, framesOf] of cases) {
    const pair = await connected();
    const send = async (count: number): Promise<readonly PeerFrame[]> => {
      const frames: Buffer[] = [];
      for (; count > 0; count--, id += 2) frames.push(pair.headers(id, get), ...framesOf(id, pair));
      return pair.send(...frames);
    };
    let id = 1;
    await send(1000);
    assert.ok(!pair.hasEnded, what);
    pair.nowMs += 10_000;
    await send(300);
    assert.ok(!pair.hasEnded, what);
    checkBroken(pair, await send(100), errorCodes.calm, what);
    assert.equal(pair.closed.length, pair.requests.size);
  }
});

test("a short piece of a body does not keep all that came with it", async () => {
  const pair = await connected();
  const pieces: Buffer[] = [];
  pair.onRequest = (stream) => stream.read({ take: (piece) => pieces.push(piece), end() {}, lost() {} });
  const frames = [pair.headers(1, post, endHeaders), data(1, Buffer.alloc(9000)), data(1, "12345678", endStream)];
  const bytes = Buffer.concat(frames);
  const alone = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(alone);
  pair.client.write(alone);
  await pair.turns();
  assert.equal(pieces[1]?.toString(), "12345678");
  assert.deepEqual(
    pieces.map(({ buffer }) => buffer.byteLength),
    [alone.length, 8],
  );
});
