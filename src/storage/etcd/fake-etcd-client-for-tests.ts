/** A client of the etcd in memory, for tests. It chooses and leaves members as that of a real one does. */
import type {
  AnswerHeader,
  EtcdCallOptions,
  EtcdClient,
  EtcdError,
  EtcdWatch,
  KnownVersion,
  MemberStatus,
  RangeAnswer,
  RangeRequest,
  Transaction,
  TransactionAnswer,
  WatchEnd,
  WatchFollower,
  WatchRequest,
} from "./client.ts";
import { FakeConnection } from "./fake-etcd-connection-for-tests.ts";
import type { FakeEtcd, FakeMember, Reply } from "./fake-etcd-for-tests.ts";
import { HeardStore } from "./heard-store.ts";
import { MemberLine } from "./member-line.ts";

const probeMs = 2000;
const watchMs = 10_000;

export class FakeEtcdClient implements EtcdClient {
  readonly #etcd: FakeEtcd;
  readonly #server: string;
  readonly #line: MemberLine<FakeConnection>;
  /** The lines without one member, by its address. */
  readonly #others = new Map<string, MemberLine<FakeConnection>>();
  readonly #store = new HeardStore();

  /** `first` is the index of the member that the server tries first. */
  constructor(etcd: FakeEtcd, server: string, first = 0) {
    this.#etcd = etcd;
    this.#server = server;
    const { members } = etcd;
    this.#line = this.#newLine([...members.slice(first), ...members.slice(0, first)]);
  }

  get endpoint(): string {
    return this.#line.endpoint;
  }

  range(request: RangeRequest, options: EtcdCallOptions): Promise<RangeAnswer> {
    return this.#call((member, reply) => member.range(request, reply), options);
  }

  transact(transaction: Transaction, options: EtcdCallOptions): Promise<TransactionAnswer> {
    return this.#call((member, reply) => member.transact(transaction, reply), options);
  }

  watch(request: WatchRequest, follower: WatchFollower): EtcdWatch {
    const { connection } = this.#line;
    const hearing: WatchFollower = {
      changed: (events, revision) => {
        this.#store.hear(revision);
        follower.changed(events, revision);
      },
      progressed: (revision) => {
        this.#store.hear(revision);
        follower.progressed(revision);
      },
      ended: (end) => follower.ended(end),
    };
    return connection === undefined
      ? new WaitingWatch(this.#line.ready(watchMs), request, hearing)
      : connection.watch(request, hearing);
  }

  async compact(revision: number, options: EtcdCallOptions): Promise<void> {
    await this.#call<object>((member, reply) => member.compact(revision, reply), options);
  }

  async grantLease(seconds: number, options: EtcdCallOptions): Promise<string> {
    const granted = await this.#call<{ readonly lease: string }>(
      (member, reply) => member.grant(seconds, reply),
      options,
    );
    return granted.lease;
  }

  async renewLease(lease: string, options: EtcdCallOptions): Promise<number> {
    const renewed = await this.#call<{ readonly seconds: number }>(
      (member, reply) => member.renew(lease, reply),
      options,
    );
    return renewed.seconds;
  }

  async revokeLease(lease: string, options: EtcdCallOptions): Promise<void> {
    await this.#call<object>((member, reply) => member.revoke(lease, reply), options);
  }

  async leaseSeconds(lease: string, options: EtcdCallOptions): Promise<number> {
    const left = await this.#call<{ readonly seconds: number }>((member, reply) => member.lease(lease, reply), options);
    return left.seconds;
  }

  status(options: EtcdCallOptions): Promise<MemberStatus> {
    return this.#call((member, reply) => member.status(reply), options);
  }

  expect(known: () => KnownVersion | undefined, doubted: () => void): void {
    this.#store.known = known;
    this.#store.doubted = doubted;
  }

  close(): void {
    for (const line of [this.#line, ...this.#others.values()]) line.close();
  }

  /** The version that members must have. */
  get expected(): KnownVersion | undefined {
    return this.#store.known();
  }

  /** Breaks the connection in use, as the network does. */
  breakConnection(): void {
    this.#line.connection?.breakSoon();
  }

  async #call<T extends object>(
    serve: (member: FakeMember, reply: Reply<T>) => void,
    options: EtcdCallOptions,
  ): Promise<T> {
    const { clock } = this.#etcd;
    let { timeoutMs } = options;
    const line = this.#lineFor(options.avoid);
    let { connection } = line;
    if (connection === undefined) {
      const startMs = clock.monotonic();
      connection = await line.ready(timeoutMs);
      timeoutMs = Math.max(1, timeoutMs - (clock.monotonic() - startMs));
    }
    const answer = await connection.call(serve, timeoutMs);
    if ("header" in answer) this.#store.hear((answer.header as AnswerHeader).revision);
    return answer;
  }

  #lineFor(avoid: string | undefined): MemberLine<FakeConnection> {
    const others = this.#etcd.members.filter(({ endpoint }) => endpoint !== avoid);
    if (avoid !== this.#line.endpoint || others.length === 0) return this.#line;
    let line = this.#others.get(avoid);
    if (line === undefined) {
      line = this.#newLine(others);
      this.#others.set(avoid, line);
    }
    return line;
  }

  #newLine(members: readonly FakeMember[]): MemberLine<FakeConnection> {
    const { clock, random } = this.#etcd;
    const endpoints = members.map(({ endpoint }) => endpoint);
    return new MemberLine<FakeConnection>(endpoints, {
      clock,
      random,
      open: (endpoint, ended) => FakeConnection.open(this.#etcd, this.#server, endpoint, ended),
      probe: (connection) =>
        this.#store.check(connection.member.endpoint, (request) =>
          connection.call<RangeAnswer>((member, reply) => member.range(request, reply), probeMs),
        ),
    });
  }
}

/** A watch that begins when there is a connection. */
class WaitingWatch implements EtcdWatch {
  #watch: EtcdWatch | undefined;
  #isClosed = false;
  readonly #follower: WatchFollower;

  constructor(ready: Promise<FakeConnection>, request: WatchRequest, follower: WatchFollower) {
    this.#follower = follower;
    ready.then(
      (connection) => {
        if (!this.#isClosed) this.#watch = connection.watch(request, follower);
      },
      (error: EtcdError) => this.#end({ kind: "lost", error }),
    );
  }

  requestProgress(): void {
    this.#watch?.requestProgress();
  }

  close(): void {
    if (this.#watch !== undefined) this.#watch.close();
    else this.#end({ kind: "closed" });
  }

  #end(end: WatchEnd): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#follower.ended(end);
  }
}

/** Returns the methods of a client, so that a test can replace some: `{ ...methodsOf(client), transact }`. */
export const methodsOf = (client: EtcdClient): EtcdClient => ({
  endpoint: client.endpoint,
  range: (...of) => client.range(...of),
  transact: (...of) => client.transact(...of),
  watch: (...of) => client.watch(...of),
  compact: (...of) => client.compact(...of),
  grantLease: (...of) => client.grantLease(...of),
  renewLease: (...of) => client.renewLease(...of),
  revokeLease: (...of) => client.revokeLease(...of),
  leaseSeconds: (...of) => client.leaseSeconds(...of),
  status: (...of) => client.status(...of),
  expect: (...of) => client.expect(...of),
  close: () => client.close(),
});
