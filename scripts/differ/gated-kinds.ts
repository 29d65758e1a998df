/**
 * Valid objects of kinds that are off by default, for comparisons of random edits. Both servers need the gates and
 * versions of these kinds (`main.ts`).
 */
import type { Random } from "#std/random.ts";
import { maybe, pick, some } from "./choices.ts";
import { type ComparedKind, ofCluster, comparedKindWithoutSpec as kind, withStatus } from "./compared-kind.ts";
import { deviceExpressions } from "./device-expressions.ts";
import type { Json } from "./servers.ts";

const selectors = (random: Random): Json[] =>
  some(random, 0.5, [{ cel: { expression: pick(random, deviceExpressions) } }]);

const opaque: Json = { driver: "gpu.example.com", parameters: { a: 1 } };

const claim = (random: Random): Json => ({
  devices: {
    requests: [
      { name: "a", deviceClassName: "gpu", selectors: selectors(random) },
      ...some<Json>(random, 0.5, [
        { name: "b", deviceClassName: "nic.example.com", allocationMode: "All", adminAccess: true },
        { name: "c", deviceClassName: "gpu", count: 2 },
      ]),
    ],
    ...maybe(random, 0.5, () => ({ constraints: [{ requests: ["a"], matchAttribute: "gpu.example.com/model" }] })),
    ...maybe(random, 0.5, () => ({ config: [{ requests: ["a"], opaque }] })),
  },
});

const oneDevice = (random: Random, value: (text: string) => unknown): Json => ({
  name: "dev-0",
  basic: {
    attributes: pick<Json>(random, [
      { model: { string: "x" }, "gpu.example.com/index": { int: 1 } },
      { version: { version: "1.2.3-rc.1+build" }, ready: { bool: true } },
    ]),
    ...maybe(random, 0.5, () => ({ capacity: { memory: value("1Gi") } })),
  },
});

const oneNodeTerm = { nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "In", values: ["b"] }] }] };

const slice =
  (value: (text: string) => unknown) =>
  (random: Random): Json => ({
    spec: {
      driver: "gpu.example.com",
      pool: { name: pick(random, ["a", "a/b"]), generation: 1, resourceSliceCount: 1 },
      ...pick<Json>(random, [{ nodeName: "n" }, { nodeSelector: oneNodeTerm }, { allNodes: true }]),
      devices: [oneDevice(random, value)],
    },
  });

const named = (of: ComparedKind, name: string): ComparedKind => ({
  ...of,
  make: (random) => ({ ...of.make(random), metadata: { name, labels: { app: "a" } } }),
});

const deviceKinds = (["v1beta1", "v1alpha3"] as const).flatMap((version) => [
  kind(
    "resource.k8s.io",
    version,
    "DeviceClass",
    "deviceclasses",
    (random) => ({ spec: { selectors: selectors(random), ...maybe(random, 0.5, () => ({ config: [{ opaque }] })) } }),
    ofCluster,
  ),
  kind(
    "resource.k8s.io",
    version,
    "ResourceSlice",
    "resourceslices",
    slice(version === "v1beta1" ? (value) => ({ value }) : (value) => value),
    ofCluster,
  ),
  kind(
    "resource.k8s.io",
    version,
    "ResourceClaim",
    "resourceclaims",
    (random) => ({ spec: claim(random) }),
    withStatus,
  ),
  kind("resource.k8s.io", version, "ResourceClaimTemplate", "resourceclaimtemplates", (random) => ({
    spec: { metadata: { labels: { a: "b" } }, spec: claim(random) },
  })),
]);

export const gatedKinds: readonly ComparedKind[] = [
  ...deviceKinds,
  named(
    kind(
      "networking.k8s.io",
      "v1beta1",
      "IPAddress",
      "ipaddresses",
      () => ({ spec: { parentRef: { group: "", resource: "services", namespace: "a", name: "b" } } }),
      ofCluster,
    ),
    "192.0.2.1",
  ),
  kind(
    "networking.k8s.io",
    "v1beta1",
    "ServiceCIDR",
    "servicecidrs",
    (random) => ({
      spec: { cidrs: pick(random, [["192.0.2.0/24"], ["2001:db8::/64"], ["192.0.2.0/24", "2001:db8::/64"]]) },
    }),
    { ...withStatus, ...ofCluster },
  ),
  kind("coordination.k8s.io", "v1alpha2", "LeaseCandidate", "leasecandidates", () => ({
    spec: {
      leaseName: "l",
      binaryVersion: "1.32.0",
      emulationVersion: "1.31.0",
      strategy: "OldestEmulationVersion",
      renewTime: "2024-01-02T03:04:05.000000Z",
    },
  })),
  kind(
    "storagemigration.k8s.io",
    "v1alpha1",
    "StorageVersionMigration",
    "storageversionmigrations",
    (random) => ({
      spec: {
        resource: { group: "apps", version: "v1", resource: "deployments" },
        ...maybe(random, 0.3, () => ({ continueToken: "x" })),
      },
    }),
    { ...withStatus, ...ofCluster },
  ),
];
