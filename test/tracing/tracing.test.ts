/** Traces of a running server: its spans at a collector, what clients and webhooks see of them, and a collector that fails. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { openLog } from "#std/log.ts";
import type { ServerSettings } from "#server/options.ts";
import type { ServerEnvironment } from "#server/start-server.ts";
import { AggregatedServer, base, group, register } from "../aggregation/aggregated-server.ts";
import { crds } from "../crds.ts";
import { Api, eventually, openServer, temporaryFolder } from "../harness.ts";
import { MovingClock } from "../moving-clock.ts";
import { configMap } from "../objects.ts";
import { connectHttp2, request2 } from "../raw.ts";
import { configMaps, makePlane } from "../server/planes-for-tests.ts";
import { WebhookServer } from "../webhook-server.ts";
import { type CollectedSpan, Collector, tracingFile } from "./collector.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";
const traceparent = `00-${traceId}-${spanId}-01`;

const webhooks = await WebhookServer.open();
after(() => webhooks.close());

interface Traced {
  readonly api: Api;
  readonly collector: Collector;
  /** Stops the server, which sends the spans that wait. */
  stop(): Promise<void>;
}

async function traced(
  t: TestContext,
  {
    rate = 1_000_000,
    settings = {},
    environment = {},
  }: {
    readonly rate?: number;
    readonly settings?: ServerSettings;
    readonly environment?: ServerEnvironment;
  } = {},
): Promise<Traced> {
  const collector = await Collector.open();
  t.after(() => collector.close());
  const tracingConfigFile = tracingFile(collector.endpoint, rate);
  // Controllers make traces, too, in which tests of single requests have no interest.
  const server = await openServer("k8s.io", { controllers: [], ...settings, tracingConfigFile }, environment);
  t.after(() => server.close());
  return { api: new Api(server), collector, stop: () => server.close() };
}

/** Returns the span of the request for which the server gave this audit id, and the spans below it by name. */
function traceOf({ spans }: Collector, auditId: string): { root: CollectedSpan; named(name: string): CollectedSpan[] } {
  const { traceId: id } = spans.find(({ attributes }) => attributes["audit-id"] === auditId)!;
  const trace = spans.filter((span) => span.traceId === id);
  const root = trace.find(({ parentId }) => parentId === "")!;
  return { root, named: (name) => trace.filter((span) => span.name === name) };
}

const auditIdOf = ({ headers }: { readonly headers: Readonly<Record<string, unknown>> }): string =>
  String(headers["audit-id"]);

/** Waits until the many spans of the start are sent, so that the queue takes others. */
const caughtUp = (api: Api, { spans }: Collector): Promise<void> =>
  eventually(async () => {
    (await api.get("/version", { headers: { "user-agent": "probe" } })).expect(200);
    assert.ok(spans.some(({ attributes }) => attributes["user_agent.original"] === "probe"));
  });

/** Whether a span is that of a request of a client: controllers have no address. */
const isOfClient = ({ attributes }: CollectedSpan): boolean => (attributes["net.sock.peer.addr"] ?? "") !== "";

const only = (spans: readonly CollectedSpan[]): CollectedSpan => {
  assert.equal(spans.length, 1);
  return spans[0]!;
};

test("a write has spans for its steps, each below the one that it belongs to", async (t) => {
  const { api, collector, stop } = await traced(t);
  const maps = "/api/v1/namespaces/default/configmaps";
  const sent = { as: "admin", headers: { "user-agent": "tests/1.0" } };
  const answer = (await api.post(maps, configMap("a"), sent)).expect(201);
  await stop();
  const { root, named } = traceOf(collector, auditIdOf(answer));
  assert.equal(root.name, "POST /api/v1/namespaces/{:namespace}/configmaps");
  assert.equal(root.kind, 2);
  assert.equal(root.status, 0);
  assert.deepEqual(root.links, []);
  const { "http.request_content_length": length, "http.response_content_length": answered, ...shown } = root.attributes;
  assert.deepEqual(shown, {
    "http.method": "POST",
    "http.scheme": "https",
    "http.target": maps,
    "http.status_code": 201,
    "net.host.name": "127.0.0.1",
    "net.protocol.version": "1.1",
    "net.sock.peer.addr": "127.0.0.1",
    "user_agent.original": "tests/1.0",
  });
  assert.ok(Number(length) > 0);
  assert.equal(answered, answer.bytes.length);
  assert.equal(root.resource["service.name"], "apiserver");
  assert.match(String(root.resource["service.instance.id"]), /^apiserver-[a-z2-7]{26}$/);
  assert.equal(root.resource["process.pid"], process.pid);
  for (const name of ["authentication", "priorityandfairness", "authorization", "Create"]) {
    assert.equal(only(named(name)).parentId, root.spanId, name);
  }
  const create = only(named("Create"));
  assert.deepEqual(create.attributes, {
    accept: "",
    "audit-id": auditIdOf(answer),
    client: "127.0.0.1",
    "api-group": "",
    "api-version": "v1",
    name: "",
    subresource: "",
    namespace: "default",
    protocol: "HTTP/1.1",
    resource: "configmaps",
    scope: "resource",
    url: maps,
    "user-agent": "tests/1.0",
    verb: "POST",
  });
  for (const name of ["Commit", "SerializeObject"]) assert.equal(only(named(name)).parentId, create.spanId, name);
  assert.equal(only(named("SerializeObject")).attributes["mediaType"], "application/json");
  const plugins = named("Admission ServiceAccount").concat(named("Admission NamespaceLifecycle"));
  assert.deepEqual(new Set(plugins.map(({ parentId }) => parentId)), new Set([create.spanId]));
  assert.ok(plugins.some(({ attributes }) => attributes["type"] === "admit" && attributes["operation"] === "CREATE"));
  for (const span of collector.spans) assert.ok(span.endNs >= span.startNs, span.name);
});

test("reads, refusals and failures have spans, which are named without what clients choose", async (t) => {
  const { api, collector, stop } = await traced(t);
  const name = `x${"y".repeat(200)}`;
  const maps = "/api/v1/namespaces/default/configmaps";
  const answers = {
    [`GET /api/v1/namespaces/{:namespace}/configmaps/{:name} 404 Get`]: await api.get(`${maps}/${name}`),
    "GET /api/v1/configmaps 200 List": await api.get("/api/v1/configmaps?limit=5"),
    "GET /apis/apps/v1/namespaces/{:namespace}/deployments/{:name}/scale 404 Get": await api.get(
      "/apis/apps/v1/namespaces/default/deployments/d/scale",
    ),
    "DELETE /api/v1/namespaces/{:namespace}/configmaps/{:name} 404 Delete": await api.delete(`${maps}/${name}`),
  };
  const watch = await api.watch(`${maps}?resourceVersion=0`);
  const refused = await api.get("/api/v1/nodes", { as: "nobody" });
  refused.expect(403);
  (await api.get("/api/v1/nodes", { as: "nobody", headers: { authorization: "Bearer wrong" } })).expect(401);
  watch.close();
  await stop();
  for (const [expected, answer] of Object.entries(answers)) {
    const { root, named } = traceOf(collector, auditIdOf(answer));
    const [method, path, code, handler = ""] = expected.split(" ");
    assert.equal(root.name, `${method} ${path}`);
    assert.equal(root.attributes["http.status_code"], Number(code));
    assert.equal(root.status, 0, "an error of the client is none of the server");
    assert.equal(only(named(handler)).parentId, root.spanId);
  }
  const watches = collector.named("Watch").filter(({ attributes }) => attributes["url"] === maps);
  const root = collector.spans.find((one) => one.spanId === only(watches).parentId)!;
  assert.ok(only(watches).endNs < root.endNs, "the span of the watch ends when it has begun");
  const nodes = collector.named("GET /api/v1/nodes").filter(isOfClient);
  const codes = nodes.map(({ attributes }) => attributes["http.status_code"]);
  assert.deepEqual(codes.toSorted(), [401, 403]);
});

test("no span shows credentials, bodies, or parameters of commands in pods", async (t) => {
  const { api, collector, stop } = await traced(t);
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, stringData: { a: "not-to-be-seen" } };
  (await api.post("/api/v1/namespaces/default/secrets", secret)).expect(201);
  await api.get("/api/v1/namespaces/default/pods/p/exec?command=login&command=not-to-be-seen");
  await api.get("/api/v1/namespaces/default/services/s/proxy/path?key=not-to-be-seen");
  for (const command of ["%65xec", "at%74ach", "portforwar%64", "%70roxy", "exec%2Fmore", "exec/", "a%zz/log"]) {
    await api.get(`/api/v1/namespaces/default/pods/p/${command}?command=not-to-be-seen`);
  }
  await api.get("/api/v1/%70roxy/namespaces/default/services/s?key=not-to-be-seen");
  for (const name of [
    "access_token",
    "access%5Ftoken",
    "%61ccess_token",
    "%41CCESS_TOKEN",
    "x=y;access_token",
    "code",
  ]) {
    await api.get(`/api/v1/nodes?limit=1&${name}=not-to-be-seen&continue=a`);
  }
  await stop();
  assert.ok(collector.named("Create").length > 0);
  const targets = collector.named("GET /api/v1/nodes").map(({ attributes }) => attributes["http.target"]);
  assert.ok(targets.includes("/api/v1/nodes?limit=1&%61ccess_token=REDACTED&continue=a"), targets.join(" "));
  const text = JSON.stringify(collector.spans, (_key, value: unknown) =>
    typeof value === "bigint" ? String(value) : value,
  );
  for (const hidden of ["not-to-be-seen", Buffer.from("not-to-be-seen").toString("base64"), "admin-token", "Bearer"]) {
    assert.ok(!text.includes(hidden), hidden);
  }
});

test("the trace of a client is linked, and does not decide whether a request is traced", async (t) => {
  const everything = await traced(t);
  const nothing = await traced(t, { rate: 0 });
  const path = "/api/v1/namespaces/default/configmaps/a";
  for (const { api } of [everything, nothing]) {
    await api.get(path, { headers: { traceparent } });
    await api.get(path, { headers: { traceparent: traceparent.replace(/01$/, "00") }, as: "nobody" });
  }
  await everything.stop();
  await nothing.stop();
  const roots = everything.collector.named("GET /api/v1/namespaces/{:namespace}/configmaps/{:name}").filter(isOfClient);
  assert.deepEqual(
    roots.map(({ parentId, links }) => ({ parentId, links })),
    Array.from({ length: 2 }, () => ({ parentId: "", links: [{ traceId, spanId }] })),
  );
  assert.ok(roots.every((root) => root.traceId !== traceId));
  assert.equal(nothing.collector.exports, 0);
});

test("hostile headers do no harm", async (t) => {
  const { api, collector, stop } = await traced(t);
  const long = "x".repeat(6000);
  const many = Array.from({ length: 100 }, (_, i) => `k${i}=v`).join(",");
  const headers: Readonly<Record<string, string | readonly string[]>>[] = [
    { traceparent: "" },
    { traceparent: long },
    { traceparent: [traceparent, traceparent] },
    { traceparent: "00-00000000000000000000000000000000-0000000000000000-01" },
    { traceparent: `ff${traceparent.slice(2)}` },
    { traceparent: traceparent.toUpperCase() },
    { traceparent, tracestate: long },
    { traceparent, tracestate: many, baggage: many },
    { baggage: "=;,=%00%ff%zz" },
    { "user-agent": long, accept: `application/json, ${long}` },
  ];
  for (const one of headers) (await api.get("/api/v1/namespaces/default", { headers: one })).expect(200);
  await stop();
  // A resource with the name of its own namespace, as upstream shows it.
  const roots = collector.named("GET /api/v1/namespaces/{:namespace}/namespaces/{:name}").filter(isOfClient);
  assert.equal(roots.length, headers.length);
  assert.equal(roots.filter(({ links }) => links.length > 0).length, 2, "only valid headers are linked");
  for (const { attributes } of collector.spans) {
    for (const value of Object.values(attributes)) assert.ok(Buffer.byteLength(String(value)) <= 512);
  }
});

test("methods that clients of HTTP/2 invent are neither names nor attributes", async (t) => {
  const { api, collector, stop } = await traced(t);
  const session = await connectHttp2(api.endpoint, api.server.ca);
  t.after(() => session.destroy());
  const headers = { "user-agent": "x".repeat(8000), authorization: "Bearer admin-token" };
  for (const method of ["M".repeat(15_000), "get", "PROPFIND"]) {
    for (const path of ["/version", "/api/v1/nodes", `/api/v1/namespaces/${"%E2%82%AC".repeat(1000)}/pods`]) {
      const { status } = await request2(session, { ...headers, ":method": method, ":path": path });
      assert.ok(status >= 400 && status < 500, `${method.slice(0, 10)} ${path.slice(0, 30)} ${status}`);
    }
  }
  session.destroy();
  await stop();
  const roots = collector.spans.filter((span) => isOfClient(span) && span.parentId === "");
  assert.equal(roots.length, 9);
  for (const { name, attributes } of roots) {
    assert.match(name, /^_OTHER(?: \/api\/v1\/|$)/);
    assert.equal(attributes["http.method"], "_OTHER");
  }
  for (const { name, attributes } of collector.spans) {
    for (const text of [name, ...Object.values(attributes)]) {
      assert.ok(Buffer.byteLength(String(text)) <= 512);
      assert.ok(!String(text).includes("MMM"));
    }
  }
});

test("webhooks continue the trace, whether it is recorded or not", async (t) => {
  const { api, collector, stop } = await traced(t);
  const unrecorded = await traced(t, { rate: 0 });
  const clientConfig = await webhooks.at("/traced");
  for (const on of [api, unrecorded.api]) {
    for (const kind of ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]) {
      const configuration = {
        apiVersion: "admissionregistration.k8s.io/v1",
        kind,
        metadata: { name: "hook" },
        webhooks: [
          {
            name: "hook.example.com",
            clientConfig,
            rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
            sideEffects: "None",
            admissionReviewVersions: ["v1"],
          },
        ],
      };
      const path = `/apis/admissionregistration.k8s.io/v1/${kind.toLowerCase()}s`;
      (await on.post(path, configuration)).expect(201);
    }
  }
  const headers = { traceparent, tracestate: "vendor=secret", baggage: "key=value" };
  const answer = (await api.post("/api/v1/namespaces/default/configmaps", configMap("a"), { headers })).expect(201);
  const received = webhooks.take("/traced");
  assert.equal(received.length, 2);
  (await unrecorded.api.post("/api/v1/namespaces/default/configmaps", configMap("a"))).expect(201);
  const others = webhooks.take("/traced");
  await stop();
  const { named } = traceOf(collector, auditIdOf(answer));
  const create = only(named("Create"));
  for (const [i, name] of ["Call mutating webhook", "Call validating webhook"].entries()) {
    const call = only(named(name));
    const { trace, review } = received[i]!;
    assert.equal(call.kind, 3);
    assert.equal(call.parentId, create.spanId);
    assert.deepEqual(call.attributes, {
      configuration: "hook",
      webhook: "hook.example.com",
      resource: "/v1, Resource=configmaps",
      subresource: "",
      operation: "CREATE",
      UID: review.request.uid,
    });
    assert.deepEqual(trace, {
      traceparent: `00-${call.traceId}-${call.spanId}-01`,
      tracestate: "",
      baggage: "",
    });
  }
  assert.equal(others.length, 2);
  for (const { trace } of others) assert.match(trace.traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
});

test("a webhook that fails shows in its span, and a request that the server fails in its own", async (t) => {
  const { api, collector, stop } = await traced(t);
  const clientConfig = await webhooks.at("/broken", { code: 500, body: "no" });
  const configuration = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "hook" },
    webhooks: [
      {
        name: "hook.example.com",
        clientConfig,
        rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
      },
    ],
  };
  const path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
  (await api.post(path, configuration)).expect(201);
  const answer = (await api.post("/api/v1/namespaces/default/configmaps", configMap("a"))).expect(500);
  await stop();
  const { root, named } = traceOf(collector, auditIdOf(answer));
  assert.equal(root.status, 2);
  assert.equal(only(named("Call validating webhook")).status, 2);
  assert.equal(only(named("Admission ValidatingAdmissionWebhook")).attributes["rejected"], true);
  assert.equal(named("Commit").length, 0);
});

test("a request that a thread handles has the spans of the others", async (t) => {
  const { api, collector, stop } = await traced(t, { environment: { largeBytes: 100 } });
  const large = { ...configMap("large"), data: { text: "x".repeat(1000) } };
  const answer = (await api.post("/api/v1/namespaces/default/configmaps", large)).expect(201);
  await stop();
  const { named } = traceOf(collector, auditIdOf(answer));
  const create = only(named("Create"));
  assert.equal(only(named("Commit")).parentId, create.spanId);
  assert.ok(named("Admission NamespaceLifecycle").every(({ parentId }) => parentId === create.spanId));
});

test("a conversion webhook is called in the trace of the request that needs it", async (t) => {
  const { api, collector, stop } = await traced(t, { settings: { controllers: ["*"] } });
  const clientConfig = await webhooks.at("/convert", { converts: true });
  const version = (name: string, storage: boolean): object => ({
    name,
    served: true,
    storage,
    schema: { openAPIV3Schema: { type: "object" } },
  });
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "boats.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "boats", kind: "Boat" },
      conversion: { strategy: "Webhook", webhook: { clientConfig, conversionReviewVersions: ["v1"] } },
      versions: [version("v1", true), version("v2", false)],
    },
  };
  (await api.post(crds, definition)).expect(201);
  const boats = "/apis/example.com/v1/namespaces/default/boats";
  const boat = { apiVersion: "example.com/v1", kind: "Boat", metadata: { name: "a" } };
  await eventually(async () => (await api.post(boats, boat)).expect(201));
  webhooks.take("/convert");
  const answer = (await api.get(`${boats.replace("v1", "v2")}/a`)).expect(200);
  // Controllers may need other conversions meanwhile.
  const received = webhooks.take("/convert");
  await stop();
  const { named } = traceOf(collector, auditIdOf(answer));
  const call = only(named("Call conversion webhook"));
  assert.equal(call.parentId, only(named("Get")).spanId);
  const sent = received.find(({ trace }) => trace.traceparent === `00-${call.traceId}-${call.spanId}-01`)!;
  assert.deepEqual(call.attributes, {
    "object-count": 1,
    "desired-api-version": "example.com/v2",
    UID: sent.review.request.uid,
  });
});

test("requests over HTTP/2 and requests to planes are traced, too", async (t) => {
  const { api, collector, stop } = await traced(t, {
    settings: { controllers: ["*"], planes: join(temporaryFolder(), "planes") },
  });
  const { prefix, as } = await makePlane(api, "alpha");
  await caughtUp(api, collector);
  const inPlane = (await api.post(`${prefix}${configMaps}`, configMap("a"), { as })).expect(201);
  const session = await connectHttp2(api.endpoint, api.server.ca);
  t.after(() => session.destroy());
  const { status } = await request2(session, {
    ":path": "/api/v1/namespaces/default",
    authorization: "Bearer admin-token",
    "user-agent": "http2",
    traceparent,
  });
  assert.equal(status, 200);
  session.destroy();
  await stop();
  const { root, named } = traceOf(collector, auditIdOf(inPlane));
  assert.equal(root.name, "POST /api/v1/namespaces/{:namespace}/configmaps");
  assert.equal(root.attributes["http.target"], `${prefix}${configMaps}`);
  assert.equal(named("Commit").length, 1);
  const other = only(collector.spans.filter(({ attributes }) => attributes["user_agent.original"] === "http2"));
  assert.equal(other.attributes["net.protocol.version"], "2.0");
  assert.equal(other.attributes["net.host.name"], "127.0.0.1");
  assert.deepEqual(other.links, [{ traceId, spanId }]);
});

test("an aggregated server continues the trace in place of the client's", async (t) => {
  const { api, collector, stop } = await traced(t, { settings: { controllers: ["*"] } });
  const other = await AggregatedServer.start(api, "shop");
  t.after(() => other.stop());
  await register(api, "shop", other);
  const path = `${base}/namespaces/shop/flunders`;
  const headers = { traceparent, tracestate: "vendor=1", "x-mark": "traced" };
  const answer = (await api.get(path, { headers })).expect(200);
  assert.ok(answer.text.includes(group));
  await stop();
  const received = other.received.find((one) => one.headers.includes("x-mark: traced"))!;
  const { named } = traceOf(collector, auditIdOf(answer));
  const call = only(named("HTTP GET"));
  assert.equal(call.kind, 3);
  assert.equal(call.attributes["http.status_code"], 200);
  assert.deepEqual(
    received.headers.filter((header) => header.startsWith("trace")),
    [`traceparent: 00-${call.traceId}-${call.spanId}-01`],
  );
});

test("without a collector, or with one that fails or hangs, requests are served, and the log says so", async (t) => {
  for (const fault of ["absent", "fails", "hangs"] as const) {
    const clock = new MovingClock();
    const logged: string[] = [];
    const log = openLog({ format: "json", verbosity: 0, write: (line) => logged.push(line) });
    const { api, collector, stop } = await traced(t, { environment: { clock, log } });
    if (fault === "absent") collector.close();
    else collector.fault = fault;
    // Spans of the start may have been sent before.
    const sent = collector.spans.length;
    for (let i = 0; i < 200; i++) (await api.get("/api/v1/namespaces/default")).expect(200);
    const stopping = stop();
    if (fault === "hangs") {
      // The bound of the stop.
      await clock.untilWaiting(5000);
      clock.advance(5000);
    }
    await stopping;
    const about = logged.filter((line) => line.includes("spans of traces"));
    // One line every ten seconds while it runs, and one for the rest at the end.
    assert.ok(about.length > 0 && about.length < 50, `${fault}: ${about.join("")}`);
    for (const line of about) assert.match(line, /"level":"warn"/);
    assert.equal(collector.spans.length, sent);
  }
});
