/** Values and paths of kube-apiserver in etcd. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import { systemClock } from "#std/clock.ts";
import { envelope, field } from "../protobuf.ts";
import { resolveOptions } from "#server/options.ts";
import { planKinds } from "#server/served-kinds.ts";
import { etcdPaths, foreignReader } from "#server/store/etcd-layout.ts";

const builtIn = planKinds(resolveOptions({ apiDomain: "k8s.io" }), kubernetesDomain, systemClock).table.definitions;
const read = foreignReader(builtIn, kubernetesDomain);

const readJson = (key: string, bytes: Buffer | object): Record<string, unknown> => {
  const value = Buffer.isBuffer(bytes) ? bytes : Buffer.from(JSON.stringify(bytes));
  const stored = read(key, value).toString();
  assert.match(stored, /^\{"kind":"[^"]+","apiVersion":"[^"]+","metadata":\{[^}]*"resourceVersion":""/);
  return JSON.parse(stored) as Record<string, unknown>;
};

test("paths are those of kube-apiserver, also where they are not the name of the resource", () => {
  const paths = etcdPaths(builtIn, kubernetesDomain);
  for (const [resource, path] of [
    ["core/pods", "pods"],
    ["core/nodes", "minions"],
    ["core/services", "services/specs"],
    ["core/endpoints", "services/endpoints"],
    ["core/replicationcontrollers", "controllers"],
    ["core/events", "events"],
    ["apps/deployments", "deployments"],
    ["networking.k8s.io/ingresses", "ingress"],
    ["coordination.k8s.io/leases", "leases"],
    ["rbac.authorization.k8s.io/clusterroles", "clusterroles"],
    ["apiextensions.k8s.io/customresourcedefinitions", "apiextensions.k8s.io/customresourcedefinitions"],
    ["apiregistration.k8s.io/apiservices", "apiregistration.k8s.io/apiservices"],
  ] as const) {
    assert.equal(paths.get(resource), path, resource);
  }
  assert.equal(new Set(paths.values()).size, paths.size, "no two resources have one path");
  const platform = apiDomain("platform.io");
  const others = planKinds(resolveOptions({ apiDomain: "platform.io" }), platform, systemClock).table.definitions;
  const definitions = "apiextensions.platform.io/customresourcedefinitions";
  assert.equal(etcdPaths(others, platform).get(definitions), definitions);
});

test("an object in protobuf becomes the stored form", () => {
  const metadata = field(1, field(1, "a"), field(3, "ns"));
  const bytes = envelope("v1", "ConfigMap", metadata, field(2, field(1, "key"), field(2, "value")));
  assert.deepEqual(readJson("/registry/core/configmaps/ns/a", bytes), {
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: { name: "a", namespace: "ns", resourceVersion: "", creationTimestamp: null },
    data: { key: "value" },
  });
});

test("a custom resource stays in the version in which it was stored", () => {
  const stored = { apiVersion: "example.com/v2", kind: "Thing", metadata: { name: "t", uid: "u" }, spec: { a: [1] } };
  const shown = { ...stored, metadata: { ...stored.metadata, resourceVersion: "" } };
  assert.deepEqual(readJson("/registry/example.com/things/ns/t", stored), shown);
});

test("a definition in v1beta1, as kube-apiserver stores it, becomes one in v1", () => {
  const schema = { openAPIV3Schema: { type: "object" } };
  const names = { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" };
  const column = { name: "Size", type: "integer", JSONPath: ".spec.size" };
  const old = {
    kind: "CustomResourceDefinition",
    apiVersion: "apiextensions.k8s.io/v1beta1",
    metadata: { name: "things.example.com" },
    spec: {
      group: "example.com",
      version: "v1",
      names,
      scope: "Cluster",
      validation: schema,
      subresources: { status: {} },
      additionalPrinterColumns: [column],
      versions: [
        { name: "v1", served: true, storage: true },
        { name: "v2", served: true, storage: false, schema: { openAPIV3Schema: { type: "object", nullable: true } } },
      ],
      conversion: { strategy: "Webhook", webhookClientConfig: { url: "https://a" }, conversionReviewVersions: ["v1"] },
      preserveUnknownFields: false,
    },
    status: { storedVersions: ["v1"] },
  };
  const { spec, status, apiVersion } = readJson("/registry/apiextensions.k8s.io/customresourcedefinitions/t", old);
  const common = {
    subresources: { status: {} },
    additionalPrinterColumns: [{ name: "Size", type: "integer", jsonPath: ".spec.size" }],
  };
  assert.equal(apiVersion, "apiextensions.k8s.io/v1");
  assert.deepEqual(spec, {
    group: "example.com",
    names,
    scope: "Cluster",
    versions: [
      { name: "v1", served: true, storage: true, schema, ...common },
      { ...old.spec.versions[1], ...common },
    ],
    conversion: {
      strategy: "Webhook",
      webhook: { clientConfig: { url: "https://a" }, conversionReviewVersions: ["v1"] },
    },
  });
  assert.deepEqual(status, { storedVersions: ["v1"] });
});

test("a value that cannot be read gives the reason, and quotes nothing of it", () => {
  const key = "/registry/core/configmaps/ns/a";
  for (const [bytes, reason] of [
    [envelope("v9", "ConfigMap"), /objects of kind ConfigMap in version v9 cannot be read/],
    [Buffer.from("k8s\0\u0001secret"), /./],
    [Buffer.from('{"a":"secret"}'), /the stored value is no object/],
    [Buffer.from('{"a":"secret'), /./],
    [Buffer.from('{"kind":"Secrets","apiVersion":"v1","metadata":{}}'), /objects of kind Secrets/],
  ] as const) {
    assert.throws(
      () => read(key, bytes),
      (error: Error) => {
        assert.match(error.message, reason);
        assert.doesNotMatch(error.message, /secret/);
        return true;
      },
    );
  }
});
