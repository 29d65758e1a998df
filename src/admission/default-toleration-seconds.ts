/**
 * DefaultTolerationSeconds: adds tolerations to pods, so that they stay for a while on a node that is not ready or
 * cannot be reached, unless they say how long. Source of rules: the answers of kube-apiserver.
 */
import type { Pod, Toleration } from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { type AdmissionPlugin, isPods } from "./plugin.ts";

interface DefaultTolerationSecondsOptions {
  readonly domain: ApiDomain;
  readonly notReadySeconds: number;
  readonly unreachableSeconds: number;
}

export function defaultTolerationSeconds(options: DefaultTolerationSecondsOptions): AdmissionPlugin {
  const added = (name: string, tolerationSeconds: number): Toleration & { readonly key: string } => ({
    key: options.domain.rename(`node.kubernetes.io/${name}`),
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds,
  });
  const defaults = [added("not-ready", options.notReadySeconds), added("unreachable", options.unreachableSeconds)];
  return {
    name: "DefaultTolerationSeconds",
    operations: ["CREATE", "UPDATE"],
    admit(attributes) {
      const { resource, subresource } = attributes;
      if (!isPods(resource) || subresource !== "") return undefined;
      const pod = attributes.object as Pod; // of the resource
      const tolerations = pod.spec.tolerations ?? [];
      const missing = defaults.filter(({ key }) => !tolerations.some((one) => isAbout(one, key)));
      if (missing.length === 0) return undefined;
      return { ...pod, spec: { ...pod.spec, tolerations: [...tolerations, ...missing] } };
    },
  };
}

/** Whether the toleration is about the eviction for this reason, whatever it tolerates. */
const isAbout = ({ key = "", effect = "" }: Toleration, reason: string): boolean =>
  (key === reason || key === "") && (effect === "NoExecute" || effect === "");
