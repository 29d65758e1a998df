/** The small parts of the log on etcd: values, own writes, turns, leases, shared reads, the order of writes. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { FakeClock } from "#std/fake-clock.ts";

import { type LogWrite, UnreadableValue } from "../log-store.ts";
import { insertRevision } from "../versioned-value.ts";
import { type EtcdClient, EtcdError, type EtcdEvent, type RangeAnswer } from "./client.ts";
import { FreshRounds } from "./fresh-rounds.ts";
import { EtcdHealth } from "./health.ts";
import { Leases } from "./leases.ts";
import { OwnWrites } from "./own-writes.ts";
import { readPages } from "./pages.ts";
import { jsonForm } from "./stored-json.ts";
import { TakenTurns } from "./taken-turns.ts";
import { WriteOrder } from "./write-order.ts";

test("the place of the digits is found in what is read, and a text that looks like it is none", () => {
  const object = String.raw`{"kind":"A","metadata":{"name":"a","resourceVersion":"","annotations":{"n":"\"resourceVersion\":\"\""}}}`;
  const form = jsonForm(
    (key) => `/registry${key}`,
    () => assert.fail("nothing is foreign"),
  );
  const bytes = Buffer.from(`${object}\n`);
  const value = form.unpack(bytes, "/a");
  assert.deepEqual(form.pack(value), bytes);
  assert.match(insertRevision(value, 57).toString(), /"name":"a","resourceVersion":"57","annotations"/);
  assert.equal(form.nameOf("/a").toString(), "/registry/a");
  for (const text of ["k8s.io", "", "k8s:enc:aescbc:v1:x"]) {
    assert.equal(form.unpack(Buffer.from(text), "/a").revisionOffset, -1);
  }
});

test("objects that another program wrote are read by a function, whose failure is the reason", () => {
  const form = jsonForm(
    (key) => key,
    (key, bytes) => {
      if (key === "/bad") throw new Error("nobody can read that");
      return Buffer.from(`{"from":${bytes.length},"resourceVersion":""}`);
    },
  );
  for (const text of [
    "k8s\0\n\t",
    '{"kind":"A","metadata":{"name":"a"}}',
    '{"kind":"A","metadata":{"name":"a","resourceVersion":""}}',
    '{"kind":"A","metadata":{"annotations":{"resourceVersion":""}}}',
    '{"kind":"A","metadata":{"name":"a"},"spec":{"resourceVersion":""}}',
    '{"kind":"A","metadata":{"name":"a"},"items":[{"resourceVersion":""}]}',
    '{"kind":"A","spec":{"metadata":{"resourceVersion":""}}}',
  ]) {
    const value = form.unpack(Buffer.from(text), "/a");
    assert.equal(insertRevision(value, 5).toString(), `{"from":${text.length},"resourceVersion":"5"}`);
    assert.throws(() => form.unpack(Buffer.from(text), "/bad"), new UnreadableValue("nobody can read that"));
  }
});

const write = (expected: number, text: string | undefined): LogWrite => ({
  key: "/registry/core/pods/ns/a",
  expected,
  value: text === undefined ? undefined : { bytes: Buffer.from(text), revisionOffset: -1 },
  ttlSeconds: 0,
  isForDeletion: text === undefined,
  requires: [],
  turn: undefined,
  note: undefined,
});

const event = (revision: number, version: number, text: string | undefined): EtcdEvent => ({
  type: text === undefined ? "delete" : "put",
  entry: { key: "/pods/a", value: Buffer.from(text ?? ""), revision, created: 1, version, lease: undefined },
  previous: undefined,
});

test("an event is that of an own write when it replaces the version that the write expects, with its bytes", () => {
  const own = new OwnWrites();
  const update = own.begin("/pods/a", write(5, "new"), Buffer.from("new"));
  assert.equal(own.writeOf(event(5, 2, "new")), undefined, "the version that is replaced");
  assert.equal(own.writeOf(event(6, 3, "new")), update.write);
  assert.equal(own.writeOf(event(7, 4, "new")), undefined, "a later version");
  assert.equal(update.doneAt, 6);

  const late = own.begin("/pods/a", write(5, "new"), Buffer.from("new"));
  own.writeOf(event(6, 3, "of another"));
  own.writeOf(event(7, 4, "new"));
  assert.equal(late.doneAt, undefined, "another writer replaced the version");

  const creation = own.begin("/pods/a", write(0, "new"), Buffer.from("new"));
  own.writeOf(event(6, 1, "of another"));
  own.writeOf(event(7, 0, undefined));
  assert.equal(own.writeOf(event(8, 1, "new")), creation.write);

  const removal = own.begin("/pods/a", write(8, undefined), undefined);
  assert.equal(own.writeOf(event(9, 0, undefined)), removal.write);
  own.end("/pods/a");
  assert.equal(own.writeOf(event(10, 1, "new")), undefined);
});

test("a turn knows what this server put itself, but not what came before it", () => {
  const turns = new TakenTurns();
  assert.equal(turns.seenBy({ name: "a", seen: 10 }), 10);
  turns.taken({ name: "a", seen: 10 }, 15);
  assert.equal(turns.seenBy({ name: "a", seen: 12 }), 15);
  assert.equal(turns.seenBy({ name: "a", seen: 20 }), 20);
  assert.equal(turns.seenBy({ name: "a", seen: 9 }), 9, "a turn of another at 10 may not have been seen");
  assert.equal(turns.seenBy({ name: "b", seen: 12 }), 12);
  turns.taken({ name: "a", seen: 12 }, 18);
  assert.equal(turns.seenBy({ name: "a", seen: 10 }), 18);
  turns.taken({ name: "a", seen: 30 }, 31);
  assert.equal(turns.seenBy({ name: "a", seen: 12 }), 12);
});

test("keys that live as long share a lease for a part of their time, and a lease that is gone is not used", async () => {
  const clock = new FakeClock();
  const granted: number[] = [];
  let fails = false;
  const client = {
    async grantLease(seconds: number) {
      if (fails) throw new EtcdError("unsent", "no member");
      granted.push(seconds);
      return String(granted.length);
    },
  } as Partial<EtcdClient> as EtcdClient;
  const leases = new Leases(client, clock, 60);
  const lease = (ttlSeconds: number): Promise<string> => leases.leaseOf(ttlSeconds, { timeoutMs: 1000 });
  assert.deepEqual(await Promise.all([lease(3600), lease(3600), lease(60)]), ["1", "1", "2"]);
  clock.advance(61_000);
  assert.equal(await lease(3600), "3");
  leases.forgetAll();
  assert.equal(await lease(3600), "4");
  for (let keys = 0; keys < 1000; keys++) await lease(3600);
  assert.equal(await lease(3600), "5");
  assert.deepEqual(granted, [3660, 63, 3660, 3660, 3660]);
  assert.deepEqual(await Promise.all([lease(8), lease(8)]), ["6", "6"]);
  clock.advance(2000);
  assert.equal(await lease(8), "7");
  assert.deepEqual(granted.slice(5), [10, 10]);
  leases.forgetAll();
  fails = true;
  await assert.rejects(lease(3600), EtcdError);
  fails = false;
  assert.equal(await lease(3600), "8");
});

test("a thousand reads of the present need two questions, and none gets an answer from before it", async () => {
  let revision = 0;
  let asked = 0;
  const waiting: (() => void)[] = [];
  const client = {
    range() {
      asked++;
      return new Promise<RangeAnswer>((resolve) => {
        const answer = (): void => {
          const header = { cluster: "1", member: "1", term: 1, revision: ++revision };
          resolve({ header, entries: [], more: false, count: 0 });
        };
        waiting.push(answer);
      });
    },
  } as Partial<EtcdClient> as EtcdClient;
  const rounds = new FreshRounds(client, roundsFor(new FakeClock()));
  const reads = Array.from({ length: 1000 }, () => rounds.latest());
  waiting.shift()!();
  await reads[0];
  await new Promise((resolve) => setImmediate(resolve));
  const [first, ...others] = reads;
  waiting.shift()!();
  assert.equal(await first, 1);
  assert.deepEqual(new Set(await Promise.all(others)), new Set([2]));
  assert.equal(asked, 2);
});

const roundsFor = (clock: FakeClock) => ({
  timeoutMs: 3000,
  clock,
  signal: new AbortController().signal,
  reached: () => Promise.resolve(),
});

test("a shared read whose member is lost is repeated, within its time, and another failure is not", async () => {
  const clock = new FakeClock();
  const errors: EtcdError[] = [];
  let asked = 0;
  const client = {
    range(_request, { timeoutMs }) {
      asked++;
      assert.ok(timeoutMs <= 1000, "a silent member does not take all the time");
      const error = errors.shift();
      if (error !== undefined) return Promise.reject(error);
      const header = { cluster: "1", member: "1", term: 1, revision: 7 };
      return Promise.resolve({ header, entries: [], more: false, count: 0 });
    },
  } as Partial<EtcdClient> as EtcdClient;
  const rounds = new FreshRounds(client, roundsFor(clock));
  const settle = async <T>(read: Promise<T>): Promise<T> => {
    let isDone = false;
    const done = (): void => void (isDone = true);
    read.then(done, done);
    while (!isDone) {
      clock.advance(50);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return read;
  };
  const lost = (): EtcdError => new EtcdError("unanswered", "the connection was closed");
  errors.push(lost(), new EtcdError("unsent", "no member could be used"));
  assert.equal(await settle(rounds.latest()), 7);
  assert.equal(asked, 3);
  errors.push(new EtcdError("unauthorized", "no right"));
  await assert.rejects(settle(rounds.latest()), /no right/);
  errors.push(...Array.from({ length: 1000 }, lost));
  await assert.rejects(settle(rounds.latest()), /the connection was closed/);
  assert.ok(errors.length > 900, "the time of the round is over");
});

test("writes of one key follow each other, also after a failure, and those of other keys do not wait", async () => {
  const order = new WriteOrder();
  const seen: string[] = [];
  const first = Promise.withResolvers<void>();
  const task =
    (name: string, work: Promise<void> = Promise.resolve()) =>
    async (): Promise<void> => {
      seen.push(`${name} begins`);
      await work;
    };
  const failing = order.run(["a"], task("1", first.promise));
  const second = order.run(["a", "turn"], task("2"));
  const third = order.run(["turn"], task("3"));
  const other = order.run(["b"], task("4"));
  await other;
  assert.deepEqual(seen, ["1 begins", "4 begins"]);
  first.reject(new Error("lost"));
  await assert.rejects(failing, /lost/);
  await Promise.all([second, third]);
  assert.deepEqual(seen.slice(2), ["2 begins", "3 begins"]);
});

test("pages follow the size of the values, and an answer that is too long is asked for in smaller ones", async () => {
  const sizes = Array.from({ length: 5000 }, (_, at) => (at > 3000 && at < 3100 ? 1_000_000 : 100));
  const limits: number[] = [];
  const client = {
    async range({ key, limit = 0 }: { key: string; limit?: number }) {
      limits.push(limit);
      const from = key === "/" ? 0 : Number(key.slice(1, 5)) + 1;
      const part = sizes.slice(from, from + limit);
      const bytes = part.reduce((sum, size) => sum + size, 0);
      if (bytes > 64 * 2 ** 20) throw new EtcdError("answerTooLarge", `an answer has ${bytes} bytes`);
      const entries = part.map((size, at) => ({
        key: `/${String(from + at).padStart(4, "0")}`,
        value: Buffer.alloc(size),
        revision: 1,
        created: 1,
        version: 1,
        lease: undefined,
      }));
      const header = { cluster: "1", member: "1", term: 1, revision: 1 };
      return { header, entries, more: from + limit < sizes.length, count: sizes.length - from };
    },
  } as Partial<EtcdClient> as EtcdClient;
  const read = async (limit?: number): Promise<readonly [number, number]> => {
    const seen: string[] = [];
    const range = { key: "/", end: "0", revision: 1, ...(limit === undefined ? {} : { limit }) };
    const remaining = await readPages(client, range, { timeoutMs: 1000 }, ({ key }) => void seen.push(key));
    assert.deepEqual(seen, [...seen].sort());
    return [seen.length, remaining];
  };
  assert.deepEqual(await read(), [5000, 0]);
  assert.ok(Math.max(...limits) > 1000, "small values come in large pages");
  assert.ok(limits.length < 60, `${limits.length} pages`);
  assert.deepEqual(await read(3050), [3050, 1950]);
  const broken = { range: () => Promise.reject(new EtcdError("answerTooLarge", "one value")) };
  const refused = readPages(
    broken as unknown as EtcdClient,
    { key: "/", end: "0", revision: 1 },
    { timeoutMs: 1 },
    () => {},
  );
  await assert.rejects(refused, /one value/);
});

test("etcd is unhealthy while it does not answer or writes keep failing, and not for one write that failed", async () => {
  const clock = new FakeClock();
  let isAway = false;
  const asked = async <T>(answer: T): Promise<T> => {
    if (isAway) throw new EtcdError("unanswered", "nobody is there");
    return answer;
  };
  const client = { range: () => asked({}), status: () => asked({ alarms: [] }) } as unknown as EtcdClient; // what is asked
  const health = new EtcdHealth({ client, clock, timeoutMs: 2000, answered: () => undefined });
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 500) {
      clock.advance(500);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  health.start();
  await pass(1000);
  assert.equal(health.problem(2000), undefined);
  health.wroteAt(false);
  await pass(60_000);
  assert.equal(health.problem(2000), undefined, "one write failed a minute ago");
  for (let at = 0; at < 8; at++) {
    health.wroteAt(false);
    await pass(1000);
  }
  assert.equal(health.problem(2000), "etcd takes no writes");
  health.wroteAt(true);
  assert.equal(health.problem(2000), undefined);
  isAway = true;
  await pass(2000);
  assert.equal(health.problem(2000), "nobody is there");
  isAway = false;
  await pass(2000);
  assert.equal(health.problem(2000), undefined);
  health.stop();
});
