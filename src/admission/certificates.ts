/**
 * The admission plugins of certificates: users need rights on a signer to approve or sign requests and to attest
 * bundles, and nobody gets a client certificate of the group `system:masters`. Source: upstream's plugins of these
 * names.
 */
import type { CertificateSigningRequest } from "#api/certificates/v1.ts";
import type { ClusterTrustBundle } from "#api/certificates/v1alpha1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import type { Authorizer } from "#authz/authorizer.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { goQuote } from "#meta/field-error.ts";
import type { RequestContext } from "#meta/request-context.ts";
import { groupMasters } from "#meta/user-info.ts";
import { parseCertificateRequest } from "#std/certificate-request.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import { type AdmissionAttributes, type AdmissionPlugin, refusal } from "./plugin.ts";

export interface SignerOptions {
  readonly domain: ApiDomain;
  readonly authorizer: Authorizer;
}

/** Approval and denial need the verb `approve` on the signer. */
export function certificateApproval(options: SignerOptions): AdmissionPlugin {
  const group = options.domain.rename("certificates.k8s.io");
  return {
    name: "CertificateApproval",
    operations: ["UPDATE"],
    validate(attributes) {
      if (!isRequestWrite(attributes, group, "approval")) return undefined;
      return checkSigner(options, attributes, "approve");
    },
  };
}

/** Writing a certificate or a failure into a request needs the verb `sign` on the signer. */
export function certificateSigning(options: SignerOptions): AdmissionPlugin {
  const group = options.domain.rename("certificates.k8s.io");
  return {
    name: "CertificateSigning",
    operations: ["UPDATE"],
    validate(attributes) {
      if (!isRequestWrite(attributes, group, "status")) return undefined;
      const old = attributes.oldObject as CertificateSigningRequest; // the resource says so
      const next = attributes.object as CertificateSigningRequest; // likewise
      if (isSameResult(old, next)) return undefined;
      return checkSigner(options, attributes, "sign");
    },
  };
}

const isSameResult = (
  { status: old }: CertificateSigningRequest,
  { status: next }: CertificateSigningRequest,
): boolean =>
  (old.certificate ?? "") === (next.certificate ?? "") && jsonEquals(old.conditions ?? [], next.conditions ?? []);

/** Refuses requests for the group `system:masters` from the API server's client signer. */
export function certificateSubjectRestriction({ domain }: { readonly domain: ApiDomain }): AdmissionPlugin {
  const group = domain.rename("certificates.k8s.io");
  const clientSigner = domain.rename("kubernetes.io/kube-apiserver-client");
  return {
    name: "CertificateSubjectRestriction",
    operations: ["CREATE"],
    validate(attributes) {
      if (!isRequestWrite(attributes, group, "")) return undefined;
      const { spec } = attributes.object as CertificateSigningRequest; // the resource says so
      if (spec.signerName !== clientSigner) return undefined;
      const parsing = parseCertificateRequest(Buffer.from(spec.request ?? "", "base64").toString("latin1"));
      return andThen(parsing, (parsed) => {
        if (!parsed.ok) throw refusal(attributes, `failed to parse CSR: ${parsed.problem}`);
        if (!parsed.request.organizations.includes(groupMasters)) return;
        throw refusal(attributes, `use of ${clientSigner} signer with ${groupMasters} group is not allowed`);
      });
    },
  };
}

/** Writing a bundle for a signer needs the verb `attest` on that signer. */
export function clusterTrustBundleAttest(options: SignerOptions): AdmissionPlugin {
  const group = options.domain.rename("certificates.k8s.io");
  return {
    name: "ClusterTrustBundleAttest",
    operations: ["CREATE", "UPDATE"],
    validate(attributes) {
      const { resource } = attributes;
      if (resource.resource !== "clustertrustbundles" || resource.group !== group) return undefined;
      const { signerName = "" } = (attributes.object as ClusterTrustBundle).spec; // the resource says so
      if (signerName === "") return undefined;
      return andThen(mayActFor(options, attributes.context, "attest", signerName), (isAllowed) => {
        if (isAllowed) return;
        throw refusal(attributes, `user not permitted to attest for signerName ${goQuote(signerName)}`);
      });
    },
  };
}

/** Whether this is a write to requests for certificates through `subresource`. */
const isRequestWrite = (attributes: AdmissionAttributes, group: string, subresource: string): boolean =>
  attributes.subresource === subresource &&
  attributes.resource.resource === "certificatesigningrequests" &&
  attributes.resource.group === group;

/** Refuses a write by a user who may not do `verb` for the signer of the request. */
function checkSigner(
  options: SignerOptions,
  attributes: AdmissionAttributes,
  verb: "approve" | "sign",
): MaybePromise<void> {
  const { signerName } = (attributes.oldObject as CertificateSigningRequest).spec; // callers looked at the resource
  return andThen(mayActFor(options, attributes.context, verb, signerName), (isAllowed) => {
    if (isAllowed) return;
    throw refusal(attributes, `user not permitted to ${verb} requests with signerName ${goQuote(signerName)}`);
  });
}

/** Whether the user may do `verb` for this signer, or for all of its domain. */
function mayActFor(
  { authorizer, domain }: SignerOptions,
  { user }: RequestContext,
  verb: "approve" | "sign" | "attest",
  signerName: string,
): MaybePromise<boolean> {
  const group = domain.rename("certificates.k8s.io");
  const about = { user, verb, isResourceRequest: true, path: "", group, version: "*", subresource: "", namespace: "" };
  const isAllowed = (name: string): MaybePromise<boolean> =>
    andThen(authorizer.authorize({ ...about, resource: "signers", name }), ({ decision }) => decision === "allow");
  return andThen(isAllowed(signerName), (isNamed) => isNamed || isAllowed(`${signerName.split("/")[0]}/*`));
}
