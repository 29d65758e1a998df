/** Conditions of definitions that a client writes: which of them the server writes again, as kube-apiserver 1.32.1 does. */
import assert from "node:assert/strict";
import type { CustomResourceDefinitionCondition } from "#api/apiextensions/v1.ts";
import { crds, custom, definition } from "../crds.ts";
import { type Api, eventually, suite } from "../harness.ts";

const inBothDomains = suite();

type Condition = Pick<CustomResourceDefinitionCondition, "type" | "status"> & { reason: string; message: string };

const claimed = (type: string, status: Condition["status"] = "True"): Condition => ({
  type,
  status,
  reason: "Said",
  message: "by a client",
});

/** Returns functions that read the conditions of a new definition, and write one of them. */
async function install(api: Api, group: string, annotations: Readonly<Record<string, string>> = {}) {
  const path = `${crds}/widgets.${group}`;
  const metadata = { name: `widgets.${group}`, annotations };
  (await api.post(crds, { ...definition(group), metadata })).expect(201);
  const read = async (): Promise<Condition[]> =>
    ((await api.get(path)).expect(200).at("status.conditions") ?? []) as Condition[]; // by its schema
  const reasonOf = async (type: string): Promise<string | undefined> =>
    (await read()).find((condition) => condition.type === type)?.reason;
  const write = async (type: string, condition?: Condition): Promise<void> => {
    const others = (await read()).filter((other) => other.type !== type);
    const conditions = condition === undefined ? others : [...others, condition];
    (await api.patch(`${path}/status`, { status: { conditions } })).expect(200);
  };
  return { path, reasonOf, write };
}

inBothDomains("a definition with accepted names is established again, whatever a client says", async (api) => {
  const group = "again.example.com";
  const { reasonOf, write } = await install(api, group);
  for (const condition of [undefined, claimed("Established", "False")]) {
    await write("Established", condition);
    await eventually(async () => assert.equal(await reasonOf("Established"), "InitialNamesAccepted"));
  }
  (await api.post(`/apis/${group}/v1/widgets`, custom(group, "a"))).expect(201);
});

inBothDomains(
  "names that a client calls refused stay refused, and are served while the definition is established",
  async (api) => {
    const group = "refused.example.com";
    const { reasonOf, write } = await install(api, group);
    await write("NamesAccepted", claimed("NamesAccepted", "False"));
    assert.equal(await reasonOf("NamesAccepted"), "Said");
    (await api.post(`/apis/${group}/v1/widgets`, custom(group, "a"))).expect(201);
    await write("Established", claimed("Established", "False"));
    assert.equal(await reasonOf("Established"), "Said");
    (await api.get(`/apis/${group}/v1/widgets`)).expect(404);
    await write("NamesAccepted", claimed("NamesAccepted"));
    await eventually(async () => assert.equal(await reasonOf("Established"), "InitialNamesAccepted"));
    (await api.get(`/apis/${group}/v1/widgets`)).expect(200);
  },
);

inBothDomains("a false claim about schemas is removed once for each generation", async (api) => {
  const { path, reasonOf, write } = await install(api, "claims.example.com");
  const claim = claimed("NonStructuralSchema");
  await write(claim.type, claim);
  await eventually(async () => assert.equal(await reasonOf(claim.type), undefined));
  await write(claim.type, claim);
  assert.equal(await reasonOf(claim.type), "Said");
  (await api.patch(path, { spec: { names: { shortNames: ["wi"] } } })).expect(200);
  await eventually(async () => assert.equal(await reasonOf(claim.type), undefined));
});

inBothDomains("the condition of a protected group is written once for each approval", async (api) => {
  const type = "KubernetesAPIApprovalPolicyConformant";
  const approve = (text: string) => ({ "api-approved.kubernetes.io": text });
  const { path, reasonOf, write } = await install(api, "claims.k8s.io", approve("unapproved, a test"));
  assert.equal(await reasonOf(type), "UnapprovedAnnotation");
  await write(type, claimed(type));
  assert.equal(await reasonOf(type), "Said");
  await write(type);
  assert.equal(await reasonOf(type), undefined);
  (await api.patch(path, { metadata: { annotations: approve("unapproved, another one") } })).expect(200);
  await eventually(async () => assert.equal(await reasonOf(type), "UnapprovedAnnotation"));
});
