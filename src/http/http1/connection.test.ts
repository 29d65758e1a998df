/** Connections over a fake socket and a fake clock: the order of things, what waits for what, and what ends when. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { FakeClock } from "#std/fake-clock.ts";
import { Http1Connection, type Http1Limits } from "./connection.ts";
import { Outbox } from "./outbox.ts";
import { type FakeSocket, fakeSocket } from "./fake-socket.ts";
import type { RequestBody } from "./request-body.ts";

const limits: Http1Limits = {
  headerBytes: 200_000,
  headerCount: 100,
  headerMs: 1_000,
  requestMs: 10_000,
  idleMs: 5_000,
};

interface Opened extends FakeSocket {
  readonly connection: Http1Connection;
  readonly clock: FakeClock;
  /** Method and target of the requests begun, and `body` of each that was read. */
  readonly seen: string[];
  /** Of the latest request. */
  readonly body: RequestBody | undefined;
  /** How often the handler was told that the client was refused. */
  readonly refused: number;
  /** Reads the body of the latest request into `seen`; `then` is called at its end. */
  read(then?: () => void): void;
  /** Moves the clock, then looks at the time as the listener does. */
  pass(ms: number): Promise<void>;
}

/** `answer` is called with each request; without it nobody answers. */
async function open(answer?: (opened: Opened, target: string) => void, highWaterMark?: number): Promise<Opened> {
  const client = fakeSocket(highWaterMark);
  const clock = new FakeClock();
  const seen: string[] = [];
  let body: RequestBody | undefined;
  let refused = 0;
  const handler = {
    request(_connection: Http1Connection, head: { method: string; target: string }, itsBody: RequestBody | undefined) {
      seen.push(`${head.method} ${head.target}`);
      body = itsBody;
      answer?.(opened, head.target);
    },
    refused: () => void refused++,
  };
  const connection = new Http1Connection(client.socket, handler, limits, clock, new Outbox());
  const opened: Opened = Object.defineProperties(client as Opened, {
    connection: { value: connection },
    clock: { value: clock },
    seen: { value: seen },
    body: { get: () => body },
    refused: { get: () => refused },
    read: {
      value(then?: () => void) {
        let text = "";
        body!.read({
          take: (piece) => void (text += piece.toString("latin1")),
          end() {
            seen.push(text);
            then?.();
          },
          lost() {},
        });
      },
    },
    pass: {
      async value(ms: number) {
        clock.advance(ms);
        connection.checkTime(clock.monotonic());
        await turn();
      },
    },
  });
  // From now on the socket hands over at once what is sent.
  await turn();
  return opened;
}

const get = (target: string): string => `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`;
const post = (target: string, body: string, length = body.length): string =>
  `POST ${target} HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n${body}`;

/** Replies at once with the target. */
function echo({ socket, connection }: Opened, target: string): void {
  connection.replyBegins();
  socket.write(`[${target}]`);
  connection.replied("keep");
}

test("requests that came together are answered one after the other", async () => {
  const opened = await open();
  opened.send(get("/1") + post("/2", "body") + get("/3"));
  await turn();
  assert.deepEqual(opened.seen, ["GET /1"]);
  opened.connection.replied("keep");
  assert.deepEqual(opened.seen, ["GET /1", "POST /2"]);
  opened.read();
  assert.deepEqual(opened.seen, ["GET /1", "POST /2", "body"], "what is there already is handed over at once");
  opened.connection.replied("keep");
  assert.deepEqual(opened.seen.slice(3), ["GET /3"]);
  assert.equal(opened.body, undefined);
  opened.connection.replied("keep");
  opened.send(get("/4"));
  assert.deepEqual(opened.seen.slice(4), ["GET /4"]);
});

test("a request is the same wherever its bytes were cut", async () => {
  const chunks =
    "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x\r\nd\r\n0\r\nT: u\r\n\r\n";
  const text = `${get("/a")}\r\n${chunks}${post("/c", "xyz")}${get("/d")}`;
  const expected = ["GET /a", "POST /b", "abcd", "POST /c", "xyz", "GET /d"];
  const make = (): Promise<Opened> =>
    open((opened) => {
      const reply = (): void => queueMicrotask(() => opened.connection.replied("keep"));
      if (opened.body === undefined) reply();
      else opened.read(reply);
    });
  for (let at = 1; at < text.length; at++) {
    const opened = await make();
    opened.send(text.slice(0, at));
    await turn();
    opened.send(text.slice(at));
    await turn();
    assert.deepEqual(opened.seen, expected, `cut at ${at}`);
  }
  const opened = await make();
  for (const byte of text) opened.send(byte);
  await turn();
  assert.deepEqual(opened.seen, expected);
});

test("ten thousand requests in one write are answered in order, at once or later", async () => {
  const count = 10_000;
  const text = Array.from({ length: count }, (_, i) => get(`/${i}`)).join("");
  const answers = Array.from({ length: count }, (_, i) => `[/${i}]`).join("");
  const atOnce = await open(echo);
  atOnce.send(text);
  await turn();
  assert.equal(atOnce.sent, answers);
  const later = await open((opened, target) => queueMicrotask(() => echo(opened, target)));
  later.send(text);
  await turn();
  assert.equal(later.sent, answers);
});

test("a head that comes byte by byte costs work in proportion to its length", async (context) => {
  let work = 0;
  const { indexOf, copy } = Buffer.prototype;
  context.mock.method(Buffer.prototype, "indexOf", function (this: Buffer, sought: Buffer, from: number) {
    const found = indexOf.call(this, sought, from);
    work += (found < 0 ? this.length : found + 1) - from;
    return found;
  });
  context.mock.method(Buffer.prototype, "copy", function (this: Buffer, ...to: Parameters<typeof copy>) {
    const copied = copy.apply(this, to);
    work += copied;
    return copied;
  });
  const opened = await open();
  const lines = `GET / HTTP/1.1\r\nHost: a\r\n${`X: ${"x".repeat(1_000)}\r\n`.repeat(30)}`;
  for (const byte of lines) opened.send(byte);
  assert.ok(work > lines.length, "nothing was counted");
  assert.ok(work < 20 * lines.length, `${work} bytes touched for ${lines.length}`);
  opened.send("\r\n");
  assert.deepEqual(opened.seen, ["GET /"]);
});

test("a client that never reads has few requests under way, and goes on when it reads", async () => {
  const opened = await open(echo, 100);
  opened.takes = false;
  opened.send(Array.from({ length: 1000 }, (_, i) => get(`/${i}`)).join(""));
  await turn();
  assert.ok(opened.seen.length < 30, `${opened.seen.length} requests begun`);
  const begun = opened.seen.length;
  opened.send(get("/more"));
  assert.equal(opened.seen.length, begun);
  assert.equal(opened.socket.listenerCount("drain"), 1);
  opened.takes = true;
  await turn();
  assert.equal(opened.seen.length, 1001);
  assert.equal(opened.socket.listenerCount("drain"), 0);
});

test("no more is read while much waits for its turn", async () => {
  const opened = await open();
  opened.send(get("/"));
  await turn();
  const many = get("/next").repeat(3_000);
  opened.send(many.slice(0, 60_000));
  await turn();
  assert.equal(opened.socket.isPaused(), false);
  opened.send(many.slice(60_000));
  await turn();
  assert.equal(opened.socket.isPaused(), true);
  for (let i = 0; i < 3_000; i++) opened.connection.replied("keep");
  await turn();
  assert.equal(opened.socket.isPaused(), false);
  assert.equal(opened.seen.length, 3_001);

  const body = await open();
  body.send(post("/", "x".repeat(100_000)));
  await turn();
  assert.equal(body.socket.isPaused(), true, "a body nobody reads waits in the client");
  body.read();
  await turn();
  assert.equal(body.socket.isPaused(), false);
  assert.equal(body.seen[1]?.length, 100_000);

  const blocked = await open(echo, 100);
  blocked.takes = false;
  blocked.send(many);
  await turn();
  assert.equal(blocked.socket.isPaused(), true, "so do requests while replies are not taken");
  blocked.takes = true;
  await turn();
  assert.equal(blocked.socket.isPaused(), false);
});

test("a body is thrown away after the reply when it is short, and the next request is read", async () => {
  const opened = await open();
  opened.send(post("/1", "x".repeat(100_000), 200_000));
  await turn();
  opened.connection.replied("keep");
  opened.send(`${"y".repeat(100_000)}${get("/2")}`);
  await turn();
  assert.deepEqual(opened.seen, ["POST /1", "GET /2"]);
  opened.connection.replied("keep");
  opened.send(post("/3", "x", 1_000_000));
  opened.connection.replied("keep");
  opened.send("x".repeat(300_000));
  await turn();
  assert.equal(opened.socket.destroyed, true, "a long one is not worth it");
});

test("a connection that closes after a reply says it all first, and takes nothing more", async (context) => {
  const opened = await open();
  opened.takes = false;
  opened.send(get("/1") + get("/2"));
  await turn();
  opened.socket.write("[/1]");
  opened.connection.replied("close");
  const kept = context.mock.method(Buffer.prototype, "copy");
  for (let i = 0; i < 10; i++) opened.send(get("/3"));
  assert.equal(kept.mock.callCount(), 0, "what comes now is not put together with what came before");
  await turn();
  assert.equal(opened.socket.writableEnded, true);
  assert.equal(opened.socket.destroyed, false);
  opened.takes = true;
  await turn();
  assert.equal(opened.socket.destroyed, true);
  assert.deepEqual([opened.seen, opened.sent], [["GET /1"], "[/1]"]);
});

test("a connection lingers until the rest of the body has come, for some time and some bytes", async () => {
  const lingering = async (text: string): Promise<Opened> => {
    const opened = await open();
    opened.send(text);
    await turn();
    opened.connection.replied("linger");
    await turn();
    return opened;
  };
  const there = await lingering(post("/", "abc") + get("/2"));
  assert.deepEqual([there.socket.destroyed, there.seen], [true, ["POST /"]]);

  const comes = await lingering(post("/", "abc", 5));
  assert.equal(comes.socket.writableEnded, false);
  comes.send("de");
  await turn();
  assert.equal(comes.socket.destroyed, true);

  const slow = await lingering(post("/", "abc", 5));
  await slow.pass(4_900);
  assert.equal(slow.socket.destroyed, false);
  await slow.pass(200);
  assert.equal(slow.socket.destroyed, true);

  const long = await lingering(post("/", "", 1_000_000_000));
  for (let i = 0; i < 15; i++) long.send(Buffer.alloc(1024 * 1024));
  await turn();
  assert.equal(long.socket.destroyed, false);
  for (let i = 0; i < 2; i++) long.send(Buffer.alloc(1024 * 1024));
  await turn();
  assert.equal(long.socket.destroyed, true);

  const wrong = await lingering("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  wrong.send("nonsense\r\n");
  await turn();
  assert.deepEqual([wrong.socket.destroyed, wrong.sent], [true, ""], "no second answer");
});

test("who is refused reads why, and the connection closes a little later whatever he does", async () => {
  for (const [text, status] of [
    ["nonsense\r\n\r\n", 400],
    ["GET / HTTP/1.1\r\n\r\n", 400],
    ["GET / HTTP/1.1\n", 400],
    ["GET / HTTP/1.1\r\nHost: a\n", 400],
    ["\nGET / HTTP/1.1\r\nHost: a\r\n", 400],
    ["\x16\x03\x01", 400],
    ["\x80", 400],
    [" GET", 400],
    [`GET / HTTP/1.1\r\n${"X: y\r\n".repeat(101)}\r\n`, 431],
    ["GET / HTTP/1.1\r\nHost: a\r\nExpect: more\r\n\r\n", 417],
  ] as const) {
    const opened = await open();
    opened.send(text);
    await turn();
    assert.notEqual(opened.sent, "", `${JSON.stringify(text)} is waited for`);
    opened.send(get("/2"));
    opened.connection.refuse("500 Once Is Enough");
    const reason = opened.sent.slice("HTTP/1.1 ".length, opened.sent.indexOf("\r\n"));
    assert.ok(reason.startsWith(`${status} `), `${JSON.stringify(text)}: ${opened.sent}`);
    assert.equal(
      opened.sent,
      `HTTP/1.1 ${reason}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${reason}`,
    );
    opened.send(get("/3"));
    assert.deepEqual([opened.seen, opened.refused, opened.socket.writableEnded], [[], 1, true]);
    opened.clock.advance(1_000);
    assert.equal(opened.socket.destroyed, true);
  }
});

test("what could still become a request is waited for", async () => {
  for (const text of [
    "",
    "\r",
    "\r\n",
    "\r\n\r",
    "G",
    "GET / HTTP/1.1",
    "GET / HTTP/1.1\r",
    "GET / HTTP/1.1\r\nA:\r\n\r",
  ]) {
    const opened = await open();
    opened.send(text);
    await turn();
    assert.equal(opened.sent, "", JSON.stringify(text));
  }
});

test("a head has its bound, whether its end has come or not, and an earlier body does not count", async () => {
  const head = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
  const fine = await open();
  fine.send(`${head}${"x".repeat(limits.headerBytes - head.length)}\r\n\r\n`);
  await turn();
  assert.deepEqual(fine.seen, ["GET /"]);
  const after = await open((opened) => {
    opened.read(() => opened.connection.replied("keep"));
  });
  after.send(post("/", "x".repeat(300_000)));
  await turn();
  assert.equal(after.sent, "");
  for (const end of ["", "\r\n\r\n"]) {
    const long = await open();
    long.send(`${head}${"x".repeat(limits.headerBytes - head.length + 1)}${end}`);
    await turn();
    assert.match(long.sent, /^HTTP\/1\.1 431 /);
  }
});

test("a bad body is refused while a reply is awaited; in the middle of a reply there is nothing to be said", async () => {
  const chunks = (text: string): string => `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${text}`;
  const awaited = await open((opened) => opened.read());
  awaited.send(chunks("3\r\nabcd\r\n"));
  await turn();
  assert.match(awaited.sent, /^HTTP\/1\.1 400 /);
  assert.equal(awaited.refused, 1);
  awaited.connection.replied("keep");
  awaited.send(get("/2"));
  assert.deepEqual(awaited.seen, ["POST /"], "a reply that comes now changes nothing");

  const begun = await open((opened) => {
    opened.connection.replyBegins();
    opened.socket.write("HTTP/1.1 200 OK\r\n");
    opened.read();
  });
  begun.send(chunks("3\r\nabcd\r\n"));
  await turn();
  assert.deepEqual([begun.sent, begun.refused], ["HTTP/1.1 200 OK\r\n", 1]);
  assert.equal(begun.socket.destroyed, true);

  const long = await open((opened) => opened.read());
  long.send(chunks(`1;${"x".repeat(5_000)}`));
  await turn();
  assert.match(long.sent, /^HTTP\/1\.1 413 /);
});

test("a head has its time, from the start of the connection or from its first byte", async () => {
  const silent = await open();
  await silent.pass(1_000);
  assert.equal(silent.sent, "");
  await silent.pass(1);
  assert.match(silent.sent, /^HTTP\/1\.1 408 Request Timeout\r\n/);

  const slow = await open(echo);
  slow.send(get("/"));
  await slow.pass(3_000);
  slow.send("GET");
  await slow.pass(600);
  slow.send(" ");
  await slow.pass(600);
  assert.match(slow.sent, /^\[\/\]HTTP\/1\.1 408 /);

  const behind = await open();
  behind.send(`${get("/")}GET`);
  await behind.pass(3_000);
  behind.connection.replied("keep");
  await behind.pass(900);
  assert.equal(behind.sent, "", "what waits for a reply has its time afterwards");
  await behind.pass(200);
  assert.match(behind.sent, /^HTTP\/1\.1 408 /);
});

test("a connection without requests ends after a while, without a word, and empty lines do not help", async () => {
  for (const more of ["", "\r\n"]) {
    const opened = await open(echo);
    opened.send(get("/"));
    await opened.pass(4_000);
    opened.send(more);
    await opened.pass(900);
    assert.equal(opened.socket.destroyed, false);
    opened.send(get("/"));
    await opened.pass(4_000);
    for (let i = 0; i < 1_000; i++) opened.send(more);
    await opened.pass(1_100);
    assert.deepEqual([opened.socket.destroyed, opened.sent], [true, "[/][/]"]);
  }
  const fresh = await open();
  fresh.send("\r\n");
  await fresh.pass(500);
  fresh.send("\r\n");
  await fresh.pass(600);
  assert.match(fresh.sent, /^HTTP\/1\.1 408 /);
});

test("a body has its time while somebody reads it", async () => {
  const slow = await open((opened) => opened.read());
  slow.send(post("/", "abc", 5));
  await slow.pass(9_000);
  slow.send("d");
  await slow.pass(900);
  assert.equal(slow.sent, "");
  await slow.pass(200);
  assert.match(slow.sent, /^HTTP\/1\.1 408 /);

  const late = await open((opened) => {
    if (opened.body === undefined) opened.connection.replied("keep");
    else opened.read();
  });
  late.send(get("/"));
  await late.pass(4_000);
  late.send(post("/", "abc", 5));
  await late.pass(9_000);
  assert.equal(late.sent, "", "time without a request does not count");

  const parts = await open((opened) => opened.read());
  parts.send("POST / HTTP/1.1\r\n");
  await parts.pass(900);
  parts.send("Host: a\r\nContent-Length: 5\r\n\r\n");
  await parts.pass(9_200);
  assert.match(parts.sent, /^HTTP\/1\.1 408 /, "it counts from the first byte of the head");

  const whole = await open((opened) => opened.read());
  whole.send(post("/", "abc"));
  await whole.pass(100_000);
  assert.equal(whole.sent, "", "the handler's time is its own");

  const unread = await open();
  unread.send(post("/", "abc"));
  await unread.pass(100_000);
  assert.equal(unread.sent, "", "a watch may have a body that nobody reads");
  unread.connection.replied("keep");
  unread.send(get("/2"));
  assert.deepEqual(unread.seen, ["POST /", "GET /2"]);

  const rest = await open();
  rest.send(post("/", "abc", 5));
  await turn();
  rest.connection.replied("keep");
  await rest.pass(10_100);
  assert.deepEqual([rest.sent, rest.socket.destroyed], ["", true]);
});

test("a client that goes while nothing is read is found out in time", async () => {
  for (const text of [get("/") + "x".repeat(100_000), post("/", "x".repeat(100_000), 200_000)]) {
    const opened = await open();
    opened.send(text);
    await turn();
    assert.equal(opened.socket.isPaused(), true);
    opened.end();
    await opened.pass(9_900);
    assert.deepEqual([opened.refused, opened.socket.destroyed], [0, false]);
    await opened.pass(200);
    assert.equal(opened.refused, 1);
    assert.equal(opened.socket.isPaused(), false, "what it sent is taken, or closing would reset the connection");
    await opened.pass(1_000);
    assert.equal(opened.socket.destroyed, true);
  }
});

test("a client that ends its side, or was told to close, and does not take its reply, is cut off", async () => {
  const end = (opened: Opened): void => opened.end();
  const close = (opened: Opened): void => opened.connection.replied("close");
  const idle = (opened: Opened): void => opened.connection.replied("keep");
  for (const [act, ms] of [
    [end, 0],
    [close, 0],
    [idle, limits.idleMs + 1],
  ] as const) {
    const opened = await open();
    opened.takes = false;
    opened.send(get("/"));
    await turn();
    opened.socket.write("reply");
    act(opened);
    await opened.pass(ms);
    await opened.pass(0);
    await opened.pass(limits.idleMs - 100);
    assert.equal(opened.socket.destroyed, false, act.name);
    await opened.pass(200);
    assert.equal(opened.socket.destroyed, true, act.name);
  }
});

test("a client that leaves gets no more, and what it sent ahead is not begun", async () => {
  const opened = await open();
  opened.send(get("/1") + get("/2"));
  await turn();
  opened.socket.destroy();
  await turn();
  await opened.pass(100_000);
  assert.deepEqual([opened.seen, opened.sent], [["GET /1"], ""]);
});

test("only a connection without a request is closed for being idle", async () => {
  const states: [string, (opened: Opened) => void, boolean][] = [
    ["new", () => {}, true],
    ["part of a head", (opened) => opened.send("GET"), true],
    ["awaiting a reply", (opened) => opened.send(get("/")), false],
    ["replied", (opened) => (opened.send(get("/")), opened.connection.replied("keep")), true],
    ["rest of a body", (opened) => (opened.send(post("/", "", 5)), opened.connection.replied("keep")), true],
    ["lingering", (opened) => (opened.send(post("/", "", 5)), opened.connection.replied("linger")), false],
  ];
  for (const [name, act, expected] of states) {
    const opened = await open();
    act(opened);
    opened.connection.closeIfIdle();
    await turn();
    assert.equal(opened.socket.destroyed, expected, name);
  }
  const replied = await open(echo);
  replied.takes = false;
  replied.send(get("/"));
  await turn();
  replied.connection.closeIfIdle();
  replied.takes = true;
  await turn();
  assert.deepEqual([replied.sent, replied.socket.destroyed], ["[/]", true], "the reply still leaves");
});

test("no listener and no timer stays behind a request", async () => {
  const opened = await open(echo);
  const count = (): number =>
    opened.socket.eventNames().reduce((sum, name) => sum + opened.socket.listenerCount(name), 0);
  const before = count();
  let timers = 0;
  const after = opened.clock.after.bind(opened.clock);
  opened.clock.after = (ms, callback) => {
    timers++;
    return after(ms, callback);
  };
  for (let i = 0; i < 100; i++) opened.send(get("/"));
  await turn();
  assert.equal(opened.seen.length, 100);
  assert.deepEqual([count(), timers], [before, 0]);
});
