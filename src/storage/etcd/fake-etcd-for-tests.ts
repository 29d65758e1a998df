/**
 * A cluster of etcd in memory, for tests: three members, the links between them and to servers, and what goes wrong with
 * them. All is decided by one `Random` and one `Clock`, so a seed repeats a run to the letter. `fake-etcd.test.ts`
 * compares it with a real etcd.
 *
 * The model, from the outside in:
 *
 * - A *link* carries messages between two names (`m0`, `server-1`) after a delay. A cut link holds them until it is whole.
 *   Between members a cut loses them, since members send again what is missing.
 * - A *member* runs, is stopped (messages wait at it), or is dead (they are lost, and its connections break). It has
 *   applied the first commands of the log, and reads and watches show no more than these.
 * - The *leader* takes proposals at the end of its log (`#tail`), and commits them in order while it hears from a
 *   majority. When another member is elected, a beginning of the tail survives, and nobody can know how much: so a
 *   command whose answer is missing may be done, never be done, or be done later.
 * - A *linearizable read* asks the leader for the index of the last commit, and waits until its member has applied it.
 * - A *lease* is counted by the leader, which revokes it when it is over. A new leader begins to count from the start.
 */
import type { Clock } from "#std/clock.ts";
import type { Random } from "#std/random.ts";
import type {
  AnswerHeader,
  MemberStatus,
  RangeAnswer,
  RangeRequest,
  Transaction,
  TransactionAnswer,
} from "./client.ts";
import type { FakeConnection } from "./fake-etcd-connection-for-tests.ts";
import {
  checkTransaction,
  type Command,
  type Failure,
  FakeStore,
  isFailure,
  isReadOnly,
  type Position,
  refused,
  type Restoration,
  type Transacted,
} from "./fake-etcd-store-for-tests.ts";

/** The chances that something goes wrong with one message or call, each between 0 and 1. */
export interface Mishaps {
  /** The answer of a call is lost, done or not. */
  readonly lostAnswer: number;
  /** The connection breaks when a member has begun with a call. */
  readonly brokenConnection: number;
  /** A member refuses a call, since it has too many. */
  readonly refusal: number;
  /** A message takes up to three seconds. */
  readonly slowMessage: number;
  /** A member takes what others have committed up to two seconds later. */
  readonly lag: number;
  /** A call that its caller has given up is done all the same when it reaches its member. */
  readonly lateCall: number;
}

export const noMishaps: Mishaps = {
  lostAnswer: 0,
  brokenConnection: 0,
  refusal: 0,
  slowMessage: 0,
  lag: 0,
  lateCall: 0,
};

interface FakeEtcdOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** The number of members; 3 when left out. */
  readonly members?: number;
  readonly mishaps?: Mishaps;
  /** The maximum length of the values of a transaction; 1.5 MiB when left out. */
  readonly requestBytesMax?: number;
}

/** Takes the answer of a member to a call. */
export type Reply<T extends object> = (answer: T | Failure) => void;

/** A command on its way. `committed` is called with its index; it is not called when the command is dropped. */
interface Proposal {
  readonly command: Command;
  committed(index: number): void;
}

const leaseCheckMs = 500;
const clusterId = "c1";

const noLeader = refused("unsent", "no leader");
const leaderChanged = refused("unsent", "leader changed");

export class FakeEtcd {
  readonly clock: Clock;
  readonly random: Random;
  store = new FakeStore();
  readonly members: readonly FakeMember[];
  readonly requestBytesMax: number;
  mishaps: Mishaps;
  term = 2;
  #results: (Transacted | Failure | undefined)[] = [undefined];
  readonly #cuts = new Set<string>();
  #held: (() => void)[] = [];
  #leader: FakeMember | undefined;
  /** The proposals that the leader has, and that are not committed. */
  #tail: Proposal[] = [];
  /** Linearizable reads that wait until the leader hears from a majority. */
  #reads: { readonly member: FakeMember; readonly then: (failure: Failure | undefined) => void }[] = [];
  /** The times at which revisions were committed, by revision. */
  commitTimes: number[] = [];
  /** The times at which leases end. */
  readonly #leaseEnds = new Map<string, number>();
  /** The number of times that an older state was restored. What was on its way before is lost. */
  #age = 0;
  #leaseCount = 0;
  #isCheckingLeases = false;

  constructor({
    clock,
    random,
    members = 3,
    mishaps = noMishaps,
    requestBytesMax = 1.5 * 1024 * 1024,
  }: FakeEtcdOptions) {
    this.requestBytesMax = requestBytesMax;
    this.clock = clock;
    this.random = random;
    this.mishaps = mishaps;
    this.members = Array.from({ length: members }, (_, at) => new FakeMember(this, at));
    this.#leader = this.members[0];
  }

  get leader(): FakeMember | undefined {
    return this.#leader;
  }

  happens(chance: number): boolean {
    return chance > 0 && this.random.next() < chance;
  }

  between(min: number, max: number): number {
    return min + this.random.next() * (max - min);
  }

  /** Returns the time that a message takes, in milliseconds. */
  delay(): number {
    if (this.happens(this.mishaps.slowMessage)) return this.between(50, 3000);
    return this.between(0.1, this.happens(0.1) ? 20 : 2);
  }

  /** Cuts the link from a name to another, in this direction. */
  cut(from: string, to: string): void {
    this.#cuts.add(`${from}>${to}`);
    this.#changed();
  }

  /** Makes all links whole, and delivers what they hold. */
  heal(): void {
    this.#cuts.clear();
    const held = this.#held;
    this.#held = [];
    for (const run of held) run();
    this.#changed();
  }

  isCut(from: string, to: string): boolean {
    return this.#cuts.has(`${from}>${to}`);
  }

  /** Brings a message of a server or to a server over its link. */
  carry(from: string, to: string, delayMs: number, run: () => void): void {
    this.clock.after(delayMs, () => {
      if (this.isCut(from, to)) this.#held.push(run);
      else run();
    });
  }

  /** Called when a member or a link has changed: the leader may be lost, or what waited can go on. */
  #changed(): void {
    if (!this.#canLead(this.#leader)) {
      this.clock.after(this.between(1000, 2500), () => {
        if (!this.#canLead(this.#leader)) this.elect();
      });
    } else this.#resume();
    for (const member of this.members) member.lookForLeader();
  }

  /**
   * Ends all members, and gives them the data after a command, as `etcdutl snapshot restore` does for the same addresses.
   * The members start when `start` is called for each.
   */
  restore(index: number, restoration: Restoration): void {
    for (const member of this.members) member.kill();
    this.#age++;
    this.store = this.store.restored(index, restoration);
    this.#results = this.#results.slice(0, index + 1);
    const { revision } = this.store.at(index);
    this.commitTimes = this.commitTimes.slice(0, revision + 1);
    if (this.store.index > index) {
      this.#results.push(undefined);
      this.commitTimes[revision + restoration.bump] = this.clock.monotonic();
    }
    this.term = 1;
    this.#leader = undefined;
    this.#tail = [];
    this.#reads = [];
    this.#leaseEnds.clear();
    for (const lease of this.store.leases.keys()) this.#extendLease(lease);
    for (const member of this.members) member.applied = this.store.index;
  }

  /** Calls back after a time, unless an older state was restored meanwhile. */
  #soon(ms: number, callback: () => void): void {
    const age = this.#age;
    this.clock.after(ms, () => {
      if (this.#age === age) callback();
    });
  }

  memberChanged(): void {
    this.#changed();
  }

  /** Whether a member runs and hears from a majority. */
  #canLead(member: FakeMember | undefined): boolean {
    if (member?.state !== "running") return false;
    const near = this.members.filter((other) => this.areLinked(member, other));
    return near.length * 2 > this.members.length;
  }

  /** Whether two members hear each other. */
  areLinked(a: FakeMember, b: FakeMember): boolean {
    if (a.state !== "running" || b.state !== "running") return false;
    return a === b || !(this.isCut(a.name, b.name) || this.isCut(b.name, a.name));
  }

  /** Makes a member that can lead the leader, perhaps the same one again; there is none if no member can. */
  elect(): void {
    const able = this.members.filter((member) => this.#canLead(member));
    const former = this.#leader;
    this.#leader = able[Math.floor(this.random.next() * able.length)];
    if (this.#leader === undefined) {
      // The former leader keeps its log, which counts for nothing yet.
      for (const member of this.members) member.lookForLeader();
      return;
    }
    this.term++;
    if (former !== this.#leader || this.happens(0.5)) {
      const kept = Math.floor(this.random.next() * (this.#tail.length + 1));
      this.#tail = this.#tail.slice(0, kept);
    }
    const reads = this.#reads;
    this.#reads = [];
    for (const { then } of reads) then(leaderChanged);
    for (const [lease] of this.#leaseEnds) this.#extendLease(lease);
    this.#changed();
  }

  /** Goes on with what waited for a majority. */
  #resume(): void {
    this.#commitSoon();
    for (const member of this.members) this.#replicate(member);
    const reads = this.#reads;
    this.#reads = [];
    for (const { member, then } of reads) this.readIndex(member, then);
  }

  /** Proposes a command through a member. */
  propose(command: Command, member: FakeMember, committed: (index: number) => void): void {
    this.#soon(member === this.#leader ? 0 : this.delay(), () => {
      const leader = this.#leader;
      if (leader === undefined || this.isCut(member.name, leader.name)) return;
      leader.run(() => {
        if (this.#leader !== leader) return;
        this.#tail.push({ command, committed });
        this.#commitSoon();
      });
    });
  }

  #commitSoon(): void {
    if (this.#tail.length > 0) this.#soon(this.delay(), () => this.#commit());
  }

  #commit(): void {
    if (!this.#canLead(this.#leader) || this.#tail.length === 0) return;
    const tail = this.#tail;
    this.#tail = [];
    for (const { command, committed } of tail) {
      const result = this.store.apply(command);
      this.#results.push(result);
      this.commitTimes[this.store.at(this.store.index).revision] ??= this.clock.monotonic();
      if (command.kind === "grant" && this.store.leases.has(command.lease)) this.#extendLease(command.lease);
      if (command.kind === "revoke") this.#leaseEnds.delete(command.lease);
      committed(this.store.index);
    }
    for (const member of this.members) this.#replicate(member);
  }

  /** Returns what became of the command with an index. */
  resultAt(index: number): Transacted | Failure | undefined {
    return this.#results[index];
  }

  /** Lets a member apply what is committed now, a little later. */
  #replicate(member: FakeMember): void {
    const { index } = this.store;
    if (member.applied === index) return;
    const isLate = member !== this.#leader && this.happens(this.mishaps.lag);
    this.#soon(isLate ? this.between(20, 2000) : this.between(0, 3), () => {
      if (this.#leader !== undefined && this.areLinked(member, this.#leader)) member.apply(index);
    });
  }

  /** Calls back when a member has applied all that was committed at some time after this call. */
  readIndex(member: FakeMember, then: (failure: Failure | undefined) => void): void {
    this.#soon(this.delay(), () => {
      const leader = this.#leader;
      if (leader === undefined || !this.#canLead(leader) || !this.areLinked(member, leader))
        this.#reads.push({ member, then });
      else member.whenApplied(this.store.index, () => then(undefined));
    });
  }

  newLease(): string {
    this.#leaseCount++;
    return (0x70_00 + this.#leaseCount).toString(16);
  }

  /** Lets a lease begin anew. Returns its seconds; 0: it does not exist. */
  renew(lease: string): number {
    return this.#leaseEnds.has(lease) ? this.#extendLease(lease) : 0;
  }

  /** Returns the seconds that a lease has left; 0: it does not exist. */
  leaseSeconds(lease: string): number {
    const endMs = this.#leaseEnds.get(lease) ?? 0;
    return Math.max(0, Math.floor((endMs - this.clock.monotonic()) / 1000));
  }

  #extendLease(lease: string): number {
    const seconds = this.store.leases.get(lease)?.seconds ?? 0;
    this.#leaseEnds.set(lease, this.clock.monotonic() + seconds * 1000);
    if (!this.#isCheckingLeases) this.#checkLeases();
    return seconds;
  }

  #checkLeases(): void {
    this.#isCheckingLeases = this.#leaseEnds.size > 0;
    if (!this.#isCheckingLeases) return;
    const leader = this.#leader;
    if (leader !== undefined && this.#canLead(leader)) {
      for (const [lease, endMs] of this.#leaseEnds) {
        if (endMs <= this.clock.monotonic()) this.propose({ kind: "revoke", lease }, leader, () => undefined);
      }
    }
    this.clock.after(leaseCheckMs, () => this.#checkLeases());
  }
}

/** A watch as its member knows it. */
export interface MemberWatch {
  readonly key: string;
  readonly end: string;
  /** The first revision that was not sent. */
  next: number;
  /** Whether it gets changes as they are applied; else it reads what it lacks in pages. */
  isSynced: boolean;
  send(message: WatchMessage): void;
}

export type WatchMessage =
  | { readonly kind: "events"; readonly steps: ReturnType<FakeStore["page"]>["steps"] }
  | { readonly kind: "created" }
  | { readonly kind: "progress"; readonly revision: number }
  | { readonly kind: "compacted"; readonly compacted: number }
  | { readonly kind: "lost"; readonly failure: Failure };

/** The time after which a member looks for watches that lack changes. */
const syncMs = 100;

export class FakeMember {
  readonly name: string;
  readonly id: string;
  readonly endpoint: string;
  readonly connections = new Set<FakeConnection>();
  state: "running" | "stopped" | "dead" = "running";
  /** The index of the last command that it has applied. */
  applied = 0;
  /** Whether it has been without a leader for so long that it says so. */
  isLeaderless = false;
  readonly #etcd: FakeEtcd;
  /** The messages that came while it was stopped. */
  #inbox: (() => void)[] = [];
  #waiting: { readonly index: number; readonly run: () => void }[] = [];
  readonly #watches = new Set<MemberWatch>();

  constructor(etcd: FakeEtcd, at: number) {
    this.#etcd = etcd;
    this.name = `m${at}`;
    this.id = `a${at}`;
    this.endpoint = `http://${this.name}:2379`;
  }

  get position(): Position {
    return this.#etcd.store.at(this.applied);
  }

  /** Stops the process, as SIGSTOP does: everything that comes waits. */
  stop(): void {
    if (this.state === "running") this.state = "stopped";
    this.#etcd.memberChanged();
  }

  /** Ends the process: what it was about to do is lost, and its connections break. */
  kill(): void {
    this.state = "dead";
    this.#inbox = [];
    this.#waiting = [];
    this.#watches.clear();
    for (const connection of this.connections) connection.breakSoon();
    this.#etcd.memberChanged();
  }

  /** Lets the process go on, or starts it again. */
  start(): void {
    this.state = "running";
    const inbox = this.#inbox;
    this.#inbox = [];
    for (const run of inbox) run();
    this.#etcd.memberChanged();
  }

  /** Does something as the process, when it can. */
  run(task: () => void): void {
    if (this.state === "running") task();
    else if (this.state === "stopped") this.#inbox.push(task);
  }

  /** Finds out, after a while, whether it has a leader. */
  lookForLeader(): void {
    const hasLeader = (): boolean => this.#etcd.leader !== undefined && this.#etcd.areLinked(this, this.#etcd.leader);
    if (hasLeader()) {
      this.isLeaderless = false;
      return;
    }
    this.#etcd.clock.after(this.#etcd.between(1000, 4000), () => {
      if (this.state !== "running" || hasLeader()) return;
      this.isLeaderless = true;
      for (const watch of this.#watches) watch.send({ kind: "lost", failure: noLeader });
      this.#watches.clear();
    });
  }

  /** Applies commands up to an index, one by one. */
  apply(index: number): void {
    while (this.applied < index) {
      const before = this.position.revision;
      this.applied++;
      const { position } = this;
      if (position.revision === before) continue;
      for (const watch of this.#watches) if (watch.isSynced) this.#sendPage(watch);
    }
    const due = this.#waiting.filter((waiter) => waiter.index <= this.applied);
    this.#waiting = this.#waiting.filter((waiter) => waiter.index > this.applied);
    for (const { run } of due) run();
  }

  whenApplied(index: number, run: () => void): void {
    if (index <= this.applied) run();
    else this.#waiting.push({ index, run });
  }

  range(request: RangeRequest, reply: Reply<RangeAnswer>): void {
    const read = (failure: Failure | undefined): void => {
      const result = failure ?? this.#etcd.store.range(request, this.position);
      reply(isFailure(result) ? result : { ...result, header: this.#header() });
    };
    if (request.isSerializable === true) read(undefined);
    else this.#etcd.readIndex(this, read);
  }

  transact(transaction: Transaction, reply: Reply<TransactionAnswer>): void {
    const failed = checkTransaction(transaction, this.#etcd.requestBytesMax);
    if (failed !== undefined) return reply(failed);
    const answer = (result: Transacted | Failure | undefined): void => {
      if (isFailure(result)) return reply(result);
      const { revision, succeeded, ranges } = result as Transacted; // that of a transaction
      const header = this.#header(revision);
      reply({ header, succeeded, ranges: ranges.map((range) => ({ ...range, header })) });
    };
    if (!isReadOnly(transaction)) return this.#agree({ kind: "transaction", transaction }, answer);
    this.#etcd.readIndex(this, (failure) => answer(failure ?? this.#etcd.store.read(transaction, this.position)));
  }

  compact(revision: number, reply: Reply<object>): void {
    this.#agree({ kind: "compact", revision }, (result) => reply(isFailure(result) ? result : {}));
  }

  grant(seconds: number, reply: Reply<{ readonly lease: string }>): void {
    const lease = this.#etcd.newLease();
    this.#agree({ kind: "grant", lease, seconds }, (result) => reply(isFailure(result) ? result : { lease }));
  }

  renew(lease: string, reply: Reply<{ readonly seconds: number }>): void {
    this.#etcd.readIndex(this, (failure) => reply(failure ?? { seconds: this.#etcd.renew(lease) }));
  }

  /** Tells the seconds that a lease has left. */
  lease(lease: string, reply: Reply<{ readonly seconds: number }>): void {
    this.#etcd.readIndex(this, (failure) => reply(failure ?? { seconds: this.#etcd.leaseSeconds(lease) }));
  }

  revoke(lease: string, reply: Reply<object>): void {
    this.#agree({ kind: "revoke", lease }, (result) => reply(isFailure(result) ? result : {}));
  }

  status(reply: Reply<MemberStatus>): void {
    const { leader, store } = this.#etcd;
    const alarms = store.room === "alarm" ? ["NOSPACE"] : [];
    const bytes = 20_480;
    reply({
      header: this.#header(),
      version: "3.5.16",
      dbBytes: bytes,
      dbBytesInUse: bytes,
      leader: leader?.id,
      alarms,
    });
  }

  /** Begins a watch. */
  open(watch: MemberWatch): void {
    if (this.isLeaderless) return watch.send({ kind: "lost", failure: noLeader });
    watch.send({ kind: "created" });
    watch.isSynced = watch.next > this.position.revision;
    this.#watches.add(watch);
    if (!watch.isSynced) this.#syncSoon(watch, this.#etcd.between(0, syncMs));
  }

  close(watch: MemberWatch): void {
    this.#watches.delete(watch);
  }

  /** Tells a watch how far it is, if it lacks nothing. */
  progress(watch: MemberWatch): void {
    if (watch.isSynced && this.#watches.has(watch)) watch.send({ kind: "progress", revision: this.position.revision });
  }

  #syncSoon(watch: MemberWatch, delayMs: number): void {
    this.#etcd.clock.after(delayMs, () => this.run(() => this.#sync(watch)));
  }

  /** Sends the next page that a watch lacks. */
  #sync(watch: MemberWatch): void {
    if (!this.#watches.has(watch)) return;
    const { compacted, revision } = this.position;
    if (watch.next < compacted) {
      this.#watches.delete(watch);
      return watch.send({ kind: "compacted", compacted });
    }
    this.#sendPage(watch);
    watch.isSynced = watch.next > revision;
    if (!watch.isSynced) this.#syncSoon(watch, 1);
  }

  #sendPage(watch: MemberWatch): void {
    const { steps, next } = this.#etcd.store.page(watch, watch.next, this.position);
    watch.next = Math.max(watch.next, next);
    if (steps.length > 0) watch.send({ kind: "events", steps });
  }

  /** Lets all members carry out a command, and takes its result once this one has. */
  #agree(command: Command, then: (result: Transacted | Failure | undefined) => void): void {
    this.#etcd.propose(command, this, (index) => {
      this.whenApplied(index, () => then(this.#etcd.resultAt(index)));
    });
  }

  #header(revision = this.position.revision): AnswerHeader {
    return { cluster: clusterId, member: this.id, revision, term: this.#etcd.term };
  }
}
