/**
 * Makes X.509 certificates. Source: RFC 5280. Says nothing about who needs which; see `server/credentials.ts` for the
 * server's own and `controllers/csr-signing.ts` for those that others ask for.
 */
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { isIP } from "node:net";
import {
  bitString,
  explicit,
  implicit,
  integer,
  objectIdentifier,
  octetString,
  sequence,
  set,
  time,
  trueValue,
  utf8String,
} from "./der.ts";
import type { Random } from "./random.ts";

export interface Issuer {
  readonly commonName: string;
  readonly key: KeyObject;
}

export interface CertificateRequest {
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

/** A private key as PKCS #8 PEM. */
export const keyPem = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" }).toString();

/** Signs a certificate; PEM. An authority that signs itself passes its own name and key as issuer. */
export function signCertificate(request: CertificateRequest, issuer: Issuer, random: Random): string {
  const algorithm = sequence(objectIdentifier("1.2.840.10045.4.3.2"));
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(serialNumber(random)),
    algorithm,
    distinguishedName(issuer.commonName, []),
    sequence(time(request.notBeforeMs), time(request.notAfterMs)),
    distinguishedName(request.commonName, request.organizations ?? []),
    request.publicKey.export({ type: "spki", format: "der" }),
    explicit(3, sequence(...extensions(request, createPublicKey(issuer.key)))),
  );
  const der = sequence(body, algorithm, bitString(sign("sha256", body, issuer.key)));
  const lines = der.toString("base64").replaceAll(/.{1,64}/g, "$&\n");
  return `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`;
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

function extensions(request: CertificateRequest, issuerKey: KeyObject): Buffer[] {
  const isAuthority = request.usage === "authority";
  const extension = (id: string, critical: boolean, value: Buffer): Buffer =>
    sequence(objectIdentifier(id), ...(critical ? [trueValue] : []), octetString(value));
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
  const family = isIP(name);
  return family === 0 ? implicit(2, Buffer.from(name)) : implicit(7, addressBytes(name, family));
}

/** Network bytes of an IP address; the URL parser writes IPv6 in its canonical, expandable form. */
function addressBytes(address: string, family: number): Buffer {
  if (family === 4) return Buffer.from(address.split(".").map(Number));
  const canonical = new URL(`http://[${address.split("%")[0]!}]`).hostname.slice(1, -1);
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
