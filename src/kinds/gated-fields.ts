/**
 * The table of fields of built-in kinds that exist only while a feature gate is on, for `drop-fields.ts`. A field of a
 * later release is a row here. Source: the answers of kube-apiserver, with gates on, off, and off after they were on.
 */
import type { JobSpec, PodFailurePolicy } from "#api/batch/v1.ts";
import type { Container, EphemeralContainer, Lifecycle, PodSpec, ResourceRequirements } from "#api/core/v1.ts";
import type { GatedFields, GatedPart } from "./drop-fields.ts";
import { hasOptionalOldSelf, withoutOptionalOldSelf } from "./apiextensions/optional-old-self.ts";
import { editField, editItems, withField } from "./edit.ts";

const containerLists = ["containers", "initContainers", "ephemeralContainers"] as const;
const statusLists = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"];

const inContainers = (path: string): string[] => containerLists.map((list) => `${list}.*.${path}`);
const inStatuses = (path: string): string[] => statusLists.map((list) => `status.${list}.*.${path}`);

const isFilled = (list: unknown): boolean => (list as readonly unknown[]).length > 0;
const isTrue = (value: unknown): boolean => value === true;

/** Whether resource requirements name some resource: empty requirements do not count as use. */
function hasAmounts(value: unknown): boolean {
  const { requests = {}, limits = {}, claims = [] } = value as ResourceRequirements; // by its schema
  return Object.keys(requests).length > 0 || Object.keys(limits).length > 0 || claims.length > 0;
}

/** Removes volumes that are images, and their mounts in containers. */
function withoutImages(spec: PodSpec): PodSpec {
  const { volumes = [] } = spec;
  const gone = new Set(volumes.filter(({ image }) => image !== undefined).map(({ name }) => name));
  const otherVolumes = volumes.filter(({ image }) => image === undefined);
  return editContainers(
    withField(spec, "volumes", otherVolumes.length === 0 ? undefined : otherVolumes),
    (container) => {
      const { volumeMounts: mounts = [] } = container;
      const remaining = mounts.filter(({ name }) => !gone.has(name));
      if (remaining.length === mounts.length) return container;
      return withField(container, "volumeMounts", remaining.length === 0 ? undefined : remaining);
    },
  );
}

/** Removes the sleep actions of lifecycle hooks, and hooks and lifecycles that are empty then. */
function withoutSleep(spec: PodSpec): PodSpec {
  return editContainers(spec, (container) => {
    const { lifecycle } = container;
    if (lifecycle === undefined) return container;
    const hooks = awake(awake(lifecycle, "preStop"), "postStart");
    return withField(container, "lifecycle", Object.keys(hooks).length === 0 ? undefined : hooks);
  });
}

function awake(lifecycle: Lifecycle, name: "preStop" | "postStart"): Lifecycle {
  const { [name]: hook } = lifecycle;
  if (hook?.sleep === undefined) return lifecycle;
  const handler = withField(hook, "sleep", undefined);
  return withField(lifecycle, name, Object.keys(handler).length === 0 ? undefined : handler);
}

function editContainers(spec: PodSpec, edit: <C extends Container | EphemeralContainer>(container: C) => C): PodSpec {
  return editItems(editItems(editItems(spec, "containers", edit), "initContainers", edit), "ephemeralContainers", edit);
}

const affinityTerms = ["podAffinity", "podAntiAffinity"].flatMap((kind) => [
  `affinity.${kind}.requiredDuringSchedulingIgnoredDuringExecution.*`,
  `affinity.${kind}.preferredDuringSchedulingIgnoredDuringExecution.*.podAffinityTerm`,
]);

const ofPodSpecs: readonly GatedFields<PodSpec>[] = [
  {
    gates: ["DynamicResourceAllocation"],
    paths: ["resourceClaims", ...inContainers("resources.claims")],
    usedAt: ["resourceClaims"],
    isUse: isFilled,
  },
  { gates: ["InPlacePodVerticalScaling"], paths: inContainers("resizePolicy"), isUse: isFilled },
  { gates: ["PodLevelResources"], paths: ["resources"], isUse: hasAmounts },
  {
    gates: ["ProcMountType"],
    paths: inContainers("securityContext.procMount"),
    isUse: (type) => type !== "Default",
    becomes: () => "Default",
  },
  { gates: ["UserNamespacesSupport"], paths: ["hostUsers"] },
  { gates: ["SELinuxChangePolicy"], paths: ["securityContext.seLinuxChangePolicy"] },
  { gates: ["SupplementalGroupsPolicy"], paths: ["securityContext.supplementalGroupsPolicy"] },
  { gates: ["ImageVolume"], paths: ["volumes.*.image"], without: withoutImages },
  { gates: ["ClusterTrustBundleProjection"], paths: ["volumes.*.projected.sources.*.clusterTrustBundle"] },
  { gates: ["SidecarContainers"], paths: ["initContainers.*.restartPolicy"] },
  {
    gates: ["PodLifecycleSleepAction"],
    paths: inContainers("lifecycle"), // also one without hooks, as upstream
    usedAt: [...inContainers("lifecycle.preStop.sleep"), ...inContainers("lifecycle.postStart.sleep")],
    without: withoutSleep,
  },
  { gates: ["RecursiveReadOnlyMounts"], paths: inContainers("volumeMounts.*.recursiveReadOnly") },
  { gates: ["MatchLabelKeysInPodTopologySpread"], paths: ["topologySpreadConstraints.*.matchLabelKeys"] },
  { gates: ["NodeInclusionPolicyInPodTopologySpread"], paths: ["topologySpreadConstraints.*.nodeAffinityPolicy"] },
  { gates: ["NodeInclusionPolicyInPodTopologySpread"], paths: ["topologySpreadConstraints.*.nodeTaintsPolicy"] },
  {
    gates: ["MatchLabelKeysInPodAffinity"],
    paths: affinityTerms.flatMap((term) => [`${term}.matchLabelKeys`, `${term}.mismatchLabelKeys`]),
  },
];

/** The gated fields in the status of pods. Writes of the status keep them; the next update of the pod drops them. */
const ofPodStatuses: readonly GatedFields[] = [
  {
    gates: ["InPlacePodVerticalScaling"],
    paths: ["status.resize", ...inStatuses("resources"), ...inStatuses("allocatedResources")],
    usedAt: inContainers("resizePolicy").map((path) => `spec.${path}`),
    isUse: isFilled,
  },
  { gates: ["InPlacePodVerticalScalingAllocatedStatus"], paths: inStatuses("allocatedResources"), usedAt: [] },
  {
    gates: ["DynamicResourceAllocation"],
    paths: ["status.resourceClaimStatuses"],
    usedAt: ["spec.resourceClaims"],
    isUse: isFilled,
  },
  { gates: ["ResourceHealthStatus"], paths: inStatuses("allocatedResourcesStatus"), usedAt: [] },
  {
    gates: ["SupplementalGroupsPolicy"],
    paths: inStatuses("user"),
    usedAt: ["spec.securityContext.supplementalGroupsPolicy"],
  },
  {
    gates: ["RecursiveReadOnlyMounts"],
    paths: inStatuses("volumeMounts"),
    usedAt: inContainers("volumeMounts.*.recursiveReadOnly").map((path) => `spec.${path}`),
  },
];

const template = (at: string): GatedPart => ({ at: `${at}.spec`, fields: ofPodSpecs });

/** Removes the rules of the action `FailIndex`. Upstream: `rules` is null when the last rule is removed. */
function withoutIndexFailures(policy: PodFailurePolicy): PodFailurePolicy {
  const rules = (policy.rules ?? []).filter(({ action }) => action !== "FailIndex");
  return { ...policy, rules: rules.length === 0 ? null : rules };
}

const ofJobs: readonly GatedFields<JobSpec>[] = [
  {
    gates: ["JobBackoffLimitPerIndex"],
    paths: ["podFailurePolicy.rules.*.action"],
    without: (spec) => editField(spec, "podFailurePolicy", withoutIndexFailures),
  },
  { gates: ["JobBackoffLimitPerIndex"], paths: ["backoffLimitPerIndex"] },
  { gates: ["JobBackoffLimitPerIndex"], paths: ["maxFailedIndexes"] },
  { gates: ["JobPodReplacementPolicy"], paths: ["podReplacementPolicy"] },
  { gates: ["JobSuccessPolicy"], paths: ["successPolicy"] },
  { gates: ["JobManagedBy"], paths: ["managedBy"], on: ["create"] },
];

const ofClaims: readonly GatedFields[] = [
  { gates: ["VolumeAttributesClass"], paths: ["spec.volumeAttributesClassName"] },
  { gates: ["AnyVolumeDataSource"], paths: ["spec.dataSourceRef"] },
  {
    gates: ["CrossNamespaceVolumeDataSource"],
    paths: ["spec.dataSourceRef"],
    becomes: (ref) => ((ref as { readonly namespace?: string }).namespace ? undefined : ref), // by its schema
  },
  ...["allocatedResources", "allocatedResourceStatuses"].map((name): GatedFields => {
    return { gates: ["RecoverVolumeExpansionFailure"], paths: [`status.${name}`], on: ["status"] };
  }),
  ...["currentVolumeAttributesClassName", "modifyVolumeStatus"].map((name): GatedFields => {
    return { gates: ["VolumeAttributesClass"], paths: [`status.${name}`], on: ["status"] };
  }),
];

/**
 * The gated fields of nodes. Creates and updates drop them. Writes of the status, which agents do, keep all of them
 * except the last one.
 */
const ofNodes: readonly GatedFields[] = [
  {
    gates: ["RecursiveReadOnlyMounts", "UserNamespacesSupport"],
    paths: ["status.runtimeHandlers"],
    usedAt: [],
  },
  { gates: ["SupplementalGroupsPolicy"], paths: ["status.features"] },
  { gates: [], paths: ["spec.configSource"] },
  { gates: [], paths: ["status.config"], on: ["create", "update", "status"] },
];

const requestedAccess = "devices.requests.*.adminAccess";
const allocatedAccess = "status.allocation.devices.results.*.adminAccess";

const ofDeviceClaims: readonly GatedFields[] = [
  { gates: ["DRAAdminAccess"], paths: [`spec.${requestedAccess}`], isUse: isTrue },
  {
    gates: ["DRAAdminAccess"],
    paths: [allocatedAccess],
    usedAt: [`spec.${requestedAccess}`, allocatedAccess],
    isUse: isTrue,
    becomes: () => null,
    on: ["status"],
  },
  { gates: ["DRAResourceClaimDeviceStatus"], paths: ["status.devices"], isUse: isFilled, on: ["status"] },
];

const part = (at: string, ...fields: readonly GatedFields[]): GatedPart => ({ at, fields });

/** The gated parts by group and kind, in Kubernetes' names. */
const table: Readonly<Record<string, readonly GatedPart[]>> = {
  "/Node": [part("", ...ofNodes)],
  "/PersistentVolume": [part("spec", { gates: ["VolumeAttributesClass"], paths: ["volumeAttributesClassName"] })],
  "/PersistentVolumeClaim": [part("", ...ofClaims)],
  "/Pod": [part("spec", ...ofPodSpecs), part("", ...ofPodStatuses)],
  "/PodTemplate": [template("template")],
  "/ReplicationController": [template("spec.template")],
  "/Service": [part("spec", { gates: ["ServiceTrafficDistribution"], paths: ["trafficDistribution"] })],
  "apiextensions.k8s.io/CustomResourceDefinition": [
    part("spec", {
      gates: ["CRDValidationRatcheting"],
      paths: ["versions.*.schema.openAPIV3Schema"],
      isUse: hasOptionalOldSelf,
      becomes: withoutOptionalOldSelf,
    }),
  ],
  "apps/DaemonSet": [template("spec.template")],
  "apps/Deployment": [template("spec.template")],
  "apps/ReplicaSet": [template("spec.template")],
  "apps/StatefulSet": [
    template("spec.template"),
    part("spec", { gates: ["MaxUnavailableStatefulSet"], paths: ["updateStrategy.rollingUpdate.maxUnavailable"] }),
  ],
  "batch/CronJob": [template("spec.jobTemplate.spec.template")],
  "batch/Job": [template("spec.template"), part("spec", ...ofJobs)],
  "coordination.k8s.io/Lease": [
    part(
      "spec",
      { gates: ["CoordinatedLeaderElection"], paths: ["strategy"] },
      { gates: ["CoordinatedLeaderElection"], paths: ["preferredHolder"] },
    ),
  ],
  "discovery.k8s.io/EndpointSlice": [part("", { gates: ["TopologyAwareHints"], paths: ["endpoints.*.hints"] })],
  "resource.k8s.io/ResourceClaim": [part("", ...ofDeviceClaims)],
  "resource.k8s.io/ResourceClaimTemplate": [
    part("spec.spec", { gates: ["DRAAdminAccess"], paths: [requestedAccess], isUse: isTrue }),
  ],
  "storage.k8s.io/CSIDriver": [part("spec", { gates: ["SELinuxMountReadWriteOncePod"], paths: ["seLinuxMount"] })],
};

/** Returns the parts of a kind that have gated fields. `group` has Kubernetes' name. */
export const gatedParts = (group: string, kind: string): readonly GatedPart[] => table[`${group}/${kind}`] ?? [];
