/** Schemas of pod parts, which operators copy into their definitions. */
import {
  anything,
  atomicList,
  flag,
  int32,
  int64,
  intOrString,
  keySelector,
  labelSelector,
  list,
  listMap,
  mapOf,
  nameReference,
  object,
  oneOf,
  open,
  quantity,
  type Properties,
  type Schema,
  setOf,
  text,
} from "./schema.ts";

export const resources = object({
  claims: listMap(["name"], object({ name: text(), request: text() }, ["name"])),
  limits: mapOf(quantity),
  requests: mapOf(quantity),
});

const httpGet = object(
  {
    host: text(),
    path: text(),
    port: intOrString,
    scheme: text(),
    httpHeaders: atomicList(object({ name: text(), value: text() }, ["name", "value"])),
  },
  ["port"],
);
const exec = object({ command: atomicList(text()) });
const tcpSocket = object({ host: text(), port: intOrString }, ["port"]);
const handler = object({ exec, httpGet, tcpSocket, sleep: object({ seconds: int64() }, ["seconds"]) });
const probe = object({
  exec,
  httpGet,
  tcpSocket,
  grpc: object({ port: int32(), service: text({ default: "" }) }, ["port"]),
  initialDelaySeconds: int32(),
  periodSeconds: int32(),
  timeoutSeconds: int32(),
  successThreshold: int32(),
  failureThreshold: int32(),
  terminationGracePeriodSeconds: int64(),
});

const seLinux = object({ level: text(), role: text(), type: text(), user: text() });
const seccomp = object({ localhostProfile: text(), type: text() }, ["type"]);
const windows = object({
  gmsaCredentialSpec: text(),
  gmsaCredentialSpecName: text(),
  hostProcess: flag(),
  runAsUserName: text(),
});
const identity: Properties = {
  runAsUser: int64(),
  runAsGroup: int64(),
  runAsNonRoot: flag(),
  appArmorProfile: seccomp,
  seccompProfile: seccomp,
  seLinuxOptions: seLinux,
  windowsOptions: windows,
};
const securityContext = object({
  ...identity,
  allowPrivilegeEscalation: flag(),
  capabilities: object({ add: atomicList(text()), drop: atomicList(text()) }),
  privileged: flag(),
  procMount: text(),
  readOnlyRootFilesystem: flag(),
});
const podSecurityContext = object({
  ...identity,
  fsGroup: int64(),
  fsGroupChangePolicy: text(),
  supplementalGroups: atomicList(int64()),
  sysctls: atomicList(object({ name: text(), value: text() }, ["name", "value"])),
});

const fieldRef = object({ apiVersion: text(), fieldPath: text() }, ["fieldPath"], {
  "x-kubernetes-map-type": "atomic",
});
const resourceFieldRef = object({ containerName: text(), divisor: quantity, resource: text() }, ["resource"], {
  "x-kubernetes-map-type": "atomic",
});
const source = object({ name: text({ default: "" }), optional: flag() }, [], { "x-kubernetes-map-type": "atomic" });

export const environment = listMap(
  ["name"],
  object(
    {
      name: text(),
      value: text(),
      valueFrom: object({ configMapKeyRef: keySelector, secretKeyRef: keySelector, fieldRef, resourceFieldRef }),
    },
    ["name"],
  ),
);

/** A list of containers by name. */
const containers = listMap(
  ["name"],
  object(
    {
      name: text(),
      image: text(),
      imagePullPolicy: text(),
      command: atomicList(text()),
      args: atomicList(text()),
      workingDir: text(),
      env: environment,
      envFrom: atomicList(object({ prefix: text(), configMapRef: source, secretRef: source })),
      ports: listMap(
        ["containerPort", "protocol"],
        object(
          {
            containerPort: int32(),
            hostIP: text(),
            hostPort: int32(),
            name: text(),
            protocol: text({ default: "TCP" }),
          },
          ["containerPort"],
        ),
      ),
      resources,
      resizePolicy: atomicList(
        object({ resourceName: text(), restartPolicy: text() }, ["resourceName", "restartPolicy"]),
      ),
      restartPolicy: text(),
      volumeMounts: listMap(
        ["mountPath"],
        object(
          {
            mountPath: text(),
            mountPropagation: text(),
            name: text(),
            readOnly: flag(),
            recursiveReadOnly: text(),
            subPath: text(),
            subPathExpr: text(),
          },
          ["mountPath", "name"],
        ),
      ),
      volumeDevices: listMap(["devicePath"], object({ devicePath: text(), name: text() }, ["devicePath", "name"])),
      livenessProbe: probe,
      readinessProbe: probe,
      startupProbe: probe,
      lifecycle: object({ postStart: handler, preStop: handler }),
      securityContext,
      stdin: flag(),
      stdinOnce: flag(),
      tty: flag(),
      terminationMessagePath: text(),
      terminationMessagePolicy: text(),
    },
    ["name"],
  ),
);

const keyToPath = object({ key: text(), mode: int32(), path: text() }, ["key", "path"]);
const keys = atomicList(keyToPath);
const downwardItems = atomicList(object({ fieldRef, mode: int32(), path: text(), resourceFieldRef }, ["path"]));

export const claimSpec = object({
  accessModes: atomicList(text()),
  dataSource: object({ apiGroup: text(), kind: text(), name: text() }, ["kind", "name"], {
    "x-kubernetes-map-type": "atomic",
  }),
  dataSourceRef: object({ apiGroup: text(), kind: text(), name: text(), namespace: text() }, ["kind", "name"]),
  resources: object({ limits: mapOf(quantity), requests: mapOf(quantity) }),
  selector: labelSelector,
  storageClassName: text(),
  volumeAttributesClassName: text(),
  volumeMode: text(),
  volumeName: text(),
});

const volumes = listMap(
  ["name"],
  object(
    {
      name: text(),
      awsElasticBlockStore: object({ fsType: text(), partition: int32(), readOnly: flag(), volumeID: text() }, [
        "volumeID",
      ]),
      azureFile: object({ readOnly: flag(), secretName: text(), shareName: text() }, ["secretName", "shareName"]),
      cephfs: object({
        monitors: atomicList(text()),
        path: text(),
        readOnly: flag(),
        secretFile: text(),
        secretRef: nameReference,
        user: text(),
      }),
      configMap: object({ name: text({ default: "" }), defaultMode: int32(), items: keys, optional: flag() }),
      csi: object(
        {
          driver: text(),
          fsType: text(),
          nodePublishSecretRef: nameReference,
          readOnly: flag(),
          volumeAttributes: mapOf(text()),
        },
        ["driver"],
      ),
      downwardAPI: object({ defaultMode: int32(), items: downwardItems }),
      emptyDir: object({ medium: text(), sizeLimit: quantity }),
      ephemeral: object({ volumeClaimTemplate: object({ metadata: open, spec: claimSpec }, ["spec"]) }),
      fc: object({ fsType: text(), lun: int32(), targetWWNs: atomicList(text()), wwids: atomicList(text()) }),
      gitRepo: object({ directory: text(), repository: text(), revision: text() }, ["repository"]),
      hostPath: object({ path: text(), type: text() }, ["path"]),
      image: object({ pullPolicy: text(), reference: text() }),
      iscsi: object(
        {
          chapAuthDiscovery: flag(),
          initiatorName: text(),
          iqn: text(),
          iscsiInterface: text({ default: "default" }),
          lun: int32(),
          portals: atomicList(text()),
          secretRef: nameReference,
          targetPortal: text(),
        },
        ["iqn", "lun", "targetPortal"],
      ),
      nfs: object({ path: text(), readOnly: flag(), server: text() }, ["path", "server"]),
      persistentVolumeClaim: object({ claimName: text(), readOnly: flag() }, ["claimName"]),
      projected: object({
        defaultMode: int32(),
        sources: atomicList(
          object({
            clusterTrustBundle: object({ labelSelector, name: text(), optional: flag(), path: text() }, ["path"]),
            configMap: object({ items: keys, name: text({ default: "" }), optional: flag() }),
            downwardAPI: object({ items: downwardItems }),
            secret: object({ items: keys, name: text({ default: "" }), optional: flag() }),
            serviceAccountToken: object({ audience: text(), expirationSeconds: int64(), path: text() }, ["path"]),
          }),
        ),
      }),
      rbd: object(
        {
          image: text(),
          keyring: text({ default: "/etc/ceph/keyring" }),
          monitors: atomicList(text()),
          pool: text({ default: "rbd" }),
          secretRef: nameReference,
          user: text({ default: "admin" }),
        },
        ["image", "monitors"],
      ),
      secret: object({ defaultMode: int32(), items: keys, optional: flag(), secretName: text() }),
    },
    ["name"],
  ),
);

const requirements = atomicList(
  object({ key: text(), operator: text(), values: atomicList(text()) }, ["key", "operator"]),
);
const nodeTerm = object({ matchExpressions: requirements, matchFields: requirements }, [], {
  "x-kubernetes-map-type": "atomic",
});
const podTerm = object(
  {
    labelSelector,
    matchLabelKeys: atomicList(text()),
    mismatchLabelKeys: atomicList(text()),
    namespaceSelector: labelSelector,
    namespaces: atomicList(text()),
    topologyKey: text(),
  },
  ["topologyKey"],
);
const podAffinity = object({
  preferredDuringSchedulingIgnoredDuringExecution: atomicList(
    object({ podAffinityTerm: podTerm, weight: int32() }, ["podAffinityTerm", "weight"]),
  ),
  requiredDuringSchedulingIgnoredDuringExecution: atomicList(podTerm),
});

export const affinity = object({
  nodeAffinity: object({
    preferredDuringSchedulingIgnoredDuringExecution: atomicList(
      object({ preference: nodeTerm, weight: int32() }, ["preference", "weight"]),
    ),
    requiredDuringSchedulingIgnoredDuringExecution: object(
      { nodeSelectorTerms: atomicList(nodeTerm) },
      ["nodeSelectorTerms"],
      { "x-kubernetes-map-type": "atomic" },
    ),
  }),
  podAffinity,
  podAntiAffinity: podAffinity,
});

export const tolerations = atomicList(
  object({ effect: text(), key: text(), operator: text(), tolerationSeconds: int64(), value: text() }),
);

export const topologySpread = listMap(
  ["topologyKey", "whenUnsatisfiable"],
  object(
    {
      labelSelector,
      matchLabelKeys: atomicList(text()),
      maxSkew: int32(),
      minDomains: int32(),
      nodeAffinityPolicy: text(),
      nodeTaintsPolicy: text(),
      topologyKey: text(),
      whenUnsatisfiable: text(),
    },
    ["maxSkew", "topologyKey", "whenUnsatisfiable"],
  ),
);

/** A pod's template with all that is in it. */
export const podTemplate: Schema = object({
  metadata: object({ annotations: mapOf(text()), labels: mapOf(text()), name: text() }),
  spec: object(
    {
      activeDeadlineSeconds: int64(),
      affinity,
      automountServiceAccountToken: flag(),
      containers,
      dnsConfig: object({
        nameservers: atomicList(text()),
        options: atomicList(object({ name: text(), value: text() })),
        searches: atomicList(text()),
      }),
      dnsPolicy: text(),
      enableServiceLinks: flag(),
      ephemeralContainers: containers,
      hostAliases: listMap(["ip"], object({ hostnames: atomicList(text()), ip: text() }, ["ip"])),
      hostIPC: flag(),
      hostNetwork: flag(),
      hostPID: flag(),
      hostUsers: flag(),
      hostname: text(),
      imagePullSecrets: listMap(["name"], object({ name: text({ default: "" }) })),
      initContainers: containers,
      nodeName: text(),
      nodeSelector: mapOf(text(), { "x-kubernetes-map-type": "atomic" }),
      os: object({ name: text() }, ["name"]),
      overhead: mapOf(quantity),
      preemptionPolicy: oneOf("Never", "PreemptLowerPriority"),
      priority: int32(),
      priorityClassName: text(),
      readinessGates: atomicList(object({ conditionType: text() }, ["conditionType"])),
      restartPolicy: text(),
      runtimeClassName: text(),
      schedulerName: text(),
      schedulingGates: listMap(["name"], object({ name: text() }, ["name"])),
      securityContext: podSecurityContext,
      serviceAccountName: text(),
      setHostnameAsFQDN: flag(),
      shareProcessNamespace: flag(),
      subdomain: text(),
      terminationGracePeriodSeconds: int64(),
      tolerations,
      topologySpreadConstraints: topologySpread,
      volumes,
    },
    ["containers"],
  ),
});

/** Pod parts that operators offer as fields instead of a template. */
export const podParts: Properties = {
  affinity,
  tolerations,
  topologySpreadConstraints: topologySpread,
  nodeSelector: mapOf(text()),
  resources,
  containers,
  initContainers: containers,
  volumes,
  securityContext: podSecurityContext,
  hostAliases: listMap(["ip"], object({ hostnames: list(text()), ip: text() }, ["ip", "hostnames"])),
  imagePullSecrets: list(nameReference),
  priorityClassName: text(),
  serviceAccountName: text(),
  additionalArgs: list(object({ name: text({ minLength: 1 }), value: text() }, ["name"])),
  enableFeatures: setOf(text({ minLength: 1 })),
  extra: anything,
};
