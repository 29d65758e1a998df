/**
 * Deletes requests for certificates that are done with: decided or failed an hour ago, waiting for a day, or with a
 * certificate that has ended. Source: upstream's CSR cleaner.
 */
import { X509Certificate } from "node:crypto";
import { pause } from "#client/reflector.ts";
import { found } from "#client/rest-client.ts";
import { timeToMs } from "#meta/time.ts";
import {
  type CertificateSigningRequest,
  hasCertificate,
  isDecided,
  requestsPath,
  trueCondition,
} from "./certificate-requests.ts";
import type { Controller } from "./controller.ts";

const hourMs = 3_600_000;
const periodMs = hourMs;
const settledMaxMs = hourMs;
const waitingMaxMs = 24 * hourMs;

export const csrCleanerController: Controller = async (environment) => {
  const { client, clock, signal, log } = environment;
  const path = requestsPath(environment);
  while (!signal.aborted) {
    try {
      for (const request of (await client.list(path)).items) {
        if (!isDone(request as CertificateSigningRequest, clock.now())) continue; // the path names the kind
        const { name = "", uid } = request.metadata;
        await found(client.delete(`${path}/${encodeURIComponent(name)}`, { preconditions: { uid } }));
      }
    } catch (err) {
      if (!signal.aborted) log.warn({ err }, "could not clean up requests for certificates; trying again later");
    }
    await pause(clock, periodMs, signal);
  }
};

function isDone(request: CertificateSigningRequest, now: number): boolean {
  const isOld = (time: string | null | undefined, maxMs: number): boolean => {
    const ms = timeToMs(time ?? "");
    return ms !== undefined && now - ms > maxMs;
  };
  for (const type of ["Approved", "Denied", "Failed"]) {
    if (isOld(trueCondition(request, type)?.lastUpdateTime, settledMaxMs)) return true;
  }
  if (!isDecided(request) && !hasCertificate(request)) return isOld(request.metadata.creationTimestamp, waitingMaxMs);
  return hasEnded(request, now);
}

function hasEnded({ status }: CertificateSigningRequest, now: number): boolean {
  if ((status?.certificate ?? "") === "") return false;
  try {
    return new X509Certificate(Buffer.from(status?.certificate ?? "", "base64")).validToDate.getTime() < now;
  } catch {
    return false;
  }
}
