/** Calls to aggregated API servers, connection by connection: peers of either protocol, correct and faulty ones. */
import assert from "node:assert/strict";
import { once } from "node:events";
import {
  createSecureServer,
  type Http2SecureServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { IncomingMessage, ServerResponse } from "node:http";
import https from "node:https";
import net, { type AddressInfo, type Server } from "node:net";
import { after, before, test, type TestContext } from "node:test";
import tls, { type TLSSocket } from "node:tls";
import { type FakeAuthority, fakeAuthority, type Issued } from "#authn/fake-authority.ts";
import { connectionProblem } from "#egress/connection-problem.ts";
import {
  type Forwarded,
  type ForwardedAnswer,
  type ForwardedBody,
  type Forwarder,
  openForwarder,
} from "#egress/forwarding.ts";
import { systemClock } from "#std/clock.ts";
import { FakeClock } from "#std/fake-clock.ts";

let authority: FakeAuthority;
let issued: Issued;
before(async () => {
  authority = await fakeAuthority();
  issued = await authority.issue({ usage: "server", hosts: ["peer"] });
});
const closers: (() => void)[] = [];
after(() => closers.forEach((close) => close()));

const identity = (): { readonly cert: string; readonly key: string } => ({
  cert: issued.certificate,
  key: issued.key,
});

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port; // a TCP server's address is never a text
}

/** Makes a client that calls a port. */
function caller(t: TestContext, port: number, clock = systemClock): { call: Call; forwarder: Forwarder } {
  const trust = { ca: authority.certificate, insecure: false, serverName: "peer" };
  const forwarder = openForwarder({ clock, ...trust, ...identity() });
  t.after(() => forwarder.close());
  const usual = { method: "GET", path: "/", headers: [], body: undefined, headMs: 20_000 };
  const signal = new AbortController().signal;
  const call: Call = (more = {}) => forwarder.send({ host: "127.0.0.1", port }, { ...usual, signal, ...more });
  return { call, forwarder };
}

type Call = (more?: Partial<Forwarded>) => Promise<ForwardedAnswer>;

async function whole({ body }: ForwardedAnswer): Promise<string> {
  let text = "";
  for await (const piece of body) text += piece.toString();
  return text;
}

interface Peer {
  readonly port: number;
  readonly sessions: ServerHttp2Session[];
  readonly server: Http2SecureServer;
}

async function http2Peer(answer: (stream: ServerHttp2Stream, path: string) => void, settings = {}): Promise<Peer> {
  const server = createSecureServer({ ...identity(), settings });
  const sessions: ServerHttp2Session[] = [];
  server.on("session", (session) => {
    sessions.push(session);
    session.on("error", () => undefined);
  });
  server.on("stream", (stream: ServerHttp2Stream, headers) => {
    stream.on("error", () => undefined);
    answer(stream, headers[":path"] ?? "");
  });
  closers.push(() => {
    server.close();
    for (const session of sessions) session.destroy();
  });
  return { port: await listen(server), sessions, server };
}

/** Starts a peer that sends given bytes. */
async function rawPeer(answer: (socket: TLSSocket, streamId: number, connection: number) => void): Promise<number> {
  let connections = 0;
  const server = tls.createServer({ ...identity(), ALPNProtocols: ["h2"] }, (socket) => {
    const connection = ++connections;
    closers.push(() => socket.destroy());
    socket.on("error", () => undefined);
    socket.write(frame(frames.settings, 0));
    let received = Buffer.alloc(0);
    let at = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".length;
    socket.on("data", (bytes: Buffer) => {
      received = Buffer.concat([received, bytes]);
      while (received.length >= at + 9) {
        const length = received.readUIntBE(at, 3);
        if (received[at + 3] === frames.headers) answer(socket, received.readUInt32BE(at + 5), connection);
        at += 9 + length;
      }
    });
  });
  closers.push(() => server.close());
  return listen(server);
}

const frames = { data: 0, headers: 1, reset: 3, settings: 4, goAway: 7 };

function frame(type: number, streamId: number, payload: Buffer = Buffer.alloc(0), flags = 0): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

const endStream = 1;
const numbers = (...values: number[]): Buffer =>
  Buffer.concat(
    values.map((value) => {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(value);
      return bytes;
    }),
  );
/** Returns a HEADERS frame with status 200. */
const head = (streamId: number): Buffer => frame(frames.headers, streamId, Buffer.from([0x88]), 4);
const data = (streamId: number, text: string, flags = 0): Buffer =>
  frame(frames.data, streamId, Buffer.from(text), flags);
const reset = (streamId: number, code: number): Buffer => frame(frames.reset, streamId, numbers(code));
const goAway = (lastStreamId: number, code = 0): Buffer => frame(frames.goAway, 0, numbers(lastStreamId, code));

test("calls share one HTTP/2 connection, those too that come while it is made", async (t) => {
  const { port, sessions } = await http2Peer((stream, path) => {
    stream.respond({ ":status": 200, "x-path": path });
    stream.end(path);
  });
  const { call } = caller(t, port);
  const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => call({ path: `/${i}` })));
  assert.deepEqual(
    await Promise.all(answers.map(whole)),
    Array.from({ length: 50 }, (_, i) => `/${i}`),
  );
  assert.deepEqual(answers[7]!.headers["x-path"], ["/7"]);
  assert.equal(sessions.length, 1);
});

test("more calls than the peer takes at once get another connection", async (t) => {
  const { port, sessions } = await http2Peer(
    (stream) => {
      stream.respond({ ":status": 200 });
      stream.write("begun");
    },
    { maxConcurrentStreams: 2 },
  );
  const { call } = caller(t, port);
  await call();
  await Promise.all(Array.from({ length: 5 }, () => call()));
  assert.equal(sessions.length, 3);
});

test("headers keep their order and repetitions, and names are in lower case", async (t) => {
  const { port, server } = await http2Peer(() => undefined);
  const received = new Promise<string[]>((resolve) => {
    server.on("stream", (stream: ServerHttp2Stream, _headers, _flags, raw: string[]) => {
      resolve(raw);
      stream.respond({ ":status": 204 });
      stream.end();
    });
  });
  const { call } = caller(t, port);
  await call({
    method: "POST",
    headers: ["X-B", "1", "x-a", "2", "X-B", "3", "Content-Type", "a", "content-type", "b"],
  });
  assert.deepEqual((await received).slice(8), [
    "x-b",
    "1",
    "x-a",
    "2",
    "x-b",
    "3",
    "content-type",
    "a",
    "content-type",
    "b",
    "content-length",
    "0",
  ]);
});

test("a peer that does not speak HTTP/2 is served over kept connections", async (t) => {
  const ports = new Set<number | undefined>();
  const server = https.createServer(identity(), (request, response) => {
    ports.add(request.socket.remotePort);
    response.end(request.httpVersion);
  });
  closers.push(() => server.close());
  const { call } = caller(t, await listen(server));
  for (let i = 0; i < 3; i++) assert.equal(await whole(await call()), "1.1");
  assert.equal(ports.size, 1);
  const together = await Promise.all(Array.from({ length: 5 }, () => call().then(whole)));
  assert.deepEqual(
    together,
    Array.from({ length: 5 }, () => "1.1"),
  );
});

test("a call that is alone leaves no connection behind", async (t) => {
  const { port, sessions } = await http2Peer((stream) => {
    stream.respond({ ":status": 200 });
    stream.end("whole");
  });
  const { call } = caller(t, port);
  for (let i = 0; i < 2; i++) assert.equal(await whole(await call({ isAlone: true })), "whole");
  assert.equal(sessions.length, 2);
  for (const session of sessions) if (!session.destroyed) await once(session, "close");
});

for (const [name, end] of [
  ["the connection", (socket: TLSSocket) => void socket.destroy()],
  ["the connection in good order", (socket: TLSSocket) => void socket.end(goAway(1))],
  ["the stream with an error", (socket: TLSSocket, id: number) => void socket.write(reset(id, 2))],
  ["the stream without one", (socket: TLSSocket, id: number) => void socket.write(reset(id, 8))],
] as const) {
  test(`an answer does not look whole when the peer ends ${name}`, async (t) => {
    const ended = Promise.withResolvers<() => void>();
    const port = await rawPeer((socket, id) => {
      socket.write(Buffer.concat([head(id), data(id, "half")]));
      ended.resolve(() => end(socket, id));
    });
    const { call } = caller(t, port);
    const answer = await call();
    (await ended.promise)();
    await assert.rejects(whole(answer), /broke off|Stream closed|Session closed|ECONNRESET/);
  });
}

test("an answer that is shorter than it says does not look whole", async (t) => {
  const { port } = await http2Peer((stream) => {
    stream.respond({ ":status": 200, "content-length": 100 });
    stream.end("short");
  });
  const { call } = caller(t, port);
  await assert.rejects(call().then(whole), /PROTOCOL_ERROR|broke off/);
});

for (const [name, refuse] of [
  ["is refused", (socket: TLSSocket, id: number) => void socket.write(reset(id, 7))],
  ["comes after the peer said goodbye", (socket: TLSSocket) => void socket.write(goAway(0))],
  ["comes after the peer had enough", (socket: TLSSocket) => void socket.write(goAway(0, 11))],
] as const) {
  test(`a call that ${name} is sent again, unless its body is on the way`, async (t) => {
    const seen: number[] = [];
    const port = await rawPeer((socket, id, connection) => {
      seen.push(connection);
      if (seen.length % 2 === 1) refuse(socket, id);
      else socket.write(Buffer.concat([head(id), data(id, "whole", endStream)]));
    });
    const { call } = caller(t, port);
    for (const method of ["GET", "POST"]) assert.equal(await whole(await call({ method })), "whole");
    assert.equal(seen.length, 4);
    const { body, stopped } = uploadBody("text");
    await assert.rejects(call({ method: "POST", body }), /REFUSED_STREAM|GOAWAY/);
    await stopped;
    assert.equal(seen.length, 5);
  });
}

test("a call whose connection the peer ends is not sent again", async (t) => {
  let seen = 0;
  const port = await rawPeer((socket, id) => {
    if (++seen % 2 === 1) socket.write(Buffer.concat([head(id), data(id, "whole", endStream)]));
    else if (seen === 2) socket.end(goAway(id));
    else socket.destroy();
  });
  const { call } = caller(t, port);
  for (const problem of [/GOAWAY/, /EOF|ECONNRESET/]) {
    assert.equal(await whole(await call()), "whole");
    await assert.rejects(call(), problem);
  }
  assert.equal(seen, 4);
});

/** Makes a body that never ends. */
function uploadBody(text: string): { readonly body: ForwardedBody; readonly stopped: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const nothing = (): void => undefined;
  const read: ForwardedBody["read"] = ({ take }) => take(Buffer.from(text));
  return { body: { read, pause: nothing, resume: nothing, stop: resolve }, stopped: promise };
}

for (const protocol of ["HTTP/2", "HTTP/1.1"] as const) {
  test(`a body is not read on when the answer has come before its end (${protocol})`, async (t) => {
    const server = protocol === "HTTP/2" ? createSecureServer(identity()) : https.createServer(identity());
    server.on("request", (_request: IncomingMessage, response: ServerResponse) => {
      response.writeHead(413);
      response.end("too large");
    });
    closers.push(() => server.close());
    const { call } = caller(t, await listen(server));
    const { body, stopped } = uploadBody("text");
    let isStopped = false;
    void stopped.then(() => {
      isStopped = true;
    });
    const answer = await call({ method: "POST", body });
    assert.equal(answer.code, 413);
    assert.equal(await whole(answer), "too large");
    // The owner of the body may then read the rest for another purpose.
    assert.ok(isStopped);
  });
}

test("a connection that answers no ping is given up, and the next call gets another", async (t) => {
  const clock = new FakeClock();
  const asked = Promise.withResolvers<void>();
  const port = await rawPeer((socket, id, connection) => {
    if (connection > 1) socket.write(Buffer.concat([head(id), data(id, "whole", endStream)]));
    asked.resolve();
  });
  const { call } = caller(t, port, clock);
  const silent = call({ headMs: 3_600_000, method: "POST" });
  await asked.promise;
  clock.advance(45_000);
  await assert.rejects(silent, /^Error: http2: client connection lost$/);
  assert.equal(await whole(await call()), "whole");
});

test("an unused connection is closed after a while, and one with a silent watch is not", async (t) => {
  const { port, sessions } = await http2Peer((stream, path) => {
    stream.respond({ ":status": 200 });
    if (path === "/watch") stream.write("begun");
    else stream.end("whole");
  });
  for (const path of ["/", "/watch"]) {
    const clock = new FakeClock();
    const { call, forwarder } = caller(t, port, clock);
    const answer = await call({ path });
    if (path === "/") await whole(answer);
    const session = sessions.at(-1)!;
    // The peer answers each ping.
    for (let look = 0; look < 5; look++) {
      const pinged = Promise.race([once(session, "ping"), once(session, "close")]);
      clock.advance(30_000);
      await pinged;
      if (session.destroyed) break;
      await waitForPong(session);
    }
    assert.equal(session.destroyed, path === "/");
    forwarder.close();
  }
});

/** Resolves when the peer's own ping is answered: everything that it has sent before has arrived. */
const waitForPong = (session: ServerHttp2Session): Promise<void> =>
  new Promise((resolve) => void session.ping(() => resolve()));

test("an answer that is not read delays no other on its connection", async (t) => {
  let written = 0;
  const piece = Buffer.alloc(64 * 1024);
  const { port, sessions } = await http2Peer((stream, path) => {
    stream.respond({ ":status": 200 });
    if (path !== "/flood") return stream.end(Buffer.alloc(4 * 1024 * 1024));
    const pour = (): void => {
      do written += piece.length;
      while (stream.write(piece));
    };
    stream.on("drain", pour);
    return pour();
  });
  const { call } = caller(t, port);
  const floods = await Promise.all(Array.from({ length: 20 }, () => call({ path: "/flood" })));
  assert.equal((await whole(await call())).length, 4 * 1024 * 1024);
  assert.equal(sessions.length, 1);
  // All unread bytes are in the windows and the queues of the streams.
  assert.ok(written < 20 * 1024 * 1024, `${written} bytes`);
  for (const { destroy } of floods) destroy();
});

test("a call that is given up is cancelled at the peer, and the connection stays", async (t) => {
  const ended = Promise.withResolvers<number>();
  const { port, sessions } = await http2Peer((stream, path) => {
    if (path === "/silent") stream.once("close", () => ended.resolve(stream.rstCode));
    else stream.respond({ ":status": 204 }, { endStream: true });
  });
  const { call } = caller(t, port);
  await call();
  const stop = new AbortController();
  const silent = call({ path: "/silent", signal: stop.signal });
  setImmediate(() => stop.abort());
  await assert.rejects(silent, { code: "ABORTED" });
  assert.equal(await ended.promise, 8);
  await call();
  assert.equal(sessions.length, 1);
});

test("a certificate with other names is refused, and they are told", async () => {
  const { port } = await http2Peer((stream) => stream.respond({ ":status": 204 }, { endStream: true }));
  const trust = { ca: authority.certificate, insecure: false, serverName: "other" };
  const forwarder = openForwarder({ clock: systemClock, ...trust, ...identity() });
  const { signal } = new AbortController();
  const call = { method: "GET", path: "/", headers: [], body: undefined, headMs: 20_000, signal };
  await assert.rejects(forwarder.send({ host: "127.0.0.1", port }, call), (error) => {
    const expected = "tls: failed to verify certificate: x509: certificate is valid for peer, not other";
    assert.equal(connectionProblem(error, { host: `127.0.0.1:${port}`, serverName: "other" }), expected);
    return true;
  });
  forwarder.close();
});

test("a call waits no longer for a connection than for an answer", async (t) => {
  const accepted = Promise.withResolvers<void>();
  const server = net.createServer((socket) => {
    closers.push(() => socket.destroy());
    accepted.resolve();
  });
  closers.push(() => server.close());
  const clock = new FakeClock();
  const { call } = caller(t, await listen(server), clock);
  const calls = [call({ headMs: 1000 }), call({ headMs: 2000 })].map((one) => assert.rejects(one, { code: "TIMEOUT" }));
  await accepted.promise;
  clock.advance(1000);
  await calls[0];
  clock.advance(1000);
  await calls[1];
});

test("calls under way go on when connections are retired, and later ones get others", async (t) => {
  const held: ServerHttp2Stream[] = [];
  const { port, sessions } = await http2Peer((stream) => {
    stream.respond({ ":status": 200 });
    stream.write("first ");
    held.push(stream);
  });
  const { call, forwarder } = caller(t, port);
  const first = await call();
  forwarder.retire();
  const second = await call();
  assert.equal(sessions.length, 2);
  for (const stream of held) stream.end("last");
  assert.deepEqual(await Promise.all([first, second].map(whole)), ["first last", "first last"]);
  if (!sessions[0]!.destroyed) await once(sessions[0]!, "close");
});
