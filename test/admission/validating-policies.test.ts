/** Validating policies over HTTP: effective as soon as written, for every kind of write. */
import assert from "node:assert/strict";
import { type Api, eventually, suite } from "../harness.ts";
import { configMap } from "../objects.ts";

const inBothDomains = suite();

const registration = "/apis/admissionregistration.k8s.io/v1";
const policies = `${registration}/validatingadmissionpolicies`;
const bindings = `${registration}/validatingadmissionpolicybindings`;

interface Rule {
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly operations: readonly string[];
  readonly resources: readonly string[];
}

const configMaps: Rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["configmaps"] };

/** Creates a policy that is in force, in one namespace or, with no namespace, everywhere. */
async function enforce(api: Api, name: string, ns: string | undefined, rule: Rule, spec: object): Promise<void> {
  const namespaceSelector = ns === undefined ? {} : { matchLabels: { "kubernetes.io/metadata.name": ns } };
  const matchConstraints = { namespaceSelector, resourceRules: [rule] };
  const policy = { apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingAdmissionPolicy" };
  const binding = { ...policy, kind: "ValidatingAdmissionPolicyBinding" };
  const answer = await api.post(policies, { ...policy, metadata: { name }, spec: { matchConstraints, ...spec } });
  assert.deepEqual(answer.expect(201).warnings, []);
  const bound = { policyName: name, validationActions: ["Deny"] };
  (await api.post(bindings, { ...binding, metadata: { name }, spec: bound })).expect(201);
}

async function forget(api: Api, name: string): Promise<void> {
  (await api.delete(`${bindings}/${name}`)).expect(200);
  (await api.delete(`${policies}/${name}`)).expect(200);
}

inBothDomains("a policy is in force once its binding is written, and no longer than that [EXPR-58]", async (api) => {
  const { ns, configMaps: maps } = await api.createNamespace();
  const name = `modes-${ns}`;
  await enforce(api, name, ns, configMaps, {
    validations: [{ expression: "object.data.mode in ['on', 'off']", message: "mode is on or off" }],
  });
  const refusal = `configmaps "m1" is forbidden: ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: mode is on or off`;
  (await api.post(maps, configMap("m1", { mode: "x" }))).expectFailure(422, "Invalid", refusal);
  (await api.post(`${maps}?dryRun=All`, configMap("m1", { mode: "x" }))).expectFailure(422, "Invalid", refusal);
  (await api.post(maps, configMap("m1", { mode: "on" }))).expect(201);
  (await api.patch(`${maps}/m1`, { data: { mode: "x" } })).expectFailure(422, "Invalid", refusal);
  (await api.put(`${maps}/m1`, configMap("m1", { mode: "x" }))).expectFailure(422, "Invalid", refusal);
  await forget(api, name);
  (await api.patch(`${maps}/m1`, { data: { mode: "x" } })).expect(200);
});

inBothDomains("a policy about deletes keeps what it names, in a collection too", async (api) => {
  const { ns, configMaps: maps } = await api.createNamespace();
  await enforce(
    api,
    `keep-${ns}`,
    ns,
    { ...configMaps, operations: ["DELETE"] },
    {
      validations: [{ expression: "object == null && oldObject.data.keep != 'yes'", message: "kept" }],
    },
  );
  for (const [name, keep] of [
    ["a", "yes"],
    ["b", "no"],
  ] as const) {
    (await api.post(maps, configMap(name, { keep }))).expect(201);
  }
  (await api.delete(`${maps}/a`)).expectFailure(422, "Invalid", /denied request: kept$/);
  (await api.delete(maps)).expectFailure(422, "Invalid", /denied request: kept$/);
  (await api.get(`${maps}/a`)).expect(200);
  await forget(api, `keep-${ns}`);
});

inBothDomains("a generated name is known to policies", async (api) => {
  const { ns, configMaps: maps } = await api.createNamespace();
  await enforce(api, `named-${ns}`, ns, configMaps, {
    validations: [{ expression: "request.name == object.metadata.name && request.name.startsWith('g-')" }],
  });
  (await api.post(maps, { ...configMap(""), metadata: { generateName: "g-" } })).expect(201);
  await forget(api, `named-${ns}`);
});

inBothDomains("policies that refuse everything can be changed and removed", async (api) => {
  const { ns } = await api.createNamespace();
  const everything = { apiGroups: ["*"], apiVersions: ["*"], operations: ["UPDATE"], resources: ["*/*"] };
  const name = `closed-${ns}`;
  await enforce(api, name, undefined, everything, { validations: [{ expression: "false" }] });
  (await api.patch(`/api/v1/namespaces/${ns}`, { metadata: { labels: { a: "b" } } })).expectFailure(422, "Invalid");
  (await api.patch(`${policies}/${name}`, { spec: { failurePolicy: "Ignore" } })).expect(200);
  await forget(api, name);
  (await api.patch(`/api/v1/namespaces/${ns}`, { metadata: { labels: { a: "b" } } })).expect(200);
});

inBothDomains("the status tells the author what the types of the expressions are wrong about", async (api) => {
  const { ns } = await api.createNamespace();
  const name = `typed-${ns}`;
  await enforce(api, name, ns, configMaps, {
    validations: [{ expression: "object.data.a == 1 || object.data.a == '1'" }],
  });
  const fields = {
    "status.observedGeneration": 1,
    "status.typeChecking.expressionWarnings.0.fieldRef": "spec.validations[0].expression",
    "status.typeChecking.expressionWarnings.0.warning":
      /^\/v1, Kind=ConfigMap: ERROR: <input>:1:15: found no matching overload for '_==_' applied to '\(string, int\)'\n/,
  };
  await eventually(async () => (await api.get(`${policies}/${name}`)).expect(200, fields));
  await forget(api, name);
});

inBothDomains(
  "parameters are objects of any kind, chosen by name or labels, with no more than a look at the store",
  async (api) => {
    const { ns, configMaps: maps } = await api.createNamespace();
    const name = `limited-${ns}`;
    const limit = (of: string, most: string) => configMap(of, { most }, { labels: { role: "limit" } });
    await enforce(
      api,
      name,
      ns,
      { ...configMaps, operations: ["UPDATE"] },
      {
        paramKind: { apiVersion: "v1", kind: "ConfigMap" },
        validations: [
          {
            expression: "size(object.data) <= int(params.data.most)",
            messageExpression: "'at most ' + params.data.most + ' by ' + params.metadata.name",
          },
        ],
      },
    );
    const choose = async (paramRef: object): Promise<void> =>
      void (
        await api.patch(`${bindings}/${name}`, { spec: { paramRef: { name: null, selector: null, ...paramRef } } })
      ).expect(200);
    for (const body of [limit("two", "2"), limit("one", "1"), configMap("zero", { most: "0" }), configMap("m1")]) {
      (await api.post(maps, body)).expect(201);
    }
    await choose({ name: "two", parameterNotFoundAction: "Deny" });
    const write = (data: object) => api.put(`${maps}/m1?dryRun=All`, configMap("m1", data));
    (await write({ a: "1", b: "2" })).expect(200);
    (await write({ a: "1", b: "2", c: "3" })).expectFailure(422, "Invalid", /: at most 2 by two$/);
    await choose({ selector: { matchLabels: { role: "limit" } }, parameterNotFoundAction: "Deny" });
    (await write({ a: "1", b: "2" })).expectFailure(422, "Invalid", /: at most 1 by one$/);
    await choose({ selector: { matchLabels: { role: "none" } }, parameterNotFoundAction: "Allow" });
    (await write({ a: "1", b: "2", c: "3" })).expect(200);
    await choose({ name: "gone", parameterNotFoundAction: "Deny" });
    (await write({})).expectFailure(
      422,
      "Invalid",
      /no params found for policy binding with `Deny` parameterNotFoundAction$/,
    );
    await forget(api, name);
  },
);

const bundle = "gateway.networking.k8s.io/bundle-version";

/** Returns a definition of a protected group, as in one of its releases. */
const gatewayDefinition = (plural: string, version: string | undefined, description: string) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: {
    name: `${plural}.gateway.networking.k8s.io`,
    annotations: {
      "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api/pull/1",
      ...(version === undefined ? {} : { [bundle]: version }),
    },
  },
  spec: {
    group: "gateway.networking.k8s.io",
    scope: "Namespaced",
    names: { plural, singular: plural.slice(0, -1), kind: `${plural[0]!.toUpperCase()}${plural.slice(1, -1)}` },
    versions: [
      { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", description } } },
    ],
  },
});

inBothDomains("an upgrade guard refuses definitions of an older bundle than the one installed", async (api) => {
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const numbers = (of: string): string =>
    `${of}.metadata.annotations[variables.key].replace('v', '').split('-')[0].split('.').map(n, int(n))`;
  await enforce(
    api,
    "safe-upgrades",
    undefined,
    {
      apiGroups: ["apiextensions.k8s.io"],
      apiVersions: ["v1"],
      operations: ["UPDATE"],
      resources: ["customresourcedefinitions"],
    },
    {
      matchConditions: [{ name: "group", expression: "object.spec.group == 'gateway.networking.k8s.io'" }],
      variables: [
        { name: "key", expression: `'${bundle}'` },
        { name: "has", expression: "has(object.metadata.annotations) && variables.key in object.metadata.annotations" },
        {
          name: "had",
          expression: "has(oldObject.metadata.annotations) && variables.key in oldObject.metadata.annotations",
        },
        { name: "next", expression: numbers("object") },
        { name: "last", expression: numbers("oldObject") },
        {
          name: "older",
          expression:
            "variables.next[0] < variables.last[0] || (variables.next[0] == variables.last[0] && variables.next[1] < variables.last[1])",
        },
      ],
      validations: [
        { expression: "!variables.had || variables.has", message: "the bundle version must stay", reason: "Invalid" },
        {
          expression: "!variables.had || !variables.has || !variables.older",
          messageExpression:
            "'bundle ' + object.metadata.annotations[variables.key] + ' is older than ' + oldObject.metadata.annotations[variables.key]",
          reason: "Forbidden",
        },
      ],
    },
  );
  const path = `${definitions}/gates.gateway.networking.k8s.io`;
  (await api.post(definitions, gatewayDefinition("gates", "v1.2.1", "new"))).expect(201);
  const put = async (version: string | undefined, text: string) => {
    const resourceVersion = (await api.get(path)).string("metadata.resourceVersion");
    const next = gatewayDefinition("gates", version, text);
    return api.put(path, { ...next, metadata: { ...next.metadata, resourceVersion } });
  };
  (await put("v1.1.0", "old")).expectFailure(403, "Forbidden", /bundle v1\.1\.0 is older than v1\.2\.1$/);
  (await put(undefined, "none")).expectFailure(422, "Invalid", /the bundle version must stay$/);
  (await put("v1.2.0-rc1", "same minor")).expect(200);
  (await put("v1.10.0", "newer")).expect(200);
  (await api.delete(path)).expect(200);
  await forget(api, "safe-upgrades");
});
