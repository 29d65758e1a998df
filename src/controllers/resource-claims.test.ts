/** Resource claims that are kept although the known pods are stale. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RestClient } from "#client/rest-client.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { FakeCluster } from "./fake-cluster.ts";
import { resourceClaimsController } from "./resource-claims.ts";
import { SharedInformers } from "./shared-informers.ts";

const pod = "/api/v1/namespaces/shop/pods/p";
const claim = "/apis/resource.k8s.io/v1beta1/namespaces/shop/resourceclaims/p-dev";

async function startController() {
  const api = new FakeCluster(new FakeClock());
  // The watch of pods is so late that it reports nothing.
  const reader = new RestClient({
    request: api.transport.request,
    stream: (request, onEvent) =>
      api.transport.stream(request, request.path.startsWith("/api/v1/pods?") ? () => undefined : onEvent),
  });
  const environment = { ...api.environment, reader };
  const put = (uid: string, nodeName: string): void =>
    void api.put(pod, {
      metadata: { uid },
      spec: { nodeName, containers: [], resourceClaims: [{ name: "dev", resourceClaimName: "other" }] },
      status: { phase: "Running" },
    });
  put("old", "here");
  void resourceClaimsController({ informers: new SharedInformers(environment), version: "v1beta1" })(environment);
  await api.settled();
  return { api, put };
}

const ownedBy = (uid: string): object => ({
  metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid, controller: true }] },
  spec: {},
  status: {},
});

test("a claim stays whose pod is newer than the one of its name that is known [RCT-06]", async () => {
  const { api, put } = await startController();
  put("new", "here");
  api.put(claim, ownedBy("new"));
  await api.settled();
  assert.notEqual(api.get(claim), undefined);
  api.stop();
});

test("a claim goes whose pod was replaced by another one of its name [RCT-06]", async () => {
  const { api } = await startController();
  api.put(claim, ownedBy("older"));
  await api.settled();
  assert.equal(api.get(claim), undefined);
  api.stop();
});
