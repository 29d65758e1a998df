/** Tests that descriptions name only existing types and fields, and cover the common kinds. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import { loadDefinitions } from "./definitions.ts";
import { loadDescriptions } from "./descriptions.ts";

const tables = loadDefinitions(kubernetesDomain);
const descriptions = loadDescriptions(kubernetesDomain);

/** The beginnings of descriptions without a noun as their head, such as "What was observed." */
const fragment = /^(About|As|By|How|It|Its|Not|Of|On|Since|Such|That|To|What|When|Where|Which|Who|Whose|Why)\b/;

test("every description is a sentence about a type or field that there is", () => {
  assert.ok(descriptions.size > 150);
  for (const [name, { text, fields }] of descriptions) {
    const known = tables.schema(name)?.fields;
    assert.ok(known !== undefined, `no type ${name}`);
    for (const field of fields.keys()) assert.ok(known.has(field), `${name} has no field ${field}`);
    for (const sentence of [...(text === "" ? [] : [text]), ...fields.values()]) {
      assert.match(sentence, /^[A-Z0-9*"].*\.$/, name);
      assert.ok(sentence.length < 300, `${name}: too long`);
      assert.doesNotMatch(sentence, fragment, name);
    }
  }
});

test("types that people ask for are described with all fields but those that every object has", () => {
  const shared = new Set(["kind", "apiVersion", "metadata", "spec", "status", "items"]);
  const core =
    "Pod PodSpec Container PodStatus Service ServiceSpec ConfigMap Secret Namespace PersistentVolumeClaim PersistentVolumeClaimSpec PersistentVolumeClaimStatus ServiceAccount Event Probe SecurityContext PodSecurityContext";
  const complete = [
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference",
    ...core.split(" ").map((name) => `io.k8s.api.core.v1.${name}`),
    ..."Deployment DeploymentSpec DeploymentStrategy DeploymentStatus ReplicaSetSpec StatefulSetSpec DaemonSetSpec"
      .split(" ")
      .map((name) => `io.k8s.api.apps.v1.${name}`),
    ..."Job JobSpec JobStatus CronJobSpec".split(" ").map((name) => `io.k8s.api.batch.v1.${name}`),
    ..."Ingress IngressSpec IngressRule HTTPIngressPath".split(" ").map((name) => `io.k8s.api.networking.v1.${name}`),
    ..."ResourceClaimTemplate ResourceClaimTemplateSpec DeviceRequest"
      .split(" ")
      .map((name) => `io.k8s.api.resource.v1beta1.${name}`),
    "io.k8s.api.storage.v1beta1.VolumeAttributesClass",
  ];
  for (const name of complete) {
    const described = descriptions.get(name);
    assert.ok(described !== undefined, name);
    for (const field of tables.schema(name)!.fields!.keys()) {
      assert.ok(shared.has(field) || described.fields.has(field), `${name}.${field}`);
    }
  }
});

test("names and texts are those of the domain", () => {
  const renamed = loadDescriptions(apiDomain("platform.io"));
  assert.match(renamed.get("io.platform.api.core.v1.Secret")!.fields.get("type")!, / platform\.io\/tls;/);
  assert.equal(renamed.get("io.k8s.api.core.v1.Secret"), undefined);
});
