/** `reset`, `snapshot` and `restore` of test servers, as clients see them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestServer } from "#testing/testing.ts";
import { ask, namesOf, watch } from "./requests.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const map = (name: string, rest: object = {}): object => ({ metadata: { name }, data: { a: "1" }, ...rest });

void test("a reset brings the state after the start back, and watches see it", async () => {
  await using server = await startTestServer();
  const before = await ask(server, `GET ${configMaps}`, 200);
  const names = namesOf(before);
  await ask(server, `POST ${configMaps}`, 201, { body: map("new") });
  await ask(server, `PATCH ${configMaps}/kube-root-ca.crt`, 200, { body: { data: { extra: "1" } } });
  const changed = await ask(server, "GET /api/v1/configmaps", 200);
  const watching = await watch(server, configMaps, changed.metadata.resourceVersion);
  await server.reset();
  await server.settled();
  assert.deepEqual(watching.events, ["DELETED new", "MODIFIED kube-root-ca.crt"]);
  watching.stop();

  const after = await ask(server, `GET ${configMaps}`, 200);
  assert.deepEqual(namesOf(after), names);
  assert.deepEqual(after.items[0]!.data, before.items[0]!.data);
  assert.ok(BigInt(after.metadata.resourceVersion) > BigInt(changed.metadata.resourceVersion), "versions go on");
});

void test("finalizers, admission and protected objects do not hold a reset up", async () => {
  await using server = await startTestServer();
  await ask(server, "POST /api/v1/namespaces", 201, { body: { metadata: { name: "shop" } } });
  const maps = "/api/v1/namespaces/shop/configmaps";
  await ask(server, `POST ${maps}`, 201, { body: map("held", { metadata: { name: "held", finalizers: ["a.b/c"] } }) });
  await ask(server, `POST ${maps}`, 201, { body: map("fixed", { immutable: true }) });
  await ask(server, `DELETE ${maps}/held`, 200);
  await ask(server, "DELETE /api/v1/namespaces/shop", 200);
  await ask(server, "DELETE /apis/rbac.authorization.k8s.io/v1/clusterroles/view", 200);
  await ask(server, "DELETE /apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/probes", 200);
  await ask(server, "DELETE /api/v1/namespaces/default/services/kubernetes", 200);
  await server.reset();
  await ask(server, "GET /api/v1/namespaces/shop", 404);
  await ask(server, `GET ${maps}/held`, 404);
  for (const kept of [
    "/apis/rbac.authorization.k8s.io/v1/clusterroles/view",
    "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/probes",
    "/api/v1/namespaces/default/services/kubernetes",
    "/api/v1/namespaces/default/serviceaccounts/default",
    "/api/v1/namespaces/kube-system",
  ]) {
    await ask(server, `GET ${kept}`, 200);
  }
  // The same names can be used again at once.
  await ask(server, "POST /api/v1/namespaces", 201, { body: { metadata: { name: "shop" } } });
  await server.settled();
  await ask(server, `POST ${maps}`, 201, { body: map("held") });
});

void test("access rules follow a reset", async () => {
  await using server = await startTestServer({ settings: { authorizationMode: ["RBAC"] } });
  const alice = { headers: { "impersonate-user": "alice" } };
  const binding = {
    metadata: { name: "alice" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "alice" }],
  };
  await ask(server, `GET ${configMaps}`, 403, alice);
  await ask(server, "POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings", 201, { body: binding });
  await ask(server, `GET ${configMaps}`, 200, alice);
  const snapshot = server.snapshot();
  await server.reset();
  await ask(server, `GET ${configMaps}`, 403, alice);
  await server.restore(snapshot);
  await ask(server, `GET ${configMaps}`, 200, alice);
});

const definition = {
  metadata: { name: "boats.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "boats", singular: "boat", kind: "Boat" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: { spec: { type: "object", properties: { length: { type: "integer" } } } },
          },
        },
      },
    ],
  },
};

void test("definitions and their objects go and come back", async () => {
  await using server = await startTestServer();
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const boats = "/apis/example.com/v1/namespaces/default/boats";
  const boat = { apiVersion: "example.com/v1", kind: "Boat", metadata: { name: "ketch" }, spec: { length: 9 } };
  await ask(server, `POST ${definitions}`, 201, { body: definition });
  await server.settled();
  await ask(server, `POST ${boats}`, 201, { body: boat });
  const snapshot = server.snapshot();
  await server.reset();
  await server.settled();
  await ask(server, `GET ${definitions}/boats.example.com`, 404);
  assert.equal((await server.fetch(boats)).status, 404);
  await server.restore(snapshot);
  await server.settled();
  const back = await ask(server, `GET ${boats}/ketch`, 200);
  assert.deepEqual(back.spec, { length: 9 });
  await ask(server, `POST ${boats}`, 422, { body: { ...boat, metadata: { name: "sloop" }, spec: { length: "long" } } });
});

void test("service addresses and quotas are free again", async () => {
  await using server = await startTestServer();
  const services = "/api/v1/namespaces/default/services";
  const service = { metadata: { name: "web" }, spec: { clusterIP: "10.0.0.77", ports: [{ port: 80 }] } };
  const quota = { metadata: { name: "few" }, spec: { hard: { "count/secrets": "1" } } };
  await ask(server, "POST /api/v1/namespaces/default/resourcequotas", 201, { body: quota });
  await server.settled();
  const snapshot = server.snapshot();
  const secret = { metadata: { name: "one" } };
  await ask(server, `POST ${services}`, 201, { body: service });
  await ask(server, "POST /api/v1/namespaces/default/secrets", 201, { body: secret });
  await ask(server, "POST /api/v1/namespaces/default/secrets", 403, { body: { metadata: { name: "two" } } });
  await server.restore(snapshot);
  await ask(server, `POST ${services}`, 201, { body: { ...service, metadata: { name: "other" } } });
  await ask(server, "POST /api/v1/namespaces/default/secrets", 201, { body: { metadata: { name: "two" } } });
  await ask(server, "POST /api/v1/namespaces/default/secrets", 403, { body: secret });
});

void test("the collector of garbage knows restored owners", async () => {
  await using server = await startTestServer();
  const owner = await ask(server, `POST ${configMaps}`, 201, { body: map("owner") });
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: owner.metadata.uid }];
  await ask(server, `POST ${configMaps}`, 201, {
    body: map("owned", { metadata: { name: "owned", ownerReferences } }),
  });
  await server.settled();
  const snapshot = server.snapshot();
  await ask(server, `DELETE ${configMaps}/owner`, 200);
  await server.settled();
  await ask(server, `GET ${configMaps}/owned`, 404);
  await server.restore(snapshot);
  await server.settled();
  await ask(server, `GET ${configMaps}/owned`, 200);
  await ask(server, `DELETE ${configMaps}/owner`, 200);
  await server.settled();
  await ask(server, `GET ${configMaps}/owned`, 404);
});

void test("a snapshot belongs to its server", async () => {
  await using server = await startTestServer();
  await assert.rejects(server.restore({ resourceVersion: "1" }), TypeError);
  const snapshot = server.snapshot();
  assert.match(snapshot.resourceVersion, /^\d+$/);
  await server.restore(snapshot);
});
