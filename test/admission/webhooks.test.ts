/** Admission webhooks in another process: their requests, their answers, and the results for clients. */
import assert from "node:assert/strict";
import { after } from "node:test";
import { patchTypes } from "../client.ts";
import { type Api, suite } from "../harness.ts";
import { absent } from "../view.ts";
import { configMap, pod } from "../objects.ts";
import { type Received, type WebhookAnswer, WebhookServer } from "../webhook-server.ts";

const server = await WebhookServer.open(["hook.default.svc"]);
after(() => server.close());

const configurations = "/apis/admissionregistration.k8s.io/v1";
const kinds = {
  mutating: { kind: "MutatingWebhookConfiguration", path: `${configurations}/mutatingwebhookconfigurations` },
  validating: { kind: "ValidatingWebhookConfiguration", path: `${configurations}/validatingwebhookconfigurations` },
} as const;

const configMaps = { apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["configmaps"] };

interface Placed {
  readonly api: Api;
  readonly ns: string;
  readonly maps: string;
  /** Registers a webhook for this namespace only. Returns the path at which it is called. */
  hook(phase: keyof typeof kinds, answer?: WebhookAnswer, more?: object): Promise<string>;
}

const inBothDomains = suite();

/** Registers a test in a namespace of its own, and removes its webhooks afterwards. */
function testWithHook(name: string, run: (on: Placed) => Promise<void>): void {
  inBothDomains(name, async (api) => {
    const { ns } = await api.createNamespace();
    const lines: string[] = [];
    try {
      await run({
        api,
        ns,
        maps: `/api/v1/namespaces/${ns}/configmaps`,
        async hook(phase, answer, more = {}) {
          const id = api.unique("hook");
          const { kind, path } = kinds[phase];
          const clientConfig = await server.at(`/${id}`, answer);
          const webhook = {
            name: `${id}.example.com`,
            clientConfig,
            rules: [configMaps],
            namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": ns } },
            sideEffects: "None",
            admissionReviewVersions: ["v1"],
            ...more,
          };
          const body = {
            apiVersion: "admissionregistration.k8s.io/v1",
            kind,
            metadata: { name: id },
            webhooks: [webhook],
          };
          (await api.post(path, body)).expect(201);
          lines.push(`${path}/${id}`);
          return `/${id}`;
        },
      });
    } finally {
      for (const path of lines) await api.delete(path);
    }
  });
}

const operations = (received: readonly Received[]): unknown[] =>
  received.map(({ review }) => review.request["operation"]);

testWithHook("the server's own time of a request is that without webhooks", async ({ api, maps, hook }) => {
  const hooks = [await hook("mutating"), await hook("validating"), await hook("validating")];
  const labels = 'verb="POST",.*resource="configmaps",subresource="",scope="resource"';
  const figures = async (): Promise<{ readonly others: number; readonly asked: readonly number[] }> => {
    const { text } = (await api.get("/metrics")).expect(200);
    const sum = (name: string, of: string): number =>
      Number(new RegExp(`^${name}_sum\\{.*${of}.*\\} (.*)$`, "m").exec(text)?.[1] ?? "0");
    const own = sum("apiserver_request_sli_duration_seconds", labels);
    return {
      others: sum("apiserver_request_duration_seconds", 'verb="POST",dry_run="",.*resource="configmaps"') - own,
      asked: hooks.map((id) => sum("apiserver_admission_webhook_admission_duration_seconds", id.slice(1))),
    };
  };
  const before = await figures();
  (await api.post(maps, { metadata: { name: "a" } })).expect(201);
  const { others, asked } = await figures();
  const [first = 0, ...sameTime] = asked;
  assert.ok(first > 0 && Math.min(...sameTime) > 0);
  assert.ok(others - before.others >= first + Math.max(...sameTime) - 1e-6);
});

testWithHook(
  "a webhook is asked about writes that its rules name, with the object, the old one and the options",
  async (on) => {
    const { api, ns, maps, hook } = on;
    const path = await hook("validating");
    (await api.post(`${maps}?fieldManager=me`, configMap("a", { k: "1" }))).expect(201);
    (await api.patch(`${maps}/a?fieldValidation=Strict`, { data: { k: "2" } })).expect(200);
    (await api.delete(`${maps}/a?propagationPolicy=Background`)).expect(200);
    (await api.post(`/api/v1/namespaces/${ns}/secrets`, { metadata: { name: "s" } })).expect(201);
    const [create, update, remove, ...more] = server.take(path);
    assert.deepEqual(more, []);
    const { request, kind, apiVersion } = create!.review;
    assert.deepEqual([kind, apiVersion], ["AdmissionReview", api.name("admission.k8s.io/v1")]);
    const { uid, object, ...rest } = request;
    assert.match(uid, /^[0-9a-f-]{36}$/);
    assert.equal((object as { readonly metadata: { readonly name: string } }).metadata.name, "a");
    const resource = { group: "", version: "v1", resource: "configmaps" };
    const gvk = { group: "", version: "v1", kind: "ConfigMap" };
    assert.deepEqual(rest, {
      kind: gvk,
      resource,
      requestKind: gvk,
      requestResource: resource,
      name: "a",
      namespace: ns,
      operation: "CREATE",
      userInfo: { username: "admin", uid: "admin-uid", groups: ["system:masters", "system:authenticated"] },
      oldObject: null,
      dryRun: false,
      options: { kind: "CreateOptions", apiVersion: api.name("meta.k8s.io/v1"), fieldManager: "me" },
    });
    assert.equal(create!.query, "timeout=10s");
    const data = (one: unknown): unknown => (one as { readonly data: unknown } | null)?.data;
    const summarize = ({ review }: Received) => [
      review.request["operation"],
      data(review.request["object"]),
      data(review.request["oldObject"]),
      review.request["options"],
    ];
    assert.deepEqual(summarize(update!), [
      "UPDATE",
      { k: "2" },
      { k: "1" },
      { kind: "UpdateOptions", apiVersion: api.name("meta.k8s.io/v1"), fieldValidation: "Strict" },
    ]);
    assert.deepEqual(summarize(remove!), [
      "DELETE",
      undefined,
      { k: "2" },
      { kind: "DeleteOptions", apiVersion: api.name("meta.k8s.io/v1"), propagationPolicy: "Background" },
    ]);
  },
);

testWithHook("a refusal has the code, the reason and the message of the webhook", async ({ api, maps, hook }) => {
  const path = await hook("validating", { response: { allowed: false } });
  const denied = `admission webhook "${path.slice(1)}.example.com" denied the request`;
  const warnWith = async (response: object): Promise<unknown[]> => {
    await server.at(path, { response: { allowed: false, ...response } });
    const answer = await api.post(maps, configMap("a"));
    return [answer.status, answer.at("reason"), answer.at("message")];
  };
  assert.deepEqual(await warnWith({}), [400, undefined, `${denied} without explanation`]);
  assert.deepEqual(await warnWith({ status: { message: "no" } }), [400, undefined, `${denied}: no`]);
  assert.deepEqual(await warnWith({ status: { reason: "Because" } }), [400, "Because", `${denied}: Because`]);
  assert.deepEqual(await warnWith({ status: { code: 409, reason: "Conflict", message: "no" } }), [
    409,
    "Conflict",
    `${denied}: no`,
  ]);
  assert.deepEqual(await warnWith({ status: { code: 200, message: "no" } }), [400, undefined, `${denied}: no`]);
  assert.deepEqual(await warnWith({ status: { code: 99_999, message: "no" } }), [400, undefined, `${denied}: no`]);
  (await api.get(`${maps}/a`)).expect(404);
});

testWithHook("warnings reach the client, of refusals too", async ({ api, maps, hook }) => {
  const path = await hook("validating", { response: { warnings: ["mind this", "", "a\nb"] } });
  const passed = (await api.post(maps, configMap("a"))).expect(201);
  assert.deepEqual(passed.warnings, ["mind this"]);
  await server.at(path, { response: { allowed: false, warnings: ["see why"] } });
  const answer = (await api.post(maps, configMap("b"))).expect(400);
  assert.deepEqual(answer.warnings, ["see why"]);
});

testWithHook("a mutating webhook changes the object; validating ones see the result", async ({ api, maps, hook }) => {
  const validating = await hook("validating");
  await hook("mutating", {
    patch: [
      { op: "add", path: "/metadata/labels", value: { set: "here" } },
      { op: "add", path: "/data/b", value: "2" },
      { op: "add", path: "/unknown", value: 1 },
    ],
  });
  (await api.post(maps, configMap("a", { a: "1" }))).expect(201, {
    data: { a: "1", b: "2" },
    "metadata.labels": { set: "here" },
    unknown: absent,
  });
  const [seen] = server.take(validating);
  assert.deepEqual((seen!.review.request["object"] as Record<string, unknown>)["data"], { a: "1", b: "2" });
  const applied = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { a: "3" } };
  const next = await api.patch(`${maps}/a?fieldManager=x&force=true`, applied, patchTypes.apply);
  next.expect(200, { data: { a: "3", b: "2" } });
});

testWithHook("an update that a webhook completes to what is stored changes nothing", async ({ api, maps, hook }) => {
  await hook("mutating", { patch: [{ op: "add", path: "/data/b", value: "2" }] });
  const version = async (answer: ReturnType<Api["put"]>): Promise<string> =>
    (await answer).expect(200).string("metadata.resourceVersion");
  (await api.post(maps, configMap("a", { a: "1" }))).expect(201);
  const first = await version(api.put(`${maps}/a`, configMap("a", { a: "1" })));
  assert.equal(await version(api.put(`${maps}/a`, configMap("a", { a: "1" }))), first);
});

testWithHook("defaults are filled in after a patch, and what does not fit is an error of the server", async (on) => {
  const { api, ns, maps, hook } = on;
  const rules = [{ ...configMaps, resources: ["configmaps", "services"] }];
  const path = await hook("mutating", { patch: [{ op: "remove", path: "/spec/type" }] }, { rules });
  const service = { metadata: { name: "s" }, spec: { ports: [{ port: 80 }] } };
  (await api.post(`/api/v1/namespaces/${ns}/services`, service)).expect(201, { "spec.type": "ClusterIP" });
  for (const [patch, message] of [
    [[{ op: "replace", path: "/data", value: 5 }], /^Internal error occurred: json: cannot unmarshal number into Go /],
    [[{ op: "remove", path: "/data/none" }], /^Internal error occurred: /],
    [[{ op: "replace", path: "/kind", value: "Secret" }], /^Internal error occurred: /],
  ] as const) {
    await server.at(path, { patch });
    (await api.post(maps, configMap("a", { secret: "x" }))).expectFailure(500, "InternalError", message);
  }
  await server.at(path, { patch: [{ op: "replace", path: "/metadata/namespace", value: "other" }] });
  (await api.post(maps, configMap("a"))).expectFailure(
    400,
    "BadRequest",
    /namespace of the provided object does not match/,
  );
});

testWithHook(
  "a webhook that asks for it is called again after a later change, and no other",
  async ({ api, maps, hook }) => {
    const again = await hook("mutating", {}, { reinvocationPolicy: "IfNeeded" });
    const never = await hook("mutating");
    const changing = { patch: [{ op: "add", path: "/data/z", value: "1" }] };
    const last = await hook("mutating", changing, { reinvocationPolicy: "IfNeeded" });
    const inOrder = [again, never, last].toSorted();
    (await api.post(maps, configMap("a", { a: "1" }))).expect(201);
    const counts = Object.fromEntries(inOrder.map((path) => [path, server.take(path).length]));
    assert.equal(counts[never], 1);
    assert.equal(counts[again], again < last ? 2 : 1);
    assert.equal(counts[last], 1);
  },
);

testWithHook("a validating webhook may not change the object", async ({ api, maps, hook }) => {
  await hook("validating", { patch: [{ op: "add", path: "/data/x", value: "y" }] });
  (await api.post(maps, configMap("a"))).expectFailure(
    500,
    "InternalError",
    /received invalid webhook response: validating webhook may not return response\.patch$/,
  );
});

testWithHook("a deletion cannot be changed", async ({ api, maps, hook }) => {
  const rules = [{ ...configMaps, operations: ["DELETE"] }];
  const path = await hook("mutating", { patch: [{ op: "add", path: "/data/x", value: "y" }] }, { rules });
  (await api.post(maps, configMap("a"))).expect(201);
  (await api.delete(`${maps}/a`)).expectFailure(
    500,
    "InternalError",
    /attempted to modify the object, which is not supported/,
  );
  await server.at(path, { response: { patchType: "JSONPatch", patch: "W10=" } });
  (await api.delete(`${maps}/a`)).expect(200);
});

testWithHook("the deletion of a collection asks for each object", async ({ api, maps, hook }) => {
  for (const name of ["a", "b"]) (await api.post(maps, configMap(name))).expect(201);
  const path = await hook("validating", {}, { rules: [{ ...configMaps, operations: ["DELETE"] }] });
  (await api.delete(maps)).expect(200);
  const questions = server
    .take(path)
    .map(({ review }) => [
      review.request["name"],
      (review.request["oldObject"] as { readonly metadata: { readonly name: string } }).metadata.name,
    ]);
  assert.deepEqual(questions.toSorted(), [
    [undefined, "a"],
    [undefined, "b"],
  ]);
});

testWithHook("subresources are asked about with the kind of their bodies", async ({ api, ns, hook }) => {
  const rules = [{ ...configMaps, resources: ["pods/*"] }];
  const path = await hook("validating", {}, { rules });
  const pods = `/api/v1/namespaces/${ns}/pods`;
  (await api.post(pods, pod("p"))).expect(201);
  (await api.patch(`${pods}/p/status`, { status: { phase: "Running" } })).expect(200);
  const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "p" } };
  (await api.post(`${pods}/p/eviction`, eviction)).expect(201);
  const questions = server
    .take(path)
    .map(({ review: { request } }) => [
      request["operation"],
      request["subResource"],
      (request["kind"] as { readonly kind: string }).kind,
    ]);
  assert.deepEqual(questions, [
    ["CREATE", undefined, "Pod"],
    ["UPDATE", "status", "Pod"],
    ["CREATE", "eviction", "Eviction"],
  ]);
});

testWithHook(
  "with Equivalent a webhook sees the version that it asked for, with Exact nothing",
  async ({ api, ns, hook }) => {
    const rules = [{ ...configMaps, apiGroups: ["autoscaling"], apiVersions: ["v1"], resources: ["*"] }];
    const path = await hook("validating", {}, { rules });
    const changing = { patch: [{ op: "replace", path: "/spec/maxReplicas", value: 7 }] };
    await hook("mutating", changing, { rules });
    const exact = await hook("validating", {}, { rules, matchPolicy: "Exact" });
    const spec = {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
      maxReplicas: 3,
      metrics: [
        { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 70 } } },
      ],
    };
    const scalers = `/apis/autoscaling/v2/namespaces/${ns}/horizontalpodautoscalers`;
    (await api.post(scalers, { metadata: { name: "h" }, spec })).expect(201, { "spec.maxReplicas": 7 });
    const [{ review } = { review: undefined }] = server.take(path);
    const { request } = review!;
    assert.deepEqual(request["kind"], { group: "autoscaling", version: "v1", kind: "HorizontalPodAutoscaler" });
    assert.deepEqual(request["requestKind"], { group: "autoscaling", version: "v2", kind: "HorizontalPodAutoscaler" });
    const seen = (request["object"] as { readonly spec: Record<string, unknown> }).spec;
    assert.deepEqual(
      [seen["targetCPUUtilizationPercentage"], seen["maxReplicas"], seen["metrics"]],
      [70, 7, undefined],
    );
    assert.deepEqual(server.take(exact), []);
  },
);

testWithHook(
  "objects of a definition with a converter are converted for webhooks, and what they change back",
  async (on) => {
    const { api, ns, hook } = on;
    const group = `${api.unique("g")}.example.com`;
    const version = (name: string) => ({
      name,
      served: true,
      storage: name === "v1",
      schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    });
    const definition = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `things.${group}` },
      spec: {
        group,
        scope: "Namespaced",
        names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" },
        versions: [version("v1"), version("v2")],
        conversion: {
          strategy: "Webhook",
          webhook: {
            clientConfig: await server.at(`/convert-${group}`, { converts: true }),
            conversionReviewVersions: ["v1"],
          },
        },
      },
    };
    (await api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)).expect(201);
    const rules = [{ apiGroups: [group], apiVersions: ["v1"], operations: ["*"], resources: ["things"] }];
    const path = await hook("validating", {}, { rules });
    await hook("mutating", { patch: [{ op: "add", path: "/set", value: "in v1" }] }, { rules });
    const things = `/apis/${group}/v2/namespaces/${ns}/things`;
    const thing = { apiVersion: `${group}/v2`, kind: "Thing", metadata: { name: "t" } };
    (await api.post(things, thing)).expect(201, { apiVersion: `${group}/v2`, set: "in v1" });
    const [{ review } = { review: undefined }] = server.take(path);
    assert.deepEqual(review!.request["kind"], { group, version: "v1", kind: "Thing" });
    const seen = review!.request["object"] as Record<string, unknown>;
    assert.deepEqual([seen["apiVersion"], seen["set"]], [`${group}/v1`, "in v1"]);
    await api.delete(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.${group}`);
  },
);

testWithHook("webhooks of one write see the resource in the version that each asked for", async ({ api, ns, hook }) => {
  const group = `${api.unique("g")}.example.com`;
  const version = (name: string) => ({
    name,
    served: true,
    storage: name === "v1",
    subresources: { scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" } },
    schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
  });
  const names = { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" };
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `things.${group}` },
    spec: { group, scope: "Namespaced", names, versions: [version("v1"), version("v2")] },
  };
  (await api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)).expect(201);
  const of = (wanted: string) => ({
    rules: [{ apiGroups: [group], apiVersions: [wanted], operations: ["UPDATE"], resources: ["things/scale"] }],
  });
  const paths = [await hook("validating", {}, of("v1")), await hook("validating", {}, of("v2"))];
  const things = `/apis/${group}/v2/namespaces/${ns}/things`;
  const thing = { apiVersion: `${group}/v2`, kind: "Thing", metadata: { name: "t" }, spec: { replicas: 1 } };
  (await api.post(things, thing)).expect(201);
  (await api.patch(`${things}/t/scale`, { spec: { replicas: 2 } })).expect(200);
  const seen = paths.map((path) => server.take(path)[0]!.review.request);
  const resource = (one: string) => ({ group, version: one, resource: "things" });
  assert.deepEqual(
    seen.map((request) => [request["resource"], request["requestResource"]]),
    [
      [resource("v1"), resource("v2")],
      [resource("v2"), resource("v2")],
    ],
  );
  await api.delete(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.${group}`);
});

testWithHook("a webhook that knows only the older reviews is asked in them", async ({ api, maps, hook }) => {
  const patch = Buffer.from(JSON.stringify([{ op: "add", path: "/data/b", value: "2" }])).toString("base64");
  const older = { admissionReviewVersions: ["v0", "v1beta1", "v1"] };
  const path = await hook("mutating", { response: { uid: "", patch } }, older);
  (await api.post(maps, configMap("a", { a: "1" }))).expect(201, { data: { a: "1", b: "2" } });
  assert.equal(server.take(path)[0]!.review.apiVersion, api.name("admission.k8s.io/v1beta1"));
});

testWithHook(
  "selectors of namespaces and objects, and conditions, decide what is asked",
  async ({ api, maps, hook }) => {
    const labelled = await hook("validating", {}, { objectSelector: { matchLabels: { ask: "me" } } });
    const conditioned = await hook(
      "validating",
      {},
      {
        matchConditions: [
          { name: "large", expression: "size(object.data) > 1" },
          { name: "admin", expression: "request.userInfo.username == 'admin'" },
        ],
      },
    );
    (await api.post(maps, configMap("a", { a: "1" }))).expect(201);
    (await api.post(maps, configMap("b", { a: "1", b: "2" }, { labels: { ask: "me" } }))).expect(201);
    (await api.post(maps.replace(/ns-[^/]*/, "default"), configMap(api.unique()))).expect(201);
    assert.equal(server.take(labelled).length, 1);
    assert.equal(server.take(conditioned).length, 1);
  },
);

testWithHook(
  "a condition without a value refuses, or leaves the webhook out where failures are ignored",
  async (on) => {
    const { api, maps, hook } = on;
    const matchConditions = [{ name: "c", expression: "object.data.none == 'x'" }];
    const path = await hook("validating", {}, { matchConditions, failurePolicy: "Ignore" });
    (await api.post(maps, configMap("a"))).expect(201);
    await hook("validating", {}, { matchConditions });
    (await api.post(maps, configMap("b"))).expectFailure(
      403,
      "Forbidden",
      /configmaps "b" is forbidden: .*no such key/,
    );
    assert.deepEqual(server.take(path), []);
  },
);

testWithHook("a dry run is told of, and webhooks cannot declare that they have side effects [DRY-07]", async (on) => {
  const { api, maps, hook } = on;
  const path = await hook("validating", {}, { sideEffects: "NoneOnDryRun" });
  (await api.post(`${maps}?dryRun=All`, configMap("a"))).expect(201);
  const [questions] = server.take(path);
  assert.equal(questions!.review.request["dryRun"], true);
  await assert.rejects(hook("validating", {}, { sideEffects: "Some" }), /Unsupported value/);
});

testWithHook("a large object is sent and changed like any other", async ({ api, maps, hook }) => {
  const validating = await hook("validating");
  await hook("mutating", { patch: [{ op: "add", path: "/data/b", value: "2" }] });
  const large = "x".repeat(200_000);
  const answer = await api.post(`${maps}?fieldManager=me`, configMap("a", { large }));
  answer.expect(201, { data: { large, b: "2" } });
  const [{ review } = { review: undefined }] = server.take(validating);
  const { object, options } = review!.request;
  assert.deepEqual((object as Record<string, unknown>)["data"], { large, b: "2" });
  assert.equal((options as Record<string, unknown>)["fieldManager"], "me");
});

testWithHook("configurations of webhooks are not shown to webhooks", async ({ api, hook }) => {
  const rules = [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"] }];
  const path = await hook(
    "validating",
    { response: { allowed: false } },
    { rules, namespaceSelector: { matchLabels: { none: "none" } } },
  );
  const { path: at } = kinds.validating;
  (await api.patch(`${at}${path}`, { metadata: { labels: { a: "b" } } })).expect(200);
  assert.deepEqual(operations(server.take(path)), []);
});
