/** Paths and methods of namespaced resources, cluster-scoped resources and subresources. */
import assert from "node:assert/strict";
import { patchTypes } from "../client.ts";
import { type Api, eventually, suite } from "../harness.ts";
import { attributesClass, attributesClasses, claim, claimTemplate, configMap, lease, namespaces } from "../objects.ts";
import { absent } from "../view.ts";

const inBothDomains = suite();

const allTemplates = "/apis/resource.k8s.io/v1beta1/resourceclaimtemplates";

async function oneClaim(api: Api, spec = {}): Promise<{ claims: string; path: string }> {
  const { claims } = await api.createNamespace();
  (await api.post(claims, claim("c1", spec))).expect(201);
  return { claims, path: `${claims}/c1` };
}

inBothDomains(
  "a cluster-scoped kind is under its group and version, an object under its name [EP-01] [EP-02]",
  async (api) => {
    const name = api.unique();
    (await api.post(attributesClasses, attributesClass(name))).expect(201);
    (await api.get(attributesClasses)).expect(200, { kind: "VolumeAttributesClassList" });
    (await api.get(`${attributesClasses}/${name}`)).expect(200, { kind: "VolumeAttributesClass" });
  },
);

inBothDomains("a sub-resource is behind the name, one object at a time [EP-03] [EP-07]", async (api) => {
  const { claims, path } = await oneClaim(api);
  (await api.get(`${path}/status`)).expect(200, { kind: "PersistentVolumeClaim" });
  (await api.get(`${claims}/status`)).expectFailure(404, "NotFound", 'persistentvolumeclaims "status" not found');
  (await api.get(`${path}/nothing`)).expectFailure(404, "NotFound", "the server could not find the requested resource");
  (await api.get(`${path}/status/more`)).expectFailure(
    404,
    "NotFound",
    "the server could not find the requested resource",
  );
});

inBothDomains("a namespaced kind is in its namespace, or of all without one [EP-04] [EP-05] [EP-17]", async (api) => {
  const one = await api.createNamespace();
  const two = await api.createNamespace();
  const label = api.unique("l");
  for (const { templates, claims } of [one, two]) {
    (await api.post(templates, claimTemplate("t1", undefined, { labels: { [label]: "1" } }))).expect(201);
    (await api.post(claims, claim("c1", {}, { labels: { [label]: "1" } }))).expect(201);
  }
  (await api.get(one.templates)).expect(200, { kind: "ResourceClaimTemplateList", "items.length": 1 });
  (await api.get(one.claims)).expect(200, { kind: "PersistentVolumeClaimList", "items.length": 1 });
  const both = [one.ns, two.ns].sort();
  for (const path of [allTemplates, "/api/v1/persistentvolumeclaims"]) {
    const all = (await api.get(`${path}?labelSelector=${label}`)).expect(200);
    assert.deepEqual(
      all.list("items").map((item) => item.string("metadata.namespace")),
      both,
    );
  }
});

inBothDomains("the core group has a prefix of its own [EP-06]", async (api) => {
  (await api.get("/api/v1/persistentvolumeclaims")).expect(200);
  (await api.get("/apis/v1/persistentvolumeclaims")).expect(404);
  (await api.get("/api/v2/persistentvolumeclaims")).expect(404);
  (await api.get("/apis/core/v1/persistentvolumeclaims")).expect(404);
});

inBothDomains("namespaces are cluster-scoped objects [EP-08] [EP-09]", async (api) => {
  const { ns } = await api.createNamespace();
  (await api.get(namespaces)).expect(200, { kind: "NamespaceList", "items.0.metadata.namespace": absent });
  (await api.get(`${namespaces}/${ns}`)).expect(200, {
    kind: "Namespace",
    "metadata.name": ns,
    "metadata.labels[kubernetes.io/metadata.name]": ns,
    "spec.finalizers": ["kubernetes"],
    "status.phase": "Active",
  });
  (await api.get(`${namespaces}/${ns}/status`)).expect(200, { kind: "Namespace" });
});

inBothDomains("a namespace goes only when its own finalizer is gone [EP-09] [DELST-03]", async (api) => {
  const { ns } = await api.createNamespace();
  const answer = (await api.get(`${namespaces}/${ns}`)).expect(200);
  const body = answer.value as Record<string, unknown>;
  (await api.put(`${namespaces}/${ns}/finalize`, { ...body, spec: { finalizers: [] } })).expect(200, {
    "spec.finalizers": absent,
  });
  (await api.get(`${namespaces}/${ns}`)).expect(200, { "status.phase": "Active" });
  await eventually(async () => (await api.delete(`${namespaces}/${ns}`)).expect(404));
});

inBothDomains("GET reads one, lists a collection, or watches it [EP-10] [EP-11] [EP-12]", async (api) => {
  const { claims, path } = await oneClaim(api);
  (await api.get(path)).expect(200, { kind: "PersistentVolumeClaim" });
  (await api.get(claims)).expect(200, { kind: "PersistentVolumeClaimList" });
  const stream = await api.watch(claims);
  (await stream.next()).has({ type: "ADDED", "object.kind": "PersistentVolumeClaim" });
});

inBothDomains("PUT of what is not there creates it, for kinds that allow it [EP-13]", async (api) => {
  const { claims, leases } = await api.createNamespace();
  (await api.put(`${claims}/none`, claim("none"))).expectFailure(
    404,
    "NotFound",
    'persistentvolumeclaims "none" not found',
  );
  (await api.put(`${leases}/l1`, lease("l1", { holderIdentity: "a" }))).expect(201, { "spec.holderIdentity": "a" });
  (await api.get(`${leases}/l1`)).expect(200);
});

inBothDomains("there is no redirect [EP-15]", async (api) => {
  const { ns } = await api.createNamespace();
  (await api.get(`/api/v1/redirect/namespaces/${ns}/pods/p`)).expect(404);
  (await api.get(`/api/v1/namespaces/${ns}/pods/p/redirect`)).expect(404);
});

inBothDomains("every kind that discovery shows has its paths [EP-16] [MEDIA-04]", async (api) => {
  const groups = (await api.get("/apis")).expect(200).list("groups");
  const versions = groups.flatMap((group) =>
    group.list("versions").map((each) => `/apis/${each.string("groupVersion")}`),
  );
  let count = 0;
  for (const base of ["/api/v1", ...versions]) {
    const resources = (await api.get(base, { literal: true }))
      .expect(200, { kind: "APIResourceList" })
      .list("resources");
    for (const resource of resources) {
      const name = resource.string("name");
      const verbs = resource.at("verbs") as string[];
      if (name.includes("/") || !verbs.includes("list")) continue;
      count++;
      const path = `${base}/${name}`;
      (await api.get(`${path}?limit=1`, { literal: true, accept: "application/json" })).expect(200, {
        kind: /List$/,
        items: (items: unknown) => Array.isArray(items),
        "metadata.resourceVersion": /^\d+$/,
      });
      const inside = resource.at("namespaced") === true ? `${base}/namespaces/default/${name}` : path;
      if (!verbs.includes("get")) continue;
      (await api.get(`${inside}/no-such-name`, { literal: true })).expectFailure(404, "NotFound", undefined, {
        "details.name": "no-such-name",
        "details.kind": name,
      });
    }
  }
  assert.ok(count > 40, `only ${count} kinds`);
});

inBothDomains("a claim is created, read and replaced as a whole [EP-18] [EP-20] [EP-21]", async (api) => {
  const { claims } = await api.createNamespace();
  const answer = (await api.post(claims, claim("c1"))).expect(201, {
    kind: "PersistentVolumeClaim",
    "metadata.name": "c1",
  });
  const body = answer.value as { metadata: object };
  const labelled = { ...body, metadata: { ...body.metadata, labels: { a: "1" } } };
  (await api.put(`${claims}/c1`, labelled)).expect(200, { kind: "PersistentVolumeClaim", "metadata.labels.a": "1" });
  (await api.get(`${claims}/c1/status`)).expect(200, {
    kind: "PersistentVolumeClaim",
    "spec.accessModes": ["ReadWriteOnce"],
    "status.phase": "Pending",
  });
});

inBothDomains("a write needs a body [EP-19] [EP-20] [EP-23]", async (api) => {
  const { claims, path } = await oneClaim(api);
  (await api.post(claims, "")).expectClientError();
  (await api.put(path, "")).expectClientError();
  for (const type of Object.values(patchTypes)) (await api.patch(path, "", type)).expectClientError();
  (await api.get(claims)).expect(200, { "items.length": 1 });
});

inBothDomains(
  "a write of the status takes the status only, one of the object all but that [EP-22] [EP-24] [PVC-03]",
  async (api) => {
    const { path } = await oneClaim(api, { storageClassName: "slow" });
    const current = (await api.get(path)).value as { spec: object };
    const changed = {
      ...current,
      spec: { ...current.spec, storageClassName: "fast" },
      status: { phase: "Bound", capacity: { storage: "1Gi" } },
    };
    (await api.put(`${path}/status`, changed)).expect(200, {
      "status.phase": "Bound",
      "status.capacity.storage": "1Gi",
      "spec.storageClassName": "slow",
    });
    const patch = { status: { phase: "Lost" }, spec: { storageClassName: "fast" } };
    (await api.patch(`${path}/status`, patch)).expect(200, { "status.phase": "Lost", "spec.storageClassName": "slow" });
    (await api.patch(path, { status: { phase: "Bound" }, metadata: { labels: { a: "1" } } })).expect(200, {
      "status.phase": "Lost",
      "metadata.labels.a": "1",
    });
  },
);

inBothDomains("a patch answers with the object [EP-23]", async (api) => {
  const { path } = await oneClaim(api);
  (await api.patch(path, { metadata: { labels: { a: "1" } } })).expect(200, {
    kind: "PersistentVolumeClaim",
    "metadata.labels": { a: "1" },
  });
});

inBothDomains("deleting a collection deletes all that match, in its namespace [EP-27]", async (api) => {
  const { configMaps } = await api.createNamespace();
  const other = await api.createNamespace();
  for (const name of ["a", "b", "c"]) (await api.post(configMaps, configMap(name))).expect(201);
  (await api.post(other.configMaps, configMap("stays"))).expect(201);
  (await api.delete(configMaps)).expect(200);
  (await api.get(configMaps)).expect(200, { items: [] });
  (await api.get(other.configMaps)).expect(200, { "items.length": 1 });
});

inBothDomains("nothing is created or deleted across namespaces [EP-28] [EP-29]", async (api) => {
  for (const path of ["/api/v1/persistentvolumeclaims", allTemplates]) {
    (await api.delete(path)).expectFailure(
      405,
      "MethodNotAllowed",
      "the server does not allow this method on the requested resource",
    );
    (await api.post(path, claim("c1"))).expectFailure(405, "MethodNotAllowed");
  }
});

inBothDomains("a claim template has every operation but those of a status [EP-30] [EP-31]", async (api) => {
  const { templates } = await api.createNamespace();
  const answer = (await api.post(templates, claimTemplate("r1"))).expect(201, { kind: "ResourceClaimTemplate" });
  (await api.get(`${templates}/r1`)).expect(200, { kind: "ResourceClaimTemplate" });
  (await api.get(templates)).expect(200, { kind: "ResourceClaimTemplateList", "items.length": 1 });
  (await api.get(allTemplates)).expect(200, { kind: "ResourceClaimTemplateList" });
  const body = answer.value as { metadata: object };
  const labelled = { ...body, metadata: { ...body.metadata, labels: { a: "1" } } };
  (await api.put(`${templates}/r1`, labelled)).expect(200, { kind: "ResourceClaimTemplate", "metadata.labels.a": "1" });
  (await api.patch(`${templates}/r1`, { metadata: { labels: { a: "2" } } })).expect(200, { "metadata.labels.a": "2" });
  (await api.get(`${templates}/r1/status`)).expect(404);
  (await api.put(`${templates}/r1/status`, answer.value)).expect(404);
  (await api.delete(`${templates}/r1`)).expect([200, 202]);
  (await api.post(templates, claimTemplate("r2"))).expect(201);
  (await api.delete(templates)).expect(200);
  (await api.get(templates)).expect(200, { items: [] });
});

inBothDomains(
  "an attributes class has every operation, no status and no namespace [EP-32] [EP-33] [EP-34]",
  async (api) => {
    const { ns } = await api.createNamespace();
    const name = api.unique();
    const path = `${attributesClasses}/${name}`;
    const answer = (await api.post(attributesClasses, attributesClass(name))).expect(201);
    const body = answer.value as { metadata: object };
    (await api.put(path, { ...body, metadata: { ...body.metadata, labels: { a: name } } })).expect(200);
    (await api.patch(path, { metadata: { annotations: { a: "2" } } })).expect(200, { "metadata.annotations.a": "2" });
    (await api.get(`${attributesClasses}?labelSelector=a%3D${name}`)).expect(200, { "items.length": 1 });
    (await api.get(`${path}/status`)).expect(404);
    (await api.get(`/apis/storage.k8s.io/v1beta1/namespaces/${ns}/volumeattributesclasses`)).expectFailure(
      404,
      "NotFound",
      "the server could not find the requested resource",
    );
    (await api.get(`/apis/storage.k8s.io/v1beta1/namespaces/${ns}/volumeattributesclasses/${name}`)).expect(404);
    (await api.delete(path)).expect([200, 202]);
    (await api.post(attributesClasses, attributesClass(name, {}, { labels: { a: name } }))).expect(201);
    (await api.delete(`${attributesClasses}?labelSelector=a%3D${name}`)).expect(200);
    (await api.get(path)).expect(404);
  },
);

inBothDomains("a missing object is told by name and kind [EP-35]", async (api) => {
  const { claims } = await api.createNamespace();
  (await api.get(`${claims}/none`)).expectFailure(404, "NotFound", 'persistentvolumeclaims "none" not found', {
    details: { name: "none", kind: "persistentvolumeclaims" },
  });
  (await api.get(`${attributesClasses}/none`)).expectFailure(
    404,
    "NotFound",
    'volumeattributesclasses.storage.k8s.io "none" not found',
    { details: { name: "none", group: "storage.k8s.io", kind: "volumeattributesclasses" } },
  );
});

inBothDomains(
  "HEAD answers as GET, without a body [AUTHZ-16]",
  async (api) => {
    const { claims, path } = await oneClaim(api);
    for (const target of [path, claims]) {
      const head = (await api.send("HEAD", target)).expect(200);
      assert.equal(head.bytes.length, 0);
      assert.match(String(head.headers["content-type"]), /^application\/json/);
    }
    (await api.send("HEAD", `${claims}/none`)).expect(404);
  },
  { differs: "the reference does not serve HEAD of resources" },
);

inBothDomains("methods that mean nothing are refused [ERR-10]", async (api) => {
  const { claims, path } = await oneClaim(api);
  const text = "the server does not allow this method on the requested resource";
  (await api.post(path, claim("c2"))).expectFailure(405, "MethodNotAllowed", text);
  (await api.put(claims, claim("c2"))).expectFailure(405, "MethodNotAllowed", text);
  (await api.patch(claims, {})).expectFailure(405, "MethodNotAllowed", text);
  (await api.delete(`${path}/status`)).expectFailure(405, "MethodNotAllowed", text);
  for (const method of ["TRACE", "PROPFIND", "OPTIONS"]) {
    (await api.send(method, claims)).expect([405, 403, 404, 400, 501]);
  }
  (await api.get(claims)).expect(200, { "items.length": 1 });
});

inBothDomains("a namespace is not found inside a namespace, not even itself [EP-08] [EP-09]", async (api) => {
  const { ns } = await api.createNamespace();
  for (const path of [`/api/v1/namespaces/${ns}/namespaces`, `/api/v1/namespaces/${ns}/namespaces/${ns}`]) {
    (await api.get(path)).expectFailure(404, "NotFound");
    (await api.delete(path)).expectFailure(404, "NotFound");
  }
  (await api.get(`/api/v1/namespaces/${ns}`)).expect(200, { "metadata.deletionTimestamp": absent });
});

inBothDomains("an update that creates does not mind the version its object had before [EP-13]", async (api) => {
  const { ns } = await api.createNamespace();
  const lease = `/apis/coordination.k8s.io/v1/namespaces/${ns}/leases/l`;
  const seen = { metadata: { name: "l", resourceVersion: "5" }, spec: { holderIdentity: "a" } };
  (await api.put(lease, seen)).expect(201, { "spec.holderIdentity": "a" });
  (await api.put(lease, seen)).expectFailure(409, "Conflict");
});
