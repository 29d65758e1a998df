/** Repair of services stored without an address. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { FakeCluster } from "./fake-cluster.ts";
import { serviceRepairController } from "./service-repair.ts";

test("services without an address are written once more, others are left alone", async () => {
  const api = new FakeCluster(new FakeClock());
  api.put("/api/v1/namespaces/shop/services/old", { spec: {} });
  api.put("/api/v1/namespaces/shop/services/right", { spec: { clusterIP: "10.0.0.5" } });
  const incomplete = (service: object): boolean => !JSON.stringify(service).includes("clusterIP");
  void serviceRepairController(incomplete)(api.environment);
  await api.settled();
  const writes = api.requests.filter((request) => !request.startsWith("GET"));
  assert.deepEqual(writes, ["PUT /api/v1/namespaces/shop/services/old"]);
  api.stop();
});
