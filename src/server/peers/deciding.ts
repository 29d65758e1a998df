/**
 * The resources whose objects decide about requests. A write of one is answered when all servers act by it: what was taken
 * away is refused, and what was added is there, whichever server is asked next.
 *
 * Objects that change with every request or pod (quotas, Secrets, Pods, Nodes) are not among them. Quotas and addresses are
 * compared in the transaction of the write, and the others are looked up for each request, which is one event behind at
 * most.
 */

/** The names of the resources, as Kubernetes has them. */
export const decidingResources: readonly string[] = [
  // They give rights.
  "roles.rbac.authorization.k8s.io",
  "rolebindings.rbac.authorization.k8s.io",
  "clusterroles.rbac.authorization.k8s.io",
  "clusterrolebindings.rbac.authorization.k8s.io",
  // Tokens of these are accepted.
  "serviceaccounts",
  // They say what is served.
  "customresourcedefinitions.apiextensions.k8s.io",
  "apiservices.apiregistration.k8s.io",
  // Admission reads them. The labels of namespaces select policies and webhooks, and name the levels of pod security.
  "mutatingwebhookconfigurations.admissionregistration.k8s.io",
  "validatingwebhookconfigurations.admissionregistration.k8s.io",
  "mutatingadmissionpolicies.admissionregistration.k8s.io",
  "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
  "validatingadmissionpolicies.admissionregistration.k8s.io",
  "validatingadmissionpolicybindings.admissionregistration.k8s.io",
  "namespaces",
  "limitranges",
  "priorityclasses.scheduling.k8s.io",
  "runtimeclasses.node.k8s.io",
  "ingressclasses.networking.k8s.io",
  "storageclasses.storage.k8s.io",
  // They say which control planes there are beside this one, where there may be some.
  "planes.planes.k8s.io",
  // They order requests.
  "flowschemas.flowcontrol.apiserver.k8s.io",
  "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
];
