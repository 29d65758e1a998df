/** Replies on a fake connection: how they are framed, and what becomes of the connection. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { FakeClock } from "#std/fake-clock.ts";
import { Http1Connection } from "./connection.ts";
import { Outbox } from "./outbox.ts";
import { type FakeSocket, fakeSocket } from "./fake-socket.ts";
import { Http1Wire } from "./wire.ts";

const limits = { headerBytes: 10_000, headerCount: 100, headerMs: 1_000, requestMs: 1_000, idleMs: 1_000 };

/** Sends `text` to a connection whose requests are answered by `answer`. */
async function exchange(
  text: string,
  answer: (wire: Http1Wire) => void,
  bodyPending = false,
): Promise<FakeSocket & { readonly handled: number }> {
  const client = fakeSocket();
  const clock = new FakeClock();
  let handled = 0;
  const handler = {
    request(connection: Http1Connection, head: ConstructorParameters<typeof Http1Wire>[1]) {
      handled++;
      answer(new Http1Wire(connection, head, { bodyPending }, clock));
    },
    refused() {},
  };
  new Http1Connection(client.socket, handler, limits, clock, new Outbox());
  client.send(text);
  await turn();
  await turn();
  return Object.defineProperty(client as FakeSocket & { readonly handled: number }, "handled", { value: handled });
}

const head = (version: string, ...lines: string[]): string =>
  `${["GET / HTTP/1." + version, "Host: a", ...lines].join("\r\n")}\r\n\r\n`;
const date = "Date: Thu, 01 Jan 2026 00:00:00 GMT";

test("a whole reply is a head and as many bytes as it says", async () => {
  const whole = async (...reply: Parameters<Http1Wire["whole"]>): Promise<string> =>
    (await exchange(head("1"), (wire) => wire.whole(...reply))).sent;
  const type = ["Content-Type", "text/plain"];
  assert.equal(
    await whole(200, type, Buffer.from("abc"), 3),
    `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n${date}\r\n\r\nabc`,
  );
  assert.equal(await whole(204, [], undefined, -1), `HTTP/1.1 204 No Content\r\n${date}\r\n\r\n`);
  assert.equal(await whole(200, [], undefined, 3), `HTTP/1.1 200 OK\r\nContent-Length: 3\r\n${date}\r\n\r\n`);
  const long = Buffer.alloc(100_000, "x");
  assert.ok((await whole(200, [], long, long.length)).endsWith(`\r\n\r\n${long.toString()}`));
  await exchange(head("1"), (wire) => {
    for (const value of ["b\r\nC: d", "b\n", "\0", "\u0100"]) {
      assert.throws(() => wire.whole(200, ["A", value], undefined, 0), TypeError);
    }
  });
});

test("a reply in pieces comes in chunks, and on HTTP/1.0 up to the end of the connection", async () => {
  const inPieces = (wire: Http1Wire): void => {
    wire.head(200, [], -1);
    const sink = wire.sink();
    sink.write(Buffer.from("abc"));
    sink.write(Buffer.alloc(0));
    sink.write(Buffer.from("d".repeat(16)));
    sink.end();
    sink.write(Buffer.from("late"));
  };
  const chunks = await exchange(head("1"), inPieces);
  assert.equal(
    chunks.sent,
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n${date}\r\n\r\n3\r\nabc\r\n10\r\n${"d".repeat(16)}\r\n0\r\n\r\n`,
  );
  assert.equal(chunks.socket.destroyed, false);
  const old = await exchange(head("0", "Connection: keep-alive"), inPieces);
  assert.equal(old.sent, `HTTP/1.1 200 OK\r\n${date}\r\nConnection: close\r\n\r\nabc${"d".repeat(16)}`);
  assert.equal(old.socket.destroyed, true);
});

test("the connection is kept, or closed after the reply that says so", async () => {
  for (const [version, lines, headers, expected] of [
    ["1", [], [], ""],
    ["1", ["Connection: close"], [], "close"],
    ["1", [], ["Connection", "close"], "close"],
    ["0", [], [], "close"],
    ["0", ["Connection: keep-alive"], [], "keep-alive"],
    ["0", ["Connection: keep-alive"], ["Connection", "close"], "close"],
  ] as const) {
    const text = head(version, ...lines);
    const client = await exchange(text + text, (wire) => wire.whole(200, headers, Buffer.from("x"), 1));
    const closes = expected === "close";
    assert.equal(/\r\nConnection: (.*)\r\n/.exec(client.sent)?.[1] ?? "", expected, text);
    assert.deepEqual([client.handled, client.socket.destroyed], closes ? [1, true] : [2, false], text);
  }
});

test("before a connection closes, the rest of a body is awaited: who resets it takes the reply away", async () => {
  const reply = (wire: Http1Wire): void => wire.whole(403, [], undefined, 0);
  for (const [lines, kept] of [
    [["Content-Length: 100"], true],
    [["Content-Length: 100", "Connection: close"], false],
    [["Content-Length: 100", "Expect: 100-continue"], false],
    [["Content-Length: 1000000"], false],
    [["Transfer-Encoding: chunked"], false],
  ] as const) {
    const client = await exchange(head("1", ...lines), reply, true);
    assert.equal(client.sent.includes("Connection: close"), !kept, lines.join());
    assert.equal(client.socket.writableEnded, false, lines.join());
    if (lines[0] !== "Content-Length: 100") continue;
    client.send("x".repeat(100));
    await turn();
    assert.equal(client.socket.destroyed, !kept, lines.join());
  }
});

test("a sink tells when there is room again, and leaves nothing on the socket", async () => {
  let drained = 0;
  let closed = 0;
  let end = (): void => {};
  const before = fakeSocket().socket.listenerCount("drain");
  const client = await exchange(head("1"), (wire) => {
    wire.head(200, [], -1);
    const sink = wire.sink();
    sink.onDrain = () => void drained++;
    sink.onClose = () => void closed++;
    wire.channel.on("test", () => {
      assert.equal(sink.write(Buffer.alloc(2_000)), false);
      assert.equal(sink.blocked, true);
    });
    end = () => sink.end();
  });
  client.takes = false;
  client.socket.emit("test");
  assert.equal(drained, 0);
  client.takes = true;
  await turn();
  assert.equal(drained, 1);
  end();
  assert.deepEqual([client.socket.listenerCount("drain"), closed], [before, 0]);
});
