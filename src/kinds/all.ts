/** The behaviour of every built-in kind that has some of its own: one line a kind. Others are generic. */
import { mutatingPolicies, policyBindings, validatingPolicies } from "./admissionregistration/policies.ts";
import { mutatingWebhooks, validatingWebhooks } from "./admissionregistration/webhooks.ts";
import { customResourceDefinitions } from "./apiextensions/custom-resource-definition.ts";
import { apiServices } from "./apiregistration/api-service.ts";
import { controllerRevisions } from "./apps/controller-revision.ts";
import { daemonSets } from "./apps/daemon-set.ts";
import { deployments } from "./apps/deployment.ts";
import { replicaSets } from "./apps/replica-set.ts";
import { statefulSets } from "./apps/stateful-set.ts";
import { horizontalPodAutoscalers } from "./autoscaling/horizontal-pod-autoscaler.ts";
import { cronJobs } from "./batch/cron-job.ts";
import { jobs } from "./batch/job.ts";
import { certificateSigningRequests } from "./certificates/certificate-signing-request.ts";
import { clusterTrustBundles } from "./certificates/cluster-trust-bundle.ts";
import { leaseCandidates, leases } from "./coordination/lease.ts";
import { componentStatuses } from "./core/component-status.ts";
import { configMaps } from "./core/config-map.ts";
import { endpoints } from "./core/endpoints.ts";
import { coreEvents } from "./core/event.ts";
import { limitRanges } from "./core/limit-range.ts";
import { namespaces } from "./core/namespace.ts";
import { nodes } from "./core/node.ts";
import { persistentVolumeClaims } from "./core/persistent-volume-claim.ts";
import { persistentVolumes } from "./core/persistent-volume.ts";
import { podTemplates } from "./core/pod-template.ts";
import { pods } from "./core/pod.ts";
import { replicationControllers } from "./core/replication-controller.ts";
import { resourceQuotas } from "./core/resource-quota.ts";
import { secrets } from "./core/secret.ts";
import { serviceAccounts } from "./core/service-account.ts";
import { services } from "./core/service.ts";
import { endpointSlices } from "./discovery/endpoint-slice.ts";
import { events } from "./events/event.ts";
import { flowSchemas, priorityLevelConfigurations } from "./flowcontrol/priority.ts";
import type { Schema } from "#schema/schema.ts";
import type { KindBehaviour, KindEnvironment } from "./generic.ts";
import { storageVersionMigrations, storageVersions } from "./internal/storage-version.ts";
import { ipAddresses, serviceCidrs } from "./networking/addresses.ts";
import { ingressClasses } from "./networking/ingress-class.ts";
import { ingresses } from "./networking/ingress.ts";
import { networkPolicies } from "./networking/network-policy.ts";
import { runtimeClasses } from "./node/runtime-class.ts";
import { podDisruptionBudgets } from "./policy/pod-disruption-budget.ts";
import { clusterRoleBindings, roleBindings } from "./rbac/role-binding.ts";
import { clusterRoles, roles } from "./rbac/role.ts";
import { deviceClasses, resourceClaims, resourceSlices } from "./resource/device.ts";
import { resourceClaimTemplates } from "./resource/resource-claim-template.ts";
import { priorityClasses } from "./scheduling/priority-class.ts";
import { csiDrivers, csiNodes, volumeAttachments } from "./storage/csi.ts";
import { storageClasses } from "./storage/storage-class.ts";
import { volumeAttributesClasses } from "./storage/volume-attributes-class.ts";

type MakeBehaviour = (environment: KindEnvironment, version: string, schema: () => Schema) => KindBehaviour;

/** Groups are Kubernetes' names. */
const behaviours: readonly (readonly [group: string, kind: string, make: MakeBehaviour])[] = [
  ["", "ComponentStatus", componentStatuses],
  ["", "ConfigMap", configMaps],
  ["", "Endpoints", endpoints],
  ["", "Event", coreEvents],
  ["", "LimitRange", limitRanges],
  ["", "Namespace", namespaces],
  ["", "Node", nodes],
  ["", "PersistentVolume", persistentVolumes],
  ["", "PersistentVolumeClaim", persistentVolumeClaims],
  ["", "Pod", pods],
  ["", "PodTemplate", podTemplates],
  ["", "ReplicationController", replicationControllers],
  ["", "ResourceQuota", resourceQuotas],
  ["", "Secret", secrets],
  ["", "Service", services],
  ["", "ServiceAccount", serviceAccounts],
  ["admissionregistration.k8s.io", "MutatingAdmissionPolicy", mutatingPolicies],
  ["admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding", () => policyBindings({ denyWithoutParam: true })],
  ["admissionregistration.k8s.io", "MutatingWebhookConfiguration", mutatingWebhooks],
  ["admissionregistration.k8s.io", "ValidatingAdmissionPolicy", validatingPolicies],
  [
    "admissionregistration.k8s.io",
    "ValidatingAdmissionPolicyBinding",
    () => policyBindings({ denyWithoutParam: false }),
  ],
  ["admissionregistration.k8s.io", "ValidatingWebhookConfiguration", validatingWebhooks],
  ["apiextensions.k8s.io", "CustomResourceDefinition", customResourceDefinitions],
  ["apiregistration.k8s.io", "APIService", apiServices],
  ["apps", "ControllerRevision", controllerRevisions],
  ["apps", "DaemonSet", daemonSets],
  ["apps", "Deployment", deployments],
  ["apps", "ReplicaSet", replicaSets],
  ["apps", "StatefulSet", statefulSets],
  ["autoscaling", "HorizontalPodAutoscaler", horizontalPodAutoscalers],
  ["batch", "CronJob", cronJobs],
  ["batch", "Job", jobs],
  ["certificates.k8s.io", "CertificateSigningRequest", certificateSigningRequests],
  ["certificates.k8s.io", "ClusterTrustBundle", clusterTrustBundles],
  ["coordination.k8s.io", "Lease", leases],
  ["coordination.k8s.io", "LeaseCandidate", leaseCandidates],
  ["discovery.k8s.io", "EndpointSlice", endpointSlices],
  ["events.k8s.io", "Event", events],
  ["flowcontrol.apiserver.k8s.io", "FlowSchema", flowSchemas],
  ["flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", priorityLevelConfigurations],
  ["internal.apiserver.k8s.io", "StorageVersion", storageVersions],
  ["networking.k8s.io", "IPAddress", ipAddresses],
  ["networking.k8s.io", "Ingress", ingresses],
  ["networking.k8s.io", "IngressClass", ingressClasses],
  ["networking.k8s.io", "NetworkPolicy", networkPolicies],
  ["networking.k8s.io", "ServiceCIDR", serviceCidrs],
  ["node.k8s.io", "RuntimeClass", runtimeClasses],
  ["policy", "PodDisruptionBudget", podDisruptionBudgets],
  ["rbac.authorization.k8s.io", "ClusterRole", clusterRoles],
  ["rbac.authorization.k8s.io", "ClusterRoleBinding", clusterRoleBindings],
  ["rbac.authorization.k8s.io", "Role", roles],
  ["rbac.authorization.k8s.io", "RoleBinding", roleBindings],
  ["resource.k8s.io", "DeviceClass", deviceClasses],
  ["resource.k8s.io", "ResourceClaim", resourceClaims],
  ["resource.k8s.io", "ResourceClaimTemplate", resourceClaimTemplates],
  ["resource.k8s.io", "ResourceSlice", (_environment, version) => resourceSlices(version)],
  ["scheduling.k8s.io", "PriorityClass", priorityClasses],
  ["storage.k8s.io", "CSIDriver", csiDrivers],
  ["storage.k8s.io", "CSINode", csiNodes],
  ["storage.k8s.io", "StorageClass", storageClasses],
  ["storage.k8s.io", "VolumeAttachment", volumeAttachments],
  ["storage.k8s.io", "VolumeAttributesClass", volumeAttributesClasses],
  ["storagemigration.k8s.io", "StorageVersionMigration", storageVersionMigrations],
];

const byKind = new Map(behaviours.map(([group, kind, make]) => [`${group}/${kind}`, make]));

/**
 * What the kind adds to the generic behaviour, in one of its versions. `group` is Kubernetes' name; `schema` is the
 * kind's own, built when first asked for.
 */
export function kindBehaviour(
  of: { readonly group: string; readonly version: string; readonly kind: string },
  environment: KindEnvironment,
  schema: () => Schema,
): KindBehaviour {
  return byKind.get(`${of.group}/${of.kind}`)?.(environment, of.version, schema) ?? {};
}
