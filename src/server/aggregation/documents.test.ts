/** Documents of aggregated API servers: how much of them is kept and read at a time, whatever the servers send. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AggregatedApis, type AggregatedApi } from "#extensions/aggregated-apis.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { silentLog } from "#std/log.ts";
import type { Backends } from "./backends.ts";
import { AggregatedDocuments, keptBytesMax } from "./documents.ts";

const mib = 1024 * 1024;

/** Reads the documents of this many APIs. `bodyOf` returns the answer of one. Returns the documents that are kept. */
async function read(count: number, bodyOf: (group: string, path: string) => Buffer) {
  const names = Array.from({ length: count }, (_, at) => `g${at}.example.com`);
  const all = names.map(
    (group) => ({ name: `v1.${group}`, group, version: "v1", groupPriority: 1, versionPriority: 1 }) as AggregatedApi,
  ); // the fields that are read
  const apis = {
    all: () => all,
    findByName: (name: string) => all.find((one) => one.name === name),
  } as unknown as AggregatedApis; // the members that are used
  const asking = { now: 0, most: 0 };
  const backends = {
    of: ({ group }: AggregatedApi) =>
      Promise.resolve({
        address: { host: "127.0.0.1", port: 1 },
        serverName: group,
        forwarder: {
          async send(_: unknown, { path }: { readonly path: string }) {
            asking.most = Math.max(asking.most, ++asking.now);
            await new Promise((resolve) => setImmediate(resolve));
            asking.now--;
            const body = (async function* () {
              yield await Promise.resolve(bodyOf(group, path));
            })();
            return { code: 200, headers: {}, body, destroy: () => undefined };
          },
        },
      }),
  } as unknown as Backends; // the members that are used
  const clock = new FakeClock();
  const documents = new AggregatedDocuments({
    apis,
    backends,
    domain: kubernetesDomain,
    clock,
    log: silentLog,
    published: () => undefined,
  });
  for (const { name } of all) documents.changed(name);
  clock.advance(1000);
  let quiet = 0;
  for (; quiet < 2000; await new Promise((resolve) => setImmediate(resolve))) quiet = asking.now === 0 ? quiet + 1 : 0;
  const { versions } = documents;
  documents.close();
  return { versions, asking };
}

const resourcesOf = (group: string, padding = ""): Buffer => {
  const resource = {
    resource: `things${padding}`,
    responseKind: { group, version: "v1", kind: "Thing" },
    scope: "Cluster",
    verbs: ["get"],
  };
  return Buffer.from(
    JSON.stringify({ items: [{ metadata: { name: group }, versions: [{ version: "v1", resources: [resource] }] }] }),
  );
};

const openApi = (text: string): Buffer => Buffer.from(JSON.stringify({ swagger: "2.0", paths: {}, text }));

test("the documents of many servers take bounded room, and are read a few at a time", async () => {
  const { versions, asking } = await read(100, (group, path) =>
    path === "/openapi/v2" ? openApi(group.padEnd(mib)) : path === "/apis" ? resourcesOf(group) : Buffer.from("{}"),
  );
  const kept = versions.flatMap(({ openApiV2 }) => openApiV2 ?? []);
  assert.ok(kept.length > 50 && kept.length < 64);
  assert.ok(kept.reduce((sum, { length }) => sum + length, 0) <= keptBytesMax);
  assert.equal(asking.most, 8);
  assert.ok(versions.every(({ freshness, resources }) => freshness === "Current" && resources.length === 1));
});

test("names of resources count, too", async () => {
  const { versions } = await read(40, (group, path) =>
    path === "/apis" ? resourcesOf(group, "x".repeat(3 * mib)) : Buffer.from("{}"),
  );
  assert.equal(versions.filter(({ freshness }) => freshness === "Current").length, 21);
});

test("the document of a server with many APIs is kept once", async () => {
  const { versions } = await read(100, (group, path) =>
    path === "/openapi/v2" ? openApi("x".repeat(mib)) : path === "/apis" ? resourcesOf(group) : Buffer.from("{}"),
  );
  const kept = versions.flatMap(({ openApiV2 }) => openApiV2 ?? []);
  assert.equal(kept.length, 100);
  assert.equal(new Set(kept).size, 1);
});
