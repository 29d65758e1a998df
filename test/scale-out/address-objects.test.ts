/** Addresses and ranges of services as objects (`MultiCIDRServiceAllocator`) on several servers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "#std/random.ts";
import { type Answer, patchTypes } from "../client.ts";
import { eventually, gated, ownObjectsOnly } from "../harness.ts";
import { openServers, type SharingServer } from "./two-servers.ts";

const services = "/api/v1/namespaces/default/services";
const addresses = "/apis/networking.k8s.io/v1beta1/ipaddresses";
const ranges = "/apis/networking.k8s.io/v1beta1/servicecidrs";

const settings = {
  ...gated,
  featureGates: [...(gated.featureGates ?? []), "MultiCIDRServiceAllocator=true"],
  runtimeConfig: [...(gated.runtimeConfig ?? []), "networking.k8s.io/v1beta1=true"],
};

const open = (options: Parameters<typeof openServers>[0] = {}) => openServers({ settings, ...options });

const address = (ip: string, name = "x"): object => ({
  apiVersion: "networking.k8s.io/v1beta1",
  kind: "IPAddress",
  metadata: { name: ip },
  spec: { parentRef: { resource: "configmaps", namespace: "default", name } },
});

const range = (name: string, cidr: string): object => ({
  apiVersion: "networking.k8s.io/v1beta1",
  kind: "ServiceCIDR",
  metadata: { name },
  spec: { cidrs: [cidr] },
});

const service = (name: string, clusterIP?: string): object => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec: { ports: [{ port: 80 }], clusterIP },
});

const outside = /the provided network does not match the current range/;

/** Makes a range, and waits until all servers say that it is ready. */
async function addRange(servers: readonly SharingServer[], name: string, cidr: string): Promise<void> {
  (await servers[0]!.api.post(ranges, range(name, cidr))).expect(201);
  for (const { api } of servers) {
    await eventually(async () =>
      (await api.get(`${ranges}/${name}`)).expect(200, { "status.conditions.0.status": "True" }),
    );
  }
}

/** Lets a server hear of changes again when it has tried to write objects of a resource so often. */
async function hearAfterTries(server: SharingServer, resource: string, tries: number): Promise<void> {
  const { store } = server;
  const count = (): number => store.commits.filter((key) => key.includes(`/${resource}/`)).length;
  const before = count();
  await eventually(() => Promise.resolve(assert.ok(count() >= before + tries)));
  store.isDeaf = false;
}

test("the same address as an object is made once, whichever servers are asked", async () => {
  const servers = await open({ count: 3 });
  for (let round = 0; round < 6; round++) {
    const ip = `10.0.0.${30 + round}`;
    const answers = await Promise.all(servers.map(({ api }, at) => api.post(addresses, address(ip, `of-${at}`))));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409]);
    const winner = answers.findIndex(({ status }) => status === 201);
    for (const [at, answer] of answers.entries()) {
      if (at !== winner)
        answer.expectFailure(409, "AlreadyExists", `ipaddresses.networking.k8s.io "${ip}" already exists`);
    }
    for (const { api } of servers) {
      (await api.get(`${addresses}/${ip}`)).expect(200, { "spec.parentRef.name": `of-${winner}` });
      // It is taken on all servers, and free on all as soon as it is gone.
      const refused = await api.post(services, service(`refused-${round}`, ip));
      refused.expectFailure(422, "Invalid", /provided IP is already allocated/);
    }
    (await servers[round % 3]!.api.delete(`${addresses}/${ip}`)).expect(200);
    (await servers[(round + 1) % 3]!.api.post(services, service(`given-${round}`, ip))).expect(201);
  }
});

test("a server that has not heard of an address as an object does not give it to a service", async () => {
  const [a, b] = await open({ isPatient: true });
  b!.deafen();
  (await a!.api.post(addresses, address("10.0.0.40"))).expect(201);
  const making = b!.api.post(services, service("late", "10.0.0.40"));
  await hearAfterTries(b!, "services", 1);
  (await making).expectFailure(422, "Invalid", /provided IP is already allocated/);
});

test("a range serves on every server as soon as it is made, and on none from its deletion on", async () => {
  const servers = await open({ count: 3, latencyMsMax: 20 });
  for (let round = 0; round < 4; round++) {
    const [maker, user, other] = [0, 1, 2].map((at) => servers[(at + round) % 3]!.api);
    const [name, ip] = [`extra-${round}`, `10.9.${round}.`];
    (await maker!.post(ranges, range(name, `${ip}0/28`))).expect(201);
    (await user!.post(services, service(`first-${round}`, `${ip}5`))).expect(201);
    (await other!.delete(`${ranges}/${name}`)).expect(200);
    for (const [at, { api }] of servers.entries()) {
      const refused = await api.post(services, service(`second-${round}`, `${ip}${6 + at}`));
      refused.expectFailure(422, "Invalid", outside);
    }
    // A service keeps the address that it has, and the range stays for it.
    (await user!.get(`${services}/first-${round}`)).expect(200, { "spec.clusterIP": `${ip}5` });
    for (const { api } of servers) (await api.get(`${ranges}/${name}`)).expect(200);
  }
});

test("a server that has not heard of the end of a range takes no address from it", async () => {
  const servers = await open({ isPatient: true });
  const [a, b] = servers;
  await addRange(servers, "extra", "10.9.0.0/28");
  b!.deafen();
  (await a!.api.delete(`${ranges}/extra`)).expect(200);
  const making = [b!.api.post(services, service("late", "10.9.0.5")), b!.api.post(services, service("any"))];
  await hearAfterTries(b!, "services", 2);
  const [late, any] = await Promise.all(making);
  late!.expectFailure(422, "Invalid", outside);
  // The default range serves on.
  assert.match(any!.expect(201).string("spec.clusterIP"), /^10\.0\.0\./);
});

test("a server that has not heard that a range is not ready takes no address from it", async () => {
  // The controller would say at once that it is ready.
  const controllers = [...ownObjectsOnly, "-service-cidr-controller"];
  const [a, b] = await open({ isPatient: true, settings: { ...settings, controllers } });
  (await a!.api.post(ranges, range("extra", "10.9.0.0/28"))).expect(201);
  (await b!.api.post(services, service("first", "10.9.0.4"))).expect(201);
  b!.deafen();
  const status = {
    conditions: [
      { type: "Ready", status: "False", reason: "Test", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
    ],
  };
  const change = { apiVersion: "networking.k8s.io/v1beta1", kind: "ServiceCIDR", metadata: { name: "extra" }, status };
  (await a!.api.patch(`${ranges}/extra/status?fieldManager=test&force=true`, change, patchTypes.apply)).expect(200);
  const making = b!.api.post(services, service("late", "10.9.0.5"));
  await hearAfterTries(b!, "services", 1);
  (await making).expectFailure(422, "Invalid", outside);
});

test("a service that got its address before the end of the range was heard keeps both until it goes", async () => {
  const servers = await open();
  const [a, b] = servers;
  await addRange(servers, "extra", "10.9.0.0/28");
  for (let round = 0; round < 4; round++) {
    const [made, ended] = await Promise.all([
      b!.api.post(services, service(`s-${round}`, `10.9.0.${3 + round}`)),
      a!.api.delete(`${ranges}/extra`),
    ]);
    ended.expect(200);
    if (made.status === 201) {
      for (const { api } of servers) {
        (await api.get(`${addresses}/10.9.0.${3 + round}`)).expect(200, { "spec.parentRef.name": `s-${round}` });
        (await api.get(`${ranges}/extra`)).expect(200);
      }
    } else made.expectFailure(422, "Invalid", outside);
    for (const { api } of servers) {
      (await api.post(services, service("more", "10.9.0.9"))).expectFailure(422, "Invalid", outside);
    }
  }
});

test("while ranges, addresses and services come and go on three servers, each address has one owner", async () => {
  const servers = await open({ count: 3 });
  const random = seededRandom(5);
  const any = (count: number): number => Math.floor(random.next() * count);
  await addRange(servers, "extra", "10.9.0.0/28");
  const wanted = (): string => (any(2) === 0 ? `10.0.0.${200 + any(6)}` : `10.9.0.${1 + any(6)}`);
  const act = ({ api }: SharingServer): Promise<Answer> => {
    const ip = wanted();
    switch (any(5)) {
      case 0:
        return api.post(addresses, address(ip));
      case 1:
        return api.delete(`${addresses}/${ip}`);
      case 2:
        return api.delete(`${services}/s-${any(12)}`);
      default:
        return api.post(services, service(`s-${any(12)}`, any(4) === 0 ? undefined : ip));
    }
  };
  for (let round = 0; round < 12; round++) {
    const answers = await Promise.all(servers.flatMap((server) => [act(server), act(server)]));
    for (const answer of answers) assert.ok([200, 201, 404, 409, 422].includes(answer.status), answer.title);
    if (round === 6) (await servers[1]!.api.delete(`${ranges}/extra`)).expect(200);
  }
  await eventually(async () => {
    for (const { api } of servers) {
      const owners = new Map<string, string>();
      for (const one of (await api.get(services)).expect(200).list("items")) {
        const [ip, name] = [one.string("spec.clusterIP"), one.string("metadata.name")];
        assert.equal(owners.get(ip), undefined, `${ip} belongs to ${name} and ${owners.get(ip)}`);
        owners.set(ip, name);
      }
      const parents = new Map<string, string>();
      for (const one of (await api.get(addresses)).expect(200).list("items"))
        if (one.at("spec.parentRef.resource") === "services")
          parents.set(one.string("metadata.name"), one.string("spec.parentRef.name"));
      assert.deepEqual(Object.fromEntries(parents), Object.fromEntries(owners));
      // The range stays for as long as a service has one of its addresses.
      if (owners.keys().some((ip) => ip.startsWith("10.9."))) (await api.get(`${ranges}/extra`)).expect(200);
    }
  });
});
