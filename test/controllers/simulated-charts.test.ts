/**
 * Simulated workloads: charts of five common shapes are installed and waited for as `helm install --wait --wait-for-jobs`
 * does. Source of the rules: Helm 3's `pkg/kube/ready.go`, and its order of hooks.
 */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Cluster } from "#client/cluster.ts";
import type { Kind, StoredObject } from "#client/kind.ts";
import * as kinds from "#client/kinds.ts";
import { controllerOf } from "#client/owner.ts";
import { isReady as isPodReady, listed, simulated, template } from "./simulated.ts";

/** An object of a chart; one with a `hook` is applied before the others, and waited for. */
interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly [field: string]: unknown };
  readonly hook?: true;
  readonly [field: string]: unknown;
}

const boats: Kind = { group: "harbour.example.com", version: "v1", kind: "Boat", resource: "boats", namespaced: true };

function kindOf(name: string): Kind<StoredObject> {
  const kind = name === "Boat" ? boats : (kinds as unknown as Readonly<Record<string, Kind>>)[name];
  assert.ok(kind !== undefined, `there is a kind ${name}`);
  return kind as Kind<StoredObject>; // all of them are stored
}

/** Whether Helm calls an object ready. */
async function isReady(client: Cluster, { kind, metadata: { name } }: Manifest): Promise<boolean> {
  const at = { in: "default" };
  switch (kind) {
    case "Deployment": {
      const { metadata, spec, status } = await client.kind(kinds.Deployment).get(name, at);
      const { replicas = 1, strategy, paused } = spec;
      const percent = parseInt(String(strategy.rollingUpdate?.maxUnavailable ?? "25%"), 10);
      const sets = await Array.fromAsync(client.kind(kinds.ReplicaSet).list(at));
      const revision = metadata.annotations?.["deployment.kubernetes.io/revision"];
      const current = sets.find(
        (set) =>
          controllerOf(set)?.uid === metadata.uid &&
          set.metadata.annotations?.["deployment.kubernetes.io/revision"] === revision,
      );
      if (paused === true) return true;
      if (current === undefined || status.observedGeneration !== metadata.generation) return false;
      return (current.status.readyReplicas ?? 0) >= replicas - Math.floor((replicas * percent) / 100);
    }
    case "StatefulSet": {
      const { metadata, spec, status } = await client.kind(kinds.StatefulSet).get(name, at);
      return (
        status.observedGeneration === metadata.generation &&
        (status.updatedReplicas ?? 0) >= (spec.replicas ?? 1) &&
        status.readyReplicas === spec.replicas &&
        status.currentRevision === status.updateRevision
      );
    }
    case "DaemonSet": {
      const { metadata, status } = await client.kind(kinds.DaemonSet).get(name, at);
      const { desiredNumberScheduled: wanted, updatedNumberScheduled, numberReady, observedGeneration } = status;
      return observedGeneration === metadata.generation && updatedNumberScheduled === wanted && numberReady >= wanted;
    }
    case "Job": {
      const { spec, status } = await client.kind(kinds.Job).get(name, at);
      assert.ok((status.failed ?? 0) <= (spec.backoffLimit ?? 6), `the Job ${name} has failed`);
      return (status.succeeded ?? 0) >= (spec.completions ?? 1);
    }
    case "PersistentVolumeClaim":
      return (await client.kind(kinds.PersistentVolumeClaim).get(name, at)).status.phase === "Bound";
    case "Service": {
      const { spec, status } = await client.kind(kinds.Service).get(name, at);
      return (
        spec.clusterIP !== undefined && (spec.type !== "LoadBalancer" || (status.loadBalancer.ingress ?? []).length > 0)
      );
    }
    case "CustomResourceDefinition": {
      const { status } = await client.kind(kinds.CustomResourceDefinition).get(name);
      return status.conditions?.some((one) => one.type === "Established" && one.status === "True") === true;
    }
    case "Pod":
      return isPodReady(await client.kind(kinds.Pod).get(name, at));
    default:
      return true;
  }
}

/** Installs a chart, and returns the cluster when everything is ready. */
async function install(t: TestContext, chart: readonly Manifest[]) {
  const cluster = await simulated(t);
  const { client, advance } = cluster;
  const apply = async (objects: readonly Manifest[]): Promise<void> => {
    for (const { kind, hook: _, ...object } of objects) {
      await client.kind(kindOf(kind)).apply(object, { in: "default" });
    }
    const notReady = async (): Promise<readonly string[]> => {
      const found: string[] = [];
      for (const one of objects) if (!(await isReady(client, one))) found.push(`${one.kind} ${one.metadata.name}`);
      return found;
    };
    for (let time = 0; time < 6 && (await notReady()).length > 0; time++) await advance(1);
    assert.deepEqual(await notReady(), []);
  };
  const hooks = chart.filter(({ hook }) => hook === true);
  for (const hook of hooks) await apply([hook]);
  await apply(chart.filter(({ hook }) => hook !== true));
  return cluster;
}

const labels = (app: string) => ({ "app.kubernetes.io/name": app, "app.kubernetes.io/managed-by": "Helm" });

const service = (name: string, spec: object = {}): Manifest => ({
  kind: "Service",
  metadata: { name, labels: labels(name) },
  spec: { selector: { app: name }, ports: [{ name: "http", port: 80, targetPort: 8080 }], ...spec },
});

const account = (name: string): readonly Manifest[] => [
  { kind: "ServiceAccount", metadata: { name } },
  {
    kind: "ClusterRole",
    metadata: { name },
    rules: [{ apiGroups: [""], resources: ["pods", "nodes"], verbs: ["get", "list", "watch"] }],
  },
  {
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
    subjects: [{ kind: "ServiceAccount", name, namespace: "default" }],
  },
];

const workload = (kind: string, name: string, spec: object, pod: object = {}): Manifest => ({
  kind,
  metadata: { name, labels: labels(name) },
  spec: { selector: { matchLabels: { app: name } }, template: template(name, {}, pod), ...spec },
});

test("a chart of a web application is installed: Deployment, Ingress, budget, load balancer", async (t) => {
  const probe = { httpGet: { path: "/healthz", port: 8080 } };
  const containers = [
    {
      name: "web",
      image: "example.com/web:1",
      ports: [{ containerPort: 8080 }],
      readinessProbe: probe,
      envFrom: [{ configMapRef: { name: "web" } }],
    },
  ];
  const { client } = await install(t, [
    { kind: "ServiceAccount", metadata: { name: "web" } },
    { kind: "ConfigMap", metadata: { name: "web" }, data: { LEVEL: "info" } },
    { kind: "Secret", metadata: { name: "web" }, stringData: { token: "x" } },
    workload(
      "Deployment",
      "web",
      { replicas: 3 },
      { serviceAccountName: "web", containers, initContainers: [{ name: "migrate", image: "example.com/web:1" }] },
    ),
    service("web"),
    service("web-outside", { type: "LoadBalancer", selector: { app: "web" } }),
    {
      kind: "PodDisruptionBudget",
      metadata: { name: "web" },
      spec: { maxUnavailable: 1, selector: { matchLabels: { app: "web" } } },
    },
    {
      kind: "Ingress",
      metadata: { name: "web" },
      spec: {
        rules: [
          {
            host: "web.example.com",
            http: {
              paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "web", port: { number: 80 } } } }],
            },
          },
        ],
      },
    },
  ]);
  const slices = await listed(
    client.kind(kinds.EndpointSlice).list({ in: "default", labels: { "kubernetes.io/service-name": "web" } }),
  );
  const ready = slices
    .flatMap(({ endpoints }) => endpoints ?? [])
    .filter(({ conditions }) => conditions?.ready === true);
  assert.equal(ready.length, 3);
  const budget = await client.kind(kinds.PodDisruptionBudget).get("web", { in: "default" });
  assert.equal(budget.status.disruptionsAllowed, 1);
});

test("a chart of a database is installed: StatefulSet with claims, headless service, passwords", async (t) => {
  const claimed = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "8Gi" } } };
  const containers = [
    { name: "db", image: "example.com/db:16", volumeMounts: [{ name: "data", mountPath: "/var/lib/db" }] },
  ];
  const { client, pods } = await install(t, [
    { kind: "Secret", metadata: { name: "db" }, stringData: { password: "x" } },
    service("db-headless", { clusterIP: "None", selector: { app: "db" }, publishNotReadyAddresses: true }),
    service("db"),
    workload(
      "StatefulSet",
      "db",
      {
        replicas: 3,
        serviceName: "db-headless",
        volumeClaimTemplates: [{ metadata: { name: "data" }, spec: claimed }],
      },
      { containers },
    ),
    { kind: "PersistentVolumeClaim", metadata: { name: "backup" }, spec: claimed },
  ]);
  assert.deepEqual(
    (await listed(pods.list())).map(({ metadata }) => metadata.name),
    ["db-0", "db-1", "db-2"],
  );
  const endpoints = await client.kind(kinds.Endpoints).get("db-headless", { in: "default" });
  assert.deepEqual((endpoints.subsets?.[0]?.addresses ?? []).map(({ hostname }) => hostname).toSorted(), [
    "db-0",
    "db-1",
    "db-2",
  ]);
});

test("a chart of an operator is installed: definition, rights, Deployment of a controller, an object", async (t) => {
  const schema = {
    openAPIV3Schema: {
      type: "object",
      properties: { spec: { type: "object", properties: { length: { type: "integer" } } } },
    },
  };
  const { client } = await install(t, [
    {
      kind: "CustomResourceDefinition",
      metadata: { name: "boats.harbour.example.com" },
      hook: true,
      spec: {
        group: "harbour.example.com",
        scope: "Namespaced",
        names: { kind: "Boat", plural: "boats" },
        versions: [{ name: "v1", served: true, storage: true, schema, subresources: { status: {} } }],
      },
    },
    ...account("harbour"),
    {
      kind: "Role",
      metadata: { name: "harbour-leader" },
      rules: [{ apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["*"] }],
    },
    workload(
      "Deployment",
      "harbour",
      { replicas: 1, strategy: { type: "Recreate" } },
      { serviceAccountName: "harbour" },
    ),
    service("harbour-metrics", { selector: { app: "harbour" } }),
    { kind: "Boat", metadata: { name: "ketch" }, spec: { length: 9 } },
  ]);
  assert.equal((await client.kind(kinds.Deployment).get("harbour", { in: "default" })).status.availableReplicas, 1);
});

test("a chart of batch work is installed: a Job as a hook, a Job, a CronJob", async (t) => {
  const run = { restartPolicy: "Never" };
  const { client } = await install(t, [
    {
      kind: "Job",
      metadata: { name: "migrate", annotations: { "helm.sh/hook": "pre-install" } },
      hook: true,
      spec: { backoffLimit: 1, template: template("migrate", {}, run) },
    },
    {
      kind: "Job",
      metadata: { name: "load" },
      spec: { completions: 2, parallelism: 2, template: template("load", {}, run) },
    },
    {
      kind: "CronJob",
      metadata: { name: "nightly" },
      spec: {
        schedule: "0 3 * * *",
        timeZone: "Europe/Berlin",
        jobTemplate: { spec: { template: template("nightly", {}, run) } },
      },
    },
  ]);
  const jobs = await listed(client.kind(kinds.Job).list({ in: "default" }));
  assert.deepEqual(
    jobs.map(({ metadata, status }) => [metadata.name, status.succeeded]),
    [
      ["load", 2],
      ["migrate", 1],
    ],
  );
});

test("a chart of an agent is installed: DaemonSet on the host's network, with rights", async (t) => {
  const pod = {
    serviceAccountName: "agent",
    hostNetwork: true,
    nodeSelector: { "kubernetes.io/os": "linux" },
    tolerations: [{ operator: "Exists" }],
    volumes: [{ name: "logs", hostPath: { path: "/var/log" } }],
  };
  const { pods } = await install(t, [
    ...account("agent"),
    { kind: "ConfigMap", metadata: { name: "agent" }, data: { "agent.yaml": "interval: 10s" } },
    workload(
      "DaemonSet",
      "agent",
      { updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1 } } },
      pod,
    ),
  ]);
  const [agent] = await listed(pods.list());
  assert.deepEqual([agent?.spec.nodeName, agent?.status.podIP], ["simulated-node", agent?.status.hostIP]);
});
