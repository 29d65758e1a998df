/**
 * Checks that a certificate and a private key belong together, for a warning about secrets. The messages are those of
 * Go's TLS library.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { type PemBlock, pemBlocks } from "#std/pem.ts";

const certificateLabel = "CERTIFICATE";
const isKeyLabel = (label: string): boolean => label.endsWith("PRIVATE KEY");

/**
 * Returns the reason why a server cannot use the two PEM texts; `undefined` if they fit. The first certificate counts.
 */
export function keyPairProblem(certificates: string, keys: string): string | undefined {
  const { block: certificate, skipped } = firstOf(certificates, (label) => label === certificateLabel);
  if (certificate === undefined) return noCertificate(skipped);
  const { block: keyBlock, skipped: beforeKey } = firstOf(keys, isKeyLabel);
  if (keyBlock === undefined) return noKey(beforeKey);
  const read = attempt(() => new X509Certificate(certificate.bytes));
  if (read === undefined) return "x509: malformed certificate";
  const key = keyOf(keyBlock);
  if (key === undefined) return "tls: failed to parse private key";
  // OpenSSL may not know the algorithm or curve of the key.
  const publicKey = attempt(() => read.publicKey);
  if (publicKey === undefined) return "tls: unknown public key algorithm";
  if (publicKey.asymmetricKeyType !== key.asymmetricKeyType) {
    return "tls: private key type does not match public key type";
  }
  return attempt(() => read.checkPrivateKey(key)) === true ? undefined : "tls: private key does not match public key";
}

interface Search {
  readonly block: PemBlock | undefined;
  /** The labels of the blocks before the found one. */
  readonly skipped: readonly string[];
}

function firstOf(text: string, isWanted: (label: string) => boolean): Search {
  const skipped: string[] = [];
  for (const block of pemBlocks(text)) {
    if (isWanted(block.label)) return { block, skipped };
    skipped.push(block.label);
  }
  return { block: undefined, skipped };
}

/** The maximum number of labels in a warning. */
const labelsMax = 20;
/** The maximum number of characters of a label. */
const labelMax = 100;
const cut = (label: string): string => (label.length > labelMax ? `${label.slice(0, labelMax)}...` : label);
const list = (labels: readonly string[]): string => `[${labels.slice(0, labelsMax).map(cut).join(" ")}]`;

function noCertificate(labels: readonly string[]): string {
  if (labels.length === 0) return "tls: failed to find any PEM data in certificate input";
  if (labels.length === 1 && isKeyLabel(labels[0]!)) {
    return "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched";
  }
  return `tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: ${list(labels)}`;
}

function noKey(labels: readonly string[]): string {
  if (labels.length === 0) return "tls: failed to find any PEM data in key input";
  if (labels.length === 1 && labels[0] === certificateLabel) {
    return "tls: found a certificate rather than a key in the PEM for the private key";
  }
  return `tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: ${list(labels)}`;
}

/** The formats of keys that Go tries, whatever the label is. */
const keyTypes = ["pkcs1", "pkcs8", "sec1"] as const;

function keyOf({ bytes }: PemBlock): KeyObject | undefined {
  for (const type of keyTypes) {
    const key = attempt(() => createPrivateKey({ key: bytes, format: "der", type }));
    if (key !== undefined) return key;
  }
  return undefined;
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}
