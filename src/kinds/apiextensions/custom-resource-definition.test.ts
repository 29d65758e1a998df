/** Rules of custom resource definitions. The messages and their order were recorded from a 1.32 server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const gvk = { group: "apiextensions.k8s.io", version: "v1", kind: "CustomResourceDefinition" };
const definitions = kindUnderTest(gvk);
const elsewhere = kindUnderTest(gvk, { domain: "platform.io" });

const text = { type: "string" };
const schema = {
  type: "object",
  properties: { spec: { type: "object", properties: { a: text, n: { type: "integer" } } } },
};
const version = (name: string, more: object = {}): object => ({
  name,
  served: true,
  storage: name === "v1",
  schema: { openAPIV3Schema: schema },
  ...more,
});

interface Changes {
  readonly group?: string;
  readonly name?: string;
  readonly names?: object;
  readonly versions?: readonly object[] | null;
  readonly spec?: object;
  readonly annotations?: Readonly<Record<string, string>>;
}

function definition(changes: Changes = {}): Unstructured {
  const { group = "example.com", names = {}, versions = [version("v1")], annotations } = changes;
  return {
    metadata: { name: changes.name ?? `widgets.${group}`, ...(annotations === undefined ? {} : { annotations }) },
    spec: {
      group,
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList", ...names },
      scope: "Cluster",
      versions,
      conversion: { strategy: "None" },
      ...changes.spec,
    },
    status: { storedVersions: ["v1"] },
  };
}

await definitions.loadRules(definition());

const check = (changes: Changes): string[] => definitions.refuseCreate(definition(changes));
const one = (more: object): Changes => ({ versions: [version("v1", more)] });
const label =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

test("omitted names follow from the kind, and a status in the request is ignored [VER-67]", () => {
  const definition = definitions.create({
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      scope: "Cluster",
      names: { plural: "widgets", kind: "Widget" },
      versions: [version("v1")],
    },
    status: { storedVersions: ["v9"], acceptedNames: { plural: "x", kind: "X" } },
  });
  const spec = definition["spec"] as Record<string, unknown>;
  assert.deepEqual(spec["names"], { plural: "widgets", kind: "Widget", singular: "widget", listKind: "WidgetList" });
  assert.deepEqual(spec["conversion"], { strategy: "None" });
  assert.deepEqual((definition["status"] as Record<string, unknown>)["storedVersions"], ["v1"]);
});

test("a webhook for conversions that says nothing is left out [VER-69]", () => {
  const object = definitions.create(definition({ spec: { conversion: { strategy: "None", webhook: {} } } }));
  assert.deepEqual((object["spec"] as Record<string, unknown>)["conversion"], { strategy: "None" });
});

test("a plain definition is accepted", () => {
  assert.deepEqual(check({}), []);
});

test("names of definitions, groups and kinds have a syntax [NAME-01]", () => {
  assert.deepEqual(check({ name: "widgets.other.com" }), [
    'metadata.name: Invalid value: "widgets.other.com": must be spec.names.plural+"."+spec.group',
  ]);
  assert.deepEqual(check({ group: "nodots" }), [
    'spec.group: Invalid value: "nodots": should be a domain with at least one dot',
  ]);
  assert.deepEqual(check({ names: { kind: "Wid get", listKind: "Wid get", shortNames: ["Ok"], categories: [""] } }), [
    `spec.names.kind: Invalid value: "Wid get": may have mixed case, but should otherwise match: ${label}`,
    `spec.names.listKind: Invalid value: "Wid get": may have mixed case, but should otherwise match: ${label}`,
    `spec.names.shortNames[0]: Invalid value: "Ok": ${label}`,
    'spec.names.listKind: Invalid value: "Wid get": kind and listKind may not be the same',
    `spec.names.categories[0]: Invalid value: "": ${label}`,
  ]);
  assert.deepEqual(check({ spec: { scope: "Global" } }), [
    'spec.scope: Unsupported value: "Global": supported values: "Cluster", "Namespaced"',
  ]);
});

test("versions have names, schemas and one that is stored [VER-70]", () => {
  assert.deepEqual(check({ versions: [version("V1", { storage: true })] }), [
    `spec.versions[0].name: Invalid value: "V1": ${label}`,
    `spec.version: Invalid value: "V1": ${label}`,
  ]);
  assert.deepEqual(check({ versions: [{ name: "v1", served: true, storage: true }] }), [
    "spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required",
  ]);
  assert.deepEqual(check({ versions: [] }), [
    "spec.versions: Invalid value: []: must have exactly one version marked as storage version",
    "status.storedVersions: Invalid value: []string(nil): must have at least one stored version",
  ]);
  assert.match(
    check({ versions: [version("v1"), version("v1", { storage: false })] }).join(),
    /must contain unique version names/,
  );
});

test("an error that all versions share is found once, an error of one version in that version", () => {
  const scale = { scale: { specReplicasPath: ".replicas", statusReplicasPath: "" } };
  const findings = (at: string): string[] => [
    `${at}.scale.specReplicasPath: Invalid value: ".replicas": should be a json path under .spec`,
    `${at}.scale.statusReplicasPath: Required value`,
  ];
  assert.deepEqual(check(one({ subresources: scale })), findings("spec.subresources"));
  assert.deepEqual(
    check({ versions: [version("v1"), version("v2", { subresources: scale })] }),
    findings("spec.versions[1].subresources"),
  );
});

test("columns, deprecation and selectable fields are checked [VER-72] [QP-04]", () => {
  assert.deepEqual(check(one({ additionalPrinterColumns: [{ name: "", type: "text", jsonPath: "spec.a" }] })), [
    "spec.additionalPrinterColumns[0].name: Required value",
    'spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string',
    'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "spec.a": must be a simple json path starting with .',
  ]);
  assert.deepEqual(check(one({ deprecationWarning: "x" })), [
    'spec.versions[0].deprecationWarning: Invalid value: "x": can only be set for deprecated versions',
  ]);
  assert.deepEqual(check(one({ deprecated: true, deprecationWarning: "a\nb" })), [
    'spec.versions[0].deprecationWarning: Invalid value: "a\\nb": must only contain printable UTF-8 characters; non-printable character found at index 1',
  ]);
  const paths = [".spec.a", ".spec.a", ".spec", ".spec.x", "spec.a", ".spec[0]", ""];
  assert.deepEqual(check(one({ selectableFields: paths.map((jsonPath) => ({ jsonPath })) })), [
    'spec.selectableFields[1].jsonPath: Duplicate value: ".spec.a"',
    'spec.selectableFields[2].jsonPath: Invalid value: ".spec": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
    'spec.selectableFields[3].jsonPath: Invalid value: ".spec.x": is an invalid path: does not refer to a valid field',
    'spec.selectableFields[4].jsonPath: Invalid value: "spec.a": is an invalid path: expected [ or . but got: spec',
    'spec.selectableFields[5].jsonPath: Invalid value: ".spec[0]": is an invalid path: array notation is not allowed',
    "spec.selectableFields[6].jsonPath: Required value",
  ]);
});

test("paths into a schema that cannot be read are not checked, and selectable fields say why it cannot", () => {
  const broken = { ...schema, id: "x", "x-kubernetes-validations": [{ rule: "true", fieldPath: ".nothing" }] };
  const findings = check(one({ schema: { openAPIV3Schema: broken }, selectableFields: [{ jsonPath: ".spec.a" }] }));
  assert.deepEqual(findings, [
    "spec.validation.openAPIV3Schema.id: Forbidden: id is not supported",
    "spec.schema.openAPIV3Schema: Invalid value: \"\": OpenAPIV3Schema 'id' is not supported",
    'spec.selectableFields[0].jsonPath: Invalid value: ".spec.a": is an invalid path: does not refer to a valid field',
  ]);
});

test("a conversion by webhook needs one that can be called [VER-69]", () => {
  const conversion = (webhook: object): Changes => ({ spec: { conversion: { strategy: "Webhook", webhook } } });
  assert.deepEqual(check({ spec: { conversion: { strategy: "Webhook" } } }), [
    "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
    "spec.conversion.conversionReviewVersions: Required value",
  ]);
  const url = { clientConfig: { url: "http://u@h/?q#f" }, conversionReviewVersions: ["v7"] };
  assert.deepEqual(check(conversion(url)), [
    "spec.conversion.webhookClientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
    'spec.conversion.webhookClientConfig.url: Invalid value: "u": user information is not permitted in the URL',
    'spec.conversion.webhookClientConfig.url: Invalid value: "f": fragments are not permitted in the URL',
    'spec.conversion.webhookClientConfig.url: Invalid value: "q": query parameters are not permitted in the URL',
    'spec.conversion.conversionReviewVersions: Invalid value: []string{"v7"}: must include at least one of v1, v1beta1',
  ]);
});

test("an address of a webhook without a scheme cannot be read [VER-69]", () => {
  const webhook = { clientConfig: { url: "://" }, conversionReviewVersions: ["v1"] };
  assert.deepEqual(check({ spec: { conversion: { strategy: "Webhook", webhook } } }), [
    'spec.conversion.webhookClientConfig.url: Required value: url must be a valid URL: parse "://": missing protocol scheme; desired format: https://host[/path]',
  ]);
});

test("defaults of embedded objects have valid metadata [VER-70]", () => {
  const validateEmbedded = (metadata: object): string[] => {
    const template = {
      type: "object",
      "x-kubernetes-embedded-resource": true,
      "x-kubernetes-preserve-unknown-fields": true,
      default: { apiVersion: "v1", kind: "Pod", metadata },
    };
    const whole = { type: "object", properties: { spec: { type: "object", properties: { template } } } };
    return check(one({ schema: { openAPIV3Schema: whole } }));
  };
  const at = "spec.validation.openAPIV3Schema.properties[spec].properties[template].default.metadata";
  assert.deepEqual(validateEmbedded({ name: "x" }), []);
  assert.deepEqual(validateEmbedded({ name: 5 }), [
    `${at}: Invalid value: map[string]interface {}{"name":5}: json: cannot unmarshal number into Go struct field ObjectMeta.name of type string`,
  ]);
  assert.match(validateEmbedded({ labels: { a: "b c" } }).join(), /default\.metadata\.labels: Invalid value: "b c"/);
});

test("groups of the project need an approval, in every domain by its names [VER-71]", () => {
  const validateApproval = (kind: typeof definitions, group: string, annotation: string, value: string): string[] =>
    kind.refuseCreate(definition({ group, annotations: { [annotation]: value } }));
  assert.match(
    check({ group: "x.k8s.io" }).join(),
    /^metadata\.annotations\[api-approved\.kubernetes\.io\]: Required value/,
  );
  for (const value of ["unapproved, a test", "https://example.com/1"]) {
    assert.deepEqual(validateApproval(definitions, "x.kubernetes.io", "api-approved.kubernetes.io", value), []);
    assert.deepEqual(validateApproval(elsewhere, "x.platform.io", "api-approved.platform.io", value), []);
  }
  assert.equal(validateApproval(definitions, "x.k8s.io", "api-approved.kubernetes.io", "yes please").length, 1);
  assert.deepEqual(elsewhere.refuseCreate(definition({ group: "x.k8s.io" })), []);
});

test("the group, kind and scope of an established definition cannot change; stored versions stay [VER-21]", () => {
  const old = {
    ...definition(),
    status: { storedVersions: ["v1"], conditions: [{ type: "Established", status: "True" }] },
  };
  const change = (changes: Changes): string[] =>
    definitions.refuseUpdate({ ...definition(changes), status: old.status }, old);
  assert.deepEqual(change({ spec: { scope: "Namespaced" }, names: { kind: "Gadget" } }), [
    'spec.scope: Invalid value: "Namespaced": field is immutable',
    'spec.names.kind: Invalid value: "Gadget": field is immutable',
  ]);
  assert.deepEqual(change({ versions: [version("v2", { storage: true })] }), [
    'status.storedVersions[0]: Invalid value: "v1": must appear in spec.versions',
  ]);
  const twice = change({ versions: [version("v1", { storage: true }), version("v1", { storage: true })] });
  assert.equal(twice.at(-1), 'status.storedVersions: Invalid value: []string{"v1"}: must have the storage version v1');
  assert.deepEqual(change({ spec: { preserveUnknownFields: true } }), [
    "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
  ]);
});

test("a new stored version is added to those that ever were", () => {
  const old = definitions.create(definition());
  const next = definition({ versions: [version("v1", { storage: false }), version("v2", { storage: true })] });
  const status = definitions.update({ ...next, status: {} }, old)["status"] as Record<string, unknown>;
  assert.deepEqual(status["storedVersions"], ["v1", "v2"]);
});

test("the first delete request marks, keeps the generation and says what will follow", () => {
  const { strategy } = definitions.definition;
  const old: Unstructured = { ...definition(), metadata: { name: "widgets.example.com", generation: 1 } };
  assert.deepEqual(strategy.pendingFinalizers!(old), ["customresourcecleanup.apiextensions.k8s.io"]);
  const marked = { ...old, metadata: { ...old.metadata, generation: 2, deletionTimestamp: "2026-01-01T00:00:00Z" } };
  const ending = strategy.terminate!(marked, old);
  assert.deepEqual(ending.metadata.finalizers, ["customresourcecleanup.apiextensions.k8s.io"]);
  assert.equal(ending.metadata.generation, 1);
  assert.deepEqual((ending["status"] as Record<string, unknown>)["conditions"], [
    {
      type: "Terminating",
      status: "True",
      lastTransitionTime: "2026-01-01T00:00:00Z",
      reason: "InstanceDeletionPending",
      message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    },
  ]);
  assert.deepEqual(strategy.pendingFinalizers!(ending), []);
});
