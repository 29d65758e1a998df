/** Writes and signs X.509 certificates. Source: RFC 5280. docs/dependencies.md gives the reasons for these packages. */
import { createHash, createPublicKey, type KeyObject, sign, type X509Certificate } from "node:crypto";
import { isIPv4 } from "node:net";
import { AsnParser, AsnSerializer, OctetString } from "@peculiar/asn1-schema";
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  id_kp_clientAuth,
  id_kp_serverAuth,
  KeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  Validity,
} from "@peculiar/asn1-x509";
import { printPem } from "../pem.ts";
import type { Random } from "../random.ts";

export interface Issuer {
  readonly commonName: string;
  readonly key: KeyObject;
}

export interface CertificateTemplate {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly publicKey: KeyObject;
  readonly usage: "authority" | "server" | "client";
  /** Host names and IP addresses. */
  readonly names?: readonly string[];
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** The authority that signs requested certificates. */
export interface Authority {
  readonly certificate: X509Certificate;
  readonly key: KeyObject;
  readonly notAfterMs: number;
}

/** The content of a requested certificate. */
export interface Issuance {
  /** The DER of a name. */
  readonly subject: Buffer;
  readonly publicKey: KeyObject;
  /** The bits of the key's usages, from 0 (digitalSignature) to 8. */
  readonly usageBits: readonly number[];
  /** Object identifiers of extended usages. */
  readonly extendedUsages: readonly string[];
  readonly dnsNames: readonly string[];
  readonly emails: readonly string[];
  /** Addresses as network bytes. */
  readonly addresses: readonly Buffer[];
  readonly uris: readonly string[];
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** Implements `signCertificate` of `certificate.ts`. */
export function signCertificate(template: CertificateTemplate, issuer: Issuer, random: Random): string {
  const { commonName, organizations = [], usage, names = [] } = template;
  const publicKey = keyInfo(template.publicKey);
  const isAuthority = usage === "authority";
  const { digitalSignature, keyCertSign, cRLSign } = KeyUsageFlags;
  const flags = isAuthority ? digitalSignature | keyCertSign | cRLSign : digitalSignature;
  const extensions = [
    extension("2.5.29.15", new KeyUsage(flags), critical),
    extension("2.5.29.19", new BasicConstraints({ cA: isAuthority }), critical),
    extension("2.5.29.14", new SubjectKeyIdentifier(keyId(publicKey))),
    issuerKeyId(keyId(keyInfo(createPublicKey(issuer.key)))),
  ];
  if (!isAuthority) {
    const purpose = usage === "server" ? id_kp_serverAuth : id_kp_clientAuth;
    extensions.push(extension("2.5.29.37", new ExtendedKeyUsage([purpose])));
  }
  if (names.length > 0) {
    extensions.push(extension("2.5.29.17", new SubjectAlternativeName(names.map(generalName))));
  }
  const subject = distinguishedName(commonName, organizations);
  const body = { ...template, issuer: distinguishedName(issuer.commonName, []), subject, publicKey, extensions };
  return signBody(body, issuer.key, random);
}

/** Implements `issueCertificate` of `certificate.ts`. */
export function issueCertificate(issuance: Issuance, authority: Authority, random: Random): string {
  const { subject, usageBits, extendedUsages, dnsNames, emails, addresses, uris } = issuance;
  const { name: issuer, keyId: id } = readIssuer(authority);
  const names = [
    ...emails.map((text) => new GeneralName({ rfc822Name: text })),
    ...dnsNames.map((text) => new GeneralName({ dNSName: text })),
    ...uris.map((text) => new GeneralName({ uniformResourceIdentifier: text })),
    ...addresses.map((bytes) => new GeneralName({ iPAddress: addressText(bytes) })),
  ];
  const extensions: Extension[] = [];
  if (usageBits.length > 0) {
    const flags = usageBits.reduce((sum, bit) => sum | (1 << bit), 0);
    extensions.push(extension("2.5.29.15", new KeyUsage(flags), critical));
  }
  if (extendedUsages.length > 0) {
    extensions.push(extension("2.5.29.37", new ExtendedKeyUsage([...extendedUsages])));
  }
  extensions.push(extension("2.5.29.19", new BasicConstraints(), critical));
  if (id !== undefined) extensions.push(issuerKeyId(id));
  if (names.length > 0) {
    const isNameless = subject.length === 2;
    extensions.push(extension("2.5.29.17", new SubjectAlternativeName(names), isNameless));
  }
  const body = { ...issuance, issuer, publicKey: keyInfo(issuance.publicKey), extensions };
  return signBody(body, authority.key, random);
}

/** Returns the DER of an authority's name, and its key identifier; `undefined` when its certificate has none. */
function readIssuer({ certificate }: Authority): { readonly name: Buffer; readonly keyId: Buffer | undefined } {
  const { subject, extensions } = AsnParser.parse(certificate.raw, Certificate).tbsCertificate;
  const name = write(subject);
  // Other programs compare the name byte by byte.
  if (!certificate.raw.includes(name)) throw new Error("the authority has a name in an unusual encoding");
  const keyIdentifier = extensions?.find(({ extnID }) => extnID === "2.5.29.14");
  return {
    name,
    keyId: keyIdentifier && Buffer.from(AsnParser.parse(keyIdentifier.extnValue.buffer, OctetString).buffer),
  };
}

interface Body {
  /** The DER of names, and of a key with its algorithm, which is copied unchanged. */
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly publicKey: Buffer;
  readonly extensions: readonly Extension[];
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

function signBody(content: Body, key: KeyObject, random: Random): string {
  const { issuer, subject, publicKey, extensions, notBeforeMs, notAfterMs } = content;
  const [identifier, digest] = signatureAlgorithm(key);
  const algorithm = write(identifier);
  // The parts are DER already: an encoder would read them, and write them once for the signature and once more.
  const body = element(sequenceTag, [
    version3,
    element(integerTag, [serialNumber(random)]),
    algorithm,
    issuer,
    write(new Validity({ notBefore: new Date(notBeforeMs), notAfter: new Date(notAfterMs) })),
    subject,
    publicKey,
    element(extensionsTag, [write(new Extensions([...extensions]))]),
  ]);
  const signature = element(bitStringTag, [noUnusedBits, sign(digest, body, key)]);
  return printPem("CERTIFICATE", element(sequenceTag, [body, algorithm, signature]));
}

/** The tags of elements of a certificate; that of extensions is 3, specific to the context and constructed. */
const [sequenceTag, integerTag, bitStringTag, extensionsTag] = [0x30, 0x02, 0x03, 0xa3];
/** Version 3 in its element; versions are counted from zero. */
const version3 = Buffer.from([0xa0, 3, integerTag, 1, 2]);
/** The first byte of a bit string whose bits are whole bytes. */
const noUnusedBits = Buffer.from([0]);

/** Returns the DER of an element with this content. */
function element(tag: number, content: readonly Buffer[]): Buffer {
  const length = content.reduce((sum, part) => sum + part.length, 0);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  const head = length < 128 ? [tag, length] : [tag, 0x80 | bytes.length, ...bytes];
  return Buffer.concat([Buffer.from(head), ...content]);
}

/** Returns the identifier and the digest with which a key signs. Throws for keys that cannot sign. */
function signatureAlgorithm(key: KeyObject): readonly [AlgorithmIdentifier, digest: string | null] {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (type === "rsa") {
    return [new AlgorithmIdentifier({ algorithm: "1.2.840.113549.1.1.11", parameters: null }), "sha256"];
  }
  if (type === "ed25519") return [new AlgorithmIdentifier({ algorithm: "1.3.101.112" }), null];
  const digests: Readonly<Record<string, readonly [string, string]>> = {
    prime256v1: ["1.2.840.10045.4.3.2", "sha256"],
    secp384r1: ["1.2.840.10045.4.3.3", "sha384"],
    secp521r1: ["1.2.840.10045.4.3.4", "sha512"],
  };
  const digest = digests[details?.namedCurve ?? ""];
  if (type !== "ec" || digest === undefined) throw new Error("a key that signs no certificates");
  return [new AlgorithmIdentifier({ algorithm: digest[0] }), digest[1]];
}

/** Returns a positive number of 127 bits, which is never zero. */
function serialNumber(random: Random): Buffer {
  const bytes = random.bytes(16);
  bytes[0] = (bytes[0]! & 0x7f) | 0x40;
  return bytes;
}

function distinguishedName(commonName: string, organizations: readonly string[]): Buffer {
  const part = (type: string, text: string): RelativeDistinguishedName =>
    new RelativeDistinguishedName([
      new AttributeTypeAndValue({ type, value: new AttributeValue({ utf8String: text }) }),
    ]);
  return write(
    new Name([...organizations.map((organization) => part("2.5.4.10", organization)), part("2.5.4.3", commonName)]),
  );
}

const critical = true;

const extension = (extnID: string, value: object, isCritical = false): Extension =>
  new Extension({ extnID, critical: isCritical, extnValue: new OctetString(AsnSerializer.serialize(value)) });

const issuerKeyId = (id: Buffer): Extension =>
  extension("2.5.29.35", new AuthorityKeyIdentifier({ keyIdentifier: new KeyIdentifier(id) }));

const keyInfo = (key: KeyObject): Buffer => key.export({ type: "spki", format: "der" });

/**
 * Returns a key identifier by RFC 7093, method 1: the first 160 bits of the key's SHA-256. A key of this server is the
 * last 65 bytes.
 */
const keyId = (info: Buffer): Buffer => createHash("sha256").update(info.subarray(-65)).digest().subarray(0, 20);

function generalName(name: string): GeneralName {
  const address = isIPv4(name) ? name : ipv6(name);
  return new GeneralName(address === undefined ? { dNSName: name } : { iPAddress: address });
}

/**
 * Returns an IPv6 address in the canonical form of the URL parser; `undefined` for other names. Unlike `isIPv6`, it
 * uses no pattern, which would stay in memory with 150 KB.
 */
function ipv6(name: string): string | undefined {
  const address = name.split("%")[0]!;
  const url = /^[\da-f:.]+$/i.test(address) ? URL.parse(`http://[${address}]`) : null;
  return url?.hostname.slice(1, -1);
}

/** Returns the text of network bytes; an IPv6 address is written in full. */
const addressText = (bytes: Buffer): string =>
  bytes.length === 4 ? bytes.join(".") : bytes.toString("hex").replaceAll(/(.{4})(?!$)/g, "$1:");

const write = (value: object): Buffer => Buffer.from(AsnSerializer.serialize(value));
