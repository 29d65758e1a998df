/** The error that patch functions throw for a refused patch; the patch handler turns it into a Status. */

/**
 * - `bad-request`: 400 with the message.
 * - `invalid`: 422 with upstream's generic sentence; the message is for the log.
 * - `too-large`: 413 with the message.
 * - `internal`: 500 with the message and an empty reason. Upstream: the answer of its strategic merge to patches it
 *   does not understand.
 */
export type PatchErrorKind = "bad-request" | "invalid" | "too-large" | "internal";

export class PatchError extends Error {
  readonly kind: PatchErrorKind;
  /** Whether the `test` of a JSON Patch found another value. */
  readonly isFailedTest: boolean;

  constructor(kind: PatchErrorKind, message: string, isFailedTest = false) {
    super(message);
    this.isFailedTest = isFailedTest;
    this.name = "PatchError";
    this.kind = kind;
  }
}
