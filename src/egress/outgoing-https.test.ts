/** Outgoing calls: bounded in time and size, without redirects, over kept connections. */
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { after, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { systemClock } from "#std/clock.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { openOutgoing, type OutgoingCall } from "./outgoing-https.ts";
import { httpTunnel } from "./proxy-tunnel.ts";

const paths: string[] = [];
const ports = new Set<number | undefined>();
let hanging = 0;

const answers: Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => void>> = {
  "/hello": (_request, response) => response.end("hello"),
  "/elsewhere": (_request, response) => response.writeHead(302, { location: "/hello" }).end(),
  "/large": (_request, response) => response.end(Buffer.alloc(5000)),
  "/silent": (_request, response) => {
    hanging += 1;
    response.once("close", () => (hanging -= 1));
  },
  "/drop": (_request, response) => {
    response.write("half");
    setImmediate(() => response.destroy());
  },
  // Sends the first line, and then a byte from time to time, without an end.
  "/slow": (_request, response) => {
    response.write("x");
    const timer = setInterval(() => response.write("x"), 20);
    response.once("close", () => clearInterval(timer));
  },
  "/echo": (request, response) => void request.pipe(response),
  "/goodbye": (request, response) => {
    response.end("bye");
    // The connection ends without an answer, as an idle one that is closed.
    setImmediate(() => request.socket.destroy());
  },
};

const server: Server = createServer((request, response) => {
  paths.push(request.url ?? "");
  ports.add(request.socket.remotePort);
  (answers[request.url ?? ""] ?? ((_, missing) => missing.writeHead(404).end()))(request, response);
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server's address
const outgoing = openOutgoing({ clock: systemClock });
after(() => {
  outgoing.close();
  server.closeAllConnections();
  server.close();
});

const call = (path: string, over: Partial<OutgoingCall> = {}) =>
  outgoing.callOut({ url: base + path, timeoutMs: 5000, maxBytes: 1000, ...over });

test("connections that a silent proxy does not make are given up, so that later calls find a place", async () => {
  const open = new Set<Socket>();
  let seen = 0;
  const proxy = createTcpServer((socket) => {
    seen++;
    open.add(
      socket
        .resume()
        .on("error", () => undefined)
        .once("close", () => open.delete(socket)),
    );
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const clock = new FakeClock();
  const address = { host: "127.0.0.1", port: (proxy.address() as AddressInfo).port }; // a TCP server's address
  const calls = openOutgoing({ clock, connectionsMax: 2, tunnel: httpTunnel({ address }) });
  const until = async (isDone: () => boolean): Promise<void> => {
    for (let turns = 0; turns < 100_000 && !isDone(); turns++) await turn();
    assert.ok(isDone());
  };
  try {
    for (const round of [1, 2]) {
      const asked = [1, 2].map(() => calls.callOut({ url: base, timeoutMs: 1000, maxBytes: 10 }));
      const refused = Promise.allSettled(asked);
      await until(() => seen === 2 * round);
      clock.advance(1000);
      for (const result of await refused) assert.equal(result.status, "rejected");
      clock.advance(30_000);
      await until(() => open.size === 0);
    }
  } finally {
    calls.close();
    proxy.close();
  }
});

test("an answer comes whole, whatever its code", async () => {
  const { code, body } = await call("/hello");
  assert.deepEqual([code, body.toString()], [200, "hello"]);
  assert.equal((await call("/nothing")).code, 404);
  const echoed = await call("/echo", { method: "POST", body: Buffer.from("said") });
  assert.equal(echoed.body.toString(), "said");
});

test("a redirect is an answer and is not followed", async () => {
  paths.length = 0;
  const { code, headers } = await call("/elsewhere");
  assert.deepEqual([code, headers["location"]], [302, "/hello"]);
  assert.deepEqual(paths, ["/elsewhere"]);
});

test("calls one after the other share a connection", async () => {
  ports.clear();
  for (let i = 0; i < 5; i++) await call("/hello");
  assert.equal(ports.size, 1);
});

test("a silent or slow server is waited for until the timeout only", async () => {
  for (const path of ["/silent", "/slow"]) {
    await assert.rejects(call(path, { timeoutMs: 100 }), { code: "TIMEOUT", message: /within 100ms$/ });
  }
  while (hanging > 0) await turn();
});

test("the time that remained until a deadline is given in whole milliseconds", async () => {
  await assert.rejects(call("/silent", { timeoutMs: 49.967 }), { code: "TIMEOUT", message: /within 50ms$/ });
  while (hanging > 0) await turn();
});

test("an answer longer than wanted is not read to its end", async () => {
  await assert.rejects(call("/large"), { code: "TOO_LARGE" });
  assert.equal((await call("/large", { maxBytes: 5000 })).body.length, 5000);
});

test("an answer that breaks off is an error, and so is a call that was given up", async () => {
  await assert.rejects(call("/drop"));
  await assert.rejects(call("/hello", { signal: AbortSignal.abort() }), { code: "ABORTED" });
  const gone = new AbortController();
  const answer = call("/silent", { signal: gone.signal });
  gone.abort();
  await assert.rejects(answer, { code: "ABORTED" });
});

test("a kept connection that the other side gave up is replaced by a new one", async () => {
  for (let i = 0; i < 5; i++) assert.equal((await call("/goodbye")).body.toString(), "bye");
});

test("a refused connection is the system's error, another protocol is a bad answer", async () => {
  await assert.rejects(outgoing.callOut({ url: "http://127.0.0.1:1/", timeoutMs: 5000, maxBytes: 10 }), {
    code: "ECONNREFUSED",
  });
  await assert.rejects(outgoing.callOut({ url: "file:///etc/hosts", timeoutMs: 5000, maxBytes: 10 }), TypeError);
});
