/** The Node authorizer: the rights of kubelets, and their end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolume, Pod } from "#api/core/v1.ts";
import { objectMaker } from "#api/objects-for-tests.ts";
import { bootstrapPolicy } from "#api/bootstrap-policy.ts";
import type { ClusterRole } from "#api/rbac/v1.ts";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import type { UserInfo } from "#meta/user-info.ts";
import { attributes, pathAttributes } from "./attributes-for-tests.ts";
import type { Attributes } from "./authorizer.ts";
import { NodeGraph } from "./node-graph.ts";
import { node } from "./node.ts";
import { compileRule } from "./rules.ts";

const mirror = "kubernetes.io/config.mirror";
const kubelet = (name: string): UserInfo => ({
  name: `system:node:${name}`,
  groups: ["system:nodes", "system:authenticated"],
});

const make = objectMaker();
const pod = (name: string, spec: object, more: object = {}): Pod =>
  make("v1", "Pod", { metadata: { name, namespace: "n" }, spec, ...more });
const volume = (name: string, spec: object): PersistentVolume =>
  make("v1", "PersistentVolume", { metadata: { name }, spec });

const named = {
  nodeName: "one",
  serviceAccountName: "robot",
  imagePullSecrets: [{ name: "pull" }],
  initContainers: [{ env: [{ valueFrom: { secretKeyRef: { name: "env" } } }] }],
  containers: [{ envFrom: [{ secretRef: { name: "env-from" } }, { configMapRef: { name: "map-from" } }] }],
  ephemeralContainers: [{ env: [{ valueFrom: { configMapKeyRef: { name: "map-env" } } }] }],
  volumes: [
    { name: "a", secret: { secretName: "mounted" } },
    { name: "b", configMap: { name: "map" } },
    {
      name: "c",
      projected: { sources: [{ secret: { name: "projected" } }, { configMap: { name: "map-projected" } }] },
    },
    { name: "d", persistentVolumeClaim: { claimName: "claim" } },
    { name: "e", ephemeral: {} },
    { name: "f", csi: { nodePublishSecretRef: { name: "csi" } } },
    { name: "g", cephfs: { secretRef: { name: "ceph" } } },
    { name: "h", azureFile: { secretName: "azure" } },
  ],
  resourceClaims: [{ name: "x", resourceClaimName: "device" }, { name: "y" }],
};

function cluster(selectors = true) {
  const graph = new NodeGraph(mirror);
  graph.setPod(
    "n",
    "p",
    pod("p", named, { status: { resourceClaimStatuses: [{ name: "y", resourceClaimName: "made" }] } }),
  );
  graph.setVolume(
    "v",
    volume("v", {
      claimRef: { namespace: "n", name: "claim" },
      csi: { nodeStageSecretRef: { name: "stage", namespace: "vault" } },
      rbd: { secretRef: { name: "rbd" } },
    }),
  );
  graph.setOwned(
    "volumeattachments",
    "va",
    make("storage.k8s.io/v1", "VolumeAttachment", { spec: { nodeName: "one" } }),
  );
  graph.setOwned(
    "resourceslices",
    "slice",
    make("resource.k8s.io/v1beta1", "ResourceSlice", { spec: { nodeName: "one" } }),
  );
  const role = bootstrapPolicy(kubernetesDomain, () => true).find(({ metadata }) => metadata.name === "system:node");
  const { rules } = role as ClusterRole; // of nodes
  const authorizer = node({ domain: kubernetesDomain, graph, rules: rules!.map(compileRule), selectors });
  const decide = async (name: string, over: Partial<Attributes>): Promise<string> => {
    const verdict = await authorizer.authorize(attributes({ user: kubelet(name), ...over }));
    return verdict.decision === "allow" ? "allow" : verdict.reason;
  };
  return { graph, authorizer, decide };
}

const noRelationship = (name: string): string => `no relationship found between node '${name}' and this object`;

test("a node reads what the pods on it name, and no other node does [AUTHZ-32]", async () => {
  const { decide } = cluster();
  const secrets = ["pull", "env", "env-from", "mounted", "projected", "csi", "ceph", "azure", "rbd"];
  const related: readonly (readonly [string, string, string, string])[] = [
    ...secrets.map((name) => ["", "secrets", "n", name] as const),
    ["", "secrets", "vault", "stage"],
    ...["map", "map-from", "map-env", "map-projected"].map((name) => ["", "configmaps", "n", name] as const),
    ["", "persistentvolumeclaims", "n", "claim"],
    ["", "persistentvolumeclaims", "n", "p-e"],
    ["", "persistentvolumes", "", "v"],
    ["", "pods", "n", "p"],
    ["resource.k8s.io", "resourceclaims", "n", "device"],
    ["resource.k8s.io", "resourceclaims", "n", "made"],
    ["resource.k8s.io", "resourceslices", "", "slice"],
    ["storage.k8s.io", "volumeattachments", "", "va"],
  ];
  for (const [group, resource, namespace, name] of related) {
    const of = { group, resource, namespace, name };
    assert.equal(await decide("one", of), "allow", `${resource}/${name}`);
    assert.equal(await decide("two", of), noRelationship("two"), `${resource}/${name}`);
    assert.equal(await decide("one", { ...of, name: "other" }), noRelationship("one"));
    assert.notEqual(await decide("one", { ...of, verb: "deletecollection" }), "allow");
  }
  assert.equal(await decide("one", { resource: "secrets", namespace: "m", name: "mounted" }), noRelationship("one"));
});

test("a list or watch of secrets is one of a name in a namespace [AUTHZ-32]", async () => {
  const { decide } = cluster();
  const secret = { resource: "secrets", namespace: "n", name: "mounted" };
  assert.equal(await decide("one", { ...secret, verb: "watch" }), "allow");
  assert.equal(await decide("one", { ...secret, verb: "list", name: "" }), "No Object name found");
  assert.equal(
    await decide("one", { ...secret, verb: "list", namespace: "" }),
    "can only read namespaced object of this type",
  );
  assert.equal(await decide("one", { ...secret, verb: "update" }), "can only read resources of this type");
  assert.equal(await decide("one", { ...secret, subresource: "x" }), "cannot read subresource");
  const pv = { resource: "persistentvolumes", namespace: "", name: "v" };
  assert.equal(await decide("one", { ...pv, verb: "list" }), "can only get individual resources of this type");
  assert.equal(await decide("one", { ...pv, subresource: "status" }), "cannot get subresource");
});

test("a node loses its rights with the last pod that gave them [AUTHZ-32]", async () => {
  const { graph, decide } = cluster();
  const secret = { resource: "secrets", namespace: "n", name: "mounted" };
  const mounting = { nodeName: "one", volumes: [{ secret: { secretName: "mounted" } }] };
  graph.setPod("n", "q", pod("q", mounting));
  graph.setPod("n", "p", undefined);
  assert.equal(await decide("one", secret), "allow");
  assert.equal(await decide("one", { resource: "persistentvolumes", namespace: "", name: "v" }), noRelationship("one"));
  assert.equal(await decide("one", { resource: "secrets", namespace: "vault", name: "stage" }), noRelationship("one"));
  graph.setPod("n", "q", pod("q", { ...mounting, nodeName: "two" }));
  assert.equal(await decide("one", secret), noRelationship("one"));
  assert.equal(await decide("two", secret), "allow");
  graph.setPod("n", "q", pod("q", { ...mounting, nodeName: "" }));
  assert.equal(await decide("two", secret), noRelationship("two"));
  graph.setPod("n", "q", undefined);
  graph.setPod("n", "q", undefined);
  assert.equal(await decide("two", secret), noRelationship("two"));
});

test("a volume's secrets go with the volume and with its claim", async () => {
  const { graph, decide } = cluster();
  const stage = { resource: "secrets", namespace: "vault", name: "stage" };
  graph.setVolume("v", volume("v", { claimRef: { namespace: "n", name: "another" } }));
  assert.equal(await decide("one", stage), noRelationship("one"));
  graph.setVolume("v", undefined);
  assert.equal(await decide("one", { resource: "persistentvolumes", namespace: "", name: "v" }), noRelationship("one"));
  graph.clear("pods");
  assert.equal(await decide("one", { resource: "configmaps", namespace: "n", name: "map" }), noRelationship("one"));
});

test("a secret of a volume of Azure Files is in the claim's namespace unless the volume names another [AUTHZ-32]", async () => {
  const { graph, decide } = cluster();
  const claimRef = { namespace: "n", name: "claim" };
  const share = { secretName: "share", shareName: "s" };
  graph.setVolume("w", volume("w", { claimRef, azureFile: share }));
  assert.equal(await decide("one", { resource: "secrets", namespace: "n", name: "share" }), "allow");
  graph.setVolume("w", volume("w", { claimRef, azureFile: { ...share, secretNamespace: "vault" } }));
  assert.equal(await decide("one", { resource: "secrets", namespace: "n", name: "share" }), noRelationship("one"));
  assert.equal(await decide("one", { resource: "secrets", namespace: "vault", name: "share" }), "allow");
});

test("a pod that a node made itself gives it no rights [AUTHZ-32]", async () => {
  const { graph, decide } = cluster();
  graph.setPod(
    "n",
    "m",
    pod(
      "m",
      { nodeName: "two", serviceAccountName: "robot", volumes: [{ secret: { secretName: "x" } }] },
      {
        metadata: { name: "m", namespace: "n", annotations: { [mirror]: "" } },
      },
    ),
  );
  assert.equal(await decide("two", { resource: "secrets", name: "x" }), noRelationship("two"));
  assert.equal(await decide("two", { resource: "pods", name: "m" }), "allow");
});

test("tokens are made for the accounts of its pods only [AUTHZ-32]", async () => {
  const { decide } = cluster();
  const token = { resource: "serviceaccounts", subresource: "token", verb: "create", name: "robot" };
  assert.equal(await decide("one", token), "allow");
  assert.equal(await decide("two", token), noRelationship("two"));
  assert.equal(await decide("one", { ...token, name: "admin" }), noRelationship("one"));
  const individual = "can only create tokens for individual service accounts";
  assert.equal(await decide("one", { ...token, verb: "get" }), individual);
  assert.equal(await decide("one", { ...token, name: "" }), individual);
  assert.equal(
    await decide("one", { ...token, subresource: "" }),
    "can only create token subresource of serviceaccount",
  );
});

test("status of claims, leases, CSI nodes and slices are its own [AUTHZ-32]", async () => {
  const { decide } = cluster();
  const status = { resource: "persistentvolumeclaims", subresource: "status", name: "claim" };
  assert.equal(await decide("one", { ...status, verb: "patch" }), "allow");
  assert.equal(await decide("two", { ...status, verb: "patch" }), noRelationship("two"));
  assert.equal(await decide("one", { ...status, verb: "get" }), "can only get/update/patch this type");
  assert.equal(await decide("one", { ...status, verb: "delete" }), "can only get/update/patch this type");

  const lease = { group: "coordination.k8s.io", resource: "leases", namespace: "kube-node-lease", name: "one" };
  for (const verb of ["get", "create", "update", "patch", "delete"]) {
    assert.equal(await decide("one", { ...lease, verb }), "allow");
  }
  assert.equal(await decide("one", { ...lease, verb: "create", name: "" }), "allow");
  assert.equal(await decide("two", lease), "can only access node lease with the same name as the requesting node");
  assert.equal(
    await decide("one", { ...lease, namespace: "n" }),
    'can only access leases in the "kube-node-lease" system namespace',
  );
  assert.equal(
    await decide("one", { ...lease, verb: "list" }),
    "can only get, create, update, patch, or delete a node lease",
  );

  const csi = { group: "storage.k8s.io", resource: "csinodes", namespace: "", name: "one" };
  assert.equal(await decide("one", csi), "allow");
  assert.equal(await decide("two", csi), "can only access CSINode with the same name as the requesting node");
  assert.equal(
    await decide("one", { ...csi, verb: "list" }),
    "can only get, create, update, patch, or delete a CSINode",
  );
  assert.equal(await decide("one", { ...csi, subresource: "x" }), "cannot authorize CSINode subresources");

  const slice = { group: "resource.k8s.io", resource: "resourceslices", namespace: "", name: "slice" };
  const own = { fieldSelector: [{ field: "spec.nodeName", operator: "=", value: "one" }] } as const;
  assert.equal(await decide("two", { ...slice, verb: "create", name: "" }), "allow");
  assert.equal(await decide("one", { ...slice, verb: "delete" }), "allow");
  assert.equal(await decide("two", { ...slice, verb: "delete" }), noRelationship("two"));
  assert.equal(await decide("one", { ...slice, verb: "deletecollection", name: "", ...own }), "allow");
  const withoutSelector = "can only list/watch/deletecollection resourceslices with nodeName field selector";
  assert.equal(await decide("two", { ...slice, verb: "list", name: "", ...own }), withoutSelector);
  assert.equal(await decide("one", { ...slice, verb: "list", name: "" }), withoutSelector);
});

test("a node sees itself and lists its own pods; without the gate all of them [AUTHZ-32]", async () => {
  const { decide } = cluster();
  const self = { resource: "nodes", namespace: "", name: "one" };
  assert.equal(await decide("one", self), "allow");
  assert.equal(await decide("one", { ...self, verb: "watch" }), "allow");
  assert.equal(await decide("two", self), "node 'two' cannot read 'one', only its own Node object");
  assert.equal(
    await decide("one", { ...self, verb: "list", name: "" }),
    "node 'one' cannot read all nodes, only its own Node object",
  );
  assert.equal(await decide("one", { ...self, verb: "patch", subresource: "status" }), "allow");
  assert.notEqual(await decide("one", { ...self, verb: "delete" }), "allow");

  const pods = { resource: "pods", verb: "list", namespace: "", name: "" };
  const selector = (value: string, operator: "=" | "!=" = "=") => ({
    fieldSelector: [{ field: "spec.nodeName", operator, value }],
  });
  assert.equal(await decide("one", { ...pods, ...selector("one") }), "allow");
  for (const over of [{}, selector("two"), selector("one", "!=")]) {
    assert.equal(
      await decide("one", { ...pods, ...over }),
      "can only list/watch pods with spec.nodeName field selector",
    );
  }
  const single = { resource: "pods", verb: "watch", namespace: "n", name: "p" };
  assert.equal(await decide("one", single), "allow");
  assert.equal(await decide("two", single), noRelationship("two"));
  assert.equal(await decide("one", { resource: "pods", verb: "create", name: "" }), "allow");
  assert.equal(await decide("one", { resource: "pods", verb: "create", subresource: "eviction" }), "allow");
  assert.notEqual(await decide("one", { resource: "pods", verb: "create", subresource: "exec" }), "allow");
  assert.notEqual(await decide("one", { resource: "pods", verb: "create", subresource: "constructor" }), "allow");

  const all = cluster(false);
  assert.equal(await all.decide("one", pods), "allow");
  assert.equal(await all.decide("one", { ...self, verb: "list", name: "" }), "allow");
});

test("all other requests of nodes are decided by the role of nodes [AUTHZ-32]", async () => {
  const { decide, authorizer } = cluster();
  assert.equal(await decide("one", { resource: "services", verb: "list", namespace: "", name: "" }), "allow");
  assert.equal(await decide("one", { resource: "services", verb: "create" }), "");
  assert.equal(
    (await authorizer.authorize(pathAttributes("/metrics", { user: kubelet("one") }))).decision,
    "noOpinion",
  );
});

test("reasons are given for requests of nodes only", () => {
  const { authorizer } = cluster();
  const why = (over: Partial<Attributes>, user = kubelet("one")): string =>
    authorizer.explain(attributes({ user, resource: "secrets", ...over }));
  assert.equal(why({ name: "mounted" }), "Node: allowed to this node");
  assert.equal(why({ name: "other" }), `Node: ${noRelationship("one")}`);
  assert.equal(why({ resource: "deployments" }), "Node: no rule of nodes allows it");
  assert.equal(why({}, { name: "bob", groups: [] }), "");
});

test("a node is a user with the group and the name of nodes [AUTHZ-32]", async () => {
  const { authorizer, decide } = cluster();
  const services = attributes({ resource: "services" });
  for (const user of [
    { name: "system:node:one", groups: ["system:authenticated"] },
    { name: "one", groups: ["system:nodes"] },
  ]) {
    assert.deepEqual(await authorizer.authorize({ ...services, user }), { decision: "noOpinion", reason: "" });
  }
  assert.equal(await decide("", { resource: "services" }), 'unknown node for user "system:node:"');
  assert.deepEqual(authorizer.rulesFor!(kubelet("one"), "n").incomplete, true);
  assert.deepEqual(authorizer.rulesFor!({ name: "bob", groups: [] }, "n").errors, []);
});

test("names of the domain are meant", async () => {
  const graph = new NodeGraph("platform.io/config.mirror");
  const authorizer = node({ domain: apiDomain("platform.io"), graph, rules: [], selectors: true });
  const lease = {
    group: "coordination.platform.io",
    resource: "leases",
    namespace: "platform-node-lease",
    name: "one",
  };
  const verdict = await authorizer.authorize(attributes({ user: kubelet("one"), ...lease }));
  assert.equal(verdict.decision, "allow");
});
