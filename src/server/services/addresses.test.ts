/** Addresses of services that this server calls. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Endpoints, Service } from "#api/core/v1.ts";
import { hostPort } from "#egress/service-address.ts";
import { findServiceAddress } from "./addresses.ts";
import type { Lookups } from "../lookups.ts";
import { parseServeArguments, resolveOptions } from "../options.ts";

const metadata = { namespace: "shop", name: "api" };
const ports = [{ name: "https", port: 443, targetPort: 8443 }];

interface Case {
  readonly args?: readonly string[];
  readonly spec?: object;
  readonly subsets?: Endpoints["subsets"];
  readonly port?: number;
  readonly namespace?: string;
  readonly name?: string;
}

/** Returns the address, or the message of the error. */
function findAddress({ args = [], spec, subsets, port = 443, namespace = "shop", name = "api" }: Case): string {
  const service = spec === undefined ? undefined : ({ metadata, spec, status: {} } as Service);
  const endpoints = subsets === undefined ? undefined : ({ metadata, subsets } as Endpoints);
  const get = (resource: string) => (resource === "services" ? service : endpoints);
  const lookups = { get } as unknown as Lookups; // only these two are asked for
  const options = resolveOptions(parseServeArguments(args).settings);
  const find = findServiceAddress({ options, lookups, random: { next: () => 0.99 }, url: "https://127.0.0.1:6443" });
  try {
    return hostPort(find(namespace, name, port));
  } catch (error) {
    return (error as Error).message;
  }
}

test("a service is reached at its cluster address, and an external name at that name", () => {
  assert.equal(findAddress({ spec: { clusterIP: "10.0.0.7", ports } }), "10.0.0.7:443");
  assert.equal(findAddress({ spec: { clusterIP: "fd00::7", type: "NodePort", ports } }), "[fd00::7]:443");
  assert.equal(
    findAddress({ spec: { type: "ExternalName", externalName: "api.example.com" }, port: 8443 }),
    "api.example.com:8443",
  );
});

test("a service that cannot be reached says why in upstream's words", () => {
  assert.equal(findAddress({}), 'service "api" not found');
  assert.equal(
    findAddress({ spec: { clusterIP: "10.0.0.7", ports }, port: 80 }),
    'no service port 80 found for service "api"',
  );
  assert.equal(findAddress({ spec: { clusterIP: "None", ports } }), 'cannot route to service with ClusterIP "None"');
  assert.equal(findAddress({ spec: { type: "Other", ports } }), 'unsupported service type "Other"');
});

test("with routing to endpoints one of the ready addresses is chosen, on the port of the service port's name", () => {
  const args = ["--enable-aggregator-routing"];
  const spec = { clusterIP: "10.0.0.7", ports };
  const subsets = [
    { addresses: [{ ip: "10.1.0.1" }], ports: [{ name: "metrics", port: 9090 }] },
    { addresses: [{ ip: "10.1.0.2" }, { ip: "10.1.0.3" }], ports: [{ name: "https", port: 8443 }] },
    { notReadyAddresses: [{ ip: "10.1.0.4" }], ports: [{ name: "https", port: 8443 }] },
  ];
  assert.equal(findAddress({ args, spec, subsets }), "10.1.0.3:8443");
  assert.equal(findAddress({ args, spec }), 'endpoints "api" not found');
  assert.equal(findAddress({ args, spec, subsets: [] }), 'no endpoints available for service "api"');
  assert.equal(
    findAddress({ args, spec: { type: "ExternalName", externalName: "x" } }),
    'unsupported service type "ExternalName"',
  );
});

test("--service-address replaces the address of a service, of one port or of all", () => {
  const args = ["--service-address=shop/api:443=127.0.0.1:9443,shop/other=[::1]:1"];
  assert.equal(findAddress({ args }), "127.0.0.1:9443");
  assert.equal(findAddress({ args, port: 80 }), 'service "api" not found');
  assert.equal(findAddress({ args, name: "other", port: 80 }), "[::1]:1");
  assert.throws(
    () => parseServeArguments(["--service-address=api=1.2.3.4:1"]),
    /must be namespace\/name\[:port\]=host:port/,
  );
});

test("the service of this server is reached at this server", () => {
  assert.equal(findAddress({ namespace: "default", name: "kubernetes" }), "127.0.0.1:6443");
});
