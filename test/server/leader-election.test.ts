/** Leader election of controllers by a Lease. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { Api, domains, eventually, gated, openServer, temporaryFolder, usingObserved } from "../harness.ts";
import { absent } from "../view.ts";

const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/binnacle-controllers";
const elected = { ...gated, controllers: ["*"], leaderElect: true, leaderElectRetryPeriodMs: 100 } as const;

for (const domain of domains) {
  test(`${domain}: a server leads when it has the lease, gives it up at its end, and the next one leads at once`, async () => {
    const settings = { ...elected, storage: "disk", dataDir: join(temporaryFolder(), "data") } as const;
    const holders: string[] = [];
    for (const round of [0, 1]) {
      const server = await openServer(domain, settings);
      const api = new Api(server);
      const { serviceAccounts } = await api.createNamespace();
      // The server's own controllers do not wait.
      await eventually(async () => (await api.get("/api/v1/namespaces/default/services/kubernetes")).expect(200));
      await eventually(async () => (await api.get(`${serviceAccounts}/default`)).expect(200));
      const answer = (await api.get(lease)).expect(200, {
        "spec.leaseDurationSeconds": 15,
        "spec.leaseTransitions": round,
      });
      holders.push(answer.string("spec.holderIdentity"));
      api.close();
      await server.close();
    }
    assert.equal(new Set(holders).size, 2);
    const after = await openServer(domain, { ...settings, controllers: ["-*"], leaderElect: false });
    const api = new Api(after);
    (await api.get(lease)).expect(200, { "spec.holderIdentity": "", "spec.leaseDurationSeconds": 1 });
    api.close();
    await after.close();
  });
}

for (const domain of domains) {
  test(`${domain}: controllers do nothing while another server has the lease, and go on when it gives it up`, async () => {
    await usingObserved(domain, elected, async ({ api, clock, logged }) => {
      const countStarts = (): number => logged.filter((line) => line.includes("this server leads")).length;
      await eventually(() => Promise.resolve(assert.equal(countStarts(), 1)));
      // Another server takes the lease, as it may when this server has not renewed it for long.
      const renewTime = "2100-01-01T00:00:00.000000Z";
      const taken = { holderIdentity: "other", leaseDurationSeconds: 3600, renewTime, leaseTransitions: 7 };
      (await api.patch(lease, { spec: taken })).expect(200);
      await eventually(() => Promise.resolve(assert.ok(logged.some((line) => line.includes("no longer leads")))));
      const { serviceAccounts } = await api.createNamespace();
      // This is long enough for attempts to lead, and for any action of a controller that still runs.
      for (let round = 0; round < 5; round++) {
        clock.advance(30_000);
        (await api.get(lease)).expect(200, { "spec.holderIdentity": "other", "spec.preferredHolder": absent });
        (await api.get(serviceAccounts)).expect(200, { "items.length": 0 });
      }
      assert.equal(countStarts(), 1);
      (await api.patch(lease, { spec: { holderIdentity: "" } })).expect(200);
      await eventually(async () => (await api.get(`${serviceAccounts}/default`)).expect(200));
      assert.equal(countStarts(), 2);
    });
  });
}

test("durations by which two servers could lead are refused at the start", async () => {
  const wrong = [
    [{ leaderElectLeaseDurationMs: 10_000 }, /--leader-elect-lease-duration must be greater/],
    [{ leaderElectRetryPeriodMs: 9000 }, /--leader-elect-renew-deadline must be greater/],
  ] as const;
  for (const [settings, message] of wrong) {
    await assert.rejects(openServer("k8s.io", { ...elected, ...settings }), message);
  }
});
