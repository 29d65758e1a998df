/** Known attacks on access control of other servers. SECURITY.md lists the test of each class. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemRandom } from "#std/random.ts";
import { asTable, patchTypes, type SendOptions } from "../client.ts";
import { crds, definition } from "../crds.ts";
import { Api, domains, eventually, gated, openServer, suite } from "../harness.ts";
import { configMap } from "../objects.ts";

const inBothDomains = suite();

const group = "rbac.authorization.k8s.io";
const rbac = `/apis/${group}/v1`;

interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
}

const core = (verbs: string, resource: string, ...resourceNames: string[]): Rule => ({
  apiGroups: [""],
  resources: [resource],
  verbs: verbs.split(" "),
  ...(resourceNames.length === 0 ? {} : { resourceNames }),
});
const ofRoles = (verbs: string): Rule => ({ apiGroups: [group], resources: ["roles"], verbs: verbs.split(" ") });
const role = (name: string, rules: readonly Rule[], metadata: object = {}): object => ({
  apiVersion: `${group}/v1`,
  kind: "Role",
  metadata: { name, ...metadata },
  rules,
});
const impersonate = (name: string): SendOptions => ({ headers: { "impersonate-user": name } });

/** Creates a user with these rules in a namespace. */
async function userWith(api: Api, ns: string, ...rules: Rule[]): Promise<SendOptions> {
  const name = api.unique("user");
  (await api.post(`${rbac}/namespaces/${ns}/roles`, role(name, rules))).expect(201);
  const binding = {
    apiVersion: `${group}/v1`,
    kind: "RoleBinding",
    metadata: { name },
    roleRef: { apiGroup: group, kind: "Role", name },
    subjects: [{ kind: "User", apiGroup: group, name }],
  };
  (await api.post(`${rbac}/namespaces/${ns}/rolebindings`, binding)).expect(201);
  return impersonate(name);
}

const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
const selfReviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

const skip = process.env["TEST_SERVER"] === undefined ? false : "starts servers of its own";

for (const domain of domains) {
  test(`${domain}: nothing the server makes up for itself lets anybody in from outside`, { skip }, async () => {
    const drawn: Buffer[] = [];
    const random = {
      ...systemRandom,
      bytes(count: number): Buffer {
        const bytes = systemRandom.bytes(count);
        drawn.push(bytes);
        return bytes;
      },
    };
    const server = await openServer(domain, gated, { random });
    const api = new Api(server);
    try {
      const words = drawn.flatMap((bytes) => [bytes.toString("base64url"), bytes.toString("hex")]);
      const good: string[] = [];
      for (const word of words) {
        const answer = await api.get("/api/v1/nodes", { as: word, headers: { "user-agent": "binnacle-controllers" } });
        if (answer.status === 200) good.push(word);
        else answer.expectFailure(401, "Unauthorized");
      }
      // Only the administrator's token works, which is in the data folder for its owner: so the tried texts are the
      // right ones.
      assert.equal(good.length, 1);
      const self = await api.post(selfReviews, review, { as: good[0]! });
      self.expect(201, { "status.userInfo.username": "admin" });
    } finally {
      api.close();
      await server.close();
    }
  });
}

inBothDomains(
  "headers by which proxies speak of other paths, methods and addresses change no decision",
  async (api) => {
    const { ns } = await api.createNamespace();
    const maps = `/api/v1/namespaces/${ns}/configmaps`;
    (await api.post(maps, configMap("a"))).expect(201);
    const { headers: who } = await userWith(api, ns, core("get", "configmaps", "a"));
    for (const [name, value] of [
      ["X-Forwarded-Uri", `${maps}/a`],
      ["X-Original-Uri", `${maps}/a`],
      ["X-Original-Url", `${maps}/a`],
      ["X-Rewrite-Url", `${maps}/a`],
      ["X-Forwarded-Prefix", `${maps}/a`],
      ["X-Http-Method-Override", "GET"],
      ["X-Forwarded-For", "127.0.0.1"],
      ["Forwarded", "for=127.0.0.1;host=localhost"],
    ] as const) {
      const as = { headers: { ...who, [name]: value } };
      (await api.get(`${maps}/b`, as)).expectFailure(403, "Forbidden");
      (await api.delete(`${maps}/a`, undefined, as)).expectFailure(403, "Forbidden");
      (await api.get(`${maps}/a`, as)).expect(200, { "metadata.name": "a" });
    }
  },
);

inBothDomains("of two tokens in one request the first alone counts", async (api) => {
  const both = (first: string, second: string): SendOptions => ({
    as: "nobody",
    headers: { authorization: [`Bearer ${first}`, `Bearer ${second}`] },
  });
  (await api.post(selfReviews, review, both("alice-token", "admin-token"))).expect(201, {
    "status.userInfo.username": "alice",
  });
  (await api.post(selfReviews, review, both("wrong", "admin-token"))).expectFailure(401, "Unauthorized");
  const joined = { as: "nobody", headers: { authorization: "Bearer alice-token, Bearer admin-token" } };
  (await api.post(selfReviews, review, joined)).expectFailure(401, "Unauthorized");
});

inBothDomains("an update or apply that would create takes the right to create", async (api) => {
  const { ns } = await api.createNamespace();
  const roles = `${rbac}/namespaces/${ns}/roles`;
  const send = {
    update: (as: SendOptions) => api.put(`${roles}/new`, role("new", []), as),
    apply: (as: SendOptions) => api.patch(`${roles}/new?fieldManager=m`, role("new", []), patchTypes.apply, as),
  };
  const writer = await userWith(api, ns, ofRoles("update patch get"));
  // A name in a rule applies to existing objects only.
  const named = await userWith(api, ns, ofRoles("update patch"), { ...ofRoles("create"), resourceNames: ["other"] });
  for (const as of [writer, named]) {
    for (const way of [send.update, send.apply]) {
      (await way(as)).expectFailure(403, "Forbidden", /cannot create resource "roles" in API group/);
      (await api.get(`${roles}/new`)).expect(404);
    }
  }
  const creator = await userWith(api, ns, ofRoles("update patch create"));
  for (const way of [send.update, send.apply]) {
    (await way(creator)).expect(201);
    (await api.delete(`${roles}/new`)).expect(200);
  }
});

inBothDomains(
  "a user with all verbs on roles may also grant permissions that he does not hold [RBAC-17]",
  async (api) => {
    const { ns } = await api.createNamespace();
    const roles = `${rbac}/namespaces/${ns}/roles`;
    const wanted = role("wide", [core("get", "secrets")]);
    (await api.post(roles, wanted, await userWith(api, ns, ofRoles("create get update patch delete")))).expectFailure(
      403,
      "Forbidden",
      /not currently held/,
    );
    (await api.post(roles, wanted, await userWith(api, ns, ofRoles("*")))).expect(201);
  },
);

inBothDomains("a user who may read one object sees no other, by any kind of request", async (api) => {
  const { ns } = await api.createNamespace();
  const maps = `/api/v1/namespaces/${ns}/configmaps`;
  for (const name of ["mine", "other"]) (await api.post(maps, configMap(name, { k: "v" }))).expect(201);
  const as = await userWith(api, ns, core("get list watch deletecollection", "configmaps", "mine"));
  const one = "fieldSelector=metadata.name%3Dmine";
  (await api.get(`${maps}?${one}`, as)).expect(200, { "items.length": 1 });
  for (const query of [
    "",
    "?resourceVersion=0",
    "?limit=1",
    "?limit=1&continue=x",
    "?fieldSelector=metadata.name%3Dother",
    "?fieldSelector=metadata.name%3Dmine,metadata.name%3Dother",
    `?${one}&fieldSelector=metadata.name%3Dother`,
    "?fieldSelector=metadata.name!%3Dmine",
    "?labelSelector=metadata.name%3Dmine",
    "?watch=true&timeoutSeconds=1",
    "?watch=true&timeoutSeconds=1&resourceVersion=0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
    "?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dother",
  ]) {
    for (const accept of [undefined, asTable, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"]) {
      const answer = await api.get(maps + query, { ...as, ...(accept === undefined ? {} : { accept }) });
      // Contradicting selectors may find nothing, but never the other object.
      if (answer.status === 200) assert.ok(!answer.text.includes("other"), `${query}: ${answer.text}`);
      else answer.expectFailure(403, "Forbidden");
    }
  }
  for (const path of [
    `/api/v1/watch/namespaces/${ns}/configmaps`,
    `/api/v1/watch/namespaces/${ns}/configmaps/other`,
    `/api/v1/configmaps?${one}`,
    `/api/v1/namespaces/${ns}/configmaps/other`,
  ]) {
    (await api.get(path, as)).expectFailure(403, "Forbidden");
  }
  (await api.delete(`${maps}?fieldSelector=metadata.name%3Dother`, undefined, as)).expectFailure(403, "Forbidden");
  (await api.delete(maps, undefined, as)).expectFailure(403, "Forbidden");
  (await api.get(`${maps}/other`)).expect(200);
});

inBothDomains(
  "a write is admitted against what is stored when it is made, not what was stored before (CVE-2021-25735)",
  async (api) => {
    const { ns } = await api.createNamespace();
    const roles = `${rbac}/namespaces/${ns}/roles`;
    const as = await userWith(api, ns, ofRoles("get update patch"));
    // Users may change the finalizers of a role with more rights than their own. A write that is judged by an older
    // state would restore rights.
    const wide = [core("get", "secrets")];
    const finalizers = ["example.com/f"];
    for (let round = 0; round < 15; round++) {
      const name = `r${round}`;
      (await api.post(roles, role(name, wide))).expect(201);
      const old = { rules: wide, metadata: { finalizers } };
      const [narrowed, ...answers] = await Promise.all([
        api.patch(`${roles}/${name}`, { rules: [] }),
        api.put(`${roles}/${name}`, role(name, wide, { finalizers }), as),
        api.patch(`${roles}/${name}`, old, patchTypes.merge, as),
        api.patch(`${roles}/${name}`, old, patchTypes.strategic, as),
      ]);
      narrowed.expect(200);
      for (const answer of answers) answer.expect([200, 403]);
      (await api.get(`${roles}/${name}`)).expect(200, { rules: null });
      (await api.patch(`${roles}/${name}`, old, patchTypes.merge, as)).expectFailure(
        403,
        "Forbidden",
        /not currently held/,
      );
    }
  },
);

inBothDomains(
  "custom resources are never objects of a built-in kind, whatever their definition is called",
  async (api) => {
    const { ns } = await api.createNamespace();
    const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    const versions = ["v1", "v9"].map((name) => ({
      name,
      served: true,
      storage: name === "v9",
      schema: { openAPIV3Schema: anything },
    }));
    const annotations = { "api-approved.kubernetes.io": "unapproved, an attack" };
    const install = async (
      of: string,
      kind: string,
      names: object,
      scope: "Cluster" | "Namespaced",
    ): Promise<string> => {
      const body = definition(of, { kind, versions, names, scope }) as { readonly metadata: { readonly name: string } };
      const plural = (names as { readonly plural?: string }).plural ?? `${kind.toLowerCase()}s`;
      const name = `${plural}.${of}`;
      (await api.post(crds, { ...body, metadata: { name, annotations } })).expect(201);
      return name;
    };
    const installed = [
      await install(group, "Role", {}, "Namespaced"),
      await install("certificates.k8s.io", "CertificateSigningRequest", {}, "Cluster"),
      await install(group, "Role", { plural: "rolez" }, "Namespaced"),
    ];
    const v9 = `/apis/${group}/v9/namespaces/${ns}`;
    const wide = role("wide", [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }]);
    (await api.post(`${v9}/roles`, { ...wide, apiVersion: `${group}/v9` })).expect(404);
    (await api.post(`/apis/${group}/v1/namespaces/${ns}/rolez`, wide)).expect(404);
    // The request forges an approval in the name of another user.
    const approved = {
      apiVersion: "certificates.k8s.io/v9",
      kind: "CertificateSigningRequest",
      metadata: { name: api.unique("csr") },
      spec: {
        signerName: "kubernetes.io/kube-apiserver-client",
        username: "admin",
        request: "",
        usages: ["client auth"],
      },
      status: { conditions: [{ type: "Approved", status: "True", reason: "x" }] },
    };
    (await api.post("/apis/certificates.k8s.io/v9/certificatesigningrequests", approved)).expect(404);
    for (const resource of [`namespaces/${ns}/roles/wide`, `namespaces/${ns}/rolez/wide`]) {
      (await api.get(`/apis/${group}/v1/${resource}`)).expect(404);
    }
    (await api.post(`${rbac}/namespaces/${ns}/roles`, role("kept", []))).expect(201);
    for (const name of installed) {
      (await api.delete(`${crds}/${name}`)).expect(200);
      await eventually(async () => (await api.get(`${crds}/${name}`)).expect(404));
    }
    (await api.get(`${rbac}/namespaces/${ns}/roles/kept`)).expect(200);
  },
);
