/** Names of annotations of pods that the server knows. */
import { perDomain } from "./api-domain.ts";

export interface PodAnnotations {
  readonly mirror: string;
  readonly deletionCost: string;
  /** The name of a container follows. */
  readonly appArmorPrefix: string;
  readonly seccompOfPod: string;
  /** The name of a container follows. */
  readonly seccompPrefix: string;
}

export const podAnnotations = perDomain(
  ({ rename }): PodAnnotations => ({
    mirror: rename("kubernetes.io/config.mirror"),
    deletionCost: rename("controller.kubernetes.io/pod-deletion-cost"),
    appArmorPrefix: rename("container.apparmor.security.beta.kubernetes.io/"),
    seccompOfPod: rename("seccomp.security.alpha.kubernetes.io/pod"),
    seccompPrefix: rename("container.seccomp.security.alpha.kubernetes.io/"),
  }),
);
