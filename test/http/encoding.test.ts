/**
 * Tests that an encoding is one file and one line of a list: an invented one, added to the list, reads bodies and
 * writes objects, lists, watches, Tables and errors, and handlers do not know it.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { admissionChain } from "#admission/chain.ts";
import { loadDefinitions } from "#api/definitions.ts";
import { parseFeatureGates } from "#api/feature-gates.ts";
import { encodingContract } from "#codec/encoding.contract.ts";
import type { Encoding } from "#codec/encoding.ts";
import { jsonEncoding } from "#codec/json-encoding.ts";
import { listChunks } from "#codec/list-chunks.ts";
import { sortedJson } from "#codec/strict.ts";
import type { ApiRequest, Reply, StreamSink } from "#http/api-request.ts";
import { errorReplies } from "#http/filters/catch-errors.ts";
import { largeBytes, eventLoopLimits, MustRunInWorker } from "#http/large-requests.ts";
import { negotiator } from "#http/negotiation.ts";
import { createRouter } from "#http/router.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { notFound, StatusError } from "#meta/status-error.ts";
import { StoredObjects } from "#registry/stored-object.ts";
import { Stores } from "#registry/stores.ts";
import type { Schema } from "#schema/schema.ts";
import { planKinds } from "#server/served-kinds.ts";
import { encodingsOf, handlerParts, servedEncodings } from "#server/handler-parts.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { openMemoryStore } from "#storage/memory.ts";

/** Returns JSON with every bit inverted: the bytes are not text, and may contain line feeds. */
const invert = (text: string): Buffer => Buffer.from(text).map((byte) => byte ^ 0xff) as Buffer; // of a buffer
const revert = (bytes: Uint8Array): string => Buffer.from(bytes.map((byte) => byte ^ 0xff)).toString();

/** Returns the length of a value, followed by the value. */
function withLength(value: unknown): Buffer {
  const bytes = invert(JSON.stringify(value));
  const head = Buffer.alloc(4);
  head.writeUInt32BE(bytes.length);
  return Buffer.concat([head, bytes]);
}

/** Returns the values that follow each other. */
function valuesOf(bytes: Buffer): unknown[] {
  const values: unknown[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 + bytes.readUInt32BE(at);
    values.push(JSON.parse(revert(bytes.subarray(at + 4, end))));
    at = end;
  }
  return values;
}

/** The schemas of the last encoded value. */
const schemas = { object: undefined, list: undefined, frame: undefined } as Record<string, Schema | undefined>;

const mediaType = "application/x-inverted";
const gate = "CBORServingAndStorage";
const invertedEncoding: Encoding = {
  mediaType,
  stream: `${mediaType};stream=watch`,
  typedOnly: false,
  tables: true,
  gate,
  isText: false,
  weight: 2,
  objects: (bytes) => bytes.filter((byte) => byte === ("{".charCodeAt(0) ^ 0xff)).length,
  sendsStored: false,
  hasJsonFrames: false,
  decode(bytes, schema) {
    const { value, ...rest } = jsonEncoding.decode(Buffer.from(revert(bytes)), schema);
    return { ...rest, value, text: () => sortedJson(value) };
  },
  mistyped: (_found, field) => `inverted: bad ${field ?? "value"}`,
  object({ value, schema }) {
    schemas["object"] = schema;
    return invert(JSON.stringify(value));
  },
  list(list, { clock }) {
    schemas["list"] = list.schema;
    return listChunks(list.count, clock, {
      head: withLength(list.members),
      tail: withLength(null),
      empty: withLength(list.members),
      separator: "",
      item: (at) => withLength(list.item(at)),
    });
  },
  frame(type, { value, schema }) {
    schemas["frame"] = schema;
    return withLength({ type, object: value });
  },
};

encodingContract({
  name: "inverted",
  encoding: invertedEncoding,
  listOf(bytes) {
    const [members, ...items] = valuesOf(bytes);
    // There is an end after items, and none without items.
    return { members, items: items.length === 0 ? undefined : items.slice(0, -1) };
  },
  framesOf: valuesOf,
});

const withInverted = [...encodingsOf(loadDefinitions(kubernetesDomain), kubernetesDomain), invertedEncoding];
const offered = negotiator(withInverted, true);

async function server(negotiates = offered) {
  const clock = new FakeClock();
  const random = seededRandom(1);
  const cache = await openMemoryStore({ clock });
  const objects = new StoredObjects();
  const options = { featureGates: [], runtimeConfig: [], eventTtlMs: 3_600_000, allowPrivileged: true };
  const { tables, gates, table } = planKinds(options, kubernetesDomain, clock);
  const parts = handlerParts({
    tables,
    gates,
    table: () => table,
    domain: kubernetesDomain,
    clock,
    random,
    cache,
    objects,
    admission: admissionChain([]),
    authorizer: { authorize: () => ({ decision: "allow", reason: "" }) },
    sizes: eventLoopLimits(largeBytes),
    bodyLimitBytes: 1e6,
    minRequestTimeoutMs: 60_000,
    isConfidential: () => false,
    observeWatch() {},
  });
  return createRouter({
    parts: { ...parts, negotiator: negotiates },
    stores: new Stores({ cache, objects, clock, random, objectBytesMax: 1e6 }),
    table: () => table,
    other: () => undefined,
    unknown: (path) => {
      throw notFound({ group: "", resource: "" }, path);
    },
  });
}

/** Returns a request for ConfigMaps, or for the one with the name `name`. */
function request(verb: string, name = "", body: string | Buffer = "", accept = mediaType, query = ""): ApiRequest {
  const path = `/api/v1/namespaces/n/configmaps${name === "" ? "" : `/${name}`}`;
  const info = {
    isResourceRequest: true,
    path,
    verb,
    apiPrefix: "api",
    group: "",
    version: "v1",
    namespace: "n",
    resource: "configmaps",
    subresource: "",
    name,
    parts: name === "" ? ["configmaps"] : ["configmaps", name],
  };
  return {
    method: verb === "create" ? "POST" : "GET",
    url: `${path}?${query}`,
    path,
    query: new URLSearchParams(query),
    headers: { accept, "content-type": mediaType },
    body: () => Promise.resolve(Buffer.from(body)),
    info,
    user: { name: "u", groups: [] },
    warnings: [],
  } as unknown as ApiRequest; // what the router and the handlers read of it
}

const map = (name: string): Buffer =>
  invert(JSON.stringify({ kind: "ConfigMap", apiVersion: "v1", metadata: { name } }));

async function bytesOf({ bytes, chunks }: Reply): Promise<Buffer> {
  if (chunks !== undefined) return Buffer.concat(await Array.fromAsync(chunks));
  assert.ok(Buffer.isBuffer(bytes));
  return bytes;
}

const textOf = async (reply: Reply): Promise<string> => revert(await bytesOf(reply));

const metadataOf = (object: unknown): string | undefined =>
  (object as { metadata?: { name: string } } | null)?.metadata?.name; // objects of the API, or null

const initialEvents =
  "watch=true&resourceVersion=0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

/** Returns the first bytes of a watch, written to a sink for messages or for bytes. */
async function begin(watch: Reply, isWebSocket = false): Promise<Buffer[]> {
  const sent: Buffer[] = [];
  const take = (bytes: Buffer): boolean => sent.push(bytes) > 0;
  const sink: StreamSink = {
    write: isWebSocket ? () => assert.fail("not a message") : take,
    ...(isWebSocket ? { message: take } : {}),
    blocked: false,
    onDrain: undefined,
    onClose: undefined,
    end() {},
  };
  watch.stream!.open(sink);
  await Promise.resolve();
  sink.onClose?.();
  return sent;
}

test("an encoding that is in the list reads and writes objects, lists, Tables and watches", async () => {
  const route = await server();
  const created = await route(request("create", "", map("a")));
  assert.equal(created.code, 201);
  assert.equal(created.contentType, mediaType);
  const first = JSON.parse(await textOf(created)) as { metadata: { name: string } };
  assert.equal(first.metadata.name, "a");
  await route(request("create", "", map("b")));

  const got = await route(request("get", "b"));
  assert.equal(got.contentType, mediaType);
  assert.match(await textOf(got), /^\{"kind":"ConfigMap","apiVersion":"v1","metadata":\{"name":"b"/);

  const [members, ...items] = valuesOf(await bytesOf(await route(request("list"))));
  assert.equal((members as { kind: string }).kind, "ConfigMapList");
  assert.deepEqual(items.map(metadataOf), ["a", "b", undefined]);
  assert.deepEqual(Object.keys(items[1] as object), ["metadata"], "items of typed lists do not say what they are");
  const none = valuesOf(await bytesOf(await route(request("list", "", "", mediaType, "labelSelector=no"))));
  assert.equal(none.length, 1);

  const table = await route(request("list", "", "", `${mediaType};as=Table;g=meta.k8s.io;v=v1`));
  const row = valuesOf(await bytesOf(table))[1] as { cells: unknown[] };
  assert.deepEqual(row.cells.slice(0, 2), ["a", 0]);

  const watch = await route(request("watch", "", "", mediaType, initialEvents));
  assert.equal(watch.contentType, `${mediaType};stream=watch`);
  const sent = await begin(watch);
  const events = valuesOf(Buffer.concat(sent)) as { type: string; object: unknown }[];
  assert.deepEqual(
    events.map(({ type, object }) => [type, metadataOf(object)]),
    [
      ["ADDED", "a"],
      ["ADDED", "b"],
      ["BOOKMARK", undefined],
    ],
  );
  assert.equal(sent.length, 2, "the initial objects together, and the bookmark");
  // The same watch over a WebSocket.
  const messages = await begin(await route(request("watch", "", "", mediaType, initialEvents)), true);
  assert.deepEqual(Buffer.concat(messages), Buffer.concat(sent));
  assert.equal(messages.length, 3);
});

test("an encoding that sends stored objects as they are may have frames of its own", async () => {
  const keeping: Encoding = {
    ...invertedEncoding,
    mediaType: "application/x-keeping",
    sendsStored: true,
    object: ({ json, value }) => json ?? Buffer.from(JSON.stringify(value)),
  };
  const route = await server(negotiator([...withInverted, keeping], true));
  const types = ["application/json", "application/x-keeping", "application/json", mediaType];
  const sinks = await Promise.all(
    types.map(async (accept) => {
      const sent: Buffer[] = [];
      const write = (bytes: Buffer): boolean => sent.push(bytes) > 0;
      const sink: StreamSink = { write, blocked: false, onDrain: undefined, onClose: undefined, end() {} };
      (await route(request("watch", "", "", accept, "watch=true"))).stream!.open(sink);
      return { sent, sink };
    }),
  );
  await route(request("create", "", map("a")));
  while (sinks.some(({ sent }) => sent.length === 0)) await new Promise((resolve) => setImmediate(resolve));
  const [json = [], kept = [], again = [], own = []] = sinks.map(({ sent }) => sent);
  assert.match(Buffer.concat(json).toString(), /^\{"type":"ADDED",.*\}\n$/);
  assert.deepEqual(again, json);
  assert.equal((valuesOf(Buffer.concat(kept))[0] as { type: string }).type, "ADDED");
  assert.deepEqual(kept, own);
  assert.match(String(await bytesOf(await route(request("get", "a", "", keeping.mediaType)))), /^\{"kind":"ConfigMap"/);
  for (const { sink } of sinks) sink.onClose?.();
});

test("an encoding behind a gate is served when the gate is on", () => {
  const { gates } = loadDefinitions(kubernetesDomain);
  const isServed = (...texts: string[]): boolean =>
    servedEncodings(withInverted, { gates }, parseFeatureGates(gates, texts)).includes(invertedEncoding);
  assert.equal(isServed(), false);
  assert.equal(isServed(`${gate}=true`), true);
  assert.throws(
    () => servedEncodings([{ ...invertedEncoding, gate: "CborServing" }], { gates }, parseFeatureGates(gates, [])),
    /there is no gate CborServing/,
  );
});

test("an encoding is given the schema of whole objects, and none of other views", async () => {
  const route = await server();
  const schemasGiven = (): boolean[] =>
    ["object", "list", "frame"].map((of) => schemas[of]?.fields?.has("immutable") === true);
  const read = async (accept: string, listAccept = accept): Promise<void> => {
    await route(request("get", "a", "", accept));
    await route(request("list", "", "", listAccept));
    await begin(await route(request("watch", "", "", accept, initialEvents)));
  };
  await route(request("create", "", map("a")));
  assert.equal(schemasGiven()[0], true);
  await route(request("create", "", map("b"), mediaType, "dryRun=All"));
  assert.equal(schemasGiven()[0], true);
  await read(mediaType);
  assert.deepEqual(schemasGiven(), [true, true, true]);
  const partial = `${mediaType};g=meta.k8s.io;v=v1;as=PartialObjectMetadata`;
  await read(partial, `${partial}List`);
  assert.deepEqual(schemasGiven(), [false, false, false]);
});

test("a body of an encoding is refused in its words, and large when it has many objects", async () => {
  const route = await server();
  const expectRefusal = async (value: unknown, message: RegExp): Promise<void> => {
    const body = invert(JSON.stringify(value));
    await assert.rejects(async () => route(request("create", "", body)), { message });
  };
  await expectRefusal(1, /: inverted: bad value \(ce\)$/);
  await expectRefusal({ kind: 1 }, /: inverted: bad kind \([0-9a-f]+\)$/);
  await expectRefusal(
    { kind: "X", apiVersion: "x/" },
    /'apiVersion' is missing in '\{"apiVersion":"x\/","kind":"X"\}'$/,
  );
  const many = { kind: "ConfigMap", list: Array.from({ length: 3000 }, () => ({})) };
  await assert.rejects(async () => route(request("create", "", invert(JSON.stringify(many)))), MustRunInWorker);
});

test("a failure is told in an encoding that is in the list", () => {
  const reply = errorReplies(offered)(request("get", "x"), notFound({ group: "", resource: "configmaps" }, "x"));
  assert.equal(reply.contentType, mediaType);
  assert.ok(Buffer.isBuffer(reply.bytes));
  assert.match(revert(reply.bytes), /^\{"kind":"Status",.*"configmaps \\"x\\" not found"/);
});

test("what a reply says stays with it when it is encoded", async () => {
  const route = await server();
  await route(request("create", "", map("a")));
  const got = await route(request("get", "a"));
  const value = got.object?.value as { readonly kind: string } | undefined; // an object of the API
  assert.equal(value?.kind, "ConfigMap");
  const listed = await route(request("list", "", "", "application/yaml"));
  assert.equal(listed.list?.count, 1);
  await assert.rejects(async () => route(request("get", "none")), StatusError);
});
