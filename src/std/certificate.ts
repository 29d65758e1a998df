/**
 * Keys, and certificates for them. What writes certificates is loaded for the first one. `server/credentials.ts` decides
 * about the server's own, `controllers/certificate-requests/signing.ts` about requested ones.
 */
import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import type { Random } from "./random.ts";
import type { Authority, CertificateTemplate, Issuance, Issuer } from "./x509/write-certificate.ts";

export type { Authority, CertificateTemplate } from "./x509/write-certificate.ts";

/** A certificate and its private key, both PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

/** A new private key. */
export const newKey = (): KeyObject => generateKeyPairSync("ec", { namedCurve: "prime256v1" }).privateKey;

/** A private key as PEM. Elliptic ones in their own form (SEC 1), since there are clients that read no other. */
export const keyPem = (key: KeyObject): string =>
  key.export({ type: key.asymmetricKeyType === "ec" ? "sec1" : "pkcs8", format: "pem" }).toString();

/** Reads PEM of a certificate (the first counts) and of its key. Throws when they are not understood. */
export function readAuthority(certificate: string, privateKey: string): Authority {
  const read = new X509Certificate(certificate);
  const key = createPrivateKey(privateKey);
  if (!read.checkPrivateKey(key)) throw new Error("not the key of the certificate");
  return { certificate: read, key, notAfterMs: read.validToDate.getTime() };
}

/** Signs a certificate; PEM. An authority that signs itself passes its own name and key as issuer. */
export async function signCertificate(template: CertificateTemplate, issuer: Issuer, random: Random): Promise<string> {
  const loaded = await import("./x509/write-certificate.ts");
  return loaded.signCertificate(template, issuer, random);
}

/** Signs a certificate that is never one of an authority; PEM. */
export async function issueCertificate(issuance: Issuance, authority: Authority, random: Random): Promise<string> {
  const loaded = await import("./x509/write-certificate.ts");
  return loaded.issueCertificate(issuance, authority, random);
}
