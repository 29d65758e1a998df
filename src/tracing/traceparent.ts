/** The header `traceparent`, by which clients name the span that a request belongs to. Source: W3C Trace Context. */

export interface RemoteSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Whether the client records the span. */
  readonly isSampled: boolean;
}

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;
const length = "00-".length + 32 + "-".length + 16 + "-00".length;

/** Returns the span that the header names; `undefined` for every header that is not valid. */
export function parseTraceparent(header: string): RemoteSpan | undefined {
  const [, version = "", traceId = "", spanId = "", flags = ""] = form.exec(header) ?? [];
  if (version === "" || version === "ff" || (version === "00" && header.length !== length)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export const printTraceparent = ({ traceId, spanId, isSampled }: RemoteSpan): string =>
  `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
