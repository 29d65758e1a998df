/**
 * Objects whose fields or values need a feature gate, for `gated-fields.test.ts`. Source of expectations: the answers of
 * kube-apiserver with all gates on, off, and off after they were on.
 */

/** A field that exists while a gate is on. */
export interface GatedField {
  readonly gate: string;
  readonly collection: string;
  /** The object, without its name. */
  readonly object: object;
  /** The path of the field, as a JSON pointer. */
  readonly pointer: string;
  readonly value: unknown;
  /** The value where the field may not be set; left out: none. */
  readonly off?: unknown;
  /** Whether updates cannot change the field. */
  readonly isImmutable?: true;
}

/** An object that a server takes only while a gate is on, or only while it is off. */
interface GatedValue {
  readonly gate: string;
  readonly collection: string;
  readonly object: object;
  readonly takenWhile: "on" | "off";
  /** A part of the message of the refusal. */
  readonly refusal: RegExp;
}

const inNamespace = (api: string, resource: string): string => `${api}/namespaces/n1/${resource}`;
const templates = inNamespace("/api/v1", "podtemplates");
const jobs = inNamespace("/apis/batch/v1", "jobs");
const claims = inNamespace("/api/v1", "persistentvolumeclaims");

const container = { name: "a", image: "b" };

const templateOf = (spec: object, annotations = {}): object => ({
  apiVersion: "v1",
  kind: "PodTemplate",
  template: { metadata: { labels: { app: "a" }, annotations }, spec: { containers: [container], ...spec } },
});

/** A row for a field of the spec of pods. */
const ofPods = (gate: string, field: string, value: unknown, spec: object, more: Partial<GatedField> = {}) => ({
  gate,
  collection: templates,
  object: templateOf(spec),
  pointer: `/template/spec/${field}`,
  value,
  ...more,
});

const ofContainer = (gate: string, field: string, value: unknown, fields: object, more: Partial<GatedField> = {}) =>
  ofPods(gate, `containers/0/${field}`, value, { containers: [{ ...container, ...fields }] }, more);

const jobOf = (spec: object): object => ({
  apiVersion: "batch/v1",
  kind: "Job",
  spec: { template: { spec: { containers: [container], restartPolicy: "Never" } }, ...spec },
});

const ofJobs = (gate: string, field: string, value: unknown, spec: object, more: Partial<GatedField> = {}) => ({
  gate,
  collection: jobs,
  object: jobOf({ ...spec, [field]: value }),
  pointer: `/spec/${field}`,
  value,
  isImmutable: true as const,
  ...more,
});

const claimOf = (fields: object): object => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...fields },
});

const indexed = { completions: 2, completionMode: "Indexed" };
const spread = { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule", labelSelector: {} };
const anti = { topologyKey: "zone", labelSelector: { matchLabels: { app: "a" } } };
const bundle = { name: "x", path: "p" };
const dataSource = { apiGroup: "example.com", kind: "Foo", name: "f" };

export const gatedFields: readonly GatedField[] = [
  ofPods("DynamicResourceAllocation", "resourceClaims", [{ name: "c", resourceClaimName: "x" }], {
    resourceClaims: [{ name: "c", resourceClaimName: "x" }],
  }),
  ofContainer("InPlacePodVerticalScaling", "resizePolicy", [{ resourceName: "cpu", restartPolicy: "NotRequired" }], {
    resizePolicy: [{ resourceName: "cpu", restartPolicy: "NotRequired" }],
  }),
  ofPods("PodLevelResources", "resources", { requests: { cpu: "1" } }, { resources: { requests: { cpu: "1" } } }),
  ofPods(
    "ProcMountType",
    "containers/0/securityContext/procMount",
    "Unmasked",
    { hostUsers: false, containers: [{ ...container, securityContext: { procMount: "Unmasked" } }] },
    { off: "Default" },
  ),
  ofPods("UserNamespacesSupport", "hostUsers", false, { hostUsers: false }),
  ofPods("SELinuxChangePolicy", "securityContext/seLinuxChangePolicy", "Recursive", {
    securityContext: { seLinuxChangePolicy: "Recursive" },
  }),
  ofPods("SupplementalGroupsPolicy", "securityContext/supplementalGroupsPolicy", "Strict", {
    securityContext: { supplementalGroupsPolicy: "Strict" },
  }),
  ofPods("ClusterTrustBundleProjection", "volumes/0/projected/sources/0/clusterTrustBundle", bundle, {
    volumes: [{ name: "v", projected: { sources: [{ clusterTrustBundle: bundle }] } }],
  }),
  ofPods("SidecarContainers", "initContainers/0/restartPolicy", "Always", {
    initContainers: [{ name: "i", image: "b", restartPolicy: "Always" }],
  }),
  ofContainer(
    "PodLifecycleSleepAction",
    "lifecycle",
    { preStop: { sleep: { seconds: 1 } } },
    {
      lifecycle: { preStop: { sleep: { seconds: 1 } } },
    },
  ),
  ofPods("RecursiveReadOnlyMounts", "containers/0/volumeMounts/0/recursiveReadOnly", "IfPossible", {
    volumes: [{ name: "v", emptyDir: {} }],
    containers: [
      { ...container, volumeMounts: [{ name: "v", mountPath: "/v", readOnly: true, recursiveReadOnly: "IfPossible" }] },
    ],
  }),
  ofPods("MatchLabelKeysInPodTopologySpread", "topologySpreadConstraints/0/matchLabelKeys", ["app"], {
    topologySpreadConstraints: [{ ...spread, matchLabelKeys: ["app"] }],
  }),
  ofPods("NodeInclusionPolicyInPodTopologySpread", "topologySpreadConstraints/0/nodeTaintsPolicy", "Honor", {
    topologySpreadConstraints: [{ ...spread, nodeTaintsPolicy: "Honor" }],
  }),
  ofPods(
    "MatchLabelKeysInPodAffinity",
    "affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/0/matchLabelKeys",
    ["tier"],
    {
      affinity: {
        podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ ...anti, matchLabelKeys: ["tier"] }] },
      },
    },
  ),
  ofJobs("JobBackoffLimitPerIndex", "backoffLimitPerIndex", 1, indexed),
  ofJobs("JobPodReplacementPolicy", "podReplacementPolicy", "Failed", {}, {}),
  ofJobs("JobSuccessPolicy", "successPolicy", { rules: [{ succeededCount: 1 }] }, indexed),
  ofJobs("JobManagedBy", "managedBy", "example.com/manager", {}),
  {
    gate: "VolumeAttributesClass",
    collection: claims,
    object: claimOf({ volumeAttributesClassName: "x" }),
    pointer: "/spec/volumeAttributesClassName",
    value: "x",
    isImmutable: true,
  },
  {
    gate: "AnyVolumeDataSource",
    collection: claims,
    object: claimOf({ dataSourceRef: dataSource }),
    pointer: "/spec/dataSourceRef",
    value: dataSource,
    isImmutable: true,
  },
  {
    gate: "CrossNamespaceVolumeDataSource",
    collection: claims,
    object: claimOf({ dataSourceRef: { ...dataSource, namespace: "other" } }),
    pointer: "/spec/dataSourceRef",
    value: { ...dataSource, namespace: "other" },
    isImmutable: true,
  },
  {
    gate: "ServiceTrafficDistribution",
    collection: inNamespace("/api/v1", "services"),
    object: { apiVersion: "v1", kind: "Service", spec: { ports: [{ port: 80 }], trafficDistribution: "PreferClose" } },
    pointer: "/spec/trafficDistribution",
    value: "PreferClose",
  },
  {
    gate: "MaxUnavailableStatefulSet",
    collection: inNamespace("/apis/apps/v1", "statefulsets"),
    object: {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      spec: {
        selector: { matchLabels: { app: "a" } },
        template: { metadata: { labels: { app: "a" } }, spec: { containers: [container] } },
        updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 2 } },
      },
    },
    pointer: "/spec/updateStrategy/rollingUpdate/maxUnavailable",
    value: 2,
  },
  {
    gate: "CoordinatedLeaderElection",
    collection: inNamespace("/apis/coordination.k8s.io/v1", "leases"),
    object: { apiVersion: "coordination.k8s.io/v1", kind: "Lease", spec: { strategy: "OldestEmulationVersion" } },
    pointer: "/spec/strategy",
    value: "OldestEmulationVersion",
  },
  {
    gate: "TopologyAwareHints",
    collection: inNamespace("/apis/discovery.k8s.io/v1", "endpointslices"),
    object: {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      addressType: "IPv4",
      endpoints: [{ addresses: ["192.0.2.1"], hints: { forZones: [{ name: "z" }] } }],
    },
    pointer: "/endpoints/0/hints",
    value: { forZones: [{ name: "z" }] },
  },
  {
    gate: "SELinuxMountReadWriteOncePod",
    collection: "/apis/storage.k8s.io/v1/csidrivers",
    object: { apiVersion: "storage.k8s.io/v1", kind: "CSIDriver", spec: { seLinuxMount: true } },
    pointer: "/spec/seLinuxMount",
    value: true,
  },
];

const searching = { dnsConfig: { searches: ["_sip.example.com"] } };
const scaled = { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" }, maxReplicas: 2 };

export const gatedValues: readonly GatedValue[] = [
  {
    gate: "RelaxedDNSSearchValidation",
    collection: templates,
    object: templateOf(searching),
    takenWhile: "on",
    refusal: /template\.spec\.dnsConfig\.searches\[0\]: Invalid value/,
  },
  {
    gate: "RelaxedEnvironmentVariableValidation",
    collection: templates,
    object: templateOf({ containers: [{ ...container, env: [{ name: "a b", value: "1" }] }] }),
    takenWhile: "on",
    refusal: /env\[0\]\.name: Invalid value/,
  },
  {
    gate: "PodDeletionCost",
    collection: templates,
    object: templateOf({}, { "controller.kubernetes.io/pod-deletion-cost": "much" }),
    takenWhile: "off",
    refusal: /pod-deletion-cost\]: Invalid value: "much": must be a 32bit integer/,
  },
  {
    gate: "HPAScaleToZero",
    collection: inNamespace("/apis/autoscaling/v2", "horizontalpodautoscalers"),
    object: {
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      spec: {
        ...scaled,
        minReplicas: 0,
        metrics: [{ type: "Object", object: objectMetric() }],
      },
    },
    takenWhile: "on",
    refusal: /spec\.minReplicas: Invalid value: 0: must be greater than or equal to 1/,
  },
];

function objectMetric(): object {
  return {
    describedObject: { kind: "Service", name: "s", apiVersion: "v1" },
    metric: { name: "m" },
    target: { type: "Value", value: "1" },
  };
}
