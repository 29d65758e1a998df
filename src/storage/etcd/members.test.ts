/** The choice of members, failover and watches, on servers that answer as a test says. */
import assert from "node:assert/strict";
import type { ServerHttp2Stream } from "node:http2";
import { type TestContext, test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { type EtcdClient, EtcdError, type EtcdEvent, type WatchEnd } from "./client.ts";
import {
  begin,
  emptyAnswer,
  type FakeCall,
  FakeMember,
  framed,
  messageOf,
  refuse,
  reply,
  writeHeader,
} from "./fake-member.ts";
import { openEtcd } from "./members.ts";

const options = { timeoutMs: 3000 };

interface Member {
  revision: number;
  cluster: number;
  /** Answers calls besides those of the client itself. */
  answer: ((call: FakeCall) => void) | undefined;
  /** Is called before each answer to a read. */
  before: () => Promise<unknown>;
  /** Whether it refuses everything. */
  isUnusable: boolean;
  readonly fake: FakeMember;
}

async function start(t: TestContext): Promise<Member> {
  const fake = await FakeMember.listen((call) => {
    if (member.isUnusable) refuse(call.stream, "14", "etcdserver: no leader");
    else if (member.answer !== undefined && call.method !== "KV/Range") member.answer(call);
    else {
      const answer = emptyAnswer(member.revision, member.cluster);
      void member.before().then(() => reply(call.stream, answer));
    }
  });
  const member: Member = {
    revision: 10,
    cluster: 7,
    answer: undefined,
    before: () => Promise.resolve(),
    isUnusable: false,
    fake,
  };
  t.after(() => fake.close());
  return member;
}

interface Cluster {
  readonly client: EtcdClient;
  readonly clock: FakeClock;
  readonly members: readonly Member[];
  /** The member in use. */
  used(): Member;
}

async function startCluster(t: TestContext, count: number): Promise<Cluster> {
  const members: Member[] = [];
  for (let at = 0; at < count; at++) members.push(await start(t));
  const clock = new FakeClock();
  const endpoints = members.map(({ fake }) => fake.endpoint);
  const client = openEtcd({ endpoints, tls: {}, server: "a", clock, random: seededRandom(1) });
  t.after(() => client.close());
  return { client, clock, members, used: () => members.find(({ fake }) => fake.endpoint === client.endpoint)! };
}

const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/** Lets time pass until the work is done. */
async function settle<T>(clock: FakeClock, work: Promise<T>): Promise<PromiseSettledResult<T>> {
  let result: PromiseSettledResult<T> | undefined;
  void Promise.allSettled([work]).then(([settled]) => (result = settled));
  for (let turns = 0; result === undefined; turns++) {
    assert.ok(turns < 100_000, "the work has no end");
    await turn();
    if (turns % 10 === 9) clock.advance(5);
  }
  return result;
}

async function failure(clock: FakeClock, work: Promise<unknown>): Promise<EtcdError> {
  const result = await settle(clock, work);
  assert.ok(result.status === "rejected" && result.reason instanceof EtcdError, JSON.stringify(result));
  return result.reason;
}

async function succeed<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  const result = await settle(clock, work);
  if (result.status === "rejected") throw result.reason;
  return result.value;
}

test("addresses that cannot be those of etcd are refused", () => {
  const open = (...endpoints: readonly string[]) =>
    openEtcd({ endpoints, tls: {}, server: "a", clock: new FakeClock(), random: seededRandom(1) });
  assert.throws(() => open(), /no address of etcd/);
  for (const endpoint of ["10.0.0.1:2379", "ftp://a", "http://", "https://a/path", "http://a b", "unix://"])
    assert.throws(() => open(endpoint), /is no address of etcd/, endpoint);
  for (const endpoint of ["http://a:1", "https://[::1]:2379", "https://a/", "unix:///run/etcd.sock"])
    open(endpoint).close();
});

test("servers spread over members, in one order for each server", () => {
  const endpoints = ["http://a:1", "http://b:1", "http://c:1"];
  const first = (server: string, given: readonly string[]): string =>
    openEtcd({ endpoints: given, tls: {}, server, clock: new FakeClock(), random: seededRandom(1) }).endpoint;
  const counts = new Map<string, number>();
  for (let at = 0; at < 300; at++) {
    const endpoint = first(`server-${at}`, endpoints);
    assert.equal(first(`server-${at}`, endpoints.toReversed()), endpoint);
    counts.set(endpoint, (counts.get(endpoint) ?? 0) + 1);
  }
  for (const endpoint of endpoints) assert.ok(counts.get(endpoint)! > 60);
});

test("a call waits for a member as long as it may, and was then not done", async (t) => {
  const { client, clock, members } = await startCluster(t, 2);
  for (const member of members) member.isUnusable = true;
  const startMs = clock.now();
  const error = await failure(clock, client.range({ key: "a" }, options));
  assert.equal(error.kind, "unsent");
  assert.match(error.message, /no member of etcd could be used in 3 s: etcd at http:\S+: no leader/);
  assert.equal(error.mayBeDone, false);
  assert.ok(clock.now() - startMs >= 3000);
  const tries = members.flatMap(({ fake }) => fake.methods).length;
  // With 50 ms to 2 s between them, at least halved by chance.
  assert.ok(tries >= 4 && tries <= 9, `${tries} tries`);
  for (const member of members) member.isUnusable = false;
  assert.equal((await succeed(clock, client.range({ key: "a" }, options))).header.revision, 10);
});

test("a member without a leader is left for the next one", async (t) => {
  const { client, clock, used } = await startCluster(t, 3);
  await succeed(clock, client.range({ key: "a" }, options));
  const first = used();
  first.isUnusable = true;
  assert.equal((await failure(clock, client.range({ key: "a" }, options))).kind, "unsent");
  await succeed(clock, client.range({ key: "a" }, options));
  assert.notEqual(used(), first);
});

test("a member that does not answer two calls in a row is left for the next one, with a watch", async (t) => {
  const { client, clock, used } = await startCluster(t, 3);
  await succeed(clock, client.range({ key: "a" }, options));
  const first = used();
  const streams: ServerHttp2Stream[] = [];
  first.answer = ({ stream }) => streams.push(stream);
  const transaction = { compare: [], then: [], otherwise: [] };
  for (let count = 0; count < 2; count++) {
    assert.equal(used(), first);
    assert.equal((await failure(clock, client.transact(transaction, options))).kind, "unanswered");
  }
  assert.notEqual(used(), first);
  await succeed(clock, client.transact(transaction, options));
});

test("a member that is behind, or of another cluster, is not used", async (t) => {
  const { client, clock, members, used } = await startCluster(t, 2);
  await succeed(clock, client.range({ key: "a" }, options));
  const first = used();
  const other = members.find((member) => member !== first)!;
  other.revision = 9;
  first.isUnusable = true;
  await failure(clock, client.range({ key: "a" }, options));
  const behind = await failure(clock, client.range({ key: "a" }, { timeoutMs: 100 }));
  assert.deepEqual([behind.kind, behind.mayBeDone], ["replaced", false]);
  assert.match(behind.message, /is at revision 9, but there was revision 10$/);
  other.revision = 11;
  other.cluster = 8;
  for (let tries = 0; ; tries++) {
    const error = await failure(clock, client.range({ key: "a" }, options));
    if (error.message.endsWith("belongs to the cluster 8, and not to 7")) break;
    assert.ok(tries < 10, error.message);
  }
  other.cluster = 7;
  assert.equal((await succeed(clock, client.range({ key: "a" }, options))).header.revision, 11);
});

test("a call that avoids the member in use goes to another one, and the others stay", async (t) => {
  const { client, clock, members, used } = await startCluster(t, 2);
  await succeed(clock, client.range({ key: "a" }, options));
  const first = used();
  const other = members.find((member) => member !== first)!;
  const before = other.fake.methods.length;
  await succeed(clock, client.range({ key: "a" }, { ...options, avoid: first.fake.endpoint }));
  assert.equal(other.fake.methods.length, before + 2, "with the read that tries the member");
  await succeed(clock, client.range({ key: "a" }, { ...options, avoid: other.fake.endpoint }));
  assert.equal(other.fake.methods.length, before + 2);
  assert.equal(used(), first);
});

test("a member is not behind when revisions come while it is asked", async (t) => {
  const { client, clock, members, used } = await startCluster(t, 2);
  await succeed(clock, client.range({ key: "a" }, options));
  const first = used();
  const other = members.find((member) => member !== first)!;
  first.revision = 20;
  other.before = () => client.range({ key: "a" }, options);
  const { header } = await succeed(clock, client.range({ key: "a" }, { ...options, avoid: first.fake.endpoint }));
  assert.equal(header.revision, 10);
});

test("a single member answers even when it is to be avoided", async (t) => {
  const { client, clock } = await startCluster(t, 1);
  await succeed(clock, client.range({ key: "a" }, { ...options, avoid: client.endpoint }));
});

test("a closed client has no calls and no watches", async (t) => {
  const { client, clock, members } = await startCluster(t, 2);
  for (const member of members) member.isUnusable = true;
  const waiting = failure(clock, client.range({ key: "a" }, options));
  await turn();
  const ends: WatchEnd[] = [];
  const follower = { changed() {}, progressed() {}, ended: (end: WatchEnd) => ends.push(end) };
  client.watch({ key: "a", end: "b", from: 1 }, follower);
  client.close();
  assert.match((await waiting).message, /is closed/);
  assert.match((await failure(clock, client.range({ key: "a" }, options))).message, /is closed/);
  await turn();
  assert.equal(ends[0]?.kind, "lost");
});

interface WatchNotes {
  readonly batches: number[][];
  readonly progress: number[];
  readonly ends: WatchEnd[];
}

/** Opens a watch from revision 5 on, which a member answers with messages. */
async function watch(t: TestContext, ...messages: readonly Buffer[]): Promise<WatchNotes & Cluster> {
  const cluster = await startCluster(t, 1);
  const { client, clock, members } = cluster;
  await succeed(clock, client.range({ key: "a" }, options));
  const notes: WatchNotes = { batches: [], progress: [], ends: [] };
  members[0]!.answer = ({ stream }) => {
    begin(stream);
    for (const message of messages) stream.write(framed(message));
  };
  client.watch(
    { key: "a", end: "b", from: 5 },
    {
      changed: (events: readonly EtcdEvent[], revision) => {
        assert.equal(events.at(-1)!.entry.revision, revision);
        notes.batches.push(events.map(({ entry }) => entry.revision));
      },
      progressed: (revision) => notes.progress.push(revision),
      ended: (end) => notes.ends.push(end),
    },
  );
  for (let turns = 0; turns < 200; turns++) await turn();
  return { ...notes, ...cluster };
}

/** Returns a message of a watch with events of these revisions. */
const message = (revisions: readonly number[], flags: { created?: 1; fragment?: 1; reason?: string } = {}): Buffer =>
  messageOf((writer) => {
    for (const revision of revisions.toReversed()) {
      writer.message(11, () => {
        writer.message(2, () => {
          writer.varint(3, revision);
          writer.text(1, "a");
        });
      });
    }
    if (flags.fragment === 1) writer.varint(7, 1);
    if (flags.reason !== undefined) {
      writer.text(6, flags.reason);
      writer.varint(4, 1);
    }
    if (flags.created === 1) writer.varint(3, 1);
    writeHeader(writer, 50);
  });

const created = message([], { created: 1 });

test("events of a revision that fragments divide come in one call", async (t) => {
  const { batches, progress, ends } = await watch(
    t,
    created,
    message([5, 6, 7], { fragment: 1 }),
    message([7], { fragment: 1 }),
    message([7, 8, 8], { fragment: 1 }),
    message([8, 9]),
    message([10]),
    message([]),
  );
  assert.deepEqual(batches, [[5, 6], [7, 7, 7], [8, 8, 8, 9], [10]]);
  assert.deepEqual(progress, [50]);
  assert.deepEqual(ends, []);
});

for (const [what, messages] of [
  ["before the first that was asked for", [message([4])]],
  ["that was delivered before", [message([5, 6]), message([6])]],
  ["out of order", [message([7, 6])]],
] as const) {
  test(`an event of a revision ${what} ends the watch and the connection`, async (t) => {
    const { ends, batches } = await watch(t, created, ...messages);
    assert.equal(batches.length, messages.length - 1);
    assert.ok(ends[0]?.kind === "lost" && ends.length === 1);
    assert.match(ends[0].error.message, /an event of revision \d came after one of revision \d/);
    assert.equal(ends[0].error.kind, "invalid");
  });
}

test("a watch that the member cancels has the reason", async (t) => {
  const reason = "rpc error: code = PermissionDenied desc = etcdserver: permission denied";
  const { ends } = await watch(t, message([], { created: 1, reason }));
  assert.ok(ends[0]?.kind === "lost");
  assert.match(ends[0].error.message, /: permission denied$/);
});

test("a watch that is not begun in 5 s is lost", async (t) => {
  const { ends, clock } = await watch(t);
  clock.advance(4999);
  assert.equal(ends.length, 0);
  clock.advance(1);
  assert.ok(ends[0]?.kind === "lost");
  assert.match(ends[0].error.message, /no watch in 5 s/);
});

test("a watch ends as soon as the member has no leader", async (t) => {
  const { client, clock, members } = await startCluster(t, 1);
  await succeed(clock, client.range({ key: "a" }, options));
  const ends: WatchEnd[] = [];
  const headers: unknown[] = [];
  members[0]!.answer = (call) => {
    headers.push(call.headers["hasleader"]);
    refuse(call.stream, "14", "etcdserver: no leader");
  };
  client.watch({ key: "a", end: "b", from: 5 }, { changed() {}, progressed() {}, ended: (end) => ends.push(end) });
  for (let turns = 0; turns < 200 && ends.length === 0; turns++) await turn();
  assert.deepEqual(headers, ["true"]);
  assert.ok(ends[0]?.kind === "lost");
  assert.equal(ends[0].error.kind, "unsent");
});
