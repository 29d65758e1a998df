/** Which requests for certificates are deleted, and when. */
import assert from "node:assert/strict";
import { createPublicKey } from "node:crypto";
import { test } from "node:test";
import { RestClient } from "#client/rest-client.ts";
import type { ClientRequest } from "#client/transport.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { timestamp } from "#meta/time.ts";
import { newKey, signCertificate } from "#std/certificate.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { csrCleanerController } from "./csr-cleaner.ts";

const hourMs = 3_600_000;

const key = newKey();
const certificateUntil = (notAfterMs: number): string => {
  const own = {
    commonName: "c",
    publicKey: createPublicKey(key),
    usage: "client",
    notBeforeMs: 0,
    notAfterMs,
  } as const;
  const pem = signCertificate(own, { commonName: "c", key }, seededRandom(1));
  return Buffer.from(pem).toString("base64");
};

interface Case {
  readonly ageMs: number;
  readonly status?: object;
}

/** Names of those that are deleted in the first round. */
async function deleted(cases: Readonly<Record<string, Case>>): Promise<string[]> {
  const clock = new FakeClock();
  const now = clock.now();
  const items = Object.entries(cases).map(([name, { ageMs, status }]) => ({
    metadata: { name, uid: `uid of ${name}`, creationTimestamp: timestamp(now - ageMs) },
    ...(status === undefined ? {} : { status }),
  }));
  const requests: ClientRequest[] = [];
  const client = new RestClient({
    request(request) {
      requests.push(request);
      const body = request.method === "GET" ? { metadata: { resourceVersion: "1" }, items } : {};
      return Promise.resolve({ code: 200, body: Buffer.from(JSON.stringify(body)) });
    },
    stream: () => Promise.reject(new Error("nothing is watched")),
  });
  const stop = new AbortController();
  const log = { warn: () => undefined };
  const running = csrCleanerController({ client, clock, domain: kubernetesDomain, signal: stop.signal, log });
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
  stop.abort();
  await running;
  return requests.filter(({ method }) => method === "DELETE").map(({ path }) => path.split("/").at(-1)!);
}

test("requests go an hour after a decision, a day without one, or when their certificate has ended", async () => {
  const now = new FakeClock().now();
  const decided = (type: string, ageMs: number, more: object = {}) => ({
    conditions: [{ type, status: "True", lastUpdateTime: timestamp(now - ageMs) }],
    ...more,
  });
  const [recent, old] = [0.9 * hourMs, 1.1 * hourMs];
  const cases: Readonly<Record<string, Case>> = {
    waiting: { ageMs: 23 * hourMs },
    "waiting-long": { ageMs: 25 * hourMs },
    approved: { ageMs: 30 * hourMs, status: decided("Approved", recent) },
    "approved-long": { ageMs: 30 * hourMs, status: decided("Approved", old) },
    "denied-long": { ageMs: old, status: decided("Denied", old) },
    "failed-long": { ageMs: old, status: decided("Failed", old) },
    issued: {
      ageMs: recent,
      status: decided("Approved", recent, { certificate: certificateUntil(now + hourMs) }),
    },
    ended: { ageMs: recent, status: decided("Approved", recent, { certificate: certificateUntil(now - 1000) }) },
    unreadable: { ageMs: recent, status: decided("Approved", recent, { certificate: "AAAA" }) },
  };
  assert.deepEqual(await deleted(cases), ["waiting-long", "approved-long", "denied-long", "failed-long", "ended"]);
});
