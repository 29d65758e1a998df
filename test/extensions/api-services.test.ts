/** APIService objects of the group versions that this server serves. */
import { crds, definition } from "../crds.ts";
import { eventually, suite } from "../harness.ts";
import { absent } from "../view.ts";

const inBothDomains = suite();

const services = "/apis/apiregistration.k8s.io/v1/apiservices";
const managed = "metadata.labels[kube-aggregator.kubernetes.io/automanaged]";

inBothDomains("every built-in group version has an APIService that is local and available [GEN-07]", async (api) => {
  const expected: readonly (readonly [name: string, group: string | symbol, priority: number, version: number])[] = [
    ["v1.", absent, 18000, 1],
    ["v1.apps", "apps", 17800, 15],
    ["v1.rbac.authorization.k8s.io", "rbac.authorization.k8s.io", 17000, 15],
    ["v2.autoscaling", "autoscaling", 17500, 30],
    ["v1beta1.storage.k8s.io", "storage.k8s.io", 16800, 9],
  ];
  for (const [name, group, priority, version] of expected) {
    const answer = await eventually(async () => (await api.get(`${services}/${name}`)).expect(200));
    answer.has({
      [managed]: "onstart",
      "spec.group": group,
      "spec.service": absent,
      "spec.groupPriorityMinimum": priority,
      "spec.versionPriority": version,
      "status.conditions.length": 1,
      "status.conditions.0.type": "Available",
      "status.conditions.0.status": "True",
      "status.conditions.0.reason": "Local",
      "status.conditions.0.message": "Local APIServices are always available",
      "metadata.managedFields.0.manager": api.domain === "k8s.io" ? "kube-apiserver" : "platform-apiserver",
    });
  }
  (await api.get(`${services}/v1.apiregistration.k8s.io`)).expect(404);
});

inBothDomains("a custom group version has one for as long as it is served", async (api) => {
  const group = `${api.unique("g")}.example.com`;
  const one = `${services}/v1.${group}`;
  const version = (name: string, storage: boolean, served = true): object => ({
    name,
    served,
    storage,
    schema: { openAPIV3Schema: { type: "object" } },
  });
  const versions = [version("v1", true), version("v2", false), version("v3", false, false)];
  (await api.post(crds, definition(group, { versions }))).expect(201);
  (await api.post(crds, definition(group, { kind: "Gadget" }))).expect(201);
  await eventually(async () =>
    (await api.get(one)).expect(200, {
      [managed]: "true",
      spec: { group, version: "v1", groupPriorityMinimum: 1000, versionPriority: 100 },
      "status.conditions.0.reason": "Local",
    }),
  );
  await eventually(async () => (await api.get(`${services}/v2.${group}`)).expect(200));
  (await api.get(`${services}/v3.${group}`)).expect(404);

  // The object is created again after its deletion, and repaired after a change.
  (await api.delete(one)).expect(200);
  await eventually(async () => (await api.get(one)).expect(200));
  await api.patch(one, { spec: { versionPriority: 3 }, metadata: { labels: { mine: "yes" } } });
  await eventually(async () =>
    (await api.get(one)).expect(200, { "spec.versionPriority": 100, "metadata.labels.mine": "yes" }),
  );
  // The controller ignores an object without its label.
  const nobodys = { metadata: { labels: { "kube-aggregator.kubernetes.io/automanaged": null } } };
  (await api.patch(`${services}/v2.${group}`, nobodys)).expect(200);

  (await api.delete(`${crds}/widgets.${group}`)).expect(200);
  await eventually(async () => (await api.get(`/apis/${group}/v2`)).expect(404));
  (await api.get(one)).expect(200, {}); // the other kind is still served
  (await api.delete(`${crds}/gadgets.${group}`)).expect(200);
  await eventually(async () => (await api.get(one)).expect(404));
  (await api.get(`${services}/v2.${group}`)).expect(200, { [managed]: absent });
});

inBothDomains(
  "versions that 1.22 removed are not served, those that replaced them are [VER-59] [VER-66] [VER-73..75]",
  async (api) => {
    const removed = [
      ["admissionregistration.k8s.io", "validatingwebhookconfigurations"],
      ["admissionregistration.k8s.io", "mutatingwebhookconfigurations"],
      ["apiextensions.k8s.io", "customresourcedefinitions"],
      ["apiregistration.k8s.io", "apiservices"],
      ["coordination.k8s.io", "leases"],
    ];
    for (const [group, resource] of removed) {
      (await api.get(`/apis/${group}/v1beta1/${resource}`)).expect(404);
      (await api.get(`/apis/${group}/v1/${resource}`)).expect(200);
    }
    (await api.post("/apis/authentication.k8s.io/v1beta1/tokenreviews", { spec: { token: "t" } })).expect(404);
    (await api.post("/apis/authentication.k8s.io/v1/tokenreviews", { spec: { token: "t" } })).expect(201);
  },
);
