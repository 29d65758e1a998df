/** General rules: objects over HTTP, vendor names, object names. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { patchTypes } from "../client.ts";
import { Api, domains, eventually, gated, openServer, suite, temporaryFolder } from "../harness.ts";
import { attributesClass, attributesClasses, claim, claimTemplate, namespaces } from "../objects.ts";
import { absent, present } from "../view.ts";

const inBothDomains = suite();

inBothDomains("an object that was created can be read at its path [GEN-01]", async (api) => {
  const { ns, claims } = await api.createNamespace();
  const created = (await api.post(claims, claim("c1"))).expect(201);
  (await api.get(`${claims}/c1`)).expect(200, {
    "metadata.uid": created.string("metadata.uid"),
    "metadata.name": "c1",
    "metadata.namespace": ns,
  });
});

for (const domain of domains) {
  const differs = process.env["TEST_SERVER"] === undefined ? false : "starts its own server";
  test(`${domain}: state outlives the process [GEN-02] [GEN-03]`, { skip: differs }, async () => {
    const dataDir = join(temporaryFolder(), "data");
    const settings = { ...gated, storage: "disk", dataDir } as const;
    const first = await openServer(domain, settings);
    const api = new Api(first);
    const { claims } = await api.createNamespace();
    const created = (await api.post(claims, claim("c1", {}, { labels: { a: "1" } }))).expect(201);
    await first.close();

    const second = await openServer(domain, settings);
    try {
      (await new Api(second).get(`${claims}/c1`)).expect(200, {
        "metadata.uid": created.string("metadata.uid"),
        "metadata.resourceVersion": created.string("metadata.resourceVersion"),
        "metadata.labels": { a: "1" },
      });
    } finally {
      await second.close();
    }
  });
}

inBothDomains("vendor names are those of the domain, everywhere [GEN-04]", async (api) => {
  const { claims } = await api.createNamespace();
  (await api.get("/apis/rbac.authorization.k8s.io/v1/clusterroles")).expect(200, { kind: "ClusterRoleList" });
  (await api.post(claims, claim("c1", {}, { finalizers: ["example.com/x"] }))).expect(201);
  const groups = (await api.get("/apis")).expect(200).list("groups");
  const vendors = groups.map((group) => group.string("name")).filter((name) => name.includes("."));
  assert.ok(vendors.length > 5, `few groups: ${vendors.join(" ")}`);
  for (const name of vendors) assert.ok(name.endsWith(`.${api.domain}`), `${name} is no group of ${api.domain}`);
  if (api.domain === "k8s.io") return;
  const texts = ["/apis", "/api/v1", "/openapi/v3", `${claims}/c1`, claims, `${namespaces}?limit=50`];
  for (const path of [...texts, "/apis/rbac.authorization.k8s.io/v1/clusterroles?limit=50"]) {
    const answer = (await api.get(path)).expect(200);
    assert.doesNotMatch(answer.text, /k8s\.io|kubernetes\.io/, path);
  }
  (await api.get("/apis/rbac.authorization.k8s.io/v1/clusterroles", { literal: true })).expect(404);
});

inBothDomains("the release can be read at /version [GEN-06]", async (api) => {
  (await api.get("/version")).expect(200, { major: "1", minor: /^32\+?$/, gitVersion: /^v1\.32\./, platform: present });
});

inBothDomains("documents of one type are refused to whoever wants another [MEDIA-20]", async (api) => {
  const names = { "/version": "application/json", "/version/": "application/json" };
  const issuer = {
    "/.well-known/openid-configuration": names["/version"],
    "/openid/v1/jwks": "application/jwk-set+json",
  };
  for (const [path, type] of Object.entries({ ...names, ...issuer })) {
    for (const accept of ["*/*", `text/html, ${type};q=0.1`, ""]) {
      const answer = (await api.get(path, { accept })).expect(200);
      assert.equal(answer.headers["content-type"], type);
    }
    for (const accept of ["text/html", "application/*"]) {
      const message = `406: Not Acceptable\n\nAvailable representations: ${type}`;
      (await api.get(path, { accept })).expectFailure(406, "NotAcceptable", message);
    }
    const answer = (await api.get(path, { accept: "application/vnd.kubernetes.protobuf" })).expect(406);
    assert.equal(answer.headers["content-type"], "application/vnd.kubernetes.protobuf");
  }
});

inBothDomains("discovery lists versions, groups and resources [GEN-07]", async (api) => {
  (await api.get("/api")).expect(200, { kind: "APIVersions", versions: ["v1"] });
  (await api.get("/apis")).expect(200, {
    kind: "APIGroupList",
    apiVersion: "v1",
    "groups[name=storage.k8s.io].preferredVersion.groupVersion": "storage.k8s.io/v1",
  });
  (await api.get("/apis/storage.k8s.io")).expect(200, { kind: "APIGroup", name: "storage.k8s.io" });
  (await api.get("/api/v1")).expect(200, {
    kind: "APIResourceList",
    groupVersion: "v1",
    "resources[name=persistentvolumeclaims].kind": "PersistentVolumeClaim",
    "resources[name=persistentvolumeclaims].namespaced": true,
    "resources[name=persistentvolumeclaims].shortNames": ["pvc"],
    "resources[name=persistentvolumeclaims].singularName": "persistentvolumeclaim",
    "resources[name=persistentvolumeclaims].verbs": [
      "create",
      "delete",
      "deletecollection",
      "get",
      "list",
      "patch",
      "update",
      "watch",
    ],
    "resources[name=persistentvolumeclaims/status].verbs": ["get", "patch", "update"],
    "resources[name=namespaces].namespaced": false,
  });
  (await api.get("/apis/resource.k8s.io/v1beta1")).expect(200, {
    kind: "APIResourceList",
    groupVersion: "resource.k8s.io/v1beta1",
    "resources[name=resourceclaimtemplates].kind": "ResourceClaimTemplate",
  });
});

inBothDomains("an operation that is no object cannot be read [GEN-08]", async (api) => {
  const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  (await api.get(path)).expectFailure(405, "MethodNotAllowed");
});

inBothDomains("every operation answers 401 to bad credentials [GEN-09]", async (api) => {
  const { claims } = await api.createNamespace();
  (await api.post(claims, claim("c1"))).expect(201);
  const bad = { as: "no-such-token" };
  const answers = [
    await api.get(`${claims}/c1`, bad),
    await api.get(claims, bad),
    await api.get(`${claims}?watch=true`, bad),
    await api.get("/api/v1/persistentvolumeclaims", bad),
    await api.post(claims, claim("c2"), bad),
    await api.put(`${claims}/c1`, claim("c1"), bad),
    await api.patch(`${claims}/c1`, {}, patchTypes.merge, bad),
    await api.delete(`${claims}/c1`, undefined, bad),
    await api.delete(claims, undefined, bad),
    await api.get(`${claims}/c1/status`, bad),
    await api.put(`${claims}/c1/status`, claim("c1"), bad),
    await api.patch(`${claims}/c1/status`, {}, patchTypes.merge, bad),
  ];
  for (const answer of answers) answer.expectFailure(401, "Unauthorized", "Unauthorized");
  (await api.get(claims)).expect(200, { "items.length": 1 });
});

inBothDomains("a request acts on one object, never on several [GEN-10]", async (api) => {
  const { claims } = await api.createNamespace();
  const list = { kind: "PersistentVolumeClaimList", apiVersion: "v1", items: [claim("c1"), claim("c2")] };
  (await api.post(claims, list)).expectFailure(400, "BadRequest");
  (await api.get(claims)).expect(200, { items: [] });
});

inBothDomains("an object without a name is refused [NAME-01]", async (api) => {
  const { claims } = await api.createNamespace();
  const { name: _, ...metadata } = { name: "", labels: { a: "1" } };
  (await api.post(claims, { ...claim("x"), metadata })).expectFailure(
    422,
    "Invalid",
    /metadata\.name: Required value: name or generateName is required/,
    { "details.causes[field=metadata.name].reason": "FieldValueRequired" },
  );
});

inBothDomains("a second create is refused and changes nothing [NAME-02]", async (api) => {
  const { claims } = await api.createNamespace();
  const first = (await api.post(claims, claim("c1"))).expect(201);
  (await api.post(claims, claim("c1", {}, { labels: { a: "2" } }))).expectFailure(
    409,
    "AlreadyExists",
    'persistentvolumeclaims "c1" already exists',
    { details: { name: "c1", kind: "persistentvolumeclaims" } },
  );
  const now = (await api.get(`${claims}/c1`)).expect(200);
  assert.deepEqual(now.value, first.value);
});

inBothDomains("the same name may be used in two namespaces [NAME-03]", async (api) => {
  const one = await api.createNamespace();
  const two = await api.createNamespace();
  const first = (await api.post(one.claims, claim("c1"))).expect(201);
  const second = (await api.post(two.claims, claim("c1"))).expect(201);
  assert.notEqual(first.string("metadata.uid"), second.string("metadata.uid"));
});

inBothDomains("two kinds may use one name in one namespace [NAME-04]", async (api) => {
  const { claims, templates } = await api.createNamespace();
  (await api.post(claims, claim("x"))).expect(201);
  (await api.post(templates, claimTemplate("x"))).expect(201);
});

inBothDomains("a name is unique in the cluster for a cluster-scoped kind [NAME-05]", async (api) => {
  const name = api.unique();
  (await api.post(attributesClasses, attributesClass(name))).expect(201);
  (await api.post(attributesClasses, attributesClass(name))).expectFailure(
    409,
    "AlreadyExists",
    `volumeattributesclasses.storage.k8s.io "${name}" already exists`,
  );
});

inBothDomains("the name of a deleted object can be used again [NAME-06]", async (api) => {
  const { configMaps, claims } = await api.createNamespace();
  const first = (await api.post(claims, claim("c1"))).expect(201);
  (await api.delete(`${claims}/c1`)).expect(200);
  await eventually(async () => {
    (await api.patch(`${claims}/c1`, { metadata: { finalizers: null } })).expect([200, 404]);
    (await api.get(`${claims}/c1`)).expect(404);
  });
  const second = (await api.post(claims, claim("c1"))).expect(201);
  assert.notEqual(second.string("metadata.uid"), first.string("metadata.uid"));
  (await api.get(configMaps)).expect(200);
});

inBothDomains(
  "deleting a namespace deletes what is in it, then the namespace [NAME-07]",
  async (api) => {
    const { ns, claims, configMaps, templates } = await api.createNamespace();
    (await api.post(claims, claim("c1"))).expect(201);
    (await api.post(templates, claimTemplate("t1"))).expect(201);
    (await api.post(configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m1" } })).expect(201);
    (await api.delete(`${namespaces}/${ns}`)).expect(200, {
      kind: "Namespace",
      "metadata.deletionTimestamp": present,
      "status.phase": "Terminating",
    });
    await eventually(async () => {
      (await api.get(`${claims}/c1`)).expect(404);
      (await api.get(`${templates}/t1`)).expect(404);
      (await api.get(`${configMaps}/m1`)).expect(404);
      (await api.get(`${namespaces}/${ns}`)).expectFailure(404, "NotFound", `namespaces "${ns}" not found`);
    });
    (await api.post(claims, claim("c1"))).expectFailure(404, "NotFound", `namespaces "${ns}" not found`);
  },
  { differs: "the reference has no controller that empties namespaces" },
);

inBothDomains("a terminating namespace takes no new objects [NAME-07]", async (api) => {
  const { ns, configMaps } = await api.createNamespace();
  (
    await api.post(configMaps, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "m1", finalizers: ["example.com/hold"] },
    })
  ).expect(201);
  (await api.delete(`${namespaces}/${ns}`)).expect(200);
  (await api.post(configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m2" } })).expectFailure(
    403,
    "Forbidden",
    `configmaps "m2" is forbidden: unable to create new content in namespace ${ns} because it is being terminated`,
    { "details.causes.0.reason": "NamespaceTerminating" },
  );
  (await api.patch(`${configMaps}/m1`, { metadata: { finalizers: null } })).expect([200, 404]);
});

inBothDomains("the namespaces of the system are there and stay [NAME-07]", async (api) => {
  for (const name of ["default", "kube-system", "kube-public", "kube-node-lease"]) {
    (await api.get(`${namespaces}/${name}`)).expect(200, { "status.phase": "Active" });
  }
  for (const name of ["default", "kube-system", "kube-public"]) {
    (await api.delete(`${namespaces}/${name}`)).expectFailure(
      403,
      "Forbidden",
      `namespaces "${api.name(name)}" is forbidden: this namespace may not be deleted`,
    );
  }
});

inBothDomains("a name that is no DNS subdomain is refused [NAME-08]", async (api) => {
  const { claims } = await api.createNamespace();
  const bad = ["Bad_Name", "-a", "a-", "a..b", ".a", "A", "a b", "ü", "a".repeat(254)];
  for (const name of bad) {
    (await api.post(claims, claim(name))).expectFailure(422, "Invalid", /metadata\.name: Invalid value/, {
      "details.causes[field=metadata.name].reason": "FieldValueInvalid",
    });
  }
  for (const name of ["a", "0", "a.b", "a-b.c0", "a".repeat(253)]) {
    (await api.post(claims, claim(name))).expect(201, { "metadata.name": name });
  }
  (await api.get(claims)).expect(200, { "items.length": 5 });
});

inBothDomains("a body that names another object than the path is refused [NAME-09]", async (api) => {
  const { claims } = await api.createNamespace();
  const other = await api.createNamespace();
  const { value } = (await api.post(claims, claim("c1"))).expect(201);
  const current = value as { metadata: Record<string, unknown> };
  const renamed = { ...current, metadata: { ...current.metadata, name: "c2" } };
  (await api.put(`${claims}/c1`, renamed)).expectFailure(
    400,
    "BadRequest",
    "the name of the object (c2) does not match the name on the URL (c1)",
  );
  const moved = { ...current, metadata: { ...current.metadata, namespace: other.ns } };
  // The namespace comes first.
  for (const name of ["c1", "c2"]) {
    const body = { ...moved, metadata: { ...moved.metadata, name } };
    for (const answer of [await api.put(`${claims}/c1`, body), await api.patch(`${claims}/c1`, body)])
      answer.expectFailure(
        400,
        "BadRequest",
        "the namespace of the provided object does not match the namespace sent on the request",
      );
  }
  (await api.post(claims, claim("c3", {}, { namespace: other.ns }))).expectFailure(
    400,
    "BadRequest",
    "the namespace of the provided object does not match the namespace sent on the request",
  );
  (await api.get(claims)).expect(200, { "items.length": 1 });
});

inBothDomains("a create in a namespace that is not there is refused [NAME-10]", async (api) => {
  (await api.post("/api/v1/namespaces/nope/persistentvolumeclaims", claim("c1"))).expectFailure(
    404,
    "NotFound",
    'namespaces "nope" not found',
    { details: { name: "nope", kind: "namespaces" }, "metadata.continue": absent },
  );
});
