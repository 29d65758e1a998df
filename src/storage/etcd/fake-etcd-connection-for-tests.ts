/**
 * A connection from a server to a member of the etcd in memory, for tests. It fails as `MemberConnection` does: a broken
 * one fails all its calls and watches, and one that is silent does so after two deadlines in a row or a ping without an
 * answer.
 */
import {
  EtcdError,
  type EtcdErrorKind,
  type EtcdEvent,
  type EtcdWatch,
  type WatchEnd,
  type WatchFollower,
  type WatchRequest,
} from "./client.ts";
import type { FakeEtcd, FakeMember, MemberWatch, Reply, WatchMessage } from "./fake-etcd-for-tests.ts";
import { type Failure, isFailure, refused } from "./fake-etcd-store-for-tests.ts";

const connectMs = 2000;
const pingMs = 5500;
const pongMs = 5000;
const missesMax = 2;
/** A call with less time says nothing about the member. */
const fairMs = 500;
const createMs = 5000;

/** Lets a member do a call. */
type Serve<T extends object> = (member: FakeMember, reply: Reply<T>) => void;

export class FakeConnection {
  readonly etcd: FakeEtcd;
  readonly server: string;
  readonly member: FakeMember;
  readonly #ended: (error: EtcdError) => void;
  /** The calls and watches on their way: each takes the error that ends it. */
  readonly #open = new Set<(error: EtcdError) => void>();
  #misses = 0;
  /** Whether it takes new calls. */
  isOpen = true;
  #isBroken = false;

  private constructor(etcd: FakeEtcd, server: string, member: FakeMember, ended: (error: EtcdError) => void) {
    this.etcd = etcd;
    this.server = server;
    this.member = member;
    this.#ended = ended;
    member.connections.add(this);
    this.#pingLater();
  }

  /** Opens a connection. `ended` is called once, when it takes no new calls any more. */
  static open(
    etcd: FakeEtcd,
    server: string,
    endpoint: string,
    ended: (error: EtcdError) => void,
  ): Promise<FakeConnection> {
    const member = etcd.members.find((one) => one.endpoint === endpoint)!;
    return new Promise((resolve, reject) => {
      const fail = (message: string): void => reject(errorOf(refused("unsent", message), member));
      const cancel = etcd.clock.after(connectMs, () => fail("no connection in 2 s"));
      // The kernel of a stopped member takes connections too.
      etcd.carry(server, member.name, etcd.delay(), () =>
        etcd.carry(member.name, server, etcd.delay(), () => {
          cancel();
          if (member.state === "dead") fail("connection refused");
          else resolve(new FakeConnection(etcd, server, member, ended));
        }),
      );
    });
  }

  call<T extends object>(serve: Serve<T>, timeoutMs: number): Promise<T> {
    const { etcd, member } = this;
    return new Promise((resolve, reject) => {
      let isOver = false;
      const fail = (error: EtcdError): void => {
        if (!finish()) return;
        reject(error);
      };
      const finish = (): boolean => {
        if (isOver) return false;
        isOver = true;
        cancel();
        this.#open.delete(fail);
        return true;
      };
      const answered = (answer: T | Failure): void => {
        if (isOver) return;
        this.#misses = 0;
        if (!isFailure(answer)) {
          finish();
          return resolve(answer);
        }
        const error = errorOf(answer, member);
        fail(error);
        if (answer.message === "no leader") this.#retire(error);
      };
      const cancel = etcd.clock.after(timeoutMs, () => {
        fail(errorOf(refused("unanswered", `no answer in ${timeoutMs / 1000} s`), member));
        if (timeoutMs >= fairMs) this.#miss();
      });
      this.#open.add(fail);
      this.#send(() => {
        if (isOver && !etcd.happens(etcd.mishaps.lateCall)) return;
        this.#serve(serve, answered);
      });
    });
  }

  /** Lets the member do a call, or not. */
  #serve<T extends object>(serve: Serve<T>, answered: Reply<T>): void {
    const { etcd, member } = this;
    const answer: Reply<T> = (result) => member.run(() => this.#answer(() => answered(result)));
    if (member.isLeaderless) return answer(refused("unsent", "no leader"));
    if (etcd.happens(etcd.mishaps.refusal)) return answer(refused("unsent", "too many requests"));
    serve(member, etcd.happens(etcd.mishaps.lostAnswer) ? () => undefined : answer);
    if (etcd.happens(etcd.mishaps.brokenConnection)) this.breakSoon();
  }

  watch(request: WatchRequest, follower: WatchFollower): EtcdWatch {
    return new FakeWatch(this, request, follower);
  }

  /** Sends something to the member, where it is done when the member can. */
  #send(run: () => void): void {
    const { etcd, member, server } = this;
    etcd.carry(server, member.name, etcd.delay(), () => {
      // A connection that the server has given up is closed at the member too, but perhaps not yet.
      if (member.connections.has(this)) member.run(run);
    });
  }

  #answer(run: () => void): void {
    const { etcd, member, server } = this;
    etcd.carry(member.name, server, etcd.delay(), run);
  }

  /** Adds what ends with the connection. */
  add(end: (error: EtcdError) => void): void {
    this.#open.add(end);
  }

  remove(end: (error: EtcdError) => void): void {
    this.#open.delete(end);
  }

  /** Sends something about a watch. */
  tell(run: () => void): void {
    this.#send(run);
  }

  #miss(): void {
    this.#misses++;
    if (this.#misses >= missesMax) this.break("2 calls in a row were not answered in time");
  }

  /** Breaks as the network does: the server finds out a little later. */
  breakSoon(): void {
    this.member.connections.delete(this);
    this.etcd.clock.after(this.etcd.delay(), () => this.close());
  }

  /** Takes no new calls, and lets those on their way end. */
  #retire(error: EtcdError): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#ended(error);
  }

  close(): void {
    this.break("the connection was closed");
  }

  break(message: string): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    const error = errorOf(refused("unanswered", message), this.member);
    this.#retire(error);
    for (const end of this.#open) end(error);
    // The member finds out later, if it can: what was sent before may still be done.
    this.etcd.carry(this.server, this.member.name, this.etcd.delay(), () =>
      this.member.run(() => this.member.connections.delete(this)),
    );
  }

  #pingLater(): void {
    this.etcd.clock.after(pingMs, () => {
      if (this.#isBroken) return;
      this.#pingLater();
      const cancel = this.etcd.clock.after(pongMs, () => this.break("no answer to a ping in 5 s"));
      this.#send(() => this.#answer(cancel));
    });
  }
}

/** A watch as the server has it. What the member sends arrives in order. */
class FakeWatch implements EtcdWatch, MemberWatch {
  readonly key: string;
  readonly end: string;
  next: number;
  isSynced = false;
  readonly #connection: FakeConnection;
  readonly #follower: WatchFollower;
  readonly #withPrevious: boolean;
  readonly #lost = (error: EtcdError): void => this.#end({ kind: "lost", error });
  #cancelTimer: () => void;
  #isOver = false;
  /** The messages on their way, in the order in which they were sent. */
  readonly #queue: WatchMessage[] = [];
  /** The time before which nothing else arrives. */
  #arrivesMs = 0;

  constructor(connection: FakeConnection, request: WatchRequest, follower: WatchFollower) {
    this.key = request.key;
    this.end = request.end;
    this.next = request.from;
    this.#withPrevious = request.withPrevious === true;
    this.#connection = connection;
    this.#follower = follower;
    connection.add(this.#lost);
    connection.tell(() => {
      if (!this.#isOver) connection.member.open(this);
    });
    this.#cancelTimer = connection.etcd.clock.after(createMs, () =>
      this.#lost(errorOf(refused("unanswered", "no watch in 5 s"), connection.member)),
    );
  }

  requestProgress(): void {
    if (!this.#isOver) this.#connection.tell(() => this.#connection.member.progress(this));
  }

  close(): void {
    this.#end({ kind: "closed" });
  }

  /** Takes a message at the member. */
  send(message: WatchMessage): void {
    const { etcd, member, server } = this.#connection;
    member.run(() => {
      const now = etcd.clock.monotonic();
      this.#arrivesMs = Math.max(this.#arrivesMs, now + etcd.delay());
      this.#queue.push(message);
      etcd.carry(member.name, server, this.#arrivesMs - now, () => {
        const next = this.#queue.shift();
        if (!this.#isOver && next !== undefined) this.#take(next);
      });
    });
  }

  #take(message: WatchMessage): void {
    switch (message.kind) {
      case "created":
        return this.#cancelTimer();
      case "progress":
        return this.#follower.progressed(message.revision);
      case "compacted":
        return this.#end({ kind: "compacted", compacted: message.compacted });
      case "lost":
        return this.#lost(errorOf(message.failure, this.#connection.member));
      case "events":
        return this.#deliver(message.steps);
    }
  }

  /** Delivers the changes of several revisions, sometimes in several pieces, as long messages come. */
  #deliver(steps: readonly (readonly EtcdEvent[])[]): void {
    const { etcd } = this.#connection;
    const middle = etcd.happens(0.3) ? Math.floor(etcd.random.next() * steps.length) : 0;
    for (const part of [steps.slice(0, middle), steps.slice(middle)]) {
      const last = part.at(-1)?.[0];
      if (last === undefined || this.#isOver) continue;
      const events = part.flat();
      this.#follower.changed(
        this.#withPrevious ? events : events.map((event) => ({ ...event, previous: undefined })),
        last.entry.revision,
      );
    }
  }

  #end(end: WatchEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelTimer();
    this.#connection.remove(this.#lost);
    const { member } = this.#connection;
    this.#connection.tell(() => member.close(this));
    this.#follower.ended(end);
  }
}

function errorOf({ failure, message }: Failure, member: FakeMember): EtcdError {
  return new EtcdError(failure satisfies EtcdErrorKind, `etcd at ${member.endpoint}: ${message}`, member.endpoint);
}
