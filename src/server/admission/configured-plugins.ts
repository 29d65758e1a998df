/**
 * The admission plugins with settings of their own. They are off by default. The code of a plugin is loaded only when the
 * plugin is on.
 */
import type { ReadPlugin } from "./planned-plugin.ts";

/** The plugins by name. Some of these names do not exist upstream; `--enable-admission-plugins` accepts them too. */
export const configuredPlugins: Readonly<Record<string, () => Promise<ReadPlugin>>> = {
  EventRateLimit: async () => (await import("./event-rate-limit.ts")).planEventRateLimit,
  ImagePolicyWebhook: async () => (await import("./image-policy.ts")).planImagePolicy,
  PodNodeSelector: async () => (await import("./pod-node-selector.ts")).planPodNodeSelector,
  PodTolerationRestriction: async () => (await import("./pod-tolerations.ts")).planPodTolerations,
};
