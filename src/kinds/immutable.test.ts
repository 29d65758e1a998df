/** Immutable fields of built-in kinds, with messages of a 1.32 server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "./kind-for-tests.ts";

interface Case {
  readonly group: string;
  readonly kind: string;
  readonly object: object;
  /** The changed fields, each with its findings. */
  readonly updates: readonly (readonly [sent: object, ...findings: string[]])[];
}

const pod = { restartPolicy: "Always", containers: [{ name: "c", image: "i" }] };
const template = { metadata: { labels: { a: "b" } }, spec: pod };
const selector = { matchLabels: { a: "b" } };
const otherSelector = { matchLabels: { a: "c" } };
const otherTemplate = { ...template, metadata: { labels: { a: "c" } } };
const statefulSet = { replicas: 1, serviceName: "s", selector, template };
const statefulSetKept =
  "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', " +
  "'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

const job = {
  completions: 1,
  parallelism: 1,
  manualSelector: true,
  selector,
  template: { ...template, spec: { ...pod, restartPolicy: "Never" } },
};

const cases: readonly Case[] = [
  {
    group: "apps",
    kind: "DaemonSet",
    object: { spec: { selector, template } },
    updates: [
      [{ spec: { selector, template: { ...template, spec: { ...pod, hostname: "h" } } } }],
      [
        { spec: { selector: otherSelector, template: otherTemplate } },
        'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"a":"c"}, ' +
          "MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: field is immutable",
      ],
    ],
  },
  {
    group: "apps",
    kind: "StatefulSet",
    object: { spec: statefulSet },
    updates: [
      [{ spec: { ...statefulSet, replicas: 3, minReadySeconds: 2, ordinals: { start: 1 } } }],
      [{ spec: { ...statefulSet, serviceName: "t" } }, statefulSetKept],
      [{ spec: { ...statefulSet, podManagementPolicy: "Parallel" } }, statefulSetKept],
      [{ spec: { ...statefulSet, selector: otherSelector, template: otherTemplate } }, statefulSetKept],
    ],
  },
  {
    group: "batch",
    kind: "Job",
    object: { spec: job },
    updates: [
      [{ spec: { ...job, parallelism: 3, suspend: true, backoffLimit: 1 } }],
      [{ spec: { ...job, completions: 2 } }, "spec.completions: Invalid value: 2: field is immutable"],
      [{ spec: { ...job, managedBy: "a/b" } }, 'spec.managedBy: Invalid value: "a/b": field is immutable'],
      [
        { spec: { ...job, selector: { matchExpressions: [{ key: "a", operator: "Exists" }] } } },
        "spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), " +
          'MatchExpressions:[]v1.LabelSelectorRequirement{v1.LabelSelectorRequirement{Key:"a", Operator:"Exists", ' +
          "Values:[]string(nil)}}}: field is immutable",
      ],
    ],
  },
  {
    group: "scheduling.k8s.io",
    kind: "PriorityClass",
    object: { value: 5 },
    updates: [
      [{ value: 5, globalDefault: true, description: "d" }],
      [{ value: 6 }, "value: Forbidden: may not be changed in an update."],
      [{ value: 5, preemptionPolicy: "Never" }, 'preemptionPolicy: Invalid value: "Never": field is immutable'],
    ],
  },
  {
    group: "storage.k8s.io",
    kind: "StorageClass",
    object: { provisioner: "a/b", parameters: { a: "b" } },
    updates: [
      [{ provisioner: "a/b", parameters: { a: "b" }, allowVolumeExpansion: true }],
      [{ provisioner: "a/b" }, "parameters: Forbidden: updates to parameters are forbidden."],
      [
        { provisioner: "a/c", parameters: { a: "b" }, reclaimPolicy: "Retain" },
        "provisioner: Forbidden: updates to provisioner are forbidden.",
        "reclaimPolicy: Forbidden: updates to reclaimPolicy are forbidden.",
      ],
      [
        { provisioner: "a/b", parameters: { a: "b" }, volumeBindingMode: "WaitForFirstConsumer" },
        'volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable',
      ],
    ],
  },
  {
    group: "node.k8s.io",
    kind: "RuntimeClass",
    object: { handler: "h" },
    updates: [[{ handler: "i" }, 'handler: Invalid value: "i": field is immutable']],
  },
  {
    group: "networking.k8s.io",
    kind: "IngressClass",
    object: { spec: { controller: "a.b/c" } },
    updates: [[{ spec: { controller: "a.b/d" } }, 'spec.controller: Invalid value: "a.b/d": field is immutable']],
  },
  {
    group: "discovery.k8s.io",
    kind: "EndpointSlice",
    object: { addressType: "IPv4", endpoints: [] },
    updates: [
      [{ addressType: "IPv4", endpoints: [{ addresses: ["10.0.0.1"] }] }],
      [{ addressType: "IPv6", endpoints: [] }, 'addressType: Invalid value: "IPv6": field is immutable'],
    ],
  },
];

for (const { group, kind, object: body, updates } of cases) {
  test(`an update of a ${kind} changes nothing that stays for good`, () => {
    const under = kindUnderTest({ group, version: "v1", kind });
    const object = (fields: object): Unstructured => ({
      apiVersion: `${group}/v1`,
      kind,
      metadata: { name: "one", uid: "u", resourceVersion: "5" },
      ...fields,
    });
    const old = under.create(object(body));
    for (const [sent, ...findings] of updates) {
      assert.deepEqual(under.refuseUpdate(object(sent), old), findings, JSON.stringify(sent));
    }
    if (kind === "DaemonSet" || kind === "StatefulSet") {
      assert.deepEqual(under.refuseUpdate(old, old, "status"), []);
    }
  });
}

test("jobs that wait to begin may get other nodes, indexed ones other sizes", () => {
  const jobs = kindUnderTest({ group: "batch", version: "v1", kind: "Job" });
  const object = (spec: object, status: object = {}): Unstructured => ({
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "one", uid: "u", resourceVersion: "5" },
    spec: { ...job, ...spec },
    status,
  });
  const withPod = (spec: object): object => ({
    template: { ...job.template, spec: { ...job.template.spec, ...spec } },
  });
  const findings = (before: Unstructured, spec: object): string[] =>
    jobs
      .refuseUpdate(object({ ...(before["spec"] as object), ...spec }), before)
      .map((text) => text.replace(/ \{.*\}/, ""));
  const errors = ["spec.template: Invalid value:: field is immutable"];
  const nodes = withPod({ nodeSelector: { a: "b" }, affinity: {}, tolerations: [{ operator: "Exists" }] });
  const image = withPod({ containers: [{ name: "c", image: "other" }] });
  const waiting = jobs.update(object({ suspend: true }), object({}));
  assert.deepEqual(findings(waiting, nodes), []);
  assert.deepEqual(findings(waiting, { template: { ...job.template, metadata: { labels: { a: "b", c: "d" } } } }), []);
  assert.deepEqual(findings(waiting, image), errors);
  assert.deepEqual(findings(jobs.update(object({}), object({})), nodes), errors);
  const began = { ...waiting, status: { startTime: "2026-01-01T00:00:00Z" } };
  assert.deepEqual(findings(began, nodes), errors);

  const indexed = jobs.update(object({ completionMode: "Indexed", completions: 2, parallelism: 2 }), object({}));
  assert.deepEqual(findings(indexed, { completions: 3, parallelism: 3 }), []);
  assert.deepEqual(findings(indexed, { completions: 3 }), [
    "spec.completions: Invalid value: 3: can only be modified in tandem with spec.parallelism",
  ]);
});
