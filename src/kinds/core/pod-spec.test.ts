/**
 * Defaults that differ between pods and templates, and defaults of unusual values. Source: the answers of
 * kube-apiserver 1.32.1.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodSpec } from "#api/core/v1.ts";
import { pullPolicy } from "./image-name.ts";
import { defaultPod, defaultPodSpec } from "./pod-spec.ts";

const createSpec = (fields: object, spec: object = {}): PodSpec =>
  ({ containers: [{ name: "a", image: "x", resources: {}, ...fields }], ...spec }) as PodSpec;

test("ports of the host's network are those of the host in pods, not in templates", () => {
  const spec = createSpec({ ports: [{ containerPort: 80 }] }, { hostNetwork: true });
  assert.equal(
    defaultPod(spec, { resizePolicy: false, podResources: false }).containers?.[0]?.ports?.[0]?.hostPort,
    80,
  );
  assert.equal(defaultPodSpec(spec).containers?.[0]?.ports?.[0]?.hostPort, undefined);
});

test("an image that cannot change, and one whose name is none, is pulled once", () => {
  for (const image of ["a", "a:latest", "registry.example.com:5000/a/b", "localhost/a_b"]) {
    assert.equal(pullPolicy(image), "Always", image);
  }
  for (const image of ["a:1", "r.example.com/a@sha256:00", "", " a", "A", "a b"]) {
    assert.equal(pullPolicy(image), "IfNotPresent", image);
  }
});

test("amounts of resources are kept in thousandths, rounded up", () => {
  const requests = { cpu: "1n", memory: "1500u", "example.com/a": "1", storage: "1e-4" };
  const { containers } = defaultPodSpec(createSpec({ resources: { requests } }));
  assert.deepEqual(containers?.[0]?.resources.requests, {
    cpu: "1m",
    memory: "2m",
    "example.com/a": "1",
    storage: "1e-3",
  });
});

test("a pod with limits of its own requests what its containers do, or the limits", () => {
  const requestsOf = (resources: object, ...own: readonly object[]): unknown => {
    const containers = own.map((resources, i) => ({ name: `c${i}`, image: "x", resources }));
    const spec = { containers, resources } as PodSpec;
    return defaultPod(spec, { resizePolicy: false, podResources: true }).resources?.requests;
  };
  const limits = { cpu: "2", memory: "1Gi" };
  assert.deepEqual(requestsOf({ limits }, {}), limits);
  assert.deepEqual(requestsOf({ limits }, { requests: { cpu: "1" } }, { limits: { cpu: "500m" } }), {
    cpu: "1500m",
    memory: "1Gi",
  });
  assert.deepEqual(requestsOf({ limits, requests: { cpu: "1" } }, { requests: { cpu: "3" } }), {
    cpu: "1",
    memory: "1Gi",
  });
  assert.deepEqual(requestsOf({ limits: { memory: "1Gi" } }, { requests: { cpu: "1" } }), { cpu: "1", memory: "1Gi" });
  assert.equal(requestsOf({}, { requests: { cpu: "1" } }), undefined);
  const whole = { containers: [{ name: "a", image: "x", resources: {} }], resources: { limits } } as unknown as PodSpec; // a PodSpec
  assert.equal(defaultPod(whole, { resizePolicy: false, podResources: false }).resources?.requests, undefined);
});

test("only main containers get resize policies", () => {
  const resources = { requests: { cpu: "1" } };
  const init = { name: "i", image: "x", restartPolicy: "Always", resources };
  const spec = defaultPod(createSpec({ resources }, { initContainers: [init] }), {
    resizePolicy: true,
    podResources: false,
  });
  assert.deepEqual(spec.containers?.[0]?.resizePolicy, [{ resourceName: "cpu", restartPolicy: "NotRequired" }]);
  assert.equal(spec.initContainers?.[0]?.resizePolicy, undefined);
});
