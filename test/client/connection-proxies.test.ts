/** Connections of the client library through proxies of HTTP, HTTPS and SOCKS 5. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { test } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import { fakeAuthority } from "#authn/fake-authority.ts";
import { ConnectionError } from "#client/connection-error.ts";
import { openScripted } from "./scripted-server.ts";
import { openForTest } from "./settings.ts";

const get = { method: "GET", path: "/version" } as const;

/** The part of a test's context that closes things. */
interface Cleanup {
  after(end: () => unknown): void;
}

async function listen(t: Cleanup, server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket.on("error", () => undefined)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port; // it listens on a port
}

/** Joins two sockets until one of them ends. */
function join(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on("error", () => undefined).on("close", () => to.destroy());
    from.pipe(to);
  }
}

/** Answers requests to an HTTP proxy, whose heads are recorded. An answer that is not 200 is sent as it is. */
function httpProxy(heads: string[], answer = "HTTP/1.1 200 OK\r\n\r\n") {
  return (socket: Socket): void => {
    socket.on("error", () => undefined);
    socket.once("data", (head) => {
      heads.push(String(head));
      const [, port = ""] = /^CONNECT \S+:(\d+) /.exec(String(head)) ?? [];
      const isOpen = answer.includes("200") && port !== "";
      socket.write(answer);
      if (isOpen) join(socket, connect(Number(port), "127.0.0.1"));
      else socket.end();
    });
  };
}

const modes = [
  { proxy: "http", http1: false },
  { proxy: "http", http1: true },
  { proxy: "https", http1: false },
] as const;

for (const { proxy, http1 } of modes) {
  test(`${http1 ? "HTTP/1.1" : "HTTP/2"} through a proxy of ${proxy}, which sees no request and no certificate`, async (t) => {
    const scripted = await openScripted(t, { http1, answer: (_arrived, response) => response.end("{}") });
    const heads: string[] = [];
    const authority = await fakeAuthority("proxies");
    const { certificate: cert, key } = await authority.issue({ commonName: "proxy", usage: "server" });
    const clients: boolean[] = [];
    const port = await listen(
      t,
      proxy === "http"
        ? createServer(httpProxy(heads))
        : createTlsServer({ cert, key, requestCert: true, rejectUnauthorized: false }, (socket) => {
            clients.push(socket.getPeerX509Certificate() !== undefined);
            httpProxy(heads)(socket);
          }),
    );
    const { certificate, key: clientKey } = await scripted.authority.issue({ commonName: "ann" });
    const connection = openForTest(t, {
      ...scripted.settings,
      proxy: new URL(`${proxy}://us%40er:pass%20word@127.0.0.1:${port}`),
      tls: { ca: () => scripted.authority.certificate + authority.certificate, insecure: false },
      credentials: {
        current: () => ({ token: "secret", certificate: { cert: certificate, key: clientKey } }),
        rejected: () => false,
      },
    });
    for (let time = 0; time < 3; time++) assert.equal((await connection.request(get)).code, 200);
    const basic = Buffer.from("us@er:pass word").toString("base64");
    const target = `127.0.0.1:${scripted.port}`;
    const lines = [
      "CONNECT " + target + " HTTP/1.1",
      `Host: ${target}`,
      "User-Agent: suite/1.0",
      `Proxy-Authorization: Basic ${basic}`,
    ];
    assert.deepEqual([...new Set(heads)], [`${lines.join("\r\n")}\r\n\r\n`]);
    assert.ok(!clients.includes(true));
    assert.deepEqual(
      scripted.arrived.map(({ client, headers }) => [client, headers["proxy-authorization"]]),
      Array(3).fill(["ann", undefined]),
    );
  });
}

interface SocksRules {
  /** The user and the password, if the proxy wants them. */
  readonly user?: string;
  readonly reply?: number;
}

/** Speaks SOCKS 5 and records the addresses that it is asked for, as text. */
function socksProxy(asked: string[], { user, reply = 0 }: SocksRules = {}) {
  return (socket: Socket): void => {
    let state: "greeting" | "password" | "request" = "greeting";
    const take = (piece: Buffer): void => {
      if (state === "greeting") {
        const wanted = user === undefined ? 0 : 2;
        const isOffered = piece.subarray(2, 2 + piece[1]!).includes(wanted);
        socket.write(Buffer.from([5, isOffered ? wanted : 255]));
        state = user === undefined ? "request" : "password";
      } else if (state === "password") {
        const [name, password] = [piece.subarray(2, 2 + piece[1]!), piece.subarray(3 + piece[1]!)];
        socket.write(Buffer.from([1, `${name.toString()}:${password.toString()}` === user ? 0 : 1]));
        state = "request";
      } else {
        socket.off("data", take);
        const port = piece.readUInt16BE(piece.length - 2);
        const address = piece.subarray(4, -2);
        asked.push(`${piece[3]} ${piece[3] === 3 ? address.subarray(1).toString() : address.toString("hex")}`);
        // The answer comes in pieces, as it may.
        socket.write(Buffer.from([5, reply]));
        setImmediate(() => socket.write(Buffer.from([0, 1, 0, 0, 0, 0, 0, 0])));
        if (reply === 0) setImmediate(() => join(socket, connect(port, "127.0.0.1")));
      }
    };
    socket.on("error", () => undefined).on("data", take);
  };
}

test("SOCKS 5, with and without a user, by name and by address, over both protocols", async (t) => {
  for (const http1 of [false, true]) {
    const hosts = ["127.0.0.1", "api.example"];
    const scripted = await openScripted(t, { http1, hosts, answer: (_arrived, response) => response.end("{}") });
    const asked: string[] = [];
    for (const user of [undefined, "us@er:pass word"]) {
      const port = await listen(t, createServer(socksProxy(asked, user === undefined ? {} : { user })));
      const login = user === undefined ? "" : "us%40er:pass%20word@";
      for (const host of ["127.0.0.1", "[::1]", "api.example"]) {
        const server = new URL(`https://${host}:${scripted.port}`);
        const proxy = new URL(`socks5://${login}127.0.0.1:${port}`);
        const tls = { ...scripted.settings.tls, serverName: "api.example" };
        const connection = openForTest(t, { ...scripted.settings, server, proxy, tls });
        assert.equal((await connection.request(get)).code, 200);
      }
    }
    const addresses = ["1 7f000001", "4 00000000000000000000000000000001", "3 api.example"];
    assert.deepEqual(asked, [...addresses, ...addresses]);
    assert.equal(scripted.arrived[0]?.protocol, http1 ? "1.1" : "2.0");
  }
});

test("a plain server behind a proxy of HTTP gets its requests through it, as they are", async (t) => {
  const heads: string[] = [];
  const answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
  const port = await listen(t, createServer(httpProxy(heads, answer)));
  const { settings } = await openScripted(t, { answer: (_arrived, response) => response.end() });
  const server = new URL("http://api.example:8080/prefix/");
  const connection = openForTest(t, { ...settings, server, proxy: new URL(`http://user:word@127.0.0.1:${port}`) });
  assert.equal((await connection.request(get)).body.toString(), "{}");
  assert.match(heads[0]!, /^GET http:\/\/api\.example:8080\/prefix\/version HTTP\/1\.1\r\nhost: api\.example:8080\r\n/);
  assert.match(heads[0]!, /\r\nproxy-authorization: Basic dXNlcjp3b3Jk\r\n/);
});

test("the environment names the proxy when the settings name none", async (t) => {
  const heads: string[] = [];
  const port = await listen(t, createServer(httpProxy(heads, "HTTP/1.1 403 Not here\r\n\r\n")));
  const { settings } = await openScripted(t, { answer: (_arrived, response) => response.end("{}") });
  const environment = { HTTPS_PROXY: `127.0.0.1:${port}`, NO_PROXY: ".other.example" };
  const server = new URL("https://api.example");
  const behind = openForTest(t, { ...settings, server }, { environment });
  await assert.rejects(
    behind.request(get),
    /^ConnectionError: the proxy http:\S+ does not connect to api\.example: 403 Not here$/,
  );
  assert.match(heads[0]!, /^CONNECT api\.example:443 HTTP\/1\.1\r\n/);
  assert.equal((await openForTest(t, settings, { environment }).request(get)).code, 200);
});

test("a proxy that fails is named with its reason, without user and password", async (t) => {
  const { settings } = await openScripted(t, { answer: (_arrived, response) => response.end("{}") });
  const http = (answer: string) => listen(t, createServer(httpProxy([], answer)));
  const socks = (rules: SocksRules) => listen(t, createServer(socksProxy([], rules)));
  const silent = await listen(
    t,
    createServer((socket) => void socket.on("error", () => undefined)),
  );
  const cases: readonly [string, number, RegExp][] = [
    ["http", 1, /^nothing listens at the proxy http:\/\/127\.0\.0\.1:1 \(ECONNREFUSED\): is this its address\?$/],
    [
      "http",
      await http("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"),
      /: 407 Proxy Authentication Required: it wants a user and a password, which its URL may have$/,
    ],
    ["http", await http("SSH-2.0-x\r\n\r\n"), /: it does not speak HTTP$/],
    ["http", await http(""), /: it closed the connection$/],
    ["https", await http("HTTP/1.1 200 OK\r\n\r\n"), /^the proxy https:\/\/127\.0\.0\.1:\d+ does not speak TLS/],
    ["socks5", await socks({ user: "a:b" }), /: it refused the user and the password of its URL$/],
    ["socks5", await socks({ reply: 5 }), /: the connection was refused$/],
    ["socks5", await socks({ reply: 2 }), /: its rules forbid the connection$/],
    ["socks5", await http("HTTP/1.1 400 Bad Request\r\n\r\n"), /: it does not speak SOCKS 5$/],
    ["http", silent, /^the proxy http:\/\/127\.0\.0\.1:\d+ does not connect to 127\.0\.0\.1:\d+: 0\.2 s have passed$/],
    ["socks5", silent, /: 0\.2 s have passed$/],
  ];
  for (const [scheme, port, message] of cases) {
    const proxy = new URL(`${scheme}://me:secret@127.0.0.1:${port}`);
    const timing = { connectMs: port === silent ? 200 : 60_000 };
    const connection = openForTest(t, { ...settings, proxy }, { timing });
    await assert.rejects(connection.request({ method: "POST", path: "/" }), (error) => {
      assert.ok(error instanceof ConnectionError && !error.sent);
      assert.match(error.message, message);
      assert.ok(!error.message.includes("secret") && !error.message.includes("\n"));
      return true;
    });
  }
  for (const [scheme, server] of [
    ["http", settings.server],
    ["socks5", settings.server],
    ["http", new URL("http://api.example")],
  ] as const) {
    const port = scheme === "http" ? await http("") : await socks({});
    const proxy = new URL(`${scheme}://me:100%25%@127.0.0.1:${port}`);
    await assert.rejects(
      async () => openForTest(t, { ...settings, server, proxy }).request(get),
      (error) => {
        assert.ok(error instanceof ConnectionError && !error.sent && !error.temporary);
        assert.match(error.message, /: the user or the password of its URL has a percent sign .*: write %25 for it$/);
        assert.ok(!error.message.includes("100"));
        return true;
      },
    );
  }
  const strict = new URL(`socks5://127.0.0.1:${await socks({ user: "a:b" })}`);
  await assert.rejects(openForTest(t, { ...settings, proxy: strict }).request(get), /it wants a user and a password/);
});
