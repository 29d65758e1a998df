/** The failure of a connection to a server, as opposed to an answer of the server. */
import { oneLine } from "#std/printable.ts";

interface ConnectionFailure {
  /** The system's, OpenSSL's or the parser's code, such as `ECONNREFUSED`. */
  readonly code?: string | undefined;
  readonly sent: boolean;
  readonly temporary: boolean;
  readonly cause?: unknown;
}

/** No answer came. The message is one line that says what to do, without credentials; `cause` has the details. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  /** The system's, OpenSSL's or the parser's code, such as `ECONNREFUSED`; empty without one. */
  readonly code: string;
  /** Whether the server may have received the request: it is then not known whether a write was made. */
  readonly sent: boolean;
  /** Whether the request may succeed over another connection: this one was lost. */
  readonly temporary: boolean;

  constructor(message: string, { code = "", sent, temporary, cause }: ConnectionFailure) {
    super(oneLine(message), { cause });
    this.code = code;
    this.sent = sent;
    this.temporary = temporary;
  }
}
