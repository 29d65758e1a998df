/**
 * Answers in protobuf: every list and object that a server has, every verb, watches, metadata alone and errors are what
 * JSON says. That the bytes are those of a 1.32 server is proven with recorded objects (`test/codec/roundtrip.test.ts`).
 */
import assert from "node:assert/strict";
import { loadDefinitions } from "#api/definitions.ts";
import { decodeObject } from "#codec/object.ts";
import { jsonEncoding } from "#codec/json-encoding.ts";
import { decodeProtobuf } from "#codec/protobuf.ts";
import { protobufBodies } from "#codec/protobuf-encoding.ts";
import { apiDomain } from "#meta/api-domain.ts";
import { type GroupVersionKind, parseApiVersion } from "#meta/group-version.ts";
import type { Schema } from "#schema/schema.ts";
import { type Answer, patchTypes } from "../client.ts";
import { type Api, eventually, suite } from "../harness.ts";
import { objectsOfKinds } from "../objects-of-kinds.ts";
import { configMap } from "../objects.ts";
import { envelope, field } from "../protobuf.ts";

const inBothDomains = suite();

const protobuf = "application/vnd.kubernetes.protobuf";
const metadataAlone = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const listOfMetadata = metadataAlone.replace("Metadata;", "MetadataList;");
const boats = "/apis/example.com/v1/namespaces/default/boats";

/** Returns the objects of the answers, read as bodies are: what they leave out has its zero value. */
class Reader {
  readonly #tables;

  constructor({ domain }: Api) {
    this.#tables = loadDefinitions(apiDomain(domain));
  }

  /** Checks that the answer is in protobuf, and returns its object. `gvk` is the type that it must have. */
  protobuf(answer: Answer, gvk: GroupVersionKind): unknown {
    assert.equal(answer.headers["content-type"], protobuf, answer.title);
    return this.object(answer.bytes, gvk);
  }

  object(bytes: Buffer, gvk: GroupVersionKind): unknown {
    const schema = this.#schema(gvk);
    assert.equal(decodeProtobuf(bytes, schema).kind, gvk.kind);
    return plain(decodeObject({ bytes, encoding: protobufBodies, schema, gvk, fieldValidation: "Strict" }).object);
  }

  json({ bytes }: Answer, gvk: GroupVersionKind): unknown {
    const schema = this.#schema(gvk);
    return plain(decodeObject({ bytes, encoding: jsonEncoding, schema, gvk, fieldValidation: "Strict" }).object);
  }

  #schema(gvk: GroupVersionKind): Schema {
    const schema = this.#tables.schemaOf(gvk);
    assert.ok(schema !== undefined, gvk.kind);
    return schema;
  }
}

/** Returns the object in plain JSON. Items of lists lose their types, which only some formats write. */
function plain(object: object): unknown {
  const { items, ...rest } = JSON.parse(JSON.stringify(object)) as { readonly items?: readonly object[] };
  return items === undefined ? rest : { ...rest, items: items.map((item) => ({ ...item, kind: "", apiVersion: "" })) };
}

/** Returns the type that an answer in JSON has. */
const typeOf = (answer: Answer): GroupVersionKind => ({
  ...parseApiVersion(answer.string("apiVersion"))!,
  kind: answer.string("kind"),
});

/** An event of a watch, with its object in protobuf. */
interface Event {
  readonly type: string;
  readonly object: Buffer;
}

/** Returns the events of a watch that has ended. */
function eventsOf(bytes: Buffer): Event[] {
  const events: Event[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 + bytes.readUInt32BE(at);
    events.push(eventOf(bytes.subarray(at + 4, end)));
    at = end;
  }
  return events;
}

const raw: Schema = {
  type: "object",
  fields: new Map([["raw", { schema: { type: "string", format: "byte" }, proto: [1, "bytes"] }]]),
};
const eventSchema: Schema = {
  type: "object",
  fields: new Map([
    ["type", { schema: { type: "string" }, proto: [1, "string"] }],
    ["object", { schema: raw, proto: [2, "RawExtension"] }],
  ]),
};

function eventOf(bytes: Buffer): Event {
  const magic = envelope("", "").subarray(0, 4);
  const { value } = decodeProtobuf(Buffer.concat([magic, field(2, bytes)]), eventSchema);
  const { type, object } = value as { readonly type: string; readonly object: { readonly raw: string } };
  return { type, object: Buffer.from(object.raw, "base64") };
}

const config = { group: "", version: "v1", kind: "ConfigMap" };
const status = { group: "", version: "v1", kind: "Status" };

inBothDomains("lists and objects of many kinds are those of JSON [MEDIA-05, MEDIA-08, MEDIA-09]", async (api) => {
  const reader = new Reader(api);
  for (const [collection, fields] of objectsOfKinds) {
    (await api.post(collection, { metadata: { name: "a" }, ...fields })).expect(201);
    const version = (await api.get(collection)).string("metadata.resourceVersion");
    const list = `${collection}?resourceVersionMatch=Exact&resourceVersion=${version}`;
    for (const [path, as] of [[`${collection}/a`, metadataAlone] as const, [list, listOfMetadata] as const]) {
      for (const parameters of ["", `;${as}`]) {
        const json = (await api.get(path, { accept: `application/json${parameters}` })).expect(200);
        // The second answer is made of what was kept for the first one.
        for (let round = 0; round < 2; round++) {
          const answer = (await api.get(path, { accept: `${protobuf}${parameters}` })).expect(200);
          assert.deepEqual(reader.protobuf(answer, typeOf(json)), reader.json(json, typeOf(json)), path);
        }
      }
    }
    (await api.delete(`${collection}/a`, { propagationPolicy: "Background" }, { accept: protobuf })).expect([200, 202]);
  }
});

inBothDomains("every verb answers in protobuf, errors and deletions too [MEDIA-05, MEDIA-06]", async (api) => {
  const reader = new Reader(api);
  const { configMaps } = await api.createNamespace();
  const accept = { accept: protobuf };
  const made = (await api.post(configMaps, configMap("a", { x: "1" }), accept)).expect(201);
  const body = envelope("v1", "ConfigMap", field(1, field(1, "b")), field(2, field(1, "k"), field(2, "v")));
  const sent = (await api.post(configMaps, body, { ...accept, type: protobuf })).expect(201);
  for (const [answer, name, data] of [[made, "a", { x: "1" }] as const, [sent, "b", { k: "v" }] as const]) {
    const object = reader.protobuf(answer, config) as { metadata: { name: string }; data: object };
    assert.deepEqual([object.metadata.name, object.data], [name, data]);
  }
  const changes = [
    await api.put(`${configMaps}/a`, configMap("a", { x: "2" }), accept),
    await api.patch(`${configMaps}/a`, { data: { y: "3" } }, undefined, accept),
    await api.patch(`${configMaps}/a?fieldManager=m`, configMap("a", { z: "4" }), patchTypes.apply, accept),
  ];
  const data = changes.map((answer) => (reader.protobuf(answer.expect(200), config) as { data: object }).data);
  assert.deepEqual(data, [{ x: "2" }, { x: "2", y: "3" }, { x: "2", y: "3", z: "4" }]);
  const gone = reader.protobuf((await api.delete(`${configMaps}/a`, undefined, accept)).expect(200), status);
  assert.equal((gone as { status: string }).status, "Success");
  const none = reader.protobuf((await api.get(`${configMaps}/a`, accept)).expect(404), status);
  const { message, reason, code } = none as { message: string; reason: string; code: number };
  assert.deepEqual([message, reason, code], ['configmaps "a" not found', "NotFound", 404]);
  (await api.get(`${configMaps}/b`, { accept: `${protobuf};${metadataAlone.replace("Partial", "None")}` })).expect(406);
  (await api.get(configMaps, { accept: `${protobuf};as=Table;g=meta.k8s.io;v=v1` })).expectFailure(
    406,
    "NotAcceptable",
    "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
  );
});

inBothDomains("watches send events of known length, also of metadata alone", async (api) => {
  const reader = new Reader(api);
  const { configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("a", { x: "1" }))).expect(201);
  const first = await api.get(`${configMaps}?fieldSelector=metadata.name=a`);
  (await api.patch(`${configMaps}/a`, { metadata: { labels: { seen: "yes" } } })).expect(200);
  (await api.delete(`${configMaps}/a`)).expect(200);
  const query = (version: string, more = ""): string =>
    `${configMaps}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name=a&resourceVersion=${version}${more}`;
  const version = first.string("metadata.resourceVersion");
  for (const accept of [protobuf, `${protobuf};stream=watch`]) {
    const watched = (await api.get(query(version), { accept })).expect(200);
    assert.equal(watched.headers["content-type"], `${protobuf};stream=watch`);
    const events = eventsOf(watched.bytes);
    assert.deepEqual(
      events.map(({ type }) => type),
      ["MODIFIED", "DELETED"],
    );
    for (const { object } of events) {
      const { metadata } = reader.object(object, config) as { metadata: { labels: object } };
      assert.deepEqual(metadata.labels, { seen: "yes" });
    }
  }
  const partial = (await api.get(query(version), { accept: `${protobuf};${metadataAlone}` })).expect(200);
  const gvk = { group: api.name("meta.k8s.io"), version: "v1", kind: "PartialObjectMetadata" };
  for (const { object } of eventsOf(partial.bytes))
    assert.equal((reader.object(object, gvk) as { metadata: { name: string } }).metadata.name, "a");
  const initial = "&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";
  const [bookmark, ...more] = eventsOf((await api.get(query("", initial), { accept: protobuf })).expect(200).bytes);
  assert.deepEqual([bookmark?.type, more], ["BOOKMARK", []]);
  const marked = reader.object(bookmark!.object, config) as { metadata: { annotations: Record<string, string> } };
  const { annotations } = marked.metadata;
  assert.ok(api.name("k8s.io/initial-events-end") in annotations);
  // Clients read the type of the list in the encoding of the watch.
  const list = annotations[api.name("kubernetes.io/initial-events-list-blueprint")];
  const noMetadata = field(1, field(1, ""), field(2, ""), field(3, ""));
  assert.equal(list, envelope("v1", "ConfigMapList", noMetadata).toString("base64"));
});

inBothDomains("the first version of lists of metadata alone has its own field numbers [MEDIA-05]", async (api) => {
  const { configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("a"))).expect(201);
  const accept = `${protobuf};${listOfMetadata}beta1`;
  const { bytes } = (await api.get(`${configMaps}?fieldSelector=metadata.name=a`, { accept })).expect(200);
  const struct = (name: string, number: number, schema: Schema): Schema => ({
    type: "object",
    fields: new Map([[name, { schema, proto: [number, "bytes"] }]]),
  });
  const items: Schema = { type: "array", items: struct("metadata", 1, struct("name", 1, { type: "string" })) };
  const metadata = struct("resourceVersion", 2, { type: "string" });
  const fields = new Map([...struct("items", 1, items).fields!, ...struct("metadata", 2, metadata).fields!]);
  const { kind, value } = decodeProtobuf(bytes, { type: "object", fields });
  const list = value as { readonly items: readonly object[]; readonly metadata: { readonly resourceVersion: string } };
  assert.equal(kind, "PartialObjectMetadataList");
  assert.deepEqual(list.items, [{ metadata: { name: "a" } }]);
  assert.match(list.metadata.resourceVersion, /^[1-9]/);
});

inBothDomains("custom resources have no protobuf form, but their metadata have one", async (api) => {
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const versions = [{ name: "v1", served: true, storage: true, schema }];
  const names = { plural: "boats", kind: "Boat" };
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const definition = {
    metadata: { name: "boats.example.com" },
    spec: { group: "example.com", scope: "Namespaced", names, versions },
  };
  (await api.post(definitions, definition)).expect(201);
  await eventually(async () => (await api.get(boats)).expect(200));
  (await api.post(boats, { apiVersion: "example.com/v1", kind: "Boat", metadata: { name: "b" } })).expect(201);
  const reader = new Reader(api);
  const refusal =
    "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf";
  for (const path of [boats, `${boats}/b`, `${boats}/none`, `${boats}?watch=true&timeoutSeconds=1`]) {
    const answer = (await api.get(path, { accept: protobuf })).expect(406);
    assert.equal((reader.protobuf(answer, status) as { message: string }).message, refusal);
  }
  const json = (await api.get(`${boats}/b`, { accept: `${protobuf},application/json` })).expect(200, {
    "metadata.name": "b",
  });
  assert.equal(json.headers["content-type"], "application/json");
  const gvk = { group: api.name("meta.k8s.io"), version: "v1", kind: "PartialObjectMetadata" };
  const partial = (await api.get(`${boats}/b`, { accept: `${protobuf};${metadataAlone}` })).expect(200);
  assert.equal((reader.protobuf(partial, gvk) as { metadata: { name: string } }).metadata.name, "b");
});
