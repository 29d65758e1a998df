/**
 * A watch of etcd: a call whose messages are events, in the order of revisions. A long message comes in fragments, which
 * may divide the events of one revision; these are put together again, and no more than these.
 */
import type { Clock } from "#std/clock.ts";
import {
  EtcdError,
  type EtcdEvent,
  type EtcdWatch,
  type WatchEnd,
  type WatchFollower,
  type WatchRequest,
} from "./client.ts";
import type { MemberConnection } from "./connection.ts";
import type { CallHandler, OpenCall } from "./grpc-call.ts";
import { readWatchAnswer, type RequestWriter, type WatchAnswer } from "./messages.ts";
import { readStatusError } from "./status.ts";

/** The time in which a member must begin a watch. It asks no other member for this. */
const createMs = 5000;

export class EtcdWatchStream implements EtcdWatch, CallHandler<WatchAnswer> {
  readonly read = readWatchAnswer;
  readonly #request: WatchRequest;
  readonly #follower: WatchFollower;
  readonly #clock: Clock;
  readonly #requests: RequestWriter;
  readonly #heard: (revision: number) => void;
  #connection: MemberConnection | undefined;
  #call: OpenCall | undefined;
  #isOver = false;
  #cancelTimer = (): void => {};
  /** The revision of the last event that was delivered. */
  #last: number;
  /** The events of the last revision of a fragment, whose other events may come with the next one. */
  #held: EtcdEvent[] = [];

  /** `heard` takes each revision that the member mentions. */
  constructor(
    request: WatchRequest,
    follower: WatchFollower,
    clock: Clock,
    requests: RequestWriter,
    heard: (revision: number) => void,
  ) {
    this.#request = request;
    this.#follower = follower;
    this.#clock = clock;
    this.#requests = requests;
    this.#heard = heard;
    this.#last = request.from - 1;
  }

  /** Begins on a connection. */
  open(connection: MemberConnection): void {
    if (this.#isOver) return;
    this.#connection = connection;
    this.#call = connection.stream("/etcdserverpb.Watch/Watch", this.#requests.watch(this.#request), this);
    this.#cancelTimer = this.#clock.after(createMs, () => {
      this.#end({ kind: "lost", error: connection.miss(`no watch in ${createMs / 1000} s`, createMs) });
    });
  }

  requestProgress(): void {
    this.#call?.send(this.#requests.progress());
  }

  close(): void {
    this.#end({ kind: "closed" });
  }

  take({ header, isCreated, isCancelled, compacted, reason, isFragment, events }: WatchAnswer): void {
    const connection = this.#connection!; // it has sent the message
    this.#heard(header.revision);
    if (isCreated) this.#cancelTimer();
    if (compacted > 0) return this.#end({ kind: "compacted", compacted });
    if (isCancelled)
      return this.#end({
        kind: "lost",
        error: readStatusError("2", reason || "the watch was cancelled", connection.endpoint).error,
      });
    if (events.length > 0) return this.#deliver(events, isFragment);
    if (isCreated || isFragment) return;
    this.#follower.progressed(header.revision);
  }

  ended(error: EtcdError | undefined): void {
    const { endpoint } = this.#connection!; // the call was sent on it
    this.#end({
      kind: "lost",
      error: error ?? new EtcdError("unanswered", `etcd at ${endpoint}: the watch was ended`, endpoint),
    });
  }

  /** Tells why the watch cannot begin. */
  fail(error: EtcdError): void {
    this.#end({ kind: "lost", error });
  }

  #deliver(events: EtcdEvent[], isFragment: boolean): void {
    const all = this.#held.length === 0 ? events : [...this.#held, ...events];
    let before = this.#last;
    for (const { entry } of all) {
      if (entry.revision < before || entry.revision <= this.#last) return this.#misorder(entry.revision);
      before = entry.revision;
    }
    let count = all.length;
    if (isFragment) while (count > 0 && all[count - 1]!.entry.revision === before) count--;
    this.#held = all.slice(count);
    if (count === 0) return;
    this.#last = all[count - 1]!.entry.revision;
    this.#follower.changed(count === all.length ? all : all.slice(0, count), this.#last);
  }

  #misorder(revision: number): void {
    const reason = `an event of revision ${revision} came after one of revision ${this.#last}`;
    this.#end({ kind: "lost", error: this.#connection!.break(reason) });
  }

  #end(end: WatchEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelTimer();
    this.#call?.cancel();
    this.#follower.ended(end);
  }
}
