/**
 * The port of several serving processes, which the supervisor holds. Each new connection goes to the process that has
 * waited longest for one, and the next one to the same process when that has taken it. So long connections are spread
 * evenly, and a process that stands still holds one at most. The supervisor keeps a connection until it is taken: when
 * the process ends before, another one gets it.
 *
 * While no process is free connections wait here, and each has a file descriptor. Nobody reads from them, so a client
 * that leaves is not noticed: their number is bounded, and their time.
 */
import type { SendHandle } from "node:child_process";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { Clock } from "#std/clock.ts";
import type { WaitingLimits } from "#server/processes.ts";
import { type Log, rateLimited } from "#std/log.ts";
import { networkOf } from "#transport/acceptor.ts";
import type { HeldAddress } from "#transport/held-port.ts";
import type { ToProcess } from "./messages.ts";

/** A process that takes connections. */
interface Taker {
  send(message: ToProcess, socket: SendHandle, options: { keepOpen: true }, done: () => void): unknown;
}

interface SharedPortOptions {
  readonly limits: WaitingLimits;
  readonly clock: Clock;
  readonly log: Pick<Log, "warn" | "error">;
}

export class SharedPort {
  readonly #limits: WaitingLimits;
  readonly #log: SharedPortOptions["log"];
  readonly #refused: (of: string) => void;
  #server: Server | undefined;
  #opening: Promise<AddressInfo> | undefined;
  /** The number of the port, once it is held. */
  #number: number | undefined;
  readonly #takers = new Set<Taker>();
  /** The processes that have taken their last connection, the one that has waited longest first. */
  readonly #free = new Set<Taker>();
  /** The connections that nobody was asked to take, the oldest first. */
  #waiting = new Set<Socket>();
  /** The connections that processes were asked to take. */
  readonly #given = new Map<Taker, { readonly id: number; readonly socket: Socket }>();
  #count = 0;
  /** The addresses of all these connections, and how many each has. */
  readonly #addresses = new Map<Socket, string>();
  readonly #perAddress = new Map<string, number>();
  #isClosing = false;

  constructor({ limits, clock, log }: SharedPortOptions) {
    this.#limits = limits;
    this.#log = log;
    this.#refused = rateLimited(clock, (of) => log.warn({ of }, "connections that wait for a process are closed"));
  }

  get number(): number | undefined {
    return this.#number;
  }

  /** Holds the port, where it is not held yet. Rejects with the system's error. */
  async open(at: HeldAddress): Promise<AddressInfo> {
    this.#opening ??= this.#open(at);
    try {
      return await this.#opening;
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }

  #open(at: HeldAddress): Promise<AddressInfo> {
    const server = createServer(
      { pauseOnConnect: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: 180_000 },
      (socket) => this.#enter(socket),
    );
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(at, () => {
        server.off("error", reject);
        server.on("error", (error) => this.#log.error({ error }, "the port of the processes failed"));
        const bound = server.address() as AddressInfo; // a TCP server's address is never a text
        this.#server = server;
        this.#number = bound.port;
        if (this.#isClosing) server.close();
        resolve(bound);
      });
    });
  }

  /** Gives connections to a process from now on. */
  join(taker: Taker): void {
    this.#takers.add(taker);
    if (!this.#given.has(taker)) this.#free.add(taker);
    this.#advance();
  }

  /** Notes that a process has taken the connection that it was given, or does not take it. */
  took(taker: Taker, id: number, isTaken: boolean): void {
    const given = this.#given.get(taker);
    if (given?.id !== id) return;
    if (!isTaken) {
      this.leave(taker);
      return;
    }
    this.#forget(given.socket);
    this.#release(taker);
  }

  #release(taker: Taker): void {
    this.#given.delete(taker);
    if (this.#takers.has(taker)) this.#free.add(taker);
    this.#advance();
  }

  /** Notes that a process takes no more connections, or has ended. It has not taken one that was not acknowledged. */
  leave(taker: Taker): void {
    this.#takers.delete(taker);
    this.#free.delete(taker);
    const socket = this.#given.get(taker)?.socket;
    this.#given.delete(taker);
    if (socket !== undefined) this.#waiting = new Set([socket, ...this.#waiting]);
    this.#advance();
    if (this.#isClosing && this.#takers.size === 0) this.close();
  }

  /** Closes the port as soon as no process takes connections any more. */
  closeWithLast(): void {
    this.#isClosing = true;
    if (this.#takers.size === 0) this.close();
  }

  close(): void {
    this.#isClosing = true;
    this.#server?.close();
    for (const socket of this.#addresses.keys()) this.#forget(socket);
  }

  #enter(socket: Socket): void {
    const address = networkOf(socket.remoteAddress ?? "");
    const ofAddress = this.#perAddress.get(address) ?? 0;
    if (ofAddress >= this.#limits.connectionsPerAddress) {
      socket.destroy();
      this.#refused(address);
      return;
    }
    if (this.#addresses.size >= this.#limits.connections) {
      const [oldest] = this.#waiting;
      this.#refused(address);
      if (oldest === undefined) {
        socket.destroy();
        return;
      }
      this.#forget(oldest);
    }
    // The oldest connection may have been the only one of this address.
    this.#perAddress.set(address, (this.#perAddress.get(address) ?? 0) + 1);
    this.#addresses.set(socket, address);
    this.#waiting.add(socket);
    socket.on("error", () => this.#forget(socket));
    socket.once("close", () => this.#forget(socket));
    socket.setTimeout(this.#limits.waitMs, () => this.#expire(socket));
    this.#advance();
  }

  #expire(socket: Socket): void {
    this.#forget(socket);
    // The process that was given it stands still, or had no descriptor for it, and may take others later.
    for (const [taker, given] of this.#given) if (given.socket === socket) this.#release(taker);
  }

  /** Closes the descriptor of this process. A connection that another process has taken stays open. */
  #forget(socket: Socket): void {
    socket.destroy();
    this.#waiting.delete(socket);
    const address = this.#addresses.get(socket);
    if (address === undefined) return;
    this.#addresses.delete(socket);
    const remaining = this.#perAddress.get(address)! - 1; // it was counted
    if (remaining > 0) this.#perAddress.set(address, remaining);
    else this.#perAddress.delete(address);
  }

  /** Gives waiting connections to free processes. */
  #advance(): void {
    for (const socket of this.#waiting) {
      const [taker] = this.#free;
      if (taker === undefined) return;
      this.#waiting.delete(socket);
      this.#free.delete(taker);
      const id = this.#count++;
      this.#given.set(taker, { id, socket });
      // A process that cannot be reached has ended, or does so soon; then the connection goes to another one.
      taker.send({ type: "connection", id }, socket, { keepOpen: true }, () => undefined);
    }
  }
}
