/**
 * A bundle of authorities for client certificates. TLS verifies against all bundles together, once a connection. This
 * class finds the bundle of a certificate, and whether it is still valid after the file changed. Name constraints and
 * path lengths are left to TLS.
 */
import { hash, X509Certificate } from "node:crypto";
import type { VerifiedCertificate } from "./authenticator.ts";

/** The time in which every certificate of a path to an authority is valid. */
interface Validity {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** The maximum length of a path that is followed; TLS layers allow few more certificates. */
const pathLengthMax = 8;

export class CertificateAuthorities {
  readonly #authorities: readonly X509Certificate[];
  // A certificate object lives as long as its connection.
  readonly #validities = new WeakMap<VerifiedCertificate, Validity | undefined>();

  /** `pem` contains any number of certificates. Throws OpenSSL's error for one that is malformed. */
  constructor(pem: string) {
    this.#authorities = certificateBlocks(pem).map((block) => new X509Certificate(block));
  }

  get size(): number {
    return this.#authorities.length;
  }

  /** The SHA-256 of each certificate, in hexadecimal digits. */
  get fingerprints(): readonly string[] {
    return this.#authorities.map(({ raw }) => hash("sha256", raw));
  }

  /** Whether both bundles have a certificate in common. */
  overlaps(other: CertificateAuthorities): boolean {
    return this.#authorities.some(({ raw }) => other.#authorities.some((their) => their.raw.equals(raw)));
  }

  /**
   * Returns the validity of a certificate; `undefined` when none of these authorities issued it, directly or through
   * sent intermediates.
   */
  validityOf(certificate: VerifiedCertificate): Validity | undefined {
    if (this.#validities.has(certificate)) return this.#validities.get(certificate);
    const validity = this.#find(certificate);
    this.#validities.set(certificate, validity);
    return validity;
  }

  #find({ raw, issuers }: VerifiedCertificate): Validity | undefined {
    const others = issuers.map((der) => new X509Certificate(der));
    const follow = (from: X509Certificate, path: readonly X509Certificate[]): Validity | undefined => {
      const here = [...path, from];
      if (this.#authorities.some((authority) => authority.raw.equals(from.raw))) return common(here);
      const authority = this.#authorities.find((candidate) => hasIssued(candidate, from));
      if (authority !== undefined) return common([...here, authority]);
      if (here.length >= pathLengthMax) return undefined;
      for (const next of others) {
        if (!next.ca || here.some((seen) => seen.raw.equals(next.raw)) || !hasIssued(next, from)) continue;
        const chain = follow(next, here);
        if (chain !== undefined) return chain;
      }
      return undefined;
    };
    return follow(new X509Certificate(raw), []);
  }
}

/** Splits a PEM text into its certificates, one text each. */
export function certificateBlocks(pem: string): readonly string[] {
  return pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
}

function hasIssued(issuer: X509Certificate, subject: X509Certificate): boolean {
  try {
    return subject.checkIssued(issuer) && subject.verify(issuer.publicKey);
  } catch {
    return false; // a client may send certificates whose keys nobody can read
  }
}

function common(path: readonly X509Certificate[]): Validity {
  return {
    notBeforeMs: Math.max(...path.map(({ validFromDate }) => validFromDate.getTime())),
    notAfterMs: Math.min(...path.map(({ validToDate }) => validToDate.getTime())),
  };
}
