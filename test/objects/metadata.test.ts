/** TypeMeta and ObjectMeta of every object, and field ownership after plain writes. */
import assert from "node:assert/strict";
import { growsInProportion } from "#std/growth-for-tests.ts";
import { type Answer, patchTypes } from "../client.ts";
import { eventually, suite } from "../harness.ts";
import { attributesClass, attributesClasses, claim, configMap } from "../objects.ts";
import { absent, present, type View } from "../view.ts";

const inBothDomains = suite();
const isHere = process.env["TEST_SERVER"] === undefined;

/** Starts a time span. The returned function checks that a time is between this start and its own call. */
function span(): (time: string) => void {
  // The clock of another server may differ.
  const skewMs = 10_000;
  const begunMs = Date.now() - skewMs;
  return (time) => {
    const endedMs = Date.now() + skewMs;
    const ms = Date.parse(time);
    assert.ok(begunMs <= ms && ms <= endedMs, time);
  };
}

inBothDomains(
  "apiVersion and kind are those of the type, in the core group and in others [META-01] [META-02] [META-03]",
  async (api) => {
    const { claims } = await api.createNamespace();
    const name = api.unique();
    (await api.post(claims, claim("c1"))).expect(201);
    (await api.get(`${claims}/c1`)).expect(200, { apiVersion: "v1", kind: "PersistentVolumeClaim" });
    (await api.post(attributesClasses, attributesClass(name))).expect(201);
    (await api.get(`${attributesClasses}/${name}`)).expect(200, {
      apiVersion: "storage.k8s.io/v1beta1",
      kind: "VolumeAttributesClass",
    });
  },
);

inBothDomains("generateName gives a unique name that starts with the prefix [META-04]", async (api) => {
  const { claims } = await api.createNamespace();
  const names = new Set<string>();
  for (let i = 0; i < 5; i++) {
    const { name: _, ...metadata } = { name: "", generateName: "p-" };
    const answer = (await api.post(claims, { ...claim("x"), metadata })).expect(201, {
      "metadata.name": /^p-[bcdfghjklmnpqrstvwxz2456789]{5}$/,
      "metadata.generateName": "p-",
    });
    names.add(answer.string("metadata.name"));
  }
  assert.equal(names.size, 5);
});

inBothDomains("a long generateName is cut so that the name stays valid [META-04]", async (api) => {
  const { claims } = await api.createNamespace();
  const answer = await api.post(claims, { ...claim("x"), metadata: { generateName: "p".repeat(70) } });
  answer.expect(201, { "metadata.name": /^p{58}[bcdfghjklmnpqrstvwxz2456789]{5}$/ });
});

inBothDomains("updates check generateName, but those of a few kinds do not [META-04]", async (api) => {
  const { ns } = await api.createNamespace();
  const prefix = { metadata: { generateName: "NOT_" } };
  const maps = `/api/v1/namespaces/${ns}/configmaps`;
  (await api.post(maps, configMap("m"))).expect(201);
  const text =
    /^ConfigMap "m" is invalid: metadata.generateName: Invalid value: "NOT_": a lowercase RFC 1123 subdomain/;
  (await api.patch(`${maps}/m`, prefix)).expectFailure(422, "Invalid", text);
  (await api.put(`${maps}/m`, { ...configMap("m"), metadata: { name: "m", ...prefix.metadata } })).expectFailure(
    422,
    "Invalid",
    text,
  );
  (await api.patch(`${maps}/m`, { metadata: { generateName: "fine-" } })).expect(200);
  const templates = `/api/v1/namespaces/${ns}/podtemplates`;
  const spec = { containers: [{ name: "c", image: "i" }] };
  (await api.post(templates, { metadata: { name: "t" }, template: { spec } })).expect(201);
  (await api.patch(`${templates}/t`, prefix)).expect(200, { "metadata.generateName": "NOT_" });
  const attachments = "/apis/storage.k8s.io/v1/volumeattachments";
  const name = api.unique("va");
  const attachment = { attacher: "d.example.com", nodeName: "n", source: { persistentVolumeName: "v" } };
  (await api.post(attachments, { metadata: { name }, spec: attachment })).expect(201);
  for (const sub of ["", "/status"]) (await api.patch(`${attachments}/${name}${sub}`, prefix)).expect(422);
});

inBothDomains("a name is kept when generateName is there too [META-05]", async (api) => {
  const { claims } = await api.createNamespace();
  const named = claim("kept", {}, { generateName: "p-" });
  (await api.post(claims, named)).expect(201, { "metadata.name": "kept" });
  const why =
    'persistentvolumeclaims "kept" already exists, the server was not able to generate a unique name for the object';
  (await api.post(claims, named)).expectFailure(409, "AlreadyExists", why, { "details.retryAfterSeconds": 1 });
});

inBothDomains(
  "a namespaced object has its namespace, taken from the path; a cluster-scoped one has none [META-06] [META-07]",
  async (api) => {
    const { ns, claims } = await api.createNamespace();
    const name = api.unique();
    (await api.post(claims, claim("c1"))).expect(201, { "metadata.namespace": ns });
    (await api.get(`${claims}/c1`)).expect(200, { "metadata.namespace": ns });
    (await api.post(claims, claim("c2", {}, { namespace: ns }))).expect(201, { "metadata.namespace": ns });
    (await api.post(attributesClasses, attributesClass(name))).expect(201);
    (await api.get(`${attributesClasses}/${name}`)).expect(200, { "metadata.namespace": absent });
  },
);

inBothDomains("the server gives out the uid, a random one, and it never changes [META-08] [META-09]", async (api) => {
  const { claims } = await api.createNamespace();
  const answer = (await api.post(claims, claim("c1", {}, { uid: "x" }))).expect(201, {
    "metadata.uid": /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  });
  const uid = answer.string("metadata.uid");
  const labelled = (await api.patch(`${claims}/c1`, { metadata: { labels: { a: "1" } } })).expect(200, {
    "metadata.uid": uid,
  });
  (await api.put(`${claims}/c1`, withMeta(labelled, { labels: { a: "2" } }))).expect(200, { "metadata.uid": uid });
  const current = await api.get(`${claims}/c1`);
  (await api.put(`${claims}/c1`, withMeta(current, { uid: "11111111-2222-4333-8444-555555555555" }))).expectFailure(
    409,
    "Conflict",
    /Precondition failed: UID in precondition: 11111111-2222-4333-8444-555555555555, UID in object meta: /,
  );
});

inBothDomains("reviews and token requests drop what only the server sets [META-08] [META-11]", async (api) => {
  const { ns } = await api.createNamespace();
  const metadata = { uid: "x", creationTimestamp: "2020-01-01T00:00:00Z", selfLink: "/x" };
  const dropped = { "metadata.uid": absent, "metadata.creationTimestamp": null, "metadata.selfLink": absent };
  const access = { user: "u", nonResourceAttributes: { path: "/a", verb: "get" } };
  (await api.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", { metadata, spec: access })).expect(
    201,
    dropped,
  );
  const reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
  (await api.post(reviews, { metadata, spec: { token: "x" } })).expect(201, dropped);
  const tokens = `/api/v1/namespaces/${ns}/serviceaccounts/default/token`;
  (await api.post(tokens, { metadata, spec: {} })).expect(201, { "metadata.uid": absent, "metadata.selfLink": absent });
});

inBothDomains("a PUT that names the uid of an object that is gone conflicts with that", async (api) => {
  const { claims, configMaps } = await api.createNamespace();
  for (const [path, body] of [
    [`${claims}/gone`, claim("gone", {}, { uid: "abc" })],
    [`${claims}/gone/status`, claim("gone", {}, { uid: "abc" })],
    ["/api/v1/nodes/gone/status", { apiVersion: "v1", kind: "Node", metadata: { name: "gone", uid: "abc" } }],
    [`${configMaps}/gone`, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "gone", uid: "abc" } }],
  ] as const) {
    const text = /Precondition failed: UID in precondition: abc, UID in object meta: $/;
    (await api.put(path, body)).expectFailure(409, "Conflict", text);
    (await api.put(`${path}?dryRun=All`, body)).expectFailure(409, "Conflict", text);
  }
  (await api.put(`${claims}/gone`, claim("gone", {}, { resourceVersion: "5" }))).expect(404);
});

inBothDomains("no subresource of a pod takes the uid of another pod", async (api) => {
  const { ns } = await api.createNamespace();
  const pods = `/api/v1/namespaces/${ns}/pods`;
  const spec = { containers: [{ name: "c", image: "i" }] };
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "one" }, spec };
  await eventually(async () => (await api.post(pods, pod)).expect(201));
  const change = { metadata: { uid: "abc" }, spec: { ephemeralContainers: [{ name: "d", image: "i" }] } };
  (await api.patch(`${pods}/one/ephemeralcontainers`, change)).expectFailure(422, "Invalid", /metadata\.uid: /);
  (await api.get(`${pods}/one`)).expect(200, { "spec.ephemeralContainers": absent });
});

inBothDomains("kinds are strict about metadata in writes of their status as in 1.32", async (api) => {
  const group = "/apis/storage.k8s.io/v1";
  const name = api.unique("attachment");
  const attachment = {
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttachment",
    metadata: { name },
    spec: { attacher: "a", nodeName: "n", source: { persistentVolumeName: "p" } },
  };
  (await api.post(`${group}/volumeattachments`, attachment)).expect(201);
  const patch = {
    metadata: { generateName: "x", deletionTimestamp: "2001-01-01T00:00:00Z" },
    status: { attached: true },
  };
  const path = `${group}/volumeattachments/${name}`;
  const patched = await api.patch(`${path}/status?fieldManager=driver`, patch);
  patched.expect(200, { "metadata.deletionTimestamp": absent, "status.attached": true });
  const entry = patched.list("metadata.managedFields").find((owner) => owner.at("manager") === "driver");
  assert.deepEqual(entry?.at("fieldsV1"), { "f:status": { "f:attached": {} } });
  (await api.patch(path, { metadata: { deletionTimestamp: "2001-01-01T00:00:00Z" } })).expect(422);
  const driver = { apiVersion: "storage.k8s.io/v1", kind: "CSIDriver", metadata: { name: "a".repeat(64) }, spec: {} };
  (await api.post(`${group}/csidrivers?dryRun=All`, driver)).expect(201);
  const binding = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name, finalizers: ["hold"] },
    spec: { policyName: "none", validationActions: ["Warn"] },
  };
  const bindings = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
  (await api.post(`${bindings}?dryRun=All`, binding)).expect(201, { "metadata.finalizers": ["hold"] });
});

inBothDomains("finalizers that come with the status of a cron job need no domain", async (api) => {
  const { ns } = await api.createNamespace();
  const path = `/apis/batch/v1/namespaces/${ns}/cronjobs`;
  const spec = { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] };
  const cronJob = { schedule: "* * * * *", suspend: true, jobTemplate: { spec: { template: { spec } } } };
  (await api.post(path, { metadata: { name: "c" }, spec: cronJob })).expect(201);
  const finalizers = (names: readonly string[]): object => ({ metadata: { finalizers: names } });
  (await api.patch(`${path}/c`, finalizers(["mine"]))).expectFailure(
    422,
    "Invalid",
    /^CronJob.* "c" is invalid: metadata.finalizers\[0\]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified$/,
  );
  (await api.patch(`${path}/c/status`, finalizers(["not/a/name"]))).expectFailure(422, "Invalid");
  (await api.patch(`${path}/c/status`, finalizers(["mine"]))).expect(200, { "metadata.finalizers": ["mine"] });
});

inBothDomains("a status that is sent without the spec leaves labels of the template", async (api) => {
  const { ns } = await api.createNamespace();
  const spec = { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] };
  const template = { metadata: { labels: { a: "b" } }, spec };
  const controller = { template: { ...template, spec: { ...spec, restartPolicy: "Always" } }, replicas: 0 };
  for (const [collection, body] of [
    [`/apis/batch/v1/namespaces/${ns}/jobs`, { apiVersion: "batch/v1", kind: "Job", spec: { template } }],
    [
      `/api/v1/namespaces/${ns}/replicationcontrollers`,
      { apiVersion: "v1", kind: "ReplicationController", spec: controller },
    ],
  ] as const) {
    const created = (await api.post(collection, { ...body, metadata: { name: "o" } })).expect(201);
    const { apiVersion, kind } = body;
    for (const rest of [{}, { spec: null }]) {
      const answer = await api.put(`${collection}/o/status`, { apiVersion, kind, metadata: { name: "o" }, ...rest });
      answer.expect(200, { "metadata.labels": created.at("metadata.labels") });
    }
    const other = { apiVersion, kind, metadata: { name: "o", labels: { c: "d" } } };
    (await api.put(`${collection}/o/status`, other)).expect(200, { "metadata.labels": { c: "d" } });
  }
});

inBothDomains("resourceVersion changes with every write and only then [META-10]", async (api) => {
  const { claims } = await api.createNamespace();
  const first = (await api.post(claims, claim("c1"))).expect(201).string("metadata.resourceVersion");
  const read = await api.get(`${claims}/c1`);
  read.expect(200, { "metadata.resourceVersion": first });
  const put = (await api.put(`${claims}/c1`, withMeta(read, { labels: { a: "1" } }))).expect(200);
  const second = put.string("metadata.resourceVersion");
  assert.notEqual(first, "");
  assert.notEqual(second, "");
  assert.notEqual(first, second);
  (await api.put(`${claims}/c1`, put.value)).expect(200, { "metadata.resourceVersion": second });
  (await api.patch(`${claims}/c1`, { metadata: { labels: { a: "1" } } })).expect(200, {
    "metadata.resourceVersion": second,
  });
});

inBothDomains("creationTimestamp is the time of creation, whatever was sent, and stays [META-11]", async (api) => {
  const { claims } = await api.createNamespace();
  const during = span();
  const answer = (await api.post(claims, claim("c1", {}, { creationTimestamp: "2001-01-01T00:00:00Z" }))).expect(201, {
    "metadata.creationTimestamp": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
  });
  const time = answer.string("metadata.creationTimestamp");
  during(time);
  (
    await api.put(`${claims}/c1`, withMeta(answer, { creationTimestamp: "2001-01-01T00:00:00Z", labels: { a: "1" } }))
  ).expect(200, { "metadata.creationTimestamp": time });
});

inBothDomains(
  "the first delete request sets deletionTimestamp and later ones leave it [META-12] [META-13]",
  async (api) => {
    const { claims } = await api.createNamespace();
    (await api.post(claims, claim("c1", {}, { finalizers: ["example.com/hold"] }))).expect(201, {
      "metadata.deletionTimestamp": absent,
    });
    const during = span();
    (await api.delete(`${claims}/c1`)).expect([200, 202]);
    const first = (await api.get(`${claims}/c1`)).expect(200, {
      "metadata.deletionTimestamp": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
      "metadata.deletionGracePeriodSeconds": 0,
    });
    const time = first.string("metadata.deletionTimestamp");
    during(time);
    (await api.delete(`${claims}/c1`)).expect([200, 202]);
    (await api.get(`${claims}/c1`)).expect(200, { "metadata.deletionTimestamp": time });
  },
);

inBothDomains("only a delete request sets deletionTimestamp [META-12]", async (api) => {
  const { configMaps } = await api.createNamespace();
  const answer = (
    await api.post(configMaps, configMap("m1", {}, { deletionTimestamp: "2001-01-01T00:00:00Z" }))
  ).expect(201, { "metadata.deletionTimestamp": absent });
  (await api.patch(`${configMaps}/m1`, { metadata: { deletionTimestamp: "2001-01-01T00:00:00Z" } })).expectFailure(
    422,
    "Invalid",
    /metadata\.deletionTimestamp: Invalid value: .*field is immutable/,
  );
  answer.expect(201);
});

inBothDomains("a terminating object can still be written [META-14]", async (api) => {
  const { configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("m1", {}, { finalizers: ["example.com/hold"] }))).expect(201);
  (await api.delete(`${configMaps}/m1`)).expect([200, 202]);
  (await api.patch(`${configMaps}/m1`, { metadata: { labels: { a: "1" } }, data: { k: "v" } })).expect(200, {
    "metadata.labels": { a: "1" },
    "data.k": "v",
    "metadata.deletionTimestamp": present,
  });
});

inBothDomains("finalizers may be reordered and removed in any order [META-15] [META-16]", async (api) => {
  const { configMaps } = await api.createNamespace();
  const answer = (await api.post(configMaps, configMap("m1", {}, { finalizers: ["a.io/1", "a.io/2"] }))).expect(201);
  (await api.put(`${configMaps}/m1`, withMeta(answer, { finalizers: ["a.io/2", "a.io/1"] }))).expect(200, {
    "metadata.finalizers": ["a.io/2", "a.io/1"],
  });
  (await api.delete(`${configMaps}/m1`)).expect([200, 202]);
  (await api.patch(`${configMaps}/m1`, { metadata: { finalizers: ["a.io/1"] } })).expect(200, {
    "metadata.finalizers": ["a.io/1"],
  });
  (await api.patch(`${configMaps}/m1`, { metadata: { finalizers: [] } })).expect(200);
  (await api.get(`${configMaps}/m1`)).expect(404);
});

inBothDomains("a terminating object takes no new finalizers [META-17]", async (api) => {
  const { configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("m1", {}, { finalizers: ["a.io/1"] }))).expect(201);
  (await api.delete(`${configMaps}/m1`)).expect([200, 202]);
  (await api.patch(`${configMaps}/m1`, { metadata: { finalizers: ["a.io/1", "a.io/2"] } })).expectFailure(
    422,
    "Invalid",
    /metadata\.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers \[\]string\{"a\.io\/2"\}/,
  );
  (await api.get(`${configMaps}/m1`)).expect(200, { "metadata.finalizers": ["a.io/1"] });
});

inBothDomains("labels and annotations are maps of texts [META-18]", async (api) => {
  const { claims } = await api.createNamespace();
  const annotations = { "example.com/a": "any {text}\n\u0000ü", "": "" };
  const { "": _, ...good } = annotations;
  const metadata = { labels: { a: "1", "example.com/b": "" }, annotations: good };
  (await api.post(claims, claim("c1", {}, metadata))).expect(201);
  const read = await api.get(`${claims}/c1`);
  read.expect(200, { "metadata.labels": metadata.labels, "metadata.annotations": good });
  for (const field of ["labels", "annotations"]) {
    (await api.post(claims, claim("c2", {}, { [field]: { a: 1 } }))).expectFailure(400, "BadRequest");
    (await api.post(claims, claim("c2", {}, { [field]: ["a"] }))).expectFailure(400, "BadRequest");
  }
  (await api.get(`${claims}/c2`)).expect(404);
});

inBothDomains("keys and values of labels and annotations have a syntax [META-19]", async (api) => {
  const { claims } = await api.createNamespace();
  const expectRefusal = async (metadata: Record<string, unknown>, field: string, message: RegExp): Promise<void> => {
    (await api.post(claims, claim("c1", {}, metadata))).expectFailure(422, "Invalid", message, {
      [`details.causes[field=${field}].reason`]: "FieldValueInvalid",
    });
  };
  const name = /name part must consist of alphanumeric characters, '-', '_' or '\.'/;
  await expectRefusal({ labels: { "bad key": "1" } }, "metadata.labels", name);
  await expectRefusal(
    { labels: { "a/b/c": "1" } },
    "metadata.labels",
    /a qualified name must consist of alphanumeric characters/,
  );
  await expectRefusal(
    { labels: { a: "b c" } },
    "metadata.labels",
    /a valid label must be an empty string or consist of/,
  );
  await expectRefusal({ labels: { a: "x".repeat(64) } }, "metadata.labels", /must be no more than 63 characters/);
  await expectRefusal({ annotations: { "bad key": "1" } }, "metadata.annotations", name);
  (await api.post(claims, claim("c1", {}, { annotations: { a: "x".repeat(256 * 1024) } }))).expectFailure(
    422,
    "Invalid",
    /metadata\.annotations: Too long: may not be more than 262144 bytes/,
  );
  (await api.get(claims)).expect(200, { items: [] });
});

inBothDomains(
  "generation counts changes of the spec; links and references are kept or dropped as known [META-21]",
  async (api) => {
    const { ns, configMaps } = await api.createNamespace();
    const deployments = `/apis/apps/v1/namespaces/${ns}/deployments`;
    const deployment = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "d1", generation: 7, selfLink: "/somewhere" },
      spec: {
        replicas: 1,
        selector: { matchLabels: { a: "1" } },
        template: { metadata: { labels: { a: "1" } }, spec: { containers: [{ name: "c", image: "i" }] } },
      },
    };
    const answer = (await api.post(deployments, deployment)).expect(201, { "metadata.generation": 1 });
    (await api.patch(`${deployments}/d1`, { spec: { replicas: 2 } })).expect(200, { "metadata.generation": 2 });
    (await api.patch(`${deployments}/d1`, { metadata: { labels: { x: "1" } } })).expect(200, {
      "metadata.generation": 2,
    });
    (await api.patch(`${deployments}/d1/status`, { status: { observedGeneration: 2 } })).expect(200, {
      "metadata.generation": 2,
      "status.observedGeneration": 2,
    });
    const owner = { apiVersion: "apps/v1", kind: "Deployment", name: "d1", uid: answer.string("metadata.uid") };
    (await api.post(configMaps, configMap("m1", {}, { ownerReferences: [owner] }))).expect(201, {
      "metadata.ownerReferences": [owner],
      "metadata.selfLink": absent,
    });
    (await api.post(configMaps, configMap("m2", {}, { ownerReferences: [{ ...owner, uid: "" }] }))).expectFailure(
      422,
      "Invalid",
      /metadata\.ownerReferences(\[0\])?\.uid: (Required|Invalid) value/,
    );
    const both = [
      { ...owner, controller: true },
      { ...owner, uid: "2", name: "d2", controller: true },
    ];
    (await api.post(configMaps, configMap("m3", {}, { ownerReferences: both }))).expectFailure(
      422,
      "Invalid",
      /Only one reference can have Controller set to true/,
    );
  },
);

inBothDomains("an object to be created carries no resourceVersion [META-22]", async (api) => {
  const { claims } = await api.createNamespace();
  (await api.post(claims, claim("c1", {}, { resourceVersion: "5" }))).has({
    kind: "Status",
    status: "Failure",
    message: /resourceVersion should not be set on objects to be created/,
  });
  (await api.get(`${claims}/c1`)).expect(404);
  // A text that cannot be a version is ignored, as in 1.32.
  for (const [i, resourceVersion] of ["", "0", "00", "abc", "-1", "99999999999999999999"].entries()) {
    (await api.post(claims, claim(`none${i}`, {}, { resourceVersion }))).expect(201, {
      "metadata.resourceVersion": /^[1-9]\d*$/,
    });
  }
});

inBothDomains(
  "a create records its manager and what it set [META-20] [MF-01] [MF-05] [MF-06] [MF-07] [MF-08] [MF-09]",
  async (api) => {
    const { claims } = await api.createNamespace();
    const during = span();
    const answer = await api.post(`${claims}?fieldManager=m1`, claim("c1", {}, { labels: { a: "1" } }));
    answer.expect(201, {
      "metadata.managedFields.length": 1,
      "metadata.managedFields.0.manager": "m1",
      "metadata.managedFields.0.operation": "Update",
      "metadata.managedFields.0.apiVersion": "v1",
      "metadata.managedFields.0.time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
      "metadata.managedFields.0.fieldsType": "FieldsV1",
      "metadata.managedFields.0.subresource": absent,
      "metadata.managedFields.0.fieldsV1.f:metadata.f:labels.f:a": {},
      "metadata.managedFields.0.fieldsV1.f:spec.f:accessModes": {},
    });
    during(answer.string("metadata.managedFields.0.time"));
    const name = api.unique();
    (await api.post(`${attributesClasses}?fieldManager=m1`, attributesClass(name))).expect(201, {
      "metadata.managedFields.0.apiVersion": "storage.k8s.io/v1beta1",
    });
  },
);

inBothDomains("every write that is no apply is an Update of its manager [MF-03]", async (api) => {
  const { configMaps } = await api.createNamespace();
  const path = `${configMaps}/m1`;
  const expectOwner = (answer: Answer, manager: string, key: string): void => {
    const entry = entryOf(answer, manager).has({ operation: "Update", fieldsType: "FieldsV1", apiVersion: "v1" });
    entry.has({ [`fieldsV1.f:data.f:${key}`]: {} });
  };
  const response = await api.post(`${configMaps}?fieldManager=post`, configMap("m1", { a: "1" }));
  expectOwner(response.expect(201), "post", "a");
  const body = response.value as { data: object };
  const put = await api.put(`${path}?fieldManager=put`, { ...body, data: { ...body.data, b: "1" } });
  expectOwner(put.expect(200), "put", "b");
  const json = await api.patch(
    `${path}?fieldManager=json`,
    [{ op: "add", path: "/data/c", value: "1" }],
    patchTypes.json,
  );
  expectOwner(json.expect(200), "json", "c");
  const merge = await api.patch(`${path}?fieldManager=merge`, { data: { d: "1" } });
  expectOwner(merge.expect(200), "merge", "d");
  const strategic = await api.patch(`${path}?fieldManager=strategic`, { data: { e: "1" } }, patchTypes.strategic);
  expectOwner(strategic.expect(200), "strategic", "e");
  const all = await api.get(path);
  for (const [manager, key] of [
    ["post", "a"],
    ["put", "b"],
    ["json", "c"],
    ["merge", "d"],
    ["strategic", "e"],
  ] as const) {
    expectOwner(all, manager, key);
  }
});

inBothDomains("a field belongs to the manager that changed it last [MF-03]", async (api) => {
  const { configMaps } = await api.createNamespace();
  (await api.post(`${configMaps}?fieldManager=m1`, configMap("m1", { a: "1", b: "1" }))).expect(201);
  const answer = (await api.patch(`${configMaps}/m1?fieldManager=m2`, { data: { a: "2" } })).expect(200);
  entryOf(answer, "m1").has({ "fieldsV1.f:data.f:a": absent, "fieldsV1.f:data.f:b": {} });
  entryOf(answer, "m2").has({ "fieldsV1.f:data.f:a": {}, "fieldsV1.f:data.f:b": absent });
  const response = (await api.patch(`${configMaps}/m1?fieldManager=m3`, { data: { a: null } })).expect(200);
  assert.equal(response.list("metadata.managedFields").filter((entry) => entry.at("manager") === "m2").length, 0);
});

inBothDomains("items of lists are owned by key, members of sets by value [MF-10]", async (api) => {
  const { claims, configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("m1", {}, { finalizers: ["example.com/x"] }))).expect(201, {
    "metadata.managedFields.0.fieldsV1.f:metadata.f:finalizers": { ".": {}, 'v:"example.com/x"': {} },
  });
  (await api.post(claims, claim("c1"))).expect(201);
  const conditions = [{ type: "Resizing", status: "True" }];
  const answer = await api.patch(`${claims}/c1/status?fieldManager=resizer`, { status: { conditions } });
  entryOf(answer.expect(200), "resizer").has({
    "fieldsV1.f:status.f:conditions": (value: unknown) => {
      const item = (value as Record<string, Record<string, unknown>>)['k:{"type":"Resizing"}'];
      return item !== undefined && "." in item && "f:type" in item && "f:status" in item;
    },
  });
});

inBothDomains("a write of the status is marked as such [MF-11]", async (api) => {
  const { claims } = await api.createNamespace();
  (await api.post(`${claims}?fieldManager=m`, claim("c1"))).expect(201);
  const answer = (await api.patch(`${claims}/c1/status?fieldManager=m`, { status: { phase: "Bound" } })).expect(200);
  const entries = answer.list("metadata.managedFields").filter((entry) => entry.at("manager") === "m");
  assert.equal(entries.length, 2);
  const status = entries.find((entry) => entry.at("subresource") === "status");
  assert.ok(status, answer.title);
  status.has({ operation: "Update", "fieldsV1.f:status.f:phase": {}, "fieldsV1.f:spec": absent });
});

inBothDomains("fields that the server assigns have no manager [MF-12]", async (api) => {
  const { claims } = await api.createNamespace();
  const response = (await api.post(claims, claim("c1", {}, { labels: { a: "1" }, generateName: "c" }))).expect(201);
  (await api.patch(`${claims}/c1`, { metadata: { annotations: { b: "1" } } })).expect(200);
  for (const answer of [response, await api.get(`${claims}/c1`)]) {
    const text = JSON.stringify(answer.at("metadata.managedFields"));
    for (const field of [
      "name",
      "namespace",
      "uid",
      "resourceVersion",
      "creationTimestamp",
      "generation",
      "managedFields",
    ]) {
      assert.ok(!text.includes(`"f:${field}"`), `${field} is owned: ${text}`);
    }
  }
});

/** Returns the only entry of a manager, with any subresource. */
function entryOf(answer: Answer, manager: string): View {
  const entries = answer.list("metadata.managedFields").filter((entry) => entry.at("manager") === manager);
  assert.equal(entries.length, 1, `${answer.title}: entries of ${manager}`);
  return entries[0]!;
}

/** Returns the object of an answer with other metadata fields. */
function withMeta(answer: Answer, metadata: Record<string, unknown>): unknown {
  const object = answer.value as { metadata: object };
  return { ...object, metadata: { ...object.metadata, ...metadata } };
}

inBothDomains(
  "fields that only a deletion sets are dropped from a new object and have no manager [META-12] [MF-08]",
  async (api) => {
    const { configMaps } = await api.createNamespace();
    const marks = { deletionTimestamp: "2001-01-01T00:00:00Z", deletionGracePeriodSeconds: 5 };
    (await api.post(configMaps, { metadata: { name: "a", ...marks } })).expect(201, {
      "metadata.deletionTimestamp": absent,
      "metadata.deletionGracePeriodSeconds": absent,
      "metadata.managedFields": absent,
    });
  },
);

inBothDomains("a kind that counts no generations keeps the one it was created with [META-21]", async (api) => {
  const { configMaps } = await api.createNamespace();
  (await api.post(configMaps, { metadata: { name: "a", generation: 7 } })).expect(201, { "metadata.generation": 7 });
  const patched = await api.patch(`${configMaps}/a`, { metadata: { generation: 9 }, data: { b: "1" } });
  patched.expect(200, { "metadata.generation": 7 });
});

inBothDomains(
  "repeated owners are dropped with a warning that names some of them, however many there are",
  async (api) => {
    const { configMaps } = await api.createNamespace();
    const owner = (uid: number): object => ({ apiVersion: "v1", kind: "Pod", name: "p", uid: `u${uid}` });
    const createSized = async (length: number): Promise<void> => {
      const ownerReferences = Array.from({ length }, (_, i) => owner(Math.floor(i / 2) % 100));
      const answer = (await api.post(configMaps, configMap(api.unique(), {}, { ownerReferences }))).expect(201, {
        "metadata.ownerReferences.length": 100,
        "metadata.ownerReferences.0.uid": "u0",
        "metadata.ownerReferences.99.uid": "u99",
      });
      assert.match(String(answer.headers.warning), /duplicate UID\(s\) observed: u0, u1, .*u19 and 80 more"$/);
    };
    if (isHere) await growsInProportion(15_000, createSized);
    else await createSized(30_000);
  },
);
