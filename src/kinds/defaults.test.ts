/** Defaults of built-in kinds, as the reference server applies them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pullPolicy } from "./core/image-name.ts";
import { kindUnderTest } from "./kind-for-tests.ts";

const applyDefaults = (group: string, version: string, kind: string, object: object): Record<string, unknown> =>
  kindUnderTest({ group, version, kind }).defaults({ metadata: { name: "x" }, ...object });

/** Checks that an object has the fields of `expected`, as they are decoded, after its defaults were filled in. */
function check(group: string, version: string, kind: string, object: object, expected: object): void {
  const defaulted = applyDefaults(group, version, kind, object);
  const wanted = kindUnderTest({ group, version, kind }).decode({ metadata: { name: "x" }, ...expected });
  for (const name of Object.keys(expected)) assert.deepEqual(defaulted[name], wanted[name], `${kind} ${name}`);
}

const container = { name: "a", image: "x:1" };
const filledContainer = {
  ...container,
  terminationMessagePath: "/dev/termination-log",
  terminationMessagePolicy: "File",
  imagePullPolicy: "IfNotPresent",
};
const filledSpec = {
  containers: [filledContainer],
  dnsPolicy: "ClusterFirst",
  restartPolicy: "Always",
  schedulerName: "default-scheduler",
  securityContext: {},
  terminationGracePeriodSeconds: 30,
};

test("a pod gets what its spec leaves out", () => {
  const spec = { containers: [container] };
  check("", "v1", "Pod", { spec }, { spec: { ...filledSpec, enableServiceLinks: true } });
});

test("requests follow limits in pods, not in templates", () => {
  const limited = { ...container, resources: { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "500m" } } };
  const pod = applyDefaults("", "v1", "Pod", { spec: { containers: [limited] } })["spec"] as {
    containers: { resources: object }[];
  };
  assert.deepEqual(pod.containers[0]!.resources, {
    limits: { cpu: "1", memory: "1Gi" },
    requests: { cpu: "500m", memory: "1Gi" },
  });
  const template = applyDefaults("", "v1", "PodTemplate", { template: { spec: { containers: [limited] } } })[
    "template"
  ];
  assert.deepEqual(
    (template as { spec: { containers: { resources: object }[] } }).spec.containers[0]!.resources,
    limited.resources,
  );
});

test("images that may change under their name are always pulled", () => {
  const check = (image: string, policy: string) => assert.equal(pullPolicy(image), policy, image);
  check("x", "Always");
  check("x:latest", "Always");
  check("registry:5000/x", "Always");
  check("registry:5000/x:1", "IfNotPresent");
  check("x@sha256:0", "IfNotPresent");
  check("x:1@sha256:0", "IfNotPresent");
});

test("probes, hooks, ports and volumes get their details", () => {
  const full = {
    ...container,
    ports: [{ containerPort: 80 }],
    env: [{ name: "N", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
    livenessProbe: { httpGet: { port: 80 } },
    readinessProbe: { grpc: { port: 1 }, periodSeconds: 3 },
    lifecycle: { preStop: { httpGet: { port: 80 } } },
  };
  const volumes = [
    { name: "a" },
    { name: "b", secret: {} },
    { name: "c", hostPath: { path: "/" } },
    { name: "d", projected: { sources: [{ serviceAccountToken: { path: "t" } }] } },
  ];
  const spec = { containers: [full], volumes, hostNetwork: true };
  const object = applyDefaults("", "v1", "Pod", { spec })["spec"] as {
    containers: Record<string, unknown>[];
    volumes: object[];
  };
  const [first] = object.containers;
  assert.deepEqual(first!["ports"], [{ containerPort: 80, protocol: "TCP", hostPort: 80 }]);
  assert.deepEqual(first!["env"], [
    { name: "N", valueFrom: { fieldRef: { fieldPath: "metadata.name", apiVersion: "v1" } } },
  ]);
  const probe = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
  assert.deepEqual(first!["livenessProbe"], { ...probe, httpGet: { port: 80, path: "/", scheme: "HTTP" } });
  assert.deepEqual(first!["readinessProbe"], { ...probe, periodSeconds: 3, grpc: { port: 1, service: "" } });
  assert.deepEqual(first!["lifecycle"], { preStop: { httpGet: { port: 80, path: "/", scheme: "HTTP" } } });
  assert.deepEqual(object.volumes, [
    { name: "a", emptyDir: {} },
    { name: "b", secret: { defaultMode: 420 } },
    { name: "c", hostPath: { path: "/", type: "" } },
    {
      name: "d",
      projected: { defaultMode: 420, sources: [{ serviceAccountToken: { path: "t", expirationSeconds: 3600 } }] },
    },
  ]);
});

test("workloads get counts and ways to roll out", () => {
  const template = { spec: { containers: [container] } };
  const filled = { spec: filledSpec };
  const checkSpec = (group: string, kind: string, spec: object, expected: object): void =>
    check(group, "v1", kind, { spec }, { spec: expected });
  checkSpec(
    "apps",
    "Deployment",
    { template },
    {
      template: filled,
      replicas: 1,
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
      strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "25%", maxSurge: "25%" } },
    },
  );
  const recreate = applyDefaults("apps", "v1", "Deployment", { spec: { strategy: { type: "Recreate" } } })["spec"];
  assert.deepEqual((recreate as Record<string, unknown>)["strategy"], { type: "Recreate" });
  checkSpec(
    "apps",
    "StatefulSet",
    { template },
    {
      template: filled,
      replicas: 1,
      revisionHistoryLimit: 10,
      podManagementPolicy: "OrderedReady",
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } },
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Retain" },
    },
  );
  checkSpec(
    "apps",
    "DaemonSet",
    { template },
    {
      template: filled,
      revisionHistoryLimit: 10,
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
    },
  );
  checkSpec(
    "batch",
    "Job",
    { template },
    {
      template: filled,
      completions: 1,
      parallelism: 1,
      backoffLimit: 6,
      manualSelector: false,
      completionMode: "NonIndexed",
      suspend: false,
      podReplacementPolicy: "TerminatingOrFailed",
    },
  );
  checkSpec(
    "batch",
    "CronJob",
    { jobTemplate: { spec: { template } } },
    {
      jobTemplate: { spec: { template: filled } },
      concurrencyPolicy: "Allow",
      suspend: false,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
    },
  );
});

test("a job selects its own pods by its uid", () => {
  const jobs = kindUnderTest({ group: "batch", version: "v1", kind: "Job" });
  const template = { metadata: { labels: { a: "b" } }, spec: { containers: [container] } };
  const job = jobs.create({ metadata: { name: "j", uid: "u" }, spec: { template } });
  const labels = {
    a: "b",
    "batch.kubernetes.io/controller-uid": "u",
    "batch.kubernetes.io/job-name": "j",
    "controller-uid": "u",
    "job-name": "j",
  };
  const spec = job["spec"] as { selector: object; template: { metadata: { labels: object } } };
  assert.deepEqual(spec.selector, { matchLabels: { "batch.kubernetes.io/controller-uid": "u" } });
  assert.deepEqual(spec.template.metadata.labels, labels);
  assert.deepEqual(job.metadata.labels, labels);
  const manual = { metadata: { name: "j", uid: "u" }, spec: { manualSelector: true, template } };
  assert.equal((jobs.create(manual)["spec"] as { selector?: object }).selector, undefined);
});

test("services get ports, affinity and policies by their type", () => {
  const spec = (of: object) => applyDefaults("", "v1", "Service", { spec: of })["spec"] as Record<string, unknown>;
  assert.deepEqual(
    spec({
      ports: [
        { port: 80, targetPort: 0 },
        { port: 81, targetPort: "x" },
      ],
    }),
    {
      ports: [
        { port: 80, targetPort: 80, protocol: "TCP" },
        { port: 81, targetPort: "x", protocol: "TCP" },
      ],
      sessionAffinity: "None",
      type: "ClusterIP",
      internalTrafficPolicy: "Cluster",
    },
  );
  const balancer = spec({ type: "LoadBalancer" });
  assert.equal(balancer["externalTrafficPolicy"], "Cluster");
  assert.equal(balancer["allocateLoadBalancerNodePorts"], true);
  assert.equal(spec({ type: "ExternalName" })["internalTrafficPolicy"], undefined);
  assert.deepEqual(spec({ sessionAffinity: "ClientIP" })["sessionAffinityConfig"], {
    clientIP: { timeoutSeconds: 10800 },
  });
});

test("both versions of an autoscaler show one object", () => {
  const older = kindUnderTest({ group: "autoscaling", version: "v1", kind: "HorizontalPodAutoscaler" });
  const newer = kindUnderTest({ group: "autoscaling", version: "v2", kind: "HorizontalPodAutoscaler" });
  const { conversion } = older.definition;
  const target = { kind: "Deployment", name: "d" };
  const hub = conversion!.toHub({
    metadata: { name: "h" },
    spec: { scaleTargetRef: target, maxReplicas: 3, targetCPUUtilizationPercentage: 50 },
    status: { currentReplicas: 1, desiredReplicas: 1, currentCPUUtilizationPercentage: 20 },
  });
  assert.deepEqual(newer.definition.strategy.defaults!(hub), hub);
  const cpu = (value: object) => [{ type: "Resource", resource: { name: "cpu", ...value } }];
  assert.deepEqual(hub["spec"], {
    scaleTargetRef: target,
    maxReplicas: 3,
    minReplicas: 1,
    metrics: cpu({ target: { type: "Utilization", averageUtilization: 50 } }),
  });
  assert.deepEqual(
    (hub["status"] as Record<string, unknown>)["currentMetrics"],
    cpu({ current: { averageUtilization: 20 } }),
  );
  const rich = newer.create({
    metadata: { name: "h", annotations: { mine: "1" } },
    spec: {
      scaleTargetRef: target,
      maxReplicas: 3,
      metrics: [{ type: "Pods", pods: { metric: { name: "m" } } }, ...cpu({ target: { averageUtilization: 50 } })],
      behavior: { scaleDown: { selectPolicy: "Min" } },
    },
    status: { desiredReplicas: 0, currentMetrics: null },
  });
  const shown = conversion!.fromHub(rich);
  assert.equal((shown["spec"] as Record<string, unknown>)["targetCPUUtilizationPercentage"], 50);
  assert.deepEqual(Object.keys(shown.metadata.annotations ?? {}), [
    "mine",
    "autoscaling.alpha.kubernetes.io/metrics",
    "autoscaling.alpha.kubernetes.io/behavior",
  ]);
  const back = conversion!.toHub(shown);
  assert.deepEqual(back.metadata, rich.metadata);
  assert.deepEqual(
    (back["spec"] as Record<string, unknown>)["behavior"],
    (rich["spec"] as Record<string, unknown>)["behavior"],
  );
});

test("all other kinds get the defaults of the tables", () => {
  check(
    "",
    "v1",
    "LimitRange",
    {
      spec: {
        limits: [
          { type: "Container", max: { cpu: "2" }, min: { cpu: "1", memory: "1" } },
          { type: "Pod", max: { cpu: "2" } },
        ],
      },
    },
    {
      spec: {
        limits: [
          {
            type: "Container",
            max: { cpu: "2" },
            min: { cpu: "1", memory: "1" },
            default: { cpu: "2" },
            defaultRequest: { cpu: "2", memory: "1" },
          },
          { type: "Pod", max: { cpu: "2" } },
        ],
      },
    },
  );
  check(
    "",
    "v1",
    "PersistentVolume",
    { spec: { hostPath: { path: "/" } } },
    {
      spec: { hostPath: { path: "/", type: "" }, persistentVolumeReclaimPolicy: "Retain", volumeMode: "Filesystem" },
      status: { phase: "Pending" },
    },
  );
  check(
    "",
    "v1",
    "Node",
    { status: { capacity: { cpu: "1" } } },
    { status: { capacity: { cpu: "1" }, allocatable: { cpu: "1" } } },
  );
  check(
    "networking.k8s.io",
    "v1",
    "NetworkPolicy",
    { spec: { egress: [{ ports: [{ port: 1 }] }] } },
    {
      spec: { egress: [{ ports: [{ port: 1, protocol: "TCP" }] }], policyTypes: ["Ingress", "Egress"] },
    },
  );
  check(
    "networking.k8s.io",
    "v1",
    "IngressClass",
    { spec: { parameters: { name: "x" } } },
    { spec: { parameters: { name: "x", scope: "Cluster" } } },
  );
  check(
    "discovery.k8s.io",
    "v1",
    "EndpointSlice",
    { ports: [{ port: 1 }] },
    { ports: [{ port: 1, name: "", protocol: "TCP" }] },
  );
  check("storage.k8s.io", "v1", "StorageClass", {}, { reclaimPolicy: "Delete", volumeBindingMode: "Immediate" });
  check("scheduling.k8s.io", "v1", "PriorityClass", {}, { preemptionPolicy: "PreemptLowerPriority" });
  check("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema", { spec: {} }, { spec: { matchingPrecedence: 1000 } });
  check(
    "flowcontrol.apiserver.k8s.io",
    "v1",
    "PriorityLevelConfiguration",
    { spec: { limited: { limitResponse: { queuing: {} } } } },
    {
      spec: {
        limited: {
          limitResponse: { queuing: { handSize: 8, queues: 64, queueLengthLimit: 50 } },
          nominalConcurrencyShares: 30,
          lendablePercent: 0,
        },
      },
    },
  );
  check(
    "apiregistration.k8s.io",
    "v1",
    "APIService",
    { spec: { service: { name: "x" } } },
    { spec: { service: { name: "x", port: 443 } } },
  );
  check(
    "rbac.authorization.k8s.io",
    "v1",
    "RoleBinding",
    { roleRef: { kind: "Role", name: "r" }, subjects: [{ kind: "User", name: "u" }] },
    {
      roleRef: { kind: "Role", name: "r", apiGroup: "rbac.authorization.k8s.io" },
      subjects: [{ kind: "User", name: "u", apiGroup: "rbac.authorization.k8s.io" }],
    },
  );
  check(
    "admissionregistration.k8s.io",
    "v1",
    "MutatingWebhookConfiguration",
    { webhooks: [{ name: "w", rules: [{}], clientConfig: { service: { name: "s" } } }] },
    {
      webhooks: [
        {
          name: "w",
          rules: [{ scope: "*" }],
          clientConfig: { service: { name: "s", port: 443 } },
          failurePolicy: "Fail",
          matchPolicy: "Equivalent",
          namespaceSelector: {},
          objectSelector: {},
          timeoutSeconds: 10,
          reinvocationPolicy: "Never",
        },
      ],
    },
  );
});
