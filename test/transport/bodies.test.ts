/**
 * Bodies over real TLS connections: how many bytes are read, when, and beside which other bodies; and limits of
 * connections.
 */
import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { connect as connectHttp2, type ClientHttp2Session, type IncomingHttpHeaders } from "node:http2";
import type { Socket } from "node:net";
import { after, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { fakeAuthority } from "#authn/fake-authority.ts";
import { systemClock } from "#std/clock.ts";
import { silentLog } from "#std/log.ts";
import { jsonEncoding } from "#codec/json-encoding.ts";
import type { ApiRequest, Reply } from "#http/api-request.ts";
import { boundedStreams } from "#http/filters/bounded-streams.ts";
import { catchErrors, errorReplies } from "#http/filters/catch-errors.ts";
import { chainOf } from "#http/filters/filter.ts";
import { negotiator } from "#http/negotiation.ts";
import { type Listener, type ListenerOptions, openListener } from "#transport/listener.ts";
import { turnBytesMax } from "#transport/read-turns.ts";

const authority = await fakeAuthority("server authority");
const own = await authority.issue({ commonName: "localhost", usage: "server" });
const ca = authority.certificate;

const open: Listener[] = [];
after(async () => {
  for (const listener of open) await listener.close();
});

async function serve(
  handle: (request: ApiRequest) => Reply | Promise<Reply>,
  options: Partial<ListenerOptions> = {},
): Promise<Listener> {
  const tls = { key: own.key, cert: own.certificate };
  const base = { host: "127.0.0.1", port: 0, tls, handle, log: silentLog, clock: systemClock };
  const listener = await openListener({ ...base, ...options });
  open.push(listener);
  return listener;
}

const text = (value: string, code = 200): Reply => ({ code, contentType: "text/plain", bytes: Buffer.from(value) });

/** Returns a watch that has one event; `closed` is called at its end. */
const watch = (closed: () => void): Reply => ({
  code: 200,
  stream: {
    open(sink) {
      sink.onClose = closed;
      sink.write(Buffer.from("event"));
    },
  },
});

async function until(holds: () => boolean): Promise<void> {
  for (let i = 0; i < 3000 && !holds(); i++) await sleep(10);
  assert.ok(holds(), "still not so");
}

/**
 * Records the sockets that the server accepts from now on. Clients are in the same process, but their sockets are not
 * recorded.
 */
function collectSockets(t: TestContext): Socket[] {
  const sockets: Socket[] = [];
  const add = (message: unknown): void => void sockets.push((message as { socket: Socket }).socket); // Node's own
  subscribe("net.server.socket", add);
  t.after(() => unsubscribe("net.server.socket", add));
  return sockets;
}

const readBy = (sockets: readonly Socket[]): number => sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0);

/** Watches how much `read` grows in each turn of the event loop until `stop` is called. */
function countTurns(read: () => number): { most: number; count: number; stop(): void } {
  let before = read();
  const turns = { most: 0, count: 0, stop: () => clearImmediate(next) };
  const look = (): void => {
    const now = read();
    turns.most = Math.max(turns.most, now - before);
    turns.count++;
    before = now;
    next = setImmediate(look);
  };
  let next = setImmediate(look);
  return turns;
}

async function socketTo(port: number, t: TestContext): Promise<TLSSocket> {
  const socket = connectTls({ host: "127.0.0.1", port, ca, ALPNProtocols: ["http/1.1"] });
  t.after(() => socket.destroy());
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  return socket;
}

async function session(port: number, t: TestContext): Promise<ClientHttp2Session> {
  const client = connectHttp2(`https://127.0.0.1:${port}`, { ca });
  t.after(() => client.destroy());
  client.on("error", () => {});
  await Promise.all([once(client, "connect"), once(client, "remoteSettings")]);
  return client;
}

/** Resolves when the socket is closed, with or without an error. */
const waitForClose = (socket: TLSSocket): Promise<void> =>
  new Promise((resolve) => socket.once("close", () => resolve()));

const piece = Buffer.alloc(64 * 1024, 0x20);

/** Sends a body as fast as it is accepted, until the end of the connection. */
function push(
  stream: { write(bytes: Buffer): boolean; once(name: "drain", next: () => void): unknown },
  bytes: number,
) {
  let left = bytes;
  const more = (): void => {
    while (left > 0) {
      left -= piece.length;
      if (!stream.write(piece)) return void stream.once("drain", more);
    }
  };
  more();
}

const headOf = (method: string, path: string, length: number, more = ""): string =>
  `${method} ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n${more}\r\n`;

const long = 15_900_000;
/**
 * The maximum number of bytes that arrive with a head: as many as Node reads at once, and one piece of the bytes on
 * their way.
 */
const withHeadMax = 192 * 1024;

for (const [about, reply] of [
  ["a GET", text("ok")],
  ["a refused request", text("no", 403)],
] as const) {
  test(`of the body of ${about} over HTTP/1.1 nothing is read after the answer, which the client reads`, async (t) => {
    const sockets = collectSockets(t);
    const { port } = await serve(() => reply);
    const client = await socketTo(port, t);
    let received = "";
    client.on("data", (data: Buffer) => (received += data.toString("latin1")));
    client.write(headOf("POST", "/", long));
    push(client, long);
    await waitForClose(client);
    assert.match(received, new RegExp(`^HTTP/1\\.1 ${reply.code} [^]*Connection: close\r\n[^]*(ok|no)$`));
    assert.ok(readBy(sockets) < withHeadMax, `${readBy(sockets)} bytes were read`);
  });

  test(`of the body of ${about} over HTTP/2 no more is read than was allowed before the answer`, async (t) => {
    const sockets = collectSockets(t);
    const { port } = await serve(() => reply);
    const client = await session(port, t);
    for (let count = 1; count <= 3; count++) {
      const stream = client.request({ ":method": "POST", ":path": "/" }, { endStream: false });
      stream.on("error", () => {});
      stream.resume();
      const answer = once(stream, "response") as Promise<[IncomingHttpHeaders]>;
      push(stream, long);
      assert.equal((await answer)[0][":status"], reply.code);
      await until(() => stream.closed);
    }
    assert.ok(readBy(sockets) < 3 * withHeadMax, `${readBy(sockets)} bytes were read`);
  });
}

test("a malformed request, and a WebSocket that is refused, are read no further", async (t) => {
  const { port } = await serve(() => text("no", 403));
  const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
  for (const [more, code] of [
    ["bad header\r\n", "400"],
    [`${upgrade}Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n`, "403"],
  ] as const) {
    const sockets = collectSockets(t);
    const client = await socketTo(port, t);
    let received = "";
    client.on("data", (data: Buffer) => (received += data.toString("latin1")));
    client.write(`GET / HTTP/1.1\r\nHost: a\r\n${more}\r\n`);
    push(client, long);
    await waitForClose(client);
    assert.equal(received.slice(9, 12), code);
    assert.ok(readBy(sockets) < withHeadMax, `${readBy(sockets)} bytes were read`);
  }
});

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

for (const [about, flood] of [
  ["window updates", frame(8, 0, 0, Buffer.from([0, 0, 0, 1]))],
  ["frames of unknown type", frame(0xbb, 0, 0, Buffer.alloc(0))],
] as const) {
  test(`HTTP/2 connections that send ${about} without end are closed, and others are not`, async (t) => {
    const { port } = await serve(() => text("ok"));
    const other = await session(port, t);
    const sockets = collectSockets(t);
    const many = Buffer.concat(Array.from({ length: 1000 }, () => flood));
    const clients = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const client = connectTls({ host: "127.0.0.1", port, ca, ALPNProtocols: ["h2"] });
        t.after(() => client.destroy());
        client.on("error", () => {}).resume();
        await once(client, "secureConnect");
        client.write(preface);
        client.write(frame(4, 0, 0, Buffer.alloc(0)));
        return client;
      }),
    );
    const ends = clients.map(waitForClose);
    for (const client of clients) {
      const more = (): void => {
        while (!client.destroyed && client.write(many));
      };
      client.on("drain", more);
      more();
    }
    await Promise.all(ends);
    await until(() => sockets.every(({ destroyed }) => destroyed));
    const most = Math.max(...sockets.map(({ bytesRead }) => bytesRead));
    assert.ok(most < 8 * 1024 * 1024, `${most} bytes were read of one`);
    const stream = other.request({ ":path": "/" });
    stream.resume();
    assert.equal(((await once(stream, "response")) as [IncomingHttpHeaders])[0][":status"], 200);
  });
}

test("an HTTP/2 client that goes on with a connection that was closed is cut off", async (t) => {
  const sockets = collectSockets(t);
  const { port } = await serve(() => ({ ...text("no", 401), closeConnection: true }));
  const client = connectTls({ host: "127.0.0.1", port, ca, ALPNProtocols: ["h2"] });
  t.after(() => client.destroy());
  client.on("error", () => {}).resume();
  await once(client, "secureConnect");
  // :method POST, :scheme https, :path /, :authority a
  const fields = Buffer.from([0x83, 0x87, 0x84, 0x41, 0x01, 0x61]);
  client.write(preface);
  client.write(Buffer.concat([frame(4, 0, 0, Buffer.alloc(0)), frame(1, 4, 1, fields)]));
  const unknown = frame(0xbb, 0, 0, Buffer.alloc(16_384));
  const more = (): void => {
    while (!client.destroyed && client.write(unknown));
  };
  client.on("drain", more);
  more();
  await waitForClose(client);
  assert.ok(sockets.every(({ destroyed }) => destroyed));
});

test("that a client has left is seen although it never sent the body of its watch", async (t) => {
  let closes = 0;
  const { port } = await serve(() => watch(() => closes++));
  for (const length of [100, long]) {
    const client = await socketTo(port, t);
    client.write(`${headOf("GET", "/", length)}x`);
    await once(client, "data");
    client.destroy();
  }
  await until(() => closes === 2);
});

test("of the body of a watch over HTTP/1.1 a short rest is read, and the watch ends if more comes", async (t) => {
  let closes = 0;
  const { port } = await serve(() => watch(() => closes++));
  const chunks = "Host: a\r\nTransfer-Encoding: chunked\r\n\r\nf00000\r\n";
  for (const head of [headOf("GET", "/", long), `GET / HTTP/1.1\r\n${chunks}`]) {
    const sockets = collectSockets(t);
    const client = await socketTo(port, t);
    let received = "";
    client.on("data", (data: Buffer) => (received += data.toString("latin1")));
    client.write(head);
    push(client, long);
    await waitForClose(client);
    assert.match(received, /event/);
    assert.ok(readBy(sockets) < withHeadMax, `${readBy(sockets)} bytes were read`);
  }
  await until(() => closes === 2);
});

test("a short body that nobody reads is dropped, and the connection kept", async (t) => {
  const { port } = await serve(() => text("ok"));
  const client = await socketTo(port, t);
  for (const method of ["GET", "DELETE", "POST"]) {
    client.write(headOf(method, "/", 16_000));
    client.write(piece.subarray(0, 8_000));
    const [answer] = (await once(client, "data")) as [Buffer];
    assert.match(answer.toString("latin1"), /^HTTP\/1\.1 200 OK\r\n(?![^]*Connection: close)[^]*ok$/);
    client.write(piece.subarray(0, 8_000));
  }
});

test("before somebody asks for a body, no more of it is read than came with the head", async (t) => {
  const sockets = collectSockets(t);
  const asked = Promise.withResolvers<void>();
  const { port } = await serve(async (request) => {
    if (request.path === "/other") return text("other");
    await asked.promise;
    return text(String((await request.body(2 * long)).length));
  });
  const client = await socketTo(port, t);
  client.write(headOf("POST", "/", 10 * piece.length * 20));
  push(client, 10 * piece.length * 20);
  const http2 = await session(port, t);
  const stream = http2.request({ ":method": "POST", ":path": "/" }, { endStream: false });
  for (let i = 0; i < 10; i++) stream.write(piece);
  const other = await socketTo(port, t);
  for (let i = 0; i < 50; i++) {
    other.write("GET /other HTTP/1.1\r\nHost: a\r\n\r\n");
    await once(other, "data");
  }
  assert.ok(readBy(sockets) < 2 * withHeadMax, `${readBy(sockets)} bytes were read`);
  asked.resolve();
  const [answer] = (await once(client, "data")) as [Buffer];
  assert.match(answer.toString("latin1"), new RegExp(`${10 * piece.length * 20}$`));
  stream.resume().end();
  const [headers] = (await once(stream, "response")) as [IncomingHttpHeaders];
  assert.equal(headers[":status"], 200);
});

for (const protocol of ["http/1.1", "h2"] as const) {
  test(`another request is answered while many bodies come over ${protocol}, and few bytes of them before it`, async (t) => {
    const sockets = collectSockets(t);
    const length = 200 * piece.length;
    const { port } = await serve(async (request) => {
      if (request.path === "/other") return text("other");
      return text(String((await request.body(length)).length));
    });
    const others = await socketTo(port, t);
    const pushers = sockets.length;
    const count = 30;
    const answers: Promise<unknown>[] = [];
    for (let i = 0; i < count; i++) {
      if (protocol === "h2") {
        const client = await session(port, t);
        const stream = client.request({ ":method": "POST", ":path": "/" }, { endStream: false });
        answers.push(once(stream, "response"));
        push(stream, length);
      } else {
        const client = await socketTo(port, t);
        client.write(headOf("POST", "/", length));
        answers.push(once(client, "data"));
        push(client, length);
      }
    }
    const bodies = (): number => readBy(sockets.slice(pushers));
    await until(() => bodies() > 2 * count * piece.length);
    const turns = countTurns(bodies);
    t.after(() => turns.stop());
    for (let i = 0; i < 20; i++) {
      others.write("GET /other HTTP/1.1\r\nHost: a\r\n\r\n");
      await once(others, "data");
    }
    // The client is in the same process and takes turns as well. Node hands over what it read of HTTP/2 in pieces.
    assert.ok(turns.most < 4 * turnBytesMax, `${turns.most} bytes of bodies were read in a turn`);
    assert.ok(turns.count < 20 * 10, `${turns.count} turns before 20 answers`);
    if (protocol === "http/1.1") await Promise.all(answers);
  });
}

/** Makes a handler that answers with the length of the body, or with the reason of its refusal. */
const lengthOf =
  (ownMax: number, allMax: number) =>
  async (request: ApiRequest): Promise<Reply> => {
    try {
      return text(String((await request.body(ownMax, allMax)).length));
    } catch (error) {
      return text(error instanceof Error ? error.message : "", 413);
    }
  };

test("a body that is too long is told the limit that applied, whether its length is known or not", async (t) => {
  const { port } = await serve(lengthOf(100_000, 300_000));
  const expected = [
    [100_000, "100000"],
    [100_001, "Request entity too large: limit is 100000"],
    [300_000, "Request entity too large: limit is 100000"],
    [300_001, "Request entity too large: limit is 300000"],
  ] as const;
  const http2 = await session(port, t);
  for (const [length, answer] of expected) {
    const bytes = Buffer.alloc(length);
    const chunks = `${length.toString(16)}\r\n${bytes.toString("latin1")}\r\n0\r\n\r\n`;
    for (const sent of [
      `${headOf("POST", "/", length)}${bytes.toString("latin1")}`,
      `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`,
    ]) {
      const client = await socketTo(port, t);
      client.write(sent, "latin1");
      const [received] = (await once(client, "data")) as [Buffer];
      assert.ok(received.toString("latin1").endsWith(`\r\n\r\n${answer}`), received.toString("latin1"));
    }
    const stream = http2.request({ ":method": "POST", ":path": "/" });
    stream.on("error", () => {});
    stream.end(bytes);
    let received = "";
    stream.on("data", (data: Buffer) => (received += data.toString()));
    await once(stream, "end");
    assert.equal(received, answer);
  }
});

test("a body above the limit of all is refused by its declared length, even where an own limit is higher", async (t) => {
  const { port } = await serve(lengthOf(300_000, 100_000));
  const client = await socketTo(port, t);
  client.write(headOf("POST", "/", 200_000));
  const [received] = (await once(client, "data")) as [Buffer];
  assert.ok(received.toString("latin1").endsWith("Request entity too large: limit is 100000"));
});

test("beyond the bound of all connections the oldest of nobody known is closed, and told of", async (t) => {
  const refused: string[] = [];
  const { port } = await serve(
    (request) => {
      request.user = { name: "user", groups: [] };
      request.identify!();
      return text("ok");
    },
    { limits: { connections: 3 }, connectionRefused: (bound, of) => refused.push(`${bound} ${of}`) },
  );
  const ask = async (client: TLSSocket): Promise<void> => {
    client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await once(client, "data");
  };
  const [one, two, three] = [await socketTo(port, t), await socketTo(port, t), await socketTo(port, t)];
  await ask(one);
  const left = waitForClose(two);
  const four = await socketTo(port, t);
  await left;
  assert.deepEqual(refused, ["all 127.0.0.1"]);
  for (const client of [one, three, four]) await ask(client);
  await assert.rejects(socketTo(port, t));
  assert.equal(refused.length, 2);
});

test("connections beyond the bound of an address are closed at once, and told of", async (t) => {
  const refused: string[] = [];
  const { port } = await serve(() => text("ok"), {
    limits: { connectionsPerAddress: 3 },
    connectionRefused: (bound, of) => refused.push(`${bound} ${of}`),
  });
  const clients = [await socketTo(port, t), await socketTo(port, t), await socketTo(port, t)];
  await assert.rejects(socketTo(port, t));
  assert.deepEqual(refused, ["address 127.0.0.1"]);
  clients[0]!.destroy();
  await until(() => open.at(-1)!.connections === 2);
  await socketTo(port, t);
});

test("a user with too many connections is answered 429 on others, which are closed; others are not", async (t) => {
  const refused: string[] = [];
  const { port } = await serve(
    (request) => {
      request.user = { name: String(request.headers["x-user"]), groups: [] };
      try {
        request.identify!();
        return text("ok");
      } catch (error) {
        return text(error instanceof Error ? error.message : "", 429);
      }
    },
    { limits: { connectionsPerUser: 2 }, connectionRefused: (bound, of) => refused.push(`${bound} ${of}`) },
  );
  const ask = async (client: TLSSocket, user: string): Promise<string> => {
    client.write(`GET / HTTP/1.1\r\nHost: a\r\nX-User: ${user}\r\n\r\n`);
    return String((await once(client, "data"))[0]);
  };
  const [one, two, three] = [await socketTo(port, t), await socketTo(port, t), await socketTo(port, t)];
  const http2 = await session(port, t);
  assert.match(await ask(one, "eve"), /^HTTP\/1\.1 200 /);
  assert.match(await ask(two, "eve"), /^HTTP\/1\.1 200 /);
  assert.match(await ask(one, "eve"), /^HTTP\/1\.1 200 /);
  const ended = waitForClose(three);
  assert.match(await ask(three, "eve"), /^HTTP\/1\.1 429 [^]*Connection: close[^]*too many connections/);
  await ended;
  const stream = http2.request({ ":path": "/", "x-user": "eve" });
  const left = once(http2, "close");
  assert.equal(((await once(stream, "response")) as [IncomingHttpHeaders])[0][":status"], 429);
  stream.resume();
  await left;
  assert.match(await ask(await socketTo(port, t), "adam"), /^HTTP\/1\.1 200 /);
  one.destroy();
  await until(() => open.at(-1)!.connections < 4);
  assert.match(await ask(await socketTo(port, t), "eve"), /^HTTP\/1\.1 200 /);
  assert.deepEqual(refused, ["user eve", "user eve"]);
});

test("a user with too many watches is answered 429, others are not, and one that ends makes room", async (t) => {
  let closed = 0;
  const answer = chainOf(
    [catchErrors({ errorReply: errorReplies(negotiator([jsonEncoding])), log: silentLog }), boundedStreams],
    () => watch(() => closed++),
  );
  const { port } = await serve(
    (request) => {
      request.user = { name: String(request.headers["x-user"]), groups: [] };
      const plane = request.headers["x-plane"];
      if (plane !== undefined) request.enterPlane!(plane);
      return answer(request);
    },
    { limits: { openStreams: 8 } },
  );
  const client = await session(port, t);
  const ask = async (user: string, plane?: string) => {
    const stream = client.request({
      ":path": "/",
      "x-user": user,
      ...(plane === undefined ? {} : { "x-plane": plane }),
    });
    const [headers] = (await once(stream, "response")) as [IncomingHttpHeaders];
    stream.resume();
    return { stream, code: headers[":status"], again: headers["retry-after"] };
  };
  const codes = async (count: number, user: string, plane?: string) => {
    const answers = [];
    for (let at = 0; at < count; at++) answers.push(await ask(user, plane));
    return answers;
  };
  const eves = await codes(5, "eve");
  assert.deepEqual(
    eves.map(({ code, again }) => [code, again]),
    [...Array.from({ length: 4 }, () => [200, undefined]), [429, "1"]],
  );
  // The one that was not opened is told so.
  await until(() => closed === 1);
  // Users of a plane have half of its half each; the other eve is another user.
  assert.deepEqual(
    (await codes(3, "eve", "/planes/a")).map(({ code }) => code),
    [200, 200, 429],
  );
  assert.deepEqual(
    (await codes(3, "adam", "/planes/a")).map(({ code }) => code),
    [200, 200, 429],
  );
  eves[0]!.stream.close();
  await until(() => closed === 4);
  assert.equal((await ask("eve")).code, 200);
  // The answer is the same over HTTP/1.1.
  const socket = await socketTo(port, t);
  socket.write("GET / HTTP/1.1\r\nHost: a\r\nX-User: eve\r\n\r\n");
  assert.match(String((await once(socket, "data"))[0]), /^HTTP\/1\.1 429 [^]*Retry-After: 1/i);
});

test("watches whose client left before the answer take no room", async (t) => {
  const left: string[] = [];
  const { port } = await serve(
    (request) => {
      request.user = { name: "eve", groups: [] };
      const answer = chainOf([boundedStreams], async () => {
        if (request.path === "/slow") await once(request.signal, "abort");
        return watch(() => left.push(request.path));
      });
      return Promise.resolve(answer(request));
    },
    { limits: { openStreams: 2 } },
  );
  const client = await session(port, t);
  for (let at = 1; at <= 3; at++) {
    const slow = client.request({ ":path": "/slow" });
    const closed = once(slow, "close");
    // The answer to a ping comes after the server has the request.
    client.ping(() => slow.close());
    await closed;
    await until(() => left.length === at);
  }
  const watching = client.request({ ":path": "/" });
  const [headers] = (await once(watching, "response")) as [IncomingHttpHeaders];
  assert.equal(headers[":status"], 200);
});

test("hundreds of connections at once are all taken and served", async (t) => {
  const { port } = await serve(() => text("ok"));
  const answers = Array.from({ length: 300 }, async () => {
    const client = await socketTo(port, t);
    client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    return String((await once(client, "data"))[0]).slice(9, 12);
  });
  assert.deepEqual(new Set(await Promise.all(answers)), new Set(["200"]));
});
