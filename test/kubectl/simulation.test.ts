/** kubectl waits for simulated workloads, goes back to former revisions, and drains the node. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Api, openServer } from "../harness.ts";
import { environment, Kubectl } from "./kubectl.ts";
import { findPrograms } from "./programs.ts";

const programs = findPrograms();
if (programs.size === 0) test("kubectl", { skip: "no kubectl on the PATH" }, () => undefined);

const settings = { simulate: ["workloads"], simulateReadyAfterMs: 100, controllers: ["*"] };

const template = (app: string, spec: object = {}) => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: "main", image: "example.com/main:1" }], ...spec },
});

const workload = (apiVersion: string, kind: string, name: string, spec: object) => ({
  apiVersion,
  kind,
  metadata: { name },
  spec: { selector: { matchLabels: { app: name } }, template: template(name), ...spec },
});

// One program is enough: all speak the same protocol.
for (const program of [...programs.values()].slice(0, 1)) {
  const withKubectl = (title: string, run: (kubectl: Kubectl) => Promise<void>): void =>
    void test(title, async (t) => {
      const server = await openServer("k8s.io", settings);
      t.after(() => server.close());
      const api = new Api(server);
      t.after(() => api.close());
      await run(new Kubectl(api, "default", program, environment(server)));
    });

  withKubectl("rollout status ends, and rollout undo goes back", async (kubectl) => {
    const objects = [
      workload("apps/v1", "Deployment", "web", { replicas: 3 }),
      workload("apps/v1", "StatefulSet", "db", { replicas: 2, serviceName: "db" }),
      workload("apps/v1", "DaemonSet", "agent", {}),
    ];
    for (const object of objects) await kubectl.run(["apply", "-f", kubectl.file(object)]);
    for (const target of ["deployment/web", "statefulset/db", "daemonset/agent"]) {
      const status = ["rollout", "status", target, "--timeout=60s"];
      const image = ["get", target, "-o", "jsonpath={.spec.template.spec.containers[0].image}"];
      await kubectl.run(status);
      await kubectl.run(["set", "image", target, "main=example.com/main:2"]);
      await kubectl.run(status);
      assert.match(await kubectl.run(["rollout", "history", target]), /\n1\b[^]*\n2\b/);
      await kubectl.run(["rollout", "undo", target]);
      await kubectl.run(status);
      assert.equal(await kubectl.run(image), "example.com/main:1");
      await kubectl.run(["rollout", "restart", target]);
      await kubectl.run(status);
    }
  });

  withKubectl("wait ends for pods and Jobs; logs and exec say that nothing runs", async (kubectl) => {
    await kubectl.run(["run", "one", "--image=example.com/one:1"]);
    await kubectl.run(["wait", "pod/one", "--for=condition=Ready", "--timeout=60s"]);
    await kubectl.fails(["logs", "one"], /SimulatedNodeWithoutKubelet/);
    await kubectl.fails(["exec", "one", "--", "true"], /SimulatedNodeWithoutKubelet/);
    await kubectl.run(["create", "job", "report", "--image=example.com/report:1"]);
    await kubectl.run(["wait", "job/report", "--for=condition=Complete", "--timeout=60s"]);
    await kubectl.run(["delete", "pod/one", "job/report", "--timeout=60s"]);
    assert.match(await kubectl.run(["get", "nodes"]), /simulated-node\s+Ready\b.*simulated/);
  });

  withKubectl("drain empties the node within its budgets, and uncordon fills it again", async (kubectl) => {
    await kubectl.run(["apply", "-f", kubectl.file(workload("apps/v1", "Deployment", "web", { replicas: 2 }))]);
    await kubectl.run(["rollout", "status", "deployment/web", "--timeout=60s"]);
    await kubectl.run(["create", "pdb", "web", "--selector=app=web", "--min-available=1"]);
    await kubectl.fails(["drain", "simulated-node", "--timeout=3s"], /disruption budget/);
    await kubectl.run(["delete", "pdb", "web"]);
    await kubectl.run(["drain", "simulated-node", "--timeout=60s"]);
    const phases = ["get", "pods", "-o", "jsonpath={.items[*].status.phase}"];
    assert.equal(await kubectl.run(phases), "Pending Pending");
    await kubectl.run(["uncordon", "simulated-node"]);
    await kubectl.run(["rollout", "status", "deployment/web", "--timeout=60s"]);
  });
}
