/** RBAC: default roles and their restoration, aggregation, escalation, access reviews, and explanations. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { type Answer, patchTypes, type SendOptions } from "../client.ts";
import { Api, eventually, gated, openServer, suite, temporaryFolder, withOwnServer } from "../harness.ts";
import { configMap } from "../objects.ts";

const inBothDomains = suite();

const group = "rbac.authorization.k8s.io";
const rbac = `/apis/${group}/v1`;
const apiVersion = `${group}/v1`;

interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

const rule = (verbs: string, resources: string, apiGroup = "", names?: readonly string[]): Rule => ({
  verbs: verbs.split(" "),
  apiGroups: [apiGroup],
  resources: resources.split(" "),
  ...(names === undefined ? {} : { resourceNames: names }),
});
const role = (name: string, ...rules: Rule[]): object => ({ apiVersion, kind: "Role", metadata: { name }, rules });
const clusterRole = (name: string, rules: readonly Rule[], more: object = {}): object => ({
  apiVersion,
  kind: "ClusterRole",
  metadata: { name },
  rules,
  ...more,
});
const user = (name: string): object => ({ kind: "User", apiGroup: group, name });
const binding = (kind: string, name: string, roleKind: string, roleName: string, ...subjects: object[]): object => ({
  apiVersion,
  kind,
  metadata: { name },
  roleRef: { apiGroup: group, kind: roleKind, name: roleName },
  subjects,
});
const impersonate = (name: string): SendOptions => ({ headers: { "impersonate-user": name } });

/** Grants a user rules in a namespace. */
async function grant(api: Api, ns: string, name: string, ...rules: Rule[]): Promise<void> {
  const key = api.unique("grant");
  (await api.post(`${rbac}/namespaces/${ns}/roles`, role(key, ...rules))).expect(201);
  const bound = binding("RoleBinding", key, "Role", key, user(name));
  (await api.post(`${rbac}/namespaces/${ns}/rolebindings`, bound)).expect(201);
}

/** Grants a user rules everywhere. */
async function grantAll(api: Api, name: string, ...rules: Rule[]): Promise<void> {
  const key = api.unique("grant");
  (await api.post(`${rbac}/clusterroles`, clusterRole(key, rules))).expect(201);
  const bound = binding("ClusterRoleBinding", key, "ClusterRole", key, user(name));
  (await api.post(`${rbac}/clusterrolebindings`, bound)).expect(201);
}

inBothDomains(
  "default roles and bindings are there when the server is ready [RBAC-26] [RBAC-27] [RBAC-30] [RBAC-31] [RBAC-32]",
  async (api) => {
    (await api.get("/readyz/poststarthook/rbac/bootstrap-roles")).expect(200);
    const marked = "labelSelector=kubernetes.io/bootstrapping%3Drbac-defaults";
    const count = async (path: string): Promise<number> =>
      (await api.get(`${path}?${marked}`)).expect(200).list("items").length;
    assert.ok((await count(`${rbac}/clusterroles`)) >= 60);
    assert.ok((await count(`${rbac}/clusterrolebindings`)) >= 45);
    assert.equal(await count(`${rbac}/roles`), 7);
    assert.equal(await count(`${rbac}/rolebindings`), 7);
    (await api.get(`${rbac}/clusterrolebindings/system:basic-user`)).has({
      "subjects.0.name": "system:authenticated",
      "roleRef.name": "system:basic-user",
    });
    for (const name of ["cluster-admin", "admin", "edit", "view", "system:node", "system:controller:job-controller"]) {
      (await api.get(`${rbac}/clusterroles/${name}`)).expect(200);
    }
    (await api.get(`${rbac}/clusterroles/system:service-account-issuer-discovery`)).has({
      "rules.0.nonResourceURLs": [
        "/.well-known/openid-configuration",
        "/.well-known/openid-configuration/",
        "/openid/v1/jwks",
        "/openid/v1/jwks/",
      ],
    });
    (await api.get(`${rbac}/clusterroles/system:controller:namespace-controller`)).has({
      "rules.2.verbs": ["delete", "deletecollection", "get", "list", "watch"],
    });
  },
);

inBothDomains("a user bound to cluster-admin may do everything [RBAC-31]", async (api) => {
  const { ns } = await api.createNamespace();
  const name = api.unique("root");
  const bound = binding("ClusterRoleBinding", name, "ClusterRole", "cluster-admin", user(name));
  (await api.post(`${rbac}/clusterrolebindings`, bound)).expect(201);
  (await api.get(`${rbac}/clusterroles`, impersonate(name))).expect(200);
  (await api.get("/metrics", impersonate(name))).expect(200);
  const own = role("any", rule("*", "*", "*"));
  (await api.post(`${rbac}/namespaces/${ns}/roles`, own, impersonate(name))).expect(201);
});

withOwnServer(
  "what default roles lost comes back at the next start, unless they say otherwise [RBAC-28] [RBAC-29]",
  {},
  async (own) => {
    const dataDir = join(temporaryFolder(), "data");
    const settings = { storage: "disk", dataDir } as const;
    const autoupdate = own.name("rbac.authorization.kubernetes.io/autoupdate");
    const server = await openServer(own.domain, settings);
    try {
      const api = new Api(server);
      const cut = { rules: [], metadata: { labels: null } };
      for (const name of ["system:basic-user", "system:discovery"]) {
        (await api.patch(`${rbac}/clusterroles/${name}`, cut)).expect(200);
      }
      const stays = { metadata: { annotations: { [autoupdate]: "false" } } };
      (await api.patch(`${rbac}/clusterroles/system:discovery`, stays)).expect(200);
      (
        await api.patch(`${rbac}/clusterroles/system:node-problem-detector`, { rules: [rule("get", "secrets")] })
      ).expect(200);
      (await api.patch(`${rbac}/clusterrolebindings/system:basic-user`, { subjects: [user("extra")] })).expect(200);
      (await api.delete(`${rbac}/clusterroles/view`)).expect(200);
      const moved = "system:public-info-viewer";
      (await api.delete(`${rbac}/clusterrolebindings/${moved}`)).expect(200);
      const elsewhere = binding("ClusterRoleBinding", moved, "ClusterRole", "view", user("x"));
      (await api.post(`${rbac}/clusterrolebindings`, elsewhere)).expect(201);
    } finally {
      await server.close();
    }
    const again = await openServer(own.domain, settings);
    try {
      const api = new Api(again);
      (await api.get(`${rbac}/clusterroles/system:basic-user`)).has({
        "rules.length": 3,
        "metadata.labels[kubernetes.io/bootstrapping]": "rbac-defaults",
      });
      (await api.get(`${rbac}/clusterroles/system:discovery`)).expect(200, { rules: null });
      // Additions of users stay beside restored parts.
      const rules = (await api.get(`${rbac}/clusterroles/system:node-problem-detector`)).at("rules") as readonly Rule[];
      assert.ok(rules.length > 1);
      assert.ok(JSON.stringify(rules).includes("secrets"));
      (await api.get(`${rbac}/clusterrolebindings/system:basic-user`)).has({
        "subjects.0.name": "extra",
        "subjects.1.name": "system:authenticated",
      });
      (await api.get(`${rbac}/clusterrolebindings/system:public-info-viewer`)).has({
        "roleRef.name": "system:public-info-viewer",
        "subjects.length": 2,
      });
      await eventually(async () => {
        assert.ok((await api.get(`${rbac}/clusterroles/view`)).expect(200).list("rules").length > 5);
      });
    } finally {
      await again.close();
    }
  },
);

inBothDomains(
  "what a binding gives is there when the write is answered, and gone when its removal is [RBAC-01]",
  async (api) => {
    const { ns } = await api.createNamespace();
    const maps = `/api/v1/namespaces/${ns}/configmaps`;
    (await api.post(`${rbac}/namespaces/${ns}/roles`, role("r", rule("list", "configmaps")))).expect(201);
    for (let round = 0; round < 20; round++) {
      (
        await api.post(`${rbac}/namespaces/${ns}/rolebindings`, binding("RoleBinding", "b", "Role", "r", user("quick")))
      ).expect(201);
      (await api.get(maps, impersonate("quick"))).expect(200);
      if (round % 2 === 0) (await api.delete(`${rbac}/namespaces/${ns}/rolebindings/b`)).expect(200);
      else (await api.delete(`${rbac}/namespaces/${ns}/rolebindings`)).expect(200);
      (await api.get(maps, impersonate("quick"))).expect(403);
    }
  },
);

/** The ways to write an object, each for a user with the verbs that it needs. */
const writers: readonly [
  name: string,
  verbs: string,
  send: (api: Api, path: string, name: string, body: object, as: SendOptions) => Promise<Answer>,
][] = [
  ["create", "create", (api, path, _name, body, as) => api.post(path, body, as)],
  ["create on update", "update create", (api, path, name, body, as) => api.put(`${path}/${name}`, body, as)],
  [
    "apply",
    "patch create",
    (api, path, name, body, as) => api.patch(`${path}/${name}?fieldManager=m`, body, patchTypes.apply, as),
  ],
];

const changers: readonly [
  name: string,
  verbs: string,
  send: (api: Api, path: string, body: object, as: SendOptions) => Promise<Answer>,
][] = [
  ["update", "update get", (api, path, body, as) => api.put(path, body, as)],
  ["merge patch", "patch", (api, path, body, as) => api.patch(path, body, patchTypes.merge, as)],
  ["strategic merge patch", "patch", (api, path, body, as) => api.patch(path, body, patchTypes.strategic, as)],
  [
    "JSON patch",
    "patch",
    (api, path, body, as) =>
      api.patch(path, [{ op: "add", path: "/rules", value: (body as { rules: unknown }).rules }], patchTypes.json, as),
  ],
  [
    "apply",
    "patch",
    (api, path, body, as) => api.patch(`${path}?fieldManager=m&force=true`, body, patchTypes.apply, as),
  ],
];

const notHeld =
  /is attempting to grant RBAC permissions not currently held:\n\{APIGroups:\[""\], Resources:\["secrets"\], Verbs:\["get"\]\}$/;

for (const [how, verbs, send] of writers) {
  inBothDomains(
    `${how}: a role or binding beyond one's rights is refused, and nothing is written [AUTHZ-25] [AUTHZ-26]`,
    async (api) => {
      const { ns } = await api.createNamespace();
      const who = api.unique("author");
      const as = impersonate(who);
      const [roles, bindings] = [`${rbac}/namespaces/${ns}/roles`, `${rbac}/namespaces/${ns}/rolebindings`];
      await grant(api, ns, who, rule(verbs, "roles rolebindings", group), rule("get", "configmaps"));
      (await send(api, roles, "within", role("within", rule("get", "configmaps")), as)).expect(201);
      (await send(api, roles, "beyond", role("beyond", rule("get", "secrets")), as)).expectFailure(
        403,
        "Forbidden",
        notHeld,
      );
      (await api.get(`${roles}/beyond`)).expect(404);
      (await api.post(roles, role("secrets", rule("get", "secrets")))).expect(201);
      const bindRole = (name: string, to: string): object => binding("RoleBinding", name, "Role", to, user(who));
      (await send(api, bindings, "b", bindRole("b", "within"), as)).expect(201);
      (await send(api, bindings, "c", bindRole("c", "secrets"), as)).expectFailure(403, "Forbidden", notHeld);
      (await send(api, bindings, "d", bindRole("d", "gone"), as)).expectFailure(
        404,
        "NotFound",
        `rolebindings.${group} "gone" not found`,
      );
      const admin = binding("RoleBinding", "e", "ClusterRole", "cluster-admin", user(who));
      (await send(api, bindings, "e", admin, as)).expectFailure(403, "Forbidden");
      for (const name of ["c", "d", "e"]) (await api.get(`${bindings}/${name}`)).expect(404);
    },
  );
}

for (const [how, verbs, send] of changers) {
  inBothDomains(`${how}: a role does not grow beyond the rights of whoever changes it [AUTHZ-26]`, async (api) => {
    const { ns } = await api.createNamespace();
    const who = api.unique("author");
    await grant(api, ns, who, rule(verbs, "roles", group), rule("get", "configmaps"));
    const path = `${rbac}/namespaces/${ns}/roles/r`;
    (await api.post(`${rbac}/namespaces/${ns}/roles`, role("r", rule("get", "configmaps")))).expect(201);
    const grown = role("r", rule("get", "configmaps"), rule("get", "secrets"));
    (await send(api, path, grown, impersonate(who))).expectFailure(403, "Forbidden", notHeld);
    (await api.get(path)).has({ "rules.length": 1 });
    (await send(api, path, role("r", rule("get", "configmaps")), impersonate(who))).expect(200);
  });
}

inBothDomains(
  "roles and bindings that cannot be are refused in 1.32's words [AUTHRES-41] [AUTHRES-47] [AUTHRES-48] [AUTHRES-49] [RBAC-07] [RBAC-08] [RBAC-09]",
  async (api) => {
    const { ns } = await api.createNamespace();
    const invalid = async (path: string, body: object, ...findings: string[]): Promise<void> => {
      const list = findings.length === 1 ? findings[0]! : `[${findings.join(", ")}]`;
      (await api.post(`${rbac}/${path}`, body)).expectFailure(
        422,
        "Invalid",
        new RegExp(`: ${RegExp.escape(api.name(list))}$`),
      );
    };
    const [roles, bindings] = [`namespaces/${ns}/roles`, `namespaces/${ns}/rolebindings`];
    const urls = 'rules[0].nonResourceURLs: Invalid value: ["/x"]: ';
    const path: Rule = { verbs: ["get"], nonResourceURLs: ["/x"] };
    await invalid(roles, role("r", path), `${urls}namespaced rules cannot apply to non-resource URLs`);
    await invalid(
      "clusterroles",
      clusterRole("r", [{ ...rule("get", "pods"), ...path }]),
      `${urls}rules cannot apply to both regular resources and non-resource URLs`,
    );
    // A mistake in an update is one cause.
    const noVerbs = "Required value: verbs must contain at least one value";
    (await api.post(`${rbac}/${roles}`, role("r", rule("get", "pods")))).expect(201);
    (await api.put(`${rbac}/${roles}/r`, role("r", { ...rule("get", "pods"), verbs: [] }))).expect(422, {
      message: `Role.${group} "r" is invalid: rules[0].verbs: ${noVerbs}`,
      "details.causes": [{ reason: "FieldValueRequired", message: noVerbs, field: "rules[0].verbs" }],
    });
    const selectors = [{ matchExpressions: [{ key: "a", operator: "Like" }] }];
    const at = "aggregationRule.clusterRoleSelectors[0]";
    await invalid(
      "clusterroles",
      clusterRole("r", [], { aggregationRule: { clusterRoleSelectors: selectors } }),
      `${at}.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator`,
      `${at}: Invalid value: "null": invalid label selector.`,
    );
    await invalid(
      bindings,
      binding("RoleBinding", "b", "Role", "a/b%"),
      `roleRef.name: Invalid value: "a/b%": may not contain '/'`,
      `roleRef.name: Invalid value: "a/b%": may not contain '%'`,
    );
    await invalid(
      "clusterrolebindings",
      binding("ClusterRoleBinding", "b", "Role", "r", { kind: "ServiceAccount", name: "a", apiGroup: "x" }),
      'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
      'subjects[0].apiGroup: Unsupported value: "x": supported values: ""',
      "subjects[0].namespace: Required value",
    );
    (await api.post(`${rbac}/${bindings}`, binding("RoleBinding", "b", "Role", "r"))).expect(201);
    const shown = `rbac.RoleRef{APIGroup:"${api.name(group)}", Kind:"ClusterRole", Name:"r"}`;
    (await api.patch(`${rbac}/${bindings}/b`, { roleRef: { kind: "ClusterRole" } })).expectFailure(
      422,
      "Invalid",
      `RoleBinding.${group} "b" is invalid: roleRef: Invalid value: ${shown}: cannot change roleRef`,
    );
  },
);

inBothDomains("a rule that lacks its lists is refused as such, not as a broken server [AUTHRES-41]", async (api) => {
  const { ns } = await api.createNamespace();
  const who = api.unique("author");
  await grant(api, ns, who, rule("create", "roles", group), rule("get", "configmaps"));
  for (const rules of [[{}], [null], [{ apiGroups: [""], resources: ["secrets"], verbs: null }]]) {
    const body = { ...role("r"), rules };
    (await api.post(`${rbac}/namespaces/${ns}/roles`, body, impersonate(who))).expectFailure(
      422,
      "Invalid",
      /rules\[0\]\.verbs: Required value: verbs must contain at least one value/,
    );
  }
});

inBothDomains(
  "subjects are added to a binding only by users who hold the permissions of its role [AUTHZ-25]",
  async (api) => {
    const { ns } = await api.createNamespace();
    const who = api.unique("binder");
    await grant(api, ns, who, rule("get update patch", "rolebindings", group));
    (await api.post(`${rbac}/namespaces/${ns}/roles`, role("r", rule("get", "secrets")))).expect(201);
    (await api.post(`${rbac}/namespaces/${ns}/rolebindings`, binding("RoleBinding", "b", "Role", "r"))).expect(201);
    const path = `${rbac}/namespaces/${ns}/rolebindings/b`;
    const joins = { subjects: [user(who)] };
    (await api.patch(path, joins, patchTypes.merge, impersonate(who))).expectFailure(403, "Forbidden", notHeld);
    (await api.patch(path, { metadata: { labels: { a: "b" } } }, patchTypes.merge, impersonate(who))).expectFailure(
      403,
      "Forbidden",
    );
    // A change that garbage collection needs does not give rights.
    (await api.patch(path, { metadata: { finalizers: ["example.com/f"] } }, patchTypes.merge, impersonate(who))).expect(
      200,
    );
    (await api.patch(path, { metadata: { finalizers: null } }, patchTypes.merge, impersonate(who))).expect(200);
    await grant(api, ns, who, rule("bind", "roles", group, ["r"]));
    (await api.patch(path, joins, patchTypes.merge, impersonate(who))).expect(200);
  },
);

inBothDomains(
  "aggregation cannot be used to gain permissions, nor to give them to others [AUTHZ-26] [AUTHRES-44]",
  async (api) => {
    const who = api.unique("gatherer");
    await grantAll(api, who, rule("create update patch get", "clusterroles", group), rule("get", "configmaps"));
    const aggregationRule = { clusterRoleSelectors: [{}] };
    const name = api.unique("sum");
    (
      await api.post(`${rbac}/clusterroles`, clusterRole(name, [], { aggregationRule }), impersonate(who))
    ).expectFailure(
      403,
      "Forbidden",
      `clusterroles.${group} "${name}" is forbidden: must have cluster-admin privileges to use the aggregationRule`,
    );
    (
      await api.patch(
        `${rbac}/clusterroles/view`,
        { metadata: { labels: { a: "b" } } },
        patchTypes.merge,
        impersonate(who),
      )
    ).expectFailure(403, "Forbidden");
    // The user cannot keep aggregated rights by ending the aggregation either.
    const selector = { matchLabels: { [`example.com/${name}`]: "yes" } };
    const sum = clusterRole(name, [], { aggregationRule: { clusterRoleSelectors: [selector] } });
    (await api.post(`${rbac}/clusterroles`, sum)).expect(201);
    (await api.put(`${rbac}/clusterroles/${name}`, clusterRole(name, []), impersonate(who))).expectFailure(
      403,
      "Forbidden",
      /must have cluster-admin privileges to use the aggregationRule$/,
    );
    const feeds = {
      ...clusterRole(api.unique("part"), [rule("get", "secrets")]),
      metadata: { name: api.unique("part"), labels: { "rbac.authorization.k8s.io/aggregate-to-view": "true" } },
    };
    (await api.post(`${rbac}/clusterroles`, feeds, impersonate(who))).expectFailure(403, "Forbidden", notHeld);
  },
);

inBothDomains(
  "a role that gathers holds what it selects, in order, and nothing else [AUTHRES-44] [AUTHRES-45] [AUTHRES-46]",
  async (api) => {
    const name = api.unique("sum");
    const labels = { [`example.com/${name}`]: "yes" };
    const part = (suffix: string, ...rules: Rule[]): object => ({
      ...clusterRole(name, rules),
      metadata: { name: `${name}-${suffix}`, labels },
    });
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: labels }] };
    (await api.post(`${rbac}/clusterroles`, part("b", rule("get", "b"), rule("get", "both")))).expect(201);
    (await api.post(`${rbac}/clusterroles`, clusterRole(name, [rule("*", "*", "*")], { aggregationRule }))).expect(201);
    (await api.post(`${rbac}/clusterroles`, part("a", rule("get", "both"), rule("get", "a")))).expect(201);
    const holds = (...resources: string[]): Promise<void> =>
      eventually(async () => {
        const rules = ((await api.get(`${rbac}/clusterroles/${name}`)).expect(200).at("rules") ??
          []) as readonly Rule[];
        assert.deepEqual(
          rules.flatMap((one) => one.resources ?? []),
          resources,
        );
      });
    await holds("both", "a", "b");
    (await api.patch(`${rbac}/clusterroles/${name}`, { rules: [rule("*", "*", "*")] })).expect(200);
    await holds("both", "a", "b");
    (await api.delete(`${rbac}/clusterroles/${name}-a`)).expect(200);
    await holds("b", "both");
    (await api.patch(`${rbac}/clusterroles/${name}-b`, { rules: [rule("get", "c")] })).expect(200);
    await holds("c");
    (await api.patch(`${rbac}/clusterroles/${name}-b`, { metadata: { labels: null } })).expect(200);
    await holds();
  },
);

inBothDomains("a refusal tells nothing about what there is [AUTHZ-07]", async (api) => {
  const { ns } = await api.createNamespace();
  const maps = `/api/v1/namespaces/${ns}/configmaps`;
  (await api.post(maps, configMap("there"))).expect(201);
  const messages = new Set<string>();
  for (const name of ["there", "missing"]) {
    for (const send of [
      () => api.get(`${maps}/${name}`, impersonate("eve")),
      () => api.delete(`${maps}/${name}`, undefined, impersonate("eve")),
      () => api.put(`${maps}/${name}`, configMap(name), impersonate("eve")),
      () => api.patch(`${maps}/${name}`, {}, patchTypes.merge, impersonate("eve")),
    ]) {
      const answer = await send();
      messages.add(answer.expectFailure(403, "Forbidden").string("message").replaceAll(name, "NAME"));
    }
  }
  assert.equal(messages.size, 4);
  // Missing namespaces and kinds are refused in the same way.
  (await api.get("/api/v1/namespaces/no-such/configmaps/x", impersonate("eve"))).expect(403);
  (await api.get("/apis/no.such/v1/things", impersonate("eve"))).expect(403);
  (await api.post("/api/v1/namespaces/no-such/configmaps", configMap("x"), impersonate("eve"))).expect(403);
});

inBothDomains("names that look like paths do not get past a rule [RBAC-08]", async (api) => {
  const { ns } = await api.createNamespace();
  const maps = `/api/v1/namespaces/${ns}/configmaps`;
  (await api.post(maps, configMap("secret"))).expect(201);
  await grant(api, ns, "walker", rule("get", "configmaps", "", ["mine"]));
  for (const path of [
    `${maps}/mine/../secret`,
    `${maps}/mine%2F..%2Fsecret`,
    `${maps}/mine/%2e%2e/secret`,
    `${maps}//secret`,
    `${maps}/./secret`,
    `${maps}/secret/`,
    `${maps}/SECRET`,
    `/api/v1/namespaces/${ns}//configmaps/secret`,
    `/api/v1/namespaces/${ns}/configmaps/mine/../../configmaps/secret`,
  ]) {
    const answer = await api.get(path, { ...impersonate("walker"), literal: true });
    assert.ok(answer.status >= 300, `${path}: ${answer.status}`);
  }
});

inBothDomains(
  "reviews answer about the user, and about others only with permission [REVIEW-06] [REVIEW-07] [REVIEW-08] [AUTHRES-13] [AUTHRES-16] [AUTHRES-17]",
  async (api) => {
    const { ns } = await api.createNamespace();
    await grant(api, ns, "reader", rule("list", "configmaps"));
    const root = "/apis/authorization.k8s.io/v1";
    const review = (kind: string, spec: object, metadata: object = {}): object => ({
      apiVersion: "authorization.k8s.io/v1",
      kind,
      metadata,
      spec,
    });
    const resourceAttributes = { namespace: ns, verb: "list", resource: "configmaps" };
    const self = review("SelfSubjectAccessReview", { resourceAttributes });
    (await api.post(`${root}/selfsubjectaccessreviews`, self, impersonate("reader"))).expect(201, {
      "status.allowed": true,
    });
    (await api.post(`${root}/selfsubjectaccessreviews`, self, impersonate("other"))).expect(201, {
      status: { allowed: false },
    });
    const about = review("SubjectAccessReview", { resourceAttributes, user: "reader" });
    (await api.post(`${root}/subjectaccessreviews`, about)).expect(201, { "status.allowed": true });
    (await api.post(`${root}/subjectaccessreviews`, about, impersonate("reader"))).expect(403);
    const local = review("LocalSubjectAccessReview", { resourceAttributes, user: "reader" }, { namespace: ns });
    (await api.post(`${root}/namespaces/${ns}/localsubjectaccessreviews`, local)).expect(201, {
      "status.allowed": true,
    });
    const elsewhere = review("LocalSubjectAccessReview", {
      resourceAttributes: { ...resourceAttributes, namespace: "x" },
      user: "reader",
    });
    (await api.post(`${root}/namespaces/${ns}/localsubjectaccessreviews`, elsewhere)).expectFailure(422, "Invalid");
    // Reviews are not stored, so they cannot be read.
    (await api.get(`${root}/subjectaccessreviews`)).expectFailure(405, "MethodNotAllowed");
  },
);

inBothDomains("decisions are explained to users with permission", async (api) => {
  const { ns } = await api.createNamespace();
  await grant(api, ns, "reader", rule("get list", "configmaps"));
  const ask = (query: string, as?: SendOptions): Promise<Answer> => api.get(`/debug/access?${query}`, as);
  const about = `user=reader&resource=configmaps&namespace=${ns}`;
  const yes = (await ask(`${about}&verb=list`)).expect(200, { decision: "allow", allowed: true });
  assert.match(
    yes.string("explanation"),
    /^RBAC: allowed by RoleBinding "grant-\w+\/ns-\w+" of Role "grant-\w+" to User "reader", rule 0 \{/,
  );
  const no = (await ask(`${about}&verb=delete&name=x`)).expect(200, { decision: "noOpinion", allowed: false });
  assert.match(no.string("explanation"), /no rule allows it; nearest is rule 0 .* which lacks verb "delete"$/);
  (await ask("user=stranger&verb=get&path=/metrics")).has({ allowed: false, "user.groups.0": "system:authenticated" });
  (await ask("verb=get&path=/metrics")).has({
    allowed: true,
    explanation: /^members of system:masters may do everything; /,
  });
  for (const [query, message] of [
    ["resource=x", "verb is required"],
    ["verb=get", "exactly one of resource and path is required"],
    ["verb=get&resource=x&path=/y", "exactly one of resource and path is required"],
    ["verb=get&resource=x&color=red", 'unknown parameter "color"'],
    ["verb=get&resource=x&user=a&user=b", "user is given more than once"],
  ] as const) {
    (await ask(query)).expectFailure(400, "BadRequest", message);
  }
  (await ask(`${about}&verb=list`, impersonate("reader"))).expectFailure(
    403,
    "Forbidden",
    'forbidden: User "reader" cannot get path "/debug/access"',
  );
  const who = api.unique("explainer");
  await grantAll(api, who, { verbs: ["get"], nonResourceURLs: ["/debug/access"] });
  (await ask(`${about}&verb=list`, impersonate(who))).expect(200, { allowed: true });
});

for (const [mode, allowed, denied] of [
  ["AlwaysAllow", 200, 200],
  ["AlwaysDeny", 403, 403],
  ["RBAC,AlwaysAllow", 200, 200],
] as const) {
  withOwnServer(
    `--authorization-mode=${mode} [AUTHZ-28] [AUTHZ-29] [AUTHZ-34] [AUTHZ-52]`,
    { ...gated, authorizationMode: mode.split(",") },
    async (api) => {
      (await api.get("/apis", { as: "bob" })).expect(allowed);
      (await api.get("/api/v1/configmaps", { as: "bob" })).expect(denied);
      (await api.get("/api/v1/configmaps")).expect(200);
    },
  );
}

inBothDomains("names with the reserved prefix are taken, and mean no more than others [RBAC-23]", async (api) => {
  const { ns } = await api.createNamespace();
  (await api.post(`${rbac}/namespaces/${ns}/roles`, role("system:of-mine", rule("get", "configmaps")))).expect(201);
  const bound = binding("RoleBinding", "system:b", "Role", "system:of-mine", user("system:somebody"));
  (await api.post(`${rbac}/namespaces/${ns}/rolebindings`, bound)).expect(201);
  (await api.get(`/api/v1/namespaces/${ns}/configmaps/x`, impersonate("system:somebody"))).expect(404);
});

inBothDomains("a user who may create pods can mount any secret of the namespace [RBAC-33]", async (api) => {
  const { ns } = await api.createNamespace();
  (
    await api.post(`/api/v1/namespaces/${ns}/secrets`, { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } })
  ).expect(201);
  await grant(api, ns, "maker", rule("create", "pods"));
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: {
      automountServiceAccountToken: false,
      containers: [{ name: "c", image: "example.com/i" }],
      volumes: [{ name: "v", secret: { secretName: "s" } }],
    },
  };
  (await api.get(`/api/v1/namespaces/${ns}/secrets/s`, impersonate("maker"))).expect(403);
  await eventually(async () => {
    (await api.post(`/api/v1/namespaces/${ns}/pods`, pod, impersonate("maker"))).expect(201);
  });
});

withOwnServer("roles that gather are not touched by a restart [AUTHRES-45]", {}, async (own) => {
  const settings = { storage: "disk", dataDir: join(temporaryFolder(), "data") } as const;
  const names = ["admin", "edit", "view"];
  const stateOf = (api: Api): Promise<unknown[]> =>
    Promise.all(
      names.map(async (name) => {
        const answer = (await api.get(`${rbac}/clusterroles/${name}`)).expect(200);
        return [answer.list("rules").length, answer.string("metadata.resourceVersion")];
      }),
    );
  /** Waits until the controller has aggregated a role of the test, and so all roles before. */
  const waitForRules = async (api: Api, name: string): Promise<void> => {
    const labels = { [`example.com/${name}`]: "yes" };
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: labels }] };
    (await api.post(`${rbac}/clusterroles`, clusterRole(name, [], { aggregationRule }))).expect(201);
    const part = { ...clusterRole(name, [rule("get", "x")]), metadata: { name: `${name}-part`, labels } };
    (await api.post(`${rbac}/clusterroles`, part)).expect(201);
    await eventually(async () => {
      (await api.get(`${rbac}/clusterroles/${name}`)).has({ "rules.length": 1 });
    });
  };
  const server = await openServer(own.domain, settings);
  const first = new Api(server);
  await waitForRules(first, "one");
  const before = await eventually(async () => {
    const now = await stateOf(first);
    await waitForRules(first, first.unique("again"));
    assert.deepEqual(await stateOf(first), now);
    return now;
  });
  await server.close();
  const restarted = await openServer(own.domain, settings);
  try {
    const api = new Api(restarted);
    await waitForRules(api, "two");
    assert.deepEqual(await stateOf(api), before);
  } finally {
    await restarted.close();
  }
});
