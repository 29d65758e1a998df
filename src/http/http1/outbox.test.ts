/** Replies of several fake connections in one turn: when they leave, and that none overtakes another. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { FakeClock } from "#std/fake-clock.ts";
import { Http1Connection } from "./connection.ts";
import { type FakeSocket, fakeSocket } from "./fake-socket.ts";
import { Outbox } from "./outbox.ts";
import { Http1Wire } from "./wire.ts";

const limits = { headerBytes: 10_000, headerCount: 100, headerMs: 1_000, requestMs: 1_000, idleMs: 1_000 };
const get = (path: string, ...lines: string[]): string =>
  `${[`GET ${path} HTTP/1.1`, "Host: a", ...lines].join("\r\n")}\r\n\r\n`;
/** The bodies of what was sent, without heads and chunk sizes. */
const bodies = ({ sent }: FakeSocket): string[] => sent.match(/\[[^\]]*\]/g)?.map((body) => body.slice(0, 9)) ?? [];

/** Connections with one outbox. Each path is answered with itself, as its first letter says how. */
function connections(count: number): FakeSocket[] {
  const clock = new FakeClock();
  const outbox = new Outbox();
  const handler = {
    request(connection: Http1Connection, head: ConstructorParameters<typeof Http1Wire>[1]) {
      const wire = new Http1Wire(connection, head, { bodyPending: false }, clock);
      const path = head.target.slice(1);
      const body = Buffer.from(`[${path}${path.startsWith("long") ? "x".repeat(20_000) : ""}]`);
      if (path.startsWith("late")) queueMicrotask(() => wire.whole(200, [], body, body.length));
      else if (path.startsWith("none")) wire.whole(200, ["X", `[${path}]`], undefined, 0);
      else if (path.startsWith("piece")) {
        wire.head(200, [], -1);
        wire.write(body);
        wire.end();
      } else wire.whole(200, [], body, body.length);
    },
    refused() {},
  };
  return Array.from({ length: count }, () => {
    const client = fakeSocket(1_000_000);
    new Http1Connection(client.socket, handler, limits, clock, outbox);
    return client;
  });
}

test("small replies of one turn leave at its end", async () => {
  const [first, second] = connections(2);
  await turn();
  first!.socket.emit("data", Buffer.from(get("/a")));
  second!.socket.emit("data", Buffer.from(get("/b")));
  assert.deepEqual([bodies(first!), bodies(second!)], [[], []]);
  await turn();
  assert.deepEqual([bodies(first!), bodies(second!)], [["[a]"], ["[b]"]]);
});

test("many do not wait for the end of a long turn", async () => {
  const clients = connections(70);
  await turn();
  for (const [i, { socket }] of clients.entries()) socket.emit("data", Buffer.from(get(`/${i}`)));
  assert.deepEqual(
    clients.map((client) => bodies(client).length),
    clients.map((_, i) => (i < 64 ? 1 : 0)),
  );
  await turn();
  for (const client of clients) assert.equal(bodies(client).length, 1);
});

test("whatever follows on a connection, replies keep their order", async () => {
  const paths = ["/a", "/long-1", "/b", "/none-1", "/c", "/piece-1", "/d", "/late-1", "/e"];
  for (let from = 0; from < paths.length; from++) {
    const asked = [...paths.slice(from), ...paths.slice(0, from)];
    const [client] = connections(1);
    client!.send(asked.map((path) => get(path)).join(""));
    for (let i = 0; i < 5; i++) await turn();
    assert.deepEqual(
      bodies(client!).map((body) => body.replace(/x+|[[\]]/g, "")),
      asked.map((path) => path.slice(1)),
    );
  }
});

test("a refusal, and the end of the connection, come after what was said before", async () => {
  for (const [next, end] of [
    ["nonsense\r\n\r\n", /\[a\]HTTP\/1\.1 400 /],
    [get("/b", "Connection: close"), /\[a\]HTTP\/1\.1 200 .*\[b\]$/s],
  ] as const) {
    const [client] = connections(1);
    client!.send(get("/a") + next);
    for (let i = 0; i < 3; i++) await turn();
    assert.match(client!.sent, end);
    assert.ok(client!.socket.writableEnded);
  }
});

test("a client that ends its side with the request gets what was answered at once", async () => {
  const [client] = connections(1);
  client!.send(get("/a"));
  client!.end();
  for (let i = 0; i < 3; i++) await turn();
  assert.deepEqual(bodies(client!), ["[a]"]);
});

test("a connection that is gone by then is passed over", async () => {
  const [gone, there] = connections(2);
  await turn();
  gone!.socket.emit("data", Buffer.from(get("/a")));
  there!.socket.emit("data", Buffer.from(get("/b")));
  gone!.socket.destroy();
  await turn();
  assert.deepEqual([bodies(gone!), bodies(there!)], [[], ["[b]"]]);
});
