/**
 * Limits the bytes per second that pass through a connection, in each direction. A side that sends faster waits.
 */
import { Duplex, Transform, type TransformCallback } from "node:stream";
import type { Clock } from "#std/clock.ts";

/** The time in milliseconds by which bytes may pass too early, since timers are not exact. */
const aheadMs = 10;
/** The time in milliseconds that one piece of a longer buffer takes. */
const pieceMs = 100;

class Throttle extends Transform {
  readonly #bytesPerMs: number;
  readonly #clock: Clock;
  /** The time at which all bytes that have passed may have passed. */
  #paidAt = 0;
  #cancel: () => void = () => undefined;

  constructor(bytesPerSecond: number, clock: Clock) {
    super();
    this.#bytesPerMs = bytesPerSecond / 1000;
    this.#clock = clock;
  }

  override _transform(bytes: Buffer, encoding: BufferEncoding, done: TransformCallback): void {
    const now = this.#clock.monotonic();
    this.#paidAt = Math.max(this.#paidAt, now);
    const pieceBytes = Math.max(1, Math.floor(this.#bytesPerMs * pieceMs));
    const piece = bytes.subarray(0, pieceBytes);
    const rest = bytes.subarray(piece.length);
    this.push(piece);
    this.#paidAt += piece.length / this.#bytesPerMs;
    const waitMs = this.#paidAt - now;
    const next = (): void => {
      if (rest.length === 0) done();
      else this._transform(rest, encoding, done);
    };
    if (waitMs <= aheadMs && rest.length === 0) done();
    else this.#cancel = this.#clock.after(waitMs, next);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#cancel();
    done(error);
  }
}

/** Returns the connection with a limit. It is closed with the returned one, and the reverse. */
export function throttled(connection: Duplex, bytesPerSecond: number, clock: Clock): Duplex {
  const writable = new Throttle(bytesPerSecond, clock);
  const readable = new Throttle(bytesPerSecond, clock);
  // Node takes such a pair, but its types do not say so.
  const limited = Duplex.from({ writable, readable } as object as Iterable<Buffer>);
  // A duplex that is destroyed has an error; who uses it sees its end.
  limited.on("error", () => undefined);
  writable.pipe(connection).pipe(readable);
  connection.on("error", () => limited.destroy());
  connection.once("close", () => {
    // The bytes before an end still pass.
    if (!connection.readableEnded) limited.destroy();
  });
  limited.once("end", () => limited.destroy());
  limited.once("close", () => connection.destroy());
  return limited;
}
