/**
 * Cases for the comparison of kinds: random valid objects, and random edits of them, most of them invalid. This file
 * has pods, pod templates, workloads, jobs and autoscalers. The same seed gives the same case.
 */
import { type Random, seededRandom } from "#std/random.ts";
import { chance, maybe, pick, some, upTo } from "./choices.ts";
import { comparedKind, type ComparedKind, contentOf } from "./compared-kind.ts";
import { editsOf, applyEdit, type Edit } from "./edits.ts";
import { gatedKinds } from "./gated-kinds.ts";
import { otherKinds } from "./other-kinds.ts";
import type { Json } from "./servers.ts";

const probe = (random: Random): Json => ({
  ...pick<Json>(random, [
    { exec: { command: ["true"] } },
    { httpGet: { path: "/", port: 80 } },
    { tcpSocket: { port: "http" } },
    { grpc: { port: 5000 } },
  ]),
  ...maybe(random, 0.3, () => ({ periodSeconds: 5, timeoutSeconds: 2 })),
});

const volumeSources: readonly Json[] = [
  { emptyDir: {} },
  { emptyDir: { medium: "Memory", sizeLimit: "1Gi" } },
  { configMap: { name: "settings", items: [{ key: "a", path: "a" }] } },
  { secret: { secretName: "secret", defaultMode: 256 } },
  { hostPath: { path: "/var/data", type: "Directory" } },
  { persistentVolumeClaim: { claimName: "claim" } },
  { downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] } },
  { projected: { sources: [{ secret: { name: "s" } }, { serviceAccountToken: { path: "token" } }] } },
  { csi: { driver: "csi.example.com" } },
  { nfs: { server: "nfs.example.com", path: "/" } },
  {
    ephemeral: {
      volumeClaimTemplate: { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } },
    },
  },
];

const environment: readonly Json[] = [
  { name: "A", value: "1" },
  { name: "B", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
  { name: "C", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "1m" } } },
  { name: "D", valueFrom: { secretKeyRef: { name: "s", key: "k", optional: true } } },
];

function container(random: Random, name: string, volumes: readonly string[]): Json {
  const mounts = some(random, 0.6, volumes).map((volume) => ({ name: volume, mountPath: `/mnt/${volume}` }));
  return {
    name,
    image: pick(random, ["registry.example.com/a:1", "b"]),
    ...(mounts.length > 0 && { volumeMounts: mounts }),
    ...maybe(random, 0.4, () => ({ env: some(random, 0.5, environment) })),
    ...maybe(random, 0.4, () => ({
      ports: [{ name: "http", containerPort: 80 }, ...some(random, 0.4, [{ containerPort: 53, protocol: "UDP" }])],
    })),
    ...maybe(random, 0.4, () => ({
      resources: pick<Json>(random, [
        { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "1", memory: "1Gi" } },
        { limits: { memory: "1Gi", "example.com/gpu": "1" } },
        { requests: { cpu: "1" } },
      ]),
    })),
    ...maybe(random, 0.3, () => ({
      securityContext: { runAsUser: 1000, allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
    })),
  };
}

const containerProbes = (random: Random): Json => ({
  ...maybe(random, 0.3, () => ({ livenessProbe: probe(random) })),
  ...maybe(random, 0.3, () => ({ readinessProbe: probe(random) })),
  ...maybe(random, 0.2, () => ({ lifecycle: { preStop: { exec: { command: ["true"] } } } })),
});

const terms = { nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["a", "b"] }] }] };
const apart = { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "a" } } };

const scheduling: readonly Json[] = [
  { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } } },
  { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [apart] } } },
  { nodeSelector: { "kubernetes.io/os": "linux" } },
  { tolerations: [{ key: "k", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 }] },
  { topologySpreadConstraints: [{ ...apart, maxSkew: 1, whenUnsatisfiable: "DoNotSchedule" }] },
];

const ofPods: readonly Json[] = [
  { hostNetwork: true, dnsPolicy: "ClusterFirstWithHostNet" },
  { dnsPolicy: "None", dnsConfig: { nameservers: ["10.0.0.1"], searches: ["example.com"] } },
  { hostAliases: [{ ip: "10.0.0.1", hostnames: ["a.example.com"] }] },
  { securityContext: { runAsNonRoot: true, fsGroup: 5, sysctls: [{ name: "kernel.shm_rmid_forced", value: "1" }] } },
  { securityContext: { seccompProfile: { type: "RuntimeDefault" }, supplementalGroups: [1, 2] } },
  { terminationGracePeriodSeconds: 5, hostname: "web", subdomain: "sub" },
  { os: { name: "linux" }, shareProcessNamespace: true },
  { imagePullSecrets: [{ name: "pull" }], automountServiceAccountToken: false },
  { readinessGates: [{ conditionType: "example.com/ready" }], enableServiceLinks: false },
];

function podSpec(random: Random, restartPolicies: readonly string[]): Json {
  const volumes = Array.from({ length: upTo(random, 2) }, (_, at) => `v${at}`);
  const first = container(random, "a", volumes);
  const sidecar = chance(random, 0.4) ? { restartPolicy: "Always", ...containerProbes(random) } : {};
  return {
    restartPolicy: pick(random, restartPolicies),
    containers: [
      { ...first, ...containerProbes(random) },
      ...(chance(random, 0.3) ? [container(random, "b", volumes)] : []),
    ],
    ...maybe(random, 0.3, () => ({ initContainers: [{ ...container(random, "init", volumes), ...sidecar }] })),
    ...(volumes.length > 0 && { volumes: volumes.map((name) => ({ name, ...pick(random, volumeSources) })) }),
    ...maybe(random, 0.5, () => pick(random, scheduling)),
    ...maybe(random, 0.5, () => pick(random, ofPods)),
  };
}

const labels = { app: "a" };
const template = (random: Random, restartPolicies: readonly string[] = ["Always"]): Json => ({
  metadata: { labels: { ...labels, tier: "b" } },
  spec: podSpec(random, restartPolicies),
});
const selectorAndTemplate = (random: Random): Json => ({
  selector: { matchLabels: labels },
  template: template(random),
});

function jobSpec(random: Random): Json {
  const isIndexed = chance(random, 0.5);
  return {
    template: template(random, ["Never", "OnFailure"]),
    ...maybe(random, 0.6, () => ({ completions: 1 + upTo(random, 4), parallelism: 1 + upTo(random, 3) })),
    ...(isIndexed && { completionMode: "Indexed", completions: 3 }),
    ...maybe(random, 0.4, () => ({ backoffLimit: upTo(random, 5), activeDeadlineSeconds: 60 })),
    ...maybe(random, 0.2, () => ({ suspend: true, ttlSecondsAfterFinished: 5 })),
    ...(isIndexed && maybe(random, 0.3, () => ({ successPolicy: { rules: [{ succeededIndexes: "0-1" }] } }))),
    ...(isIndexed && maybe(random, 0.3, () => ({ backoffLimitPerIndex: 1, maxFailedIndexes: 2 }))),
  };
}

const statefulSet = (random: Random): Json => ({
  ...selectorAndTemplate(random),
  serviceName: "web",
  ...maybe(random, 0.4, () => ({ replicas: upTo(random, 3), minReadySeconds: 5, revisionHistoryLimit: 2 })),
  ...maybe(random, 0.3, () => ({ updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } } })),
  ...maybe(random, 0.3, () => ({
    volumeClaimTemplates: [
      {
        metadata: { name: "data" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
      },
    ],
  })),
  ...maybe(random, 0.3, () => ({ persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete" } })),
});

const average = { type: "AverageValue", averageValue: "100m" };
const metrics: readonly Json[] = [
  { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } },
  { type: "Pods", pods: { metric: { name: "requests" }, target: average } },
  {
    type: "Object",
    object: { describedObject: { kind: "Service", name: "a" }, metric: { name: "m" }, target: average },
  },
  { type: "External", external: { metric: { name: "queue" }, target: { type: "Value", value: "5" } } },
  { type: "ContainerResource", containerResource: { name: "cpu", container: "a", target: average } },
];

const autoscaler = (random: Random): Json => ({
  scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
  minReplicas: 1 + upTo(random, 2),
  maxReplicas: 5,
  ...maybe(random, 0.8, () => ({ metrics: some(random, 0.5, metrics) })),
  ...maybe(random, 0.4, () => ({
    behavior: {
      scaleUp: { policies: [{ type: "Pods", value: 2, periodSeconds: 60 }], selectPolicy: "Max" },
      ...maybe(random, 0.5, () => ({ scaleDown: { stabilizationWindowSeconds: 300 } })),
    },
  })),
});

const rollingUpdate = (random: Random): Json => ({
  type: "RollingUpdate",
  rollingUpdate: { maxUnavailable: pick<unknown>(random, [1, "25%"]) },
});

export const kindSets = ["pods", "workloads", "others", "gated"] as const;
export type KindSet = (typeof kindSets)[number];

const sets: Readonly<Record<KindSet, readonly ComparedKind[]>> = {
  pods: [
    comparedKind("", "v1", "Pod", "pods", (random) => podSpec(random, ["Always", "OnFailure", "Never"]), {
      subresources: { status: "status", ephemeralcontainers: "spec", resize: "spec" },
    }),
  ],
  workloads: [
    comparedKind("", "v1", "PodTemplate", "podtemplates", (random) => template(random, ["Always", "Never"]), {
      root: "template",
      subresources: {},
    }),
    comparedKind("", "v1", "ReplicationController", "replicationcontrollers", (random) => ({
      replicas: upTo(random, 3),
      selector: labels,
      template: template(random),
    })),
    comparedKind("apps", "v1", "ReplicaSet", "replicasets", (random) => ({
      replicas: upTo(random, 3),
      ...selectorAndTemplate(random),
    })),
    comparedKind("apps", "v1", "Deployment", "deployments", (random) => ({
      ...selectorAndTemplate(random),
      ...maybe(random, 0.5, () => ({
        strategy: rollingUpdate(random),
        progressDeadlineSeconds: 60,
        minReadySeconds: 5,
      })),
    })),
    comparedKind("apps", "v1", "StatefulSet", "statefulsets", statefulSet),
    comparedKind("apps", "v1", "DaemonSet", "daemonsets", (random) => ({
      ...selectorAndTemplate(random),
      ...maybe(random, 0.5, () => ({ updateStrategy: rollingUpdate(random), minReadySeconds: 5 })),
    })),
    comparedKind("batch", "v1", "Job", "jobs", jobSpec),
    comparedKind("batch", "v1", "CronJob", "cronjobs", (random) => ({
      schedule: pick(random, ["*/5 * * * *", "@hourly"]),
      jobTemplate: { spec: jobSpec(random) },
      ...maybe(random, 0.4, () => ({ timeZone: "Etc/UTC", concurrencyPolicy: "Forbid", suspend: true })),
    })),
    comparedKind("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", autoscaler),
    comparedKind("autoscaling", "v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers", (random) => ({
      scaleTargetRef: { kind: "Deployment", name: "web" },
      maxReplicas: 1 + upTo(random, 4),
    })),
  ],
  gated: gatedKinds,
  others: otherKinds,
};

/** All compared kinds, except those that are off by default. */
export const comparedKinds: readonly ComparedKind[] = kindSets.flatMap((name) => (name === "gated" ? [] : sets[name]));

/** The kinds that are off by default. */
export const kindsOff = sets.gated;

/** A change of a stored object. */
interface KindChange {
  /** The subresource; empty for the object itself. */
  readonly subresource: string;
  /** Returns the edits for the stored object. */
  edits(stored: Json): readonly Edit[];
}

export interface KindCase {
  readonly kind: ComparedKind;
  /** The bodies to create, one after the other, until one is accepted. The last one is valid. */
  readonly bodies: readonly Json[];
  readonly changes: readonly KindChange[];
}

const attempts = 3;
const changesCount = 8;

/** Returns the case with this number. */
export function kindCase(set: KindSet, seed: number): KindCase {
  const random = seededRandom(seed);
  const kind = pick(random, sets[set]);
  const body = kind.make(random);
  const edits = (from: Random, object: Json, field: string | undefined): Edit[] => {
    const { schema, value, path } = contentOf(kind, object, field);
    return editsOf(from, schema, value, path, 1 + upTo(from, 2));
  };
  const wrong = Array.from({ length: attempts }, () => edits(random, body, kind.root).reduce<unknown>(applyEdit, body));
  return {
    kind,
    bodies: [...(wrong as Json[]), body], // edits keep an object
    changes: Array.from({ length: changesCount }, () => {
      const subresource = pick(random, ["", ...Object.keys(kind.subresources)]);
      const editRandom = seededRandom(Math.floor(random.next() * 2 ** 32));
      return { subresource, edits: (stored) => edits(editRandom, stored, kind.subresources[subresource] ?? kind.root) };
    }),
  };
}
