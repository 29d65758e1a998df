/**
 * The users and rights of built-in controllers, and the cleanup of unused legacy tokens, observed in the audit log and
 * in objects.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ServerSettings } from "#server/options.ts";
import { newRequest, requests, signingRequest } from "../certificate-requests.ts";
import { Decider } from "../decider.ts";
import { Api, type Domain, domains, eventually, gated, openServer, renamer, temporaryFolder } from "../harness.ts";
import { MovingClock } from "../moving-clock.ts";
import { claim, claimTemplate, namespaces, pod } from "../objects.ts";
import { absent, present } from "../view.ts";

interface Event {
  readonly verb: string;
  readonly user: { readonly username?: string; readonly groups?: readonly string[] };
  readonly userAgent?: string;
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string };
  readonly responseStatus?: { readonly code?: number };
}

interface Running {
  readonly api: Api;
  readonly clock: MovingClock;
  /** Returns the events of the server's controllers, with Kubernetes' names. */
  events(): Event[];
}

const everything = ["*", "bootstrapsigner", "tokencleaner"];
const accountPrefix = "system:serviceaccount:kube-system:";
const manager = "system:kube-controller-manager";
const rbac = "/apis/rbac.authorization.k8s.io/v1";

/** Registers one test in each domain, on a server that records the requests of all users. */
function withServer(name: string, settings: ServerSettings, run: (on: Running) => Promise<void>): void {
  for (const domain of domains) {
    test(`${domain}: ${name}`, async () => {
      const folder = temporaryFolder();
      const log = join(folder, "audit.log");
      const policy = {
        apiVersion: "audit.k8s.io/v1",
        kind: "Policy",
        omitStages: ["RequestReceived"],
        rules: [{ level: "Metadata" }],
      };
      writeFileSync(join(folder, "policy.json"), renamer(domain)(JSON.stringify(policy)));
      const clock = new MovingClock();
      const audit = { auditPolicyFile: join(folder, "policy.json"), auditLogPath: log };
      const server = await openServer(domain, { ...gated, controllers: everything, ...audit, ...settings }, { clock });
      const api = new Api(server);
      try {
        await run({ api, clock, events: () => eventsOf(log, domain) });
      } finally {
        api.close();
        await server.close();
      }
    });
  }
}

function eventsOf(log: string, domain: Domain): Event[] {
  if (!existsSync(log)) return [];
  const kubernetesName = (text: string): string => text.replaceAll(renamer(domain)("kube-system"), "kube-system");
  return readFileSync(log, "utf8")
    .split("\n")
    .flatMap((line) => (line === "" ? [] : [JSON.parse(kubernetesName(line)) as Event]))
    .filter(({ user: { username = "" } }) => username === manager || username.startsWith(accountPrefix));
}

const account = (name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { name },
  ...more,
});
const tokenSecret = (name: string, ofAccount: string) => ({
  apiVersion: "v1",
  kind: "Secret",
  type: "kubernetes.io/service-account-token",
  metadata: { name, annotations: { "kubernetes.io/service-account.name": ofAccount } },
});
const waitUntilGone = (api: Api, path: string): Promise<unknown> =>
  eventually(async () => (await api.get(path)).expect(404));

/** Creates work for the controllers of pods and services. Resolves when they have done it. */
async function occupyWithPods(api: Api): Promise<void> {
  const { ns, claims, templates } = await api.createNamespace();
  const core = `${namespaces}/${ns}`;
  (await api.post("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "n" } })).expect(201);
  (await api.post(templates, claimTemplate("t"))).expect(201);
  const volumeClaimTemplate = {
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  };
  const spec = {
    nodeName: "n",
    volumes: [{ name: "scratch", ephemeral: { volumeClaimTemplate } }],
    resourceClaims: [{ name: "dev", resourceClaimTemplateName: "t" }],
  };
  (await api.post(`${core}/pods`, pod("web", spec, { labels: { app: "web" } }))).expect(201);
  const status = { phase: "Running", podIP: "10.1.0.1", podIPs: [{ ip: "10.1.0.1" }] };
  (await api.patch(`${core}/pods/web/status`, { status })).expect(200);
  await eventually(async () => (await api.get(`${claims}/web-scratch`)).expect(200));
  await eventually(async () =>
    (await api.get(`${core}/pods/web`)).expect(200, { "status.resourceClaimStatuses.0.resourceClaimName": present }),
  );
  const slices = `/apis/discovery.k8s.io/v1/namespaces/${ns}/endpointslices`;
  for (const [name, more] of [
    ["web", { selector: { app: "web" } }],
    ["db", {}],
  ] as const) {
    const service = { apiVersion: "v1", kind: "Service", metadata: { name }, spec: { ports: [{ port: 80 }], ...more } };
    (await api.post(`${core}/services`, service)).expect(201);
  }
  const subsets = [{ addresses: [{ ip: "10.9.0.1" }], ports: [{ port: 80 }] }];
  const endpoints = { apiVersion: "v1", kind: "Endpoints", metadata: { name: "db" }, subsets };
  (await api.post(`${core}/endpoints`, endpoints)).expect(201);
  await eventually(async () => {
    const { text } = (await api.get(slices)).expect(200);
    assert.ok(text.includes("10.1.0.1") && text.includes("10.9.0.1"), text);
  });
  await eventually(async () => (await api.get(`${core}/endpoints/web`)).expect(200));
  const budget = {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: "b" },
    spec: { minAvailable: 1, selector: { matchLabels: { app: "web" } } },
  };
  const budgets = `/apis/policy/v1/namespaces/${ns}/poddisruptionbudgets`;
  (await api.post(budgets, budget)).expect(201);
  await eventually(async () => (await api.get(`${budgets}/b`)).expect(200, { "status.expectedPods": 1 }));
  const job = {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "j" },
    spec: {
      ttlSecondsAfterFinished: 0,
      template: { spec: { containers: [{ name: "c", image: "i" }], restartPolicy: "Never" } },
    },
  };
  const time = "2026-01-01T00:00:00Z";
  const conditions = ["FailureTarget", "Failed"].map((type) => ({ type, status: "True", lastTransitionTime: time }));
  const jobs = `/apis/batch/v1/namespaces/${ns}/jobs`;
  (await api.post(jobs, job)).expect(201);
  (await api.patch(`${jobs}/j/status`, { status: { startTime: time, conditions } })).expect(200);
  await waitUntilGone(api, `${jobs}/j`);
  (await api.post(`${core}/pods`, pod("held", {}, { finalizers: ["example.com/hold"] }))).expect(201);
  await api.delete(`${core}/pods/held?gracePeriodSeconds=0`);
  await eventually(async () => (await api.get(`${core}/pods/held`)).expect(200, { "status.phase": "Failed" }));
}

/** Creates work for every controller. Resolves when all have done it. */
async function occupy(api: Api): Promise<string> {
  const { ns, secrets, serviceAccounts, configMaps, claims } = await api.createNamespace();
  (await api.post(`/api/v1/namespaces/${ns}/pods`, pod("p"))).expect(201);
  await occupyWithPods(api);
  await api.post(serviceAccounts, account("robot", { secrets: [{ name: "old" }] }));
  await api.post(secrets, tokenSecret("old", "robot"));
  await eventually(async () => (await api.get(`${secrets}/old`)).expect(200, { "data.token": present }));
  (await api.delete(`${secrets}/old`)).expect(200);
  await eventually(async () => (await api.get(`${serviceAccounts}/robot`)).expect(200, { secrets: absent }));
  await api.post(secrets, tokenSecret("lost", "nobody"));
  await waitUntilGone(api, `${secrets}/lost`);
  await eventually(async () => (await api.get(`${configMaps}/kube-root-ca.crt`)).expect(200));
  (await api.patch(`${configMaps}/kube-root-ca.crt`, { data: { more: "x" } })).expect(200);
  await eventually(async () => (await api.get(`${configMaps}/kube-root-ca.crt`)).expect(200, { "data.more": absent }));

  const role = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: api.unique("role"), labels: { "rbac.authorization.k8s.io/aggregate-to-view": "true" } },
    rules: [{ verbs: ["get"], apiGroups: ["example.com"], resources: [api.unique("things")] }],
  };
  (await api.post(`${rbac}/clusterroles`, role)).expect(201);
  await eventually(async () => {
    assert.ok((await api.get(`${rbac}/clusterroles/view`)).text.includes(role.rules[0]!.resources[0]!));
  });

  const { request } = await newRequest([{ O: ["system:nodes"] }, { CN: ["system:node:n"] }]);
  const signerName = "kubernetes.io/kube-apiserver-client-kubelet";
  const usages = ["digital signature", "client auth"];
  (await api.post(requests, signingRequest("node", { request, signerName, usages }))).expect(201);
  await eventually(async () => (await api.get(`${requests}/node`)).expect(200, { "status.certificate": present }));

  await api.post(claims, claim("c", { volumeAttributesClassName: "missing" }));
  await eventually(async () =>
    (await api.get(`${claims}/c`)).expect(200, { "status.modifyVolumeStatus.status": "Pending" }),
  );
  await api.delete(`${claims}/c`);
  await waitUntilGone(api, `${claims}/c`);
  const volume = {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "v" },
    spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/x" } },
  };
  (await api.post("/api/v1/persistentvolumes", volume)).expect(201);
  await api.delete("/api/v1/persistentvolumes/v");
  await waitUntilGone(api, "/api/v1/persistentvolumes/v");

  const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "q" }, spec: { hard: { services: "1" } } };
  (await api.post(`/api/v1/namespaces/${ns}/resourcequotas`, quota)).expect(201);
  await eventually(async () =>
    (await api.get(`/api/v1/namespaces/${ns}/resourcequotas/q`)).expect(200, { "status.used.services": "0" }),
  );

  const bootstrap = {
    apiVersion: "v1",
    kind: "Secret",
    type: "bootstrap.kubernetes.io/token",
    metadata: { name: "bootstrap-token-abcdef" },
    stringData: { "token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-signing": "true" },
  };
  const systemSecrets = "/api/v1/namespaces/kube-system/secrets";
  await api.post(systemSecrets, bootstrap);
  await eventually(async () =>
    (await api.get("/api/v1/namespaces/kube-public/configmaps/cluster-info")).expect(200, {
      "data.jws-kubeconfig-abcdef": present,
    }),
  );
  await api.patch(`${systemSecrets}/bootstrap-token-abcdef`, { stringData: { expiration: "2020-01-01T00:00:00Z" } });
  await waitUntilGone(api, `${systemSecrets}/bootstrap-token-abcdef`);

  (await api.patch(`${configMaps}/kube-root-ca.crt`, { metadata: { finalizers: ["example.com/hold"] } })).expect(200);
  (await api.delete(`${namespaces}/${ns}`)).expect(200);
  await eventually(async () =>
    (await api.get(`${namespaces}/${ns}`)).expect(200, {
      "status.conditions[type=NamespaceContentRemaining].status": "True",
    }),
  );
  (await api.patch(`${configMaps}/kube-root-ca.crt`, { metadata: { finalizers: null } })).expect(200);
  await waitUntilGone(api, `${namespaces}/${ns}`);
  return ns;
}

/** The writes of every account in `occupy`. */
const writes: Readonly<Record<string, readonly string[]>> = {
  "bootstrap-signer": ["update configmaps"],
  "certificate-controller": [
    "create subjectaccessreviews",
    "update certificatesigningrequests/approval",
    "update certificatesigningrequests/status",
  ],
  "clusterrole-aggregation-controller": ["patch clusterroles"],
  "disruption-controller": ["update poddisruptionbudgets/status"],
  "endpoint-controller": ["create endpoints"],
  "endpointslice-controller": ["create endpointslices"],
  "endpointslicemirroring-controller": ["create endpointslices"],
  "ephemeral-volume-controller": ["create persistentvolumeclaims"],
  "expand-controller": ["patch persistentvolumeclaims/status"],
  // Jobs are deleted in the foreground.
  "generic-garbage-collector": ["patch jobs"],
  "namespace-controller": ["deletecollection", "update namespaces/finalize", "update namespaces/status"],
  "pod-garbage-collector": ["delete pods", "patch pods/status"],
  "pv-protection-controller": ["update persistentvolumes"],
  "pvc-protection-controller": ["update persistentvolumeclaims"],
  "resource-claim-controller": ["create resourceclaims", "patch pods/status"],
  "resourcequota-controller": ["update resourcequotas/status"],
  "root-ca-cert-publisher": ["create configmaps", "update configmaps"],
  "service-account-controller": ["create serviceaccounts"],
  "token-cleaner": ["delete secrets"],
  "ttl-after-finished-controller": ["delete jobs"],
};

/** Writes that depend on the speed of the controllers. */
const sometimes = ["create events", "update endpoints", "update endpointslices", "delete endpointslices"];

const readVerbs = ["get", "list", "watch"];

function writesOf(events: readonly Event[]): Record<string, string[]> {
  const groups: Record<string, Set<string>> = {};
  for (const { user, verb, objectRef } of events) {
    const { username = "" } = user;
    if (readVerbs.includes(verb)) continue;
    const { resource = "", subresource } = objectRef ?? {};
    const what =
      verb === "deletecollection" ? verb : `${verb} ${resource}${subresource === undefined ? "" : `/${subresource}`}`;
    if (!sometimes.includes(what)) (groups[username] ??= new Set()).add(what);
  }
  return Object.fromEntries(Object.entries(groups).map(([name, set]) => [name, [...set].toSorted()]));
}

withServer("every controller acts as an account of its own, and its role lets it", {}, async ({ api, events }) => {
  await occupy(api);
  await eventually(() => {
    assert.deepEqual(writesOf(events()), {
      ...Object.fromEntries(Object.entries(writes).map(([name, list]) => [accountPrefix + name, list])),
      [manager]: ["delete secrets", "update secrets", "update serviceaccounts"],
    });
    return Promise.resolve();
  });
  const all = events();
  assert.deepEqual(
    all.filter(({ responseStatus }) => responseStatus?.code === 403),
    [],
  );
  for (const { user, userAgent, verb } of all) {
    assert.ok(!user.groups?.includes("system:masters"), user.username ?? "");
    if (user.username !== manager) assert.equal(user.username, `${accountPrefix}${userAgent}`);
    if (verb === "watch") assert.equal(user.username, manager);
  }
  // A written object names its writer.
  const map = await api.get("/api/v1/namespaces/default/configmaps/kube-root-ca.crt");
  map.expect(200, { "metadata.managedFields.0.manager": "root-ca-cert-publisher" });
});

withServer("work queues are measured by the names of upstream's controllers", {}, async ({ api }) => {
  await occupy(api);
  const { text } = (await api.get("/metrics")).expect(200);
  const value = (metric: string): number => Number(text.match(new RegExp(`^${metric} (.*)$`, "m"))?.[1]);
  for (const name of [
    "disruption",
    "endpoint",
    "endpoint_slice",
    "namespace",
    "resourcequota_primary",
    "serviceaccount",
  ]) {
    assert.ok(value(`workqueue_adds_total\\{name="${name}"\\}`) > 0, name);
    assert.ok(value(`workqueue_work_duration_seconds_count\\{name="${name}"\\}`) > 0, name);
    assert.equal(value(`workqueue_queue_duration_seconds_bucket\\{name="${name}",le="10"\\}`) > 0, true, name);
    for (const gauge of ["depth", "unfinished_work_seconds", "longest_running_processor_seconds"]) {
      assert.ok(value(`workqueue_${gauge}\\{name="${name}"\\}`) >= 0, `${gauge} of ${name}`);
    }
  }
});

withServer("a controller that lost its role does nothing until it has it back", {}, async ({ api, clock, events }) => {
  const path = `${rbac}/clusterrolebindings/system:controller:service-account-controller`;
  const { text } = (await api.get(path)).expect(200);
  const binding = JSON.parse(text) as { metadata: { resourceVersion?: string; uid?: string } };
  (await api.delete(path)).expect(200);
  const { serviceAccounts } = await api.createNamespace();
  await eventually(() => {
    const isRefused = (event: Event): boolean =>
      event.user.username === `${accountPrefix}service-account-controller` && event.responseStatus?.code === 403;
    return Promise.resolve(assert.ok(events().some(isRefused), "it has tried"));
  });
  (await api.get(serviceAccounts)).expect(200, { items: [] });
  const { resourceVersion: _version, uid: _uid, ...metadata } = binding.metadata;
  (await api.post(`${rbac}/clusterrolebindings`, { ...binding, metadata })).expect(201);
  await eventually(async () => {
    clock.advance(30_000);
    (await api.get(`${serviceAccounts}/default`)).expect(200);
  });
});

const refusalFor = (user: string): string => {
  const file = join(temporaryFolder(), "policy.jsonl");
  const spec = { user, namespace: "*", resource: "*", apiGroup: "*" };
  writeFileSync(file, JSON.stringify({ apiVersion: "abac.authorization.kubernetes.io/v1beta1", kind: "Policy", spec }));
  return file;
};

for (const [modes, more] of [
  [["ABAC"], (): ServerSettings => ({ authorizationPolicyFile: refusalFor("alice") })],
  [["AlwaysDeny"], (): ServerSettings => ({})],
  [["AlwaysAllow"], (): ServerSettings => ({})],
] as const) {
  for (const domain of domains) {
    test(`${domain}: with ${modes[0]} alone, controllers keep their names and may do everything`, async () => {
      const rename = renamer(domain);
      const settings = more();
      const { authorizationPolicyFile: file } = settings;
      if (file !== undefined) writeFileSync(file, rename(readFileSync(file, "utf8")));
      const server = await openServer(domain, {
        ...gated,
        controllers: everything,
        authorizationMode: modes,
        ...settings,
      });
      const api = new Api(server);
      await occupy(api);
      const map = await api.get("/api/v1/namespaces/default/configmaps/kube-root-ca.crt");
      map.expect(200, { "metadata.managedFields.0.manager": "root-ca-cert-publisher" });
      api.close();
      await server.close();
    });
  }
}

test("an authorization webhook decides about users with the controllers' names, not about controllers", async (t) => {
  const decider = await Decider.open();
  t.after(() => decider.close());
  const settings = { authorizationMode: ["Webhook", "RBAC"], authorizationWebhookConfigFile: decider.kubeconfig() };
  const server = await openServer("k8s.io", { ...gated, controllers: everything, ...settings });
  const api = new Api(server);
  decider.reset(() => ({ denied: true, reason: "nobody may" }));
  await occupy(api);
  assert.deepEqual(decider.questions, []);
  const headers = {
    "impersonate-user": `${accountPrefix}service-account-controller`,
    "impersonate-group": ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
  };
  const { serviceAccounts } = await api.createNamespace();
  (await api.post(serviceAccounts, account("robot"), { headers })).expectFailure(403, "Forbidden", /: nobody may$/);
  assert.equal(decider.questions.length, 1);
  api.close();
  await server.close();
});

const dayMs = 86_400_000;
const whoAmI = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const subject = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
const automaticWarning =
  "Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated secret-based tokens.";
const invalidSince = "metadata.labels[kubernetes.io/legacy-token-invalid-since]";

withServer(
  "an unused legacy token is refused, and later deleted",
  { legacyTokenPeriodMs: 10 * dayMs },
  async ({ api, clock, events }) => {
    const tracking = "/api/v1/namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking";
    const today = new Date().toISOString().slice(0, 10);
    await eventually(async () => (await api.get(tracking)).expect(200, { data: { since: today } }));
    const { ns, secrets, serviceAccounts } = await api.createNamespace();
    await api.post(serviceAccounts, account("robot", { secrets: [{ name: "unused" }, { name: "used" }] }));
    for (const name of ["unused", "used", "by-hand"]) await api.post(secrets, tokenSecret(name, "robot"));
    const tokenOf = (name: string): Promise<string> =>
      eventually(async () => {
        const data = (await api.get(`${secrets}/${name}`)).expect(200).string("data.token");
        return Buffer.from(data, "base64").toString();
      });
    const [unused, used] = [await tokenOf("unused"), await tokenOf("used")];
    const byHand = await api.post(whoAmI, subject, { as: await tokenOf("by-hand") });
    assert.deepEqual(byHand.expect(201).warnings, []);
    const use = async (token: string, code: number): Promise<void> => {
      const answer = (await api.post(whoAmI, subject, { as: token })).expect(code);
      assert.deepEqual(answer.warnings, code === 201 ? [automaticWarning] : []);
    };
    // The cleaner has finished when it waits for the next day again, as others do.
    const sleepers = clock.countWaiting(dayMs);
    assert.ok(sleepers > 0);
    const day = async (): Promise<void> => {
      clock.advance(dayMs);
      await clock.untilWaiting(dayMs, sleepers);
    };
    for (let passed = 0; passed < 12; passed++) {
      await use(used, 201);
      await day();
    }
    await eventually(async () => {
      (await api.get(`${secrets}/unused`)).expect(200, { [invalidSince]: present });
    });
    await use(unused, 401);
    for (const name of ["used", "by-hand"])
      (await api.get(`${secrets}/${name}`)).expect(200, { [invalidSince]: absent });
    const metrics = (await api.get("/metrics")).text;
    assert.match(metrics, /^serviceaccount_invalid_legacy_auto_token_uses_total 1$/m);
    assert.match(metrics, /^serviceaccount_legacy_auto_token_uses_total 12$/m);
    // The attempt counts as a use, so the time until the deletion begins again.
    for (let passed = 0; passed < 9; passed++) {
      await use(used, 201);
      await day();
    }
    (await api.get(`${secrets}/unused`)).expect(200);
    for (let passed = 0; passed < 4; passed++) {
      await use(used, 201);
      await day();
    }
    await eventually(async () => (await api.get(`${secrets}/unused`)).expect(404));
    for (const name of ["used", "by-hand"])
      (await api.get(`${secrets}/${name}`)).expect(200, { [invalidSince]: absent });
    const cleaner = `${accountPrefix}legacy-service-account-token-cleaner`;
    assert.deepEqual(writesOf(events())[cleaner], ["delete secrets", "patch secrets"]);
    (await api.delete(`${namespaces}/${ns}`)).expect(200);
  },
);

withServer(
  "the cleaner of unused tokens can be deselected",
  { legacyTokenPeriodMs: dayMs, controllers: ["*", "tokencleaner", "-legacy-service-account-token-cleaner"] },
  async ({ api, clock }) => {
    const { secrets, serviceAccounts } = await api.createNamespace();
    await api.post(serviceAccounts, account("robot", { secrets: [{ name: "unused" }] }));
    await api.post(secrets, tokenSecret("unused", "robot"));
    // Another cleaner with the same clock has come to the last day.
    const lastDay = new Date(Date.now() + 5 * dayMs).toISOString().replace(/\.\d+/, "");
    const bootstrap = { "token-id": "abcdef", "token-secret": "0123456789abcdef", expiration: lastDay };
    const token = { kind: "Secret", apiVersion: "v1", type: "bootstrap.kubernetes.io/token", stringData: bootstrap };
    const systemSecrets = "/api/v1/namespaces/kube-system/secrets";
    const metadata = { name: "bootstrap-token-abcdef" };
    (await api.post(systemSecrets, { ...token, metadata })).expect(201);
    await eventually(async () => {
      clock.advance(dayMs);
      (await api.get(`${systemSecrets}/${metadata.name}`)).expect(404);
    });
    (await api.get(`${secrets}/unused`)).expect(200, { [invalidSince]: absent });
  },
);

withServer("a pod's files come with the pod", {}, async ({ api }) => {
  const { ns, configMaps } = await api.createNamespace();
  (await api.post(`/api/v1/namespaces/${ns}/pods`, pod("p"))).expect(201);
  await eventually(async () => (await api.get(`${configMaps}/kube-root-ca.crt`)).expect(200));
});
