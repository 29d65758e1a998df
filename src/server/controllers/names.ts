/**
 * Names that `--controllers` accepts: the names of kube-controller-manager 1.32 with their old aliases, and those of
 * our own controllers. Names of controllers that do not exist here are accepted too.
 */

/**
 * The old names by current name, empty for names without one; and the service accounts of the controllers that exist
 * here, which have upstream's names, like their roles.
 */
const controllers: Readonly<Record<string, readonly [older: string, account?: string]>> = {
  "bootstrap-signer-controller": ["bootstrapsigner", "bootstrap-signer"],
  "certificatesigningrequest-approving-controller": ["csrapproving", "certificate-controller"],
  "certificatesigningrequest-cleaner-controller": ["csrcleaner", "certificate-controller"],
  "certificatesigningrequest-signing-controller": ["csrsigning", "certificate-controller"],
  "cloud-node-lifecycle-controller": ["cloud-node-lifecycle"],
  "clusterrole-aggregation-controller": ["clusterrole-aggregation", "clusterrole-aggregation-controller"],
  "cronjob-controller": ["cronjob"],
  "daemonset-controller": ["daemonset"],
  "deployment-controller": ["deployment"],
  "disruption-controller": ["disruption", "disruption-controller"],
  "endpoints-controller": ["endpoint", "endpoint-controller"],
  "endpointslice-controller": ["endpointslice", "endpointslice-controller"],
  "endpointslice-mirroring-controller": ["endpointslicemirroring", "endpointslicemirroring-controller"],
  "ephemeral-volume-controller": ["ephemeral-volume", "ephemeral-volume-controller"],
  "garbage-collector-controller": ["garbagecollector", "generic-garbage-collector"],
  "horizontal-pod-autoscaler-controller": ["horizontalpodautoscaling"],
  "job-controller": ["job"],
  "legacy-serviceaccount-token-cleaner-controller": [
    "legacy-service-account-token-cleaner",
    "legacy-service-account-token-cleaner",
  ],
  "namespace-controller": ["namespace", "namespace-controller"],
  "node-ipam-controller": ["nodeipam"],
  "node-lifecycle-controller": ["nodelifecycle"],
  "node-route-controller": ["route"],
  "persistentvolume-attach-detach-controller": ["attachdetach"],
  "persistentvolume-binder-controller": ["persistentvolume-binder"],
  "persistentvolume-expander-controller": ["persistentvolume-expander"],
  "persistentvolume-protection-controller": ["pv-protection", "pv-protection-controller"],
  "persistentvolumeclaim-protection-controller": ["pvc-protection", "pvc-protection-controller"],
  "pod-garbage-collector-controller": ["podgc", "pod-garbage-collector"],
  "replicaset-controller": ["replicaset"],
  "replicationcontroller-controller": ["replicationcontroller"],
  "resourceclaim-controller": ["resource-claim-controller", "resource-claim-controller"],
  "resourcequota-controller": ["resourcequota", "resourcequota-controller"],
  "root-ca-certificate-publisher-controller": ["root-ca-cert-publisher", "root-ca-cert-publisher"],
  "selinux-warning-controller": [""],
  "service-cidr-controller": ["", "service-cidrs-controller"],
  "service-lb-controller": ["service"],
  "serviceaccount-controller": ["serviceaccount", "service-account-controller"],
  "serviceaccount-token-controller": ["serviceaccount-token"],
  "statefulset-controller": ["statefulset"],
  "storage-version-migrator-controller": ["", "storage-version-migrator-controller"],
  "storageversion-garbage-collector-controller": ["storage-version-gc", "storage-version-garbage-collector"],
  "taint-eviction-controller": [""],
  "token-cleaner-controller": ["tokencleaner", "token-cleaner"],
  "ttl-after-finished-controller": ["ttl-after-finished", "ttl-after-finished-controller"],
  "ttl-controller": ["ttl"],
  "validatingadmissionpolicy-status-controller": ["", "validatingadmissionpolicy-status-controller"],
  // This controller does not exist upstream and has no role, so it uses the role of the controller that watches claims.
  // It writes on a claim that the class it names is missing.
  "volumeattributesclass-controller": ["", "expand-controller"],
};

const knownNames = new Map(
  Object.entries(controllers).flatMap(([name, [older]]) =>
    (older === "" ? [name] : [name, older]).map((one) => [one, name]),
  ),
);

/** Controllers that `*` does not select. */
export const offByDefault: ReadonlySet<string> = new Set(["bootstrap-signer-controller", "token-cleaner-controller"]);

/** Returns the current name of a controller; `undefined` for unknown names. */
export const controllerName = (name: string): string | undefined => knownNames.get(name);

/** Returns the name of the service account of a controller. */
export function accountOf(name: string): string {
  const account = controllers[name]?.[1];
  if (account === undefined) throw new Error(`the controller ${name} has no account`);
  return account;
}
