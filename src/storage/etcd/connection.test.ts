/** Calls to servers that answer badly, or not at all. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type ServerHttp2Stream, constants } from "node:http2";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { frameOf } from "#http2/frames-for-tests.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { EtcdError, type EtcdErrorKind } from "./client.ts";
import { MemberConnection } from "./connection.ts";
import { begin, emptyAnswer, FakeMember, type FakeCall, framed, refuse, reply } from "./fake-member.ts";
import { readRangeAnswer, RequestWriter } from "./messages.ts";

const requests = new RequestWriter();
const frame = requests.range({ key: "/a" });
const path = "/etcdserverpb.KV/Range";
const ok = emptyAnswer(5);

interface Opened {
  readonly member: FakeMember;
  readonly connection: MemberConnection;
  readonly clock: FakeClock;
  readonly ended: EtcdError[];
  call(): Promise<number>;
}

async function open(t: TestContext, answer: (call: FakeCall) => void): Promise<Opened> {
  const member = await FakeMember.listen(answer);
  const clock = new FakeClock();
  const ended: EtcdError[] = [];
  const connection = await MemberConnection.open(member.endpoint, {}, clock, (error) => ended.push(error));
  t.after(async () => {
    connection.close();
    await member.close();
  });
  const call = async (): Promise<number> => (await connection.call(path, frame, readRangeAnswer, 1000)).header.revision;
  return { member, connection, clock, ended, call };
}

async function failure(work: Promise<unknown>): Promise<EtcdError> {
  const error = await work.then(
    () => assert.fail("the call succeeded"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof EtcdError, String(error));
  return error;
}

interface BadAnswer {
  readonly what: string;
  readonly answer: (stream: ServerHttp2Stream, call: FakeCall) => void;
  readonly kind: EtcdErrorKind;
  readonly message: RegExp;
  readonly mayBeDone?: boolean;
  /** Whether the connection goes on; by default it does not after an invalid answer. */
  readonly goesOn?: boolean;
}

const headOf = (length: number, flag = 0): Buffer => {
  const head = Buffer.alloc(5, flag);
  head.writeUInt32BE(length, 1);
  return head;
};

const send =
  (...pieces: readonly Buffer[]): BadAnswer["answer"] =>
  (stream) => {
    begin(stream);
    for (const piece of pieces) stream.write(piece);
    stream.end();
  };

const bad: readonly BadAnswer[] = [
  {
    what: "bytes that are no message",
    answer: send(framed(Buffer.alloc(100, 0xff))),
    kind: "invalid",
    message: /proto/,
  },
  {
    what: "a message with messages in messages",
    answer: send(framed(Buffer.from(`${"\n\u0060".repeat(50)}`))),
    kind: "invalid",
    message: /./,
  },
  { what: "a length of 4 GiB", answer: send(headOf(0xffffffff)), kind: "answerTooLarge", message: /4294967295 bytes/ },
  {
    what: "a length above the bound",
    answer: send(headOf(64 * 2 ** 20 + 1)),
    kind: "answerTooLarge",
    message: /67108865 bytes/,
  },
  { what: "a message that is cut off", answer: send(framed(ok).subarray(0, -1)), kind: "invalid", message: /cut off/ },
  { what: "a long length and few bytes", answer: send(headOf(64 * 2 ** 20), ok), kind: "invalid", message: /cut off/ },
  { what: "a head that is cut off", answer: send(Buffer.alloc(3)), kind: "invalid", message: /cut off/ },
  { what: "a compressed message", answer: send(headOf(ok.length, 1), ok), kind: "invalid", message: /compressed/ },
  { what: "two messages", answer: send(framed(ok), framed(ok)), kind: "invalid", message: /two messages/ },
  { what: "a message without a header", answer: send(framed(Buffer.alloc(0))), kind: "invalid", message: /no header/ },
  { what: "no message", answer: send(), kind: "invalid", message: /no message/ },
  {
    what: "no message in the headers",
    answer: (stream) => refuse(stream, "0", ""),
    kind: "invalid",
    message: /no message/,
  },
  {
    what: "no trailers",
    answer: (stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" });
      stream.end(framed(ok));
    },
    kind: "invalid",
    message: /no status/,
  },
  {
    what: "trailers without a status",
    answer: (stream) => {
      begin(stream, { "x-other": "1" });
      stream.end(framed(ok));
    },
    kind: "invalid",
    message: /no status/,
  },
  {
    what: "a page of HTML",
    answer: (stream) => {
      stream.respond({ ":status": 200, "content-type": "text/html" });
      stream.end("<html>");
    },
    kind: "invalid",
    message: /not one of gRPC: status 200, type text\/html/,
  },
  {
    what: "a status of HTTP",
    answer: (stream) => stream.respond({ ":status": 503 }, { endStream: true }),
    kind: "invalid",
    message: /not one of gRPC: status 503, type unknown/,
  },
  {
    what: "an error without a message",
    answer: (stream) => refuse(stream, "11", "etcdserver: mvcc: required revision has been compacted"),
    kind: "compacted",
    message: /required revision has been compacted$/,
    mayBeDone: false,
    goesOn: true,
  },
  {
    what: "an error in the trailers after a message",
    answer: (stream) => {
      begin(stream, { "grpc-status": "14", "grpc-message": "etcdserver: request timed out" });
      stream.end(framed(ok));
    },
    kind: "unanswered",
    message: /request timed out$/,
    goesOn: true,
  },
  {
    what: "an error with control characters",
    answer: (stream) => refuse(stream, "2", "a%0A%1B[31mb %zz"),
    kind: "unanswered",
    message: /a%0A%1B\[31mb %zz$|a \?\[31mb/,
    goesOn: true,
  },
  {
    what: "an error of line breaks",
    answer: (stream) => refuse(stream, "2", "a%0Ab%1B"),
    kind: "unanswered",
    message: /: a b\?$/,
    goesOn: true,
  },
  {
    what: "a member without a leader",
    answer: (stream) => refuse(stream, "14", "etcdserver: no leader"),
    kind: "unsent",
    message: /no leader$/,
    mayBeDone: false,
    goesOn: false,
  },
  {
    what: "a message of an error beyond the bound",
    answer: (stream) => refuse(stream, "2", "y".repeat(10_000)),
    kind: "unanswered",
    message: /: y{1024}$/,
    goesOn: true,
  },
];

for (const { what, answer, kind, message, mayBeDone = true, goesOn } of bad) {
  test(`an answer with ${what} is ${kind}`, async (t) => {
    let isBad = true;
    const { connection, call, ended } = await open(t, (given) => {
      if (isBad) answer(given.stream, given);
      else reply(given.stream, ok);
    });
    const error = await failure(call());
    assert.match(error.message, message);
    assert.equal(error.kind, kind, error.message);
    assert.equal(error.mayBeDone, mayBeDone);
    assert.match(error.message, /^etcd at http:\/\/127\.0\.0\.1:\d+: /);
    if (goesOn !== undefined || kind === "invalid") assert.equal(connection.isOpen, goesOn ?? false);
    assert.equal(ended.length, connection.isOpen ? 0 : 1);
    isBad = false;
    if (connection.isOpen) assert.equal(await call(), 5);
    else assert.equal((await failure(call())).kind, "unsent");
  });
}

test("a message in pieces of one byte is read", async (t) => {
  const { call } = await open(t, ({ stream }) => {
    begin(stream);
    const bytes = framed(ok);
    const next = (at: number): void => {
      if (at === bytes.length) stream.end();
      else stream.write(bytes.subarray(at, at + 1), () => setImmediate(next, at + 1));
    };
    next(0);
  });
  assert.equal(await call(), 5);
});

test("a message of 40 MiB is read", async (t) => {
  // Field 15, which nobody knows, is skipped.
  const long = Buffer.concat([Buffer.from([0x7a, 0x80, 0x80, 0x80, 0x14]), Buffer.alloc(40 * 2 ** 20), ok]);
  const { call } = await open(t, ({ stream }) => reply(stream, long));
  assert.equal(await call(), 5);
});

for (const state of ["headers", "message", "half a message"] as const) {
  for (const code of ["NGHTTP2_CANCEL", "NGHTTP2_INTERNAL_ERROR", "NGHTTP2_REFUSED_STREAM"] as const) {
    test(`${code} after the ${state} leaves the connection open`, async (t) => {
      const { connection, call } = await open(t, ({ stream }) => {
        begin(stream);
        if (state === "message") stream.write(framed(ok));
        if (state === "half a message") stream.write(framed(ok).subarray(0, 7));
        setImmediate(() => stream.close(constants[code]));
      });
      const error = await failure(call());
      assert.equal(error.kind, "unanswered", error.message);
      assert.equal(connection.isOpen, true);
    });
  }
}

test("a call that is refused before its headers was not done, one that is broken off may be", async (t) => {
  let code = constants.NGHTTP2_REFUSED_STREAM;
  const { call } = await open(t, ({ stream }) => stream.close(code));
  assert.equal((await failure(call())).mayBeDone, false);
  code = constants.NGHTTP2_INTERNAL_ERROR;
  assert.equal((await failure(call())).mayBeDone, true);
});

test("calls that GOAWAY does not name were not done, and others are still answered", async (t) => {
  const streams: ServerHttp2Stream[] = [];
  const { connection, call, ended } = await open(t, ({ stream }) => {
    streams.push(stream);
    if (streams.length < 2) return;
    streams[0]!.session!.goaway(constants.NGHTTP2_NO_ERROR, streams[0]!.id!);
    setImmediate(() => reply(streams[0]!, ok));
  });
  const [first, second] = await Promise.all([call(), failure(call())]);
  assert.equal(first, 5);
  assert.equal(second.kind, "unsent", second.message);
  assert.equal(connection.isOpen, false);
  assert.equal(ended.length, 1);
  assert.equal((await failure(call())).kind, "unsent");
});

test("calls on their way may be done when GOAWAY has an error, or the connection is closed", async (t) => {
  let end = ({ stream }: FakeCall): void => stream.session!.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, stream.id!);
  const one = await open(t, (call) => end(call));
  assert.equal((await failure(one.call())).kind, "unanswered");
  end = ({ stream }) => stream.session!.socket.destroy();
  const other = await open(t, (call) => end(call));
  const error = await failure(other.call());
  assert.equal(error.kind, "unanswered");
  assert.equal(error.endpoint, other.member.endpoint);
  assert.equal(other.connection.isOpen, false);
});

test("a call without an answer ends at its deadline, which the member learns; two in a row end the connection", async (t) => {
  const streams: ServerHttp2Stream[] = [];
  const timeouts: unknown[] = [];
  const { connection, clock, ended } = await open(t, ({ stream, headers }) => {
    streams.push(stream);
    timeouts.push(headers["grpc-timeout"]);
    if (timeouts.length === 2) reply(stream, ok);
  });
  const miss = async (count: number): Promise<EtcdError> => {
    const failed = failure(connection.call(path, frame, readRangeAnswer, 1500));
    while (streams.length < count) await new Promise(setImmediate);
    clock.advance(1500);
    return failed;
  };
  const error = await miss(1);
  assert.deepEqual([error.kind, error.message.replace(/^.*\d: /, "")], ["unanswered", "no answer in 1.5 s"]);
  if (streams[0]!.rstCode === 0) await once(streams[0]!, "close");
  assert.equal(streams[0]!.rstCode, constants.NGHTTP2_CANCEL);
  assert.equal((await connection.call(path, frame, readRangeAnswer, 250)).header.revision, 5);
  await miss(3);
  assert.equal(connection.isOpen, true);
  await miss(4);
  assert.equal(connection.isOpen, false);
  assert.match(ended[0]!.message, /2 calls in a row were not answered in time/);
  assert.deepEqual(timeouts, ["1500m", "250m", "1500m", "1500m"]);
});

test("calls with little time do not end the connection", async (t) => {
  let calls = 0;
  const { connection, clock } = await open(t, () => calls++);
  for (let count = 1; count <= 4; count++) {
    const failed = failure(connection.call(path, frame, readRangeAnswer, 100));
    while (calls < count) await new Promise(setImmediate);
    clock.advance(100);
    assert.equal((await failed).kind, "unanswered");
    assert.equal(connection.isOpen, true);
  }
});

test("headers without an end do not outlive the deadline", async (t) => {
  const { clock, call } = await open(t, ({ stream }) => {
    const next = (): void => {
      if (stream.destroyed) return;
      stream.additionalHeaders({ ":status": 103, link: "</a>" });
      setImmediate(next);
    };
    next();
  });
  const failed = failure(call());
  for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate);
  clock.advance(1000);
  assert.equal((await failed).kind, "unanswered");
});

test("a million tiny messages of a stream are read, and a wrong one ends it", async (t) => {
  const count = 1_000_000;
  const { connection } = await open(t, ({ stream }) => {
    begin(stream);
    const many = Buffer.concat(Array.from({ length: 1000 }, () => framed(ok)));
    const next = (left: number): void => {
      if (left === 0) stream.write(framed(Buffer.alloc(0)));
      else stream.write(many, () => next(left - 1000));
    };
    next(count);
  });
  let read = 0;
  const error = await new Promise<EtcdError | undefined>((resolve) => {
    connection.stream(path, frame, { read: readRangeAnswer, take: () => read++, ended: resolve });
  });
  assert.equal(read, count);
  assert.equal(error?.kind, "invalid");
  assert.equal(connection.isOpen, false);
});

/** Starts a server that speaks what `talk` writes. Returns its address. */
async function rawServer(t: TestContext, talk: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.resume();
    talk(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server has a port
}

test("a block of headers without an end closes the connection", async (t) => {
  const endpoint = await rawServer(t, (socket) => {
    socket.once("data", () => {
      socket.write(frameOf(4, 0, 0, Buffer.alloc(0)));
      socket.write(frameOf(1, 0, 1, Buffer.from([0x88])));
      const next = (): void => {
        if (socket.destroyed) return;
        // Each field is `x: y`, without the flag that ends the block.
        socket.write(frameOf(9, 0, 1, Buffer.from("\u0000\u0001x\u0001y".repeat(100))), () => setImmediate(next));
      };
      next();
    });
  });
  await new Promise<void>((resolve, reject) => {
    MemberConnection.open(endpoint, {}, new FakeClock(), () => resolve()).then(async (connection) => {
      t.after(() => connection.close());
      const error = await failure(connection.call(path, frame, readRangeAnswer, 1000));
      assert.equal(error.kind, "unanswered");
    }, reject);
  });
});

test("a connection that goes away without calls is closed", async (t) => {
  const closed = Promise.withResolvers<void>();
  const endpoint = await rawServer(t, (socket) => {
    socket.on("close", () => closed.resolve());
    socket.write(frameOf(4, 0, 0, Buffer.alloc(0)));
    socket.write(frameOf(7, 0, 0, Buffer.alloc(8)));
  });
  const ended: EtcdError[] = [];
  const connection = await MemberConnection.open(endpoint, {}, new FakeClock(), (error) => ended.push(error));
  t.after(() => connection.close());
  await closed.promise;
  assert.equal(ended.length, 1);
  assert.equal(connection.isOpen, false);
});

test("a server that speaks no HTTP/2 has no answer", async (t) => {
  const endpoint = await rawServer(t, (socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  const connection = await MemberConnection.open(endpoint, {}, new FakeClock(), () => {});
  t.after(() => connection.close());
  const error = await failure(connection.call(path, frame, readRangeAnswer, 1000));
  assert.match(error.kind, /^(?:unsent|unanswered)$/);
  assert.equal(connection.isOpen, false);
});

test("a connection whose ping is not answered ends with its calls", async (t) => {
  const endpoint = await rawServer(t, (socket) => socket.write(frameOf(4, 0, 0, Buffer.alloc(0))));
  const clock = new FakeClock();
  const ended: EtcdError[] = [];
  const connection = await MemberConnection.open(endpoint, {}, clock, (error) => ended.push(error));
  t.after(() => connection.close());
  clock.advance(60_000);
  assert.deepEqual(ended, [], "without calls there are no pings");
  const failed = new Promise<EtcdError | undefined>((resolve) => {
    connection.stream(path, frame, { read: readRangeAnswer, take() {}, ended: resolve });
  });
  await new Promise(setImmediate);
  clock.advance(500);
  assert.equal(connection.isOpen, true);
  clock.advance(5000);
  assert.match((await failed)!.message, /no answer to a ping in 5 s/);
  assert.equal(connection.isOpen, false);
  assert.equal(ended.length, 1);
});

test("an address where nobody listens is named", async () => {
  const { port } = await new Promise<AddressInfo>((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address() as AddressInfo; // a TCP server has a port
      server.close(() => resolve(address));
    });
  });
  for (const host of ["127.0.0.1", "localhost"]) {
    const error = await failure(MemberConnection.open(`http://${host}:${port}`, {}, new FakeClock(), () => {}));
    assert.equal(error.kind, "unsent");
    assert.match(error.message, /^etcd at http:\/\/(?:127\.0\.0\.1|localhost):\d+: .*ECONNREFUSED/);
  }
});

test("files that hold no certificates are refused, without what they hold", async (t) => {
  const endpoint = (await rawServer(t, () => {})).replace("http:", "https:");
  const folder = mkdtempSync(join(tmpdir(), "binnacle-test-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const key = join(folder, "key.pem");
  const lines = ["-----BEGIN PRIVATE KEY-----", "c2VjcmV0", "-----END PRIVATE KEY-----"];
  writeFileSync(key, lines.join("\n"));
  const error = await failure(MemberConnection.open(endpoint, { key }, new FakeClock(), () => {}));
  assert.equal(error.kind, "unsent");
  assert.ok(!error.message.includes("c2VjcmV0") && !error.message.includes("\n"), error.message);
});

test("a server that takes no connection in time is left", async (t) => {
  const endpoint = (await rawServer(t, () => {})).replace("http:", "https:");
  const clock = new FakeClock();
  const failed = failure(MemberConnection.open(endpoint, {}, clock, () => {}));
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  clock.advance(2000);
  assert.match((await failed).message, /no connection in 2 s/);
});
