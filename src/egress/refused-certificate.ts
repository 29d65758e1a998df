/**
 * Certificates of other servers that are refused: errors of handshakes keep them, so that messages can name the reason
 * as Go's client does, which looks at the time first, then at the names, and then at who signed. Source of the messages:
 * the answers of kube-apiserver.
 */
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import type { TLSSocket } from "node:tls";
import { goQuote } from "#meta/field-error.ts";
import { hasName } from "#std/certificate-names.ts";
import type { Clock } from "#std/clock.ts";
import { type PemBlock, pemBlocks } from "#std/pem.ts";

/** The trust of a connection. */
interface Trust {
  readonly clock: Clock;
  /** The authorities, as PEM; `undefined` for the machine's. */
  readonly ca?: string | undefined;
}

/** A refused certificate, and what it was compared with. */
interface RefusedCertificate {
  readonly certificate: X509Certificate;
  readonly nowMs: number;
  readonly ca: string | undefined;
}

/** Has the error of a handshake keep the certificate. Called before the handshake ends. */
export function keepRefused(socket: TLSSocket, { clock, ca }: Trust): void {
  // Node emits this event before it compares the certificate, which is gone when the socket is destroyed.
  socket.prependOnceListener("secure", () => {
    const certificate = socket.getPeerX509Certificate();
    if (certificate === undefined) return;
    const keep = (error: Error): void => {
      const refused: RefusedCertificate = { certificate, nowMs: clock.now(), ca };
      Object.assign(error, { refused });
    };
    socket.prependOnceListener("error", keep);
    socket.once("secureConnect", () => socket.off("error", keep));
  });
}

/** Returns the problem of the certificate that an error has; `undefined` for an error without one. */
export function certificateProblem(error: Error & { readonly code?: string }, name: string): string | undefined {
  const { refused } = error as { readonly refused?: RefusedCertificate }; // set above
  if (refused === undefined) return undefined;
  try {
    return problemOf(refused, name, error.code);
  } catch {
    // The other side may send dates and keys that nobody can read, and bundles may have them.
    return "malformed certificate";
  }
}

function problemOf(refused: RefusedCertificate, name: string, code: string | undefined): string {
  const { certificate } = refused;
  const problem = timeProblem(certificate, refused) ?? nameProblem(certificate, name);
  if (problem !== undefined) return problem;
  if (code === "INVALID_PURPOSE") return "certificate specifies an incompatible key usage";
  const issuers = issuersOf(refused);
  const late = issuers.map((issuer) => timeProblem(issuer, refused));
  return (
    late.find((one) => one !== undefined) ?? `certificate signed by unknown authority${hint(certificate, issuers)}`
  );
}

function timeProblem(
  { validFromDate, validToDate }: X509Certificate,
  { nowMs }: RefusedCertificate,
): string | undefined {
  const isEarly = nowMs < validFromDate.getTime();
  if (!isEarly && nowMs <= validToDate.getTime()) return undefined;
  const shown = (date: Date): string => date.toISOString().replace(/\.\d+Z$/, "Z");
  const bound = isEarly ? `before ${shown(validFromDate)}` : `after ${shown(validToDate)}`;
  return `certificate has expired or is not yet valid: current time ${shown(new Date(nowMs))} is ${bound}`;
}

function nameProblem(certificate: X509Certificate, wanted: string): string | undefined {
  if (hasName(certificate, wanted)) return undefined;
  const isAddress = isIP(wanted) !== 0;
  const { subjectAltName } = certificate;
  if (subjectAltName === undefined && isNamed(commonName(certificate), wanted)) {
    return "certificate relies on legacy Common Name field, use SANs instead";
  }
  const kind = isAddress ? "IP Address:" : "DNS:";
  const entries = (subjectAltName ?? "").split(", ").filter((entry) => entry.startsWith(kind));
  const names = entries.map((entry) => shortAddress(entry.slice(kind.length))).join(", ");
  if (names !== "") return `certificate is valid for ${names}, not ${wanted}`;
  return isAddress
    ? `cannot validate certificate for ${wanted} because it doesn't contain any IP SANs`
    : `certificate is not valid for any names, but wanted to match ${wanted}`;
}

/** Whether a name, which may begin with `*.`, is the wanted one. */
function isNamed(name: string, wanted: string): boolean {
  const [pattern, host] = [name.toLowerCase(), wanted.toLowerCase()];
  return pattern === host || (pattern.startsWith("*.") && pattern.slice(1) === host.replace(/^[^.]+/, ""));
}

/** Returns an IPv6 address in its short form, and other texts as they are. */
const shortAddress = (text: string): string =>
  isIP(text) === 6 ? new URL(`http://[${text}]`).hostname.slice(1, -1) : text;

const commonName = ({ subject }: X509Certificate): string => /^CN=(.*)$/m.exec(subject)?.[1] ?? "";

/** Returns the certificates that may have signed the refused one: those that the server sent, and authorities. */
function issuersOf({ certificate, ca = "" }: RefusedCertificate): readonly X509Certificate[] {
  const sent = certificate.issuerCertificate;
  const authorities = certificatesIn(ca).filter(({ subject }) => subject === certificate.issuer);
  return sent === undefined ? authorities : [sent, ...authorities];
}

/** Names an authority that has the right name and another key, as after a renewal. */
function hint(certificate: X509Certificate, issuers: readonly X509Certificate[]): string {
  const other = issuers.find(({ publicKey }) => !certificate.verify(publicKey));
  if (other === undefined) return "";
  const failure = failures[other.publicKey.asymmetricKeyType ?? ""] ?? "x509: cannot verify signature";
  const organization = /^O=(.*)$/m.exec(other.subject)?.[1];
  const name = commonName(other) || (organization ?? `serial:${BigInt(`0x${other.serialNumber}`)}`);
  return ` (possibly because of ${goQuote(failure)} while trying to verify candidate authority certificate ${goQuote(name)})`;
}

const failures: Readonly<Record<string, string>> = {
  rsa: "crypto/rsa: verification error",
  ec: "x509: ECDSA verification failure",
  ed25519: "x509: Ed25519 verification failure",
};

/** Returns the certificates in PEM that can be read. */
const certificatesIn = (text: string): readonly X509Certificate[] =>
  [...pemBlocks(text)].filter(isCertificate).flatMap(({ bytes }) => {
    try {
      return [new X509Certificate(bytes)];
    } catch {
      return [];
    }
  });

const isCertificate = ({ label, hasHeaders }: PemBlock): boolean => label === "CERTIFICATE" && !hasHeaders;

/** Returns why a bundle has no authority; `undefined` when it has one. */
export function bundleProblem(text: string): string | undefined {
  if (certificatesIn(text).length > 0) return undefined;
  const blocks = [...pemBlocks(text)];
  if (blocks.some(isCertificate)) return "failed to parse certificate: x509: malformed certificate";
  return blocks.length === 0 ? "unable to parse bytes as PEM block" : "no valid certificate authority data seen";
}
