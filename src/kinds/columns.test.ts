/** The columns of all kinds, compared with the tables of facts, and computed cells. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { loadDefinitions } from "#api/definitions.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { builtInDefinitions } from "./built-in.ts";
import { kindUnderTest, parseJson } from "./kind-for-tests.ts";

const facts = new URL("../../../shared/facts/columns.json", import.meta.url);
const skip = existsSync(facts) ? false : "the fact tables (../shared/facts) are not here";

interface Row {
  readonly group: string;
  readonly kind: string;
  readonly default?: boolean;
  readonly columns: readonly { name: string; type: string; format: string; priority: number }[];
}

test("every kind has the columns of release 1.32", { skip }, () => {
  const { kinds } = JSON.parse(readFileSync(facts, "utf8")) as { readonly kinds: readonly Row[] };
  const definitions = builtInDefinitions(loadDefinitions(kubernetesDomain), {
    domain: kubernetesDomain,
    gate: () => true,
    allowsPrivileged: true,
    eventTtlSeconds: 0,
    now: () => 0,
    decodeJson: parseJson,
  });
  const known = new Set(["Name", "Created At"]);
  let compared = 0;
  for (const definition of definitions) {
    const group = definition.storage.group;
    const row = kinds.find((one) => one.group === group && one.kind === definition.kind);
    // A 1.32 server shows the age in the second column.
    if (definition.kind === "ResourceQuota") continue;
    // The tables have columns for this kind, but a 1.32 server shows the default ones.
    const isOtherwise = definition.kind === "CSIStorageCapacity";
    const isDefault =
      isOtherwise || row === undefined || row.default === true || row.columns.every(({ name }) => known.has(name));
    // Definitions of custom resources have the default columns, with the descriptions that clients of 1.32 see.
    const isTold = definition.kind === "CustomResourceDefinition";
    const wanted = isDefault && !isTold ? [] : (row?.columns ?? []);
    const columns = definition.columns.map(({ name, type, format, priority }) => ({ name, type, format, priority }));
    assert.deepEqual(
      columns,
      wanted.map(({ name, type, format, priority }) => ({ name, type, format, priority })),
      `${definition.group} ${definition.version} ${definition.kind}`,
    );
    for (const { description } of definition.columns) if (!isTold) assert.match(description, /^[A-Z].*\.$/);
    if (wanted.length > 0) compared++;
  }
  assert.ok(compared > 50);
});

const now = Date.parse("2026-01-01T01:00:00Z");
const row = (group: string, version: string, kind: string, object: object): Record<string, unknown> =>
  kindUnderTest({ group, version, kind }).row(object as Unstructured, now); // examples are written by hand
const metadata = { name: "x", creationTimestamp: "2026-01-01T00:00:00Z" };

test("pods show how far they are", () => {
  const formatCells = (object: object) => {
    const { Ready, Status, Restarts } = row("", "v1", "Pod", { metadata, ...object });
    return `${String(Ready)} ${String(Status)} ${String(Restarts)}`;
  };
  const spec = { containers: [{ name: "a" }, { name: "b" }] };
  const running = { running: {} };
  const waiting = { waiting: { reason: "CrashLoopBackOff" } };
  assert.equal(formatCells({ spec, status: { phase: "Pending" } }), "0/2 Pending 0");
  const ended = { terminated: { finishedAt: "2026-01-01T00:50:00Z" } };
  const one = { ready: true, state: running, restartCount: 0 };
  const two = { ready: false, state: waiting, restartCount: 3, lastState: ended };
  assert.equal(
    formatCells({ spec, status: { phase: "Running", containerStatuses: [one, two] } }),
    "1/2 CrashLoopBackOff 3 (10m ago)",
  );
  const done = { ready: false, state: { terminated: { reason: "Completed" } } };
  assert.equal(formatCells({ spec, status: { phase: "Running", containerStatuses: [done, one] } }), "1/2 NotReady 0");
  const killed = { state: { terminated: { signal: 9 } } };
  assert.equal(formatCells({ spec, status: { phase: "Failed", containerStatuses: [killed] } }), "0/2 Signal:9 0");
  const initializing = {
    spec: { ...spec, initContainers: [{ name: "i" }, { name: "j" }] },
    status: {
      phase: "Pending",
      initContainerStatuses: [
        { name: "i", state: { terminated: {} } },
        { name: "j", state: running },
      ],
    },
  };
  assert.equal(formatCells(initializing), "0/2 Init:1/2 0");
  const gated = { conditions: [{ type: "PodScheduled", reason: "SchedulingGated" }], phase: "Pending" };
  assert.equal(formatCells({ spec, status: gated }), "0/2 SchedulingGated 0");
  const deleted = { metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
  assert.equal(formatCells({ ...deleted, spec, status: { phase: "Running" } }), "0/2 Terminating 0");
  const sidecar = {
    spec: { ...spec, initContainers: [{ name: "s", restartPolicy: "Always" }] },
    status: {
      phase: "Running",
      initContainerStatuses: [{ name: "s", started: true, ready: true }],
      containerStatuses: [one],
    },
  };
  assert.equal(formatCells(sidecar), "2/3 Running 0");
});

test("workloads show counts, containers and selectors", () => {
  const template = {
    spec: {
      containers: [
        { name: "a", image: "x:1" },
        { name: "b", image: "y:2" },
      ],
    },
  };
  const deployment = row("apps", "v1", "Deployment", {
    metadata,
    spec: { replicas: 3, selector: { matchLabels: { app: "x" } }, template },
    status: { readyReplicas: 1, updatedReplicas: 2 },
  });
  assert.deepEqual(Object.values(deployment), ["x", "1/3", 2, 0, "60m", "a,b", "x:1,y:2", "app=x"]);
  const job = row("batch", "v1", "Job", {
    metadata,
    spec: { completions: 2, template },
    status: { succeeded: 1, startTime: "2026-01-01T00:30:00Z", conditions: [{ type: "Complete", status: "True" }] },
  });
  assert.deepEqual(Object.values(job).slice(0, 5), ["x", "Complete", "1/2", "30m", "60m"]);
  const cron = row("batch", "v1", "CronJob", { metadata, spec: { schedule: "@daily", suspend: false } });
  assert.deepEqual(Object.values(cron).slice(0, 7), ["x", "@daily", "<none>", "False", 0, "<none>", "60m"]);
});

test("services show addresses and ports", () => {
  const formatCells = (spec: object, status: object = {}) =>
    Object.values(row("", "v1", "Service", { metadata, spec, status })).slice(1, 5);
  const ports = [
    { port: 80, protocol: "TCP", nodePort: 30080 },
    { port: 53, protocol: "UDP" },
  ];
  assert.deepEqual(formatCells({ type: "ClusterIP", clusterIPs: ["10.0.0.1"], ports }), [
    "ClusterIP",
    "10.0.0.1",
    "<none>",
    "80:30080/TCP,53/UDP",
  ]);
  assert.deepEqual(formatCells({ type: "LoadBalancer" }), ["LoadBalancer", "<none>", "<pending>", "<none>"]);
  const ingress = [{ ip: "2.2.2.2" }, { hostname: "long.example.com" }];
  assert.equal(formatCells({ type: "LoadBalancer" }, { loadBalancer: { ingress } })[2], "2.2.2.2,long....");
  assert.equal(formatCells({ type: "ExternalName", externalName: "a.b" })[2], "a.b");
});

test("nodes show state and roles", () => {
  const node = row("", "v1", "Node", {
    metadata: { ...metadata, labels: { "node-role.kubernetes.io/b": "", "kubernetes.io/role": "a", other: "c" } },
    spec: { unschedulable: true },
    status: {
      conditions: [{ type: "Ready", status: "True" }],
      addresses: [{ type: "InternalIP", address: "1.1.1.1" }],
    },
  });
  assert.deepEqual(
    [node["Status"], node["Roles"], node["Internal-IP"], node["OS-Image"]],
    ["Ready,SchedulingDisabled", "a,b", "1.1.1.1", "<unknown>"],
  );
});

test("an autoscaler shows present and wanted values", () => {
  const cpu = (target: object) => ({ type: "Resource", resource: { name: "cpu", target } });
  const object = {
    metadata,
    spec: {
      scaleTargetRef: { kind: "Deployment", name: "d" },
      minReplicas: 1,
      maxReplicas: 3,
      metrics: [cpu({ averageUtilization: 80 }), cpu({ averageValue: "5" }), cpu({})],
    },
    status: {
      currentReplicas: 2,
      currentMetrics: [{ type: "Resource", resource: { current: { averageUtilization: 40 } } }],
    },
  };
  assert.deepEqual(Object.values(row("autoscaling", "v2", "HorizontalPodAutoscaler", object)), [
    "x",
    "Deployment/d",
    "cpu: 40%/80%, cpu: <unknown>/5 + 1 more...",
    "1",
    3,
    2,
    "60m",
  ]);
});

test("bindings show roles and subjects", () => {
  const subjects = [
    { kind: "User", name: "u" },
    { kind: "Group", name: "g" },
    { kind: "ServiceAccount", namespace: "n", name: "s" },
  ];
  const roleRef = { kind: "Role", name: "r" };
  const cells = row("rbac.authorization.k8s.io", "v1", "RoleBinding", { metadata, roleRef, subjects });
  assert.deepEqual(Object.values(cells), ["x", "Role/r", "60m", "u", "g", "n/s"]);
});

test("quotas show what is used of requests and of limits, after their age", () => {
  const hard = { pods: "10", "limits.cpu": "2", "requests.memory": "1Gi" };
  const status = { hard, used: { pods: "1", "limits.cpu": "500m" } };
  const cells = row("", "v1", "ResourceQuota", { metadata, spec: { hard }, status });
  assert.deepEqual(Object.entries(cells), [
    ["Name", "x"],
    ["Age", "60m"],
    ["Request", "pods: 1/10, requests.memory: 0/1Gi"],
    ["Limit", "limits.cpu: 500m/2"],
  ]);
});
