/** Ingresses, their classes, and network policies: refused objects, and the messages about them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const group = "networking.k8s.io";
const ingresses = kindUnderTest({ group, version: "v1", kind: "Ingress" });
const classes = kindUnderTest({ group, version: "v1", kind: "IngressClass" });
const policies = kindUnderTest({ group, version: "v1", kind: "NetworkPolicy" });

const object = (kind: string, spec: object, annotations?: Record<string, string>): Unstructured => ({
  apiVersion: "networking.k8s.io/v1",
  kind,
  metadata: { name: "one", ...(annotations === undefined ? {} : { annotations }) },
  spec,
});

/** Returns a finding without the explanation of a form of names. */
const short = (finding: string): string =>
  finding.replace(/(?:a lowercase|a DNS-1035|a wildcard|name part must).*$/, "…");

function check(known: typeof ingresses, kind: string, cases: readonly (readonly [object, ...string[]])[]): void {
  for (const [spec, ...findings] of cases) {
    assert.deepEqual(known.refuseCreate(object(kind, spec)).map(short), findings, JSON.stringify(spec));
  }
}

const service = { name: "a", port: { number: 80 } };
const rule = (path: object): object => ({ rules: [{ http: { paths: [{ pathType: "Prefix", ...path }] } }] });
const toBackend = (backend: object): object => rule({ path: "/", backend });
const at = "spec.rules[0].http.paths[0]";

test("an ingress has rules or a default backend, and names hosts, paths and backends", () => {
  const withHost = (host: string): object => ({ rules: [{ host }] });
  const withPath = (pathType: string | undefined, path?: string): object =>
    rule({ pathType, path, backend: { service } });
  const wrongPath = (path: string, detail: string): string =>
    `${at}.path: Invalid value: ${JSON.stringify(path)}: ${detail}`;
  check(ingresses, "Ingress", [
    [{}, "spec: Invalid value: []: either `defaultBackend` or `rules` must be specified"],
    [{ rules: [] }, "spec: Invalid value: []: either `defaultBackend` or `rules` must be specified"],
    [{ defaultBackend: { service } }],
    [withHost("a.example.com")],
    [withHost("*.example.com")],
    [withHost("*"), 'spec.rules[0].host: Invalid value: "*": …'],
    [withHost("A.b"), 'spec.rules[0].host: Invalid value: "A.b": …'],
    [withHost("10.0.0.1"), 'spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address'],
    [{ rules: [{ http: { paths: [] } }] }, "spec.rules[0].http.paths: Required value"],
    [withPath("Exact", "/a b")],
    [withPath("Exact", "a"), wrongPath("a", "must be an absolute path")],
    [withPath("Prefix", "/a//b"), wrongPath("/a//b", "must not contain '//'")],
    [withPath("Prefix", "/a%2Fb"), wrongPath("/a%2Fb", "must not contain '%2F'")],
    [withPath("Prefix", "/a/.."), wrongPath("/a/..", "cannot end with '/..'")],
    [withPath("ImplementationSpecific")],
    [withPath("ImplementationSpecific", "/a/..")],
    [withPath("ImplementationSpecific", "a"), wrongPath("a", "must be an absolute path")],
    [
      withPath("X", "a"),
      `${at}.pathType: Unsupported value: "X": supported values: "Exact", "ImplementationSpecific", "Prefix"`,
    ],
    [{ rules: [{ http: { paths: [{ backend: {} }] } }] }, `${at}.pathType: Required value: pathType must be specified`],
    [toBackend({}), `${at}.backend: Invalid value: "": resource or service backend is required`],
    [
      toBackend({ service, resource: { kind: "K", name: "n" } }),
      `${at}.backend: Invalid value: "": cannot set both resource and service backends`,
    ],
    [
      toBackend({ service: { name: "1a", port: {} } }),
      `${at}.backend.service.name: Invalid value: "1a": …`,
      `${at}.backend: Required value: port name or number is required`,
    ],
    [
      toBackend({ service: { name: "a", port: { name: "x", number: 1 } } }),
      `${at}.backend: Invalid value: "": cannot set both port name & port number`,
    ],
    [
      toBackend({ service: { name: "a", port: { number: 65_536 } } }),
      `${at}.backend.service.port.number: Invalid value: 65536: must be between 1 and 65535, inclusive`,
    ],
    [
      toBackend({ resource: { apiGroup: "", kind: "a/b", name: ".." } }),
      `${at}.backend.resource.apiGroup: Invalid value: "": …`,
      `${at}.backend.resource.kind: Invalid value: "a/b": may not contain '/'`,
      `${at}.backend.resource.name: Invalid value: "..": may not be '..'`,
    ],
    [
      { defaultBackend: { service }, tls: [{ hosts: ["*.a", "*"], secretName: "A_b" }], ingressClassName: "" },
      'spec.tls[0].hosts[1]: Invalid value: "*": …',
      'spec.tls[0].secretName: Invalid value: "A_b": …',
      'spec.ingressClassName: Invalid value: "": …',
    ],
  ]);
});

test("the annotation that names a class must agree with the field when an ingress is made", () => {
  const annotated = object(
    "Ingress",
    { defaultBackend: { service }, ingressClassName: "a" },
    { "kubernetes.io/ingress.class": "b" },
  );
  assert.deepEqual(ingresses.refuseCreate(annotated), [
    'annotations.kubernetes.io/ingress.class: Invalid value: "b": must match `ingressClassName` when both are specified',
  ]);
  assert.deepEqual(ingresses.refuseUpdate(annotated, annotated), []);
});

test("the status of an ingress names addresses and hosts", () => {
  const old = object("Ingress", { defaultBackend: { service } });
  const status = {
    loadBalancer: { ingress: [{ ip: "10.0.0.1", hostname: "a.b" }, { ip: "x" }, { hostname: "10.0.0.1" }] },
  };
  assert.deepEqual(ingresses.refuseUpdate({ ...old, status }, old, "status"), [
    'status.loadBalancer.ingress[1].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    'status.loadBalancer.ingress[2].hostname: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
  ]);
});

test("a class names its controller for good, and parameters in their scope", () => {
  const controller = "example.com/c";
  const parameters = { kind: "K", name: "n" };
  const withParameters = (more: object): object => ({ controller, parameters: { ...parameters, ...more } });
  check(classes, "IngressClass", [
    [{ controller: `example.com/${"c".repeat(238)}` }],
    [{ controller: `example.com/${"c".repeat(239)}` }, "spec.controller: Too long: may not be more than 250 bytes"],
    [{}, "spec.controller: Required value"],
    [
      { controller: "c" },
      'spec.controller: Invalid value: "c": must be a domain-prefixed path (such as "acme.io/foo")',
    ],
    [
      { controller: "a.b/c d" },
      "spec.controller: Invalid value: \"c d\": Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')",
    ],
    [withParameters({})],
    [withParameters({ scope: "Namespace", namespace: "a" })],
    [
      { controller, parameters: {} },
      "spec.parameters.kind: Required value: kind is required",
      "spec.parameters.name: Required value: name is required",
    ],
    [
      withParameters({ namespace: "a" }),
      "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'",
    ],
    [
      withParameters({ scope: "Namespace" }),
      "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
    ],
    [
      withParameters({ scope: "X" }),
      'spec.parameters.scope: Unsupported value: "X": supported values: "Cluster", "Namespace"',
    ],
  ]);
  assert.deepEqual(
    classes.refuseUpdate(
      object("IngressClass", { controller: "example.com/d" }),
      object("IngressClass", { controller }),
    ),
    ['spec.controller: Invalid value: "example.com/d": field is immutable'],
  );
});

test("a network policy names peers, ports and at most two types", () => {
  const podSelector = {};
  const from = (peer: object): object => ({ podSelector, ingress: [{ from: [peer] }] });
  const to = (port: object): object => ({ podSelector, egress: [{ ports: [port] }] });
  check(policies, "NetworkPolicy", [
    [{}],
    [{ podSelector: { matchLabels: { "a b": "c" } } }, 'spec.podSelector.matchLabels: Invalid value: "a b": …'],
    [from({}), "spec.ingress[0].from[0]: Required value: must specify a peer"],
    [
      from({ podSelector, ipBlock: { cidr: "10.0.0.0/8" } }),
      "spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer",
    ],
    [from({ ipBlock: { cidr: "10.0.0.1/8", except: ["10.1.0.0/16"] } })],
    [from({ ipBlock: {} }), "spec.ingress[0].from[0].ipBlock.cidr: Required value"],
    [
      from({ ipBlock: { cidr: "10.0.0.0/8", except: ["10.0.0.0/8", "11.0.0.0/16", "fd00::/8"] } }),
      ...["10.0.0.0/8", "11.0.0.0/16", "fd00::/8"].map(
        (range, i) =>
          `spec.ingress[0].from[0].ipBlock.except[${i}]: Invalid value: "${range}": must be a strict subset of \`cidr\``,
      ),
    ],
    [to({ port: "http" })],
    [to({ port: "1" }), 'spec.egress[0].ports[0].port: Invalid value: "1": must contain at least one letter (a-z)'],
    [to({ port: 80, endPort: 80 })],
    [
      to({ port: 80, endPort: 79 }),
      "spec.egress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`",
    ],
    [
      to({ endPort: 9 }),
      "spec.egress[0].ports[0].endPort: Invalid value: 9: may not be specified when `port` is not specified",
    ],
    [{ podSelector, policyTypes: ["Ingress", "Ingress"] }],
    [
      { podSelector, policyTypes: ["X"] },
      'spec.policyTypes[0]: Unsupported value: "X": supported values: "Ingress", "Egress"',
    ],
    [
      { podSelector, policyTypes: ["A", "B", "C"] },
      'spec.policyTypes: Invalid value: []networking.PolicyType{"A", "B", "C"}: may not specify more than two policyTypes',
    ],
  ]);
  const [before, after] = [{ podSelector }, { podSelector, policyTypes: ["X"] }];
  const errors = policies.refuseUpdate(object("NetworkPolicy", after), object("NetworkPolicy", before));
  assert.equal(errors.length, 1);
});
