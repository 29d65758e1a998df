/**
 * Users by client certificate: the common name is the user, every organization a group. That the certificate may be used
 * by a client, and belongs to one of the server's authorities, was checked by the TLS layer when the connection began;
 * here it is checked, each time, that one of the present authorities for clients issued it and that it has not expired.
 * Source: upstream's `authentication/request/x509`.
 */
import { hash } from "node:crypto";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { Clock } from "#std/clock.ts";
import { type Authentication, type Authenticator, noCredentials, type VerifiedCertificate } from "./authenticator.ts";
import type { CertificateAuthorities } from "./certificate-authorities.ts";

export interface ClientCertificateOptions {
  readonly domain: ApiDomain;
  readonly clock: Clock;
  /** Those that count now. */
  authorities(): CertificateAuthorities;
}

/** A certificate that was shown and is not trusted is refused, as upstream does. One without a common name is nobody's. */
export function clientCertificate({ domain, clock, authorities }: ClientCertificateOptions): Authenticator {
  const credentialId = domain.rename("authentication.kubernetes.io/credential-id");
  const identities = new WeakMap<VerifiedCertificate, Authentication>();
  return {
    authenticate(credentials) {
      const certificate = credentials.clientCertificate;
      if (certificate === undefined) {
        const problem = credentials.clientCertificateProblem;
        return problem === "" ? noCredentials : { outcome: "refused", reason: `client certificate: ${problem}` };
      }
      const problem = certificateProblem(certificate, authorities(), clock.now());
      if (problem !== undefined) return problem;
      let identity = identities.get(certificate);
      if (identity === undefined) {
        identity = identityOf(certificate, credentialId);
        identities.set(certificate, identity);
      }
      return identity;
    },
  };
}

/** Why a certificate counts for nothing at `nowMs`; `undefined` when it does count. */
export function certificateProblem(
  certificate: VerifiedCertificate,
  authorities: CertificateAuthorities,
  nowMs: number,
): Authentication | undefined {
  const validity = authorities.validityOf(certificate);
  if (validity === undefined) return unknownAuthority;
  return nowMs < validity.notBeforeMs || nowMs > validity.notAfterMs ? expired : undefined;
}

const unknownAuthority: Authentication = {
  outcome: "refused",
  reason: "client certificate: certificate signed by unknown authority",
};
const expired: Authentication = {
  outcome: "refused",
  reason: "client certificate: certificate has expired or is not yet valid",
};

function identityOf({ commonName, organizations, raw }: VerifiedCertificate, credentialId: string): Authentication {
  if (commonName === "") return noCredentials;
  const extra = { [credentialId]: [`X509SHA256=${hash("sha256", raw, "hex")}`] };
  return { outcome: "user", user: { name: commonName, groups: organizations, extra } };
}
