/**
 * A whole control plane: kube-controller-manager with all its controllers, kube-scheduler, a kubelet and kwok beside this
 * server, unmodified, each with its own rights and in the encoding that it prefers (protobuf for the first two).
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Api } from "../harness.ts";
import { eventually } from "../harness.ts";
import { environment, Kubectl } from "../kubectl/kubectl.ts";
import { findPrograms } from "../kubectl/programs.ts";
import { type ServerProcess, spawnServer } from "../process.ts";
import { ControlPlane, missingPrograms, programTokens } from "./programs.ts";

const [program] = [...findPrograms().values()].slice(-1);
const skip = missingPrograms() ?? (program === undefined ? "no kubectl on the PATH" : false);

const rbac = "/apis/rbac.authorization.k8s.io/v1";
/** The rights of kwok, which reports nodes and pods as a kubelet does. */
const kwokRules = [
  { apiGroups: [""], resources: ["nodes", "pods"], verbs: ["get", "list", "watch", "update", "patch", "delete"] },
  { apiGroups: [""], resources: ["nodes/status", "pods/status"], verbs: ["update", "patch"] },
  { apiGroups: ["", "events.k8s.io"], resources: ["events"], verbs: ["create", "update", "patch"] },
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["*"] },
];

const size = { cpu: "32", memory: "64Gi", pods: "110" };
const node = (name: string): object => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name, labels: { "kubernetes.io/hostname": name }, annotations: { "kwok.x-k8s.io/node": "fake" } },
  status: { allocatable: size, capacity: size },
});

const container = (image: string): object => ({ name: "main", image, resources: { requests: { cpu: "100m" } } });
const template = (app: string, restartPolicy = "Always"): object => ({
  metadata: { labels: { app } },
  spec: { restartPolicy, containers: [container("registry.test/main:1")] },
});
const workload = (kind: string, name: string, spec: object): object => ({
  apiVersion: "apps/v1",
  kind,
  metadata: { name },
  spec: { selector: { matchLabels: { app: name } }, template: template(name), ...spec },
});

/** A volume for the claim of one pod, and the claim's class. */
const volume = (name: string): object => ({
  apiVersion: "v1",
  kind: "PersistentVolume",
  metadata: { name },
  spec: {
    capacity: { storage: "1Gi" },
    accessModes: ["ReadWriteOnce"],
    storageClassName: "by-hand",
    persistentVolumeReclaimPolicy: "Retain",
    hostPath: { path: `/volumes/${name}` },
  },
});

interface Pod {
  readonly metadata: { readonly name: string; readonly ownerReferences?: readonly { readonly kind: string }[] };
  readonly spec: { readonly nodeName?: string; readonly containers: readonly { readonly image: string }[] };
  readonly status: { readonly phase: string };
}

describe("a whole control plane", { skip, concurrency: 1 }, () => {
  let server: ServerProcess;
  let plane: ControlPlane;
  let api: Api;
  let kubectl: Kubectl;

  /** Returns the path of a resource in the namespace of the tests. */
  const path = (groupVersion: string, resource: string): string =>
    `/${groupVersion === "v1" ? "api" : "apis"}/${groupVersion}/namespaces/${kubectl.ns}/${resource}`;

  /** Waits for what the programs do; if one of them has ended, says so. */
  const soon = (check: () => Promise<unknown>): Promise<unknown> =>
    eventually(async () => {
      const problems = plane.problems();
      assert.equal(problems, "");
      return check();
    });

  const podsOf = async (app: string): Promise<readonly Pod[]> => {
    const answer = (await api.get(`${path("v1", "pods")}?labelSelector=app%3D${app}`)).expect(200);
    return answer.at("items") as readonly Pod[];
  };

  before(async () => {
    server = await spawnServer({
      domain: "k8s.io",
      storage: "disk",
      controllers: ["-*"],
      tokens: programTokens,
      flags: [
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--kubelet-preferred-address-types=InternalIP",
      ],
    });
    ({ api } = server);
    (await api.post(`${rbac}/clusterroles`, { metadata: { name: "kwok" }, rules: kwokRules })).expect(201);
    const subjects = [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "kwok" }];
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "kwok" };
    (await api.post(`${rbac}/clusterrolebindings`, { metadata: { name: "kwok" }, subjects, roleRef })).expect(201);
    for (const name of ["node-1", "node-2", "node-3"]) (await api.post("/api/v1/nodes", node(name))).expect(201);
    plane = new ControlPlane(server);
    plane.start();
    const { ns } = await api.createNamespace();
    kubectl = new Kubectl(api, ns, program!, environment(api.server));
    await soon(async () => (await api.get(`/api/v1/namespaces/${ns}/serviceaccounts/default`)).expect(200));
  });
  after(async () => {
    await plane?.stop();
    await server?.stop();
  });

  test("a kubelet registers its node with the rights of a node, renews its Lease, and runs and removes a pod", async () => {
    await plane.startKubelet();
    await soon(() => kubectl.run(["wait", "node/hollow", "--for=condition=Ready", "--timeout=10s"]));
    const lease = async (): Promise<string> =>
      (await api.get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/hollow"))
        .expect(200, { "spec.holderIdentity": "hollow" })
        .string("spec.renewTime");
    await soon(lease);
    const first = await lease();
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "hollow" },
      spec: {
        nodeSelector: { "kubernetes.io/hostname": "hollow" },
        tolerations: [{ operator: "Exists" }],
        containers: [container("registry.test/main:1")],
      },
    };
    (await api.post(path("v1", "pods"), pod)).expect(201);
    await soon(async () =>
      (await api.get(`${path("v1", "pods")}/hollow`)).expect(200, {
        "status.phase": "Running",
        "status.containerStatuses[0].ready": true,
      }),
    );
    // This kubelet speaks no TLS, so that the answer to a request for a log says what is wrong.
    await kubectl.fails(
      ["logs", "hollow"],
      /\/containerLogs\/.*: tls: first record does not look like a TLS handshake/,
    );
    await kubectl.run(["delete", "pod", "hollow", "--timeout=60s"]);
    await soon(async () => assert.notEqual(await lease(), first));
  });

  test("a Deployment of 20 runs, rolls to another image, and back", async () => {
    await kubectl.run(["create", "deployment", "web", "--image=registry.test/web:1", "--replicas=20"]);
    const rolledOut = (): Promise<string> => kubectl.run(["rollout", "status", "deployment/web", "--timeout=300s"]);
    const imagesOf = async (): Promise<ReadonlySet<string>> =>
      new Set((await podsOf("web")).map(({ spec }) => spec.containers[0]!.image));
    await rolledOut();
    const running = (await podsOf("web")).filter(({ status }) => status.phase === "Running");
    assert.equal(running.length, 20);
    assert.equal(new Set(running.map(({ spec }) => spec.nodeName)).size, 3);
    await kubectl.run(["set", "image", "deployment/web", "web=registry.test/web:2"]);
    await rolledOut();
    await soon(async () => assert.deepEqual([...(await imagesOf())], ["registry.test/web:2"]));
    await kubectl.run(["rollout", "undo", "deployment/web"]);
    await rolledOut();
    await soon(async () => assert.deepEqual([...(await imagesOf())], ["registry.test/web:1"]));
    assert.match(await kubectl.run(["rollout", "history", "deployment/web"]), /^2 .*\n3 /m);
  });

  test("a Service has the addresses of the pods", async () => {
    await kubectl.run(["expose", "deployment", "web", "--port=80"]);
    await soon(async () => {
      const slices = (
        await api.get(
          `${path("discovery.k8s.io/v1", "endpointslices")}?labelSelector=kubernetes.io%2Fservice-name%3Dweb`,
        )
      ).expect(200);
      const items = slices.at("items") as readonly { readonly endpoints: readonly object[] }[];
      assert.equal(items.flatMap(({ endpoints }) => endpoints).length, 20);
    });
  });

  test("a HorizontalPodAutoscaler says that there are no metrics", async () => {
    await kubectl.run(["autoscale", "deployment", "web", "--min=2", "--max=30", "--cpu-percent=50"]);
    await soon(async () => {
      const output = await kubectl.run(["get", "hpa", "web", "-o", "jsonpath={.status.conditions[*].reason}"]);
      assert.match(output, /SucceededGetScale .*FailedGetResourceMetric/);
    });
    await kubectl.run(["delete", "hpa", "web"]);
  });

  test("a Job completes, and a CronJob starts one", async () => {
    await kubectl.run(["create", "job", "once", "--image=registry.test/job:1"]);
    await kubectl.run(["wait", "--for=condition=complete", "job/once", "--timeout=300s"]);
    await kubectl.run(["create", "cronjob", "tick", "--image=registry.test/job:1", "--schedule=* * * * *"]);
    await soon(async () => {
      const answer = (await api.get(path("batch/v1", "cronjobs/tick"))).expect(200);
      assert.match(answer.string("status.lastSuccessfulTime"), /^\d{4}-/);
    });
    await kubectl.run(["delete", "cronjob", "tick"]);
    await soon(async () => {
      const jobs = (await api.get(path("batch/v1", "jobs"))).expect(200).at("items") as readonly Pod[];
      assert.deepEqual(
        jobs.map(({ metadata }) => metadata.name),
        ["once"],
      );
    });
  });

  test("a StatefulSet has claims that are bound, pod by pod", async () => {
    for (const name of ["one", "two", "three"]) (await api.post("/api/v1/persistentvolumes", volume(name))).expect(201);
    const claim = {
      metadata: { name: "data" },
      spec: {
        accessModes: ["ReadWriteOnce"],
        storageClassName: "by-hand",
        resources: { requests: { storage: "1Gi" } },
      },
    };
    const set = workload("StatefulSet", "db", { replicas: 3, serviceName: "db", volumeClaimTemplates: [claim] });
    (await api.post(path("apps/v1", "statefulsets"), set)).expect(201);
    await kubectl.run(["rollout", "status", "statefulset/db", "--timeout=300s"]);
    const bound = await kubectl.run([
      "get",
      "pvc",
      "-o",
      "jsonpath={range .items[*]}{.metadata.name}={.status.phase} {end}",
    ]);
    assert.equal(bound, "data-db-0=Bound data-db-1=Bound data-db-2=Bound ");
    await kubectl.run(["scale", "statefulset/db", "--replicas=1"]);
    await soon(async () =>
      assert.deepEqual(
        (await podsOf("db")).map(({ metadata }) => metadata.name),
        ["db-0"],
      ),
    );
  });

  test("a node is drained within a budget, and a DaemonSet stays on it", async () => {
    (await api.post(path("apps/v1", "daemonsets"), workload("DaemonSet", "agent", {}))).expect(201);
    await kubectl.run(["rollout", "status", "daemonset/agent", "--timeout=300s"]);
    await kubectl.run(["create", "poddisruptionbudget", "web", "--selector=app=web", "--min-available=18"]);
    await soon(async () => {
      (await api.get(path("policy/v1", "poddisruptionbudgets/web"))).expect(200, { "status.disruptionsAllowed": 2 });
    });
    const drain = ["drain", "node-1", "--ignore-daemonsets", "--force", "--timeout=300s"];
    assert.match(await kubectl.run(drain), /node\/node-1 drained/);
    const left = (await api.get("/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-1")).expect(200);
    for (const { metadata } of left.at("items") as readonly Pod[])
      assert.equal(metadata.ownerReferences?.[0]?.kind, "DaemonSet", metadata.name);
    await kubectl.run(["rollout", "status", "deployment/web", "--timeout=300s"]);
    await kubectl.run(["uncordon", "node-1"]);
  });

  test("a namespace is deleted with everything in it", async () => {
    await kubectl.run(["delete", "namespace", kubectl.ns, "--timeout=300s"]);
    (await api.get(`/api/v1/namespaces/${kubectl.ns}`)).expectFailure(404, "NotFound");
    const left = (await api.get("/api/v1/pods")).expect(200);
    assert.deepEqual(left.at("items"), []);
  });
});
