/** Plugins that are off by default: what they add to pods, what they refuse, and their configuration. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { ServerSettings } from "#server/options.ts";
import { patchTypes } from "../client.ts";
import {
  Api,
  type Domain,
  domains,
  file,
  type Observed,
  openServer,
  renamer,
  startsServers,
  temporaryFolder,
  usingObserved,
  withOwnServer,
} from "../harness.ts";
import { namespace, pod } from "../objects.ts";

const podsIn = (ns: string): string => `/api/v1/namespaces/${ns}/pods`;

/** Creates a namespace with annotations whose names are short for those of the scheduler. */
async function annotated(api: Api, given: Readonly<Record<string, string>> = {}): Promise<string> {
  const name = api.unique("ns");
  const annotations = Object.fromEntries(
    Object.entries(given).map(([key, value]) => [`scheduler.alpha.kubernetes.io/${key}`, value]),
  );
  (await api.post("/api/v1/namespaces", namespace(name, { annotations }))).expect(201);
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
  (await api.post(`/api/v1/namespaces/${name}/serviceaccounts`, account)).expect([201, 409]);
  return name;
}

/** Settings with one plugin, its configuration in the domain's names, and without tolerations of other plugins. */
function configured(domain: Domain, name: string, settings: object): ServerSettings {
  const document = {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AdmissionConfiguration",
    plugins: [{ name, configuration: settings }],
  };
  return {
    enableAdmissionPlugins: [name],
    disableAdmissionPlugins: ["DefaultTolerationSeconds"],
    admissionControlConfigFile: file(`${name}-${domain}`, renamer(domain)(JSON.stringify(document))),
  };
}

/** Runs a test with a server of its own in each domain, with a configured plugin. */
function withConfigured(
  title: string,
  plugin: string,
  settings: object,
  run: (on: Pick<Observed, "api" | "clock">) => Promise<void>,
): void {
  for (const domain of domains) {
    test(`${domain}: ${title}`, { skip: startsServers ? false : "starts its own servers" }, () =>
      usingObserved(domain, configured(domain, plugin, settings), run),
    );
  }
}

const service = (name: string, spec: object) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec: { ports: [{ port: 80 }], ...spec },
});

withOwnServer(
  "AlwaysPullImages: new images are pulled",
  { enableAdmissionPlugins: ["AlwaysPullImages"] },
  async (api) => {
    const pods = podsIn(await annotated(api));
    const containers = [{ name: "c", image: "i", imagePullPolicy: "Never" }];
    const initContainers = [{ name: "first", image: "j", imagePullPolicy: "IfNotPresent" }];
    (await api.post(pods, pod("p", { containers, initContainers }))).expect(201, {
      "spec.containers.0.imagePullPolicy": "Always",
      "spec.initContainers.0.imagePullPolicy": "Always",
    });
    const ephemeral = { spec: { ephemeralContainers: [{ name: "e", image: "k", imagePullPolicy: "Never" }] } };
    (await api.patch(`${pods}/p/ephemeralcontainers`, ephemeral, patchTypes.strategic)).expect(200, {
      "spec.ephemeralContainers.0.imagePullPolicy": "Never",
    });
    (await api.patch(`${pods}/p`, { metadata: { labels: { a: "b" } } })).expect(200);
  },
);

withOwnServer(
  "DenyServiceExternalIPs and LimitPodHardAntiAffinityTopology refuse what reaches beyond the own pods",
  { enableAdmissionPlugins: ["DenyServiceExternalIPs", "LimitPodHardAntiAffinityTopology"] },
  async (api) => {
    const ns = await annotated(api);
    const services = `/api/v1/namespaces/${ns}/services`;
    const denied = (name: string) =>
      `services "${name}" is forbidden: Use of external IPs is denied by admission control`;
    const externalIPs = ["1.2.3.4"];
    (await api.post(services, service("a", { externalIPs }))).expectFailure(403, "Forbidden", denied("a"));
    (await api.post(services, service("b", {}))).expect(201);
    (await api.patch(`${services}/b`, { spec: { externalIPs } })).expectFailure(403, "Forbidden", denied("b"));
    const apart = (topologyKey: string) => ({
      affinity: {
        podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: {} }] },
      },
    });
    const hostname = "kubernetes.io/hostname";
    (await api.post(podsIn(ns), pod("p", apart(hostname)))).expect(201);
    const message = `pods "q" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key ${api.name(hostname)} is allowed`;
    (await api.post(podsIn(ns), pod("q", apart("zone")))).expectFailure(403, "Forbidden", message);
  },
);

withOwnServer(
  "ExtendedResourceToleration: pods tolerate the taints of the devices that they request",
  { enableAdmissionPlugins: ["ExtendedResourceToleration"], disableAdmissionPlugins: ["DefaultTolerationSeconds"] },
  async (api) => {
    const pods = podsIn(await annotated(api));
    const resources = { limits: { "z.com/gpu": "1", "a.com/nic": "1", cpu: "1" } };
    const tolerated = (key: string) => ({ key, operator: "Exists", effect: "NoSchedule" });
    (await api.post(pods, pod("p", { containers: [{ name: "c", image: "i", resources }] }))).expect(201, {
      "spec.tolerations": [tolerated("a.com/nic"), tolerated("z.com/gpu")],
    });
    const tolerations = [tolerated("z.com/gpu")];
    const given = { tolerations, containers: [{ name: "c", image: "i", resources: { limits: { "z.com/gpu": "1" } } }] };
    (await api.post(pods, pod("q", given))).expect(201, { "spec.tolerations": tolerations });
  },
);

withOwnServer(
  "NamespaceAutoProvision: a create makes the namespace that it names",
  { enableAdmissionPlugins: ["NamespaceAutoProvision", "NamespaceExists"] },
  async (api) => {
    const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x" } };
    const into = (ns: string, query = "") => api.post(`/api/v1/namespaces/${ns}/configmaps${query}`, configMap);
    (await into("dry", "?dryRun=All")).expectFailure(404, "NotFound", 'namespaces "dry" not found');
    (await into("made")).expect(201);
    (await api.get("/api/v1/namespaces/made")).expect(200, { "status.phase": "Active" });
    (await into("Made")).expectFailure(
      403,
      "Forbidden",
      /^configmaps "x" is forbidden: Namespace "Made" is invalid: metadata\.name: Invalid value: "Made": /,
    );
  },
);

test("AlwaysDeny refuses every change, also of the server itself, and AlwaysAdmit none", {
  skip: startsServers ? false : "starts its own servers",
}, async () => {
  const dataDir = join(temporaryFolder(), "data");
  const first = await openServer("k8s.io", { storage: "disk", dataDir, enableAdmissionPlugins: ["AlwaysAdmit"] });
  const body = namespace("made");
  (await new Api(first).post("/api/v1/namespaces", body)).expect(201);
  await first.close();
  const second = await openServer("k8s.io", { storage: "disk", dataDir, enableAdmissionPlugins: ["AlwaysDeny"] });
  const api = new Api(second);
  const refused = (name: string) => `namespaces "${name}" is forbidden: admission control is denying all modifications`;
  const path = "/api/v1/namespaces/made";
  (await api.post("/api/v1/namespaces", namespace("new"))).expectFailure(403, "Forbidden", refused("new"));
  (await api.patch(path, { metadata: { labels: { a: "b" } } })).expectFailure(403, "Forbidden", refused("made"));
  (await api.delete(path)).expectFailure(403, "Forbidden", refused("made"));
  (await api.get(path)).expect(200);
  await second.close();
});

withConfigured(
  "PodNodeSelector: pods get the selector of their namespace",
  "PodNodeSelector",
  { podNodeSelectorPluginConfig: { clusterDefaultNodeSelector: "pool=shared", only: "pool=shared" } },
  async ({ api }) => {
    const shared = podsIn(await annotated(api));
    const created = async (pods: string, nodeSelector: object) =>
      api.post(pods, pod(api.unique("p"), { nodeSelector }));
    (await created(shared, { a: "b" })).expect(201, { "spec.nodeSelector": { a: "b", pool: "shared" } });
    const refused = await api.post(shared, pod("p", { nodeSelector: { pool: "own" } }));
    const text = "pod node label selector conflicts with its namespace node label selector";
    refused.expectFailure(403, "Forbidden", `pods "p" is forbidden: ${text}`);
    (await api.post("/api/v1/namespaces", namespace("only"))).expect(201);
    const limited = "pod node label selector labels conflict with its namespace whitelist";
    (await api.post(podsIn("only"), pod("p", { nodeSelector: { zone: "b" } }))).expectFailure(
      403,
      "Forbidden",
      `pods "p" is forbidden: ${limited}`,
    );
    const own = podsIn(await annotated(api, { "node-selector": "a=b, c=" }));
    (await created(own, {})).expect(201, { "spec.nodeSelector": { a: "b", c: "" } });
    (await created(podsIn(await annotated(api, { "node-selector": "a" })), {})).expect(500, {
      message: "invalid selector: [a]",
    });
    (await created(podsIn(await annotated(api, { "node-selector": "a=-" })), {})).expect(500, {
      message: /^\[a\]: Invalid value: "-": a valid label must be an empty string or /,
    });
  },
);

withOwnServer(
  "PodTolerationRestriction: pods get the tolerations of their namespace, and no others than it allows",
  { enableAdmissionPlugins: ["PodTolerationRestriction"], disableAdmissionPlugins: ["DefaultTolerationSeconds"] },
  async (api) => {
    const exists = (key: string) => ({ key, operator: "Exists" });
    const created = async (ns: string, spec: object) => api.post(podsIn(ns), pod(api.unique("p"), spec));
    const ns = await annotated(api, {
      defaultTolerations: JSON.stringify([{ Key: "team", Operator: "Exists", value: "" }]),
      tolerationsWhitelist: JSON.stringify([
        exists("team"),
        { key: "own", operator: "Equal", value: "v" },
        exists(api.name("node.kubernetes.io/memory-pressure")),
      ]),
    });
    const own = { key: "own", operator: "Equal", value: "v", effect: "NoSchedule" };
    (await created(ns, { tolerations: [own] })).expect(201, { "spec.tolerations": [own, exists("team")] });
    const resources = { requests: { cpu: "1" } };
    (await created(ns, { containers: [{ name: "c", image: "i", resources }] })).expect(201, {
      "spec.tolerations": [
        exists("team"),
        { ...exists(api.name("node.kubernetes.io/memory-pressure")), effect: "NoSchedule" },
      ],
    });
    const message =
      "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist";
    (await created(ns, { tolerations: [exists("other")] })).expect(500, { message });
    (await created(await annotated(api, { defaultTolerations: "{" }), {})).expect(500, {
      message: /^annotation \S+defaultTolerations of namespace \S+ is not a list of tolerations$/,
    });
    const free = await annotated(api, { tolerationsWhitelist: "null" });
    (await created(free, { tolerations: [exists("other")] })).expect(201);
  },
);

withConfigured(
  "PodTolerationRestriction: namespaces that say nothing have the tolerations of the configuration",
  "PodTolerationRestriction",
  {
    apiVersion: "podtolerationrestriction.admission.k8s.io/v1alpha1",
    kind: "Configuration",
    default: [{ key: "all", operator: "Exists" }],
    whitelist: [{ key: "all", operator: "Exists" }],
  },
  async ({ api }) => {
    const pods = podsIn(await annotated(api));
    (await api.post(pods, pod("p"))).expect(201, { "spec.tolerations": [{ key: "all", operator: "Exists" }] });
    (await api.post(pods, pod("q", { tolerations: [{ key: "x", operator: "Exists" }] }))).expect(500, {
      message:
        "pod tolerations (possibly merged with namespace default tolerations) conflict with its cluster whitelist",
    });
  },
);

withConfigured(
  "EventRateLimit: events beyond the burst are refused until time has passed",
  "EventRateLimit",
  {
    apiVersion: "eventratelimit.admission.k8s.io/v1alpha1",
    kind: "Configuration",
    limits: [
      { type: "Namespace", qps: 1, burst: 2 },
      { type: "SourceAndObject", qps: 1, burst: 1 },
    ],
  },
  async ({ api, clock }) => {
    const ns = await annotated(api);
    const events = `/api/v1/namespaces/${ns}/events`;
    const create = (component: string, query = "") =>
      api.post(events + query, {
        apiVersion: "v1",
        kind: "Event",
        metadata: { generateName: "e-", namespace: ns },
        involvedObject: { kind: "Pod", namespace: ns, name: "p" },
        source: { component },
      });
    (await create("a")).expect(201);
    const ofSource = `limit reached on type SourceAndObject for key aPod${ns}p`;
    (await create("a")).expectFailure(429, "TooManyRequests", `Too many requests: ${ofSource}`);
    const ofNamespace = `limit reached on type Namespace for key ${ns}`;
    (await create("a")).expectFailure(429, "TooManyRequests", `Too many requests: [${ofNamespace}, ${ofSource}]`);
    (await create("a", "?dryRun=All")).expect(201);
    clock.advance(1000);
    (await create("a")).expect(201);
  },
);

const eventLimits = { apiVersion: "eventratelimit.admission.k8s.io/v1alpha1", kind: "Configuration" };
const podTolerations = { apiVersion: "podtolerationrestriction.admission.k8s.io/v1alpha1", kind: "Configuration" };
const badConfigurations: readonly (readonly [plugin: string, settings: object, message: RegExp])[] = [
  ["EventRateLimit", eventLimits, /^limits: Invalid value: \S+: must not be empty$/],
  [
    "EventRateLimit",
    { ...eventLimits, limits: [{ type: "Pod", qps: 0, burst: -1, cacheSize: -1 }] },
    /^\[limits\[0\]\.type: Unsupported value: "Pod": .*limits\[0\]\.burst: Invalid value: -1: must be positive, limits\[0\]\.qps: Invalid value: 0: must be positive, limits\[0\]\.cacheSize: Invalid value: -1: must not be negative\]$/,
  ],
  ["EventRateLimit", { ...eventLimits, limits: [{ type: 5 }] }, /limits\.type of type string$/],
  ["EventRateLimit", { ...eventLimits, apiVersion: "eventratelimit.admission.k8s.io/v1" }, /v1alpha1/],
  [
    "PodTolerationRestriction",
    { ...podTolerations, default: [{ key: "a", operator: "Foo" }] },
    /^invalid config: \[podtolerationrestriction\.default\[0\]\.operator: Unsupported value: "Foo": supported values: "Equal", "Exists"\]$/,
  ],
];

test("a configuration that makes no sense ends the start", {
  skip: startsServers ? false : "starts servers",
}, async () => {
  for (const [plugin, settings, message] of badConfigurations) {
    await assert.rejects(openServer("k8s.io", configured("k8s.io", plugin, settings)), (error) => {
      assert(error instanceof Error);
      const beginning = `couldn't init admission plugin "${plugin}": `;
      assert.equal(error.message.slice(0, beginning.length), beginning);
      assert.match(error.message.slice(beginning.length), message);
      return true;
    });
  }
});
