/**
 * Deletes finished certificate requests: an hour after they were issued, denied or failed, after a day without a
 * decision, or when the certificate has expired. Approved requests wait for their signer without limit. Source:
 * upstream's CSR cleaner.
 */
import { X509Certificate } from "node:crypto";
import type { CertificateSigningRequest } from "#api/certificates/v1.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import { timeToMs } from "#meta/time.ts";
import { hasCertificate, requestsPath, trueCondition } from "./waiting-requests.ts";
import type { Controller, ControllerEnvironment } from "../controller.ts";
import { inPages } from "../pages.ts";
import { objectPath } from "../paths.ts";
import { periodically } from "../repeat.ts";

const hourMs = 3_600_000;
const periodMs = hourMs;
const settledMaxMs = hourMs;
const waitingMaxMs = 24 * hourMs;

export const csrCleanerController: Controller = (environment) =>
  periodically(environment, periodMs, "could not clean up requests for certificates; trying again later", () =>
    cleanUp(environment),
  );

async function cleanUp(environment: ControllerEnvironment): Promise<void> {
  const { client, clock, log, reader, signal } = environment;
  const path = requestsPath(environment);
  for await (const request of inPages<CertificateSigningRequest>(reader, path)) {
    if (signal.aborted) return;
    if (!isDone(request, clock.now())) continue;
    const { name = "", uid } = request.metadata;
    try {
      await ignoreNotFound(client.delete(objectPath(path, request.metadata), { preconditions: { uid } }));
    } catch (err) {
      log.warn({ request: name, err }, "could not delete a request for a certificate; trying again later");
    }
  }
}

function isDone(request: CertificateSigningRequest, now: number): boolean {
  const isOld = (time: string | null | undefined, maxMs: number): boolean => {
    const ms = timeToMs(time ?? "");
    return ms !== undefined && now - ms > maxMs;
  };
  const isSettled = (type: string): boolean => isOld(trueCondition(request, type)?.lastUpdateTime, settledMaxMs);
  if (isSettled("Denied") || isSettled("Failed")) return true;
  if (hasCertificate(request)) return isSettled("Approved") || hasEnded(request, now);
  const isUntouched = (request.status.conditions ?? []).length === 0;
  return isUntouched && isOld(request.metadata.creationTimestamp, waitingMaxMs);
}

function hasEnded({ status }: CertificateSigningRequest, now: number): boolean {
  if ((status.certificate ?? "") === "") return false;
  try {
    return new X509Certificate(Buffer.from(status.certificate ?? "", "base64")).validToDate.getTime() < now;
  } catch {
    return false;
  }
}
