/**
 * Approves requests of nodes for client certificates: of machines that join and of nodes that renew theirs, if whoever
 * asks may. Source: upstream's CSR approving controller.
 */
import { reflect } from "#client/reflector.ts";
import { found } from "#client/rest-client.ts";
import { WorkQueue } from "#client/work-queue.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import {
  type CertificateSigningRequest,
  hasCertificate,
  isDecided,
  nodeClientProblem,
  parsedRequest,
  requestsPath,
} from "./certificate-requests.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";

const workers = 4;
/** Rights may be given later. */
const lookAgainMs = 30_000;

interface Review extends ApiObject {
  readonly status?: { readonly allowed?: boolean };
}

export const csrApprovingController: Controller = async (environment) => {
  const { client, clock, signal, log, domain } = environment;
  const path = requestsPath(environment);
  const signerName = domain.rename("kubernetes.io/kube-apiserver-client-kubelet");
  const isWaiting = (request: CertificateSigningRequest): boolean =>
    request.spec?.signerName === signerName && !hasCertificate(request) && !isDecided(request);
  const queue = new WorkQueue({
    clock,
    workersMax: workers,
    work: async (name) => {
      const request = (await found(client.get(`${path}/${encodeURIComponent(name)}`))) as
        | CertificateSigningRequest
        | undefined; // the path names the kind
      if (request === undefined || !isWaiting(request)) return;
      if ((await approve(environment, request)) === "not allowed") queue.addAfter(name, lookAgainMs);
    },
    failed: (request, err) => log.warn({ request, err }, "could not look at a request for a certificate; trying again"),
  });
  signal.addEventListener("abort", () => queue.close(), { once: true });
  const look = (object: ApiObject): void => {
    if (isWaiting(object as CertificateSigningRequest)) queue.add(object.metadata.name ?? ""); // the path names the kind
  };
  await reflect({
    client,
    clock,
    signal,
    path,
    fieldSelector: `spec.signerName=${signerName}`,
    replaced: (requests) => requests.forEach(look),
    changed: (type, request) => {
      if (type !== "DELETED") look(request);
    },
    failed: (err) => log.warn({ err }, "could not follow requests for certificates; starting over"),
  });
};

async function approve(
  environment: ControllerEnvironment,
  request: CertificateSigningRequest,
): Promise<"approved" | "not meant" | "not allowed"> {
  const { spec = {}, status } = request;
  const parsed = parsedRequest(request);
  if (!parsed.ok || nodeClientProblem(parsed.request, spec.usages ?? []) !== undefined) return "not meant";
  const isOwn = spec.username === parsed.request.commonName;
  const tries = [
    ...(isOwn
      ? [["selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview."] as const]
      : []),
    ["nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview."] as const,
  ];
  for (const [subresource, message] of tries) {
    if (!(await mayAsk(environment, request, subresource))) continue;
    const condition = { type: "Approved", status: "True", reason: "AutoApproved", message };
    const conditions = [...(status?.conditions ?? []), condition];
    const path = `${requestsPath(environment)}/${encodeURIComponent(request.metadata.name ?? "")}/approval`;
    await found(environment.client.update(path, { ...request, status: { ...status, conditions } }));
    return "approved";
  }
  return "not allowed";
}

async function mayAsk(
  { client, domain }: ControllerEnvironment,
  { spec = {} }: CertificateSigningRequest,
  subresource: string,
): Promise<boolean> {
  const apiVersion = `${domain.rename("authorization.k8s.io")}/v1`;
  const { username, uid, groups, extra } = spec;
  const review: Review = await client.create(`/apis/${apiVersion}/subjectaccessreviews`, {
    apiVersion,
    kind: "SubjectAccessReview",
    metadata: {},
    spec: {
      user: username,
      uid,
      groups,
      extra,
      resourceAttributes: {
        group: domain.rename("certificates.k8s.io"),
        resource: "certificatesigningrequests",
        verb: "create",
        subresource,
      },
    },
  });
  return review.status?.allowed === true;
}
