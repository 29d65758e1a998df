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

/** Larger bodies and objects are handled in threads. Reason for the size: `docs/decisions/0006`. */
export const largeBytes = 64 * 1024;

/** Larger bodies and objects may cost milliseconds. Of many at once, one is processed in a turn of the loop. */
const turnBytes = 8 * 1024;

/** Waits for the turn of work on so many bytes; small work has it at once. */
export const turnFor = (bytes: number): MaybePromise<void> => (bytes > turnBytes ? yieldToEventLoop() : undefined);

/** The minimum weight of an object: defaults, ownership and checks make `{}` into much more. */
const objectWeight = 32;

/** The size of a body, or of a stored object, that counts here: in bytes of ordinary JSON. */
export function weightOf(bytes: Uint8Array, encoding: Pick<BodyEncoding, "weight" | "objects"> = jsonEncoding): number {
  const size = bytes.length * encoding.weight;
  if (size <= turnBytes || size > largeBytes) return size;
  return Math.max(size, encoding.objects(bytes) * objectWeight);
}

/** The request must be handled in a thread. Never reaches a client. */
export class MustRunInWorker extends Error {
  constructor() {
    super("the request is too large for the event loop");
    this.name = "MustRunInWorker";
  }
}

/** The limits of handlers. */
export interface Sizes {
  /** Throws when a body or an object of this weight (`weightOf`) is handled elsewhere. */
  check(weight: number): void;
  /** Limits what defaults add to one object. Throws when it is handled elsewhere, or may not be stored. */
  room(): ByteBudget;
  /** Limits what a JSON patch copies. Where it is absent, the limit of all JSON patches counts alone. */
  copies?(): ByteBudget;
}

/** The event loop has these sizes: it takes on what has at most `bytesMax`. */
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
