/** Quotas: refusals and charges. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Api, domains, eventually, file, openServer, renamer, suite, withOwnServer } from "../harness.ts";
import { claim, configMap, pod, secret } from "../objects.ts";

const inBothDomains = suite();

const quota = (name: string, hard: Record<string, string>, more: object = {}) => ({
  apiVersion: "v1",
  kind: "ResourceQuota",
  metadata: { name },
  spec: { hard, ...more },
});

/** Creates a quota and waits until it is counted. */
async function createQuota(
  api: Api,
  ns: string,
  name: string,
  hard: Record<string, string>,
  more?: object,
): Promise<string> {
  const path = `/api/v1/namespaces/${ns}/resourcequotas`;
  (await api.post(path, quota(name, hard, more))).expect(201);
  await expectUsage(api, `${path}/${name}`, Object.fromEntries(Object.keys(hard).map((one) => [one, /^\d+/])));
  return `${path}/${name}`;
}

const expectUsage = (api: Api, path: string, used: object): Promise<unknown> =>
  eventually(async () => {
    const fields = Object.entries(used).map(([name, value]) => [`status.used[${name}]`, value]);
    (await api.get(path)).expect(200, Object.fromEntries(fields));
  });

const podWithResources = (name: string, requests: object, limits: object = {}, more: object = {}) =>
  pod(name, { containers: [{ name: "c", image: "i", resources: { requests, limits } }], ...more });

inBothDomains(
  "a quota counts objects, refuses what would exceed it, and has room again when they go [ERR-10]",
  async (api) => {
    const { ns, secrets } = await api.createNamespace();
    const path = await createQuota(api, ns, "q", { "count/secrets": "2", secrets: "2" });
    (await api.post(secrets, secret("one"))).expect(201);
    (await api.get(path)).expect(200, { "status.used[count/secrets]": "1", "status.used.secrets": "1" });
    (await api.post(secrets, secret("two"))).expect(201);
    const message =
      'secrets "three" is forbidden: exceeded quota: q, requested: count/secrets=1,secrets=1, used: count/secrets=2,secrets=2, limited: count/secrets=2,secrets=2';
    (await api.post(secrets, secret("three"))).expectFailure(403, "Forbidden", message, { "details.name": "three" });
    (await api.post(`${secrets}?dryRun=All`, secret("three"))).expectFailure(403, "Forbidden", message);
    (await api.delete(`${secrets}/one`)).expect(200);
    await expectUsage(api, path, { secrets: "1" });
    (await api.post(`${secrets}?dryRun=All`, secret("three"))).expect(201);
    (await api.get(path)).expect(200, { "status.used.secrets": "1" });
    (await api.post(secrets, secret("three"))).expect(201);
    (await api.patch(path, { spec: { hard: { secrets: "9" } } })).expect(200);
    await expectUsage(api, path, { secrets: "2" });
  },
);

inBothDomains("a quota on processors needs requests, adds them up, and gives back those of ended pods", async (api) => {
  const { ns } = await api.createNamespace();
  const pods = `/api/v1/namespaces/${ns}/pods`;
  const path = await createQuota(api, ns, "q", { "requests.cpu": "1", "limits.memory": "1Gi", pods: "3" });
  (await api.post(pods, pod("naked"))).expectFailure(
    403,
    "Forbidden",
    'pods "naked" is forbidden: failed quota: q: must specify limits.memory for: c; requests.cpu for: c',
  );
  (await api.post(pods, podWithResources("fits", { cpu: "600m" }, { memory: "512Mi" }))).expect(201);
  (await api.get(path)).expect(200, {
    "status.used": { "requests.cpu": "600m", "limits.memory": "512Mi", pods: "1" },
  });
  const large = podWithResources("large", { cpu: "500m" }, { memory: "256Mi" });
  (await api.post(pods, large)).expectFailure(
    403,
    "Forbidden",
    'pods "large" is forbidden: exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=600m, limited: requests.cpu=1',
  );
  (await api.patch(`${pods}/fits/status`, { status: { phase: "Succeeded" } })).expect(200);
  await expectUsage(api, path, { pods: "0", "requests.cpu": "0" });
  (await api.post(pods, large)).expect(201);
});

inBothDomains("scopes say which pods count", async (api) => {
  const { ns } = await api.createNamespace();
  const pods = `/api/v1/namespaces/${ns}/pods`;
  const bestEffort = await createQuota(api, ns, "best-effort", { pods: "5" }, { scopes: ["BestEffort"] });
  const terminating = await createQuota(api, ns, "terminating", { pods: "5" }, { scopes: ["Terminating"] });
  const foreign = await createQuota(api, ns, "foreign", { pods: "0" }, { scopes: ["CrossNamespacePodAffinity"] });
  const others = await createQuota(api, ns, "others", { pods: "5" }, { scopes: ["NotBestEffort", "NotTerminating"] });
  (await api.post(pods, pod("plain"))).expect(201);
  (await api.post(pods, podWithResources("ends", { cpu: "1" }, {}, { activeDeadlineSeconds: 60 }))).expect(201);
  (await api.post(pods, podWithResources("sized", { cpu: "1" }))).expect(201);
  for (const path of [bestEffort, terminating, others]) await expectUsage(api, path, { pods: "1" });
  const term = { labelSelector: {}, topologyKey: "t", namespaces: ["other"] };
  const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
  (await api.post(pods, pod("far", { affinity }))).expectFailure(
    403,
    "Forbidden",
    'pods "far" is forbidden: exceeded quota: foreign, requested: pods=1, used: pods=0, limited: pods=0',
  );
  await expectUsage(api, foreign, { pods: "0" });
});

inBothDomains(
  "storage is counted altogether and by class; the larger of what is asked and allocated counts [PVC-49]",
  async (api) => {
    const { ns, claims } = await api.createNamespace();
    const ofClass = api.name("gold.storageclass.storage.k8s.io/requests.storage");
    const hard = { "requests.storage": "10Gi", persistentvolumeclaims: "3", [ofClass]: "5Gi" };
    const path = await createQuota(api, ns, "q", hard);
    const storageRequest = (storage: string, more: object = {}) => ({ resources: { requests: { storage } }, ...more });
    (await api.post(claims, claim("a", storageRequest("4Gi", { storageClassName: "gold" })))).expect(201);
    (await api.post(claims, claim("b", storageRequest("2Gi", { storageClassName: "gold" })))).expectFailure(
      403,
      "Forbidden",
      /exceeded quota: q/,
    );
    (await api.post(claims, claim("b", storageRequest("2Gi")))).expect(201);
    await expectUsage(api, path, { "requests.storage": "6Gi", [ofClass]: "4Gi", persistentvolumeclaims: "2" });
    const status = { status: { phase: "Bound", allocatedResources: { storage: "7Gi" } } };
    (await api.patch(`${claims}/b/status`, status)).expect(200);
    await expectUsage(api, path, { "requests.storage": "11Gi" });
  },
);

inBothDomains("services count their node ports and load balancers, and count again when they change", async (api) => {
  const { ns } = await api.createNamespace();
  const services = `/api/v1/namespaces/${ns}/services`;
  const hard = { services: "3", "services.nodeports": "2", "services.loadbalancers": "1" };
  const path = await createQuota(api, ns, "q", hard);
  const service = (name: string, type: string, count = 1) => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: { type, ports: Array.from({ length: count }, (_, i) => ({ name: `p${i}`, port: 80 + i })) },
  });
  (await api.post(services, service("balanced", "LoadBalancer"))).expect(201);
  (await api.post(services, service("second", "LoadBalancer"))).expectFailure(
    403,
    "Forbidden",
    /services.loadbalancers=1/,
  );
  (await api.post(services, service("plain", "ClusterIP"))).expect(201);
  (await api.patch(`${services}/plain`, { spec: { type: "NodePort" } })).expect(200);
  await expectUsage(api, path, { services: "2", "services.nodeports": "2", "services.loadbalancers": "1" });
  (await api.post(services, service("third", "NodePort"))).expectFailure(403, "Forbidden", /services.nodeports=2/);
  (await api.patch(`${services}/balanced`, { spec: { type: "ClusterIP" } })).expect(200);
  await expectUsage(api, path, { "services.nodeports": "1", "services.loadbalancers": "0" });
});

inBothDomains("sixty-four writers create as many as fit, and not one more", async (api) => {
  const { ns, configMaps } = await api.createNamespace();
  const path = await createQuota(api, ns, "q", { "count/configmaps": "100" });
  const before = Number((await api.get(path)).string("status.used[count/configmaps]"));
  const results = await Promise.all(
    Array.from({ length: 64 }, async (_, writer) => {
      const codes: number[] = [];
      for (let i = 0; i < 3; i++) codes.push((await api.post(configMaps, configMap(`m-${writer}-${i}`))).status);
      return codes;
    }),
  );
  const codes = results.flat();
  assert.equal(codes.filter((code) => code === 201).length, 100 - before);
  assert.deepEqual(new Set(codes), new Set([201, 403]));
  (await api.get(path)).expect(200, { "status.used[count/configmaps]": "100" });
});

inBothDomains(
  "while writers create and delete, a quota is never exceeded, and in the end it says what is there",
  async (api) => {
    const { ns, configMaps } = await api.createNamespace();
    const path = await createQuota(api, ns, "q", { "count/configmaps": "12" });
    let most = 0;
    await Promise.all(
      Array.from({ length: 64 }, async (_, writer) => {
        for (let i = 0; i < 4; i++) {
          const name = `m-${writer}-${i}`;
          const { status } = await api.post(configMaps, configMap(name));
          const list = (await api.get(configMaps)).expect(200);
          most = Math.max(most, list.list("items").length);
          if (status === 201) (await api.delete(`${configMaps}/${name}`)).expect(200);
        }
      }),
    );
    assert.ok(most <= 12, `${most} at once`);
    const left = (await api.get(configMaps)).list("items").length;
    await expectUsage(api, path, { "count/configmaps": `${left}` });
    for (let i = left; i < 12; i++) (await api.post(configMaps, configMap(`rest-${i}`))).expect(201);
    (await api.post(configMaps, configMap("more"))).expectFailure(403, "Forbidden", /exceeded quota/);
  },
);

inBothDomains("creates pass while the limits of their quota change", async (api) => {
  const { ns, configMaps } = await api.createNamespace();
  const path = await createQuota(api, ns, "q", { configmaps: "1000" });
  await Promise.all(
    Array.from({ length: 64 }, async (_, writer) => {
      for (let i = 0; i < 8; i++) {
        const name = `m-${writer}-${i}`;
        if (writer % 8 > 0) (await api.post(configMaps, configMap(name))).expect(201);
        else (await api.patch(path, { spec: { hard: { configmaps: `${1000 + writer + i}` } } })).expect(200);
      }
    }),
  );
  const left = (await api.get(configMaps)).list("items").length;
  await expectUsage(api, path, { configmaps: `${left}` });
});

inBothDomains(
  "under a quota on everything sixty-four clients make and delete objects of all kinds, and none is exceeded",
  async (api) => {
    const { ns, configMaps, secrets } = await api.createNamespace();
    const core = `/api/v1/namespaces/${ns}`;
    const hard = {
      "count/configmaps": "9",
      secrets: "7",
      "count/secrets": "6",
      pods: "8",
      "count/pods": "9",
      "requests.cpu": "5",
      "requests.memory": "6Gi",
      services: "5",
      "services.nodeports": "3",
      persistentvolumeclaims: "4",
      "requests.storage": "3Gi",
      "count/deployments.apps": "2",
    };
    const path = await createQuota(api, ns, "q", hard);
    const port = { ports: [{ port: 80 }] };
    const deployments = `/apis/apps/v1/namespaces/${ns}/deployments`;
    const kinds: readonly (readonly [string, (name: string) => object])[] = [
      [configMaps, (name) => configMap(name)],
      [secrets, (name) => secret(name)],
      [`${core}/pods`, (name) => podWithResources(name, { cpu: "1", memory: "1Gi" })],
      [`${core}/services`, (name) => ({ kind: "Service", metadata: { name }, spec: { ...port, type: "NodePort" } })],
      [`${core}/services`, (name) => ({ kind: "Service", metadata: { name }, spec: port })],
      [`${core}/persistentvolumeclaims`, (name) => claim(name)],
      [
        deployments,
        (name) => ({
          kind: "Deployment",
          metadata: { name },
          spec: {
            replicas: 0,
            selector: { matchLabels: { a: name } },
            template: { metadata: { labels: { a: name } }, spec: { containers: [{ name: "c", image: "i" }] } },
          },
        }),
      ],
    ];
    const codes = new Set<number>();
    await Promise.all(
      Array.from({ length: 64 }, async (_, client) => {
        for (let at = 0; at < 6; at++) {
          const [collection, object] = kinds[(client + at) % kinds.length]!;
          const name = `x-${client}-${at}`;
          const { status } = await api.post(collection, object(name));
          codes.add(status);
          if (at % 2 === 0 && status === 201) (await api.delete(`${collection}/${name}`)).expect(200);
        }
      }),
    );
    assert.deepEqual([...codes].sort(), [201, 403]);
    const count = async (collection: string): Promise<number> => (await api.get(collection)).list("items").length;
    const ports = (await api.get(`${core}/services`))
      .list("items")
      .filter((one) => one.string("spec.type") === "NodePort");
    const [pods, claims] = [await count(`${core}/pods`), await count(`${core}/persistentvolumeclaims`)];
    const left = {
      "count/configmaps": await count(configMaps),
      secrets: await count(secrets),
      "count/secrets": await count(secrets),
      pods,
      "count/pods": pods,
      "requests.cpu": pods,
      services: await count(`${core}/services`),
      "services.nodeports": ports.length,
      persistentvolumeclaims: claims,
      "requests.storage": claims,
      "count/deployments.apps": await count(deployments),
    };
    for (const [name, used] of Object.entries(left)) {
      assert.ok(used <= parseInt(hard[name as keyof typeof hard], 10), `${used} of ${name}`);
    }
    await expectUsage(api, path, {
      ...Object.fromEntries(Object.entries(left).map(([name, used]) => [name, `${used}`])),
      "requests.memory": pods === 0 ? "0" : `${pods}Gi`,
      "requests.storage": claims === 0 ? "0" : `${claims}Gi`,
    });
  },
);

inBothDomains("a create that comes to nothing gives back what was charged", async (api) => {
  const { ns, secrets } = await api.createNamespace();
  const path = await createQuota(api, ns, "q", { secrets: "2" });
  (await api.post(secrets, secret("one"))).expect(201);
  (await api.post(secrets, secret("one"))).expectFailure(409, "AlreadyExists");
  await expectUsage(api, path, { secrets: "1" });
  (await api.post(secrets, secret("two"))).expect(201);
});

inBothDomains(
  "a quota applies once its status says so, and needs what is used there",
  async (api) => {
    const { ns, secrets } = await api.createNamespace();
    const path = await createQuota(api, ns, "q", { secrets: "2" });
    (await api.patch(`${path}/status`, { status: { used: null } })).expect(200);
    (await api.post(secrets, secret("one"))).expectFailure(
      403,
      "Forbidden",
      'secrets "one" is forbidden: status unknown for quota: q, resources: secrets',
    );
  },
  { differs: "its controller is quicker to fill in the status" },
);

for (const domain of domains) {
  test(`${domain}: limited resources may only be used under a quota`, async () => {
    const configuration = `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: ResourceQuota
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: ResourceQuotaConfiguration
    limitedResources:
    - {resource: persistentvolumeclaims, matchContains: [requests.storage]}
`;
    const admissionControlConfigFile = file("admission.yaml", renamer(domain)(configuration));
    const server = await openServer(domain, { admissionControlConfigFile });
    const api = new Api(server);
    try {
      const { ns, claims } = await api.createNamespace();
      (await api.post(claims, claim("a"))).expectFailure(
        403,
        "Forbidden",
        'persistentvolumeclaims "a" is forbidden: insufficient quota to consume: requests.storage',
      );
      await createQuota(api, ns, "q", { "requests.storage": "5Gi" });
      (await api.post(claims, claim("a"))).expect(201);
    } finally {
      api.close();
      await server.close();
    }
  });
}

withOwnServer(
  "without the plugin nothing is refused",
  { disableAdmissionPlugins: ["ResourceQuota", "LimitRanger"] },
  async (api) => {
    const { ns, secrets } = await api.createNamespace();
    const path = await createQuota(api, ns, "q", { secrets: "0" });
    (await api.post(secrets, secret("one"))).expect(201);
    (await api.post(secrets, secret("two"))).expect(201);
    (await api.delete(`${secrets}/two`)).expect(200);
    await expectUsage(api, path, { secrets: "1" });
  },
);
