/** Flags of controllers, with kube-controller-manager's names, defaults and meaning. */
import {
  binnacleFlag,
  boolean,
  duration,
  type Flag,
  integer,
  list,
  optional,
  type OptionsOf,
  text,
} from "#std/flags.ts";
import { controllerName } from "./names.ts";

const controllers = (name: string) => [name, "Controllers"] as const;

const certificateFile = (name: string, whom: string) =>
  optional(
    controllers(`cluster-signing-${name}cert-file`),
    "file",
    `Certificate (PEM) that signs ${whom}. Default: the server's own authority.`,
  );
const keyFile = (name: string, whom: string) =>
  optional(controllers(`cluster-signing-${name}key-file`), "file", `Key (PEM) that signs ${whom}.`);

const moreThanNothing = (flag: Flag<number>): Flag<number> => ({
  ...flag,
  check(value, refuse) {
    const number = flag.check(value, refuse);
    if (number > 0) return number;
    throw refuse("must be greater than 0");
  },
});

const clients = "certificates of the signer kube-apiserver-client";
const kubeletClients = "certificates of the signer kube-apiserver-client-kubelet";
const kubeletServing = "certificates of the signer kubelet-serving";
const legacy = "certificates of the signer legacy-unknown";

export const controllerFlags = {
  controllers: list(
    binnacleFlag("controllers"),
    "names",
    "Controllers to run: * for all that are on by default, name for one, -name for all but one, -* for none. Off by default: bootstrap-signer-controller, token-cleaner-controller.",
    (entry) =>
      entry === "*" || entry === "-*" || controllerName(entry.replace(/^-/, "")) !== undefined
        ? undefined
        : "not in the list of known controllers",
  ),
  enableGarbageCollector: boolean(
    ["enable-garbage-collector", "Misc"],
    true,
    "Delete the dependents of deleted objects; without it deletions neither wait for dependents nor orphan them.",
  ),
  clusterSigningCertFile: certificateFile("", "certificates that are asked for"),
  clusterSigningKeyFile: keyFile("", "certificates that are asked for"),
  clusterSigningDurationMs: duration(
    controllers("cluster-signing-duration"),
    8760 * 3_600_000,
    "Longest life of a certificate that is asked for.",
  ),
  clusterSigningClientCertFile: certificateFile("kube-apiserver-client-", clients),
  clusterSigningClientKeyFile: keyFile("kube-apiserver-client-", clients),
  clusterSigningKubeletClientCertFile: certificateFile("kubelet-client-", kubeletClients),
  clusterSigningKubeletClientKeyFile: keyFile("kubelet-client-", kubeletClients),
  clusterSigningKubeletServingCertFile: certificateFile("kubelet-serving-", kubeletServing),
  clusterSigningKubeletServingKeyFile: keyFile("kubelet-serving-", kubeletServing),
  clusterSigningLegacyUnknownCertFile: certificateFile("legacy-unknown-", legacy),
  clusterSigningLegacyUnknownKeyFile: keyFile("legacy-unknown-", legacy),
  leaderElect: boolean(
    controllers("leader-elect"),
    false,
    "Run the controllers of --controllers only while this server holds a Lease: where several servers share a store.",
  ),
  leaderElectLeaseDurationMs: moreThanNothing(
    duration(
      controllers("leader-elect-lease-duration"),
      15_000,
      "How long other servers wait for a leader that no longer renews its Lease.",
    ),
  ),
  leaderElectRenewDeadlineMs: moreThanNothing(
    duration(
      controllers("leader-elect-renew-deadline"),
      10_000,
      "How long a leader leads without a renewal; shorter than --leader-elect-lease-duration.",
    ),
  ),
  leaderElectResourceName: text(
    controllers("leader-elect-resource-name"),
    "binnacle-controllers",
    "name",
    "Name of the Lease. kube-controller-manager has another, so that both can run.",
  ),
  leaderElectResourceNamespace: text(
    controllers("leader-elect-resource-namespace"),
    "kube-system",
    "namespace",
    "Namespace of the Lease.",
  ),
  leaderElectRetryPeriodMs: moreThanNothing(
    duration(controllers("leader-elect-retry-period"), 2000, "Between two attempts to get or to renew the Lease."),
  ),
  legacyTokenPeriodMs: moreThanNothing(
    duration(
      controllers("legacy-service-account-token-clean-up-period"),
      8760 * 3_600_000,
      "How long a token that was made with its account, in a Secret, may go unused until it is no longer taken, and " +
        "then until it is deleted.",
    ),
  ),
  maxEndpointsPerSlice: integer(
    controllers("max-endpoints-per-slice"),
    100,
    { min: 1, max: 1000 },
    "Endpoints of an EndpointSlice, at most.",
  ),
  resourceQuotaPeriodMs: moreThanNothing(
    duration(
      controllers("resource-quota-sync-period"),
      300_000,
      "Everything that quotas limit is counted again so often; changes are counted at once.",
    ),
  ),
  terminatedPodGcThreshold: integer(
    controllers("terminated-pod-gc-threshold"),
    12_500,
    { min: 0, max: 2 ** 31 - 1 },
    "Pods that have ended are deleted, oldest first, when there are more than this; 0 keeps them.",
  ),
  serviceAccountPrivateKeyFile: optional(
    controllers("service-account-private-key-file"),
    "file",
    "Private key (PEM) that signs tokens kept in Secrets. Default: the key of other service account tokens.",
  ),
};

export type ControllerFlags = OptionsOf<typeof controllerFlags>;
