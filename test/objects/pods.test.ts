/** Binding and eviction of pods. */
import assert from "node:assert/strict";
import type { Answer } from "../client.ts";
import { type Api, suite, withOwnServer } from "../harness.ts";
import { pod } from "../objects.ts";
import { absent, type Fields, present } from "../view.ts";

const inBothDomains = suite();

interface Pods {
  readonly api: Api;
  readonly core: string;
  readonly pods: string;
  readonly budgets: string;
}

async function createPodNamespace(api: Api): Promise<Pods> {
  const { ns } = await api.createNamespace();
  const core = `/api/v1/namespaces/${ns}`;
  return { api, core, pods: `${core}/pods`, budgets: `/apis/policy/v1/namespaces/${ns}/poddisruptionbudgets` };
}

const make = async ({ api, pods }: Pods, name: string, spec: Fields = {}): Promise<Answer> =>
  (await api.post(pods, pod(name, spec, { labels: { app: "x" } }))).expect(201);

const bind = ({ api, pods }: Pods, name: string, more: Fields = {}, query = ""): Promise<Answer> =>
  api.post(`${pods}/${name}/binding${query}`, {
    apiVersion: "v1",
    kind: "Binding",
    metadata: { name },
    target: { kind: "Node", name: "n1" },
    ...more,
  });

const evict = ({ api, pods }: Pods, name: string, more: Fields = {}, query = ""): Promise<Answer> =>
  api.post(`${pods}/${name}/eviction${query}`, {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name },
    ...more,
  });

const done = { kind: "Status", apiVersion: "v1", status: "Success", code: 201 };

/** Creates a running pod, ready or not. */
async function setRunning(at: Pods, name: string, ready: "True" | "False" = "True"): Promise<void> {
  await make(at, name);
  const status = { phase: "Running", conditions: [{ type: "Ready", status: ready }] };
  (await at.api.patch(`${at.pods}/${name}/status`, { status })).expect(200);
}

async function budget({ api, budgets }: Pods, name: string, status: Fields, spec: Fields = {}): Promise<string> {
  const selector = { matchLabels: { app: "x" } };
  const object = { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: { name } };
  (await api.post(budgets, { ...object, spec: { minAvailable: 1, selector, ...spec } })).expect(201);
  const path = `${budgets}/${name}`;
  const all = { observedGeneration: 1, disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 };
  (await api.patch(`${path}/status`, { status: { ...all, ...status } })).expect(200);
  return path;
}

inBothDomains("a binding puts a pod onto a node, once", async (api) => {
  const at = await createPodNamespace(api);
  await make(at, "p");
  (await bind(at, "p", {}, "?dryRun=All")).expect(201, done);
  (await api.get(`${at.pods}/p`)).expect(200, { "spec.nodeName": absent });
  (await bind(at, "p", { metadata: { name: "p", annotations: { a: "b" } } })).expect(201, done);
  (await api.get(`${at.pods}/p`)).expect(200, {
    "spec.nodeName": "n1",
    "metadata.annotations.a": "b",
    "status.conditions[type=PodScheduled].status": "True",
    "status.conditions[type=PodScheduled].lastTransitionTime": present,
    "status.phase": "Pending",
  });
  const taken = `Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"`;
  (await bind(at, "p")).expectFailure(409, "Conflict", taken);
});

inBothDomains("of many schedulers one wins a pod", async (api) => {
  const at = await createPodNamespace(api);
  await make(at, "p");
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, i) => bind(at, "p", { target: { kind: "Node", name: `n${i}` } })),
  );
  const won = answers.findIndex(({ status }) => status === 201);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array<number>(7).fill(409)]);
  (await api.get(`${at.pods}/p`)).expect(200, { "spec.nodeName": `n${won}` });
});

inBothDomains("bindings name the pod themselves", async (api) => {
  const at = await createPodNamespace(api);
  await make(at, "p");
  const body = { apiVersion: "v1", kind: "Binding", target: { kind: "Node", name: "n1" } };
  (await api.post(`${at.core}/bindings`, body)).expectFailure(400, "BadRequest", "Name parameter required.");
  const aimless = { ...body, target: { kind: "Pod" } };
  const findings = `[target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>", target.name: Required value]`;
  (await api.post(`${at.core}/bindings`, aimless)).expect(500, { message: findings, reason: absent });
  (await api.post(`${at.core}/bindings`, { ...body, metadata: { name: "p" } })).expect(201, done);
  (await api.get(`${at.pods}/p`)).expect(200, { "spec.nodeName": "n1" });
});

inBothDomains("a pod that cannot be bound says why", async (api) => {
  const at = await createPodNamespace(api);
  await make(at, "gated", { schedulingGates: [{ name: "example.com/wait" }] });
  (await bind(at, "gated")).expectFailure(409, "Conflict", /pod gated has non-empty \.spec\.schedulingGates/);
  await make(at, "p");
  (await bind(at, "p", { metadata: { name: "q" } })).expectFailure(
    400,
    "BadRequest",
    "name in URL does not match name in Binding object",
  );
  (await bind(at, "p", { target: { kind: "Minion", name: "n1" } })).expect(500, {
    message: 'target.kind: Unsupported value: "Minion": supported values: "Node", "<empty>"',
  });
  (await bind(at, "p", { target: {} })).expect(500, { message: "target.name: Required value" });
  (await bind(at, "p", { metadata: { name: "p", uid: "other" } })).expectFailure(409, "Conflict");
  (await bind(at, "none")).expectFailure(404, "NotFound");
  (await api.patch(`${at.pods}/p`, { metadata: { finalizers: ["example.com/hold"] } })).expect(200);
  (await api.delete(`${at.pods}/p`)).expect(200);
  (await bind(at, "p")).expectFailure(409, "Conflict", /pod p is being deleted, cannot be assigned to a host/);
});

inBothDomains("a pod without a budget is evicted; a trial leaves it", async (api) => {
  const at = await createPodNamespace(api);
  await setRunning(at, "p");
  (await evict(at, "p", {}, "?dryRun=All")).expect(201, done);
  (await evict(at, "p", { deleteOptions: { dryRun: ["All"] } })).expect(201, done);
  (await evict(at, "p", { deleteOptions: { preconditions: { uid: "other" } } })).expectFailure(409, "Conflict");
  (await evict(at, "p", { metadata: { name: "q" } })).expectFailure(400, "BadRequest");
  (await api.get(`${at.pods}/p`)).expect(200, { "metadata.deletionTimestamp": absent });
  (await evict(at, "p", { apiVersion: "policy/v1beta1" })).expect(201, done);
  (await api.get(`${at.pods}/p`)).expect(404);
  (await evict(at, "p")).expectFailure(404, "NotFound");
});

inBothDomains("a pod on a node is told why it goes", async (api) => {
  const at = await createPodNamespace(api);
  await setRunning(at, "p");
  (await bind(at, "p")).expect(201);
  (await evict(at, "p")).expect(201, done);
  (await api.get(`${at.pods}/p`)).expect(200, {
    "metadata.deletionTimestamp": present,
    "status.conditions[type=DisruptionTarget].reason": "EvictionByEvictionAPI",
    "status.conditions[type=DisruptionTarget].status": "True",
  });
});

inBothDomains("a budget lets go as many as it allows", async (api) => {
  const at = await createPodNamespace(api);
  const path = await budget(at, "b", { disruptionsAllowed: 2, currentHealthy: 3 });
  for (let i = 0; i < 6; i++) await setRunning(at, `p${i}`);
  (await evict(at, "p0", {}, "?dryRun=All")).expect(201);
  (await api.get(path)).expect(200, { "status.disruptionsAllowed": 2, "status.disruptedPods": absent });
  const answers = await Promise.all(Array.from({ length: 6 }, (_, i) => evict(at, `p${i}`)));
  assert.equal(answers.filter(({ status }) => status === 201).length, 2);
  const refused = answers.find(({ status }) => status !== 201)!;
  refused.expectFailure(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.", {
    "details.causes[0].reason": "DisruptionBudget",
    "details.causes[0].message": "The disruption budget b needs 1 healthy pods and has 3 currently",
  });
  const after = (await api.get(path)).expect(200, {
    "status.disruptionsAllowed": 0,
    "status.conditions[type=DisruptionAllowed].reason": "InsufficientPods",
  });
  assert.equal(Object.keys((after.value as { status: { disruptedPods: object } }).status.disruptedPods).length, 2);
});

inBothDomains("a budget that its controller has not seen yet makes evictions wait", async (api) => {
  const at = await createPodNamespace(api);
  await setRunning(at, "p");
  await budget(at, "b", { observedGeneration: 0, disruptionsAllowed: 5 });
  (await evict(at, "p")).expectFailure(429, "TooManyRequests", undefined, {
    "details.retryAfterSeconds": 10,
    "details.causes[0].message": "The disruption budget b is still being processed by the server.",
  });
});

inBothDomains(
  "pods that are not ready go when the budget is met, or always by its policy; idle ones go at once",
  async (api) => {
    const at = await createPodNamespace(api);
    const path = await budget(at, "b", {});
    await setRunning(at, "met", "False");
    (await evict(at, "met")).expect(201);
    (await api.patch(`${path}/status`, { status: { currentHealthy: 0 } })).expect(200);
    await setRunning(at, "unmet", "False");
    (await evict(at, "unmet")).expectFailure(429, "TooManyRequests");
    (await api.patch(path, { spec: { unhealthyPodEvictionPolicy: "AlwaysAllow" } })).expect(200);
    (await evict(at, "unmet")).expect(201);
    await make(at, "pending");
    (await evict(at, "pending")).expect(201);
  },
);

inBothDomains("a pod with two budgets is not evicted", async (api) => {
  const at = await createPodNamespace(api);
  await setRunning(at, "p");
  await budget(at, "b", { disruptionsAllowed: 1 });
  await budget(at, "c", { disruptionsAllowed: 1 }, { selector: {} });
  (await evict(at, "p")).expect(500, {
    message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
  });
  (await api.get(`${at.pods}/p`)).expect(200);
});

withOwnServer("--allow-privileged=false refuses privileged containers", { allowPrivileged: false }, async (api) => {
  const pods = await createPodNamespace(api);
  const detail = "Forbidden: disallowed by cluster policy";
  const privileged = { name: "a", image: "a", securityContext: { privileged: true } };
  const plain = { name: "b", image: "b", securityContext: { privileged: false } };
  const refused = await api.post(pods.pods, pod("p", { containers: [plain, privileged] }));
  refused.expect(422, { message: `Pod "p" is invalid: spec.containers[1].securityContext.privileged: ${detail}` });
  const initial = await api.post(pods.pods, pod("p", { containers: [plain], initContainers: [privileged] }));
  initial.expect(422, { message: `Pod "p" is invalid: spec.initContainers[0].securityContext.privileged: ${detail}` });
  const labels = { app: "x" };
  const deployment = await api.post(`/apis/apps/v1/namespaces/${pods.core.split("/").at(-1)}/deployments`, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "d" },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [privileged] } } },
  });
  const path = "spec.template.spec.containers[0].securityContext.privileged";
  deployment.expect(422, { message: `Deployment.apps "d" is invalid: ${path}: ${detail}` });
  await make(pods, "p", { containers: [plain] });
});
