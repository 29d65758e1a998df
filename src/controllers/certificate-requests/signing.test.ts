/** The built-in signers: lifetime and keys of certificates, and refusals. */
import "reflect-metadata";
import assert from "node:assert/strict";
import { createPublicKey, webcrypto, X509Certificate } from "node:crypto";
import { test } from "node:test";
import { Pkcs10CertificateRequestGenerator } from "@peculiar/x509";
import { type Authority, newKey, keyPem, readAuthority, signCertificate } from "#std/certificate.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { csrSigningController, signers } from "./signing.ts";
import { FakeCluster } from "../fake-cluster.ts";

const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const startMs = new FakeClock().now();

const keys = {
  ecdsa: { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  ed25519: { name: "Ed25519" },
  rsa: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) },
} as const;

async function requestOf(key: keyof typeof keys): Promise<string> {
  const algorithm = keys[key];
  const pair = (await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"])) as webcrypto.CryptoKeyPair;
  const name = "O=system:nodes,CN=system:node:n";
  const request = await Pkcs10CertificateRequestGenerator.create({ name, keys: pair, signingAlgorithm: algorithm });
  return Buffer.from(request.toString("pem")).toString("base64");
}

const request = await requestOf("ecdsa");

async function authorityUntil(notAfterMs: number): Promise<Authority> {
  const key = newKey();
  const own = {
    commonName: "ca",
    publicKey: createPublicKey(key),
    usage: "authority",
    notBeforeMs: 0,
    notAfterMs,
  } as const;
  return readAuthority(await signCertificate(own, { commonName: "ca", key }, seededRandom(1)), keyPem(key));
}

const authority = await authorityUntil(startMs + 100 * dayMs);
const condition = (type: string): object => ({ type, status: "True" });
const approved = [condition("Approved")];

interface Case {
  readonly spec?: object;
  readonly conditions?: readonly object[];
  readonly durationMs?: number;
  readonly authority?: Authority | undefined;
}

async function openApi({ spec = {}, conditions = approved, durationMs = 30 * dayMs, ...more }: Case) {
  const api = new FakeCluster(new FakeClock());
  const usages = ["digital signature", "client auth"];
  const signerName = "kubernetes.io/kube-apiserver-client";
  api.put(`${path}/a`, { spec: { request, signerName, usages, ...spec }, status: { conditions } });
  const by = "authority" in more ? more.authority : authority;
  void csrSigningController({ authority: () => by, durationMs, random: seededRandom(1) })(api.environment);
  await api.settled();
  return api;
}

async function signRequest(given: Case): Promise<X509Certificate | undefined> {
  const api = await openApi(given);
  api.stop();
  const { certificate } = api.get(`${path}/a`)!["status"] as { certificate?: string };
  return certificate === undefined ? undefined : new X509Certificate(Buffer.from(certificate, "base64"));
}

test("a certificate is good for what was asked for, within what the server and its own certificate allow", async () => {
  const cases: readonly (readonly [Case, lifeMs: number])[] = [
    [{}, 30 * dayMs - 5 * minuteMs],
    [{ spec: { expirationSeconds: 864_000 } }, 10 * dayMs - 5 * minuteMs],
    [{ spec: { expirationSeconds: 60 * 86_400 } }, 30 * dayMs - 5 * minuteMs],
    [{ spec: { expirationSeconds: 8 * 3600 } }, 8 * hourMs - 5 * minuteMs],
    [{ spec: { expirationSeconds: 7 * 3600 } }, 7 * hourMs],
    [{ spec: { expirationSeconds: 60 } }, 10 * minuteMs],
    [{ durationMs: 5 * minuteMs }, 5 * minuteMs],
    [{ durationMs: 365 * dayMs }, 100 * dayMs],
  ];
  for (const [given, lifeMs] of cases) {
    const certificate = await signRequest(given);
    assert.ok(certificate !== undefined, JSON.stringify(given));
    assert.equal(certificate.validFromDate.getTime(), startMs - 5 * minuteMs, JSON.stringify(given));
    assert.equal(certificate.validToDate.getTime(), startMs + lifeMs, JSON.stringify(given));
  }
});

test("every signer signs for keys of every kind, and keeps them", async () => {
  for (const key of ["ecdsa", "ed25519", "rsa"] as const) {
    const ofKey = await requestOf(key);
    for (const signer of signers.filter((name) => name !== "kubelet-serving")) {
      const certificate = await signRequest({ spec: { request: ofKey, signerName: `kubernetes.io/${signer}` } });
      assert.ok(certificate !== undefined, `${signer}, ${key}`);
      assert.equal(certificate.publicKey.asymmetricKeyType, key === "ecdsa" ? "ec" : key);
      assert.equal(certificate.subject, "O=system:nodes\nCN=system:node:n");
      assert.equal(certificate.ca, false);
    }
  }
});

test("requests that are not approved, are denied or failed, or are for another signer are left alone", async () => {
  for (const given of [
    { conditions: [] },
    { conditions: [condition("Denied")] },
    { conditions: [condition("Approved"), condition("Denied")] },
    { conditions: [condition("Approved"), condition("Failed")] },
    { spec: { signerName: "example.com/signer" } },
    { authority: undefined },
  ]) {
    const api = await openApi(given);
    await api.advance(hourMs);
    api.stop();
    assert.deepEqual(
      api.requests.filter((asked) => asked.startsWith("PUT")),
      [],
      JSON.stringify(given),
    );
    assert.deepEqual(api.logged, []);
  }
});

test("a signer whose certificate has expired signs nothing, logs it, and tries less and less often", async () => {
  const api = await openApi({ authority: await authorityUntil(startMs - 1000) });
  for (let minute = 0; minute < 60; minute++) await api.advance(minuteMs);
  api.stop();
  assert.deepEqual(new Set(api.logged), new Set(["could not sign a request for a certificate; trying again"]));
  assert.ok(api.logged.length >= 10 && api.logged.length <= 25, `${api.logged.length}`);
  assert.equal(await signRequest({ authority: await authorityUntil(startMs - 1000) }), undefined);
});
