/** Descriptions of pods, containers and volumes. `../descriptions.ts` explains the format. */
export const pods = `
package io.k8s.api.core.v1
Pod: Containers that run together on one node and share its network and volumes.
  spec: What is to run, and how.
  status: What was observed of the pod; the node's agent writes it.
PodTemplate: A pod kept as a pattern.
  template: The pattern.
PodTemplateSpec: The pattern of pods that a controller makes.
  metadata: Labels and annotations of the pods.
  spec: What the pods are to run.
PodSpec: What a pod is to run, and how.
  volumes: Folders and files that the containers can mount.
  initContainers: Containers that run one after the other, each to its end, before the others start. With restartPolicy Always one keeps running beside the others.
  containers: The containers of the pod; at least one. They cannot be added or removed later.
  ephemeralContainers: Containers added to a running pod for looking into it. They are written through the subresource "ephemeralcontainers".
  restartPolicy: What happens when a container ends: Always (the default), OnFailure or Never.
  terminationGracePeriodSeconds: Seconds that the processes have to end by themselves before they are killed; 30 by default.
  activeDeadlineSeconds: Seconds after its start at which the pod is ended and counts as failed.
  dnsPolicy: Where names are looked up: ClusterFirst (the default), ClusterFirstWithHostNet, Default (as the node does) or None (as dnsConfig says).
  dnsConfig: Name servers, search domains and options added to those of the DNS policy.
  nodeSelector: Labels that a node must have to run the pod.
  serviceAccountName: Service account as which the pod runs; "default" unless said.
  serviceAccount: Old name of serviceAccountName.
  automountServiceAccountToken: Whether the containers are given a token of the service account.
  nodeName: Node that runs the pod. The scheduler sets it through a binding.
  hostNetwork: Whether the pod uses the network of its node.
  hostPID: Whether the containers see the processes of the node.
  hostIPC: Whether the containers share the node's interprocess communication.
  shareProcessNamespace: Whether the containers see each other's processes.
  hostUsers: False runs the pod in a user namespace of its own, so that root inside is nobody outside.
  securityContext: User, groups and other security settings for all containers.
  imagePullSecrets: Secrets in the same namespace with credentials for pulling images.
  hostname: Host name inside of the pod; the pod's name unless said.
  subdomain: Name of the headless service under which the host name can be looked up.
  setHostnameAsFQDN: Whether the host name is the whole domain name.
  affinity: Which nodes the pod prefers or needs, and beside which pods it runs or does not.
  schedulerName: Scheduler that finds a node; "default-scheduler" unless said.
  tolerations: Taints of nodes that do not keep the pod away.
  hostAliases: Further lines of /etc/hosts.
  priorityClassName: Class that says how important the pod is.
  priority: The number of that class, set by the server; a higher one is more important.
  preemptionPolicy: Whether pods of lower priority may be ended to make room: PreemptLowerPriority (the default) or Never.
  readinessGates: Conditions that must be true, beside the containers being ready, before the pod counts as ready.
  runtimeClassName: Class of the container runtime that runs the pod.
  enableServiceLinks: Whether services of the namespace are given as environment variables; true by default.
  overhead: What running the pod costs beside its containers, set from the runtime class.
  topologySpreadConstraints: How pods of a group are spread over nodes, zones or other places.
  os: Operating system of the containers.
  schedulingGates: Names of what the scheduler has to wait for. They can only be removed.
  resourceClaims: Claims on devices that must be met before the pod starts.
  resources: What all containers together ask for and may use.
Container, EphemeralContainer: A process, or several, run from one image.
  name: Name of the container, unique in the pod.
  image: Image to run.
  command: Program and its first arguments, instead of the image's entry point. $(NAME) stands for an environment variable.
  args: Arguments of the program, instead of the image's own.
  workingDir: Folder in which the program starts.
  ports: Ports on which the container listens, for readers and tools: others work as well.
  envFrom: Whole config maps and secrets as environment variables.
  env: Environment variables. They come before those of envFrom.
  resources: CPU, memory and other resources that the container asks for and may use.
  resizePolicy: Which resources can change without a restart of the container.
  restartPolicy: Of init containers only: Always makes one run beside the others for as long as they do.
  volumeMounts: Where volumes of the pod appear in the container's files.
  volumeDevices: Which claims appear as block devices.
  livenessProbe: Check whether the container is still alive; it is restarted when it fails.
  readinessProbe: Check whether the container can take requests; services pass it over while it fails.
  startupProbe: Check whether the container has started; the other two wait for it.
  lifecycle: What is done after the start and before the end of the container.
  terminationMessagePath: File to which the container may write why it ended; /dev/termination-log by default.
  terminationMessagePolicy: File, or FallbackToLogsOnError to take the end of the log when that file is empty.
  imagePullPolicy: Always, IfNotPresent or Never. Always by default for the tag "latest", else IfNotPresent.
  securityContext: Security settings of this container; they win over those of the pod.
  stdin: Whether standard input stays open.
  stdinOnce: Whether standard input closes after the first client that was attached.
  tty: Whether the container gets a terminal; needs stdin.
EphemeralContainer: A container added to a running pod for looking into it.
  targetContainerName: Container whose processes it sees.
ContainerPort: A port on which a container listens.
  name: Name of the port, for services to refer to.
  containerPort: Number of the port in the container, 1 to 65535.
  hostPort: Port of the node that leads to it; seldom needed.
  hostIP: Address of the node on which hostPort is open.
  protocol: TCP (the default), UDP or SCTP.
EnvVar: An environment variable.
  name: Name of the variable.
  value: Its value. $(NAME) stands for a variable named before.
  valueFrom: Where the value comes from, instead of "value".
EnvVarSource: Where the value of an environment variable comes from; exactly one is given.
  fieldRef: A field of the pod, such as metadata.name or status.podIP.
  resourceFieldRef: A limit or request of a container, such as limits.cpu.
  configMapKeyRef: A key of a config map.
  secretKeyRef: A key of a secret.
ConfigMapKeySelector, SecretKeySelector: One key of a config map or secret in the namespace of the pod.
  name: Name of the config map or secret.
  key: The key.
  optional: Whether it may be missing.
ObjectFieldSelector: A field of the pod.
  apiVersion: Version in which the field is named; v1 by default.
  fieldPath: Path of the field, such as metadata.labels['app'].
ResourceFieldSelector: A limit or request of a container.
  containerName: Name of the container; needed in volumes.
  resource: Such as limits.cpu or requests.memory.
  divisor: Unit of the value; 1 by default.
EnvFromSource: A config map or secret whose keys become environment variables.
  prefix: Put before the name of each variable.
  configMapRef: The config map.
  secretRef: The secret.
ResourceRequirements: Resources that are asked for, and most that may be used.
  requests: What is set aside. A node without that much free does not get the pod. As large as the limits unless said.
  limits: Most that may be used.
  claims: Device claims of the pod that this container uses.
Probe: A check of a container, made again and again.
  exec: Runs a command in the container; it succeeds when the exit code is 0.
  httpGet: Asks by HTTP; it succeeds with a code from 200 to 399.
  tcpSocket: Opens a TCP connection.
  grpc: Asks a gRPC health service.
  initialDelaySeconds: Seconds after the start of the container before the first check.
  timeoutSeconds: Seconds a check may take; 1 by default.
  periodSeconds: Seconds between two checks; 10 by default.
  successThreshold: Successes in a row after a failure until it counts as well again; 1 by default.
  failureThreshold: Failures in a row until it counts as failed; 3 by default.
  terminationGracePeriodSeconds: Seconds to end when this check fails, instead of the pod's.
ExecAction: A command run in the container.
  command: Program and arguments. No shell is involved unless it is named.
HTTPGetAction: A request by HTTP.
  path: Path to ask for.
  port: Number or name of the port.
  host: Host to connect to; the pod's address unless said.
  scheme: HTTP (the default) or HTTPS, whose certificate is not verified.
  httpHeaders: Further headers of the request.
HTTPHeader: A header of a request.
  name: Name of the header.
  value: Its value.
TCPSocketAction: A connection by TCP.
  port: Number or name of the port.
  host: Host to connect to; the pod's address unless said.
GRPCAction: A request to a gRPC health service.
  port: Number of the port.
  service: Name of the service that is asked about.
Lifecycle: What is done at the beginning and end of a container.
  postStart: Done right after the container was made; when it fails, the container is restarted.
  preStop: Done before the container is ended by a deletion or a failed check. The grace period runs meanwhile.
LifecycleHandler: What is done; exactly one is given.
  exec: Runs a command in the container.
  httpGet: Asks by HTTP.
  tcpSocket: Not supported any more.
  sleep: Waits for some seconds.
SecurityContext: Security settings of a container.
  capabilities: Linux capabilities added and taken away.
  privileged: Whether processes in the container are as powerful as root on the node.
  seLinuxOptions: SELinux labels of the container.
  windowsOptions: Settings for containers on Windows.
  runAsUser: User id of the processes.
  runAsGroup: Group id of the processes.
  runAsNonRoot: Whether an image that would run as root is refused.
  readOnlyRootFilesystem: Whether the container's own files cannot be written.
  allowPrivilegeEscalation: Whether a process may get more rights than its parent.
  procMount: How /proc is mounted.
  seccompProfile: Which system calls are allowed.
  appArmorProfile: AppArmor profile of the container.
PodSecurityContext: Security settings of all containers of a pod.
  seLinuxOptions: SELinux labels of the containers.
  seLinuxChangePolicy: How SELinux labels are put on volumes.
  windowsOptions: Settings for containers on Windows.
  runAsUser: User id of the processes.
  runAsGroup: Group id of the processes.
  runAsNonRoot: Whether an image that would run as root is refused.
  supplementalGroups: Further groups of the processes.
  supplementalGroupsPolicy: Whether groups that the image names count as well: Merge (the default) or Strict.
  fsGroup: Group that owns the volumes which support it.
  fsGroupChangePolicy: Whether ownership of a volume is set at every start: Always (the default) or OnRootMismatch.
  sysctls: Kernel settings for the pod.
  seccompProfile: Which system calls are allowed.
  appArmorProfile: AppArmor profile of the containers.
Capabilities: Linux capabilities of a container, such as NET_ADMIN.
  add: Given beside the default ones.
  drop: Taken away; ALL for every one.
SeccompProfile:
  type: RuntimeDefault, Unconfined or Localhost.
  localhostProfile: File on the node with the profile, for Localhost.
VolumeMount: Where a volume appears in a container's files.
  name: Name of the volume.
  mountPath: Path in the container.
  readOnly: Whether it can only be read.
  recursiveReadOnly: Whether mounts below it can only be read as well.
  subPath: Path in the volume to mount instead of its root.
  subPathExpr: The same, with $(NAME) for environment variables.
  mountPropagation: Whether mounts made inside show outside and the other way round.
VolumeDevice: A claim as a block device.
  name: Name of the volume.
  devicePath: Path of the device in the container.
Volume: Folder or files for the containers of a pod. One source is given beside the name.
  name: Name of the volume, unique in the pod.
  hostPath: A file or folder of the node. Dangerous: what can write it can often take over the node.
  emptyDir: An empty folder that lives as long as the pod.
  secret: The keys of a secret as files.
  configMap: The keys of a config map as files.
  downwardAPI: Fields of the pod as files.
  projected: Several sources in one folder.
  persistentVolumeClaim: Storage claimed by a PersistentVolumeClaim of the namespace.
  ephemeral: A claim that is made for the pod and goes with it.
  csi: Storage that a CSI driver sets up for the pod.
  image: The content of an image, read-only.
  nfs: A folder of an NFS server.
  iscsi: A disk of an iSCSI target.
  fc: A disk by Fibre Channel.
ConfigMapVolumeSource: Keys of a config map as files.
  name: Name of the config map.
  items: Which keys, and as which files; all of them unless said.
  defaultMode: Permissions of the files; 0644 by default.
  optional: Whether the config map or a key may be missing.
SecretVolumeSource: Keys of a secret as files.
  secretName: Name of the secret.
  items: Which keys, and as which files; all of them unless said.
  defaultMode: Permissions of the files; 0644 by default.
  optional: Whether the secret or a key may be missing.
EmptyDirVolumeSource: An empty folder for the life of the pod.
  medium: Memory keeps it in memory; empty uses the node's disk.
  sizeLimit: Most it may hold.
HostPathVolumeSource: A file or folder of the node.
  path: Path on the node.
  type: What must be there, such as Directory, File or Socket; empty checks nothing.
PersistentVolumeClaimVolumeSource: Storage that a claim provides.
  claimName: Name of the claim in the pod's namespace.
  readOnly: Whether it can only be read.
ProjectedVolumeSource:
  sources: Secrets, config maps, fields of the pod, tokens and certificates.
  defaultMode: Permissions of the files; 0644 by default.
KeyToPath: A key and the file it becomes.
  key: The key.
  path: Path of the file, inside of the volume.
  mode: Permissions of the file.
Toleration: A taint that does not keep the pod away from a node.
  key: Key of the taint; empty with Exists for all keys.
  operator: Equal (the default) or Exists.
  value: Value of the taint, for Equal.
  effect: NoSchedule, PreferNoSchedule or NoExecute; empty for all.
  tolerationSeconds: How long a taint with NoExecute is borne; for ever unless said.
Affinity: Where the pod should run.
  nodeAffinity: Which nodes it needs or prefers.
  podAffinity: Near which pods it needs or prefers to be.
  podAntiAffinity: Near which pods it must not or would rather not be.
NodeAffinity, PodAffinity, PodAntiAffinity: What is needed and what is preferred.
  requiredDuringSchedulingIgnoredDuringExecution: Must hold when a node is chosen; the pod stays when it holds no longer.
  preferredDuringSchedulingIgnoredDuringExecution: Counts for a node, by weight, when one is chosen.
PodAffinityTerm: Pods, and what being near them means.
  labelSelector: Labels of the pods.
  namespaces: Namespaces of the pods; that of this pod unless said.
  namespaceSelector: Labels of the namespaces.
  topologyKey: Label of nodes: those with the same value are one place.
  matchLabelKeys: Labels of this pod whose values the others must share.
  mismatchLabelKeys: Labels of this pod whose values the others must not share.
WeightedPodAffinityTerm: A preference and how much it counts.
  weight: 1 to 100.
  podAffinityTerm: The preference.
NodeSelector: Selects nodes: one of the terms must hold.
  nodeSelectorTerms: The terms.
NodeSelectorTerm: Requirements that must all hold.
  matchExpressions: Requirements on labels of the node.
  matchFields: Requirements on fields of the node.
NodeSelectorRequirement: One requirement.
  key: Name of the label or field.
  operator: In, NotIn, Exists, DoesNotExist, Gt or Lt.
  values: Values to compare with; one number for Gt and Lt.
TopologySpreadConstraint: How evenly pods are spread over places.
  maxSkew: By how many pods places may differ.
  topologyKey: Label of nodes: those with the same value are one place.
  whenUnsatisfiable: DoNotSchedule or ScheduleAnyway.
  labelSelector: Labels of the pods that are counted.
  minDomains: Least number of places.
  nodeAffinityPolicy: Whether only nodes count that the pod's affinity allows: Honor (the default) or Ignore.
  nodeTaintsPolicy: Whether only nodes count whose taints the pod tolerates: Honor or Ignore (the default).
  matchLabelKeys: Labels of this pod whose values the counted pods must share.
LocalObjectReference: An object in the same namespace.
  name: Name of the object.
ObjectReference: An object, or a part of one.
  kind: Kind of the object.
  apiVersion: Group and version of the object.
  namespace: Namespace of the object.
  name: Name of the object.
  uid: Identity of the object.
  resourceVersion: Version of the object.
  fieldPath: Part of the object, such as spec.containers{name}.
PodStatus: What was observed of a pod.
  phase: Pending, Running, Succeeded, Failed or Unknown: a summary for people.
  conditions: What holds of the pod, such as PodScheduled, Initialized, ContainersReady and Ready.
  message: Why the pod is in this state, in a sentence.
  reason: Why the pod is in this state, in one word.
  nominatedNodeName: Node on which room is being made for the pod.
  hostIP: Address of the node.
  hostIPs: All addresses of the node.
  podIP: Address of the pod.
  podIPs: All addresses of the pod, at most one of each family.
  startTime: When the node took the pod on.
  initContainerStatuses: What was observed of the init containers.
  containerStatuses: What was observed of the containers.
  ephemeralContainerStatuses: What was observed of the ephemeral containers.
  qosClass: Guaranteed, Burstable or BestEffort, from requests and limits: who has to go last when memory runs out.
  resize: How far a change of the containers' resources has come.
  resourceClaimStatuses: Which claims were made for the pod.
PodCondition: One statement about a pod.
  type: What the statement is about.
  status: True, False or Unknown.
  lastProbeTime: When it was last looked at.
  lastTransitionTime: When the status last became another one.
  reason: Why, in one word.
  message: Why, in a sentence.
ContainerStatus: What was observed of a container.
  name: Name of the container.
  state: What it does now.
  lastState: How it ended the last time.
  ready: Whether it can take requests.
  restartCount: How often it was started again.
  image: Image that runs.
  imageID: Identity of that image.
  containerID: Identity of the container in its runtime.
  started: Whether its startup probe has succeeded.
  allocatedResources: Resources set aside on the node.
  resources: Resources in force.
  volumeMounts: How its volumes are mounted.
  user: User as which it was started.
  allocatedResourcesStatus: State of its devices.
ContainerState: What a container does; one of the three.
  waiting: It has not started yet.
  running: It runs.
  terminated: It has ended.
ContainerStateWaiting: A container that has not started.
  reason: Why, in one word.
  message: Why, in a sentence.
ContainerStateRunning: A container that runs.
  startedAt: Since when.
ContainerStateTerminated: A container that has ended.
  exitCode: Its exit code.
  signal: Signal that ended it.
  reason: Why, in one word.
  message: Why, in a sentence, or what it wrote itself.
  startedAt: When it started.
  finishedAt: When it ended.
  containerID: Its identity in the runtime.
`;
