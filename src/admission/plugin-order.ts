/** The names of all admission plugins, in the order in which they run. Source: the log of kube-apiserver. */

export const pluginOrder: readonly string[] = (
  "AlwaysAdmit NamespaceAutoProvision NamespaceLifecycle NamespaceExists LimitPodHardAntiAffinityTopology LimitRanger " +
  "ServiceAccount NodeRestriction TaintNodesByCondition AlwaysPullImages ImagePolicyWebhook PodSecurity " +
  "PodNodeSelector Priority DefaultTolerationSeconds PodTolerationRestriction EventRateLimit " +
  "ExtendedResourceToleration DefaultStorageClass DefaultVolumeAttributesClass StorageObjectInUseProtection " +
  "OwnerReferencesPermissionEnforcement PersistentVolumeClaimResize RuntimeClass CertificateApproval " +
  "CertificateSigning ClusterTrustBundleAttest CertificateSubjectRestriction DefaultIngressClass " +
  "DenyServiceExternalIPs MutatingAdmissionPolicy MutatingAdmissionWebhook ValidatingAdmissionPolicy " +
  "ValidatingAdmissionWebhook ResourceQuota AlwaysDeny"
).split(" ");

/** Returns the plugins in order. A plugin whose name is not in the list comes before those that must be last. */
export function inPluginOrder<P extends { readonly name: string }>(plugins: readonly P[]): readonly P[] {
  const last = pluginOrder.indexOf("MutatingAdmissionPolicy");
  const positions = new Map(pluginOrder.map((name, at) => [name, at]));
  const positionOf = ({ name }: P): number => positions.get(name) ?? last - 0.5;
  return plugins.toSorted((one, other) => positionOf(one) - positionOf(other));
}
