/** Names of pod annotations that the server handles. */
import { perDomain } from "./api-domain.ts";

export interface PodAnnotations {
  readonly mirror: string;
  readonly deletionCost: string;
  /** The annotation in which tolerations were before they had a field. */
  readonly tolerations: string;
  /** The prefix before the name of a container. */
  readonly appArmorPrefix: string;
  readonly seccompOfPod: string;
  /** The prefix before the name of a container. */
  readonly seccompPrefix: string;
}

export const podAnnotations = perDomain(
  ({ rename }): PodAnnotations => ({
    mirror: rename("kubernetes.io/config.mirror"),
    deletionCost: rename("controller.kubernetes.io/pod-deletion-cost"),
    tolerations: rename("scheduler.alpha.kubernetes.io/tolerations"),
    appArmorPrefix: rename("container.apparmor.security.beta.kubernetes.io/"),
    seccompOfPod: rename("seccomp.security.alpha.kubernetes.io/pod"),
    seccompPrefix: rename("container.seccomp.security.alpha.kubernetes.io/"),
  }),
);
