/**
 * CertificateSubjectRestriction: refuses certificate requests for the group `system:masters` from the API server's
 * client signer. Source: upstream's plugin of this name.
 */
import type { CertificateSigningRequest } from "#api/certificates/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { groupMasters } from "#meta/user-info.ts";
import { parseCertificateRequest } from "#std/certificate-request.ts";
import { type AdmissionPlugin, refusal } from "./plugin.ts";
import { isRequestWrite } from "./signers.ts";

export function certificateSubjectRestriction({ domain }: { readonly domain: ApiDomain }): AdmissionPlugin {
  const group = domain.rename("certificates.k8s.io");
  const clientSigner = domain.rename("kubernetes.io/kube-apiserver-client");
  return {
    name: "CertificateSubjectRestriction",
    operations: ["CREATE"],
    validate(attributes) {
      if (!isRequestWrite(attributes, group, "")) return;
      const { spec } = attributes.object as CertificateSigningRequest; // the resource says so
      if (spec.signerName !== clientSigner) return;
      const parsed = parseCertificateRequest(Buffer.from(spec.request ?? "", "base64").toString("latin1"));
      if (!parsed.ok) throw refusal(attributes, `failed to parse CSR: ${parsed.problem}`);
      if (!parsed.request.organizations.includes(groupMasters)) return;
      throw refusal(attributes, `use of ${clientSigner} signer with ${groupMasters} group is not allowed`);
    },
  };
}
