/** CBOR, which is off unless its feature gate is on: bodies, answers, watches and applied configurations. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { body, byteText, hex, item, itemsIn, nested, pairs, tagged } from "../cbor.ts";
import type { Answer, SendOptions } from "../client.ts";
import { type Api, domains, file, gated, renamer, suite, temporaryFolder, usingServer } from "../harness.ts";
import { objectsOfKinds } from "../objects-of-kinds.ts";
import { objectTypes, watchTypes } from "../media-types.ts";

const inBothDomains = suite({
  ...gated,
  featureGates: [...(gated.featureGates ?? []), "CBORServingAndStorage=true"],
});

const cbor = "application/cbor";
const applyCbor = "application/apply-patch+cbor";
const asCbor: SendOptions = { accept: cbor, type: cbor };

type Json = Record<string, unknown>;

/** Returns the only item of an answer. */
function valueOf(answer: Answer): Json {
  assert.equal(answer.headers["content-type"], cbor, answer.title);
  const items = itemsIn(answer.bytes);
  assert.equal(items.length, 1);
  return items[0] as Json;
}

/** Returns a body with the names of the server's domain. */
const bodyFor = (api: Api, value: unknown): Buffer =>
  body(JSON.parse(api.endpoint.rename(JSON.stringify(value))) as unknown);

const jsonOf = (answer: Answer): Json => JSON.parse(answer.text) as Json;

/** Returns an answer in JSON, after it was read in CBOR as well, with the same content. */
async function readBoth(api: Api, path: string): Promise<Json> {
  const json = jsonOf((await api.get(path)).expect(200));
  assert.deepEqual(content(valueOf((await api.get(path, { accept: cbor })).expect(200))), content(json), path);
  return json;
}

/** Returns an answer without the revision of a list, which others change. */
const content = ({ metadata, ...rest }: Json): Json => (rest["items"] === undefined ? { metadata, ...rest } : rest);

const watchOf = (path: string): string =>
  `${path}?watch=true&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`;

const configMap = (name: string, data: unknown = { a: "b" }, more: object = {}): Json => ({
  kind: "ConfigMap",
  apiVersion: "v1",
  metadata: { name },
  data,
  ...more,
});

inBothDomains(
  "objects, lists, metadata and failures are CBOR after the tag that says so [MEDIA-17] [GATE-02] [VER-13]",
  async (api) => {
    const { ns } = await api.createNamespace();
    const maps = `/api/v1/namespaces/${ns}/configmaps`;
    const sent = configMap("m", { text: "ü\n", empty: "" }, { binaryData: { raw: "AAH/" } });
    const created = (await api.post(maps, bodyFor(api, { ...sent, binaryData: undefined }), asCbor)).expect(201);
    assert.equal((valueOf(created)["metadata"] as Json)["name"], "m");
    const bytes = { raw: tagged(22, hex("43 0001ff")), same: byteText("AAH/") };
    const put = (await api.put(`${maps}/m`, body({ ...sent, binaryData: bytes }), asCbor)).expect(200);
    assert.deepEqual(valueOf(put)["binaryData"], { raw: "AAH/", same: "AAH/" });
    assert.ok(put.bytes.includes(Buffer.from("d6430001ff", "hex")), "bytes are not base64 in CBOR");
    await readBoth(api, `${maps}/m`);
    await readBoth(api, maps);
    await readBoth(api, `/api/v1/namespaces/${ns}/pods`);
    const partial = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    for (const [path, accept] of [
      [`${maps}/m`, partial],
      [maps, partial.replace(";", "List;")],
    ] as const) {
      const json = jsonOf((await api.get(path, { accept: `application/json;${accept}` })).expect(200));
      const value = valueOf((await api.get(path, { accept: `${cbor};${accept}` })).expect(200));
      assert.deepEqual(content(value), content(json));
    }
    const missing = valueOf((await api.get(`${maps}/none`, { accept: cbor })).expect(404));
    assert.equal(missing["reason"], "NotFound");
    (await api.get(maps, { accept: `${cbor};as=Table;g=meta.k8s.io;v=v1` })).expectFailure(406, "NotAcceptable");
    valueOf((await api.get(maps, { accept: `${cbor};as=Table;g=meta.k8s.io;v=v1,${cbor}` })).expect(200));
    (await api.delete(`${maps}/m`, body({ kind: "DeleteOptions", apiVersion: "v1", dryRun: ["All"] }), asCbor)).expect(
      200,
    );
    await readBoth(api, `${maps}/m`);
  },
);

inBothDomains("refusals name CBOR with the other types, and discovery has none", async (api) => {
  const { claims } = await api.createNamespace();
  const named = [...objectTypes, cbor].join(", ");
  (await api.get(`${claims}/c`, { accept: "text/plain" })).expectFailure(
    406,
    "NotAcceptable",
    `406: Not Acceptable\n\nAvailable representations: ${named}`,
  );
  (await api.get(claims, { accept: "text/plain" })).expectFailure(
    406,
    "NotAcceptable",
    `406: Not Acceptable\n\nAvailable representations: ${named}, ${watchTypes.join(", ")}, application/cbor-seq`,
  );
  (await api.post(claims, item({}), { type: "application/cbor-seq" })).expectFailure(
    415,
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: ${named}`,
  );
  (await api.get(claims, { accept: "application/cbor-seq" })).expectFailure(
    406,
    "NotAcceptable",
    `only the following media types are accepted: ${named}`,
  );
  (await api.get("/apis", { accept: cbor })).expect(406);
  const paths = jsonOf(await api.get("/openapi/v3/api/v1"))["paths"] as Record<string, Record<string, Json>>;
  const patch = paths["/api/v1/namespaces/{namespace}/configmaps/{name}"]!["patch"]!;
  const types = (patch["requestBody"] as { content: Json }).content;
  assert.ok(Object.keys(types).includes(applyCbor));
  for (const [name, path, described] of [
    ["api/v1", "/api/v1/", true],
    ["apis", "/apis/", false],
    ["apis/apps", "/apis/apps/", false],
  ] as const) {
    const items = jsonOf(await api.get(`/openapi/v3/${name}`))["paths"] as Record<string, Record<string, Json>>;
    const { content } = (items[path]!["get"]!["responses"] as Record<string, { content: Json }>)["200"]!;
    assert.equal(Object.hasOwn(content, cbor), described, path);
  }
});

inBothDomains("a watch is a sequence of CBOR items [MEDIA-18] [EVENT-04]", async (api) => {
  const { ns } = await api.createNamespace();
  const maps = `/api/v1/namespaces/${ns}/configmaps`;
  for (const name of ["a", "b"]) (await api.post(maps, configMap(name))).expect(201);
  const json = (await api.get(watchOf(maps))).expect(200).text.trim().split("\n");
  const answer = (await api.get(watchOf(maps), { accept: cbor })).expect(200);
  assert.equal(answer.headers["content-type"], "application/cbor-seq");
  const events = itemsIn(answer.bytes) as { type: string; object: Json }[];
  const jsonEvents = json.map((line) => JSON.parse(line) as { type: string; object: Json });
  assert.deepEqual(events.slice(0, 2), jsonEvents.slice(0, 2));
  const { type, object } = events[2]!;
  assert.equal(type, "BOOKMARK");
  const { annotations } = object["metadata"] as { annotations: Record<string, string> };
  const [, blueprint] = Object.entries(annotations).find(([name]) => name.endsWith("list-blueprint"))!;
  const [list] = itemsIn(Buffer.from(blueprint, "base64"));
  assert.deepEqual(list, { kind: "ConfigMapList", apiVersion: "v1", metadata: {}, items: null });
  const partial = `${cbor};as=PartialObjectMetadata;g=meta.k8s.io;v=v1`;
  const [first] = itemsIn((await api.get(watchOf(maps), { accept: partial })).expect(200).bytes);
  assert.equal((first as { object: Json }).object["kind"], "PartialObjectMetadata");
});

inBothDomains("configurations to apply may be CBOR, other patches may not [PATCH-10] [PATCH-11]", async (api) => {
  const { ns } = await api.createNamespace();
  const maps = `/api/v1/namespaces/${ns}/configmaps`;
  const apply = (value: unknown, query = ""): Promise<Answer> =>
    api.patch(`${maps}/m?fieldManager=me${query}`, body(value), applyCbor);
  (await apply(configMap("m"))).expect(201, { data: { a: "b" } });
  (await apply(configMap("m", pairs([byteText("k"), byteText("v")])))).expect(200, { data: { k: "v" } });
  (await api.patch(`${maps}/m?fieldManager=other`, body(configMap("m", { k: "w" })), applyCbor)).expectFailure(
    409,
    "Conflict",
  );
  const refusals: readonly (readonly [unknown, string])[] = [
    [[], "cbor: cannot unmarshal array into Go value of type map[string]interface {}"],
    [
      configMap("m", pairs(["a", "1"], [byteText("a"), "2"])),
      'cbor: found duplicate map key "a" at map element index 1',
    ],
    [configMap("m", { a: hex("61ff") }), "cbor: invalid UTF-8 string"],
    [configMap("m", nested(64, 1)), "cbor: exceeded max nested level 64"],
  ];
  for (const [value, message] of refusals) {
    (await apply(value, "&fieldValidation=Ignore")).expectFailure(400, "BadRequest", `error decoding YAML: ${message}`);
  }
  for (const type of ["merge-patch", "json-patch", "strategic-merge-patch"]) {
    (await api.patch(`${maps}/m`, body({}), `application/${type}+cbor`)).expectFailure(415, "UnsupportedMediaType");
  }
  (await api.get(`${maps}/m`)).expect(200, { data: { k: "v" } });
});

for (const domain of domains) {
  test(`${domain}: the audit log has bodies and configurations in CBOR as JSON`, async () => {
    const auditLogPath = join(temporaryFolder(), "audit.log");
    const policy = { apiVersion: "audit.k8s.io/v1", kind: "Policy", rules: [{ level: "Request" }] };
    const auditPolicyFile = file("policy.json", renamer(domain)(JSON.stringify(policy)));
    const featureGates = ["CBORServingAndStorage=true"];
    const maps = "/api/v1/namespaces/default/configmaps";
    await usingServer(domain, { featureGates, auditPolicyFile, auditLogPath }, async (api) => {
      (await api.post(maps, body(configMap("a")), asCbor)).expect(201);
      (await api.patch(`${maps}/b?fieldManager=me`, body(configMap("b")), applyCbor)).expect(201);
    });
    const events = readFileSync(auditLogPath, "utf8").trim().split("\n");
    const recorded = events.map(
      (line) => JSON.parse(line) as { requestURI: string; stage: string; requestObject?: Json },
    );
    const sent = recorded.filter((event) => event.requestURI.startsWith(maps) && event.stage === "ResponseComplete");
    const objects = sent.map(({ requestObject }) => requestObject).filter((object) => object?.["data"] !== undefined);
    const own = objects.filter((object) => ["a", "b"].includes((object!["metadata"] as { name: string }).name));
    assert.deepEqual(
      own.map((object) => object!["data"]),
      [{ a: "b" }, { a: "b" }],
    );
  });
}

inBothDomains("every kind is created, read, changed, applied, watched and deleted in CBOR", async (api) => {
  const walk = async (collection: string, fields: object): Promise<void> => {
    const path = `${collection}/cbor`;
    const create = bodyFor(api, { metadata: { name: "cbor" }, ...fields });
    const created = valueOf((await api.post(collection, create, asCbor)).expect(201));
    const read = await readBoth(api, path);
    const { kind, apiVersion } = created;
    assert.deepEqual([read["kind"], read["apiVersion"]], [kind, apiVersion]);
    await readBoth(api, `${collection}?fieldSelector=metadata.name%3Dcbor`);
    const metadata = { ...(read["metadata"] as Json), labels: { step: "put" } };
    const changed = valueOf((await api.put(path, body({ ...read, metadata }), asCbor)).expect(200));
    assert.deepEqual((changed["metadata"] as Json)["labels"], { step: "put" }, path);
    const configuration = { kind, apiVersion, metadata: { name: "cbor", annotations: { step: "apply" } } };
    const patch = await api.patch(`${path}?fieldManager=me`, body(configuration), applyCbor, { accept: cbor });
    const { annotations } = valueOf(patch.expect(200))["metadata"] as { annotations: Json };
    assert.equal(annotations["step"], "apply", path);
    const current = await readBoth(api, path);
    if (current["status"] !== undefined && (await api.get(`${path}/status`)).status === 200) {
      valueOf((await api.put(`${path}/status`, body(current), asCbor)).expect(200));
    }
    const watch = (await api.get(`${watchOf(collection)}&fieldSelector=metadata.name%3Dcbor`, { accept: cbor })).expect(
      200,
    );
    const [event] = itemsIn(watch.bytes) as [{ type: string; object: Json }];
    assert.equal(event.type, "ADDED");
    assert.deepEqual(event.object["spec"], (await readBoth(api, path))["spec"], path);
    const options = body({
      kind: "DeleteOptions",
      apiVersion: "v1",
      gracePeriodSeconds: 0,
      propagationPolicy: "Background",
    });
    (await api.delete(path, options, asCbor)).expect([200, 202]);
  };
  await Promise.all(objectsOfKinds.map(([collection, fields]) => walk(collection, fields)));
});

inBothDomains("custom resources are read and written in CBOR, floats and large integers included", async (api) => {
  const group = "cbor.example.com";
  const any = { "x-kubernetes-preserve-unknown-fields": true };
  const schema = {
    type: "object",
    properties: { spec: { type: "object", properties: { any, text: { type: "string" } } } },
  };
  const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }];
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `foos.${group}` },
    spec: { group, scope: "Cluster", names: { plural: "foos", kind: "Foo" }, versions },
  };
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  (await api.post(definitions, bodyFor(api, definition), asCbor)).expect(201);
  const foos = `/apis/${group}/v1/foos`;
  while ((await api.get(foos)).status !== 200) await new Promise((resolve) => setImmediate(resolve));
  const foo = (name: string, spec: unknown): Buffer =>
    body({ apiVersion: `${group}/v1`, kind: "Foo", metadata: { name }, spec });
  const sent = [
    1.5,
    1e300,
    -1,
    9007199254740993n,
    hex("f93c00"),
    true,
    null,
    tagged(22, byteText("abc")),
    tagged(1, 5),
  ];
  const created = await api.post(foos, foo("a", { any: sent, text: tagged(23, byteText("abc")) }), asCbor);
  const { any: read, text } = valueOf(created.expect(201))["spec"] as { any: unknown[]; text: string };
  assert.deepEqual(read, [1.5, 1e300, -1, 9007199254740992, 1, true, null, "YWJj", "1970-01-01T00:00:05Z"]);
  assert.equal(text, "616263");
  assert.match((await api.get(`${foos}/a`)).text, /9007199254740993/);
  await readBoth(api, `${foos}?limit=5`);
  (await api.post(foos, foo("b", { text: "x", more: 1 }), { type: cbor })).expect(201, { spec: { text: "x" } });
  (await api.post(`${foos}?fieldValidation=Strict`, foo("c", { more: 1 }), { type: cbor })).expectFailure(
    400,
    "BadRequest",
    /unknown field "spec.more"/,
  );
  (await api.post(foos, foo("c", { any: 1n << 63n }), { type: cbor })).expectFailure(
    400,
    "BadRequest",
    /cannot unmarshal positive integer into Go value of type int64/,
  );
  (await api.delete(`${definitions}/foos.${group}`)).expect(200);
});

inBothDomains("a body of a million lists in each other, or with a promised length, is refused at once", async (api) => {
  const { ns } = await api.createNamespace();
  const maps = `/api/v1/namespaces/${ns}/configmaps`;
  const bodies: readonly (readonly [Buffer, RegExp])[] = [
    [nested(1_000_000, null).bytes, /exceeded max nested level 64/],
    [body(configMap("m", { a: nested(1_000_000, null) })), /exceeded max nested level 64/],
    [hex(`9a 000f4240 ${"f6".repeat(1_000_000)}`).bytes, /exceeded max number of elements 1024 for CBOR array/],
    [hex("5b 7fffffffffffffff").bytes, /unexpected EOF/],
    [hex("bb ffffffffffffffff").bytes, /map length 18446744073709551615 is too large/],
    [hex(`7f ${"6161".repeat(500_000)}`).bytes, /unexpected EOF/],
    [Buffer.alloc(1_000_000, 0xc9), /exceeded max nested level 64/],
  ];
  for (const [bytes, message] of bodies) {
    (await api.post(maps, bytes, { type: cbor })).expectFailure(400, "BadRequest", message);
    (await api.patch(`${maps}/m?fieldManager=me`, bytes, applyCbor)).expectFailure(400, "BadRequest", message);
  }
});
