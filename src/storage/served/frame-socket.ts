/**
 * A connection that carries frames. The frames of one turn of the event loop are written together, and a peer that does
 * not read is cut off when too many bytes wait for it.
 */
import type { Socket } from "node:net";

import { Deque } from "#std/deque.ts";
import { DamagedFrame, FrameSplitter } from "./frame-bytes.ts";

/** The bytes that may wait for a peer that does not read, and those with which there is no room for large frames. */
const waitingBytesMax = 64 * 1024 * 1024;
const roomBytes = 16 * 1024 * 1024;
/** The bytes up to which frames are copied into one buffer: a few system calls cost more. */
const joinedBytesMax = 256 * 1024;

interface FrameSocketOptions {
  /** Takes the fields of a frame. A `DamagedFrame` that it throws ends the connection. */
  taken(fields: Buffer): void;
  /** Called once, when the connection has ended; `problem` says why this side ended it. */
  closed(problem: string | undefined): void;
}

export class FrameSocket {
  readonly #socket: Socket;
  readonly #options: FrameSocketOptions;
  readonly #splitter = new FrameSplitter();
  #frames: Buffer[] = [];
  #bytes = 0;
  /** The steps that wait for room. */
  readonly #steps = new Deque<() => void>();
  #problem: string | undefined;

  constructor(socket: Socket, options: FrameSocketOptions) {
    this.#socket = socket;
    this.#options = options;
    socket.on("data", (piece: Buffer) => this.#take(piece));
    socket.on("drain", () => this.#goOn());
    socket.on("error", (error) => (this.#problem ??= error.message));
    socket.on("close", () => {
      this.#steps.clear();
      options.closed(this.#problem);
    });
  }

  /** The bytes that wait for the peer. */
  get #waitingBytes(): number {
    return this.#bytes + this.#socket.writableLength;
  }

  send(frame: Buffer): void {
    if (this.#socket.destroyed) return;
    if (this.#frames.length === 0) setImmediate(() => this.#flush());
    this.#frames.push(frame);
    this.#bytes += frame.length;
    if (this.#waitingBytes > waitingBytesMax + frame.length) {
      this.cut(`${this.#waitingBytes} bytes wait for a process that does not read them`);
    }
  }

  /** Calls `step` when there is room for a large frame, after the steps before it; never when the connection ends first. */
  whenRoom(step: () => void): void {
    if (this.#steps.length === 0 && this.#waitingBytes < roomBytes) step();
    else this.#steps.push(step);
  }

  /** Reads no more until `resume` is called. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Ends the connection when the peer has got all frames. */
  end(): void {
    this.#flush();
    this.#socket.end(() => this.#socket.destroy());
  }

  /** Ends the connection at once. */
  cut(problem: string | undefined): void {
    this.#problem ??= problem;
    this.#frames = [];
    this.#socket.destroy();
  }

  #take(piece: Buffer): void {
    try {
      this.#splitter.add(piece, (fields) => {
        if (!this.#socket.destroyed) this.#options.taken(fields);
      });
    } catch (error) {
      if (!(error instanceof DamagedFrame)) throw error;
      this.cut(error.message);
    }
  }

  #goOn(): void {
    while (this.#steps.length > 0 && this.#waitingBytes < roomBytes) this.#steps.shift()!();
  }

  #flush(): void {
    this.#write();
    this.#goOn();
  }

  #write(): void {
    const frames = this.#frames;
    const bytes = this.#bytes;
    this.#frames = [];
    this.#bytes = 0;
    if (frames.length === 0 || this.#socket.destroyed) return;
    if (frames.length === 1 || bytes <= joinedBytesMax) {
      this.#socket.write(frames.length === 1 ? frames[0]! : Buffer.concat(frames, bytes));
      return;
    }
    this.#socket.cork();
    for (const frame of frames) this.#socket.write(frame);
    this.#socket.uncork();
  }
}
