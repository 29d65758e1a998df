/**
 * An encoding is one file and one line of a list: a made-up one, added to the list, reads bodies and writes objects,
 * lists, watches, Tables and errors, and handlers do not know it.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { admissionChain } from "#admission/chain.ts";
import type { Encoding } from "#codec/encoding.ts";
import { encodings } from "#codec/encodings.ts";
import { jsonEncoding } from "#codec/json-encoding.ts";
import { listChunks } from "#codec/list-chunks.ts";
import type { ApiRequest, Reply, StreamSink } from "#http/api-request.ts";
import { errorReplies } from "#http/filters/catch-errors.ts";
import { largeBytes, sizesHere } from "#http/large-requests.ts";
import { negotiator } from "#http/negotiation.ts";
import { createRouter } from "#http/router.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { notFound, StatusError } from "#meta/status-error.ts";
import { StoredObjects } from "#registry/stored-object.ts";
import { Stores } from "#registry/stores.ts";
import { planKinds } from "#server/credentials/serving-plan.ts";
import { handlerParts } from "#server/handler-parts.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { openMemoryStore } from "#storage/memory.ts";

/** JSON written backwards, so that nothing of it passes for JSON. */
const backwards = (text: string): string => [...text].reverse().join("");
const mediaType = "application/x-backwards";
const backwardsEncoding: Encoding = {
  mediaType,
  stream: `${mediaType};stream=watch`,
  typedOnly: false,
  weight: 2,
  sendsStored: false,
  decode: (bytes, schema) => jsonEncoding.decode(Buffer.from(backwards(Buffer.from(bytes).toString())), schema),
  object: ({ value }) => Buffer.from(backwards(JSON.stringify(value))),
  list: (list, { clock }) =>
    listChunks(list.count, clock, {
      head: `${list.count} `,
      tail: "",
      empty: "0",
      separator: " ",
      item: (at) => backwards(JSON.stringify(list.item(at))),
    }),
  frame: (type, { value }) => Buffer.from(`${backwards(JSON.stringify({ type, object: value }))}\n`),
};

const offered = negotiator([...encodings, backwardsEncoding], true);

async function server() {
  const clock = new FakeClock();
  const random = seededRandom(1);
  const cache = await openMemoryStore({ clock });
  const objects = new StoredObjects();
  const options = { apiDomain: "k8s.io", featureGates: [], runtimeConfig: [], eventTtlMs: 3_600_000 };
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
    sizes: sizesHere(largeBytes),
    bodyLimitBytes: 1e6,
    minRequestTimeoutMs: 60_000,
    observeWatch() {},
  });
  return createRouter({
    parts: { ...parts, negotiator: offered },
    stores: new Stores({ cache, objects, clock, random, objectBytesMax: 1e6 }),
    table: () => table,
    other: () => undefined,
    unknown: (path) => {
      throw notFound({ group: "", resource: "" }, path);
    },
  });
}

/** A request for ConfigMaps; `name` for one of them. */
function request(verb: string, name = "", body = "", accept = mediaType, query = ""): ApiRequest {
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

const map = (name: string): string =>
  backwards(JSON.stringify({ kind: "ConfigMap", apiVersion: "v1", metadata: { name } }));

async function textOf({ bytes, chunks }: Reply): Promise<string> {
  if (chunks !== undefined) return Buffer.concat(await Array.fromAsync(chunks)).toString();
  assert.ok(Buffer.isBuffer(bytes));
  return bytes.toString();
}

test("an encoding that is in the list reads and writes objects, lists, Tables and watches", async () => {
  const route = await server();
  const created = await route(request("create", "", map("a")));
  assert.equal(created.code, 201);
  assert.equal(created.contentType, mediaType);
  const first = JSON.parse(backwards(await textOf(created))) as { metadata: { name: string } };
  assert.equal(first.metadata.name, "a");
  await route(request("create", "", map("b")));

  const got = await route(request("get", "b"));
  assert.equal(got.contentType, mediaType);
  assert.match(backwards(await textOf(got)), /^\{"kind":"ConfigMap","apiVersion":"v1","metadata":\{"name":"b"/);

  const [count, ...items] = (await textOf(await route(request("list")))).split(" ");
  assert.equal(count, "2");
  assert.match(backwards(items[1]!), /^\{"metadata":\{"name":"b"/, "items of typed lists do not say what they are");

  const table = await route(request("list", "", "", `${mediaType};as=Table;g=meta.k8s.io;v=v1`));
  assert.match(backwards((await textOf(table)).split(" ")[1]!), /^\{"cells":\["a",0,/);

  const watch = await route(
    request(
      "watch",
      "",
      "",
      mediaType,
      "watch=true&resourceVersion=0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
    ),
  );
  assert.equal(watch.contentType, `${mediaType};stream=watch`);
  const frames: string[] = [];
  const sink: StreamSink = {
    write: (bytes) => frames.push(...bytes.toString().trimEnd().split("\n")) > 0,
    blocked: false,
    onDrain: undefined,
    onClose: undefined,
    end() {},
  };
  watch.stream!.open(sink);
  assert.deepEqual(
    frames.map((frame) => backwards(frame).slice(0, 46)),
    ['{"type":"ADDED","object":{"kind":"ConfigMap","', '{"type":"ADDED","object":{"kind":"ConfigMap","'],
  );
  sink.onClose?.();
});

test("a failure is told in an encoding that is in the list", () => {
  const reply = errorReplies(offered)(request("get", "x"), notFound({ group: "", resource: "configmaps" }, "x"));
  assert.equal(reply.contentType, mediaType);
  assert.match(backwards(String(reply.bytes)), /^\{"kind":"Status",.*"configmaps \\"x\\" not found"/);
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
