/** Writes of kubelets that NodeRestriction allows and refuses. */
import "reflect-metadata";
import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";
import { test } from "node:test";
import { Pkcs10CertificateRequestGenerator } from "@peculiar/x509";
import { objectMaker } from "#api/objects-for-tests.ts";
import type { FindObject } from "#api/object-types.ts";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import type { UserInfo } from "#meta/user-info.ts";
import { parseCertificateRequest } from "#std/certificate-request.ts";
import { attributesOf, firstRound } from "./attributes-for-tests.ts";
import { nodeRestriction, type NodeRestrictionOptions } from "./node-restriction.ts";
import type { AdmissionAttributes } from "./plugin.ts";

const mirror = "kubernetes.io/config.mirror";
const one: UserInfo = { name: "system:node:one", groups: ["system:nodes", "system:authenticated"] };

const make = objectMaker();
/** The versions of resources that are not in the core group. */
const versions = new Map([
  ["CSIDriver", "storage.k8s.io/v1"],
  ["CSINode", "storage.k8s.io/v1"],
  ["CertificateSigningRequest", "certificates.k8s.io/v1"],
  ["Eviction", "policy/v1"],
  ["Lease", "coordination.k8s.io/v1"],
  ["ResourceSlice", "resource.k8s.io/v1beta1"],
  ["TokenRequest", "authentication.k8s.io/v1"],
]);
const object = (kind: string, name: string, more: object = {}, metadata: object = {}): ApiObject =>
  make(versions.get(kind) ?? "v1", kind, { metadata: { name, namespace: "n", ...metadata }, ...more });
const driver = (name: string, audience: string): ApiObject =>
  object("CSIDriver", name, { spec: { tokenRequests: [{ audience }] } });

const stored: readonly (readonly [string, ApiObject])[] = [
  ["nodes", object("Node", "one", {}, { uid: "node-uid" })],
  ["pods", object("Pod", "mine", { spec: { nodeName: "one", volumes: volumes() } }, { uid: "pod-uid" })],
  ["pods", object("Pod", "others", { spec: { nodeName: "two" } }, { uid: "other-uid" })],
  ["persistentvolumeclaims", object("PersistentVolumeClaim", "claim", { spec: { volumeName: "v" } })],
  ["persistentvolumes", object("PersistentVolume", "v", { spec: { csi: { driver: "of-claim" } } })],
  ["csidrivers.storage.k8s.io", driver("inline", "disks")],
  ["csidrivers.storage.k8s.io", driver("of-claim", "claims")],
];

function volumes(): readonly object[] {
  return [
    { projected: { sources: [{ serviceAccountToken: { audience: "vault" } }] } },
    { csi: { driver: "inline" } },
    { persistentVolumeClaim: { claimName: "claim" } },
  ];
}

/** Returns the reason of the refusal; empty when there is none. */
function check(more: Partial<AdmissionAttributes>, options: Partial<NodeRestrictionOptions> = {}, user = one): string {
  const plugin = nodeRestriction({
    domain: kubernetesDomain,
    find: ((resource, _namespace, name) =>
      stored.find(([of, { metadata }]) => of === resource && metadata.name === name)?.[1]) as FindObject, // as stored
    limitsAudiences: false,
    anyCertificates: false,
    ...options,
  });
  const attributes = attributesOf(more.object, more);
  try {
    const admitted = plugin.admit!({ ...attributes, context: { ...attributes.context, user } }, firstRound);
    assert.equal(admitted, undefined, "nothing is changed");
    return "";
  } catch (error) {
    assert.ok(error instanceof StatusError);
    return (error.status.message ?? "").replace(/^.* is forbidden: /, "");
  }
}

const resource = (name: string, group = ""): Partial<AdmissionAttributes> => ({
  resource: { group, version: "v1", resource: name },
});
const pods = resource("pods");

const owner = { apiVersion: "v1", kind: "Node", name: "one", uid: "node-uid", controller: true };
const mirrorPod = (spec: object = {}, metadata: object = {}): Partial<AdmissionAttributes> => ({
  ...pods,
  object: object(
    "Pod",
    "p",
    { spec: { nodeName: "one", ...spec } },
    {
      annotations: { [mirror]: "x" },
      ownerReferences: [owner],
      ...metadata,
    },
  ),
});

test("only nodes are restricted, and they must say who they are [AUTHZ-32]", () => {
  const taking = { ...pods, object: object("Pod", "p") };
  assert.equal(check(taking, {}, { name: "admin", groups: ["system:masters"] }), "");
  assert.equal(check(taking, {}, { name: "system:node:one", groups: [] }), "");
  assert.equal(
    check(taking, {}, { name: "system:node:", groups: ["system:nodes"] }),
    'could not determine node from user "system:node:"',
  );
  assert.equal(check({ ...resource("configmaps"), object: object("ConfigMap", "c") }), "");
});

test("a node makes mirror pods of itself that name nothing [AUTHZ-32]", () => {
  assert.equal(check(mirrorPod()), "");
  const cases: readonly (readonly [Partial<AdmissionAttributes>, string])[] = [
    [
      mirrorPod({}, { annotations: {} }),
      `pod does not have "${mirror}" annotation, node "one" can only create mirror pods`,
    ],
    [mirrorPod({ nodeName: "two" }), 'node "one" can only create pods with spec.nodeName set to itself'],
    [
      mirrorPod({}, { ownerReferences: [owner, owner] }),
      'node "one" can only create pods with a single owner reference set to itself',
    ],
    [mirrorPod({}, { ownerReferences: [] }), 'node "one" can only create pods with an owner reference set to itself'],
    [
      mirrorPod({}, { ownerReferences: [{ ...owner, name: "two" }] }),
      'node "one" can only create pods with an owner reference set to itself',
    ],
    [
      mirrorPod({}, { ownerReferences: [{ ...owner, controller: false }] }),
      'node "one" can only create pods with a controller owner reference set to itself',
    ],
    [
      mirrorPod({}, { ownerReferences: [{ ...owner, blockOwnerDeletion: true }] }),
      'node "one" must not set blockOwnerDeletion on an owner reference',
    ],
    [mirrorPod({}, { ownerReferences: [{ ...owner, uid: "x" }] }), "node one UID mismatch: expected x got node-uid"],
    [mirrorPod({ serviceAccountName: "robot" }), 'node "one" can not create pods that reference a service account'],
    [
      mirrorPod({ containers: [{ envFrom: [{ secretRef: { name: "s" } }] }] }),
      'node "one" can not create pods that reference secrets',
    ],
    [mirrorPod({ imagePullSecrets: [{ name: "s" }] }), 'node "one" can not create pods that reference secrets'],
    [
      mirrorPod({ volumes: [{ configMap: { name: "c" } }] }),
      'node "one" can not create pods that reference configmaps',
    ],
    [
      mirrorPod({ volumes: [{ projected: { sources: [{ clusterTrustBundle: { name: "b" } }] } }] }),
      'node "one" can not create pods that reference clustertrustbundles',
    ],
    [
      mirrorPod({ volumes: [{ persistentVolumeClaim: { claimName: "c" } }] }),
      'node "one" can not create pods that reference persistentvolumeclaims',
    ],
    [mirrorPod({ resourceClaims: [{ name: "r" }] }), 'node "one" can not create pods that reference resourceclaims'],
  ];
  for (const [more, message] of cases) assert.equal(check(more), message);
});

test("a node deletes, evicts and reports pods that are on it [AUTHZ-32]", () => {
  const remove = { ...pods, operation: "DELETE", object: undefined } as const;
  assert.equal(check({ ...remove, name: "mine" }), "");
  assert.equal(
    check({ ...remove, name: "others" }),
    'node "one" can only delete pods with spec.nodeName set to itself',
  );
  assert.equal(check({ ...remove, name: "missing" }), 'pod "missing" not found');
  assert.equal(check({ ...remove, name: "" }), 'pod "" not found');

  const evict = { ...pods, subresource: "eviction" };
  const eviction = object("Eviction", "mine");
  assert.equal(check({ ...evict, name: "mine", object: eviction }), "");
  assert.equal(check({ ...evict, object: eviction }), "");
  // The name in the path counts, not the name in the body.
  assert.equal(
    check({ ...evict, name: "others", object: eviction }),
    "node one can only evict pods with spec.nodeName set to itself",
  );
  assert.equal(check({ ...evict, object: object("Eviction", "") }), "could not determine pod from request data");

  const before = object("Pod", "mine", { spec: { nodeName: "one" }, status: {} }, { labels: { a: "b" } });
  const report = { ...pods, operation: "UPDATE", subresource: "status", name: "mine", oldObject: before } as const;
  assert.equal(check({ ...report, object: { ...before, status: { phase: "Running" } } as ApiObject }), "");
  assert.equal(
    check({ ...report, object: object("Pod", "mine", { spec: { nodeName: "one" } }, { labels: { a: "c" } }) }),
    'node "one" cannot update labels through pod status',
  );
  assert.equal(
    check({ ...report, object: { ...before, status: { resourceClaimStatuses: [{ name: "x" }] } } as ApiObject }),
    'node "one" cannot update resource claim statues',
  );
  const moved = object("Pod", "mine", { spec: { nodeName: "two" } });
  assert.equal(
    check({ ...report, oldObject: moved, object: before }),
    'node "one" can only update pod status for pods with spec.nodeName set to itself',
  );

  assert.equal(
    check({ ...report, subresource: "", object: before }),
    'unexpected operation "UPDATE", node "one" can only create and delete mirror pods',
  );
  assert.equal(
    check({ ...pods, subresource: "binding", object: before }),
    `unexpected pod subresource "binding", only 'status' and 'eviction' are allowed`,
  );
});

const node = (labels: object = {}, more: object = {}, metadata: object = {}): ApiObject =>
  object("Node", "one", more, { labels, ...metadata });

test("a node writes itself, without labels that steer workloads to it [AUTHZ-32]", () => {
  const create = (labels: object): string => check({ ...resource("nodes"), object: node(labels) });
  assert.equal(
    create({
      "kubernetes.io/hostname": "one",
      "node.kubernetes.io/anything": "x",
      "x.kubelet.kubernetes.io/y": "x",
      "topology.kubernetes.io/zone": "z",
      "example.com/a": "b",
      plain: "x",
    }),
    "",
  );
  const setting = 'node "one" is not allowed to set the following labels: ';
  assert.equal(
    create({ "node-restriction.kubernetes.io/a": "b", "x.node-restriction.kubernetes.io/a": "b", "a.k8s.io/b": "c" }),
    `${setting}a.k8s.io/b, node-restriction.kubernetes.io/a, x.node-restriction.kubernetes.io/a`,
  );
  assert.equal(
    create({ "node-role.kubernetes.io/control-plane": "" }),
    `${setting}node-role.kubernetes.io/control-plane`,
  );
  assert.equal(create({ "notkubernetes.io/a": "b", "kubernetes.io": "x" }), "");

  assert.equal(
    check({ ...resource("nodes"), object: object("Node", "two") }),
    'node "one" is not allowed to modify node "two"',
  );
  assert.equal(
    check({ ...resource("nodes"), operation: "DELETE", name: "two", object: undefined }),
    'node "one" is not allowed to modify node "two"',
  );
  assert.equal(
    check({ ...resource("nodes"), object: node({}, { spec: { configSource: {} } }) }),
    'node "one" is not allowed to create pods with a non-nil configSource',
  );
});

test("a node changes neither its taints, restricted labels nor owners [AUTHZ-32]", () => {
  const before = node(
    { "node-role.kubernetes.io/worker": "", "example.com/a": "b" },
    { spec: { taints: [{ key: "t" }] } },
  );
  const update = (after: ApiObject, subresource = ""): string =>
    check({ ...resource("nodes"), operation: "UPDATE", name: "one", subresource, object: after, oldObject: before });
  const same = { spec: { taints: [{ key: "t" }] } };
  const labels = before.metadata.labels ?? {};
  assert.equal(update({ ...before }), "");
  assert.equal(update(node({ ...labels, "example.com/a": "c" }, same)), "");
  const modifying = "is not allowed to modify labels: node-role.kubernetes.io/worker";
  assert.equal(update(node({ "example.com/a": "b" }, same)), modifying);
  assert.equal(update(node({ ...labels, "node-role.kubernetes.io/worker": "x" }, same), "status"), modifying);
  assert.equal(update(node(labels, { spec: {} })), 'node "one" is not allowed to modify taints');
  assert.equal(
    update(node(labels, same, { ownerReferences: [{ kind: "ConfigMap", name: "gone" }] })),
    'node "one" is not allowed to modify ownerReferences',
  );
  assert.equal(
    update(node(labels, { spec: { ...same.spec, configSource: { configMap: { name: "a" } } } })),
    'node "one" is not allowed to update configSource to a new non-nil configSource',
  );
});

test("of a claim a node reports size and conditions [AUTHZ-32]", () => {
  const claim = (status: object, metadata: object = {}): ApiObject =>
    object("PersistentVolumeClaim", "c", { spec: { volumeName: "v" }, status }, metadata);
  const before = claim({ phase: "Bound" }, { resourceVersion: "1", managedFields: [] });
  const claims = resource("persistentvolumeclaims");
  const update = (after: ApiObject, more: Partial<AdmissionAttributes> = {}): string =>
    check({
      ...claims,
      operation: "UPDATE",
      subresource: "status",
      name: "c",
      object: after,
      oldObject: before,
      ...more,
    });
  assert.equal(update(claim({ phase: "Bound", capacity: { storage: "2Gi" }, conditions: [{ type: "x" }] })), "");
  const fields = 'node "one" is not allowed to update fields other than status.quantity and status.conditions';
  assert.equal(update(claim({ phase: "Lost" })), fields);
  assert.equal(update(claim({ phase: "Bound" }, { labels: { a: "b" } })), fields);
  assert.equal(update(claim({}), { subresource: "" }), "may only update PVC status");
  assert.equal(update(claim({}), { operation: "CREATE" }), 'unexpected operation "CREATE"');
});

test("tokens are for pods that are on the node, and for audiences these name [AUTHZ-32]", () => {
  const ref = { apiVersion: "v1", kind: "Pod", name: "mine", uid: "pod-uid" };
  const token = (boundObjectRef: object | null, options = {}, audiences?: readonly string[]): string =>
    check(
      {
        ...resource("serviceaccounts"),
        subresource: "token",
        name: "robot",
        object: object("TokenRequest", "", {
          spec: { boundObjectRef, ...(audiences === undefined ? {} : { audiences }) },
        }),
      },
      options,
    );
  assert.equal(token(ref), "");
  assert.equal(token(null), "node requested token not bound to a pod");
  assert.equal(token({ ...ref, kind: "Secret" }), "node requested token not bound to a pod");
  assert.equal(token({ ...ref, uid: "" }), "node requested token with a pod binding without a uid");
  assert.equal(token({ ...ref, name: "missing" }), 'pod "missing" not found');
  assert.match(token({ ...ref, uid: "old" }), /^the UID in the bound object reference \(old\) does not match/);
  assert.equal(
    token({ ...ref, name: "others", uid: "other-uid" }),
    "node requested token bound to a pod scheduled on a different node",
  );
  const limited = { limitsAudiences: true };
  for (const audience of ["vault", "disks", "claims"]) assert.equal(token(ref, limited, [audience]), "");
  assert.equal(token(ref, limited, ["api"]), 'audience "api" not found in pod spec volume');
  assert.equal(token(ref, limited), 'audience "" not found in pod spec volume');
  assert.equal(token(ref, limited, ["vault", "disks"]), "node may only request 0 or 1 audiences");
  const without = (...gone: readonly string[]) => ({
    ...limited,
    find: (of: string, _namespace: string, name: string) =>
      gone.includes(name)
        ? undefined
        : stored.find(([kind, object]) => kind === of && object.metadata.name === name)?.[1],
  });
  const problem = 'error validating audience "api": ';
  for (const [gone, missing] of [
    ["inline", 'csidriver.storage.k8s.io "inline" not found'],
    ["claim", 'persistentvolumeclaim "claim" not found'],
    ["v", 'persistentvolume "v" not found'],
    ["of-claim", 'csidriver.storage.k8s.io "of-claim" not found'],
  ] as const) {
    assert.equal(token(ref, without(gone), ["api"]), problem + missing);
    assert.equal(token(ref, without(gone), ["vault"]), "");
  }
  assert.equal(
    token(ref, without("inline", "v"), ["api"]),
    `${problem}[csidriver.storage.k8s.io "inline" not found, persistentvolume "v" not found]`,
  );
  assert.equal(check({ ...resource("serviceaccounts"), object: object("ServiceAccount", "robot") }), "");
});

test("leases, CSI nodes and slices bear the node's name [AUTHZ-32]", () => {
  const leases = { ...resource("leases", "coordination.k8s.io"), namespace: "kube-node-lease" };
  assert.equal(check({ ...leases, object: object("Lease", "one") }), "");
  const lease = "can only access node lease with the same name as the requesting node";
  assert.equal(check({ ...leases, object: object("Lease", "two") }), lease);
  assert.equal(check({ ...leases, operation: "UPDATE", name: "two", object: object("Lease", "one") }), lease);
  assert.equal(
    check({ ...leases, namespace: "n", object: object("Lease", "one") }),
    'can only access leases in the "kube-node-lease" system namespace',
  );
  const csi = { ...resource("csinodes", "storage.k8s.io"), namespace: "" };
  assert.equal(check({ ...csi, object: object("CSINode", "one") }), "");
  assert.equal(
    check({ ...csi, object: object("CSINode", "two") }),
    "can only access CSINode with the same name as the requesting node",
  );
  const slices = { ...resource("resourceslices", "resource.k8s.io"), namespace: "" };
  assert.equal(check({ ...slices, object: object("ResourceSlice", "s", { spec: { nodeName: "one" } }) }), "");
  assert.equal(
    check({ ...slices, object: object("ResourceSlice", "s", { spec: { nodeName: "two" } }) }),
    "can only create ResourceSlice with the same NodeName as the requesting node",
  );
  const remove = { ...slices, operation: "DELETE", object: undefined } as const;
  assert.equal(check({ ...remove, oldObject: object("ResourceSlice", "s", { spec: { nodeName: "one" } }) }), "");
  assert.equal(
    check({ ...remove, oldObject: object("ResourceSlice", "s", { spec: { nodeName: "two" } }) }),
    "can only delete ResourceSlice with the same NodeName as the requesting node",
  );
  const platform = { domain: apiDomain("platform.io") };
  const renamed = { ...resource("leases", "coordination.platform.io"), namespace: "platform-node-lease" };
  assert.equal(check({ ...renamed, object: object("Lease", "one") }, platform), "");
  assert.equal(check({ ...renamed, object: object("Lease", "two") }, platform), lease);
});

test("a node asks for certificates in its own name [AUTHZ-32]", async () => {
  const keys = await webcrypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]);
  const createRequest = async (commonName: string, signer: string, options = {}): Promise<string> => {
    const request = await Pkcs10CertificateRequestGenerator.create({
      name: [{ CN: [commonName] }],
      keys,
      signingAlgorithm: { name: "ECDSA", hash: "SHA-256" },
    });
    const spec = {
      signerName: `kubernetes.io/${signer}`,
      request: Buffer.from(request.toString("pem")).toString("base64"),
    };
    const requests = resource("certificatesigningrequests", "certificates.k8s.io");
    // This loads the parser of requests, so that the plugin answers at once.
    await parseCertificateRequest(request.toString("pem"));
    return check({ ...requests, namespace: "", object: object("CertificateSigningRequest", "r", { spec }) }, options);
  };
  const wrong = "can only create a node CSR with CN=system:node:one";
  for (const signer of ["kubelet-serving", "kube-apiserver-client-kubelet"]) {
    assert.equal(await createRequest("system:node:one", signer), "");
    assert.equal(await createRequest("system:node:two", signer), wrong);
    assert.equal(await createRequest("system:node:two", signer, { anyCertificates: true }), "");
  }
  assert.equal(await createRequest("whoever", "kube-apiserver-client"), "");
  const requests = resource("certificatesigningrequests", "certificates.k8s.io");
  const spec = { signerName: "kubernetes.io/kubelet-serving", request: "bm90aGluZw==" };
  assert.equal(
    check({ ...requests, object: object("CertificateSigningRequest", "r", { spec }) }),
    "unable to parse csr: PEM block type must be CERTIFICATE REQUEST",
  );
});
