/**
 * The client of a cluster of etcd. All calls and watches go to one member, so that the events of a write come with its
 * answer. The server's name decides about the order in which members are tried, so that servers spread, and those of a
 * member that is lost too. A member is used when it reads the present, and is not behind what was heard before.
 */
import { createHash } from "node:crypto";
import type { Clock } from "#std/clock.ts";
import type { Random } from "#std/random.ts";
import {
  type AnswerHeader,
  type EtcdCallOptions,
  type EtcdClient,
  EtcdError,
  type EtcdWatch,
  type KnownVersion,
  type MemberStatus,
  type RangeAnswer,
  type RangeRequest,
  type Transaction,
  type TransactionAnswer,
  type WatchFollower,
  type WatchRequest,
} from "./client.ts";
import { type EtcdTlsFiles, MemberConnection } from "./connection.ts";
import { HeardStore } from "./heard-store.ts";
import { MemberLine } from "./member-line.ts";
import { readLeaseAnswer, readRangeAnswer, readStatus, readTransactionAnswer, RequestWriter } from "./messages.ts";
import { EtcdWatchStream } from "./watch-stream.ts";

/** The time in which a member must show that it reads the present. */
const probeMs = 2000;
/** The time that a watch waits for a member. */
const watchMs = 10_000;

interface EtcdOptions {
  /** Addresses as in `https://10.0.0.1:2379`, `http://localhost:2379` or `unix:///run/etcd.sock`. */
  readonly endpoints: readonly string[];
  readonly tls: EtcdTlsFiles;
  /** The name of this server, which no other has. */
  readonly server: string;
  readonly clock: Clock;
  readonly random: Random;
}

/** Opens a client, which connects by itself. Throws an `EtcdError` when an address cannot be one. */
export function openEtcd(options: EtcdOptions): EtcdClient {
  return new Members(options);
}

class Members implements EtcdClient {
  readonly #options: EtcdOptions;
  readonly #requests = new RequestWriter();
  readonly #store = new HeardStore();
  readonly #line: MemberLine<MemberConnection>;
  /** The lines without one member, by its address. */
  readonly #others = new Map<string, MemberLine<MemberConnection>>();

  constructor(options: EtcdOptions) {
    this.#options = { ...options, endpoints: orderOf(options) };
    this.#line = this.#newLine(this.#options.endpoints);
  }

  get endpoint(): string {
    return this.#line.endpoint;
  }

  range(request: RangeRequest, options: EtcdCallOptions): Promise<RangeAnswer> {
    return this.#call("KV/Range", this.#requests.range(request), readRangeAnswer, options);
  }

  transact(transaction: Transaction, options: EtcdCallOptions): Promise<TransactionAnswer> {
    return this.#call("KV/Txn", this.#requests.transaction(transaction), readTransactionAnswer, options);
  }

  watch(request: WatchRequest, follower: WatchFollower): EtcdWatch {
    const heard = (revision: number): void => this.#store.hear(revision);
    const watch = new EtcdWatchStream(request, follower, this.#options.clock, this.#requests, heard);
    const { connection } = this.#line;
    if (connection !== undefined) watch.open(connection);
    else
      this.#line.ready(watchMs).then(
        (opened) => watch.open(opened),
        (error: EtcdError) => watch.fail(error),
      );
    return watch;
  }

  async compact(revision: number, options: EtcdCallOptions): Promise<void> {
    await this.#call("KV/Compact", this.#requests.compaction(revision), nothing, options);
  }

  async grantLease(seconds: number, options: EtcdCallOptions): Promise<string> {
    return (await this.#call("Lease/LeaseGrant", this.#requests.leaseGrant(seconds), readLeaseAnswer, options)).lease;
  }

  async renewLease(lease: string, options: EtcdCallOptions): Promise<number> {
    // A stream of one renewal is a call like the others.
    return (await this.#call("Lease/LeaseKeepAlive", this.#requests.lease(lease), readLeaseAnswer, options)).seconds;
  }

  async revokeLease(lease: string, options: EtcdCallOptions): Promise<void> {
    await this.#call("Lease/LeaseRevoke", this.#requests.lease(lease), nothing, options);
  }

  async leaseSeconds(lease: string, options: EtcdCallOptions): Promise<number> {
    return (await this.#call("Lease/LeaseTimeToLive", this.#requests.lease(lease), readLeaseAnswer, options)).seconds;
  }

  status(options: EtcdCallOptions): Promise<MemberStatus> {
    return this.#call("Maintenance/Status", this.#requests.empty(), readStatus, options);
  }

  expect(known: () => KnownVersion | undefined, doubted: () => void): void {
    this.#store.known = known;
    this.#store.doubted = doubted;
  }

  close(): void {
    for (const line of [this.#line, ...this.#others.values()]) line.close();
  }

  async #call<T>(method: string, frame: Buffer, read: (bytes: Buffer) => T, options: EtcdCallOptions): Promise<T> {
    const { clock } = this.#options;
    let { timeoutMs } = options;
    const line = this.#lineFor(options.avoid);
    let { connection } = line;
    if (connection === undefined) {
      const startMs = clock.monotonic();
      connection = await line.ready(timeoutMs);
      timeoutMs = Math.max(1, timeoutMs - (clock.monotonic() - startMs));
    }
    const answer = await connection.call(`/etcdserverpb.${method}`, frame, read, timeoutMs);
    if (hasHeader(answer)) this.#store.hear(answer.header.revision);
    return answer;
  }

  #lineFor(avoid: string | undefined): MemberLine<MemberConnection> {
    const { endpoints } = this.#options;
    if (avoid === undefined || avoid !== this.#line.endpoint) return this.#line;
    let line = this.#others.get(avoid);
    if (line !== undefined) return line;
    const others = endpoints.filter((endpoint) => endpoint !== avoid);
    if (others.length === 0) return this.#line;
    line = this.#newLine(others);
    this.#others.set(avoid, line);
    return line;
  }

  #newLine(endpoints: readonly string[]): MemberLine<MemberConnection> {
    const probe = (connection: MemberConnection): Promise<void> =>
      this.#store.check(connection.endpoint, (request) =>
        connection.call("/etcdserverpb.KV/Range", this.#requests.range(request), readRangeAnswer, probeMs),
      );
    const { clock, random, tls } = this.#options;
    const open = (endpoint: string, ended: (error: EtcdError) => void): Promise<MemberConnection> =>
      MemberConnection.open(endpoint, tls, clock, ended);
    return new MemberLine(endpoints, { clock, random, open, probe });
  }
}

const nothing = (): undefined => undefined;

const hasHeader = (answer: unknown): answer is { readonly header: AnswerHeader } =>
  typeof answer === "object" && answer !== null && "header" in answer;

/** Returns the addresses in the order in which this server tries them. */
function orderOf({ endpoints, server }: EtcdOptions): string[] {
  if (endpoints.length === 0) throw new EtcdError("invalid", "no address of etcd is given");
  for (const endpoint of endpoints) {
    if (!/^(?:https?:\/\/[^/?#]+\/?|unix:\/\/.+)$/.test(endpoint) || !URL.canParse(endpoint))
      throw new EtcdError("invalid", `${endpoint} is no address of etcd, such as https://10.0.0.1:2379`);
  }
  const rank = (endpoint: string): string => createHash("sha256").update(`${server} ${endpoint}`).digest("hex");
  return [...new Set(endpoints)].sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
}
