/**
 * Creates X.509 certificates. Source: RFC 5280. `server/credentials.ts` decides about the server's own,
 * `controllers/csr-signing.ts` about requested ones.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  X509Certificate,
} from "node:crypto";
import { isIPv4 } from "node:net";
import {
  bitString,
  type DerElement,
  DerError,
  explicit,
  implicit,
  integer,
  nullValue,
  objectIdentifier,
  octetString,
  readElements,
  readObjectIdentifier,
  readOnly,
  sequence,
  set,
  time,
  trueValue,
  utf8String,
} from "./der.ts";
import { printPem } from "./pem.ts";
import type { Random } from "./random.ts";

export interface Issuer {
  readonly commonName: string;
  readonly key: KeyObject;
}

export interface CertificateTemplate {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly publicKey: KeyObject;
  readonly usage: "authority" | "server" | "client";
  /** Host names and addresses. */
  readonly names?: readonly string[];
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** A new private key. */
export const newKey = (): KeyObject => generateKeyPairSync("ec", { namedCurve: "prime256v1" }).privateKey;

/** A private key as PEM. Elliptic ones in their own form (SEC 1), since there are clients that read no other. */
export const keyPem = (key: KeyObject): string =>
  key.export({ type: key.asymmetricKeyType === "ec" ? "sec1" : "pkcs8", format: "pem" }).toString();

/** Signs a certificate; PEM. An authority that signs itself passes its own name and key as issuer. */
export function signCertificate(request: CertificateTemplate, issuer: Issuer, random: Random): string {
  const body = {
    subject: distinguishedName(request.commonName, request.organizations ?? []),
    publicKey: request.publicKey,
    extensions: extensions(request, createPublicKey(issuer.key)),
    notBeforeMs: request.notBeforeMs,
    notAfterMs: request.notAfterMs,
  };
  return signBody(body, { subject: distinguishedName(issuer.commonName, []), key: issuer.key }, random);
}

/** The authority that signs requested certificates. */
export interface Authority {
  /** DER of its name. */
  readonly subject: Buffer;
  readonly key: KeyObject;
  /** Identifies its key; empty when its certificate does not say. */
  readonly keyId: Buffer;
  readonly notAfterMs: number;
}

/** From PEM of a certificate (the first counts) and of its key. Throws when they are not understood. */
export function readAuthority(certificate: string, privateKey: string): Authority {
  const read = new X509Certificate(certificate);
  const key = createPrivateKey(privateKey);
  if (!read.checkPrivateKey(key)) throw new DerError("not the key of the certificate");
  const [body] = readElements(readOnly(read.raw, 0x30).content);
  const parts = readElements(body!.content);
  const subject = parts[parts[0]!.tag === 0xa0 ? 5 : 4]!.whole;
  const found = parts.find(({ tag }) => tag === 0xa3);
  return { subject, key, keyId: found === undefined ? noBytes : subjectKeyId(found), notAfterMs: validTo(read) };
}

const noBytes = Buffer.alloc(0);
const validTo = (certificate: X509Certificate): number => certificate.validToDate.getTime();

function subjectKeyId(extensionsField: DerElement): Buffer {
  for (const { content } of readElements(readElements(extensionsField.content)[0]!.content)) {
    const parts = readElements(content);
    if (readObjectIdentifier(parts[0]!) === "2.5.29.14") return readOnly(parts.at(-1)!.content, 0x04).content;
  }
  return noBytes;
}

/** The content of a requested certificate. */
export interface Issuance {
  /** DER of a name. */
  readonly subject: Buffer;
  readonly publicKey: KeyObject;
  /** Bits of the key's usages, from 0 (digitalSignature) to 8. */
  readonly usageBits: readonly number[];
  /** Object identifiers. */
  readonly extendedUsages: readonly string[];
  readonly dnsNames: readonly string[];
  readonly emails: readonly string[];
  /** Network bytes. */
  readonly addresses: readonly Buffer[];
  readonly uris: readonly string[];
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** Signs a certificate that is never one of an authority; PEM. */
export function issueCertificate(issuance: Issuance, authority: Authority, random: Random): string {
  const { usageBits, extendedUsages, dnsNames, emails, addresses, uris } = issuance;
  const names = [
    ...emails.map((text) => implicit(1, Buffer.from(text))),
    ...dnsNames.map((text) => implicit(2, Buffer.from(text))),
    ...uris.map((text) => implicit(6, Buffer.from(text))),
    ...addresses.map((bytes) => implicit(7, bytes)),
  ];
  const list = [
    ...(usageBits.length === 0 ? [] : [extension("2.5.29.15", true, namedBits(usageBits))]),
    ...(extendedUsages.length === 0
      ? []
      : [extension("2.5.29.37", false, sequence(...extendedUsages.map(objectIdentifier)))]),
    extension("2.5.29.19", true, sequence()),
    ...(authority.keyId.length === 0 ? [] : [extension("2.5.29.35", false, sequence(implicit(0, authority.keyId)))]),
    ...(names.length === 0 ? [] : [extension("2.5.29.17", isEmptyName(issuance.subject), sequence(...names))]),
  ];
  return signBody({ ...issuance, extensions: list }, authority, random);
}

const isEmptyName = (subject: Buffer): boolean => subject.length === 2;

/** Bits by their numbers, without trailing zeros. */
function namedBits(numbers: readonly number[]): Buffer {
  const last = Math.max(...numbers);
  const bytes = Buffer.alloc(Math.floor(last / 8) + 1);
  for (const number of numbers) bytes[Math.floor(number / 8)]! |= 0x80 >> (number % 8);
  return bitString(bytes, 7 - (last % 8));
}

interface Body {
  /** DER of a name. */
  readonly subject: Buffer;
  readonly publicKey: KeyObject;
  readonly extensions: readonly Buffer[];
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

function signBody(body: Body, issuer: { readonly subject: Buffer; readonly key: KeyObject }, random: Random): string {
  const [algorithm, digest] = signatureAlgorithm(issuer.key);
  const bytes = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(serialNumber(random)),
    algorithm,
    issuer.subject,
    sequence(time(body.notBeforeMs), time(body.notAfterMs)),
    body.subject,
    body.publicKey.export({ type: "spki", format: "der" }),
    explicit(3, sequence(...body.extensions)),
  );
  return printPem("CERTIFICATE", sequence(bytes, algorithm, bitString(sign(digest, bytes, issuer.key))));
}

/** How a key signs: identifier and digest. Throws for keys that cannot. */
function signatureAlgorithm(key: KeyObject): readonly [identifier: Buffer, digest: string | null] {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (type === "rsa") return [sequence(objectIdentifier("1.2.840.113549.1.1.11"), nullValue), "sha256"];
  if (type === "ed25519") return [sequence(objectIdentifier("1.3.101.112")), null];
  const digests: Readonly<Record<string, readonly [string, string]>> = {
    prime256v1: ["1.2.840.10045.4.3.2", "sha256"],
    secp384r1: ["1.2.840.10045.4.3.3", "sha384"],
    secp521r1: ["1.2.840.10045.4.3.4", "sha512"],
  };
  const found = digests[details?.namedCurve ?? ""];
  if (type !== "ec" || found === undefined) throw new DerError("a key that signs no certificates");
  return [sequence(objectIdentifier(found[0])), found[1]];
}

/** Positive, 127 bits, never zero. */
function serialNumber(random: Random): Buffer {
  const bytes = random.bytes(16);
  bytes[0] = (bytes[0]! & 0x7f) | 0x40;
  return bytes;
}

function distinguishedName(commonName: string, organizations: readonly string[]): Buffer {
  const attribute = (type: string, value: string): Buffer => set(sequence(objectIdentifier(type), utf8String(value)));
  return sequence(
    ...organizations.map((organization) => attribute("2.5.4.10", organization)),
    attribute("2.5.4.3", commonName),
  );
}

const extension = (id: string, critical: boolean, value: Buffer): Buffer =>
  sequence(objectIdentifier(id), ...(critical ? [trueValue] : []), octetString(value));

function extensions(request: CertificateTemplate, issuerKey: KeyObject): Buffer[] {
  const isAuthority = request.usage === "authority";
  // Bits from the left: digitalSignature is 0, keyCertSign 5, cRLSign 6.
  const usageBits = isAuthority ? bitString(Buffer.from([0b10000110]), 1) : bitString(Buffer.from([0b10000000]), 7);
  const list = [
    extension("2.5.29.15", true, usageBits),
    extension("2.5.29.19", true, isAuthority ? sequence(trueValue) : sequence()),
    extension("2.5.29.14", false, octetString(keyId(request.publicKey))),
    extension("2.5.29.35", false, sequence(implicit(0, keyId(issuerKey)))),
  ];
  if (!isAuthority) {
    const purpose = request.usage === "server" ? "1.3.6.1.5.5.7.3.1" : "1.3.6.1.5.5.7.3.2";
    list.push(extension("2.5.29.37", false, sequence(objectIdentifier(purpose))));
  }
  if (request.names !== undefined && request.names.length > 0) {
    list.push(extension("2.5.29.17", false, sequence(...request.names.map(generalName))));
  }
  return list;
}

/** RFC 7093, method 1: the first 160 bits of the key's SHA-256. */
function keyId(key: KeyObject): Buffer {
  const info = key.export({ type: "spki", format: "der" });
  return createHash("sha256")
    .update(info.subarray(info.length - 65))
    .digest()
    .subarray(0, 20);
}

function generalName(name: string): Buffer {
  const address = addressBytes(name);
  return address === undefined ? implicit(2, Buffer.from(name)) : implicit(7, address);
}

/**
 * Network bytes of an IP address, undefined for other names. The URL parser writes IPv6 in its canonical, expandable form.
 * Unlike `isIPv6` it has no pattern, which would stay in memory with 150 KB.
 */
function addressBytes(name: string): Buffer | undefined {
  if (isIPv4(name)) return Buffer.from(name.split(".").map(Number));
  const address = name.split("%")[0]!;
  const url = /^[\da-f:.]+$/i.test(address) ? URL.parse(`http://[${address}]`) : null;
  if (url === null) return undefined;
  const canonical = url.hostname.slice(1, -1);
  const [head, tail] = canonical.split("::");
  const groups = (part: string | undefined): string[] => (part === undefined || part === "" ? [] : part.split(":"));
  const left = groups(head);
  const right = groups(tail);
  const middle = Array.from({ length: 8 - left.length - right.length }, () => "0");
  const bytes = Buffer.alloc(16);
  for (const [index, group] of [...left, ...middle, ...right].entries()) {
    bytes.writeUInt16BE(Number.parseInt(group, 16), index * 2);
  }
  return bytes;
}
