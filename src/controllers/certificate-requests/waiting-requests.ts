/**
 * Parts that the certificate controllers share: request types, retries of waiting requests, and the form of node
 * requests.
 */
import type { CertificateSigningRequest, CertificateSigningRequestCondition } from "#api/certificates/v1.ts";
import type { RetryPauses } from "#client/work-queue.ts";
import { type CertificateRequest, type ParsedRequest, parseCertificateRequest } from "#std/certificate-request.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { ControllerEnvironment } from "../controller.ts";
import { reconcile } from "../reconcile.ts";

export const requestsPath = ({ domain }: ControllerEnvironment): string =>
  `/apis/${domain.rename("certificates.k8s.io")}/v1/certificatesigningrequests`;

interface WaitingRequests {
  /** The action, for logs: `sign`. */
  readonly verb: string;
  /** The signer whose requests are processed; left out: requests to any signer. */
  readonly signerName?: string;
  isWaiting(request: CertificateSigningRequest): boolean;
  /** Processes a current, still waiting request. `"again"`: it stays and is retried. */
  reconcile(request: CertificateSigningRequest): Promise<"again" | void>;
}

/** The pauses before a request is examined again: rights may be given later. */
const pauses: RetryPauses = { minMs: 200, maxMs: 300_000 };

/** Processes requests when they begin to wait. Runs until the environment's signal is aborted. */
export function reconcileWaiting(environment: ControllerEnvironment, waiting: WaitingRequests): Promise<void> {
  const { verb, signerName } = waiting;
  return reconcile<CertificateSigningRequest>(environment, {
    name: "certificate",
    path: requestsPath(environment),
    fieldSelector: signerName === undefined ? undefined : `spec.signerName=${signerName}`,
    what: "requests for certificates",
    logKey: "request",
    failure: `could not ${verb} a request for a certificate; trying again`,
    workersMax: 5,
    pauses,
    matters: (request) => waiting.isWaiting(request),
    work: (request) => waiting.reconcile(request),
  });
}

export const parsedRequest = ({ spec }: CertificateSigningRequest): MaybePromise<ParsedRequest> =>
  parseCertificateRequest(Buffer.from(spec.request ?? "", "base64").toString("latin1"));

/** Returns the condition of a type, if it is true. */
export const trueCondition = (
  { status }: CertificateSigningRequest,
  type: string,
): CertificateSigningRequestCondition | undefined =>
  status.conditions?.find((condition) => condition.type === type && condition.status === "True");

export const hasCertificate = ({ status }: CertificateSigningRequest): boolean => (status.certificate ?? "") !== "";

/** Whether a request was approved or denied. */
export const isDecided = (request: CertificateSigningRequest): boolean =>
  request.status.conditions?.some(({ type }) => type === "Approved" || type === "Denied") === true;

/** Returns why this is not a node's request for its client certificate, in upstream's words; `undefined` when it is. */
export function nodeClientProblem(request: CertificateRequest, usages: readonly string[]): string | undefined {
  if (!isNodes(request)) return "subject organization is not system:nodes";
  if (request.dnsNames.length > 0) return "DNS subjectAltNames are not allowed";
  if (request.emails.length > 0) return "Email subjectAltNames are not allowed";
  if (request.addresses.length > 0) return "IP subjectAltNames are not allowed";
  if (request.uris.length > 0) return "URI subjectAltNames are not allowed";
  if (!request.commonName.startsWith("system:node:")) return "subject common name does not begin with system:node: ";
  return usagesProblem(usages, "client auth");
}

/** Returns why this is not a node's request for its serving certificate; `undefined` when it is. */
export function nodeServingProblem(request: CertificateRequest, usages: readonly string[]): string | undefined {
  if (!isNodes(request)) return "subject organization is not system:nodes";
  if (request.dnsNames.length === 0 && request.addresses.length === 0) return "DNS or IP subjectAltName is required";
  if (request.emails.length > 0) return "Email subjectAltNames are not allowed";
  if (request.uris.length > 0) return "URI subjectAltNames are not allowed";
  if (!request.commonName.startsWith("system:node:")) return "subject common name does not begin with system:node: ";
  return usagesProblem(usages, "server auth");
}

const isNodes = ({ organizations }: CertificateRequest): boolean =>
  organizations.length === 1 && organizations[0] === "system:nodes";

/** Returns the problem of usages. Elliptic curve keys cannot encipher, so that usage may be omitted. */
function usagesProblem(usages: readonly string[], purpose: string): string | undefined {
  const rest = usages.filter((usage) => usage !== "key encipherment");
  const isGood = rest.length === 2 && rest.includes("digital signature") && rest.includes(purpose);
  return isGood && usages.length - rest.length <= 1
    ? undefined
    : `usages did not match [digital signature key encipherment ${purpose}]`;
}
