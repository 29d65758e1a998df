/** Who reads in a turn of the event loop, with sockets that only tell whether they read. */
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import {
  connectionBytesMax,
  freshOfUserMax,
  freshStrangersMax,
  portionOfUserMax,
  portionMin,
  portionMs,
  portionUsual,
  type SocketReader,
  readersMax,
  shortBytes,
  ReadTurns,
  turnBytesMax,
} from "./read-turns.ts";

/** A socket that only tells whether its handle reads. */
class FakeSocket extends EventEmitter {
  reads = true;
  bytesRead = 0;
  readonly _handle = { reading: true, readStart: () => (this.reads = true), readStop: () => (this.reads = false) };
}

interface Opened {
  readonly socket: FakeSocket;
  readonly reader: SocketReader;
}

function open(turns: ReadTurns, user?: string): Opened {
  const socket = new FakeSocket();
  const reader = turns.open(socket as unknown as Socket); // it has what is used of one
  reader.secured();
  if (user !== undefined) assert.ok(reader.identify(user, Number.POSITIVE_INFINITY));
  return { socket, reader };
}

const many = (turns: ReadTurns, count: number, user?: string): readonly Opened[] =>
  Array.from({ length: count }, () => open(turns, user));

const reading = (all: readonly Opened[]): number => all.filter(({ socket }) => socket.reads).length;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("a connection that took its share stops, and goes on in the next turn", async () => {
  const turns = new ReadTurns(new FakeClock());
  const [one, other] = [open(turns), open(turns)];
  one.reader.took(connectionBytesMax - 1);
  assert.ok(one.socket.reads);
  one.reader.took(1);
  assert.ok(!one.socket.reads);
  other.reader.took(100);
  assert.ok(other.socket.reads);
  await turn();
  assert.ok(one.socket.reads);
});

test("when all together took the share of a turn, whoever reads next waits", async () => {
  const turns = new ReadTurns(new FakeClock());
  const all = many(turns, 16);
  const piece = Math.ceil(turnBytesMax / 15);
  for (const { reader } of all) reader.took(piece);
  assert.equal(reading(all), 14);
  await turn();
  assert.equal(reading(all), 16);
});

test("of many that always have more, a few read in a turn, and each has its turn", async () => {
  const turns = new ReadTurns(new FakeClock());
  const all = many(turns, 100, "user");
  for (const { reader } of all) reader.took(connectionBytesMax);
  assert.equal(reading(all), 0);
  const taken = new Map<Opened, number>();
  for (let count = 0; count < 100; count++) {
    await turn();
    const now = all.filter(({ socket }) => socket.reads);
    assert.ok(now.length <= readersMax, `${now.length} read at once`);
    for (const one of now) {
      taken.set(one, (taken.get(one) ?? 0) + 1);
      one.reader.took(connectionBytesMax);
    }
  }
  const counts = all.map((one) => taken.get(one) ?? 0);
  assert.ok(Math.max(...counts) - Math.min(...counts) <= 2, String(counts));
  for (const { socket } of all) socket.emit("close");
  assert.equal(turns.waiting, 0);
});

test("of many that read what nobody sees a few read in a turn, until there is nothing to read", async () => {
  const turns = new ReadTurns(new FakeClock());
  const all = many(turns, 5 * readersMax, "user");
  for (const { reader } of all) reader.meter();
  for (let count = 0; count < 20; count++) {
    await turn();
    assert.equal(reading(all), readersMax);
    for (const { socket } of all) if (socket.reads) socket.bytesRead += connectionBytesMax;
  }
  for (let count = 0; count < 10; count++) await turn();
  assert.equal(reading(all), all.length);
});

test("of many connections of nobody known, the newest read, and a portion of the others in turn", () => {
  const clock = new FakeClock();
  const turns = new ReadTurns(clock);
  const all = many(turns, 200);
  assert.equal(reading(all), freshStrangersMax);
  assert.equal(reading(all.slice(-freshStrangersMax)), freshStrangersMax);
  const seen = new Set<Opened>();
  for (let portion = 0; portion < Math.ceil(200 / portionUsual); portion++) {
    clock.advance(portionMs);
    assert.ok(reading(all) <= freshStrangersMax + portionUsual);
    for (const one of all) if (one.socket.reads) seen.add(one);
  }
  assert.equal(seen.size, 200);
});

test("portions of a user grow while they bring short requests, and shrink while they bring bodies", () => {
  const clock = new FakeClock();
  const turns = new ReadTurns(clock);
  const all = many(turns, 1000, "user");
  const nextSize = (bytes: number): number => {
    for (const { socket } of all) if (socket.reads) socket.bytesRead += bytes;
    clock.advance(portionMs);
    return reading(all) - freshOfUserMax;
  };
  const sizes = (count: number, bytes: number): readonly number[] =>
    Array.from({ length: count }, () => nextSize(bytes));
  assert.equal(nextSize(0), portionUsual);
  assert.deepEqual(sizes(5, shortBytes), [16, 32, 64, portionOfUserMax, portionOfUserMax]);
  assert.deepEqual(sizes(6, shortBytes + 1), [64, 32, 16, 8, portionMin, portionMin]);
  assert.deepEqual(sizes(2, 0), [portionUsual, portionUsual]);
});

test("the connections of a user are no burden for those of others", () => {
  const turns = new ReadTurns(new FakeClock());
  const others = many(turns, 10, "other");
  const all = many(turns, 2 * freshOfUserMax, "one");
  assert.equal(reading(all), freshOfUserMax);
  assert.equal(reading(others), 10);
});

test("among many connections of a user, those that were useful read", () => {
  const turns = new ReadTurns(new FakeClock());
  const useful = open(turns, "one");
  const all = many(turns, freshOfUserMax, "one");
  assert.ok(!useful.socket.reads);
  useful.reader.wasUseful();
  assert.ok(useful.socket.reads);
  assert.equal(reading([useful, ...all]), freshOfUserMax);
});

test("nobody has more connections than allowed, and one that closes makes room", () => {
  const turns = new ReadTurns(new FakeClock());
  const [one, two, three] = [open(turns), open(turns), open(turns)];
  assert.ok(one.reader.identify("user", 2));
  assert.ok(two.reader.identify("user", 2));
  assert.ok(!three.reader.identify("user", 2));
  assert.ok(open(turns).reader.identify("other", 2));
  one.socket.emit("close");
  assert.ok(three.reader.identify("user", 2));
});

test("a body that nobody asked for stays where it is, whoever starts the stream", async () => {
  const turns = new ReadTurns(new FakeClock());
  const { socket, reader } = open(turns);
  reader.hold();
  socket.reads = true;
  reader.took(16_384);
  assert.ok(!socket.reads);
  reader.release();
  assert.ok(socket.reads);
  reader.close();
  reader.release();
  await turn();
  assert.ok(!socket.reads);
});

test("the connections of nobody known stand still while new ones are taken", () => {
  const turns = new ReadTurns(new FakeClock());
  const strangers = many(turns, 5);
  const known = open(turns, "user");
  turns.still(true);
  assert.equal(reading(strangers), 0);
  assert.ok(known.socket.reads);
  turns.still(false);
  assert.equal(reading(strangers), 5);
});
