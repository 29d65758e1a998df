/**
 * Takes connections and counts them: there are bounds of all, and of those of one address. Node takes one connection in
 * a turn of the event loop, so that in a flood everybody waits behind all that came before, for as many turns. TLS
 * costs ten times as much as taking a connection. So it begins in turns in which no connection came, or after a row of
 * other turns, and with the newest connections first. Turns that only take connections are kept short: connections of
 * which no user is known read nothing until they end.
 */
import { createServer, type Server, type Socket } from "node:net";
import { Tally } from "#std/tally.ts";
import type { OwnerBound, OwnerLimits } from "./owner.ts";
import { stopReading } from "./read-turns.ts";

export interface ConnectionLimits extends OwnerLimits {
  /** The maximum number of connections: in total, and of one address. */
  readonly connections: number;
  readonly connectionsPerAddress: number;
}

/** The limit that a connection exceeded. */
export type ConnectionBound = "all" | "address" | OwnerBound;

interface AcceptorOptions {
  readonly limits: ConnectionLimits;
  /** Begins TLS with an accepted connection; the socket is paused. */
  begin(socket: Socket): void;
  /** Pauses or resumes the reading of connections whose user is not known. */
  pauseUnauthenticated(isPaused: boolean): void;
  /** Called when the last bytes of a connection are gone. */
  closed(): void;
  refused(bound: ConnectionBound, address: string): void;
}

/** The maximum number of connections with which TLS begins in a turn. */
const beginsMax = 4;
/** The maximum number of consecutive turns that only accept connections: a few milliseconds. */
const acceptTurnsMax = 64;

export class Acceptor {
  readonly server: Server;
  readonly #options: AcceptorOptions;
  readonly #sockets = new Set<Socket>();
  /** The connections whose user is not known, the oldest first. */
  readonly #unauthenticated = new Set<Socket>();
  readonly #perAddress = new Tally();
  /** Accepted connections that wait for TLS, the newest last. */
  #waiting: Socket[] = [];
  #isAwaited = false;
  /** Whether a connection arrived in this turn, and the number of consecutive turns in which one did. */
  #hasNew = false;
  #acceptTurns = 0;
  readonly #next = (): void => this.#advance();

  constructor(options: AcceptorOptions) {
    this.#options = options;
    this.server = createServer(
      { pauseOnConnect: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: 180_000 },
      (socket) => this.#enter(socket),
    );
  }

  /** All open connections. */
  get sockets(): ReadonlySet<Socket> {
    return this.#sockets;
  }

  /** Takes a connection that another process accepted. */
  take(socket: Socket): void {
    stopReading(socket);
    this.#enter(socket);
  }

  #enter(socket: Socket): void {
    const { limits, refused } = this.#options;
    const address = networkOf(socket.remoteAddress ?? "");
    if (this.#perAddress.of(address) >= limits.connectionsPerAddress) {
      socket.destroy();
      refused("address", address);
      return;
    }
    if (this.#sockets.size >= limits.connections) {
      const closed = this.#oldestUnauthenticated ?? socket;
      refused("all", networkOf(closed.remoteAddress ?? ""));
      this.#unauthenticated.delete(closed);
      closed.destroy();
      if (closed === socket) return;
    }
    this.#sockets.add(socket);
    this.#unauthenticated.add(socket);
    this.#perAddress.add(address, 1);
    socket.once("close", () => this.#leave(socket, address));
    // The socket has no other listener before TLS begins.
    socket.on("error", () => socket.destroy());
    this.#waiting.push(socket);
    this.#hasNew = true;
    this.#await();
  }

  /** Marks a connection as authenticated, so that it is not closed in favour of others. */
  authenticated(socket: Socket): void {
    this.#unauthenticated.delete(socket);
  }

  get #oldestUnauthenticated(): Socket | undefined {
    for (const socket of this.#unauthenticated) return socket;
    return undefined;
  }

  #leave(socket: Socket, address: string): void {
    this.#sockets.delete(socket);
    this.#unauthenticated.delete(socket);
    this.#perAddress.add(address, -1);
    this.#options.closed();
  }

  #await(): void {
    if (this.#isAwaited) return;
    this.#isAwaited = true;
    setImmediate(this.#next);
  }

  #advance(): void {
    this.#isAwaited = false;
    const onlyAccepts = this.#hasNew && this.#waiting.length > 1 && this.#acceptTurns < acceptTurnsMax;
    this.#hasNew = false;
    this.#acceptTurns = onlyAccepts ? this.#acceptTurns + 1 : 0;
    this.#options.pauseUnauthenticated(onlyAccepts);
    for (let count = onlyAccepts ? 0 : beginsMax; count > 0 && this.#waiting.length > 0; count--) {
      const socket = this.#waiting.pop()!; // there is one
      if (!socket.destroyed) this.#options.begin(socket);
    }
    if (this.#waiting.length > 0) this.#await();
  }
}

/**
 * Returns the network under which an address is counted: an owner of an IPv6 address usually has a network of 64 bits.
 */
export function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [, mapped] = /^::ffff:([\d.]+)$/i.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
  const [head = "", tail] = address.split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length;
  const groups = [...before, ...Array.from({ length: zeros }, () => "0"), ...after];
  return `${groups.slice(0, 4).join(":")}::/64`;
}
