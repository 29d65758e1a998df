/** Pods: the fields that each subresource may change. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { growsInProportion } from "#std/growth-for-tests.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const kind = { group: "", version: "v1", kind: "Pod" };
const pods = kindUnderTest(kind);
const container = { name: "c", image: "i", resources: {} };
const old: Unstructured = {
  kind: "Pod",
  apiVersion: "v1",
  metadata: { name: "p", uid: "u", resourceVersion: "5", creationTimestamp: null, labels: { a: "b" } },
  spec: { containers: [container], ephemeralContainers: [{ name: "d", image: "i", resources: {} }] },
  status: { phase: "Pending" },
};
const debug = { name: "e", image: "j", resources: {} };
const withDebug = {
  ...(old["spec"] as object),
  ephemeralContainers: [{ name: "d", image: "i", resources: {} }, debug],
};

test("a write of ephemeralcontainers changes only the ephemeral containers", () => {
  const sent: Unstructured = {
    ...old,
    metadata: { ...old.metadata, labels: { a: "c" }, ownerReferences: [] },
    spec: { ...withDebug, nodeName: "n", containers: [{ ...container, image: "other" }] },
    status: { phase: "Running" },
  };
  const next = pods.update(sent, old, "ephemeralcontainers");
  assert.deepEqual(next.metadata, old.metadata);
  assert.deepEqual(next["status"], old["status"]);
  assert.deepEqual(
    { ...(next["spec"] as object), ephemeralContainers: [] },
    { ...(old["spec"] as object), ephemeralContainers: [] },
  );
  const { ephemeralContainers } = next["spec"] as {
    readonly ephemeralContainers: readonly { readonly name: string }[];
  };
  assert.deepEqual(
    ephemeralContainers.map(({ name }) => name),
    ["d", "e"],
  );
});

test("ephemeral containers stay as they are once they are there", () => {
  const base = pods.update(old, old);
  const refuse = (list: readonly object[]): string[] => {
    const sent = { ...base, spec: { ...(base["spec"] as object), ephemeralContainers: list } };
    return pods.refuseUpdate(sent, base, "ephemeralcontainers");
  };
  const { ephemeralContainers: containers } = base["spec"] as { readonly ephemeralContainers: readonly object[] };
  const why = 'spec.ephemeralContainers: Forbidden: existing ephemeral containers "d" may not be';
  assert.deepEqual(refuse(containers), []);
  assert.deepEqual(refuse([...containers, debug]), []);
  assert.deepEqual(refuse([debug]), [`${why} removed\n`]);
  assert.deepEqual(refuse([{ ...containers[0], image: "other" }, debug]), [`${why} changed\n`]);
});

test("a pod is made without ephemeral containers", () => {
  assert.deepEqual(pods.refuseCreate(old), ["spec.ephemeralContainers: Forbidden: cannot be set on create"]);
  assert.deepEqual(pods.refuseCreate({ ...old, spec: { containers: [container] } }), []);
});

test("a deletion time in a pod's status is passed over", () => {
  const sent = { ...old, metadata: { ...old.metadata, deletionTimestamp: "2001-01-01T00:00:00Z" } };
  assert.equal(pods.update(sent, old, "status").metadata.deletionTimestamp, undefined);
});

const spec = {
  containers: [container],
  terminationGracePeriodSeconds: 30,
  activeDeadlineSeconds: 100,
  tolerations: [{ key: "a", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 }],
};

/** Returns the findings about an update of a pod that was created with `before`. */
function refuseChange(before: object, after: object): string[] {
  const pod = (spec: object): Unstructured => ({ kind: "Pod", apiVersion: "v1", metadata: old.metadata, spec });
  return pods.refuseUpdate(pod(after), pods.update(pod(before), old));
}

const only =
  "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`," +
  "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," +
  "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

test("an update of a pod changes images, deadlines and tolerations, and little else", () => {
  const check = (change: object, ...findings: string[]): void =>
    assert.deepEqual(refuseChange(spec, { ...spec, ...change }), findings, JSON.stringify(change));
  check({});
  check({ containers: [{ ...container, image: "other" }] });
  check(
    { containers: [{ ...container, image: "", imagePullPolicy: "Always" }] },
    "spec.containers[0].image: Required value",
  );
  check({ activeDeadlineSeconds: 50 });
  check({ tolerations: [{ key: "b" }, { ...spec.tolerations[0], tolerationSeconds: 9 }] });

  check({ nodeName: "n" }, `${only} (changed: "nodeName")`);
  check({ containers: [{ ...container, name: "d" }] }, `${only} (changed: "containers")`);
  check({ containers: [{ ...container, env: [{ name: "A" }] }] }, `${only} (changed: "containers")`);
  check({ hostname: "h", nodeSelector: { a: "b" } }, `${only} (changed: "nodeSelector", "hostname")`);
  check({ terminationGracePeriodSeconds: 1 }, `${only} (changed: "terminationGracePeriodSeconds")`);
  const more = "Forbidden: pod updates may not add or remove containers";
  check({ containers: [container, { ...container, name: "d" }] }, `spec.containers: ${more}`);
  check({ containers: [] }, "spec.containers: Required value", `spec.containers: ${more}`);
  check({ initContainers: [{ ...container, name: "d" }] }, `spec.initContainers: ${more}`);

  const deadline = "spec.activeDeadlineSeconds: Invalid value";
  check({ activeDeadlineSeconds: 200 }, `${deadline}: 200: must be less than or equal to previous value`);
  check({ activeDeadlineSeconds: 0 }, `${deadline}: 0: must be between 1 and 2147483647, inclusive`);
  check(
    { activeDeadlineSeconds: undefined },
    `${deadline}: "null": must not update from a positive integer to nil value`,
  );
  check(
    { tolerations: [{ key: "b" }] },
    "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
  );
  check(
    { schedulingGates: [{ name: "g" }] },
    "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'g'",
  );
  const tolerations =
    "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds";
  check({ tolerations: [], nodeName: "n" }, tolerations, `${only} (changed: "nodeName")`);
  check(
    { activeDeadlineSeconds: 200, tolerations: [] },
    `${deadline}: 200: must be less than or equal to previous value`,
  );
  const negative = { containers: [container], terminationGracePeriodSeconds: -5 };
  assert.deepEqual(refuseChange(negative, { ...negative, terminationGracePeriodSeconds: 1 }), []);
});

test("while a pod has scheduling gates, its nodes may become fewer", () => {
  const key = (name: string): object => ({ key: name, operator: "Exists" });
  const terms = (...lists: string[][]): object => ({
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: lists.map((keys) => ({ matchExpressions: keys.map(key) })),
      },
    },
  });
  const gated = {
    containers: [container],
    schedulingGates: [{ name: "x" }, { name: "y" }],
    nodeSelector: { a: "b" },
    affinity: terms(["a"]),
  };
  const check = (change: object, ...findings: RegExp[]): void => {
    const errors = refuseChange(gated, { ...gated, ...change });
    assert.equal(errors.length, findings.length, errors.join());
    for (const [i, finding] of findings.entries()) assert.match(errors[i]!, finding);
  };
  check({ schedulingGates: [{ name: "y" }] });
  check({ schedulingGates: undefined, nodeSelector: { a: "b", c: "d" } });
  check({ affinity: terms(["a", "b"]) });
  check({ nodeSelector: { a: "c" } }, /^spec\.nodeSelector: .*only additions to spec\.nodeSelector are allowed/);
  check({ affinity: terms(["b"]) }, /nodeSelectorTerms\[0\]: .*only additions are allowed/);
  check({ affinity: terms(["a"], ["b"]) }, /nodeSelectorTerms: .*no additions\/deletions to non-empty/);
  check({ affinity: undefined }, /nodeSelectorTerms: .*no additions\/deletions to non-empty/);
  check({ hostname: "h" }, /may not change fields other than/);
  check({ affinity: { ...terms(["a"]), podAffinity: {} } }, /\(changed: "affinity"\)$/);
});

test("a resize sets CPU and memory of containers that there are, and nothing else", () => {
  const pods = kindUnderTest(kind, { gates: ["InPlacePodVerticalScaling"] });
  const resources = { requests: { cpu: "1m", "ephemeral-storage": "1Mi" }, limits: { cpu: "2m" } };
  const present = pods.update({ ...old, spec: { containers: [{ ...container, resources }] } }, old);
  const resize = (one: object, more: object = {}): Unstructured =>
    pods.update(
      { ...present, spec: { containers: [{ ...container, ...one }, debug], nodeName: "n" }, ...more },
      present,
      "resize",
    );
  const wider = { ...resources, requests: { ...resources.requests, cpu: "2m" } };
  const next = resize({ image: "other", resources: wider }, { metadata: { ...old.metadata, labels: { a: "c" } } });
  assert.deepEqual(next.metadata, present.metadata);
  assert.deepEqual(next["status"], { phase: "Pending", resize: "Proposed" });
  const [first, ...others] = (present["spec"] as { readonly containers: readonly object[] }).containers;
  const spec = { ...(present["spec"] as object), containers: [{ ...first, resources: wider }, ...others] };
  assert.deepEqual(next["spec"], spec);
  assert.deepEqual(resize({ resources }), present);

  const refuse = (wanted: object): string[] => pods.refuseUpdate(resize({ resources: wanted }), present, "resize");
  const onlyThese = "spec: Forbidden: only cpu and memory resources are mutable";
  assert.deepEqual(refuse(wider), []);
  assert.deepEqual(refuse({ ...resources, limits: { cpu: "2m", "ephemeral-storage": "1Mi" } }), [onlyThese]);
  assert.deepEqual(refuse({}), [
    'spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing',
    "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
    "spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed",
    onlyThese,
  ]);
});

test("podIP and podIPs say the same, as soon as one of them is given", () => {
  const writeStatus = (status: object): unknown[] => {
    const next = pods.update({ metadata: { name: "p" }, spec: {}, status }, { metadata: { name: "p" } }, "status");
    const { podIP, podIPs } = next["status"] as { podIP?: string; podIPs?: unknown };
    return [podIP, podIPs];
  };
  const both = [{ ip: "10.1.0.1" }, { ip: "fd00::1" }];
  assert.deepEqual(writeStatus({ podIP: "10.1.0.1" }), ["10.1.0.1", [{ ip: "10.1.0.1" }]]);
  assert.deepEqual(writeStatus({ podIPs: both }), ["10.1.0.1", both]);
  assert.deepEqual(writeStatus({ podIP: "10.1.0.1", podIPs: both }), ["10.1.0.1", both]);
  assert.deepEqual(writeStatus({ podIP: "10.1.0.2", podIPs: both }), ["10.1.0.2", [{ ip: "10.1.0.2" }]]);
  assert.deepEqual(writeStatus({}), [undefined, undefined]);
});

test("a pod of Windows, and containers that take claims, are not resized", () => {
  const { create, update, refuseUpdate } = kindUnderTest(kind, {
    gates: ["InPlacePodVerticalScaling", "DynamicResourceAllocation"],
  });
  const refuse = (spec: object, cpu: string): string[] => {
    const podWith = (resources: object): Unstructured => ({
      metadata: { name: "p" },
      spec: {
        ...spec,
        resourceClaims: [{ name: "r", resourceClaimName: "x" }],
        containers: [{ ...container, resources }],
      },
    });
    const claims = "os" in spec ? [] : [{ name: "r" }];
    const present = create(podWith({ claims, requests: { cpu: "1" } }));
    return refuseUpdate(update(podWith({ claims, requests: { cpu } }), present, "resize"), present, "resize");
  };
  assert.deepEqual(refuse({ os: { name: "windows" } }, "2"), ["[]: Forbidden: windows pods cannot be resized"]);
  assert.deepEqual(refuse({}, "2"), ["spec: Forbidden: only cpu and memory resources are mutable"]);
});

test("many tolerations are compared in one pass", async () => {
  await growsInProportion(5000, (length) => {
    const tolerations = Array.from({ length }, (_, i) => ({ key: `k${i}`, operator: "Exists" }));
    assert.deepEqual(refuseChange({ ...spec, tolerations }, { ...spec, tolerations: tolerations.toReversed() }), []);
  });
});

test("keys of affinity terms become requirements of their selectors, with the labels of the new pod", () => {
  const affine = (term: object): Unstructured => ({
    metadata: { name: "p", labels: { app: "a", tier: "b" } },
    spec: {
      containers: [container],
      affinity: {
        podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "zone", ...term }] },
      },
    },
  });
  const keys = { matchLabelKeys: ["tier", "none"], mismatchLabelKeys: ["app"] };
  const selector = { matchExpressions: [{ key: "x", operator: "Exists" }] };
  const { affinity } = pods.create(affine({ labelSelector: selector, ...keys }))["spec"] as Record<string, object>;
  assert.deepEqual(affinity, {
    podAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        {
          topologyKey: "zone",
          labelSelector: {
            matchExpressions: [
              { key: "x", operator: "Exists" },
              { key: "tier", operator: "In", values: ["b"] },
              { key: "app", operator: "NotIn", values: ["a"] },
            ],
          },
          ...keys,
        },
      ],
    },
  });
  assert.deepEqual(
    pods.refuseCreate(affine({ labelSelector: { matchLabels: { tier: "y" } }, matchLabelKeys: ["tier"] })),
    [
      'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0][0]: Invalid value: "tier": exists in both matchLabelKeys and labelSelector',
    ],
  );
});
