/**
 * Values of secrets, and of kinds that are encrypted, are in no answer to a refused request, no warning and no line of the
 * logs, however wrong the request is.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Answer, patchTypes } from "../client.ts";
import { crds, definition } from "../crds.ts";
import { type Api, domains, file, observed, renamer, temporaryFolder } from "../harness.ts";

/** In every value that must not be seen; base64 of it begins alike. */
const hidden = "hunter2hunter2";
const encoded = Buffer.from(hidden).toString("base64");

/** What goes wrong, as members of the whole object. */
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

const merged = (object: Kind["object"], wrong: Wrong, name: string): Record<string, unknown> => {
  const metadata = wrong["metadata"];
  const named = typeof metadata === "object" ? { name, ...metadata } : (metadata ?? { name });
  return { ...object, ...wrong, metadata: named };
};

/** Sends everything that is wrong by every kind of write; the answers. */
async function* requests(api: Api, { path, object, wrong }: Kind): AsyncGenerator<Answer> {
  const one = `${path}/one`;
  (await api.post(path, merged(object, {}, "one"))).expect(201);
  for (const [at, more] of wrong.entries()) {
    const query = `?dryRun=All&fieldManager=m&fieldValidation=${at % 2 === 0 ? "Strict" : "Warn"}`;
    yield await api.post(`${path}${query}`, merged(object, more, `new${at}`));
    yield await api.put(`${one}${query}`, merged(object, more, "one"));
    yield await api.patch(`${one}${query}`, more, patchTypes.merge);
    yield await api.patch(`${one}${query}`, more, patchTypes.strategic);
    const operations = Object.entries(more).map(([name, value]) => ({ op: "add", path: `/${name}`, value }));
    yield await api.patch(`${one}${query}`, operations, patchTypes.json);
    yield await api.patch(`${one}${query}`, merged(object, more, "one"), patchTypes.apply);
    yield await api.patch(`${one}${query}&force=true`, merged(object, more, "one"), patchTypes.apply);
  }
  const body = JSON.stringify(merged(object, { stringData: { k: hidden }, spec: { password: hidden } }, "one"));
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
    const { api, logged, close } = await observed(domain, {
      auditPolicyFile: file("policy.json", renamer(domain)(JSON.stringify(policy))),
      auditLogPath,
      auditLogMode: "blocking",
      encryptionProviderConfig: file("encryption.json", JSON.stringify(configuration)),
    });
    t.after(close);
    const schema = { type: "object", properties: { spec } };
    (await api.post(crds, definition(group, { schema, scope: "Namespaced" }))).expect(201);
    const { ns, secrets } = await api.place();
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
    const look = (what: string): void => {
      if (/hunter2|4711471147|aHVudGVy/.test(what)) shown.push(what);
    };
    const shown: string[] = [];
    let refused = 0;
    for (const kind of kinds) {
      for await (const answer of requests(api, kind)) {
        look(answer.warnings.join());
        if (answer.status < 400) continue;
        refused++;
        look(answer.text);
      }
    }
    assert.ok(refused > 200, `${refused} requests were refused`);
    const lines = [...readFileSync(auditLogPath, "utf8").split("\n"), ...logged];
    for (const line of lines) look(line);
    assert.deepEqual([...new Set(shown)], []);
  });
}
