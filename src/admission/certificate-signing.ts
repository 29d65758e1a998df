/**
 * CertificateSigning: writing a certificate or a failure into a request needs the verb `sign` on the signer. Source:
 * upstream's plugin of this name.
 */
import type { CertificateSigningRequest } from "#api/certificates/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { goQuote } from "#meta/field-error.ts";
import { type AdmissionPlugin, refusal } from "./plugin.ts";
import { isRequestWrite, mayActFor, type SignerOptions } from "./signers.ts";

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
      const { signerName } = old.spec;
      const decide = (isAllowed: boolean): void => {
        if (isAllowed) return;
        throw refusal(attributes, `user not permitted to sign requests with signerName ${goQuote(signerName)}`);
      };
      const answer = mayActFor(options, attributes.context, "sign", signerName);
      return answer instanceof Promise ? answer.then(decide) : decide(answer);
    },
  };
}

const isSameResult = (
  { status: old }: CertificateSigningRequest,
  { status: next }: CertificateSigningRequest,
): boolean =>
  (old.certificate ?? "") === (next.certificate ?? "") && jsonEquals(old.conditions ?? [], next.conditions ?? []);
