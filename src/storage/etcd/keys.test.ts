/** Keys of the store in etcd, both ways. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { EtcdKeys } from "./keys.ts";

const paths = new Map([
  ["core/nodes", "minions"],
  ["core/services", "services/specs"],
  ["core/endpoints", "services/endpoints"],
  ["apps/deployments", "deployments"],
  ["networking.k8s.io/ingresses", "ingress"],
  ["apiextensions.k8s.io/customresourcedefinitions", "apiextensions.k8s.io/customresourcedefinitions"],
]);

const pairs = [
  ["/registry/core/nodes/n", "minions/n"],
  ["/registry/core/services/ns/s", "services/specs/ns/s"],
  ["/registry/core/endpoints/ns/s", "services/endpoints/ns/s"],
  ["/registry/apps/deployments/ns/d", "deployments/ns/d"],
  [
    "/registry/apiextensions.k8s.io/customresourcedefinitions/things.example.com",
    "apiextensions.k8s.io/customresourcedefinitions/things.example.com",
  ],
  ["/registry/example.com/things/ns/t", "example.com/things/ns/t"],
  ["/registry/binnacle/settings/api-domain", "binnacle/settings/api-domain"],
] as const;

test("keys are those of kube-apiserver, and come back as they were, with any prefix", () => {
  for (const prefix of ["/registry", "registry/", "/a/b"]) {
    const keys = new EtcdKeys(prefix, paths);
    const start = `/${prefix.replaceAll(/^\/|\/$/g, "")}/`;
    for (const [ours, etcd] of pairs) {
      assert.equal(keys.toEtcd(ours), start + etcd);
      assert.equal(keys.fromEtcd(start + etcd), ours);
    }
  }
});

test("the prefixes of resources and namespaces have the same form", () => {
  const keys = new EtcdKeys("/registry", paths);
  assert.equal(keys.toEtcd("/registry/core/services/"), "/registry/services/specs/");
  assert.equal(keys.toEtcd("/registry/core/services/ns/"), "/registry/services/specs/ns/");
  assert.equal(keys.toEtcd("/registry/"), "/registry/");
});

test("the records of servers, and the signs of kube-apiservers that live, are shown as they are", () => {
  const keys = new EtcdKeys("/registry", paths);
  for (const key of ["/registry/binnacle/servers/a", "/registry/masterleases/10.0.0.1"]) {
    assert.equal(keys.fromEtcd(key), key);
    assert.equal(keys.toEtcd(key), key);
  }
});

test("keys that no object of the API has are not shown", () => {
  const keys = new EtcdKeys("/registry", paths);
  for (const key of [
    "/other/minions/n",
    "/registry",
    "/registry/x",
    "/registry/ranges/serviceips",
    "/registry/masterleases/a/b",
    "/registry/networking.k8s.io/ingresses/ns/i",
    keys.turn("services"),
    "compact_rev_key",
  ]) {
    assert.equal(keys.fromEtcd(key), undefined, key);
  }
});
