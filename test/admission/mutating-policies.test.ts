/** Mutating policies over HTTP: their feature gate, effective as soon as written, changes owned by the writer. */
import { type Api, gated, suite } from "../harness.ts";
import { patchTypes } from "../client.ts";
import { configMap } from "../objects.ts";

const inBothDomains = suite({
  ...gated,
  featureGates: [...(gated.featureGates ?? []), "MutatingAdmissionPolicy=true"],
  runtimeConfig: [...(gated.runtimeConfig ?? []), "admissionregistration.k8s.io/v1alpha1=true"],
});

const apiVersion = "admissionregistration.k8s.io/v1alpha1";
const registration = `/apis/${apiVersion}`;

async function enforce(api: Api, ns: string, mutations: readonly object[], more: object = {}): Promise<void> {
  const name = `change-${ns}`;
  const matchConstraints = {
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": ns } },
    resourceRules: [
      { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE", "UPDATE"], resources: ["configmaps"] },
    ],
  };
  const spec = { matchConstraints, mutations, reinvocationPolicy: "Never", ...more };
  const policy = { apiVersion, kind: "MutatingAdmissionPolicy", metadata: { name }, spec };
  (await api.post(`${registration}/mutatingadmissionpolicies`, policy)).expect(201);
  const binding = {
    apiVersion,
    kind: "MutatingAdmissionPolicyBinding",
    metadata: { name },
    spec: { policyName: name },
  };
  (await api.post(`${registration}/mutatingadmissionpolicybindings`, binding)).expect(201);
}

const apply = (expression: string): object => ({ patchType: "ApplyConfiguration", applyConfiguration: { expression } });

inBothDomains("a policy adds to what is created and changed [DRY-05]", async (api) => {
  const { ns, configMaps: maps } = await api.createNamespace();
  await enforce(api, ns, [
    apply('Object{metadata: Object.metadata{labels: {"by": request.userInfo.username}}}'),
    { patchType: "JSONPatch", jsonPatch: { expression: '[JSONPatch{op: "add", path: "/data/added", value: "yes"}]' } },
  ]);
  const changed = { "metadata.labels.by": "admin", "data.added": "yes", "data.a": "1" };
  (await api.post(`${maps}?dryRun=All`, configMap("m1", { a: "1" }))).expect(201, changed);
  (await api.post(maps, configMap("m1", { a: "1" }))).expect(201, changed);
  (await api.patch(`${maps}/m1`, { data: { added: "no" } })).expect(200, changed);
});

inBothDomains("a policy that makes what the kind has no place for refuses the write", async (api) => {
  const { ns, configMaps: maps } = await api.createNamespace();
  await enforce(api, ns, [apply('Object{nofield: "x"}')]);
  const text = `policy 'change-${ns}' with binding 'change-${ns}' denied request: error applying patch: failed to convert patch object to typed object: .nofield: field not declared in schema`;
  (await api.post(maps, configMap("m1"))).expectFailure(403, "Invalid", text);
});

inBothDomains("a policy cannot rename what an apply creates", async (api) => {
  const { ns, configMaps: maps } = await api.createNamespace();
  await enforce(api, ns, [apply('Object{metadata: Object.metadata{name: "other"}}')]);
  const text = "the name of the object (other) does not match the name on the URL (m1)";
  (await api.patch(`${maps}/m1?fieldManager=a`, configMap("m1"), patchTypes.apply)).expectFailure(
    400,
    "BadRequest",
    text,
  );
  (await api.post(maps, configMap("other"))).expect(201);
  (await api.patch(`${maps}/m1?fieldManager=a`, configMap("m1"), patchTypes.apply)).expectFailure(
    400,
    "BadRequest",
    text,
  );
});

inBothDomains(
  "mutations see variables where there are none, and fields of patches that there are none of",
  async (api) => {
    const spec = {
      matchConstraints: {
        resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }],
      },
      mutations: [
        apply("variables.x"),
        { patchType: "JSONPatch", jsonPatch: { expression: '[JSONPatch{nope: "x"}]' } },
      ],
      reinvocationPolicy: "Never",
    };
    const policy = { apiVersion, kind: "MutatingAdmissionPolicy", metadata: { name: "wrong" }, spec };
    (await api.post(`${registration}/mutatingadmissionpolicies`, policy)).expect(422, {
      "details.causes.0.message": /1:10: undefined field 'x'/,
      "details.causes.1.message": /expected type of field 'nope' is '' but provided type is 'string'/,
    });
  },
);

inBothDomains("expressions of mutations are checked when they are written", async (api) => {
  const spec = {
    matchConstraints: {
      resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["DELETE", "X"], resources: ["pods"] }],
    },
    mutations: [apply("1"), { patchType: "JSONPatch", jsonPatch: { expression: "Object{}" } }, { patchType: "X" }],
  };
  const policy = { apiVersion, kind: "MutatingAdmissionPolicy", metadata: { name: "wrong" }, spec };
  const answer = await api.post(`${registration}/mutatingadmissionpolicies`, policy);
  answer.expectFailure(422, "Invalid", undefined, {
    "details.causes.0.field": "spec.matchConstraints.resourceRules[0].operations[1]",
    "details.causes.1.message": 'Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
    "details.causes.2.message": 'Unsupported value: "X": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
    "details.causes.3.message": 'Invalid value: "1": must evaluate to Object but got int',
    "details.causes.4.message": 'Invalid value: "Object{}": must evaluate to list(JSONPatch) but got Object',
    "details.causes.5.message": 'Unsupported value: "X": supported values: "ApplyConfiguration", "JSONPatch"',
    "details.causes.6.field": "spec.reinvocationPolicy",
  });
});

inBothDomains("variables that double a list 40 times end neither the server nor its memory", async (api) => {
  const { ns, configMaps: maps } = await api.createNamespace();
  const variables = [
    { name: "v0", expression: "['x']" },
    ...Array.from({ length: 40 }, (_, at) => ({
      name: `v${at + 1}`,
      expression: `[variables.v${at}, variables.v${at}]`,
    })),
  ];
  const jsonPatch = { expression: '[JSONPatch{op: "add", path: "/data/b", value: variables.v40}]' };
  await enforce(api, ns, [{ patchType: "JSONPatch", jsonPatch }], { variables });
  const text = `policy 'change-${ns}' with binding 'change-${ns}' denied request: validation failed due to running out of cost budget, no further validation rules will be run`;
  (await api.post(maps, configMap("m1", { a: "1" }))).expectFailure(403, "Invalid", text);
});

inBothDomains("an object that a policy makes too long by copies is refused", async (api) => {
  const { ns, configMaps: maps } = await api.createNamespace();
  const copies = Array.from({ length: 20 }, (_, at) => `JSONPatch{op: "copy", from: "/data", path: "/data/c${at}"}`);
  await enforce(api, ns, [{ patchType: "JSONPatch", jsonPatch: { expression: `[${copies.join(", ")}]` } }]);
  const text = `policy 'change-${ns}' with binding 'change-${ns}' denied request: JSON Patch: copies of more than 3145728 bytes`;
  (await api.post(maps, configMap("m1", { a: "x".repeat(1000) }))).expectFailure(403, "Invalid", text);
});
