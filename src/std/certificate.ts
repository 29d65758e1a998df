/**
 * Keys, and certificates for them. What writes certificates is loaded for the first one. `server/credentials.ts` decides
 * about the server's own, `controllers/certificate-requests/signing.ts` about requested ones.
 */
import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import type { Random } from "./random.ts";
import type { Authority, CertificateTemplate, Issuance, Issuer } from "./x509/write-certificate.ts";

export type { Authority, CertificateTemplate } from "./x509/write-certificate.ts";

/** A certificate and its private key, both as PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

/** Returns a new private key. */
export const newKey = (): KeyObject => generateKeyPairSync("ec", { namedCurve: "prime256v1" }).privateKey;

/** Returns a private key as PEM. Elliptic keys have the SEC 1 form, since some clients read no other. */
export const keyPem = (key: KeyObject): string =>
  key.export({ type: key.asymmetricKeyType === "ec" ? "sec1" : "pkcs8", format: "pem" }).toString();

/** Reads a certificate (the first one counts) and its key from PEM. Throws when they are not understood. */
export function readAuthority(certificate: string, privateKey: string): Authority {
  const read = new X509Certificate(certificate);
  const key = createPrivateKey(privateKey);
  if (!read.checkPrivateKey(key)) throw new Error("not the key of the certificate");
  return { certificate: read, key, notAfterMs: read.validToDate.getTime() };
}

/** Signs a certificate and returns it as PEM. A self-signing authority passes its own name and key as issuer. */
export async function signCertificate(template: CertificateTemplate, issuer: Issuer, random: Random): Promise<string> {
  const loaded = await import("./x509/write-certificate.ts");
  return loaded.signCertificate(template, issuer, random);
}

/** Signs a certificate, which is never one of an authority, and returns it as PEM. */
export async function issueCertificate(issuance: Issuance, authority: Authority, random: Random): Promise<string> {
  const loaded = await import("./x509/write-certificate.ts");
  return loaded.issueCertificate(issuance, authority, random);
}
