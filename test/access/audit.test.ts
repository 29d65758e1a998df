/**
 * The audit log: the events that a policy records, in a file and by a webhook over TLS with a private authority. Also
 * full, unavailable, slow, invalid and redirecting backends.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { dirname, join, relative, resolve } from "node:path";
import { test, type TestContext } from "node:test";
import { fakeAuthority } from "#authn/fake-authority.ts";
import type { ServerSettings } from "#server/options.ts";
import { StartError } from "#std/start-error.ts";
import {
  type Domain,
  domains,
  eventually,
  file,
  type Observed,
  startObserved,
  openServer,
  temporaryFolder,
  renamer,
} from "../harness.ts";
import { connectRaw } from "../raw.ts";

interface Event {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly level: string;
  readonly auditID: string;
  readonly stage: string;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: { readonly username?: string; readonly groups?: readonly string[]; readonly uid?: string };
  readonly impersonatedUser?: { readonly username: string; readonly groups: readonly string[] };
  readonly sourceIPs?: readonly string[];
  readonly userAgent?: string;
  readonly objectRef?: Readonly<Record<string, string>>;
  readonly responseStatus?: Readonly<Record<string, unknown>> & { readonly code?: number };
  readonly requestObject?: Body;
  readonly responseObject?: Body;
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface Body {
  readonly kind?: string;
  readonly metadata?: { readonly name?: string; readonly uid?: string; readonly managedFields?: unknown };
  readonly data?: Readonly<Record<string, string>>;
  readonly items?: readonly Body[];
  readonly rows?: readonly { readonly cells: readonly unknown[]; readonly object: Body }[];
}

const policyVersion = "audit.k8s.io/v1";
const json = JSON.stringify;

function policyFile(domain: Domain, policy: object): string {
  return file("policy.json", renamer(domain)(json({ apiVersion: policyVersion, kind: "Policy", ...policy })));
}

/** Rules without the requests of the server's own controllers. */
const notItself = [
  { level: "None", users: ["system:apiserver", "system:kube-controller-manager"] },
  { level: "None", userGroups: ["system:serviceaccounts:kube-system"] },
];

interface Audited extends Observed {
  readonly path: string;
  /** Returns the events of requests to a path, in order. They exist when the request is answered. */
  of(part: string): Event[];
}

async function startAudited(domain: Domain, policy: object, settings: ServerSettings = {}): Promise<Audited> {
  const path = join(temporaryFolder(), "logs", "audit.log");
  const on = await startObserved(domain, {
    auditPolicyFile: policyFile(domain, policy),
    auditLogPath: path,
    ...settings,
  });
  return {
    ...on,
    path,
    of: (part) => events(path).filter(({ requestURI }) => requestURI.includes(on.api.name(part))),
  };
}

function events(path: string): Event[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Event);
}

/** Runs a part of a test with a server of its own, and closes the server. */
async function usingAudited(
  domain: Domain,
  policy: object,
  settings: ServerSettings,
  run: (on: Audited) => Promise<void>,
): Promise<void> {
  const on = await startAudited(domain, policy, settings);
  try {
    await run(on);
  } finally {
    await on.close();
  }
}

/** Registers one test in each domain, with a server of its own. */
function withAudit(
  name: string,
  policy: object,
  run: (on: Audited, t: TestContext) => Promise<void>,
  settings: ServerSettings = {},
): void {
  for (const domain of domains) {
    test(`${domain}: ${name}`, (t) => usingAudited(domain, policy, settings, (on) => run(on, t)));
  }
}

const configMap = (name: string, data: Readonly<Record<string, string>> = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data,
});

const everything = {
  rules: [
    ...notItself,
    { level: "None", nonResourceURLs: ["/version"] },
    { level: "Metadata", resources: [{ group: "", resources: ["secrets"] }] },
    { level: "Request", verbs: ["patch"] },
    {
      level: "RequestResponse",
      resources: [{ group: "", resources: ["configmaps", "namespaces"] }],
      omitStages: ["RequestReceived"],
    },
    { level: "Metadata" },
  ],
};

withAudit("a level says how much of a request is recorded, the first fitting rule which", everything, async (on) => {
  const { api } = on;
  const { configMaps, secrets } = await api.createNamespace();
  const created = (await api.post(configMaps, configMap("a", { k: "v" }), { headers: { "audit-id": "my-id" } })).expect(
    201,
  );

  const [event, ...more] = on.of(configMaps);
  assert.equal(more.length, 0, "RequestReceived is omitted");
  assert.ok(event);
  assert.equal(event.kind, "Event");
  assert.equal(event.apiVersion, api.name(policyVersion));
  assert.equal(event.level, "RequestResponse");
  assert.equal(event.stage, "ResponseComplete");
  assert.equal(event.auditID, "my-id");
  assert.equal(created.headers["audit-id"], "my-id");
  assert.equal(event.verb, "create");
  assert.equal(event.user.username, "admin");
  assert.deepEqual(event.user.groups, ["system:masters", "system:authenticated"]);
  assert.deepEqual(event.sourceIPs, ["127.0.0.1"]);
  assert.equal(event.responseStatus?.code, 201);
  const { objectRef } = event;
  assert.equal(objectRef?.["resource"], "configmaps");
  assert.equal(objectRef["name"], "a");
  assert.equal(objectRef["apiVersion"], "v1");
  assert.deepEqual(event.requestObject?.data, { k: "v" });
  assert.equal(event.requestObject?.kind, "ConfigMap");
  assert.equal(event.requestObject?.metadata?.uid, undefined, "as it was sent");
  assert.equal(event.responseObject?.metadata?.uid, created.at("metadata.uid"));
  assert.equal(event.annotations?.[api.name("authorization.k8s.io/decision")], "allow");
  assert.match(event.requestReceivedTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);

  (
    await api.post(secrets, { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, stringData: { p: "hidden" } })
  ).expect(201);
  const ofSecret = on.of(secrets);
  assert.deepEqual(
    ofSecret.map(({ stage }) => stage),
    ["RequestReceived", "ResponseComplete"],
  );
  assert.equal(ofSecret[0]?.annotations, undefined);
  assert.equal(ofSecret[1]?.objectRef?.["name"], "s");
  assert.equal(ofSecret[1]?.requestObject, undefined);
  assert.doesNotMatch(readFileSync(on.path, "utf8"), /hidden|aGlkZGVu/);

  (await api.patch(`${configMaps}/a`, { data: { k: "w" } })).expect(200);
  const patched = on.of(`${configMaps}/a`).at(-1);
  assert.deepEqual(patched?.requestObject, { data: { k: "w" } });
  assert.equal(patched?.responseObject, undefined);

  (await api.get("/version")).expect(200);
  assert.deepEqual(on.of("/version"), []);

  (await api.get(configMaps)).expect(200);
  assert.equal(on.of(configMaps).at(-1)?.responseObject?.items?.[0]?.metadata?.name, "a");
});

withAudit(
  "managed fields are left out where the policy says so, of objects and of lists",
  { omitManagedFields: true, rules: [...notItself, { level: "RequestResponse" }] },
  async (on) => {
    const { configMaps } = await on.api.createNamespace();
    (await on.api.post(configMaps, configMap("a"))).expect(201);
    (await on.api.get(configMaps)).expect(200);
    const recorded = on.of(configMaps).filter(({ responseObject }) => responseObject !== undefined);
    assert.equal(recorded.length, 2);
    assert.equal(recorded[1]?.responseObject?.items?.length, 1);
    assert.deepEqual(Object.keys(recorded[0]?.responseObject ?? {}), ["kind", "apiVersion", "metadata"], "in order");
    assert.doesNotMatch(json(recorded), /managedFields/);
  },
);

for (const omitManagedFields of [false, true]) {
  withAudit(
    `answers in every encoding and view are recorded as the objects they are, ${omitManagedFields ? "without" : "with"} managed fields`,
    { omitManagedFields, rules: [...notItself, { level: "RequestResponse" }] },
    async (on) => {
      const { api } = on;
      const { configMaps } = await api.createNamespace();
      const long = "x".repeat(100_000);
      (await api.post(configMaps, configMap("a", { k: long }))).expect(201);
      const table = `application/json;as=Table;v=v1;g=${api.name("meta.k8s.io")}`;
      const recordRequest = async (path: string, accept: string): Promise<Body> => {
        (await api.get(path, { headers: { accept } })).expect(200);
        return on.of(path).at(-1)?.responseObject ?? {};
      };
      for (const accept of ["application/json", "application/yaml", "application/json;pretty=1"]) {
        const object = await recordRequest(`${configMaps}/a`, accept);
        assert.equal(object.data?.["k"], long, accept);
        assert.equal(object.metadata?.managedFields === undefined, omitManagedFields, accept);
        const { kind, items } = await recordRequest(configMaps, accept);
        assert.equal(kind, "ConfigMapList", accept);
        assert.equal(items?.[0]?.data?.["k"], long, accept);
        assert.equal(items[0].metadata?.managedFields === undefined, omitManagedFields, accept);
      }
      for (const accept of [table, table.replace("json", "yaml")]) {
        for (const path of [`${configMaps}/a`, configMaps]) {
          const { kind, rows } = await recordRequest(path, accept);
          assert.equal(kind, "Table", accept);
          assert.equal(rows?.[0]?.cells[0], "a");
          assert.equal(rows[0].object.metadata?.managedFields === undefined, omitManagedFields, accept);
        }
      }
      for (const accept of ["application/yaml", "application/vnd.kubernetes.protobuf"]) {
        assert.equal((await recordRequest("/apis/apps", accept)).kind, "APIGroup", accept);
      }
    },
  );
}

withAudit(
  "a refused request is recorded with its reason, which clients do not see, and without credentials",
  { rules: [...notItself, { level: "RequestResponse" }] },
  async (on) => {
    const { api } = on;
    const { configMaps } = await api.createNamespace();
    (await api.get(`${configMaps}/none`, { as: "alice" })).expectFailure(403, "Forbidden");
    const refused = on.of(`${configMaps}/none`).at(-1);
    assert.equal(refused?.user.username, "alice");
    assert.equal(refused.responseStatus?.code, 403);
    assert.equal(refused.responseStatus["reason"], "Forbidden");
    assert.equal(refused.responseObject?.kind, "Status");
    assert.equal(refused.annotations?.[api.name("authorization.k8s.io/decision")], "forbid");
    assert.notEqual(refused.annotations[api.name("authorization.k8s.io/reason")], "");

    (
      await api.get(`${configMaps}/none?access_token=abcsecret`, { headers: { authorization: "Bearer wrong-secret" } })
    ).expectFailure(401, "Unauthorized");
    const unknown = on.of(`${configMaps}/none?access_token`);
    assert.equal(unknown.length, 1);
    assert.equal(unknown[0]?.stage, "ResponseStarted");
    assert.deepEqual(unknown[0]?.user, {});
    assert.equal(unknown[0]?.responseStatus?.code, 401);
    assert.equal(unknown[0]?.responseStatus?.["message"], "Authentication failed, attempted: bearer, access_token");
    assert.doesNotMatch(readFileSync(on.path, "utf8"), /secret|admin-token|alice-token/);

    (await api.get(`${configMaps}/missing`)).expectFailure(404, "NotFound");
    const missing = on.of(`${configMaps}/missing`).at(-1);
    assert.equal(missing?.responseStatus?.code, 404);
    assert.equal(missing.responseStatus["reason"], "NotFound");
  },
);

withAudit(
  "a request refused before authentication is recorded too",
  { rules: [...notItself, { level: "RequestResponse" }] },
  async (on) => {
    (await on.api.get("/api/v1/nodes?timeout=soon")).expectFailure(400, "BadRequest");
    const [event, ...more] = on.of("/api/v1/nodes?timeout=soon");
    assert.deepEqual(more, []);
    assert.equal(event?.stage, "ResponseStarted");
    assert.deepEqual(event.user, {});
    assert.equal(event.responseStatus?.code, 400);
    assert.match(String(event.responseStatus["message"]), /^invalid timeout specified in the request URL/);
    assert.equal(event.responseObject?.kind, "Status");
  },
);

withAudit(
  "no credential that stands in a URL can be taken from the log",
  { rules: [...notItself, { level: "Metadata" }] },
  async (on) => {
    const connection = await connectRaw(on.api.endpoint, on.api.server.ca);
    for (const target of [
      "/version?access_token=s3cret",
      "/version?a=b&access%5Ftoken=s3cret&c=d",
      "https://user:s3cret@localhost/version?e=f",
    ]) {
      connection.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer alice-token\r\n\r\n`);
    }
    await eventually(() => Promise.resolve(assert.equal(on.of("/version").length, 6)));
    connection.socket.destroy();
    const uris = new Set(on.of("/version").map(({ requestURI }) => requestURI));
    assert.deepEqual(
      uris,
      new Set(["/version?access_token=REDACTED", "/version?a=b&access%5Ftoken=REDACTED&c=d", "/version?e=f"]),
    );
    for (const text of [readFileSync(on.path, "utf8"), ...on.logged]) assert.ok(!text.includes("s3cret"), text);
  },
);

withAudit(
  "no token that is asked for or looked at can be taken from the log",
  { rules: [...notItself, { level: "RequestResponse" }] },
  async (on) => {
    const { api } = on;
    const account = (await api.createNamespace()).configMaps.replace(/configmaps$/, "serviceaccounts");
    (await api.post(account, { metadata: { name: "robot" } })).expect(201);
    const answer = (await api.post(`${account}/robot/token`, { spec: { expirationSeconds: 600 } })).expect(201);
    const token = answer.string("status.token");
    const reviews = api.name("/apis/authentication.k8s.io/v1/tokenreviews");
    (await api.post(reviews, { spec: { token } })).expect(201, { "status.authenticated": true });
    for (const path of [`${account}/robot/token`, reviews]) {
      const { responseObject } = on.of(path).at(-1) ?? {};
      assert.match(json(responseObject), /"token":"REDACTED"/);
    }
    const log = readFileSync(on.path, "utf8");
    for (const part of token.split(".")) assert.ok(!log.includes(part), part);
  },
);

withAudit(
  "both the user and whom they act as are recorded; headers of proxies add to the addresses, not replace them",
  { rules: [...notItself, { level: "Metadata" }] },
  async (on) => {
    const { api } = on;
    const headers = {
      "impersonate-user": "somebody",
      "impersonate-group": "people",
      "x-forwarded-for": "10.0.0.1, nonsense, ::ffff:10.0.0.2",
      "x-real-ip": "2001:0db8::1",
      "user-agent": `agent\t"quoted"${"x".repeat(2000)}`,
    };
    await api.get("/api/v1/nodes?limit=7", { headers });
    const [first, last] = on.of("/api/v1/nodes?limit=7");
    assert.equal(first?.impersonatedUser, undefined);
    assert.equal(last?.user.username, "admin");
    assert.equal(last.impersonatedUser?.username, "somebody");
    assert.deepEqual(last.impersonatedUser.groups, ["people", "system:authenticated"]);
    assert.deepEqual(last.sourceIPs, ["10.0.0.1", "10.0.0.2", "2001:db8::1", "127.0.0.1"]);
    assert.equal(last.userAgent?.length, 1024 + "...TRUNCATED".length);
    assert.doesNotMatch(readFileSync(on.path, "utf8"), /^\S*\n(?!\{)/m);
  },
);

withAudit(
  "a watch is recorded when it starts and when it ends, with the time it took",
  { rules: [...notItself, { level: "Metadata" }] },
  async (on) => {
    const { configMaps } = await on.api.createNamespace();
    (await on.api.get(`${configMaps}?watch=true&timeoutSeconds=1`)).expect(200);
    // The end of a stream does not wait for the log.
    await eventually(() => {
      const recorded = on.of(`${configMaps}?watch`);
      const stages = recorded.map(({ stage }) => stage);
      assert.deepEqual(stages, ["RequestReceived", "ResponseStarted", "ResponseComplete"]);
      assert.match(recorded[2]?.annotations?.[on.api.name("apiserver.latency.k8s.io/total")] ?? "", /^1\.\d+s$|^1s$/);
      return Promise.resolve();
    });
  },
);

withAudit(
  "a watch has no object, whatever the level, and discovery has one in whatever form it is asked for",
  { rules: [...notItself, { level: "RequestResponse" }] },
  async (on) => {
    const { configMaps } = await on.api.createNamespace();
    (await on.api.get(`${configMaps}?watch=true&timeoutSeconds=1`)).expect(200);
    await eventually(() => Promise.resolve(assert.equal(on.of(`${configMaps}?watch`).length, 3)));
    for (const event of on.of(`${configMaps}?watch`)) assert.equal(event.responseObject, undefined);
    for (const [accept, kind] of [
      ["application/json", "APIGroupList"],
      ["application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "APIGroupDiscoveryList"],
    ] as const) {
      (await on.api.get("/apis", { accept })).expect(200);
      const asked = on.of("/apis").filter(({ requestURI }) => requestURI === "/apis");
      assert.equal(asked.at(-1)?.responseObject?.kind, kind);
    }
  },
);

withAudit(
  "a request to a deprecated endpoint says so in its event [EVENT-09]",
  { rules: [...notItself, { level: "Metadata" }] },
  async (on) => {
    (await on.api.get("/api/v1/componentstatuses")).expect(200);
    assert.equal(on.of("/api/v1/componentstatuses").at(-1)?.annotations?.[on.api.name("k8s.io/deprecated")], "true");
  },
);

withAudit(
  "what is deleted by options, and reviews, are recorded by their level",
  { rules: [...notItself, { level: "RequestResponse", omitStages: ["RequestReceived"] }] },
  async (on) => {
    const { configMaps } = await on.api.createNamespace();
    (await on.api.post(configMaps, configMap("a"))).expect(201);
    const options = { apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: 0 };
    (await on.api.delete(`${configMaps}/a`, options)).expect(200);
    const deleted = on.of(`${configMaps}/a`).at(-1);
    assert.deepEqual(deleted?.requestObject, { ...options, apiVersion: on.api.name("meta.k8s.io/__internal") });
    assert.equal(deleted.responseStatus?.["status"], "Success");
    assert.equal(deleted.responseStatus.code, 200);
    const reviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    (await on.api.post(reviews, { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" })).expect(201);
    assert.equal(on.of(reviews).at(-1)?.responseObject?.kind, "SelfSubjectReview");
    const { ns } = await on.api.createNamespace();
    const pods = `/api/v1/namespaces/${ns}/pods`;
    const spec = { containers: [{ name: "c", image: "i" }] };
    (await on.api.post(pods, { metadata: { name: "p" }, spec })).expect(201);
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "p" } };
    (await on.api.post(`${pods}/p/eviction?dryRun=All`, eviction)).expect(201);
    assert.deepEqual(on.of(`${pods}/p/eviction?dryRun=All`).at(-1)?.responseStatus, {
      metadata: {},
      status: "Success",
      code: 201,
    });
  },
);

withAudit(
  "events that are too large lose their objects, and what is recorded is counted",
  { rules: [...notItself, { level: "RequestResponse", omitStages: ["RequestReceived"] }] },
  async (on) => {
    const { configMaps } = await on.api.createNamespace();
    (await on.api.post(configMaps, configMap("small", { k: "v" }))).expect(201);
    (await on.api.post(configMaps, configMap("large", { k: "v".repeat(3000) }))).expect(201);
    const [small, large] = on.of(configMaps);
    assert.equal(small?.requestObject?.metadata?.name, "small");
    assert.equal(large?.objectRef?.["name"], "large");
    assert.equal(large.requestObject, undefined);
    assert.equal(large.responseObject, undefined);
    assert.equal(large.annotations?.[on.api.name("audit.k8s.io/truncated")], "true");
    const { text } = await on.api.get("/metrics");
    assert.match(text, /^apiserver_audit_event_total [1-9]/m);
    assert.match(text, /^apiserver_audit_level_total\{level="RequestResponse"\} [1-9]/m);
    assert.match(text, /^apiserver_audit_level_total\{level="None"\} [1-9]/m);
  },
  { auditLogTruncateEnabled: true, auditLogTruncateMaxEventSize: 2000, auditLogTruncateMaxBatchSize: 2000 },
);

withAudit(
  "the format legacy is a summary a line",
  { rules: [...notItself, { level: "Metadata" }] },
  async (on) => {
    (await on.api.get("/api/v1/nodes")).expect(200);
    const line = readFileSync(on.path, "utf8").split("\n")[1];
    assert.match(
      line ?? "",
      /^\S+Z AUDIT: id="\S+" stage="ResponseComplete" ip="127\.0\.0\.1" method="list" user="admin" .* response="200"$/,
    );
  },
  { auditLogFormat: "legacy" },
);

withAudit(
  "a stop in batch mode waits until every event is written",
  { rules: [...notItself, { level: "Metadata", omitStages: ["RequestReceived"] }] },
  async (on) => {
    await Promise.all(Array.from({ length: 50 }, () => on.api.get("/api/v1/nodes")));
    assert.deepEqual(on.of("/api/v1/nodes"), [], "a batch waits to be full");
    await on.close();
    assert.equal(on.of("/api/v1/nodes").length, 50);
  },
  { auditLogMode: "batch", auditLogBatchMaxSize: 1000, auditLogBatchMaxWaitMs: 600_000 },
);

// The tests below are about errors that prevent a start.

test("a policy that cannot be used stops the start before anything is written, and is told by its path and rule", async () => {
  const kind = { apiVersion: policyVersion, kind: "Policy" };
  const bad: readonly (readonly [object, RegExp])[] = [
    [{ ...kind, rules: [] }, /policy\.json: rules: Required value/],
    [{ ...kind, rules: [{ level: "Metadata" }, { level: "Most" }] }, /rules\[1\]\.level: Unsupported value: "Most"/],
    [
      { ...kind, rules: [{ level: "None", nonResourceURLs: ["a"] }] },
      /rules\[0\]\.nonResourceURLs\[0\]: Invalid value/,
    ],
    [{ ...kind, rules: [{ level: "None", omitStage: ["Panic"] }] }, /unknown field "rules\[0\]\.omitStage"/],
    [{ ...kind, rules: [{ level: "None", users: "alice" }] }, /policy\.json: .*users/],
    [
      { apiVersion: "audit.k8s.io/v1beta1", kind: "Policy", rules: [{ level: "None" }] },
      /must be of kind Policy in audit\.k8s\.io\/v1/,
    ],
  ];
  for (const [policy, message] of bad) {
    const dataDir = join(temporaryFolder(), "data");
    const auditPolicyFile = file("policy.json", json(policy));
    const start = openServer("k8s.io", {
      storage: "disk",
      dataDir,
      auditPolicyFile,
      auditLogPath: join(dataDir, "a.log"),
    });
    await assert.rejects(start, (error) => error instanceof StartError && message.test(error.message), String(message));
    assert.ok(!existsSync(dataDir));
  }
});

test("missing files, and flags that contradict each other, stop the start", async () => {
  const auditPolicyFile = policyFile("k8s.io", everything);
  const bad: readonly (readonly [ServerSettings, RegExp])[] = [
    [{ auditPolicyFile: join(temporaryFolder(), "none") }, /none/],
    [{ auditPolicyFile, auditLogPath: temporaryFolder() }, /--audit-log-path: .* cannot be opened/],
    [{ auditPolicyFile, auditWebhookConfigFile: file("hook.yaml", "kind: Config") }, /hook\.yaml: /],
    [{ auditPolicyFile, auditWebhookBatchThrottleQps: 0 }, /--audit-webhook-batch-throttle-qps must be more than 0/],
    [
      { auditPolicyFile, auditLogTruncateEnabled: true, auditLogTruncateMaxBatchSize: 1 },
      /--audit-log-truncate-max-batch-size must not be less/,
    ],
  ];
  for (const [settings, message] of bad) {
    await assert.rejects(
      openServer("k8s.io", settings),
      (error) => error instanceof StartError && message.test(error.message),
      String(message),
    );
  }
});

test("nothing of the audit log is loaded by a server without a policy", () => {
  const root = resolve(import.meta.dirname, "../..");
  const seen = new Set<string>();
  const visit = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    const source = readFileSync(path, "utf8");
    // Imports of types only and imports by calls load nothing at the start.
    for (const [, names, target = ""] of source.matchAll(
      /^(?:import|export) ((?!type )[^;]*?) from "([#.][^"]+)";/gm,
    )) {
      const isTypes =
        /^\{[^}]*\}$/.test(names ?? "") &&
        (names ?? "")
          .slice(1, -1)
          .split(",")
          .every((name) => /^\s*(type |$)/.test(name));
      if (!isTypes) visit(target.startsWith("#") ? join(root, "src", target.slice(1)) : resolve(dirname(path), target));
    }
  };
  visit(join(root, "src/server/start-server.ts"));
  const loaded = [...seen].map((path) => relative(join(root, "src"), path));
  assert.ok(loaded.includes("http/chain.ts") && loaded.length > 100, `${loaded.length} files`);
  assert.deepEqual(
    loaded.filter((path) => /^audit\/|\/audit(?:-requests)?\.ts$/.test(path)),
    [],
  );
});

// The tests below are about a full log.

for (const [mode, code] of [
  ["blocking-strict", 500],
  ["blocking", 201],
  ["batch", 201],
] as const) {
  test(`when the log cannot be written, a request in the mode ${mode} is answered with ${code}`, async (t) => {
    if (!existsSync("/dev/full")) return t.skip("this system has no /dev/full");
    const policy = { rules: [{ level: "Metadata", users: ["alice"] }] };
    const on = await startAudited("k8s.io", policy, { auditLogPath: "/dev/full", auditLogMode: mode });
    try {
      const reviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
      const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
      const answer = (await on.api.post(reviews, review, { as: "alice" })).expect(code);
      if (code === 500) assert.equal(answer.text, `Internal Server Error: "${reviews}": failed to store audit event\n`);
      (await on.api.post(reviews, review, { as: "bob" })).expect(201);
      // Batches are written later than their requests.
      const text = await eventually(async () => {
        const metrics = await on.api.get("/metrics");
        assert.match(metrics.text, /^apiserver_audit_error_total\{plugin="log"\} [1-9]/m);
        return metrics.text;
      });
      if (code === 500) assert.match(text, /^apiserver_audit_requests_rejected_total 1$/m);
      const told = on.logged.filter((line) => line.includes("audit events are lost"));
      assert.equal(told.length, 1, "once in a while");
      assert.match(told[0]!, /ENOSPC/);
    } finally {
      await on.close();
    }
  });
}

// The tests below are about the webhook.

const hookAuthority = await fakeAuthority("audit hooks");

interface EventList {
  readonly kind: string;
  readonly apiVersion: string;
  readonly items: readonly Event[];
}

type Respond = (calls: number) => number | "silent" | "redirect";

async function openHook(t: TestContext, respond: Respond, authority = hookAuthority) {
  const { certificate, key } = await authority.issue({ usage: "server" });
  const lists: EventList[] = [];
  let calls = 0;
  const server = https.createServer({ cert: certificate, key }, (request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.once("end", () => {
      calls += 1;
      const answer = respond(calls);
      if (answer === "silent") return;
      if (answer === "redirect") return void response.writeHead(307, { location: "/other" }).end();
      if (answer === 200) lists.push(JSON.parse(Buffer.concat(pieces).toString()) as EventList);
      response.writeHead(answer).end();
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const data = Buffer.from(hookAuthority.certificate).toString("base64");
  const config = file(
    "hook.yaml",
    `apiVersion: v1
kind: Config
current-context: hook
clusters:
- name: hook
  cluster: {server: "https://127.0.0.1:${port}/events", certificate-authority-data: ${data}}
users:
- name: server
  user: {token: hook-secret}
contexts:
- name: hook
  context: {cluster: hook, user: server}
`,
  );
  const receivedEvents = (): Event[] => lists.flatMap(({ items }) => items);
  return { lists, received: receivedEvents, config, calls: () => calls };
}

const aliceOnly = { omitStages: ["RequestReceived"], rules: [{ level: "Metadata", users: ["alice"] }] };

for (const domain of domains) {
  test(`${domain}: events reach a webhook in batches, and all of them before the server has stopped`, async (t) => {
    const hook = await openHook(t, () => 200);
    const on = await startAudited(domain, aliceOnly, {
      auditWebhookConfigFile: hook.config,
      auditWebhookBatchMaxSize: 10,
      auditWebhookBatchMaxWaitMs: 600_000,
    });
    await Promise.all(Array.from({ length: 25 }, () => on.api.get("/api/v1/nodes", { as: "alice" })));
    await eventually(() => Promise.resolve(assert.equal(hook.received().length, 20)));
    assert.equal(hook.lists[0]?.kind, "EventList");
    assert.equal(hook.lists[0].apiVersion, on.api.name(policyVersion));
    assert.equal(hook.lists[0].items.length, 10);
    await on.close();
    assert.equal(hook.received().length, 25);
    const ids = new Set(hook.received().map(({ auditID }) => auditID));
    assert.equal(ids.size, 25);
    assert.deepEqual(ids, new Set(on.of("/api/v1/nodes").map(({ auditID }) => auditID)), "the file has them as well");
  });
}

test("a webhook that is down for a while hears of everything later, and no request waits for it", async (t) => {
  const hook = await openHook(t, (calls) => (calls <= 2 ? 503 : 200));
  await usingAudited(
    "k8s.io",
    aliceOnly,
    { auditWebhookConfigFile: hook.config, auditWebhookBatchMaxSize: 1 },
    async (on) => {
      const answer = await on.api.get("/api/v1/nodes", { as: "alice" });
      answer.expectFailure(403, "Forbidden");
      await eventually(() => {
        on.clock.advance(2000);
        return Promise.resolve(assert.equal(hook.received().length, 1));
      });
      assert.equal(hook.calls(), 3);
    },
  );
});

test("a webhook that is slow, false or sends elsewhere costs its events after some calls, which is told without credentials", async (t) => {
  const other = await fakeAuthority("audit hooks");
  // A webhook that answers gets time for its answer: the timeout of a call is 30 s on the same clock.
  for (const [respond, by, stepMs, reason] of [
    [() => "silent" as const, hookAuthority, 60_000, /no answer from/],
    [() => 404, hookAuthority, 2000, /the webhook answered 404/],
    [() => "redirect" as const, hookAuthority, 2000, /the webhook answered 307/],
    [() => 200, other, 2000, /SELF_SIGNED|UNABLE_TO|signature/],
  ] as const) {
    const hook = await openHook(t, respond, by);
    await usingAudited(
      "k8s.io",
      aliceOnly,
      { auditWebhookConfigFile: hook.config, auditWebhookBatchMaxSize: 1 },
      async (on) => {
        (await on.api.get("/api/v1/nodes", { as: "alice" })).expectFailure(403, "Forbidden");
        await eventually(() => {
          on.clock.advance(stepMs);
          return Promise.resolve(
            assert.ok(
              on.logged.some((line) => line.includes("audit events are lost") && reason.test(line)),
              String(reason),
            ),
          );
        });
        assert.ok(hook.calls() <= 5);
        assert.deepEqual(hook.received(), []);
        assert.ok(!on.logged.some((line) => line.includes("hook-secret")));
        const { text } = await on.api.get("/metrics");
        assert.match(text, /^apiserver_audit_error_total\{plugin="webhook"\} 1$/m);
      },
    );
  }
});

test("a stop does not wait for ever for a webhook that does not answer", async (t) => {
  const hook = await openHook(t, () => "silent");
  const on = await startAudited("k8s.io", aliceOnly, {
    auditWebhookConfigFile: hook.config,
    auditWebhookBatchMaxSize: 1,
  });
  for (let i = 0; i < 3; i++) await on.api.get("/api/v1/nodes", { as: "alice" });
  let stopped = false;
  const stop = on.close().then(() => (stopped = true));
  await eventually(() => {
    on.clock.advance(10_000);
    return Promise.resolve(assert.ok(stopped));
  });
  await stop;
  const told = on.logged.filter((line) => line.includes("audit events are lost"));
  const counts = told.map((line) => (JSON.parse(line) as { readonly events: number }).events);
  assert.equal(
    counts.reduce((sum, count) => sum + count, 0),
    3,
    "each of them is told",
  );
});

test("in blocking mode a request waits until the webhook took its event", async (t) => {
  const hook = await openHook(t, () => 200);
  await usingAudited(
    "k8s.io",
    aliceOnly,
    { auditWebhookConfigFile: hook.config, auditWebhookMode: "blocking" },
    async (on) => {
      await on.api.get("/api/v1/nodes", { as: "alice" });
      assert.equal(hook.received().length, 1);
    },
  );
});
