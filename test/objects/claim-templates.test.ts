/** ResourceClaimTemplates: the rules of their spec. */
import { type Api, suite, withOwnServer } from "../harness.ts";
import { claimTemplate } from "../objects.ts";
import { absent } from "../view.ts";

const reference = { differs: "the reference has no rules for claim templates" };
const inBoth = suite();
const inBothDomains = (name: string, run: (api: Api) => Promise<void>): void => inBoth(name, run, reference);

const claimSpec = { devices: { requests: [{ name: "d", deviceClassName: "x" }] } };

inBothDomains("a template is namespaced, of the beta version [RCT-01]", async (api) => {
  const { ns, templates } = await api.createNamespace();
  (await api.post(templates, claimTemplate("r1"))).expect(201, {
    apiVersion: "resource.k8s.io/v1beta1",
    kind: "ResourceClaimTemplate",
    "metadata.namespace": ns,
  });
});

withOwnServer("a server serves templates only when asked to [RCT-02] [VER-04]", {}, async (api) => {
  (await api.get("/apis/resource.k8s.io/v1beta1/namespaces/default/resourceclaimtemplates")).expect(404);
  (await api.get("/apis/resource.k8s.io/v1beta1")).expect(404);
});

inBothDomains("a deleted template is the answer", async (api) => {
  const { templates } = await api.createNamespace();
  const { spec } = (await api.post(templates, claimTemplate("r1"))).expect(201).value as { spec: object };
  (await api.delete(`${templates}/r1`)).expect(200, { kind: "ResourceClaimTemplate", spec });
});

inBothDomains("a template needs the spec of its claim [RCT-03] [RCT-08]", async (api) => {
  const { templates } = await api.createNamespace();
  const { spec: _, ...bare } = claimTemplate("r1") as { spec: unknown };
  (await api.post(templates, bare)).expectClientError();
  (await api.post(templates, claimTemplate("r1", {}))).expectClientError();
  (await api.get(`${templates}/r1`)).expect(404);
});

inBothDomains("the spec of a template stays, its metadata may change [RCT-04] [RCT-05]", async (api) => {
  const { templates } = await api.createNamespace();
  const answer = (await api.post(templates, claimTemplate("r1"))).expect(201);
  const body = answer.value as object;
  const other = { spec: { devices: { requests: [{ name: "other", deviceClassName: "x" }] } } };
  (await api.put(`${templates}/r1`, { ...body, spec: other })).expectFailure(
    422,
    "Invalid",
    /spec: Invalid value: .*field is immutable/s,
  );
  (await api.patch(`${templates}/r1`, { spec: { metadata: { labels: { a: "1" } } } })).expectFailure(
    422,
    "Invalid",
    /field is immutable/,
  );
  (await api.get(`${templates}/r1`)).expect(200, { spec: answer.at("spec") });
  (await api.patch(`${templates}/r1`, { metadata: { labels: { l: "m" } } })).expect(200, {
    "metadata.labels": { l: "m" },
  });
});

inBothDomains("the metadata of the claim is labels and annotations, nothing else [RCT-10] [RCT-11]", async (api) => {
  const { templates } = await api.createNamespace();
  const metadata = { labels: { a: "b" }, annotations: { c: "d" } };
  (await api.post(templates, claimTemplate("r1", { metadata, spec: claimSpec }))).expect(201, {
    "spec.metadata.labels": metadata.labels,
    "spec.metadata.annotations": metadata.annotations,
  });
  for (const extra of [
    { name: "x" },
    { namespace: "x" },
    { finalizers: ["example.com/x"] },
    { generateName: "x" },
    { uid: "x" },
  ]) {
    (
      await api.post(templates, claimTemplate("r2", { metadata: { ...metadata, ...extra }, spec: claimSpec }))
    ).expectClientError();
  }
  (await api.get(`${templates}/r2`)).expect(404);
});

inBothDomains("a list of templates is whole [RCT-12]", async (api) => {
  const { templates } = await api.createNamespace();
  (await api.post(templates, claimTemplate("r1"))).expect(201);
  (await api.get(templates)).expect(200, {
    kind: "ResourceClaimTemplateList",
    apiVersion: "resource.k8s.io/v1beta1",
    "metadata.resourceVersion": /^\d+$/,
    "items.length": 1,
  });
});

inBothDomains("the spec of the claim has requests, constraints and configuration of devices [RCT-13]", async (api) => {
  const { templates } = await api.createNamespace();
  const devices = {
    requests: [
      { name: "a", deviceClassName: "x", allocationMode: "ExactCount", count: 2 },
      {
        name: "b",
        deviceClassName: "y",
        allocationMode: "All",
        adminAccess: false,
        selectors: [{ cel: { expression: "true" } }],
      },
    ],
    constraints: [{ requests: ["a"], matchAttribute: "d.example.com/model" }],
    config: [{ requests: ["b"], opaque: { driver: "d.example.com", parameters: { any: ["thing"] } } }],
  };
  (await api.post(templates, claimTemplate("r1", { spec: { devices } }))).expect(201, {
    "spec.spec.devices.requests.0": devices.requests[0],
    "spec.spec.devices.requests.1.selectors": devices.requests[1]!.selectors,
    "spec.spec.devices.constraints": devices.constraints,
    "spec.spec.devices.config": devices.config,
  });
  (await api.post(templates, claimTemplate("r2"))).expect(201, {
    "spec.spec.devices.requests.0.allocationMode": "ExactCount",
    "spec.spec.devices.requests.0.count": 1,
    "spec.spec.devices.config": absent,
  });
  const bad = (request: object): object => ({
    spec: { devices: { requests: [{ name: "d", deviceClassName: "x", ...request }] } },
  });
  for (const request of [
    { name: "" },
    { name: "Bad" },
    { deviceClassName: "" },
    { allocationMode: "Some" },
    { count: -1 },
    { allocationMode: "All", count: 2 },
  ]) {
    (await api.post(templates, claimTemplate("r3", bad(request)))).expectFailure(
      422,
      "Invalid",
      /spec\.spec\.devices\.requests\[0\]\./,
    );
  }
  (await api.get(`${templates}/r3`)).expect(404);
});
