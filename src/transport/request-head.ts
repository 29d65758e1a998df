/**
 * Protocol-independent checks of the request head: size, number of fields, exactly one host. A violation is answered
 * with a `Status` that names it; far beyond the limits Node refuses in its own words.
 */
import { badRequest, headersTooLarge, type StatusError, targetTooLong } from "#meta/status-error.ts";

interface HeadLimits {
  /** Request line and headers together, as HTTP/1.1 writes them. */
  readonly headerBytes: number;
  readonly headerCount: number;
}

/** Bytes of a field beside its name and value: colon, space, line end. */
const fieldBytes = 4;

/**
 * The error of a request head; `undefined` for none. `raw` has names and values in turn, including HTTP/2's
 * pseudo-headers.
 */
export function headProblem(target: string, raw: readonly string[], limits: HeadLimits): StatusError | undefined {
  const { headerBytes, headerCount } = limits;
  let bytes = target.length;
  let hosts = 0;
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!;
    if (name === ":path") continue;
    bytes += name.length + raw[i + 1]!.length + fieldBytes;
    if (name.length === 4 && name.toLowerCase() === "host") hosts++;
  }
  if (bytes > headerBytes) {
    const limit = `limit is ${headerBytes} bytes for the request line and headers together`;
    return target.length > bytes / 2 ? targetTooLong(limit) : headersTooLarge(limit);
  }
  if (raw.length > 2 * headerCount) return headersTooLarge(`limit is ${headerCount} header fields`);
  // A proxy in between may have used the other one.
  return hosts > 1 ? badRequest("too many Host headers") : undefined;
}
