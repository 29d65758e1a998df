/**
 * Decides which connections read in a turn of the event loop, and how much. Node reads a socket for as long as it has
 * bytes, and all sockets that have some, before anything else happens: thousands that send as fast as they can would
 * leave no time for others. Reading stops and starts at the handle of a socket, for four reasons:
 *
 * - A connection took its share of a turn, or comes when the turn's share of all is used up. It goes on when those that
 *   stopped before it have had their turn, a few in each.
 * - A user, or the unknown together, have more connections than may be ready at once. The others are looked at in turn,
 *   so that a burst of all of them comes in batches, and everybody else's requests between these. Those of a user all read
 *   once all were idle in their turns, until they bring much at once.
 * - Nobody wants what comes: the body of a request that nobody asked for.
 * - An HTTP/2 connection brings frames that belong to no request or body (`frame-samples.ts`). It has its turn with those
 *   that stopped, and is closed when it goes on.
 *
 * Hot path: up to `connectionBytesMax` nothing is done but counting.
 */
import type { Socket } from "node:net";
import type { Clock } from "#std/clock.ts";
import { LinkedList, type Node } from "#std/linked-list.ts";
import { type FrameAccount, FrameSamples, type SampledConnection } from "./frame-samples.ts";

/** The bytes that one connection may read in a turn: about as much as Node reads at once. */
export const connectionBytesMax = 64 * 1024;
/** The bytes that all may read in a turn: less than a millisecond of work with TLS. */
export const turnBytesMax = 256 * 1024;
/** Connections that go on in a turn. */
export const readersMax = turnBytesMax / connectionBytesMax;
/**
 * The newest connections may send at any time: so many of those with which TLS begins, of those that no user is known of
 * yet, and of each user.
 */
export const activeUnauthenticatedMax = 16;
export const activeOfUserMax = 256;
/**
 * The others have their turn in batches, each for so long. Batches grow while their members send short requests, which
 * cost little, and shrink while they send bodies. TLS handshakes are short and cost much.
 */
export const batchMin = 4;
export const batchUsual = 8;
const batchOfHandshakesMax = 8;
export const batchOfUnauthenticatedMax = 64;
export const batchOfUserMax = 512;
export const batchMs = 5;
/** While the event loop is late, whoever keeps it busy, batches are smaller by this factor. */
const lateShare = 8;
/** The size of short requests, on an average. */
export const shortBytes = 2 * 1024;
/** Batches that read less than this for each member are idle: a user's connections that are all idle all read. */
const idleBytes = 32;
/** A request, and the end of a connection, count as so many bytes more in their turn. */
export const requestBytes = 1024;
/** A batch ends with a turn of which it used at least this part. */
const batchBytesMin = turnBytesMax / 4;

/** The part of Node's handle that starts and stops the reading of a socket, below streams and protocols. */
interface Handle {
  /** Whether the stream above wants to read. */
  readonly reading?: boolean;
  readStart(): unknown;
  readStop(): unknown;
}

/** The connections of one user, or of the unknown. */
interface Group {
  /** Forgets the group, which is empty: those of users come and go. */
  readonly dispose: (() => void) | undefined;
  /** Whether nobody reads for now. */
  isPaused: boolean;
  readonly activeMax: number;
  readonly batchMax: number;
  /** The newest, which read. */
  readonly active: LinkedList<SocketReader>;
  /** The members whose turn it is. */
  readonly batch: LinkedList<SocketReader>;
  /** The batch has at most so many members. */
  batchSize: number;
  /** The number of members that had their turn in this batch, and the bytes that all had read when it began. */
  batchCount: number;
  batchBytes: number;
  /** Members of the batch took so many bytes in the turn of this number. */
  round: number;
  turnBytes: number;
  /** Members that had their turn in a row of idle batches. */
  idleCount: number;
  /** The members that do not read, in the order of their turns. */
  readonly queued: LinkedList<SocketReader>;
}

const newGroup = (activeMax: number, batchMax: number, dispose?: () => void): Group => ({
  dispose,
  batchMax,
  isPaused: false,
  activeMax,
  active: new LinkedList(),
  batch: new LinkedList(),
  batchSize: batchUsual,
  batchCount: 0,
  batchBytes: 0,
  round: 0,
  turnBytes: 0,
  idleCount: 0,
  queued: new LinkedList(),
});

const sizeOf = ({ active, batch, queued }: Group): number => active.size + batch.size + queued.size;

/** One connection's reading. */
export class SocketReader implements SampledConnection {
  readonly #turns: ReadTurns;
  /** The socket below TLS. */
  readonly #socket: Socket;
  /** The number of the count that `bytes` belongs to. */
  round = 0;
  bytes = 0;
  group: Group;
  /** The list of the group that it is in, and its node there. */
  list: LinkedList<SocketReader>;
  listNode: Node<SocketReader> | undefined;
  /** Its node in the list of those that wait for their turn. */
  waitingNode: Node<SocketReader> | undefined;
  /** Accounts for what it reads where the protocol is HTTP/2. */
  frames: FrameAccount | undefined;
  #abused: (() => void) | undefined;
  #isHeld = false;
  #isClosed = false;

  constructor(turns: ReadTurns, socket: Socket, group: Group) {
    this.#turns = turns;
    this.#socket = socket;
    this.group = group;
    this.list = group.active;
    socket.once("close", () => this.close());
  }

  /** Called when `bytes` bytes have come. */
  took(bytes: number): void {
    // The stream above may have started the handle again.
    if (this.#isHeld) this.stop();
    else this.#turns.took(this, bytes);
  }

  /** HTTP/2: looks at what the connection reads from now on; `abuse` is called when too much of it is of no use. */
  sample(abuse: () => void): void {
    if (this.#isClosed) return;
    this.#abused = abuse;
    this.frames = this.#turns.sample(this);
  }

  /** It read too much of no use. */
  abuse(): void {
    this.#abused?.();
    this.close();
  }

  /** HTTP/2: so many bytes of a body have come. */
  tookBody(bytes: number): void {
    this.frames?.tookBody(bytes);
    this.took(bytes);
  }

  /** A request has come. */
  tookRequest(): void {
    this.frames?.tookRequest();
    this.took(requestBytes);
  }

  /** The client may go on with what it was told to stop, which HTTP/2 takes without a word to us. */
  meter(): void {
    if (!this.#isClosed) this.#turns.meter(this);
  }

  /** It brought a request that was answered, and all of it. */
  wasUseful(): void {
    if (!this.#isClosed) this.#turns.refresh(this);
  }

  /** TLS stands. */
  secured(): void {
    if (!this.#isClosed) this.#turns.secured(this);
  }

  /** The connection is of this user. False if that user has so many already. */
  identify(user: string, connectionsMax: number): boolean {
    return this.#isClosed || this.#turns.join(this, user, connectionsMax);
  }

  /** Reads nothing until `release`. */
  hold(): void {
    if (this.#isHeld) return;
    this.#isHeld = true;
    this.stop();
  }

  release(): void {
    if (!this.#isHeld || this.#isClosed) return;
    this.#isHeld = false;
    this.start();
  }

  /** Reads nothing any more. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.hold();
    this.#turns.leave(this);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  get bytesWritten(): number {
    return this.#socket.bytesWritten;
  }

  /** Stops the handle: for `ReadTurns`. */
  stop(): void {
    this.#handle?.readStop();
  }

  /** Reads, if nothing is against it. */
  start(): void {
    const { isPaused, queued } = this.group;
    if (this.#isHeld || isPaused || this.list === queued || this.waitingNode !== undefined) return;
    const handle = this.#handle;
    // A stream whose reader paused it starts by itself.
    if (handle?.reading !== false) handle?.readStart();
  }

  /** Node has no public way to stop reading at once: a paused stream reads on until its buffer is full. */
  get #handle(): Handle | null | undefined {
    return (this.#socket as unknown as { readonly _handle: Handle | null })._handle; // `null` once it is closed
  }
}

export class ReadTurns {
  readonly #clock: Clock;
  /** Grows when counting begins again. */
  #round = 1;
  #bytes = 0;
  #isAwaited = false;
  readonly #waiting = new LinkedList<SocketReader>();
  /** Metered ones that have their turn. */
  #metered: SocketReader[] = [];
  readonly #next = (): void => this.#advance();
  /** The connections with which TLS begins, and those of which no user is known. */
  readonly #handshaking = newGroup(activeUnauthenticatedMax, batchOfHandshakesMax);
  readonly #unauthenticated = newGroup(activeUnauthenticatedMax, batchOfUnauthenticatedMax);
  readonly #users = new Map<string, Group>();
  /** Groups of which not all may read. */
  readonly #rotating = new Set<Group>();
  readonly #samples: FrameSamples;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#samples = new FrameSamples(clock);
  }

  /** The reading of a new connection. */
  open(socket: Socket): SocketReader {
    const reader = new SocketReader(this, socket, this.#handshaking);
    this.#enter(reader, this.#handshaking);
    return reader;
  }

  secured(reader: SocketReader): void {
    this.#leaveGroup(reader);
    this.#enter(reader, this.#unauthenticated);
    reader.start();
  }

  /** The number of those that stopped and wait for their turn. */
  get waiting(): number {
    return this.#waiting.size;
  }

  took(reader: SocketReader, bytes: number): void {
    if (reader.round !== this.#round) {
      reader.round = this.#round;
      reader.bytes = 0;
    }
    reader.bytes += bytes;
    this.#count(reader, bytes);
    if (reader.bytes >= connectionBytesMax || this.#bytes >= turnBytesMax) this.#wait(reader);
  }

  sample(reader: SocketReader): FrameAccount {
    return this.#samples.open(reader);
  }

  meter(reader: SocketReader): void {
    if (reader.frames !== undefined) reader.frames.isMetered = true;
    this.#wait(reader);
  }

  join(reader: SocketReader, user: string, connectionsMax: number): boolean {
    let group = this.#users.get(user);
    if (group !== undefined && sizeOf(group) >= connectionsMax) return false;
    if (group === undefined) {
      group = newGroup(activeOfUserMax, batchOfUserMax, () => this.#users.delete(user));
      this.#users.set(user, group);
    }
    this.#leaveGroup(reader);
    this.#enter(reader, group);
    reader.start();
    return true;
  }

  /** Among many connections of a user those that are used come before those that only send. */
  refresh(reader: SocketReader): void {
    if (!this.#rotating.has(reader.group)) return;
    this.#enter(reader, reader.group);
    reader.start();
  }

  leave(reader: SocketReader): void {
    if (reader.waitingNode !== undefined) this.#waiting.remove(reader.waitingNode);
    reader.waitingNode = undefined;
    if (reader.frames !== undefined) this.#samples.leave(reader.frames);
    this.#leaveGroup(reader);
    this.#count(reader, requestBytes);
  }

  /** The connections of which no user is known read nothing, or go on. */
  pauseUnauthenticated(isPaused: boolean): void {
    for (const group of [this.#handshaking, this.#unauthenticated]) {
      if (group.isPaused === isPaused) return;
      group.isPaused = isPaused;
      for (const reader of [...group.active.members(), ...group.batch.members()]) {
        if (isPaused) reader.stop();
        else reader.start();
      }
    }
  }

  /** Counts what the turn is used for. */
  #count({ group, list }: SocketReader, bytes: number): void {
    this.#bytes += bytes;
    if (list === group.batch) {
      if (group.round !== this.#round) {
        group.round = this.#round;
        group.turnBytes = 0;
      }
      group.turnBytes += bytes;
    }
    // Little in sum needs no new count, even if it came in many turns.
    if (this.#bytes < connectionBytesMax) return;
    this.#await();
    const isBatchOver = list === group.batch && this.#bytes >= turnBytesMax && group.turnBytes >= batchBytesMin;
    if (isBatchOver) this.#endBatch(group);
  }

  #wait(reader: SocketReader): void {
    if (reader.waitingNode !== undefined) return;
    reader.waitingNode = this.#waiting.add(reader);
    reader.stop();
    this.#await();
  }

  #await(): void {
    if (this.#isAwaited) return;
    this.#isAwaited = true;
    setImmediate(this.#next);
  }

  #advance(): void {
    this.#isAwaited = false;
    this.#round++;
    this.#bytes = 0;
    for (const reader of this.#metered) this.#look(reader);
    this.#metered = [];
    for (let left = turnBytesMax; left > 0; ) {
      const reader = this.#waiting.first;
      if (reader?.waitingNode === undefined) break;
      this.#waiting.remove(reader.waitingNode);
      reader.waitingNode = undefined;
      reader.start();
      const isMetered = reader.frames?.isMetered === true;
      if (isMetered) this.#metered.push(reader);
      // It may bring as much as it did before it stopped.
      left -= isMetered ? connectionBytesMax : Math.min(connectionBytesMax, Math.max(requestBytes, reader.bytes));
    }
    if (this.#waiting.size > 0 || this.#metered.length > 0) this.#await();
  }

  /** A metered one had its turn: it reads freely again if it had little to read. */
  #look(reader: SocketReader): void {
    const { frames, waitingNode } = reader;
    if (frames === undefined || reader.isClosed || waitingNode !== undefined) return;
    if (frames.isBusy()) this.#wait(reader);
    else frames.isMetered = false;
  }

  #enter(reader: SocketReader, group: Group): void {
    const { active, activeMax, batch, queued } = group;
    reader.group = group;
    this.#move(reader, active);
    if (active.size <= activeMax) return;
    if (isOpen(group)) {
      this.#move(active.first!, batch); // it has more than allowed
      return;
    }
    this.#queue(active.first, queued);
    this.#startRotating(group);
  }

  #startRotating(group: Group): void {
    if (this.#rotating.size === 0) this.#rotateSoon();
    this.#rotating.add(group);
  }

  /**
   * The turn is used up, and a good part of it by the batch, which ends. Members that have read nothing in this turn come
   * first in the next batch. Node asks for the next socket only when it has handed over what it read, so that they stay
   * unread.
   */
  #endBatch(group: Group): void {
    const { batch, queued } = group;
    for (const reader of batch.members()) {
      const isUnread = reader.round !== this.#round;
      if (isUnread) group.batchCount--;
      this.#leaveList(reader);
      reader.list = queued;
      reader.listNode = isUnread ? queued.addFirst(reader) : queued.add(reader);
      reader.stop();
    }
    group.batchSize = batchUsual;
    this.#startRotating(group);
  }

  #leaveGroup(reader: SocketReader): void {
    if (reader.listNode === undefined) return;
    this.#leaveList(reader);
    if (sizeOf(reader.group) === 0) reader.group.dispose?.();
  }

  #leaveList(reader: SocketReader): void {
    const { group, list, listNode } = reader;
    if (listNode === undefined) return;
    list.remove(listNode);
    reader.listNode = undefined;
    // The bytes that it read in its turn still count, although it is no longer asked.
    if (list === group.batch) group.batchBytes -= reader.bytesRead;
  }

  #move(reader: SocketReader, list: LinkedList<SocketReader>): void {
    this.#leaveList(reader);
    reader.list = list;
    reader.listNode = list.add(reader);
    const { group } = reader;
    if (list !== group.batch) return;
    group.batchCount++;
    group.batchBytes += reader.bytesRead;
  }

  #queue(reader: SocketReader | undefined, queued: LinkedList<SocketReader>): void {
    if (reader === undefined) return;
    this.#move(reader, queued);
    reader.stop();
  }

  #rotateSoon(): void {
    const dueMs = this.#clock.monotonic() + batchMs;
    this.#clock.after(batchMs, () => this.#rotate(this.#clock.monotonic() - dueMs));
  }

  /** The next batch of each group that is not open. */
  #rotate(overdueMs: number): void {
    for (const group of this.#rotating) {
      adapt(group, overdueMs > batchMs);
      const { batch, batchSize, queued } = group;
      for (let count = Math.min(batchSize, queued.size); count > 0; count--) {
        const next = queued.first!; // there are that many
        this.#move(next, batch);
        next.start();
      }
      while (batch.size > batchSize) this.#queue(batch.first, queued);
      // The turn of all of them begins, also of those that stay.
      group.batchCount = batch.size;
      group.batchBytes = bytesOf(batch);
      if (queued.size === 0) this.#rotating.delete(group);
    }
    if (this.#rotating.size > 0) this.#rotateSoon();
  }
}

/** Decides how large the next batch is: smaller if the last one brought much, or while the event loop is late. */
function adapt(group: Group, isLate: boolean): void {
  const { batch, batchSize, batchCount, batchBytes, batchMax, queued } = group;
  const bytes = bytesOf(batch) - batchBytes;
  group.idleCount = bytes > batchCount * idleBytes ? 0 : group.idleCount + batchCount;
  const most = isLate ? Math.max(batchMin, batchMax / lateShare) : batchMax;
  if (bytes > batchCount * shortBytes) group.batchSize = Math.max(batchMin, batchSize / 2);
  else group.batchSize = batchSize > most ? Math.max(most, batchSize / 2) : Math.min(most, batchSize * 2);
  // All of a user's were idle in their turns: they cost nothing, and turns would only keep them waiting.
  if (isOfUser(group) && group.idleCount > batch.size + queued.size) {
    group.batchSize = batch.size + queued.size;
    group.idleCount = 0;
  }
}

const isOfUser = ({ dispose }: Group): boolean => dispose !== undefined;

/** Whether a user's connections are more than may always read, and all read. */
const isOpen = (group: Group): boolean => isOfUser(group) && group.batch.size > 0 && group.queued.size === 0;

const bytesOf = (batch: LinkedList<SocketReader>): number =>
  batch.members().reduce((sum, { bytesRead }) => sum + bytesRead, 0);
