/**
 * Which requests are too large for the event loop, by the size of body, stored object or result. Handlers check as they
 * go and throw `TooLargeHere` before anything was done. The same handlers then process the request again in a thread
 * (`server/large-requests.ts`), where only the limits of stored objects apply.
 */
import type { BodyEncoding } from "#codec/encoding.ts";
import { jsonEncoding } from "#codec/json-encoding.ts";
import { objectTooLarge } from "#meta/status-error.ts";
import { Room } from "#schema/json-values.ts";
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
export class TooLargeHere extends Error {
  constructor() {
    super("the request is too large for the event loop");
    this.name = "TooLargeHere";
  }
}

/** The limits of handlers. */
export interface Sizes {
  /** Throws when a body or an object of this weight (`weightOf`) is handled elsewhere. */
  check(weight: number): void;
  /** For what defaults add to one object. Throws when it is handled elsewhere, or may not be stored. */
  room(): Room;
  /** For what a JSON patch copies; left out: as much as any may. */
  copies?(): Room;
}

/** The event loop has these sizes: it takes on what has at most `bytesMax`. */
export const sizesHere = (bytesMax: number): Sizes => ({
  check(weight) {
    if (weight > bytesMax) throw new TooLargeHere();
  },
  room: () => new Room(bytesMax, () => new TooLargeHere()),
  copies: () => new Room(bytesMax, () => new TooLargeHere()),
});

/** The limits in a thread: those of stored objects. */
export const sizesElsewhere = (objectBytesMax: number): Sizes => ({
  check() {},
  room: () => new Room(objectBytesMax, () => objectTooLarge(objectBytesMax)),
});
