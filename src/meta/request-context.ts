/**
 * The context of a request, passed as first parameter to everything that acts for a client. There is no implicit
 * context.
 */
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { Span } from "#std/tracer.ts";
import type { FieldError } from "./field-error.ts";
import type { UserInfo } from "./user-info.ts";

/**
 * Returns the revisions that keys of the store must have when a request writes; 0 means that the key is absent.
 * `isRefused`: those that were returned before did not hold.
 */
export type Requirements = (
  isRefused: boolean,
) => MaybePromise<readonly { readonly key: string; readonly revision: number }[] | undefined>;

export interface RequestContext {
  readonly user: UserInfo;
  /** The value of `User-Agent`, empty when absent; it names the field manager of plain writes. */
  readonly userAgent: string;
  /** Aborted when the client has left or the deadline has passed. */
  readonly signal: AbortSignal | undefined;
  /** The time, in milliseconds since the epoch, at which the request is given up. */
  readonly deadlineMs: number;
  /** Tells flow control that the request takes long, so that other requests of its flow get seats. */
  slow?(): void;
  /**
   * Adds a `Warning` header (code 299) to the answer; repeated texts are sent once. Values of confidential objects are
   * left out, except in texts of admission, for which its author is responsible.
   */
  warn(about: string | FieldError, by?: "admission"): void;
  /** Adds an annotation to the audit event of the request. */
  annotate(key: string, value: string): void;
  /**
   * Notes how long an admission webhook took, which metrics of the server's own time leave out. `isAlone`: no other one
   * was asked meanwhile. Absent when nobody asks.
   */
  webhookTook?(ms: number, isAlone: boolean): void;
  /** Calls back when the request has been handled, with whether it succeeded. Absent when this is not known. */
  whenDone?(callback: (isSuccess: boolean) => void): void;
  /** Notes that the request has written a key of the store at a revision. Absent when nobody asks. */
  wrote?(key: string, revision: number): void;
  /**
   * Returns the versions of stored keys under which the request may write, for each attempt; `undefined`: it may not
   * write any more. If absent, it always may.
   */
  readonly requires?: Requirements | undefined;
  /** The span of the step that the request is in; absent when it is not traced. */
  readonly span?: Span | undefined;
  /** Whether the audit event shows bodies, and so may show values derived from them; false by default. */
  readonly recordsBodies?: boolean;
}
