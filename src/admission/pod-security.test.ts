/** PodSecurity: the requests that are checked, exemptions, metrics, and the bounds of the check of existing pods. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Namespace, Pod } from "#api/core/v1.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { internalError } from "#meta/status-error.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { attributesOf } from "./attributes-for-tests.ts";
import type { AdmissionAttributes } from "./plugin.ts";
import { initialPodSecurity, podSecurity, type PodSecurityOptions } from "./pod-security.ts";

const prefix = "pod-security.kubernetes.io/";
const securityLabels = (labels: object): Record<string, string> =>
  Object.fromEntries(Object.entries(labels).map(([key, value]) => [prefix + key, value as string]));

/** Makes a plugin for a namespace with these labels, and records its metrics, annotations and warnings. */
function openPlugin(labels: object, over: Partial<PodSecurityOptions> = {}) {
  const output = { warnings: [] as string[], annotations: {} as Record<string, string>, counted: [] as string[] };
  const namespace = { metadata: { name: "n", labels: securityLabels(labels) } } as unknown as Namespace; // as stored
  const plugin = podSecurity({
    ...initialPodSecurity,
    domain: kubernetesDomain,
    clock: new FakeClock(),
    relaxesUserNamespaces: false,
    getNamespace: () => namespace,
    podsOf: () => ({ count: 0, pod: () => assert.fail("there is none") }),
    observer: {
      passed: (operation, subresource) => output.counted.push(`passed ${operation} ${subresource}`),
      evaluated: ({ decision, mode, level, version, operation, resource, subresource }) =>
        output.counted.push(`${decision} ${mode} ${level} ${version} ${operation} ${resource} ${subresource}`),
      exempted: ({ operation, resource }) => output.counted.push(`exempt ${operation} ${resource}`),
      failed: ({ operation, resource }) => output.counted.push(`failed ${operation} ${resource}`),
    },
    ...over,
  });
  const ask = async (object: object, more: Partial<AdmissionAttributes> = {}): Promise<void> => {
    const attributes = attributesOf(object as ApiObject, { ...pods, ...more });
    const context = {
      ...attributes.context,
      ...more.context,
      warn: (text: string) => output.warnings.push(text),
      annotate: (key: string, value: string) => (output.annotations[key.replace(prefix, "")] = value),
    };
    await plugin.validate!({ ...attributes, context });
  };
  return { output, ask };
}

const pods = {
  resource: { group: "", version: "v1", resource: "pods" },
  kind: { group: "", version: "v1", kind: "Pod" },
};

const podOf = (spec: object = {}, image = "i") => ({
  metadata: { name: "p" },
  spec: { containers: [{ name: "a", image }], ...spec },
});
const shared = podOf({ hostPID: true });
const refusal = /^pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces \(hostPID=true\)$/;

test("each mode checks its own standard, and names it", async () => {
  const { output, ask } = openPlugin({
    enforce: "baseline",
    audit: "restricted",
    "audit-version": "v1.5",
    warn: "baseline",
  });
  const prefix = 'would violate PodSecurity "restricted:v1.5":';
  const nonRoot = 'runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true)';
  await ask(podOf());
  assert.deepEqual(output.annotations, {
    "enforce-policy": "baseline:latest",
    "audit-violations": `${prefix} ${nonRoot}`,
  });
  await assert.rejects(ask(shared), { message: refusal });
  assert.equal(output.annotations["audit-violations"], `${prefix} host namespaces (hostPID=true), ${nonRoot}`);
  assert.deepEqual(output.warnings, []);
  assert.deepEqual(output.counted, [
    "allow enforce baseline latest create pod ",
    "deny audit restricted v1.5 create pod ",
    "deny enforce baseline latest create pod ",
    "deny audit restricted v1.5 create pod ",
  ]);
});

test("where nothing is forbidden, only the enforced level is annotated", async () => {
  const { output, ask } = openPlugin({ "enforce-version": "v1.5" });
  await ask(shared);
  await ask(shared, { operation: "UPDATE", oldObject: shared as unknown as ApiObject, subresource: "resize" });
  assert.deepEqual(output.annotations, { "enforce-policy": "privileged:latest" });
  assert.deepEqual(output.counted, ["passed create ", "passed update resize"]);
});

test("updates count that change images or add containers", async () => {
  const { output, ask } = openPlugin({ enforce: "baseline" });
  const update = (object: object, oldObject: object, subresource = ""): Promise<void> =>
    ask(object, { operation: "UPDATE", oldObject: oldObject as ApiObject, subresource });
  await update({ ...shared, metadata: { name: "p", labels: { a: "b" } } }, shared);
  for (const name of ["status", "binding", "eviction"]) await update(podOf({ hostPID: true }, "other"), shared, name);
  assert.deepEqual(output.annotations, {});
  await assert.rejects(update(podOf({ hostPID: true }, "other"), shared), { message: refusal });
  const debugged = podOf({ hostPID: true, ephemeralContainers: [{ name: "e", image: "i" }] });
  await assert.rejects(update(debugged, shared, "ephemeralcontainers"), { message: refusal });
  await update(debugged, debugged, "ephemeralcontainers");
  assert.deepEqual(output.counted, [
    "deny enforce baseline latest update pod ",
    "deny enforce baseline latest update pod ephemeralcontainers",
  ]);
});

test("namespaces, users and runtime classes are exempt", async () => {
  for (const [by, over] of [
    ["namespace", { exemptNamespaces: new Set(["n"]) }],
    ["user", { exemptUsers: new Set(["admin"]) }],
    ["runtimeClass", { exemptRuntimeClasses: new Set(["vm"]) }],
  ] as const) {
    const { output, ask } = openPlugin({ enforce: "restricted" }, over);
    await ask(podOf({ hostPID: true, runtimeClassName: "vm" }));
    const resource = { group: "apps", version: "v1", resource: "deployments" };
    await ask({ metadata: {}, spec: { template: podOf({ runtimeClassName: "vm" }) } }, { resource });
    assert.deepEqual(output.annotations, { exempt: by });
    assert.deepEqual(output.counted, ["exempt create pod", "exempt create controller"]);
    assert.deepEqual(output.warnings, []);
  }
});

test("pods of controllers are not refused", async () => {
  const templates = {
    podtemplates: [{ group: "" }, { template: shared }],
    replicationcontrollers: [{ group: "" }, { spec: { template: shared } }],
    replicasets: [{ group: "apps" }, { spec: { template: shared } }],
    jobs: [{ group: "batch" }, { spec: { template: shared } }],
    cronjobs: [{ group: "batch" }, { spec: { jobTemplate: { spec: { template: shared } } } }],
  } as const;
  for (const [resource, [{ group }, object]] of Object.entries(templates)) {
    const { output, ask } = openPlugin({ enforce: "baseline", audit: "baseline" });
    await ask({ metadata: {}, ...object }, { resource: { group, version: "v1", resource } });
    const text = 'would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)';
    assert.deepEqual(output.warnings, [text]);
    assert.deepEqual(output.annotations, { "audit-violations": text });
    assert.deepEqual(output.counted, [
      "deny audit baseline latest create controller ",
      "deny warn baseline latest create controller ",
    ]);
  }
  const { output, ask } = openPlugin({ enforce: "baseline" });
  await ask({ metadata: {}, spec: {} }, { resource: { group: "", version: "v1", resource: "replicationcontrollers" } });
  const other = { group: "example.com", version: "v1", resource: "jobs" };
  await ask({ metadata: {}, spec: { template: shared } }, { resource: other });
  assert.deepEqual(output.warnings, []);
});

test("labels that cannot be read are annotated and counted, versions to come are one", async () => {
  const { output, ask } = openPlugin({ enforce: "baseline", "enforce-version": "v1.40", audit: "x" });
  await assert.rejects(ask(shared), /violates PodSecurity "baseline:v1.40": /);
  assert.match(
    output.annotations["error"]!,
    /^Failed to parse policy: metadata\.labels\[\S+\]: Invalid value: "x": must/,
  );
  assert.deepEqual(output.counted, ["failed create pod", "deny enforce baseline future create pod "]);
});

const namespaces = {
  resource: { group: "", version: "v1", resource: "namespaces" },
  kind: { group: "", version: "v1", kind: "Namespace" },
  namespace: "n",
  name: "n",
};

/** Returns the answer to a change of labels of a namespace with these pods. */
async function relabel(
  before: object,
  after: object,
  stored: readonly object[],
  over: Partial<PodSecurityOptions> = {},
) {
  const { output, ask } = openPlugin({}, { podsOf: () => podList(stored), ...over });
  const object = { metadata: { name: "n", labels: securityLabels(after) } };
  const oldObject = { metadata: { name: "n", labels: securityLabels(before) } } as ApiObject;
  await ask(object, { ...namespaces, operation: "UPDATE", oldObject });
  return output.warnings;
}

const podList = (stored: readonly object[]) => ({
  count: stored.length,
  pod: (index: number): Pod => stored[index] as Pod, // as stored
});

const storedPod = (name: string, spec: object = {}, owner?: string) => ({
  metadata: {
    name,
    ...(owner === undefined ? {} : { ownerReferences: [{ uid: owner, controller: true }] }),
  },
  spec: { containers: [{ name: "a", image: "i" }], ...spec },
});

test("a stricter level warns about existing pods, grouped by reasons", async () => {
  const stored = [
    storedPod("a", { hostPID: true }),
    storedPod("b", { hostPID: true }),
    storedPod("c", { hostIPC: true, volumes: [{ name: "v", hostPath: {} }] }),
    storedPod("d", { hostIPC: true }),
    storedPod("e"),
    storedPod("f", { hostIPC: true, runtimeClassName: "vm" }),
  ];
  const options = { exemptRuntimeClasses: new Set(["vm"]) };
  const lines = [
    'existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest"',
    "a (and 2 other pods): host namespaces",
    "c: host namespaces, hostPath volumes",
  ];
  assert.deepEqual(await relabel({}, { enforce: "baseline" }, stored, options), lines);
  const other = { enforce: "baseline", "enforce-version": "v1.5" };
  assert.equal((await relabel(other, { enforce: "baseline" }, stored, options)).length, 3);
  for (const [before, after] of [
    [{ enforce: "restricted" }, { enforce: "baseline" }],
    [{ enforce: "restricted" }, {}],
    [{}, { warn: "restricted", audit: "restricted" }],
    [{ enforce: "x" }, { enforce: "restricted" }],
  ] as const) {
    assert.deepEqual(await relabel(before, after, stored, options), []);
  }
  assert.deepEqual(await relabel({}, { enforce: "baseline" }, [storedPod("e")]), []);
});

test("of many pods the first of each controller and some others are checked", async () => {
  const alike = Array.from({ length: 3000 }, (_, at) => storedPod(`a${10_000 + at}`, {}, "one"));
  const stored = [...alike, storedPod("z1", { hostPID: true }, "two"), storedPod("z2", { hostPID: true })];
  assert.deepEqual(await relabel({}, { enforce: "baseline" }, stored), [
    "new PodSecurity enforce level only checked against the first 3000 of 3002 existing pods",
    'existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest"',
    "z1 (and 1 other pod): host namespaces",
  ]);
});

test("the check of existing pods ends with its time", async () => {
  const clock = new FakeClock();
  const slow = (count: number) => ({
    count,
    pod(index: number): Pod {
      clock.advance(10);
      return storedPod(`p${index}`) as unknown as Pod; // as stored
    },
  });
  const only = (checked: number, count: number): readonly string[] => [
    `new PodSecurity enforce level only checked against the first ${checked} of ${count} existing pods`,
  ];
  const warnAbout = (count: number): Promise<readonly string[]> =>
    relabel({}, { enforce: "baseline" }, [], { clock, podsOf: () => slow(count) });
  assert.deepEqual(await warnAbout(1000), only(101, 1000));
  assert.deepEqual(await warnAbout(100_000), only(51, 100_000));
});

test("pods that cannot be read are no reason to refuse labels", async () => {
  const broken = {
    count: 1,
    pod() {
      throw internalError("broken");
    },
  };
  assert.deepEqual(await relabel({}, { enforce: "baseline" }, [], { podsOf: () => broken }), [
    "failed to list pods while checking new PodSecurity enforce level",
  ]);
});

test("labels must be readable, unless they were as wrong before", async () => {
  await assert.rejects(relabel({}, { enforce: "x" }, []), {
    message:
      'Namespace "n" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "x": must be one of privileged, baseline, restricted',
  });
  await relabel({ enforce: "x" }, { enforce: "x", warn: "baseline" }, []);
  await assert.rejects(relabel({ enforce: "x" }, { enforce: "y" }, []), /Invalid value: "y"/);
  await assert.rejects(relabel({ enforce: "x", warn: "x" }, { enforce: "x" }, []), /is invalid: metadata/);
});

test("labels of an exempt namespace are ignored, and a warning says so", async () => {
  const exempt = { exemptNamespaces: new Set(["n"]) };
  const create = async (labels: object, over: Partial<PodSecurityOptions> = {}): Promise<readonly string[]> => {
    const { output, ask } = openPlugin({}, { ...exempt, ...over });
    await ask({ metadata: { name: "n", labels: securityLabels(labels) } }, namespaces);
    return output.warnings;
  };
  const ignoredWarnings = (policy: string): readonly string[] => [
    `namespace "n" is exempt from Pod Security, and the policy (${policy}) will be ignored`,
  ];
  const all = { enforce: "baseline", "enforce-version": "v1.3", audit: "privileged", "warn-version": "v1.4" };
  assert.deepEqual(await create(all), ignoredWarnings("enforce=baseline:v1.3, warn=baseline:v1.4"));
  assert.deepEqual(await create({ audit: "restricted" }), ignoredWarnings("audit=restricted:latest"));
  assert.deepEqual(await create({ "enforce-version": "v1.3" }), []);
  const defaults = {
    ...initialPodSecurity.defaults,
    enforce: { level: "baseline", version: "latest", minor: 1e9 },
  } as const;
  assert.deepEqual(await create({ enforce: "baseline", warn: "privileged", "warn-version": "v1.3" }, { defaults }), []);
  assert.deepEqual(await create({ enforce: "restricted" }, { defaults }), ignoredWarnings("enforce=restricted:latest"));
  const stored = [storedPod("a", { hostPID: true })];
  assert.deepEqual(
    await relabel({}, { enforce: "baseline" }, stored, exempt),
    ignoredWarnings("enforce=baseline:latest"),
  );
  assert.deepEqual(await relabel({}, { warn: "baseline" }, stored, exempt), []);
});
