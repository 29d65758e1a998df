/** The warnings of kube-apiserver 1.32.1 about pods and templates. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodSpec } from "#api/core/v1.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { growsInProportion } from "#std/growth-for-tests.ts";
import { kindUnderTest } from "../kind-for-tests.ts";
import { defaultPod } from "./pod-spec.ts";
import { podWarnings } from "./pod-warnings.ts";

const container = { name: "a", image: "x:1", resources: {} };
const ofPod = podWarnings(kubernetesDomain, { hasAppArmor: true });
const warn = (spec: object, annotations: Readonly<Record<string, string>> = {}): string[] =>
  ofPod(
    {
      metadata: { name: "p", annotations },
      spec: defaultPod({ containers: [container], ...spec } as PodSpec, { resizePolicy: false, podResources: false }),
    },
    FieldPath.of("spec"),
    FieldPath.of("metadata", "annotations"),
  );
const ofContainer = (fields: object): string[] => warn({ containers: [{ ...container, ...fields }] });

test("usual fields give no warning", () => {
  assert.deepEqual(warn({ volumes: [{ name: "v", emptyDir: {} }], terminationGracePeriodSeconds: 0 }), []);
  assert.deepEqual(
    ofContainer({ env: [{ name: "A" }, { name: "B" }], resources: { limits: { memory: "1Gi", cpu: "1m" } } }),
    [],
  );
});

test("ports that another container has are warned of", () => {
  const ports = (...list: object[]) => ({ ...container, ports: list });
  assert.deepEqual(
    warn({
      initContainers: [ports({ containerPort: 80 })],
      containers: [
        ports({ containerPort: 80 }, { containerPort: 80, protocol: "UDP" }),
        ports({ containerPort: 80, hostPort: 8080 }, { containerPort: 80, hostPort: 8080, hostIP: "1.2.3.4" }),
      ],
    }),
    [
      "spec.containers[0].ports[0]: duplicate port definition with spec.initContainers[0].ports[0]",
      "spec.containers[1].ports[0]: overlapping port definition with spec.initContainers[0].ports[0]",
      "spec.containers[1].ports[0]: overlapping port definition with spec.containers[0].ports[0]",
      "spec.containers[1].ports[1]: overlapping port definition with spec.initContainers[0].ports[0]",
      "spec.containers[1].ports[1]: overlapping port definition with spec.containers[0].ports[0]",
      "spec.containers[1].ports[1]: dangerously ambiguous port definition with spec.containers[1].ports[0]",
    ],
  );
  assert.deepEqual(ofContainer({ ports: [{ name: "http", containerPort: 80, hostIP: "10.0.0.1" }] }), [
    "spec.containers[0].ports[0]: hostIP set without hostPort: {Name:http HostPort:0 ContainerPort:80 Protocol:TCP HostIP:10.0.0.1}",
  ]);
});

test("fields without an effect, or with an unexpected one, give warnings", () => {
  assert.deepEqual(ofContainer({ env: [{ name: "B" }, { name: "B" }] }), [
    'spec.containers[0].env[1]: hides previous definition of "B", which may be dropped when using apply',
  ]);
  assert.deepEqual(ofContainer({ resources: { requests: { memory: "1n" } } }), [
    'spec.containers[0].resources.requests[memory]: fractional byte value "1m" is invalid, must be an integer',
  ]);
  assert.deepEqual(warn({ imagePullSecrets: [{}, { name: "" }] }), [
    'spec.imagePullSecrets[1].name: duplicate name ""',
    'spec.imagePullSecrets[0].name: invalid empty name ""',
    'spec.imagePullSecrets[1].name: invalid empty name ""',
  ]);
  assert.deepEqual(warn({ overhead: { memory: "1500m", cpu: "1m" } }), [
    'spec.overhead[memory]: fractional byte value "1500m" is invalid, must be an integer',
  ]);
  const claim = { resources: { requests: { storage: "1.5" }, limits: { storage: "2500m", memory: "1m" } } };
  assert.deepEqual(warn({ volumes: [{ name: "v", ephemeral: { volumeClaimTemplate: { spec: claim } } }] }), [
    'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
    'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.limits[storage]: fractional byte value "2500m" is invalid, must be an integer',
  ]);
  assert.deepEqual(warn({ hostAliases: [{ ip: "10.0.0.1" }, { ip: "10.0.0.1" }] }), [
    'spec.hostAliases[1].ip: duplicate ip "10.0.0.1"',
  ]);
  const volumes = [
    { name: "v", gitRepo: {} },
    { name: "w", projected: { sources: [{ secret: { name: "s" } }, {}] } },
    { name: "x", projected: { sources: [] } },
  ];
  assert.deepEqual(warn({ volumes, terminationGracePeriodSeconds: -1 }), [
    "spec.volumes[0].gitRepo: deprecated in v1.11",
    'volume "w" (Projected) has no sources provided',
    "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1",
  ]);
  assert.deepEqual(
    warn({ topologySpreadConstraints: [{ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" }] }),
    ["spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod"],
  );
});

test("an amount of memory whose thousandths do not fit into 64 bits is warned of as one that is not whole", () => {
  const amounts = [
    "9223372036854776",
    "9000000000000000001",
    "12345678901234567890",
    "1234567890123456k",
    "12345678901M",
    "12345678901234Ki",
    "8796093023Mi",
    "8589935Gi",
    "8389Ti",
    "9Pi",
    "512Pi",
  ];
  for (const memory of amounts) {
    assert.deepEqual(ofContainer({ resources: { requests: { memory } } }), [
      `spec.containers[0].resources.requests[memory]: fractional byte value "${memory}" is invalid, must be an integer`,
    ]);
  }
  const whole = ["9223372036854775", "8388608Gi", "8589934Gi", "8796093022Mi", "8388Ti", "8Pi", "9Ei"];
  const decimal = ["12345678901k", "12345678901234G", "9300T", "93P", "7E", "1e18"];
  for (const memory of [...whole, ...decimal]) {
    assert.deepEqual(ofContainer({ resources: { requests: { memory } } }), [], memory);
  }
});

test("labels of nodes and annotations that have successors are warned of, each with its successor", () => {
  const term = { matchExpressions: [{ key: "beta.kubernetes.io/os", operator: "Exists" }] };
  const nodeAffinity = {
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] },
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: term }],
  };
  const spread = { maxSkew: 1, whenUnsatisfiable: "DoNotSchedule", labelSelector: {} };
  assert.deepEqual(
    warn({
      nodeSelector: { "node-role.kubernetes.io/master": "", "kubernetes.io/os": "linux" },
      affinity: { nodeAffinity },
      topologySpreadConstraints: [{ ...spread, topologyKey: "failure-domain.beta.kubernetes.io/zone" }],
    }),
    [
      'spec.nodeSelector[node-role.kubernetes.io/master]: use "node-role.kubernetes.io/control-plane" instead',
      ...[
        "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]",
        "preferredDuringSchedulingIgnoredDuringExecution[0].preference",
      ].map(
        (at) =>
          `spec.affinity.nodeAffinity.${at}.matchExpressions[0].key: beta.kubernetes.io/os is deprecated since v1.14; use "kubernetes.io/os" instead`,
      ),
      'spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    ],
  );
  const annotations = {
    "scheduler.alpha.kubernetes.io/critical-pod": "",
    "seccomp.security.alpha.kubernetes.io/pod": "unconfined",
    "container.apparmor.security.beta.kubernetes.io/a": "unconfined",
  };
  assert.deepEqual(warn({}, annotations), [
    'metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "priorityClassName" field instead',
    'metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional in v1.27+; use the "seccompProfile" field instead',
    'metadata.annotations[container.apparmor.security.beta.kubernetes.io/a]: deprecated since v1.30; use the "appArmorProfile" field instead',
  ]);
});

test("files of a volume that lie where others are are warned of, a hundred times at most", () => {
  const items = (...paths: string[]): object[] => paths.map((path) => ({ key: "k", path }));
  const volumes = [
    { name: "v", configMap: { name: "c", items: items("a/b", "a", "ab", "a/") } },
    {
      name: "w",
      projected: { sources: [{ secret: { name: "s", items: items("a") } }, { serviceAccountToken: { path: "a/t" } }] },
    },
  ];
  assert.deepEqual(warn({ volumes }), [
    'volume "v" (ConfigMap "c"): overlapping paths: "a" with "a/b"',
    'volume "v" (ConfigMap "c"): overlapping paths: "a" with "a/b"',
    'volume "v" (ConfigMap "c"): overlapping paths: "a" with "a"',
    'volume "w" (Projected): overlapping paths: "a/t" (ServiceAccountToken) with "a" (Secret "s")',
  ]);
  const sources = [{ secret: { name: "s", items: items("a") } }, {}, { configMap: { name: "c" } }, { downwardAPI: {} }];
  assert.deepEqual(warn({ volumes: [{ name: "x", projected: { sources } }] }), [
    'volume "x" (Projected): overlapping paths: "a" (Secret "s") with "a" (Secret "s")',
    'volume "x" (Projected) has no sources provided',
  ]);
  // Updates of stateful sets let volumes and sources of several sorts pass.
  const several = [{ serviceAccountToken: { path: "a" } }, { configMap: {}, serviceAccountToken: { path: "b" } }];
  assert.deepEqual(warn({ volumes: [{ name: "y", projected: { sources: several } }] }), []);
  const both = { name: "z", configMap: { name: "c" }, secret: { secretName: "s", items: items("a", "a") } };
  assert.deepEqual(warn({ volumes: [both] }), ['volume "z" (Secret "s"): overlapping paths: "a" with "a"']);
  const many = [
    { name: "v", configMap: { name: "c", items: items(...Array.from({ length: 20_000 }, () => "a/b/c")) } },
  ];
  assert.equal(warn({ volumes: many }).length, 100);
  assert.equal(warn({ volumes: [...many, { ...many[0], name: "w" }] }).length, 100);
});

test("files with very long paths are not compared, which would take long", async () => {
  const warningsOf = (...paths: string[]): number =>
    warn({ volumes: [{ name: "v", configMap: { name: "c", items: paths.map((path) => ({ key: "k", path })) } }] })
      .length;
  const long = "x".repeat(4096);
  assert.equal(warningsOf(long, `${long}/`), 1);
  assert.equal(warningsOf(`${long}x`, `${long}x`), 0);
  const ofOneLength = (count: number): string[] =>
    Array.from({ length: count }, (_, i) => `${"x".repeat(19_990)}${i + 100}`);
  await growsInProportion(150, (count) => assert.equal(warningsOf(...ofOneLength(count)), 0));
  await growsInProportion(100_000, (length) => assert.equal(warningsOf(`${"/".repeat(length)}x`), 0));
});

test("a template gives warnings in creates, and in updates that raise the generation", () => {
  const sets = kindUnderTest({ group: "apps", version: "v1", kind: "ReplicaSet" });
  const template = { metadata: {}, spec: { containers: [container], terminationGracePeriodSeconds: -1 } };
  const set = (replicas: number, labels: Readonly<Record<string, string>> = {}): Unstructured =>
    sets.defaults({ metadata: { name: "r", labels }, spec: { replicas, template }, status: {} });
  const [warning = ""] = sets.warnCreate(set(1));
  assert.match(warning, /^spec\.template\.spec\.terminationGracePeriodSeconds: /);
  assert.deepEqual(sets.warnUpdate(set(1, { a: "b" }), set(1)), []);
  assert.deepEqual(sets.warnUpdate(set(2), set(1)), [warning]);
});

test("a daemon set is warned of when its template changes", () => {
  const sets = kindUnderTest({ group: "apps", version: "v1", kind: "DaemonSet" });
  const set = (minReadySeconds: number, seconds: number): Unstructured => ({
    metadata: { name: "d" },
    spec: {
      minReadySeconds,
      template: { metadata: {}, spec: { containers: [container], terminationGracePeriodSeconds: seconds } },
    },
  });
  const old = sets.create(set(0, -1));
  assert.deepEqual(sets.warnUpdate(set(5, -1), old), []);
  assert.equal(sets.warnUpdate(set(5, -2), old).length, 1);
});

test("an update of a replication controller warns of the template before it", () => {
  const controllers = kindUnderTest({ group: "", version: "v1", kind: "ReplicationController" });
  const of = (generation: number, seconds: number): Unstructured => ({
    metadata: { name: "r", generation },
    spec: { template: { metadata: {}, spec: { containers: [container], terminationGracePeriodSeconds: seconds } } },
  });
  assert.deepEqual(controllers.warnUpdate(of(2, -1), of(1, 5)), []);
  assert.equal(controllers.warnUpdate(of(2, 5), of(1, -1)).length, 1);
});

test("of many ports each is compared with those that it clashes with, and a hundred clashes are enough", () => {
  const count = 30_000;
  const ports = (portOf: (at: number) => object): object[] =>
    Array.from({ length: count }, (_, at) => ({ containerPort: 80, ...portOf(at) }));
  assert.deepEqual(ofContainer({ ports: ports((at) => ({ hostPort: at + 1 })) }), []);
  const ofHosts = (at: number): object => ({ hostPort: 1, hostIP: `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}` });
  assert.deepEqual(ofContainer({ ports: ports(ofHosts) }), []);
  const warnings = ofContainer({ ports: ports(() => ({})) });
  assert.ok(warnings.length >= 100 && warnings.length < 300, `${warnings.length}`);
  const last = ofContainer({ ports: [...ports(ofHosts), { containerPort: 80, hostPort: 1 }] });
  assert.equal(last.length, 100);
  assert.match(last[99]!, /^spec\.containers\[0\]\.ports\[30000\]: dangerously ambiguous .*\.ports\[99\]$/);
});

test("names that pods cannot have as host names are warned of where names of pods begin with them", () => {
  const warnings = (group: string, kind: string, name: string): readonly string[] => {
    const { warnCreate } = kindUnderTest({ group, version: "v1", kind });
    const template = { metadata: { labels: { a: "b" } }, spec: { containers: [container] } };
    const spec = { selector: group === "" ? { a: "b" } : { matchLabels: { a: "b" } }, template };
    return warnCreate({ metadata: { name }, spec });
  };
  const text =
    "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended:";
  for (const [group, kind] of [
    ["apps", "Deployment"],
    ["apps", "ReplicaSet"],
    ["", "ReplicationController"],
  ] as const) {
    assert.deepEqual(warnings(group, kind, "a"), []);
    assert.deepEqual(warnings(group, kind, "a.b"), [`${text} [must not contain dots]`]);
    assert.deepEqual(warnings(group, kind, "a".repeat(64)), [`${text} [must be no more than 63 characters]`]);
  }
  for (const kind of ["StatefulSet", "DaemonSet"]) assert.deepEqual(warnings("apps", kind, "a.b"), []);
});
