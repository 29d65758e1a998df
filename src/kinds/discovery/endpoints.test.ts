/** Endpoints and endpoint slices: refused objects, and the messages about them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const endpoints = kindUnderTest({ group: "", version: "v1", kind: "Endpoints" });
const slices = kindUnderTest({ group: "discovery.k8s.io", version: "v1", kind: "EndpointSlice" });

const metadata = { name: "one" };
const withSubset = (subset: object): Unstructured => ({
  apiVersion: "v1",
  kind: "Endpoints",
  metadata,
  subsets: [subset],
});
const slice = (fields: object): Unstructured => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata,
  addressType: "IPv4",
  endpoints: [],
  ...fields,
});

/** Returns a finding without the explanation of a form of names. */
const short = (finding: string): string => finding.replace(/(?:a lowercase|a valid label|name part must).*$/, "…");

test("endpoints have addresses that others can reach, and ports", () => {
  const address = (fields: object): object => ({ addresses: [fields] });
  const ip = "subsets[0].addresses[0].ip: Invalid value:";
  const cases: readonly (readonly [object, ...string[]])[] = [
    [address({ ip: "10.0.0.1", nodeName: "n", hostname: "h" })],
    [{}, "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"],
    [
      address({ ip: "x" }),
      `${ip} "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
      `${ip} "x": must be a valid IP address`,
    ],
    [address({ ip: "127.0.0.1" }), `${ip} "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`],
    [address({ ip: "fe80::1" }), `${ip} "fe80::1": may not be in the link-local range (169.254.0.0/16, fe80::/10)`],
    [address({ ip: "::" }), `${ip} "::": may not be unspecified (::)`],
    [address({ ip: "10.0.0.1", nodeName: "" }), 'subsets[0].addresses[0].nodeName: Invalid value: "": …'],
    [address({ ip: "10.0.0.1", hostname: "A" }), 'subsets[0].addresses[0].hostname: Invalid value: "A": …'],
    [
      {
        notReadyAddresses: [{ ip: "10.0.0.1" }],
        ports: [
          { port: 65_535, protocol: "SCTP" },
          { port: 0, name: "A", protocol: "X" },
        ],
      },
      "subsets[0].ports[0].name: Required value",
      'subsets[0].ports[1].name: Invalid value: "A": …',
      "subsets[0].ports[1].port: Invalid value: 0: must be between 1 and 65535, inclusive",
      'subsets[0].ports[1].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
    ],
  ];
  for (const [subset, ...findings] of cases) {
    assert.deepEqual(endpoints.refuseCreate(withSubset(subset)).map(short), findings, JSON.stringify(subset));
  }
});

test("a slice has addresses of its type, and a limited number of each thing", () => {
  const of = (addressType: string, ...addresses: string[]): object => ({ addressType, endpoints: [{ addresses }] });
  const first = "endpoints[0].addresses[0]";
  const cases: readonly (readonly [object, ...string[]])[] = [
    [of("IPv4", "10.0.0.1", "10.0.0.1")],
    [of("IPv6", "fd00::1")],
    [of("FQDN", "a.example.com.")],
    [of("IPv4", "fd00::1"), `${first}: Invalid value: "fd00::1": must be a valid IPv4 address`],
    [
      of("IPv6", "127.0.0.1"),
      `${first}: Invalid value: "127.0.0.1": must be a valid IPv6 address`,
      `${first}: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`,
    ],
    [of("FQDN", "a"), `${first}: Invalid value: "a": should be a domain with at least two segments separated by dots`],
    [of("FQDN", ""), `${first}: Required value`],
    [
      of("FQDN", `${"a".repeat(64)}.b`),
      `${first}: Invalid value: "${"a".repeat(64)}": must be no more than 63 characters`,
    ],
    [of("", "x"), "addressType: Required value"],
    [of("X", "x"), 'addressType: Unsupported value: "X": supported values: "FQDN", "IPv4", "IPv6"'],
    [of("IPv4"), "endpoints[0].addresses: Required value: must contain at least 1 address"],
    [of("IPv4", ...Array<string>(100).fill("10.0.0.1"))],
    [
      of("IPv4", ...Array<string>(101).fill("10.0.0.1")),
      "endpoints[0].addresses: Too many: 101: must have at most 100 items",
    ],
    [{ endpoints: Array<object>(1001).fill({}) }, "endpoints: Too many: 1001: must have at most 1000 items"],
    [{ ports: Array<object>(20_001).fill({}) }, "ports: Too many: 20001: must have at most 20000 items"],
    [
      {
        endpoints: [
          {
            addresses: ["10.0.0.1"],
            nodeName: "",
            hostname: "",
            hints: { forZones: [{ name: "a b" }, { name: "a b" }] },
          },
        ],
      },
      'endpoints[0].nodeName: Invalid value: "": …',
      'endpoints[0].hostname: Invalid value: "": …',
      'endpoints[0].hints.forZones[0].name: Invalid value: "a b": …',
      'endpoints[0].hints.forZones[1].name: Duplicate value: "a b"',
    ],
    [
      { endpoints: [{ addresses: ["10.0.0.1"], hints: { forZones: Array<object>(9).fill({ name: "a" }) } }] },
      "endpoints[0].hints.forZones: Too many: 9: must have at most 8 items",
    ],
    [
      { ports: [{}, {}, { name: "A", protocol: "X", appProtocol: "b d" }] },
      'ports[1].name: Duplicate value: ""',
      'ports[2].name: Invalid value: "A": …',
      'ports[2].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
      'ports[2].appProtocol: Invalid value: "b d": …',
    ],
  ];
  for (const [fields, ...findings] of cases) {
    assert.deepEqual(slices.refuseCreate(slice(fields)).map(short), findings, JSON.stringify(fields).slice(0, 200));
  }
});

test("labels of a slice count as its content, and the topology of v1beta1 is dropped", () => {
  const object = slices.create(slice({ endpoints: [{ addresses: ["10.0.0.1"], deprecatedTopology: { a: "b" } }] }));
  const old = { ...object, metadata: { ...object.metadata, generation: 1 } };
  assert.deepEqual(object["endpoints"], [{ addresses: ["10.0.0.1"], conditions: {} }]);
  const generation = (changed: object): unknown =>
    slices.update({ ...old, metadata: { ...old.metadata, ...changed } }, old).metadata.generation;
  assert.deepEqual([generation({ labels: { a: "b" } }), generation({ annotations: { a: "b" } })], [2, 1]);
  assert.deepEqual(slices.refuseUpdate({ ...old, addressType: "IPv6", endpoints: [] }, old), [
    'addressType: Invalid value: "IPv6": field is immutable',
  ]);
});
