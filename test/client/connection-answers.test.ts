/** Connections of the client library to servers that answer in unusual ways, or not at all. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:http2";
import type { AddressInfo } from "node:net";
import { createServer } from "node:tls";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { test, type TestContext } from "node:test";
import { ConnectionError } from "#client/connection-error.ts";
import { fakeAuthority } from "#authn/fake-authority.ts";
import type { Connection, ConnectionOptions } from "#client/connection.ts";
import type { Credential } from "#client/connection-settings.ts";
import { seededRandom } from "#std/random.ts";
import { eventually } from "../harness.ts";
import { MovingClock } from "../moving-clock.ts";
import { type FaultyProxy, openFaultyProxy } from "./faulty-proxy.ts";
import { type Arrived, openScripted, type Response } from "./scripted-server.ts";
import { openForTest } from "./settings.ts";

const get = { method: "GET", path: "/version" } as const;
const post = { method: "POST", path: "/api/v1/namespaces", body: Buffer.from("{}") } as const;
/** Without jitter, so that tests know how long is waited. */
const random = { ...seededRandom(1), next: () => 0 };

const end = (response: Response, code: number, headers: Record<string, string> = {}): void => {
  response.writeHead(code, headers).end("{}");
};

for (const http1 of [false, true]) {
  const protocol = http1 ? "HTTP/1.1" : "HTTP/2";

  for (const fault of ["cut", "halfClose"] as const) {
    test(`${protocol}: a read is sent again after a ${fault}, and a write of unknown outcome is not`, async (t) => {
      let way: FaultyProxy | undefined;
      let faults = 0;
      const scripted = await openScripted(t, {
        http1,
        answer(_arrived, response) {
          if (faults-- > 0) way?.[fault]();
          else end(response, 200);
        },
      });
      way = await openFaultyProxy(t, scripted.port);
      const server = new URL(`https://127.0.0.1:${way.port}`);
      const connection = openForTest(t, { ...scripted.settings, server });
      for (const isFirst of [true, false]) {
        scripted.arrived.length = 0;
        faults = 1;
        assert.equal((await connection.request(get)).code, 200, `first: ${isFirst}`);
        assert.equal(scripted.arrived.length, 2);
        faults = 1;
        await assert.rejects(connection.request(post), (error) => {
          assert.ok(error instanceof ConnectionError && error.sent && error.temporary);
          assert.match(
            error.message,
            /^the connection to \S+ was lost before an answer \(.*\); it is not known whether/,
          );
          return true;
        });
        assert.equal(scripted.arrived.length, 3);
      }
    });
  }

  test(`${protocol}: a connection that was lost while nobody used it is not noticed by the next request`, async (t) => {
    const scripted = await openScripted(t, { http1, answer: (_arrived, response) => end(response, 200) });
    const way = await openFaultyProxy(t, scripted.port);
    const connection = openForTest(t, { ...scripted.settings, server: new URL(`https://127.0.0.1:${way.port}`) });
    await connection.request(get);
    for (const fault of ["cut", "halfClose"] as const) {
      way[fault]();
      assert.equal((await connection.request(get)).code, 200);
    }
    assert.equal(way.accepted, 3);
  });

  test(`${protocol}: the client certificate is shown; another one means another connection, and the old one ends`, async (t) => {
    const hanging: Response[] = [];
    const scripted = await openScripted(t, {
      http1,
      answer(arrived, response) {
        if (!arrived.path.includes("watch")) return end(response, 200);
        response.writeHead(200);
        response.write('{"type":"BOOKMARK","object":{}}\n');
        hanging.push(response);
      },
    });
    const way = await openFaultyProxy(t, scripted.port);
    const certificateOf = async (commonName: string): Promise<Credential> => {
      const { certificate: cert, key } = await scripted.authority.issue({ commonName });
      return { certificate: { cert, key } };
    };
    let credential = await certificateOf("ann");
    const credentials = { current: () => credential, rejected: () => false };
    const server = new URL(`https://127.0.0.1:${way.port}`);
    const connection = openForTest(t, { ...scripted.settings, server, credentials });
    let watching!: Promise<unknown>;
    await new Promise<void>((resolve) => {
      watching = connection.stream({ method: "GET", path: "/?watch=true" }, () => resolve());
    });
    credential = await certificateOf("bob");
    await connection.request(get);
    assert.deepEqual(
      scripted.arrived.map(({ client }) => client),
      ["ann", "bob"],
    );
    assert.equal(way.open, 2);
    hanging[0]!.end();
    await watching;
    await eventually(async () => assert.equal(way.open, 1));
  });

  test(`${protocol}: an error of the listener ends the watch with this error`, async (t) => {
    const closed: Promise<unknown>[] = [];
    const scripted = await openScripted(t, {
      http1,
      answer(_arrived, response) {
        closed.push(once(response, "close"));
        response.writeHead(200);
        response.write('{"type":"BOOKMARK","object":{}}\n{"type":"BOOKMARK","object":{}}\n');
      },
    });
    const connection = openForTest(t, scripted.settings);
    const problem = new Error("no more");
    let events = 0;
    const watching = connection.stream(get, () => {
      events += 1;
      throw problem;
    });
    await assert.rejects(watching, problem);
    assert.equal(events, 1);
    await closed[0];
  });
}

interface Waits {
  readonly clock: MovingClock;
  readonly arrived: Arrived[];
  readonly connection: ReturnType<typeof openForTest>;
}

/** Opens a connection whose waits of a second end when the test says so. */
async function withWaits(t: TestContext, answer: Parameters<typeof openScripted>[1]["answer"]): Promise<Waits> {
  const clock = new MovingClock(1000);
  const { settings, arrived } = await openScripted(t, { answer });
  return { clock, arrived, connection: openForTest(t, settings, { clock, random }) };
}

test("requests that the server sends away come back after the time that it asks for, ten times", async (t) => {
  for (const code of [429, 503]) {
    for (const request of [get, post]) {
      const { clock, arrived, connection } = await withWaits(t, (_arrived, response) =>
        end(response, code, { "retry-after": "1" }),
      );
      const answer = connection.request(request);
      for (let time = 1; time <= 10; time++) {
        await clock.untilWaiting(1000);
        assert.equal(arrived.length, time);
        clock.advance(1000);
      }
      const { code: given, retryAfterMs } = await answer;
      assert.deepEqual([given, retryAfterMs, arrived.length], [code, 1000, 11]);
    }
  }
});

test("a watch comes back too, and its events arrive once", async (t) => {
  const { clock, arrived, connection } = await withWaits(t, (_arrived, response, number) => {
    if (number === 1) end(response, 429, { "retry-after": "1" });
    else response.writeHead(200).end('{"type":"BOOKMARK","object":{}}\n');
  });
  const types: string[] = [];
  const watching = connection.stream(get, ({ type }) => types.push(type));
  await clock.untilWaiting(1000);
  clock.advance(1000);
  assert.equal((await watching).code, 200);
  assert.deepEqual([types, arrived.length], [["BOOKMARK"], 2]);
});

test("other failures with a time are for reads, those without a time and with a long one are answers", async (t) => {
  const cases = [
    { request: get, code: 504, time: "1", comesBack: true },
    { request: get, code: 500, time: "1", comesBack: true },
    { request: post, code: 504, time: "1", comesBack: false },
    { request: get, code: 409, time: "1", comesBack: false },
    { request: get, code: 503, time: undefined, comesBack: false },
    { request: get, code: 429, time: "61", comesBack: false },
    { request: get, code: 429, time: "Thu, 01 Jan 2026 00:00:00 GMT", comesBack: false },
  ] as const;
  for (const { request, code, time, comesBack } of cases) {
    const { clock, arrived, connection } = await withWaits(t, (_arrived, response, number) => {
      if (number === 1) end(response, code, time === undefined ? {} : { "retry-after": time });
      else end(response, 200);
    });
    const answer = connection.request(request);
    if (comesBack) {
      await clock.untilWaiting(1000);
      clock.advance(1000);
    }
    assert.equal((await answer).code, comesBack ? 200 : code);
    assert.equal(arrived.length, comesBack ? 2 : 1, `${code} ${time}`);
  }
});

test("a wait ends with the signal, and with the connection", async (t) => {
  const { clock, arrived, connection } = await withWaits(t, (_arrived, response) =>
    end(response, 429, { "retry-after": "1" }),
  );
  const stop = new AbortController();
  const waiting = connection.request({ ...get, signal: stop.signal });
  await clock.untilWaiting(1000);
  stop.abort(new Error("enough"));
  await assert.rejects(waiting, /^Error: enough$/);
  const other = assert.rejects(connection.request(get), /is closed$/);
  await clock.untilWaiting(1000);
  await connection.close();
  await other;
  assert.equal(arrived.length, 2);
});

test("what a server has not looked at is sent again, also a write: refused streams", async (t) => {
  let refused = 0;
  const { clock, arrived, connection } = await withWaits(t, (_arrived, response) => {
    if (refused-- > 0) response.stream.close(constants.NGHTTP2_REFUSED_STREAM);
    else end(response, 200);
  });
  for (const count of [0, 1, 3]) {
    arrived.splice(0);
    refused = count;
    assert.equal((await connection.request(post)).code, 200);
    assert.equal(arrived.length, count + 1);
  }
  refused = Infinity;
  await untilHopeless(connection, clock);
});

test("what a server has not looked at is sent again, also a write: GOAWAY", async (t) => {
  const authority = await fakeAuthority("raw");
  const { certificate: cert, key } = await authority.issue({ commonName: "server", usage: "server" });
  let [asked, refused] = [0, 0];
  const server = createServer({ cert, key, ALPNProtocols: ["h2"] }, (socket) => {
    t.after(() => socket.destroy());
    socket.on("error", () => undefined);
    socket.write(frame(frames.settings, 0, 0, []));
    socket.on("data", (piece: Buffer) => {
      // The header of a frame; the client writes each kind at once, and settings are confirmed by nobody here.
      for (let at = piece.includes("PRI * HTTP") ? 24 : 0; at < piece.length; at += 9 + piece.readUIntBE(at, 3)) {
        if (piece[at + 3] !== frames.headers) continue;
        asked += 1;
        const isRefused = refused-- > 0;
        const stream = piece.readUInt32BE(at + 5);
        if (isRefused) socket.end(frame(frames.goAway, 0, 0, [0, 0, 0, 0, 0, 0, 0, 0]));
        else socket.write(frame(frames.headers, frames.endOfAll, stream, [frames.status200]));
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const clock = new MovingClock(1000);
  const settings = {
    server: new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}`), // it listens on a port
    tls: { ca: () => authority.certificate, insecure: false },
    credentials: { current: () => ({}), rejected: () => false },
    compress: false,
    namespace: "",
  };
  const connection = openForTest(t, settings, { clock, random });
  for (const count of [0, 1, 3]) {
    [asked, refused] = [0, count];
    assert.equal((await connection.request(post)).code, 200);
    assert.equal(asked, count + 1);
  }
  refused = Infinity;
  await untilHopeless(connection, clock);
});

/** Numbers of HTTP/2. Source: RFC 9113, sections 6 and 11; RFC 7541, appendix A. */
const frames = { headers: 1, settings: 4, goAway: 7, endOfAll: 5, status200: 0x88 };

function frame(type: number, flags: number, stream: number, payload: number[]): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.from([...head, ...payload]);
}

/** Waits until a write that the server never looks at fails. */
async function untilHopeless(connection: Connection, clock: MovingClock): Promise<void> {
  const hopeless = assert.rejects(connection.request(post), (error) => error instanceof ConnectionError && !error.sent);
  for (let time = 2; time <= 10; time++) {
    await clock.untilWaiting(1000);
    clock.advance(1000);
  }
  await hopeless;
}

test("redirects are not followed, and the error names no query", async (t) => {
  for (const [code, location, named] of [
    [302, "https://login.example/start?secret=1", "https://login.example/start"],
    [307, "/elsewhere?secret=1", "https://127.0.0.1:\\d+/elsewhere"],
    [301, "", ""],
  ] as const) {
    const scripted = await openScripted(t, { answer: (_arrived, response) => end(response, code, { location }) });
    const connection = openForTest(t, scripted.settings);
    for (const request of [get, post]) {
      await assert.rejects(connection.request(request), (error) => {
        assert.ok(error instanceof ConnectionError);
        assert.match(
          error.message,
          new RegExp(`^https://127.0.0.1:\\d+ leads elsewhere \\(${code}.*${named}.*not followed`),
        );
        assert.doesNotMatch(error.message, /secret/);
        return true;
      });
    }
    assert.equal(scripted.arrived.length, 2);
  }
});

test("a write is made only while it may be, before each time", async (t) => {
  const { clock, arrived, connection } = await withWaits(t, (_arrived, response) =>
    end(response, 429, { "retry-after": "1" }),
  );
  let leads = true;
  const writing = connection.request({
    ...post,
    lease: () => (leads ? { namespace: "ns", name: "leader", resourceVersion: "1" } : undefined),
  });
  await clock.untilWaiting(1000);
  leads = false;
  clock.advance(1000);
  await assert.rejects(writing, /^ConnectionError: the write is no longer wanted$/);
  assert.equal(arrived.length, 1);
});

test("the authorities are asked for with each connection, and an unknown one is refused", async (t) => {
  const scripted = await openScripted(t, { answer: (_arrived, response) => end(response, 200) });
  const other = await openScripted(t, { answer: (_arrived, response) => end(response, 200) });
  const way = await openFaultyProxy(t, scripted.port);
  let ca = scripted.authority.certificate;
  const tls = { ca: () => ca, insecure: false };
  const connection = openForTest(t, { ...scripted.settings, tls, server: new URL(`https://127.0.0.1:${way.port}`) });
  await connection.request(get);
  ca = other.authority.certificate;
  await connection.request(get);
  way.cut();
  await eventually(async () => assert.equal(way.open, 0));
  await assert.rejects(connection.request(get), /is signed by an authority that is not trusted/);
  ca += scripted.authority.certificate;
  assert.equal((await connection.request(get)).code, 200);
});

/** Opens a quiet watch over HTTP/1.1, on a clock that the test advances. */
async function quietWatch(t: TestContext, query: string, timing: ConnectionOptions["timing"] = {}) {
  const clock = new MovingClock();
  const scripted = await openScripted(t, {
    http1: true,
    answer(arrived, response) {
      if (arrived.path === "/version") return end(response, 401);
      response.writeHead(200);
      response.write('{"type":"BOOKMARK","object":{}}\n');
    },
  });
  const way = await openFaultyProxy(t, scripted.port);
  const settings = { ...scripted.settings, server: new URL(`https://127.0.0.1:${way.port}`) };
  const connection = openForTest(t, settings, { clock, timing });
  let failure: unknown;
  const begun = new Promise<void>((resolve) => {
    const watching = connection.stream({ method: "GET", path: `/api?watch=true${query}` }, () => resolve());
    watching.catch((error: unknown) => (failure = error));
  });
  await begun;
  return { clock, way, scripted, failure: () => failure };
}

test("over HTTP/1.1 a silent watch lives for as long as the server answers questions, each eight seconds", async (t) => {
  const { clock, scripted, failure } = await quietWatch(t, "");
  for (let questions = 1; questions <= 50; questions++) {
    await clock.untilWaiting(8000);
    clock.advance(8000);
    await eventually(async () => assert.equal(scripted.arrived.length, questions + 1));
  }
  assert.equal(failure(), undefined);
  assert.ok(scripted.arrived.slice(1).every(({ path, method }) => path === "/version" && method === "GET"));
});

test("over HTTP/1.1 a silent watch ends when a question has no answer in five seconds, or none can be asked", async (t) => {
  for (const newConnections of ["swallowed", "refused"] as const) {
    const { clock, way, failure } = await quietWatch(t, "");
    way.swallow();
    way.newConnections = newConnections;
    await clock.untilWaiting(8000);
    clock.advance(8000);
    if (newConnections === "swallowed") {
      await clock.untilWaiting(5000);
      assert.equal(failure(), undefined);
      clock.advance(5000);
    }
    await eventually(async () => assert.match(String(failure()), /^ConnectionError: .*\(no sign of life\)$/));
  }
});

test("over HTTP/1.1 a watch without bookmarks for long ends, though the server answers", async (t) => {
  const { clock, failure } = await quietWatch(t, "&allowWatchBookmarks=true");
  for (let seconds = 0; seconds < 150; seconds += 8) {
    assert.equal(failure(), undefined, `after ${seconds} s`);
    await clock.untilWaiting(8000);
    clock.advance(8000);
  }
  await eventually(async () => assert.match(String(failure()), /not even a bookmark came/));
});

test("the process lives while a request waits for its time, and ends by itself although the connection is open", async (t) => {
  const scripted = await openScripted(t, {
    answer: (_arrived, response, number) => end(response, number === 1 ? 429 : 200, { "retry-after": "1" }),
  });
  const program = `
    import { openConnection } from "#client/connection.ts";
    import { waitingClock } from "#client/clock.ts";
    import { systemRandom } from "#std/random.ts";
    const settings = { server: new URL(process.argv[1]), tls: { insecure: true }, compress: true, namespace: "",
      credentials: { current: () => ({}), rejected: () => false } };
    const connection = openConnection(settings, { clock: waitingClock, random: systemRandom, userAgent: "x" });
    connection.request({ method: "GET", path: "/" }).then(({ code }) => console.log(code));`;
  const args = ["--conditions=source", "--input-type=module", "--eval", program, scripted.settings.server.href];
  const child = spawn(process.execPath, args, {
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill());
  let printed = "";
  child.stdout.on("data", (text) => (printed += String(text)));
  const [code] = (await once(child, "exit")) as [number];
  assert.deepEqual([code, printed, scripted.arrived.length], [0, "200\n", 2]);
});

const kilobyte = 1024;

for (const http1 of [false, true]) {
  const protocol = http1 ? "HTTP/1.1" : "HTTP/2";

  test(`${protocol}: an answer without end ends at the limit, packed or not, and later requests are answered`, async (t) => {
    const { settings, arrived } = await openScripted(t, {
      http1,
      answer({ path }, response) {
        if (path === "/version") return end(response, 200);
        if (path === "/packed") {
          response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(64 * kilobyte)));
          return;
        }
        response.writeHead(path === "/refusal" ? 500 : 200);
        const more = setInterval(() => response.write(Buffer.alloc(4 * kilobyte)), 1);
        response.on("close", () => clearInterval(more));
      },
    });
    const connection = openForTest(t, settings, { random, bodyBytesMax: 16 * kilobyte });
    for (const path of ["/endless", "/refusal", "/packed"]) {
      await assert.rejects(connection.request({ method: "GET", path }), {
        name: "ConnectionError",
        temporary: false,
        message: `${settings.server.origin} sent an answer of more than 16384 bytes: ask for less at a time`,
      });
    }
    await assert.rejects(
      connection.stream({ method: "GET", path: "/refusal" }, () => undefined),
      /more than 16384 bytes/,
    );
    assert.equal((await connection.request(get)).code, 200);
    assert.equal(arrived.length, 5, "none was sent again");
  });
}

test("an answer that is not packed as it says is an error of the connection", async (t) => {
  const { settings } = await openScripted(t, {
    answer(_arrived, response) {
      response.writeHead(200, { "content-encoding": "gzip" }).end("no gzip");
    },
  });
  const connection = openForTest(t, settings, { random });
  await assert.rejects(connection.request(get), {
    name: "ConnectionError",
    message: `${settings.server.origin} sent an answer that is packed as gzip and cannot be unpacked (Z_DATA_ERROR)`,
  });
});

test("closing a connection ends requests that wait for their credential", async (t) => {
  const { settings } = await openScripted(t, { answer: (_arrived, response) => end(response, 200) });
  const waiting: AbortSignal[] = [];
  const current = (signal?: AbortSignal): Promise<Credential> =>
    new Promise((_resolve, reject) => {
      waiting.push(signal!);
      signal!.addEventListener("abort", () => reject(signal!.reason as Error));
    });
  const connection = openForTest(t, { ...settings, credentials: { current, rejected: () => false } }, { random });
  const requests = [connection.request(get), connection.request({ ...get, signal: new AbortController().signal })];
  await eventually(() => Promise.resolve(waiting.length === 2));
  await connection.close();
  for (const request of requests) await assert.rejects(request, /is closed$/);
});

test("a credential with another certificate that comes after the end of the connection does no harm", async (t) => {
  const { settings, authority } = await openScripted(t, { answer: (_arrived, response) => end(response, 200) });
  const { certificate: cert, key } = await authority.issue({ commonName: "jo" });
  const late = Promise.withResolvers<Credential>();
  const credentials = [Promise.resolve({}), late.promise];
  const current = (): Promise<Credential> => credentials.shift()!;
  const connection = openForTest(t, { ...settings, credentials: { current, rejected: () => false } }, { random });
  await connection.request(get);
  const request = connection.request(get);
  await connection.close();
  late.resolve({ certificate: { cert, key } });
  await assert.rejects(request, /is closed$/);
});

test("a listener that aborts its watch gets none of the lines that came at the same time", async (t) => {
  const { settings } = await openScripted(t, {
    answer(_arrived, response) {
      response.writeHead(200).write('{"type":"ADDED","object":{}}\n'.repeat(3));
    },
  });
  const connection = openForTest(t, settings, { random });
  const stop = new AbortController();
  let count = 0;
  await connection.stream({ ...get, signal: stop.signal }, () => {
    count++;
    stop.abort();
  });
  assert.equal(count, 1);
});
