/** Certificate requests and the certificates made from them. */
import "reflect-metadata";
import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync, sign, webcrypto, X509Certificate } from "node:crypto";
import { test } from "node:test";
import {
  type Extension,
  type JsonName,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
} from "@peculiar/x509";
import { issueCertificate, keyPem, newKey, readAuthority, signCertificate } from "./certificate.ts";
import { parseCertificateRequest } from "./certificate-request.ts";
import { growsInProportion } from "./growth-for-tests.ts";
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
    const parsed = await parseCertificateRequest(
      // A byte order mark at the beginning is a part of the name, as in the certificate.
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

test("bytes that are no certificate request are refused with a reason", async () => {
  const problemOf = async (text: string): Promise<string> => {
    const parsed = await parseCertificateRequest(text);
    return parsed.ok ? "" : parsed.problem;
  };
  const good = await requestText([{ CN: ["a"] }]);
  const [block] = [...pemBlocks(good)];
  const der = block!.bytes;
  const again = (bytes: Buffer): string => printPem("CERTIFICATE REQUEST", bytes);
  assert.equal(await problemOf(good), "");
  assert.equal(await problemOf(`some words\n${good}`), "");
  for (const text of ["", "no pem", again(der).replaceAll("CERTIFICATE REQUEST", "CERTIFICATE"), good.slice(0, -40)]) {
    assert.equal(await problemOf(text), "PEM block type must be CERTIFICATE REQUEST");
  }
  assert.equal(await problemOf("x".repeat(300_000)), "x509: certificate request is too large");
  assert.equal(await problemOf(again(der.subarray(0, 40))), "x509: data truncated");
  assert.equal(await problemOf(again(Buffer.concat([der, Buffer.from([0, 0])]))), "x509: trailing data");
  const changed = Buffer.from(der);
  changed[changed.indexOf("a", 20, "latin1")] = "b".charCodeAt(0);
  assert.match(await problemOf(again(changed)), /^x509: /);
  const twice = await requestText(
    [{ CN: ["a"] }],
    [namesOf([{ type: "dns", value: "a.example" }] as never), namesOf([{ type: "dns", value: "b.example" }] as never)],
  );
  assert.equal(await problemOf(twice), "x509: certificate request contains duplicate requested extensions");
  const unprintable = await requestText([{ CN: ["a"] }], [namesOf([{ type: "dns", value: "a\0.example" }] as never)]);
  assert.equal(await problemOf(unprintable), "x509: a name with characters that are not printable ASCII");
});

/** Returns an element, with its parts, in hexadecimal. */
function el(tag: string, ...parts: readonly string[]): string {
  const content = parts.join("");
  const length = content.length / 2;
  const form = length < 0x80 ? "" : length < 0x100 ? "81" : length < 0x1_0000 ? "82" : "83";
  const digits = length.toString(16);
  return `${tag}${form}${digits.padStart(digits.length + (digits.length % 2), "0")}${content}`;
}

const nameOf = (text: string): string => el("30", el("31", el("30", "0603550403", text)));
const attribute = (identifier: string, ...values: readonly string[]): string =>
  el("30", el("06", identifier), el("31", ...values));
/** Returns an attribute that requests extensions. */
const asksFor = (...extensions: readonly string[]): string => attribute("2a864886f70d01090e", el("30", ...extensions));
const altNames = (value: string, critical = ""): string => el("30", "0603551d11", critical, el("04", value));
const dnsName = "820161";

const signer = newKey();
const keyInfo = createPublicKey(signer).export({ type: "spki", format: "der" }).toString("hex");

interface Parts {
  readonly version?: string;
  readonly subject?: string;
  /** The content of `[0]`. */
  readonly attributes?: string;
  /** Changes the request after it was signed. */
  readonly damage?: (whole: string) => string;
}

/** Returns a DER request in hexadecimal, with the given parts replaced. */
function requestHex({ version = "020100", subject = nameOf("0c0161"), attributes = "", damage }: Parts = {}): string {
  const info = el("30", version, subject, keyInfo, el("a0", attributes));
  const signature = sign("sha256", Buffer.from(info, "hex"), signer).toString("hex");
  const whole = el("30", info, "300a06082a8648ce3d040302", el("03", "00", signature));
  return damage === undefined ? whole : damage(whole);
}

const parseHex = (hex: string) => parseCertificateRequest(printPem("CERTIFICATE REQUEST", Buffer.from(hex, "hex")));

/** Returns the content of an element whose length has one or more bytes. */
const inside = (whole: string): string => whole.slice(whole.startsWith("81", 2) ? 6 : 4);
const lengthOf = (hex: string): string => (hex.length / 2).toString(16).padStart(4, "0");

test("bytes that are not DER are refused, in every part of a request", async () => {
  const subject = nameOf("0c0161");
  const names = el("30", dnsName);
  const cases: Readonly<Record<string, Parts>> = {
    "a byte after the request": { damage: (whole) => `${whole}00` },
    "a length with a zero in front": { damage: (whole) => `308300${lengthOf(inside(whole))}${inside(whole)}` },
    "no length": { damage: (whole) => `3080${inside(whole)}0000` },
    "a sequence that is called primitive": { damage: (whole) => `10${whole.slice(2)}` },
    "a set for the sequence": { damage: (whole) => `31${whole.slice(2)}` },
    "a context tag for the sequence": { damage: (whole) => `b0${whole.slice(2)}` },
    "a long length of a short name": { subject: `3081${subject.slice(2)}` },
    "a name without a length": { subject: `3080${inside(subject)}0000` },
    "a text in pieces": { subject: nameOf("2c030c0161") },
    "bytes that are no UTF-8": { subject: nameOf("0c01e9") },
    "half a character of two bytes": { subject: nameOf("1e03006100") },
    "a character that printable texts lack": { subject: nameOf("130140") },
    "an identifier with a zero in front": { subject: el("30", el("31", el("30", "060455048003", "0c0161"))) },
    "an identifier without a byte": { subject: el("30", el("31", el("30", "0600", "0c0161"))) },
    "an integer with a zero in front": { version: "02020000" },
    "a negative integer with ones in front": { version: "0202ffff" },
    "an integer without a byte": { version: "0200" },
    "a truth value of one": { attributes: asksFor(altNames(names, "010101")) },
    "a truth value of two bytes": { attributes: asksFor(altNames(names, "0102ffff")) },
    "a value in pieces": { attributes: asksFor(el("30", "0603551d11", el("24", el("04", names)))) },
    "names with a long length": { attributes: asksFor(altNames(`308103${dnsName}`)) },
    "a name with a long length": { attributes: asksFor(altNames(el("30", "82810161"))) },
    "a byte after the names": { attributes: asksFor(altNames(`${names}00`)) },
    "no length in an attribute without meaning": { attributes: attribute("2a03", "308005000000") },
  };
  for (const [title, parts] of Object.entries(cases)) {
    const parsed = await parseHex(requestHex(parts));
    assert.ok(!parsed.ok, title);
    assert.match(parsed.problem, /^x509: /, title);
  }
});

test("requests that Kubernetes accepts are accepted: attributes without meaning, a truth value that is false, names of other forms", async () => {
  const cases: readonly Parts[] = [
    {},
    { attributes: attribute("2a864886f70d010907", "0c06736563726574") },
    { attributes: asksFor(altNames(el("30", dnsName), "010100")) },
    { attributes: asksFor(altNames(el("30", dnsName, "88022a03", "a4023000"), "0101ff")) },
    { attributes: attribute("2a864886f70d01090e") },
    { subject: "3000" },
    { subject: nameOf("1e0400610062") },
    { subject: nameOf("1401e9") },
    { version: "0201ff" },
  ];
  for (const parts of cases) {
    const parsed = await parseHex(requestHex(parts));
    assert.ok(parsed.ok, JSON.stringify([parts, parsed]));
    assert.deepEqual(parsed.request.dnsNames, JSON.stringify(parts).includes(dnsName) ? ["a"] : []);
  }
});

/** Returns nested sequences. */
function nestSequences(depth: number): string {
  const heads: string[] = [];
  for (let length = 0; heads.length < depth; ) {
    const head = el("30", "00".repeat(length)).slice(0, length === 0 ? undefined : -2 * length);
    heads.unshift(head);
    length += head.length / 2;
  }
  return heads.join("");
}

test("deep and wide requests are refused at once", async () => {
  const tooLarge = { ok: false, problem: "x509: certificate request is too large" };
  const notDer = { ok: false, problem: "x509: not in the encoding that DER demands" };
  for (const attributes of [attribute("2a03", nestSequences(10_000)), attribute("2a03", "0500".repeat(20_000))]) {
    assert.deepEqual(await parseHex(requestHex({ attributes })), tooLarge);
  }
  assert.deepEqual(await parseHex("3080".repeat(20_000)), notDer);
});

test("elements that the parser is slow with are refused before it sees them", async () => {
  const hostile: Readonly<Record<string, (length: number) => string>> = {
    "a truth value of many bytes": (length) => el("01", "ff".repeat(length)),
    "an identifier of many numbers": (length) => el("06", "01".repeat(length)),
    "a relative identifier of many numbers": (length) => el("0d", "01".repeat(length)),
    "many identifiers": (length) => el("06", "01".repeat(39)).repeat(length / 40),
    "an identifier whose tag is a long one": (length) => `1f06${el("06", "01".repeat(length)).slice(2)}`,
    "an identifier that is said to have parts": (length) => el("26", "01".repeat(length)),
    "an identifier after a text that is said to have parts": (length) =>
      el("2c", "047f") + el("06", "01".repeat(length)),
  };
  for (const [title, value] of Object.entries(hostile))
    await growsInProportion(20_000, async (length) => {
      const parsed = await parseHex(requestHex({ attributes: attribute("2a03", value(length)) }));
      assert.ok(!parsed.ok, title);
    });
  const longest = attribute("2a03", el("06", "01".repeat(3900)));
  assert.ok((await parseHex(requestHex({ attributes: longest }))).ok);
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
    const parsed = await parseCertificateRequest(printPem("CERTIFICATE REQUEST", bytes));
    assert.equal(parsed.ok, false);
  }
});

test("text with many first lines and no last one is passed over in one go", async () => {
  const text = "-----BEGIN CERTIFICATE REQUEST-----\n".repeat(7000);
  assert.equal((await parseCertificateRequest(text)).ok, false);
  const mixed = "-----BEGIN A-----\n-----END B-----\n".repeat(7000);
  assert.equal((await parseCertificateRequest(mixed)).ok, false);
});

test("a certificate keeps the name and key of its request and is never one of an authority", async () => {
  const random = seededRandom(1);
  const parsed = await parseCertificateRequest(
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
    const certificate = await signCertificate(own, { commonName: "an authority", key }, random);
    const authority = readAuthority(certificate, keyPem(key));
    assert.equal(authority.notAfterMs, period.notAfterMs);
    const issuance = {
      ...parsed.request,
      ...period,
      usageBits: [0, 2],
      extendedUsages: ["1.3.6.1.5.5.7.3.2"],
    };
    const issued = new X509Certificate(await issueCertificate(issuance, authority, random));
    assert.equal(issued.subject, "O=g\nCN=robot");
    assert.equal(issued.issuer, "CN=an authority");
    assert.equal(issued.subjectAltName, "DNS:a.example");
    assert.deepEqual(issued.keyUsage, ["1.3.6.1.5.5.7.3.2"]);
    assert.equal(issued.ca, false);
    assert.ok(issued.verify(createPublicKey(key)) && issued.checkIssued(new X509Certificate(certificate)));
    assert.deepEqual(issued.publicKey.export({ format: "jwk" }), parsed.request.publicKey.export({ format: "jwk" }));
  }
});

test("a certificate has the subject byte for byte, with types of texts and order, and every name", async () => {
  const parts = ["060355040a" + "1401e9", "0603550403" + "1e0400610062"];
  const subject = el("30", el("31", ...parts.map((part) => el("30", part))));
  const address = "fd000000000000000000000000010002";
  const names = el("30", "8203612e62", el("87", address), "87040a000001", "8103614062", "8603783a79");
  const parsed = await parseHex(requestHex({ subject, attributes: asksFor(altNames(names)) }));
  assert.ok(parsed.ok);
  assert.equal(parsed.request.commonName, "ab");
  assert.deepEqual(parsed.request.organizations, ["é"]);
  const key = newKey();
  const period = { notBeforeMs: 0, notAfterMs: 1_800_000_000_000 };
  const own = { commonName: "a", publicKey: createPublicKey(key), usage: "authority", ...period } as const;
  const authority = readAuthority(await signCertificate(own, { commonName: "a", key }, seededRandom(1)), keyPem(key));
  const issuance = { ...parsed.request, ...period, usageBits: [0], extendedUsages: [] };
  const issued = new X509Certificate(await issueCertificate(issuance, authority, seededRandom(1)));
  assert.ok(issued.raw.toString("hex").includes(subject));
  assert.equal(
    issued.subjectAltName,
    "email:a@b, DNS:a.b, URI:x:y, IP Address:FD00:0:0:0:0:0:1:2, IP Address:10.0.0.1",
  );
});

test("an authority needs its own key", async () => {
  const [one, other] = [newKey(), newKey()];
  const period = { notBeforeMs: 0, notAfterMs: 1_800_000_000_000 };
  const own = { commonName: "a", publicKey: createPublicKey(one), usage: "authority", ...period } as const;
  const certificate = await signCertificate(own, { commonName: "a", key: one }, seededRandom(1));
  assert.throws(() => readAuthority(certificate, keyPem(other)), /not the key/);
});
