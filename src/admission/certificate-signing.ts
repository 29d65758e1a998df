/**
 * CertificateSigning: writing a certificate or a failure into a request needs the verb `sign` on the signer. Source:
 * upstream's plugin of this name.
 */
import type { CertificateSigningRequest } from "#api/certificates/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import type { AdmissionPlugin } from "./plugin.ts";
import { checkSigner, isRequestWrite, type SignerOptions } from "./signers.ts";

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
