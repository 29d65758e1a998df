/** Cases of matching: rules, scopes, versions, selectors and conditions, and changed configurations. */
import { patchTypes } from "../client.ts";
import { custom, definition } from "../crds.ts";
import { configMap, pod } from "../objects.ts";
import { type Case, configurations, coreRule, denies, ownMaps, type Phase, type Session, sets } from "./session.ts";

const kindOf = { mutating: "MutatingWebhookConfiguration", validating: "ValidatingWebhookConfiguration" } as const;

/** Returns a configuration as a client writes it. */
const configuration = (on: Session, phase: Phase, name: string, webhooks: readonly object[]): object => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: kindOf[phase],
  metadata: { name: on.name(name), labels: { run: on.run } },
  webhooks,
});

/** Creates config maps in turn. In the record, the calls of webhooks follow each of them. */
async function createMaps(on: Session, names: readonly string[]): Promise<void> {
  for (const name of names) await on.post(on.path("configmaps"), configMap(name), { show: ["data"] });
}

const answerOf = (phase: Phase) => (phase === "mutating" ? sets("/data", { set: "yes" }) : denies("no"));

const metrics = [
  { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 70 } } },
];
const scaler = (name: string): object => ({
  metadata: { name },
  spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" }, maxReplicas: 3, metrics },
});

function perPhase(name: string, run: (on: Session, phase: Phase) => Promise<void>): readonly Case[] {
  return (["validating", "mutating"] as const).map((phase) => ({
    name: `${phase}: ${name}`,
    run: (on) => run(on, phase),
  }));
}

export const matchingCases: readonly Case[] = [
  ...perPhase(
    "a configuration is in force while it exists, listed and deleted with others of its label",
    async (on, phase) => {
      for (const name of ["one", "two", "three"]) {
        const webhook = await on.webhook(phase, name, name === "one" ? answerOf(phase) : {});
        await on.post(configurations(phase), configuration(on, phase, name, [webhook]));
        on.removesLater(configurations(phase, on.name(name)));
      }
      await on.settle();
      const labelled = `${configurations(phase)}?labelSelector=run%3D${on.run}`;
      const listed = await on.send("GET", labelled);
      on.note(`listed ${listed.names().join(" ")}`);
      await on.send("GET", `${labelled}&limit=2`);
      await createMaps(on, ["a"]);
      await on.send("DELETE", labelled, undefined, { isVague: true });
      await on.settle();
      await on.send("GET", labelled, undefined, { show: ["items"] });
      await createMaps(on, ["b"]);
    },
  ),
  ...perPhase("a configuration that is changed asks for what it says now", async (on, phase) => {
    const webhook = await on.webhook(phase, "changing", answerOf(phase));
    await on.post(configurations(phase), configuration(on, phase, "changing", [webhook]), {
      show: ["metadata.generation"],
    });
    const path = configurations(phase, on.name("changing"));
    on.removesLater(path);
    await on.settle();
    await createMaps(on, ["a"]);
    const only = { rules: [{ ...coreRule(), operations: ["UPDATE"] }] };
    await on.edit(path, (object) => ({ ...object, webhooks: [{ ...webhook, ...only }] }), {
      show: ["metadata.generation"],
    });
    await on.settle();
    await createMaps(on, ["b"]);
    const operations = [{ op: "replace", path: "/webhooks/0/rules/0/operations", value: ["CREATE"] }];
    await on.patch(path, operations, { type: patchTypes.json, show: ["metadata.generation"] });
    await on.settle();
    await createMaps(on, ["c"]);
    await on.patch(
      path,
      { webhooks: [{ name: `changing.${on.run}.example.com`, failurePolicy: "Ignore", timeoutSeconds: 3 }] },
      {
        type: patchTypes.strategic,
        show: ["webhooks.0.failurePolicy", "webhooks.0.rules.0.operations", "metadata.generation"],
      },
    );
    await on.settle();
    await createMaps(on, ["d"]);
    await on.patch(path, { metadata: { labels: { other: "label" } } }, { show: ["metadata.generation"] });
    await on.patch(path, { webhooks: null }, { show: ["webhooks"] });
    await on.settle();
    await createMaps(on, ["e"]);
    await on.send("DELETE", path);
  }),
  ...perPhase("a configuration is checked and completed when it is written", async (on, phase) => {
    const base = await on.webhook(phase, "checked");
    const service = { namespace: "default", name: "s" };
    const attempts: readonly (readonly object[])[] = [
      [],
      [base],
      [base, base],
      [{ ...base, name: "short" }],
      [{ ...base, name: "" }],
      [{ ...base, clientConfig: {} }],
      [{ ...base, clientConfig: { service, url: "https://a.example.com" } }],
      [{ ...base, clientConfig: { service: { ...service, path: "a//b", port: 70000 } } }],
      [{ ...base, clientConfig: { service } }],
      [{ ...base, clientConfig: { url: "http://a.example.com" } }],
      [{ ...base, clientConfig: { url: "https://user@a.example.com/x?y=z#f" } }],
      [{ ...base, clientConfig: { url: ":" } }],
      [{ ...base, clientConfig: { url: "https://a.example.com", caBundle: "AAAA" } }],
      [{ ...base, rules: [{ ...coreRule(), operations: [] }] }],
      [{ ...base, rules: [{ ...coreRule(), operations: ["*", "CREATE"] }] }],
      [{ ...base, rules: [{ ...coreRule(), operations: ["READ"] }] }],
      [{ ...base, rules: [{ ...coreRule(), apiGroups: ["*", "a"], apiVersions: ["*", "v1"] }] }],
      [{ ...base, rules: [{ ...coreRule("*", "pods", "*/*", "a/b/c", "*/status", "pods/*", "pods/status") }] }],
      [{ ...base, rules: [{ ...coreRule(), scope: "Everywhere" }] }],
      [{ ...base, rules: [{}] }],
      [{ ...base, failurePolicy: "Retry", matchPolicy: "Fuzzy", reinvocationPolicy: "Always" }],
      [{ ...base, timeoutSeconds: 0 }],
      [{ ...base, timeoutSeconds: 31 }],
      [{ ...base, sideEffects: undefined, admissionReviewVersions: undefined }],
      [{ ...base, admissionReviewVersions: [] }],
      [{ ...base, name: "short", admissionReviewVersions: ["v2", "v2"], clientConfig: {} }],
      [
        {
          name: "short",
          clientConfig: {},
          rules: [{}],
          failurePolicy: "Retry",
          matchPolicy: "Fuzzy",
          timeoutSeconds: 0,
          objectSelector: { matchLabels: { "a b": "c" } },
          namespaceSelector: { matchLabels: { "a b": "c" } },
          matchConditions: [{ name: "a", expression: "" }],
          reinvocationPolicy: "Always",
        },
      ],
      [{ ...base, admissionReviewVersions: ["v2"] }],
      [{ ...base, admissionReviewVersions: ["v2", "v1", "v1"] }],
      [
        {
          ...base,
          namespaceSelector: { matchLabels: { "a b": "c" } },
          objectSelector: { matchExpressions: [{ key: "a", operator: "Is" }] },
        },
      ],
      [
        {
          ...base,
          matchConditions: [
            { name: "a", expression: "true" },
            { name: "a", expression: "" },
            { name: "", expression: "1" },
          ],
        },
      ],
    ];
    for (const [at, webhooks] of attempts.entries()) {
      const body = configuration(on, phase, `c${at}`, webhooks);
      await on.post(`${configurations(phase)}?dryRun=All`, body, {
        show: ["webhooks.0.rules", "webhooks.0.timeoutSeconds"],
      });
    }
  }),
  ...perPhase("match conditions say what is asked about, and must compile", async (on, phase) => {
    const condition = (expression: string) => ({ name: "about", expression });
    await on.hook(phase, "asked", answerOf(phase), {
      matchConditions: [
        condition("!(request.resource.resource == 'leases')"),
        { name: "no-skip", expression: "object == null || object.metadata.name != 'skip-me'" },
        {
          name: "user",
          expression: "request.userInfo.username == 'admin' && 'system:masters' in request.userInfo.groups",
        },
      ],
    });
    await createMaps(on, ["skip-me", "a"]);
    const path = configurations(phase, on.name("asked"));
    const next = (conditions: readonly object[]) => ({
      webhooks: [{ name: `asked.${on.run}.example.com`, matchConditions: conditions }],
    });
    for (const expression of [
      "has(object.metadata.labels) && object.metadata.labels['a'] == 'b'",
      "object.metadata.labels['none'] == 'x'",
      "oldObject == null",
      "request.operation == 'DELETE' || request.name == 'd'",
      "authorizer.group('').resource('configmaps').namespace(request.namespace).check('create').allowed()",
      "authorizer.requestResource.check('update').allowed() && request.dryRun == false",
      "object.data.size() > 0",
      "namespaceObject.metadata.name != ''",
      "object.x.y == 'no such field'",
      "request.nope == 1",
      "1",
      "object.metadata.name ==",
      "variables.x == 1",
      "params.x == 1",
    ]) {
      const value = [{ op: "replace", path: "/webhooks/0/matchConditions", value: [condition(expression)] }];
      const written = await on.patch(path, value, {
        type: patchTypes.json,
        show: ["webhooks.0.matchConditions.0.expression"],
      });
      if (written.status !== 200) continue;
      await on.settle();
      await on.post(on.path("configmaps?dryRun=All"), configMap("x"));
      await on.post(on.path("configmaps?dryRun=All"), configMap("d", { k: "v" }, { labels: { a: "b" } }));
    }
    await on.patch(path, next([condition("object.metadata.labels.none == 'x'")]), { type: patchTypes.strategic });
    await on.patch(path, [{ op: "replace", path: "/webhooks/0/failurePolicy", value: "Ignore" }], {
      type: patchTypes.json,
    });
    await on.settle();
    await createMaps(on, ["b"]);
    const many = Array.from({ length: 65 }, (_, at) => ({ name: `c${at}`, expression: "true" }));
    await on.patch(path, [{ op: "replace", path: "/webhooks/0/matchConditions", value: many }], {
      type: patchTypes.json,
    });
    // A false condition wins over errors of others.
    const mixed = [
      { name: "error", expression: "object.x == 1" },
      { name: "false", expression: "false" },
    ];
    await on.patch(
      path,
      [
        { op: "replace", path: "/webhooks/0/matchConditions", value: mixed },
        { op: "replace", path: "/webhooks/0/failurePolicy", value: "Fail" },
      ],
      { type: patchTypes.json },
    );
    await on.settle();
    await createMaps(on, ["c"]);
    await on.client("asked", {});
    await on.patch(path, [{ op: "remove", path: "/webhooks/0/matchConditions" }], { type: patchTypes.json });
    await on.settle();
    await createMaps(on, ["e"]);
  }),
  ...perPhase(
    "match conditions see the resource of the request, and kind and object in the version of the webhook",
    async (on, phase) => {
      const rules = [
        { apiGroups: ["autoscaling"], apiVersions: ["v1"], operations: ["*"], resources: ["horizontalpodautoscalers"] },
      ];
      const expressions = [
        "request.resource.version == 'v2'",
        "request.kind.version == 'v1'",
        "request.requestResource.version == 'v2'",
        "request.requestKind.version == 'v2'",
        "object.apiVersion == 'autoscaling/v1'",
      ];
      const webhooks = expressions.map((expression, at) =>
        on.webhook(phase, `c${at}`, {}, { rules, matchConditions: [{ name: "about", expression }] }),
      );
      await on.configure(phase, "conditions", await Promise.all(webhooks));
      await on.settle();
      await on.post(on.path("autoscaling/v2/horizontalpodautoscalers"), scaler("a"), { isVague: true });
      await on.post(on.path("autoscaling/v1/horizontalpodautoscalers"), {
        ...scaler("b"),
        spec: { ...(scaler("b") as { spec: object }).spec, metrics: undefined },
      });
    },
  ),
  {
    name: "selectors look at labels of the namespace, and of the new and the old object",
    run: async (on) => {
      const maps = on.path("configmaps");
      await on.configure("validating", "selectors", [
        await on.webhook("validating", "mine", {}),
        await on.webhook("validating", "labelled", {}, { objectSelector: { matchLabels: { ask: "yes" } } }),
        await on.webhook(
          "validating",
          "unlabelled",
          {},
          { objectSelector: { matchExpressions: [{ key: "ask", operator: "DoesNotExist" }] } },
        ),
        await on.webhook(
          "validating",
          "exempt",
          {},
          {
            namespaceSelector: {
              matchExpressions: [
                { key: "exempt", operator: "NotIn", values: ["yes"] },
                { key: "kubernetes.io/metadata.name", operator: "In", values: [on.ns] },
              ],
            },
          },
        ),
      ]);
      await on.settle();
      await on.post(maps, configMap("a"));
      await on.post(maps, configMap("b", {}, { labels: { ask: "yes" } }));
      await on.patch(`${maps}/b`, { metadata: { labels: { ask: null } } });
      await on.patch(`${maps}/b`, { metadata: { labels: { ask: "yes" } } });
      await on.send("DELETE", `${maps}/b`);
      await on.post(on.path("configmaps/a/none"), {});
      await on.prepare(
        "PATCH",
        `/api/v1/namespaces/${on.ns}`,
        { metadata: { labels: { exempt: "yes" } } },
        { type: patchTypes.merge },
      );
      await on.settle();
      await on.post(maps, configMap("c"));
    },
  },
  {
    name: "objects without a namespace and namespaces themselves",
    run: async (on) => {
      const objectSelector = { matchLabels: { run: on.run } };
      const any = {
        apiGroups: ["*"],
        apiVersions: ["*"],
        operations: ["*"],
        resources: ["namespaces", "clusterroles", "configmaps", "nodes"],
      };
      await on.configure("validating", "scopes", [
        await on.webhook(
          "validating",
          "cluster",
          {},
          { rules: [{ ...any, scope: "Cluster" }], objectSelector, namespaceSelector: {} },
          ["namespace"],
        ),
        await on.webhook(
          "validating",
          "namespaced",
          {},
          { rules: [{ ...any, scope: "Namespaced" }], objectSelector, namespaceSelector: {} },
          ["namespace"],
        ),
        await on.webhook(
          "validating",
          "named",
          {},
          { rules: [any], objectSelector, namespaceSelector: { matchLabels: { picked: "yes" } } },
          ["namespace"],
        ),
      ]);
      await on.settle();
      const labels = { run: on.run };
      const name = on.name("other");
      await on.post("/api/v1/namespaces", { metadata: { name, labels: { ...labels, picked: "yes" } } });
      on.removesLater(`/api/v1/namespaces/${name}`);
      await on.patch(`/api/v1/namespaces/${name}`, { metadata: { labels: { picked: null } } });
      await on.patch(`/api/v1/namespaces/${name}`, { metadata: { annotations: { a: "b" } } });
      await on.send("PUT", `/api/v1/namespaces/${name}/finalize`, {
        metadata: { name, labels },
        spec: { finalizers: ["kubernetes"] },
      });
      const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }];
      await on.post("/apis/rbac.authorization.k8s.io/v1/clusterroles", { metadata: { name, labels }, rules });
      await on.send("DELETE", `/apis/rbac.authorization.k8s.io/v1/clusterroles/${name}`);
      await on.post(on.path("configmaps"), configMap("a", {}, { labels }));
      const { value } = await on.prepare("GET", `/api/v1/namespaces/${name}`);
      const { uid } = (value as { readonly metadata: { readonly uid: string } }).metadata; // an object
      await on.send("DELETE", `/api/v1/namespaces/${name}`, { preconditions: { uid } });
    },
  },
  {
    name: "versions of a resource are the same where the policy says so",
    run: async (on) => {
      const scalers = (version: string) => on.path(`autoscaling/${version}/horizontalpodautoscalers`);
      const rule = (group: string, version: string, resource: string) => [
        { apiGroups: [group], apiVersions: [version], operations: ["*"], resources: [resource] },
      ];
      const show = [
        "requestKind.version",
        "requestResource.version",
        "object.apiVersion",
        "oldObject.apiVersion",
        "object.spec.targetCPUUtilizationPercentage",
      ];
      await on.configure("validating", "versions", [
        await on.webhook(
          "validating",
          "v1-exact",
          {},
          { rules: rule("autoscaling", "v1", "*"), matchPolicy: "Exact" },
          show,
        ),
        await on.webhook("validating", "v1-equivalent", {}, { rules: rule("autoscaling", "v1", "*") }, show),
        await on.webhook(
          "validating",
          "v2-exact",
          {},
          { rules: rule("autoscaling", "v2", "*"), matchPolicy: "Exact" },
          show,
        ),
        await on.webhook("validating", "scale", {}, { rules: rule("apps", "*", "*/scale") }, [...show, "kind"]),
        await on.webhook("validating", "scale-group", {}, { rules: rule("autoscaling", "*", "*/scale") }, show),
        await on.webhook("validating", "events-core", {}, { rules: rule("", "v1", "events") }, show),
        await on.webhook("validating", "events-group", {}, { rules: rule("events.k8s.io", "v1", "events") }, show),
        await on.webhook(
          "validating",
          "events-exact",
          {},
          { rules: rule("events.k8s.io", "v1", "events"), matchPolicy: "Exact" },
          show,
        ),
      ]);
      await on.hook(
        "mutating",
        "change",
        sets("/spec/maxReplicas", 7),
        {
          rules: [
            {
              apiGroups: ["autoscaling"],
              apiVersions: ["v1"],
              operations: ["CREATE", "UPDATE"],
              resources: ["horizontalpodautoscalers"],
            },
          ],
        },
        show,
      );
      await on.post(
        scalers("v1"),
        { metadata: { name: "a" }, spec: { ...(scaler("a") as { spec: object }).spec, metrics: undefined } },
        { show: ["spec"] },
      );
      await on.post(scalers("v2"), scaler("b"), { show: ["spec"] });
      await on.patch(`${scalers("v2")}/a`, { spec: { minReplicas: 2 } }, { show: ["spec.minReplicas"] });
      await on.patch(`${scalers("v1")}/b/status`, { status: { currentReplicas: 1, desiredReplicas: 1 } });
      await on.send("DELETE", `${scalers("v1")}/a`);
      await on.send("DELETE", scalers("v2"), undefined, { isVague: true });
      const template = { metadata: { labels: { a: "b" } }, spec: pod("t")["spec"] };
      const deployment = { metadata: { name: "d" }, spec: { selector: { matchLabels: { a: "b" } }, template } };
      await on.post(on.path("apps/v1/deployments"), deployment);
      await on.patch(on.path("apps/v1/deployments/d/scale"), { spec: { replicas: 3 } });
      const event = {
        metadata: { name: "e" },
        involvedObject: { kind: "Pod", name: "p", namespace: on.ns },
        reason: "R",
        message: "m",
        type: "Normal",
      };
      await on.post(on.path("events"), event);
      await on.post(on.path("events.k8s.io/v1/events"), {
        metadata: { name: "f", namespace: on.ns },
        eventTime: "2024-01-02T03:04:05.000000Z",
        regarding: { kind: "Pod", name: "p", namespace: on.ns },
        action: "A",
        reason: "R",
        type: "Normal",
        reportingController: "c.example.com/c",
        reportingInstance: "i",
      });
    },
  },
  {
    name: "versions of custom resources are the same, too",
    run: async (on) => {
      const version = (name: string) => ({
        name,
        served: true,
        storage: name === "v1",
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
        subresources: {
          status: {},
          scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
        },
      });
      await on.define(
        definition(on.group, { scope: "Namespaced", versions: [version("v1"), version("v2")] }),
        on.path(`${on.group}/v2/widgets`),
      );
      const rule = (of: string, ...resources: readonly string[]) => [
        { apiGroups: [on.group], apiVersions: [of], operations: ["*"], resources },
      ];
      const show = ["requestKind.version", "object.apiVersion", "oldObject.apiVersion"];
      await on.configure("validating", "versions", [
        await on.webhook("validating", "equivalent", {}, { rules: rule("v2", "widgets", "widgets/*") }, show),
        await on.webhook(
          "validating",
          "exact",
          {},
          { rules: rule("v2", "widgets", "widgets/*"), matchPolicy: "Exact" },
          show,
        ),
      ]);
      await on.configure("mutating", "versions", [
        await on.webhook("mutating", "change", sets("/spec", { set: "yes" }), { rules: rule("v2", "widgets") }, show),
      ]);
      await on.settle();
      const widgets = on.path(`${on.group}/v1/widgets`);
      await on.post(widgets, custom(on.group, "a", { spec: { replicas: 1 } }), { show: ["apiVersion", "spec"] });
      await on.client("change", {});
      await on.patch(`${widgets}/a`, { spec: { replicas: 2 } }, { show: ["spec"] });
      await on.patch(`${widgets}/a/scale`, { spec: { replicas: 3 } });
      await on.patch(`${widgets}/a/status`, { status: { replicas: 3 } });
      await on.send("DELETE", `${widgets}/a`);
    },
  },
  {
    name: "rules name subresources with stars",
    run: async (on) => {
      const names = ["*", "*/*", "pods", "pods/*", "pods/status", "*/status", "*/scale", "bindings", "pods/binding"];
      const webhooks: object[] = [];
      for (const [at, name] of names.entries()) {
        const rules = [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: [name] }];
        webhooks.push(
          await on.webhook("validating", `${at}-${name.replaceAll("/", "-of-").replaceAll("*", "all")}`, {}, { rules }),
        );
      }
      await on.configure("validating", "stars", webhooks);
      await on.settle();
      const pods = on.path("pods");
      await on.post(pods, pod("p"));
      await on.patch(`${pods}/p/status`, { status: { phase: "Running" } });
      await on.post(`${pods}/p/binding`, { metadata: { name: "p" }, target: { kind: "Node", name: "n" } });
      await on.post(`${pods}/p/eviction`, { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "p" } });
      await on.post(on.path("configmaps"), configMap("a"));
    },
  },
  {
    name: "several refusals and one answer",
    run: async (on) => {
      await on.configure("validating", "many", [
        await on.webhook("validating", "one", {}),
        await on.webhook("validating", "two", denies("two says no")),
        await on.webhook("validating", "three", { code: 500, body: "broken" }, { failurePolicy: "Ignore" }),
        await on.webhook("validating", "four", { code: 404, body: "" }, { failurePolicy: "Ignore" }),
      ]);
      await on.settle();
      await createMaps(on, ["a"]);
      await on.send("DELETE", `${on.path("configmaps")}?${ownMaps}`, undefined, { isVague: true });
      for (const answer of [
        { code: 503, body: "gone" },
        { code: 500, body: "broken" },
        { code: 500, body: "broken\n", headers: { "content-type": "text/plain" } },
        { code: 500, body: "broken", headers: {} },
        { code: 500, body: "" },
        { code: 403, body: "no" },
        { code: 403, body: "no", headers: { "content-type": "text/plain" } },
        { code: 418, body: "teapot", headers: { "content-type": "text/plain" } },
        { code: 500, body: JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", message: "told" }) },
        { body: "{}" },
        { body: "" },
      ]) {
        await on.client("two", answer);
        await createMaps(on, ["a"]);
      }
    },
  },
];
