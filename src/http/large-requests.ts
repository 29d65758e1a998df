/**
 * Tells which requests are too large for the event loop, by the size of body, stored object or result. Handlers check
 * as they go and throw `MustRunInWorker` before anything was done. The same handlers then process the request again in
 * a thread (`server/large-requests.ts`), where only the limits of stored objects apply.
 */
import type { BodyEncoding } from "#codec/encoding.ts";
import { jsonEncoding } from "#codec/json-encoding.ts";
import { objectTooLarge } from "#meta/status-error.ts";
import { ByteBudget } from "#schema/json-values.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { yieldToEventLoop } from "#std/cooperative.ts";

/**
 * The size above which bodies and objects are handled in threads. `docs/decisions/0006` gives the reason for the size.
 */
export const largeBytes = 64 * 1024;

/**
 * The size above which a body or object may cost milliseconds. If many come at once, one of them is processed in a turn
 * of the loop.
 */
const turnBytes = 8 * 1024;

/** Waits for a turn of the loop for work on so many bytes; returns at once for small work. */
export const turnFor = (bytes: number): MaybePromise<void> => (bytes > turnBytes ? yieldToEventLoop() : undefined);

/** The minimum weight of an object: defaults, ownership and checks make `{}` into much more. */
const objectWeight = 32;

/** Returns the weight of a body, or of a stored object: its size in bytes of ordinary JSON. */
export function weightOf(bytes: Uint8Array, encoding: Pick<BodyEncoding, "weight" | "objects"> = jsonEncoding): number {
  const size = bytes.length * encoding.weight;
  if (size <= turnBytes || size > largeBytes) return size;
  return Math.max(size, encoding.objects(bytes) * objectWeight);
}

/** Thrown when the request must be handled in a thread. It never reaches a client. */
export class MustRunInWorker extends Error {
  constructor() {
    super("the request is too large for the event loop");
    this.name = "MustRunInWorker";
  }
}

/** The limits for handlers, on the event loop or in a thread. */
export interface Sizes {
  /** Throws when a body or an object of this weight (`weightOf`) must be handled in a thread. */
  check(weight: number): void;
  /**
   * Limits the bytes that defaults add to one object. The budget throws when the object must be handled in a thread, or
   * may not be stored.
   */
  room(): ByteBudget;
  /** Limits the bytes that a JSON patch copies. If it is absent, only the limit of all JSON patches applies. */
  copies?(): ByteBudget;
}

/** The limits on the event loop, which handles bodies and objects of at most `bytesMax`. */
export const eventLoopLimits = (bytesMax: number): Sizes => ({
  check(weight) {
    if (weight > bytesMax) throw new MustRunInWorker();
  },
  room: () => new ByteBudget(bytesMax, () => new MustRunInWorker()),
  copies: () => new ByteBudget(bytesMax, () => new MustRunInWorker()),
});

/** The limits in a thread: those of stored objects. */
export const workerLimits = (objectBytesMax: number): Sizes => ({
  check() {},
  room: () => new ByteBudget(objectBytesMax, () => objectTooLarge(objectBytesMax)),
});
