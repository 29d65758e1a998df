/** The status of quotas follows the objects, also of kinds that are added and removed. */
import { eventually, suite } from "../harness.ts";
import { configMap, pod } from "../objects.ts";

const inBothDomains = suite();

const quota = (name: string, hard: Record<string, string>) => ({
  apiVersion: "v1",
  kind: "ResourceQuota",
  metadata: { name },
  spec: { hard },
});

inBothDomains("a new quota counts what is there, and a new limit what it is about", async (api) => {
  const { ns, configMaps } = await api.createNamespace();
  for (const name of ["a", "b", "c"]) (await api.post(configMaps, configMap(name))).expect(201);
  const path = `/api/v1/namespaces/${ns}/resourcequotas`;
  (await api.post(path, quota("q", { "count/configmaps": "10", "count/unknown.example.com": "1" }))).expect(201);
  await eventually(async () =>
    (await api.get(`${path}/q`)).expect(200, {
      "status.hard": { "count/configmaps": "10", "count/unknown.example.com": "1" },
      "status.used": { "count/configmaps": "3" },
    }),
  );
  (await api.put(`${path}/q`, { ...quota("q", { "count/resourcequotas": "5" }) })).expect(200);
  await eventually(async () =>
    (await api.get(`${path}/q`)).expect(200, { "status.used": { "count/resourcequotas": "1" } }),
  );
});

inBothDomains("objects of a custom kind count from its definition on", async (api) => {
  const { ns } = await api.createNamespace();
  const group = `${api.unique("g")}.example.com`;
  const path = `/api/v1/namespaces/${ns}/resourcequotas`;
  const name = `count/toys.${group}`;
  (await api.post(path, quota("q", { [name]: "1" }))).expect(201);
  (
    await api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `toys.${group}` },
      spec: {
        group,
        scope: "Namespaced",
        names: { plural: "toys", kind: "Toy" },
        versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
      },
    })
  ).expect(201);
  await eventually(async () => (await api.get(`${path}/q`)).expect(200, { [`status.used[${name}]`]: "0" }));
  const toys = `/apis/${group}/v1/namespaces/${ns}/toys`;
  const toy = (one: string) => ({ apiVersion: `${group}/v1`, kind: "Toy", metadata: { name: one } });
  (await api.post(toys, toy("a"))).expect(201);
  (await api.post(toys, toy("b"))).expectFailure(403, "Forbidden", /exceeded quota: q/);
  (await api.delete(`${toys}/a`)).expect(200);
  await eventually(async () => (await api.post(toys, toy("b"))).expect(201));
});

inBothDomains("the deletion of a collection gives back all of it", async (api) => {
  const { ns } = await api.createNamespace();
  const pods = `/api/v1/namespaces/${ns}/pods`;
  const path = `/api/v1/namespaces/${ns}/resourcequotas`;
  (await api.post(path, quota("q", { pods: "20", "count/pods": "20" }))).expect(201);
  await eventually(async () => (await api.get(`${path}/q`)).expect(200, { "status.used.pods": "0" }));
  for (let i = 0; i < 20; i++) (await api.post(pods, pod(`p${i}`))).expect(201);
  (await api.post(pods, pod("more"))).expectFailure(403, "Forbidden");
  (await api.delete(pods)).expect(200);
  await eventually(async () =>
    (await api.get(`${path}/q`)).expect(200, { "status.used": { pods: "0", "count/pods": "0" } }),
  );
});
