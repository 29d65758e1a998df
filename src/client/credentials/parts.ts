/** The parts of a credential, checked: a bearer token, and a certificate with its key. Messages quote nothing of them. */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";

export interface CertificateWithKey {
  /** The certificate, and intermediates after it, as PEM. */
  readonly cert: string;
  /** The private key as PEM. */
  readonly key: string;
}

/** Returns the token without space around it. Throws an `Error` if no header can carry it. */
export function parseToken(text: string): string {
  const token = text.trim();
  if (token === "") throw new Error("the token is empty");
  if (!/^[\x21-\x7e]+$/.test(token)) throw new Error("the token must be one word of visible ASCII characters");
  return token;
}

/** Returns both parts. Throws an `Error` if one is not PEM, or if the key is not that of the certificate. */
export function parseCertificate(cert: string, key: string): CertificateWithKey {
  let leaf: X509Certificate;
  let secret: KeyObject;
  try {
    leaf = new X509Certificate(cert);
  } catch {
    throw new Error("the client certificate is not PEM");
  }
  try {
    secret = createPrivateKey(key);
  } catch {
    throw new Error("the client key is not PEM, or it is encrypted");
  }
  if (!leaf.checkPrivateKey(secret)) throw new Error("the client key is not that of the client certificate");
  return { cert, key };
}
