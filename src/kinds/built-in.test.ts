/** The definitions of built-in kinds: scopes, versions, domains, warnings. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ApiTables, loadDefinitions } from "#api/definitions.ts";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import { invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { Schema } from "#schema/schema.ts";
import { builtInKinds } from "./all.ts";
import { builtInDefinitions } from "./built-in.ts";
import { integer, nameColumn } from "./cells.ts";
import { editField, fillAbsent } from "./edit.ts";
import { type KindBehaviour, type KindEnvironment, row } from "./generic.ts";
import { validateImmutable } from "./immutable.ts";
import { definitionUnderTest, kindUnderTest, parseJson } from "./kind-for-tests.ts";

const environment: KindEnvironment = {
  domain: kubernetesDomain,
  gate: () => false,
  allowsPrivileged: true,
  eventTtlSeconds: 3600,
  now: () => 0,
  decodeJson: parseJson,
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

test("names of events, disruption budgets and requests for certificates are any segment of a path", () => {
  for (const [group, kind] of [
    ["", "Event"],
    ["policy", "PodDisruptionBudget"],
    ["certificates.k8s.io", "CertificateSigningRequest"],
  ] as const) {
    assert.equal(find(group, "v1", kind).nameRule, "pathSegment");
  }
  assert.equal(find("events.k8s.io", "v1", "Event").nameRule, "dns1123subdomain");
});

test("versions of a kind share one place and the preferred version is the stored one", () => {
  const storageKey = (group: string, version: string, kind: string) => {
    const { storage } = find(group, version, kind);
    return `${storage.group}/${storage.version}/${storage.resource}`;
  };
  assert.equal(storageKey("", "v1", "Event"), "/v1/events");
  assert.equal(storageKey("events.k8s.io", "v1", "Event"), "/v1/events");
  assert.equal(storageKey("autoscaling", "v1", "HorizontalPodAutoscaler"), "autoscaling/v2/horizontalpodautoscalers");
  assert.equal(storageKey("resource.k8s.io", "v1alpha3", "ResourceClaim"), "resource.k8s.io/v1beta1/resourceclaims");
  assert.equal(
    storageKey("admissionregistration.k8s.io", "v1beta1", "ValidatingAdmissionPolicy"),
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

/** An example of a kind as `npm run generate` writes it: its type, its schema and its row of facts. */
interface Ferry extends ApiObject {
  readonly spec: { readonly seats?: number; readonly route?: string };
  readonly status: { readonly boarded: number };
}

function withFerries(tables: ApiTables): ApiTables {
  const like = tables.kinds.find(({ kind }) => kind === "PodDisruptionBudget")!;
  const names = { kind: "Ferry", listKind: "FerryList", resource: "ferries", singular: "ferry" };
  const group = "harbour.example";
  const facts = { ...like, ...names, group, kubernetesGroup: group, storage: { group, version: "v1" } };
  const integer: Schema = { type: "integer", format: "int32" };
  const spec: Schema = {
    type: "object",
    fields: new Map([
      ["seats", { schema: integer, ptr: true, omitempty: true }],
      ["route", { schema: { type: "string" }, omitempty: true }],
    ]),
  };
  const status: Schema = { type: "object", fields: new Map([["boarded", { schema: integer, keep: true }]]) };
  const fields = new Map(tables.schemaOf(like)!.fields);
  const schema: Schema = {
    type: "object",
    fields: fields.set("spec", { schema: spec, keep: true }).set("status", { schema: status, keep: true }),
  };
  const { domain, gates, versions } = tables;
  return {
    domain,
    gates,
    versions,
    kinds: [...tables.kinds, facts],
    typeNames: () => tables.typeNames(),
    type: (name) => tables.type(name),
    schema: (name) => tables.schema(name),
    schemaOf: (gvk) => (gvk.group === "harbour.example" ? schema : tables.schemaOf(gvk)),
  };
}

/** Returns the behaviour of the kind. The file of a kind has such a function. */
function ferries(): KindBehaviour<Ferry> {
  const specPath = FieldPath.of("spec");
  const validate = ({ spec: { seats = 0 } }: Ferry) =>
    seats > 0 ? [] : [invalid(specPath.child("seats"), seats, "must be greater than 0")];
  return {
    columns: [nameColumn, integer("Free", "Seats that are left.", ({ spec, status }) => spec.seats! - status.boarded)],
    strategy: {
      defaults: (object) => editField(object, "spec", (spec) => fillAbsent(spec, { seats: 40 })),
      validate,
      validateUpdate: (object, old) => [
        ...validate(object),
        ...validateImmutable(object.spec, old.spec, ["route"], specPath),
      ],
    },
  };
}

test("a kind is a file with its behaviour, and a line in the list", () => {
  const tables = withFerries(loadDefinitions(kubernetesDomain));
  const definitionOf = (kinds: typeof builtInKinds) =>
    builtInDefinitions(tables, environment, ({ group }) => group === "harbour.example", kinds)[0]!;
  const ferry = definitionUnderTest(definitionOf([...builtInKinds, row("harbour.example", "Ferry", ferries)]));

  // The behaviour of the kind itself decides these values.
  const object = ferry.create({ metadata: { name: "f", generation: 1 }, spec: { route: "a" } });
  assert.deepEqual(object["spec"], { seats: 40, route: "a" });
  assert.deepEqual(ferry.refuseCreate({ metadata: {}, spec: { seats: -1 } }), [
    "spec.seats: Invalid value: -1: must be greater than 0",
  ]);
  assert.deepEqual(ferry.refuseUpdate({ ...object, spec: { route: "b" } }, object), [
    'spec.route: Invalid value: "b": field is immutable',
  ]);
  const boarded = ferry.update({ ...object, spec: {}, status: { boarded: 3 } }, object, "status");
  assert.deepEqual(ferry.row(boarded), { Name: "f", Free: 37 });

  // The generic behaviour and the facts of the tables decide these values.
  assert.deepEqual([boarded["spec"], boarded["status"]], [object["spec"], { boarded: 3 }]);
  assert.deepEqual(ferry.create({ ...object, status: { boarded: 3 } })["status"], { boarded: 0 });
  assert.equal(ferry.update({ ...object, spec: { route: "a", seats: 9 } }, object).metadata.generation, 2);
  assert.deepEqual(ferry.definition.storage, {
    group: "harbour.example",
    version: "v1",
    kind: "Ferry",
    resource: "ferries",
  });

  // Without its line in the list the kind has no behaviour of its own.
  const plain = definitionUnderTest(definitionOf(builtInKinds));
  assert.deepEqual(plain.create({ metadata: { name: "f" }, spec: { seats: -1 } })["spec"], { seats: -1 });
});
