/** IPAddresses of services beyond the API tests: the end of the server while a write waits. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Service } from "#api/core/v1.ts";
import { FakeCluster } from "#controllers/fake-cluster.ts";
import { ServiceAllocator } from "#kinds/service-allocator.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { parseIpRange } from "#meta/ip-range.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { silentLog } from "#std/log.ts";
import { seededRandom } from "#std/random.ts";
import { AddressObjects } from "./address-objects.ts";

const services = { group: "", version: "v1", resource: "services", strategy: {} } as ResourceDefinition; // nothing else is read

const service = (clusterIP: string): Service => ({
  metadata: { namespace: "n", name: "s" },
  spec: { type: "ClusterIP", clusterIP, clusterIPs: [clusterIP] },
  status: { loadBalancer: {} },
});

test("a write of a service waits for its IPAddress, until the server ends", async () => {
  const clock = new FakeClock();
  const allocator = new ServiceAllocator({
    clusterIps: [parseIpRange("10.0.0.0/24")!],
    nodePorts: { first: 30_000, size: 8 },
    random: seededRandom(1),
  });
  const addresses = new AddressObjects({ allocator, domain: kubernetesDomain, clock, log: silentLog });
  const { client } = new FakeCluster(clock).environment;
  const { afterCommit } = addresses.inStep(services).strategy;
  const { changed } = addresses.handlers["services"]!;
  addresses.maintain(client);
  changed("n", "s", service("10.0.0.5"));
  const waiting = afterCommit!(1);
  assert.ok(waiting instanceof Promise);
  addresses.close();
  await waiting;
  changed("n", "s", service("10.0.0.6"));
  assert.equal(afterCommit!(2), undefined);
});
