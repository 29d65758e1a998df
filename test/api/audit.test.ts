/**
 * The audit log from outside: what a policy records of requests, in a file and by a webhook over TLS with a private
 * authority; what happens when these are full, down, slow, false or send the server elsewhere.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { ServerSettings } from "#server/options.ts";
import { openLog } from "#std/log.ts";
import { Api, type Domain, domains, eventually, gated, openServer, temporaryFolder, renamer } from "../harness.ts";

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
}

const policyVersion = "audit.k8s.io/v1";
const json = JSON.stringify;

function file(name: string, text: string): string {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, text);
  return path;
}

function policyFile(domain: Domain, policy: object): string {
  return file("policy.json", renamer(domain)(json({ apiVersion: policyVersion, kind: "Policy", ...policy })));
}

/** Requests of the server's own controllers are not what these tests are about. */
const notItself = { level: "None", users: ["system:apiserver"] };

interface Audited {
  readonly api: Api;
  readonly path: string;
  readonly logged: string[];
  /** Events of requests to a path, in order; kept once the request is answered. */
  of(part: string): Event[];
  close(): Promise<void>;
}

async function audited(domain: Domain, policy: object, settings: ServerSettings = {}): Promise<Audited> {
  const path = join(temporaryFolder(), "logs", "audit.log");
  const logged: string[] = [];
  const log = openLog({ format: "json", verbosity: 6, write: (line) => logged.push(line) });
  const server = await openServer(
    domain,
    { ...gated, auditPolicyFile: policyFile(domain, policy), auditLogPath: path, ...settings },
    { log },
  );
  const api = new Api(server);
  return {
    api,
    path,
    logged,
    of: (part) => events(path).filter(({ requestURI }) => requestURI.includes(api.name(part))),
    async close() {
      api.close();
      await server.close();
    },
  };
}

function events(path: string): Event[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Event);
}

/** One test per domain, with a server of its own. */
function withAudit(
  name: string,
  policy: object,
  run: (on: Audited, t: TestContext) => Promise<void>,
  settings: ServerSettings = {},
): void {
  for (const domain of domains) {
    test(`${domain}: ${name}`, async (t) => {
      const on = await audited(domain, policy, settings);
      try {
        await run(on, t);
      } finally {
        await on.close();
      }
    });
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
    notItself,
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
  const { configMaps, secrets } = await api.place();
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
  { omitManagedFields: true, rules: [notItself, { level: "RequestResponse" }] },
  async (on) => {
    const { configMaps } = await on.api.place();
    (await on.api.post(configMaps, configMap("a"))).expect(201);
    (await on.api.get(configMaps)).expect(200);
    const recorded = on.of(configMaps).filter(({ responseObject }) => responseObject !== undefined);
    assert.equal(recorded.length, 2);
    assert.equal(recorded[1]?.responseObject?.items?.length, 1);
    assert.doesNotMatch(json(recorded), /managedFields/);
  },
);

withAudit(
  "who is refused is recorded, with the reason that clients do not hear, and with no credential",
  { rules: [notItself, { level: "RequestResponse" }] },
  async (on) => {
    const { api } = on;
    const { configMaps } = await api.place();
    (await api.get(`${configMaps}/none`, { as: "alice" })).refused(403, "Forbidden");
    const refused = on.of(`${configMaps}/none`).at(-1);
    assert.equal(refused?.user.username, "alice");
    assert.equal(refused.responseStatus?.code, 403);
    assert.equal(refused.responseStatus["reason"], "Forbidden");
    assert.equal(refused.responseObject?.kind, "Status");
    assert.equal(refused.annotations?.[api.name("authorization.k8s.io/decision")], "forbid");
    assert.notEqual(refused.annotations[api.name("authorization.k8s.io/reason")], "");

    (
      await api.get(`${configMaps}/none?access_token=abcsecret`, { headers: { authorization: "Bearer wrong-secret" } })
    ).refused(401, "Unauthorized");
    const unknown = on.of(`${configMaps}/none?access_token`);
    assert.equal(unknown.length, 1);
    assert.equal(unknown[0]?.stage, "ResponseStarted");
    assert.deepEqual(unknown[0]?.user, {});
    assert.equal(unknown[0]?.responseStatus?.code, 401);
    assert.equal(unknown[0]?.responseStatus?.["message"], "Authentication failed, attempted: bearer, access_token");
    assert.doesNotMatch(readFileSync(on.path, "utf8"), /secret|admin-token|alice-token/);

    (await api.get(`${configMaps}/missing`)).refused(404, "NotFound");
    const missing = on.of(`${configMaps}/missing`).at(-1);
    assert.equal(missing?.responseStatus?.code, 404);
    assert.equal(missing.responseStatus["reason"], "NotFound");
  },
);

withAudit(
  "both the user and whom they act as are recorded; headers of proxies add to the addresses, not replace them",
  { rules: [notItself, { level: "Metadata" }] },
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
  "a watch is recorded when it starts and when it ends",
  { rules: [notItself, { level: "Metadata" }] },
  async (on) => {
    const { configMaps } = await on.api.place();
    (await on.api.get(`${configMaps}?watch=true&timeoutSeconds=1`)).expect(200);
    // The end of a stream waits for no log.
    await eventually(() => {
      const stages = on.of(`${configMaps}?watch`).map(({ stage }) => stage);
      assert.deepEqual(stages, ["RequestReceived", "ResponseStarted", "ResponseComplete"]);
      return Promise.resolve();
    });
  },
);

withAudit(
  "a request to a deprecated endpoint says so in its event [EVENT-09]",
  { rules: [notItself, { level: "Metadata" }] },
  async (on) => {
    (await on.api.get("/api/v1/componentstatuses")).expect(200);
    assert.equal(on.of("/api/v1/componentstatuses").at(-1)?.annotations?.[on.api.name("k8s.io/deprecated")], "true");
  },
);

withAudit(
  "what is deleted by options, and reviews, are recorded by their level",
  { rules: [notItself, { level: "RequestResponse", omitStages: ["RequestReceived"] }] },
  async (on) => {
    const { configMaps } = await on.api.place();
    (await on.api.post(configMaps, configMap("a"))).expect(201);
    const options = { apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: 0 };
    (await on.api.delete(`${configMaps}/a`, options)).expect(200);
    const deleted = on.of(`${configMaps}/a`).at(-1);
    assert.equal(deleted?.requestObject?.kind, "DeleteOptions");
    assert.equal(deleted.responseStatus?.["status"], "Success");
    assert.equal(deleted.responseStatus.code, 200);
    const reviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    (await on.api.post(reviews, { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" })).expect(201);
    assert.equal(on.of(reviews).at(-1)?.responseObject?.kind, "SelfSubjectReview");
  },
);
