/** Why a patch was refused, as the patch functions of this folder throw it; the patch handler makes a Status of it. */

/**
 * - `bad-request`: 400 with the message.
 * - `invalid`: 422 with upstream's generic sentence; the message is for the log.
 * - `too-large`: 413 with the message.
 * - `internal`: 500 with the message and an empty reason. Upstream: what its strategic merge does with patches it
 *   cannot make sense of.
 */
export type PatchErrorKind = "bad-request" | "invalid" | "too-large" | "internal";

export class PatchError extends Error {
  readonly kind: PatchErrorKind;

  constructor(kind: PatchErrorKind, message: string) {
    super(message);
    this.name = "PatchError";
    this.kind = kind;
  }
}
