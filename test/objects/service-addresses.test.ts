/** Service addresses and their ranges as objects (feature gate MultiCIDRServiceAllocator). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { IPAddress } from "#api/networking/v1beta1.ts";
import { type Api, domains, eventually, suite, usingObserved } from "../harness.ts";
import { absent, type Fields } from "../view.ts";

const settings = {
  featureGates: ["MultiCIDRServiceAllocator=true"],
  runtimeConfig: ["networking.k8s.io/v1beta1=true"],
  controllers: ["service-cidr-controller"],
} as const;
const inBothDomains = suite(settings);

const addresses = "/apis/networking.k8s.io/v1beta1/ipaddresses";
const ranges = "/apis/networking.k8s.io/v1beta1/servicecidrs";

const service = (name: string, spec: Fields): object => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec: { ports: [{ port: 80 }], ...spec },
});
const range = (name: string, ...cidrs: readonly string[]): object => ({
  apiVersion: "networking.k8s.io/v1beta1",
  kind: "ServiceCIDR",
  metadata: { name },
  spec: { cidrs },
});
const address = (name: string, parentRef: Fields, labels: Fields = {}): object => ({
  apiVersion: "networking.k8s.io/v1beta1",
  kind: "IPAddress",
  metadata: { name, labels },
  spec: { parentRef },
});
const managed = { "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io" };

const servicesOf = async (api: Api): Promise<{ readonly ns: string; readonly services: string }> => {
  const { ns } = await api.createNamespace();
  return { ns, services: `/api/v1/namespaces/${ns}/services` };
};

inBothDomains("a service has an IPAddress from its creation to its deletion", async (api) => {
  const { ns, services } = await servicesOf(api);
  const ip = (await api.post(services, service("a", {}))).expect(201).string("spec.clusterIP");
  (await api.get(`${addresses}/${ip}`)).expect(200, {
    "spec.parentRef": { resource: "services", namespace: ns, name: "a" },
    "metadata.labels[ipaddress.kubernetes.io/ip-family]": "IPv4",
    "metadata.labels[ipaddress.kubernetes.io/managed-by]": "ipallocator.k8s.io",
  });
  const external = { spec: { type: "ExternalName", externalName: "a.example.com", clusterIP: null, clusterIPs: null } };
  (await api.patch(`${services}/a`, external)).expect(200);
  (await api.get(`${addresses}/${ip}`)).expect(404);
  const other = (await api.post(services, service("b", { clusterIP: ip }))).expect(201).string("spec.clusterIP");
  assert.equal(other, ip);
  (await api.delete(`${services}/b`)).expect(200);
  (await api.get(`${addresses}/${ip}`)).expect(404);
});

inBothDomains("a dry run and a headless service make no IPAddress", async (api) => {
  const { ns, services } = await servicesOf(api);
  (await api.post(`${services}?dryRun=All`, service("a", {}))).expect(201);
  (await api.post(services, service("b", { clusterIP: "None" }))).expect(201);
  const { items } = (await api.get(addresses)).expect(200).value as { readonly items: readonly IPAddress[] }; // a list
  assert.deepEqual(
    items.filter(({ spec }) => spec.parentRef?.namespace === ns),
    [],
  );
});

inBothDomains("an address that is an object is taken", async (api) => {
  const { services } = await servicesOf(api);
  (await api.post(addresses, address("10.0.0.7", { resource: "things", name: "t" }))).expect(201);
  const wanted = service("a", { clusterIP: "10.0.0.7" });
  (await api.post(services, wanted)).expectFailure(422, "Invalid", /provided IP is already allocated/);
  (await api.delete(`${addresses}/10.0.0.7`)).expect(200);
  (await api.post(services, wanted)).expect(201);
});

inBothDomains("an IPAddress that somebody deletes or changes is repaired", async (api) => {
  const { ns, services } = await servicesOf(api);
  const ip = (await api.post(services, service("a", {}))).expect(201).string("spec.clusterIP");
  const isRight = () =>
    eventually(async () =>
      (await api.get(`${addresses}/${ip}`)).expect(200, {
        "spec.parentRef.name": "a",
        "spec.parentRef.namespace": ns,
        "metadata.labels[ipaddress.kubernetes.io/managed-by]": "ipallocator.k8s.io",
      }),
    );
  (await api.delete(`${addresses}/${ip}`)).expect(200);
  await isRight();
  (await api.patch(`${addresses}/${ip}`, { metadata: { labels: null } })).expect(200);
  await isRight();
  // One that no service can have goes.
  (await api.post(addresses, address("10.0.0.8", { resource: "pods", name: "p" }, managed))).expect(201);
  await eventually(async () => (await api.get(`${addresses}/10.0.0.8`)).expect(404));
});

inBothDomains("the default range is ready, and the service kubernetes has its first address", async (api) => {
  (await api.get(`${ranges}/kubernetes`)).expect(200, {
    "spec.cidrs": ["10.0.0.0/24"],
    "status.conditions[0].type": "Ready",
    "status.conditions[0].status": "True",
  });
  await eventually(async () =>
    (await api.get(`${addresses}/10.0.0.1`)).expect(200, { "spec.parentRef.name": "kubernetes" }),
  );
});

inBothDomains("services get addresses of every range that is ready", async (api) => {
  const { services } = await servicesOf(api);
  const wanted = service("a", { clusterIP: "192.168.7.5" });
  (await api.post(services, wanted)).expectFailure(
    422,
    "Invalid",
    /failed to allocate IP 192.168.7.5: the provided network does not match the current range/,
  );
  (await api.post(ranges, range("more", "192.168.7.0/24"))).expect(201);
  (await api.post(services, wanted)).expect(201);
});

for (const domain of domains) {
  test(`${domain}: a range that is being deleted waits for its addresses, or for a larger range`, async () => {
    await usingObserved(domain, settings, async ({ api, clock }) => {
      const { services } = await servicesOf(api);
      (await api.post(ranges, range("more", "192.168.7.0/24"))).expect(201);
      await eventually(async () =>
        (await api.get(`${ranges}/more`)).expect(200, {
          "metadata.finalizers": ["networking.k8s.io/service-cidr-finalizer"],
          "status.conditions[0].message": "Kubernetes Service CIDR is ready",
        }),
      );
      (await api.post(services, service("a", { clusterIP: "192.168.7.5" }))).expect(201);
      (await api.delete(`${ranges}/more`)).expect(200);
      await eventually(async () =>
        (await api.get(`${ranges}/more`)).expect(200, {
          "status.conditions[0].status": "False",
          "status.conditions[0].reason": "Terminating",
        }),
      );
      // It gives no addresses any more.
      (await api.post(services, service("b", { clusterIP: "192.168.7.6" }))).expect(422);
      (await api.post(ranges, range("parent", "192.168.0.0/16"))).expect(201);
      await eventually(async () => {
        clock.advance(10_000);
        (await api.get(`${ranges}/more`)).expect(404);
      });
      (await api.post(services, service("b", { clusterIP: "192.168.7.6" }))).expect(201);
      (await api.get(`${services}/a`)).expect(200, { "metadata.deletionTimestamp": absent });
    });
  });
}
