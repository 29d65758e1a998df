/** Controllers of identities: service accounts, token Secrets, root certificates, bootstrap tokens. */
import assert from "node:assert/strict";
import { createHmac, X509Certificate } from "node:crypto";
import { test } from "node:test";
import type { Answer } from "../client.ts";
import { Api, domains, eventually, gated, openServer, suite, temporaryFolder, withOwnServer } from "../harness.ts";
import { configMap, namespaces, pod } from "../objects.ts";
import { absent, present } from "../view.ts";

const everything = { ...gated, enableBootstrapTokenAuth: true, controllers: ["*", "bootstrapsigner", "tokencleaner"] };
const inBothDomains = suite(everything);

const whoAmI = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const subject = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
const systemSecrets = "/api/v1/namespaces/kube-system/secrets";
const clusterInfo = "/api/v1/namespaces/kube-public/configmaps/cluster-info";
const tokenSecret = "0123456789abcdef";
const rootCertificates = "kube-root-ca.crt";

const account = (name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { name },
  ...more,
});
const accountSecret = (name: string, ofAccount: string, annotations: object = {}) => ({
  apiVersion: "v1",
  kind: "Secret",
  type: "kubernetes.io/service-account-token",
  metadata: { name, annotations: { "kubernetes.io/service-account.name": ofAccount, ...annotations } },
});
const bootstrapSecret = (id: string, data: Record<string, string> = {}) => ({
  apiVersion: "v1",
  kind: "Secret",
  type: "bootstrap.kubernetes.io/token",
  metadata: { name: `bootstrap-token-${id}` },
  stringData: { "token-id": id, "token-secret": tokenSecret, "usage-bootstrap-authentication": "true", ...data },
});
const newId = (): string => Math.random().toString(36).slice(2, 8).padEnd(6, "0");
const inSeconds = (seconds: number): string =>
  new Date(Date.now() + seconds * 1000).toISOString().replace(/\.\d+Z$/, "Z");
const until = (api: Api, path: string, check: (answer: Answer) => unknown): Promise<unknown> =>
  eventually(async () => check(await api.get(path)));

inBothDomains("every namespace gets the account default, again when it goes [AUTHN-03]", async (api) => {
  const { serviceAccounts } = await api.createNamespace();
  const path = `${serviceAccounts}/default`;
  let uid = "";
  await until(api, path, (answer) => {
    uid = answer.expect(200).string("metadata.uid");
  });
  (await api.delete(path)).expect(200);
  await until(api, path, (answer) => answer.expect(200, { "metadata.uid": (value: unknown) => value !== uid }));
  for (const name of ["default", "kube-system"]) {
    await until(api, `/api/v1/namespaces/${name}/serviceaccounts/default`, (answer) => answer.expect(200));
  }
});

inBothDomains("every namespace has the certificates the server is known by, and keeps them", async (api) => {
  const { configMaps } = await api.createNamespace();
  const path = `${configMaps}/${rootCertificates}`;
  (await api.post(configMaps, configMap("mine"))).expect(201);
  const isRight = (answer: Answer): void => {
    answer.expect(200, {
      data: { "ca.crt": api.server.ca },
      "metadata.annotations[kubernetes.io/description]": /^Contains a CA bundle that can be used/,
    });
    assert.ok(new X509Certificate(answer.string("data[ca.crt]")).ca);
  };
  await until(api, path, isRight);
  (await api.patch(path, { data: { "ca.crt": "broken", more: "x" } })).expect(200);
  await until(api, path, isRight);
  (await api.patch(path, { metadata: { annotations: null } })).expect(200);
  await until(api, path, isRight);
  (await api.delete(path)).expect(200);
  await until(api, path, isRight);
});

inBothDomains("a namespace on its way out gets nothing new and is gone", async (api) => {
  const { ns, serviceAccounts } = await api.createNamespace();
  await until(api, `${serviceAccounts}/default`, (answer) => answer.expect(200));
  (await api.delete(`${namespaces}/${ns}`)).expect(200);
  await until(api, `${namespaces}/${ns}`, (answer) => answer.expect(404));
});

inBothDomains("a namespace with jobs and replication controllers is deleted to the end", async (api) => {
  const { ns } = await api.createNamespace();
  const template = {
    metadata: { labels: { a: "b" } },
    spec: { containers: [{ name: "c", image: "i" }], restartPolicy: "Never" },
  };
  const job = { apiVersion: "batch/v1", kind: "Job", metadata: { name: "j" }, spec: { template } };
  (await api.post(`/apis/batch/v1/namespaces/${ns}/jobs`, job)).expect(201);
  const always = { ...template, spec: { ...template.spec, restartPolicy: "Always" } };
  const controller = {
    apiVersion: "v1",
    kind: "ReplicationController",
    metadata: { name: "r" },
    spec: { selector: { a: "b" }, template: always },
  };
  (await api.post(`/api/v1/namespaces/${ns}/replicationcontrollers`, controller)).expect(201);
  (await api.delete(`${namespaces}/${ns}`)).expect(200);
  await until(api, `${namespaces}/${ns}`, (answer) => answer.expect(404));
});

inBothDomains(
  "a Secret of the token type gets the token of its account, and goes with it [ASA-06] [ASA-07]",
  async (api) => {
    const { ns, secrets, serviceAccounts } = await api.createNamespace();
    const uid = (await api.post(serviceAccounts, account("robot"))).expect(201).string("metadata.uid");
    (await api.post(secrets, accountSecret("old", "robot"))).expect(201);
    let token = "";
    await until(api, `${secrets}/old`, (answer) => {
      answer.expect(200, {
        "data[ca.crt]": Buffer.from(api.server.ca).toString("base64"),
        "data.namespace": Buffer.from(ns).toString("base64"),
        "metadata.annotations[kubernetes.io/service-account.uid]": uid,
      });
      token = Buffer.from(answer.string("data.token"), "base64").toString();
    });
    const user = { "status.userInfo.username": `system:serviceaccount:${ns}:robot` };
    (await api.post(whoAmI, subject, { as: token })).expect(201, user);
    // A removed object is created again.
    (await api.patch(`${secrets}/old`, { data: { "ca.crt": null, namespace: null } })).expect(200);
    await until(api, `${secrets}/old`, (answer) =>
      answer.expect(200, { "data[ca.crt]": present, "data.namespace": present }),
    );
    (await api.delete(`${serviceAccounts}/robot`)).expect(200);
    (await api.post(whoAmI, subject, { as: token })).expect(401);
    await until(api, `${secrets}/old`, (answer) => answer.expect(404));
  },
);

inBothDomains("a Secret of an account that is missing, or was another one, is removed", async (api) => {
  const { secrets, serviceAccounts } = await api.createNamespace();
  await api.post(serviceAccounts, account("robot"));
  const stranger = { "kubernetes.io/service-account.uid": "00000000-0000-4000-8000-000000000000" };
  (await api.post(secrets, accountSecret("missing", "nobody"))).expect(201);
  (await api.post(secrets, accountSecret("another", "robot", stranger))).expect(201);
  for (const name of ["missing", "another"]) await until(api, `${secrets}/${name}`, (answer) => answer.expect(404));
});

inBothDomains("an account no longer names a Secret of its token that is gone", async (api) => {
  const { secrets, serviceAccounts } = await api.createNamespace();
  await api.post(serviceAccounts, account("robot", { secrets: [{ name: "old" }, { name: "other" }] }));
  await api.post(secrets, accountSecret("old", "robot"));
  await until(api, `${secrets}/old`, (answer) => answer.expect(200, { "data.token": present }));
  (await api.delete(`${secrets}/old`)).expect(200);
  await until(api, `${serviceAccounts}/robot`, (answer) => answer.expect(200, { secrets: [{ name: "other" }] }));
});

inBothDomains("a pod runs as an account of its namespace, with its files [ASA-11]", async (api) => {
  const { ns, serviceAccounts } = await api.createNamespace();
  const pods = `/api/v1/namespaces/${ns}/pods`;
  // The pod is created at once: the request waits for the account of the new namespace.
  const plain = (await api.post(pods, pod("plain"))).expect(201, {
    "spec.serviceAccountName": "default",
    "spec.serviceAccount": "default",
    "spec.volumes.0.projected.sources.0.serviceAccountToken": { expirationSeconds: 3607, path: "token" },
    "spec.volumes.0.projected.sources.1.configMap.name": rootCertificates,
    "spec.containers.0.volumeMounts.0.mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
    "spec.containers.0.volumeMounts.0.readOnly": true,
  });
  assert.equal(plain.at("spec.volumes.0.name"), plain.at("spec.containers.0.volumeMounts.0.name"));
  await api.post(
    serviceAccounts,
    account("quiet", { automountServiceAccountToken: false, imagePullSecrets: [{ name: "r" }] }),
  );
  (await api.post(pods, pod("bare", { serviceAccountName: "quiet" }))).expect(201, {
    "spec.volumes": absent,
    "spec.imagePullSecrets": [{ name: "r" }],
  });
  (await api.post(pods, pod("lost", { serviceAccountName: "none" }))).expectFailure(
    403,
    "Forbidden",
    `pods "lost" is forbidden: error looking up service account ${ns}/none: serviceaccount "none" not found`,
  );
  (await api.post(`${pods}?dryRun=All`, pod("dry"))).expect(201, { "spec.serviceAccountName": "default" });
});

inBothDomains(
  "the cluster's information is published, for a client without a user [BOOT-12] [BOOT-13]",
  async (api) => {
    const server = api.server.url;
    const ca = Buffer.from(api.server.ca).toString("base64");
    await until(api, clusterInfo, (answer) => {
      const text = answer.expect(200).string("data.kubeconfig");
      assert.ok(text.includes(`server: ${server}\n`) && text.includes(`certificate-authority-data: ${ca}\n`), text);
      assert.match(text, /^apiVersion: v1\nkind: Config\nclusters:\n- name: ""\n/);
      assert.match(text, /^users: null$/m);
    });
  },
);

inBothDomains(
  "tokens that may sign it do, with HS256 over the detached content [BOOT-09] [BOOT-14] [ABOOT-06] [ABOOT-07] [ABOOT-09] [ABOOT-10]",
  async (api) => {
    const [id, silent] = [newId(), newId()];
    await api.post(systemSecrets, bootstrapSecret(id, { "usage-bootstrap-signing": "true" }));
    await api.post(systemSecrets, bootstrapSecret(silent));
    const key = `data.jws-kubeconfig-${id}`;
    const verifyToken = (answer: Answer): string => {
      const [header = "", payload, signature] = answer.expect(200).string(key).split(".");
      assert.deepEqual(JSON.parse(Buffer.from(header, "base64url").toString()), { alg: "HS256", kid: id });
      assert.equal(payload, "");
      const content = Buffer.from(answer.string("data.kubeconfig")).toString("base64url");
      const sign = (secret: string): string =>
        createHmac("sha256", secret).update(`${header}.${content}`).digest("base64url");
      assert.equal(signature, sign(`${id}.${tokenSecret}`));
      assert.notEqual(signature, sign(tokenSecret));
      answer.expect(200, { [`data.jws-kubeconfig-${silent}`]: absent });
      return signature ?? "";
    };
    let before = "";
    await until(api, clusterInfo, (answer) => (before = verifyToken(answer)));
    const kubeconfig = (await api.get(clusterInfo)).string("data.kubeconfig");
    await api.patch(clusterInfo, { data: { kubeconfig: `${kubeconfig}# ${id}\n` } });
    await until(api, clusterInfo, (answer) => assert.notEqual(verifyToken(answer), before));
    (await api.delete(`${systemSecrets}/bootstrap-token-${id}`)).expect(200);
    await until(api, clusterInfo, (answer) => answer.expect(200, { [key]: absent }));
  },
);

inBothDomains("a token that has ended signs nothing, and is deleted [BOOT-16] [BOOT-17] [ABOOT-05]", async (api) => {
  const [soon, over, odd, later] = [newId(), newId(), newId(), newId()];
  const signing = { "usage-bootstrap-signing": "true" };
  await api.post(systemSecrets, bootstrapSecret(soon, { ...signing, expiration: inSeconds(2) }));
  await api.post(systemSecrets, bootstrapSecret(over, { ...signing, expiration: inSeconds(-10) }));
  await api.post(systemSecrets, bootstrapSecret(odd, { ...signing, expiration: "tomorrow" }));
  await api.post(systemSecrets, bootstrapSecret(later, { ...signing, expiration: inSeconds(3600) }));
  await until(api, clusterInfo, (answer) =>
    answer.expect(200, {
      [`data.jws-kubeconfig-${later}`]: present,
      [`data.jws-kubeconfig-${over}`]: absent,
      [`data.jws-kubeconfig-${odd}`]: absent,
    }),
  );
  for (const id of [over, odd, soon]) {
    await until(api, `${systemSecrets}/bootstrap-token-${id}`, (answer) => answer.expect(404));
  }
  await until(api, clusterInfo, (answer) => answer.expect(200, { [`data.jws-kubeconfig-${soon}`]: absent }));
  (await api.get(`${systemSecrets}/bootstrap-token-${later}`)).expect(200);
});

withOwnServer(
  "signer and cleaner run only when they are named [BOOT-17] [ABOOT-05] [ABOOT-06]",
  { ...gated, controllers: ["*"] },
  async (api) => {
    const id = newId();
    const data = { "usage-bootstrap-signing": "true", expiration: inSeconds(-10) };
    await api.post(systemSecrets, bootstrapSecret(id, data));
    const { serviceAccounts } = await api.createNamespace();
    await until(api, `${serviceAccounts}/default`, (answer) => answer.expect(200));
    (await api.get(`${systemSecrets}/bootstrap-token-${id}`)).expect(200);
    (await api.get(clusterInfo)).expect(404);
  },
);

withOwnServer(
  "controllers that are deselected do nothing",
  { ...gated, controllers: ["*", "-serviceaccount-controller", "-root-ca-cert-publisher", "-serviceaccount-token"] },
  async (api) => {
    const { ns, secrets, serviceAccounts, configMaps } = await api.createNamespace();
    await api.post(serviceAccounts, account("robot"));
    await api.post(secrets, accountSecret("old", "robot"));
    const answer = await api.post(`/api/v1/namespaces/${ns}/pods`, pod("p"));
    answer.expectFailure(403, "Forbidden", /serviceaccount "default" not found$/);
    (await api.get(`${secrets}/old`)).expect(200, { data: absent });
    (await api.get(configMaps)).expect(200, { items: [] });
  },
);

for (const domain of domains) {
  test(`${domain}: content somebody else published is signed, never replaced`, async () => {
    const settings = { ...everything, storage: "disk", dataDir: temporaryFolder() } as const;
    const first = await openServer(domain, { ...settings, controllers: ["*"] });
    const before = new Api(first);
    await before.post(clusterInfo.slice(0, -"/cluster-info".length), configMap("cluster-info", { kubeconfig: "mine" }));
    const id = newId();
    await before.post(systemSecrets, bootstrapSecret(id, { "usage-bootstrap-signing": "true" }));
    await first.close();
    const second = await openServer(domain, settings);
    const api = new Api(second);
    await until(api, clusterInfo, (answer) =>
      answer.expect(200, { "data.kubeconfig": "mine", [`data.jws-kubeconfig-${id}`]: present }),
    );
    await second.close();
  });
}
