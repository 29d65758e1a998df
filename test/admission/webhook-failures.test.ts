/** Admission webhooks with every kind of fault: bounded time, clear answers, no effect on other requests. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type Api, eventually, file, type Observed, startObserved } from "../harness.ts";
import { configMap } from "../objects.ts";
import { type WebhookAnswer, WebhookServer } from "../webhook-server.ts";
import type { ServerSettings } from "#server/options.ts";

const server = await WebhookServer.open(["hook.default.svc"]);
after(() => server.close());

const configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const mutatingConfigurations = configurations.replace("validating", "mutating");
const maps = "/api/v1/namespaces/default/configmaps";
const rules = [{ apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["configmaps"] }];

/** The file of audit events. */
const auditLog = file("audit.log", "");

function auditSettings(): ServerSettings {
  const rule = { level: "Request", users: ["admin"], verbs: ["create"] };
  const policy = { apiVersion: "audit.k8s.io/v1", kind: "Policy", omitStages: ["RequestReceived"], rules: [rule] };
  return { auditPolicyFile: file("policy.json", JSON.stringify(policy)), auditLogPath: auditLog };
}

function serviceSettings(): ServerSettings {
  const kubeConfigFile = file(
    "webhooks.kubeconfig",
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      users: [{ name: "*.default.svc:8443", user: { token: "shown-to-the-service" } }],
    }),
  );
  const configuration = {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "WebhookAdmissionConfiguration",
    kubeConfigFile,
  };
  const config = {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AdmissionConfiguration",
    plugins: [{ name: "ValidatingAdmissionWebhook", configuration }],
  };
  return {
    admissionControlConfigFile: file("admission.json", JSON.stringify(config)),
    serviceAddress: [`default/hook:8443=127.0.0.1:${server.port}`],
  };
}

interface Hooked extends Observed {
  /** Registers a webhook at its own path, `/<name>`. */
  hook(name: string, answer?: WebhookAnswer, more?: object, path?: string): Promise<void>;
}

function testWithHook(name: string, settings: ServerSettings, run: (on: Hooked) => Promise<void>): void {
  test(name, async () => {
    const server_ = await startObserved("k8s.io", settings);
    const { api } = server_;
    try {
      await run({
        ...server_,
        async hook(id, answer, more = {}, path = configurations) {
          const webhook = {
            name: `${id}.hooks.example.com`,
            clientConfig: await server.at(`/${id}`, answer),
            rules,
            // Controllers write to other namespaces.
            namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "default" } },
            sideEffects: "None",
            admissionReviewVersions: ["v1"],
            ...more,
          };
          const kind = path === configurations ? "ValidatingWebhookConfiguration" : "MutatingWebhookConfiguration";
          const body = {
            apiVersion: "admissionregistration.k8s.io/v1",
            kind,
            metadata: { name: id },
            webhooks: [webhook],
          };
          (await api.post(path, body)).expect(201);
        },
      });
    } finally {
      await server_.close();
    }
  });
}

const create = (api: Api) => api.post(maps, configMap(api.unique(), { a: "1" }));

/** Waits until `count` calls have arrived at a path. */
const expectRequests = (path: string, count = 1): Promise<void> =>
  eventually(() =>
    Promise.resolve(assert.equal(server.received.filter((one) => one.path === path).length, count, path)),
  );

testWithHook(
  "garbage, errors, another uid, redirects and endless answers are refusals of the server",
  {},
  async (on) => {
    const { api, hook } = on;
    const failing = 'Internal error occurred: failed calling webhook "bad.hooks.example.com": ';
    await hook("bad");
    await hook("good", {}, { rules: [{ ...rules[0], resources: ["secrets"] }] });
    for (const [answer, message] of [
      [{ body: "hello" }, "failed to call webhook: the answer of the webhook is no JSON object"],
      [
        { body: "" },
        "failed to call webhook: 0-length response with status code: 200 and content type: application/json",
      ],
      [{ body: "{}" }, "received invalid webhook response: webhook response was absent"],
      [{ body: "[".repeat(100_000) }, "failed to call webhook: the answer of the webhook is no JSON object"],
      [
        { response: { uid: "other" } },
        /received invalid webhook response: expected response\.uid="[0-9a-f-]{36}", got "other"$/,
      ],
      [{ response: { allowed: "yes" } }, /failed to call webhook: json: cannot unmarshal string into Go struct field /],
      [
        { code: 500, body: "boom", headers: { "content-type": "text/plain" } },
        'failed to call webhook: an error on the server ("boom") has prevented the request from succeeding',
      ],
      [{ code: 404, body: "" }, "failed to call webhook: the server could not find the requested resource"],
      [
        { code: 307, headers: { location: `https://127.0.0.1:${server.port}/good` } },
        /failed to call webhook: the server responded with the status code 307 /,
      ],
      [{ warningBytes: 10_000_000 }, /failed to call webhook: Post "[^"]*": the answer is longer than 8388608 bytes$/],
    ] as const) {
      await server.at("/bad", answer);
      const answered = (await create(api)).expect(500);
      const text = answered.string("message");
      assert.ok(text.startsWith(failing), text);
      if (typeof message === "string") assert.equal(text, failing + message);
      else assert.match(text, message);
    }
    assert.deepEqual(server.take("/good"), [], "no redirect was followed");
  },
);

testWithHook(
  "a patch of a hundred thousand operations is refused, and so is what is none",
  {},
  async ({ api, hook }) => {
    const patch = [{ op: "add", path: "/data/x", value: "y" }];
    await hook("patch", { patch, patchTimes: 100_000 }, {}, mutatingConfigurations);
    (await create(api)).expectFailure(500, "InternalError", /maximum operations in a JSON patch is 10000, got 100000$/);
    await server.at("/patch", { response: { patchType: "JSONPatch", patch: "***" } });
    (await create(api)).expectFailure(
      500,
      "InternalError",
      /failed to call webhook: illegal base64 data at input byte 0$/,
    );
    const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
    const text = `[{"op":"add","path":"/metadata/annotations","value":${deep}}]`;
    await server.at("/patch", { response: { patchType: "JSONPatch", patch: Buffer.from(text).toString("base64") } });
    assert.ok((await create(api)).status >= 400);
    (await api.get("/readyz")).expect(200);
  },
);

testWithHook("a webhook that hangs refuses after its time, and others are served meanwhile", {}, async (on) => {
  const { api, clock, hook } = on;
  await hook("hang", { hangs: true }, { timeoutSeconds: 7 });
  const waiting = create(api);
  await expectRequests("/hang");
  (await api.post(maps.replace("configmaps", "secrets"), { metadata: { name: api.unique() } })).expect(201);
  clock.advance(7_000);
  (await waiting).expectFailure(
    500,
    "InternalError",
    /failed to call webhook: Post "[^"]*\?timeout=7s": context deadline exceed/,
  );
});

testWithHook(
  "where its failure is ignored, a webhook that hangs costs its time once",
  {},
  async ({ api, clock, hook }) => {
    await hook("dead", { hangs: true }, { timeoutSeconds: 7, failurePolicy: "Ignore" });
    const waiting = create(api);
    await expectRequests("/dead");
    clock.advance(7_000);
    (await waiting).expect(201);
    assert.equal(server.take("/dead").length, 1);
    for (let i = 0; i < 5; i++) (await create(api)).expect(201);
    assert.equal(server.take("/dead").length, 0);
    const ready = (await api.get("/readyz?verbose")).expect(200).text;
    assert.match(ready, /^\[\+\]admission-webhooks ok: 1 without answers left alone for a while$/m);
    const metrics = (await api.get("/metrics")).text;
    assert.match(
      metrics,
      /^binnacle_admission_webhook_circuit_open\{name="dead\.hooks\.example\.com",type="validating"\} 1$/m,
    );
    assert.match(metrics, /^binnacle_admission_webhook_skipped_total\{[^}]*\} 5$/m);
    assert.match(metrics, /^apiserver_admission_webhook_fail_open_count\{[^}]*\} 6$/m);
    await server.at("/dead", {});
    clock.advance(10_000);
    (await create(api)).expect(201);
    (await create(api)).expect(201);
    assert.equal(server.take("/dead").length, 2);
    assert.match((await api.get("/readyz?verbose")).text, /^\[\+\]admission-webhooks ok$/m);
  },
);

testWithHook(
  "without the circuit breaker it costs its time at every request",
  { webhookCircuitBreaker: false },
  async (on) => {
    const { api, clock, hook } = on;
    await hook("slow", { hangs: true }, { timeoutSeconds: 7, failurePolicy: "Ignore" });
    for (const count of [1, 2]) {
      const waiting = create(api);
      await expectRequests("/slow", count);
      clock.advance(7_000);
      (await waiting).expect(201);
    }
    assert.equal(server.take("/slow").length, 2);
  },
);

testWithHook(
  "webhooks that hang one after the other have a time together",
  { admissionTimeoutMs: 10_000 },
  async (on) => {
    const { api, clock, hook } = on;
    const more = { timeoutSeconds: 7, failurePolicy: "Ignore" };
    for (const id of ["one", "two", "three"]) await hook(id, { hangs: true }, more, mutatingConfigurations);
    await hook("last", {}, { failurePolicy: "Ignore" });
    const waiting = create(api);
    await expectRequests("/one");
    clock.advance(7_000);
    await expectRequests("/three");
    clock.advance(3_000);
    (await waiting).expect(201);
    const counts = ["one", "three", "two", "last"].map((id) => server.take(`/${id}`).length);
    assert.deepEqual(counts, [1, 1, 0, 0]);
  },
);

testWithHook(
  "it costs that time once where all have less time than it asks for",
  { admissionTimeoutMs: 4_000 },
  async (on) => {
    const { api, clock, hook } = on;
    await hook("long", { hangs: true }, { timeoutSeconds: 30, failurePolicy: "Ignore" });
    const waiting = create(api);
    await expectRequests("/long");
    clock.advance(4_000);
    (await waiting).expect(201);
    const next = create(api);
    const answered = await Promise.race([next, expectRequests("/long", 2)]);
    clock.advance(4_000);
    await next;
    assert.ok(answered !== undefined, "the next request did not wait");
    assert.equal(server.take("/long").length, 1);
  },
);

testWithHook("a request that ends while it waits for a webhook writes nothing", {}, async ({ api, clock, hook }) => {
  await hook("lazy", { hangs: true }, { timeoutSeconds: 30, failurePolicy: "Ignore" });
  const name = api.unique();
  const waiting = api.post(`${maps}?timeout=2s`, configMap(name));
  await expectRequests("/lazy");
  clock.advance(2_500);
  assert.equal((await waiting).status, 504);
  (await api.get(`${maps}/${name}`)).expect(404);
  server.take("/lazy");
});

testWithHook("a failure that is ignored is in the audit log, and so are patches", auditSettings(), async (on) => {
  const { api, hook } = on;
  await hook("annotated", { response: { auditAnnotations: { why: "so", "not ok!": "x" } } });
  await hook("broken", { code: 500, body: "" }, { failurePolicy: "Ignore" });
  await hook("set", { patch: [{ op: "add", path: "/data/x", value: "y" }] }, {}, mutatingConfigurations);
  (await api.post(maps, configMap("audited", { a: "1" }))).expect(201);
  await on.close();
  const { readFileSync } = await import("node:fs");
  const lines = readFileSync(auditLog, "utf8").trim().split("\n");
  const events = lines.map(
    (line) => JSON.parse(line) as { readonly requestURI: string; readonly annotations: Record<string, string> },
  );
  const { annotations } = events.find(({ requestURI }) => requestURI === maps)!;
  assert.equal(annotations["annotated.hooks.example.com/why"], "so");
  assert.equal(
    annotations["failed-open.validating.webhook.admission.k8s.io/round_0_index_1"],
    "broken.hooks.example.com",
  );
  const about = { configuration: "set", webhook: "set.hooks.example.com" };
  assert.deepEqual(JSON.parse(annotations["mutation.webhook.admission.k8s.io/round_0_index_0"]!), {
    ...about,
    mutated: true,
  });
  assert.deepEqual(JSON.parse(annotations["patch.webhook.admission.k8s.io/round_0_index_0"]!), {
    ...about,
    patch: [{ op: "add", path: "/data/x", value: "y" }],
    patchType: "JSONPatch",
  });
});

testWithHook(
  "a service is reached where the flag says, under its name, with the credentials for it",
  serviceSettings(),
  async (on) => {
    const { api, hook } = on;
    const service = { namespace: "default", name: "hook", path: "/named", port: 8443 };
    await server.at("/named", {});
    await hook("named", {}, { clientConfig: { service, caBundle: server.caBundle } });
    (await create(api)).expect(201);
    const [{ host, authorization } = { host: "", authorization: "" }] = server.take("/named");
    assert.deepEqual([host, authorization], ["hook.default.svc:8443", "Bearer shown-to-the-service"]);
    await api.delete(`${configurations}/named`);
    await hook("missing", {}, { clientConfig: { service: { ...service, name: "none" }, caBundle: server.caBundle } });
    (await create(api)).expectFailure(
      500,
      "InternalError",
      /https:\/\/none\.default\.svc:8443\/named\?timeout=10s": service "none" not found$/,
    );
  },
);

testWithHook("a webhook is believed only with a certificate of the given authority", {}, async ({ api, hook }) => {
  const other = await WebhookServer.open();
  await other.close();
  const { url } = await server.at("/strange");
  await hook("strange", {}, { clientConfig: { url, caBundle: other.caBundle } });
  (await create(api)).expectFailure(
    500,
    "InternalError",
    /x509: certificate signed by unknown authority \(possibly because of /,
  );
  const { text: metrics } = (await api.get("/metrics")).expect(200);
  assert.match(
    metrics,
    /^binnacle_admission_webhook_failures_total\{name="[^"]+",problem="unknown_authority",type="validating"\} \d+$/m,
  );
  await api.delete(`${configurations}/strange`);
  await hook("nonsense", {}, { clientConfig: { url, caBundle: Buffer.from("nonsense").toString("base64") } });
  (await create(api)).expectFailure(500, "InternalError", /unable to parse bytes as PEM block$/);
  (await api.get("/readyz")).expect(200);
  assert.deepEqual(server.take("/strange"), []);
});
