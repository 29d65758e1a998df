/** The listener over real TLS connections: both protocols, client errors, and graceful shutdown. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect as connectHttp2, type ClientHttp2Session, constants, type IncomingHttpHeaders } from "node:http2";
import { Agent, request as httpsRequest, type RequestOptions } from "node:https";
import { connect as connectTcp } from "node:net";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { gunzipSync } from "node:zlib";
import { fakeAuthority } from "#authn/fake-authority.ts";
import { systemClock } from "#std/clock.ts";
import { silentLog } from "#std/log.ts";
import type { ApiRequest, Reply, StreamSink } from "#http/api-request.ts";
import { type Listener, type ListenerOptions, openListener } from "#transport/listener.ts";
import { patienceMs } from "../client.ts";

const authority = await fakeAuthority("server authority");
const clients = await fakeAuthority("client authority");
const own = await authority.issue({ commonName: "localhost", usage: "server" });
const ca = authority.certificate;

const open: Listener[] = [];
after(async () => {
  for (const listener of open) await listener.close();
});

interface Served extends Listener {
  readonly logged: string[];
}

async function serve(
  handle: (request: ApiRequest) => Reply | Promise<Reply>,
  options: Partial<ListenerOptions> = {},
): Promise<Served> {
  const logged: string[] = [];
  const listener = await openListener({
    host: "127.0.0.1",
    port: 0,
    tls: { key: own.key, cert: own.certificate },
    handle: async (request) => handle(request),
    log: { ...silentLog, error: (_fields, message) => logged.push(message) },
    clock: systemClock,
    ...options,
  });
  open.push(listener);
  return Object.assign(listener, { logged });
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Sends a request over HTTP/1.1, on a connection of its own unless an agent is given. */
function http1(
  port: number,
  path: string,
  { body, ...options }: RequestOptions & { body?: Buffer | string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest({ host: "127.0.0.1", port, path, ca, agent: false, ...options }, (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.on("error", reject);
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(pieces) }),
      );
    });
    request.on("error", reject);
    request.end(body);
  });
}

async function session(port: number): Promise<ClientHttp2Session> {
  const client = connectHttp2(`https://127.0.0.1:${port}`, { ca, maxSendHeaderBlockLength: 200_000 });
  client.on("error", () => {});
  // From now on the client obeys the limits of the server.
  await Promise.all([once(client, "connect"), once(client, "remoteSettings")]);
  return client;
}

function on(client: ClientHttp2Session, path: string, headers: object = {}, body?: Buffer): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const stream = client.request({ ":path": path, ...headers }, { endStream: body === undefined });
    const pieces: Buffer[] = [];
    let answer: IncomingHttpHeaders = {};
    stream.on("response", (received) => {
      answer = received;
    });
    stream.on("data", (piece: Buffer) => pieces.push(piece));
    stream.on("error", reject);
    stream.on("end", () =>
      resolve({ status: Number(answer[":status"]), headers: answer, body: Buffer.concat(pieces) }),
    );
    if (body !== undefined) stream.end(body);
  });
}

/** Sends a request over HTTP/2, on a connection of its own. */
async function http2(port: number, path: string, headers: object = {}, body?: Buffer): Promise<Answer> {
  const client = await session(port);
  try {
    return await on(client, path, headers, body);
  } finally {
    client.destroy();
  }
}

async function socketTo(port: number): Promise<TLSSocket> {
  const socket = connectTls({ host: "127.0.0.1", port, ca, ALPNProtocols: ["http/1.1"] });
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  return socket;
}

/** Sends bytes as they are. Returns the received bytes when the server closes. */
async function raw(port: number, text: string | Buffer): Promise<string> {
  const socket = await socketTo(port);
  let received = "";
  socket.on("data", (piece: Buffer) => {
    received += piece.toString("latin1");
  });
  socket.write(text);
  await Promise.race([
    once(socket, "close"),
    sleep(patienceMs, undefined, { ref: false }).then(() => (received += "\n(still open)")),
  ]);
  socket.destroy();
  return received;
}

const text = (value: string): Reply => ({ code: 200, contentType: "text/plain", bytes: Buffer.from(value) });

async function until(holds: () => boolean): Promise<void> {
  for (const deadline = Date.now() + patienceMs; !holds() && Date.now() < deadline; ) await sleep(10);
  assert.ok(holds(), "still not so");
}

test("a request reaches the handler whole, and its reply the client, over both protocols", async () => {
  const requests: unknown[] = [];
  const { port } = await serve(async (request) => {
    const { method, path, protocol, remoteAddress, warnings } = request;
    warnings.push('mind "this"', 'mind "this"', "ä\n");
    const body = (await request.body(1000)).toString();
    requests.push([protocol, method, path, request.query.get("b"), request.headers["x-one"], remoteAddress, body]);
    return { code: 201, contentType: "application/json", headers: { etag: '"1"' }, bytes: Buffer.from("{}") };
  });
  const body = Buffer.from("hello");
  const first = await http1(port, "/a%20b?b=1", {
    method: "POST",
    body: "hello",
    headers: { "X-One": "1", "Audit-ID": "mine" },
  });
  const second = await http2(port, "/a%20b?b=1", { ":method": "POST", "x-one": "1", "audit-id": "mine" }, body);
  assert.deepEqual(requests, [
    ["HTTP/1.1", "POST", "/a b", "1", "1", "127.0.0.1", "hello"],
    ["HTTP/2.0", "POST", "/a b", "1", "1", "127.0.0.1", "hello"],
  ]);
  for (const answer of [first, second]) {
    assert.equal(answer.status, 201);
    assert.equal(answer.body.toString(), "{}");
    assert.equal(answer.headers["audit-id"], "mine");
    assert.equal(answer.headers["cache-control"], "no-cache, private");
    assert.equal(answer.headers["content-type"], "application/json");
    assert.equal(answer.headers["content-length"], "2");
    assert.equal(answer.headers["etag"], '"1"');
    assert.equal(answer.headers["warning"], '299 - "mind \\"this\\"", 299 - "Ã¤ "');
    assert.ok(answer.headers["date"]);
  }
  assert.equal(second.headers["connection"], undefined);
});

test("an answer has an audit id of its own when the client gave none, and HSTS only when configured", async () => {
  const { port } = await serve(() => text("x"));
  const { headers } = await http1(port, "/");
  assert.match(String(headers["audit-id"]), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(headers["strict-transport-security"], undefined);
  const strict = await serve(() => text("x"), { strictTransport: "max-age=1; includeSubDomains" });
  assert.equal((await http2(strict.port, "/")).headers["strict-transport-security"], "max-age=1; includeSubDomains");
});

test("HEAD has the headers of GET and no body, of short, long and streamed replies", async () => {
  const long = Buffer.alloc(300_000, "x");
  const { port } = await serve(({ path }) => {
    if (path === "/long") return { code: 200, bytes: [long, long] };
    if (path === "/stream") return { code: 200, stream: { open: (sink) => sink.end() } };
    return text("body");
  });
  for (const send of [
    (path: string) => http1(port, path, { method: "HEAD" }),
    (path: string) => http2(port, path, { ":method": "HEAD" }),
  ]) {
    for (const [path, length] of [
      ["/", "4"],
      ["/long", "600000"],
      ["/stream", undefined],
    ] as const) {
      const answer = await send(path);
      assert.equal(answer.status, 200);
      assert.equal(answer.headers["content-length"], length);
      assert.equal(answer.body.length, 0);
    }
  }
});

test("204 and 304 have neither body nor length", async () => {
  const { port } = await serve(({ path }) => ({ code: Number(path.slice(1)), bytes: Buffer.from("never") }));
  for (const answer of [await http1(port, "/304"), await http2(port, "/304"), await http1(port, "/204")]) {
    assert.equal(answer.headers["content-length"], undefined);
    assert.equal(answer.body.length, 0);
  }
});

test("a request without TLS gets an answer that says so", async () => {
  const { port } = await serve(() => assert.fail("nothing is asked"));
  const socket = connectTcp(port, "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const answer = (await socket.toArray()).join("");
  assert.equal(answer, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n");
});

test("an HTTP/1.1 connection is kept for the next request, and closed when asked", async () => {
  const { port } = await serve(({ path }) => (path === "/last" ? { ...text("x"), closeConnection: true } : text("x")));
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca });
  const ports = new Set<number>();
  agent.on("free", (socket: TLSSocket) => ports.add(socket.localPort ?? 0));
  for (let i = 0; i < 3; i++) assert.equal((await http1(port, "/", { agent })).headers["connection"], undefined);
  assert.equal(ports.size, 1);
  assert.equal((await http1(port, "/last", { agent })).headers["connection"], "close");
  agent.destroy();
  assert.match(await raw(port, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"), /^HTTP\/1\.1 200 OK\r\n/);
  assert.match(await raw(port, "GET / HTTP/1.0\r\n\r\n"), /Connection: close\r\n\r\nx$/);
});

test("closing a connection on HTTP/2 is GOAWAY: the reply arrives, and the next request needs a new one", async () => {
  const { port } = await serve(() => ({ ...text("x"), closeConnection: true }));
  const client = await session(port);
  const gone = once(client, "goaway");
  assert.equal((await on(client, "/")).body.toString(), "x");
  assert.equal((await gone)[0], constants.NGHTTP2_NO_ERROR);
  await once(client, "close");
});

test("pipelined requests are answered in order, streams in the middle included", async () => {
  const { port } = await serve(async ({ path }) => {
    if (path === "/slow") await sleep(50);
    if (path !== "/stream") return text(`[${path}]`);
    return {
      code: 200,
      stream: {
        open(sink) {
          sink.write(Buffer.from("[a]"));
          setTimeout(() => {
            sink.write(Buffer.from("[b]"));
            sink.end();
          }, 20);
        },
      },
    };
  });
  const get = (path: string, more = ""): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
  const answer = await raw(port, get("/slow") + get("/stream") + get("/fast") + get("/end", "Connection: close\r\n"));
  assert.deepEqual(answer.match(/\[.*?\]/g), ["[/slow]", "[a]", "[b]", "[/fast]", "[/end]"]);
});

test("of thousands of requests sent ahead one is worked on at a time, and a client that reads none holds few", async () => {
  let now = 0;
  let most = 0;
  let handled = 0;
  const { port } = await serve(async ({ path }) => {
    most = Math.max(most, ++now);
    if (handled++ % 100 === 0) await sleep(1);
    now--;
    return text(path === "/long" ? "x".repeat(50_000) : `[${path}]`);
  });
  const get = (path: string, more = ""): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
  const paths = Array.from({ length: 5_000 }, (_, i) => `/${i}`);
  const answer = await raw(port, paths.map((path) => get(path)).join("") + get("/end", "Connection: close\r\n"));
  assert.deepEqual(
    answer.match(/\[.*?\]/g),
    [...paths, "/end"].map((path) => `[${path}]`),
  );
  assert.equal(most, 1);

  handled = 0;
  const socket = await socketTo(port);
  socket.pause();
  socket.write(get("/long").repeat(2_000));
  await until(() => handled > 0);
  for (let before = -1; before < handled; await sleep(50)) before = handled;
  assert.ok(handled < 500, `${handled} of 2000 were answered to a client that reads nothing`);
  socket.destroy();
});

test("a long body that comes while a long answer is still on its way is read", async () => {
  const answer = Buffer.alloc(8 * 1024 * 1024);
  let begun = false;
  const { port } = await serve(async (request) => {
    begun = true;
    return request.method === "GET" ? { code: 200, bytes: answer } : text(`[${(await request.body(1e6)).length}]`);
  });
  const socket = await socketTo(port);
  let end = "";
  socket.pause();
  socket.on("data", (piece: Buffer) => {
    end = (end + piece.toString("latin1")).slice(-100);
  });
  socket.pause();
  socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await until(() => begun);
  await sleep(50);
  const length = 500_000;
  socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n${"x".repeat(length)}`);
  await sleep(50);
  socket.resume();
  await until(() => end.endsWith(`[${length}]`) || socket.destroyed);
  assert.ok(end.endsWith(`[${length}]`), "the connection was closed");
  socket.destroy();
});

test("long bodies arrive complete, in pieces", async () => {
  const buffers = Array.from({ length: 3_000 }, (_, i) => Buffer.alloc((i * 37) % 3_000, i % 256));
  buffers.push(randomBytes(700_000));
  const whole = Buffer.concat(buffers);
  const { port } = await serve(({ path }) => ({
    code: 200,
    ...(path === "/one"
      ? { bytes: whole }
      : path === "/many"
        ? { bytes: buffers }
        : { pieces: { length: whole.length, [Symbol.iterator]: () => buffers[Symbol.iterator]() } }),
  }));
  for (const path of ["/one", "/many", "/pieces"]) {
    for (const answer of [await http1(port, path), await http2(port, path)]) {
      assert.equal(answer.headers["content-length"], String(whole.length));
      assert.ok(answer.body.equals(whole));
    }
  }
});

test("compressible bodies above 128 KiB are compressed for clients that take gzip [MEDIA-24] [MEDIA-25] [MEDIA-26] [MEDIA-27]", async () => {
  const whole = Buffer.from("0123456789abcdef".repeat(20_000));
  const short = whole.subarray(0, 128 * 1024);
  const longer = whole.subarray(0, 128 * 1024 + 1);
  const reply = ({ path }: ApiRequest): Reply => ({
    code: 200,
    compressible: path !== "/raw",
    bytes: { "/short": short, "/longer": longer, "/many": [whole, whole] }[path] ?? whole,
  });
  const { port } = await serve(reply);
  const gzip = { "accept-encoding": "deflate, gzip" };
  for (const send of [
    (path: string, headers: object) => http1(port, path, { headers: { ...headers } }),
    (path: string, headers: object) => http2(port, path, headers),
  ]) {
    const packed = await send("/", gzip);
    assert.equal(packed.headers["content-encoding"], "gzip");
    assert.equal(packed.headers["vary"], "Accept-Encoding");
    assert.equal(packed.headers["content-length"], undefined);
    assert.ok(packed.body.length < whole.length / 10);
    assert.ok(gunzipSync(packed.body).equals(whole));
    assert.ok(gunzipSync((await send("/longer", gzip)).body).equals(longer));
    assert.ok(gunzipSync((await send("/many", gzip)).body).equals(Buffer.concat([whole, whole])));
    for (const [path, headers] of [
      ["/", {}],
      ["/", { "accept-encoding": "identity" }],
      ["/", { "accept-encoding": "gzip;q=0" }],
      ["/raw", gzip],
      ["/short", gzip],
    ] as const) {
      const plain = await send(path, headers);
      assert.equal(plain.headers["content-encoding"], undefined);
      assert.equal(plain.headers["vary"], undefined);
      assert.ok(plain.body.equals(path === "/short" ? short : whole));
    }
  }
  const off = await serve(reply, { compress: false });
  assert.equal((await http1(off.port, "/", { headers: gzip })).headers["content-encoding"], undefined);
});

test("a body over the limit is refused with 413 and the client reads the answer [LIMIT-08]", async () => {
  const { port } = await serve(async (request) => {
    try {
      return text(String((await request.body(1_000_000)).length));
    } catch (error) {
      return { code: 413, bytes: Buffer.from(error instanceof Error ? error.message : "") };
    }
  });
  const fine = Buffer.alloc(1_000_000);
  const long = Buffer.alloc(5_000_000);
  const refusal = "Request entity too large: limit is 1000000";
  assert.equal((await http1(port, "/", { method: "POST", body: fine })).body.toString(), "1000000");
  assert.equal((await http2(port, "/", { ":method": "POST" }, fine)).body.toString(), "1000000");
  for (const headers of [{}, { "transfer-encoding": "chunked" }]) {
    const answer = await http1(port, "/", { method: "POST", body: long, headers });
    assert.equal(`${answer.status} ${answer.body.toString()}`, `413 ${refusal}`);
    assert.equal(answer.headers["connection"], "close");
  }
  for (const headers of [{}, { "content-length": String(long.length) }]) {
    const answer = await http2(port, "/", { ":method": "POST", ...headers }, long);
    assert.equal(`${answer.status} ${answer.body.toString()}`, `413 ${refusal}`);
  }
});

test("a short body that is not read leaves the connection usable, on HTTP/2 a long one as well", async () => {
  const { port } = await serve(() => text("no"));
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca });
  for (let i = 0; i < 3; i++) {
    const short = await http1(port, "/", { method: "POST", body: Buffer.alloc(16_000), agent });
    assert.equal(`${short.status} ${short.headers["connection"]}`, "200 undefined");
  }
  agent.destroy();
  for (const length of [100_000, 3_000_000]) {
    const long = await http1(port, "/", { method: "POST", body: Buffer.alloc(length) });
    assert.equal(`${long.status} ${long.headers["connection"]}`, "200 close");
  }
  const client = await session(port);
  for (let i = 0; i < 3; i++) {
    assert.equal((await on(client, "/", { ":method": "POST" }, Buffer.alloc(3_000_000))).status, 200);
  }
  client.destroy();
});

test("a client that waits for 100 is told to go on when the body is wanted, and only then", async () => {
  const { port } = await serve(async (request) =>
    request.path === "/no" ? { code: 401 } : text(String((await request.body(10)).length)),
  );
  const head = (path: string): string =>
    `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`;
  const socket = await socketTo(port);
  socket.write(head("/yes"));
  assert.match(String((await once(socket, "data"))[0]), /^HTTP\/1\.1 100 Continue\r\n\r\n$/);
  socket.write("abc");
  assert.match(String((await once(socket, "data"))[0]), /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n3$/);
  const refused = await socketTo(port);
  refused.write(head("/no"));
  assert.match(String((await once(refused, "data"))[0]), /^HTTP\/1\.1 401 /);
  refused.destroy();

  const client = await session(port);
  const stream = client.request({ ":method": "POST", ":path": "/yes", expect: "100-continue" });
  await once(stream, "continue");
  stream.end("abcd");
  const [answer] = (await once(stream, "response")) as [IncomingHttpHeaders];
  assert.equal(answer[":status"], 200);
  client.destroy();
});

test("a body that ends early, or contradicts its length, never counts as whole", async () => {
  const outcomes: string[] = [];
  const { port } = await serve(async (request) => {
    try {
      outcomes.push(String((await request.body(100)).length));
    } catch (error) {
      outcomes.push(error instanceof Error ? error.message : "");
    }
    return text("x");
  });
  const socket = await socketTo(port);
  socket.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  await sleep(50);
  socket.destroy();
  await until(() => outcomes.length === 1);
  assert.deepEqual(outcomes, ["the client closed the connection"]);

  const half = await socketTo(port);
  half.end("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  await until(() => outcomes.length === 2);
  assert.notEqual(outcomes[1], "3");

  const client = await session(port);
  const stream = client.request({ ":method": "POST", ":path": "/", "content-length": "10" });
  stream.on("error", () => {});
  stream.end("abc");
  await until(() => outcomes.length === 3);
  assert.notEqual(outcomes[2], "3");
  client.destroy();
});

test("bytes that are no HTTP, or smuggle requests, get a short refusal and the connection closes", async () => {
  let handled = 0;
  const { port } = await serve(() => {
    handled++;
    return text("x");
  });
  const host = "Host: a\r\n";
  for (const message of [
    "nonsense\r\n\r\n",
    "\x16\x03\x01\x02\x00\x01",
    `GET /a b HTTP/1.1\r\n${host}\r\n`,
    `GET / HTTP/9.9\r\n${host}\r\n`,
    `GET / HTTP/1.1\r\n${host}Bad Name: x\r\n\r\n`,
    `GET / HTTP/1.1\r\n${host}X: a\0b\r\n\r\n`,
    `GET / HTTP/1.1\r\n\r\n`,
    `GET /%zz HTTP/1.1\r\n${host}\r\n`,
    `POST / HTTP/1.1\r\n${host}Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef`,
    `POST / HTTP/1.1\r\n${host}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    `POST / HTTP/1.1\r\n${host}Content-Length: -1\r\n\r\n`,
    `POST / HTTP/1.1\r\n${host}Content-Length: 1e3\r\n\r\n`,
    `POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked, identity\r\n\r\n`,
    `POST / HTTP/1.1\r\n${host}Transfer-Encoding: xchunked\r\n\r\n`,
    `GET / HTTP/1.1\r\n${host}Content-Length : 5\r\n\r\nabcde`,
    `GET / HTTP/1.1\r\n${host}X: 1\r\n Content-Length: 5\r\n\r\n`,
    `POST / HTTP/1.1\r\n${host}Content-Length: 5\r\nContent-Length: 5\r\n\r\nabcde`,
    `POST / HTTP/1.1\r\n${host}Content-Length: +5\r\n\r\nabcde`,
    `POST / HTTP/1.1\r\n${host}Content-Length: 99999999999999999999\r\n\r\n`,
    `POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n`,
    `GET / HTTP/1.1\r\n${host}X: 1\nY: 2\r\n\r\n`,
    `GET / HTTP/1.1\n${host}\r\n`,
    `GET / HTTP/1.1\r\n${host}X: a\rb\r\n\r\n`,
    `CONNECT a:443 HTTP/1.1\r\n${host}\r\n`,
    `CONNECT / HTTP/1.1\r\n${host}\r\nGET / HTTP/1.1\r\n${host}\r\n`,
  ]) {
    const answer = await raw(port, message);
    assert.ok(answer.startsWith("HTTP/1.1 400 Bad Request\r\n"), `${JSON.stringify(message)}: ${answer}`);
    assert.match(answer, /\r\nConnection: close\r\n/);
    assert.ok(!answer.includes("still open"), JSON.stringify(message));
  }
  assert.equal(handled, 0);
});

test("a bad chunk in a body is refused, and ends the read", async () => {
  let outcome = "";
  const { port } = await serve(async (request) => {
    if (request.headers["expect"] !== undefined) await Promise.resolve(); // the bad chunk is there already
    await request.body(100).catch((error: Error) => {
      outcome = error.message;
    });
    return text("never seen");
  });
  const answer = await raw(
    port,
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nnonsense\r\n",
  );
  assert.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/);
  assert.ok(!answer.includes("never seen"));
  assert.notEqual(outcome, "");
  const waiting =
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\nnonsense\r\n";
  assert.match(await raw(port, waiting), /^(?:HTTP\/1\.1 100 Continue\r\n\r\n)?HTTP\/1\.1 400 Bad Request\r\n/);
});

test("two hosts in one request are refused, whichever of them was meant", async () => {
  const { port } = await serve(({ refusal }) => (refusal === undefined ? text("x") : { code: refusal.status.code }));
  const answer = await raw(port, "GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n");
  assert.match(answer, /^HTTP\/1\.1 400 [^]*\r\nConnection: close\r\n/);
});

test("request line and headers have a bound together: 414 names a long target, 431 long or many headers", async () => {
  const { port } = await serve(({ refusal }) =>
    refusal === undefined ? text("x") : { ...text(refusal.message), code: refusal.status.code },
  );
  const long = 60 * 1024;
  const fields = (count: number): object =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, "v"]));
  const bytes = "limit is 65536 bytes for the request line and headers together";
  const client = await session(port);
  for (const [path, headers, expected] of [
    [`/?a=${"b".repeat(long)}`, {}, "200 x"],
    ["/", { "x-long": "b".repeat(long) }, "200 x"],
    ["/", fields(900), "200 x"],
    [`/?a=${"b".repeat(long)}`, { "x-more": "c".repeat(8_000) }, `414 Request URI too long: ${bytes}`],
    ["/", { "x-long": "b".repeat(long), "x-more": "c".repeat(8_000) }, `431 Request header fields too large: ${bytes}`],
    ["/", fields(1_100), "431 Request header fields too large: limit is 1000 header fields"],
  ] as const) {
    for (const answer of [await http1(port, path, { headers: { ...headers } }), await on(client, path, headers)]) {
      assert.equal(`${answer.status} ${answer.body.toString()}`, expected);
    }
  }
  client.destroy();
});

test("a flood of headers is refused with 431 on HTTP/1.1, and resets the stream on HTTP/2", async () => {
  const { port } = await serve(() => text("x"), { limits: { headerBytes: 16 * 1024 } });
  const flood = "x".repeat(40_000);
  assert.match(await raw(port, `GET / HTTP/1.1\r\nHost: a\r\nX: ${flood}\r\n\r\n`), /^HTTP\/1\.1 431 /);
  const client = await session(port);
  await assert.rejects(on(client, "/", { "x-flood": "y".repeat(40_000) }));
  client.destroy();
  assert.equal((await http2(port, "/")).status, 200);
});

test("a client that sends its headers slowly, or no request at all, is cut off", async () => {
  const { port } = await serve(() => text("x"), { limits: { headerMs: 4000, idleMs: 300 } });
  const slow = await socketTo(port);
  let received = "";
  slow.on("data", (piece: Buffer) => {
    received += piece.toString();
  });
  slow.write("GET / HTTP/1.1\r\nHost");
  await once(slow, "close");
  assert.match(received, /^HTTP\/1\.1 408 Request Timeout/);

  const idle = await socketTo(port);
  idle.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await once(idle, "data");
  await once(idle, "close");

  const client = await session(port);
  await once(client, "close");
});

test("a client that sends its body slowly is cut off", async () => {
  let outcome = "";
  const { port } = await serve(
    async (request) => {
      await request.body(100).catch((error: Error) => {
        outcome = error.message;
      });
      return text("never seen");
    },
    { limits: { requestMs: 2000 } },
  );
  assert.match(await raw(port, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc"), /^HTTP\/1\.1 408 /);
  assert.equal(outcome, "the client closed the connection");
});

test("answers that a client does not take do not hold its connection for ever", async () => {
  const piece = Buffer.alloc(100_000);
  const listener = await serve(() => ({ code: 200, bytes: piece }), { limits: { stallMs: 2000, idleMs: 2000 } });
  const socket = await socketTo(listener.port);
  socket.pause();
  socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(200));
  const client = connectHttp2(`https://127.0.0.1:${listener.port}`, { ca, settings: { initialWindowSize: 0 } });
  client.on("error", () => {});
  for (let i = 0; i < 10; i++) client.request({ ":path": "/" }).on("error", () => {});
  await until(() => listener.connections === 2);
  await until(() => listener.connections === 0);
  assert.equal(listener.requests, 0);
});

test("a handler sees the subject of a verified client certificate, and why another is not verified [ACERT-01] [ACERT-02] [ACERT-03] [ACERT-04] [ACERT-05] [ACERT-06]", async () => {
  const second = await fakeAuthority("second client authority");
  const stranger = await fakeAuthority("client authority");
  const { port } = await serve(
    (request) => {
      const certificate = request.clientCertificate;
      return text(
        certificate === undefined
          ? `none ${request.clientCertificateProblem}`.trim()
          : `${certificate.commonName} [${certificate.organizations.join("|")}] ${certificate.raw.length > 100}`,
      );
    },
    { tls: { key: own.key, cert: own.certificate, clientCa: clients.certificate + second.certificate } },
  );
  const ask = async (issued?: { readonly certificate: string; readonly key: string }): Promise<string> => {
    const options = issued === undefined ? {} : { cert: issued.certificate, key: issued.key };
    const answer = await http1(port, "/", options);
    const client = connectHttp2(`https://127.0.0.1:${port}`, { ca, ...options });
    const other = await on(client, "/");
    client.destroy();
    assert.equal(other.body.toString(), answer.body.toString());
    return answer.body.toString();
  };
  const organizations = ["a", "b, c", "O=x"];
  assert.equal(await ask(), "none");
  assert.equal(await ask(await clients.issue({ commonName: "alice", organizations })), "alice [a|b, c|O=x] true");
  assert.equal(await ask(await second.issue({ commonName: "bob", usage: "any" })), "bob [] true");
  assert.match(await ask(await stranger.issue({ commonName: "eve" })), /^none \w+/);
  assert.match(
    await ask(await clients.issue({ commonName: "old", notAfter: new Date(Date.now() - 1000) })),
    /^none CERT_HAS_EXPIRED$/,
  );
  assert.match(
    await ask(await clients.issue({ commonName: "new", notBefore: new Date(Date.now() + 3600_000) })),
    /^none CERT_NOT_YET_VALID$/,
  );
  assert.match(await ask(await clients.issue({ commonName: "www", usage: "server" })), /^none INVALID_PURPOSE$/);
});

test("a resumed TLS session keeps its client certificate, and none stays none", async () => {
  const { port } = await serve(
    (request) => text(`${request.clientCertificate?.commonName ?? "none"}${request.clientCertificateProblem}`),
    { tls: { key: own.key, cert: own.certificate, clientCa: clients.certificate } },
  );
  const alice = await clients.issue({ commonName: "alice" });
  for (const [options, expected] of [
    [{ cert: alice.certificate, key: alice.key }, "alice"],
    [{}, "none"],
  ] as const) {
    let ticket: Buffer | undefined;
    for (let i = 0; i < 2; i++) {
      const socket = connectTls({
        host: "127.0.0.1",
        port,
        ca,
        ALPNProtocols: ["http/1.1"],
        ...options,
        ...(ticket === undefined ? {} : { session: ticket }),
      });
      socket.on("session", (session: Buffer) => {
        ticket = session;
      });
      await once(socket, "secureConnect");
      assert.equal(socket.isSessionReused(), i === 1);
      socket.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
      let received = "";
      socket.on("data", (piece: Buffer) => {
        received += piece.toString();
      });
      await once(socket, "close");
      assert.match(received, new RegExp(`\\r\\n\\r\\n${expected}$`));
    }
  }
});

test("certificates can be changed while the server runs", async () => {
  const listener = await serve(() => text("x"));
  const renewed = await authority.issue({ commonName: "renewed", usage: "server" });
  const subjectOf = async (): Promise<unknown> => {
    const socket = await socketTo(listener.port);
    const { subject } = socket.getPeerCertificate();
    socket.destroy();
    return subject.CN;
  };
  assert.equal(await subjectOf(), "localhost");
  listener.updateTls({ key: renewed.key, cert: renewed.certificate });
  assert.equal(await subjectOf(), "renewed");
});

test("TLS before 1.2 is refused, and ALPN offers h2 unless it is switched off", async () => {
  const both = await serve(() => text("x"));
  const only = await serve(() => text("x"), { http1Only: true });
  for (const [port, expected] of [
    [both.port, "h2"],
    [only.port, "http/1.1"],
  ] as const) {
    const socket = connectTls({ host: "127.0.0.1", port, ca, ALPNProtocols: ["h2", "http/1.1"] });
    await once(socket, "secureConnect");
    assert.equal(socket.alpnProtocol, expected);
    socket.destroy();
  }
  assert.equal((await http1(only.port, "/")).status, 200);
  const old = connectTls({ host: "127.0.0.1", port: both.port, ca, minVersion: "TLSv1", maxVersion: "TLSv1.1" });
  await assert.rejects(once(old, "secureConnect"));
});

test("a client cannot renegotiate TLS 1.2", async () => {
  const listener = await serve(() => text("x"));
  const renewed = await authority.issue({ commonName: "localhost", usage: "server" });
  for (const change of [() => {}, () => listener.updateTls({ key: renewed.key, cert: renewed.certificate })]) {
    change();
    for (const protocol of ["http/1.1", "h2"]) {
      const options = { host: "127.0.0.1", port: listener.port, ca, ALPNProtocols: [protocol] };
      const socket = connectTls({ ...options, maxVersion: "TLSv1.2" });
      await once(socket, "secureConnect");
      let done = false;
      socket.renegotiate({}, () => (done = true));
      await assert.rejects(once(socket, "end"), { code: "ERR_SSL_NO_RENEGOTIATION" });
      assert.equal(done, false);
      socket.destroy();
    }
  }
  assert.equal((await http1(listener.port, "/")).status, 200);
});

/** Makes a handler whose streams are accessible. */
function openStreams(): { readonly sinks: StreamSink[]; readonly events: string[]; handle: () => Reply } {
  const sinks: StreamSink[] = [];
  const events: string[] = [];
  return {
    sinks,
    events,
    handle: () => ({
      code: 200,
      contentType: "application/json",
      stream: {
        open(sink) {
          sinks.push(sink);
          sink.onClose = () => events.push("close");
          sink.onDrain = () => events.push("drain");
        },
      },
      done: () => events.push("done"),
    }),
  };
}

test("a stream is chunked on HTTP/1.1, ends in good order, and the connection goes on", async () => {
  const { sinks, events, handle } = openStreams();
  const { port } = await serve((request) => (request.path === "/next" ? text("next") : handle()));
  const socket = await socketTo(port);
  let received = "";
  socket.on("data", (piece: Buffer) => {
    received += piece.toString("latin1");
  });
  socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await until(() => sinks.length === 1 && received.includes("\r\n\r\n"));
  const batch = Buffer.from("0123456789abcdefg");
  sinks[0]!.write(batch);
  sinks[0]!.write(Buffer.alloc(0));
  sinks[0]!.write(batch);
  sinks[0]!.end();
  sinks[0]!.write(batch);
  sinks[0]!.end();
  await until(() => received.endsWith("0\r\n\r\n"));
  const [head, ...chunks] = received.split("\r\n\r\n");
  assert.match(head!, /Transfer-Encoding: chunked/);
  const body = chunks.join("\r\n\r\n").replace(/[0-9a-f]+\r\n([^\r]*)(?:\r\n|$)/g, "$1");
  assert.equal(body, `${batch.toString()}${batch.toString()}`);
  assert.deepEqual(events, ["done"]);
  received = "";
  socket.write("GET /next HTTP/1.1\r\nHost: a\r\n\r\n");
  await until(() => received.endsWith("\r\n\r\nnext"));
  socket.destroy();
});

test("HTTP/1.0 gets a stream without chunks, to the end of the connection", async () => {
  const { port } = await serve(() => ({
    code: 200,
    stream: {
      open(sink) {
        sink.write(Buffer.from("one "));
        sink.write(Buffer.from("two"));
        sink.end();
      },
    },
  }));
  assert.match(await raw(port, "GET / HTTP/1.0\r\n\r\n"), /\r\n\r\none two$/);
});

test("one batch for many streams arrives at each, over both protocols", async () => {
  const { sinks, handle } = openStreams();
  const { port } = await serve(handle);
  const count = 20;
  const client = await session(port);
  const answers = [
    ...Array.from({ length: count }, () => http1(port, "/")),
    ...Array.from({ length: count }, () => on(client, "/")),
  ];
  await until(() => sinks.length === 2 * count);
  const batches = Array.from({ length: 5 }, (_, i) => Buffer.from(`batch ${i}\n`.repeat(i + 1)));
  for (const batch of batches) for (const sink of sinks) sink.write(batch);
  for (const sink of sinks) sink.end();
  for (const answer of await Promise.all(answers)) assert.ok(answer.body.equals(Buffer.concat(batches)));
  client.destroy();
});

test("a stream hears that its client went away, and its signal is aborted", async () => {
  for (const kind of ["http/1.1", "h2", "reset"] as const) {
    const { sinks, events, handle } = openStreams();
    let signal: AbortSignal | undefined;
    const listener = await serve((request) => {
      signal = request.signal;
      return handle();
    });
    if (kind === "http/1.1") {
      const socket = await socketTo(listener.port);
      socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      await until(() => sinks.length === 1);
      socket.destroy();
    } else {
      const client = await session(listener.port);
      const stream = client.request({ ":path": "/" });
      stream.on("error", () => {});
      await until(() => sinks.length === 1);
      if (kind === "reset") stream.close(constants.NGHTTP2_CANCEL);
      else client.destroy();
      if (kind === "reset") {
        await until(() => events.length > 0);
        client.destroy();
      }
    }
    await until(() => events.length === 2);
    assert.deepEqual(events, ["close", "done"], kind);
    assert.equal(signal?.aborted, true);
    assert.equal(sinks[0]!.write(Buffer.from("late")), false);
    sinks[0]!.end();
    assert.equal(listener.requests, 0);
  }
});

test("a client that leaves before the answer aborts the handler's work, and the answer is dropped", async () => {
  let aborted = 0;
  let opened = 0;
  const listener = await serve(async (request) => {
    await once(request.signal, "abort");
    aborted++;
    return { code: 200, stream: { open: (sink) => (sink.onClose = () => opened++) } };
  });
  const socket = await socketTo(listener.port);
  socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await until(() => listener.requests === 1);
  socket.destroy();
  await until(() => aborted === 1 && opened === 1);
  assert.equal(listener.requests, 0);
});

test("a slow reader blocks its stream only, which resumes when it reads [EVENT-03]", async () => {
  for (const kind of ["http/1.1", "h2"] as const) {
    const { sinks, events, handle } = openStreams();
    const { port } = await serve((request) => (request.path === "/other" ? text("other") : handle()));
    let resume: () => void;
    let received = 0;
    let close: () => void;
    if (kind === "http/1.1") {
      const socket = await socketTo(port);
      socket.pause();
      socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      resume = () => socket.on("data", (piece: Buffer) => (received += piece.length)).resume();
      close = () => socket.destroy();
    } else {
      const client = await session(port);
      const stream = client.request({ ":path": "/" });
      stream.on("error", () => {});
      stream.pause();
      resume = () => stream.on("data", (piece: Buffer) => (received += piece.length)).resume();
      close = () => client.destroy();
    }
    await until(() => sinks.length === 1);
    const [sink] = sinks as [StreamSink];
    const batch = Buffer.alloc(10_000, "x");
    let sent = 0;
    for (let i = 0; i < 10_000 && !sink.blocked; i++) {
      sink.write(batch);
      sent += batch.length;
      if (i % 100 === 99) await sleep(1);
    }
    assert.ok(sink.blocked);
    assert.ok(sent < 30_000_000, `${sent} bytes were taken from a stream nobody reads`);
    assert.equal((await http1(port, "/other")).body.toString(), "other");
    resume();
    await until(() => events.includes("drain"));
    assert.equal(sink.blocked, false);
    sink.end();
    await until(() => received >= sent);
    close();
  }
});

test("a reader that takes nothing of a long body is cut off, the bytes are not kept for it", async () => {
  let given = 0;
  const piece = Buffer.alloc(64 * 1024);
  const listener = await serve(
    () => ({
      code: 200,
      pieces: {
        length: piece.length * 10_000,
        *[Symbol.iterator]() {
          for (let i = 0; i < 10_000; i++) {
            given += piece.length;
            yield piece;
          }
        },
      },
    }),
    { limits: { stallMs: 300 } },
  );
  const socket = await socketTo(listener.port);
  socket.pause();
  socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await until(() => given > 0);
  await until(() => listener.requests === 0);
  assert.ok(given < 30_000_000, `${given} bytes were made for a reader that takes none`);
  socket.destroy();
});

test("a long body does not keep other requests waiting", async () => {
  const piece = Buffer.alloc(64 * 1024, "x");
  const { port } = await serve((request) =>
    request.path === "/short" ? text("x") : { code: 200, bytes: Array.from({ length: 800 }, () => piece) },
  );
  const agent = new Agent({ keepAlive: true, ca });
  await http1(port, "/short", { agent });
  const long = http1(port, "/long");
  let done = false;
  void long.then(() => {
    done = true;
  });
  let served = 0;
  while (!done) {
    await http1(port, "/short", { agent });
    served++;
  }
  assert.equal((await long).body.length, 800 * piece.length);
  assert.ok(served >= 5, `only ${served} short requests were served beside a long one`);
  agent.destroy();
});

test("nothing is kept of an HTTP/2 connection that has ended", async () => {
  const listener = await serve(() => ({ ...text("x"), closeConnection: true }));
  const connections = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      const client = await session(listener.port);
      assert.equal((await on(client, "/")).status, 200);
      client.destroy();
    }
    await until(() => listener.connections === 0);
  };
  await connections(50);
  const before = heapInUse();
  await connections(150);
  const grown = heapInUse() - before;
  // It was 6 KB of each, until the time after which idle ones are closed was over.
  assert.ok(grown < 150 * 2 * 1024, `${Math.round(grown / 1024)} KiB`);
});

/** Returns the memory in use after a full garbage collection, in bytes. */
function heapInUse(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void; // what the flag adds
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

test("two thousand idle streams cost little memory", async () => {
  const { sinks, handle } = openStreams();
  const listener = await serve(handle);
  const sessions = await Promise.all(Array.from({ length: 20 }, () => session(listener.port)));
  global.gc?.();
  const before = process.memoryUsage().rss;
  for (const client of sessions) {
    for (let i = 0; i < 100; i++) client.request({ ":path": "/" }).on("error", () => {});
  }
  await until(() => sinks.length === 2_000);
  // Both ends of a stream are in this process.
  const perStream = (process.memoryUsage().rss - before) / 2_000;
  assert.ok(perStream < 60_000, `${Math.round(perStream)} bytes a stream`);
  const batch = Buffer.from("x");
  for (const sink of sinks) assert.equal(sink.write(batch), true);
  for (const client of sessions) client.destroy();
  await until(() => listener.requests === 0);
});

test("more streams than allowed on one connection wait, they are not lost", async () => {
  const { sinks, handle } = openStreams();
  const { port } = await serve(handle, { limits: { concurrentStreams: 10 } });
  const client = await session(port);
  const answers = Array.from({ length: 25 }, () => on(client, "/"));
  for (let ended = 0; ended < 25; ) {
    await until(() => sinks.length > ended);
    // The server has processed everything that the client has sent before.
    await new Promise<void>((resolve) => void client.ping(() => resolve()));
    assert.ok(sinks.length - ended <= 10);
    while (ended < sinks.length) sinks[ended++]!.end();
  }
  for (const answer of await Promise.all(answers)) assert.equal(answer.status, 200);
  client.destroy();
});

test("a handler that fails, or replies what cannot be written, costs one request and one line", async () => {
  const listener = await serve((request) => {
    if (request.path === "/bad") return { code: 200, headers: { etag: "a\nb" } };
    throw new Error("broken");
  });
  assert.equal((await http1(listener.port, "/")).status, 500);
  assert.equal((await http2(listener.port, "/")).status, 500);
  await assert.rejects(http1(listener.port, "/bad"));
  assert.deepEqual(listener.logged, [
    "a request had no reply",
    "a request had no reply",
    "a reply could not be written",
  ]);
  assert.equal(listener.requests, 0);
});

test("stopping: streams end, requests under way are answered, idle connections close, new ones are refused", async () => {
  const { sinks, events, handle } = openStreams();
  let release: (() => void) | undefined;
  const listener = await serve(async (request) => {
    if (request.path === "/stream") return handle();
    if (request.path === "/idle") return text("idle");
    await new Promise<void>((resolve) => {
      release = resolve;
    });
    return text("answered");
  });
  const { port } = listener;
  const agent = new Agent({ keepAlive: true, ca });
  await http1(port, "/idle", { agent });
  const client = await session(port);
  const streams = [http1(port, "/stream"), on(client, "/stream")];
  const slow = http1(port, "/slow");
  await until(() => sinks.length === 2 && release !== undefined);
  for (const sink of sinks) sink.write(Buffer.from("last words"));

  const drained = listener.drain(Date.now() + 10_000);
  for (const answer of await Promise.all(streams)) assert.equal(answer.body.toString(), "last words");
  assert.equal(events.filter((event) => event === "close").length, 2);
  await assert.rejects(http1(port, "/"));
  release!();
  const answer = await slow;
  assert.equal(`${answer.body.toString()} ${answer.headers["connection"]}`, "answered close");
  assert.equal(await drained, true);
  assert.equal(listener.connections, 0);
  await listener.close();
  agent.destroy();
});

test("stopping: a stream that begins while a session goes on ends at once", async () => {
  const { sinks, events, handle } = openStreams();
  const listener = await serve((request) => {
    const { code, stream } = handle();
    return { code, stream: { ...stream!, isSession: request.path === "/session" } };
  });
  const session = await socketTo(listener.port);
  session.write("GET /session HTTP/1.1\r\nHost: a\r\n\r\n");
  await until(() => sinks.length === 1);
  const watcher = await socketTo(listener.port);
  let received = "";
  watcher.on("data", (piece: Buffer) => (received += piece.toString("latin1")));
  const ends = (): number => received.split("0\r\n\r\n").length - 1;
  watcher.write("GET /watch HTTP/1.1\r\nHost: a\r\n\r\n");
  await until(() => sinks.length === 2);
  const drained = listener.drain(Number.POSITIVE_INFINITY);
  await until(() => ends() === 1);
  watcher.write("GET /watch HTTP/1.1\r\nHost: a\r\n\r\n");
  await until(() => ends() === 2);
  assert.equal(events.filter((event) => event === "close").length, 2);
  sinks[0]!.end();
  assert.equal(await drained, true);
  await listener.close();
});

test("stopping does not wait beyond its deadline, and close cuts what is left", async () => {
  const listener = await serve(() => new Promise<Reply>(() => {}));
  const answer = http1(listener.port, "/");
  const stalled = await socketTo(listener.port);
  await until(() => listener.requests === 1);
  assert.equal(await listener.drain(Date.now() + 50), false);
  await Promise.all([assert.rejects(answer), listener.close()]);
  assert.equal(listener.connections, 0);
  stalled.destroy();
});

test("a port in use is an error of its own", async () => {
  const { port } = await serve(() => text("x"));
  await assert.rejects(
    serve(() => text("x"), { port }),
    { code: "EADDRINUSE" },
  );
});

test("listeners that share their port are both on it, others are refused", async () => {
  const first = await serve(() => text("a"), { sharesPort: true });
  const { port } = first;
  const second = await serve(() => text("b"), { port, sharesPort: true });
  assert.equal(second.port, port);
  await assert.rejects(
    serve(() => text("c"), { port }),
    { code: "EADDRINUSE" },
  );
  await first.close();
  assert.equal((await http1(port, "/")).body.toString(), "b");
});
