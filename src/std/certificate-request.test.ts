/** Certificate requests and the certificates made from them. */
import "reflect-metadata";
import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync, webcrypto, X509Certificate } from "node:crypto";
import { test } from "node:test";
import {
  type Extension,
  type JsonName,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
} from "@peculiar/x509";
import { issueCertificate, keyPem, newKey, readAuthority, signCertificate } from "./certificate.ts";
import { parseCertificateRequest } from "./certificate-request.ts";
import { pemBlocks, printPem } from "./pem.ts";
import { seededRandom } from "./random.ts";

const ecdsa = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const oldEcdsa = { ...ecdsa, hash: "SHA-1" };
const rsa = {
  name: "RSASSA-PKCS1-v1_5",
  hash: "SHA-256",
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
};

async function requestText(
  name: JsonName,
  extensions: Extension[] = [],
  algorithm: typeof ecdsa | typeof rsa = ecdsa,
): Promise<string> {
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"])) as webcrypto.CryptoKeyPair;
  const options = { name, keys, signingAlgorithm: algorithm, extensions };
  return (await Pkcs10CertificateRequestGenerator.create(options)).toString("pem");
}

const namesOf = (...names: ConstructorParameters<typeof SubjectAlternativeNameExtension>[0][]) =>
  new SubjectAlternativeNameExtension(names.flat() as never);

test("a request tells the name, the key and the other names it asks for", async () => {
  const extension = namesOf([
    { type: "dns", value: "a.example" },
    { type: "ip", value: "10.0.0.1" },
    { type: "email", value: "a@b.example" },
    { type: "url", value: "spiffe://a/b" },
  ] as never);
  for (const algorithm of [ecdsa, rsa, oldEcdsa, { ...rsa, hash: "SHA-1" }]) {
    const parsed = parseCertificateRequest(
      // A mark at the beginning is part of a name, as it will be in the certificate.
      await requestText([{ O: ["\ufeffg1"] }, { O: ["g2"] }, { CN: ["robot é"] }], [extension], algorithm),
    );
    assert.ok(parsed.ok);
    const { commonName, organizations, dnsNames, addresses, emails, uris } = parsed.request;
    assert.deepEqual(
      { commonName, organizations, dnsNames, emails, uris },
      {
        commonName: "robot é",
        organizations: ["\ufeffg1", "g2"],
        dnsNames: ["a.example"],
        emails: ["a@b.example"],
        uris: ["spiffe://a/b"],
      },
    );
    assert.deepEqual(
      addresses.map((bytes) => [...bytes]),
      [[10, 0, 0, 1]],
    );
  }
});

test("what is no request is refused with a reason", async () => {
  const problemOf = (text: string): string => {
    const parsed = parseCertificateRequest(text);
    return parsed.ok ? "" : parsed.problem;
  };
  const good = await requestText([{ CN: ["a"] }]);
  const [block] = [...pemBlocks(good)];
  const der = block!.bytes;
  const again = (bytes: Buffer): string => printPem("CERTIFICATE REQUEST", bytes);
  assert.equal(problemOf(good), "");
  assert.equal(problemOf(`some words\n${good}`), "");
  for (const text of ["", "no pem", again(der).replaceAll("CERTIFICATE REQUEST", "CERTIFICATE"), good.slice(0, -40)]) {
    assert.equal(problemOf(text), "PEM block type must be CERTIFICATE REQUEST");
  }
  assert.equal(problemOf("x".repeat(300_000)), "x509: certificate request is too large");
  assert.equal(problemOf(again(der.subarray(0, 40))), "x509: data truncated");
  assert.equal(problemOf(again(Buffer.concat([der, Buffer.from([0, 0])]))), "x509: trailing data");
  const changed = Buffer.from(der);
  changed[changed.indexOf("a", 20, "latin1")] = "b".charCodeAt(0);
  assert.match(problemOf(again(changed)), /^x509: /);
  const twice = await requestText(
    [{ CN: ["a"] }],
    [namesOf([{ type: "dns", value: "a.example" }] as never), namesOf([{ type: "dns", value: "b.example" }] as never)],
  );
  assert.equal(problemOf(twice), "x509: certificate request contains duplicate requested extensions");
  const unprintable = await requestText([{ CN: ["a"] }], [namesOf([{ type: "dns", value: "a\0.example" }] as never)]);
  assert.equal(problemOf(unprintable), "x509: a name with characters that are not printable ASCII");
});

test("bytes that were damaged anywhere are refused and never a crash", async () => {
  const [block] = [
    ...pemBlocks(await requestText([{ CN: ["a"] }], [namesOf([{ type: "dns", value: "a.b" }] as never)])),
  ];
  const random = seededRandom(7);
  for (let run = 0; run < 1500; run++) {
    const bytes = Buffer.from(block!.bytes);
    const at = Math.floor(random.next() * bytes.length);
    bytes[at] = bytes[at]! ^ (1 + Math.floor(random.next() * 255));
    const parsed = parseCertificateRequest(printPem("CERTIFICATE REQUEST", bytes));
    assert.equal(parsed.ok, false);
  }
});

test("text with many first lines and no last one is passed over in one go", () => {
  const text = "-----BEGIN CERTIFICATE REQUEST-----\n".repeat(7000);
  assert.equal(parseCertificateRequest(text).ok, false);
  const mixed = "-----BEGIN A-----\n-----END B-----\n".repeat(7000);
  assert.equal(parseCertificateRequest(mixed).ok, false);
});

test("a certificate keeps the name and key of its request and is never one of an authority", async () => {
  const random = seededRandom(1);
  const parsed = parseCertificateRequest(
    await requestText([{ O: ["g"] }, { CN: ["robot"] }], [namesOf([{ type: "dns", value: "a.example" }] as never)]),
  );
  assert.ok(parsed.ok);
  const keys = [
    newKey(),
    generateKeyPairSync("ec", { namedCurve: "secp384r1" }).privateKey,
    generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey,
    generateKeyPairSync("ed25519").privateKey,
  ];
  const period = { notBeforeMs: 1_700_000_000_000, notAfterMs: 1_800_000_000_000 };
  for (const key of keys) {
    const own = { commonName: "an authority", publicKey: createPublicKey(key), usage: "authority", ...period } as const;
    const certificate = signCertificate(own, { commonName: "an authority", key }, random);
    const authority = readAuthority(certificate, keyPem(key));
    assert.equal(authority.notAfterMs, period.notAfterMs);
    const issuance = {
      ...parsed.request,
      ...period,
      usageBits: [0, 2],
      extendedUsages: ["1.3.6.1.5.5.7.3.2"],
    };
    const issued = new X509Certificate(issueCertificate(issuance, authority, random));
    assert.equal(issued.subject, "O=g\nCN=robot");
    assert.equal(issued.issuer, "CN=an authority");
    assert.equal(issued.subjectAltName, "DNS:a.example");
    assert.deepEqual(issued.keyUsage, ["1.3.6.1.5.5.7.3.2"]);
    assert.equal(issued.ca, false);
    assert.ok(issued.verify(createPublicKey(key)) && issued.checkIssued(new X509Certificate(certificate)));
    assert.deepEqual(issued.publicKey.export({ format: "jwk" }), parsed.request.publicKey.export({ format: "jwk" }));
  }
});

test("an authority needs its own key", () => {
  const [one, other] = [newKey(), newKey()];
  const period = { notBeforeMs: 0, notAfterMs: 1_800_000_000_000 };
  const own = { commonName: "a", publicKey: createPublicKey(one), usage: "authority", ...period } as const;
  const certificate = signCertificate(own, { commonName: "a", key: one }, seededRandom(1));
  assert.throws(() => readAuthority(certificate, keyPem(other)), /not the key/);
});
