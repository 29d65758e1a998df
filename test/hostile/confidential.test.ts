/**
 * Tests that values of secrets, and of kinds that are encrypted, are in no answer to a refused request, no warning and
 * no line of the logs, however invalid the request is. The messages of policies and webhooks are not changed.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { type Answer, patchTypes } from "../client.ts";
import { crds, definition } from "../crds.ts";
import { type Api, domains, file, startObserved, renamer, suite, temporaryFolder } from "../harness.ts";
import { pod } from "../objects.ts";
import { WebhookServer } from "../webhook-server.ts";

/** The beginning of confidential texts, so that their base64 has the same beginning. */
const hidden = "hunter2hunter2";
const encoded = Buffer.from(hidden).toString("base64");

/** Members that make a whole object invalid. */
type Wrong = Readonly<Record<string, unknown>>;

const wrongOfSecrets: readonly Wrong[] = [
  { immutable: hidden },
  { immutable: 4711471147114711 },
  { data: hidden },
  { data: { k: 4711471147114711 } },
  { data: { k: [hidden] } },
  { data: { k: `${hidden}!` } },
  { data: { "a b": encoded } },
  { data: { [".."]: encoded } },
  { stringData: { k: { a: hidden } } },
  { stringData: [hidden] },
  { type: { a: hidden } },
  { type: hidden },
  { type: "kubernetes.io/dockerconfigjson", data: { ".dockerconfigjson": encoded } },
  { type: "kubernetes.io/ssh-auth", data: { k: encoded } },
  { spec: { x: hidden } },
  { metadata: { annotations: { a: { b: hidden } } } },
  { metadata: { annotations: { "a b": hidden } } },
  { metadata: { creationTimestamp: hidden } },
  { metadata: { annotations: { large: "y".repeat(70_000) } }, immutable: hidden },
  { metadata: hidden },
  { kind: "Wrong", data: { k: encoded } },
  { apiVersion: "a/b/c", stringData: { k: hidden } },
];

const wrongOfWidgets: readonly Wrong[] = [
  { spec: { password: 4711471147114711 } },
  { spec: { password: [hidden] } },
  { spec: { password: `${hidden} is not small` } },
  { spec: { size: hidden } },
  { spec: { choice: hidden } },
  { spec: { short: hidden } },
  { spec: { list: [hidden, hidden] } },
  { spec: { keyed: [{ k: hidden }, { k: hidden }] } },
  { spec: { ruled: hidden } },
  { spec: { unknown: hidden } },
  { spec: { date: hidden } },
  { spec: { embedded: { apiVersion: [hidden], kind: hidden } } },
  { spec: hidden },
  { kind: "Other", spec: { password: hidden } },
  { spec: { size: hidden }, metadata: { annotations: { large: "y".repeat(70_000) } } },
  { metadata: { creationTimestamp: hidden } },
];

const wrongOfReviews: readonly Wrong[] = [
  { spec: hidden },
  { spec: { token: [hidden] } },
  { spec: { token: 4711471147114711 } },
  { spec: { token: "", audiences: hidden } },
  { spec: { token: hidden, unknown: hidden } },
  { status: hidden },
  { status: { user: hidden } },
  { metadata: { creationTimestamp: hidden } },
  { kind: "Wrong", spec: { token: hidden } },
];

const text = { type: "string" };
const spec = {
  type: "object",
  properties: {
    password: { ...text, pattern: "^[a-z0-9]*$" },
    size: { type: "integer" },
    choice: { ...text, enum: ["a", "b"] },
    short: { ...text, maxLength: 3 },
    list: { type: "array", items: text, "x-kubernetes-list-type": "set" },
    keyed: {
      type: "array",
      items: { type: "object", required: ["k"], properties: { k: text, v: text } },
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
    },
    ruled: { ...text, "x-kubernetes-validations": [{ rule: "self == 'x'" }] },
    date: { ...text, format: "date-time" },
    embedded: { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
  },
};

interface Kind {
  readonly path: string;
  readonly object: Readonly<Record<string, unknown>>;
  readonly wrong: readonly Wrong[];
}

const mergeWrong = (object: Kind["object"], wrong: Wrong, name: string): Record<string, unknown> => {
  const metadata = wrong["metadata"];
  const named = typeof metadata === "object" ? { name, ...metadata } : (metadata ?? { name });
  return { ...object, ...wrong, metadata: named };
};

/** Sends every invalid object by every kind of write. Yields the answers. */
async function* requests(api: Api, { path, object, wrong }: Kind): AsyncGenerator<Answer> {
  const one = `${path}/one`;
  (await api.post(path, mergeWrong(object, {}, "one"))).expect(201);
  for (const [at, more] of wrong.entries()) {
    const query = `?dryRun=All&fieldManager=m&fieldValidation=${at % 2 === 0 ? "Strict" : "Warn"}`;
    yield await api.post(`${path}${query}`, mergeWrong(object, more, `new${at}`));
    yield await api.put(`${one}${query}`, mergeWrong(object, more, "one"));
    yield await api.patch(`${one}${query}`, more, patchTypes.merge);
    yield await api.patch(`${one}${query}`, more, patchTypes.strategic);
    const operations = Object.entries(more).map(([name, value]) => ({ op: "add", path: `/${name}`, value }));
    yield await api.patch(`${one}${query}`, operations, patchTypes.json);
    yield await api.patch(`${one}${query}`, mergeWrong(object, more, "one"), patchTypes.apply);
    yield await api.patch(`${one}${query}&force=true`, mergeWrong(object, more, "one"), patchTypes.apply);
  }
  const body = JSON.stringify(mergeWrong(object, { stringData: { k: hidden }, spec: { password: hidden } }, "one"));
  for (const [type, method] of [
    ["application/json", "PUT"],
    ["application/yaml", "PUT"],
    ...Object.values(patchTypes).map((patch) => [patch, "PATCH"]),
  ] as const) {
    for (const broken of [
      body.slice(0, -2),
      `"${hidden}"`,
      `["${hidden}"]`,
      `{"${hidden}`,
      `[{"op":"${hidden}","path":"/a"}]`,
      `[{"op":"test","path":"/spec/password","value":"${hidden}"}]`,
      `[{"op":"test","path":"/data/k","value":"${hidden}"}]`,
      `{"spec":{"$patch":"${hidden}"},"data":{"$patch":"${hidden}"}}`,
      body.replace(/"kind":"\w+",/, ""),
      `data: ${hidden}: {`,
      body.replace('"metadata":{', `"metadata":{"name":"x${"y".repeat(70_000)}",`),
    ]) {
      yield await api.send(method!, `${one}?fieldManager=m`, broken, { type: type! });
    }
  }
}

/** Sends invalid objects that are not stored, and bodies that are not objects. Yields the answers. */
async function* reviews(api: Api, { path, object, wrong }: Kind): AsyncGenerator<Answer> {
  (await api.post(path, object)).expect(201);
  for (const more of wrong) {
    for (const level of ["Strict", "Warn"])
      yield await api.post(`${path}?fieldValidation=${level}`, { ...object, ...more });
  }
  const body = JSON.stringify(object);
  for (const type of ["application/json", "application/yaml"]) {
    for (const broken of [body.slice(0, -2), `"${hidden}"`, `["${hidden}"]`, `spec: ${hidden}: {`]) {
      yield await api.send("POST", path, broken, { type });
    }
  }
}

const policy = { apiVersion: "audit.k8s.io/v1", kind: "Policy", rules: [{ level: "Metadata" }] };

const skip = process.env["TEST_SERVER"] === undefined ? false : "starts its own servers";

for (const domain of domains) {
  test(`${domain}: no value of a confidential object is in an answer, a warning, the audit log or the log`, {
    skip,
  }, async (t) => {
    const group = "confidential.example.com";
    const auditLogPath = join(temporaryFolder(), "audit.log");
    const rules = [
      {
        resources: [`widgets.${group}`],
        providers: [
          { aescbc: { keys: [{ name: "k", secret: Buffer.alloc(32, 1).toString("base64") }] } },
          { identity: {} },
        ],
      },
    ];
    const configuration = {
      apiVersion: renamer(domain)("apiserver.config.k8s.io/v1"),
      kind: "EncryptionConfiguration",
      resources: rules,
    };
    const { api, logged, close } = await startObserved(domain, {
      auditPolicyFile: file("policy.json", renamer(domain)(JSON.stringify(policy))),
      auditLogPath,
      auditLogMode: "blocking",
      encryptionProviderConfig: file("encryption.json", JSON.stringify(configuration)),
    });
    t.after(close);
    const schema = { type: "object", properties: { spec } };
    (await api.post(crds, definition(group, { schema, scope: "Namespaced" }))).expect(201);
    const { ns, secrets } = await api.createNamespace();
    const kinds: readonly Kind[] = [
      {
        path: secrets,
        object: { apiVersion: "v1", kind: "Secret", data: { k: encoded } },
        wrong: wrongOfSecrets,
      },
      {
        path: `/apis/${group}/v1/namespaces/${ns}/widgets`,
        object: { apiVersion: `${group}/v1`, kind: "Widget", spec: { password: hidden, list: [hidden] } },
        wrong: wrongOfWidgets,
      },
    ];
    const review: Kind = {
      path: "/apis/authentication.k8s.io/v1/tokenreviews",
      object: { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: hidden } },
      wrong: wrongOfReviews,
    };
    const look = (what: string): void => {
      if (/hunter2|4711471147|aHVudGVy/.test(what)) shown.push(what);
    };
    const shown: string[] = [];
    let refused = 0;
    const lookAt = async (answers: AsyncGenerator<Answer>): Promise<void> => {
      for await (const answer of answers) {
        look(answer.warnings.join());
        if (answer.status < 400) continue;
        refused++;
        look(answer.text);
      }
    };
    for (const kind of kinds) await lookAt(requests(api, kind));
    assert.ok(refused > 200, `${refused} requests were refused`);
    const before = refused;
    await lookAt(reviews(api, review));
    assert.ok(refused >= before + 20, `${refused - before} reviews were refused`);
    const lines = [...readFileSync(auditLogPath, "utf8").split("\n"), ...logged];
    for (const line of lines) look(line);
    assert.deepEqual([...new Set(shown)], []);
  });
}

const webhooks = await WebhookServer.open();
after(() => webhooks.close());

const inBothDomains = suite();
const registration = "/apis/admissionregistration.k8s.io/v1";
const apiVersion = "admissionregistration.k8s.io/v1";
const secretRule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["secrets"] };
const inNamespace = (ns: string) => ({ matchLabels: { "kubernetes.io/metadata.name": ns } });

/** A small secret, which is handled at once, and a large one, which is handled in a thread. */
const newSecrets = [{}, { annotations: { large: "y".repeat(200_000) } }].map((metadata) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "s", ...metadata },
  data: { k: encoded },
}));

inBothDomains("what a policy says of a secret is told as it says it", async (api) => {
  const { ns, secrets } = await api.createNamespace();
  const name = `teams-${ns}`;
  const policies = `${registration}/validatingadmissionpolicies`;
  const bindings = `${registration}/validatingadmissionpolicybindings`;
  const spec = {
    matchConstraints: { namespaceSelector: inNamespace(ns), resourceRules: [secretRule] },
    validations: [{ expression: "has(object.metadata.labels)", message: "label team is required: for the bill" }],
  };
  (await api.post(policies, { apiVersion, kind: "ValidatingAdmissionPolicy", metadata: { name }, spec })).expect(201);
  const about = `ValidatingAdmissionPolicy '${name}' with binding '${name}'`;
  const binding = {
    apiVersion,
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name },
    spec: { policyName: name, validationActions: ["Deny"] },
  };
  (await api.post(bindings, binding)).expect(201);
  const denied = `${about} denied request: label team is required: for the bill`;
  for (const body of newSecrets) {
    const answer = await api.post(secrets, body);
    answer.expectFailure(422, "Invalid", `secrets "s" is forbidden: ${denied}`);
    assert.deepEqual(answer.at("details.causes"), [{ message: denied }]);
  }
  (await api.patch(`${bindings}/${name}`, { spec: { validationActions: ["Warn"] } })).expect(200);
  for (const body of newSecrets) {
    const { warnings } = (await api.post(`${secrets}?dryRun=All`, body)).expect(201);
    assert.deepEqual(warnings, [`Validation failed for ${about}: label team is required: for the bill`]);
  }
  (await api.delete(`${bindings}/${name}`)).expect(200);
  (await api.delete(`${policies}/${name}`)).expect(200);
});

inBothDomains(
  "what a webhook says of a secret is told as it says it, and what it makes of one is not shown",
  async (api) => {
    const { ns, secrets } = await api.createNamespace();
    const causes = [{ reason: "FieldManagerConflict", message: "rotate it: monthly", field: 'data[k="x"]' }];
    const status = { code: 422, reason: "Invalid", message: "a key: is old", details: { causes } };
    const register = async (kind: string, path: string, response: object): Promise<string> => {
      const webhook = {
        name: `${ns}.example.com`,
        clientConfig: await webhooks.at(`/${ns}`, { response }),
        rules: [secretRule],
        namespaceSelector: inNamespace(ns),
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
      };
      (await api.post(path, { apiVersion, kind, metadata: { name: ns }, webhooks: [webhook] })).expect(201);
      return `${path}/${ns}`;
    };
    const validating = await register(
      "ValidatingWebhookConfiguration",
      `${registration}/validatingwebhookconfigurations`,
      {
        allowed: false,
        status,
        warnings: ["data[k]: is old"],
      },
    );
    for (const body of newSecrets) {
      const answer = await api.post(secrets, body);
      answer.expectFailure(422, "Invalid", `admission webhook "${ns}.example.com" denied the request: a key: is old`);
      assert.deepEqual(answer.at("details.causes"), causes);
      assert.deepEqual(answer.warnings, ["data[k]: is old"]);
    }
    (await api.delete(validating)).expect(200);
    const patch = Buffer.from(JSON.stringify([{ op: "add", path: "/immutable", value: 4711471147114711 }]));
    const mutating = await register("MutatingWebhookConfiguration", `${registration}/mutatingwebhookconfigurations`, {
      allowed: true,
      patchType: "JSONPatch",
      patch: patch.toString("base64"),
    });
    for (const body of newSecrets) {
      const answer = await api.post(secrets, body);
      assert.equal(answer.status, 500);
      assert.match(answer.text, /json: cannot unmarshal number into Go struct field Secret\.immutable of type bool/);
      assert.doesNotMatch(answer.text, /4711471147/);
    }
    (await api.delete(mutating)).expect(200);
  },
);

for (const domain of domains) {
  test(`${domain}: warnings and answers about encrypted objects keep what is wrong and where, and lose the value`, {
    skip,
  }, async (t) => {
    const identity = [{ aescbc: { keys: [{ name: "k", secret: Buffer.alloc(32, 1).toString("base64") }] } }];
    const configuration = {
      apiVersion: renamer(domain)("apiserver.config.k8s.io/v1"),
      kind: "EncryptionConfiguration",
      resources: [{ resources: ["pods", "services"], providers: identity }],
    };
    const { api, close } = await startObserved(domain, {
      encryptionProviderConfig: file("encryption.json", JSON.stringify(configuration)),
    });
    t.after(close);
    const { ns } = await api.createNamespace();
    const warnOnCreate = async (resource: string, body: object): Promise<readonly string[]> =>
      (await api.post(`/api/v1/namespaces/${ns}/${resource}?dryRun=All`, body)).expect(201).warnings;
    const notShown = "what was given is not shown, since objects of this kind are confidential";
    const zone = api.name("failure-domain.beta.kubernetes.io/zone");
    const container = {
      name: "c",
      image: "i",
      env: [{ name: "HIDDEN" }, { name: "HIDDEN" }],
      resources: { requests: { memory: "100m" } },
      ports: [
        { containerPort: 4711, protocol: "TCP" },
        { containerPort: 4711, protocol: "TCP" },
        { containerPort: 1, hostIP: "10.0.0.1" },
      ],
    };
    const spec = {
      containers: [container],
      nodeSelector: { [zone]: "x" },
      hostAliases: [{ ip: "10.0.0.1" }, { ip: "10.0.0.1" }],
      imagePullSecrets: [{ name: "hidden" }, { name: "hidden" }, {}],
      volumes: [
        {
          name: "hidden",
          configMap: {
            name: "hidden",
            items: [
              { key: "a", path: "hidden" },
              { key: "b", path: "hidden" },
            ],
          },
        },
        { name: "git", gitRepo: { repository: "hidden" } },
      ],
      topologySpreadConstraints: [{ topologyKey: zone, maxSkew: 1, whenUnsatisfiable: "DoNotSchedule" }],
    };
    assert.deepEqual(
      new Set(await warnOnCreate("pods", pod("p.q", spec))),
      new Set([
        `spec.nodeSelector[${zone}]: deprecated since v1.17; use "${api.name("topology.kubernetes.io/zone")}" instead`,
        `spec.topologySpreadConstraints[0].topologyKey: ${notShown}`,
        "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod",
        "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
        "spec.volumes[1].gitRepo: deprecated in v1.11",
        "a volume has overlapping paths",
        "spec.hostAliases[1].ip: duplicate ip",
        "spec.imagePullSecrets[1].name: duplicate name",
        'spec.imagePullSecrets[2].name: invalid empty name ""',
        "spec.containers[0].env[1]: hides previous definition, which may be dropped when using apply",
        "spec.containers[0].resources.requests[memory]: fractional byte value is invalid, must be an integer",
        "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
        "spec.containers[0].ports[2]: hostIP set without hostPort",
      ]),
    );
    const containers = ["hidden", "other"].map((name) => ({ name, image: "i" }));
    (await api.post(`/api/v1/namespaces/${ns}/pods`, pod("several", { nodeName: "hidden", containers }))).expect(201);
    for (const part of ["log", "exec", "log?container=other", "exec?container=other"]) {
      const { status, text } = await api.get(`/api/v1/namespaces/${ns}/pods/several/${part}`);
      assert.equal(status, part.includes("?") ? 404 : 400);
      assert.doesNotMatch(text, /hidden/);
    }
    const service = { apiVersion: "v1", kind: "Service", metadata: { name: "s" } };
    const ports = [{ port: 80 }];
    const addresses = { externalIPs: ["1.2.3.004", "2001:DB8::1"], loadBalancerSourceRanges: ["2001:DB8::/32"] };
    assert.deepEqual(
      await warnOnCreate("services", { ...service, spec: { type: "LoadBalancer", ports, ...addresses } }),
      [
        "spec.externalIPs[0]: IP address was accepted, but will be invalid in a future Kubernetes release",
        "spec.externalIPs[1]: IPv6 address is not in RFC 5952 canonical format, which may cause controller apply-loops",
        "spec.loadBalancerSourceRanges[0]: IPv6 prefix is not in RFC 5952 canonical format, which may cause controller apply-loops",
      ],
    );
    assert.deepEqual(
      await warnOnCreate("services", { ...service, spec: { ports, externalName: "hidden.example.com" } }),
      ["spec.externalName is ignored"],
    );
  });
}
