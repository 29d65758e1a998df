/**
 * ClusterTrustBundleAttest: writing a bundle for a signer needs the verb `attest` on that signer. Source: upstream's
 * plugin of this name.
 */
import type { ClusterTrustBundle } from "#api/certificates/v1alpha1.ts";
import { goQuote } from "#meta/field-error.ts";
import { type AdmissionPlugin, refusal } from "./plugin.ts";
import { mayActFor, type SignerOptions } from "./signers.ts";

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
      const decide = (isAllowed: boolean): void => {
        if (isAllowed) return;
        throw refusal(attributes, `user not permitted to attest for signerName ${goQuote(signerName)}`);
      };
      const answer = mayActFor(options, attributes.context, "attest", signerName);
      return answer instanceof Promise ? answer.then(decide) : decide(answer);
    },
  };
}
