/**
 * Where connections come in, counted: there are bounds of all, and of those of one address. Node takes one connection in
 * a turn of the event loop, so that in a flood everybody waits behind all that came before, for as many turns. That is
 * why TLS, which costs ten times as much, begins in turns in which no connection came, or after a row of others, and
 * with the newest first; and why turns that only take connections are short: those of nobody known wait for their end.
 */
import { createServer, type Server, type Socket } from "node:net";

export interface ConnectionLimits {
  /** Connections at most: of all, of one address, of one user. */
  readonly connections: number;
  readonly connectionsPerAddress: number;
  readonly connectionsPerUser: number;
}

/** Which bound a connection was beyond. */
export type ConnectionBound = "all" | "address" | "user";

export interface AcceptorOptions {
  readonly limits: ConnectionLimits;
  /** A connection whose turn has come; it is paused. */
  begin(socket: Socket): void;
  /** The connections of which no user is known read nothing, or go on. */
  still(isStill: boolean): void;
  /** Called when the last bytes of a connection are gone. */
  closed(): void;
  refused(bound: ConnectionBound, address: string): void;
}

/** Connections that TLS begins with in a turn. */
const beginsMax = 4;
/** Turns in a row that only take connections: a few milliseconds. */
const rowMax = 64;

export class Acceptor {
  readonly server: Server;
  readonly #options: AcceptorOptions;
  readonly #sockets = new Set<Socket>();
  readonly #perAddress = new Map<string, number>();
  /** The newest last. */
  #waiting: Socket[] = [];
  #isAwaited = false;
  /** Whether one came in this turn, and the turns in a row in which one did. */
  #hasNew = false;
  #row = 0;
  readonly #next = (): void => this.#advance();

  constructor(options: AcceptorOptions) {
    this.#options = options;
    this.server = createServer(
      { pauseOnConnect: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: 180_000 },
      (socket) => this.#enter(socket),
    );
  }

  /** All that are open. */
  get sockets(): ReadonlySet<Socket> {
    return this.#sockets;
  }

  #enter(socket: Socket): void {
    const { limits, refused } = this.#options;
    const address = socket.remoteAddress ?? "";
    const ofAddress = this.#perAddress.get(address) ?? 0;
    if (this.#sockets.size >= limits.connections || ofAddress >= limits.connectionsPerAddress) {
      socket.destroy();
      refused(this.#sockets.size >= limits.connections ? "all" : "address", address);
      return;
    }
    this.#sockets.add(socket);
    this.#perAddress.set(address, ofAddress + 1);
    socket.once("close", () => this.#leave(socket, address));
    // Before TLS it has no other listener.
    socket.on("error", () => socket.destroy());
    this.#waiting.push(socket);
    this.#hasNew = true;
    this.#await();
  }

  #leave(socket: Socket, address: string): void {
    this.#sockets.delete(socket);
    const left = this.#perAddress.get(address)! - 1; // it was counted
    if (left > 0) this.#perAddress.set(address, left);
    else this.#perAddress.delete(address);
    this.#options.closed();
  }

  #await(): void {
    if (this.#isAwaited) return;
    this.#isAwaited = true;
    setImmediate(this.#next);
  }

  #advance(): void {
    this.#isAwaited = false;
    const isRow = this.#hasNew && this.#waiting.length > 1 && this.#row < rowMax;
    this.#hasNew = false;
    this.#row = isRow ? this.#row + 1 : 0;
    this.#options.still(isRow);
    for (let count = isRow ? 0 : beginsMax; count > 0 && this.#waiting.length > 0; count--) {
      const socket = this.#waiting.pop()!; // there is one
      if (!socket.destroyed) this.#options.begin(socket);
    }
    if (this.#waiting.length > 0) this.#await();
  }
}
