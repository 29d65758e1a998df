/** The end of a namespace, whatever other servers say about their resources. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RestClient } from "#client/rest-client.ts";
import type { ClientRequest, Transport } from "#client/transport.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { FakeCluster } from "./fake-cluster.ts";
import { namespaceController } from "./namespace.ts";

interface Written {
  readonly spec: { readonly finalizers: readonly string[] };
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** Deletes a namespace while another server serves these resources. Returns the first write of the controller. */
async function writeWith(resources: unknown): Promise<{ readonly path: string; readonly object: Written } | undefined> {
  const cluster = new FakeCluster(new FakeClock());
  const answers = new Map<string, unknown>([
    [
      "/apis",
      { groups: [{ name: "example.com", preferredVersion: { version: "v1" }, versions: [{ version: "v1" }] }] },
    ],
    ["/api/v1", { resources: [] }],
    ["/apis/example.com/v1", resources],
  ]);
  const writes: { readonly path: string; readonly object: Written }[] = [];
  const transport: Transport = {
    stream: cluster.transport.stream,
    request(request: ClientRequest) {
      const { method, path, body } = request;
      if (method === "PUT") writes.push({ path, object: JSON.parse(String(body)) as Written });
      return answers.has(path)
        ? Promise.resolve({ code: 200, body: Buffer.from(JSON.stringify(answers.get(path))) })
        : cluster.transport.request(request);
    },
  };
  const metadata = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  cluster.put(path, { metadata, spec: { finalizers: ["kubernetes"] }, status: { phase: "Terminating" } });
  const client = new RestClient(transport);
  const running = namespaceController({ ...cluster.environment, client, reader: client });
  await cluster.settled();
  cluster.stop();
  await running;
  return writes[0];
}

const path = "/api/v1/namespaces/left";

test("entries that are no resources do not hold up the deletion of a namespace", async () => {
  const strange = [
    null,
    5,
    {},
    { name: 5, namespaced: true, verbs: ["list"] },
    { name: "a", namespaced: true, verbs: 5 },
  ];
  const write = await writeWith({ resources: strange });
  assert.equal(write?.path, `${path}/finalize`);
  assert.deepEqual(write.object.spec.finalizers, []);
});

test("a server whose resources cannot be read is told of in the status", async () => {
  const resource = { name: "things", namespaced: true, verbs: ["list", "deletecollection"] };
  for (const document of [
    null,
    [],
    {},
    { resources: "x" },
    { resources: Array.from({ length: 2001 }, () => resource) },
  ]) {
    const write = await writeWith(document);
    assert.equal(write?.path, `${path}/status`);
    const told = write.object.status.conditions?.find(({ type }) => type === "NamespaceDeletionDiscoveryFailure");
    assert.equal(told?.status, "True");
  }
});
