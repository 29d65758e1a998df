/** Names of annotations of pods that the server knows. */
import { perDomain } from "./api-domain.ts";

/** Those of containers end with the name of one. */
export interface PodAnnotations {
  readonly mirror: string;
  readonly deletionCost: string;
  readonly appArmor: string;
  readonly seccompOfPod: string;
  readonly seccomp: string;
}

export const podAnnotations = perDomain(
  ({ rename }): PodAnnotations => ({
    mirror: rename("kubernetes.io/config.mirror"),
    deletionCost: rename("controller.kubernetes.io/pod-deletion-cost"),
    appArmor: rename("container.apparmor.security.beta.kubernetes.io/"),
    seccompOfPod: rename("seccomp.security.alpha.kubernetes.io/pod"),
    seccomp: rename("container.seccomp.security.alpha.kubernetes.io/"),
  }),
);
