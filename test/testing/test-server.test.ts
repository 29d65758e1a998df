/** Test servers: how they start and end, what they say, faults, time, and what was asked of them. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { Client } from "undici";
import { startTestServer } from "#testing/testing.ts";
import { ask, namesOf, watch } from "./requests.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const map = (name: string): object => ({ metadata: { name }, data: { a: "1" } });

void test("a server has what its clients need, and takes it away at its end", async () => {
  const server = await startTestServer();
  assert.match(server.url, /^https:\/\/127\.0\.0\.1:\d+$/);
  assert.equal(readFileSync(server.caFile, "utf8"), server.ca);
  assert.equal(readFileSync(server.kubeconfigFile, "utf8"), server.kubeconfig);
  assert.ok(server.kubeconfig.includes(server.url));
  const namespaces = await ask(server, "GET /api/v1/namespaces", 200);
  assert.deepEqual(namesOf(namespaces), ["default", "kube-node-lease", "kube-public", "kube-system"]);
  await ask(server, "GET /api/v1/namespaces/default/serviceaccounts/default", 200);
  assert.equal(await fetch(new URL(server.url)).catch((error: Error) => error.message), "fetch failed");
  await assert.rejects(server.fetch("https://127.0.0.1:1/api"), TypeError);
  await Promise.all([server.close(), server.close()]);
  assert.ok(!existsSync(server.caFile) && !existsSync(server.kubeconfigFile));
  await assert.rejects(server.fetch("/api"), TypeError);
});

void test("servers of one process are apart, and each may have its domain", async () => {
  await using one = await startTestServer();
  await using other = await startTestServer({ apiDomain: "platform.io" });
  await ask(one, `POST ${configMaps}`, 201, { body: map("mine") });
  await ask(other, `GET ${configMaps}/mine`, 404);
  await ask(other, "GET /apis/rbac.authorization.platform.io/v1/clusterroles/view", 200);
});

void test("the log is kept and not printed", async () => {
  await using server = await startTestServer({ settings: { verbosity: 4 } });
  for (let count = 0; count < 250; count++) await ask(server, "GET /api/v1/namespaces/default", 200);
  const lines = server.logs();
  assert.equal(lines.length, 200);
  // The server logs requests of its own, too.
  const asked = lines.filter((line) => line.includes("/api/v1/namespaces/default"));
  assert.ok(asked.length > 0);
});

void test("what was asked is recorded, until the next reset", async () => {
  await using server = await startTestServer();
  const agent = { "user-agent": "harbour/1.0" };
  await ask(server, `POST ${configMaps}`, 201, { body: map("one"), headers: agent });
  await ask(server, `PATCH ${configMaps}/one`, 200, { body: { data: { a: "2" } }, headers: agent });
  await ask(server, "GET /api/v1/namespaces/nowhere", 404);
  const shown = server.requests().map((one) => `${one.verb} ${one.resource} ${one.namespace}/${one.name} ${one.code}`);
  assert.deepEqual(shown, [
    "create configmaps default/ 201",
    "patch configmaps default/one 200",
    "get namespaces nowhere/nowhere 404",
  ]);
  assert.deepEqual(
    server
      .requests()
      .filter(({ userAgent }) => userAgent === "harbour/1.0")
      .map(({ method }) => method),
    ["POST", "PATCH"],
  );
  await server.reset();
  assert.deepEqual(server.requests(), []);
});

void test("planned answers meet the requests that match, as often as asked", async () => {
  await using server = await startTestServer();
  await ask(server, `POST ${configMaps}`, 201, { body: map("one") });
  server.faults.next({ verb: "patch", resource: "configmaps", name: "one" }, { answer: 409 });
  server.faults.next({ method: "GET", resource: "secrets" }, { answer: 429, retryAfter: 3 }, { times: 2 });
  await ask(server, `GET ${configMaps}/one`, 200);
  const conflict = await ask(server, `PATCH ${configMaps}/one`, 409, { body: { data: { a: "2" } } });
  assert.match(JSON.stringify(conflict), /"reason":"Conflict","details":\{"name":"one","kind":"configmaps"\}/);
  assert.deepEqual((await ask(server, `PATCH ${configMaps}/one`, 200, { body: {} })).data, { a: "1" });
  const busy = await server.fetch("/api/v1/secrets");
  assert.equal(busy.status, 429);
  assert.equal(busy.headers.get("retry-after"), "3");
  await busy.body?.cancel();
  await ask(server, "GET /api/v1/secrets", 429);
  await ask(server, "GET /api/v1/secrets", 200);
  server.faults.next({}, { answer: 500 });
  server.faults.clear();
  await ask(server, "GET /api/v1/secrets", 200);
  assert.throws(() => server.faults.next({}, { answer: 200 }), RangeError);
  assert.throws(() => server.faults.next({}, { delay: "soon" }), RangeError);
});

void test("an answer is lost, but the write is made", async () => {
  await using server = await startTestServer();
  server.faults.next({ verb: "create", resource: "configmaps" }, { lose: true });
  await assert.rejects(
    server.fetch(configMaps, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(map("lost")),
    }),
    TypeError,
  );
  await ask(server, `GET ${configMaps}/lost`, 200);
  assert.deepEqual(
    server.requests().map(({ code }) => code),
    [0, 200],
  );
});

void test("over HTTP/2 only the stream is cut, and the connection serves on", async (t) => {
  await using server = await startTestServer();
  const client = new Client(server.url, { connect: { ca: server.ca }, allowH2: true });
  t.after(() => client.destroy());
  const headers = { authorization: `Bearer ${server.token}` };
  server.faults.next({ verb: "list", resource: "secrets" }, { lose: true });
  const path = "/api/v1/secrets";
  await assert.rejects(client.request({ method: "GET", path, headers }));
  const { statusCode, body } = await client.request({ method: "GET", path, headers });
  await body.dump();
  assert.equal(statusCode, 200);
  assert.deepEqual(
    server.requests().map(({ code }) => code),
    [0, 200],
  );
});

void test("the client library is connected to the server, and closed with it", async () => {
  const server = await startTestServer();
  const cluster = await server.client("harbour");
  const path = "/api/v1/namespaces/default";
  const namespace = await cluster.rest.get(path);
  assert.equal(namespace.metadata.name, "default");
  assert.match(server.requests()[0]!.userAgent, /^harbour/);
  await server.close();
});

void test("a delayed request is carried out when the time has come", async () => {
  await using server = await startTestServer();
  server.faults.next({ verb: "create", resource: "configmaps" }, { delay: "1h" });
  const creating = ask(server, `POST ${configMaps}`, 201, { body: map("late") });
  while (server.requests().length === 0) await new Promise((resolve) => setImmediate(resolve));
  await ask(server, `GET ${configMaps}/late`, 404);
  await server.clock.advance("1h");
  await creating;
});

void test("watches are cut, and old versions are gone after a compaction", async () => {
  await using server = await startTestServer();
  const { metadata } = await ask(server, `GET ${configMaps}`, 200);
  await ask(server, `POST ${configMaps}`, 201, { body: map("one") });
  const maps = await watch(server, configMaps, metadata.resourceVersion);
  const secrets = await watch(server, "/api/v1/secrets", metadata.resourceVersion);
  await server.settled();
  assert.deepEqual(maps.events, ["ADDED one"]);
  assert.equal(server.faults.dropWatches({ resource: "configmaps" }), 1);
  assert.ok((await maps.ended) instanceof Error, "the client sees that something is missing");
  assert.equal(server.faults.dropWatches(), 1);
  await secrets.ended;
  assert.equal(server.faults.dropWatches(), 0);

  await server.faults.compact();
  const late = await watch(server, configMaps, metadata.resourceVersion).catch((error: Error) => error);
  if (late instanceof Error) assert.match(late.message, /410/);
  else {
    await late.ended;
    assert.deepEqual(late.events, ["ERROR 410"]);
  }
});

void test("tokens and events expire when the time is advanced", async () => {
  await using server = await startTestServer();
  const startMs = server.clock.now();
  const answer = await ask(server, "POST /api/v1/namespaces/default/serviceaccounts/default/token", 201, {
    body: { spec: { expirationSeconds: 3600 } },
  });
  const { token } = answer.status as { token: string };
  const asAccount = { headers: { authorization: `Bearer ${token}` } };
  await ask(server, "GET /api", 200, asAccount);
  const event = {
    metadata: { name: "e" },
    involvedObject: { kind: "Pod", namespace: "default", name: "p" },
    reason: "Tested",
  };
  await ask(server, "POST /api/v1/namespaces/default/events", 201, { body: event });
  await server.clock.advance("61m");
  assert.ok(server.clock.now() >= startMs + 3_660_000);
  await ask(server, "GET /api", 401, asAccount);
  await ask(server, "GET /api/v1/namespaces/default/events/e", 404);
  await assert.rejects(server.clock.advance("an hour"), RangeError);
});

void test("settled() waits for no timer when a request was the only work", async (t) => {
  await using server = await startTestServer();
  await server.settled();
  t.mock.timers.enable({ apis: ["setTimeout"] }); // no timer fires from now on
  await ask(server, `POST ${configMaps}`, 201, { body: map("one") });
  await server.settled();
  t.mock.timers.reset();
});

void test("settled() waits for what controllers do", async () => {
  await using server = await startTestServer();
  await ask(server, "POST /api/v1/namespaces", 201, { body: { metadata: { name: "shop" } } });
  await server.settled();
  await ask(server, "GET /api/v1/namespaces/shop/serviceaccounts/default", 200);
  await ask(server, "GET /api/v1/namespaces/shop/configmaps/kube-root-ca.crt", 200);
  await ask(server, "DELETE /api/v1/namespaces/shop", 200);
  await server.settled();
  await ask(server, "GET /api/v1/namespaces/shop", 404);
});
