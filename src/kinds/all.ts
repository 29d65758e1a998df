/**
 * Every built-in kind with behaviour of its own, one line for each kind. The other kinds have the generic behaviour.
 */
import {
  mutatingBindings,
  mutatingPolicies,
  validatingBindings,
  validatingPolicies,
} from "./admissionregistration/policies.ts";
import { mutatingWebhooks, validatingWebhooks } from "./admissionregistration/webhooks.ts";
import { customResourceDefinitions } from "./apiextensions/custom-resource-definition.ts";
import { apiServices } from "./apiregistration/api-service.ts";
import { controllerRevisions } from "./apps/controller-revision.ts";
import { daemonSets } from "./apps/daemon-set.ts";
import { deployments } from "./apps/deployment.ts";
import { replicaSets } from "./apps/replica-set.ts";
import { statefulSets } from "./apps/stateful-set.ts";
import { horizontalPodAutoscalers, horizontalPodAutoscalersV1 } from "./autoscaling/horizontal-pod-autoscaler.ts";
import { cronJobs } from "./batch/cron-job.ts";
import { jobs } from "./batch/job.ts";
import { certificateSigningRequests } from "./certificates/certificate-signing-request.ts";
import { clusterTrustBundles } from "./certificates/cluster-trust-bundle.ts";
import { leaseCandidates } from "./coordination/lease-candidate.ts";
import { leases } from "./coordination/lease.ts";
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
import { replicationControllers } from "./apps/replication-controller.ts";
import { resourceQuotas } from "./core/resource-quota.ts";
import { secrets } from "./core/secret.ts";
import { serviceAccounts } from "./core/service-account.ts";
import { services } from "./core/service.ts";
import { endpointSlices } from "./discovery/endpoint-slice.ts";
import { events } from "./events/event.ts";
import { flowSchemas, priorityLevelConfigurations } from "./flowcontrol/priority.ts";
import { type KindRow, row } from "./generic.ts";
import { storageVersionMigrations } from "./internal/storage-version-migration.ts";
import { storageVersions } from "./internal/storage-version.ts";
import { ipAddresses, serviceCidrs } from "./networking/addresses.ts";
import { ingressClasses } from "./networking/ingress-class.ts";
import { ingresses } from "./networking/ingress.ts";
import { networkPolicies } from "./networking/network-policy.ts";
import { runtimeClasses } from "./node/runtime-class.ts";
import { podDisruptionBudgets } from "./policy/pod-disruption-budget.ts";
import { clusterRoleBindings, roleBindings } from "./rbac/role-binding.ts";
import { clusterRoles, roles } from "./rbac/role.ts";
import { deviceClasses, resourceClaims, resourceSlices, resourceSlicesV1Alpha3 } from "./resource/device.ts";
import { resourceClaimTemplates } from "./resource/resource-claim-template.ts";
import { priorityClasses } from "./scheduling/priority-class.ts";
import { csiDrivers } from "./storage/csi-driver.ts";
import { csiNodes } from "./storage/csi-node.ts";
import { csiStorageCapacities } from "./storage/csi-storage-capacity.ts";
import { storageClasses } from "./storage/storage-class.ts";
import { volumeAttachments } from "./storage/volume-attachment.ts";
import { volumeAttributesClasses } from "./storage/volume-attributes-class.ts";

/**
 * The kinds by group and kind. Groups have Kubernetes' names; a group with a version is for kinds that differ by
 * version.
 */
export const builtInKinds: readonly KindRow[] = [
  row("", "ComponentStatus", componentStatuses),
  row("", "ConfigMap", configMaps),
  row("", "Endpoints", endpoints),
  row("", "Event", coreEvents),
  row("", "LimitRange", limitRanges),
  row("", "Namespace", namespaces),
  row("", "Node", nodes),
  row("", "PersistentVolume", persistentVolumes),
  row("", "PersistentVolumeClaim", persistentVolumeClaims),
  row("", "Pod", pods),
  row("", "PodTemplate", podTemplates),
  row("", "ReplicationController", replicationControllers),
  row("", "ResourceQuota", resourceQuotas),
  row("", "Secret", secrets),
  row("", "Service", services),
  row("", "ServiceAccount", serviceAccounts),
  row("admissionregistration.k8s.io", "MutatingAdmissionPolicy", mutatingPolicies),
  row("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding", mutatingBindings),
  row("admissionregistration.k8s.io", "MutatingWebhookConfiguration", mutatingWebhooks),
  row("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", validatingPolicies),
  row("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", validatingBindings),
  row("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", validatingWebhooks),
  row("apiextensions.k8s.io", "CustomResourceDefinition", customResourceDefinitions),
  row("apiregistration.k8s.io", "APIService", apiServices),
  row("apps", "ControllerRevision", controllerRevisions),
  row("apps", "DaemonSet", daemonSets),
  row("apps", "Deployment", deployments),
  row("apps", "ReplicaSet", replicaSets),
  row("apps", "StatefulSet", statefulSets),
  row("autoscaling/v1", "HorizontalPodAutoscaler", horizontalPodAutoscalersV1),
  row("autoscaling/v2", "HorizontalPodAutoscaler", horizontalPodAutoscalers),
  row("batch", "CronJob", cronJobs),
  row("batch", "Job", jobs),
  row("certificates.k8s.io", "CertificateSigningRequest", certificateSigningRequests),
  row("certificates.k8s.io", "ClusterTrustBundle", clusterTrustBundles),
  row("coordination.k8s.io", "Lease", leases),
  row("coordination.k8s.io", "LeaseCandidate", leaseCandidates),
  row("discovery.k8s.io", "EndpointSlice", endpointSlices),
  row("events.k8s.io", "Event", events),
  row("flowcontrol.apiserver.k8s.io", "FlowSchema", flowSchemas),
  row("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", priorityLevelConfigurations),
  row("internal.apiserver.k8s.io", "StorageVersion", storageVersions),
  row("networking.k8s.io", "IPAddress", ipAddresses),
  row("networking.k8s.io", "Ingress", ingresses),
  row("networking.k8s.io", "IngressClass", ingressClasses),
  row("networking.k8s.io", "NetworkPolicy", networkPolicies),
  row("networking.k8s.io", "ServiceCIDR", serviceCidrs),
  row("node.k8s.io", "RuntimeClass", runtimeClasses),
  row("policy", "PodDisruptionBudget", podDisruptionBudgets),
  row("rbac.authorization.k8s.io", "ClusterRole", clusterRoles),
  row("rbac.authorization.k8s.io", "ClusterRoleBinding", clusterRoleBindings),
  row("rbac.authorization.k8s.io", "Role", roles),
  row("rbac.authorization.k8s.io", "RoleBinding", roleBindings),
  row("resource.k8s.io", "DeviceClass", deviceClasses),
  row("resource.k8s.io", "ResourceClaim", resourceClaims),
  row("resource.k8s.io", "ResourceClaimTemplate", resourceClaimTemplates),
  row("resource.k8s.io", "ResourceSlice", resourceSlices),
  row("resource.k8s.io/v1alpha3", "ResourceSlice", resourceSlicesV1Alpha3),
  row("scheduling.k8s.io", "PriorityClass", priorityClasses),
  row("storage.k8s.io", "CSIDriver", csiDrivers),
  row("storage.k8s.io", "CSINode", csiNodes),
  row("storage.k8s.io", "CSIStorageCapacity", csiStorageCapacities),
  row("storage.k8s.io", "StorageClass", storageClasses),
  row("storage.k8s.io", "VolumeAttachment", volumeAttachments),
  row("storage.k8s.io", "VolumeAttributesClass", volumeAttributesClasses),
  row("storagemigration.k8s.io", "StorageVersionMigration", storageVersionMigrations),
];
