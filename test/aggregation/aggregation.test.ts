/**
 * Aggregated APIs: clients use a group version of another server process like one of this server. The other server
 * speaks HTTP/2 in one domain and HTTP/1.1 in the other.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, test } from "node:test";
import http2 from "node:http2";
import https from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { fakeAuthority } from "#authn/fake-authority.ts";
import { Api, type Domain, eventually, gated, openServer, suite } from "../harness.ts";
import { MovingClock } from "../moving-clock.ts";
import { connectHttp2, connectRaw, connectTls } from "../raw.ts";
import {
  AggregatedServer,
  apiService,
  apiServices,
  base,
  becomes,
  waitForDiscovery,
  floodBytes,
  group,
  register,
} from "./aggregated-server.ts";

const inBothDomains = suite();
const ns = "shop";
const flunders = `${base}/namespaces/${ns}/flunders`;

const servers = new Map<Domain, Promise<AggregatedServer>>();
after(async () => {
  for (const server of servers.values()) await (await server).stop();
});

const protocolOf = ({ domain }: Api): "HTTP/1.1" | "HTTP/2" => (domain === "k8s.io" ? "HTTP/2" : "HTTP/1.1");

/** Returns the aggregated server of the domain, registered and available. */
function backend(api: Api): Promise<AggregatedServer> {
  let server = servers.get(api.domain);
  if (server === undefined) {
    server = AggregatedServer.start(api, ns, { protocol: protocolOf(api) }).then(async (started) => {
      await register(api, ns, started);
      return started;
    });
    servers.set(api.domain, server);
  }
  return server;
}

const flunder = (name: string): object => ({ apiVersion: `${group}/v1`, kind: "Flunder", metadata: { name } });

inBothDomains("objects of an aggregated API are written, read, listed and watched through this server", async (api) => {
  await backend(api);
  const watch = await api.watch(flunders);
  (await api.post(flunders, flunder("one"))).expect(201, { "metadata.name": "one" });
  (await watch.next()).has({ type: "ADDED", "object.metadata.name": "one" });
  // The next event arrives in the same open answer.
  (await api.post(flunders, flunder("two"))).expect(201);
  (await watch.next()).has({ type: "ADDED", "object.metadata.name": "two" });
  (await api.get(`${flunders}/one`)).expect(200, { kind: "Flunder", "metadata.namespace": ns });
  (await api.get(flunders)).expect(200, { "items.length": 2 });
  (await api.delete(`${flunders}/one`)).expect(200);
  (await api.get(`${flunders}/one`)).expect(404);
});

inBothDomains("quotas count objects of an aggregated API, and do not limit them", async (api) => {
  await backend(api);
  const { ns: counted } = await api.createNamespace();
  const own = `${base}/namespaces/${counted}/flunders`;
  (await api.post(own, flunder("first"))).expect(201);
  const quotas = `/api/v1/namespaces/${counted}/resourcequotas`;
  const name = `count/flunders.${group}`;
  const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "q" }, spec: { hard: { [name]: "1" } } };
  (await api.post(quotas, quota)).expect(201);
  const becomesUsed = (used: string) =>
    eventually(async () => (await api.get(`${quotas}/q`)).expect(200, { "status.used": { [name]: used } }));
  await becomesUsed("1");
  (await api.post(own, flunder("second"))).expect(201);
  await becomesUsed("2");
  (await api.delete(`${own}/first`)).expect(200);
  await becomesUsed("1");
});

inBothDomains("discovery in every form shows an aggregated API as one of this server [GEN-07]", async (api) => {
  await backend(api);
  (await api.get(`/apis/${group}`)).expect(200, { kind: "APIGroup", "preferredVersion.version": "v1" });
  (await api.get(base)).expect(200, { kind: "APIResourceList", "resources.0.name": "flunders" });
  const groups = (await api.get("/apis")).expect(200).list("groups");
  assert.equal(groups.filter((one) => one.string("name") === group).length, 1);
  for (const version of ["v2", "v2beta1"]) {
    const accept = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
    await eventually(async () => {
      const items = (await api.get("/apis", { accept })).expect(200).list("items");
      items
        .find((item) => item.string("metadata.name") === group)!
        .has({
          "versions.length": 1,
          "versions.0.version": "v1",
          "versions.0.freshness": "Current",
          "versions.0.resources.0.resource": "flunders",
          "versions.0.resources.0.shortNames": ["fl"],
          "versions.0.resources.0.scope": "Namespaced",
        });
    });
  }
});

inBothDomains("OpenAPI holds the paths of an aggregated group version, and none that its server adds", async (api) => {
  await backend(api);
  await eventually(async () => {
    const { paths } = (await api.get("/openapi/v3")).expect(200).value as { paths: Record<string, object> };
    assert.deepEqual(paths[`apis/${group}/v1`], { serverRelativeURL: `/openapi/v3${base}?hash=ABC` });
    assert.equal(paths["apis/other.example.com/v1"], undefined);
  });
  (await api.get(`/openapi/v3${base}?hash=ABC`)).expect(200, { "info.title": "wardle" });
  const { paths, definitions } = (await api.get("/openapi/v2")).expect(200).value as Record<
    string,
    Record<string, object>
  >;
  assert.ok(paths?.[`${base}/flunders`] !== undefined);
  assert.equal(paths["/apis/other.example.com/v1/things"], undefined);
  assert.ok(definitions?.["com.example.Flunder"] !== undefined && definitions["com.example.Meta"] !== undefined);
});

inBothDomains("the other server gets the user in headers, which no client can forge", async (api) => {
  const { received } = await backend(api);
  const binding = {
    metadata: { name: "alice-flunders" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "alice" }],
  };
  (await api.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)).expect(201);
  const headers = {
    "x-remote-user": "root",
    "x-remote-uid": "0",
    "x-remote-group": "system:masters",
    "x-remote-extra-a": "forged",
    "x-forwarded-for": "9.9.9.9",
    "audit-id": "known",
    "x-custom": "kept",
    // These two texts are not UTF-8.
    "x-bytes": ["\xe4", "\xff"],
  };
  (await api.get(`${flunders}?b=2&a=x+y`, { as: "alice", headers })).expect(200);
  const last = received.findLast(({ url }) => url.includes("a=x+y"))!;
  assert.equal(last.url, `${flunders}?a=x+y&b=2`);
  assert.equal(last.client, "front-proxy-client");
  const headersWith = (prefix: string): string[] => last.headers.filter((header) => header.startsWith(prefix)).sort();
  assert.deepEqual(headersWith("x-remote-"), [
    "x-remote-group: developers",
    "x-remote-group: system:authenticated",
    "x-remote-user: alice",
  ]);
  assert.deepEqual(headersWith("authorization"), []);
  assert.deepEqual(headersWith("audit-id"), ["audit-id: known"]);
  assert.deepEqual(headersWith("x-custom"), ["x-custom: kept"]);
  assert.deepEqual(headersWith("x-bytes"), ["x-bytes: \xe4, \xff"]);
  assert.deepEqual(headersWith("x-forwarded-for"), ["x-forwarded-for: 9.9.9.9, 127.0.0.1"]);
  assert.deepEqual(headersWith("x-forwarded-uri"), [`x-forwarded-uri: ${flunders}`]);
});

inBothDomains("the other server sees the impersonated user, extra values included", async (api) => {
  const { received } = await backend(api);
  const headers = {
    "impersonate-user": "eve",
    "impersonate-group": ["system:masters", "ä group"].map((text) => Buffer.from(text).toString("latin1")),
    "impersonate-extra-acme.io%2fproject": "one",
  };
  (await api.get(`${flunders}?who=eve`, { headers })).expect(200);
  const requestHeaders = received.findLast(({ url }) => url.includes("who=eve"))!.headers;
  assert.ok(requestHeaders.includes("x-remote-user: eve"));
  assert.ok(requestHeaders.includes(`x-remote-group: ${Buffer.from("ä group").toString("latin1")}`));
  assert.ok(requestHeaders.includes("x-remote-extra-acme.io%2fproject: one"), requestHeaders.join("\n"));
  assert.ok(!requestHeaders.some((header) => header.startsWith("impersonate-")));
});

inBothDomains("an unauthorized request is refused here and not forwarded", async (api) => {
  const { received } = await backend(api);
  (await api.get(`${flunders}?refused=1`, { as: "bob" })).expectFailure(
    403,
    "Forbidden",
    /flunders\.wardle\.example\.com is forbidden/,
  );
  (await api.get(`${flunders}?refused=1`, { as: "wrong" })).expectFailure(401, "Unauthorized");
  assert.ok(!received.some(({ url }) => url.includes("refused=1")));
});

inBothDomains("media types are the other server's to offer [MEDIA-14] [MEDIA-15]", async (api) => {
  const { received } = await backend(api);
  const accept = "application/vnd.kubernetes.protobuf";
  (await api.get(`${flunders}/unacceptable`, { accept })).expectFailure(406, "NotAcceptable", undefined, {
    metadata: () => true,
  });
  const several = `${accept}, application/json`;
  (await api.get(`${flunders}?media=1`, { accept: several })).expect(200, { kind: "FlunderList" });
  assert.ok(received.findLast(({ url }) => url.includes("media=1"))!.headers.includes(`accept: ${several}`));
});

inBothDomains("answers pass as they are, but for what concerns connections and origins", async (api) => {
  await backend(api);
  const answer = (await api.get(`${flunders}/headers`)).expect(200);
  assert.equal(answer.text, "text");
  assert.equal(answer.headers["x-own"], "2");
  // HTTP/2 has no such headers.
  assert.equal(answer.headers["x-hop"], protocolOf(api) === "HTTP/2" ? "1" : undefined);
  assert.equal(answer.headers["access-control-allow-origin"], undefined);
  assert.deepEqual(answer.headers["set-cookie"], ["a=1", "b=2"]);
  assert.deepEqual(answer.warnings, ["one", "two"]);
  assert.equal((await api.get(`${flunders}/empty`)).expect(204).text, "");
});

inBothDomains("bodies of any length stream in both directions", async (api) => {
  await backend(api);
  const large = (await api.get(`${flunders}/large`)).expect(200).bytes;
  assert.equal(large.length, 64 * 64 * 1024);
  assert.ok(large.subarray(-64 * 1024).every((byte) => byte === 63));
  const sent = Buffer.alloc(8 * 1024 * 1024, 7);
  (await api.put(`${flunders}/body`, sent, { literal: true })).expect(200, { bytes: sent.length });
});

inBothDomains("HTTP/2 clients are served as well", async (api) => {
  await backend(api);
  const session = http2.connect(api.server.url, { ca: api.server.ca });
  try {
    const stream = session.request({ ":path": flunders, authorization: "Bearer admin-token" });
    const pieces: Buffer[] = [];
    for await (const piece of stream) pieces.push(piece as Buffer);
    assert.equal((JSON.parse(Buffer.concat(pieces).toString()) as { kind: string }).kind, "FlunderList");
  } finally {
    session.close();
  }
});

inBothDomains("invalid status codes, and protocols that were not asked for, are failures", async (api) => {
  await backend(api);
  // HTTP/2 has neither of the two.
  if (protocolOf(api) === "HTTP/2") return;
  for (const [name, problem] of [
    ["code-99", "the answer has the status code 99"],
    ["code-999", "the answer has the status code 999"],
    ["switch", "the connection closed before an answer"],
  ] as const) {
    const answered = (await api.get(`${flunders}/${name}`)).expect(503);
    assert.equal(answered.text, `error trying to reach service: ${problem}\n`);
  }
});

inBothDomains("redirects are not followed, and broken answers are told as such", async (api) => {
  const { received } = await backend(api);
  const redirected = (await api.get(`${flunders}/redirect`)).expect(502);
  assert.equal(redirected.text, "the backend attempted to redirect this request, which is not permitted");
  assert.equal(redirected.headers.location, undefined);
  const readFailure = async (name: string): Promise<string> => (await api.get(`${flunders}/${name}`)).expect(503).text;
  if (protocolOf(api) === "HTTP/1.1") {
    assert.equal(await readFailure("reset"), "error trying to reach service: EOF\n");
    assert.match(await readFailure("garbage"), /^error trying to reach service: net\/http: .*malformed/);
    assert.match(
      await readFailure("endless"),
      /^error trying to reach service: net\/http: server response headers exceeded/,
    );
  } else {
    const stream = /^error trying to reach service: stream error: stream ID \d+; [A-Z_]+; received from peer\n$/;
    assert.match(await readFailure("reset"), stream);
  }
  await assert.rejects(api.get(`${flunders}/half`), "a body that broke off must not look whole");
  assert.ok(received.length > 0);
  (await api.get(flunders)).expect(200);
});

inBothDomains("a server that does not answer costs the request's own time and nothing else", async (api) => {
  await backend(api);
  const late = api.get(`${flunders}/silent?timeout=300ms`);
  (await api.get(flunders)).expect(200);
  (await late).expectFailure(504, "Timeout");
});

test("a stopping server does not wait long for an aggregated server that does not answer", async () => {
  const clock = new MovingClock();
  const running = await openServer("k8s.io", gated, { clock });
  const api = new Api(running);
  const other = await AggregatedServer.start(api, ns);
  try {
    await register(api, ns, other);
    const late = api.get(`${flunders}/silent`);
    await eventually(() => Promise.resolve(assert.ok(other.received.some(({ url }) => url.includes("/silent")))));
    const closed = running.close({ keepConnections: true });
    clock.advance(5_000);
    assert.match((await late).expect(503).text, /^error trying to reach service: /);
    await closed;
  } finally {
    api.close();
    await other.stop();
  }
});

inBothDomains("a client that leaves ends the request at the other server too", async (api) => {
  const { received, cut } = await backend(api);
  const watch = await api.watch(`${flunders}?leaving=1`);
  const raw = await connectRaw(api.endpoint, api.server.ca);
  raw.write(`GET ${flunders}/silent?leaving=2 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin-token\r\n\r\n`);
  const mentions = (of: readonly string[], text: string): void =>
    assert.ok(
      of.some((url) => url.includes(text)),
      text,
    );
  const urls = (): readonly string[] => received.map(({ url }) => url);
  await eventually(() => Promise.resolve(mentions(urls(), "leaving=2")));
  watch.close();
  raw.socket.destroy();
  await eventually(() => Promise.resolve(mentions(cut, "leaving=1")));
  await eventually(() => Promise.resolve(mentions(cut, "leaving=2")));
});

/** Requests a path with a header, and reads nothing of the answer yet. */
type Ask = (api: Api, path: string, authorization: string) => Promise<Duplex>;

const ways: Readonly<Record<string, Ask>> = {
  async "HTTP/1.1"({ endpoint, server }, path, authorization) {
    const socket = await connectTls(endpoint, server.ca);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`);
    return socket;
  },
  async "HTTP/2"({ endpoint, server }, path, authorization) {
    const session = await connectHttp2(endpoint, server.ca);
    const stream = session.request({ ":path": path, authorization });
    stream.once("close", () => session.close());
    return stream;
  },
};

for (const [protocol, ask] of Object.entries(ways)) {
  for (const verb of ["list", "watch"]) {
    const title = `a client that does not read holds the other server back until it reads (${verb}, ${protocol})`;
    inBothDomains(title, async (api) => {
      const { flooded } = await backend(api);
      const parameters = { misbehaviour: "flood", protocol, watch: String(verb === "watch") };
      const url = `${flunders}?${new URLSearchParams(parameters).toString()}`;
      const answer = await ask(api, url, "Bearer admin-token");
      await eventually(() => Promise.resolve(assert.ok(flooded.has(url), "the other server is not held back")));
      const held = flooded.get(url)!;
      // Two connections buffer so many bytes, mostly in the system; the rest of the body waits at the other server.
      assert.ok(held < floodBytes, `${held} bytes were written`);
      let read = 0;
      for await (const piece of answer as AsyncIterable<Buffer>) {
        read += piece.length;
        if (read > held) break;
      }
      assert.ok(read > held, `${held} bytes were written, ${read} were read`);
      answer.destroy();
    });
  }
}

const upgrade = (path: string, protocol: string, more: readonly string[] = []): string =>
  [
    `${protocol === "websocket" ? "GET" : "POST"} ${path} HTTP/1.1`,
    "Host: localhost",
    "Authorization: Bearer admin-token",
    "Connection: Upgrade",
    `Upgrade: ${protocol}`,
    ...more,
    "",
    "",
  ].join("\r\n");

inBothDomains("upgraded connections are tunnels to the other server, of any protocol", async (api) => {
  const { received } = await backend(api);
  const secret = "base64url.bearer.authorization.k8s.io.YWRtaW4tdG9rZW4";
  const webSocket = [
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    `Sec-WebSocket-Protocol: v5.channel.k8s.io, v4.channel.k8s.io, ${secret}`,
  ];
  for (const [protocol, more] of [
    ["SPDY/3.1", ["X-Stream-Protocol-Version: v4.channel.k8s.io"]],
    ["websocket", webSocket],
  ] as const) {
    const raw = await connectRaw(api.endpoint, api.server.ca);
    raw.write(`${upgrade(`${flunders}/one/exec?t=1`, protocol, more)}early `);
    const begun = await raw.until("EARLY");
    assert.match(begun, /^HTTP\/1\.1 101 [^]*hello EARLY/);
    assert.ok(begun.includes(`\r\nUpgrade: ${protocol}\r\n`), begun);
    raw.write("and later");
    await raw.until("AND LATER");
    raw.write("bye");
    assert.match(await raw.closed(), /BYE$/);
  }
  const headers = received.findLast(({ url }) => url.includes("/exec"))!.headers;
  assert.ok(headers.includes("x-remote-user: admin"));
  assert.ok(headers.includes("sec-websocket-protocol: v5.channel.k8s.io, v4.channel.k8s.io"));
  assert.ok(!headers.some((header) => header.startsWith("authorization") || header.includes("YWRtaW4")));
  const refused = await connectRaw(api.endpoint, api.server.ca);
  refused.write(upgrade(`${flunders}/one/refuse`, "SPDY/3.1"));
  assert.match(await refused.closed(), /^HTTP\/1\.1 403 [^]*no\n$/);
  const elsewhere = await connectRaw(api.endpoint, api.server.ca);
  elsewhere.write(upgrade(api.name("/api/v1/namespaces/default/configmaps"), "SPDY/3.1"));
  assert.match(await elsewhere.closed(), /^HTTP\/1\.1 400 [^]*cannot be upgraded/);
});

inBothDomains("deleting a namespace deletes what aggregated servers hold in it", async (api) => {
  const { received } = await backend(api);
  const paths = await api.createNamespace();
  const elsewhere = `${base}/namespaces/${paths.ns}/flunders`;
  (await api.post(elsewhere, flunder("gone"))).expect(201);
  (await api.delete(`/api/v1/namespaces/${paths.ns}`)).expect(200);
  await eventually(async () => (await api.get(`/api/v1/namespaces/${paths.ns}`)).expect(404));
  assert.ok(received.some(({ method, url }) => method === "DELETE" && url.startsWith(elsewhere)));
  (await api.get(elsewhere)).expect(200, { "items.length": 0 });
});

inBothDomains("a server that is down holds up the end of namespaces, and nothing that is in them here", async (api) => {
  const server = await backend(api);
  const paths = await api.createNamespace();
  (await api.post(paths.configMaps, { metadata: { name: "here" } })).expect(201);
  await server.stop();
  try {
    (await api.delete(`/api/v1/namespaces/${paths.ns}`)).expect(200);
    await eventually(async () => {
      const answer = (await api.get(`/api/v1/namespaces/${paths.ns}`)).expect(200);
      const conditions = answer.list("status.conditions");
      conditions
        .find((one) => one.string("type") === "NamespaceDeletionDiscoveryFailure")!
        .has({
          status: "True",
          reason: "DiscoveryFailed",
          message: `Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: ${group}/v1: stale GroupVersion discovery: ${group}/v1`,
        });
    });
    (await api.get(paths.configMaps)).expect(200, { "items.length": 0 });
  } finally {
    await server.start();
  }
  await eventually(async () => (await api.get(`/api/v1/namespaces/${paths.ns}`)).expect(404));
  await becomes(api, "True", "Passed");
});

inBothDomains("a server that stops makes its API unavailable, and available again when it is back", async (api) => {
  const server = await backend(api);
  await server.stop();
  (await api.get(flunders)).expect(503);
  // The server notices a change of the service in time.
  const service = `/api/v1/namespaces/${ns}/services/api`;
  (await api.patch(service, { metadata: { labels: { touched: "1" } } })).expect(200);
  await becomes(api, "False", "FailedDiscoveryCheck", /connection refused/);
  assert.equal((await api.get(flunders)).expect(503).text, "service unavailable\n");
  (await api.get(`/apis/${group}`)).expect(200);
  (await api.patch(`${apiServices}/v1.${group}`, { spec: { versionPriority: 11 } })).expect(200);
  await waitForDiscovery(api, {
    "versions.0.freshness": "Stale",
    "versions.0.resources.0.resource": "flunders",
  });
  await server.start();
  await becomes(api, "True", "Passed");
  (await api.get(flunders)).expect(200);
});

inBothDomains("an APIService that goes takes its group along, and gives it back to this server", async (api) => {
  await backend(api);
  (await api.delete(`${apiServices}/v1.${group}`)).expect(200);
  assert.equal((await api.get(flunders)).expect(404).text, "404 page not found\n");
  const groups = (await api.get("/apis")).expect(200).list("groups");
  assert.ok(!groups.some((one) => one.string("name") === group));
});

inBothDomains("no APIService takes away the group of APIServices, so each can be deleted", async (api) => {
  const own = apiServices.split("/")[2]!;
  const name = `v1.${own}`;
  const service = apiService("default", { group: own, insecureSkipTLSVerify: true });
  (await api.post(apiServices, { ...service, metadata: { name } })).expect(201);
  (await api.get(apiServices)).expect(200, { kind: "APIServiceList" });
  (await api.delete(`${apiServices}/${name}`)).expect(200);
});

inBothDomains("what keeps requests from a server is told in its condition", async (api) => {
  const paths = await api.createNamespace();
  const services = `/api/v1/namespaces/${paths.ns}/services`;
  const spec = { insecureSkipTLSVerify: true, service: { namespace: paths.ns, name: "web", port: 444 } };
  const stored = (await api.post(apiServices, apiService(paths.ns, spec))).expect(201);
  assert.deepEqual(stored.warnings, []);
  const where = `service/web in "${paths.ns}"`;
  await becomes(api, "False", "ServiceNotFound", `${where} is not present`);
  (await api.post(services, { metadata: { name: "web" }, spec: { ports: [{ name: "https", port: 443 }] } })).expect(
    201,
  );
  await becomes(api, "False", "ServicePortError", `${where} is not listening on port 444`);
  (await api.patch(`${apiServices}/v1.${group}`, { spec: { service: { port: 443 } } })).expect(200);
  await becomes(api, "False", "EndpointsNotFound", `cannot find endpoints for ${where}`);
  const endpoints = `/api/v1/namespaces/${paths.ns}/endpoints`;
  (await api.post(endpoints, { metadata: { name: "web" } })).expect(201);
  await becomes(api, "False", "MissingEndpoints", `endpoints for ${where} have no addresses with port name "https"`);
  assert.equal((await api.get(flunders)).expect(503).text, "service unavailable\n");
  // A server whose documents do not end is available all the same: its head was good.
  const { certificate: cert, key } = await (await fakeAuthority("endless")).issue({ usage: "server" });
  const endless = https.createServer({ cert, key }, (_request, response) => void response.writeHead(200).write("{"));
  endless.listen(0, "127.0.0.1");
  await once(endless, "listening");
  const { port } = endless.address() as AddressInfo; // a TCP server has a port
  const external = { type: "ExternalName", externalName: "localhost" };
  (await api.post(services, { metadata: { name: "endless" }, spec: external })).expect(201);
  (await api.patch(`${apiServices}/v1.${group}`, { spec: { service: { name: "endless", port } } })).expect(200);
  await becomes(api, "True", "Passed", "all checks passed");
  endless.close();
  endless.closeAllConnections();
  (await api.delete(`${apiServices}/v1.${group}`)).expect(200);
});

inBothDomains("APIServices are checked when they are written", async (api) => {
  const wrong = (spec: object): Promise<unknown> =>
    api
      .post(apiServices, apiService(ns, spec))
      .then((answer) => answer.expectFailure(422, "Invalid").string("message"));
  assert.match(
    String(await wrong({ groupPriorityMinimum: 20_001, versionPriority: 0 })),
    /spec\.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000, spec\.versionPriority: Invalid value: 0: must be positive and less than 1000/,
  );
  assert.match(
    String(await wrong({ version: "v2" })),
    /metadata\.name: Invalid value: "v1\.wardle\.example\.com": must be `spec\.version\+"\."\+spec\.group`: "v2\.wardle\.example\.com"/,
  );
  assert.match(
    String(await wrong({ insecureSkipTLSVerify: true, caBundle: "YWE=", service: { port: 70_000 } })),
    /spec\.service\.namespace: Required value, spec\.service\.name: Required value, spec\.service\.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive, spec\.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present/,
  );
  assert.match(
    String(await wrong({ service: undefined, caBundle: "YWE=" })),
    /spec\.caBundle: Invalid value: "2 bytes": local APIServices may not have a caBundle/,
  );
});

inBothDomains("aggregated servers are told whose certificates and headers to believe", async (api) => {
  const path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
  const whole = async (): Promise<void> => {
    (await api.get(path)).expect(200, {
      "data.client-ca-file": /^-----BEGIN CERTIFICATE-----/,
      "data.requestheader-client-ca-file": /^-----BEGIN CERTIFICATE-----/,
      "data.requestheader-allowed-names": '["front-proxy-client"]',
      "data.requestheader-username-headers": '["X-Remote-User"]',
      "data.requestheader-group-headers": '["X-Remote-Group"]',
      "data.requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
    });
  };
  await eventually(whole);
  (await api.delete(path)).expect(200);
  await eventually(whole);
  const damaged = { "client-ca-file": "none", "requestheader-group-headers": "none", more: "dropped" };
  (await api.patch(path, { data: damaged })).expect(200);
  await eventually(async () => {
    await whole();
    (await api.get(path)).expect(200, { "data.more": undefined });
  });
  // Another server may have other authorities and headers, so they stay.
  const other = (await fakeAuthority("another")).certificate;
  const users = "requestheader-username-headers";
  (await api.patch(path, { data: { "client-ca-file": other, [users]: '["X-Other"]' } })).expect(200);
  await eventually(async () => {
    const data = (await api.get(path)).expect(200).at("data") as Readonly<Record<string, string>>;
    assert.equal(data[users], '["X-Other","X-Remote-User"]');
    assert.ok(data["client-ca-file"]!.startsWith(other.trim()));
    assert.equal(data["client-ca-file"]!.match(/BEGIN/g)!.length, 2);
  });
});
