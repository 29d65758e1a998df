/**
 * CertificateApproval: approval and denial need the verb `approve` on the signer. Source: upstream's plugin of this
 * name.
 */
import type { AdmissionPlugin } from "./plugin.ts";
import { checkSigner, isRequestWrite, type SignerOptions } from "./signers.ts";

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
