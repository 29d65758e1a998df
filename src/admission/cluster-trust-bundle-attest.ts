/**
 * ClusterTrustBundleAttest: saying whom a signer's clients trust needs `attest` on the signer. Source: upstream's plugin
 * of this name.
 */
import { goQuote } from "#meta/field-error.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { type AdmissionPlugin, refusal } from "./plugin.ts";
import { mayActFor, type SignerOptions } from "./signers.ts";

interface ClusterTrustBundle extends Unstructured {
  readonly spec?: { readonly signerName?: string };
}

export function clusterTrustBundleAttest(options: SignerOptions): AdmissionPlugin {
  const group = options.domain.rename("certificates.k8s.io");
  return {
    name: "ClusterTrustBundleAttest",
    operations: ["CREATE", "UPDATE"],
    validate(attributes) {
      const { resource } = attributes;
      if (resource.resource !== "clustertrustbundles" || resource.group !== group) return undefined;
      const { spec } = attributes.object as ClusterTrustBundle; // the resource says so
      const signerName = spec?.signerName ?? "";
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
