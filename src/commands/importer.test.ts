/** Objects that `binnacle import` cannot create or must not create. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { RestClient } from "#client/rest-client.ts";
import type { ClientRequest, ClientResponse, Transport } from "#client/transport.ts";
import { Importer } from "./importer.ts";

const configMaps = { name: "configmaps", kind: "ConfigMap", namespaced: true, verbs: ["create", "get", "list"] };

/** A server that serves config maps and accepts every object. */
class Server implements Transport {
  readonly created: string[] = [];
  readonly stream = () => Promise.reject(new Error("nothing is watched"));

  request({ method, path, body = Buffer.alloc(0) }: ClientRequest): Promise<ClientResponse> {
    if (method === "GET") {
      const answer = path === "/apis" ? { groups: [] } : { resources: [configMaps] };
      return Promise.resolve({ code: 200, body: Buffer.from(JSON.stringify(answer)) });
    }
    const { metadata } = JSON.parse(body.toString()) as Unstructured; // what the importer sends
    if (method === "POST") this.created.push(`${path.split("?")[0]} ${metadata.name}`);
    return Promise.resolve({ code: 201, body });
  }
}

const options = { namespace: "default", existing: "skip", writesStatus: false, dryRun: false } as const;

test("root certificates of the other server are left out", async () => {
  const server = new Server();
  const importer = new Importer(new RestClient(server), options);
  for (const name of ["kube-root-ca.crt", "other"]) {
    await importer.add({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });
  }
  const { created, failed } = await importer.finish();
  assert.deepEqual({ created, failed }, { created: 1, failed: 0 });
  assert.deepEqual(server.created, ["/api/v1/namespaces/default/configmaps other"]);
});

test("an object whose name is no part of a path is told, goes nowhere else, and the rest is made", async () => {
  const server = new Server();
  const importer = new Importer(new RestClient(server), options);
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
