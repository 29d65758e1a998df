/** The webhook as the API server asks it. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ApiError, type Cluster } from "binnacle/client";
import { ConfigMap } from "binnacle/client/kinds";
import { startTestServer, type TestServer } from "binnacle/testing";
import { register, startWebhook } from "./webhook.ts";

let server: TestServer;
let cluster: Cluster;
let webhook: Awaited<ReturnType<typeof startWebhook>>;

before(async () => {
  [server, webhook] = await Promise.all([startTestServer(), startWebhook()]);
  cluster = await server.client("tests");
  await register(cluster, webhook);
});
after(async () => {
  webhook.server.close();
  await server.close();
});

const map = (name: string, annotations: Readonly<Record<string, string>>) => ({
  metadata: { name, namespace: "default", labels: { checked: "yes" }, annotations },
});

test("who created it is noted", async () => {
  const created = await cluster.kind(ConfigMap).create(map("one", { "example.com/owner": "harbour" }));
  assert.ok(created.metadata.annotations?.["example.com/created-by"]);
});

test("one without an owner is refused, with the reason", async () => {
  await assert.rejects(cluster.kind(ConfigMap).create(map("two", {})), (error) => {
    assert.ok(error instanceof ApiError);
    assert.match(error.said, /say who owns it/);
    return true;
  });
});

test("others are not asked about", async () => {
  await cluster.kind(ConfigMap).create({ metadata: { name: "three", namespace: "default" } });
});
