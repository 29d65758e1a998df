/**
 * CertificateApproval: approval and denial need the verb `approve` on the signer. Source: upstream's plugin of this
 * name.
 */
import type { CertificateSigningRequest } from "#api/certificates/v1.ts";
import { goQuote } from "#meta/field-error.ts";
import { type AdmissionPlugin, refusal } from "./plugin.ts";
import { isRequestWrite, mayActFor, type SignerOptions } from "./signers.ts";

export function certificateApproval(options: SignerOptions): AdmissionPlugin {
  const group = options.domain.rename("certificates.k8s.io");
  return {
    name: "CertificateApproval",
    operations: ["UPDATE"],
    validate(attributes) {
      if (!isRequestWrite(attributes, group, "approval")) return undefined;
      const { signerName } = (attributes.oldObject as CertificateSigningRequest).spec; // the resource says so
      const decide = (isAllowed: boolean): void => {
        if (isAllowed) return;
        const reason = `user not permitted to approve requests with signerName ${goQuote(signerName)}`;
        throw refusal(attributes, reason);
      };
      const answer = mayActFor(options, attributes.context, "approve", signerName);
      return answer instanceof Promise ? answer.then(decide) : decide(answer);
    },
  };
}
