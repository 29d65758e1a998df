/**
 * Users by client certificate: the common name is the user, every organization a group. That the certificate belongs to
 * a trusted authority and may be used by a client was checked by the TLS layer when the connection began; here it is
 * checked that it has not expired since. Source: upstream's `authentication/request/x509`.
 */
import { hash, X509Certificate } from "node:crypto";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { Clock } from "#std/clock.ts";
import { type Authentication, type Authenticator, noCredentials, type VerifiedCertificate } from "./authenticator.ts";

interface Identity {
  readonly answer: Authentication;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** A certificate that was shown and not verified is refused, as upstream does. One without a common name is nobody's. */
export function clientCertificate(options: { readonly domain: ApiDomain; readonly clock: Clock }): Authenticator {
  const credentialId = options.domain.rename("authentication.kubernetes.io/credential-id");
  // One certificate object lives as long as its connection.
  const identities = new WeakMap<VerifiedCertificate, Identity>();
  return {
    authenticate(credentials) {
      const certificate = credentials.clientCertificate;
      if (certificate === undefined) {
        const problem = credentials.clientCertificateProblem;
        return problem === "" ? noCredentials : { outcome: "refused", reason: `client certificate: ${problem}` };
      }
      let identity = identities.get(certificate);
      if (identity === undefined) {
        identity = identityOf(certificate, credentialId);
        identities.set(certificate, identity);
      }
      const now = options.clock.now();
      if (now < identity.notBeforeMs || now > identity.notAfterMs) {
        return { outcome: "refused", reason: "client certificate: certificate has expired or is not yet valid" };
      }
      return identity.answer;
    },
  };
}

function identityOf(certificate: VerifiedCertificate, credentialId: string): Identity {
  const parsed = new X509Certificate(certificate.raw);
  const user: UserInfo = {
    name: certificate.commonName,
    groups: certificate.organizations,
    extra: { [credentialId]: [`X509SHA256=${hash("sha256", certificate.raw, "hex")}`] },
  };
  return {
    answer: certificate.commonName === "" ? noCredentials : { outcome: "user", user },
    notBeforeMs: parsed.validFromDate.getTime(),
    notAfterMs: parsed.validToDate.getTime(),
  };
}
