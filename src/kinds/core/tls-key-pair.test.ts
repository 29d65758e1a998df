/** The warnings of kube-apiserver 1.32.1 about secrets for TLS. */
import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { test } from "node:test";
import { newKey, signCertificate } from "#std/certificate.ts";
import { printPem } from "#std/pem.ts";
import { seededRandom } from "#std/random.ts";
import { kindUnderTest, writeAttributes } from "../kind-for-tests.ts";
import { keyPairProblem } from "./tls-key-pair.ts";

const key = newKey();
const pkcs8 = (of: KeyObject): string => of.export({ type: "pkcs8", format: "pem" }).toString();
const certificateOf = (of: KeyObject): Promise<string> => {
  const period = { notBeforeMs: 0, notAfterMs: 1_800_000_000_000 };
  const own = { commonName: "a", publicKey: createPublicKey(of), usage: "authority", ...period } as const;
  return signCertificate(own, { commonName: "a", key: of }, seededRandom(1));
};
const certificate = await certificateOf(key);
const other = (label: string): string => printPem(label, Buffer.from("hello"));

test("a certificate and its key fit, in every form of the key, whatever is around them", async () => {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  const pairs: readonly (readonly [string, string])[] = [
    [certificate, pkcs8(key)],
    [certificate, key.export({ type: "sec1", format: "pem" }).toString()],
    [await certificateOf(rsa), rsa.export({ type: "pkcs1", format: "pem" }).toString()],
    [`words\n${other("FOO")}${certificate}${other("CERTIFICATE")}`, `${other("FOO")}${pkcs8(key)}`],
  ];
  for (const [certificates, keys] of pairs) assert.equal(keyPairProblem(certificates, keys), undefined);
});

test("a key that does not fit its certificate is reported in Go's words", async () => {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  const expectSkipped = (what: string, input: string, labels: string): string =>
    `tls: failed to find ${what} in ${input} input after skipping PEM blocks of the following types: [${labels}]`;
  const cases: readonly (readonly [certificates: string, keys: string, problem: string])[] = [
    ["", "", "tls: failed to find any PEM data in certificate input"],
    [certificate, "x", "tls: failed to find any PEM data in key input"],
    [
      pkcs8(key),
      certificate,
      "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched",
    ],
    [certificate, certificate, "tls: found a certificate rather than a key in the PEM for the private key"],
    [other("FOO") + other("BAR"), "", expectSkipped('"CERTIFICATE" PEM block', "certificate", "FOO BAR")],
    [certificate, other("FOO"), expectSkipped('PEM block with type ending in "PRIVATE KEY"', "key", "FOO")],
    // Upstream: the message has the whole label.
    [other("F".repeat(400_000)), "", expectSkipped('"CERTIFICATE" PEM block', "certificate", `${"F".repeat(100)}...`)],
    [other("CERTIFICATE"), "x", "tls: failed to find any PEM data in key input"],
    [other("CERTIFICATE"), pkcs8(key), "x509: malformed certificate"],
    [certificate, other("PRIVATE KEY"), "tls: failed to parse private key"],
    [certificate, pkcs8(rsa), "tls: private key type does not match public key type"],
    [certificate, pkcs8(newKey()), "tls: private key does not match public key"],
  ];
  for (const [certificates, keys, problem] of cases) assert.equal(keyPairProblem(certificates, keys), problem);
});

test("a secret for TLS is warned of, and others are not", () => {
  const { strategy } = kindUnderTest({ group: "", version: "v1", kind: "Secret" }).definition;
  const warnings = (type: string): readonly string[] => {
    const secret = { metadata: { name: "s" }, type, data: { "tls.crt": "", "tls.key": "" } };
    const updated = strategy.warningsOnUpdate!(secret, secret, writeAttributes());
    assert.deepEqual(strategy.warningsOnCreate!(secret, writeAttributes()), updated);
    return updated;
  };
  assert.deepEqual(warnings("kubernetes.io/tls"), ["tls: failed to find any PEM data in certificate input"]);
  assert.deepEqual(warnings("Opaque"), []);
});

test("a certificate with a key of an unknown algorithm gives a warning, not a failure", () => {
  const bytes = Buffer.from(certificate.replace(/-----.*-----|\s/g, ""), "base64");
  const algorithm = bytes.indexOf(Buffer.from("2a8648ce3d0201", "hex"));
  bytes[algorithm + 6] = 0x7f;
  assert.equal(keyPairProblem(printPem("CERTIFICATE", bytes), pkcs8(key)), "tls: unknown public key algorithm");
  const point = Buffer.from(certificate.replace(/-----.*-----|\s/g, ""), "base64");
  const at = point.indexOf(Buffer.from("03420004", "hex"));
  point.fill(0xff, at + 4, at + 36);
  assert.ok(keyPairProblem(printPem("CERTIFICATE", point), pkcs8(key)));
});
