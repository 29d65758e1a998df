/** Quota usage of objects, and the kind of object behind each resource name. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { textsOf } from "../quantities.ts";
import { UsageEvaluators } from "./usage.ts";

const clock = new FakeClock();
const evaluators = new UsageEvaluators({ domain: kubernetesDomain, clock, hasDevices: true });

const usageOf = (group: string, resource: string, object: Unstructured): Record<string, string> =>
  textsOf(evaluators.of({ group, resource })!.usage(() => object));

const container = (requests: object, limits: object = {}, more: object = {}) => ({
  name: "c",
  resources: { requests, limits },
  ...more,
});

const pod = (spec: object, more: object = {}): Unstructured => ({ metadata: { name: "p" }, spec, status: {}, ...more });

test("containers add up, the largest init container counts, and those that keep running are added", () => {
  const spec = {
    containers: [container({ cpu: "100m" }, { cpu: "1" }), container({ cpu: "200m", memory: "1Gi" })],
    initContainers: [
      container({ cpu: "500m" }),
      container({ cpu: "50m" }, {}, { restartPolicy: "Always" }),
      container({ cpu: "400m" }),
    ],
    overhead: { cpu: "10m", memory: "16Mi" },
  };
  assert.deepEqual(usageOf("", "pods", pod(spec)), {
    "count/pods": "1",
    pods: "1",
    cpu: "510m",
    "requests.cpu": "510m",
    memory: "1040Mi",
    "requests.memory": "1040Mi",
    "limits.cpu": "1010m",
  });
});

test("huge pages and resources of vendors count by what is requested", () => {
  const requests = { "hugepages-2Mi": "4Mi", "example.com/gpu": "2", "kubernetes.io/other": "1" };
  assert.deepEqual(usageOf("", "pods", pod({ containers: [container(requests, requests)] })), {
    "count/pods": "1",
    pods: "1",
    "hugepages-2Mi": "4Mi",
    "requests.hugepages-2Mi": "4Mi",
    "requests.example.com/gpu": "2",
  });
});

test("a pod that has ended, or should be gone, is only counted", () => {
  const spec = { containers: [container({ cpu: "1" })] };
  for (const phase of ["Succeeded", "Failed"]) {
    assert.deepEqual(usageOf("", "pods", pod(spec, { status: { phase } })), { "count/pods": "1" });
  }
  const deletedPod = (deletionTimestamp: string) =>
    pod(spec, { metadata: { name: "p", deletionTimestamp, deletionGracePeriodSeconds: 30 } });
  const before = new Date(clock.now() - 31_000).toISOString();
  assert.deepEqual(usageOf("", "pods", deletedPod(before)), { "count/pods": "1" });
  assert.equal(usageOf("", "pods", deletedPod(new Date(clock.now() - 1000).toISOString()))["pods"], "1");
});

test("hostile quantities are added in no time", () => {
  const spec = { containers: [container({ cpu: "1e999999999" }), container({ cpu: "1" }), container({ cpu: "1n" })] };
  assert.match(usageOf("", "pods", pod(spec))["cpu"]!, /e999999999$/);
});

test("claims for devices count devices by class, all of a class as 32", () => {
  const requests = [
    { name: "a", deviceClassName: "gpu", allocationMode: "ExactCount", count: 2 },
    { name: "b", deviceClassName: "gpu", allocationMode: "All" },
  ];
  const claim = { metadata: { name: "c" }, spec: { devices: { requests } } };
  assert.deepEqual(usageOf("resource.k8s.io", "resourceclaims", claim), {
    "count/resourceclaims.resource.k8s.io": "1",
    "gpu.deviceclass.resource.k8s.io/devices": "34",
  });
});

test("a name is about one resource, with the names of the domain", () => {
  const platform = new UsageEvaluators({ domain: apiDomain("platform.io"), clock, hasDevices: true });
  const about = (all: UsageEvaluators, name: string): string | undefined => all.counting(name)?.resource;
  for (const [name, resource] of [
    ["requests.cpu", "pods"],
    ["requests.example.com/gpu", "pods"],
    ["count/services", "services"],
    ["gold.storageclass.storage.k8s.io/requests.storage", "persistentvolumeclaims"],
    ["count/deployments.apps", "deployments"],
    ["secrets", "secrets"],
    ["count/events", undefined],
    ["example.com/gpu", undefined],
  ] as const) {
    assert.equal(about(evaluators, name), resource, name);
  }
  assert.equal(about(platform, "gold.storageclass.storage.platform.io/requests.storage"), "persistentvolumeclaims");
  assert.equal(about(platform, "count/events.events.platform.io"), undefined);
});
