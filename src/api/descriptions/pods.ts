/** Descriptions of pods, containers and volumes. `../descriptions.ts` explains the format. */
export const pods = `
package io.k8s.api.core.v1
Pod: Containers that run together on one node and share its network and volumes.
  spec: The containers of the pod, and the way in which they run.
  status: The observed state of the pod; the node's agent writes it.
PodTemplate: A pod that is kept as a template.
  template: The template that other objects can copy pods from.
PodTemplateSpec: The template of the pods that a controller makes.
  metadata: The labels and annotations of the pods.
  spec: The containers of the pods, and the way in which they run.
PodSpec:
  volumes: Folders and files that the containers can mount.
  initContainers: Containers that run one after the other, each to its end, before the others start. With restartPolicy Always one keeps running beside the others.
  containers: The containers of the pod; at least one. They cannot be added or removed later.
  ephemeralContainers: Containers that are added to a running pod to examine it. They are written through the subresource "ephemeralcontainers".
  restartPolicy: The policy for containers that have ended: Always (the default), OnFailure or Never.
  terminationGracePeriodSeconds: Seconds that the processes have to end by themselves before they are killed; 30 by default.
  activeDeadlineSeconds: Seconds after its start at which the pod is ended and counts as failed.
  dnsPolicy: The source of the DNS settings: ClusterFirst (the default), ClusterFirstWithHostNet, Default for those of the node, or None for those of dnsConfig alone.
  dnsConfig: Name servers, search domains and options added to those of the DNS policy.
  nodeSelector: Labels that a node must have to run the pod.
  serviceAccountName: Name of the service account that the pod runs as; "default" by default.
  serviceAccount: The old name of serviceAccountName; both have the same value.
  automountServiceAccountToken: Whether the containers are given a token of the service account.
  nodeName: Node that runs the pod. The scheduler sets it through a binding.
  hostNetwork: Whether the pod uses the network of its node.
  hostPID: Whether the containers see the processes of the node.
  hostIPC: Whether the containers share the node's interprocess communication.
  shareProcessNamespace: Whether the containers see each other's processes.
  hostUsers: Whether the pod uses the user namespace of its node. If it is false, the pod has one of its own, in which root has no rights on the node.
  securityContext: User, groups and other security settings for all containers.
  imagePullSecrets: Secrets in the same namespace with credentials for pulling images.
  hostname: Host name inside the pod; by default the name of the pod.
  subdomain: Name of the headless service under which the host name can be looked up.
  setHostnameAsFQDN: Whether the host name is the whole domain name.
  affinity: The nodes that the pod prefers or needs, and the pods near which it runs or does not run.
  schedulerName: Scheduler that finds a node; "default-scheduler" by default.
  tolerations: Taints of nodes that do not keep the pod away.
  hostAliases: Further lines of /etc/hosts in the containers.
  priorityClassName: Name of the class that gives the pod's priority.
  priority: The priority as a number, which the server takes from the class; a pod with a higher number is more important.
  preemptionPolicy: Whether pods of lower priority may be ended to make room: PreemptLowerPriority (the default) or Never.
  readinessGates: Conditions that must be true, beside the containers being ready, before the pod counts as ready.
  runtimeClassName: Name of the class of the container runtime that runs the pod.
  enableServiceLinks: Whether services of the namespace are given as environment variables; true by default.
  overhead: Resources that running the pod takes beside those of its containers, set from the runtime class.
  topologySpreadConstraints: Rules for spreading the pods of a group over nodes, zones or other domains.
  os: Operating system of the containers.
  schedulingGates: Names of the tasks that the scheduler has to wait for. They can only be removed.
  resourceClaims: Claims on devices that must be met before the pod starts.
  resources: The resources that all containers together ask for and may use.
Container, EphemeralContainer: A process, or several, run from one image.
  name: Name of the container, unique in the pod.
  image: The image that is run; a controller's template may leave it out.
  command: Program and its first arguments, instead of the image's entry point. $(NAME) stands for an environment variable.
  args: Arguments of the program, instead of the image's own.
  workingDir: Folder in which the program starts.
  ports: Ports on which the container listens, as information for readers and tools: other ports work as well.
  envFrom: Config maps and secrets whose keys all become environment variables.
  env: Environment variables. They win over those of envFrom.
  resources: CPU, memory and other resources that the container asks for and may use.
  resizePolicy: The rules that say, for each resource, whether a change needs a restart of the container.
  restartPolicy: The policy for init containers: Always makes one run beside the others for as long as they do.
  volumeMounts: The volumes of the pod that the container mounts, and the paths at which it does.
  volumeDevices: The claims that the container uses as block devices.
  livenessProbe: Check whether the container is still alive; it is restarted when the check fails.
  readinessProbe: Check whether the container can take requests; services send it none while the check fails.
  startupProbe: Check whether the container has started; the other two checks wait for it.
  lifecycle: The actions after the start and before the end of the container.
  terminationMessagePath: File to which the container may write the reason for its end; /dev/termination-log by default.
  terminationMessagePolicy: The source of the message about the end: File (the default), or FallbackToLogsOnError to take the end of the log when that file is empty.
  imagePullPolicy: The policy for pulling the image: Always, IfNotPresent or Never. Always by default for the tag "latest", else IfNotPresent.
  securityContext: Security settings of this container; they win over those of the pod.
  stdin: Whether standard input stays open.
  stdinOnce: Whether standard input closes after the first client that was attached.
  tty: Whether the container gets a terminal; needs stdin.
EphemeralContainer: A container that is added to a running pod to examine it.
  targetContainerName: Container whose processes it sees.
ContainerPort: A port on which a container listens.
  name: Name of the port, for services to refer to.
  containerPort: Number of the port in the container, 1 to 65535.
  hostPort: Port of the node that leads to the container; rarely needed.
  hostIP: Address of the node on which hostPort is open.
  protocol: The protocol: TCP (the default), UDP or SCTP.
EnvVar: An environment variable.
  name: The name by which processes read the variable.
  value: Value of the variable. $(NAME) stands for a variable named before.
  valueFrom: The source of the value, instead of "value".
EnvVarSource: The source of an environment variable's value; exactly one is given.
  fieldRef: A field of the pod, such as metadata.name or status.podIP.
  resourceFieldRef: A limit or request of a container, such as limits.cpu.
  configMapKeyRef: A key of a config map.
  secretKeyRef: A key of a secret.
ConfigMapKeySelector, SecretKeySelector: One key of a config map or secret in the namespace of the pod.
  name: Name of the config map or secret.
  key: The key whose value is taken.
  optional: Whether the config map or secret, or the key, may be missing.
ObjectFieldSelector:
  apiVersion: Version in which the field is named; v1 by default.
  fieldPath: Path of the field, such as metadata.labels['app'].
ResourceFieldSelector:
  containerName: Name of the container; needed in volumes.
  resource: The limit or request, such as limits.cpu or requests.memory.
  divisor: Unit of the value; 1 by default.
EnvFromSource: A config map or secret whose keys become environment variables.
  prefix: Text that is put before the name of each variable.
  configMapRef: The config map whose keys become variables.
  secretRef: The secret whose keys become variables.
ResourceRequirements: The resources that are requested, and the greatest amounts that may be used.
  requests: The amounts that are reserved. A node with less than that free does not get the pod. By default they are those of the limits.
  limits: The greatest amounts that may be used.
  claims: Device claims of the pod that this container uses.
Probe: A check of a container, made again and again.
  exec: A command that is run in the container; the check succeeds when the exit code is 0.
  httpGet: A request by HTTP; the check succeeds with a code from 200 to 399.
  tcpSocket: A TCP connection; the check succeeds when it opens.
  grpc: A request to a gRPC health service.
  initialDelaySeconds: Seconds after the start of the container before the first check.
  timeoutSeconds: Seconds a check may take; 1 by default.
  periodSeconds: Seconds between two checks; 10 by default.
  successThreshold: Successes in a row after a failure until the container counts as well again; 1 by default.
  failureThreshold: Failures in a row until the container counts as failed; 3 by default.
  terminationGracePeriodSeconds: Seconds that the processes have to end when this check fails, instead of the pod's.
ExecAction:
  command: Program and arguments. No shell is involved unless it is named.
HTTPGetAction:
  path: The path that is asked for; / by default.
  port: Number or name of the port.
  host: Host to connect to; by default the address of the pod.
  scheme: The scheme: HTTP (the default) or HTTPS, whose certificate is not verified.
  httpHeaders: Further headers of the request.
HTTPHeader: A header of a request.
  name: The name of the header; it may be given several times.
  value: The value that the header has.
TCPSocketAction:
  port: Number or name of the port.
  host: Host to connect to; by default the address of the pod.
GRPCAction:
  port: The number of the port, from 1 to 65535.
  service: Name of the service that is asked about.
Lifecycle: The actions at the beginning and end of a container.
  postStart: The action right after the container was made; when it fails, the container is restarted.
  preStop: The action before the container is ended by a deletion or a failed check. The grace period runs meanwhile.
LifecycleHandler: One action; exactly one of its forms is given.
  exec: A command that is run in the container.
  httpGet: A request by HTTP that is sent to the container.
  tcpSocket: A TCP connection. This form is no longer supported.
  sleep: A pause of some seconds.
SecurityContext:
  capabilities: The Linux capabilities that are added and removed.
  privileged: Whether processes in the container are as powerful as root on the node.
  seLinuxOptions: SELinux labels of the container.
  windowsOptions: Settings for containers on Windows.
  runAsUser: User id of the processes.
  runAsGroup: Group id of the processes.
  runAsNonRoot: Whether an image that would run as root is refused.
  readOnlyRootFilesystem: Whether the container's own files cannot be written.
  allowPrivilegeEscalation: Whether a process may get more rights than its parent.
  procMount: The way in which /proc is mounted: Default or Unmasked.
  seccompProfile: The profile of allowed system calls.
  appArmorProfile: AppArmor profile of the container.
PodSecurityContext:
  seLinuxOptions: SELinux labels of the containers.
  seLinuxChangePolicy: The method by which SELinux labels are put on volumes: MountOption or Recursive.
  windowsOptions: Settings for containers on Windows.
  runAsUser: User id of the processes.
  runAsGroup: Group id of the processes.
  runAsNonRoot: Whether an image that would run as root is refused.
  supplementalGroups: Further groups of the processes.
  supplementalGroupsPolicy: Whether groups that the image names count as well: Merge (the default) or Strict.
  fsGroup: Group that owns the volumes which support it.
  fsGroupChangePolicy: Whether ownership of a volume is set at every start: Always (the default) or OnRootMismatch.
  sysctls: Kernel settings for the pod.
  seccompProfile: The profile of allowed system calls.
  appArmorProfile: AppArmor profile of the containers.
Capabilities: Linux capabilities of a container, such as NET_ADMIN.
  add: Capabilities that are given beside the default ones.
  drop: Capabilities that are taken away; ALL for every one.
SeccompProfile:
  type: The kind of profile: RuntimeDefault, Unconfined or Localhost.
  localhostProfile: File on the node with the profile, for Localhost.
VolumeMount: A volume, and the path at which it appears in a container's files.
  name: The volume of the pod that is mounted, by its name.
  mountPath: The path in the container at which the volume appears.
  readOnly: Whether the volume can only be read.
  recursiveReadOnly: Whether mounts below the volume can only be read as well.
  subPath: Path in the volume to mount instead of its root.
  subPathExpr: Path in the volume to mount instead of its root, with $(NAME) for environment variables.
  mountPropagation: Whether mounts made in the container show on the node, and those of the node in the container.
VolumeDevice: A claim as a block device.
  name: The volume of the pod that is used, by its name; a claim provides it.
  devicePath: Path of the device in the container.
Volume: Folder or files for the containers of a pod. One source is given beside the name.
  name: Name of the volume, unique in the pod.
  hostPath: A file or folder of the node. It is dangerous: a program that can write it can often take over the node.
  emptyDir: An empty folder that lives as long as the pod.
  secret: The keys of a secret as files.
  configMap: The keys of a config map as files.
  downwardAPI: Fields of the pod as files.
  projected: Several sources in one folder.
  persistentVolumeClaim: Storage claimed by a PersistentVolumeClaim of the namespace.
  ephemeral: A claim that is made for the pod and deleted with it.
  csi: Storage that a CSI driver sets up for the pod.
  image: The content of an image, read-only.
  nfs: A folder of an NFS server.
ConfigMapVolumeSource:
  name: Name of the config map.
  items: The keys that become files, and the paths of these files; by default all keys.
  defaultMode: Permissions of the files; 0644 by default.
  optional: Whether the config map or a key may be missing.
SecretVolumeSource:
  secretName: The secret whose keys become files, by its name.
  items: The keys that become files, and the paths of these files; by default all keys.
  defaultMode: Permissions of the files; 0644 by default.
  optional: Whether the secret or a key may be missing.
EmptyDirVolumeSource:
  medium: The kind of storage: Memory for the node's memory; empty for the node's disk.
  sizeLimit: The greatest size of the content.
HostPathVolumeSource: A file or folder of the node.
  path: The path of the file or folder on the node.
  type: The kind of file that must be at the path, such as Directory, File or Socket; empty for no check.
PersistentVolumeClaimVolumeSource: Storage that a claim provides.
  claimName: Name of the claim in the pod's namespace.
  readOnly: Whether the volume can only be read.
ProjectedVolumeSource:
  sources: Secrets, config maps, fields of the pod, tokens and certificates.
  defaultMode: Permissions of the files; 0644 by default.
KeyToPath: A key and the file it becomes.
  key: The key whose value becomes a file.
  path: Path of the file, inside the volume.
  mode: Permissions of the file; they are those of defaultMode when absent.
Toleration: A taint that does not keep the pod away from a node.
  key: Key of the taint; empty with Exists for all keys.
  operator: The comparison with the taint: Equal (the default) or Exists.
  value: Value of the taint, for Equal.
  effect: Effect of the taint: NoSchedule, PreferNoSchedule or NoExecute; empty for all.
  tolerationSeconds: Seconds for which a taint with NoExecute is tolerated; no limit by default.
Affinity: The rules for choosing the pod's node.
  nodeAffinity: The nodes that the pod needs or prefers.
  podAffinity: The pods near which the pod needs or prefers to be.
  podAntiAffinity: The pods near which the pod must not be or prefers not to be.
NodeAffinity, PodAffinity, PodAntiAffinity: Rules that must hold, and rules that are preferred.
  requiredDuringSchedulingIgnoredDuringExecution: The rules that must hold when a node is chosen; the pod stays when they no longer hold.
  preferredDuringSchedulingIgnoredDuringExecution: The rules that count in favour of a node, by weight, when one is chosen.
PodAffinityTerm: A group of pods, and the label of nodes that decides what counts as near.
  labelSelector: Labels of the pods; no pods match when it is absent.
  namespaces: Namespaces of the pods; by default that of this pod.
  namespaceSelector: Labels of further namespaces of the pods; an empty selector means all namespaces.
  topologyKey: Label of nodes: nodes with the same value count as one domain.
  matchLabelKeys: Labels of this pod whose values the others must share.
  mismatchLabelKeys: Labels of this pod whose values the others must not share.
WeightedPodAffinityTerm: A preference and its weight.
  weight: The weight of the preference, 1 to 100.
  podAffinityTerm: The pods near which the pod prefers to be, or not to be.
NodeSelector: A selection of nodes: one of the terms must hold.
  nodeSelectorTerms: The terms, of which one must hold.
NodeSelectorTerm: Requirements that must all hold.
  matchExpressions: Requirements on labels of the node.
  matchFields: Requirements on fields of the node.
NodeSelectorRequirement: One requirement.
  key: Name of the label or field.
  operator: The comparison: In, NotIn, Exists, DoesNotExist, Gt or Lt.
  values: Values to compare with; one number for Gt and Lt.
TopologySpreadConstraint: A rule for spreading pods evenly over domains, such as nodes or zones.
  maxSkew: The greatest allowed difference between the numbers of pods in two domains.
  topologyKey: Label of nodes: nodes with the same value count as one domain.
  whenUnsatisfiable: The policy for a pod that no node can take under this rule: DoNotSchedule or ScheduleAnyway.
  labelSelector: Labels of the pods that are counted.
  minDomains: The least number of domains.
  nodeAffinityPolicy: Whether only nodes count that the pod's affinity allows: Honor (the default) or Ignore.
  nodeTaintsPolicy: Whether only nodes count whose taints the pod tolerates: Honor or Ignore (the default).
  matchLabelKeys: Labels of this pod whose values the counted pods must share.
LocalObjectReference: A reference to an object in the same namespace.
  name: The name of the object in the same namespace.
ObjectReference: A reference to an object, or to a part of one.
  kind: The kind of the object that is meant.
  apiVersion: Group and version of the object.
  namespace: The namespace of the object; empty for kinds that have none.
  name: The name of the object that is meant.
  uid: The identity of the object, so that another one of its name is not taken for it.
  resourceVersion: The version of the object that is meant; mostly empty.
  fieldPath: Part of the object, such as spec.containers{name}.
PodStatus:
  phase: A summary of the pod's state for people: Pending, Running, Succeeded, Failed or Unknown.
  conditions: The conditions of the pod, such as PodScheduled, Initialized, ContainersReady and Ready.
  message: The reason for the pod's state, in a sentence.
  reason: The reason for the pod's state, in one word.
  nominatedNodeName: Node on which room is being made for the pod.
  hostIP: The address of the node that runs the pod.
  hostIPs: All addresses of the node.
  podIP: The address of the pod; absent until the node has given it one.
  podIPs: All addresses of the pod, at most one of each family.
  startTime: The time at which the node accepted the pod.
  initContainerStatuses: The observed state of the init containers.
  containerStatuses: The observed state of the containers.
  ephemeralContainerStatuses: The observed state of the ephemeral containers.
  qosClass: The quality-of-service class, which follows from requests and limits: Guaranteed, Burstable or BestEffort. It decides the order in which pods are ended when memory runs out.
  resize: The progress of changing the containers' resources.
  resourceClaimStatuses: The claims that were made for the pod.
PodCondition: One statement about a pod.
  type: The name of the condition.
  status: The status of the condition: True, False or Unknown.
  lastProbeTime: The time at which the condition was last checked.
  lastTransitionTime: The time at which the status last changed.
  reason: The reason for the status, in one word.
  message: The reason for the status, in a sentence.
ContainerStatus: The observed state of a container.
  name: The name of the container, as in the spec.
  state: The present state of the container.
  lastState: The state in which the container ended the last time.
  ready: Whether the container can take requests.
  restartCount: The number of times that the container was restarted.
  image: The image that runs; it can have another name than in the spec.
  imageID: The identity of the image that runs, such as its digest.
  containerID: Identity of the container in its runtime.
  started: Whether the startup probe has succeeded.
  allocatedResources: Resources reserved on the node.
  resources: The requests and limits that are in force.
  volumeMounts: The mounted volumes, and the properties of each mount.
  user: User that the processes were started as.
  allocatedResourcesStatus: State of the container's devices.
ContainerState: The state of a container; one of the three is given.
  waiting: The details of a container that has not started yet.
  running: The details of a container that runs.
  terminated: The details of a container that has ended.
ContainerStateWaiting:
  reason: The reason for waiting, in one word.
  message: The reason for waiting, in a sentence.
ContainerStateRunning: The state of a container that runs.
  startedAt: The time at which the container started.
ContainerStateTerminated:
  exitCode: Exit code of the container.
  signal: Signal that ended the container.
  reason: The reason for the end, in one word.
  message: The reason for the end, in a sentence, or a message that the container wrote itself.
  startedAt: The time at which the container started.
  finishedAt: The time at which the container ended.
  containerID: Identity of the container in its runtime.

package io.k8s.api.core.v1
AppArmorProfile: The AppArmor profile that confines the processes.
  type: The kind of profile: Localhost, RuntimeDefault or Unconfined.
  localhostProfile: The name of a profile that is loaded on the node; it is given for Localhost only.
Binding: The choice of a node for a pod. It is written to the subresource "binding" of the pod.
  target: The node that the pod is to run on.
ConfigMapEnvSource, SecretEnvSource: An object whose keys become environment variables.
  name: The name of the config map or secret, in the pod's namespace.
  optional: Whether the config map or secret may be missing.
ContainerResizePolicy: The rule for a change of one resource of a running container.
  resourceName: The resource that the rule is about: cpu or memory.
  restartPolicy: Whether a change restarts the container: NotRequired (the default) or RestartContainer.
ContainerUser: The user that the first process of a container was started as.
  linux: The user and groups of a container on Linux.
LinuxContainerUser: The user and groups of the first process of a container on Linux.
  uid: The number of the user that the first process started as.
  gid: The number of the main group that the first process started with.
  supplementalGroups: The numbers of the further groups that the first process started with.
HostAlias: A line of /etc/hosts.
  ip: The address that the names stand for.
  hostnames: The names that lead to the address.
HostIP: An address of a node.
  ip: The address, of IPv4 or IPv6.
PodIP: An address of a pod.
  ip: The address that the pod was given.
PodDNSConfig:
  nameservers: The addresses of name servers, three at most; they come after those of the policy.
  searches: The search domains for short names, 32 at most; they come after those of the policy.
  options: The options of the resolver; they win over options of the same name from the policy.
PodDNSConfigOption: An option of the resolver.
  name: The name of the option, such as ndots.
  value: The value of the option; some options have none.
PodOS: The operating system of a pod.
  name: The name of the system: linux or windows. The kubelet refuses a pod that does not fit its node.
PodReadinessGate: A condition that a pod must have before it counts as ready.
  conditionType: The type of a condition in the status of the pod; its status must be True.
PodResourceClaim: A claim on devices that a pod needs. It names a claim or a template, but not both.
  name: The name under which the containers refer to the claim, unique in the pod.
  resourceClaimName: The name of an existing ResourceClaim of the namespace, which several pods may share.
  resourceClaimTemplateName: The name of a template from which the pod gets a claim of its own, deleted with the pod.
PodResourceClaimStatus: The claim that was made for an entry of resourceClaims.
  name: The name of the entry in the pod's resourceClaims.
  resourceClaimName: The name of the claim that was made; absent when the pod turned out to need none.
PodSchedulingGate: A task that must be done before the scheduler looks at the pod.
  name: The name of the gate, unique in the pod.
PreferredSchedulingTerm: Nodes that are preferred, and the weight of the preference.
  weight: The number, from 1 to 100, that a node which fits adds to its score.
  preference: The requirements that a node must meet to get the weight.
ResourceClaim: A claim of the pod whose devices a container uses.
  name: The name of an entry in the pod's resourceClaims.
  request: The request of the claim whose devices are used; all requests when it is empty.
ResourceStatus: The state of the devices of one resource or claim.
  name: The name of the resource, or claim:NAME/REQUEST for a claim on devices; unique in the container.
  resources: The state of each device.
ResourceHealth: The state of one device.
  resourceID: The identity of the device, unique for its resource on the node.
  health: The state of the device: Healthy, Unhealthy or Unknown.
SELinuxOptions: The parts of an SELinux label.
  user: The SELinux user of the label.
  role: The SELinux role of the label.
  type: The SELinux type of the label.
  level: The SELinux level of the label, such as s0:c123,c456.
SleepAction: A pause before the container is ended.
  seconds: The length of the pause, in seconds.
Sysctl: A kernel setting and its value.
  name: The name of the setting, such as net.core.somaxconn.
  value: The value that the setting gets.
WindowsSecurityContextOptions:
  gmsaCredentialSpecName: The name of the object that holds the credential specification of a group managed service account.
  gmsaCredentialSpec: The content of that specification, which an admission webhook fills in.
  runAsUserName: The name of the Windows user of the processes; it is the image's when absent.
  hostProcess: Whether the container runs as a process of the host. All containers of a pod agree, and need hostNetwork.
`;
