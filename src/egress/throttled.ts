/**
 * Limits the bytes per second that pass through a connection, in each direction. A side that sends faster waits.
 */
import { Duplex, Transform, type TransformCallback } from "node:stream";
import type { Clock } from "#std/clock.ts";

/** The number of pieces in which the bytes of a second pass at least. */
const piecesPerSecond = 10;

class Throttle extends Transform {
  readonly #bytesPerSecond: number;
  readonly #clock: Clock;
  #cancel: () => void = () => undefined;

  constructor(bytesPerSecond: number, clock: Clock) {
    super();
    this.#bytesPerSecond = bytesPerSecond;
    this.#clock = clock;
  }

  override _transform(bytes: Buffer, encoding: BufferEncoding, done: TransformCallback): void {
    const piece = bytes.subarray(0, Math.max(1, Math.floor(this.#bytesPerSecond / piecesPerSecond)));
    const rest = bytes.subarray(piece.length);
    this.push(piece);
    this.#cancel = this.#clock.after((piece.length / this.#bytesPerSecond) * 1000, () => {
      if (rest.length === 0) done();
      else this._transform(rest, encoding, done);
    });
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
