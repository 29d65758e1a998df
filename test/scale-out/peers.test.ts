/**
 * Servers of one store that know each other: what was written is in force on all of them when the write is answered, what
 * they do when one is silent, and what they show of each other.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SharedLog } from "#storage/shared-log-for-tests.ts";
import type { Answer } from "../client.ts";
import { crds, custom, definition } from "../crds.ts";
import { type Api, eventually } from "../harness.ts";
import { claim, configMap, namespace, namespaces, pod } from "../objects.ts";
import { openServers } from "./two-servers.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const admission = "/apis/admissionregistration.k8s.io/v1";
const core = "/api/v1/namespaces/default";
const configMaps = `${core}/configmaps`;
const latencyMsMax = 20;

const asAlice = { as: "alice" };
const deny = "the policy says no";

/** A change on one server, and what the other one must do as soon as the change is answered. */
interface Step {
  write(api: Api, round: string): Promise<Answer>;
  check(api: Api, round: string): Promise<unknown>;
}

const webhook = (name: string, kind: string) => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind,
  metadata: { name },
  webhooks: [
    {
      name: "a.example.com",
      clientConfig: { url: "https://127.0.0.1:1/" },
      rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
      failurePolicy: "Fail",
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
      objectSelector: { matchLabels: { by: name } },
    },
  ],
});

const labelled = (name: string, by: string) => configMap(name, {}, { labels: { by } });

const policy = (name: string) => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicy",
  metadata: { name },
  spec: {
    matchConstraints: {
      resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
      objectSelector: { matchLabels: { by: name } },
    },
    validations: [{ expression: "false", message: deny }],
  },
});

const policyBinding = (name: string) => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicyBinding",
  metadata: { name },
  spec: { policyName: name, validationActions: ["Deny"] },
});

const flowSchema = (name: string) => ({
  apiVersion: "flowcontrol.apiserver.k8s.io/v1",
  kind: "FlowSchema",
  metadata: { name },
  spec: {
    matchingPrecedence: 100,
    priorityLevelConfiguration: { name: "exempt" },
    rules: [
      {
        subjects: [{ kind: "User", user: { name: "carol" } }],
        nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
      },
    ],
  },
});

const withContainer = (name: string, fields: object = {}) =>
  pod(name, { containers: [{ name: "c", image: "i" }], ...fields });

const accounts = `${core}/serviceaccounts`;
const tokens = new Map<string, string>();

const steps: Readonly<Record<string, Step>> = {
  "a role and its binding are made": {
    async write(api, round) {
      (
        await api.post(`${rbac}/clusterroles`, {
          metadata: { name: round },
          rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }],
        })
      ).expect(201);
      return api.post(`${rbac}/clusterrolebindings`, {
        metadata: { name: round },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: round },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "alice" }],
      });
    },
    check: async (api) => (await api.get(configMaps, asAlice)).expect(200),
  },
  "a right is taken away": {
    write: (api, round) => api.delete(`${rbac}/clusterrolebindings/${round}`),
    check: async (api) => (await api.get(configMaps, asAlice)).expect(403),
  },
  "a policy is bound": {
    async write(api, round) {
      (await api.post(`${admission}/validatingadmissionpolicies`, policy(round))).expect(201);
      return api.post(`${admission}/validatingadmissionpolicybindings`, policyBinding(round));
    },
    check: async (api, round) =>
      (await api.post(configMaps, labelled(`policy-${round}`, round))).expectFailure(422, "Invalid", new RegExp(deny)),
  },
  "a policy is removed": {
    write: (api, round) => api.delete(`${admission}/validatingadmissionpolicies/${round}`),
    check: async (api, round) => (await api.post(configMaps, labelled(`policy-${round}`, round))).expect(201),
  },
  "a webhook is added": {
    write: (api, round) =>
      api.post(`${admission}/validatingwebhookconfigurations`, webhook(round, "ValidatingWebhookConfiguration")),
    check: async (api, round) => (await api.post(configMaps, labelled(`webhook-${round}`, round))).expect(500),
  },
  "webhooks are removed": {
    write: (api) => api.delete(`${admission}/validatingwebhookconfigurations`),
    check: async (api, round) => (await api.post(configMaps, labelled(`webhook-${round}`, round))).expect(201),
  },
  "a webhook that changes objects is added, and matches nothing afterwards": {
    async write(api, round) {
      const path = `${admission}/mutatingwebhookconfigurations`;
      (await api.post(path, webhook(round, "MutatingWebhookConfiguration"))).expect(201);
      return api.patch(`${path}/${round}`, { webhooks: null });
    },
    check: async (api, round) => (await api.post(configMaps, labelled(`mutating-${round}`, round))).expect(201),
  },
  "a definition is made": {
    write: (api, round) => api.post(crds, definition(`${round}.example.com`)),
    async check(api, round) {
      const path = `/apis/${round}.example.com/v1/widgets`;
      (await api.get(`/apis/${round}.example.com/v1`)).expect(200, { "resources.0.name": "widgets" });
      (await api.post(path, custom(`${round}.example.com`, "a"))).expect(201);
      (await api.get(path)).expect(200, { "items.length": 1 });
    },
  },
  "a definition is removed": {
    write: (api, round) => api.delete(`${crds}/widgets.${round}.example.com`),
    check: async (api, round) =>
      (await api.post(`/apis/${round}.example.com/v1/widgets`, custom(`${round}.example.com`, "late"))).expect([
        404, 405,
      ]),
  },
  "an API is aggregated": {
    write: (api, round) =>
      api.post("/apis/apiregistration.k8s.io/v1/apiservices", {
        metadata: { name: `v1.remote-${round}.example.com` },
        spec: {
          group: `remote-${round}.example.com`,
          version: "v1",
          groupPriorityMinimum: 10,
          versionPriority: 10,
          insecureSkipTLSVerify: true,
          service: { namespace: "default", name: "missing" },
        },
      }),
    check: async (api, round) => (await api.get(`/apis/remote-${round}.example.com/v1/things`)).expect(503),
  },
  "a limit range is made": {
    async write(api, round) {
      (await api.post(namespaces, namespace(`limited-${round}`))).expect(201);
      return api.post(`${namespaces}/limited-${round}/limitranges`, {
        metadata: { name: "small" },
        spec: { limits: [{ type: "PersistentVolumeClaim", max: { storage: "1Mi" } }] },
      });
    },
    check: async (api, round) =>
      (await api.post(`${namespaces}/limited-${round}/persistentvolumeclaims`, claim("large"))).expectFailure(
        403,
        "Forbidden",
        /maximum storage usage/,
      ),
  },
  "a namespace gets a level of pod security": {
    async write(api, round) {
      (await api.post(namespaces, namespace(`secure-${round}`))).expect(201);
      return api.patch(`${namespaces}/secure-${round}`, {
        metadata: { labels: { "pod-security.kubernetes.io/enforce": "baseline" } },
      });
    },
    check: async (api, round) =>
      (await api.post(`${namespaces}/secure-${round}/pods`, withContainer("p", { hostNetwork: true }))).expectFailure(
        403,
        "Forbidden",
        /violates PodSecurity/,
      ),
  },
  "a priority class is made": {
    write: (api, round) =>
      api.post("/apis/scheduling.k8s.io/v1/priorityclasses", { metadata: { name: round }, value: 7 }),
    check: async (api, round) =>
      (await api.post(`${core}/pods`, withContainer(`pod-${round}`, { priorityClassName: round }))).expect(201, {
        "spec.priority": 7,
      }),
  },
  "a flow schema is made": {
    write: (api, round) => api.post("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", flowSchema(round)),
    async check(api, round) {
      const schema = await api.get(`/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/${round}`);
      const { headers } = await api.get("/version", { as: "carol" });
      assert.equal(headers["x-kubernetes-pf-flowschema-uid"], schema.string("metadata.uid"));
    },
  },
  "flow schemas are removed": {
    write: (api, round) => api.delete(`/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/${round}`),
    async check(api) {
      const { headers } = await api.get("/version", { as: "carol" });
      const left = await api.get("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas");
      const uids = left.list("items").map((item) => item.string("metadata.uid"));
      assert.ok(uids.includes(String(headers["x-kubernetes-pf-flowschema-uid"])));
    },
  },
  "an account is made": {
    write: (api, round) => api.post(accounts, { metadata: { name: round } }),
    async check(api, round) {
      const answer = await api.post(`${accounts}/${round}/token`, {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: {},
      });
      tokens.set(round, answer.expect(201).string("status.token"));
    },
  },
  "an account is removed": {
    write: (api, round) => api.delete(`${accounts}/${round}`),
    check: async (api, round) =>
      (await api.get(configMaps, { as: "nobody", headers: { authorization: `Bearer ${tokens.get(round)!}` } })).expect(
        401,
      ),
  },
  "a storage class is the default": {
    write: (api, round) =>
      api.post("/apis/storage.k8s.io/v1/storageclasses", {
        metadata: { name: round, annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
        provisioner: "example.com/p",
      }),
    check: async (api, round) =>
      (await api.post(`${core}/persistentvolumeclaims`, claim(`claim-${round}`))).expect(201, {
        "spec.storageClassName": round,
      }),
  },
  "a storage class is the default no more": {
    write: (api, round) => api.delete(`/apis/storage.k8s.io/v1/storageclasses/${round}`),
    check: async (api, round) =>
      (await api.post(`${core}/persistentvolumeclaims`, claim(`none-${round}`))).expect(201, {
        "spec.storageClassName": undefined,
      }),
  },
};

test("what decides about requests is in force on the other server when its write is answered", async () => {
  const servers = await openServers({ latencyMsMax, isPatient: true });
  for (let round = 0; round < 3; round++) {
    const [one, other] = round % 2 === 0 ? servers : servers.toReversed();
    for (const [name, { write, check }] of Object.entries(steps)) {
      const answer = await write(one!.api, `r${round}`);
      assert.deepEqual(
        [answer.expect([200, 201]).warnings.filter((text) => text.includes("in force")), name],
        [[], name],
      );
      try {
        await check(other!.api, `r${round}`);
      } catch (error) {
        throw new Error(`round ${round}: ${name}`, { cause: error });
      }
    }
  }
});

test("a right that is taken away is refused by every server at once, in 30 of 30 tries", async () => {
  const servers = await openServers({ count: 3, latencyMsMax, isPatient: true });
  const [a] = servers;
  const { write, check } = steps["a role and its binding are made"]!;
  const path = `${rbac}/clusterrolebindings/r`;
  (await write(a!.api, "r")).expect(201);
  const binding = (await a!.api.get(path)).expect(200);
  const body = { roleRef: binding.at("roleRef"), subjects: binding.at("subjects"), metadata: { name: "r" } };
  for (let at = 0; at < 30; at++) {
    const others = servers.filter((_, index) => index !== at % 3).map(({ api }) => api);
    for (const api of others) await check(api, "r");
    const writer = servers[at % 3]!.api;
    (await writer.delete(path)).expect(200);
    for (const api of others) (await api.get(configMaps, asAlice)).expect(403);
    (await writer.post(`${rbac}/clusterrolebindings`, body)).expect(201);
  }
});

test("a silent server delays a write once, and the answer names it", async () => {
  const [a, b] = await openServers();
  const role = (name: string, query = "") => a!.api.post(`${rbac}/clusterroles${query}`, { metadata: { name } });
  /** Returns how many writes gave up, and how many of them did so within about a second. */
  const late = async (): Promise<readonly number[]> => {
    const { text } = await a!.api.get("/metrics");
    assert.ok(text.includes("\nbinnacle_peers 1\n"));
    const numberOf = (line: RegExp): number => Number(line.exec(text)?.[1] ?? 0);
    return [
      numberOf(/^binnacle_peer_waits_total\{result="late"\} (\d+)$/m),
      numberOf(/^binnacle_peer_wait_duration_seconds_bucket\{result="late",le="1.024"\} (\d+)$/m),
    ];
  };
  // The machine may stand still for a while before.
  let tries = 0;
  const heard = () => eventually(async () => assert.deepEqual((await role(`heard-${tries++}`)).warnings, []));
  await heard();
  const before = await late();
  b!.store.isDeaf = true;
  // Nothing is written here, and these objects decide about nothing.
  assert.deepEqual((await role("dry", "?dryRun=All")).expect(201).warnings, []);
  assert.deepEqual((await a!.api.post(configMaps, configMap("a"))).expect(201).warnings, []);
  assert.deepEqual(await late(), before);
  const { port } = new URL(b!.url);
  const warning = new RegExp(
    `^this write may not be in force on the server \\S+:${port} \\([0-9a-f-]{36}\\) yet, which has not said so within 2 seconds$`,
  );
  for (const name of ["first", "second", "third"]) {
    const { warnings } = (await role(name)).expect(201);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]!, warning);
  }
  // One of them has waited.
  assert.deepEqual(await late(), [before[0]! + 3, before[1]! + 2]);
  b!.store.isDeaf = false;
  await heard();
});

test("a server that is gone is not waited for, and one that ends leaves at once", async () => {
  const log = new SharedLog();
  const [a, b, c] = await openServers({ log, count: 3, isPatient: true });
  const role = (name: string) => a!.api.post(`${rbac}/clusterroles`, { metadata: { name } });
  b!.deafen();
  assert.deepEqual((await role("one")).expect(201).warnings, []);
  await c!.close();
  await eventually(async () => assert.ok((await a!.api.get("/metrics")).text.includes("\nbinnacle_peers 0\n")));
  assert.deepEqual((await role("two")).expect(201).warnings, []);
  b!.store.isDeaf = false;
});

test("a server that has not heard of the end of a definition leaves no object of it behind", async () => {
  const log = new SharedLog();
  const [a, b] = await openServers({ log });
  const group = "end.example.com";
  const path = `/apis/${group}/v1/widgets`;
  (await a!.api.post(crds, definition(group))).expect(201);
  (await b!.api.post(path, custom(group, "first"))).expect(201);
  b!.store.isDeaf = true;
  const { warnings } = (await a!.api.delete(`${crds}/widgets.${group}`)).expect(200);
  assert.equal(warnings.length, 1);
  // The object that the other server makes now must not outlive its definition.
  const late = b!.api.post(path, custom(group, "late"));
  await eventually(() =>
    Promise.resolve(assert.ok(log.entriesAt(log.revision).some(({ key }) => key.endsWith("/late")))),
  );
  b!.store.isDeaf = false;
  await late;
  await eventually(async () => (await a!.api.get(`${crds}/widgets.${group}`)).expect(404));
  const left = log.entriesAt(log.revision).filter(({ key }) => key.includes(group));
  assert.deepEqual(
    left.map(({ key }) => key),
    [],
  );
});

test("the endpoints of the servers are those of the servers that live", async () => {
  const log = new SharedLog();
  const own = (at: number) => ({ bindAddress: `127.0.0.${at}`, advertiseAddress: `192.0.2.${at}` });
  const servers = [];
  for (const at of [1, 2, 3]) servers.push(...(await openServers({ log, count: 1, settings: own(at) })));
  const [a, b, c] = servers;
  const shown = async (): Promise<readonly string[]> => {
    const answer = (await a!.api.get(`${core}/endpoints/kubernetes`)).expect(200);
    return answer
      .list("subsets")
      .flatMap((subset) => subset.list("addresses").map((one) => one.string("ip")))
      .sort();
  };
  await eventually(async () => assert.deepEqual(await shown(), ["192.0.2.1", "192.0.2.2", "192.0.2.3"]));
  b!.store.isCut = true;
  log.expireKeysOf(b!.store);
  await c!.close();
  await eventually(async () => assert.deepEqual(await shown(), ["192.0.2.1"]));
  b!.store.isCut = false;
  await eventually(async () => assert.deepEqual(await shown(), ["192.0.2.1", "192.0.2.2"]));
});
