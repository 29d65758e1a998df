/** Objects that `binnacle import` cannot create or must not create. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import type { ServerCall, ServerClient } from "#server/running-server.ts";
import { Importer } from "./importer.ts";

const configMaps = { name: "configmaps", kind: "ConfigMap", namespaced: true, verbs: ["create", "get", "list"] };

/** A server that serves config maps and accepts every object. */
class Server implements ServerClient {
  readonly url = "https://server";
  readonly created: string[] = [];

  call<T>({ method, path, body }: ServerCall): Promise<{ value: T; warnings: readonly string[] }> {
    const answer: object =
      path === "/apis" ? { groups: [] } : method === "GET" ? { resources: [configMaps] } : (body as object); // an object
    if (method === "POST") this.created.push(`${path.split("?")[0]} ${(body as Unstructured).metadata.name}`); // an object
    return Promise.resolve({ value: answer as T, warnings: [] }); // the caller names the type
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

const options = { namespace: "default", existing: "skip", writesStatus: false, dryRun: false } as const;

test("root certificates of the other server are left out", async () => {
  const server = new Server();
  const importer = new Importer(server, options);
  for (const name of ["kube-root-ca.crt", "other"]) {
    await importer.add({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });
  }
  const { created, failed } = await importer.finish();
  assert.deepEqual({ created, failed }, { created: 1, failed: 0 });
  assert.deepEqual(server.created, ["/api/v1/namespaces/default/configmaps other"]);
});

test("an object whose name is no part of a path is told, goes nowhere else, and the rest is made", async () => {
  const server = new Server();
  const importer = new Importer(server, options);
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: "..", uid: "1" };
  for (const metadata of [
    { name: ".." },
    { name: "a/b" },
    { name: "a", namespace: ".." },
    { name: "b", ownerReferences: [owner] },
    { name: "after" },
  ]) {
    await importer.add({ apiVersion: "v1", kind: "ConfigMap", metadata });
  }
  const { created, failed, failures } = await importer.finish();
  assert.deepEqual({ created, failed }, { created: 1, failed: 4 });
  assert.equal(failures[0], 'ConfigMap ..: ".." is no name of an object');
  assert.deepEqual(server.created, ["/api/v1/namespaces/default/configmaps after"]);
});
