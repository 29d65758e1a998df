/**
 * A line between a process and the owner of its log, for tests: it is a socket in a folder of its own, before that of the
 * owner. It can be cut, be silent in either direction as when a process is stopped, and delay and split what it carries.
 */
import { linkSync, mkdirSync } from "node:fs";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import type { Random } from "#std/random.ts";

/** A direction, as seen by the process. */
type Direction = "in" | "out";

export class Line {
  /** The folder that the process uses. */
  readonly folder: string;
  readonly #owner: string;
  readonly #sockets = new Set<Socket>();
  readonly #stopped = new Set<Direction>();
  readonly #waiting: Record<Direction, Set<Socket>> = { in: new Set(), out: new Set() };
  #server!: Server;
  #isCut = false;
  /** The longest delay of a piece, in milliseconds, with the random numbers for it; left out: none. */
  delays: { readonly msMax: number; readonly random: Random } | undefined;
  /** The number of connections so far. */
  connections = 0;

  private constructor(owner: string, folder: string) {
    this.#owner = owner;
    this.folder = folder;
  }

  /** Opens a line to the owner that serves its log in the folder `owner`. */
  static async open(owner: string, name: string): Promise<Line> {
    const folder = join(owner, name);
    mkdirSync(folder);
    linkSync(join(owner, "revision"), join(folder, "revision"));
    const line = new Line(owner, folder);
    line.#server = createServer((socket) => line.#join(socket));
    await new Promise<void>((resolve) => line.#server.listen(join(folder, "log.sock"), resolve));
    return line;
  }

  /** The number of open sockets; a connection has two. */
  get open(): number {
    return this.#sockets.size;
  }

  /** Whether there is no connection, nor can there be one. */
  get isCut(): boolean {
    return this.#isCut;
  }

  set isCut(isCut: boolean) {
    this.#isCut = isCut;
    if (isCut) this.drop();
  }

  /** Ends all connections; they may be made anew. */
  drop(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Carries nothing any more: "in" as when the process is stopped, "out" as when it has sent nothing yet. */
  stop(direction: Direction): void {
    this.#stopped.add(direction);
    for (const socket of this.#waiting[direction]) socket.pause();
  }

  /** Carries everything again. */
  goOn(): void {
    this.#stopped.clear();
    for (const sockets of Object.values(this.#waiting)) for (const socket of sockets) socket.resume();
  }

  /** Puts bytes into the line that nobody has sent. */
  inject(direction: Direction, bytes: Buffer): void {
    const receivers = this.#waiting[direction === "in" ? "out" : "in"];
    for (const socket of receivers) socket.write(bytes);
  }

  async close(): Promise<void> {
    this.isCut = true;
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #join(process: Socket): void {
    if (this.#isCut) return void process.destroy();
    this.connections++;
    const owner = createConnection(join(this.#owner, "log.sock"));
    this.#carry("out", process, owner);
    this.#carry("in", owner, process);
  }

  #carry(direction: Direction, from: Socket, to: Socket): void {
    let tail = Promise.resolve();
    this.#sockets.add(from);
    this.#waiting[direction].add(from);
    from.on("error", () => undefined);
    from.on("data", (bytes: Buffer) => {
      for (const piece of this.#pieces(bytes)) {
        const { delays } = this;
        if (delays === undefined) tail = tail.then(() => void to.write(piece));
        else tail = tail.then(() => sleep(delays.random.next() * delays.msMax)).then(() => void to.write(piece));
      }
      // A peer that does not read is felt on the other side.
      if (to.writableLength > 1_000_000) {
        from.pause();
        to.once("drain", () => {
          if (!this.#stopped.has(direction)) from.resume();
        });
      }
    });
    from.on("close", () => {
      this.#sockets.delete(from);
      this.#waiting[direction].delete(from);
      void tail.then(() => to.destroy());
    });
    if (this.#stopped.has(direction)) from.pause();
  }

  /** Splits some bytes, if the line has delays. */
  #pieces(bytes: Buffer): readonly Buffer[] {
    if (this.delays === undefined || bytes.length < 2) return [bytes];
    const at = 1 + Math.floor(this.delays.random.next() * (bytes.length - 1));
    return [bytes.subarray(0, at), bytes.subarray(at)];
  }
}
