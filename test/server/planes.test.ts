/** Planes: control planes beside the server's own, made and removed by objects (`docs/planes.md`). */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import http2 from "node:http2";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { ServerSettings } from "#server/options.ts";
import type { Answer } from "../client.ts";
import { Api, type Domain, domains, eventually, openServer, temporaryFolder } from "../harness.ts";
import { MovingClock } from "../moving-clock.ts";
import { configMap, secret } from "../objects.ts";
import { connectRaw } from "../raw.ts";
import {
  configMaps,
  makePlane,
  type OpenedPlane,
  planeCondition,
  planeObject,
  planes,
  readyPlane,
  removedPlane,
} from "./planes-for-tests.ts";

/** Opens a server with planes in memory, unless the settings say otherwise, and closes it when the test ends. */
async function open(t: TestContext, domain: Domain, settings: ServerSettings = {}): Promise<Api> {
  const server = await openServer(domain, { planes: join(temporaryFolder(), "planes"), ...settings });
  t.after(() => server.close());
  return new Api(server);
}

for (const domain of domains) {
  test(`an object of the kind Plane makes a control plane of its own, in ${domain}`, async (t) => {
    const api = await open(t, domain);
    const { prefix, as } = await makePlane(api, "alpha");
    assert.equal(prefix, "/planes/alpha");
    (await api.get(`${prefix}/readyz`, { as })).expect(200);
    (await api.get(`${prefix}/openapi/v3`, { as })).expect(200);
    (await api.get(`${prefix}/metrics`, { as })).expect(200);
    (await api.post(`${prefix}${configMaps}`, configMap("a", { v: "1" }), { as })).expect(201);
    (await api.get(`${prefix}${configMaps}/a`, { as })).expect(200, { "data.v": "1" });
    (await api.get(`${configMaps}/a`)).expect(404);
  });
}

test("what one plane has, another does not: objects, kinds, users and permissions", async (t) => {
  const api = await open(t, "k8s.io");
  const [a, b] = [await makePlane(api, "a"), await makePlane(api, "b")];
  const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const names = { plural: "boats", kind: "Boat" };
  const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }];
  const crd = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "boats.example.com" },
    spec: { group: "example.com", scope: "Cluster", names, versions },
  };
  (await api.post(`${a.prefix}${crds}`, crd, a)).expect(201);
  await eventually(async () => (await api.get(`${a.prefix}/apis/example.com/v1/boats`, a)).expect(200));
  (await api.get(`${b.prefix}/apis/example.com/v1/boats`, b)).expect(404);
  (await api.get("/apis/example.com/v1/boats")).expect(404);

  for (const [{ prefix }, as] of [
    [a, b.as],
    [b, a.as],
    [a, "admin"],
    [a, "nobody"],
  ] as const) {
    (await api.get(`${prefix}/version`, { as })).expectFailure(401, "Unauthorized");
  }
  (await api.get("/api/v1/namespaces", a)).expectFailure(401, "Unauthorized");

  const accounts = "/api/v1/namespaces/default/serviceaccounts";
  const robot = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "robot" } };
  for (const { prefix, as } of [a, b]) (await api.post(`${prefix}${accounts}`, robot, { as })).expect(201);
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  const token = (await api.post(`${a.prefix}${accounts}/robot/token`, request, a)).expect(201).string("status.token");
  const claims = JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) as {
    iss: string;
    aud: string[];
  };
  assert.equal(claims.iss, `${api.server.url}/planes/a`);
  assert.deepEqual(claims.aud, [`${api.server.url}/planes/a`]);
  (await api.get(`${a.prefix}/api/v1/namespaces`, { as: token })).expectFailure(403, "Forbidden");
  (await api.get(`${b.prefix}/api/v1/namespaces`, { as: token })).expectFailure(401, "Unauthorized");
  (await api.get("/api/v1/namespaces", { as: token })).expectFailure(401, "Unauthorized");
});

test("names of planes cannot be guessed without credentials", async (t) => {
  const api = await open(t, "k8s.io");
  const { prefix } = await makePlane(api, "there");
  for (const as of ["nobody", "some-token"]) {
    for (const path of ["/version", "/healthz", "/api", "/apis/apps/v1/deployments", ""]) {
      const there = (await api.get(`${prefix}${path}`, { as })).expectFailure(401, "Unauthorized");
      const absent = (await api.get(`/planes/absent${path}`, { as })).expectFailure(401, "Unauthorized");
      assert.equal(absent.text, there.text);
      assert.deepEqual(Object.keys(absent.headers).sort(), Object.keys(there.headers).sort());
    }
  }
  (await api.get("/planes/absent/version")).expect(404);
});

test("strangers get one answer from planes that are open, closed or absent, and keep none open", async (t) => {
  const clock = new MovingClock();
  const folder = temporaryFolder();
  const corsAllowedOrigins = ["^https://console\\.example$"];
  const settings: ServerSettings = {
    storage: "disk",
    planes: folder,
    planesIdleTimeoutMs: 60_000,
    corsAllowedOrigins,
  };
  const server = await openServer("k8s.io", settings, { clock });
  t.after(() => server.close());
  const api = new Api(server);
  const [closed, opened] = [await makePlane(api, "closed"), await makePlane(api, "opened")];
  (await api.get(`${opened.prefix}/version`, opened)).expect(200);
  const isOpen = (name: string): boolean => existsSync(join(folder, name, "store.db-wal"));
  const origin = { origin: "https://console.example" };
  const requests = [
    { method: "GET", query: "?timeout=abc" },
    { method: "GET", accept: "application/yaml" },
    { method: "GET", accept: "application/vnd.kubernetes.protobuf" },
    { method: "POST", headers: origin },
    { method: "OPTIONS" },
    { method: "OPTIONS", headers: origin },
    { method: "OPTIONS", headers: origin, query: "?timeout=abc" },
  ];
  for (const { method, query = "", ...options } of requests) {
    for (const as of ["nobody", "some-token"]) {
      const ask = async (prefix: string) => {
        const answer = await api.send(method, `${prefix}${configMaps}${query}`, undefined, { as, ...options });
        const headers = { ...answer.headers, date: "", "audit-id": "" };
        return { status: answer.status, headers, text: answer.text };
      };
      const absent = await ask("/planes/absent");
      assert.deepEqual(await ask(opened.prefix), absent, `${method} ${query}`);
      assert.deepEqual(await ask(closed.prefix), absent, `${method} ${query}`);
      assert.equal(absent.status, method === "OPTIONS" && "headers" in options ? 204 : 401);
    }
  }
  assert.ok(isOpen("opened") && !isOpen("closed"));
  (await api.get(`${opened.prefix}${configMaps}?timeout=abc`, opened)).expectFailure(400, "BadRequest");
  await eventually(async () => {
    clock.advance(20_000);
    for (const { method, query = "", ...options } of requests)
      await api.send(method, `${opened.prefix}${configMaps}${query}`, undefined, { as: "nobody", ...options });
    assert.ok(!isOpen("opened"));
  });
});

test("only credentials of a closed plane open it, and the answer to others tells nothing", async (t) => {
  const clock = new MovingClock();
  const folder = temporaryFolder();
  const settings: ServerSettings = {
    storage: "disk",
    planes: folder,
    planesIdleTimeoutMs: 60_000,
    enableBootstrapTokenAuth: true,
  };
  const server = await openServer("k8s.io", settings, { clock });
  t.after(() => server.close());
  const api = new Api(server);
  const [a, b] = [await makePlane(api, "a"), await makePlane(api, "b")];
  const isOpen = (name: string): boolean => existsSync(join(folder, name, "store.db-wal"));
  const closed = (name: string) =>
    eventually(async () => {
      clock.advance(20_000);
      assert.ok(!isOpen(name));
    });
  const account = "/api/v1/namespaces/default/serviceaccounts/robot";
  const robot = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "robot" } };
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  const tokens: string[] = [];
  for (const { prefix, as } of [a, b]) {
    (await api.post(`${prefix}/api/v1/namespaces/default/serviceaccounts`, robot, { as })).expect(201);
    tokens.push((await api.post(`${prefix}${account}/token`, request, { as })).expect(201).string("status.token"));
  }
  const [token = "", other = ""] = tokens;
  const bootstrap = {
    ...secret("bootstrap-token-abcdef", {
      "token-id": "abcdef",
      "token-secret": "0123456789abcdef",
      "usage-bootstrap-authentication": "true",
    }),
    type: "bootstrap.kubernetes.io/token",
  };
  (await api.post(`${a.prefix}/api/v1/namespaces/kube-system/secrets`, bootstrap, a)).expect(201);
  await closed("a");

  const [header = "", claims = "", signature = ""] = token.split(".");
  const [, , otherSignature = ""] = other.split(".");
  const unnamed = Buffer.from('{"alg":"ES256"}').toString("base64url");
  const strangers = [
    "nobody",
    "some-token",
    "abcdef.0123456789abcdee",
    b.as,
    "admin",
    other,
    `${header}.${claims}.${otherSignature}`,
    `${unnamed}.${claims}.${signature}`,
  ];
  for (const as of strangers) {
    const refused = (await api.get(`${a.prefix}/version`, { as })).expectFailure(401, "Unauthorized");
    if (as === "admin") continue;
    const absent = (await api.get("/planes/absent/version", { as })).expectFailure(401, "Unauthorized");
    assert.equal(absent.text, refused.text);
    assert.deepEqual(Object.keys(absent.headers).sort(), Object.keys(refused.headers).sort());
  }
  assert.ok(!isOpen("a"), "strangers open no plane");
  for (const as of [token, "abcdef.0123456789abcdef", a.as]) {
    await closed("a");
    await eventually(async () => (await api.get(`${a.prefix}/version`, { as })).expect([200, 403]));
    assert.ok(isOpen("a"));
  }
});

test("a host names a plane, by HTTP/1.1 and HTTP/2, and its URL, certificate and tokens are the host's", async (t) => {
  const suffix = "planes.example";
  const api = await open(t, "k8s.io", { planesHostSuffix: suffix });
  const make = async (name: string) => {
    (await api.post(planes, planeObject(name))).expect(201);
    const { status } = (await planeCondition(api, name, "True")).value as { status: { url: string } };
    const kept = (
      await api.get(`/api/v1/namespaces/kube-system/secrets/plane-${name}-kubeconfig`, { literal: true })
    ).expect(200);
    const kubeconfig = JSON.parse(Buffer.from(kept.string("data.kubeconfig"), "base64").toString()) as {
      readonly clusters: readonly [{ readonly cluster: { readonly server: string } }];
      readonly users: readonly [{ readonly user: { readonly token: string } }];
    };
    assert.equal(kubeconfig.clusters[0].cluster.server, status.url);
    return { as: kubeconfig.users[0].user.token, host: new URL(status.url).host, url: status.url };
  };
  const [a, b] = [await make("a"), await make("b")];
  const { port } = new URL(api.server.url);
  assert.equal(a.host, `a.${suffix}:${port}`);
  const at = ({ host, as }: { readonly host: string; readonly as: string }) => ({ as, headers: { host } });
  (await api.post(configMaps, configMap("of-a"), at(a))).expect(201);
  (await api.get(`${configMaps}/of-a`, at({ ...a, host: `A.${suffix.toUpperCase()}.:${port}` }))).expect(200);
  (await api.get(`/planes/a${configMaps}/of-a`, { as: a.as })).expect(200);
  (await api.get(`${configMaps}/of-a`, at(b))).expect(404);
  (await api.get(`${configMaps}/of-a`)).expect(404);
  // A host and a path that name planes do not go together.
  for (const name of ["a", "b"]) (await api.get(`/planes/${name}/version`, at(a))).expect(404);
  (await api.get("/version", at({ ...a, as: b.as }))).expectFailure(401, "Unauthorized");
  const accounts = "/api/v1/namespaces/default/serviceaccounts";
  const robot = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "robot" } };
  (await api.post(accounts, robot, at(a))).expect(201);
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  const token = (await api.post(`${accounts}/robot/token`, request, at(a))).expect(201).string("status.token");
  const claims = JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) as { iss: string };
  assert.equal(claims.iss, a.url);
  (await api.get("/api/v1/namespaces", at({ ...a, as: token }))).expectFailure(403, "Forbidden");

  const codeOf = async (authority: string, bearer: string): Promise<number> => {
    // A connection whose token is unknown is closed after the answer.
    const session = http2.connect(api.server.url, { ca: api.server.ca, servername: `b.${suffix}` });
    t.after(() => session.destroy());
    const stream = session.request({
      ":path": `${configMaps}/of-a`,
      ":authority": authority,
      authorization: `Bearer ${bearer}`,
    });
    const [headers] = (await once(stream, "response")) as [http2.IncomingHttpHeaders];
    stream.resume();
    return Number(headers[":status"]);
  };
  assert.equal(await codeOf(a.host, a.as), 200);
  assert.equal(await codeOf(b.host, b.as), 404);
  assert.equal(await codeOf(a.host, b.as), 401);
  // No host below the suffix is the root.
  for (const label of ["absent", "a.b", ".."]) {
    assert.equal(await codeOf(`${label}.${suffix}`, a.as), 401);
  }
  (await api.get("/api/v1/secrets", at({ as: "admin", host: `absent.${suffix}:${port}` }))).expect(404);
});

test("identity headers and impersonation count only in the plane that they reach", async (t) => {
  const api = await open(t, "k8s.io");
  const [a, b] = [await makePlane(api, "a"), await makePlane(api, "b")];
  const headers = { "x-remote-user": "admin", "x-remote-group": "system:masters" };
  (await api.get(`${b.prefix}/api/v1/nodes`, { as: "nobody", headers })).expectFailure(401, "Unauthorized");
  (await api.get(`${b.prefix}/api/v1/nodes`, { as: a.as, headers })).expectFailure(401, "Unauthorized");
  const asAlice = { "impersonate-user": "alice" };
  (await api.get(`${a.prefix}/api/v1/nodes`, { as: a.as, headers: asAlice })).expectFailure(403, "Forbidden");
  (await api.get(`${b.prefix}/api/v1/nodes`, { as: a.as, headers: asAlice })).expectFailure(401, "Unauthorized");
});

test("connections of a user of one plane are not those of a user of the same name elsewhere", async (t) => {
  const api = await open(t, "k8s.io", { connectionsPerUserMax: 2 });
  const [a, b] = [await makePlane(api, "a"), await makePlane(api, "b")];
  const ask = async ({ prefix, as }: OpenedPlane): Promise<string> => {
    const connection = await connectRaw(api.server.endpoint, api.server.ca);
    t.after(() => connection.socket.destroy());
    connection.write(`GET ${prefix}/version HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${as}\r\n\r\n`);
    return connection.until("\r\n\r\n");
  };
  for (const code of [200, 200, 429]) assert.match(await ask(a), new RegExp(`^HTTP/1\\.1 ${code} `));
  for (const code of [200, 200, 429]) assert.match(await ask(b), new RegExp(`^HTTP/1\\.1 ${code} `));
});

test("the users of a plane have a bound of connections together, which leaves room to others", async (t) => {
  const api = await open(t, "k8s.io", { connectionsMax: 64, connectionsPerPlaneMax: 4 });
  const [a, b] = [await makePlane(api, "a"), await makePlane(api, "b")];
  const accounts = "/api/v1/namespaces/default/serviceaccounts";
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  const tokenOf = async ({ prefix, as }: OpenedPlane, name: string): Promise<OpenedPlane> => {
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name } };
    (await api.post(`${prefix}${accounts}`, account, { as })).expect(201);
    const made = (await api.post(`${prefix}${accounts}/${name}/token`, request, { as })).expect(201);
    return { prefix, as: made.string("status.token") };
  };
  const [first, second] = [await tokenOf(a, "first"), await tokenOf(a, "second")];
  // The connections by which the planes were set up end.
  api.close();
  const ask = async ({ prefix, as }: OpenedPlane) => {
    const connection = await connectRaw(api.server.endpoint, api.server.ca);
    t.after(() => connection.socket.destroy());
    connection.write(`GET ${prefix}/version HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${as}\r\n\r\n`);
    return connection.until("\r\n\r\n");
  };
  for (const one of [first, second, first, second])
    await eventually(async () => assert.match(await ask(one), /^HTTP\/1\.1 200 /));
  for (const one of [a, first]) assert.match(await ask(one), /^HTTP\/1\.1 429 [^]*Retry-After: 1/i);
  for (const one of [b, b]) assert.match(await ask(one), /^HTTP\/1\.1 200 /);
});

test("the administrator of a plane reaches neither files nor settings of the server", async (t) => {
  const api = await open(t, "k8s.io");
  const { prefix, as } = await makePlane(api, "a");
  (await api.post(`${prefix}/binnacle/v1/backup`, { file: join(temporaryFolder(), "copy") }, { as })).expect(404);
  (await api.post(`${prefix}/binnacle/v1/compact`, { olderThanSeconds: 0 }, { as })).expect(404);
  (await api.put(`${prefix}/debug/flags/v`, "9", { as })).expect(404);
  (await api.get(`${prefix}/flagz`, { as })).expect(404);
  for (const path of [
    "/planes/a/../../api/v1/secrets",
    "/planes/a%2F..%2F..%2Fapi/v1/secrets",
    "/planes/..%2Fa/version",
  ]) {
    (await api.get(path, { as })).expect([400, 401, 403, 404]);
  }
});

test("a name that is no DNS label is refused", async (t) => {
  const api = await open(t, "k8s.io");
  for (const name of ["a.b", "x".repeat(64)]) (await api.post(planes, planeObject(name))).expectClientError();
});

test("there are no more planes than --planes-max allows", async (t) => {
  const folder = temporaryFolder();
  const api = await open(t, "k8s.io", { storage: "disk", planes: folder, planesMax: 1 });
  await makePlane(api, "first");
  (await api.post(planes, planeObject("second"))).expect(201);
  const refused = await planeCondition(api, "second", "False");
  assert.match(JSON.stringify(refused.at("status.conditions")), /there are 1 planes/);
  // Requests make nothing of it either.
  for (const as of ["nobody", "admin"]) (await api.get("/planes/second/api", { as })).expectClientError();
  assert.deepEqual(readdirSync(folder), ["first"]);
  (await api.delete(`${planes}/first`)).expect([200, 202]);
  await readyPlane(api, "second");
});

test("a deleted plane ends its watches with a Status, and nothing of it stays", async (t) => {
  const folder = temporaryFolder();
  const api = await open(t, "k8s.io", { storage: "disk", planes: folder });
  const { prefix, as } = await makePlane(api, "gone");
  (await api.post(`${prefix}${configMaps}`, configMap("a"), { as })).expect(201);
  const streams = [await api.watch(`${prefix}${configMaps}`, { as }), await api.watch(`${prefix}/api/v1/pods`, { as })];
  let isDeleted = false;
  const load = Array.from({ length: 8 }, async (_, client) => {
    const codes = new Set<number>();
    for (let i = 0; !isDeleted; i++) {
      codes.add((await api.post(`${prefix}${configMaps}`, configMap(`c${client}-${i}`), { as })).status);
    }
    return codes;
  });
  (await api.delete(`${planes}/gone`)).expect([200, 202]);
  for (const stream of streams) {
    const last = (await stream.until((event) => event.type === "ERROR")).at(-1)!;
    last.has({ "object.kind": "Status", "object.code": 404, "object.reason": "NotFound" });
  }
  await removedPlane(api, "gone");
  isDeleted = true;
  for (const codes of await Promise.all(load)) {
    for (const code of codes) assert.ok([201, 401, 404, 503].includes(code), `a request was answered ${code}`);
  }
  assert.deepEqual(readdirSync(folder), []);
  (await api.get("/api/v1/namespaces/kube-system/secrets/plane-gone-kubeconfig")).expect(404);
  (await api.get(`${prefix}/version`, { as })).expectFailure(401, "Unauthorized");
  const again = await makePlane(api, "gone");
  assert.notEqual(again.as, as);
  (await api.get(`${prefix}${configMaps}/a`, { as: again.as })).expect(404);
});

test("planes are there again after a restart, and a removal that was interrupted is finished", async (t) => {
  const folder = temporaryFolder();
  const settings: ServerSettings = {
    storage: "disk",
    dataDir: join(temporaryFolder(), "data"),
    planes: folder,
  };
  const first = await openServer("k8s.io", settings);
  const { prefix, as } = await makePlane(new Api(first), "kept");
  (await new Api(first).post(`${prefix}${configMaps}`, configMap("a", { v: "1" }), { as })).expect(201);
  await first.close();
  mkdirSync(join(folder, ".removed-1"));
  const api = await open(t, "k8s.io", settings);
  assert.ok(!existsSync(join(folder, ".removed-1")));
  (await api.get(`${prefix}${configMaps}/a`, { as })).expect(200, { "data.v": "1" });
});

test("a plane that nobody uses is closed, unless it is watched, and opened again by the next request", async (t) => {
  const clock = new MovingClock();
  const folder = temporaryFolder();
  const settings: ServerSettings = { storage: "disk", planes: folder, planesIdleTimeoutMs: 60_000 };
  const server = await openServer("k8s.io", settings, { clock });
  t.after(() => server.close());
  const api = new Api(server);
  const [idle, watched] = [await makePlane(api, "idle"), await makePlane(api, "watched")];
  const isOpen = (name: string): boolean => existsSync(join(folder, name, "store.db-wal"));
  (await api.get(`${idle.prefix}${configMaps}`, { as: "nobody" })).expectFailure(401, "Unauthorized");
  assert.ok(!isOpen("idle"), "a new plane is opened by its first request with a token");
  (await api.post(`${idle.prefix}${configMaps}`, configMap("a", { v: "1" }), idle)).expect(201);
  const stream = await api.watch(`${watched.prefix}${configMaps}`, watched);
  assert.ok(isOpen("idle") && isOpen("watched"));
  await eventually(async () => {
    clock.advance(20_000);
    // Strangers do not keep a plane open, nor open it again.
    (await api.get(`${idle.prefix}/version`, { as: "nobody" })).expectFailure(401, "Unauthorized");
    assert.ok(!isOpen("idle"));
  });
  assert.ok(isOpen("watched"));
  (await api.get(`${idle.prefix}${configMaps}/a`, idle)).expect(200, { "data.v": "1" });
  (await api.post(`${watched.prefix}${configMaps}`, configMap("b"), watched)).expect(201);
  await stream.until((event) => event.type === "ADDED" && event.name === "b");
});

for (const storage of ["memory", "disk"] as const) {
  test(`a plane takes no more bytes than its quota allows, and others go on, ${storage}`, async (t) => {
    const clock = new MovingClock();
    const server = await openServer("k8s.io", { storage, planes: temporaryFolder() }, { clock });
    t.after(() => server.close());
    const api = new Api(server);
    const quota = { bytes: 1024 * 1024 };
    (await api.post(planes, { ...planeObject("tiny"), spec: { quota: { bytes: 10 } } })).expectFailure(422, "Invalid");
    (await api.post(planes, { ...planeObject("small"), spec: { quota } })).expect(201);
    const [small, other] = [await readyPlane(api, "small"), await makePlane(api, "other")];
    const text = "x".repeat(100_000);
    const write = (to: OpenedPlane, name: string) =>
      api.post(`${to.prefix}${configMaps}`, configMap(name, { text }), to);
    let count = 0;
    let refused: Answer | undefined;
    while (refused === undefined && count < 20) {
      const answer = await write(small, `map-${count}`);
      if (answer.status === 201) count++;
      else refused = answer;
    }
    refused!.expectFailure(403, "Forbidden");
    assert.match(refused!.text, /planes.planes.k8s.io \\"small\\" is forbidden: exceeded quota/);
    assert.ok(count > 3 && count < 11, `${count} were written`);
    (await write(small, "again")).expectFailure(403, "Forbidden");
    const tooLong = { data: { more: text } };
    (await api.patch(`${small.prefix}${configMaps}/map-0`, tooLong, undefined, small)).expectFailure(403, "Forbidden");
    // Writes that make room, or need none, go on.
    (await api.patch(`${small.prefix}${configMaps}/map-0`, { data: { text: "short" } }, undefined, small)).expect(200);
    (await api.delete(`${small.prefix}${configMaps}/map-1`, undefined, small)).expect(200);
    (await write(small, "again")).expect(201);
    for (let at = 0; at < 12; at++) (await write(other, `map-${at}`)).expect(201);
    await eventually(async () => {
      clock.advance(30_000);
      const told = (await api.get(`${planes}/small`)).at("status.used.bytes");
      assert.ok(Number(told) > 400_000 && Number(told) <= quota.bytes, String(told));
    });
    (await api.patch(`${planes}/small`, { spec: { quota: { bytes: 4 * quota.bytes } } })).expect(200);
    await eventually(async () => (await write(small, "more")).expect([201, 409]));
  });
}

test("the quota of a plane holds however often its objects were updated", async (t) => {
  const clock = new MovingClock();
  const server = await openServer("k8s.io", { planes: temporaryFolder() }, { clock });
  t.after(() => server.close());
  const api = new Api(server);
  const quota = { bytes: 1024 * 1024 };
  (await api.post(planes, { ...planeObject("small"), spec: { quota } })).expect(201);
  const { prefix, as } = await readyPlane(api, "small");
  const path = `${prefix}${configMaps}`;
  for (let at = 0; at < 20; at++) (await api.post(path, configMap(`map-${at}`, { at: "0" }), { as })).expect(201);
  const update = async (at: number): Promise<void> => {
    for (let turn = 1; turn <= 100; turn++) {
      (await api.patch(`${path}/map-${at}`, { data: { at: String(turn % 10) } }, undefined, { as })).expect(200);
    }
  };
  await Promise.all(Array.from({ length: 20 }, (_, at) => update(at)));
  const step = 2000;
  let refused: Answer | undefined;
  for (let at = 0; refused === undefined && at < 1000; at++) {
    const text = "x".repeat(at < 40 ? 20_000 : step);
    const answer = await api.post(path, configMap(`fill-${at}`, { text }), { as });
    if (answer.status !== 201) refused = answer;
  }
  refused!.expectFailure(403, "Forbidden");
  await eventually(async () => {
    clock.advance(30_000);
    const told = Number((await api.get(`${planes}/small`)).at("status.used.bytes"));
    assert.ok(told > quota.bytes - 2 * step && told <= quota.bytes, String(told));
  });
});

test("many planes are used in turn, of which a few stay open, and all go", async (t) => {
  const folder = temporaryFolder();
  const api = await open(t, "k8s.io", { storage: "disk", planes: folder, planesOpenMax: 3 });
  const names = Array.from({ length: 10 }, (_, at) => `many-${at}`);
  const made = await Promise.all(names.map(async (name) => ({ name, ...(await makePlane(api, name)) })));
  const openCount = (): number => names.filter((name) => existsSync(join(folder, name, "store.db-wal"))).length;
  const watched = made[0]!;
  const stream = await api.watch(`${watched.prefix}${configMaps}`, watched);
  for (const one of made) (await api.post(`${one.prefix}${configMaps}`, configMap(one.name), one)).expect(201);
  // The last planes were at work when they were opened, so that others could not be closed then.
  await eventually(async () => assert.ok(openCount() <= 3, `${openCount()} planes are open`));
  await stream.until((event) => event.name === watched.name);
  (await api.post(`${watched.prefix}${configMaps}`, configMap("later"), watched)).expect(201);
  await stream.until((event) => event.name === "later");
  for (const [at, one] of made.entries()) {
    (await api.get(`${one.prefix}${configMaps}/${one.name}`, one)).expect(200);
    const other = made[(at + 1) % made.length]!;
    (await api.get(`${one.prefix}${configMaps}/${other.name}`, one)).expect(404);
    (await api.get(`${one.prefix}${configMaps}`, { as: other.as })).expectFailure(401, "Unauthorized");
  }
  for (const { name } of made) (await api.delete(`${planes}/${name}`)).expect([200, 202]);
  for (const { name } of made) await removedPlane(api, name);
  assert.deepEqual(readdirSync(folder), []);
});

test("the first objects of each plane are its own", async (t) => {
  const api = await open(t, "k8s.io");
  const [a, b] = [await makePlane(api, "a"), await makePlane(api, "b")];
  const role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin";
  const uids = [a, b].map(async ({ prefix, as }) => (await api.get(`${prefix}${role}`, { as })).string("metadata.uid"));
  const [first, second] = await Promise.all(uids);
  assert.notEqual(first, second);
  (await api.delete(`${a.prefix}${role}`, undefined, a)).expect(200);
  (await api.get(`${b.prefix}${role}`, b)).expect(200);
  const c = await makePlane(api, "c");
  const lists = [
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
  ];
  for (const path of lists) {
    const names = ({ value }: Answer): unknown =>
      (value as { items: { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name);
    assert.deepEqual(names(await api.get(`${c.prefix}${path}`, c)), names(await api.get(`${b.prefix}${path}`, b)));
  }
});

for (const storage of ["memory", "disk"] as const) {
  test(`a new plane has at once what its controllers make, and they go on from its first write, ${storage}`, async (t) => {
    const folder = temporaryFolder();
    const api = await open(t, "k8s.io", { storage, planes: folder });
    const read = async ({ prefix, as }: OpenedPlane, path: string) =>
      ((await api.get(`${prefix}${path}`, { as })).expect(200).value as { items: Listed[] }).items;
    const authority = "metadata.name=extension-apiserver-authentication";
    const trust = async (one: OpenedPlane) =>
      (await read(one, `/api/v1/namespaces/kube-system/configmaps?fieldSelector=${authority}`))[0]?.data;
    const uids = async (one: OpenedPlane) =>
      (await read(one, "/api/v1/namespaces")).map(({ metadata }) => metadata.uid);
    const first = await makePlane(api, "first");
    (await api.post(`${first.prefix}/api/v1/namespaces/default/configmaps`, configMap("a"), first)).expect(201);
    let count = 0;
    // The objects of new planes are known some time after the first one was made.
    const next = (): Promise<OpenedPlane> =>
      eventually(async () => {
        const one = await makePlane(api, `next-${count++}`);
        assert.ok((await read(one, "/apis/apiregistration.k8s.io/v1/apiservices")).length > 10);
        return one;
      });
    const [a, b] = [await next(), await next()];
    for (const path of controlled) {
      const names = async (one: OpenedPlane) => (await read(one, path)).map(({ metadata }) => metadata.name);
      await eventually(async () => assert.deepEqual(await names(a), await names(first)));
    }
    assert.equal(new Set([...(await uids(a)), ...(await uids(b))]).size, 8);
    assert.notDeepEqual(await trust(a), await trust(b));
    (await api.get(`${a.prefix}/readyz/poststarthook/rbac/bootstrap-roles`, a)).expect(200);
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } };
    (await api.post(`${a.prefix}/api/v1/namespaces`, namespace, a)).expect(201);
    const account = "/api/v1/namespaces/shop/serviceaccounts/default";
    await eventually(async () => (await api.get(`${a.prefix}${account}`, a)).expect(200));
    await eventually(async () => (await api.get(`${a.prefix}/readyz`, a)).expect(200));
    (await api.get(`${b.prefix}${account}`, b)).expect(404);
  });
}

interface Listed {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly data?: object;
}

/** Collections in which controllers make objects at their start. */
const controlled = [
  "/api/v1/namespaces",
  "/api/v1/serviceaccounts",
  "/api/v1/services",
  "/api/v1/endpoints",
  "/apis/apiregistration.k8s.io/v1/apiservices",
  "/apis/discovery.k8s.io/v1/endpointslices",
  "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
  "/apis/rbac.authorization.k8s.io/v1/clusterroles",
  "/apis/rbac.authorization.k8s.io/v1/rolebindings",
  "/apis/scheduling.k8s.io/v1/priorityclasses",
];

test("the folder of one plane is not opened for another of its name", async (t) => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "old"));
  writeFileSync(join(folder, "old", "plane.json"), '{"uid":"another"}\n');
  const api = await open(t, "k8s.io", { storage: "disk", planes: folder });
  (await api.post(planes, planeObject("old"))).expect(201);
  const refused = await planeCondition(api, "old", "False");
  assert.match(JSON.stringify(refused.at("status.conditions")), /belongs to another plane/);
  (await api.get("/planes/old/version", { as: "nobody" })).expect([401, 503]);
  (await api.delete(`${planes}/old`)).expect([200, 202]);
  await removedPlane(api, "old");
  assert.ok(existsSync(join(folder, "old", "plane.json")), "data of another plane stays");
});

for (const storage of ["memory", "disk"] as const) {
  test(`a plane ends with its object, though somebody has taken the finalizer away, ${storage}`, async (t) => {
    const folder = temporaryFolder();
    const api = await open(t, "k8s.io", { storage, planes: folder });
    const first = await orphan(api, "shop");
    await eventually(async () => (await api.get(`${first.prefix}/version`, first)).expectFailure(401, "Unauthorized"));
    await eventually(async () => {
      assert.deepEqual(readdirSync(folder), []);
      (await api.get("/api/v1/namespaces/kube-system/secrets/plane-shop-kubeconfig")).expect(404);
    });
  });

  test(`a plane has nothing of an earlier one of its name, whose finalizer was taken away, ${storage}`, async (t) => {
    const api = await open(t, "k8s.io", { storage, planes: temporaryFolder() });
    const first = await orphan(api, "shop");
    const { prefix, as } = await eventually(async () => {
      (await api.post(planes, planeObject("shop"))).expect([201, 409]);
      const ready = await readyPlane(api, "shop");
      assert.notEqual(ready.as, first.as);
      return ready;
    });
    (await api.get(`${prefix}${configMaps}/a`, { as })).expect(404);
    (await api.get(`${prefix}/version`, first)).expectFailure(401, "Unauthorized");
  });
}

/**
 * Makes a plane with a ConfigMap, and deletes its object in a moment in which it has no finalizer. When the controller was
 * faster, that is repeated.
 */
async function orphan(api: Api, name: string): Promise<OpenedPlane> {
  for (;;) {
    const plane = await makePlane(api, name);
    (await api.post(`${plane.prefix}${configMaps}`, configMap("a"), plane)).expect(201);
    const path = `${planes}/${name}`;
    const [, deleted] = await Promise.all([api.patch(path, { metadata: { finalizers: null } }), api.delete(path)]);
    if (deleted.expect(200).at("kind") === "Status") return plane;
    await removedPlane(api, name);
  }
}

test("no secret of a plane is in the log or a status", async (t) => {
  const lines: string[] = [];
  const { openLog } = await import("#std/log.ts");
  const log = openLog({ format: "json", verbosity: 6, write: (line) => void lines.push(line) });
  const folder = temporaryFolder();
  const server = await openServer("k8s.io", { storage: "disk", planes: folder }, { log });
  t.after(() => server.close());
  const api = new Api(server);
  const { prefix, as } = await makePlane(api, "quiet");
  (await api.post(`${prefix}/api/v1/namespaces/default/secrets`, secret("s", { k: "hunter2" }), { as })).expect(201);
  const status = (await api.get(`${planes}/quiet`)).text;
  const key = readFileSync(join(folder, "quiet", "pki", "sa.key"), "utf8").split("\n")[1]!;
  for (const hidden of [as, key, "hunter2"]) {
    assert.ok(!lines.some((line) => line.includes(hidden)));
    assert.ok(!status.includes(hidden));
  }
});
