/** Resource claims that are created from templates for pods. */
import assert from "node:assert/strict";
import type { Api } from "../harness.ts";
import { eventually, gated, suite } from "../harness.ts";
import { claimTemplate, namespaces, pod } from "../objects.ts";
import { absent, present } from "../view.ts";

const inBothDomains = suite({ ...gated, controllers: ["*"] });

interface Claim {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: object;
}

async function createPaths(api: Api) {
  const { ns, templates } = await api.createNamespace();
  return {
    templates,
    pods: `${namespaces}/${ns}/pods`,
    claims: `/apis/resource.k8s.io/v1beta1/namespaces/${ns}/resourceclaims`,
  };
}

const claimingPod = (name: string, ...claims: readonly object[]) => pod(name, { resourceClaims: claims });
const fromTemplate = (name: string, resourceClaimTemplateName: string) => ({ name, resourceClaimTemplateName });

async function claimsAt(api: Api, path: string, count: number): Promise<readonly Claim[]> {
  return eventually(async () => {
    const { items } = (await api.get(path)).expect(200).value as { items: readonly Claim[] }; // as the kind says
    assert.equal(items.length, count);
    return items;
  });
}

const deviceSpec = (deviceClassName: string) => ({
  metadata: { labels: { a: "b" }, annotations: { "example.com/c": "d" } },
  spec: { devices: { requests: [{ name: "d", deviceClassName }] } },
});

inBothDomains("a pod gets a claim of its own from the template that it names [RCT-06] [RCT-09]", async (api) => {
  const { templates, pods, claims } = await createPaths(api);
  const template = (await api.post(templates, claimTemplate("t", deviceSpec("x")))).expect(201);
  const answer = await eventually(async () =>
    (await api.post(pods, claimingPod("p", fromTemplate("dev", "t")))).expect(201),
  );
  const uid = answer.string("metadata.uid");
  const [claim] = await claimsAt(api, claims, 1);
  assert.match(claim!.metadata.name, /^p-dev-[a-z0-9]{5}$/);
  (await api.get(`${claims}/${claim!.metadata.name}`)).expect(200, {
    "metadata.generateName": "p-dev-",
    "metadata.labels": { a: "b" },
    "metadata.annotations": { "example.com/c": "d", "resource.kubernetes.io/pod-claim-name": "dev" },
    "metadata.ownerReferences": [
      { apiVersion: "v1", kind: "Pod", name: "p", uid, controller: true, blockOwnerDeletion: true },
    ],
    spec: template.at("spec.spec"),
  });
  await eventually(async () =>
    (await api.get(`${pods}/p`)).expect(200, {
      "status.resourceClaimStatuses": [{ name: "dev", resourceClaimName: claim!.metadata.name }],
    }),
  );
  (await api.delete(`${pods}/p?gracePeriodSeconds=0`)).expect(200);
  await claimsAt(api, claims, 0);
});

inBothDomains("a claim stays as its template was [RCT-07]", async (api) => {
  const { templates, pods, claims } = await createPaths(api);
  (await api.post(templates, claimTemplate("t", deviceSpec("old")))).expect(201);
  await eventually(async () => (await api.post(pods, claimingPod("p", fromTemplate("dev", "t")))).expect(201));
  const [claim] = await claimsAt(api, claims, 1);
  (await api.delete(`${templates}/t`)).expect(200);
  (await api.post(templates, claimTemplate("t", deviceSpec("new")))).expect(201);
  (await api.patch(`${pods}/p`, { metadata: { labels: { l: "m" } } })).expect(200);
  await eventually(async () => (await api.post(pods, claimingPod("q", fromTemplate("dev", "t")))).expect(201));
  const both = await claimsAt(api, claims, 2);
  assert.deepEqual(both.find(({ metadata }) => metadata.uid === claim!.metadata.uid)?.spec, claim!.spec);
  assert.equal(
    JSON.stringify(both.find(({ metadata }) => metadata.uid !== claim!.metadata.uid)?.spec).includes('"new"'),
    true,
  );
});

inBothDomains("a pod waits for its template, and is told so", async (api) => {
  const { templates, pods, claims } = await createPaths(api);
  await eventually(async () => (await api.post(pods, claimingPod("p", fromTemplate("dev", "late")))).expect(201));
  await eventually(async () => {
    const { text } = await api.get(pods.replace(/pods$/, "events"));
    assert.ok(text.includes("FailedResourceClaimCreation"), text);
  });
  (await api.post(templates, claimTemplate("late", deviceSpec("x")))).expect(201);
  await claimsAt(api, claims, 1);
});

inBothDomains("a claim that a pod with a node uses is reserved for it, and released when the pod ends", async (api) => {
  const { pods, claims } = await createPaths(api);
  const object = {
    apiVersion: "resource.k8s.io/v1beta1",
    kind: "ResourceClaim",
    metadata: { name: "shared", finalizers: ["resource.kubernetes.io/delete-protection"] },
    spec: deviceSpec("x").spec,
  };
  (await api.post(claims, object)).expect(201);
  const result = { request: "d", driver: "d.example.com", pool: "p", device: "one" };
  const allocation = { devices: { results: [result] } };
  (await api.patch(`${claims}/shared/status`, { status: { allocation } })).expect(200);
  const using = pod("p", { nodeName: "n", resourceClaims: [{ name: "dev", resourceClaimName: "shared" }] });
  const uid = (await eventually(async () => (await api.post(pods, using)).expect(201))).string("metadata.uid");
  await eventually(async () =>
    (await api.get(`${claims}/shared`)).expect(200, {
      "status.reservedFor": [{ resource: "pods", name: "p", uid }],
      "status.allocation": present,
    }),
  );
  (await api.patch(`${pods}/p/status`, { status: { phase: "Succeeded" } })).expect(200);
  await eventually(async () =>
    (await api.get(`${claims}/shared`)).expect(200, {
      "status.reservedFor": absent,
      "status.allocation": absent,
      "metadata.finalizers": absent,
    }),
  );
});

inBothDomains("a claim that was made for a pod goes when the pod has ended", async (api) => {
  const { templates, pods, claims } = await createPaths(api);
  (await api.post(templates, claimTemplate("t", deviceSpec("x")))).expect(201);
  await eventually(async () => (await api.post(pods, claimingPod("p", fromTemplate("dev", "t")))).expect(201));
  await claimsAt(api, claims, 1);
  await eventually(async () => (await api.get(`${pods}/p`)).expect(200, { "status.resourceClaimStatuses": present }));
  (await api.patch(`${pods}/p/status`, { status: { phase: "Failed" } })).expect(200);
  await claimsAt(api, claims, 0);
});
