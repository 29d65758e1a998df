/** Tests which connections read in a turn of the event loop, with sockets that only record whether they read. */
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { ownerOf } from "./owner.ts";
import {
  connectionBytesMax,
  activeOfUserMax,
  activeUnauthenticatedMax,
  batchOfUnauthenticatedMax,
  batchOfUserMax,
  batchMin,
  batchMs,
  batchUsual,
  requestBytes,
  type SocketReader,
  readersMax,
  shortBytes,
  ReadTurns,
  turnBytesMax,
} from "./read-turns.ts";

/** A socket that only records whether its handle reads. */
class FakeSocket extends EventEmitter {
  reads = true;
  bytesRead = 0;
  bytesWritten = 0;
  readonly _handle = { reading: true, readStart: () => (this.reads = true), readStop: () => (this.reads = false) };
}

const noLimits = { connectionsPerUser: Number.POSITIVE_INFINITY, connectionsPerPlane: Number.POSITIVE_INFINITY };

interface Opened {
  readonly socket: FakeSocket;
  readonly reader: SocketReader;
}

function open(turns: ReadTurns, user?: string): Opened {
  const socket = new FakeSocket();
  const reader = turns.open(socket as unknown as Socket); // it has what is used of one
  reader.secured();
  if (user !== undefined) assert.equal(reader.identify(ownerOf(user, ""), noLimits), undefined);
  return { socket, reader };
}

const many = (turns: ReadTurns, count: number, user?: string): readonly Opened[] =>
  Array.from({ length: count }, () => open(turns, user));

const countReading = (all: readonly Opened[]): number => all.filter(({ socket }) => socket.reads).length;
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
  assert.equal(countReading(all), 14);
  await turn();
  assert.equal(countReading(all), 16);
});

test("of many that always have more, a few read in a turn, and each has its turn", async () => {
  const turns = new ReadTurns(new FakeClock());
  const all = many(turns, 100, "user");
  for (const { reader } of all) reader.took(connectionBytesMax);
  assert.equal(countReading(all), 0);
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

test("of many connections of nobody known, the newest read, and a batch of the others in turn", () => {
  const clock = new FakeClock();
  const turns = new ReadTurns(clock);
  const all = many(turns, 200);
  assert.equal(countReading(all), activeUnauthenticatedMax);
  assert.equal(countReading(all.slice(-activeUnauthenticatedMax)), activeUnauthenticatedMax);
  const seen = new Set<Opened>();
  for (let batch = 0; batch < Math.ceil(200 / batchUsual); batch++) {
    clock.advance(batchMs);
    assert.ok(countReading(all) <= activeUnauthenticatedMax + batchOfUnauthenticatedMax);
    for (const one of all) if (one.socket.reads) seen.add(one);
  }
  assert.equal(seen.size, 200);
});

test("batches of a user grow while they bring short requests, and shrink while they bring bodies", () => {
  const clock = new FakeClock();
  const turns = new ReadTurns(clock);
  const all = many(turns, 1000, "user");
  const nextSize = (bytes: number): number => {
    for (const { socket } of all) if (socket.reads) socket.bytesRead += bytes;
    clock.advance(batchMs);
    return countReading(all) - activeOfUserMax;
  };
  const sizes = (count: number, bytes: number): readonly number[] =>
    Array.from({ length: count }, () => nextSize(bytes));
  assert.equal(nextSize(0), 2 * batchUsual);
  assert.deepEqual(sizes(6, shortBytes), [32, 64, 128, 256, batchOfUserMax, batchOfUserMax]);
  assert.deepEqual(sizes(8, shortBytes + 1), [256, 128, 64, 32, 16, 8, batchMin, batchMin]);
  assert.deepEqual(sizes(2, 0), [8, 16]);
});

test("what a connection of a batch has read counts when it has ended", () => {
  const clock = new FakeClock();
  const turns = new ReadTurns(clock);
  const all = many(turns, 1000, "user");
  for (let batch = 0; batch < 3; batch++) clock.advance(batchMs);
  const before = countReading(all) - activeOfUserMax;
  // The newest connections are not in the batch.
  for (const { socket, reader } of all.slice(0, -activeOfUserMax)) {
    if (!socket.reads) continue;
    socket.bytesRead += shortBytes + 1;
    reader.close();
  }
  clock.advance(batchMs);
  assert.equal(countReading(all) - activeOfUserMax, before / 2);
});

test("while the event loop is late batches are small, but not as small as those with bodies", () => {
  const clock = new FakeClock();
  const turns = new ReadTurns(clock);
  const all = many(turns, 2000, "user");
  while (countReading(all) < activeOfUserMax + batchOfUserMax) clock.advance(batchMs);
  const sizes = Array.from({ length: 5 }, () => {
    clock.block(3 * batchMs);
    return countReading(all) - activeOfUserMax;
  });
  assert.deepEqual(sizes, [256, 128, 64, 64, 64]);
});

test("a batch ends with the share of a turn, which requests and ends of connections use up as well", () => {
  for (const use of [(reader: SocketReader) => reader.tookRequest(), (reader: SocketReader) => reader.close()]) {
    const clock = new FakeClock();
    const turns = new ReadTurns(clock);
    const all = many(turns, 2000, "user");
    while (countReading(all) < activeOfUserMax + batchOfUserMax) clock.advance(batchMs);
    let used = 0;
    for (const { socket, reader } of all.slice(0, -activeOfUserMax)) {
      if (!socket.reads) continue;
      use(reader);
      used++;
    }
    assert.equal(used, turnBytesMax / requestBytes);
  }
});

test("a batch goes on when others use up the turn", () => {
  const clock = new FakeClock();
  const turns = new ReadTurns(clock);
  const pushers = many(turns, readersMax, "another");
  const all = many(turns, activeOfUserMax + 4 * batchUsual, "user");
  clock.advance(batchMs);
  const batch = all.slice(0, -activeOfUserMax).filter(({ socket }) => socket.reads);
  for (const { reader } of pushers) reader.took(connectionBytesMax);
  for (const { reader } of batch.slice(1)) reader.tookRequest();
  assert.ok(batch[0]!.socket.reads);
});

test("each of a thousand users has its turn, with small requests in each", async () => {
  const turns = new ReadTurns(new FakeClock());
  const all = Array.from({ length: 1000 }, (_, user) => open(turns, `user ${user}`));
  const requests = new Map(all.map((one) => [one, 0]));
  for (let round = 0; round < 100; round++) {
    for (const one of all) {
      if (!one.socket.reads) continue;
      one.reader.took(150);
      one.reader.tookRequest();
      requests.set(one, requests.get(one)! + 1);
    }
    await turn();
  }
  const fewest = Math.min(...requests.values());
  assert.ok(fewest >= 20, `somebody had ${fewest} turns of 100`);
});

test("of a batch that ends early, those that were not read come first in the next one", () => {
  const clock = new FakeClock();
  const turns = new ReadTurns(clock);
  const all = many(turns, activeUnauthenticatedMax + 4 * batchUsual);
  clock.advance(batchMs);
  const batch = all.slice(0, -activeUnauthenticatedMax).filter(({ socket }) => socket.reads);
  for (const { reader } of batch.slice(0, readersMax)) reader.took(connectionBytesMax);
  assert.equal(countReading(batch), 0);
  clock.advance(batchMs);
  assert.equal(countReading(batch.slice(0, readersMax)), 0);
  assert.equal(countReading(batch.slice(readersMax)), batch.length - readersMax);
});

test("a user's connections that are all idle all read, and in batches when they bring much at once", () => {
  const clock = new FakeClock();
  const turns = new ReadTurns(clock);
  const all = [...many(turns, 5000, "user")];
  assert.equal(countReading(all), activeOfUserMax);
  let batches = 0;
  for (; countReading(all) < all.length; batches++) clock.advance(batchMs);
  assert.ok(batches <= 20, `all read after ${batches} batches`);
  // From time to time one of the connections brings bytes, and new connections arrive.
  all[0]!.reader.took(500);
  all.push(...many(turns, 100, "user"));
  assert.equal(countReading(all), all.length);
  for (const { reader, socket } of all) if (socket.reads) reader.took(1000);
  assert.ok(countReading(all) <= activeOfUserMax, `${countReading(all)} read`);
  clock.advance(batchMs);
  assert.ok(countReading(all) <= activeOfUserMax + 2 * batchUsual, `${countReading(all)} read`);
});

test("connections of nobody known never all read", () => {
  const clock = new FakeClock();
  const turns = new ReadTurns(clock);
  const all = [...many(turns, activeUnauthenticatedMax + 4)];
  for (let batch = 0; batch < 100; batch++) clock.advance(batchMs);
  all.push(...many(turns, 500));
  for (let batch = 0; batch < 100; batch++) clock.advance(batchMs);
  assert.ok(countReading(all) <= activeUnauthenticatedMax + batchOfUnauthenticatedMax, `${countReading(all)} read`);
});

test("the connections of a user are no burden for those of others", () => {
  const turns = new ReadTurns(new FakeClock());
  const others = many(turns, 10, "other");
  const all = many(turns, 2 * activeOfUserMax, "one");
  assert.equal(countReading(all), activeOfUserMax);
  assert.equal(countReading(others), 10);
});

test("among many connections of a user, those that were useful read", () => {
  const turns = new ReadTurns(new FakeClock());
  const useful = open(turns, "one");
  const all = many(turns, activeOfUserMax, "one");
  assert.ok(!useful.socket.reads);
  useful.reader.wasUseful();
  assert.ok(useful.socket.reads);
  assert.equal(countReading([useful, ...all]), activeOfUserMax);
});

test("nobody has more connections than allowed, and one that closes makes room", () => {
  const turns = new ReadTurns(new FakeClock());
  const limits = { ...noLimits, connectionsPerUser: 2 };
  const join = ({ reader }: Opened, user = "user") => reader.identify(ownerOf(user, ""), limits);
  const [one, two, three] = [open(turns), open(turns), open(turns)];
  assert.equal(join(one), undefined);
  assert.equal(join(two), undefined);
  assert.equal(join(three), "user");
  assert.equal(join(open(turns), "other"), undefined);
  one.socket.emit("close");
  assert.equal(join(three), undefined);
});

test("the users of a plane have a bound together, each has half of it, and one that closes makes room", () => {
  const turns = new ReadTurns(new FakeClock());
  const limits = { connectionsPerUser: 3, connectionsPerPlane: 4 };
  const join = ({ reader }: Opened, user: string, plane: string) => reader.identify(ownerOf(user, plane), limits);
  const joined = (count: number, user: string, plane: string): readonly Opened[] => {
    const all = many(turns, count);
    for (const one of all) assert.equal(join(one, user, plane), undefined);
    return all;
  };
  const [first] = joined(2, "adam", "/planes/a");
  assert.equal(join(open(turns), "adam", "/planes/a"), "user");
  joined(2, "eve", "/planes/a");
  const late = open(turns);
  assert.equal(join(late, "noah", "/planes/a"), "plane");
  joined(2, "noah", "/planes/b");
  joined(3, "noah", "");
  first!.socket.emit("close");
  assert.equal(join(late, "noah", "/planes/a"), undefined);
  assert.equal(join(open(turns), "adam", "/planes/a"), "plane");
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
  const unauthenticated = many(turns, 5);
  const known = open(turns, "user");
  turns.pauseUnauthenticated(true);
  assert.equal(countReading(unauthenticated), 0);
  assert.ok(known.socket.reads);
  turns.pauseUnauthenticated(false);
  assert.equal(countReading(unauthenticated), 5);
});
