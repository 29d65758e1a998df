/** Connections to an owner of a log that refuses them, or answers with what cannot be read. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";

import { FakeClock } from "#std/fake-clock.ts";
import { OutcomeUnknown, Unavailable } from "../log-store.ts";
import { frameOf, readAll } from "./fields.ts";
import { FrameSplitter } from "./frame-bytes.ts";
import { fromOwner, protocolName, toOwner } from "./messages.ts";
import { OwnerConnection } from "./owner-connection.ts";
import { OwnerFeed } from "./owner-feed.ts";
import { writeOf } from "./served-for-tests.ts";

/** Connects to an owner that answers all questions and writes with the same bytes. */
async function connect(t: TestContext, body: Buffer): Promise<OwnerConnection> {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-connection-"));
  const path = join(folder, "log.sock");
  const server = createServer((socket) => {
    const splitter = new FrameSplitter();
    socket.on("error", () => undefined);
    socket.on("data", (piece: Buffer) =>
      splitter.add(piece, (fields) => {
        const message = readAll(toOwner, fields);
        const answer =
          message.kind === "hello"
            ? ({ kind: "welcome", protocol: protocolName } as const)
            : ({ kind: "answer", id: message.id, body } as const);
        socket.write(frameOf(fromOwner, answer));
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  t.after(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });
  return OwnerConnection.open({ path, clock: new FakeClock(), noticed: () => undefined, reached: () => undefined });
}

test("a question whose answer cannot be read is refused, and the connection ends", async (t) => {
  const connection = await connect(t, Buffer.from("zz"));
  const [asked, waiting] = await Promise.allSettled([
    connection.ask({ kind: "present" }, 1000),
    connection.ask({ kind: "probe" }, 1000),
  ]);
  assert.ok(asked.status === "rejected" && asked.reason instanceof Unavailable);
  assert.match(asked.reason.message, /gives an answer that cannot be read/);
  assert.ok(waiting.status === "rejected" && waiting.reason instanceof Unavailable);
  assert.match((await connection.closed) ?? "", /a frame ends within a field/);
});

test("nobody knows what became of a write that is answered like a question", async (t) => {
  const connection = await connect(t, Buffer.alloc(0));
  await assert.rejects(connection.commit(writeOf("k", 0, "x")), OutcomeUnknown);
  assert.match((await connection.closed) ?? "", /a write is answered like a question/);
});

test("an owner that ends connections at once is asked less and less often", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-connection-"));
  const clock = new FakeClock(0);
  const times: number[] = [];
  const server = createServer((socket) => {
    times.push(clock.monotonic());
    socket.destroy();
  });
  const path = join(folder, "log.sock");
  await new Promise<void>((resolve) => server.listen(path, resolve));
  t.after(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });
  const feed = new OwnerFeed({ path, clock, warn: () => undefined, goneBack: () => undefined });
  const prepared = assert.rejects(feed.prepare(), /cannot be reached/);
  while (clock.monotonic() < 70_000) {
    clock.advance(25);
    await setImmediate();
  }
  await prepared;
  const pauses = times.slice(1).map((time, at) => time - times[at]!);
  assert.ok(pauses.length > 5);
  assert.ok(pauses.slice(0, 4).every((ms, at) => ms >= 100 * 2 ** at));
  assert.ok(pauses.slice(5).every((ms) => ms >= 2000));
});
