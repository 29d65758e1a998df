/**
 * Authenticates by client certificate: the common name is the user, each organization a group. TLS verified key usage
 * and chain when the connection began. Each request checks again that a present client authority issued the certificate
 * and that it has not expired. Source: upstream's `authentication/request/x509`.
 */
import { hash } from "node:crypto";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { Clock } from "#std/clock.ts";
import { type Authentication, type Authenticator, noCredentials, type VerifiedCertificate } from "./authenticator.ts";
import type { CertificateAuthorities } from "./certificate-authorities.ts";

interface ClientCertificateOptions {
  readonly domain: ApiDomain;
  readonly clock: Clock;
  /** Returns the present authorities. */
  authorities(): CertificateAuthorities;
  /** Called for each request with a valid certificate, with the seconds for which it stays valid. */
  observeLifetime?(seconds: number): void;
}

/**
 * Makes the authenticator. It refuses a certificate that is not trusted, as upstream does; one without a common name
 * gives no user.
 */
export function clientCertificate(options: ClientCertificateOptions): Authenticator {
  const { domain, clock, authorities, observeLifetime } = options;
  const credentialId = domain.rename("authentication.kubernetes.io/credential-id");
  const identities = new WeakMap<VerifiedCertificate, Authentication>();
  return {
    authenticate(credentials) {
      const certificate = credentials.clientCertificate;
      if (certificate === undefined) {
        const problem = credentials.clientCertificateProblem;
        return problem === "" ? noCredentials : { outcome: "refused", reason: `client certificate: ${problem}` };
      }
      const [present, nowMs] = [authorities(), clock.now()];
      const problem = certificateProblem(certificate, present, nowMs);
      if (problem !== undefined) return problem;
      const validity = present.validityOf(certificate);
      if (validity !== undefined) observeLifetime?.((validity.notAfterMs - nowMs) / 1000);
      let identity = identities.get(certificate);
      if (identity === undefined) {
        identity = identityOf(certificate, credentialId);
        identities.set(certificate, identity);
      }
      return identity;
    },
  };
}

/** Returns why a certificate is invalid at `nowMs`; `undefined` when it is valid. */
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
