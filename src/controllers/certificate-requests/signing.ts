/**
 * The built-in signers: issue certificates for approved requests, or record why not. Source: upstream's CSR signing
 * controller and `certificates/authority`.
 */
import type { CertificateSigningRequest } from "#api/certificates/v1.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import { usageExtensions } from "#meta/key-usages.ts";
import { timestampOf } from "#meta/time.ts";
import { type Authority, issueCertificate } from "#std/certificate.ts";
import type { CertificateRequest } from "#std/certificate-request.ts";
import type { Random } from "#std/random.ts";
import {
  hasCertificate,
  nodeClientProblem,
  nodeServingProblem,
  parsedRequest,
  requestsPath,
  reconcileWaiting,
  trueCondition,
} from "./waiting-requests.ts";
import type { Controller, ControllerEnvironment } from "../controller.ts";
import { objectPath } from "../paths.ts";

/** Kubernetes' names of the signers, without the domain. */
export const signers = [
  "kube-apiserver-client-kubelet",
  "kubelet-serving",
  "kube-apiserver-client",
  "legacy-unknown",
] as const;

export type Signer = (typeof signers)[number];

interface CsrSigningOptions {
  /** Returns the authority of a signer; `undefined` when this server has none for it. */
  authority(signer: Signer): Authority | undefined;
  /** The longest validity of a certificate. */
  readonly durationMs: number;
  readonly random: Random;
}

const minDurationMs = 600_000;
/** The time by which certificates are backdated, since other clocks may be behind. */
const backdateMs = 5 * 60_000;
/** Certificates with a shorter validity than this keep their full duration despite the backdated start. */
const shortMs = 8 * 3_600_000;

export const csrSigningController =
  (options: CsrSigningOptions): Controller =>
  (environment) => {
    const { rename } = environment.domain;
    const byName = new Map<string, Signer>(signers.map((signer) => [rename(`kubernetes.io/${signer}`), signer]));
    const signerOf = ({ spec }: CertificateSigningRequest): Signer | undefined => byName.get(spec.signerName);
    return reconcileWaiting(environment, {
      verb: "sign",
      isWaiting: (request) =>
        signerOf(request) !== undefined &&
        !hasCertificate(request) &&
        trueCondition(request, "Approved") !== undefined &&
        trueCondition(request, "Denied") === undefined &&
        trueCondition(request, "Failed") === undefined,
      async reconcile(request) {
        const signer = signerOf(request);
        const authority = signer === undefined ? undefined : options.authority(signer);
        if (signer !== undefined && authority !== undefined) {
          await sign(environment, options, request, signer, authority);
        }
      },
    });
  };

async function sign(
  environment: ControllerEnvironment,
  options: CsrSigningOptions,
  request: CertificateSigningRequest,
  signer: Signer,
  authority: Authority,
): Promise<void> {
  const { client, clock } = environment;
  const { spec, status } = request;
  const parsed = await parsedRequest(request);
  if (!parsed.ok) throw new Error(`unable to parse csr: ${parsed.problem}`);
  const usages = spec.usages ?? [];
  const problem = problemOf[signer](parsed.request, usages);
  let next: CertificateSigningRequest["status"];
  if (problem === undefined) {
    const { expirationSeconds } = spec;
    const pem = await certificateFor(
      { request: parsed.request, usages, expirationSeconds },
      authority,
      options,
      clock.now(),
    );
    next = { ...status, certificate: Buffer.from(pem).toString("base64") };
  } else {
    const failed = {
      type: "Failed",
      status: "True",
      reason: "SignerValidationFailure",
      message: problem,
      lastUpdateTime: timestampOf(clock.now()),
      lastTransitionTime: null,
    };
    next = { ...status, conditions: [...(status.conditions ?? []), failed] };
  }
  const path = `${objectPath(requestsPath(environment), request.metadata)}/status`;
  await ignoreNotFound(client.update<CertificateSigningRequest>(path, { ...request, status: next }));
}

/** The check of each signer. It returns why the signer does not sign a request, in upstream's words. */
const problemOf: Readonly<
  Record<Signer, (request: CertificateRequest, usages: readonly string[]) => string | undefined>
> = {
  "kube-apiserver-client-kubelet": nodeClientProblem,
  "kubelet-serving": nodeServingProblem,
  "kube-apiserver-client": (_request, usages) => clientProblem(usages),
  "legacy-unknown": () => undefined,
};

function clientProblem(usages: readonly string[]): string | undefined {
  const allowed = ["digital signature", "key encipherment", "client auth"];
  const wrong = usages.find((usage) => !allowed.includes(usage));
  if (wrong !== undefined) return `invalid usage for client certificate: ${wrong}`;
  return usages.includes("client auth") ? undefined : "missing required usage for client certificate: client auth";
}

/** A request that may be signed. */
interface Signable {
  readonly request: CertificateRequest;
  readonly usages: readonly string[];
  readonly expirationSeconds: number | undefined;
}

function certificateFor(
  { request, usages, expirationSeconds }: Signable,
  authority: Authority,
  { durationMs, random }: CsrSigningOptions,
  now: number,
): Promise<string> {
  if (authority.notAfterMs <= now) throw new Error("the signer has expired");
  const wantedMs = expirationSeconds === undefined ? durationMs : expirationSeconds * 1000;
  const goodMs = Math.min(durationMs, Math.max(minDurationMs, wantedMs));
  const notAfterMs = now + (goodMs < shortMs ? goodMs : goodMs - backdateMs);
  return issueCertificate(
    {
      ...request,
      ...usageExtensions(usages),
      notBeforeMs: now - backdateMs,
      notAfterMs: Math.min(notAfterMs, authority.notAfterMs),
    },
    authority,
    random,
  );
}
