/** Definitions of built-in kinds: places, versions, domains, warnings. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadDefinitions } from "#api/definitions.ts";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import { builtInDefinitions } from "./built-in.ts";
import { kindUnderTest } from "./kind-for-tests.ts";
import type { KindEnvironment } from "./generic.ts";

const environment: KindEnvironment = {
  domain: kubernetesDomain,
  gate: () => false,
  eventTtlSeconds: 3600,
  now: () => 0,
};
const all = builtInDefinitions(loadDefinitions(kubernetesDomain), environment);
const find = (group: string, version: string, kind: string) =>
  all.find((one) => one.group === group && one.version === version && one.kind === kind)!;

test("every built-in kind has a definition with a schema and known rules", () => {
  assert.ok(all.length > 70);
  for (const definition of all) {
    assert.ok(definition.schema.type === "object", definition.kind);
    assert.ok(definition.nameRule !== "");
  }
});

test("versions of a kind share one place and the preferred version is the stored one", () => {
  const place = (group: string, version: string, kind: string) => {
    const { storage } = find(group, version, kind);
    return `${storage.group}/${storage.version}/${storage.resource}`;
  };
  assert.equal(place("", "v1", "Event"), "/v1/events");
  assert.equal(place("events.k8s.io", "v1", "Event"), "/v1/events");
  assert.equal(place("autoscaling", "v1", "HorizontalPodAutoscaler"), "autoscaling/v2/horizontalpodautoscalers");
  assert.equal(place("resource.k8s.io", "v1alpha3", "ResourceClaim"), "resource.k8s.io/v1beta1/resourceclaims");
  assert.equal(
    place("admissionregistration.k8s.io", "v1beta1", "ValidatingAdmissionPolicy"),
    "admissionregistration.k8s.io/v1/validatingadmissionpolicies",
  );
});

test("a PUT makes what does not exist, and needs no version, where a 1.32 server says so", () => {
  const rules = (group: string, kind: string) => {
    const { createOnUpdate, unconditionalUpdate } = find(group, "v1", kind);
    return [createOnUpdate, unconditionalUpdate];
  };
  assert.deepEqual(rules("flowcontrol.apiserver.k8s.io", "FlowSchema"), [false, true]);
  assert.deepEqual(rules("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"), [false, true]);
  assert.deepEqual(rules("node.k8s.io", "RuntimeClass"), [true, false]);
  assert.deepEqual(rules("scheduling.k8s.io", "PriorityClass"), [false, true]);
  const domain = apiDomain("platform.io");
  const renamed = builtInDefinitions(loadDefinitions(domain), { ...environment, domain });
  assert.equal(renamed.find((one) => one.kind === "RuntimeClass")!.createOnUpdate, true);
});

test("names follow the domain", () => {
  const domain = apiDomain("platform.io");
  const renamed = builtInDefinitions(loadDefinitions(domain), { ...environment, domain });
  assert.ok(renamed.some((one) => one.group === "events.platform.io" && one.storage.group === ""));
  const namespaces = kindUnderTest({ group: "", version: "v1", kind: "Namespace" }, { domain: "platform.io" });
  const { labels } = namespaces.defaults({ metadata: { name: "a" } }).metadata;
  assert.deepEqual(labels, { "platform.io/metadata.name": "a" });
});

test("deprecated versions say so [EVENT-10]", () => {
  assert.equal(find("", "v1", "ComponentStatus").deprecation?.warning, "v1 ComponentStatus is deprecated in v1.19+");
  assert.equal(find("", "v1", "ConfigMap").deprecation, undefined);
});

test("subresources behind a gate are there when it is on", () => {
  const names = (gate: boolean) =>
    builtInDefinitions(loadDefinitions(kubernetesDomain), { ...environment, gate: () => gate })
      .find((one) => one.kind === "Pod")!
      .subresources.map((sub) => sub.name);
  assert.ok(names(true).length >= names(false).length);
  assert.ok(names(false).includes("status"));
});
