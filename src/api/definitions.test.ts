/** The tables of built-in kinds, in both domains. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import type { Schema } from "#schema/schema.ts";
import { loadDefinitions } from "./definitions.ts";
import { groupPriorities } from "./group-priorities.ts";

const kubernetes = loadDefinitions(kubernetesDomain);
const platform = loadDefinitions(apiDomain("platform.io"));

function field(schema: Schema | undefined, ...path: string[]): Schema {
  let at = schema;
  for (const name of path) at = name === "*" ? at?.items : at?.fields?.get(name)?.schema;
  assert.ok(at !== undefined, `no ${path.join(".")}`);
  return at;
}

test("every kind and every list has a schema that starts with kind and apiVersion", () => {
  for (const kind of kubernetes.kinds) {
    const schema = kubernetes.schemaOf(kind);
    assert.equal(schema?.type, "object", kind.kind);
    assert.deepEqual([...schema.fields!.keys()].slice(0, 2), ["kind", "apiVersion"], kind.kind);
    if (kind.listKind === "") continue;
    assert.ok(kubernetes.schemaOf({ ...kind, kind: kind.listKind })?.fields?.has("items"), kind.listKind);
  }
  assert.ok(kubernetes.kinds.length >= 80);
});

test("the version of every kind has option types, and a priority, without which it has no APIService", () => {
  const versionsOf = new Map(groupPriorities.map(([group, , versions]) => [group, versions]));
  for (const { kubernetesGroup: group, version } of kubernetes.kinds) {
    for (const kind of ["DeleteOptions", "WatchEvent"]) {
      const schema = kubernetes.schemaOf({ group, version, kind });
      assert.ok(schema, `add ${group}/${version} to ${kind} of meta.v1 in src/api/tables/type-index.json`);
    }
    if (group === "apiregistration.k8s.io") continue; // has the priority above all groups
    assert.ok(versionsOf.get(group)?.[version], `add ${group}/${version} to src/api/group-priorities.ts`);
  }
});

test("every definition can be built and every reference resolves to the same node", () => {
  for (const name of kubernetes.typeNames()) assert.equal(kubernetes.schema(name)?.name, name);
  const pod = kubernetes.schema("io.k8s.api.core.v1.PodTemplateSpec");
  const deployment = kubernetes.schemaOf({ group: "apps", version: "v1", kind: "Deployment" });
  assert.equal(field(deployment, "spec", "template"), pod);
});

test("a type that contains itself is a cycle of nodes", () => {
  const schema = kubernetes.schema("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps");
  assert.equal(field(schema, "not"), schema);
  assert.equal(field(schema, "properties", "*"), schema);
  assert.equal(field(schema, "items", "*"), schema);
});

test("fields carry what apply and strategic merge need", () => {
  const pod = kubernetes.schemaOf({ group: "", version: "v1", kind: "Pod" });
  const volumes = field(pod, "spec", "volumes");
  assert.deepEqual(volumes.listMapKeys, ["name"]);
  assert.deepEqual(volumes.patchStrategy, ["merge", "retainKeys"]);
  assert.equal(volumes.patchMergeKey, "name");
  const port = field(pod, "spec", "containers", "*", "ports", "*");
  assert.equal(port.fields?.get("protocol")?.default, "TCP");
  assert.deepEqual(field(port, "protocol").enum, ["SCTP", "TCP", "UDP"]);
  assert.deepEqual(pod?.fields?.get("metadata")?.proto, [1, "k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta"]);
  assert.equal(field(pod, "spec", "nodeSelector").mapType, "atomic");
});

test("the domain changes groups, definition names and storage hashes, and nothing else", () => {
  const gvk = { version: "v1beta1", kind: "ResourceClaimTemplate" };
  assert.equal(
    platform.schemaOf({ group: "resource.platform.io", ...gvk })?.name,
    "io.platform.api.resource.v1beta1.ResourceClaimTemplate",
  );
  assert.equal(platform.schemaOf({ group: "resource.k8s.io", ...gvk }), undefined);
  const find = (tables: typeof platform, kind: string) => tables.kinds.find((facts) => facts.kind === kind)!;
  assert.equal(find(platform, "StorageClass").group, "storage.platform.io");
  assert.equal(find(platform, "StorageClass").kubernetesGroup, "storage.k8s.io");
  assert.equal(find(kubernetes, "ConfigMap").storageVersionHash, "qFsyl6wFWjQ=");
  assert.equal(find(platform, "ConfigMap").storageVersionHash, "qFsyl6wFWjQ=");
  assert.notEqual(
    find(platform, "StorageClass").storageVersionHash,
    find(kubernetes, "StorageClass").storageVersionHash,
  );
  assert.equal(find(kubernetes, "Event").selectableFields?.includes("involvedObject.name"), true);
  assert.equal(find(kubernetes, "ConfigMap").selectableFields, undefined);
});

test("option types belong to every group, and types without a kind are found by their version", () => {
  for (const group of ["", "apps", "storage.k8s.io"]) {
    const options = kubernetes.schemaOf({ group, version: "v1", kind: "DeleteOptions" });
    assert.equal(options?.name, "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions");
  }
  assert.ok(kubernetes.schemaOf({ group: "", version: "v1", kind: "PodLogOptions" }));
  assert.ok(kubernetes.schemaOf({ group: "meta.k8s.io", version: "v1", kind: "PartialObjectMetadata" }));
  assert.equal(kubernetes.schemaOf({ group: "", version: "v1", kind: "constructor" }), undefined);
  assert.equal(kubernetes.schema("io.k8s.api.core.v1.__proto__"), undefined);
});
