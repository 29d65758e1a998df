/** Addresses and ports of services that several servers give out. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Answer } from "../client.ts";
import { gated } from "../harness.ts";
import { openServers } from "./two-servers.ts";

const services = "/api/v1/namespaces/default/services";
const addresses = "/apis/networking.k8s.io/v1beta1/ipaddresses";

const service = (name: string, spec: object = {}, metadata: object = {}): object => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, ...metadata },
  spec: { ports: [{ port: 80 }], ...spec },
});

const ipOf = (answer: Answer): string => answer.expect(201).string("spec.clusterIP");

function assertDistinct(values: readonly unknown[], what: string): void {
  assert.equal(new Set(values).size, values.length, `${what} are distinct: ${values.join(" ")}`);
}

test("servers that give out addresses and node ports at the same time give none twice", async () => {
  const settings = { serviceClusterIpRange: ["10.0.0.0/25"], serviceNodePortRange: { first: 30_000, size: 64 } };
  const servers = await openServers({ count: 3, settings });
  const answers = await Promise.all(
    Array.from({ length: 48 }, (_, at) =>
      servers[at % servers.length]!.api.post(services, service(`s-${at}`, { type: "NodePort" })),
    ),
  );
  assertDistinct(answers.map(ipOf), "addresses");
  assertDistinct(
    answers.map((answer) => answer.at("spec.ports.0.nodePort")),
    "node ports",
  );
});

test("of two servers that are asked for the same address or node port one refuses", async () => {
  const [a, b] = await openServers();
  for (let pair = 0; pair < 8; pair++) {
    const wanted = {
      type: "NodePort",
      // A service that names no address gets one of the first sixteen only when all others are taken.
      clusterIP: `10.0.0.${2 + pair}`,
      ports: [{ port: 80, nodePort: 30_100 + pair }],
    };
    const spec = pair % 2 === 0 ? wanted : { ...wanted, clusterIP: undefined };
    const answers = await Promise.all([
      a!.api.post(services, service(`a-${pair}`, spec)),
      b!.api.post(services, service(`b-${pair}`, spec)),
    ]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 422]);
    assert.match(answers.find(({ status }) => status === 422)!.string("message"), /already allocated/);
    // One server gives out at once what the other one has released.
    const [winner, loser] = answers[0].status === 201 ? ["a", "b"] : ["b", "a"];
    const [of, other] = winner === "a" ? [a!, b!] : [b!, a!];
    (await of.api.delete(`${services}/${winner}-${pair}`)).expect(200);
    (await other.api.post(services, service(`${loser}-${pair}`, spec))).expect(201);
  }
});

test("updates, and requests that threads handle, have their turn too", async () => {
  const [a, b] = await openServers();
  const large = { annotations: { text: "x".repeat(100_000) } };
  for (let pair = 0; pair < 5; pair++) {
    const wanted = { type: "NodePort", ports: [{ port: 80, nodePort: 30_200 + pair }] };
    (await a!.api.post(services, service(`plain-${pair}`))).expect(201);
    const [updated, created] = await Promise.all([
      a!.api.patch(`${services}/plain-${pair}`, {
        spec: { type: "NodePort", ports: [{ port: 80, nodePort: 30_200 + pair }] },
      }),
      b!.api.post(services, service(`large-${pair}`, wanted, large)),
    ]);
    assert.ok((updated.status === 200) !== (created.status === 201), `${updated.title}\n${created.title}`);
  }
});

test("addresses as objects: a user's object and a service do not get the same one on two servers", async () => {
  const settings = {
    ...gated,
    featureGates: [...(gated.featureGates ?? []), "MultiCIDRServiceAllocator=true"],
    runtimeConfig: [...(gated.runtimeConfig ?? []), "networking.k8s.io/v1beta1=true"],
  };
  const servers = await openServers({ settings });
  const [a, b] = servers;
  const address = (ip: string): object => ({
    apiVersion: "networking.k8s.io/v1beta1",
    kind: "IPAddress",
    metadata: { name: ip },
    spec: { parentRef: { resource: "configmaps", namespace: "default", name: "x" } },
  });
  for (let pair = 0; pair < 5; pair++) {
    const ip = `10.0.0.${40 + pair}`;
    const [held, made] = await Promise.all([
      a!.api.post(addresses, address(ip)),
      b!.api.post(services, service(`s-${pair}`, { clusterIP: ip })),
    ]);
    if (made.status === 422) held.expect(201);
    else made.expect(201);
    // The object of an address that a service has says so on both servers.
    if (made.status !== 201) continue;
    for (const { api } of servers) {
      (await api.get(`${addresses}/${ip}`)).expect(200, { "spec.parentRef.name": `s-${pair}` });
    }
  }
  const given = await Promise.all(
    Array.from({ length: 20 }, (_, at) => servers[at % 2]!.api.post(services, service(`t-${at}`))),
  );
  assertDistinct(given.map(ipOf), "addresses");
  for (const { logged } of servers) {
    assert.deepEqual(
      logged.filter((line) => line.includes("IPAddress")),
      [],
    );
  }
});
