/**
 * The context of a request, passed as first parameter to everything that acts for a client. There is no implicit
 * context.
 */
import type { FieldError } from "./field-error.ts";
import type { UserInfo } from "./user-info.ts";

export interface RequestContext {
  readonly user: UserInfo;
  /** Value of `User-Agent`, empty when absent; names the field manager of plain writes. */
  readonly userAgent: string;
  /** Aborted when the client went away or the deadline passed. */
  readonly signal: AbortSignal | undefined;
  /** Milliseconds since the epoch at which the request gives up. */
  readonly deadlineMs: number;
  /** The request takes long: its flow leaves seats to others from now on. */
  slow?(): void;
  /**
   * Adds a `Warning` header (code 299) to the answer; repeated texts are sent once. Values of confidential objects are left
   * out, but of the words of admission, which are its author's.
   */
  warn(about: string | FieldError, by?: "admission"): void;
  /** Adds an annotation to the audit event of the request. */
  annotate(key: string, value: string): void;
  /** Calls back when the request has been handled, with whether it succeeded. Left out where this is unknown. */
  whenDone?(callback: (isSuccess: boolean) => void): void;
  /**
   * Whether a write of the request may still be made; called when the write gets its revision. Left out: it always may.
   */
  readonly mayWrite?: (() => boolean) | undefined;
  /** Whether the audit event shows bodies, and so may show what was made of them. Default: false. */
  readonly recordsBodies?: boolean;
}
