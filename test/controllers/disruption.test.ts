/** The status of disruption budgets, and evictions that use it up. */
import type { Api } from "../harness.ts";
import { eventually, gated, suite } from "../harness.ts";
import { namespaces, pod } from "../objects.ts";
import { absent, type Fields, present } from "../view.ts";

const inBothDomains = suite({ ...gated, controllers: ["*"] });

class Place {
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

  /** A running pod, of a controller if one is named. */
  async pod(name: string, ready = true, ownerReferences: readonly object[] = []): Promise<void> {
    const made = pod(name, {}, { labels: { app: "web" }, ownerReferences });
    await eventually(async () => (await this.#api.post(this.pods, made)).expect(201));
    await this.setReady(name, ready);
  }

  async setReady(name: string, ready: boolean): Promise<void> {
    const status = { phase: "Running", conditions: [{ type: "Ready", status: ready ? "True" : "False" }] };
    (await this.#api.patch(`${this.pods}/${name}/status`, { status })).expect(200);
  }

  /** A ReplicaSet, StatefulSet or Deployment; the reference of its pods. */
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

const placed = async (api: Api): Promise<Place> => new Place(api, (await api.place()).ns);

const allowed = (reason: string): Fields => ({
  "conditions.length": 1,
  "conditions.0.type": "DisruptionAllowed",
  "conditions.0.status": reason === "SufficientPods" ? "True" : "False",
  "conditions.0.reason": reason,
  "conditions.0.lastTransitionTime": present,
});

inBothDomains("a budget counts ready pods against those that have to stay", async (api) => {
  const place = await placed(api);
  await place.budget("b", { minAvailable: 1 });
  await place.sees("b", { observedGeneration: 1, expectedPods: 0, desiredHealthy: 1, disruptionsAllowed: 0 });
  await place.pod("p1");
  await place.pod("p2", false);
  await place.sees("b", {
    observedGeneration: 1,
    expectedPods: 2,
    currentHealthy: 1,
    desiredHealthy: 1,
    disruptionsAllowed: 0,
    disruptedPods: absent,
    ...allowed("InsufficientPods"),
    "conditions.0.observedGeneration": 1,
    "conditions.0.message": "",
  });
  await place.setReady("p2", true);
  await place.sees("b", { currentHealthy: 2, disruptionsAllowed: 1, ...allowed("SufficientPods") });
  (await api.patch(`${place.budgets}/b`, { spec: { minAvailable: 2 } })).expect(200);
  await place.sees("b", {
    observedGeneration: 2,
    desiredHealthy: 2,
    disruptionsAllowed: 0,
    ...allowed("InsufficientPods"),
    "conditions.0.observedGeneration": 2,
  });
});

inBothDomains("an eviction beyond the budget is refused until another pod is ready", async (api) => {
  const place = await placed(api);
  await place.budget("b", { minAvailable: 1 });
  await place.pod("p1");
  await place.pod("p2");
  await place.sees("b", { disruptionsAllowed: 1 });
  (await place.evict("p1")).expect(201);
  (await place.evict("p2")).refused(429, "TooManyRequests");
  await place.sees("b", { expectedPods: 1, currentHealthy: 1, disruptionsAllowed: 0, disruptedPods: absent });
  (await place.evict("p2")).refused(429, "TooManyRequests");
  await place.pod("p3");
  await place.sees("b", { currentHealthy: 2, disruptionsAllowed: 1 });
  (await place.evict("p2")).expect(201);
  await place.sees("b", { expectedPods: 1, currentHealthy: 1, disruptionsAllowed: 0 });
});

inBothDomains("percentages and what may be missing are of the pods that controllers are to keep", async (api) => {
  const place = await placed(api);
  const deployment = await place.controller("Deployment", "d", 4);
  const owned = await place.controller("ReplicaSet", "of-d", 3, [deployment]);
  const set = await place.controller("StatefulSet", "s", 5);
  await place.budget("min", { minAvailable: "30%" });
  await place.budget("max", { maxUnavailable: "25%" });
  await place.budget("count", { maxUnavailable: 20 });
  await place.pod("p1", true, [owned]);
  await place.pod("p2", true, [owned]);
  await place.pod("p3", true, [set]);
  await place.sees("min", { expectedPods: 9, currentHealthy: 3, desiredHealthy: 3, disruptionsAllowed: 0 });
  await place.sees("max", { expectedPods: 9, currentHealthy: 3, desiredHealthy: 6, disruptionsAllowed: 0 });
  await place.sees("count", { expectedPods: 9, desiredHealthy: 0, disruptionsAllowed: 3 });
});

inBothDomains("a custom kind says by its scale how many pods it keeps", async (api) => {
  const place = await placed(api);
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
  const made = await eventually(async () => (await api.post(place.path(`${group}/v1`, "fleets"), fleet)).expect(201));
  const uid = made.string("metadata.uid");
  const reference = { apiVersion: `${group}/v1`, kind: "Fleet", name: "f", uid, controller: true };
  await place.budget("b", { maxUnavailable: 5 });
  await place.pod("p1", true, [reference]);
  await place.pod("p2", true, [reference]);
  await place.sees("b", { expectedPods: 6, currentHealthy: 2, desiredHealthy: 1, disruptionsAllowed: 1 });
});

inBothDomains("nothing may be disrupted while it is not known how many pods there should be", async (api) => {
  const place = await placed(api);
  await place.budget("b", { maxUnavailable: 1 });
  const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m" } };
  const uid = (await api.post(place.pods.replace(/pods$/, "configmaps"), map)).expect(201).string("metadata.uid");
  await place.pod("p1", true, [{ apiVersion: "v1", kind: "ConfigMap", name: "m", uid, controller: true }]);
  await place.sees("b", {
    disruptionsAllowed: 0,
    ...allowed("SyncFailed"),
    "conditions.0.message": "configmaps does not implement the scale subresource",
  });
  (await place.evict("p1")).expect(429);
  await eventually(async () =>
    (await api.get(place.pods.replace(/pods$/, "events"))).expect(200, {
      "items[reason=CalculateExpectedPodCountFailed].message":
        "Failed to calculate the number of expected pods: configmaps does not implement the scale subresource",
    }),
  );
});

inBothDomains(
  "a pod that is evicted although its budget says no by AlwaysAllow is one that is not ready",
  async (api) => {
    const place = await placed(api);
    await place.budget("b", { minAvailable: 2, unhealthyPodEvictionPolicy: "AlwaysAllow" });
    await place.pod("p1");
    await place.pod("p2", false);
    await place.sees("b", { expectedPods: 2, currentHealthy: 1, disruptionsAllowed: 0 });
    (await place.evict("p1")).refused(429, "TooManyRequests");
    (await place.evict("p2")).expect(201);
    await place.sees("b", { expectedPods: 1 });
  },
);
