/**
 * Single kinds that answer like kube-apiserver 1.32.1: field selectors, defaults, warnings, and the content of Tables.
 */
import assert from "node:assert/strict";
import { asTable, patchTypes } from "../client.ts";
import { suite } from "../harness.ts";
import { configMap, pod } from "../objects.ts";
import { absent, type Fields } from "../view.ts";

const inBothDomains = suite();

const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } };
const selected = { selector: { matchLabels: { a: "b" } }, template };
const justMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

inBothDomains("selectors name the fields that 1.32 knows, in lists, watches and deletions of many", async (api) => {
  const { ns } = await api.createNamespace();
  const only = 'only "metadata.name", "metadata.namespace"';
  const refused: readonly (readonly [collection: string, field: string, message: string])[] = [
    [`/apis/apps/v1/namespaces/${ns}/replicasets`, "status.replicas", only],
    [`/apis/apps/v1/namespaces/${ns}/statefulsets`, "status.successful", only],
    [`/api/v1/componentstatuses`, "x", only],
    [`/apis/batch/v1/namespaces/${ns}/jobs`, "x", 'field label "x" not supported for Job'],
    [`/api/v1/namespaces/${ns}/pods`, "x", "field label not supported: x"],
  ];
  for (const [collection, field, message] of refused) {
    const text = message === only ? `"${field}" is not a known field selector: ${only}` : message;
    const query = `fieldSelector=${encodeURIComponent(`${field}=1`)}`;
    (await api.get(`${collection}?${query}`)).expectFailure(400, "BadRequest", text);
    if (collection.includes("componentstatuses")) continue;
    (await api.get(`${collection}?watch=true&${query}`)).expectFailure(400, "BadRequest", text);
    (await api.delete(`${collection}?${query}`)).expectFailure(400, "BadRequest", text);
  }
  (await api.get("/api/v1/componentstatuses?fieldSelector=metadata.name=nobody")).expect(200, { "items.length": 0 });
  (await api.get("/api/v1/componentstatuses?labelSelector=a=b")).expect(200, { "items.length": 0 });
  (await api.get(`/api/v1/namespaces/${ns}/replicationcontrollers?fieldSelector=status.replicas=1`)).expect(200);
});

inBothDomains("autoscalers of version v1 come back from exports, and their status from its own writes", async (api) => {
  const { ns } = await api.createNamespace();
  const older = `/apis/autoscaling/v1/namespaces/${ns}/horizontalpodautoscalers`;
  const newer = `/apis/autoscaling/v2/namespaces/${ns}/horizontalpodautoscalers`;
  const prefix = "autoscaling.alpha.kubernetes.io/";
  const conditions = (status: string): string =>
    `[{"type":"AbleToScale","status":"${status}","lastTransitionTime":"2021-03-08T17:42:11Z","reason":"R","message":"m"}]`;
  const metrics = '[{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":80}}]';
  const autoscaler = (status: string): object => ({
    apiVersion: "autoscaling/v1",
    kind: "HorizontalPodAutoscaler",
    metadata: {
      name: "one",
      annotations: { [`${prefix}conditions`]: conditions(status), [`${prefix}metrics`]: metrics },
    },
    spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "x" } },
  });
  const isMetrics = { [`metadata.annotations[${prefix}metrics]`]: metrics };
  (await api.post(older, autoscaler("True"))).expect(201);
  const memory = { name: "memory", target: { type: "Utilization", averageUtilization: 80 } };
  const spec = { "spec.metrics": [{ type: "Resource", resource: memory }] };
  (await api.get(`${newer}/one`)).expect(200, { ...spec, "status.conditions": absent, "metadata.annotations": absent });
  assert.equal((await api.get(`${older}/one`)).text.includes(JSON.stringify(metrics)), true, JSON.stringify(isMetrics));
  (await api.put(`${older}/one/status`, autoscaler("True"))).expect(200);
  (await api.get(`${newer}/one`)).expect(200, { ...spec, "status.conditions[0].status": "True" });
  (await api.put(`${older}/one`, autoscaler("False"))).expect(200);
  (await api.get(`${newer}/one`)).expect(200, { ...spec, "status.conditions[0].status": "True" });
  (await api.put(`${older}/one/status`, autoscaler("False"))).expect(200);
  (await api.get(`${newer}/one`)).expect(200, { "status.conditions[0].status": "False" });
  // A status that is written through v1 does not change the stored spec, which v1 cannot express.
  const average = { type: "AverageValue", averageValue: "3" };
  const object = { describedObject: { kind: "Service", name: "s" }, metric: { name: "m" }, target: average };
  (await api.patch(`${newer}/one`, { spec: { metrics: [{ type: "Object", object }] } })).expect(200);
  (await api.patch(`${older}/one/status`, { status: { currentReplicas: 2 } })).expect(200);
  (await api.get(`${newer}/one`)).expect(200, {
    "spec.metrics[0].object.target": average,
    "status.currentReplicas": 2,
  });
});

inBothDomains(
  "metadata that conversion makes is not in rows or metadata alone, and a dry run has no version",
  async (api) => {
    const { ns, configMaps } = await api.createNamespace();
    const sets = `/apis/apps/v1/namespaces/${ns}/daemonsets`;
    const set = { apiVersion: "apps/v1", kind: "DaemonSet", metadata: { name: "one", annotations: { mine: "1" } } };
    (await api.post(sets, { ...set, spec: selected })).expect(201);
    const mine = { mine: "1" };
    (await api.get(sets, { accept: asTable })).expect(200, { "rows[0].object.metadata.annotations": mine });
    (await api.get(`${sets}/one`, { accept: asTable })).expect(200, { "rows[0].object.metadata.annotations": mine });
    (await api.get(`${sets}/one`, { accept: justMetadata })).expect(200, { "metadata.annotations": mine });
    (await api.get(sets, { accept: justMetadata.replace("Metadata;", "MetadataList;") })).expect(200, {
      "items[0].metadata.annotations": mine,
    });
    assert.ok((await api.get(`${sets}/one`)).text.includes("template.generation"));
    const answer = await api.post(`${configMaps}?dryRun=All`, configMap("one"), { accept: asTable });
    answer.expect(201, { metadata: {} });
  },
);

inBothDomains("claims that pods and stateful sets are given have the warnings of claims", async (api) => {
  const { ns } = await api.createNamespace();
  const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1.5" } } };
  const volumes = [{ name: "v", ephemeral: { volumeClaimTemplate: { spec: claim } } }];
  const containers = [{ name: "c", image: "i" }];
  const text = (path: string): string =>
    `${path}.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer`;
  const ofVolume = (path: string): string => text(`${path}.volumes[0].ephemeral.volumeClaimTemplate.spec`);
  const made = await api.post(`/api/v1/namespaces/${ns}/pods?dryRun=All`, pod("p", { containers, volumes }));
  assert.deepEqual(made.expect(201).warnings, [ofVolume("spec")]);

  const sets = `/apis/apps/v1/namespaces/${ns}/statefulsets`;
  const set = await api.post(sets, {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "s" },
    spec: {
      serviceName: "s",
      selector: { matchLabels: { app: "s" } },
      template: { metadata: { labels: { app: "s" } }, spec: { containers, volumes } },
      volumeClaimTemplates: [{ metadata: { name: "d" }, spec: claim }],
    },
  });
  const ofTemplate = ofVolume("spec.template.spec");
  assert.deepEqual(set.expect(201).warnings, [ofTemplate, text("spec.volumeClaimTemplates[0]")]);
  const changed = async (change: object): Promise<readonly string[]> =>
    (await api.patch(`${sets}/s`, change)).expect(200).warnings;
  const ofClaim = text("spec.volumeClaimTemplates[0].Spec");
  assert.deepEqual(await changed({ metadata: { labels: { a: "b" } } }), [ofClaim]);
  assert.deepEqual(await changed({ spec: { replicas: 2 } }), [ofTemplate, ofClaim]);
});

inBothDomains("names and variables of pods give the warnings of 1.32", async (api) => {
  const { ns } = await api.createNamespace();
  const pods = `/api/v1/namespaces/${ns}/pods`;
  const dry = `${pods}?dryRun=All`;
  const warnings = async (name: string, more: Fields = {}): Promise<readonly string[]> =>
    (await api.post(dry, pod(name, { containers: [{ name: "c", image: "i", ...more }] }))).expect(201).warnings;
  const text =
    "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended";
  assert.deepEqual(await warnings("a.b.c"), [`${text}: [must not contain dots]`]);
  assert.deepEqual(await warnings("a".repeat(64)), [`${text}: [must be no more than 63 characters]`]);
  assert.deepEqual(await warnings("a"), []);
  const env = (...values: readonly string[]): Fields => ({ env: values.map((value) => ({ name: "FOO", value })) });
  for (const value of ["b-$(FOO)", "$(FOO)b", "$$(FOO)"]) assert.deepEqual(await warnings("a", env("a", value)), []);
  for (const value of ["b", "$(FOO)", "$(BAR)"]) assert.equal((await warnings("a", env("a", value))).length, 1, value);
  assert.equal((await warnings("a", { resources: { limits: { memory: "1Ei" } } })).length, 2);
  assert.equal((await warnings("a", { resources: { limits: { memory: "8Ei" } } })).length, 0);
});

inBothDomains("small things of pods, jobs and services are those of 1.32", async (api) => {
  const { ns } = await api.createNamespace();
  const pods = `/api/v1/namespaces/${ns}/pods`;
  const body = { ...(pod("one") as Fields), status: { qosClass: "Guaranteed" } };
  (await api.post(`${pods}?dryRun=All`, body)).expect(201, { "status.qosClass": "Guaranteed" });
  const old = { annotations: { "pod.beta.kubernetes.io/init-containers": "[]", mine: "1" } };
  (await api.post(`${pods}?dryRun=All`, pod("one", {}, old))).expect(201, { "metadata.annotations": { mine: "1" } });
  const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "gone" } };
  for (const deleteOptions of [{ dryRun: ["None"] }, { propagationPolicy: "Nope" }]) {
    (await api.post(`${pods}/gone/eviction`, { ...eviction, deleteOptions })).expectFailure(404, "NotFound");
  }
  const jobs = `/apis/batch/v1/namespaces/${ns}/jobs`;
  const job = (name: string, labels: Fields | undefined, of: Fields | undefined): object => ({
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name, labels },
    spec: { template: { metadata: { labels: of }, spec: { ...template.spec, restartPolicy: "Never" } } },
  });
  const long = (await api.post(jobs, job("a".repeat(64), undefined, undefined))).expect(422);
  assert.equal(long.list("details.causes").length, 2);
  // A job with the same labels as its template keeps them; a job without labels has those that the template gets.
  (await api.post(jobs, job("same", { a: "b" }, { a: "b" }))).expect(201, { "metadata.labels": { a: "b" } });
  (await api.post(jobs, job("none", undefined, { a: "b" }))).expect(201, { "metadata.labels[job-name]": "none" });
  (await api.post(jobs, job("bare", undefined, undefined))).expect(201, { "metadata.labels[job-name]": "bare" });
  // A job with a generated name keeps the labels of its template as they were sent.
  const nameless = { ...job("", undefined, { a: "b" }), metadata: { generateName: "g-" } };
  const generated = (await api.post(jobs, nameless)).expect(201, { "metadata.labels": { a: "b" } });
  generated.has({ "spec.template.metadata.labels[job-name]": generated.string("metadata.name") });
  (await api.post(jobs, { ...job("", undefined, { a: "b" }), metadata: {} })).expect(422, {
    "details.causes.length": 1,
    "details.causes.0.field": "metadata.name",
  });
  const outside = { type: "ExternalName", externalName: "a.b", externalIPs: ["192.0.2.1"], ports: [{ port: 80 }] };
  const service = { apiVersion: "v1", kind: "Service", metadata: { name: "one" }, spec: outside };
  const warned = await api.post(`/api/v1/namespaces/${ns}/services`, service);
  assert.deepEqual(warned.expect(201).warnings, ['spec.externalIPs is ignored when spec.type is "ExternalName"']);
});

inBothDomains("kubectl's annotation goes where the applied configuration is too large for it", async (api) => {
  const { configMaps } = await api.createNamespace();
  const annotation = "kubectl.kubernetes.io/last-applied-configuration";
  const first = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "one", annotations: { [annotation]: "{}" } } };
  (await api.post(configMaps, first)).expect(201);
  const large = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "one" }, data: { a: "x".repeat(300_000) } };
  const applied = await api.patch(`${configMaps}/one?fieldManager=kubectl&force=true`, large, patchTypes.apply);
  applied.expect(200, { "metadata.annotations": absent });
});

inBothDomains("the zero time is a value, not the absence of one", async (api) => {
  const { ns, configMaps } = await api.createNamespace();
  const zero = "0001-01-01T00:00:00Z";
  const merge = patchTypes.merge;
  (await api.post(configMaps, configMap("one"))).expect(201);
  const ends = { metadata: { deletionTimestamp: zero } };
  const unchanging = /metadata.deletionTimestamp: Invalid value: 0001-01-01 00:00:00 \+0000 UTC: field is immutable/;
  (await api.patch(`${configMaps}/one`, ends, merge)).expectFailure(422, "Invalid", unchanging);
  (await api.get(`${configMaps}/one`)).expect(200, { "metadata.deletionTimestamp": absent });

  const jobs = `/apis/batch/v1/namespaces/${ns}/jobs`;
  const spec = { suspend: true, template: { spec: { ...template.spec, restartPolicy: "Never" } } };
  (await api.post(jobs, { apiVersion: "batch/v1", kind: "Job", metadata: { name: "one" }, spec })).expect(201);
  const statusOf = (status: Fields) => api.patch(`${jobs}/one/status`, { status }, merge);
  const early = /0001-01-01 00:00:00 \+0000 UTC: cannot set completionTime when there is no Complete=True condition/;
  (await statusOf({ completionTime: zero })).expectFailure(422, "Invalid", early);
  (await statusOf({ startTime: zero })).expect(200, { "status.startTime": null });
  (await api.get(`${jobs}/one`, { accept: asTable })).expect(200, { "rows[0].cells[3]": "292y" });
  const conditions = ["SuccessCriteriaMet", "Complete"].map((type) => ({ type, status: "True" }));
  (await statusOf({ startTime: zero, completionTime: zero, conditions })).expect(200, {
    "status.completionTime": null,
  });
  // A null time is an absent one.
  const gone = (await statusOf({ startTime: null, completionTime: null })).expect(422);
  assert.equal(gone.list("details.causes").length, 2);
});

inBothDomains("node affinity of a pod with scheduling gates comes and goes alone", async (api) => {
  const { ns } = await api.createNamespace();
  const pods = `/api/v1/namespaces/${ns}/pods`;
  const none = undefined;
  const node = { nodeAffinity: {} };
  const cases: readonly (readonly [before: Fields | undefined, after: Fields | null, code: number])[] = [
    [none, {}, 422],
    [none, node, 200],
    [none, { podAffinity: {} }, 422],
    [{}, null, 422],
    [{}, node, 200],
    [node, null, 200],
    [node, {}, 200],
    [{ podAffinity: {} }, null, 422],
    [{ podAffinity: {} }, { ...node, podAffinity: {} }, 200],
  ];
  for (const [at, [affinity, after, code]] of cases.entries()) {
    const name = `gated-${at}`;
    (await api.post(pods, pod(name, { affinity, schedulingGates: [{ name: "example.com/a" }] }))).expect(201);
    const patch = [{ op: "add", path: "/spec/affinity", value: after }];
    (await api.patch(`${pods}/${name}`, patch, patchTypes.json)).expect(code);
  }
});

inBothDomains("an empty preemption policy of a template is a missing one", async (api) => {
  const { ns } = await api.createNamespace();
  const sets = `/apis/apps/v1/namespaces/${ns}/replicasets`;
  const spec = { ...selected, template: { ...template, spec: { ...template.spec, preemptionPolicy: "" } } };
  const set = { apiVersion: "apps/v1", kind: "ReplicaSet", metadata: { name: "one" }, spec };
  (await api.post(sets, set)).expectFailure(422, "Invalid", /spec.template.spec.preemptionPolicy: Required value/);
});

inBothDomains("an empty Table has no rows, or null for kinds with the columns of all kinds", async (api) => {
  const { ns } = await api.createNamespace();
  const none = "labelSelector=none%3Dof-these";
  for (const list of ["/apis/autoscaling/v2", "/api/v1"]) {
    const resource = list === "/api/v1" ? "configmaps" : "horizontalpodautoscalers";
    (await api.get(`${list}/namespaces/${ns}/${resource}?${none}`, { accept: asTable })).expect(200, { rows: [] });
  }
  (await api.get(`/api/v1/namespaces/${ns}/limitranges?${none}`, { accept: asTable })).expect(200, { rows: null });
});

inBothDomains("the order of a list names its items, even where all of them are deleted", async (api) => {
  const { ns } = await api.createNamespace();
  const sets = `/apis/apps/v1/namespaces/${ns}/replicasets`;
  const container = { ...template.spec.containers[0], env: [{ name: "x", value: "1" }] };
  const spec = { ...selected, template: { ...template, spec: { containers: [container] } } };
  (await api.post(sets, { apiVersion: "apps/v1", kind: "ReplicaSet", metadata: { name: "one" }, spec })).expect(201);
  const of = { name: "c", env: [{ name: "x", $patch: "delete" }], "$setElementOrder/env": [{}] };
  const patch = { spec: { template: { spec: { containers: [of] } } } };
  const answer = (await api.patch(`${sets}/one`, patch, patchTypes.strategic)).expect(500);
  answer.expect(500, { message: "map: map[] does not contain declared merge key: name" });
});
