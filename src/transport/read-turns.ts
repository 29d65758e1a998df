/**
 * Who reads in a turn of the event loop, and how much. Node reads a socket for as long as it has bytes, and all sockets
 * that have some, before anything else happens: thousands that send as fast as they can would leave no time for others.
 * Reading stops and starts at the handle of a socket, for three reasons:
 *
 * - A connection took its share of a turn, or comes when the turn's share of all is used up. It goes on when those that
 *   stopped before it have had their turn, a few in each.
 * - A user, or the unknown together, have more connections than may be ready at once. The others are looked at in turn,
 *   so that a burst of all of them comes in portions, and everybody else's requests between these.
 * - Nobody wants what comes: the body of a request that nobody asked for.
 *
 * Hot path: up to `connectionBytesMax` nothing is done but counting.
 */
import type { Socket } from "node:net";
import type { Clock } from "#std/clock.ts";
import { LinkedList, type Node } from "#std/linked-list.ts";

/** What one connection may read in a turn: about as much as Node reads at once. */
export const connectionBytesMax = 64 * 1024;
/** What all may read in a turn: less than a millisecond of work with TLS. */
export const turnBytesMax = 256 * 1024;
/** Connections that go on in a turn. */
export const readersMax = turnBytesMax / connectionBytesMax;
/**
 * The newest connections may send at any time: so many of those with which TLS begins, of those that no user is known of
 * yet, and of each user.
 */
export const freshStrangersMax = 16;
export const freshOfUserMax = 256;
/**
 * The others have their turn in portions, each for so long. Portions grow while their members send short requests, which
 * cost little, and shrink while they send bodies. TLS handshakes are short and cost much.
 */
export const portionMin = 4;
export const portionUsual = 8;
export const portionOfBeginnersMax = 8;
export const portionOfStrangersMax = 64;
export const portionOfUserMax = 128;
export const portionMs = 5;
/** What short requests have, on an average. */
export const shortBytes = 2 * 1024;

/** The part of Node's handle that starts and stops the reading of a socket, below streams and protocols. */
interface Handle {
  /** Whether the stream above wants to read. */
  readonly reading?: boolean;
  readStart(): unknown;
  readStop(): unknown;
}

/** The connections of one user, or of the unknown. */
interface Group {
  /** Of the user; empty where none is known. */
  readonly user: string;
  /** Whether nobody reads for now. */
  isStill: boolean;
  readonly freshMax: number;
  readonly portionMax: number;
  /** The newest, which read. */
  readonly fresh: LinkedList<SocketReader>;
  /** Those whose turn it is. */
  readonly portion: LinkedList<SocketReader>;
  /** Most of these, and what they had read together when their turn began. */
  portionSize: number;
  portionBytes: number;
  /** Those that do not read, in the order of their turns. */
  readonly parked: LinkedList<SocketReader>;
}

const newGroup = (user: string, freshMax: number, portionMax: number): Group => ({
  user,
  portionMax,
  isStill: false,
  freshMax,
  fresh: new LinkedList(),
  portion: new LinkedList(),
  portionSize: portionUsual,
  portionBytes: 0,
  parked: new LinkedList(),
});

const sizeOf = ({ fresh, portion, parked }: Group): number => fresh.size + portion.size + parked.size;

/** One connection's reading. */
export class SocketReader {
  readonly #turns: ReadTurns;
  /** Below TLS. */
  readonly #socket: Socket;
  /** Of the count that `bytes` belongs to. */
  round = 0;
  bytes = 0;
  group: Group;
  /** Its list in the group, and its place there. */
  list: LinkedList<SocketReader>;
  place: Node<SocketReader> | undefined;
  /** Its place among those that wait for their turn. */
  node: Node<SocketReader> | undefined;
  /** Whether it is watched for what its protocol does not show, and what it had read when its turn began. */
  isMetered = false;
  bytesBefore = 0;
  #isHeld = false;
  #isClosed = false;

  constructor(turns: ReadTurns, socket: Socket, group: Group) {
    this.#turns = turns;
    this.#socket = socket;
    this.group = group;
    this.list = group.fresh;
    socket.once("close", () => this.close());
  }

  /** So many bytes have come. */
  took(bytes: number): void {
    // The stream above may have started the handle again.
    if (this.#isHeld) this.stop();
    else this.#turns.took(this, bytes);
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

  /** Of the handle: for `ReadTurns`. */
  stop(): void {
    this.#handle?.readStop();
  }

  /** Reads, if nothing is against it. */
  start(): void {
    const { isStill, parked } = this.group;
    if (this.#isHeld || isStill || this.list === parked || this.node !== undefined) return;
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
  /** Those with which TLS begins, and those of which no user is known. */
  readonly #beginners = newGroup("", freshStrangersMax, portionOfBeginnersMax);
  readonly #strangers = newGroup("", freshStrangersMax, portionOfStrangersMax);
  readonly #users = new Map<string, Group>();
  /** Groups of which not all may read. */
  readonly #crowds = new Set<Group>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The reading of a new connection. */
  open(socket: Socket): SocketReader {
    const reader = new SocketReader(this, socket, this.#beginners);
    this.#enter(reader, this.#beginners);
    return reader;
  }

  secured(reader: SocketReader): void {
    this.#leaveGroup(reader);
    this.#enter(reader, this.#strangers);
    reader.start();
  }

  /** Those that stopped and wait for their turn. */
  get waiting(): number {
    return this.#waiting.size;
  }

  took(reader: SocketReader, bytes: number): void {
    if (reader.round !== this.#round) {
      reader.round = this.#round;
      reader.bytes = 0;
    }
    reader.bytes += bytes;
    this.#bytes += bytes;
    // Little in sum needs no new count, even if it came in many turns.
    if (this.#bytes < connectionBytesMax) return;
    this.#await();
    if (reader.bytes < connectionBytesMax && this.#bytes < turnBytesMax) return;
    this.#wait(reader);
  }

  meter(reader: SocketReader): void {
    reader.isMetered = true;
    this.#wait(reader);
  }

  join(reader: SocketReader, user: string, connectionsMax: number): boolean {
    let group = this.#users.get(user);
    if (group !== undefined && sizeOf(group) >= connectionsMax) return false;
    if (group === undefined) {
      group = newGroup(user, freshOfUserMax, portionOfUserMax);
      this.#users.set(user, group);
    }
    this.#leaveGroup(reader);
    this.#enter(reader, group);
    reader.start();
    return true;
  }

  /** Among many connections of a user those that are used come before those that only send. */
  refresh(reader: SocketReader): void {
    if (!this.#crowds.has(reader.group)) return;
    this.#enter(reader, reader.group);
    reader.start();
  }

  leave(reader: SocketReader): void {
    if (reader.node !== undefined) this.#waiting.remove(reader.node);
    reader.node = undefined;
    this.#leaveGroup(reader);
  }

  /** The connections of which no user is known read nothing, or go on. */
  still(isStill: boolean): void {
    for (const group of [this.#beginners, this.#strangers]) {
      if (group.isStill === isStill) return;
      group.isStill = isStill;
      for (const reader of [...group.fresh.members(), ...group.portion.members()]) {
        if (isStill) reader.stop();
        else reader.start();
      }
    }
  }

  #wait(reader: SocketReader): void {
    if (reader.node !== undefined) return;
    reader.node = this.#waiting.add(reader);
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
    for (let count = 0; count < readersMax; count++) {
      const reader = this.#waiting.first;
      if (reader?.node === undefined) break;
      this.#waiting.remove(reader.node);
      reader.node = undefined;
      reader.start();
      if (!reader.isMetered) continue;
      reader.bytesBefore = reader.bytesRead;
      this.#metered.push(reader);
    }
    if (this.#waiting.size > 0 || this.#metered.length > 0) this.#await();
  }

  /** A metered one had its turn: it reads freely again if it had little to read. */
  #look(reader: SocketReader): void {
    if (reader.isClosed || reader.node !== undefined) return;
    if (reader.bytesRead - reader.bytesBefore < quietBytes) reader.isMetered = false;
    else this.#wait(reader);
  }

  #enter(reader: SocketReader, group: Group): void {
    const { fresh, freshMax, parked } = group;
    reader.group = group;
    this.#move(reader, fresh);
    if (fresh.size <= freshMax) return;
    this.#park(fresh.first, parked);
    if (this.#crowds.size === 0) this.#rotateSoon();
    this.#crowds.add(group);
  }

  #leaveGroup(reader: SocketReader): void {
    const { group, list, place } = reader;
    if (place === undefined) return;
    list.remove(place);
    reader.place = undefined;
    if (group.user !== "" && sizeOf(group) === 0) this.#users.delete(group.user);
  }

  #move(reader: SocketReader, list: LinkedList<SocketReader>): void {
    if (reader.place !== undefined) reader.list.remove(reader.place);
    reader.list = list;
    reader.place = list.add(reader);
  }

  #park(reader: SocketReader | undefined, parked: LinkedList<SocketReader>): void {
    if (reader === undefined) return;
    this.#move(reader, parked);
    reader.stop();
  }

  #rotateSoon(): void {
    this.#clock.after(portionMs, () => this.#rotate());
  }

  /** The next portion of each crowd. */
  #rotate(): void {
    for (const group of this.#crowds) {
      adapt(group);
      const { portion, portionSize, parked } = group;
      for (let count = Math.min(portionSize, parked.size); count > 0; count--) {
        const next = parked.first!; // there are that many
        this.#move(next, portion);
        next.start();
      }
      while (portion.size > portionSize) this.#park(portion.first, parked);
      group.portionBytes = bytesOf(portion);
      if (parked.size === 0) this.#crowds.delete(group);
    }
    if (this.#crowds.size > 0) this.#rotateSoon();
  }
}

/** Decides how large the next portion is. */
function adapt(group: Group): void {
  const { portion, portionSize, portionBytes, portionMax } = group;
  const bytes = bytesOf(portion) - portionBytes;
  if (bytes === 0) group.portionSize = portionUsual;
  else if (bytes > portion.size * shortBytes) group.portionSize = Math.max(portionMin, portionSize / 2);
  else group.portionSize = Math.min(portionMax, portionSize * 2);
}

const bytesOf = (portion: LinkedList<SocketReader>): number =>
  portion.members().reduce((sum, { bytesRead }) => sum + bytesRead, 0);

/** Less than this in a turn is not a body. */
const quietBytes = 4 * 1024;
