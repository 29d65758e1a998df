/** The pods of 4 KB that benches create, and what they are created under: plugins, a LimitRange and a ResourceQuota. */

/** The plugins beside the default ones that run without a configuration. */
const morePlugins = [
  "AlwaysPullImages",
  "DenyServiceExternalIPs",
  "ExtendedResourceToleration",
  "LimitPodHardAntiAffinityTopology",
  "NamespaceAutoProvision",
  "NamespaceExists",
  "NodeRestriction",
  "PodNodeSelector",
  "PodTolerationRestriction",
];

/** Flags of a server that pods are created on, also of a peer. */
export const podServerFlags: readonly string[] = [`--enable-admission-plugins=${morePlugins.join(",")}`];

/** The objects that a namespace gets before pods are created in it, with the resource of each. */
export const podNamespaceObjects = [
  {
    path: "limitranges",
    object: {
      kind: "LimitRange",
      metadata: { name: "limits" },
      spec: { limits: [{ type: "Container", default: { cpu: "2" }, max: { memory: "1Gi" } }] },
    },
  },
  {
    path: "resourcequotas",
    object: {
      kind: "ResourceQuota",
      metadata: { name: "quota" },
      spec: { hard: { pods: "1000000", "requests.cpu": "1000000", "limits.memory": "1000000Gi" } },
    },
  },
] as const;

/** Returns the JSON of a pod of 4 KB with two containers, probes, volumes and affinity. */
export function podOf(name: string): string {
  const environment = Array.from({ length: 12 }, (_, at) => ({ name: `SETTING_${at}`, value: `value number ${at}` }));
  const probe = (path: string): object => ({
    httpGet: { path, port: "http", scheme: "HTTP" },
    initialDelaySeconds: 5,
    periodSeconds: 10,
    timeoutSeconds: 1,
    failureThreshold: 3,
  });
  const container = (at: number): object => ({
    name: `part-${at}`,
    image: `images.example.com/shop/part-${at}:1.4.2`,
    imagePullPolicy: "IfNotPresent",
    command: ["/bin/server"],
    args: ["--listen=:8080", "--verbose", `--part=${at}`],
    env: [...environment, { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
    ports: [{ name: at === 0 ? "http" : "metrics", containerPort: 8080 + at, protocol: "TCP" }],
    resources: { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "1", memory: "256Mi" } },
    volumeMounts: [
      { name: "config", mountPath: "/etc/shop", readOnly: true },
      { name: "data", mountPath: "/var/lib/shop" },
    ],
    ...(at === 0 ? { livenessProbe: probe("/healthz"), readinessProbe: probe("/ready") } : {}),
    securityContext: { runAsNonRoot: true, allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
  });
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      labels: { app: "shop", tier: "front", "example.com/team": "cart" },
      annotations: { "example.com/note": "n".repeat(200) },
    },
    spec: {
      containers: [container(0), container(1)],
      volumes: [
        { name: "config", configMap: { name: "shop" } },
        { name: "data", emptyDir: {} },
      ],
      affinity: {
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            {
              weight: 100,
              podAffinityTerm: {
                topologyKey: "kubernetes.io/hostname",
                labelSelector: { matchLabels: { app: "shop" } },
              },
            },
          ],
        },
      },
      tolerations: [{ key: "example.com/spot", operator: "Exists", effect: "NoSchedule" }],
      securityContext: { runAsUser: 1000, fsGroup: 1000 },
      terminationGracePeriodSeconds: 30,
    },
  });
}
