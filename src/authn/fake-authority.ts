/** A certificate authority for tests: issues valid and invalid certificates. */
import "reflect-metadata";
import { webcrypto } from "node:crypto";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type JsonName,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";

export interface Issued {
  /** The certificate of the authority, as PEM. */
  readonly certificate: string;
  readonly key: string;
}

export interface IssueOptions {
  readonly commonName?: string;
  readonly organizations?: readonly string[];
  /** Names of a server; default: `localhost` and 127.0.0.1. */
  readonly hosts?: readonly string[];
  readonly notBefore?: Date;
  readonly notAfter?: Date;
  /** The extended key usage; default: client. `any` has none at all. */
  readonly usage?: "client" | "server" | "any";
}

export interface FakeAuthority {
  /** Its own certificate, as PEM. */
  readonly certificate: string;
  issue(options: IssueOptions): Promise<Issued>;
  /** Makes an authority whose certificate this one signed. */
  subordinate(commonName: string): Promise<FakeAuthority>;
  /** Makes an authority with a certificate of these options, which must not sign others. */
  usurper(options: IssueOptions): Promise<FakeAuthority>;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const day = 86_400_000;
let serial = 0;

export async function fakeAuthority(commonName = "fake authority"): Promise<FakeAuthority> {
  const keys = await newKeys();
  const own = await X509CertificateGenerator.createSelfSigned({
    serialNumber: nextSerial(),
    name: [{ CN: [commonName] }],
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date(Date.now() - 365 * day),
    notAfter: new Date(Date.now() + 365 * day),
    extensions: [new BasicConstraintsExtension(true, undefined, true)],
  });
  return authorityOf(own, keys);
}

function authorityOf(own: X509Certificate, keys: CryptoKeyPair): FakeAuthority {
  return {
    certificate: `${own.toString("pem")}\n`,
    async issue(options) {
      const { certificate, keys: issuedKeys } = await issue(own, keys, options);
      return { certificate: `${certificate.toString("pem")}\n`, key: await keyText(issuedKeys) };
    },
    async usurper(options) {
      const issued = await issue(own, keys, options);
      return authorityOf(issued.certificate, issued.keys);
    },
    async subordinate(commonName) {
      const subordinateKeys = await newKeys();
      const certificate = await X509CertificateGenerator.create({
        serialNumber: nextSerial(),
        issuer: own.subjectName,
        subject: [{ CN: [commonName] }],
        publicKey: subordinateKeys.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: algorithm,
        notBefore: new Date(Date.now() - 2 * day),
        notAfter: new Date(Date.now() + 2 * day),
        extensions: [new BasicConstraintsExtension(true, undefined, true)],
      });
      return authorityOf(certificate, subordinateKeys);
    },
  };
}

async function issue(
  authority: X509Certificate,
  authorityKeys: CryptoKeyPair,
  options: IssueOptions,
): Promise<{ readonly certificate: X509Certificate; readonly keys: CryptoKeyPair }> {
  const keys = await newKeys();
  const usage = options.usage ?? "client";
  const hosts = options.hosts ?? ["localhost", "127.0.0.1"];
  const certificate = await X509CertificateGenerator.create({
    serialNumber: nextSerial(),
    issuer: authority.subjectName,
    subject: subject(options),
    publicKey: keys.publicKey,
    signingKey: authorityKeys.privateKey,
    signingAlgorithm: algorithm,
    notBefore: options.notBefore ?? new Date(Date.now() - day),
    notAfter: options.notAfter ?? new Date(Date.now() + day),
    extensions: [
      new BasicConstraintsExtension(false),
      ...(usage === "any"
        ? []
        : [new ExtendedKeyUsageExtension([ExtendedKeyUsage[usage === "client" ? "clientAuth" : "serverAuth"]])]),
      ...(usage === "server"
        ? [
            new SubjectAlternativeNameExtension(
              hosts.map((value) => ({ type: /^\d/.test(value) ? "ip" : "dns", value })),
            ),
          ]
        : []),
    ],
  });
  return { certificate, keys };
}

/** Returns the private key, as PEM. */
async function keyText({ privateKey }: CryptoKeyPair): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", privateKey));
  const body = der.toString("base64").replace(/.{64}/g, "$&\n");
  return `-----BEGIN PRIVATE KEY-----\n${body}\n-----END PRIVATE KEY-----\n`;
}

function subject(options: IssueOptions): JsonName {
  return [
    ...(options.organizations ?? []).map((organization) => ({ O: [organization] })),
    ...(options.commonName === undefined ? [] : [{ CN: [options.commonName] }]),
  ];
}

type CryptoKeyPair = webcrypto.CryptoKeyPair;

function newKeys(): Promise<CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]) as Promise<CryptoKeyPair>; // ECDSA makes pairs
}

function nextSerial(): string {
  return (++serial + 0x1000).toString(16);
}
