/** Tests which certificate requests are deleted, and when. */
import assert from "node:assert/strict";
import { createPublicKey } from "node:crypto";
import { test } from "node:test";
import { timestampOf } from "#meta/time.ts";
import { newKey, signCertificate } from "#std/certificate.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { csrCleanerController } from "./cleaner.ts";
import { FakeCluster } from "../fake-cluster.ts";

const hourMs = 3_600_000;
const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

const certificateUntil = async (notAfterMs: number): Promise<string> => {
  const key = newKey();
  const own = {
    commonName: "c",
    publicKey: createPublicKey(key),
    usage: "client",
    notBeforeMs: 0,
    notAfterMs,
  } as const;
  const pem = await signCertificate(own, { commonName: "c", key }, seededRandom(1));
  return Buffer.from(pem).toString("base64");
};

interface Case {
  readonly ageMs: number;
  readonly status?: object;
}

/** Returns the names of the requests that are deleted in the first round. */
async function listDeleted(cases: Readonly<Record<string, Case>>, fails?: FakeCluster["fails"]): Promise<string[]> {
  const clock = new FakeClock();
  const api = new FakeCluster(clock);
  if (fails !== undefined) api.fails = fails;
  for (const [name, { ageMs, status = {} }] of Object.entries(cases)) {
    const metadata = { creationTimestamp: timestampOf(clock.now() - ageMs) };
    api.put(`${path}/${name}`, { metadata, status });
  }
  const running = csrCleanerController(api.environment);
  await api.settled();
  api.stop();
  await running;
  return Object.keys(cases).filter((name) => api.get(`${path}/${name}`) === undefined);
}

test("requests go an hour after their end, a day without a word, or when their certificate has ended", async () => {
  const now = new FakeClock().now();
  const decidedRequest = (type: string, ageMs: number, more: object = {}) => ({
    conditions: [{ type, status: "True", lastUpdateTime: timestampOf(now - ageMs) }],
    ...more,
  });
  const issuedRequest = async (ageMs: number, leftMs: number) =>
    decidedRequest("Approved", ageMs, { certificate: await certificateUntil(now + leftMs) });
  const [recent, old] = [0.9 * hourMs, 1.1 * hourMs];
  const cases: Readonly<Record<string, Case>> = {
    waiting: { ageMs: 23 * hourMs },
    "waiting-long": { ageMs: 25 * hourMs },
    approved: { ageMs: 30 * hourMs, status: decidedRequest("Approved", recent) },
    "approved-long-without-a-signer": { ageMs: 30 * hourMs, status: decidedRequest("Approved", 29 * hourMs) },
    "denied-long": { ageMs: old, status: decidedRequest("Denied", old) },
    "failed-long": { ageMs: old, status: decidedRequest("Failed", old) },
    issued: { ageMs: recent, status: await issuedRequest(recent, hourMs) },
    "issued-long": { ageMs: old, status: await issuedRequest(old, hourMs) },
    ended: { ageMs: recent, status: await issuedRequest(recent, -1000) },
    unreadable: { ageMs: recent, status: decidedRequest("Approved", recent, { certificate: "AAAA" }) },
  };
  assert.deepEqual(await listDeleted(cases), ["waiting-long", "denied-long", "failed-long", "issued-long", "ended"]);
});

test("a request that cannot be deleted does not delay others", async () => {
  const old = { ageMs: 25 * hourMs };
  const fails = (request: string): number => (request === `DELETE ${path}/first` ? 403 : 0);
  assert.deepEqual(await listDeleted({ first: old, second: old }, fails), ["second"]);
});
