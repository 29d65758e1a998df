/** Impersonation: permissions, identities, and attempts to circumvent the checks. */
import assert from "node:assert/strict";
import type { Answer, SendOptions } from "../client.ts";
import { type Api, suite } from "../harness.ts";
import { present } from "../view.ts";

const inBothDomains = suite();
const whoAmI = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const subject = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
const rbac = "/apis/rbac.authorization.k8s.io/v1";

type Headers = NonNullable<SendOptions["headers"]>;

const ask = (api: Api, headers: Headers, as = "admin"): Promise<Answer> => api.post(whoAmI, subject, { as, headers });

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

const may = (resource: string, group = "", resourceNames?: readonly string[]): Rule => ({
  apiGroups: [group],
  resources: [resource],
  verbs: ["impersonate"],
  ...(resourceNames === undefined ? {} : { resourceNames }),
});

/** Grants a cluster role to a user or a group, and removes it at the end. */
async function grant(
  api: Api,
  whom: string | { readonly group: string },
  rules: readonly Rule[],
  run: () => Promise<void>,
): Promise<void> {
  const name = api.unique("imp");
  const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name }, rules };
  const binding = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
    subjects: [
      {
        apiGroup: "rbac.authorization.k8s.io",
        ...(typeof whom === "string" ? { kind: "User", name: whom } : { kind: "Group", name: whom.group }),
      },
    ],
  };
  (await api.post(`${rbac}/clusterroles`, role)).expect(201);
  (await api.post(`${rbac}/clusterrolebindings`, binding)).expect(201);
  try {
    await run();
  } finally {
    (await api.delete(`${rbac}/clusterrolebindings/${name}`)).expect(200);
    (await api.delete(`${rbac}/clusterroles/${name}`)).expect(200);
  }
}

const authentication = "authentication.k8s.io";
const dave = { "impersonate-user": "dave" };

inBothDomains(
  "the request runs as the user that the headers name [IMP-03] [IMP-04] [IMP-05] [IMP-07] [IMP-08] [IMP-09] [IMP-11] [AUTHRES-06] [AUTHRES-07]",
  async (api) => {
    const headers = {
      ...dave,
      "impersonate-group": ["one", "two"],
      "impersonate-uid": "any text at all",
      "Impersonate-Extra-Scopes": ["view", "edit"],
      "impersonate-extra-example.com%2Fproject": "p",
    };
    (await ask(api, headers)).expect(201, {
      "status.userInfo": {
        username: "dave",
        uid: "any text at all",
        groups: ["one", "two", "system:authenticated"],
        extra: { "example.com/project": ["p"], scopes: ["view", "edit"] },
      },
    });
    (await api.get("/api/v1/secrets", { headers: dave })).expectFailure(403, "Forbidden", /User "dave" cannot list/);
    (await api.get("/version", { headers: { "impersonate-user": "system:anonymous" } })).expect(200);
    (await api.get("/api", { headers: { "impersonate-user": "system:anonymous" } })).expect(403);
  },
);

inBothDomains("names in headers are UTF-8, and checked as what they say [IMP-04] [IMP-05] [IMP-11]", async (api) => {
  // Node writes headers as Latin-1, so these texts are the bytes of UTF-8.
  const utf8 = (text: string): string => Buffer.from(text).toString("latin1");
  const headers = {
    "impersonate-user": utf8("jürgen"),
    "impersonate-group": [utf8("größe"), "plain"],
    "impersonate-uid": utf8("字"),
    "impersonate-extra-k%C3%BC": utf8("é"),
  };
  const userInfo = {
    username: "jürgen",
    uid: "字",
    groups: ["größe", "plain", "system:authenticated"],
    extra: { kü: ["é"] },
  };
  (await ask(api, headers)).expect(201, { "status.userInfo": userInfo });
  await grant(api, "carol", [may("users", "", ["jürgen"])], async () => {
    (await ask(api, { "impersonate-user": utf8("jürgen") }, "carol")).expect(201);
    (await ask(api, { "impersonate-user": utf8("jörgen") }, "carol")).expectFailure(
      403,
      "Forbidden",
      /User "carol" cannot/,
    );
  });
  // Invalid UTF-8 is not a name.
  (await ask(api, { "impersonate-user": "j\xfcrgen" })).expect(201, { "status.userInfo.username": "j\ufffdrgen" });
});

inBothDomains(
  "the caller is authenticated first, and needs permission for each impersonated part [IMP-01] [IMP-02]",
  async (api) => {
    (await ask(api, dave, "wrong-token")).expectFailure(401, "Unauthorized");
    (await ask(api, dave, "nobody")).expectFailure(
      403,
      "Forbidden",
      'users "dave" is forbidden: User "system:anonymous" cannot impersonate resource "users" in API group "" at the cluster scope',
    );
    (await ask(api, dave, "bob")).expectFailure(403, "Forbidden", /User "bob" cannot impersonate resource "users"/);
  },
);

inBothDomains(
  "user, groups, uid and every extra value are permissions of their own [IMP-13] [IMP-14] [IMP-15] [IMP-16] [IMP-17] [IMP-18]",
  async (api) => {
    const rules = [may("users", "", ["dave"]), may("userextras/scopes", authentication, ["view"])];
    await grant(api, "carol", rules, async () => {
      const expectRefusal = async (headers: Headers, resource: string): Promise<void> =>
        void (await ask(api, headers, "carol")).expectFailure(
          403,
          "Forbidden",
          new RegExp(`User "carol" cannot impersonate resource "${resource}"`),
        );
      (await ask(api, dave, "carol")).expect(201, { "status.userInfo.username": "dave" });
      (await ask(api, { ...dave, "impersonate-extra-scopes": "view" }, "carol")).expect(201);
      await expectRefusal({ "impersonate-user": "eve" }, "users");
      await expectRefusal({ ...dave, "impersonate-group": "g" }, "groups");
      await expectRefusal({ ...dave, "impersonate-uid": "u" }, "uids");
      await expectRefusal({ ...dave, "impersonate-extra-scopes": ["view", "edit"] }, "userextras/scopes");
      await expectRefusal({ ...dave, "impersonate-extra-other": "view" }, "userextras/other");
      await expectRefusal({ "impersonate-user": "system:serviceaccount:default:robot" }, "serviceaccounts");
      // A name that is not that of an account is the name of a user.
      await expectRefusal({ "impersonate-user": "system:serviceaccount:default-:robot" }, "users");
      await expectRefusal({ "impersonate-user": "system:serviceaccount:default:a..b" }, "users");
      await expectRefusal({ "impersonate-user": "system:serviceaccount:default:robot:x" }, "users");
      // The group with all rights needs permission like any other group.
      await expectRefusal({ ...dave, "impersonate-group": "system:masters" }, "groups");
    });
    (await ask(api, dave, "carol")).expect(403);
  },
);

inBothDomains("permission in a namespace is none, but for its service accounts [IMP-15] [IMP-19]", async (api) => {
  const { ns } = await api.createNamespace();
  const name = "impersonator";
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const here = `${rbac}/namespaces/${ns}`;
  const rules = [may("users"), may("serviceaccounts")];
  (await api.post(`${here}/roles`, { apiVersion, kind: "Role", metadata: { name }, rules })).expect(201);
  const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "bob" }];
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name };
  const binding = { apiVersion, kind: "RoleBinding", metadata: { name }, roleRef, subjects };
  (await api.post(`${here}/rolebindings`, binding)).expect(201);
  (await ask(api, dave, "bob")).expect(403);
  (await ask(api, { "impersonate-user": `system:serviceaccount:${ns}:robot` }, "bob")).expect(201, {
    "status.userInfo.groups": ["system:serviceaccounts", `system:serviceaccounts:${ns}`, "system:authenticated"],
  });
  (await ask(api, { "impersonate-user": "system:serviceaccount:default:robot" }, "bob")).expect(403);
});

const own = `${authentication}/v1`;

inBothDomains("groups, uid and extra need a user to impersonate [IMP-06] [IMP-10] [IMP-12]", async (api) => {
  for (const name of ["impersonate-group", "impersonate-uid", "impersonate-extra-k"]) {
    const answer = await ask(api, { [name]: "system:masters" }, "bob");
    assert.ok(answer.status === 500 || answer.status === 403, answer.title);
    assert.ok(!answer.text.includes("userInfo"));
  }
  for (const [headers, asked] of [
    [{ "impersonate-group": ["g", "<b>"] }, "[{Group  g    } {Group  &lt;b&gt;    }]"],
    [{ "impersonate-group": "" }, "[{Group      }]"],
    [{ "impersonate-extra-Key": "x", "impersonate-uid": "u" }, `[{UserExtra  x  ${own}  key} {UID  u  ${own}  }]`],
  ] as const) {
    const { status, text } = await ask(api, headers);
    const problem = `requested ${asked} without impersonating a user`;
    assert.deepEqual([status, text], [500, `Internal Server Error: "${api.name(whoAmI)}": ${api.name(problem)}\n`]);
  }
  (await ask(api, { "impersonate-user": "" }, "bob")).expect(201, { "status.userInfo.username": "bob" });
});

inBothDomains(
  "an impersonated user cannot impersonate, and has no permission of the caller [IMP-02] [IMP-03]",
  async (api) => {
    await grant(api, "carol", [may("users", "", ["bob"])], async () => {
      // If a request names two users, the first one counts, and is the one who is checked.
      const twice = await ask(api, { "impersonate-user": ["bob", "admin"] }, "carol");
      if (twice.status === 201) twice.has({ "status.userInfo.username": "bob" });
      else twice.expect([400, 403]);
      (await ask(api, { "impersonate-user": ["admin", "bob"] }, "carol")).expect([400, 403]);
      const bob = { headers: { "impersonate-user": "bob" }, as: "carol" };
      const list = { apiGroups: [""], resources: ["secrets"], verbs: ["list"] };
      await grant(api, { group: "auditors" }, [list], async () => {
        (await api.get("/api/v1/secrets", { as: "carol" })).expect(200);
        (await api.get("/api/v1/secrets", bob)).expectFailure(403, "Forbidden", /User "bob" cannot list/);
      });
      await grant(api, "bob", [may("users")], async () => {
        // Bob may do this, but the request is Carol's, who may impersonate only Bob.
        (await ask(api, { "impersonate-user": "admin" }, "carol")).expect(403);
      });
    });
  },
);

inBothDomains("headers that look like those of impersonation are none", async (api) => {
  const likeness = {
    impersonate_user: "admin",
    impersonate_group: "system:masters",
    "x-impersonate-user": "admin",
    impersonateuser: "admin",
    "x-remote-user": "admin",
    "x-remote-group": "system:masters",
  };
  (await ask(api, likeness, "bob")).expect(201, {
    "status.userInfo.username": "bob",
    "status.userInfo.groups": ["system:authenticated"],
  });
});

inBothDomains("reviews are about whom the request runs as [AUTHRES-07]", async (api) => {
  const review = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    spec: { resourceAttributes: { verb: "list", resource: "secrets", namespace: "default" } },
  };
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  (await api.post(path, review)).expect(201, { "status.allowed": true });
  (await api.post(path, review, { headers: dave })).expect(201, { "status.allowed": false, status: present });
});
