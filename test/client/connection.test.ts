/** Connections of the client library to a running server, in each domain: what is sent, and ways that fail. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { ConnectionSettings, Credential } from "#client/connection-settings.ts";
import { ConnectionError } from "#client/connection-error.ts";
import { RestClient } from "#client/rest-client.ts";
import type { ReceivedEvent } from "#client/received-event.ts";
import type { Transport } from "#client/transport.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { type Api, eventually, openServer, startsServers, suite, type TestServer } from "../harness.ts";
import { openFaultyProxy } from "./faulty-proxy.ts";
import { clusterOf, makeNamespace } from "./open-cluster.ts";
import { openForTest, settingsOf, settingsThrough } from "./settings.ts";

const inBothDomains = suite();
/** The time between pings where a test waits for one that has no answer. */
const timing = { pingMs: 300 };

interface Review extends ApiObject {
  readonly status: {
    readonly userInfo: { readonly username: string; readonly groups: string[]; readonly extra?: object };
  };
}

async function whoAmI(api: Api, transport: Transport): Promise<Review["status"]["userInfo"]> {
  const apiVersion = api.name("authentication.k8s.io/v1");
  const path = `/apis/${apiVersion}/selfsubjectreviews`;
  const body = Buffer.from(JSON.stringify({ apiVersion, kind: "SelfSubjectReview" }));
  return (await new RestClient(transport).call<Review>({ method: "POST", path, body })).status.userInfo;
}

function configMap(name: string): Buffer {
  return Buffer.from(JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } }));
}

/** Watches until the stream ends. `hasStarted` resolves with the first event, and rejects if none comes. */
function watch(transport: Transport, path: string, signal?: AbortSignal) {
  const events: ReceivedEvent[] = [];
  let started!: () => void;
  const ended = transport.stream(
    {
      method: "GET",
      path: `${path}?watch=true&allowWatchBookmarks=true`,
      ...(signal === undefined ? {} : { signal }),
    },
    (event) => {
      events.push(event);
      started();
    },
  );
  const hasStarted = new Promise<void>((resolve, reject) => {
    started = resolve;
    ended.then(() => reject(new Error("the watch ended before its first event")), reject);
  });
  hasStarted.catch(() => undefined);
  return { events, hasStarted, ended };
}

inBothDomains("objects are written, read and watched, and a watch ends with its signal", async (api, t) => {
  const configMaps = await collectionOf(api, t);
  const connection = openForTest(t, settingsOf(api.server));
  const stop = new AbortController();
  const { events, hasStarted, ended } = watch(connection, configMaps, stop.signal);
  const made = await connection.request({ method: "POST", path: configMaps, body: configMap("a") });
  assert.equal(made.code, 201);
  await hasStarted;
  await eventually(async () =>
    assert.ok(events.some((event) => event.type === "ADDED" && event.object().metadata.name === "a")),
  );
  stop.abort();
  assert.equal((await ended).code, 200);
  const refused = await connection.request({ method: "GET", path: `${configMaps}/b` });
  assert.equal(refused.code, 404);
  const unknown = await watchAt(connection, api.name("/apis/apps.k8s.io/v9/none"));
  assert.equal(unknown.code, 404);
});

const watchAt = (connection: Transport, path: string) =>
  connection.stream({ method: "GET", path: `${path}?watch=true` }, () => undefined);

/** Makes a namespace, and returns the path of its config maps. */
async function collectionOf(api: Api, t: TestContext): Promise<string> {
  return `/api/v1/namespaces/${await makeNamespace(await clusterOf(api, t), "connection")}/configmaps`;
}

/** Returns the server, and one without HTTP/2 if this run starts servers. */
async function bothProtocols(api: Api, t: TestContext): Promise<readonly TestServer[]> {
  if (!startsServers) return [api.server];
  const old = await openServer(api.domain, { disableHttp2: true });
  t.after(() => old.close());
  return [api.server, old];
}

inBothDomains(
  "a signal that is aborted ends a request with its reason, before, during and between tries",
  async (api, t) => {
    const connection = openForTest(t, settingsOf(api.server));
    const reason = new Error("enough");
    const path = "/version";
    await assert.rejects(connection.request({ method: "GET", path, signal: AbortSignal.abort(reason) }), reason);
    const stop = new AbortController();
    const pending = connection.request({ method: "GET", path, signal: stop.signal });
    stop.abort(reason);
    await assert.rejects(pending, reason);
    assert.equal((await connection.request({ method: "GET", path })).code, 200);
  },
);

inBothDomains(
  "requests are made as another user, with several groups and values, over both protocols",
  async (api, t) => {
    const impersonate = {
      user: "jané",
      uid: "u1",
      groups: ["a, b", "developers", "c", "d", "e"],
      extra: { "Example.com/Scopes": ["one, two", "three"], grün: ["x"] },
    };
    const userInfo = {
      username: "jané",
      uid: "u1",
      groups: ["a, b", "developers", "c", "d", "e", "system:authenticated"],
      extra: { "example.com/scopes": ["one, two", "three"], grün: ["x"] },
    };
    for (const server of await bothProtocols(api, t)) {
      assert.deepEqual(await whoAmI(api, openForTest(t, settingsOf(server, { impersonate }))), userInfo);
    }
  },
);

inBothDomains("warnings of the server are in the response", async (api, t) => {
  const configMaps = await collectionOf(api, t);
  const connection = openForTest(t, settingsOf(api.server));
  const body = Buffer.from(
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"w"},"ünknown":1,"data":{"a":"1","a":"2"}}',
  );
  const { code, warnings } = await connection.request({ method: "POST", path: configMaps, body });
  assert.equal(code, 201);
  assert.deepEqual(warnings, ['unknown field "ünknown"', 'duplicate field "data.a"']);
});

inBothDomains(
  "a token that the server rejects is renewed once, and another rejection is the answer",
  async (api, t) => {
    const tokens = ["wrong", "admin-token", "bob-token"];
    const rejected: Credential[] = [];
    const credentials: ConnectionSettings["credentials"] = {
      current: () => ({ token: tokens[Math.min(rejected.length, 2)]! }),
      rejected: (credential) => rejected.push(credential) < 3,
    };
    const connection = openForTest(t, settingsOf(api.server, { credentials }));
    assert.equal((await whoAmI(api, connection)).username, "admin");
    assert.deepEqual(rejected, [{ token: "wrong" }]);
    tokens[1] = "wrong too";
    tokens[2] = "wrong again";
    assert.equal((await connection.request({ method: "GET", path: "/api" })).code, 401);
    assert.equal(rejected.length, 2);
  },
  { needs: "users with known tokens" },
);

inBothDomains("large answers are compressed only where the settings allow it, and read the same", async (api, t) => {
  const configMaps = await collectionOf(api, t);
  const direct = openForTest(t, settingsOf(api.server, { compress: false }));
  const packed = openForTest(t, settingsOf(api.server));
  const data = { large: "x".repeat(400_000) };
  const body = Buffer.from(JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "l" }, data }));
  assert.equal((await direct.request({ method: "POST", path: configMaps, body })).code, 201);
  const way = await openFaultyProxy(t, api.endpoint.port, api.endpoint.host);
  const counted = (compress: boolean) => openForTest(t, settingsThrough(way, api.server, { compress }));
  for (const [compress, isLong] of [
    [false, true],
    [true, false],
  ] as const) {
    const before = way.bytes.toClient;
    const answer = await counted(compress).request({ method: "GET", path: `${configMaps}/l` });
    assert.ok(answer.body.includes("x".repeat(400_000)));
    assert.equal(way.bytes.toClient - before > 400_000, isLong);
  }
  assert.ok((await packed.request({ method: "GET", path: configMaps })).body.length > 400_000);
});

inBothDomains("many watches leave room for many calls, over both protocols", async (api, t) => {
  for (const [at, server] of (await bothProtocols(api, t)).entries()) {
    const count = at === 0 ? 300 : 30;
    const connection = openForTest(t, settingsOf(server));
    const watches = Array.from({ length: count }, () => watch(connection, "/api/v1/namespaces"));
    await Promise.all(watches.map(({ hasStarted }) => hasStarted));
    const answers = Array.from({ length: 300 }, () => connection.request({ method: "GET", path: "/version" }));
    for (const { code } of await Promise.all(answers)) assert.equal(code, 200);
    await connection.close();
    for (const { ended } of watches)
      await assert.rejects(ended, /^ConnectionError: the connection to https:\S+ is closed$/);
  }
});

inBothDomains("a watch whose packets are swallowed fails, and so does a call, over both protocols", async (api, t) => {
  for (const server of await bothProtocols(api, t)) {
    const way = await openFaultyProxy(t, server.endpoint.port, server.endpoint.host);
    const connection = openForTest(t, settingsThrough(way, server), {
      timing: { ...timing, silenceMs: 300, probeMs: 300, connectMs: 300 },
    });
    // A busy machine is sometimes too slow for times as short as these.
    const { ended } = await eventually(async () => {
      const watching = watch(connection, "/api/v1/namespaces");
      await watching.hasStarted;
      return watching;
    });
    way.swallow();
    way.newConnections = "swallowed";
    await assert.rejects(ended, (error) => error instanceof ConnectionError && error.sent && error.temporary);
    const lost = connection.request({ method: "POST", path: "/api/v1/namespaces", body: Buffer.from("{}") });
    await assert.rejects(lost, /^ConnectionError: https:\S+ does not answer \(ETIMEDOUT\): check the address/);
    way.newConnections = "forwarded";
    const { code } = await eventually(() => connection.request({ method: "GET", path: "/version" }));
    assert.equal(code, 200);
  }
});

inBothDomains("an answer that is cut in the middle is read again, and a watch that is cut fails", async (api, t) => {
  const configMaps = await collectionOf(api, t);
  const way = await openFaultyProxy(t, api.endpoint.port, api.endpoint.host);
  const settings = settingsThrough(way, api.server, { compress: false });
  const connection = openForTest(t, settings);
  const data = { large: "x".repeat(400_000) };
  const body = Buffer.from(JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "l" }, data }));
  assert.equal((await connection.request({ method: "POST", path: configMaps, body })).code, 201);
  way.cutAfterBytes = 100_000;
  const before = way.accepted;
  assert.ok((await connection.request({ method: "GET", path: `${configMaps}/l` })).body.length > 400_000);
  assert.equal(way.accepted, before + 1);
  const { hasStarted, ended } = watch(connection, configMaps);
  await hasStarted;
  way.cut();
  await assert.rejects(ended, /^ConnectionError: the connection to \S+ was lost in the middle of an answer \(/);
});

inBothDomains(
  "a client certificate is the identity; with another one, new requests take new connections",
  async (api, t) => {
    const way = await openFaultyProxy(t, api.endpoint.port, api.endpoint.host);
    const pem = (field: string): string => {
      const [, data = ""] = new RegExp(`${field}: (\\S+)`).exec(api.server.kubeconfig) ?? [];
      return Buffer.from(data, "base64").toString();
    };
    const certificate = { cert: pem("client-certificate-data"), key: pem("client-key-data") };
    let credential: Credential = {};
    const credentials = { current: () => credential, rejected: () => false };
    const connection = openForTest(t, settingsThrough(way, api.server, { credentials }));
    credential = { token: "alice-token" };
    assert.equal((await whoAmI(api, connection)).username, "alice");
    const { hasStarted, ended } = watch(connection, "/api/v1/namespaces/default/configmaps");
    await Promise.race([hasStarted, ended]);
    credential = { certificate };
    assert.ok((await whoAmI(api, connection)).groups.includes("system:masters"));
    assert.equal(way.accepted, 2);
    credential = { certificate: { ...certificate } };
    await whoAmI(api, connection);
    assert.equal(way.accepted, 2);
    await connection.close();
  },
  { needs: "users with known tokens" },
);

test("errors of connections say in one line what to do, and have no credentials", {
  skip: startsServers ? false : "starts a server of its own",
}, async (t) => {
  const server = await openServer("k8s.io");
  t.after(() => server.close());
  const { port } = server.endpoint;
  const nobody = await openFaultyProxy(t, port);
  nobody.newConnections = "refused";
  const cases: readonly [Partial<ConnectionSettings>, RegExp][] = [
    [
      { server: new URL("https://user:secret@127.0.0.1:1/x") },
      /^nothing listens at https:\/\/127\.0\.0\.1:1 \(ECONNREFUSED\): is the server running, and is this its address\?$/,
    ],
    [
      { server: new URL(`https://127.0.0.1:${port}`), tls: { insecure: false } },
      /is signed by an authority that is not trusted \(\w+\): give it as certificate-authority$/,
    ],
    [
      { tls: { ca: () => server.ca, insecure: false, serverName: "elsewhere" } },
      /the certificate of https:\S+ is for .*localhost.*, not for elsewhere: use another address, or give tls-server-name$/,
    ],
    [
      { tls: { ca: () => "no certificate", insecure: false } },
      /the certificate authority for https:\S+ cannot be used: /,
    ],
    [
      { credentials: { current: () => ({ certificate: { cert: server.ca, key: "secret" } }), rejected: () => false } },
      /^the client certificate or its key for \S+ cannot be used: /,
    ],
    [
      { credentials: { current: () => ({ token: "secret\n" }), rejected: () => false } },
      /^the request to https:\S+ cannot be sent: invalid authorization header$/,
    ],
    [
      { server: new URL(`https://127.0.0.1:${nobody.port}`) },
      /closed the connection before it could be used \(ECONNRESET\)$/,
    ],
  ];
  for (const [others, message] of cases) {
    const connection = openForTest(t, settingsOf(server, others));
    await assert.rejects(connection.request({ method: "POST", path: "/api", body: Buffer.from("secret") }), (error) => {
      assert.ok(error instanceof ConnectionError, String(error));
      assert.match(error.message, message);
      assert.ok(!error.message.includes("secret") && !error.message.includes("\n"));
      assert.equal(error.sent, false);
      return true;
    });
  }
  const open = openForTest(t, settingsOf(server, { tls: { insecure: true } }));
  assert.equal((await open.request({ method: "GET", path: "/version" })).code, 200);
  const named = openForTest(
    t,
    settingsOf(server, { tls: { ca: () => server.ca, insecure: false, serverName: "localhost" } }),
  );
  assert.equal((await named.request({ method: "GET", path: "/version" })).code, 200);
});
