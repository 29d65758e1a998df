/**
 * Messages of failed outgoing connections, in the words of Go's client, for which people search. No message contains a
 * header, a body or a credential.
 */
import type { OutgoingError } from "./outgoing-https.ts";
import { certificateProblem } from "./refused-certificate.ts";

/** The server that was called. */
interface Called {
  /** The host with its port; IPv6 addresses are in brackets. */
  readonly host: string;
  /** The name expected in the certificate, when it is not the host. */
  readonly serverName?: string | undefined;
  /** Whether a server without TLS is said to speak HTTP, as Go's HTTP client does. */
  readonly isHttp?: boolean;
}

const unknownAuthorities: ReadonlySet<string> = new Set([
  "CERT_SIGNATURE_FAILURE",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

const refusals: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  EHOSTUNREACH: "no route to host",
  ENETUNREACH: "network is unreachable",
};

/** The kinds of problems of a call, which metrics show. */
export type CallProblem =
  | "certificate_expired"
  | "unknown_authority"
  | "wrong_name"
  | "refused"
  | "no_such_host"
  | "timeout"
  | "answer"
  | "other";

/** Returns the kind of a failed connection. */
export function problemOfConnection(error: unknown): CallProblem {
  const { code = "" } = error instanceof Error ? (error as SystemError) : {};
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID") return "certificate_expired";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return "wrong_name";
  if (unknownAuthorities.has(code)) return "unknown_authority";
  if (refusals[code] !== undefined) return "refused";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return "no_such_host";
  return code === "TIMEOUT" || code === "ETIMEDOUT" ? "timeout" : "other";
}

type SystemError = NodeJS.ErrnoException & {
  readonly address?: string;
  readonly port?: number;
  /** The name that was looked up. */
  readonly hostname?: string;
};
/** An error of the system, or an `OutgoingError`, whose file is loaded only with a client. */
type ConnectionError = SystemError & Partial<Pick<OutgoingError, "step">>;

export function connectionProblem(error: unknown, { host, serverName, isHttp = false }: Called): string {
  if (!(error instanceof Error)) return String(error);
  const { code = "", address, port, hostname, syscall, step }: ConnectionError = error;
  const dialled = address === undefined ? host : `${address.includes(":") ? `[${address}]` : address}:${port}`;
  const refusal = refusals[code];
  if (refusal !== undefined) return `dial tcp ${dialled}: connect: ${refusal}`;
  if (step === "handshake") return "net/http: TLS handshake timeout";
  if (code === "TIMEOUT" || code === "ETIMEDOUT") return "context deadline exceeded";
  if (code === "ABORTED") return "context canceled";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    // A service of the type ExternalName is looked up by another name than it is called by.
    return `dial tcp: lookup ${hostname ?? host.replace(/:\d+$/, "")}: no such host`;
  }
  if (code === "ECONNRESET" && syscall !== undefined) return "read: connection reset by peer";
  if (code === "ECONNRESET" || code === "EPIPE") return "EOF";
  if (code === "HPE_HEADER_OVERFLOW") return "net/http: server response headers exceeded their limit; aborted";
  if (code.startsWith("HPE_")) return "net/http: HTTP/1.x transport connection broken: malformed HTTP response";
  if (code === "EPROTO" || code.startsWith("ERR_SSL_")) {
    return isHttp
      ? "http: server gave HTTP response to HTTPS client"
      : "tls: first record does not look like a TLS handshake";
  }
  const refused = certificateProblem(error, serverName ?? host.replace(/:\d+$|[[\]]/g, ""));
  if (refused !== undefined) return `tls: failed to verify certificate: x509: ${refused}`;
  return error.message;
}
