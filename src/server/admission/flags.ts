/** Flags of admission: which plugins run, their settings, and webhooks. */
import { binnacleFlag, boolean, duration, integer, list, optional, type OptionsOf } from "#std/flags.ts";
import { configuredPlugins } from "./configured-plugins.ts";

const admission = (name: string) => [name, "Admission"] as const;
const misc = (name: string) => [name, "Misc"] as const;
const seconds = { min: 0, max: Number.MAX_SAFE_INTEGER };

/**
 * The names that `--enable-admission-plugins` accepts: upstream's plugins of this release, and our own if there is no such
 * plugin upstream.
 */
const knownPlugins = new Set(
  (
    "AlwaysAdmit AlwaysDeny AlwaysPullImages CertificateApproval CertificateSigning CertificateSubjectRestriction " +
    "ClusterTrustBundleAttest DefaultIngressClass DefaultStorageClass DefaultTolerationSeconds DenyServiceExternalIPs " +
    "EventRateLimit ExtendedResourceToleration ImagePolicyWebhook LimitPodHardAntiAffinityTopology LimitRanger " +
    "MutatingAdmissionPolicy MutatingAdmissionWebhook NamespaceAutoProvision NamespaceExists NamespaceLifecycle " +
    "NodeRestriction OwnerReferencesPermissionEnforcement PersistentVolumeClaimResize PodNodeSelector PodSecurity " +
    "PodTolerationRestriction Priority ResourceQuota RuntimeClass ServiceAccount StorageObjectInUseProtection " +
    "TaintNodesByCondition ValidatingAdmissionPolicy ValidatingAdmissionWebhook"
  ).split(" "),
);

const unknownPlugin = (name: string): string | undefined =>
  knownPlugins.has(name) || Object.hasOwn(configuredPlugins, name) ? undefined : "no such plugin";

export const admissionFlags = {
  enableAdmissionPlugins: list(
    admission("enable-admission-plugins"),
    "names",
    "Admission plugins to run beside the default ones; the log names those that this server does not have.",
    unknownPlugin,
  ),
  disableAdmissionPlugins: list(
    admission("disable-admission-plugins"),
    "names",
    "Default admission plugins not to run.",
    unknownPlugin,
  ),
  admissionControlConfigFile: optional(
    admission("admission-control-config-file"),
    "file",
    "AdmissionConfiguration: settings of admission plugins. ImagePolicyWebhook needs it.",
  ),
  defaultNotReadyTolerationSeconds: integer(
    misc("default-not-ready-toleration-seconds"),
    300,
    seconds,
    "How long new pods that do not say it stay on a node that is not ready.",
  ),
  defaultUnreachableTolerationSeconds: integer(
    misc("default-unreachable-toleration-seconds"),
    300,
    seconds,
    "How long new pods that do not say it stay on a node that cannot be reached.",
  ),
  admissionTimeoutMs: duration(
    binnacleFlag("admission-timeout"),
    30_000,
    "Time that all admission webhooks of a write have together, within their own times; 0 for that of the request.",
  ),
  webhookCircuitBreaker: boolean(
    binnacleFlag("webhook-circuit-breaker"),
    true,
    "Leave an admission webhook with failurePolicy Ignore alone for a while after it did not answer in its time.",
  ),
};

export type AdmissionFlags = OptionsOf<typeof admissionFlags>;
