/** The header `traceparent`: the examples of W3C Trace Context, and what is no header. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseTraceparent, printTraceparent } from "./traceparent.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";

test("a header names a trace, a span and whether it is recorded", () => {
  const check = (header: string, isSampled: boolean) =>
    assert.deepEqual(parseTraceparent(header), { traceId, spanId, isSampled }, header);
  check(`00-${traceId}-${spanId}-01`, true);
  check(`00-${traceId}-${spanId}-00`, false);
  check(`00-${traceId}-${spanId}-fe`, false);
  // A later version may have more parts.
  check(`01-${traceId}-${spanId}-01`, true);
  check(`cc-${traceId}-${spanId}-01-what-the-future-brings`, true);
  const span = { traceId, spanId, isSampled: true };
  assert.deepEqual(parseTraceparent(printTraceparent(span)), span);
});

test("headers in any other form name nothing", () => {
  const zeros = "0".repeat(64);
  for (const header of [
    "",
    "00",
    `00-${traceId}-${spanId}`,
    `00-${traceId}-${spanId}-`,
    `00-${traceId}-${spanId}-1`,
    `00-${traceId}-${spanId}-01-more`,
    `00-${traceId}-${spanId}-011`,
    `cc-${traceId}-${spanId}-01more`,
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${traceId.slice(1)}-${spanId}-01`,
    `00-${zeros.slice(0, 32)}-${spanId}-01`,
    `00-${traceId}-${zeros.slice(0, 16)}-01`,
    ` 00-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}-zz`,
    "-".repeat(10_000),
    "0".repeat(10_000),
  ]) {
    assert.equal(parseTraceparent(header), undefined, header);
  }
});
