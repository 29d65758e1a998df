/** kubectl drain: empties a node within disruption budgets. */
import assert from "node:assert/strict";
import { pod } from "../objects.ts";
import { kubectlSuite } from "./kubectl.ts";

kubectlSuite((test) => {
  test("drains a node within its budgets", async (kubectl) => {
    const { api, ns } = kubectl;
    const core = `/api/v1/namespaces/${ns}`;
    const node = api.unique("node");
    (await api.post("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: node } })).expect(201);
    for (const name of ["a", "b"]) {
      (await api.post(`${core}/pods`, pod(name, { nodeName: node }, { labels: { app: "x" } }))).expect(201);
      const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
      (await api.patch(`${core}/pods/${name}/status`, { status })).expect(200);
    }
    const budgets = `/apis/policy/v1/namespaces/${ns}/poddisruptionbudgets`;
    const selector = { matchLabels: { app: "x" } };
    const budget = { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: { name: "b" } };
    (await api.post(budgets, { ...budget, spec: { minAvailable: 1, selector } })).expect(201);
    const status = {
      observedGeneration: 1,
      currentHealthy: 3,
      desiredHealthy: 1,
      expectedPods: 3,
      disruptionsAllowed: 2,
    };
    (await api.patch(`${budgets}/b/status`, { status })).expect(200);
    const drain = ["drain", node, "--force", "--grace-period=0"];
    assert.match(await kubectl.run(drain), new RegExp(`node/${node} drained`));
    (await api.get(`${core}/pods`)).expect(200, { "items.length": 0 });
    (await api.get(`${budgets}/b`)).expect(200, { "status.disruptionsAllowed": 0 });
  });
});
