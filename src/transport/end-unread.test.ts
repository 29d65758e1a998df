/** Tests when a connection ends whose client may still be sending, with a socket that only tells what becomes of it. */
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import type { TLSSocket } from "node:tls";
import { FakeClock } from "#std/fake-clock.ts";
import { endUnread, longBytes, longMs, unreadMs } from "./end-unread.ts";
import type { SocketReader } from "./read-turns.ts";

class FakeSocket extends EventEmitter {
  destroyed = false;
  writableFinished = false;
  writableLength = 0;
  end(): void {}
  destroy(): void {
    this.destroyed = true;
  }
}

function begin(bytesWritten: number) {
  const socket = new FakeSocket();
  const clock = new FakeClock();
  const reader = { bytesWritten, close() {} };
  // The fakes have those members of a socket and a reader that are used.
  endUnread(socket as unknown as TLSSocket, reader as unknown as SocketReader, clock, "last");
  return { socket, clock, reader };
}

/** Expects that the connection ends `ms` after the system has taken the answer. */
function endsAfter(ms: number, socket: FakeSocket, clock: FakeClock): void {
  socket.emit("finish");
  clock.advance(ms - 1);
  assert.ok(!socket.destroyed);
  clock.advance(1);
  assert.ok(socket.destroyed);
}

test("the time of a client to read a short answer begins when the system has taken it", () => {
  const { socket, clock } = begin(1000);
  clock.advance(10 * unreadMs);
  assert.ok(!socket.destroyed);
  endsAfter(unreadMs, socket, clock);
});

test("a client has longer for a long answer, and for ever while it takes more of it", () => {
  const { socket, clock, reader } = begin(longBytes + 1);
  for (let count = 0; count < 10; count++) {
    reader.bytesWritten += 1000;
    clock.advance(longMs);
    assert.ok(!socket.destroyed);
  }
  endsAfter(longMs, socket, clock);
});

test("a client that takes nothing of its answer is cut off", () => {
  const { socket, clock } = begin(longBytes + 1);
  clock.advance(longMs);
  assert.ok(socket.destroyed);
});
