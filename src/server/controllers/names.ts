/**
 * Names that `--controllers` accepts: the names of kube-controller-manager 1.32 with their old aliases, and those of
 * our own controllers. Names of controllers that do not exist here are accepted too.
 */

/** Old names by current name; empty for names without an old one. */
const names: Readonly<Record<string, string>> = {
  "bootstrap-signer-controller": "bootstrapsigner",
  "certificatesigningrequest-approving-controller": "csrapproving",
  "certificatesigningrequest-cleaner-controller": "csrcleaner",
  "certificatesigningrequest-signing-controller": "csrsigning",
  "cloud-node-lifecycle-controller": "cloud-node-lifecycle",
  "clusterrole-aggregation-controller": "clusterrole-aggregation",
  "cronjob-controller": "cronjob",
  "daemonset-controller": "daemonset",
  "deployment-controller": "deployment",
  "disruption-controller": "disruption",
  "endpoints-controller": "endpoint",
  "endpointslice-controller": "endpointslice",
  "endpointslice-mirroring-controller": "endpointslicemirroring",
  "ephemeral-volume-controller": "ephemeral-volume",
  "garbage-collector-controller": "garbagecollector",
  "horizontal-pod-autoscaler-controller": "horizontalpodautoscaling",
  "job-controller": "job",
  "legacy-serviceaccount-token-cleaner-controller": "legacy-service-account-token-cleaner",
  "namespace-controller": "namespace",
  "node-ipam-controller": "nodeipam",
  "node-lifecycle-controller": "nodelifecycle",
  "node-route-controller": "route",
  "persistentvolume-attach-detach-controller": "attachdetach",
  "persistentvolume-binder-controller": "persistentvolume-binder",
  "persistentvolume-expander-controller": "persistentvolume-expander",
  "persistentvolume-protection-controller": "pv-protection",
  "persistentvolumeclaim-protection-controller": "pvc-protection",
  "pod-garbage-collector-controller": "podgc",
  "replicaset-controller": "replicaset",
  "replicationcontroller-controller": "replicationcontroller",
  "resourceclaim-controller": "resource-claim-controller",
  "resourcequota-controller": "resourcequota",
  "root-ca-certificate-publisher-controller": "root-ca-cert-publisher",
  "selinux-warning-controller": "",
  "service-cidr-controller": "",
  "service-lb-controller": "service",
  "serviceaccount-controller": "serviceaccount",
  "serviceaccount-token-controller": "serviceaccount-token",
  "statefulset-controller": "statefulset",
  "storage-version-migrator-controller": "",
  "storageversion-garbage-collector-controller": "storage-version-gc",
  "taint-eviction-controller": "",
  "token-cleaner-controller": "tokencleaner",
  "ttl-after-finished-controller": "ttl-after-finished",
  "ttl-controller": "ttl",
  "validatingadmissionpolicy-status-controller": "",
  // This controller does not exist upstream. It writes on a claim that the class it names is missing.
  "volumeattributesclass-controller": "",
};

const knownNames = new Map(
  Object.entries(names).flatMap(([name, older]) => (older === "" ? [name] : [name, older]).map((one) => [one, name])),
);

/** Controllers that `*` does not select. */
export const offByDefault: ReadonlySet<string> = new Set(["bootstrap-signer-controller", "token-cleaner-controller"]);

/** Returns the current name of a controller; `undefined` for unknown names. */
export const controllerName = (name: string): string | undefined => knownNames.get(name);
