/** Shared by the certificate plugins: which requests they check, and whether the user may act for a signer. */
import type { Authorizer } from "#authz/authorizer.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { RequestContext } from "#meta/request-context.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { AdmissionAttributes } from "./plugin.ts";

export interface SignerOptions {
  readonly domain: ApiDomain;
  readonly authorizer: Authorizer;
}

/** Whether this is a write to requests for certificates through `subresource`. */
export const isRequestWrite = (attributes: AdmissionAttributes, group: string, subresource: string): boolean =>
  attributes.subresource === subresource &&
  attributes.resource.resource === "certificatesigningrequests" &&
  attributes.resource.group === group;

/** Whether the user may do `verb` for this signer, or for all of its domain. */
export function mayActFor(
  { authorizer, domain }: SignerOptions,
  { user }: RequestContext,
  verb: "approve" | "sign" | "attest",
  signerName: string,
): MaybePromise<boolean> {
  const isAllowed = (name: string): MaybePromise<boolean> => {
    const verdict = authorizer.authorize({
      user,
      verb,
      isResourceRequest: true,
      path: "",
      group: domain.rename("certificates.k8s.io"),
      version: "*",
      resource: "signers",
      subresource: "",
      namespace: "",
      name,
    });
    return verdict instanceof Promise
      ? verdict.then(({ decision }) => decision === "allow")
      : verdict.decision === "allow";
  };
  const ofAll = `${signerName.split("/")[0]}/*`;
  const named = isAllowed(signerName);
  if (named instanceof Promise) return named.then((yes) => yes || isAllowed(ofAll));
  return named || isAllowed(ofAll);
}
