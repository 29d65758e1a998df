/** Simulated workloads: StatefulSets with claims, DaemonSets, volumes and load balancers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ControllerRevision,
  DaemonSet,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Service,
  StatefulSet,
  StorageClass,
} from "#client/kinds.ts";
import { isReady, listed, simulated, template } from "./simulated.ts";

const claimSpec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };

const statefulSet = (name: string, replicas: number, spec: object = {}) => ({
  metadata: { name },
  spec: {
    replicas,
    serviceName: name,
    selector: { matchLabels: { app: name } },
    template: template(name),
    volumeClaimTemplates: [{ metadata: { name: "data" }, spec: claimSpec }],
    ...spec,
  },
});

const daemonSet = (name: string, spec: object = {}) => ({
  metadata: { name },
  spec: { selector: { matchLabels: { app: name } }, template: template(name), ...spec },
});

test("a StatefulSet makes its pods in order, each with a claim that is bound", async (t) => {
  const { client, pods, advance, watchPods } = await simulated(t);
  const sets = client.kind(StatefulSet).in("default");
  let disordered = 0;
  watchPods((present) => {
    const notReady = present.filter((pod) => !isReady(pod)).length;
    if (notReady > 1) disordered += 1;
  });
  await sets.create(statefulSet("db", 3));
  await advance(3);
  const { status } = await sets.get("db");
  assert.deepEqual([status.readyReplicas, status.availableReplicas, status.currentReplicas, disordered], [3, 3, 3, 0]);
  const made = await listed(pods.list());
  assert.deepEqual(
    made.map(({ metadata, spec }) => [
      metadata.name,
      spec.hostname,
      spec.subdomain,
      metadata.labels?.["apps.kubernetes.io/pod-index"],
    ]),
    ["0", "1", "2"].map((number) => [`db-${number}`, `db-${number}`, "db", number]),
  );
  const claims = await listed(client.kind(PersistentVolumeClaim).in("default").list());
  assert.deepEqual(
    claims.map(({ metadata, spec, status: { phase, capacity } }) => [
      metadata.name,
      spec.storageClassName,
      phase,
      capacity?.["storage"],
    ]),
    ["0", "1", "2"].map((number) => [`data-db-${number}`, "simulated", "Bound", "1Gi"]),
  );
  const volumes = await listed(client.kind(PersistentVolume).list());
  assert.deepEqual(
    volumes.map(({ status: { phase } }) => phase),
    ["Bound", "Bound", "Bound"],
  );
});

test("a StatefulSet shrinks from the end, keeps its claims, and takes them again", async (t) => {
  const { client, pods, advance } = await simulated(t);
  const sets = client.kind(StatefulSet).in("default");
  await sets.create(statefulSet("db", 2));
  await advance(2);
  await sets.scale.set("db", 1);
  await advance(0);
  assert.deepEqual(
    (await listed(pods.list())).map(({ metadata }) => metadata.name),
    ["db-0"],
  );
  const claims = client.kind(PersistentVolumeClaim).in("default");
  const { uid } = (await claims.get("data-db-1")).metadata;
  await sets.scale.set("db", 2);
  await advance(1);
  assert.equal((await claims.get("data-db-1")).metadata.uid, uid);
  assert.equal((await sets.get("db")).status.readyReplicas, 2);
});

test("claims are deleted with a StatefulSet where their policy says so, and their volumes with them", async (t) => {
  const { client, advance } = await simulated(t);
  const sets = client.kind(StatefulSet).in("default");
  const policy = { persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete" } };
  await sets.create(statefulSet("db", 2, policy));
  await advance(2);
  const claims = client.kind(PersistentVolumeClaim).in("default");
  assert.equal((await listed(claims.list())).length, 2);
  await sets.delete("db");
  await advance(1);
  assert.deepEqual(await listed(claims.list()), []);
  assert.deepEqual(await listed(client.kind(PersistentVolume).list()), []);
});

test("a StatefulSet updates from the last pod to its partition, one at a time", async (t) => {
  const { client, pods, advance, watchPods } = await simulated(t);
  const sets = client.kind(StatefulSet).in("default");
  const rolling = (partition: number) => ({ updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition } } });
  await sets.create(statefulSet("db", 3, rolling(1)));
  await advance(3);
  let fewest = 3;
  watchPods((present) => {
    if (present.length > 1) fewest = Math.min(fewest, present.filter(isReady).length);
  });
  await sets.patch("db", { merge: { spec: { template: { metadata: { annotations: { step: "2" } } } } } });
  await advance(4);
  const stepsOf = async () => (await listed(pods.list())).map(({ metadata }) => metadata.annotations?.["step"]);
  assert.deepEqual(await stepsOf(), [undefined, "2", "2"]);
  const { status } = await sets.get("db");
  assert.deepEqual([status.updatedReplicas, status.currentReplicas], [2, 1]);
  assert.notEqual(status.currentRevision, status.updateRevision);
  await sets.patch("db", { merge: { spec: rolling(0) } });
  await advance(2);
  assert.deepEqual(await stepsOf(), ["2", "2", "2"]);
  const done = await sets.get("db");
  assert.equal(done.status.currentRevision, done.status.updateRevision);
  assert.equal(fewest, 2);
  const revisions = await listed(client.kind(ControllerRevision).in("default").list());
  assert.deepEqual(revisions.map(({ revision }) => revision).toSorted(), [1, 2]);
});

test("a parallel StatefulSet makes all pods at once", async (t) => {
  const { client, pods, advance } = await simulated(t);
  await client.kind(StatefulSet).create(statefulSet("db", 3, { podManagementPolicy: "Parallel" }), { in: "default" });
  await advance(0);
  assert.equal((await listed(pods.list())).length, 3);
});

test("a StatefulSet whose numbers begin later updates from its last pod to its partition, and then rests", async (t) => {
  const { client, pods, advance } = await simulated(t);
  const sets = client.kind(StatefulSet).in("default");
  const updateStrategy = { type: "RollingUpdate", rollingUpdate: { partition: 1 } };
  await sets.create(statefulSet("db", 3, { ordinals: { start: 5 }, updateStrategy }));
  await advance(3);
  await sets.patch("db", { merge: { spec: { template: { metadata: { annotations: { step: "2" } } } } } });
  await advance(4);
  const shown = async () =>
    (await listed(pods.list())).map(({ metadata }) => [metadata.name, metadata.annotations?.["step"], metadata.uid]);
  const updated = await shown();
  assert.deepEqual(
    updated.map(([name, step]) => [name, step]),
    [
      ["db-5", undefined],
      ["db-6", "2"],
      ["db-7", "2"],
    ],
  );
  await advance(2);
  assert.deepEqual(await shown(), updated);
});

test("a parallel StatefulSet makes again the pods that have ended, and shrinks at once", async (t) => {
  const { client, pods, advance } = await simulated(t);
  const sets = client.kind(StatefulSet).in("default");
  await sets.create(statefulSet("db", 5, { podManagementPolicy: "Parallel" }));
  await advance(1);
  const { uid } = (await pods.get("db-1")).metadata;
  await pods.status.patch("db-1", { merge: { status: { phase: "Failed" } } });
  await advance(1);
  assert.notEqual((await pods.get("db-1")).metadata.uid, uid);
  await sets.scale.set("db", 2);
  await advance(0);
  assert.deepEqual(
    (await listed(pods.list())).map(({ metadata }) => metadata.name),
    ["db-0", "db-1"],
  );
});

test("a DaemonSet has a pod on the node, follows its template, and leaves nodes that it does not select", async (t) => {
  const { client, pods, advance } = await simulated(t);
  const sets = client.kind(DaemonSet).in("default");
  await sets.create(daemonSet("agent"));
  await advance(1);
  const { metadata, status } = await sets.get("agent");
  assert.deepEqual(
    [
      status.desiredNumberScheduled,
      status.numberReady,
      status.updatedNumberScheduled,
      status.numberAvailable,
      status.observedGeneration,
    ],
    [1, 1, 1, 1, metadata.generation],
  );
  await sets.patch("agent", { merge: { spec: { template: { metadata: { annotations: { step: "2" } } } } } });
  await advance(1);
  const [pod] = await listed(pods.list());
  assert.deepEqual([pod?.metadata.annotations?.["step"], isReady(pod!)], ["2", true]);
  await sets.patch("agent", { merge: { spec: { template: { spec: { nodeSelector: { zone: "a" } } } } } });
  await advance(1);
  assert.equal((await sets.get("agent")).status.desiredNumberScheduled, 0);
  assert.equal((await listed(pods.list())).length, 0);
  await client.kind(Node).patch("simulated-node", { merge: { metadata: { labels: { zone: "a" } } } });
  await advance(1);
  assert.equal((await sets.get("agent")).status.numberReady, 1);
});

test("a claim waits for its class, for its first pod, or for a volume that fits", async (t) => {
  const { client, pods, advance } = await simulated(t);
  const claims = client.kind(PersistentVolumeClaim).in("default");
  const phases = async () =>
    Object.fromEntries((await listed(claims.list())).map(({ metadata, status }) => [metadata.name, status.phase]));
  const volume = (name: string, storage: string) => ({
    metadata: { name },
    spec: { capacity: { storage }, accessModes: ["ReadWriteOnce"], storageClassName: "", hostPath: { path: "/data" } },
  });
  await claims.create({ metadata: { name: "fast" }, spec: { ...claimSpec, storageClassName: "fast" } });
  await claims.create({ metadata: { name: "static" }, spec: { ...claimSpec, storageClassName: "" } });
  await client.kind(PersistentVolume).create(volume("small", "500Mi"));
  await advance(0);
  assert.deepEqual(await phases(), { fast: "Pending", static: "Pending" });
  const fast = {
    metadata: { name: "fast" },
    provisioner: "disks.example.com",
    volumeBindingMode: "WaitForFirstConsumer",
  };
  await client.kind(StorageClass).create(fast);
  await client.kind(PersistentVolume).create(volume("large", "5Gi"));
  await advance(0);
  assert.deepEqual(await phases(), { fast: "Pending", static: "Bound" });
  assert.equal((await claims.get("static")).spec.volumeName, "large");
  const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "fast" } }];
  await pods.create({ metadata: { name: "user" }, spec: { ...template("user").spec, volumes } });
  await advance(1);
  assert.deepEqual(await phases(), { fast: "Bound", static: "Bound" });
  assert.ok(isReady(await pods.get("user")));
  await claims.delete("static");
  await advance(0);
  const left = await listed(client.kind(PersistentVolume).list());
  assert.deepEqual(
    left.filter(({ metadata }) => !metadata.name.startsWith("pvc-")).map(({ status }) => status.phase),
    ["Released", "Available"],
  );
});

test("services of type LoadBalancer get different addresses, and give them back", async (t) => {
  const { client, advance } = await simulated(t);
  const services = client.kind(Service).in("default");
  for (const name of ["a", "b", "c"]) {
    const loadBalancerClass = name === "c" ? "example.com/other" : undefined;
    await services.create({
      metadata: { name },
      spec: { type: "LoadBalancer", loadBalancerClass, ports: [{ port: 80 }] },
    });
  }
  await advance(0);
  const addressOf = async (name: string) => (await services.get(name)).status.loadBalancer.ingress?.[0]?.ip;
  const [a, b, c] = [await addressOf("a"), await addressOf("b"), await addressOf("c")];
  assert.match(a ?? "", /^203\.0\.113\.\d+$/);
  assert.notEqual(a, b);
  assert.equal(c, undefined);
  await services.patch("a", { merge: { spec: { type: "ClusterIP" } } });
  await advance(0);
  assert.equal(await addressOf("a"), undefined);
});
