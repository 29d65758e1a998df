/** Shared by the certificate plugins: which requests they check, and whether the user may act for a signer. */
import type { CertificateSigningRequest } from "#api/certificates/v1.ts";
import type { Authorizer } from "#authz/authorizer.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { goQuote } from "#meta/field-error.ts";
import type { RequestContext } from "#meta/request-context.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import { type AdmissionAttributes, refusal } from "./plugin.ts";

export interface SignerOptions {
  readonly domain: ApiDomain;
  readonly authorizer: Authorizer;
}

/** Whether this is a write to requests for certificates through `subresource`. */
export const isRequestWrite = (attributes: AdmissionAttributes, group: string, subresource: string): boolean =>
  attributes.subresource === subresource &&
  attributes.resource.resource === "certificatesigningrequests" &&
  attributes.resource.group === group;

/** Refuses a write by a user who may not do `verb` for the signer of the request. */
export function checkSigner(
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
export function mayActFor(
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
