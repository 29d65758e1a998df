/** Certificate requests in PEM form. The parser is loaded for the first request. Source: RFC 2986 (PKCS #10). */
import { lazy } from "./lazy.ts";
import { andThen, type MaybePromise } from "./maybe-promise.ts";
import { pemBlocks } from "./pem.ts";
import type { ParsedRequest } from "./x509/read-request.ts";

export type { CertificateRequest, ParsedRequest } from "./x509/read-request.ts";

/** The maximum size in bytes: a key of 16,384 bits and a hundred of the longest names fit. */
const bytesMax = 64 * 1024;

const reading = lazy(() => import("./x509/read-request.ts"));

/** Reads the first PEM block of `text` and checks its signature, which proves that the sender has the private key. */
export function parseCertificateRequest(text: string): MaybePromise<ParsedRequest> {
  if (text.length > bytesMax) return { ok: false, problem: "x509: certificate request is too large" };
  const { value: block } = pemBlocks(text).next();
  if (block?.label !== "CERTIFICATE REQUEST") {
    return { ok: false, problem: "PEM block type must be CERTIFICATE REQUEST" };
  }
  return andThen(reading(), ({ readRequest }) => readRequest(block.bytes));
}
