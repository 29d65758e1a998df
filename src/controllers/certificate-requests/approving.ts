/**
 * Approves nodes' requests for client certificates, first ones and renewals, if the requester is authorized. Source:
 * upstream's CSR approving controller.
 */
import type { SubjectAccessReview } from "#api/authorization/v1.ts";
import type { CertificateSigningRequest } from "#api/certificates/v1.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import {
  hasCertificate,
  isDecided,
  nodeClientProblem,
  parsedRequest,
  requestsPath,
  reconcileWaiting,
} from "./waiting-requests.ts";
import type { Controller, ControllerEnvironment } from "../controller.ts";
import { objectPath } from "../paths.ts";

export const csrApprovingController: Controller = (environment) => {
  const signerName = environment.domain.rename("kubernetes.io/kube-apiserver-client-kubelet");
  return reconcileWaiting(environment, {
    verb: "approve",
    signerName,
    isWaiting: (request) => request.spec.signerName === signerName && !hasCertificate(request) && !isDecided(request),
    reconcile: (request) => approve(environment, request),
  });
};

/** Approves a request. Returns `"again"` for a node's request whose requester is not authorized yet. */
async function approve(
  environment: ControllerEnvironment,
  request: CertificateSigningRequest,
): Promise<"again" | undefined> {
  const { spec, status } = request;
  const parsed = await parsedRequest(request);
  if (!parsed.ok || nodeClientProblem(parsed.request, spec.usages ?? []) !== undefined) return undefined;
  const isOwn = spec.username === parsed.request.commonName;
  const tries = [
    ...(isOwn
      ? [["selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview."] as const]
      : []),
    ["nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview."] as const,
  ];
  for (const [subresource, message] of tries) {
    if (!(await mayAsk(environment, request, subresource))) continue;
    // The server sets the times.
    const times = { lastUpdateTime: null, lastTransitionTime: null };
    const condition = { type: "Approved", status: "True", reason: "AutoApproved", message, ...times };
    const conditions = [...(status.conditions ?? []), condition];
    const path = `${objectPath(requestsPath(environment), request.metadata)}/approval`;
    const approved: CertificateSigningRequest = { ...request, status: { ...status, conditions } };
    await ignoreNotFound(environment.client.update(path, approved));
    return undefined;
  }
  return "again";
}

async function mayAsk(
  { client, domain }: ControllerEnvironment,
  { spec }: CertificateSigningRequest,
  subresource: string,
): Promise<boolean> {
  const apiVersion = `${domain.rename("authorization.k8s.io")}/v1`;
  const { username, uid, groups, extra } = spec;
  const review = await client.create<SubjectAccessReview>(`/apis/${apiVersion}/subjectaccessreviews`, {
    apiVersion,
    kind: "SubjectAccessReview",
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
        version: "*",
      },
    },
  });
  return review.status.allowed === true;
}
