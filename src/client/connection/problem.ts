/** Messages of connections that fail: one line that says what to do. None has a header, a body or a credential. */
import { isIP } from "node:net";
import { ConnectionError } from "../connection-error.ts";

/** The other end of a connection that could not be opened. */
interface Peer {
  /** The URL without path, user and password. */
  readonly address: string;
  readonly kind: "server" | "proxy";
  /** The name that its certificate must have. */
  readonly name: string;
}

type SystemError = NodeJS.ErrnoException & { readonly cert?: { readonly subjectaltname?: string } };

/** Returns the error of a connection that could not be opened. */
export function connectingError(error: unknown, peer: Peer): ConnectionError {
  const cause = firstOf(error);
  const { code = "" } = cause;
  return new ConnectionError(connectingMessage(cause, peer), {
    code,
    sent: false,
    temporary: code === "ECONNRESET" || code === "EPIPE",
    cause: error,
  });
}

/** Returns the URL of a proxy without the user and the password. */
export const proxyAddress = (proxy: URL): string => `${proxy.protocol}//${proxy.host}`;

/** Returns the error of a proxy that gives no way to `target`, a host with its port. */
export function proxyRefusal(error: unknown, proxy: URL, target: string): ConnectionError {
  const { message, code } = firstOf(error);
  return new ConnectionError(`the proxy ${proxyAddress(proxy)} does not connect to ${target}: ${message}`, {
    code,
    sent: false,
    temporary: false,
    cause: error,
  });
}

/** Returns the first error of a name's addresses, if all of them failed. */
function firstOf(error: unknown): SystemError {
  const first: unknown = error instanceof AggregateError && error.errors.length > 0 ? error.errors[0] : error;
  return first instanceof Error ? first : new Error(String(first));
}

const noWay: ReadonlySet<string> = new Set(["EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL", "EHOSTDOWN"]);
const unknownAuthorities: ReadonlySet<string> = new Set([
  "CERT_SIGNATURE_FAILURE",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

function connectingMessage(error: SystemError, { address, kind, name }: Peer): string {
  const { code = "", message } = error;
  const what = kind === "proxy" ? `the proxy ${address}` : address;
  if (code === "ECONNREFUSED") {
    const advice = kind === "proxy" ? "is this its address?" : "is the server running, and is this its address?";
    return `nothing listens at ${what} (ECONNREFUSED): ${advice}`;
  }
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return `${what} cannot be reached: the name ${hostOf(address)} is not known (${code}): check the name and the network`;
  }
  if (code === "ETIMEDOUT") return `${what} does not answer (ETIMEDOUT): check the address, the firewall and the proxy`;
  if (noWay.has(code)) return `there is no way to ${what} (${code}): check the network`;
  if (code === "ECONNRESET" || code === "EPIPE")
    return `${what} closed the connection before it could be used (${code})`;
  if (unknownAuthorities.has(code)) {
    const advice = kind === "proxy" ? "" : ": give it as certificate-authority";
    return `the certificate of ${what} is signed by an authority that is not trusted (${code})${advice}`;
  }
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID") {
    return `the certificate of ${what} has expired or is not valid yet (${code}): check it and the clock`;
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return `the certificate of ${what} ${wrongName(error, name)}`;
  if (code === "ERR_SSL_WRONG_VERSION_NUMBER" || code === "ERR_SSL_PACKET_LENGTH_TOO_LONG") {
    return `${what} does not speak TLS (${code}): is its URL one of http?`;
  }
  return `${what} cannot be reached: ${refusedCertificate(code) ?? message}`;
}

const hostOf = (address: string): string => URL.parse(address)?.hostname ?? address;

/** Returns what to say of a certificate with other names. Node's error has the certificate. */
function wrongName({ cert }: SystemError, wanted: string): string {
  const kind = isIP(wanted) === 0 ? "DNS:" : "IP Address:";
  const entries = (cert?.subjectaltname ?? "").split(", ").filter((entry) => entry.startsWith(kind));
  const names = entries.map((entry) => entry.slice(kind.length)).join(", ");
  return `is for ${names === "" ? `no such name` : names}, not for ${wanted}: use another address, or give tls-server-name`;
}

/** Returns what to say of an alert of TLS about the client's certificate; `undefined` for other codes. */
function refusedCertificate(code: string): string | undefined {
  const [, alert = ""] =
    /^ERR_SSL_(?:TLSV1|TLSV13|SSLV3|TLS)_ALERT_(.*(?:CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED).*)$/.exec(code) ?? [];
  return alert === "" ? undefined : `it refused the client certificate (${code})`;
}

/** The request that had no answer. */
interface Unanswered {
  /** The URL of the server, without path, user and password. */
  readonly address: string;
  /** Whether the request was given to a connection. */
  readonly sent: boolean;
  /** Whether a request that is carried out twice does no harm. */
  readonly reads: boolean;
  /** Whether the answer had begun. */
  readonly answered: boolean;
}

/** Returns the error of an answer that is longer than the caller can take, packed or unpacked. */
export const bodyTooLong = (address: string, bytesMax: number): ConnectionError =>
  new ConnectionError(`${address} sent an answer of more than ${bytesMax} bytes: ask for less at a time`, {
    sent: true,
    temporary: false,
  });

/** The codes of errors that mean that a connection was lost, as opposed to an answer that cannot be read. */
const lost =
  /^(?:ECONNRESET|EPIPE|ETIMEDOUT|ECONNABORTED|EHOSTUNREACH|ENETUNREACH|UND_ERR_SOCKET|UND_ERR_INFO|UND_ERR_RES_CONTENT_LENGTH_MISMATCH|ERR_HTTP2_.*|ERR_STREAM_.*)$/;
/** Whether undici or an open connection made the error, as opposed to the opening of a connection. */
export function isOfConnection(error: Error): boolean {
  const { code = "" } = error as NodeJS.ErrnoException;
  return !(error instanceof ConnectionError) && (code.startsWith("UND_ERR_") || lost.test(code));
}

/** The code of HTTP/2 for a stream that the server has not looked at. */
const refusedStream = 7;

/** Returns the error of a request that had no answer, or only a part of one. */
export function requestError(error: Error, { address, sent, reads, answered }: Unanswered): ConnectionError {
  const { code = "", http2ErrorCode } = error as NodeJS.ErrnoException & { readonly http2ErrorCode?: number };
  // After this frame only those requests fail that the server has not looked at.
  const untouched = !answered && (http2ErrorCode === refusedStream || error.message.startsWith(`HTTP/2: "GOAWAY"`));
  const mayBeDone = sent && !untouched;
  const options = { code, sent: mayBeDone, temporary: untouched || lost.test(code), cause: error };
  if (code === "UND_ERR_INVALID_ARG") {
    return new ConnectionError(`the request to ${address} cannot be sent: ${error.message}`, {
      ...options,
      sent: false,
    });
  }
  if (code === "UND_ERR_DESTROYED" || code === "UND_ERR_CLOSED") {
    return new ConnectionError(`the connection to ${address} is closed`, options);
  }
  const why = refusedCertificate(code) ?? (code.startsWith("HPE_") ? "it does not speak HTTP here" : error.message);
  if (!options.temporary) return new ConnectionError(`${address} did not answer: ${why}`, options);
  const when = answered ? "in the middle of an answer" : "before an answer";
  const doubt = mayBeDone && !reads ? "; it is not known whether the request was carried out" : "";
  return new ConnectionError(`the connection to ${address} was lost ${when} (${why})${doubt}`, options);
}
