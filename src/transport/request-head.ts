/**
 * Protocol-independent checks of the request head: size, number of fields, exactly one host. A violation is answered
 * with a `Status` that names it; far beyond the limits Node refuses in its own words.
 */
import { badRequest, headersTooLarge, type StatusError, targetTooLong } from "#meta/status-error.ts";

interface HeadLimits {
  /** The maximum bytes of the request line and the headers together, as HTTP/1.1 writes them. */
  readonly headerBytes: number;
  readonly headerCount: number;
}

/** The bytes of a field besides its name and value: colon, space, line end. */
const fieldBytes = 4;

/**
 * Returns the error of a request head; `undefined` for a valid one. In `raw` names and values alternate, including
 * HTTP/2's pseudo-headers.
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
  // A proxy between client and server may have used the other host.
  return hosts > 1 ? badRequest("too many Host headers") : undefined;
}
