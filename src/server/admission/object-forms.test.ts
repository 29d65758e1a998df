/** Converted and patched objects for admission. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kubernetesDomain } from "#meta/api-domain.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { planKinds } from "../served-kinds.ts";
import { resolveOptions } from "../options.ts";
import { ServedForms } from "./object-forms.ts";

const { table, tables } = planKinds(resolveOptions({}), kubernetesDomain, new FakeClock());
const forms = new ServedForms({
  table: () => table,
  schemaOf: (gvk) => tables.schemaOf(gvk)!,
  objectBytesMax: 100_000,
});

const scalers = (version: string) => ({ group: "autoscaling", version, resource: "horizontalpodautoscalers" });
const scaler = (version: string) => ({ group: "autoscaling", version, kind: "HorizontalPodAutoscaler" });
const configMaps = { group: "", version: "v1", kind: "ConfigMap" };
const configMap = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "c", creationTimestamp: null },
  data: { a: "b" },
} as Unstructured;

const applyPatch = (operations: unknown): Unstructured =>
  forms.applyPatch(configMap, configMaps, Buffer.from(JSON.stringify(operations))) as Unstructured; // at once

const expectRefusal = (code: number, message: RegExp, run: () => unknown) =>
  assert.throws(run, (error) => {
    assert.ok(error instanceof StatusError);
    assert.equal(error.status.code, code);
    assert.match(error.message, message);
    return true;
  });

test("the versions of a resource are those of one place in the store, its own first", () => {
  const v2 = { resource: scalers("v2"), kind: scaler("v2") };
  const v1 = { resource: scalers("v1"), kind: scaler("v1") };
  assert.deepEqual(forms.equivalents(scalers("v2"), ""), [v2, v1]);
  assert.deepEqual(forms.equivalents(scalers("v1"), "status"), [v1, v2]);
  const events = forms.equivalents({ group: "", version: "v1", resource: "events" }, "");
  assert.deepEqual(
    events.map(({ kind }) => kind.group),
    ["", "events.k8s.io"],
  );
  assert.deepEqual(forms.equivalents(scalers("v1"), "unknown"), []);
  assert.deepEqual(forms.equivalents({ group: "", version: "v1", resource: "unknown" }, ""), []);
});

test("an object is converted to another version, and back", () => {
  const object = {
    apiVersion: "autoscaling/v1",
    kind: "HorizontalPodAutoscaler",
    metadata: { name: "h" },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
      minReplicas: 1,
      maxReplicas: 3,
      targetCPUUtilizationPercentage: 70,
    },
    status: { currentReplicas: 0, desiredReplicas: 0 },
  } as unknown as Unstructured; // what is converted
  const later = forms.convertTo(object, scaler("v2")) as Unstructured;
  assert.equal(later.apiVersion, "autoscaling/v2");
  const { metrics } = later["spec"] as { readonly metrics: unknown };
  assert.deepEqual(metrics, [
    { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 70 } } },
  ]);
  assert.deepEqual(forms.convertTo(later, scaler("v1")), object);
  assert.equal(forms.convertTo(object, scaler("v1")), object);
});

test("an object of a policy has no unknown fields, an object of a webhook loses them", () => {
  const made = { ...configMap, nope: 1 };
  expectRefusal(500, /^Internal error occurred: strict decoding error: unknown field "nope"$/, () =>
    forms.reread(made, configMaps),
  );
  assert.equal("nope" in applyPatch([{ op: "add", path: "/nope", value: 1 }]), false);
});

test("an object is not converted to another kind", () => {
  expectRefusal(500, /^Internal error occurred: v1, Kind=ConfigMap cannot be converted to v1, Kind=Secret$/, () =>
    forms.convertTo(configMap, { ...configMaps, kind: "Secret" }),
  );
});

test("a patched object loses unknown fields and is given defaults", () => {
  const changed = applyPatch([
    { op: "add", path: "/data/c", value: "d" },
    { op: "add", path: "/unknown", value: 1 },
  ]);
  assert.deepEqual(changed, { ...configMap, data: { a: "b", c: "d" } });
  const service = { apiVersion: "v1", kind: "Service", metadata: { name: "s" }, spec: { ports: [{ port: 80 }] } };
  const given = forms.reread(service, { group: "", version: "v1", kind: "Service" });
  assert.equal((given as { readonly spec?: { readonly type?: string } }).spec?.type, "ClusterIP");
});

test("a patch that does not apply, makes no object of the kind, or is none, is refused", async () => {
  expectRefusal(500, /Unable to remove nonexistent key: x/, () => applyPatch([{ op: "remove", path: "/data/x" }]));
  expectRefusal(500, /data/, () => applyPatch([{ op: "replace", path: "/data", value: 5 }]));
  expectRefusal(500, /kind/, () => applyPatch([{ op: "replace", path: "/kind", value: "Secret" }]));
  expectRefusal(500, /patch/, () => applyPatch({ op: "remove" }));
  expectRefusal(500, /json/i, () => forms.applyPatch(configMap, configMaps, Buffer.from("{")));
  const many = Array.from({ length: 100_000 }, () => ({ op: "add", path: "/data/x", value: "y" }));
  const long = forms.applyPatch(configMap, configMaps, Buffer.from(JSON.stringify(many)));
  await assert.rejects(Promise.resolve(long), /maximum operations in a JSON patch is 10000, got 100000/);
});

test("others have a turn while a long patch is read and applied", async () => {
  let rounds = 0;
  const count = (): void => {
    rounds++;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  const operations = Array.from({ length: 5000 }, (_, at) => ({ op: "add", path: `/data/k${at}`, value: "v" }));
  const patch = Buffer.from(JSON.stringify(operations));
  const { data } = (await forms.applyPatch(configMap, configMaps, patch)) as unknown as { data: object }; // a ConfigMap
  clearImmediate(counting);
  assert.equal(Object.keys(data).length, 5001);
  assert.ok(rounds >= 2, `${rounds} rounds`);
});
