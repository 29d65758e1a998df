/** The status of disruption budgets, and evictions that use up the budget. */
import type { Api } from "../harness.ts";
import { eventually, gated, suite } from "../harness.ts";
import { namespaces, pod } from "../objects.ts";
import { absent, type Fields, present } from "../view.ts";

const inBothDomains = suite({ ...gated, controllers: ["*"] });

class BudgetTest {
  readonly #api: Api;
  readonly #ns: string;

  constructor(api: Api, ns: string) {
    this.#api = api;
    this.#ns = ns;
  }

  get pods(): string {
    return `${namespaces}/${this.#ns}/pods`;
  }

  path(group: string, resource: string): string {
    return `/apis/${group}/namespaces/${this.#ns}/${resource}`;
  }

  get budgets(): string {
    return this.path("policy/v1", "poddisruptionbudgets");
  }

  async budget(name: string, spec: object): Promise<void> {
    const selected = { selector: { matchLabels: { app: "web" } }, ...spec };
    const object = { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: { name }, spec: selected };
    (await this.#api.post(this.budgets, object)).expect(201);
  }

  /** Creates a running pod, of a controller if one is named. */
  async pod(name: string, ready = true, ownerReferences: readonly object[] = []): Promise<void> {
    const body = pod(name, {}, { labels: { app: "web" }, ownerReferences });
    await eventually(async () => (await this.#api.post(this.pods, body)).expect(201));
    await this.setReady(name, ready);
  }

  async setReady(name: string, ready: boolean): Promise<void> {
    const status = { phase: "Running", conditions: [{ type: "Ready", status: ready ? "True" : "False" }] };
    (await this.#api.patch(`${this.pods}/${name}/status`, { status })).expect(200);
  }

  /** Creates a ReplicaSet, StatefulSet or Deployment. Returns the owner reference for its pods. */
  async controller(kind: string, name: string, replicas: number, ownerReferences: readonly object[] = []) {
    const template = {
      metadata: { labels: { app: "web" } },
      spec: { containers: [{ name: "c", image: "i" }] },
    };
    const spec = { replicas, selector: { matchLabels: { app: "web" } }, template };
    const named = kind === "StatefulSet" ? { ...spec, serviceName: "s" } : spec;
    const object = { apiVersion: "apps/v1", kind, metadata: { name, ownerReferences }, spec: named };
    const path = this.path("apps/v1", `${kind.toLowerCase()}s`);
    const uid = (await this.#api.post(path, object)).expect(201).string("metadata.uid");
    return { apiVersion: "apps/v1", kind, name, uid, controller: true };
  }

  async sees(name: string, status: Fields): Promise<void> {
    const fields = Object.fromEntries(Object.entries(status).map(([key, value]) => [`status.${key}`, value]));
    await eventually(async () => (await this.#api.get(`${this.budgets}/${name}`)).expect(200, fields));
  }

  evict(name: string) {
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name } };
    return this.#api.post(`${this.pods}/${name}/eviction`, eviction);
  }
}

const openTest = async (api: Api): Promise<BudgetTest> => new BudgetTest(api, (await api.createNamespace()).ns);

const disruptionAllowed = (reason: string): Fields => ({
  "conditions.length": 1,
  "conditions.0.type": "DisruptionAllowed",
  "conditions.0.status": reason === "SufficientPods" ? "True" : "False",
  "conditions.0.reason": reason,
  "conditions.0.lastTransitionTime": present,
});

inBothDomains("a budget counts ready pods against those that have to stay", async (api) => {
  const fixture = await openTest(api);
  await fixture.budget("b", { minAvailable: 1 });
  await fixture.sees("b", { observedGeneration: 1, expectedPods: 0, desiredHealthy: 1, disruptionsAllowed: 0 });
  await fixture.pod("p1");
  await fixture.pod("p2", false);
  await fixture.sees("b", {
    observedGeneration: 1,
    expectedPods: 2,
    currentHealthy: 1,
    desiredHealthy: 1,
    disruptionsAllowed: 0,
    disruptedPods: absent,
    ...disruptionAllowed("InsufficientPods"),
    "conditions.0.observedGeneration": 1,
    "conditions.0.message": "",
  });
  await fixture.setReady("p2", true);
  await fixture.sees("b", { currentHealthy: 2, disruptionsAllowed: 1, ...disruptionAllowed("SufficientPods") });
  (await api.patch(`${fixture.budgets}/b`, { spec: { minAvailable: 2 } })).expect(200);
  await fixture.sees("b", {
    observedGeneration: 2,
    desiredHealthy: 2,
    disruptionsAllowed: 0,
    ...disruptionAllowed("InsufficientPods"),
    "conditions.0.observedGeneration": 2,
  });
});

inBothDomains("an eviction beyond the budget is refused until another pod is ready", async (api) => {
  const fixture = await openTest(api);
  await fixture.budget("b", { minAvailable: 1 });
  await fixture.pod("p1");
  await fixture.pod("p2");
  await fixture.sees("b", { disruptionsAllowed: 1 });
  (await fixture.evict("p1")).expect(201);
  (await fixture.evict("p2")).expectFailure(429, "TooManyRequests");
  await fixture.sees("b", { expectedPods: 1, currentHealthy: 1, disruptionsAllowed: 0, disruptedPods: absent });
  (await fixture.evict("p2")).expectFailure(429, "TooManyRequests");
  await fixture.pod("p3");
  await fixture.sees("b", { currentHealthy: 2, disruptionsAllowed: 1 });
  (await fixture.evict("p2")).expect(201);
  await fixture.sees("b", { expectedPods: 1, currentHealthy: 1, disruptionsAllowed: 0 });
});

inBothDomains("percentages and what may be missing are of the pods that controllers are to keep", async (api) => {
  const fixture = await openTest(api);
  const deployment = await fixture.controller("Deployment", "d", 4);
  const owned = await fixture.controller("ReplicaSet", "of-d", 3, [deployment]);
  const set = await fixture.controller("StatefulSet", "s", 5);
  await fixture.budget("min", { minAvailable: "30%" });
  await fixture.budget("max", { maxUnavailable: "25%" });
  await fixture.budget("count", { maxUnavailable: 20 });
  await fixture.pod("p1", true, [owned]);
  await fixture.pod("p2", true, [owned]);
  await fixture.pod("p3", true, [set]);
  await fixture.sees("min", { expectedPods: 9, currentHealthy: 3, desiredHealthy: 3, disruptionsAllowed: 0 });
  await fixture.sees("max", { expectedPods: 9, currentHealthy: 3, desiredHealthy: 6, disruptionsAllowed: 0 });
  await fixture.sees("count", { expectedPods: 9, desiredHealthy: 0, disruptionsAllowed: 3 });
});

inBothDomains("a custom kind says by its scale how many pods it keeps", async (api) => {
  const fixture = await openTest(api);
  const group = `${api.unique("g")}.example.com`;
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `fleets.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "fleets", kind: "Fleet" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
          subresources: { status: {}, scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.n" } },
        },
      ],
    },
  };
  (await api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)).expect(201);
  const fleet = { apiVersion: `${group}/v1`, kind: "Fleet", metadata: { name: "f" }, spec: { replicas: 6 } };
  const answer = await eventually(async () =>
    (await api.post(fixture.path(`${group}/v1`, "fleets"), fleet)).expect(201),
  );
  const uid = answer.string("metadata.uid");
  const reference = { apiVersion: `${group}/v1`, kind: "Fleet", name: "f", uid, controller: true };
  await fixture.budget("b", { maxUnavailable: 5 });
  await fixture.pod("p1", true, [reference]);
  await fixture.pod("p2", true, [reference]);
  await fixture.sees("b", { expectedPods: 6, currentHealthy: 2, desiredHealthy: 1, disruptionsAllowed: 1 });
});

inBothDomains("nothing may be disrupted while it is not known how many pods there should be", async (api) => {
  const fixture = await openTest(api);
  await fixture.budget("b", { maxUnavailable: 1 });
  const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m" } };
  const uid = (await api.post(fixture.pods.replace(/pods$/, "configmaps"), map)).expect(201).string("metadata.uid");
  await fixture.pod("p1", true, [{ apiVersion: "v1", kind: "ConfigMap", name: "m", uid, controller: true }]);
  await fixture.sees("b", {
    disruptionsAllowed: 0,
    ...disruptionAllowed("SyncFailed"),
    "conditions.0.message": "configmaps does not implement the scale subresource",
  });
  (await fixture.evict("p1")).expect(429);
  await eventually(async () =>
    (await api.get(fixture.pods.replace(/pods$/, "events"))).expect(200, {
      "items[reason=CalculateExpectedPodCountFailed].message":
        "Failed to calculate the number of expected pods: configmaps does not implement the scale subresource",
    }),
  );
});

inBothDomains(
  "a pod that is evicted although its budget says no by AlwaysAllow is one that is not ready",
  async (api) => {
    const fixture = await openTest(api);
    await fixture.budget("b", { minAvailable: 2, unhealthyPodEvictionPolicy: "AlwaysAllow" });
    await fixture.pod("p1");
    await fixture.pod("p2", false);
    await fixture.sees("b", { expectedPods: 2, currentHealthy: 1, disruptionsAllowed: 0 });
    (await fixture.evict("p1")).expectFailure(429, "TooManyRequests");
    (await fixture.evict("p2")).expect(201);
    await fixture.sees("b", { expectedPods: 1 });
  },
);

inBothDomains(
  "an empty selector selects all pods of the namespace, and none selects no pod [VER-55] [VER-56]",
  async (api) => {
    const fixture = await openTest(api);
    await fixture.budget("all", { selector: {}, minAvailable: 1 });
    const without = {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "none" },
      spec: { minAvailable: 1 },
    };
    (await api.post(fixture.budgets, without)).expect(201, { "spec.selector": absent });
    await fixture.pod("p1");
    await fixture.pod("p2");
    await fixture.sees("all", { observedGeneration: 1, expectedPods: 2, currentHealthy: 2 });
    await fixture.sees("none", { observedGeneration: 1, expectedPods: 0, currentHealthy: 0 });
  },
);
