/** Tests when the condition `DisruptionTarget` is reset. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { timestampOf } from "#meta/time.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { FakeCluster } from "../fake-cluster.ts";
import { SharedInformers } from "../shared-informers.ts";
import { StaleDisruptions } from "./stale-disruptions.ts";

const pods = "/api/v1/namespaces/shop/pods";

test("a disruption that did not happen within two minutes is taken back, except the kubelet's and of ended pods", async () => {
  const clock = new FakeClock();
  const api = new FakeCluster(clock);
  const pod = (name: string, reason: string, status: object = {}): void => {
    const lastTransitionTime = timestampOf(clock.now());
    const conditions = [{ type: "DisruptionTarget", status: "True", reason, lastTransitionTime }];
    api.put(`${pods}/${name}`, { spec: { containers: [] }, status: { phase: "Running", conditions, ...status } });
  };
  pod("evicted", "EvictionByEvictionAPI");
  pod("kubelet", "TerminationByKubelet");
  pod("ended", "EvictionByEvictionAPI", { phase: "Failed" });
  new StaleDisruptions(api.environment, new SharedInformers(api.environment).pods).start();
  const statusOf = (name: string): string | undefined => {
    const { status } = api.get(`${pods}/${name}`) as unknown as { status: { conditions: { status: string }[] } }; // put above
    return status.conditions[0]?.status;
  };
  await api.advance(119_000);
  assert.equal(statusOf("evicted"), "True");
  await api.advance(1000);
  assert.deepEqual(["evicted", "kubelet", "ended"].map(statusOf), ["False", "True", "True"]);
  api.stop();
});
