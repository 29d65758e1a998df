/**
 * Decides which connections read in a turn of the event loop, and how much. Node reads a socket for as long as it has
 * bytes, and all sockets that have some, before anything else happens: thousands that send as fast as they can would
 * leave no time for others. Reading stops and starts at the handle of a socket, for three reasons:
 *
 * - A connection took its share of a turn, or comes when the turn's share of all is used up. It goes on when those that
 *   stopped before it have had their turn, a few in each.
 * - A user, or the unknown together, have more connections than may be ready at once. The others are looked at in turn,
 *   so that a burst of all of them comes in batches, and everybody else's requests between these. Those of a user all read
 *   once all were idle in their turns, until they bring much at once.
 * - Nobody wants what comes: the body of a request that nobody asked for.
 *
 * Hot path: up to `connectionBytesMax` nothing is done but counting.
 */
import type { Socket } from "node:net";
import type { Clock } from "#std/clock.ts";
import { LinkedList, type Node } from "#std/linked-list.ts";
import { Tally } from "#std/tally.ts";
import type { Owner, OwnerBound, OwnerLimits } from "./owner.ts";

/** The maximum bytes that one connection reads in a turn: about as much as Node reads at once. */
export const connectionBytesMax = 64 * 1024;
/** The maximum bytes that all connections read in a turn: less than a millisecond of work with TLS. */
export const turnBytesMax = 256 * 1024;
/** The maximum number of connections that continue in a turn. */
export const readersMax = turnBytesMax / connectionBytesMax;
/**
 * The newest connections may always send: this many of those in the TLS handshake, of those without a known user, and
 * of each user.
 */
export const activeUnauthenticatedMax = 16;
export const activeOfUserMax = 256;
/**
 * All other connections read in batches of `batchMs` each. Batches grow while their members send short requests, which
 * cost little, and shrink while they send bodies. TLS handshakes are short and cost much.
 */
export const batchMin = 4;
export const batchUsual = 8;
const batchOfHandshakesMax = 8;
export const batchOfUnauthenticatedMax = 64;
export const batchOfUserMax = 512;
export const batchMs = 5;
/** The factor by which batches are smaller while the event loop is late, whatever keeps it busy. */
const lateShare = 8;
/** The average size of short requests in bytes. */
export const shortBytes = 2 * 1024;
/**
 * Batches that read fewer bytes than this for each member are idle. If all connections of a user are idle, all of them
 * read.
 */
const idleBytes = 32;
/** The bytes that a request, or the end of a connection, additionally counts in a turn. */
export const requestBytes = 1024;
/** The minimum bytes of a turn that a batch must have used for the turn to end the batch. */
const batchBytesMin = turnBytesMax / 4;

/** The part of Node's handle that starts and stops the reading of a socket, below streams and protocols. */
interface Handle {
  /** Whether the stream above wants to read. */
  reading?: boolean;
  readStart(): unknown;
  readStop(): unknown;
}

/** The connections of one user, or of all unknown users. */
interface Group {
  /** Forgets the group when it is empty; groups of users are temporary. */
  readonly dispose: (() => void) | undefined;
  /** Whether no member reads for now. */
  isPaused: boolean;
  readonly activeMax: number;
  readonly batchMax: number;
  /** The newest members, which always read. */
  readonly active: LinkedList<SocketReader>;
  /** The members that read in this batch. */
  readonly batch: LinkedList<SocketReader>;
  /** The maximum number of members in the batch. */
  batchSize: number;
  /**
   * The number of members that have had their turn in this batch, and the bytes that all of them had read before it.
   */
  batchCount: number;
  batchBytes: number;
  /** The number of a turn, and the bytes that members of the batch read in it. */
  round: number;
  turnBytes: number;
  /** The number of members that had their turn in consecutive idle batches. */
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

/** The reading of one connection. */
export class SocketReader {
  readonly #turns: ReadTurns;
  /** The socket below TLS. */
  readonly #socket: Socket;
  /** The number of the count to which `bytes` belongs. */
  round = 0;
  bytes = 0;
  group: Group;
  /** The list of the group that contains the reader, and its node in this list. */
  list: LinkedList<SocketReader>;
  listNode: Node<SocketReader> | undefined;
  /** The node in the list of readers that wait for their turn. */
  waitingNode: Node<SocketReader> | undefined;
  /** The plane of the user; empty outside of planes, and while the user is not known. */
  plane = "";
  #isHeld = false;
  #isClosed = false;

  constructor(turns: ReadTurns, socket: Socket, group: Group) {
    this.#turns = turns;
    this.#socket = socket;
    this.group = group;
    this.list = group.active;
    socket.once("close", () => this.close());
  }

  /** Records that `bytes` bytes have arrived. */
  took(bytes: number): void {
    // The stream above may have started the handle again.
    if (this.#isHeld) this.stop();
    else this.#turns.took(this, bytes);
  }

  /** Records that a request has arrived. */
  tookRequest(): void {
    this.took(requestBytes);
  }

  /** Records that a whole request has arrived and was answered. */
  wasUseful(): void {
    if (!this.#isClosed) this.#turns.refresh(this);
  }

  /** Records that the TLS handshake is complete. */
  secured(): void {
    if (!this.#isClosed) this.#turns.secured(this);
  }

  /** Assigns the connection to a user. Returns the limit that it exceeds; `undefined` when there is room for it. */
  identify(owner: Owner, limits: OwnerLimits): OwnerBound | undefined {
    return this.#isClosed ? undefined : this.#turns.join(this, owner, limits);
  }

  /** Stops reading until `release` is called. */
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

  /** Stops reading for ever. */
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

  /** Stops the handle. Called by `ReadTurns` only. */
  stop(): void {
    this.#handle?.readStop();
  }

  /** Starts to read, unless something prevents it. */
  start(): void {
    const { isPaused, queued } = this.group;
    if (this.#isHeld || isPaused || this.list === queued || this.waitingNode !== undefined) return;
    const handle = this.#handle;
    // A stream that was paused by its reader starts by itself.
    if (handle?.reading !== false) handle?.readStart();
  }

  get #handle(): Handle | null | undefined {
    return handleOf(this.#socket);
  }
}

/** Node has no public way to stop reading at once: a paused stream reads on until its buffer is full. */
const handleOf = (socket: Socket): Handle | null | undefined =>
  (socket as unknown as { readonly _handle: Handle | null })._handle; // `null` once it is closed

/** Stops the reading of a socket that nobody reads yet. The stream that is laid over it begins anew. */
export function stopReading(socket: Socket): void {
  const handle = handleOf(socket);
  if (handle === null || handle === undefined) return;
  handle.readStop();
  handle.reading = false;
}

export class ReadTurns {
  readonly #clock: Clock;
  /** The number of the current count; it grows when counting begins again. */
  #round = 1;
  #bytes = 0;
  #isAwaited = false;
  readonly #waiting = new LinkedList<SocketReader>();
  readonly #next = (): void => this.#advance();
  /** The connections in the TLS handshake, and those without a known user. */
  readonly #handshaking = newGroup(activeUnauthenticatedMax, batchOfHandshakesMax);
  readonly #unauthenticated = newGroup(activeUnauthenticatedMax, batchOfUnauthenticatedMax);
  /** The connections of each user, by its account. */
  readonly #users = new Map<string, Group>();
  /** The number of connections of the users of each plane. */
  readonly #planes = new Tally();
  /** The groups in which not all members may read. */
  readonly #rotating = new Set<Group>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the reading of a new connection. */
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

  /** The number of connections that stopped and wait for their turn. */
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

  join(reader: SocketReader, { account, plane }: Owner, limits: OwnerLimits): OwnerBound | undefined {
    const { connectionsPerPlane, connectionsPerUser } = limits;
    const isInPlane = plane !== "";
    if (isInPlane && this.#planes.of(plane) >= connectionsPerPlane) return "plane";
    const ownMax = isInPlane ? Math.min(connectionsPerUser, Math.ceil(connectionsPerPlane / 2)) : connectionsPerUser;
    let group = this.#users.get(account);
    if (group !== undefined && sizeOf(group) >= ownMax) return "user";
    if (group === undefined) {
      group = newGroup(activeOfUserMax, batchOfUserMax, () => this.#users.delete(account));
      this.#users.set(account, group);
    }
    this.#leaveGroup(reader);
    this.#enter(reader, group);
    reader.plane = plane;
    if (isInPlane) this.#planes.add(plane, 1);
    reader.start();
    return undefined;
  }

  /** Moves a used connection of a user with many connections before those that only send. */
  refresh(reader: SocketReader): void {
    if (!this.#rotating.has(reader.group)) return;
    this.#enter(reader, reader.group);
    reader.start();
  }

  leave(reader: SocketReader): void {
    if (reader.waitingNode !== undefined) this.#waiting.remove(reader.waitingNode);
    reader.waitingNode = undefined;
    this.#leaveGroup(reader);
    if (reader.plane !== "") this.#planes.add(reader.plane, -1);
    this.#count(reader, requestBytes);
  }

  /** Pauses or resumes the reading of connections whose user is not known. */
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

  /** Counts the bytes that a turn is used for. */
  #count({ group, list }: SocketReader, bytes: number): void {
    this.#bytes += bytes;
    if (list === group.batch) {
      if (group.round !== this.#round) {
        group.round = this.#round;
        group.turnBytes = 0;
      }
      group.turnBytes += bytes;
    }
    // Few bytes in total need no new count, even if they arrived in many turns.
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
    for (let bytesLeft = turnBytesMax; bytesLeft > 0; ) {
      const reader = this.#waiting.first;
      if (reader?.waitingNode === undefined) break;
      this.#waiting.remove(reader.waitingNode);
      reader.waitingNode = undefined;
      reader.start();
      // The connection may bring as many bytes as it did before it stopped.
      bytesLeft -= Math.min(connectionBytesMax, Math.max(requestBytes, reader.bytes));
    }
    if (this.#waiting.size > 0) this.#await();
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
    // The bytes that it read in its turn still count, although it has left the batch.
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

  /** Begins the next batch of each group in which not all members read. */
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
      // The turn of all members begins, also of those that stay.
      group.batchCount = batch.size;
      group.batchBytes = bytesOf(batch);
      if (queued.size === 0) this.#rotating.delete(group);
    }
    if (this.#rotating.size > 0) this.#rotateSoon();
  }
}

/** Sets the size of the next batch: smaller if the last one brought much, or while the event loop is late. */
function adapt(group: Group, isLate: boolean): void {
  const { batch, batchSize, batchCount, batchBytes, batchMax, queued } = group;
  const bytes = bytesOf(batch) - batchBytes;
  group.idleCount = bytes > batchCount * idleBytes ? 0 : group.idleCount + batchCount;
  const most = isLate ? Math.max(batchMin, batchMax / lateShare) : batchMax;
  if (bytes > batchCount * shortBytes) group.batchSize = Math.max(batchMin, batchSize / 2);
  else group.batchSize = batchSize > most ? Math.max(most, batchSize / 2) : Math.min(most, batchSize * 2);
  // All connections of the user were idle in their turns: they cost nothing, and turns would only delay them.
  if (isOfUser(group) && group.idleCount > batch.size + queued.size) {
    group.batchSize = batch.size + queued.size;
    group.idleCount = 0;
  }
}

const isOfUser = ({ dispose }: Group): boolean => dispose !== undefined;

/** Whether all connections of a user read, although they are more than may always read. */
const isOpen = (group: Group): boolean => isOfUser(group) && group.batch.size > 0 && group.queued.size === 0;

const bytesOf = (batch: LinkedList<SocketReader>): number =>
  batch.members().reduce((sum, { bytesRead }) => sum + bytesRead, 0);
