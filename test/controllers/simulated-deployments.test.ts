/** Simulated workloads: Deployments, ReplicaSets, pods and the node. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment, Lease, Node, PodDisruptionBudget, ReplicaSet, type Pod } from "#client/kinds.ts";
import { Eviction } from "#client/kinds/policy/v1.ts";
import { startTestServer } from "#testing/start-test-server.ts";
import { deployment, isReady, listed, readyAfter, simulated, template } from "./simulated.ts";

const conditionsOf = (object: Deployment | undefined): Readonly<Record<string, string>> =>
  Object.fromEntries(
    (object?.status.conditions ?? []).map(({ type, status, reason }) => [type, `${status} ${reason}`]),
  );

test("a Deployment gets pods that run at once and become Ready after the time", async (t) => {
  const { client, pods, advance } = await simulated(t);
  const deployments = client.kind(Deployment).in("default");
  await deployments.create(deployment("web", 3));
  await advance(0);
  const started = await listed(pods.list());
  assert.deepEqual(
    started.map((pod) => [pod.status.phase, isReady(pod), pod.spec.nodeName]),
    Array.from({ length: 3 }, () => ["Running", false, "simulated-node"]),
  );
  assert.deepEqual(conditionsOf(await deployments.get("web")), {
    Available: "False MinimumReplicasUnavailable",
    Progressing: "True ReplicaSetUpdated",
  });
  await advance(1);
  const { metadata, status } = await deployments.get("web");
  assert.deepEqual(
    [status.readyReplicas, status.availableReplicas, status.updatedReplicas, status.observedGeneration],
    [3, 3, 3, metadata.generation],
  );
  assert.deepEqual(conditionsOf(await deployments.get("web")), {
    Available: "True MinimumReplicasAvailable",
    Progressing: "True NewReplicaSetAvailable",
  });
  const addresses = new Set((await listed(pods.list())).map((pod) => pod.status.podIP));
  assert.equal(addresses.size, 3);
});

test("the node is labelled as simulated, Ready, and its Lease is renewed", async (t) => {
  const { client, server } = await simulated(t);
  const { metadata, status } = await client.kind(Node).get("simulated-node");
  assert.equal(metadata.labels?.["simulation.binnacle.dev/simulated"], "true");
  assert.equal(status.conditions?.find(({ type }) => type === "Ready")?.status, "True");
  const renewed = async (): Promise<string | undefined> =>
    (await client.kind(Lease).get("simulated-node", { in: "kube-node-lease" })).spec.renewTime;
  const before = await renewed();
  await server.clock.advance("11s");
  assert.notEqual(await renewed(), before);
});

for (const [maxSurge, maxUnavailable] of [
  ["25%", "25%"],
  [0, 1],
  [2, 0],
] as const) {
  test(`a rolling update keeps maxSurge ${maxSurge} and maxUnavailable ${maxUnavailable} at every event`, async (t) => {
    const { client, watchPods, advance } = await simulated(t);
    const deployments = client.kind(Deployment).in("default");
    const rollingUpdate = { maxSurge, maxUnavailable };
    await deployments.create(deployment("web", 6, { strategy: { type: "RollingUpdate", rollingUpdate } }));
    await advance(1);
    const surge = typeof maxSurge === "number" ? maxSurge : 2;
    const unavailable = typeof maxUnavailable === "number" ? maxUnavailable : 1;
    let events = 0;
    const wrong: string[] = [];
    let isComplete = false;
    watchPods((present) => {
      const counted = present.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      isComplete ||= counted.length >= 6;
      if (!isComplete) return;
      events += 1;
      const ready = counted.filter(isReady).length;
      if (counted.length > 6 + surge || ready < 6 - unavailable) wrong.push(`${ready} of ${counted.length}`);
    });
    await deployments.patch("web", { merge: { spec: { template: { metadata: { annotations: { step: "2" } } } } } });
    await advance(2);
    // A second change in the middle of the first leaves pods of three templates.
    await deployments.patch("web", { merge: { spec: { template: { metadata: { annotations: { step: "3" } } } } } });
    await advance(14);
    const { status } = await deployments.get("web");
    assert.deepEqual([status.updatedReplicas, status.availableReplicas, status.replicas], [6, 6, 6]);
    assert.deepEqual(wrong, []);
    assert.ok(events > 20);
  });
}

test("a Deployment scales down, and deletes pods that are not Ready first", async (t) => {
  const { client, pods, advance } = await simulated(t);
  const deployments = client.kind(Deployment).in("default");
  await deployments.create(deployment("web", 2));
  await advance(1);
  const ready = (await listed(pods.list())).map(({ metadata }) => metadata.name);
  await deployments.scale.set("web", 4);
  await advance(0);
  assert.equal((await listed(pods.list())).length, 4);
  await deployments.scale.set("web", 2);
  await advance(0);
  assert.deepEqual(
    (await listed(pods.list())).map(({ metadata }) => metadata.name),
    ready,
  );
  await deployments.scale.set("web", 0);
  await advance(0);
  assert.equal((await listed(pods.list())).length, 0);
  assert.equal((await deployments.get("web")).status.replicas, undefined);
});

test("a Deployment goes back to a former template, as kubectl rollout undo does", async (t) => {
  const { client, advance } = await simulated(t);
  const deployments = client.kind(Deployment).in("default");
  const revision = "deployment.kubernetes.io/revision";
  await deployments.create(deployment("web", 1, { template: template("web", { version: "1" }) }));
  await advance(1);
  await deployments.patch("web", { merge: { spec: { template: { metadata: { annotations: { version: "2" } } } } } });
  await advance(3);
  assert.equal((await deployments.get("web")).metadata.annotations?.[revision], "2");
  const sets = await listed(client.kind(ReplicaSet).in("default").list());
  const first = sets.find(({ metadata }) => metadata.annotations?.[revision] === "1");
  const { "pod-template-hash": _, ...labels } = first?.spec.template.metadata?.labels ?? {};
  const former = { ...first!.spec.template, metadata: { ...first!.spec.template.metadata, labels } };
  await deployments.patch("web", { json: [{ op: "replace", path: "/spec/template", value: former }] });
  await advance(3);
  const { metadata, status } = await deployments.get("web");
  assert.deepEqual([metadata.annotations?.[revision], status.updatedReplicas, status.replicas], ["3", 1, 1]);
  const again = await client.kind(ReplicaSet).in("default").get(first!.metadata.name);
  assert.equal(again.metadata.annotations?.["deployment.kubernetes.io/revision-history"], "1");
});

test("a recreating update has no pods of two templates, and a paused Deployment rolls nothing out", async (t) => {
  const { client, watchPods, advance } = await simulated(t);
  const deployments = client.kind(Deployment).in("default");
  await deployments.create(deployment("web", 3, { strategy: { type: "Recreate" } }));
  await advance(1);
  let mixed = 0;
  watchPods((present) => {
    const hashes = new Set(present.map(({ metadata }) => metadata.labels?.["pod-template-hash"]));
    if (hashes.size > 1) mixed += 1;
  });
  await deployments.patch("web", {
    merge: { spec: { paused: true, template: { metadata: { annotations: { step: "2" } } } } },
  });
  await advance(1);
  assert.equal((await deployments.get("web")).status.updatedReplicas, undefined);
  assert.equal(conditionsOf(await deployments.get("web"))["Progressing"], "Unknown DeploymentPaused");
  await deployments.patch("web", { merge: { spec: { paused: false } } });
  await advance(2);
  const { status } = await deployments.get("web");
  assert.deepEqual([status.updatedReplicas, status.availableReplicas, mixed], [3, 3, 0]);
});

test("a pod with the annotation fail is restarted again and again, and the Deployment exceeds its deadline", async (t) => {
  const { client, pods, server, advance } = await simulated(t);
  const deployments = client.kind(Deployment).in("default");
  const failing = template("web", { "simulation.binnacle.dev/fail": "no database" });
  await deployments.create(deployment("web", 1, { template: failing, progressDeadlineSeconds: 180 }));
  await advance(1);
  const [crashed] = await listed(pods.list());
  const [container] = crashed!.status.containerStatuses ?? [];
  assert.equal(container?.state.waiting?.reason, "CrashLoopBackOff");
  const last = container?.lastState.terminated;
  assert.deepEqual([last?.exitCode, last?.message], [1, "no database"]);
  await server.clock.advance("10s");
  await advance(3);
  assert.ok(((await listed(pods.list()))[0]?.status.containerStatuses?.[0]?.restartCount ?? 0) > 1);
  assert.equal(conditionsOf(await deployments.get("web"))["Progressing"], "False ProgressDeadlineExceeded");
});

test("pods without their ReplicaSet stay after an orphaning deletion, and a new one adopts them", async (t) => {
  const { client, pods, advance } = await simulated(t);
  const sets = client.kind(ReplicaSet).in("default");
  const set = {
    metadata: { name: "web" },
    spec: { replicas: 2, selector: { matchLabels: { app: "web" } }, template: template("web") },
  };
  await sets.create(set);
  await advance(1);
  const names = (await listed(pods.list())).map(({ metadata }) => metadata.name);
  await sets.delete("web", { propagation: "Orphan" });
  await advance(0);
  const orphans = await listed(pods.list());
  assert.deepEqual(
    orphans.map(({ metadata }) => [metadata.name, metadata.ownerReferences]),
    names.map((name) => [name, undefined]),
  );
  const { metadata } = await sets.create(set);
  await advance(0);
  const adopted = await listed(pods.list());
  assert.deepEqual(
    adopted.map((pod) => [pod.metadata.name, pod.metadata.ownerReferences?.[0]?.uid]),
    names.map((name) => [name, metadata.uid]),
  );
  await pods.patch(names[0]!, { merge: { metadata: { labels: { app: "other" } } } });
  await advance(0);
  const released = await pods.get(names[0]!);
  assert.deepEqual(
    [released.metadata.ownerReferences, (await listed(pods.list({ labels: { app: "web" } }))).length],
    [undefined, 2],
  );
});

test("a budget refuses an eviction until another pod is Ready", async (t) => {
  const { client, pods, advance } = await simulated(t);
  await client.kind(Deployment).create(deployment("web", 2), { in: "default" });
  await client
    .kind(PodDisruptionBudget)
    .create(
      { metadata: { name: "web" }, spec: { minAvailable: 1, selector: { matchLabels: { app: "web" } } } },
      { in: "default" },
    );
  await advance(1);
  const evict = ({ metadata: { name } }: Pod) =>
    pods.subresource("eviction", Eviction).create(name, { metadata: { name } });
  const [first, second] = await listed(pods.list());
  await evict(first!);
  await assert.rejects(evict(second!), { code: 429 });
  await advance(1);
  await evict(second!);
  await advance(1);
  assert.equal((await client.kind(Deployment).get("web", { in: "default" })).status.availableReplicas, 2);
});

test("a cordoned node takes no pods until it is uncordoned", async (t) => {
  const { client, pods, advance } = await simulated(t);
  await client.kind(Node).patch("simulated-node", { merge: { spec: { unschedulable: true } } });
  await client.kind(Deployment).create(deployment("web", 1), { in: "default" });
  await advance(0);
  const [waiting] = await listed(pods.list());
  const scheduled = waiting!.status.conditions?.find(({ type }) => type === "PodScheduled");
  assert.deepEqual([scheduled?.status, scheduled?.reason], ["False", "Unschedulable"]);
  await client.kind(Node).patch("simulated-node", { merge: { spec: { unschedulable: null } } });
  await advance(1);
  assert.ok((await listed(pods.list())).every(isReady));
});

test("a server of another domain simulates with its own names", async (t) => {
  const server = await startTestServer({
    apiDomain: "platform.io",
    settings: { simulate: ["workloads"], simulateReadyAfterMs: 60_000 },
  });
  t.after(() => server.close());
  const client = await server.client();
  await client.kind(Deployment).create(deployment("web", 1), { in: "default" });
  await server.settled();
  await server.clock.advance(readyAfter);
  const { metadata, status } = await client.kind(Deployment).get("web", { in: "default" });
  assert.deepEqual([metadata.annotations?.["deployment.platform.io/revision"], status.availableReplicas], ["1", 1]);
});

test("nothing is simulated where a kube-controller-manager holds its lease", async (t) => {
  const { server, client, pods, advance } = await simulated(t);
  const spec = {
    holderIdentity: "other",
    leaseDurationSeconds: 15,
    renewTime: new Date(server.clock.now() + 20_000).toISOString().replace("Z", "000Z"),
  };
  await client.kind(Lease).create({ metadata: { name: "kube-controller-manager" }, spec }, { in: "kube-system" });
  await server.clock.advance("11s");
  assert.ok(server.logs().some((line) => line.includes("a kube-controller-manager works on these objects")));
  await client.kind(Deployment).create(deployment("web", 1), { in: "default" });
  await advance(1);
  assert.equal((await listed(pods.list())).length, 0);
});

test("without the flag there is no node, and no pod is made", async (t) => {
  const { server, client, pods } = await simulated(t, { simulate: [] });
  await client.kind(Deployment).create(deployment("web", 1), { in: "default" });
  await server.settled();
  assert.deepEqual(
    [await client.kind(Node).find("simulated-node"), (await listed(pods.list())).length],
    [undefined, 0],
  );
});
