/** Media types of bodies and answers, and compression. */
import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { load } from "js-yaml";
import { type Answer, asTable } from "../client.ts";
import { type Api, gated, suite, withOwnServer } from "../harness.ts";
import { objectTypes, watchTypes } from "../media-types.ts";
import { claim, configMap, namespace, namespacePaths } from "../objects.ts";
import { entry, envelope, field } from "../protobuf.ts";
import { absent } from "../view.ts";

const inBothDomains = suite();

const yaml = "application/yaml";
const yamlClaim = `# a claim
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: c1
  labels: {a: "1"}
spec:
  accessModes:
  - ReadWriteOnce
  resources:
    requests:
      storage: 1Gi
`;

/** Creates a collection whose list is longer than the limit for uncompressed answers. */
async function large(api: Api): Promise<{ maps: string; path: string }> {
  const { configMaps: maps } = await api.createNamespace();
  (await api.post(maps, configMap("big", { text: "compress me ".repeat(15_000) }))).expect(201);
  (await api.post(maps, configMap("small"))).expect(201);
  return { maps, path: `${maps}/big` };
}

const gzip = { headers: { "accept-encoding": "gzip" } };

inBothDomains("JSON is the default [MEDIA-01]", async (api) => {
  const { claims } = await api.createNamespace();
  (await api.post(claims, claim("c1"))).expect(201);
  for (const accept of [undefined, "*/*", "application/json", "application/json;charset=utf-8"]) {
    const answer = await api.get(`${claims}/c1`, accept === undefined ? {} : { accept });
    answer.expect(200, { "metadata.name": "c1" });
    assert.equal(answer.headers["content-type"], "application/json");
  }
});

inBothDomains("answers can be YAML [MEDIA-02]", async (api) => {
  const { claims } = await api.createNamespace();
  const answer = (await api.post(claims, claim("c1"))).expect(201);
  const one = (await api.get(`${claims}/c1`, { accept: yaml })).expect(200);
  assert.equal(one.headers["content-type"], yaml);
  assert.deepEqual(load(one.text), answer.value);
  const list = (await api.get(claims, { accept: yaml })).expect(200);
  assert.equal((load(list.text) as { kind: string }).kind, "PersistentVolumeClaimList");
  const missing = await api.get(`${claims}/none`, { accept: yaml });
  assert.equal((load(missing.expect(404).text) as { reason: string }).reason, "NotFound");
});

inBothDomains("bodies can be YAML [MEDIA-03]", async (api) => {
  const { claims } = await api.createNamespace();
  (await api.post(claims, yamlClaim, { type: yaml })).expect(201, {
    "metadata.labels": { a: "1" },
    "spec.resources.requests.storage": "1Gi",
  });
  const changed = yamlClaim.replace('"1"', '"2"');
  (await api.put(`${claims}/c1`, changed, { type: `${yaml}; charset=utf-8` })).expect(200, {
    "metadata.labels": { a: "2" },
  });
  (
    await api.delete(`${claims}/c1`, "apiVersion: v1\nkind: DeleteOptions\ngracePeriodSeconds: 0\n", { type: yaml })
  ).expect([200, 202]);
});

inBothDomains("JSON and YAML show the same fields [VER-13]", async (api) => {
  const { ns } = await api.createNamespace();
  for (const path of [`/api/v1/namespaces/${ns}`, "/api/v1", "/apis", "/apis/storage.k8s.io/v1beta1"]) {
    const json = (await api.get(path)).expect(200);
    const text = (await api.get(path, { accept: yaml })).expect(200);
    assert.deepEqual(load(text.text), json.value, path);
  }
});

inBothDomains("an Accept of several values is taken in order, as far as they are known [MEDIA-15]", async (api) => {
  const { claims } = await api.createNamespace();
  (await api.post(claims, claim("c1"))).expect(201);
  const typeOf = async (accept: string): Promise<unknown> =>
    (await api.get(`${claims}/c1`, { accept })).expect(200).headers["content-type"];
  assert.equal(await typeOf("application/unknown, application/json"), "application/json");
  assert.equal(await typeOf("application/yaml, application/json"), yaml);
  assert.equal(await typeOf("application/json;q=0.1, application/yaml;q=0.9"), yaml);
  assert.equal(await typeOf("text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8"), "application/json");
});

inBothDomains("CBOR is off [MEDIA-16] [GATE-01]", async (api) => {
  const { claims } = await api.createNamespace();
  (await api.get(claims, { accept: "application/cbor" })).expectFailure(406, "NotAcceptable");
  (await api.post(claims, Buffer.from([0xa0]), { type: "application/cbor" })).expectFailure(
    415,
    "UnsupportedMediaType",
  );
});

inBothDomains("a body that is no JSON needs its type [MEDIA-19]", async (api) => {
  const { claims } = await api.createNamespace();
  (await api.post(claims, yamlClaim, { type: "" })).expectClientError();
  (await api.get(claims)).expect(200, { items: [] });
  (await api.post(claims, claim("c1"), { type: "" })).expect(201);
});

inBothDomains("an Accept that names nothing known is refused [MEDIA-20]", async (api) => {
  const { claims } = await api.createNamespace();
  for (const accept of ["text/plain", "application/xml", "image/*"]) {
    (await api.get(claims, { accept })).expectFailure(406, "NotAcceptable");
    (await api.post(claims, claim("c1"), { accept })).expectFailure(406, "NotAcceptable");
  }
  (await api.get(claims)).expect(200, { items: [] });
});

inBothDomains("a watch is not to be had as YAML [MEDIA-20]", async (api) => {
  const { claims } = await api.createNamespace();
  (await api.get(`${claims}?watch=true&timeoutSeconds=1`, { accept: yaml })).expect(406);
});

inBothDomains("a body of an unknown type is refused [MEDIA-21]", async (api) => {
  const { claims } = await api.createNamespace();
  for (const type of ["text/plain", "application/xml", "multipart/form-data", "application/json/x", "nonsense"]) {
    (await api.post(claims, claim("c1"), { type })).expectFailure(
      415,
      "UnsupportedMediaType",
      /accepted media types include/,
    );
  }
  (await api.get(claims)).expect(200, { items: [] });
});

inBothDomains("what has no Table is answered in the next form, or refused [MEDIA-22] [MEDIA-23]", async (api) => {
  (await api.get("/apis/storage.k8s.io/v1", { accept: `${asTable}, application/json` })).expect(200, {
    kind: "APIResourceList",
  });
  (await api.get("/apis/storage.k8s.io/v1", { accept: asTable })).expect(406);
  const { claims } = await api.createNamespace();
  const other = "application/json;as=Table;g=example.com;v=v1";
  (await api.get(claims, { accept: `${other}, application/json` })).expect(200, { kind: "PersistentVolumeClaimList" });
  (await api.get(claims, { accept: other })).expectFailure(406, "NotAcceptable");
});

inBothDomains("metadata can be had alone [MEDIA-22]", async (api) => {
  const { configMaps, ns } = await api.createNamespace();
  const answer = (await api.post(configMaps, configMap("m1", { k: "v" }))).expect(201);
  const one = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
  (await api.get(`${configMaps}/m1`, { accept: one })).expect(200, {
    kind: "PartialObjectMetadata",
    apiVersion: "meta.k8s.io/v1",
    "metadata.uid": answer.at("metadata.uid"),
    "metadata.namespace": ns,
    data: absent,
  });
  (await api.get(configMaps, { accept: one.replace("Metadata;", "MetadataList;") })).expect(200, {
    kind: "PartialObjectMetadataList",
    apiVersion: "meta.k8s.io/v1",
    "items.length": 1,
    "items.0.metadata.name": "m1",
    "items.0.data": absent,
  });
  (await api.get(configMaps, { accept: one })).expectFailure(406, "NotAcceptable");
});

inBothDomains("large answers are compressed when the client asks [MEDIA-24] [MEDIA-25] [GATE-03]", async (api) => {
  const { maps, path } = await large(api);
  // Other writes change the version of a list of the present.
  const version = (await api.get(maps)).string("metadata.resourceVersion");
  for (const target of [path, `${maps}?resourceVersion=${version}&resourceVersionMatch=Exact`]) {
    const plain = (await api.get(target)).expect(200);
    const packed = (await api.get(target, gzip)).expect(200);
    assert.equal(packed.headers["content-encoding"], "gzip", target);
    assert.ok(packed.bytes.length < plain.bytes.length / 10);
    assert.equal(gunzipSync(packed.bytes).toString(), plain.text);
  }
});

inBothDomains("other answers are not compressed [MEDIA-26]", async (api) => {
  const { maps } = await large(api);
  for (const encoding of ["identity", "", "br", "deflate"]) {
    const answer = (await api.get(maps, { headers: { "accept-encoding": encoding } })).expect(200, {
      "items.length": 2,
    });
    assert.equal(answer.headers["content-encoding"], undefined, encoding);
  }
  const small = await api.get(`${maps}/small`, gzip);
  assert.equal(small.expect(200).headers["content-encoding"], undefined);
});

inBothDomains("a watch is never compressed [MEDIA-26]", async (api) => {
  const { maps } = await large(api);
  const stream = await api.watch(maps, gzip);
  assert.equal(stream.headers["content-encoding"], undefined);
  (await stream.next()).has({ type: "ADDED" });
});

const uncompressed = { ...gated, featureGates: ["APIResponseCompression=false"], runtimeConfig: [] };

withOwnServer("compression can be switched off [MEDIA-27] [GATE-04]", uncompressed, async (api) => {
  (await api.post("/api/v1/namespaces", namespace("n1"))).expect(201);
  const { configMaps } = namespacePaths("n1");
  (await api.post(configMaps, configMap("big", { text: "compress me ".repeat(15_000) }))).expect(201);
  const answer = (await api.get(configMaps, gzip)).expect(200, { "items.length": 1 });
  assert.equal(answer.headers["content-encoding"], undefined);
});

const protobuf = "application/vnd.kubernetes.protobuf";

inBothDomains("bodies of built-in kinds can be protobuf [MEDIA-06]", async (api) => {
  const { configMaps, leases, ns } = await api.createNamespace();
  const metadata = field(
    1,
    field(1, "m1"),
    entry(11, "a", "1"),
    entry(12, "example.com/note", "ü"),
    field(14, "example.com/hold"),
  );
  const body = envelope("v1", "ConfigMap", metadata, entry(2, "k", "v"), entry(2, "empty", ""));
  (await api.post(configMaps, body, { type: protobuf, accept: "application/json" })).expect(201, {
    kind: "ConfigMap",
    apiVersion: "v1",
    "metadata.name": "m1",
    "metadata.namespace": ns,
    "metadata.labels": { a: "1" },
    "metadata.annotations": { "example.com/note": "ü" },
    "metadata.finalizers": ["example.com/hold"],
    data: { k: "v", empty: "" },
  });
  const changed = envelope("v1", "ConfigMap", field(1, field(1, "m1")), entry(2, "k", "w"));
  (await api.put(`${configMaps}/m1`, changed, { type: protobuf, accept: "application/json" })).expect(200, {
    data: { k: "w" },
  });
  // The spec is field 2, with holderIdentity as field 1 and leaseDurationSeconds as field 2.
  const lease = envelope(
    api.name("coordination.k8s.io/v1"),
    "Lease",
    field(1, field(1, "l1")),
    field(2, field(1, "me"), Buffer.from([0x10, 30])),
  );
  (await api.post(leases, lease, { type: protobuf, accept: "application/json" })).expect(201, {
    "spec.holderIdentity": "me",
    "spec.leaseDurationSeconds": 30,
  });
});

inBothDomains("a protobuf body whose version says nothing is of the expected type", async (api) => {
  const { configMaps } = await api.createNamespace();
  const sentObject = (apiVersion: string, kind: string, name: string) =>
    api.post(configMaps, envelope(apiVersion, kind, field(1, field(1, name))), {
      type: protobuf,
      accept: "application/json",
    });
  for (const [at, version] of ["", "/", "x/", "a/b/c"].entries()) {
    (await sentObject(version, "ConfigMap", `m${at}`)).expect(201, { apiVersion: "v1", "metadata.name": `m${at}` });
  }
  const unknown = /^Map in version "v1" cannot be handled as a ConfigMap: no kind "Map" is registered/;
  (await sentObject("x/", "Map", "m")).expectFailure(400, "BadRequest", unknown);
});

inBothDomains("a protobuf body without its prefix, or broken, is refused [MEDIA-13]", async (api) => {
  const { configMaps } = await api.createNamespace();
  const good = envelope("v1", "ConfigMap", field(1, field(1, "m1")), entry(2, "k", "v"));
  const bodies = [
    good.subarray(4),
    Buffer.from("{}"),
    Buffer.from(JSON.stringify(configMap("m1"))),
    good.subarray(0, 4),
    ...[6, 9, 15, 20, good.length - 5].map((length) => good.subarray(0, length)),
    Buffer.concat([good.subarray(0, 4), Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f])]),
    Buffer.concat([good.subarray(0, 4), Buffer.alloc(10_000, 0xff)]),
    Buffer.concat([good.subarray(0, 4), Buffer.alloc(10_000, 0x0b)]),
    envelope("v1", "ConfigMap", Buffer.from([0x0f])),
    envelope("v1", "Secret", field(1, field(1, "m1"))),
    envelope("v1", "Nothing", field(1, field(1, "m1"))),
  ];
  for (const [index, body] of bodies.entries()) {
    const answer = await api.post(configMaps, body, { type: protobuf, accept: "application/json" });
    assert.ok(answer.status >= 400 && answer.status < 500, `body ${index}: ${answer.title}`);
    answer.has({ kind: "Status", status: "Failure" });
  }
  (await api.get(configMaps)).expect(200, { items: [] });
});

inBothDomains("what is wrong with a protobuf body is told in the words of 1.32 [MEDIA-13]", async (api) => {
  const { configMaps, ns } = await api.createNamespace();
  const resourceQuotas = `/api/v1/namespaces/${ns}/resourcequotas`;
  const options = { type: protobuf, accept: "application/json" };
  const cannot = (why: string): string => `ConfigMap in version "v1" cannot be handled as a ConfigMap: ${why}`;
  const metadata = (...more: readonly number[]): Buffer => field(1, field(1, "m1"), Buffer.from(more));
  const cases: readonly (readonly [fields: readonly Buffer[], message: string])[] = [
    [[Buffer.from([0x0f])], cannot("proto: wrong wireType = 7 for field ObjectMeta")],
    [[metadata(5 * 8, 1)], cannot("proto: wrong wireType = 0 for field UID")],
    [[metadata(0, 0)], cannot("proto: ObjectMeta: illegal tag 0 (wire type 0)")],
    [[metadata(12)], cannot("proto: ObjectMeta: wiretype end group for non-group")],
    [[metadata(0xa6, 6)], cannot("proto: illegal wireType 6")],
    [[metadata(8 * 8 + 2, 2, 10, 1)], cannot("proto: wrong wireType = 2 for field Seconds")],
    [[metadata(10, 5)], cannot("unexpected EOF")],
    [[metadata(10, ...Array<number>(9).fill(0xff), 1)], cannot("proto: negative length found during unmarshaling")],
  ];
  for (const [fields, message] of cases) {
    const answer = await api.post(configMaps, envelope("v1", "ConfigMap", ...fields), options);
    answer.expectFailure(400, "BadRequest", message);
  }
  const pod = envelope("v1", "Pod", field(1, field(1, "m1")), field(2, field(2, field(1, "a"))));
  (await api.post(configMaps, pod, options)).expectFailure(
    400,
    "BadRequest",
    'Pod in version "v1" cannot be handled as a ConfigMap: converting (v1.Pod) to (core.ConfigMap): unknown conversion',
  );
  const unrecognized = "the object provided is unrecognized (must be of type ConfigMap): ";
  (await api.post(configMaps, Buffer.alloc(0), options)).expectFailure(
    400,
    "BadRequest",
    `${unrecognized}empty data (<empty>)`,
  );
  const good = envelope("v1", "ConfigMap", metadata());
  (await api.post(configMaps, Buffer.concat([good, Buffer.from([0, 0])]), options)).expectFailure(
    400,
    "BadRequest",
    new RegExp(`^${RegExp.escape(unrecognized)}proto: Unknown: illegal tag 0 \\(wire type 0\\) \\(6b3873`),
  );
  (await api.post(configMaps, Buffer.concat([good, Buffer.from([2 * 8, 1])]), options)).expectFailure(
    400,
    "BadRequest",
    new RegExp(`^${RegExp.escape(unrecognized)}proto: wrong wireType = 0 for field Raw \\(6b3873`),
  );
  const hard = (amount: string): Buffer =>
    envelope("v1", "ResourceQuota", metadata(), field(2, field(1, field(1, "cpu"), field(2, field(1, amount)))));
  (await api.post(resourceQuotas, hard(" 1"), options)).expectFailure(
    400,
    "BadRequest",
    /cannot be handled as a ResourceQuota: quantities must match the regular expression/,
  );
  (await api.post(resourceQuotas, hard("1"), options)).expect(201);
});

inBothDomains("protobuf bodies have groups and texts that are no UTF-8, as 1.32 takes them", async (api) => {
  const { configMaps } = await api.createNamespace();
  const options = { type: protobuf, accept: "application/json" };
  // A group with the number 100 that has another one in it.
  const group = Buffer.from([0xa3, 6, 0x0b, 0x0c, 0x20, 1, 0xa4, 6]);
  const data = field(2, field(1, "k"), field(2, Buffer.from([0x61, 0xff, 0x62])));
  const body = envelope("v1", "ConfigMap", field(1, field(1, "m1"), group), group, data);
  (await api.post(configMaps, body, options)).expect(201, { data: { k: "a\ufffdb" } });
  // The fields of a manager that are no JSON are dropped with all managers.
  const manager = field(
    17,
    field(1, "m"),
    field(2, "Update"),
    field(3, "v1"),
    field(6, "FieldsV1"),
    field(7, field(1, "x")),
  );
  const managed = envelope("v1", "ConfigMap", field(1, field(1, "m2"), manager), entry(2, "k", "v"));
  (await api.post(configMaps, managed, options)).expect(201, { "metadata.managedFields.length": 1 });
});

inBothDomains("a patch of an unknown type without a body is refused as if no type of answer fitted", async (api) => {
  const { configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("a"))).expect(201);
  const type = "application/merge-patch+yaml";
  const none = "406: Not Acceptable\n\nAvailable representations: ";
  (await api.patch(`${configMaps}/a`, "", type)).expectFailure(406, "NotAcceptable", none);
  (await api.patch(`${configMaps}/a`, "a", type)).expectFailure(
    415,
    "UnsupportedMediaType",
    "415: Unsupported Media Type",
  );
  const headers = { "content-type": type, "transfer-encoding": "chunked" };
  (await api.send("PATCH", `${configMaps}/a`, undefined, { headers })).expectFailure(
    415,
    "UnsupportedMediaType",
    "415: Unsupported Media Type\n\nAvailable representations: ",
  );
});

inBothDomains("whoever takes no type of answers is told so before parameters and bodies are read", async (api) => {
  const { ns, configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("a"))).expect(201);
  const accept = "text/html";
  const one = `${configMaps}/a`;
  const names = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
  const streams = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
  const refused = (answer: Answer, types = names): Answer =>
    answer.expectFailure(406, "NotAcceptable", `406: Not Acceptable\n\nAvailable representations: ${types}`);
  refused(await api.get(`${one}?resourceVersion=x`, { accept }));
  refused(await api.get(`${configMaps}?labelSelector=(`, { accept }), `${names}, ${streams}`);
  refused(await api.get(`${configMaps}?watch=1&limit=x`, { accept }), `${names}, ${streams}`);
  refused(await api.post(`${configMaps}?dryRun=x`, {}, { accept }));
  refused(await api.put(`${one}?dryRun=x`, {}, { accept }));
  refused(await api.patch(`${one}?dryRun=x`, {}, undefined, { accept }));
  refused(await api.delete(`${one}?dryRun=x`, undefined, { accept }));
  refused(await api.delete(`${configMaps}?dryRun=x`, undefined, { accept }));
  refused(await api.put(`/apis/apps/v1/namespaces/${ns}/deployments/a/scale?dryRun=x`, {}, { accept }));
  refused(await api.post(`/apis/authorization.k8s.io/v1/selfsubjectaccessreviews?dryRun=x`, {}, { accept }));
  (await api.patch(one, {}, "text/plain", { accept })).expectFailure(415, "UnsupportedMediaType");
});

inBothDomains("a refused view names the type of the object with its version", async (api) => {
  const { configMaps } = await api.createNamespace();
  const one = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
  const message = (type: string): string =>
    `you requested PartialObjectMetadata, but the requested object is a list (*${type})`;
  for (const [path, type] of [
    [configMaps, "v1.ConfigMapList"],
    [`/apis/${api.name("events.k8s.io/v1")}/events`, "v1.EventList"],
    [`/apis/${api.name("rbac.authorization.k8s.io/v1")}/clusterroles`, "v1.ClusterRoleList"],
  ] as const) {
    (await api.get(path, { accept: one })).expectFailure(406, "NotAcceptable", message(type));
  }
});

inBothDomains(
  "an object of another kind is refused in the words of 1.32, for kinds that it knows and others",
  async (api) => {
    const { configMaps } = await api.createNamespace();
    const conversion = (type: string): string => `converting (${type}) to (core.ConfigMap): unknown conversion`;
    const unregistered = (kind: string, where: string): string => `no kind "${kind}" is registered for ${where}`;
    for (const [apiVersion, kind, why] of [
      ["v1", "Secret", conversion("v1.Secret")],
      ["v1", "SecretList", conversion("v1.SecretList")],
      ["v1", "PodExecOptions", conversion("v1.PodExecOptions")],
      ["apps/v1beta2", "Deployment", conversion("v1beta2.Deployment")],
      ["apps/v1beta2", "ListOptions", conversion("v1.ListOptions")],
      ["autoscaling/v1", "Scale", conversion("v1.Scale")],
      ["nothing/v7", "Status", conversion("v1.Status")],
      ["nothing/v7", "ListOptions", unregistered("ListOptions", 'version "nothing/v7"')],
      ["apps/v1", "Secret", unregistered("Secret", 'version "apps/v1"')],
      [api.name("storage.k8s.io/v1"), "VolumeAttributesClass", /no kind "VolumeAttributesClass" is registered/],
      [api.name("apiregistration.k8s.io/v1"), "APIService", /no kind "APIService" is registered/],
      ["__internal", "Secret", conversion("core.Secret")],
      ["apps/__internal", "Boat", unregistered("Boat", 'the internal version of group "apps"')],
    ] as const) {
      const message =
        typeof why === "string" ? new RegExp(`cannot be handled as a ConfigMap: ${RegExp.escape(why)}$`) : why;
      (await api.post(configMaps, { apiVersion, kind, metadata: { name: "a" } })).expectFailure(
        400,
        "BadRequest",
        message,
      );
    }
  },
);

inBothDomains("a refusal names what the route can produce, streams where it has them [MEDIA-20]", async (api) => {
  const { configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("a"))).expect(201);
  const accept = "text/plain";
  const available = (types: readonly string[]): string =>
    `406: Not Acceptable\n\nAvailable representations: ${types.join(", ")}`;
  const plain = available(objectTypes);
  const streams = available([...objectTypes, ...watchTypes]);
  (await api.get(`${configMaps}/a`, { accept })).expectFailure(406, "NotAcceptable", plain);
  (await api.delete(`${configMaps}/a`, undefined, { accept })).expectFailure(406, "NotAcceptable", plain);
  (await api.get(configMaps, { accept })).expectFailure(406, "NotAcceptable", streams);
  (await api.get(`${configMaps}?watch=1`, { accept })).expectFailure(406, "NotAcceptable", streams);
});
