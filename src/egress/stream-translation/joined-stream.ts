/**
 * A stream whose other end is another connection in another form: what is written to it goes to the connection
 * translated, and the reverse. Whoever reads or writes too fast waits, so at most a buffer of each is kept.
 */
import { Duplex } from "node:stream";
import type { Clock } from "#std/clock.ts";

/** Translates between the two sides. */
interface Translation {
  /** Called once, before the others. */
  begin?(): void;
  /** Takes bytes that the user of the stream has written. */
  fromClient(bytes: Buffer): void;
  /** Takes bytes of the connection. */
  fromPeer(bytes: Buffer): void;
  /** Called when the connection has closed. */
  peerClosed(): void;
}

/**
 * The time in milliseconds in which a client that has everything may close. What it still sends is read and dropped: a
 * connection that is closed before takes with it what the client has not read.
 */
const lingerMs = 5_000;

export class JoinedStream extends Duplex {
  readonly #clock: Clock;
  #translation: Translation | undefined;
  #peer: Duplex | undefined;
  /** Continues a write that waits for the connection. */
  #proceed: (() => void) | undefined;
  #isEnded = false;
  #cancelLinger: (() => void) | undefined;

  constructor(clock: Clock) {
    super();
    this.#clock = clock;
  }

  /** Connects the stream with a connection. `early` are bytes of it that have come already. */
  join(peer: Duplex, early: Buffer, translation: Translation): void {
    peer.on("error", () => undefined);
    if (this.destroyed || this.#isEnded || peer.destroyed) {
      peer.destroy();
      this.destroy();
      return;
    }
    this.#peer = peer;
    this.#translation = translation;
    peer.once("close", () => {
      this.#resume();
      translation.peerClosed();
    });
    peer.on("drain", () => this.#resume());
    translation.begin?.();
    if (early.length > 0) translation.fromPeer(early);
    peer.on("data", (bytes: Buffer) => translation.fromPeer(bytes));
    this.#resume();
  }

  /** Writes to the client. The connection is not read while the client reads too slowly. */
  toClient(bytes: Buffer): void {
    if (this.#isEnded || this.destroyed) return;
    if (!this.push(bytes)) this.#peer?.pause();
  }

  /** Writes an answer to something that the client sent, unless the client reads too slowly. */
  answerClient(bytes: Buffer): void {
    if (this.readableLength < this.readableHighWaterMark) this.toClient(bytes);
  }

  /** Writes an answer to something that the connection sent, unless it reads too slowly. */
  answerPeer(bytes: Buffer): void {
    if (this.#peer?.writableNeedDrain !== true) this.toPeer(bytes);
  }

  toPeer(bytes: Buffer): void {
    if (this.#peer?.writable === true) this.#peer.write(bytes);
  }

  /** Ends both sides, after these bytes to the client. */
  finish(last: Buffer): void {
    if (this.#isEnded || this.destroyed) return;
    this.push(last);
    this.push(null);
    this.#isEnded = true;
    this.#peer?.destroy();
    this.#resume();
    this.#cancelLinger = this.#clock.after(lingerMs, () => this.destroy());
  }

  override _read(): void {
    if (!this.#isEnded) this.#peer?.resume();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, proceed: () => void): void {
    const translation = this.#translation;
    if (translation === undefined && !this.#isEnded) {
      // These bytes came before there is a connection.
      this.#proceed = () => this._write(bytes, _encoding, proceed);
      return;
    }
    if (!this.#isEnded) translation?.fromClient(bytes);
    if (this.#isEnded || this.#peer?.writableNeedDrain !== true) proceed();
    else this.#proceed = proceed;
  }

  override _final(done: () => void): void {
    this.#peer?.end();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#cancelLinger?.();
    this.#peer?.destroy();
    done(error);
  }

  #resume(): void {
    const proceed = this.#proceed;
    this.#proceed = undefined;
    proceed?.();
  }
}
