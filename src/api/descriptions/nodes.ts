/** Descriptions of nodes, events and other core types that belong to no workload. `../descriptions.ts` explains the format. */
export const nodes = `
package io.k8s.api.core.v1
NodeAddress: An address or host name of a node.
  type: The kind of address: Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.
  address: The address or the name.
NodeCondition: One statement about a node.
  type: The name of the condition, such as Ready, MemoryPressure or DiskPressure.
  status: The status of the condition: True, False or Unknown.
  lastHeartbeatTime: The time at which the kubelet last reported the condition.
  lastTransitionTime: The time at which the status last changed.
  reason: The reason for the status, in one word.
  message: The reason for the status, in a sentence.
NodeSpec:
  configSource: A field that no longer has any effect; kubelets once took their configuration from it.
  externalID: A field that is no longer used; providerID has replaced it.
NodeStatus:
  phase: A field that is no longer used; nobody sets it.
  config: A field that no longer has any effect; it showed the configuration of configSource.
  daemonEndpoints: The ports on which programs of the node listen.
  runtimeHandlers: The handlers of the container runtime, to which runtime classes refer.
  features: The abilities of the container runtime that do not depend on a handler.
NodeConfigSource: A source of the kubelet's configuration. Kubelets no longer read it.
  configMap: The config map that holds the configuration.
ConfigMapNodeConfigSource: A config map with the kubelet's configuration. Kubelets no longer read it.
  namespace: The namespace of the config map.
  name: The name of the config map.
  uid: The identity of the config map; it is given in the status only.
  resourceVersion: The version of the config map; it is given in the status only.
  kubeletConfigKey: The key of the config map that holds the configuration.
NodeConfigStatus: The state of the kubelet's configuration. Kubelets no longer write it.
  assigned: The configuration that the kubelet was to use.
  active: The configuration that the kubelet used.
  lastKnownGood: The configuration to which the kubelet returned after a failure.
  error: The problem with the configuration; absent when there was none.
NodeDaemonEndpoints:
  kubeletEndpoint: The port of the kubelet, where the server asks for logs and shells.
DaemonEndpoint: The port of a program.
  Port: The number of the port.
NodeRuntimeHandler: A handler of the container runtime.
  name: The name of the handler; it is empty for the default handler.
  features: The abilities of the handler.
NodeRuntimeHandlerFeatures:
  recursiveReadOnlyMounts: Whether mounts below a read-only volume can be made read-only as well.
  userNamespaces: Whether pods can have user namespaces of their own.
NodeFeatures:
  supplementalGroupsPolicy: Whether the runtime respects supplementalGroupsPolicy of pods, and reports the users of containers.
NodeSystemInfo:
  machineID: The identity of the machine, from /etc/machine-id on Linux.
  systemUUID: The UUID that the hardware or the hypervisor gave the machine.
  bootID: The identity of the present boot; it is new after each start.
  kernelVersion: The version of the kernel, as uname -r shows it.
  osImage: The name and version of the operating system, as /etc/os-release has it.
  containerRuntimeVersion: The container runtime and its version, such as containerd://1.7.24.
  kubeletVersion: The version of the kubelet.
  kubeProxyVersion: The version of kube-proxy as the kubelet guesses it; it is deprecated and can be wrong.
  operatingSystem: The kind of operating system: linux or windows.
  architecture: The architecture of the processor, such as amd64 or arm64.
ContainerImage: A container image on a node.
  names: The names under which the image is known, tags and digests.
  sizeBytes: The number of bytes that the image takes.
AttachedVolume: A volume that is attached to a node.
  name: The name of the volume, as the attach controller writes it.
  devicePath: The path of the device on the node.
ComponentStatus: The health of a component of the control plane. It is deprecated; ask the health paths instead.
  conditions: The conditions of the component.
ComponentCondition: One statement about a component.
  type: The name of the condition; it is always Healthy.
  status: The status of the condition: True, False or Unknown.
  message: The answer of the component to the check.
  error: The error of a check that failed.
EventSource:
  component: The name of the component.
  host: The node on which the component runs.
EventSeries:
  count: The number of occurrences until the last report.
  lastObservedTime: The time of the last occurrence.
SecretReference: A reference to a secret in any namespace.
  name: The name of the secret.
  namespace: The namespace of the secret.
ScopeSelector: A selection of objects by quota scopes.
  matchExpressions: The requirements on scopes, all of which must hold.
ScopedResourceSelectorRequirement: One requirement on a quota scope.
  scopeName: The scope that the requirement is about, such as PriorityClass, Terminating or BestEffort.
  operator: The comparison: In, NotIn, Exists or DoesNotExist.
  values: The values to compare with: at least one for In and NotIn, none for the other two.
TopologySelectorTerm: A part of the cluster, given by labels of its nodes.
  matchLabelExpressions: The requirements on labels of the nodes, all of which must hold.
TopologySelectorLabelRequirement: One requirement on a label of nodes.
  key: The name of the label.
  values: The allowed values of the label; one of them must match.

package io.k8s.api.events.v1
Event: A report of something that happened to an object. It is kept for a limited time.
  eventTime: The time at which the event was first observed.
  series: The further occurrences of an event that repeats; absent for a single event.
  reportingController: The name of the controller that reported the event, such as example.com/controller.
  reportingInstance: The name of the instance of that controller.
  action: The action that was taken or that failed, in one word.
  reason: The kind of event, in one word.
  regarding: The object that the event is about.
  related: A second object that the event is about.
  note: The event, described in a sentence of 1 KB at most.
  type: The severity of the event: Normal or Warning.
  deprecatedSource: A field for events in the older form: the component that reported the event.
  deprecatedFirstTimestamp: A field for events in the older form: the time of the first occurrence.
  deprecatedLastTimestamp: A field for events in the older form: the time of the last occurrence.
  deprecatedCount: A field for events in the older form: the number of occurrences.
EventSeries:
  count: The number of occurrences until the last report.
  lastObservedTime: The time of the last occurrence.

package io.k8s.api.scheduling.v1
PriorityClass: A name for a priority of pods.
  value: The priority as a number; a pod with a higher number is more important. It cannot be changed.
  globalDefault: Whether pods that name no class get this one. One class at most should say so.
  description: The purpose of the class, for people.
  preemptionPolicy: Whether pods of lower priority may be ended to make room: PreemptLowerPriority (the default) or Never. It cannot be changed.

package io.k8s.api.coordination.v1alpha2
LeaseCandidate: A program that can hold a lease, so that the control plane can choose the holder.
  spec: The lease, and what is known about the candidate.
LeaseCandidateSpec:
  leaseName: The name of the lease that the candidate would hold. It cannot be changed.
  pingTime: The time at which the control plane last asked the candidate whether it is alive.
  renewTime: The time at which the candidate last answered; it is forgotten when it no longer answers.
  binaryVersion: The version of the program, such as 1.32.1.
  emulationVersion: The version whose behaviour the program shows; it is at most the binary version.
  strategy: The strategy by which the candidate wants the holder to be chosen, such as OldestEmulationVersion.

package io.k8s.api.node.v1
RuntimeClass: A way to run containers, which pods choose by its name.
  handler: The name of the handler in the configuration of the container runtime. It cannot be changed.
  overhead: The resources that running a pod takes beside those of its containers.
  scheduling: The nodes that can run pods of the class; all nodes can when absent.
Overhead:
  podFixed: The amount of each resource for one pod.
Scheduling:
  nodeSelector: Labels that the nodes have; they are added to the pod's own node selector.
  tolerations: Taints of these nodes; they are added to the pod's own tolerations.
`;
