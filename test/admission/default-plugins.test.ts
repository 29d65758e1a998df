/** Plugins that are on by default: changes and refusals of pods, nodes and ingresses. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { patchTypes } from "../client.ts";
import { type Api, domains, suite, usingObserved, withOwnServer } from "../harness.ts";
import { pod } from "../objects.ts";

const inBothDomains = suite();

const priorityClass = (name: string, value: number, more: object = {}) => ({
  apiVersion: "scheduling.k8s.io/v1",
  kind: "PriorityClass",
  metadata: { name },
  value,
  ...more,
});
const runtimeClass = (name: string, more: object = {}) => ({
  apiVersion: "node.k8s.io/v1",
  kind: "RuntimeClass",
  metadata: { name },
  handler: "h",
  ...more,
});
const node = (name: string, spec: object = {}) => ({ apiVersion: "v1", kind: "Node", metadata: { name }, spec });
const ingress = (more: object = {}, annotations: object = {}) => ({
  apiVersion: "networking.k8s.io/v1",
  kind: "Ingress",
  metadata: { name: "i", annotations },
  spec: { defaultBackend: { service: { name: "s", port: { number: 80 } } }, ...more },
});
const ingressClass = (name: string, annotations: object = {}) => ({
  apiVersion: "networking.k8s.io/v1",
  kind: "IngressClass",
  metadata: { name, annotations },
  spec: { controller: "example.com/c" },
});

const priorities = "/apis/scheduling.k8s.io/v1/priorityclasses";
const runtimes = "/apis/node.k8s.io/v1/runtimeclasses";
const ingressClasses = "/apis/networking.k8s.io/v1/ingressclasses";

const podsOf = async (api: Api): Promise<string> => `/api/v1/namespaces/${(await api.createNamespace()).ns}/pods`;
const absent = (value: unknown): boolean => value === undefined;
const toleration = (api: Api, reason: string, tolerationSeconds = 300) => ({
  key: api.name(`node.kubernetes.io/${reason}`),
  operator: "Exists",
  effect: "NoExecute",
  tolerationSeconds,
});
const defaultTolerations = (api: Api) => [toleration(api, "not-ready"), toleration(api, "unreachable")];

inBothDomains("a pod gets the priority of its class and may not say another one [DRY-05]", async (api) => {
  const pods = await podsOf(api);
  const name = api.unique("class");
  (await api.post(priorities, priorityClass(name, -10, { preemptionPolicy: "Never" }))).expect(201);
  (await api.post(pods, pod("plain"))).expect(201, {
    "spec.priority": 0,
    "spec.preemptionPolicy": "PreemptLowerPriority",
    "spec.priorityClassName": absent,
  });
  const classed = { priorityClassName: name };
  const expected = { "spec.priority": -10, "spec.preemptionPolicy": "Never" };
  (await api.post(`${pods}?dryRun=All`, pod("p", classed))).expect(201, expected);
  (await api.post(pods, pod("p", { ...classed, priority: -10 }))).expect(201, expected);
  const expectRefusal = async (spec: object, text: string): Promise<void> => {
    (await api.post(pods, pod("q", spec))).expectFailure(403, "Forbidden", `pods "q" is forbidden: ${text}`);
  };
  const computedMessage = (computed: string) =>
    `must not be provided in pod spec; priority admission controller computed ${computed} from the given PriorityClass name`;
  await expectRefusal({ priority: 5 }, `the integer value of priority (5) ${computedMessage("0")}`);
  await expectRefusal({ ...classed, priority: 5 }, `the integer value of priority (5) ${computedMessage("-10")}`);
  await expectRefusal(
    { ...classed, preemptionPolicy: "PreemptLowerPriority" },
    `the string value of PreemptionPolicy (PreemptLowerPriority) ${computedMessage("Never")}`,
  );
  await expectRefusal({ priorityClassName: "none" }, "no PriorityClass with name none was found");
  const system = pod("s", { priorityClassName: "system-node-critical" });
  (await api.post(pods, system)).expect(201, { "spec.priority": 2_000_001_000 });
});

inBothDomains("a pod that is sent again without its priority keeps it", async (api) => {
  const pods = await podsOf(api);
  const name = api.unique("class");
  (await api.post(priorities, priorityClass(name, 7))).expect(201);
  (await api.post(pods, pod("p", { priorityClassName: name }))).expect(201);
  (await api.delete(`${priorities}/${name}`)).expect(200);
  const resent = structuredClone((await api.get(`${pods}/p`)).value) as { readonly spec: Record<string, unknown> };
  for (const field of ["priority", "preemptionPolicy", "tolerations"]) delete resent.spec[field];
  (await api.put(`${pods}/p`, resent)).expect(200, {
    "spec.priority": 7,
    "spec.preemptionPolicy": "PreemptLowerPriority",
    "spec.tolerations": defaultTolerations(api),
  });
});

inBothDomains("names and values of the system's priority classes are not for others", async (api) => {
  const expectRefusal = async (body: ReturnType<typeof priorityClass>, text: string): Promise<void> => {
    const answer = await api.post(`${priorities}?dryRun=All`, body);
    const { name } = body.metadata;
    answer.expectFailure(422, "Invalid", api.name(`PriorityClass.scheduling.k8s.io "${name}" is invalid: ${text}`));
  };
  const reserved =
    "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error:";
  const maximum = "value: Forbidden: maximum allowed value of a user defined priority is 1000000000";
  await expectRefusal(priorityClass("big", 1_000_000_001), maximum);
  await expectRefusal(priorityClass("system-x", 1), `${reserved} system-x is not a known system priority class`);
  const critical = "system-node-critical";
  await expectRefusal(priorityClass(critical, 1), `${reserved} value of ${critical} PriorityClass must be 2000001000`);
  await expectRefusal(
    priorityClass(critical, 2_000_001_000, { globalDefault: true }),
    `${reserved} globalDefault of ${critical} PriorityClass must be false`,
  );
  (await api.post(`${priorities}?dryRun=All`, priorityClass("most", 1_000_000_000))).expect(201);
});

withOwnServer("there is one default priority class, in force when its write is answered", {}, async (api) => {
  const pods = await podsOf(api);
  (await api.post(priorities, priorityClass("first", 50, { globalDefault: true }))).expect(201);
  (await api.post(pods, pod("p"))).expect(201, { "spec.priority": 50, "spec.priorityClassName": "first" });
  (await api.post(priorities, priorityClass("second", 60))).expect(201);
  const text = (name: string) =>
    api.name(
      `priorityclasses.scheduling.k8s.io "${name}" is forbidden: PriorityClass first is already marked as default. Only one default can exist`,
    );
  const third = priorityClass("third", 60, { globalDefault: true });
  (await api.post(priorities, third)).expectFailure(403, "Forbidden", text("third"));
  const mark = (name: string, globalDefault: boolean) =>
    api.patch(`${priorities}/${name}`, { globalDefault, description: "d" });
  (await mark("second", true)).expectFailure(403, "Forbidden", text("second"));
  (await mark("first", true)).expect(200);
  (await mark("first", false)).expect(200);
  (await mark("second", true)).expect(200);
  (await api.post(pods, pod("q"))).expect(201, { "spec.priority": 60, "spec.priorityClassName": "second" });
});

inBothDomains("a pod that does not say how long stays five minutes on a node that fails", async (api) => {
  const pods = await podsOf(api);
  const tolerations = async (given: readonly object[]): Promise<unknown> => {
    const answer = await api.post(`${pods}?dryRun=All`, pod("p", { tolerations: given }));
    return answer.expect(201).at("spec.tolerations");
  };
  const [notReady, unreachable] = defaultTolerations(api);
  assert.deepEqual(await tolerations([]), [notReady, unreachable]);
  const own = { key: notReady!.key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 };
  assert.deepEqual(await tolerations([own]), [own, unreachable]);
  const scheduling = { key: notReady!.key, operator: "Exists", effect: "NoSchedule" };
  assert.deepEqual(await tolerations([scheduling]), [scheduling, notReady, unreachable]);
  assert.deepEqual(await tolerations([{ operator: "Exists" }]), [{ operator: "Exists" }]);
});

for (const domain of domains) {
  test(`${domain}: a write whose change is taken back by a plugin makes no version, however late it comes`, {
    skip: process.env["TEST_SERVER"] === undefined ? false : "starts its own servers",
  }, async () => {
    await usingObserved(domain, {}, async ({ api, clock }) => {
      const pods = await podsOf(api);
      const given = { tolerations: [{ key: "k", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 }] };
      const apply = () => api.patch(`${pods}/p?fieldManager=m`, pod("p", given), patchTypes.apply);
      const edit = () => api.patch(`${pods}/p?fieldManager=editor`, { spec: given });
      const applied = (await apply()).expect(201, { "spec.tolerations.length": 3 }).string("metadata.resourceVersion");
      clock.advance(2000);
      (await apply()).expect(200, { "metadata.resourceVersion": applied });
      const edited = (await edit()).expect(200).string("metadata.resourceVersion");
      clock.advance(2000);
      (await edit()).expect(200, { "metadata.resourceVersion": edited });
    });
  });
}

withOwnServer(
  "flags say how long pods stay on nodes that fail",
  { defaultNotReadyTolerationSeconds: 10, defaultUnreachableTolerationSeconds: 20 },
  async (api) => {
    const pods = await podsOf(api);
    const tolerations = [toleration(api, "not-ready", 10), toleration(api, "unreachable", 20)];
    (await api.post(pods, pod("p"))).expect(201, { "spec.tolerations": tolerations });
  },
);

inBothDomains("a new node has the taint of one that is not ready, once", async (api) => {
  const taint = { key: api.name("node.kubernetes.io/not-ready"), effect: "NoSchedule" };
  const taints = async (given: readonly object[]): Promise<unknown> => {
    const answer = await api.post("/api/v1/nodes?dryRun=All", node(api.unique("node"), { taints: given }));
    return answer.expect(201).at("spec.taints");
  };
  assert.deepEqual(await taints([]), [taint]);
  assert.deepEqual(await taints([{ key: "a", effect: "NoSchedule" }]), [{ key: "a", effect: "NoSchedule" }, taint]);
  assert.deepEqual(await taints([{ ...taint, value: "x" }]), [{ ...taint, value: "x" }]);
  const name = api.unique("node");
  (await api.post("/api/v1/nodes", node(name))).expect(201);
  const object = (await api.get(`/api/v1/nodes/${name}`)).value as object;
  (await api.put(`/api/v1/nodes/${name}`, { ...object, spec: {} })).expect(200, { "spec.taints": absent });
});

inBothDomains("a pod gets the overhead and the place of its runtime class", async (api) => {
  const pods = await podsOf(api);
  const name = api.unique("class");
  const scheduling = { nodeSelector: { a: "b" }, tolerations: [{ key: "k", operator: "Exists" }] };
  (await api.post(runtimes, runtimeClass(name, { overhead: { podFixed: { cpu: "100m" } }, scheduling }))).expect(201);
  const plain = api.unique("plain");
  (await api.post(runtimes, runtimeClass(plain))).expect(201);
  const classed = { runtimeClassName: name };
  (await api.post(pods, pod("p", classed))).expect(201, {
    "spec.overhead": { cpu: "100m" },
    "spec.nodeSelector": { a: "b" },
    "spec.tolerations": [...defaultTolerations(api), { key: "k", operator: "Exists" }],
  });
  const given = { ...classed, overhead: { cpu: "0.1" }, nodeSelector: { a: "b", c: "d" } };
  (await api.post(pods, pod("q", given))).expect(201, { "spec.nodeSelector": { a: "b", c: "d" } });
  const expectRefusal = async (spec: object, text: string): Promise<void> => {
    (await api.post(pods, pod("r", spec))).expectFailure(403, "Forbidden", `pods "r" is forbidden: ${text}`);
  };
  await expectRefusal(
    { ...classed, overhead: { cpu: "1" } },
    "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
  );
  const without = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
  await expectRefusal({ overhead: { cpu: "1" } }, without);
  await expectRefusal({ runtimeClassName: plain, overhead: { cpu: "1" } }, without);
  await expectRefusal({ runtimeClassName: "none" }, 'pod rejected: RuntimeClass "none" not found');
  await expectRefusal(
    { ...classed, nodeSelector: { a: "c" } },
    "conflict: runtimeClass.scheduling.nodeSelector[a] = b; pod.spec.nodeSelector[a] = c",
  );
});

withOwnServer("an ingress that names no class gets the default one", {}, async (api) => {
  const { ns } = await api.createNamespace();
  const ingresses = `/apis/networking.k8s.io/v1/namespaces/${ns}/ingresses?dryRun=All`;
  const classOf = async (body: object): Promise<unknown> =>
    (await api.post(ingresses, body)).expect(201).at("spec.ingressClassName");
  assert.equal(await classOf(ingress()), undefined);
  const mark = "ingressclass.kubernetes.io/is-default-class";
  (await api.post(ingressClasses, ingressClass("other"))).expect(201);
  (await api.post(ingressClasses, ingressClass("standard", { [mark]: "true" }))).expect(201);
  assert.equal(await classOf(ingress()), "standard");
  assert.equal(await classOf(ingress({ ingressClassName: "own" })), "own");
  assert.equal(await classOf(ingress({}, { "kubernetes.io/ingress.class": "own" })), undefined);
});

withOwnServer(
  "plugins that are switched off add and refuse nothing",
  {
    disableAdmissionPlugins: ["Priority", "DefaultTolerationSeconds", "TaintNodesByCondition", "RuntimeClass"],
  },
  async (api) => {
    const pods = await podsOf(api);
    (await api.post(pods, pod("p", { priorityClassName: "none", runtimeClassName: "none" }))).expect(201, {
      "spec.priority": absent,
      "spec.tolerations": absent,
    });
    (await api.post("/api/v1/nodes", node("n"))).expect(201, { "spec.taints": absent });
  },
);
