/**
 * Users who write an admission policy or a binding need permission to read its parameters, since messages could show
 * them to anybody.
 */
import assert from "node:assert/strict";
import { type Answer, patchTypes, type SendOptions } from "../client.ts";
import { type Api, eventually, gated, suite } from "../harness.ts";
import { configMap } from "../objects.ts";

const inBothDomains = suite({
  ...gated,
  featureGates: [...(gated.featureGates ?? []), "MutatingAdmissionPolicy=true"],
  runtimeConfig: [
    ...(gated.runtimeConfig ?? []),
    "admissionregistration.k8s.io/v1alpha1=true",
    "admissionregistration.k8s.io/v1beta1=true",
  ],
});

const group = "admissionregistration.k8s.io";
const rbac = "/apis/rbac.authorization.k8s.io/v1";

/** A kind of policies in a version. */
interface Way {
  readonly kind: "Validating" | "Mutating";
  readonly version: string;
}
const validating: Way = { kind: "Validating", version: "v1" };
const mutating: Way = { kind: "Mutating", version: "v1alpha1" };
const ways: readonly Way[] = [validating, { kind: "Validating", version: "v1beta1" }, mutating];

const policies = ({ kind, version }: Way) => `/apis/${group}/${version}/${kind.toLowerCase()}admissionpolicies`;
const bindings = ({ kind, version }: Way) => `/apis/${group}/${version}/${kind.toLowerCase()}admissionpolicybindings`;

const secrets = { apiVersion: "v1", kind: "Secret" };

function policy({ kind, version }: Way, name: string, paramKind?: object, more: object = {}): object {
  const content =
    kind === "Validating"
      ? { validations: [{ expression: "true" }] }
      : {
          reinvocationPolicy: "Never",
          mutations: [
            {
              patchType: "JSONPatch",
              jsonPatch: { expression: '[JSONPatch{op: "add", path: "/metadata/labels/x", value: "y"}]' },
            },
          ],
        };
  const resourceRules = [
    { apiGroups: ["nowhere.example.com"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["nothings"] },
  ];
  return {
    apiVersion: `${group}/${version}`,
    kind: `${kind}AdmissionPolicy`,
    metadata: { name },
    spec: {
      ...(paramKind === undefined ? {} : { paramKind }),
      matchConstraints: { resourceRules },
      ...content,
      ...more,
    },
  };
}

function binding({ kind, version }: Way, name: string, policyName: string, paramRef?: object): object {
  return {
    apiVersion: `${group}/${version}`,
    kind: `${kind}AdmissionPolicyBinding`,
    metadata: { name },
    spec: {
      policyName,
      ...(kind === "Validating" ? { validationActions: ["Deny"] } : {}),
      ...(paramRef === undefined ? {} : { paramRef: { parameterNotFoundAction: "Deny", ...paramRef } }),
    },
  };
}

/** Grants a user rules everywhere, or in a namespace. Returns the paths of the created objects. */
async function grant(api: Api, user: string, rules: readonly object[], ns?: string): Promise<void> {
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const name = api.unique("grant");
  const [base, scope] = ns === undefined ? [rbac, "Cluster"] : [`${rbac}/namespaces/${ns}`, ""];
  const plural = scope.toLowerCase();
  const role = { apiVersion, kind: `${scope}Role`, metadata: { name }, rules };
  (await api.post(`${base}/${plural}roles`, role)).expect(201);
  (
    await api.post(`${base}/${plural}rolebindings`, {
      apiVersion,
      kind: `${scope}RoleBinding`,
      metadata: { name },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: `${scope}Role`, name },
      subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: user }],
    })
  ).expect(201);
}

/** Creates a user who may write policies, bindings and config maps, and nothing else. */
async function author(api: Api): Promise<{ readonly name: string; readonly as: SendOptions; readonly shown: string }> {
  const name = api.unique("eve");
  await grant(api, name, [
    { apiGroups: [group], resources: ["*"], verbs: ["get", "create", "update", "patch"] },
    { apiGroups: [""], resources: ["configmaps"], verbs: ["create"] },
  ]);
  const headers = { "impersonate-user": name, "impersonate-group": "crew", "impersonate-extra-scope": "s" };
  return { name, as: { headers }, shown: `&{${name}  [crew system:authenticated] map[scope:[s]]}` };
}

/** Expects the refusal of 1.32. */
function expectRefusal(answer: Answer, of: string, name: string, field: string, why: string): void {
  const text = `${of}.${group} "${name}" is invalid: ${field}: Forbidden: ${why}`;
  answer.expectFailure(422, "Invalid", text);
  answer.has({
    "details.name": name,
    "details.kind": of,
    "details.causes.0.reason": "FieldValueForbidden",
    "details.causes.0.field": field,
    "details.causes.0.message": `Forbidden: ${why}`,
  });
}

inBothDomains("a policy does not show its author a secret that he may not read", async (api) => {
  const { ns, configMaps: maps } = await api.createNamespace();
  const eve = await author(api);
  const name = api.unique("reader");
  (
    await api.post(`/api/v1/namespaces/${ns}/secrets`, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "db" },
      stringData: { password: "hunter2" },
    })
  ).expect(201);
  const reading = policy(validating, name, secrets, {
    matchConstraints: {
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": ns } },
      resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
    },
    validations: [{ expression: "object.metadata.name != 'x'", messageExpression: "string(params.data.password)" }],
  });
  const bound = binding(validating, name, name, { name: "db", namespace: ns });
  (await api.post(policies(validating), reading, eve.as)).expectFailure(422, "Invalid");
  (await api.post(bindings(validating), bound, eve.as)).expectFailure(422, "Invalid");
  // A policy that somebody else created does not help either.
  (await api.post(policies(validating), reading)).expect(201);
  (await api.post(bindings(validating), bound, eve.as)).expectFailure(422, "Invalid");
  for (const selector of [{}, { matchLabels: { a: "b" } }]) {
    const chosen = binding(validating, name, name, { selector, namespace: ns });
    (await api.post(bindings(validating), chosen, eve.as)).expectFailure(422, "Invalid");
  }
  (await api.post(maps, configMap("x"), eve.as)).expect(201);
});

for (const way of ways) {
  const [{ kind, version }, of] = [way, `${way.kind}AdmissionPolicy`];
  inBothDomains(`every write of a policy checks a new paramKind: ${kind} ${version}`, async (api) => {
    const eve = await author(api);
    const name = api.unique("p");
    const path = policies(way);
    const why = (paramKind: string, apiVersion: string) =>
      `user ${eve.shown} must have "get" permission on all objects of the referenced paramKind (kind=${paramKind}, apiVersion=${apiVersion})`;
    const no = (answer: Answer): void => expectRefusal(answer, of, name, "spec.paramKind", why("Secret", "v1"));
    no(await api.post(path, policy(way, name, secrets), eve.as));
    no(await api.post(`${path}?dryRun=All`, policy(way, name, secrets), eve.as));
    no(await api.patch(`${path}/${name}?fieldManager=a`, policy(way, name, secrets), patchTypes.apply, eve.as));
    // A large request is handled in a thread.
    const long = `'${"x".repeat(1200)}' != ''`;
    const large = { variables: Array.from({ length: 60 }, (_, i) => ({ name: `v${i}`, expression: long })) };
    no(await api.post(path, policy(way, name, secrets, large), eve.as));
    for (const [paramKind, apiVersion] of [
      ["Bar", "foo.example.com/v1"],
      ["Bar", "v1"],
      ["Deployment", "apps/v1beta1"],
    ] as const) {
      const unknown = policy(way, name, { apiVersion, kind: paramKind });
      expectRefusal(await api.post(path, unknown, eve.as), of, name, "spec.paramKind", why(paramKind, apiVersion));
    }
    // Other findings precede this one, and are reported alone.
    const wrong = policy(way, name, secrets, { failurePolicy: "No" });
    (await api.post(path, wrong, eve.as)).expectFailure(
      422,
      "Invalid",
      /is invalid: spec\.failurePolicy: Unsupported value: "No"[^\]]*$/,
    );

    (await api.post(path, policy(way, name), eve.as)).expect(201);
    const adds = { spec: { paramKind: secrets } };
    no(await api.patch(`${path}/${name}`, adds, patchTypes.merge, eve.as));
    no(await api.patch(`${path}/${name}`, adds, patchTypes.strategic, eve.as));
    no(
      await api.patch(
        `${path}/${name}`,
        [{ op: "add", path: "/spec/paramKind", value: secrets }],
        patchTypes.json,
        eve.as,
      ),
    );
    for (const dryRun of ["", "?dryRun=All"]) {
      no(
        await eventually(async () => {
          // A controller writes the types to the status meanwhile.
          const resourceVersion = (await api.get(`${path}/${name}`)).string("metadata.resourceVersion");
          const next = { ...policy(way, name, secrets), metadata: { name, resourceVersion } };
          const answer = await api.put(`${path}/${name}${dryRun}`, next, eve.as);
          assert.notEqual(answer.status, 409);
          return answer;
        }),
      );
    }

    // Names that an administrator allowed stay, and may go.
    (await api.patch(`${path}/${name}`, adds)).expect(200);
    (await api.patch(`${path}/${name}`, { metadata: { labels: { a: "b" } } }, patchTypes.merge, eve.as)).expect(200);
    (await api.patch(`${path}/${name}`, { spec: { failurePolicy: "Ignore" } }, patchTypes.merge, eve.as)).expect(200);
    const other = { spec: { paramKind: { apiVersion: "v1", kind: "ConfigMap" } } };
    const refusal = why("ConfigMap", "v1");
    expectRefusal(
      await api.patch(`${path}/${name}`, other, patchTypes.merge, eve.as),
      of,
      name,
      "spec.paramKind",
      refusal,
    );
    (await api.patch(`${path}/${name}`, { spec: { paramKind: null } }, patchTypes.merge, eve.as)).expect(200);

    // The right to read some of the secrets is not enough; the right to read all is.
    await grant(api, eve.name, [{ apiGroups: [""], resources: ["secrets"], resourceNames: ["db"], verbs: ["get"] }]);
    await grant(api, eve.name, [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }], api.name("kube-system"));
    no(await api.patch(`${path}/${name}`, adds, patchTypes.merge, eve.as));
    await grant(api, eve.name, [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }]);
    (await api.patch(`${path}/${name}`, adds, patchTypes.merge, eve.as)).expect(200);
    (await api.delete(`${path}/${name}`)).expect(200);
  });

  inBothDomains(`every write of a binding checks its paramRef: ${kind} ${version}`, async (api) => {
    const eve = await author(api);
    const [read, none, unknown] = [api.unique("read"), api.unique("none"), api.unique("unknown")];
    (await api.post(policies(way), policy(way, read, secrets))).expect(201);
    (await api.post(policies(way), policy(way, none))).expect(201);
    (await api.post(policies(way), policy(way, unknown, { apiVersion: "foo.example.com/v1", kind: "Bar" }))).expect(
      201,
    );
    const name = api.unique("b");
    const path = bindings(way);
    const ns = api.name("kube-system");
    const no = (answer: Answer, why: string): void => expectRefusal(answer, `${of}Binding`, name, "spec.paramRef", why);
    // 1.32 exchanges user and verb in the message about a mutating policy.
    const lacks = (verb: string): string => {
      const [who, what] = kind === "Mutating" ? [verb, eve.shown] : [eve.shown, verb];
      return `user ${who} does not have "${what}" permission on the object referenced by paramRef`;
    };
    const all = (what: string, verb: string): string =>
      `unable to ${what} to determine minimum required permissions and user ${eve.shown} does not have "${verb}" permission for all groups, versions and resources`;
    const tryBinding = (policyName: string, ref: object) => api.post(path, binding(way, name, policyName, ref), eve.as);
    const byName = { name: "db", namespace: ns };
    const bySelector = { selector: { matchLabels: { a: "b" } } };
    for (const policyName of [read, none]) {
      no(await tryBinding(policyName, byName), lacks("get"));
      no(await tryBinding(policyName, { name: "db" }), lacks("get"));
      no(await tryBinding(policyName, bySelector), lacks("list"));
      no(await tryBinding(policyName, { ...bySelector, namespace: ns }), lacks("list"));
    }
    no(await tryBinding("missing", byName), all("get policy missing", "get"));
    no(await tryBinding("missing", bySelector), all("get policy missing", "list"));
    const kindless = "resolve paramKind &{foo.example.com/v1 Bar}";
    no(await tryBinding(unknown, byName), all(kindless, "get"));
    (await tryBinding(read, { ...byName, selector: {} })).expectFailure(422, "Invalid", /mutually exclusive/);

    (await api.post(path, binding(way, name, read), eve.as)).expect(201);
    const adds = { spec: { paramRef: { ...byName, parameterNotFoundAction: "Deny" } } };
    no(await api.patch(`${path}/${name}`, adds, patchTypes.merge, eve.as), lacks("get"));
    no(await api.patch(`${path}/${name}?dryRun=All`, adds, patchTypes.merge, eve.as), lacks("get"));
    const applied = binding(way, name, read, byName);
    const forced = `${path}/${name}?fieldManager=a&force=true`;
    no(await api.patch(forced, applied, patchTypes.apply, eve.as), lacks("get"));
    (await api.patch(`${path}/${name}`, adds)).expect(200);
    // 1.32 checks every update of a binding with a reference.
    const label = { metadata: { labels: { a: "b" } } };
    no(await api.patch(`${path}/${name}`, label, patchTypes.merge, eve.as), lacks("get"));

    const readable = [{ apiGroups: [""], resources: ["secrets"], resourceNames: ["db"], verbs: ["get"] }];
    await grant(api, eve.name, readable, ns);
    (await api.patch(`${path}/${name}`, label, patchTypes.merge, eve.as)).expect(200);
    no(await tryBinding(read, { name: "db" }), lacks("get"));
    no(await tryBinding(read, { name: "other", namespace: ns }), lacks("get"));
    no(await tryBinding(read, { ...bySelector, namespace: ns }), lacks("list"));
    await grant(api, eve.name, [{ apiGroups: [""], resources: ["secrets"], verbs: ["list"] }], ns);
    no(await tryBinding(read, bySelector), lacks("list"));
    const elsewhere = { ...bySelector, namespace: ns };
    (await api.post(`${path}?dryRun=All`, binding(way, `${name}2`, read, elsewhere), eve.as)).expect(201);
    (await api.patch(`${path}/${name}`, { spec: { paramRef: null } }, patchTypes.merge, eve.as)).expect(200);
    for (const policyName of [read, none, unknown]) (await api.delete(`${policies(way)}/${policyName}`)).expect(200);
    (await api.delete(`${path}/${name}`)).expect(200);
  });
}

inBothDomains("administrators read everything anyway", async (api) => {
  for (const way of ways) {
    const name = api.unique("admin");
    (await api.post(policies(way), policy(way, name, { apiVersion: "foo.example.com/v1", kind: "Bar" }))).expect(201);
    const answer = (await api.post(bindings(way), binding(way, name, "missing", { selector: {} }))).expect(201);
    assert.equal(answer.string("spec.policyName"), "missing");
    (await api.delete(`${bindings(way)}/${name}`)).expect(200);
    (await api.delete(`${policies(way)}/${name}`)).expect(200);
  }
});
