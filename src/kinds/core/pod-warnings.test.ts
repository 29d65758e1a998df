/** What kube-apiserver 1.32.1 warns of in pods and templates. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodSpec } from "#api/core/v1.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "../kind-for-tests.ts";
import { defaultPod } from "./pod-spec.ts";
import { podSpecWarnings } from "./pod-warnings.ts";

const container = { name: "a", image: "x:1", resources: {} };
const warned = (spec: object): string[] =>
  podSpecWarnings(
    defaultPod({ containers: [container], ...spec } as PodSpec, { resizePolicy: false, podResources: false }),
    FieldPath.of("spec"),
  );
const ofContainer = (fields: object): string[] => warned({ containers: [{ ...container, ...fields }] });

test("what is usual is not warned of", () => {
  assert.deepEqual(warned({ volumes: [{ name: "v", emptyDir: {} }], terminationGracePeriodSeconds: 0 }), []);
  assert.deepEqual(
    ofContainer({ env: [{ name: "A" }, { name: "B" }], resources: { limits: { memory: "1Gi", cpu: "1m" } } }),
    [],
  );
});

test("ports that another container has are warned of", () => {
  const ports = (...list: object[]) => ({ ...container, ports: list });
  assert.deepEqual(
    warned({
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

test("what has no effect, or another than meant, is warned of", () => {
  assert.deepEqual(ofContainer({ env: [{ name: "B" }, { name: "B" }] }), [
    'spec.containers[0].env[1]: hides previous definition of "B", which may be dropped when using apply',
  ]);
  assert.deepEqual(ofContainer({ resources: { requests: { memory: "1n" } } }), [
    'spec.containers[0].resources.requests[memory]: fractional byte value "1m" is invalid, must be an integer',
  ]);
  assert.deepEqual(warned({ imagePullSecrets: [{}, { name: "" }] }), [
    'spec.imagePullSecrets[1].name: duplicate name ""',
    'spec.imagePullSecrets[0].name: invalid empty name ""',
    'spec.imagePullSecrets[1].name: invalid empty name ""',
  ]);
  assert.deepEqual(warned({ overhead: { memory: "1500m", cpu: "1m" } }), [
    'spec.overhead[memory]: fractional byte value "1500m" is invalid, must be an integer',
  ]);
  assert.deepEqual(warned({ hostAliases: [{ ip: "10.0.0.1" }, { ip: "10.0.0.1" }] }), [
    'spec.hostAliases[1].ip: duplicate ip "10.0.0.1"',
  ]);
  const volumes = [
    { name: "v", gitRepo: {} },
    { name: "w", projected: { sources: [{ secret: { name: "s" } }, {}] } },
    { name: "x", projected: { sources: [] } },
  ];
  assert.deepEqual(warned({ volumes, terminationGracePeriodSeconds: -1 }), [
    "spec.volumes[0].gitRepo: deprecated in v1.11",
    'volume "w" (Projected) has no sources provided',
    "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1",
  ]);
  assert.deepEqual(
    warned({ topologySpreadConstraints: [{ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" }] }),
    ["spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod"],
  );
});

test("a template is warned of in creates, and in updates of more than metadata and status", () => {
  const sets = kindUnderTest({ group: "apps", version: "v1", kind: "ReplicaSet" });
  const template = { metadata: {}, spec: { containers: [container], terminationGracePeriodSeconds: -1 } };
  const set = (replicas: number, labels: Readonly<Record<string, string>> = {}): Unstructured =>
    sets.defaults({ metadata: { name: "r", labels }, spec: { replicas, template }, status: {} });
  const [warning = ""] = sets.warnCreate(set(1));
  assert.match(warning, /^spec\.template\.spec\.terminationGracePeriodSeconds: /);
  assert.deepEqual(sets.warnUpdate(set(1, { a: "b" }), set(1)), []);
  assert.deepEqual(sets.warnUpdate(set(2), set(1)), [warning]);
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
