/**
 * Kubelets under the Node authorizer and NodeRestriction: the objects that they may read and write, and the end of
 * these rights.
 */
import type { ServerSettings } from "#server/options.ts";
import { type Answer, patchTypes } from "../client.ts";
import { type Api, gated, tokenFile, tokenLines, withOwnServer } from "../harness.ts";
import { configMap, type ObjectBody, secret, pod } from "../objects.ts";

const settings: ServerSettings = {
  ...gated,
  authorizationMode: ["Node", "RBAC"],
  enableAdmissionPlugins: ["NodeRestriction"],
  tokenAuthFile: tokenFile([
    ...tokenLines,
    "one-token,system:node:one,,system:nodes",
    "two-token,system:node:two,,system:nodes",
    "pretender-token,system:node:one,,others",
  ]),
};

const one = { as: "one-token" };
const two = { as: "two-token" };
const nodes = "/api/v1/nodes";

const node = (name: string, metadata: object = {}, spec: object = {}): ObjectBody => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name, ...metadata },
  spec,
});

/** Creates a pod on a node, as an administrator, with a secret, a config map and a claim. */
async function schedulePod(api: Api, podName = "p", nodeName = "one"): Promise<string> {
  const { ns, configMaps, secrets } = await api.createNamespace();
  (await api.post(secrets, secret("used"))).expect(201);
  (await api.post(secrets, secret("unused"))).expect(201);
  (await api.post(configMaps, configMap("used"))).expect(201);
  const volumes = [
    { name: "s", secret: { secretName: "used" } },
    { name: "m", configMap: { name: "used" } },
    { name: "c", persistentVolumeClaim: { claimName: "claim" } },
  ];
  const answer = await api.post(`/api/v1/namespaces/${ns}/pods`, pod(podName, { nodeName, volumes }));
  answer.expect(201);
  return `/api/v1/namespaces/${ns}`;
}

const unrelated = /no relationship found between node '(one|two)' and this object$/;

async function refusals(answers: readonly Promise<Answer>[], message: RegExp): Promise<void> {
  for (const answer of answers) (await answer).expectFailure(403, "Forbidden", message);
}

withOwnServer(
  "a kubelet reads what the pods on its node name, as long as they are there [AUTHZ-32]",
  settings,
  async (api) => {
    const core = await schedulePod(api);
    (await api.get(`${core}/secrets/used`, one)).expect(200);
    (await api.get(`${core}/configmaps/used`, one)).expect(200);
    (await api.get(`${core}/secrets?fieldSelector=metadata.name%3Dused`, one)).expect(200);
    (await api.get(`${core}/persistentvolumeclaims/claim`, one)).expect(404);
    await refusals(
      [
        api.get(`${core}/secrets/unused`, one),
        api.get(`${core}/secrets/used`, two),
        api.get(`${core}/configmaps/used`, two),
        api.get(`${core}/persistentvolumeclaims/claim`, two),
      ],
      unrelated,
    );
    (await api.get(`${core}/secrets`, one)).expectFailure(403, "Forbidden", /: No Object name found$/);
    (await api.get("/api/v1/secrets", one)).expectFailure(
      403,
      "Forbidden",
      /can only read namespaced object of this type$/,
    );
    (await api.put(`${core}/secrets/used`, secret("used"), one)).expectFailure(
      403,
      "Forbidden",
      /can only read resources/,
    );
    (await api.get(`${core}/secrets/used`, { as: "pretender-token" })).expect(403);

    // A user who impersonates the node has the node's rights, and no others.
    const acting = { headers: { "impersonate-user": "system:node:one", "impersonate-group": "system:nodes" } };
    (await api.get(`${core}/secrets/used`, acting)).expect(200);
    await refusals([api.get(`${core}/secrets/unused`, acting)], unrelated);

    // The rights end when the deletion is acknowledged, not some time later.
    (await api.delete(`${core}/pods/p?gracePeriodSeconds=0`)).expect(200);
    await refusals([api.get(`${core}/secrets/used`, one)], unrelated);
  },
);

withOwnServer("a kubelet lists its own pods only, and sees itself only [AUTHZ-32]", settings, async (api) => {
  const core = await schedulePod(api);
  (await api.post(nodes, node("two"))).expect(201);
  (await api.post(nodes, node("one"), one)).expect(201);
  const own = await api.get("/api/v1/pods?fieldSelector=spec.nodeName%3Done", one);
  own.expect(200, { "items.length": 1 });
  await refusals(
    [
      api.get("/api/v1/pods", one),
      api.get("/api/v1/pods?fieldSelector=spec.nodeName%3Dtwo", one),
      api.get("/api/v1/pods?fieldSelector=spec.nodeName%21%3Done", one),
      // Watches by path get no selector from authorization.
      api.get("/api/v1/watch/pods?fieldSelector=spec.nodeName%3Done", one),
    ],
    /can only list\/watch pods with spec\.nodeName field selector$/,
  );
  (await api.get(`${core}/pods/p`, one)).expect(200);
  await refusals([api.get(`${core}/pods/p`, two)], unrelated);
  (await api.get(`${nodes}/one`, one)).expect(200);
  (await api.get(`${nodes}/two`, one)).expectFailure(
    403,
    "Forbidden",
    /node 'one' cannot read 'two', only its own Node object$/,
  );
  (await api.get(nodes, one)).expectFailure(
    403,
    "Forbidden",
    /node 'one' cannot read all nodes, only its own Node object$/,
  );
});

withOwnServer("a kubelet writes its own node without what steers workloads [AUTHZ-32]", settings, async (api) => {
  const restricted = node("one", { labels: { "node-restriction.kubernetes.io/a": "b" } });
  (await api.post(nodes, restricted, one)).expectFailure(
    403,
    "Forbidden",
    'nodes "one" is forbidden: node "one" is not allowed to set the following labels: node-restriction.kubernetes.io/a',
  );
  (await api.post(nodes, node("two"), one)).expectFailure(
    403,
    "Forbidden",
    'nodes "two" is forbidden: node "one" is not allowed to modify node "two"',
  );
  (await api.post(nodes, node("one", { labels: { "kubernetes.io/hostname": "one" } }), one)).expect(201);
  const path = `${nodes}/one`;
  (await api.patch(path, { metadata: { labels: { zone: "a" } } }, patchTypes.merge, one)).expect(200);
  (await api.patch(`${path}/status`, { status: { phase: "Running" } }, patchTypes.merge, one)).expect(200);
  const expectRefusal = async (patch: object, reason: string, at = path): Promise<void> =>
    void (await api.patch(at, patch, patchTypes.merge, one)).expectFailure(
      403,
      "Forbidden",
      `nodes "one" is forbidden: ${reason}`,
    );
  const role = { metadata: { labels: { "node-role.kubernetes.io/control-plane": "" } } };
  await expectRefusal(role, "is not allowed to modify labels: node-role.kubernetes.io/control-plane");
  await expectRefusal(role, "is not allowed to modify labels: node-role.kubernetes.io/control-plane", `${path}/status`);
  await expectRefusal(
    { spec: { taints: [{ key: "a", effect: "NoSchedule" }] } },
    'node "one" is not allowed to modify taints',
  );
  // A node whose owner does not exist would be deleted by the garbage collector (CVE-2025-5187).
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "gone", uid: "x" }];
  await expectRefusal({ metadata: { ownerReferences } }, 'node "one" is not allowed to modify ownerReferences');
  (await api.patch(`${nodes}/two`, {}, patchTypes.merge, one)).expect([403, 404]);
  // A node may not delete even itself.
  (await api.delete(path, undefined, one)).expectFailure(403, "Forbidden", /cannot delete resource "nodes"/);
});

withOwnServer("a kubelet makes, reports, evicts and deletes pods of its own only [AUTHZ-32]", settings, async (api) => {
  (await api.post(nodes, node("one"), one)).expect(201);
  const own = (await api.get(`${nodes}/one`)).string("metadata.uid");
  const core = await schedulePod(api);
  const pods = `${core}/pods`;
  const owner = { apiVersion: "v1", kind: "Node", name: "one", uid: own, controller: true };
  const mirror = { annotations: { "kubernetes.io/config.mirror": "x" }, ownerReferences: [owner] };
  (await api.post(pods, pod("static", { nodeName: "one" }, mirror), one)).expect(201);
  await refusals(
    [
      api.post(pods, pod("plain", { nodeName: "one" }, { ownerReferences: [owner] }), one),
      api.post(pods, pod("elsewhere", { nodeName: "two" }, mirror), one),
      api.post(
        pods,
        pod("thief", { nodeName: "one", volumes: [{ name: "s", secret: { secretName: "unused" } }] }, mirror),
        one,
      ),
      api.post(pods, pod("robber", { nodeName: "one", serviceAccountName: "default" }, mirror), one),
    ],
    /can (only|not) create (mirror )?pods|pod may not reference (service accounts|secrets)/i,
  );
  (await api.patch(`${pods}/p/status`, { status: { phase: "Running" } }, patchTypes.merge, one)).expect(200);
  await refusals(
    [
      api.patch(`${pods}/p/status`, { status: { phase: "Failed" } }, patchTypes.merge, two),
      api.delete(`${pods}/p`, undefined, two),
    ],
    /with spec\.nodeName set to itself$/,
  );
  (await api.patch(`${pods}/p`, { metadata: { labels: { a: "b" } } }, patchTypes.merge, one)).expect(403);
  (await api.delete(pods, undefined, one)).expect(403);
  (await api.delete(`${pods}/static?gracePeriodSeconds=0`, undefined, one)).expect(200);
});

withOwnServer(
  "a kubelet gets tokens for the pods on its node, and leases of its own name [AUTHZ-32]",
  settings,
  async (api) => {
    const core = await schedulePod(api);
    const podUid = (await api.get(`${core}/pods/p`)).string("metadata.uid");
    const tokens = `${core}/serviceaccounts/default/token`;
    const request = (ref: object | undefined, ...audiences: string[]): ObjectBody => ({
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { audiences, ...(ref === undefined ? {} : { boundObjectRef: ref }) },
    });
    const ref = { apiVersion: "v1", kind: "Pod", name: "p", uid: podUid };
    (await api.post(tokens, request(ref), one)).expect(201);
    await refusals([api.post(tokens, request(ref, "vault"), one)], /error validating audience "vault"/);
    await refusals([api.post(tokens, request(ref), two)], unrelated);
    await refusals([api.post(tokens, request(undefined), one)], /node requested token not bound to a pod$/);
    await refusals(
      [api.post(tokens, request({ ...ref, uid: "" }), one)],
      /node requested token with a pod binding without a uid$/,
    );

    const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    const lease = (name: string): ObjectBody => ({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name },
    });
    (await api.post(leases, lease("one"), one)).expect(201);
    await refusals(
      [api.post(leases, lease("one"), two)],
      /can only access node lease with the same name as the requesting node$/,
    );
    await refusals(
      [api.get(`${leases}/one`, two)],
      /can only access node lease with the same name as the requesting node$/,
    );
  },
);

withOwnServer("a kubelet publishes and removes slices of its own only [AUTHZ-32]", settings, async (api) => {
  const slices = "/apis/resource.k8s.io/v1beta1/resourceslices";
  const slice = (name: string, nodeName: string): ObjectBody => ({
    apiVersion: "resource.k8s.io/v1beta1",
    kind: "ResourceSlice",
    metadata: { name },
    spec: { driver: "d.example.com", nodeName, pool: { name: nodeName, generation: 1, resourceSliceCount: 1 } },
  });
  (await api.post(slices, slice("a", "one"), one)).expect(201);
  (await api.post(slices, slice("b", "two"), two)).expect(201);
  await refusals(
    [api.post(slices, slice("c", "two"), one)],
    /can only create ResourceSlice with the same NodeName as the requesting node$/,
  );
  (await api.get(`${slices}/a`, one)).expect(200);
  await refusals([api.get(`${slices}/b`, one), api.delete(`${slices}/b`, undefined, one)], unrelated);
  await refusals(
    [api.get(slices, one), api.delete(slices, undefined, one)],
    /can only list\/watch\/deletecollection resourceslices with nodeName field selector$/,
  );
  (await api.delete(`${slices}?fieldSelector=spec.nodeName%3Done`, undefined, one)).expect(200);
  (await api.get(slices)).expect(200, { "items.length": 1, "items.0.metadata.name": "b" });
});
