/**
 * The names of a server's certificate, compared as Go's TLS does: the name of the subject does not count, whatever other
 * names there are, and `*` is a whole label.
 */
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import type { PeerCertificate } from "node:tls";

/** Whether a certificate is for a name or an address. */
export function hasName(certificate: X509Certificate, wanted: string): boolean {
  if (isIP(wanted) !== 0) return certificate.checkIP(wanted) !== undefined;
  const options = { subject: "never", partialWildcards: false } as const;
  return certificate.checkHost(wanted.replace(/\.$/, ""), options) !== undefined;
}

/** Takes the place of `checkServerIdentity` of `node:tls`, whose errors have the same code and the certificate, too. */
export function checkNames(wanted: string, certificate: PeerCertificate): Error | undefined {
  if (hasName(new X509Certificate(certificate.raw), wanted)) return undefined;
  const error = new Error(`the certificate is for other names than ${wanted}`);
  return Object.assign(error, { code: "ERR_TLS_CERT_ALTNAME_INVALID", cert: certificate });
}
